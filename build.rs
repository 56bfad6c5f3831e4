//! Gives the worker binary, and only it, a run path to the libLLVM that emit/llvm linked; and everything that keeps code
//! objects the hash of the sources that make them.

use std::path::{Path, PathBuf};

/// Folders of what stands between kernel IR and code object.
const BACKENDS: [&str; 5] = ["codeobj/src", "dsl/src", "emit/llvm", "emit/src", "isa/src"];

fn main() {
    if let Ok(libdir) = std::env::var("DEP_WAVESMITH_LIBLLVM_LIBDIR") {
        println!("cargo:rustc-link-arg-bin=wavesmith-llvm=-Wl,-rpath,{libdir}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    let mut files = Vec::new();
    for folder in BACKENDS {
        println!("cargo:rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files);
    }
    files.sort();
    let mut hash = Fnv::default();
    for file in files {
        hash.part(file.to_string_lossy().as_bytes());
        let text = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        hash.part(&text);
    }
    println!("cargo:rustc-env=WAVESMITH_BACKEND_SOURCES={:016x}", hash.0);
}

/// Every Rust file below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|e| panic!("{}: {e}", folder.display())).path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// FNV-1a with 64 bits: tells versions of sources apart, guards against nobody.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Takes in some bytes after their number.
    fn part(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
