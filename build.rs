//! Gives the worker binary, and only it, a run path to the libLLVM that emit/llvm linked.

fn main() {
    if let Ok(libdir) = std::env::var("DEP_WAVESMITH_LIBLLVM_LIBDIR") {
        println!("cargo:rustc-link-arg-bin=wavesmith-llvm=-Wl,-rpath,{libdir}");
    }
}
