//! What kernels become: the LLVM IR that the lowering writes and the code that LLVM makes of it.

mod floats;
mod frame;
mod intrinsics;
mod lanes;
mod memory;
mod operations;
mod support;
