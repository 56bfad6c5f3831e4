//! Operand fields.

use super::DecodeProblem;
use super::OperandProblem;
use super::Reader;
use super::is_literal;
use crate::format::Bits;
use crate::format::Encoding;
use crate::format::Field;
use crate::format::Layout;
use crate::inst::Inst;
use crate::reg::LITERAL_CODE;
use crate::reg::Operand;
use crate::reg::SpecialReg;
use crate::reg::VGPR_CODE;
use crate::rules;
use crate::table::Effect;
use crate::table::OperandSpec;
use crate::table::Row;
use crate::table::Ty;
use crate::target::Target;

impl Reader {
    /// Reads operand `index` of the row. Modifiers of `inst` are already read.
    pub(super) fn operand(
        &mut self,
        layout: &Layout,
        row: &Row,
        index: usize,
        inst: &Inst,
    ) -> Result<Operand, DecodeProblem> {
        let spec = row.operands[index];
        if let Some(implied) = implied(spec.field, row, layout.encoding, self.target) {
            self.check_implied(layout, implied)?;
            return Ok(implied);
        }
        if is_absent(spec.field, inst) {
            return Ok(Operand::None);
        }
        match spec.field {
            Field::K | Field::Simm32 => self.literal(layout),
            Field::Soffset if layout.encoding == Encoding::Smem => self.scalar_offset(layout),
            Field::Saddr => self.scalar_address(layout),
            Field::Addr if layout.encoding == Encoding::Scratch => self.scratch_address(layout),
            _ => {
                let bits = place(layout, spec.field).ok_or(DecodeProblem::UnknownFormat)?;
                self.coded(layout, spec, bits)
            }
        }
    }

    /// An operand that a field of the layout names by a code.
    fn coded(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
        bits: Bits,
    ) -> Result<Operand, DecodeProblem> {
        let code = self.take(bits);
        let fail = |problem| Err(DecodeProblem::Operand { field: spec.field, problem });
        match spec.field {
            Field::Simm16 => Ok(Operand::Imm(code as u16)),
            Field::Sbase => self.scalar(spec, 2 * code),
            Field::Srsrc => self.scalar(spec, 4 * code),
            Field::Sdst | Field::Sdata => self.scalar(spec, code),
            Field::Ssrc0 if spec.ty == Ty::Message => Ok(Operand::Imm(code as u16)),
            Field::Ssrc1 if spec.ty == Ty::GprIdx => Ok(Operand::Imm(code as u16)),
            Field::Soffset if is_literal(code) => fail(OperandProblem::NoLiteral),
            Field::Soffset => self.scalar(spec, code),
            Field::Vsrc0 if code < VGPR_CODE => fail(OperandProblem::NotVector { code }),
            _ if !is_matrix_source(layout.encoding, spec, code) => {
                fail(OperandProblem::NotVector { code })
            }
            Field::Ssrc0 | Field::Ssrc1 | Field::Ssrc2 if code >= VGPR_CODE => {
                fail(OperandProblem::NotScalar { code })
            }
            _ if bits.width == 9 || is_scalar_source(spec.field) => self.source(layout, spec, code),
            _ => Ok(self.vector(layout, spec, code)),
        }
    }

    /// A source field: constant, scalar register, literal or VGPR.
    fn source(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
        code: u32,
    ) -> Result<Operand, DecodeProblem> {
        if code >= VGPR_CODE {
            return Ok(self.vector(layout, spec, code - VGPR_CODE));
        }
        if is_literal(code) && spec.ty == Ty::Mask {
            return Err(DecodeProblem::Operand {
                field: spec.field,
                problem: OperandProblem::NoLiteral,
            });
        }
        if is_literal(code) {
            return self.source_literal(layout, spec);
        }
        self.scalar(spec, code)
    }

    fn source_literal(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
    ) -> Result<Operand, DecodeProblem> {
        let is_long = matches!(
            layout.encoding,
            Encoding::Vop3
                | Encoding::Vop3Sd
                | Encoding::Vop3p
                | Encoding::Vop3pMai
                | Encoding::Vop3pMx
        );
        if is_long && !self.target.limits().vop3_literals {
            return Err(DecodeProblem::Operand {
                field: spec.field,
                problem: OperandProblem::NoLiteral,
            });
        }
        self.literal(layout)
    }

    /// A scalar register or constant; only a register (codes below 128) as destination, address or SMEM
    /// offset, and a register that holds something as buffer resource.
    pub(super) fn scalar(&self, spec: OperandSpec, code: u32) -> Result<Operand, DecodeProblem> {
        const REGISTER_CODES: u32 = 128;
        let is_register_field =
            matches!(spec.field, Field::Sbase | Field::Srsrc | Field::Saddr | Field::Sdst);
        let is_resource = spec.field == Field::Srsrc || spec.ty == Ty::B128;
        let is_null = code == SpecialReg::Null.code(self.target).unwrap_or(REGISTER_CODES);
        let needs_register = spec.is_dst || is_register_field || spec.ty == Ty::Mask;
        let fail = |problem| Err(DecodeProblem::Operand { field: spec.field, problem });
        match Operand::from_scalar_code(self.target, code) {
            None => fail(OperandProblem::Unassigned { code }),
            Some(_) if needs_register && (code >= REGISTER_CODES || is_resource && is_null) => {
                fail(OperandProblem::NotRegister { code })
            }
            Some(operand) => Ok(operand),
        }
    }

    /// A VGPR, or an accumulation register where the row or the ACC bit says so. The half bit of a 16-bit
    /// operand in a short encoding goes to OP_SEL.
    pub(super) fn vector(&mut self, layout: &Layout, spec: OperandSpec, code: u32) -> Operand {
        let number = code as u8;
        let is_data = matches!(
            spec.field,
            Field::Vdst | Field::Data | Field::Data0 | Field::Data1 | Field::Vdata
        );
        let acc_bit = layout.field(Field::Acc).filter(|_| is_data);
        let acc_bit = acc_bit.or_else(|| acc_bit_of_matrix(layout, spec));
        let is_acc = acc_bit.is_some_and(|bits| self.take(bits) == 1);
        match spec.ty {
            Ty::Acc => Operand::Acc(number),
            _ if is_acc => Operand::Acc(number),
            ty if rules::has_half_bit(ty, layout.encoding, self.target) => {
                let shift = rules::modifier_index(spec.field).unwrap_or(0);
                self.halves |= (number >> 7) << shift;
                Operand::Vgpr(number & 0x7f)
            }
            _ => Operand::Vgpr(number),
        }
    }

    /// SMEM: the SGPR offset, in one of three places.
    ///
    /// Source: CDNA3 ISA manual, "SMEM" (IMM and SOFFSET_EN); RDNA3 ISA manual (NULL means none).
    fn scalar_offset(&mut self, layout: &Layout) -> Result<Operand, DecodeProblem> {
        let spec = OperandSpec { field: Field::Sbase, is_dst: false, ty: Ty::U32 };
        let bits = layout.field(Field::Soffset).ok_or(DecodeProblem::UnknownFormat)?;
        let Some(imm_bits) = layout.field(Field::ImmEn) else {
            let code = self.take(bits);
            let operand = self.scalar(spec, code)?;
            return Ok(if operand == SpecialReg::Null.into() { Operand::None } else { operand });
        };
        let has_imm = self.take(imm_bits) == 1;
        let has_soffset = layout.field(Field::SoffsetEn).is_some_and(|bits| self.take(bits) == 1);
        match (has_imm, has_soffset) {
            (true, false) => Ok(Operand::None),
            (true, true) => {
                let code = self.take(bits);
                self.scalar(spec, code)
            }
            (false, false) => self.offset_register(layout, spec),
            (false, true) => {
                Err(DecodeProblem::Reserved { field: Some(Field::SoffsetEn), value: 1 })
            }
        }
    }

    /// gfx950 SMEM without immediate offset: OFFSET holds the SGPR.
    fn offset_register(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
    ) -> Result<Operand, DecodeProblem> {
        let bits = layout.field(Field::Offset).ok_or(DecodeProblem::UnknownFormat)?;
        let code = self.peek(bits);
        self.scalar(spec, code)
    }

    /// GLOBAL, SCRATCH: absent when it holds the target's code for "off". FLAT must hold a fixed code.
    fn scalar_address(&mut self, layout: &Layout) -> Result<Operand, DecodeProblem> {
        let bits = layout.field(Field::Saddr).ok_or(DecodeProblem::UnknownFormat)?;
        let code = self.take(bits);
        let off = off_code(self.target);
        if layout.encoding == Encoding::Flat {
            let must_be = flat_saddr_code(self.target);
            let problem = OperandProblem::Fixed { value: code, must_be };
            let wrong = DecodeProblem::Operand { field: Field::Saddr, problem };
            return if code == must_be { Ok(Operand::None) } else { Err(wrong) };
        }
        let spec = OperandSpec { field: Field::Saddr, is_dst: false, ty: Ty::SAddr };
        let operand = if code == off { Operand::None } else { self.scalar(spec, code)? };
        // EXEC is no address (LLVM 22, register classes of SADDR).
        let no_address = match layout.encoding {
            Encoding::Scratch => SpecialReg::ExecHi,
            _ => SpecialReg::ExecLo,
        };
        let problem = OperandProblem::NotRegister { code };
        let wrong = DecodeProblem::Operand { field: Field::Saddr, problem };
        if operand == no_address.into() { Err(wrong) } else { Ok(operand) }
    }

    fn scratch_address(&mut self, layout: &Layout) -> Result<Operand, DecodeProblem> {
        let bits = layout.field(Field::Addr).ok_or(DecodeProblem::UnknownFormat)?;
        let is_used = layout.field(Field::Sve).is_some_and(|bits| self.take(bits) == 1);
        if !is_used {
            return Ok(Operand::None);
        }
        Ok(Operand::Vgpr(self.take(bits) as u8))
    }

    /// A compare to EXEC in VOP3 holds EXEC's code in the place of its destination.
    fn check_implied(&mut self, layout: &Layout, implied: Operand) -> Result<(), DecodeProblem> {
        if layout.encoding != Encoding::Vop3 {
            return Ok(());
        }
        let must_be = implied.scalar_code(self.target).unwrap_or(0);
        let value = layout.field(Field::Vdst).map_or(must_be, |bits| self.take(bits));
        let problem = OperandProblem::Fixed { value, must_be };
        let wrong = DecodeProblem::Operand { field: Field::Sdst, problem };
        if value == must_be { Ok(()) } else { Err(wrong) }
    }
}

/// Where a field of a row lies. A scalar destination takes VDST's place in vector formats that have no
/// field of its own, a typed source takes that of the plain source.
pub(crate) fn place(layout: &Layout, field: Field) -> Option<Bits> {
    let substitute = match field {
        Field::Sdst => Field::Vdst,
        Field::Vsrc0 | Field::Ssrc0 => Field::Src0,
        Field::Ssrc1 => Field::Src1,
        Field::Ssrc2 => Field::Src2,
        _ => field,
    };
    layout.field(field).or_else(|| layout.field(substitute))
}

/// The operand that an encoding implies: VCC in VOP2 and VOPC, EXEC in gfx1100's `v_cmpx`.
pub(crate) fn implied(
    field: Field,
    row: &Row,
    encoding: Encoding,
    target: Target,
) -> Option<Operand> {
    let is_compare = row.form(target).is_some_and(|form| form.encoding == Encoding::Vopc);
    if field == Field::Sdst
        && is_compare
        && row.has(Effect::WritesExec)
        && target == Target::Gfx1100
    {
        return Some(SpecialReg::ExecLo.into());
    }
    match (encoding, field) {
        (Encoding::Vop2 | Encoding::Vopd, Field::Sdst | Field::Src2)
        | (Encoding::Vopc, Field::Sdst) => Some(SpecialReg::VccLo.into()),
        _ => None,
    }
}

/// Operands that the modifiers switch off.
fn is_absent(field: Field, inst: &Inst) -> bool {
    match field {
        Field::Vaddr => !inst.mods.offen && !inst.mods.idxen,
        Field::Vdata => inst.mods.lds,
        Field::Vdst => inst.is_atomic_on_memory() && !inst.returns_old(),
        _ => false,
    }
}

/// Whether a matrix operand may have this code: A, B, their scales and the indices of sparse rows are vector registers,
/// C may also be an inline constant.
fn is_matrix_source(encoding: Encoding, spec: OperandSpec, code: u32) -> bool {
    let is_tile = matches!(spec.ty, Ty::Tile(..) | Ty::MxA | Ty::MxB) && !spec.is_dst;
    let is_inline =
        (128..LITERAL_CODE).contains(&code) && !(209..240).contains(&code) && code <= 248;
    let is_scale = matches!(spec.field, Field::ScaleA | Field::ScaleB);
    let is_indices = encoding == Encoding::Vop3pMai && spec.field == Field::Src2 && !is_tile;
    !is_tile && !is_scale && !is_indices
        || code >= VGPR_CODE
        || spec.field == Field::Src2 && is_inline && !is_indices
}

/// VOP3P-MAI: the bit that says that an operand lies in accumulation registers. A and B have one each, C
/// and D share one, and the indices of sparse rows have none.
pub(crate) fn acc_bit_of_matrix(layout: &Layout, spec: OperandSpec) -> Option<Bits> {
    let sources = layout.field(Field::AccAb);
    match spec.field {
        Field::Src0 => sources.map(|bits| Bits::new(bits.low, bits.low)),
        Field::Src1 => sources.map(|bits| Bits::new(bits.low + 1, bits.low + 1)),
        Field::Src2 if !matches!(spec.ty, Ty::Tile(..)) => None,
        Field::Src2 | Field::Vdst => layout.field(Field::AccCd),
        _ => None,
    }
}

fn is_scalar_source(field: Field) -> bool {
    matches!(field, Field::Ssrc0 | Field::Ssrc1 | Field::Ssrc2)
}

/// The code of "off" in SADDR. Source: CDNA3 ISA manual, "FLAT" (0x7f); RDNA3 ISA manual (NULL).
pub(crate) const fn off_code(target: Target) -> u32 {
    match target {
        Target::Gfx950 => 0x7f,
        Target::Gfx1100 => 0x7c,
    }
}

/// What SADDR holds in FLAT, which has no scalar address. Source: LLVM 22's encodings.
pub(crate) const fn flat_saddr_code(target: Target) -> u32 {
    match target {
        Target::Gfx950 => 0,
        Target::Gfx1100 => 0x7c,
    }
}
