//! Virtual registers to numbers: instructions as the encoder takes them, in the shortest form that can hold them.

use isa::format::{Encoding, layout};
use isa::inst::{MAX_OPERANDS, Modifiers};
use isa::reg::SpecialReg;
use isa::table::{Effect, Field, Float, Int, Packed, Salu, Ty};
use isa::{Op, Operand, Target};

use super::allocate::Allocation;
use super::error::Cause;
use super::files::{move_op, vector_operand};
use super::mir::{Class, Function, Inst, Kind, Part, Slot};

/// An instruction with its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The instruction. A branch's offset is zero until the layout is known.
    pub inst: isa::Inst,
    /// The block that it may branch to.
    pub target: Option<u32>,
    /// Number of the kernel's statement that asked for it.
    pub stmt: u32,
}

/// Code with registers: blocks in their order.
pub type Code = Vec<Vec<Placed>>;

/// Places all instructions; copies become moves, or nothing.
///
/// # Errors
/// [`Cause::Internal`] when an instruction has no form that can hold its operands.
pub fn finish(function: &Function, allocation: &Allocation) -> Result<Code, Cause> {
    let finisher = Finisher { function, allocation, target: function.target };
    let block = |insts: &Vec<Inst>| {
        let mut code = Vec::with_capacity(insts.len());
        for inst in insts {
            finisher.inst(inst, &mut code)?;
        }
        Ok(code)
    };
    function.blocks.iter().map(|b| block(&b.insts)).collect()
}

struct Finisher<'f> {
    function: &'f Function,
    allocation: &'f Allocation,
    target: Target,
}

impl Finisher<'_> {
    fn inst(&self, inst: &Inst, code: &mut Vec<Placed>) -> Result<(), Cause> {
        match inst.kind {
            Kind::Undef => Ok(()),
            Kind::Copy => {
                self.copy(inst, code);
                Ok(())
            }
            Kind::Machine(op) => {
                let mut operands = [Operand::None; MAX_OPERANDS];
                for (operand, slot) in operands.iter_mut().zip(inst.slots) {
                    *operand = self.operand(slot);
                }
                let placed = machine(self.target, op, operands, inst.mods)?;
                code.push(Placed { inst: placed, target: inst.target(), stmt: inst.stmt });
                Ok(())
            }
        }
    }

    fn operand(&self, slot: Slot) -> Operand {
        match slot {
            Slot::None => Operand::None,
            Slot::Part(part) => self.register(part),
            Slot::Fixed(operand) => operand,
            Slot::Block(_) => Operand::Imm(0),
        }
    }

    fn register(&self, part: Part) -> Operand {
        let number = self.allocation.number(part);
        match self.function.info(part.reg).class {
            Class::Scalar => Operand::Sgpr(number as u8),
            Class::Vector => vector_operand(number),
        }
    }

    /// Moves, two registers at once where the target can; a run that overlaps itself starts at the safe end.
    fn copy(&self, inst: &Inst, code: &mut Vec<Placed>) {
        let Slot::Part(to) = inst.slots[0] else { return };
        let (first, from) = (self.register(to), self.operand(inst.slots[1]));
        if first == from {
            return;
        }
        let count = to.count;
        let is_scalar = self.function.info(to.reg).class == Class::Scalar;
        let upwards = match (first, from) {
            (Operand::Sgpr(to), Operand::Sgpr(from))
            | (Operand::Vgpr(to), Operand::Vgpr(from))
            | (Operand::Acc(to), Operand::Acc(from)) => to < from,
            _ => true,
        };
        let mut moves = Vec::new();
        let mut index = 0;
        while index < count {
            let (a, b) = (shifted(first, index), shifted(from, index));
            let between = move_op(a, b);
            let pairs = index + 1 < count
                && between.is_none()
                && (is_scalar || self.target == Target::Gfx950)
                && is_even(a)
                && is_even(b)
                && !matches!(b, Operand::Literal(_) | Operand::Float(_));
            moves.push((a, b, pairs, between));
            index += if pairs { 2 } else { 1 };
        }
        if !upwards {
            moves.reverse();
        }
        for (a, b, pairs, between) in moves {
            let op = between.unwrap_or(match (is_scalar, pairs) {
                (true, true) => Op::Salu(Salu::SMovB64),
                (true, false) => Op::Salu(Salu::SMovB32),
                (false, true) => Op::Int(Int::VMovB64),
                (false, false) => Op::Int(Int::VMovB32),
            });
            let mut operands = [Operand::None; MAX_OPERANDS];
            (operands[0], operands[1]) = (a, b);
            if let Ok(inst_) = machine(self.target, op, operands, Modifiers::default()) {
                code.push(Placed { inst: inst_, target: None, stmt: inst.stmt });
            }
        }
    }
}

fn number(operand: Operand) -> Option<u8> {
    match operand {
        Operand::Sgpr(number) | Operand::Vgpr(number) | Operand::Acc(number) => Some(number),
        _ => None,
    }
}

/// The register so many further; constants stay.
fn shifted(operand: Operand, by: u8) -> Operand {
    match operand {
        Operand::Sgpr(number) => Operand::Sgpr(number + by),
        Operand::Vgpr(number) => Operand::Vgpr(number + by),
        Operand::Acc(number) => Operand::Acc(number + by),
        other => other,
    }
}

fn is_even(operand: Operand) -> bool {
    number(operand).is_none_or(|number| number.is_multiple_of(2))
}

/// An instruction in its shortest form.
///
/// # Errors
/// [`Cause::Internal`] when no form can hold it.
pub fn machine(
    target: Target,
    op: Op,
    operands: [Operand; MAX_OPERANDS],
    mods: Modifiers,
) -> Result<isa::Inst, Cause> {
    let (op, operands) = shortened(op, operands, &mods);
    let fail = |what: &str| Cause::Internal { problem: format!("{op:?} {what} on {target}") };
    let form = op.row().form(target).ok_or_else(|| fail("does not exist"))?;
    let encoding = encoding_of(target, op, &operands, &mods, form.encoding);
    let base = layout(target, encoding).ok_or_else(|| fail("has no format"))?.size_bytes;
    let has_constant = op.row().operands.iter().any(|spec| spec.field == Field::K);
    let has_literal = operands.iter().any(|operand| matches!(operand, Operand::Literal(_)));
    let extension = u8::from(has_literal || has_constant || mods.dpp.is_some());
    let mods = with_defaults(op, encoding, mods);
    Ok(isa::Inst { op, encoding, size_bytes: base + 4 * extension, operands, mods, dual: None })
}

/// A multiply-add onto its addend has a form without the third source.
fn shortened(
    op: Op,
    operands: [Operand; MAX_OPERANDS],
    mods: &Modifiers,
) -> (Op, [Operand; MAX_OPERANDS]) {
    let [to, a, b, c, ..] = operands;
    let is_fma = op == Op::Float(Float::VFmaF32) && *mods == Modifiers::default() && to == c;
    let is_vector = |operand| matches!(operand, Operand::Vgpr(_));
    if !is_fma || !(is_vector(a) || is_vector(b)) {
        return (op, operands);
    }
    let (a, b) = if is_vector(b) { (a, b) } else { (b, a) };
    let mut short = [Operand::None; MAX_OPERANDS];
    (short[0], short[1], short[2]) = (to, a, b);
    (Op::Float(Float::VFmacF32), short)
}

fn encoding_of(
    target: Target,
    op: Op,
    operands: &[Operand; MAX_OPERANDS],
    mods: &Modifiers,
    shortest: Encoding,
) -> Encoding {
    if !matches!(shortest, Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc) {
        return shortest;
    }
    let row = op.row();
    let is_plain = mods.dpp.is_some() || mods.neg == 0 && mods.abs == 0 && mods.op_sel == 0;
    let fits =
        row.operands.iter().zip(operands).all(|(spec, operand)| match (spec.field, spec.ty) {
            (_, Ty::Mask) => *operand == Operand::Special(SpecialReg::VccLo),
            (Field::Src1, _) => matches!(operand, Operand::Vgpr(_)),
            (_, ty) if ty.is_16_bit() && target == Target::Gfx1100 => {
                !matches!(operand, Operand::Vgpr(128..))
            }
            _ => true,
        });
    if row.has(Effect::ShortOnly) || is_plain && fits {
        return shortest;
    }
    let has_both = row.position(Field::Vdst).is_some() && row.position(Field::Sdst).is_some();
    if has_both { Encoding::Vop3Sd } else { Encoding::Vop3 }
}

/// Sources that a packed instruction does not have are encoded as if their high half were chosen (LLVM 22,
/// `AMDGPUMCCodeEmitter`).
fn with_defaults(op: Op, encoding: Encoding, mut mods: Modifiers) -> Modifiers {
    if encoding != Encoding::Vop3p {
        return mods;
    }
    let row = op.row();
    let sources = row.operands.iter().filter(|spec| !spec.is_dst).count();
    match op {
        Op::Packed(
            Packed::VPkAddF32
            | Packed::VPkMulF32
            | Packed::VPkFmaF32
            | Packed::VPkAddF16
            | Packed::VPkMulF16
            | Packed::VPkFmaF16
            | Packed::VPkMovB32
            | Packed::VFmaMixF32,
        ) => mods.op_sel_hi |= 7 & !((1 << sources) - 1),
        _ => mods.op_sel_hi = 7,
    }
    mods
}
