//! Back ends: kernel IR to code objects.
//!
//! [`llvm`] is the client of the LLVM worker, a process of its own.

pub mod llvm;
