//! The dword of DPP and SDWA instructions.

use super::DecodeProblem;
use super::OperandProblem;
use super::Reader;
use super::operand::place;
use crate::format::Bits;
use crate::format::Encoding;
use crate::format::Field;
use crate::format::Layout;
use crate::format::extension;
use crate::inst::Dpp;
use crate::inst::DppCtrl;
use crate::inst::Inst;
use crate::inst::OutputScale;
use crate::inst::Sdwa;
use crate::inst::SdwaSel;
use crate::inst::SdwaUnused;
use crate::reg::Operand;
use crate::reg::SpecialReg;
use crate::rules;
use crate::table::Effect;
use crate::table::OperandSpec;
use crate::table::Row;
use crate::target::Target;

/// Codes of SRC0 that announce an extension dword. Source: ISA manuals, "scalar operands".
pub(crate) const SDWA_CODE: u32 = 0xf9;
pub(crate) const DPP16_CODE: u32 = 0xfa;
pub(crate) const DPP8_CODE: u32 = 0xe9;
pub(crate) const DPP8_FI_CODE: u32 = 0xea;

/// The fields of an extension dword at their place in the instruction.
struct Extension {
    fields: &'static [(Field, Bits)],
    base: u8,
}

impl Extension {
    fn bits(&self, field: Field) -> Option<Bits> {
        let (_, bits) = self.fields.iter().find(|(name, _)| *name == field)?;
        Some(Bits { low: bits.low + self.base, width: bits.width })
    }
}

impl Reader {
    /// Reads the operands of a DPP or SDWA instruction; false when it is neither.
    pub(super) fn extension(
        &mut self,
        layout: &Layout,
        row: &Row,
        inst: &mut Inst,
    ) -> Result<bool, DecodeProblem> {
        let is_vector = matches!(
            layout.encoding,
            Encoding::Vop1
                | Encoding::Vop2
                | Encoding::Vopc
                | Encoding::Vop3
                | Encoding::Vop3Sd
                | Encoding::Vop3p
        );
        let Some(bits) = place(layout, Field::Src0).filter(|_| is_vector) else { return Ok(false) };
        let code = self.peek(bits);
        let is_gfx1100 = self.target == Target::Gfx1100;
        let (fields, is_taken) = match code {
            SDWA_CODE if layout.encoding == Encoding::Vopc => {
                (extension::SDWA_COMPARE, self.takes_sdwa(row, layout))
            }
            SDWA_CODE => (extension::SDWA, self.takes_sdwa(row, layout)),
            DPP16_CODE => (extension::DPP16, rules::takes_dpp(row, layout.encoding, self.target)),
            DPP8_CODE | DPP8_FI_CODE => {
                (extension::DPP8, is_gfx1100 && rules::takes_dpp(row, layout.encoding, self.target))
            }
            _ => return Ok(false),
        };
        if !is_taken {
            let problem = OperandProblem::NoExtension { code };
            return Err(DecodeProblem::Operand { field: Field::Src0, problem });
        }
        self.take(bits);
        self.grow(layout.size_bytes + 4)?;
        let extension = Extension { fields, base: layout.size_bytes * 8 };
        match code {
            SDWA_CODE => self.sdwa(layout, &extension, row, inst)?,
            DPP16_CODE => self.dpp16(layout, &extension, row, inst)?,
            _ => self.dpp8(layout, &extension, row, inst, code == DPP8_FI_CODE)?,
        }
        Ok(true)
    }

    fn takes_sdwa(&self, row: &Row, layout: &Layout) -> bool {
        rules::takes_sdwa(row, layout.encoding, self.target)
    }

    /// The value of a field of the extension; 0 when it has none.
    fn take_field(&mut self, extension: &Extension, field: Field) -> u32 {
        extension.bits(field).map_or(0, |bits| self.take(bits))
    }

    fn dpp_operands(
        &mut self,
        layout: &Layout,
        extension: &Extension,
        row: &Row,
        inst: &mut Inst,
    ) -> Result<(), DecodeProblem> {
        for (index, spec) in row.operands.iter().enumerate() {
            inst.operands[index] = if spec.field == Field::Src0 {
                let code = self.take_field(extension, Field::DppSrc0);
                self.vector(layout, *spec, code)
            } else {
                self.operand(layout, row, index, inst)?
            };
            check_dpp_operand(layout, *spec, inst.operands[index])?;
        }
        Ok(())
    }

    fn dpp16(
        &mut self,
        layout: &Layout,
        extension: &Extension,
        row: &Row,
        inst: &mut Inst,
    ) -> Result<(), DecodeProblem> {
        self.dpp_operands(layout, extension, row, inst)?;
        if layout.size_bytes == 4 {
            self.extension_source_modifiers(extension, row, inst)?;
        }
        let value = self.take_field(extension, Field::DppCtrl);
        let fetch_inactive =
            self.target == Target::Gfx1100 && self.take_field(extension, Field::Fi) == 1;
        let problem = OperandProblem::Control { value };
        let unknown = DecodeProblem::Operand { field: Field::DppCtrl, problem };
        let ctrl = DppCtrl::from_code(self.target, value).ok_or(unknown)?;
        if !rules::is_narrow(row, self.target) && !matches!(ctrl, DppCtrl::RowNewbcast(_)) {
            return Err(unknown);
        }
        inst.mods.dpp = Some(Dpp {
            ctrl,
            row_mask: self.take_field(extension, Field::RowMask) as u8,
            bank_mask: self.take_field(extension, Field::BankMask) as u8,
            bound_ctrl: self.take_field(extension, Field::BoundCtrl) == 1,
            fetch_inactive,
        });
        Ok(())
    }

    fn dpp8(
        &mut self,
        layout: &Layout,
        extension: &Extension,
        row: &Row,
        inst: &mut Inst,
        fetch_inactive: bool,
    ) -> Result<(), DecodeProblem> {
        self.dpp_operands(layout, extension, row, inst)?;
        let packed = self.take_field(extension, Field::Dpp8Sel);
        let select = std::array::from_fn(|lane| (packed >> (3 * lane) & 7) as u8);
        inst.mods.dpp = Some(Dpp {
            ctrl: DppCtrl::Dpp8(select),
            row_mask: 0xf,
            bank_mask: 0xf,
            bound_ctrl: false,
            fetch_inactive,
        });
        Ok(())
    }

    /// NEG and ABS of both sources, in the extension dword of short encodings.
    fn extension_source_modifiers(
        &mut self,
        extension: &Extension,
        row: &Row,
        inst: &mut Inst,
    ) -> Result<(), DecodeProblem> {
        for (index, (source, field)) in
            [(Field::Src0, Field::Mods0), (Field::Src1, Field::Mods1)].into_iter().enumerate()
        {
            let is_float = row.position(source).is_some_and(|at| row.operands[at].ty.is_float());
            if is_float {
                let value = self.take_field(extension, field) as u8;
                inst.mods.neg |= (value & 1) << index;
                inst.mods.abs |= (value >> 1) << index;
            }
        }
        Ok(())
    }

    fn sdwa(
        &mut self,
        layout: &Layout,
        extension: &Extension,
        row: &Row,
        inst: &mut Inst,
    ) -> Result<(), DecodeProblem> {
        for (index, spec) in row.operands.iter().enumerate() {
            inst.operands[index] = match spec.field {
                Field::Src0 => self.sdwa_source(extension, *spec, Field::S0)?,
                Field::Src1 => self.sdwa_source_in(place(layout, Field::Src1), extension, *spec)?,
                Field::Sdst if layout.encoding == Encoding::Vopc => {
                    self.sdwa_mask(extension, *spec)?
                }
                _ => self.operand(layout, row, index, inst)?,
            };
        }
        self.extension_source_modifiers(extension, row, inst)?;
        if rules::allowed(row, Encoding::Vop3, self.target, Field::Clamp) != 0 {
            inst.mods.clamp = self.take_field(extension, Field::Clamp) == 1;
        }
        if rules::allowed(row, Encoding::Vop3, self.target, Field::Omod) != 0 {
            inst.mods.omod = OutputScale::ALL[self.take_field(extension, Field::Omod) as usize & 3];
        }
        inst.mods.sdwa = Some(self.sdwa_selects(extension, row)?);
        Ok(())
    }

    fn sdwa_selects(&mut self, extension: &Extension, row: &Row) -> Result<Sdwa, DecodeProblem> {
        let has_src1 = row.position(Field::Src1).is_some();
        let has_vdst = extension.bits(Field::DstSel).is_some();
        let sdwa = Sdwa {
            dst_sel: if has_vdst {
                self.sdwa_sel(extension, Field::DstSel)?
            } else {
                SdwaSel::Dword
            },
            dst_unused: self.sdwa_unused(extension)?,
            src0_sel: self.sdwa_sel(extension, Field::Src0Sel)?,
            src1_sel: if has_src1 {
                self.sdwa_sel(extension, Field::Src1Sel)?
            } else {
                SdwaSel::Dword
            },
            sext: self.sdwa_sext(extension, row),
        };
        let is_whole = sdwa.dst_sel == SdwaSel::Dword && sdwa.dst_unused == SdwaUnused::Pad;
        if row.has(Effect::NoDstSel) && !is_whole {
            let value = sdwa.dst_sel as u32;
            return Err(DecodeProblem::Reserved { field: Some(Field::DstSel), value });
        }
        Ok(sdwa)
    }

    /// Sign extension of integer sources.
    fn sdwa_sext(&mut self, extension: &Extension, row: &Row) -> u8 {
        let mut sext = 0;
        for (index, (source, field)) in
            [(Field::Src0, Field::Sext0), (Field::Src1, Field::Sext1)].into_iter().enumerate()
        {
            let is_integer = !row.has(Effect::NoDstSel)
                && row.position(source).is_some_and(|at| !row.operands[at].ty.is_float());
            if is_integer {
                sext |= (self.take_field(extension, field) as u8) << index;
            }
        }
        sext
    }

    fn sdwa_source(
        &mut self,
        extension: &Extension,
        spec: OperandSpec,
        scalar: Field,
    ) -> Result<Operand, DecodeProblem> {
        let code = self.take_field(extension, Field::DppSrc0);
        self.sdwa_coded(extension, spec, scalar, code)
    }

    fn sdwa_source_in(
        &mut self,
        bits: Option<Bits>,
        extension: &Extension,
        spec: OperandSpec,
    ) -> Result<Operand, DecodeProblem> {
        let code = bits.map_or(0, |bits| self.take(bits));
        self.sdwa_coded(extension, spec, Field::S1, code)
    }

    fn sdwa_coded(
        &mut self,
        extension: &Extension,
        spec: OperandSpec,
        scalar: Field,
        code: u32,
    ) -> Result<Operand, DecodeProblem> {
        if self.take_field(extension, scalar) == 0 {
            return Ok(Operand::Vgpr(code as u8));
        }
        self.scalar(spec, code)
    }

    /// VCC has an encoding of its own, so naming it explicitly is refused.
    fn sdwa_mask(
        &mut self,
        extension: &Extension,
        spec: OperandSpec,
    ) -> Result<Operand, DecodeProblem> {
        if self.take_field(extension, Field::SdEn) == 0 {
            return Ok(SpecialReg::VccLo.into());
        }
        let code = self.take_field(extension, Field::Sdst);
        match self.scalar(spec, code)? {
            mask if mask == SpecialReg::VccLo.into() => {
                Err(DecodeProblem::Reserved { field: Some(Field::SdEn), value: 1 })
            }
            mask => Ok(mask),
        }
    }

    fn sdwa_sel(&mut self, extension: &Extension, field: Field) -> Result<SdwaSel, DecodeProblem> {
        let value = self.take_field(extension, field);
        let unknown = DecodeProblem::Operand { field, problem: OperandProblem::Control { value } };
        SdwaSel::ALL.get(value as usize).copied().ok_or(unknown)
    }

    fn sdwa_unused(&mut self, extension: &Extension) -> Result<SdwaUnused, DecodeProblem> {
        let value = self.take_field(extension, Field::DstUnused);
        let unknown = DecodeProblem::Operand {
            field: Field::DstUnused,
            problem: OperandProblem::Control { value },
        };
        SdwaUnused::ALL.get(value as usize).copied().ok_or(unknown)
    }
}

/// DPP takes no literal, and in VOP3 source 1 must be a VGPR too.
///
/// Source: LLVM 22's assembler (scalar source 1 came after gfx1100).
fn check_dpp_operand(
    layout: &Layout,
    spec: OperandSpec,
    operand: Operand,
) -> Result<(), DecodeProblem> {
    let is_vector = matches!(operand, Operand::Vgpr(_));
    let problem = match operand {
        Operand::Literal(_) => OperandProblem::NoLiteral,
        _ if spec.field == Field::Src1 && layout.size_bytes == 8 && !is_vector => {
            OperandProblem::DppScalar
        }
        _ => return Ok(()),
    };
    Err(DecodeProblem::Operand { field: spec.field, problem })
}

impl DppCtrl {
    /// The pattern that a DPP_CTRL value names on `target`.
    ///
    /// Sources: CDNA3 ISA manual, "DPP_ENUM"; RDNA3 ISA manual, "DPP16 control".
    pub fn from_code(target: Target, code: u32) -> Option<DppCtrl> {
        let low = (code & 0xf) as u8;
        let is_gfx950 = target == Target::Gfx950;
        let ctrl = match code {
            0x000..=0x0ff => {
                DppCtrl::QuadPerm(std::array::from_fn(|lane| (code >> (2 * lane) & 3) as u8))
            }
            0x101..=0x10f => DppCtrl::RowShl(low),
            0x111..=0x11f => DppCtrl::RowShr(low),
            0x121..=0x12f => DppCtrl::RowRor(low),
            0x130 if is_gfx950 => DppCtrl::WaveShl,
            0x134 if is_gfx950 => DppCtrl::WaveRol,
            0x138 if is_gfx950 => DppCtrl::WaveShr,
            0x13c if is_gfx950 => DppCtrl::WaveRor,
            0x140 => DppCtrl::RowMirror,
            0x141 => DppCtrl::RowHalfMirror,
            0x142 if is_gfx950 => DppCtrl::RowBcast15,
            0x143 if is_gfx950 => DppCtrl::RowBcast31,
            0x150..=0x15f if is_gfx950 => DppCtrl::RowNewbcast(low),
            0x150..=0x15f => DppCtrl::RowShare(low),
            0x160..=0x16f if !is_gfx950 => DppCtrl::RowXmask(low),
            _ => return None,
        };
        Some(ctrl)
    }

    /// The DPP_CTRL value of this pattern on `target`; `None` for DPP8 and for what the target does not
    /// have.
    pub fn code(self, target: Target) -> Option<u32> {
        let code = match self {
            DppCtrl::QuadPerm(select) => pack(&select, 2),
            DppCtrl::RowShl(n) => 0x100 + u32::from(n),
            DppCtrl::RowShr(n) => 0x110 + u32::from(n),
            DppCtrl::RowRor(n) => 0x120 + u32::from(n),
            DppCtrl::WaveShl => 0x130,
            DppCtrl::WaveRol => 0x134,
            DppCtrl::WaveShr => 0x138,
            DppCtrl::WaveRor => 0x13c,
            DppCtrl::RowMirror => 0x140,
            DppCtrl::RowHalfMirror => 0x141,
            DppCtrl::RowBcast15 => 0x142,
            DppCtrl::RowBcast31 => 0x143,
            DppCtrl::RowNewbcast(n) | DppCtrl::RowShare(n) => 0x150 + u32::from(n),
            DppCtrl::RowXmask(n) => 0x160 + u32::from(n),
            DppCtrl::Dpp8(_) => return None,
        };
        (DppCtrl::from_code(target, code) == Some(self)).then_some(code)
    }
}

/// Values of `width` bits each, the first in the lowest bits.
pub(crate) fn pack(values: &[u8], width: u32) -> u32 {
    values.iter().rev().fold(0, |packed, value| packed << width | u32::from(*value))
}

impl SdwaSel {
    /// By the value of a select field.
    pub(crate) const ALL: [SdwaSel; 7] = [
        SdwaSel::Byte0,
        SdwaSel::Byte1,
        SdwaSel::Byte2,
        SdwaSel::Byte3,
        SdwaSel::Word0,
        SdwaSel::Word1,
        SdwaSel::Dword,
    ];
}

impl SdwaUnused {
    /// By the value of DST_UNUSED.
    pub(crate) const ALL: [SdwaUnused; 3] =
        [SdwaUnused::Pad, SdwaUnused::Sext, SdwaUnused::Preserve];
}
