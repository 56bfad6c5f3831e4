//! What executes an instruction.

use super::MatrixTiming;
use crate::format::Encoding;
use crate::inst::Inst;
use crate::table::packed::Packed;
use crate::table::{Effect, Op};

/// What executes an instruction, as far as rows tell them apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Scalar,
    Valu,
    Trans,
    Dot,
    Matrix(Option<MatrixTiming>),
    /// Memory by address or buffer.
    Vmem,
    Lds,
}

impl Unit {
    pub(super) fn of(inst: &Inst) -> Unit {
        match inst.encoding {
            Encoding::Ds => Unit::Lds,
            Encoding::Flat | Encoding::Global | Encoding::Scratch | Encoding::Mubuf => Unit::Vmem,
            Encoding::Smem
            | Encoding::Sop1
            | Encoding::Sop2
            | Encoding::Sopc
            | Encoding::Sopk
            | Encoding::Sopp => Unit::Scalar,
            _ if matches!(inst.op, Op::Matrix(_)) => Unit::Matrix(MatrixTiming::of_inst(inst)),
            _ if inst.row().has(Effect::Trans) => Unit::Trans,
            _ if is_dot(inst.op) => Unit::Dot,
            _ => Unit::Valu,
        }
    }

    pub(super) fn is_vector_arithmetic(self) -> bool {
        !matches!(self, Unit::Scalar | Unit::Vmem | Unit::Lds)
    }
}

fn is_dot(op: Op) -> bool {
    matches!(
        op,
        Op::Packed(
            Packed::VDot2F32F16
                | Packed::VDot2F32Bf16
                | Packed::VDot2accF32F16
                | Packed::VDot2cF32Bf16
                | Packed::VDot4U32U8
                | Packed::VDot4I32I8
                | Packed::VDot4I32Iu8
        )
    )
}
