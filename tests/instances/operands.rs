//! Random operands: what a field may hold, by its type.

use isa::format::Encoding;
use isa::inst::Inst;
use isa::reg::{InlineFloat, SpecialReg};
use isa::sysreg::{DelayHint, messages};
use isa::table::{Effect, Field, OperandSpec, Row, Ty};
use isa::waits::WaitCounts;
use isa::{Operand, Target};

use super::Random;

/// Vector registers.
const VGPRS: u32 = 256;

/// One operand of an instance. The shape of `inst` is chosen, its other operands may not be.
pub fn operand(
    target: Target,
    row: &Row,
    spec: OperandSpec,
    inst: &Inst,
    random: &mut Random,
) -> Operand {
    let is_short = matches!(inst.encoding, Encoding::Vop2 | Encoding::Vopd);
    let is_compare = inst.encoding == Encoding::Vopc;
    match spec.field {
        Field::Sdst if is_compare_to_exec(row, target) => SpecialReg::ExecLo.into(),
        Field::Sdst if is_compare && random.one_in(4) && inst.mods.sdwa.is_some() => {
            scalar_register(target, spec, inst, random)
        }
        Field::Sdst if inst.encoding == Encoding::Sopk && !spec.is_dst && random.coin() => {
            SpecialReg::Null.into()
        }
        Field::Sdst if is_short || is_compare => SpecialReg::VccLo.into(),
        Field::Src2 if is_short => SpecialReg::VccLo.into(),
        Field::Simm16 => immediate(target, spec, random),
        Field::Ssrc0 if spec.ty == Ty::Message => message(target, random),
        Field::Ssrc1 if spec.ty == Ty::GprIdx => Operand::Imm(random.bits() as u16 & 0xf),
        Field::Src0 if row.has(Effect::RelativeSource) => vector(target, spec, inst, random),
        Field::Ssrc0 if row.has(Effect::RelativeSource) => {
            scalar_register(target, spec, inst, random)
        }
        Field::K | Field::Simm32 => Operand::Literal(random.bits() as u32),
        Field::Vdst if is_silent_atomic(inst) => Operand::None,
        Field::Vaddr if !inst.mods.offen && !inst.mods.idxen => Operand::None,
        Field::Vdata if inst.mods.lds => Operand::None,
        Field::Vdst | Field::Addr | Field::Data | Field::Data0 | Field::Data1 => {
            vector(target, spec, inst, random)
        }
        Field::Vdata | Field::Vaddr | Field::Vsrc0 => vector(target, spec, inst, random),
        Field::Saddr if inst.encoding == Encoding::Flat || random.coin() => Operand::None,
        Field::Soffset if inst.encoding == Encoding::Smem && random.coin() => Operand::None,
        Field::Sdst | Field::Sdata | Field::Sbase | Field::Srsrc | Field::Saddr => {
            scalar_register(target, spec, inst, random)
        }
        _ if spec.ty == Ty::Mask => scalar_register(target, spec, inst, random),
        Field::Ssrc0 | Field::Ssrc1 | Field::Ssrc2 | Field::Soffset => {
            scalar(target, spec, inst, random)
        }
        Field::ScaleA | Field::ScaleB => vgpr(target, spec, inst, random),
        Field::Src0 | Field::Src1 if is_fragment(spec.ty) => vector(target, spec, inst, random),
        _ if random.coin() => vector(target, spec, inst, random),
        _ => scalar(target, spec, inst, random),
    }
}

fn is_fragment(ty: Ty) -> bool {
    matches!(ty, Ty::Tile(..) | Ty::MxA | Ty::MxB)
}

fn is_compare_to_exec(row: &Row, target: Target) -> bool {
    let is_compare = row.form(target).is_some_and(|form| form.encoding == Encoding::Vopc);
    is_compare && row.has(Effect::WritesExec) && target == Target::Gfx1100
}

fn is_silent_atomic(inst: &Inst) -> bool {
    inst.is_atomic_on_memory() && !inst.returns_old()
}

/// SIMM16.
fn immediate(target: Target, spec: OperandSpec, random: &mut Random) -> Operand {
    match spec.ty {
        Ty::Message => message(target, random),
        Ty::GprIdx => Operand::Imm(random.bits() as u16 & 0xf),
        Ty::WaitCounts => {
            let counts = WaitCounts::from_imm(target, random.bits() as u16);
            Operand::Imm(counts.to_imm(target))
        }
        Ty::Delay => {
            let first = random.below(DelayHint::DEPENDENCIES.len() as u32);
            let second = random.below(DelayHint::DEPENDENCIES.len() as u32);
            let skip = random.below(DelayHint::SKIPS.len() as u32);
            Operand::Imm((first | skip << 4 | second << 7) as u16)
        }
        _ => Operand::Imm(random.bits() as u16),
    }
}

/// A message that has a name.
fn message(target: Target, random: &mut Random) -> Operand {
    Operand::Imm(random.pick(messages(target)).0 as u16)
}

/// The registers of an operand in this instance.
fn registers(target: Target, spec: OperandSpec, inst: &Inst) -> u32 {
    let at = inst.row().operands.iter().position(|other| *other == spec).unwrap_or(0);
    inst.registers(at, target).max(1)
}

/// A vector or accumulation register.
fn vector(target: Target, spec: OperandSpec, inst: &Inst, random: &mut Random) -> Operand {
    match vgpr(target, spec, inst, random) {
        Operand::Vgpr(number)
            if spec.ty == Ty::Acc || target == Target::Gfx950 && random.one_in(4) =>
        {
            Operand::Acc(number)
        }
        Operand::Vgpr(_) if inst.encoding == Encoding::Scratch && is_optional(spec, random) => {
            Operand::None
        }
        operand => operand,
    }
}

/// SCRATCH needs no vector address.
fn is_optional(spec: OperandSpec, random: &mut Random) -> bool {
    spec.field == Field::Addr && random.coin()
}

/// A vector register, often one at the ends of the register file, aligned where the target asks for it.
pub fn vgpr(target: Target, spec: OperandSpec, inst: &Inst, random: &mut Random) -> Operand {
    let registers = registers(target, spec, inst);
    let is_half = spec.ty.is_16_bit() && target == Target::Gfx1100;
    let end = if is_half && random.coin() { VGPRS / 2 } else { VGPRS - registers + 1 };
    let first = match random.below(8) {
        0 => 0,
        1 => end - 1,
        _ => random.below(end),
    };
    let is_aligned = registers > 1 && target == Target::Gfx950;
    Operand::Vgpr((if is_aligned { first & !1 } else { first }) as u8)
}

/// A scalar source: register, constant or literal.
fn scalar(target: Target, spec: OperandSpec, inst: &Inst, random: &mut Random) -> Operand {
    match random.below(8) {
        0 | 1 => Operand::Int(random.below(81) as i32 - 16),
        2 => Operand::Float(*random.pick(&InlineFloat::ALL)),
        3 => Operand::Literal(random.bits() as u32),
        4 => special(target, random),
        _ => scalar_register(target, spec, inst, random),
    }
}

/// Any operand with a name of its own.
fn special(target: Target, random: &mut Random) -> Operand {
    let codes = std::iter::repeat_with(|| SpecialReg::from_code(target, 102 + random.below(152)));
    codes.take(200).flatten().next().map_or(Operand::Sgpr(0), Operand::Special)
}

/// An SGPR tuple with its alignment, or a register with a name.
fn scalar_register(target: Target, spec: OperandSpec, inst: &Inst, random: &mut Random) -> Operand {
    if random.one_in(4) {
        return special(target, random);
    }
    let registers = registers(target, spec, inst);
    let alignment = registers.min(4).next_power_of_two();
    let last = u32::from(target.limits().addressable_sgprs).saturating_sub(registers);
    let first = if random.one_in(8) { last } else { random.below(last + 1) };
    Operand::Sgpr((first / alignment * alignment) as u8)
}
