//! Back ends: kernel IR to code objects.
//!
//! [`gcn`] needs nothing but this workspace. [`llvm`] is the client of the LLVM worker, a process of its own.

pub mod gcn;
pub mod llvm;
