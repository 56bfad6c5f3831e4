//! Why an instruction cannot be encoded.

use crate::decode::DecodeError;
use crate::decode::MAX_SIZE_BYTES;
use crate::format::Encoding;
use crate::format::Field;
use crate::inst::Inst;
use crate::reg::Operand;
use crate::table::Op;
use crate::target::Target;

/// Why an instruction cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The target has no such format.
    #[error("{target} has no format {encoding:?}")]
    NoFormat {
        /// The target.
        target: Target,
        /// The format that was asked for.
        encoding: Encoding,
    },
    /// The target does not have the operation, or not in the format that was asked for.
    #[error("{target} does not have {op:?} in the encoding that was asked for")]
    NotOnTarget {
        /// The target.
        target: Target,
        /// The operation.
        op: Op,
    },
    /// The operand cannot stand in this field.
    #[error("{target}: {operand:?} cannot stand in field {field:?}")]
    Operand {
        /// The target.
        target: Target,
        /// The field.
        field: Field,
        /// The operand.
        operand: Operand,
    },
    /// A value does not fit its field.
    #[error("value {value:#x} does not fit the {bits} bits of field {field:?}")]
    FieldOverflow {
        /// The field.
        field: Field,
        /// The value.
        value: u32,
        /// Bits that the field has.
        bits: u8,
    },
    /// Two operands ask for different literals; an instruction has room for one.
    #[error(
        "field {field:?} asks for literal {second:#x}, but the instruction already has {first:#x}"
    )]
    TwoLiterals {
        /// The second field.
        field: Field,
        /// The literal of the first.
        first: u32,
        /// The literal of the second.
        second: u32,
    },
    /// VOPD without its second half.
    #[error("a dual-issue instruction needs a second half")]
    NoSecondHalf,
    /// The encoding would be another instruction: a modifier or size that this one cannot have.
    #[error("the encoding means something else: wanted {wanted:?}, got {got:?}")]
    NotRepresentable {
        /// What was to be encoded.
        wanted: Box<Inst>,
        /// What the bytes mean.
        got: Box<Inst>,
    },
    /// The instruction with its literal would be longer than any.
    #[error("the instruction would take {size_bytes} bytes, the longest has {MAX_SIZE_BYTES}")]
    TooLong {
        /// Its size.
        size_bytes: u8,
    },
    /// The encoding would be no instruction.
    #[error("the encoding is not legal: {0}")]
    Illegal(DecodeError),
}
