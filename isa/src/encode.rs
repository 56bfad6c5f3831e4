//! Instructions to bytes: the inverse of [`mod@crate::decode`], over the same rows and layouts.
//!
//! Every encoding is decoded again and compared, so that an instruction with a modifier that it does not
//! take, a misaligned tuple or a wrong size is an error and never a different instruction.

mod dpp;
mod error;

pub use error::EncodeError;

use crate::decode::MAX_SIZE_BYTES;
use crate::decode::decode;
use crate::decode::dual::Half;
use crate::decode::index::long_form;
use crate::decode::operand::acc_bit_of_matrix;
use crate::decode::operand::flat_saddr_code;
use crate::decode::operand::implied;
use crate::decode::operand::off_code;
use crate::decode::operand::place;
use crate::format;
use crate::format::Bits;
use crate::format::Encoding;
use crate::format::Field;
use crate::format::Layout;
use crate::inst::Inst;
use crate::reg::Operand;
use crate::reg::SpecialReg;
use crate::reg::VGPR_CODE;
use crate::rules;
use crate::table::OperandSpec;
use crate::table::Row;
use crate::table::Ty;
use crate::table::dual;
use crate::target::Target;

/// The bytes of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    words: u128,
    size_bytes: u8,
}

impl Encoded {
    /// The bytes, in memory order.
    pub fn to_vec(self) -> Vec<u8> {
        self.words.to_le_bytes()[..usize::from(self.size_bytes)].to_vec()
    }
}

/// Encodes one instruction for `target`.
///
/// # Errors
/// When the target does not have the instruction or cannot express an operand or modifier of it.
pub fn encode(target: Target, inst: &Inst) -> Result<Encoded, EncodeError> {
    let layout = format::layout(target, inst.encoding);
    let layout = layout.ok_or(EncodeError::NoFormat { target, encoding: inst.encoding })?;
    let mut writer =
        Writer { target, words: layout.prefix, literal: None, size_bytes: layout.size_bytes };
    if inst.encoding == Encoding::Vopd {
        writer.dual(layout, inst)?;
    } else {
        writer.single(layout, inst)?;
    }
    writer.finish(layout, inst)
}

struct Writer {
    target: Target,
    words: u128,
    literal: Option<u32>,
    size_bytes: u8,
}

impl Writer {
    fn put(&mut self, bits: Bits, field: Field, value: u32) -> Result<(), EncodeError> {
        if !bits.fits(value) {
            return Err(EncodeError::FieldOverflow { field, value, bits: bits.width });
        }
        self.words |= bits.put(value);
        Ok(())
    }

    fn finish(mut self, layout: &Layout, inst: &Inst) -> Result<Encoded, EncodeError> {
        if let Some(literal) = self.literal {
            let low = layout.size_bytes * 8;
            self.size_bytes = layout.size_bytes + 4;
            if usize::from(self.size_bytes) <= MAX_SIZE_BYTES {
                self.words |= Bits::new(low + 31, low).put(literal);
            }
        }
        if usize::from(self.size_bytes) > MAX_SIZE_BYTES {
            return Err(EncodeError::TooLong { size_bytes: self.size_bytes });
        }
        let encoded = Encoded { words: self.words, size_bytes: self.size_bytes };
        match decode(self.target, &encoded.to_vec()) {
            Ok(back) if back == *inst => Ok(encoded),
            Ok(back) => {
                Err(EncodeError::NotRepresentable { wanted: Box::new(*inst), got: Box::new(back) })
            }
            Err(error) => Err(EncodeError::Illegal(error)),
        }
    }

    fn single(&mut self, layout: &Layout, inst: &Inst) -> Result<(), EncodeError> {
        let row = inst.row();
        let opcode = self.opcode(row, inst.encoding)?;
        self.put(layout.opcode, Field::Simm16, opcode.into())?;
        self.modifiers(layout, row, inst)?;
        let replaces_sources = self.extension(layout, row, inst)?;
        for (index, spec) in row.operands.iter().enumerate() {
            if !replaces_sources.contains(&spec.field) {
                self.operand(layout, row, *spec, inst.operands[index], inst)?;
            }
        }
        Ok(())
    }

    /// The opcode of a row in the encoding that was asked for.
    fn opcode(&self, row: &Row, encoding: Encoding) -> Result<u16, EncodeError> {
        let missing = EncodeError::NotOnTarget { target: self.target, op: row.op };
        let form = row.form(self.target).ok_or(missing.clone())?;
        let is_segment = matches!(encoding, Encoding::Flat | Encoding::Scratch)
            && form.encoding == Encoding::Global;
        if form.encoding == encoding || is_segment {
            return Ok(form.opcode);
        }
        let is_long = matches!(encoding, Encoding::Vop3 | Encoding::Vop3Sd);
        long_form(row, self.target).filter(|_| is_long).ok_or(missing)
    }

    fn modifiers(&mut self, layout: &Layout, row: &Row, inst: &Inst) -> Result<(), EncodeError> {
        for &(field, bits) in layout.fields {
            let is_sgpr_offset = field == Field::Offset && uses_offset_register(layout, row, inst);
            if rules::allowed(row, inst.encoding, self.target, field) == 0 || is_sgpr_offset {
                continue;
            }
            let value = inst.mods.get(field, row);
            let value = if field == Field::Offset { offset_bits(value, bits) } else { value };
            self.put(bits, field, value)?;
        }
        Ok(())
    }

    fn operand(
        &mut self,
        layout: &Layout,
        row: &Row,
        spec: OperandSpec,
        operand: Operand,
        inst: &Inst,
    ) -> Result<(), EncodeError> {
        if let Some(implied) = implied(spec.field, row, layout.encoding, self.target) {
            return self.implied(layout, spec, implied);
        }
        match spec.field {
            Field::K | Field::Simm32 => self.literal(spec, operand),
            Field::Soffset if layout.encoding == Encoding::Smem => {
                self.scalar_offset(layout, spec, operand, inst)
            }
            Field::Saddr => self.scalar_address(layout, spec, operand),
            _ if operand == Operand::None => Ok(()),
            _ => self.coded(layout, spec, operand, inst),
        }
    }

    fn coded(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
        operand: Operand,
        inst: &Inst,
    ) -> Result<(), EncodeError> {
        let bits = place(layout, spec.field).ok_or(self.unencodable(spec, operand))?;
        if spec.field == Field::Addr && layout.encoding == Encoding::Scratch {
            let is_used = layout.field(Field::Sve).ok_or(self.unencodable(spec, operand))?;
            self.put(is_used, Field::Sve, 1)?;
        }
        let code = self.code(layout, spec, operand, bits, inst)?;
        self.put(bits, spec.field, code)
    }

    /// What a field holds to name `operand`.
    fn code(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
        operand: Operand,
        bits: Bits,
        inst: &Inst,
    ) -> Result<u32, EncodeError> {
        let fail = self.unencodable(spec, operand);
        let scalar = operand.scalar_code(self.target);
        match operand {
            Operand::Imm(value) => Ok(value.into()),
            Operand::Vgpr(_) | Operand::Acc(_) => {
                let source_base = if bits.width == 9 { VGPR_CODE } else { 0 };
                Ok(source_base + self.vector_number(layout, spec, operand, inst)?)
            }
            Operand::Literal(value) => {
                self.set_literal(spec, value)?;
                scalar.ok_or(fail)
            }
            _ => match spec.field {
                Field::Sbase => {
                    scalar.filter(|code| code % 2 == 0).map(|code| code / 2).ok_or(fail)
                }
                Field::Srsrc => {
                    scalar.filter(|code| code % 4 == 0).map(|code| code / 4).ok_or(fail)
                }
                _ => scalar.ok_or(fail),
            },
        }
    }

    /// A vector register's number with its half bit; sets the ACC bit of memory formats.
    fn vector_number(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
        operand: Operand,
        inst: &Inst,
    ) -> Result<u32, EncodeError> {
        match operand {
            Operand::Vgpr(number) if rules::has_half_bit(spec.ty, layout.encoding, self.target) => {
                let index = rules::modifier_index(spec.field).unwrap_or(0);
                let half = u32::from(inst.mods.op_sel) >> index & 1;
                Ok(u32::from(number) | half << 7)
            }
            Operand::Vgpr(number) => Ok(number.into()),
            Operand::Acc(number) => {
                if spec.ty != Ty::Acc {
                    let bit = acc_bit_of_matrix(layout, spec).or_else(|| layout.field(Field::Acc));
                    self.put(bit.ok_or(self.unencodable(spec, operand))?, Field::Acc, 1)?;
                }
                Ok(number.into())
            }
            _ => Err(self.unencodable(spec, operand)),
        }
    }

    fn literal(&mut self, spec: OperandSpec, operand: Operand) -> Result<(), EncodeError> {
        match operand {
            Operand::Literal(value) => self.set_literal(spec, value),
            other => Err(self.unencodable(spec, other)),
        }
    }

    /// All literals of an instruction share one dword.
    fn set_literal(&mut self, spec: OperandSpec, value: u32) -> Result<(), EncodeError> {
        match self.literal {
            Some(first) if first != value => {
                Err(EncodeError::TwoLiterals { field: spec.field, first, second: value })
            }
            _ => {
                self.literal = Some(value);
                Ok(())
            }
        }
    }

    /// An operand that the encoding implies takes no bits, but for EXEC in VOP3 compares.
    fn implied(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
        implied: Operand,
    ) -> Result<(), EncodeError> {
        let (Encoding::Vop3, Some(bits)) = (layout.encoding, layout.field(Field::Vdst)) else {
            return Ok(());
        };
        let code = implied.scalar_code(self.target).ok_or(self.unencodable(spec, implied))?;
        self.put(bits, spec.field, code)
    }

    /// SMEM: see the decoder for the three places of the SGPR offset.
    fn scalar_offset(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
        operand: Operand,
        inst: &Inst,
    ) -> Result<(), EncodeError> {
        let fail = self.unencodable(spec, operand);
        let Some(has_imm) = layout.field(Field::ImmEn) else {
            let operand = if operand == Operand::None { SpecialReg::Null.into() } else { operand };
            let bits = layout.field(Field::Soffset).ok_or(fail.clone())?;
            return self.put(bits, spec.field, operand.scalar_code(self.target).ok_or(fail)?);
        };
        if operand == Operand::None {
            return self.put(has_imm, Field::ImmEn, 1);
        }
        let code = operand.scalar_code(self.target).ok_or(fail.clone())?;
        if uses_offset_register(layout, inst.row(), inst) {
            return self.put(layout.field(Field::Offset).ok_or(fail)?, spec.field, code);
        }
        self.put(has_imm, Field::ImmEn, 1)?;
        self.put(layout.field(Field::SoffsetEn).ok_or(fail.clone())?, Field::SoffsetEn, 1)?;
        self.put(layout.field(Field::Soffset).ok_or(fail)?, spec.field, code)
    }

    fn scalar_address(
        &mut self,
        layout: &Layout,
        spec: OperandSpec,
        operand: Operand,
    ) -> Result<(), EncodeError> {
        let fail = self.unencodable(spec, operand);
        let bits = layout.field(Field::Saddr).ok_or(fail.clone())?;
        let code = match operand {
            Operand::None if layout.encoding == Encoding::Flat => flat_saddr_code(self.target),
            Operand::None => off_code(self.target),
            _ => operand.scalar_code(self.target).ok_or(fail)?,
        };
        self.put(bits, spec.field, code)
    }

    fn dual(&mut self, layout: &Layout, inst: &Inst) -> Result<(), EncodeError> {
        let y = inst.dual.ok_or(EncodeError::NoSecondHalf)?;
        for (half, op, operands) in [(Half::X, inst.op, inst.operands), (Half::Y, y.op, y.operands)]
        {
            let missing = EncodeError::NotOnTarget { target: self.target, op };
            let row = dual::by_op(op).ok_or(missing)?;
            let field = if half == Half::X { Field::OpX } else { Field::OpY };
            self.put_named(layout, field, row.opcode)?;
            for (spec, operand) in op.row().operands.iter().zip(operands) {
                self.half_operand(layout, half, *spec, operand, inst)?;
            }
        }
        Ok(())
    }

    fn half_operand(
        &mut self,
        layout: &Layout,
        half: Half,
        spec: OperandSpec,
        operand: Operand,
        inst: &Inst,
    ) -> Result<(), EncodeError> {
        match spec.field {
            Field::K => self.literal(spec, operand),
            Field::Src2 => Ok(()),
            field => {
                let place = half.field(field);
                let bits = layout.field(place).ok_or(self.unencodable(spec, operand))?;
                let code = self.code(layout, spec, operand, bits, inst)?;
                self.put(bits, place, if place == Field::VdstY { code >> 1 } else { code })
            }
        }
    }

    fn put_named(&mut self, layout: &Layout, field: Field, value: u32) -> Result<(), EncodeError> {
        let bits =
            layout.field(field).ok_or(EncodeError::FieldOverflow { field, value, bits: 0 })?;
        self.put(bits, field, value)
    }

    fn unencodable(&self, spec: OperandSpec, operand: Operand) -> EncodeError {
        EncodeError::Operand { target: self.target, field: spec.field, operand }
    }
}

/// gfx950 SMEM without an immediate offset keeps the SGPR offset in OFFSET.
fn uses_offset_register(layout: &Layout, row: &Row, inst: &Inst) -> bool {
    let has_register =
        row.position(Field::Soffset).is_some_and(|at| inst.operands[at] != Operand::None);
    layout.field(Field::ImmEn).is_some() && has_register && inst.mods.offset == 0
}

/// The bits of an offset that fits its field, signed or not; an offset that does not fit keeps its
/// excess bits, so that writing it fails.
fn offset_bits(value: u32, bits: Bits) -> u32 {
    let mask = bits.mask() >> bits.low;
    let half = 1i64 << (bits.width - 1);
    let is_negative_that_fits = (-half..0).contains(&i64::from(value as i32));
    if is_negative_that_fits { value & mask as u32 } else { value }
}
