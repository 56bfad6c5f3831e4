//! The worker `wavesmith-llvm`: the only program that links libLLVM.
//!
//! It reads one request from standard input and writes one reply to standard output, as
//! `emit_llvm::protocol` describes. It is started by `wavesmith`, not by hand.

use std::io::{stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    emit_llvm::serve(stdin(), stdout())
}
