//! Operands as text.

use std::fmt;

use super::Text;
use crate::format::Encoding;
use crate::format::Field;
use crate::reg::InlineFloat;
use crate::reg::Operand;
use crate::reg::SpecialReg;
use crate::rules;
use crate::sysreg;
use crate::sysreg::DelayHint;
use crate::sysreg::HwRegField;
use crate::table::Effect;
use crate::table::OperandSpec;
use crate::table::Ty;
use crate::target::Target;
use crate::waits;
use crate::waits::WaitCounts;

impl Text<'_> {
    /// Operands that the assembler does not write: the implied EXEC of a compare, an offset that is
    /// absent, the scalar address of FLAT.
    pub(super) fn is_hidden(&self, index: usize) -> bool {
        let (row, encoding) = (self.inst.row(), self.inst.encoding);
        let spec = row.operands[index];
        match spec.field {
            Field::Sdst if self.inst.operands[index] == SpecialReg::ExecLo.into() => {
                row.has(Effect::WritesExec) && self.target == Target::Gfx1100 && is_vector(encoding)
            }
            Field::Saddr => encoding == Encoding::Flat,
            Field::Vdata => self.inst.mods.lds,
            Field::Vdst => self.inst.operands[index] == Operand::None,
            _ => false,
        }
    }

    pub(super) fn operand(&self, f: &mut fmt::Formatter<'_>, index: usize) -> fmt::Result {
        let spec = self.inst.row().operands[index];
        let operand = self.inst.operands[index];
        let registers = self.inst.registers(index, self.target);
        match (spec.field, operand) {
            (Field::Soffset, _) if self.inst.encoding == Encoding::Smem => {
                return self.scalar_offset(f, operand);
            }
            (_, Operand::Imm(imm))
                if self.inst.encoding == Encoding::Sopp && spec.ty == Ty::U16 =>
            {
                return short_number(f, imm);
            }
            (_, Operand::Imm(imm)) => return immediate(f, self.target, imm, spec.ty),
            (Field::Simm32, Operand::Literal(value)) => return short_literal(f, value),
            (Field::K, Operand::Literal(value)) => return write!(f, "{value:#x}"),
            _ => {}
        }
        let Some(source) =
            rules::modifier_index(spec.field).filter(|source| *source < 3 && !spec.is_dst)
        else {
            plain(f, self.target, operand, spec.ty, registers)?;
            return self.half_name(f, spec.field, spec.ty, operand);
        };
        let (open, close) = self.source_marks(source, spec.ty, operand);
        f.write_str(open)?;
        plain(f, self.target, operand, self.text_type(spec.ty), registers)?;
        self.half_name(f, spec.field, spec.ty, operand)?;
        f.write_str(close)
    }

    /// The type by which a constant is written: scalar instructions take 16-bit operands from 32-bit
    /// constants; constants of mixed precision, and the classes that a binary16 is tested for, are written
    /// as binary16; those that are only
    /// selected as integers; gfx950 takes the shift of an alignment from 32 bits and
    /// writes the exponent of a scaling as binary16.
    fn text_type(&self, ty: Ty) -> Ty {
        let specs = self.inst.row().operands;
        let result = specs.first().map(|spec| spec.ty);
        let is_class = result == Some(Ty::Mask)
            && specs.iter().any(|spec| spec.ty == Ty::F16)
            && specs.iter().any(|spec| spec.ty.is_16_bit() && !spec.ty.is_float());
        let scales =
            result == Some(Ty::F16) && specs.iter().any(|spec| !spec.is_dst && spec.ty == Ty::F16);
        let is_exponent = |ty: Ty| scales && ty.is_16_bit() && !ty.is_float();
        match ty {
            Ty::Mix => Ty::F16,
            _ if ty.is_16_bit() && !is_vector(self.inst.encoding) => Ty::B32,
            _ if ty.is_16_bit() && is_class => Ty::F16,
            Ty::F16 if result == Some(Ty::B16) => Ty::B16,
            _ if is_exponent(ty) && self.target == Target::Gfx950 => Ty::F16,
            Ty::U16 if result == Some(Ty::B32) && self.target == Target::Gfx950 => Ty::B32,
            _ => ty,
        }
    }

    /// What stands around a source: sign, absolute value, sign extension. Packed sources have none.
    fn source_marks(&self, source: u32, ty: Ty, operand: Operand) -> (&'static str, &'static str) {
        let mods = &self.inst.mods;
        let is_set = |bits: u8| bits >> source & 1 == 1;
        let is_packed_format = self.inst.encoding == Encoding::Vop3p && ty != Ty::Mix;
        let sext = mods.sdwa.is_some_and(|sdwa| is_set(sdwa.sext));
        match (is_set(mods.neg), is_set(mods.abs)) {
            _ if sext => ("sext(", ")"),
            _ if is_packed_format => ("", ""),
            (false, false) => ("", ""),
            (true, false) if self.is_plain_constant(operand, ty) => ("neg(", ")"),
            (true, false) => ("-", ""),
            (false, true) => ("|", "|"),
            (true, true) => ("-|", "|"),
        }
    }

    /// A constant that is not written as `lit(…)`.
    fn is_plain_constant(&self, operand: Operand, ty: Ty) -> bool {
        match operand {
            Operand::Int(_) | Operand::Float(_) => true,
            Operand::Literal(value) => !is_inline(value, self.text_type(ty), self.target),
            _ => false,
        }
    }

    /// `.l` or `.h` after a VGPR of gfx1100 that is addressed by halves.
    fn half_name(
        &self,
        f: &mut fmt::Formatter<'_>,
        field: Field,
        ty: Ty,
        operand: Operand,
    ) -> fmt::Result {
        let is_by_halves =
            self.target == Target::Gfx1100 && ty.is_16_bit() && is_vector(self.inst.encoding);
        let is_packed = self.inst.encoding == Encoding::Vop3p;
        match (operand, rules::modifier_index(field)) {
            (Operand::Vgpr(_), Some(index)) if is_by_halves && !is_packed => {
                f.write_str(if self.inst.mods.op_sel >> index & 1 == 1 { ".h" } else { ".l" })
            }
            _ => Ok(()),
        }
    }

    /// SMEM: the immediate offset, the SGPR offset, or both.
    fn scalar_offset(&self, f: &mut fmt::Formatter<'_>, operand: Operand) -> fmt::Result {
        let offset = self.inst.mods.offset;
        match (operand, self.target) {
            (Operand::None, Target::Gfx1100) if offset == 0 => f.write_str("null"),
            (Operand::None, _) => signed_hex(f, offset),
            _ => {
                plain(f, self.target, operand, Ty::U32, 1)?;
                if offset != 0 {
                    f.write_str(" offset:")?;
                    signed_hex(f, offset)?;
                }
                Ok(())
            }
        }
    }
}

pub(super) fn is_vector(encoding: Encoding) -> bool {
    matches!(
        encoding,
        Encoding::Vop1
            | Encoding::Vop2
            | Encoding::Vopc
            | Encoding::Vop3
            | Encoding::Vop3Sd
            | Encoding::Vop3p
    )
}

fn signed_hex(f: &mut fmt::Formatter<'_>, value: i32) -> fmt::Result {
    let sign = if value < 0 { "-" } else { "" };
    write!(f, "{sign}{:#x}", value.unsigned_abs())
}

/// An operand without marks.
pub(super) fn plain(
    f: &mut fmt::Formatter<'_>,
    target: Target,
    operand: Operand,
    ty: Ty,
    registers: u32,
) -> fmt::Result {
    match operand {
        Operand::None => f.write_str("off"),
        Operand::Sgpr(first) => tuple(f, "s", first, registers),
        Operand::Vgpr(first) => tuple(f, "v", first, registers),
        Operand::Acc(first) => tuple(f, "a", first, registers),
        Operand::Special(SpecialReg::Ttmp(first)) => tuple(f, "ttmp", first, registers),
        Operand::Special(reg) => f.write_str(special_name(reg, registers)),
        Operand::Int(value) => write!(f, "{value}"),
        Operand::Float(value) if ty.is_16_bit() && !ty.is_float() => {
            write!(f, "{:#x}", value.bits16())
        }
        Operand::Float(value) => f.write_str(float_name(value, ty, target)),
        Operand::Literal(0) if ty == Ty::F64 => f.write_str("0"),
        Operand::Literal(value) if ty.is_16_bit() && ty != Ty::Bf16 && value > 0xffff => {
            write!(f, "{:#x}", value & 0xffff)
        }
        Operand::Literal(value) if is_inline(value, ty, target) => write!(f, "lit({value:#x})"),
        Operand::Literal(value) => write!(f, "{value:#x}"),
        Operand::Imm(value) => write!(f, "{value}"),
    }
}

/// An operand of a dual-issue half.
pub(super) fn of_half(
    f: &mut fmt::Formatter<'_>,
    target: Target,
    operand: Operand,
    spec: OperandSpec,
) -> fmt::Result {
    match (spec.field, operand) {
        (Field::K, Operand::Literal(value)) => write!(f, "{value:#x}"),
        _ => plain(f, target, operand, spec.ty, 1),
    }
}

/// Whether an inline constant could have held a literal, which the text then must say.
fn is_inline(value: u32, ty: Ty, target: Target) -> bool {
    let is_small = |value: i32| (-16..=64).contains(&value);
    match ty.bits(target) {
        64 if ty == Ty::F64 => {
            InlineFloat::ALL.iter().any(|float| float.bits64() == u64::from(value) << 32)
        }
        64 => value <= 64,
        _ if matches!(ty, Ty::F16x2 | Ty::Bf16x2 | Ty::I16x2) => is_small(value as i32),
        16 => {
            let half = value as u16;
            is_small((half as i16).into())
                || ty.is_float() && InlineFloat::ALL.iter().any(|float| float.bits16() == half)
        }
        _ => is_small(value as i32) || InlineFloat::ALL.iter().any(|float| float.bits32() == value),
    }
}

fn tuple(f: &mut fmt::Formatter<'_>, file: &str, first: u8, registers: u32) -> fmt::Result {
    if registers < 2 {
        return write!(f, "{file}{first}");
    }
    write!(f, "{file}[{first}:{}]", u32::from(first) + registers - 1)
}

fn special_name(reg: SpecialReg, registers: u32) -> &'static str {
    match reg {
        SpecialReg::FlatScratchLo if registers == 2 => "flat_scratch",
        SpecialReg::XnackMaskLo if registers == 2 => "xnack_mask",
        SpecialReg::VccLo if registers == 2 => "vcc",
        SpecialReg::ExecLo if registers == 2 => "exec",
        SpecialReg::FlatScratchLo => "flat_scratch_lo",
        SpecialReg::FlatScratchHi => "flat_scratch_hi",
        SpecialReg::XnackMaskLo => "xnack_mask_lo",
        SpecialReg::XnackMaskHi => "xnack_mask_hi",
        SpecialReg::VccLo => "vcc_lo",
        SpecialReg::VccHi => "vcc_hi",
        SpecialReg::Ttmp(_) => "ttmp",
        SpecialReg::M0 => "m0",
        SpecialReg::Null => "null",
        SpecialReg::ExecLo => "exec_lo",
        SpecialReg::ExecHi => "exec_hi",
        SpecialReg::SrcSharedBase => "src_shared_base",
        SpecialReg::SrcSharedLimit => "src_shared_limit",
        SpecialReg::SrcPrivateBase => "src_private_base",
        SpecialReg::SrcPrivateLimit => "src_private_limit",
        SpecialReg::SrcPopsExitingWaveId => "src_pops_exiting_wave_id",
        SpecialReg::SrcVccz => "src_vccz",
        SpecialReg::SrcExecz => "src_execz",
        SpecialReg::SrcScc => "src_scc",
    }
}

fn float_name(value: InlineFloat, ty: Ty, target: Target) -> &'static str {
    match value {
        InlineFloat::Half => "0.5",
        InlineFloat::NegHalf => "-0.5",
        InlineFloat::One => "1.0",
        InlineFloat::NegOne => "-1.0",
        InlineFloat::Two => "2.0",
        InlineFloat::NegTwo => "-2.0",
        InlineFloat::Four => "4.0",
        InlineFloat::NegFour => "-4.0",
        InlineFloat::InvTwoPi if ty.bits(target) == 64 && !ty.is_packed() => "0.15915494309189532",
        InlineFloat::InvTwoPi => "0.15915494",
    }
}

/// The literal of S_SETREG_IMM32, which the assembler writes like an inline constant when it can.
fn short_literal(f: &mut fmt::Formatter<'_>, value: u32) -> fmt::Result {
    let float = InlineFloat::ALL.into_iter().find(|float| float.bits32() == value);
    let signed = value as i32;
    match float {
        _ if (-16..=64).contains(&signed) => write!(f, "{signed}"),
        Some(float) => f.write_str(float_name(float, Ty::B32, Target::Gfx950)),
        None => write!(f, "{value:#x}"),
    }
}

/// A number that is decimal while an inline constant could hold it.
fn short_number(f: &mut fmt::Formatter<'_>, value: u16) -> fmt::Result {
    if value <= 64 { write!(f, "{value}") } else { write!(f, "{value:#x}") }
}

/// SIMM16 by its type.
fn immediate(f: &mut fmt::Formatter<'_>, target: Target, imm: u16, ty: Ty) -> fmt::Result {
    match ty {
        Ty::WaitCounts => wait_counts(f, target, imm),
        Ty::DepCounts => dep_counts(f, imm),
        Ty::Delay => delay(f, imm),
        Ty::Message => message(f, target, imm),
        Ty::HwReg => hardware_register(f, target, imm),
        Ty::GprIdx => moved_operands(f, imm),
        Ty::Label => write!(f, "{imm}"),
        _ => write!(f, "{imm:#x}"),
    }
}

/// Only the counts that wait; all of them when none does.
fn wait_counts(f: &mut fmt::Formatter<'_>, target: Target, imm: u16) -> fmt::Result {
    let (counts, none) = (WaitCounts::from_imm(target, imm), WaitCounts::none(target));
    let all = [
        ("vmcnt", counts.vm, none.vm),
        ("expcnt", counts.exp, none.exp),
        ("lgkmcnt", counts.lgkm, none.lgkm),
    ];
    let shows_all = counts == none;
    let shown = all.iter().filter(|(_, count, max)| shows_all || count != max);
    let words: Vec<String> = shown.map(|(name, count, _)| format!("{name}({count})")).collect();
    f.write_str(&words.join(" "))
}

fn dep_counts(f: &mut fmt::Formatter<'_>, imm: u16) -> fmt::Result {
    if imm & waits::unused_dep_bits() != 0 {
        return write!(f, "{imm:#x}");
    }
    let shows_all = waits::DEP_COUNTS.iter().all(|count| count.in_imm(imm).is_none());
    let shown = waits::DEP_COUNTS.iter().filter(|count| shows_all || count.in_imm(imm).is_some());
    let words: Vec<String> = shown
        .map(|count| format!("depctr_{}({})", count.name, count.bits.get(imm.into())))
        .collect();
    f.write_str(&words.join(" "))
}

fn delay(f: &mut fmt::Formatter<'_>, imm: u16) -> fmt::Result {
    let hint = DelayHint::from_imm(imm);
    let named = |names: &[&str], value: u32| {
        names.get(value as usize).map_or_else(|| value.to_string(), |name| (*name).to_owned())
    };
    let parts = [
        ("instid0", hint.first, named(&DelayHint::DEPENDENCIES, hint.first)),
        ("instskip", hint.skip, named(&DelayHint::SKIPS, hint.skip)),
        ("instid1", hint.second, named(&DelayHint::DEPENDENCIES, hint.second)),
    ];
    let words: Vec<String> = parts
        .iter()
        .filter(|(_, value, _)| *value != 0)
        .map(|(part, _, name)| format!("{part}({name})"))
        .collect();
    f.write_str(if words.is_empty() { "0".to_owned() } else { words.join(" | ") }.as_str())
}

fn message(f: &mut fmt::Formatter<'_>, target: Target, imm: u16) -> fmt::Result {
    if let Some(name) = sysreg::message_name(target, imm) {
        return write!(f, "sendmsg({name})");
    }
    write!(f, "sendmsg({imm}, 0, 0)")
}

/// Which operands an index moves.
fn moved_operands(f: &mut fmt::Formatter<'_>, imm: u16) -> fmt::Result {
    let names = ["SRC0", "SRC1", "SRC2", "DST"].into_iter().enumerate();
    let moved: Vec<_> =
        names.filter(|(bit, _)| imm >> bit & 1 == 1).map(|(_, name)| name).collect();
    write!(f, "gpr_idx({})", moved.join(","))
}

fn hardware_register(f: &mut fmt::Formatter<'_>, target: Target, imm: u16) -> fmt::Result {
    let field = HwRegField::from_imm(imm);
    match field.name(target) {
        Some(name) => write!(f, "hwreg({name}")?,
        None => write!(f, "hwreg({}", field.register)?,
    }
    if field.offset != 0 || field.width != 32 {
        write!(f, ", {}, {}", field.offset, field.width)?;
    }
    f.write_str(")")
}
