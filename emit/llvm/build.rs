//! Finds the libLLVM that comes with the Rust toolchain and links it by its exact file name.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The LLVM release line that this crate's lowering and goldens were written for.
const LLVM_RELEASE: &str = "22.1";

fn main() {
    println!("cargo:rerun-if-env-changed=WAVESMITH_LLVM_DIR");
    let (libdir, library, lld) = match env::var_os("WAVESMITH_LLVM_DIR") {
        Some(dir) => system_llvm(Path::new(&dir)),
        None => toolchain_llvm(),
    };
    println!("cargo:rustc-link-search=native={}", libdir.display());
    println!("cargo:rustc-link-lib=dylib:+verbatim={library}");
    println!("cargo:libdir={}", libdir.display());
    println!("cargo:rustc-env=WAVESMITH_BUILT_LLD={}", lld.display());
    println!("cargo:rustc-env=WAVESMITH_BUILT_LIBLLVM={}", libdir.join(&library).display());
}

/// rustc's own libLLVM and rust-lld: nothing to install beside Rust.
fn toolchain_llvm() -> (PathBuf, String, PathBuf) {
    let sysroot = PathBuf::from(rustc(&["--print", "sysroot"]));
    let libdir = sysroot.join("lib");
    let library = library_in(&libdir);
    let host = env::var("HOST").expect("cargo sets HOST");
    let lld = sysroot.join("lib/rustlib").join(host).join("bin/rust-lld");
    (libdir, library, lld)
}

/// A system LLVM: `WAVESMITH_LLVM_DIR` is its prefix, holding lib/ and bin/ld.lld.
fn system_llvm(prefix: &Path) -> (PathBuf, String, PathBuf) {
    let libdir = prefix.join("lib");
    let library = library_in(&libdir);
    (libdir, library, prefix.join("bin/ld.lld"))
}

fn library_in(libdir: &Path) -> String {
    let prefix = format!("libLLVM.so.{LLVM_RELEASE}");
    let names = std::fs::read_dir(libdir).into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .find(|name| name.starts_with(&prefix))
        .unwrap_or_else(|| {
            panic!(
                "no {prefix}* in {}: install the pinned toolchain (rust-toolchain.toml), set \
                 WAVESMITH_LLVM_DIR to the prefix of an LLVM {LLVM_RELEASE}, or build with \
                 --no-default-features",
                libdir.display()
            )
        })
}

fn rustc(args: &[&str]) -> String {
    let rustc = env::var("RUSTC").expect("cargo sets RUSTC");
    let output = Command::new(rustc).args(args).output().expect("rustc runs");
    String::from_utf8(output.stdout).expect("rustc prints UTF-8").trim().to_owned()
}
