//! worker
use emit_llvm as _;
fn main() {}
