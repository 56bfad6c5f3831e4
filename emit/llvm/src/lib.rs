//! emit-llvm
