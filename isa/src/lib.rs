//! Facts of the hardware: targets, registers, encodings, instruction tables, limits.

pub mod target;

pub use target::Target;
