//! Facts of the hardware: targets, registers, encodings, instruction tables, limits.
#![allow(unused_macro_rules, reason = "rows that use them follow")]

pub mod format;
pub mod inst;
pub mod reg;
pub mod table;
pub mod target;

pub use inst::Inst;
pub use reg::Operand;
pub use table::Op;
pub use target::Target;
