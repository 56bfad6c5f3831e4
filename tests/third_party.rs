//! Kernels of ours in Triton, compiled by the Triton package for both targets and run by the binary: what a
//! compiler that knows nothing of this project emits. Without Python or the package the test is skipped, and
//! says so in a line `skipped: third_party triton: …`, which `.ci/run` counts.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Names the Python that has the package; `.ci/run --stage third-party` makes one.
const PYTHON_VARIABLE: &str = "WAVESMITH_TRITON_PYTHON";

fn python() -> OsString {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/third-party/venv/bin/python");
    std::env::var_os(PYTHON_VARIABLE).unwrap_or_else(|| match made.is_file() {
        true => made.into(),
        false => "python3".into(),
    })
}

/// Why the package cannot be used here.
fn absence(python: &OsString) -> Option<String> {
    let tried = Command::new(python).args(["-c", "import numpy, triton"]).output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            Some(words.trim().lines().last().unwrap_or("no words").to_owned())
        }
        Err(error) => Some(format!("{}: {error}", python.display())),
    }
}

fn run(python: &OsString, folder: &Path) -> Output {
    let script: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/third_party/run.py");
    Command::new(python)
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_wavesmith"))
        .arg(folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("Python starts")
}

#[test]
fn triton_kernels_compute_what_numpy_does() {
    let python = python();
    if let Some(why) = absence(&python) {
        // Past the test harness, which keeps what a passing test prints; on a line of its own.
        let line = format!("\nskipped: third_party triton: {why}\n");
        std::io::stdout().write_all(line.as_bytes()).expect("standard output takes it");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(&python, folder.path());
    let (words, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words}\n{complaints}");
    let n_right = words.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(n_right, N_CASES, "{words}");
}

/// Six kernels on two targets, each in two modes of numerics.
const N_CASES: usize = 24;
