//! Instructions that the hardware can encode: how many scalar operands and literals, and where.
//!
//! A vector instruction has a short form, whose sources after the first are VGPRs, and a long one with modifiers.
//! Both read at most so many scalar registers (`constant_bus_reads`); long forms take literals on gfx1100 only.

use isa::format::Encoding;
use isa::inst::{Dpp, DppCtrl};
use isa::table::{Compare, Effect, Float, Half, Int, Packed, Salu, Test};
use isa::{Op, Operand, Target};

use super::Selector;
use super::values::{Src, Word};
use crate::gcn::mir::{Class, Inst, Kind, Part, Reg, Slot};

/// A source of a vector instruction.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Where it is.
    pub slot: Slot,
    /// Its sign is flipped.
    pub neg: bool,
    /// Its sign is cleared first.
    pub abs: bool,
}

/// Modifiers of a whole instruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extra {
    /// Halves of 16-bit operands.
    pub op_sel: u8,
    /// Lane movement of source 0.
    pub dpp: Option<DppCtrl>,
}

impl<'k> Selector<'k> {
    /// A vector instruction with one 32-bit result.
    pub(super) fn valu(&mut self, op: Op, words: &[Word]) -> Word {
        self.valu_sel(op, words, 0)
    }

    /// The same with halves chosen.
    pub(super) fn valu_sel(&mut self, op: Op, words: &[Word], op_sel: u8) -> Word {
        let args: Vec<Arg> = words.iter().map(|word| self.arg((*word).into())).collect();
        let reg = self.new_reg(Class::Vector, 1);
        let extra = Extra { op_sel, dpp: None };
        self.vop(op, &[Slot::Part(Part::new(reg, 0, 1))], args, extra);
        Word::Reg(reg, 0)
    }

    /// A vector instruction on sources with signs changed on the fly.
    pub(super) fn valu_src(&mut self, op: Op, sources: &[Src]) -> Word {
        let args: Vec<Arg> = sources.iter().map(|src| self.arg(*src)).collect();
        let reg = self.new_reg(Class::Vector, 1);
        self.vop(op, &[Slot::Part(Part::new(reg, 0, 1))], args, Extra::default());
        Word::Reg(reg, 0)
    }

    /// The operand of a source; lane movement is done first.
    pub(super) fn arg(&mut self, src: Src) -> Arg {
        let moved = Src { neg: false, abs: false, ..src };
        let word = self.plain(moved);
        if let Word::Const(bits) = word {
            let bits = if src.abs { bits & 0x7fff_ffff } else { bits };
            let bits = if src.neg { bits ^ 0x8000_0000 } else { bits };
            return Arg { slot: self.slot(Word::Const(bits)), neg: false, abs: false };
        }
        Arg { slot: self.slot(word), neg: src.neg, abs: src.abs }
    }

    /// A vector instruction whose sources are made to fit.
    pub(super) fn vop(&mut self, op: Op, results: &[Slot], mut args: Vec<Arg>, extra: Extra) {
        let op = self.legalise(op, &mut args, extra);
        let mut slots = results.to_vec();
        slots.extend(args.iter().map(|arg| arg.slot));
        let mut inst = Inst::new(Kind::Machine(op), &slots, self.stmt());
        for (index, arg) in args.iter().enumerate() {
            inst.mods.neg |= u8::from(arg.neg) << index;
            inst.mods.abs |= u8::from(arg.abs) << index;
        }
        inst.mods.op_sel = extra.op_sel;
        inst.mods.dpp = extra.dpp.map(|ctrl| Dpp {
            ctrl,
            row_mask: 0xf,
            bank_mask: 0xf,
            bound_ctrl: true,
            fetch_inactive: false,
        });
        self.emit(inst);
    }

    /// Rearranges and moves sources until a form can encode them; the operation may become its mirror image.
    fn legalise(&mut self, op: Op, args: &mut [Arg], extra: Extra) -> Op {
        let mut op = op;
        loop {
            if self.is_short(op, args, extra) || self.is_long(op, args, extra) {
                return op;
            }
            if let Some(mirrored) = mirror(op).filter(|_| args.len() == 2 && extra.dpp.is_none()) {
                args.swap(0, 1);
                if self.is_short(mirrored, args, extra) || self.is_long(mirrored, args, extra) {
                    return mirrored;
                }
                args.swap(0, 1);
            }
            if op == Op::Float(Float::VFmaF32)
                && let Some(fused) = self.with_literal(args)
            {
                op = fused;
                return op;
            }
            if !self.move_one(op, args, extra) {
                return op;
            }
        }
    }

    fn is_vector_slot(&self, slot: Slot) -> bool {
        matches!(slot, Slot::Part(part) if self.class(part.reg) == Class::Vector)
    }

    fn is_short(&self, op: Op, args: &[Arg], extra: Extra) -> bool {
        let Some(form) = op.row().form(self.target) else { return false };
        let has_short = matches!(form.encoding, Encoding::Vop1 | Encoding::Vop2);
        let is_plain = extra.op_sel == 0 && args.iter().all(|arg| !arg.neg && !arg.abs);
        let is_moved = extra.dpp.is_some();
        let first = args.first().is_none_or(|arg| !is_moved || self.is_vector_slot(arg.slot));
        // The short form of a compare, select or carry has its mask in VCC, which is no virtual register.
        let has_mask = args.len() > 2;
        has_short
            && (is_plain || is_moved)
            && first
            && !has_mask
            && args.iter().skip(1).all(|arg| self.is_vector_slot(arg.slot))
    }

    fn is_long(&self, op: Op, args: &[Arg], extra: Extra) -> bool {
        let row = op.row();
        let lacks = row.has(Effect::ShortOnly)
            || self.target == Target::Gfx1100 && row.has(Effect::NoLongGfx1100)
            || extra.dpp.is_some();
        let limits = self.target.limits();
        let reads = if row.has(Effect::OneScalar) { 1 } else { limits.constant_bus_reads };
        let literals = literals(args);
        let is_packed = row.form(self.target).is_some_and(|form| form.encoding == Encoding::Vop3p);
        let literal_fits =
            literals.is_empty() || limits.vop3_literals && literals.len() == 1 && !is_packed;
        let scalars = self.scalars(args).len() + literals.len();
        !lacks && literal_fits && scalars <= reads as usize
    }

    /// The distinct scalar registers that are read.
    fn scalars(&self, args: &[Arg]) -> Vec<(Reg, u8)> {
        let mut registers = Vec::new();
        for arg in args {
            if let Slot::Part(part) = arg.slot
                && self.class(part.reg) == Class::Scalar
                && !registers.contains(&(part.reg, part.first))
            {
                registers.push((part.reg, part.first));
            }
        }
        registers
    }

    /// `v_fmaak_f32` or `v_fmamk_f32` in place of a multiply-add with one literal.
    fn with_literal(&self, args: &mut [Arg]) -> Option<Op> {
        let is_plain = args.iter().all(|arg| !arg.neg && !arg.abs);
        let at = args.iter().position(|arg| is_literal(arg.slot))?;
        let others: Vec<Arg> =
            (0..3).filter(|index| *index != at).map(|index| args[index]).collect();
        let fit = others.iter().all(|arg| self.is_vector_slot(arg.slot));
        if !is_plain || !fit {
            return None;
        }
        // Factors commute: a literal factor stands in the middle of `fmamk`.
        let literal = args[at];
        if at == 2 {
            Some(Op::Float(Float::VFmaakF32))
        } else {
            args[0] = others[0];
            args[1] = literal;
            args[2] = others[1];
            Some(Op::Float(Float::VFmamkF32))
        }
    }

    /// Moves one source to a place where it hinders less. False if there is none to move.
    fn move_one(&mut self, op: Op, args: &mut [Arg], extra: Extra) -> bool {
        let limits = self.target.limits();
        let scalars = self.scalars(args).len();
        let masks = args.len() > 2
            && op.row().operands.last().is_some_and(|spec| spec.ty == isa::table::Ty::Mask);
        let movable = if masks { args.len() - 1 } else { args.len() };
        let has_long = !op.row().has(Effect::ShortOnly) && extra.dpp.is_none();
        let literal = (0..movable).find(|index| is_literal(args[*index].slot));
        if let Some(index) = literal {
            let Slot::Fixed(Operand::Literal(bits)) = args[index].slot else { return false };
            if has_long && scalars < limits.constant_bus_reads as usize && !limits.vop3_literals {
                let reg = self.scalar_const(bits);
                args.iter_mut()
                    .filter(|arg| arg.slot == Slot::Fixed(Operand::Literal(bits)))
                    .for_each(|arg| arg.slot = Slot::Part(Part::new(reg, 0, 1)));
                return true;
            }
            if !has_long || scalars > 0 || literals(args).len() > 1 || !limits.vop3_literals {
                self.move_to_vector(args, index, Word::Const(bits));
                return true;
            }
        }
        let scalar = (0..movable).rev().find(|index| {
            matches!(args[*index].slot, Slot::Part(part) if self.class(part.reg) == Class::Scalar)
        });
        let constant =
            (0..movable).find(|index| matches!(args[*index].slot, Slot::Fixed(_)) && !has_long);
        match (scalar, constant) {
            (Some(index), _) => {
                let Slot::Part(part) = args[index].slot else { return false };
                self.move_part_to_vector(args, index, part);
                true
            }
            (None, Some(index)) => {
                let bits = constant_bits(args[index].slot);
                self.move_to_vector(args, index, Word::Const(bits));
                true
            }
            (None, None) => match literal {
                Some(index) => {
                    let bits = constant_bits(args[index].slot);
                    self.move_to_vector(args, index, Word::Const(bits));
                    true
                }
                None => false,
            },
        }
    }

    fn move_to_vector(&mut self, args: &mut [Arg], index: usize, word: Word) {
        let (reg, first) = self.in_vgpr(word);
        args[index].slot = Slot::Part(Part::new(reg, first, 1));
    }

    fn move_part_to_vector(&mut self, args: &mut [Arg], index: usize, part: Part) {
        if part.count == 1 {
            return self.move_to_vector(args, index, Word::Reg(part.reg, part.first));
        }
        let words: Vec<Word> =
            (0..part.count).map(|word| Word::Reg(part.reg, part.first + word)).collect();
        let copy = self.tuple(&words, Class::Vector);
        args[index].slot = Slot::Part(copy);
    }

    /// A scalar instruction of two words.
    pub(super) fn salu(&mut self, op: Salu, left: Word, right: Word) -> Word {
        let reg = self.new_reg(Class::Scalar, 1);
        let (left, right) = (self.scalar_word(left), self.scalar_word(right));
        let right = self.one_literal(left, right);
        let slots = [Slot::Part(Part::new(reg, 0, 1)), self.slot(left), self.slot(right)];
        self.machine(Op::Salu(op), &slots);
        Word::Reg(reg, 0)
    }

    /// The second of two words of a scalar instruction, which takes one literal.
    pub(super) fn one_literal(&mut self, left: Word, right: Word) -> Word {
        let two = is_literal(self.slot(left)) && is_literal(self.slot(right)) && left != right;
        match right {
            Word::Const(bits) if two => Word::Reg(self.scalar_const(bits), 0),
            right => right,
        }
    }
}

fn is_literal(slot: Slot) -> bool {
    matches!(slot, Slot::Fixed(Operand::Literal(_)))
}

fn constant_bits(slot: Slot) -> u32 {
    match slot {
        Slot::Fixed(Operand::Literal(bits)) => bits,
        Slot::Fixed(Operand::Int(value)) => value as u32,
        Slot::Fixed(Operand::Float(float)) => float.bits32(),
        _ => 0,
    }
}

fn literals(args: &[Arg]) -> Vec<u32> {
    let mut literals: Vec<u32> =
        args.iter().filter(|arg| is_literal(arg.slot)).map(|arg| constant_bits(arg.slot)).collect();
    literals.sort_unstable();
    literals.dedup();
    literals
}

/// The operation with its two sources exchanged.
pub fn mirror(op: Op) -> Option<Op> {
    Some(match op {
        Op::Float(Float::VSubF32) => Op::Float(Float::VSubrevF32),
        Op::Float(Float::VSubrevF32) => Op::Float(Float::VSubF32),
        Op::Int(Int::VSubNcU32) => Op::Int(Int::VSubrevNcU32),
        Op::Int(Int::VSubrevNcU32) => Op::Int(Int::VSubNcU32),
        Op::Float(Float::VAddF32 | Float::VMulF32 | Float::VMinF32 | Float::VMaxF32) => op,
        Op::Int(
            Int::VAndB32
            | Int::VOrB32
            | Int::VXorB32
            | Int::VAddNcU32
            | Int::VMulLoU32
            | Int::VMulHiU32
            | Int::VMulU32U24
            | Int::VMinI32
            | Int::VMaxI32
            | Int::VMinU32
            | Int::VMaxU32,
        ) => op,
        Op::Packed(Packed::VPkAddF32 | Packed::VPkMulF32) => op,
        Op::Half(Half::VAddF16 | Half::VMulF16) => op,
        Op::Compare(compare) => {
            let test = match compare.test {
                Test::Lt => Test::Gt,
                Test::Gt => Test::Lt,
                Test::Le => Test::Ge,
                Test::Ge => Test::Le,
                Test::Eq | Test::Lg | Test::Neq | Test::O | Test::U => compare.test,
                _ => return None,
            };
            Op::Compare(Compare { test, ..compare })
        }
        _ => return None,
    })
}
