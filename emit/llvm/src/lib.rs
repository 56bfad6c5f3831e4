//! Kernel IR → LLVM IR → object → code object: the back end that runs in the worker process.
//!
//! Only the worker binary may use this crate, because it links libLLVM: LLVM can abort, hang or
//! disappear with a toolchain update, and none of that may reach the main program. The client that talks
//! to the worker is in the crate `wavesmith-emit`; the wire format is [`protocol`].
//!
//! [`foreign`] compiles LLVM IR that somebody else wrote.
//! [`lower`] gives every operation of the kernel IR its meaning in LLVM IR, [`module`] the frame around
//! it, [`codegen`] optimises and emits, [`link`] links, [`worker`] serves requests. [`assemble`] and
//! [`disassemble`] are LLVM's machine-code layer by itself.

pub mod assemble;
mod binding;
pub mod codegen;
pub mod disassemble;
pub mod error;
pub mod foreign;
pub mod link;
pub mod lower;
pub mod module;
pub mod protocol;
pub mod worker;

pub use worker::{Artefacts, compile, serve};
