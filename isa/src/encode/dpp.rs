//! The dword of DPP and SDWA instructions.

use super::EncodeError;
use super::Writer;
use crate::decode::dpp::DPP8_CODE;
use crate::decode::dpp::DPP8_FI_CODE;
use crate::decode::dpp::DPP16_CODE;
use crate::decode::dpp::SDWA_CODE;
use crate::decode::dpp::pack;
use crate::decode::operand::place;
use crate::format::Bits;
use crate::format::Encoding;
use crate::format::Field;
use crate::format::Layout;
use crate::format::extension;
use crate::inst::Dpp;
use crate::inst::DppCtrl;
use crate::inst::Inst;
use crate::inst::Sdwa;
use crate::reg::Operand;
use crate::reg::SpecialReg;
use crate::table::OperandSpec;
use crate::table::Row;
use crate::table::Ty;

impl Writer {
    /// Writes the extension dword, if the instruction has one; returns the operands that it holds.
    pub(super) fn extension(
        &mut self,
        layout: &Layout,
        row: &Row,
        inst: &Inst,
    ) -> Result<&'static [Field], EncodeError> {
        match (inst.mods.dpp, inst.mods.sdwa) {
            (Some(dpp), _) => {
                self.dpp(layout, row, inst, dpp)?;
                Ok(&[Field::Src0])
            }
            (None, Some(sdwa)) => {
                self.sdwa(layout, row, inst, sdwa)?;
                Ok(&[Field::Src0, Field::Src1, Field::Sdst])
            }
            (None, None) => Ok(&[]),
        }
    }

    fn start_extension(&mut self, layout: &Layout, code: u32) -> Result<(), EncodeError> {
        self.size_bytes = layout.size_bytes + 4;
        match place(layout, Field::Src0) {
            Some(bits) => self.put(bits, Field::Src0, code),
            None => Err(EncodeError::FieldOverflow { field: Field::Src0, value: code, bits: 0 }),
        }
    }

    fn put_extension(
        &mut self,
        layout: &Layout,
        fields: &[(Field, Bits)],
        field: Field,
        value: u32,
    ) -> Result<(), EncodeError> {
        match fields.iter().find(|(name, _)| *name == field) {
            Some((_, bits)) => {
                let bits = Bits { low: bits.low + layout.size_bytes * 8, width: bits.width };
                self.put(bits, field, value)
            }
            None if value == 0 => Ok(()),
            None => Err(EncodeError::FieldOverflow { field, value, bits: 0 }),
        }
    }

    /// The register number of source 0, with its half bit.
    fn extension_vgpr(
        &mut self,
        layout: &Layout,
        row: &Row,
        inst: &Inst,
    ) -> Result<u32, EncodeError> {
        let at = row.position(Field::Src0).unwrap_or(0);
        match row.operands.get(at) {
            Some(spec) => self.vector_number(layout, *spec, inst.operands[at], inst),
            None => Err(EncodeError::NotOnTarget { target: self.target, op: row.op }),
        }
    }

    fn dpp(
        &mut self,
        layout: &Layout,
        row: &Row,
        inst: &Inst,
        dpp: Dpp,
    ) -> Result<(), EncodeError> {
        let vgpr = self.extension_vgpr(layout, row, inst)?;
        if let DppCtrl::Dpp8(select) = dpp.ctrl {
            self.start_extension(
                layout,
                if dpp.fetch_inactive { DPP8_FI_CODE } else { DPP8_CODE },
            )?;
            self.put_extension(layout, extension::DPP8, Field::DppSrc0, vgpr)?;
            return self.put_extension(layout, extension::DPP8, Field::Dpp8Sel, pack(&select, 3));
        }
        self.start_extension(layout, DPP16_CODE)?;
        let unknown = EncodeError::FieldOverflow { field: Field::DppCtrl, value: 0, bits: 0 };
        let mut values = vec![
            (Field::DppSrc0, vgpr),
            (Field::DppCtrl, dpp.ctrl.code(self.target).ok_or(unknown)?),
            (Field::Fi, dpp.fetch_inactive.into()),
            (Field::BoundCtrl, dpp.bound_ctrl.into()),
            (Field::BankMask, dpp.bank_mask.into()),
            (Field::RowMask, dpp.row_mask.into()),
        ];
        if layout.size_bytes == 4 {
            values.extend(source_modifiers(inst));
        }
        values.into_iter().try_for_each(|(field, value)| {
            self.put_extension(layout, extension::DPP16, field, value)
        })
    }

    fn sdwa(
        &mut self,
        layout: &Layout,
        row: &Row,
        inst: &Inst,
        sdwa: Sdwa,
    ) -> Result<(), EncodeError> {
        let is_compare = layout.encoding == Encoding::Vopc;
        let fields = if is_compare { extension::SDWA_COMPARE } else { extension::SDWA };
        self.start_extension(layout, SDWA_CODE)?;
        let (src0, is_scalar0) = self.sdwa_source(row, inst, Field::Src0)?;
        let (src1, is_scalar1) = self.sdwa_source(row, inst, Field::Src1)?;
        if let Some(bits) = layout.field(Field::Src1) {
            self.put(bits, Field::Src1, src1)?;
        }
        let mut values = vec![
            (Field::DppSrc0, src0),
            (Field::S0, is_scalar0.into()),
            (Field::S1, is_scalar1.into()),
            (Field::Src0Sel, sdwa.src0_sel as u32),
            (Field::Sext0, u32::from(sdwa.sext) & 1),
            (Field::Sext1, u32::from(sdwa.sext) >> 1),
        ];
        if row.position(Field::Src1).is_some() {
            values.push((Field::Src1Sel, sdwa.src1_sel as u32));
        }
        values.extend(source_modifiers(inst));
        if is_compare {
            let (code, is_explicit) = self.sdwa_mask(row, inst)?;
            values.extend([(Field::Sdst, code), (Field::SdEn, is_explicit.into())]);
        } else {
            values.extend([
                (Field::DstSel, sdwa.dst_sel as u32),
                (Field::DstUnused, sdwa.dst_unused as u32),
                (Field::Clamp, inst.mods.clamp.into()),
                (Field::Omod, inst.mods.omod as u32),
            ]);
        }
        values
            .into_iter()
            .try_for_each(|(field, value)| self.put_extension(layout, fields, field, value))
    }

    /// The code of a source, and whether it is scalar.
    fn sdwa_source(
        &self,
        row: &Row,
        inst: &Inst,
        field: Field,
    ) -> Result<(u32, bool), EncodeError> {
        let Some(at) = row.position(field) else { return Ok((0, false)) };
        let operand = inst.operands[at];
        match operand {
            Operand::Vgpr(number) => Ok((number.into(), false)),
            _ => {
                let fail = EncodeError::Operand { target: self.target, field, operand };
                Ok((operand.scalar_code(self.target).ok_or(fail)?, true))
            }
        }
    }

    /// The code of a compare's destination, and whether it must be written out.
    fn sdwa_mask(&self, row: &Row, inst: &Inst) -> Result<(u32, bool), EncodeError> {
        let spec = OperandSpec { field: Field::Sdst, is_dst: true, ty: Ty::Mask };
        let operand = row.position(Field::Sdst).map_or(Operand::None, |at| inst.operands[at]);
        if operand == SpecialReg::VccLo.into() {
            return Ok((0, false));
        }
        Ok((operand.scalar_code(self.target).ok_or(self.unencodable(spec, operand))?, true))
    }
}

/// NEG and ABS of both sources as the extension dword of short encodings holds them.
fn source_modifiers(inst: &Inst) -> [(Field, u32); 2] {
    let of = |index: u32| {
        u32::from(inst.mods.neg) >> index & 1 | (u32::from(inst.mods.abs) >> index & 1) << 1
    };
    [(Field::Mods0, of(0)), (Field::Mods1, of(1))]
}
