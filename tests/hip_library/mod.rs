//! The emulated HIP library, which Cargo built beside the tests, and what is installed to use it.
#![allow(dead_code, reason = "each test uses its part of this")]

use std::path::{Path, PathBuf};

/// Its path.
pub fn emulated_library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libwavesmith_hip_emulated.so");
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

/// The Python that `.ci/run --stage third-party` made, or the system's; `WAVESMITH_TRITON_PYTHON` names another.
pub fn python() -> PathBuf {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/third-party/venv/bin/python");
    let chosen = std::env::var_os("WAVESMITH_TRITON_PYTHON").map(PathBuf::from);
    chosen.unwrap_or_else(|| if made.is_file() { made } else { "python3".into() })
}

/// Directories with public headers of HIP: Debian's, and those that Triton's package brings.
pub fn headers() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/usr/include")];
    let script = "import os, triton.backends.amd as amd; print(os.path.join(os.path.dirname(amd.__file__), 'include'))";
    let asked = std::process::Command::new(python()).args(["-c", script]).output();
    if let Some(asked) = asked.ok().filter(|asked| asked.status.success()) {
        found.push(String::from_utf8_lossy(&asked.stdout).trim().into());
    }
    found.retain(|folder| folder.join("hip/hip_runtime_api.h").is_file());
    found
}
