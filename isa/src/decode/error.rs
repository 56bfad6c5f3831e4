//! What can be wrong with the bytes of an instruction.

use std::fmt;

use crate::format::Encoding;
use crate::format::Field;
use crate::target::Target;

/// Bytes that are no instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{target}: cannot decode {} at byte {offset:#x}: {problem}", Words(words))]
pub struct DecodeError {
    /// The target whose instructions were expected.
    pub target: Target,
    /// Byte offset of the instruction in the code that was given.
    pub offset: usize,
    /// Its dwords, as far as they were read.
    pub words: Vec<u32>,
    /// What is wrong.
    pub problem: DecodeProblem,
}

impl DecodeError {
    /// The same error, counted from a start `base` bytes earlier.
    #[must_use]
    pub fn at(mut self, base: usize) -> DecodeError {
        self.offset += base;
        self
    }
}

/// What is wrong with the bytes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// The code ends inside the instruction.
    #[error("the instruction needs {need_bytes} bytes, the code has {got_bytes} left")]
    Truncated {
        /// Bytes that the instruction needs.
        need_bytes: u8,
        /// Bytes left.
        got_bytes: usize,
    },
    /// The leading bits belong to no format of the tables.
    #[error("the leading bits belong to no instruction format that the tables have")]
    UnknownFormat,
    /// The format has no row with this opcode on this target.
    #[error("{encoding:?} has no instruction with opcode {opcode:#x} in the tables")]
    UnknownOpcode {
        /// The format.
        encoding: Encoding,
        /// Its opcode field.
        opcode: u32,
    },
    /// A modifier that the instruction does not take.
    #[error("{}", reserved(*field, *value))]
    Reserved {
        /// The field, if it is one.
        field: Option<Field>,
        /// Its value.
        value: u32,
    },
    /// A bit without meaning in this instruction is set.
    #[error("bit {lowest} is set, which has no meaning in this instruction")]
    ReservedBits {
        /// The lowest such bit.
        lowest: u32,
    },
    /// More scalar values than one instruction can read.
    #[error("it reads {got} scalar values (registers, VCC, literal), the limit is {limit}")]
    ScalarReads {
        /// Different scalar values.
        got: u32,
        /// How many there may be.
        limit: u32,
    },
    /// Both halves of a dual-issue pair read the same bank.
    #[error("source {index} of both halves lies in the same bank: v{x} and v{y}")]
    SameBank {
        /// The number of the source.
        index: usize,
        /// The register of the X half.
        x: u8,
        /// The register of the Y half.
        y: u8,
    },
    /// A jump to a constant.
    #[error("jumps to a constant, but the address must be in registers")]
    ConstantAddress,
    /// A matrix result that overwrites a part of its addend.
    #[error("the result of {registers} registers overlaps its addend without being the same")]
    PartialOverlap {
        /// Registers of each.
        registers: u32,
    },
    /// An operand field names nothing that may stand there.
    #[error("field {field:?} {problem}")]
    Operand {
        /// The field.
        field: Field,
        /// What is wrong with it.
        problem: OperandProblem,
    },
}

/// What is wrong with an operand field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OperandProblem {
    /// The code is unassigned on this target.
    #[error("holds code {code}, which names nothing on this target")]
    Unassigned {
        /// The code.
        code: u32,
    },
    /// A VGPR is required.
    #[error("holds code {code}, but must be a VGPR")]
    NotVector {
        /// The code.
        code: u32,
    },
    /// A scalar register or constant is required.
    #[error("holds VGPR code {code}, but must be scalar")]
    NotScalar {
        /// The code.
        code: u32,
    },
    /// A constant stands where a scalar register must.
    #[error("holds code {code}, but must be a scalar register")]
    NotRegister {
        /// The code.
        code: u32,
    },
    /// M0 selects the register, but the code is that of no register it could be.
    #[error("holds what M0 cannot move to another register")]
    NotMovable,
    /// The format or the instruction takes no literal.
    #[error("asks for a literal, which this instruction does not take")]
    NoLiteral,
    /// A scalar source 1 in the long form of a DPP instruction.
    #[error("is scalar, but must be a VGPR in a DPP instruction")]
    DppScalar,
    /// DPP or SDWA on an instruction that does not have it.
    #[error("asks for DPP or SDWA (code {code}), which this instruction does not take")]
    NoExtension {
        /// The code.
        code: u32,
    },
    /// A DPP or SDWA control that the target does not have.
    #[error("holds {value:#x}, which is no control of this target")]
    Control {
        /// The value.
        value: u32,
    },
    /// The register tuple is misaligned or leaves the register file.
    #[error("starts a tuple of {registers} registers at a place where it may not start")]
    Tuple {
        /// Registers of the tuple.
        registers: u32,
    },
    /// The field must hold one value in this instruction.
    #[error("holds {value:#x}, but must hold {must_be:#x}")]
    Fixed {
        /// The value.
        value: u32,
        /// The only one allowed.
        must_be: u32,
    },
}

fn reserved(field: Option<Field>, value: u32) -> String {
    match field {
        Some(field) => {
            format!("field {field:?} holds {value:#x}, which this instruction does not take")
        }
        None => format!("value {value:#x} has no meaning in this instruction"),
    }
}

struct Words<'a>(&'a [u32]);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { " " };
            write!(f, "{separator}{word:#010x}")?;
        }
        Ok(())
    }
}
