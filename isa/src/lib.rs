//! Facts of the hardware: targets and their limits, registers, encoding formats, instruction tables, and
//! what is generic over them.
//!
//! | module | holds |
//! |---|---|
//! | [`target`] | the targets and every limit, each with its source |
//! | [`occupancy`] | resident waves and workgroups as functions of registers, LDS and size |
//! | [`reg`], [`mod@format`], [`inst`] | operands, formats as bit fields, the decoded instruction |
//! | [`table`] | the instructions, one line each |
//! | [`mod@decode`], [`mod@encode`], [`disasm`] | bytes ↔ instructions → text, without code per instruction |
//! | [`fragment`] | where the elements of matrix operations lie |
//! | [`slots`] | the registers of both files in one numbering |
//! | [`wait_states`] | what software must leave between dependent instructions |
//! | [`latency`] | a model of how long results take |
//! | [`banks`] | LDS banks and the clocks of an access |
//! | [`waits`], [`sysreg`], [`swizzle`] | what the immediates of single instructions mean |
//!
//! Every fact has a witness from outside: opcodes, fields, operand order and texts agree with LLVM 22 on
//! the vectors in `tests/vectors`.

pub mod banks;
pub mod decode;
pub mod disasm;
pub mod encode;
pub mod format;
pub mod fragment;
pub mod inst;
pub mod latency;
pub mod occupancy;
pub mod reg;
mod rules;
pub mod slots;
pub mod swizzle;
pub mod sysreg;
pub mod table;
pub mod target;
pub mod wait_states;
pub mod waits;

pub use decode::decode;
pub use disasm::disassemble;
pub use encode::encode;
pub use inst::Inst;
pub use reg::Operand;
pub use table::Op;
pub use target::Target;
