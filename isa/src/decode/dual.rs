//! Dual-issue instructions (VOPD).

use super::DecodeProblem;
use super::Reader;
use crate::format::Encoding;
use crate::format::Field;
use crate::format::Layout;
use crate::inst::Dual;
use crate::inst::Inst;
use crate::inst::MAX_OPERANDS;
use crate::inst::Modifiers;
use crate::reg::LITERAL_CODE;
use crate::reg::Operand;
use crate::reg::VGPR_CODE;
use crate::table::OperandSpec;
use crate::table::dual;

/// Which half of a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    X,
    Y,
}

impl Half {
    /// The field of this half that stands for a field of the operation's row.
    pub(crate) fn field(self, field: Field) -> Field {
        match (self, field) {
            (Half::X, Field::Src0) => Field::SrcX0,
            (Half::X, Field::Src1) => Field::VsrcX1,
            (Half::X, _) => Field::VdstX,
            (Half::Y, Field::Src0) => Field::SrcY0,
            (Half::Y, Field::Src1) => Field::VsrcY1,
            (Half::Y, _) => Field::VdstY,
        }
    }
}

impl Reader {
    pub(super) fn dual(&mut self, layout: &Layout) -> Result<Inst, DecodeProblem> {
        let x = self.half(layout, Half::X)?;
        let y = self.half(layout, Half::Y)?;
        Ok(Inst {
            op: x.op,
            encoding: Encoding::Vopd,
            size_bytes: self.size_bytes,
            operands: x.operands,
            mods: Modifiers::default(),
            dual: Some(y),
        })
    }

    fn half(&mut self, layout: &Layout, half: Half) -> Result<Dual, DecodeProblem> {
        let field = if half == Half::X { Field::OpX } else { Field::OpY };
        let opcode = layout.field(field).map_or(0, |bits| self.take(bits));
        let unknown = DecodeProblem::UnknownOpcode { encoding: Encoding::Vopd, opcode };
        let op = dual::by_opcode(opcode, half == Half::X).ok_or(unknown)?.op;
        let mut operands = [Operand::None; MAX_OPERANDS];
        for (operand, spec) in operands.iter_mut().zip(op.row().operands) {
            *operand = self.half_operand(layout, half, *spec)?;
        }
        Ok(Dual { op, operands })
    }

    fn half_operand(
        &mut self,
        layout: &Layout,
        half: Half,
        spec: OperandSpec,
    ) -> Result<Operand, DecodeProblem> {
        if spec.field == Field::K {
            return self.literal(layout);
        }
        if spec.field == Field::Src2 {
            return Ok(dual_mask());
        }
        let code = layout.field(half.field(spec.field)).map_or(0, |bits| self.take(bits));
        match spec.field {
            Field::Src0 if code == LITERAL_CODE => self.literal(layout),
            Field::Src0 if code < VGPR_CODE => self.scalar(spec, code),
            Field::Vdst if half == Half::Y => {
                Ok(Operand::Vgpr(self.second_destination(layout, code)))
            }
            _ => Ok(Operand::Vgpr(code as u8)),
        }
    }

    /// Y's destination has the other parity than X's, so its lowest bit is not stored.
    fn second_destination(&self, layout: &Layout, high_bits: u32) -> u8 {
        let x = layout.field(Field::VdstX).map_or(0, |bits| self.peek(bits));
        (high_bits << 1 | (x & 1 ^ 1)) as u8
    }
}

/// The lane mask of `v_dual_cndmask_b32` is always VCC.
pub(crate) fn dual_mask() -> Operand {
    crate::reg::SpecialReg::VccLo.into()
}
