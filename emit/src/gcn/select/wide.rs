//! 64-bit integers and pointers.

use dsl::ir::{BinOp, Value};
use isa::table::{Int, Salu};
use isa::{Op, Target};

use super::legal::{Arg, Extra};
use super::values::{Loc, Word};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Part, Slot};

/// Low and high word.
pub type Wide = [Word; 2];

impl<'k> Selector<'k> {
    pub(super) fn wide_words(&mut self, value: Value) -> Result<Vec<Wide>, Cause> {
        let words = self.plain_words(value)?;
        if !words.len().is_multiple_of(2) {
            return Err(malformed(format!("%{} is not 64 bits wide", value.0)));
        }
        Ok(words.chunks(2).map(|pair| [pair[0], pair[1]]).collect())
    }

    pub(super) fn pointer_words(&mut self, value: Value) -> Result<Wide, Cause> {
        match self.wide_words(value)?[..] {
            [pointer] => Ok(pointer),
            _ => Err(malformed(format!("%{} is no pointer", value.0))),
        }
    }

    pub(super) fn wide_binary(&mut self, op: BinOp, a: Value, b: Value) -> Result<Loc, Cause> {
        let (left, right) = (self.wide_words(a)?, self.wide_words(b)?);
        let mut words = Vec::new();
        for (left, right) in left.into_iter().zip(right) {
            words.extend(self.wide(op, left, right)?);
        }
        Ok(Loc::of(words))
    }

    pub(super) fn pointer_add(&mut self, pointer: Value, offset: Value) -> Result<Loc, Cause> {
        let (base, offset) = (self.pointer_words(pointer)?, self.pointer_words(offset)?);
        Ok(Loc::of(self.wide(BinOp::Add, base, offset)?))
    }

    fn are_scalar(&self, words: &[Wide]) -> bool {
        words.iter().flatten().all(|word| self.is_scalar(*word))
    }

    pub(super) fn wide(&mut self, op: BinOp, a: Wide, b: Wide) -> Result<Wide, Cause> {
        if let Some(known) = fold(op, a, b) {
            return Ok(known);
        }
        match op {
            BinOp::Add => Ok(self.wide_add(a, b)),
            BinOp::Sub => Ok(self.wide_subtract(a, b)),
            BinOp::Mul => self.wide_multiply(a, b),
            BinOp::And | BinOp::Or | BinOp::Xor => {
                Ok([self.integer(op, a[0], b[0])?, self.integer(op, a[1], b[1])?])
            }
            BinOp::Shl | BinOp::ShrU | BinOp::ShrS => Ok(self.wide_shift(op, a, b[0])),
            _ => Err(self.unsupported(&format!("{op:?} of i64"), "compute it in 32 bits")),
        }
    }

    fn wide_add(&mut self, a: Wide, b: Wide) -> Wide {
        if self.are_scalar(&[a, b]) {
            return self.scalar_pair([Salu::SAddU32, Salu::SAddcU32], a, b);
        }
        if self.target == Target::Gfx950 {
            let [a, b] = [a, b].map(|words| self.wide_arg(words));
            let zero = Arg { slot: Slot::Fixed(isa::Operand::Int(0)), neg: false, abs: false };
            let reg = self.new_reg(Class::Vector, 2);
            let to = Slot::Part(Part::new(reg, 0, 2));
            self.vop(Op::Int(Int::VLshlAddU64), &[to], vec![a, zero, b], Extra::default());
            return [Word::Reg(reg, 0), Word::Reg(reg, 1)];
        }
        self.vector_pair([Int::VAddCoU32, Int::VAddCoCiU32], a, b)
    }

    fn wide_subtract(&mut self, a: Wide, b: Wide) -> Wide {
        if self.are_scalar(&[a, b]) {
            return self.scalar_pair([Salu::SSubU32, Salu::SSubbU32], a, b);
        }
        self.vector_pair([Int::VSubCoU32, Int::VSubCoCiU32], a, b)
    }

    /// Two scalar instructions, the second with the carry of the first.
    fn scalar_pair(&mut self, ops: [Salu; 2], a: Wide, b: Wide) -> Wide {
        let reg = self.new_reg(Class::Scalar, 2);
        for index in 0..2 {
            let (left, right) = (a[index], self.one_literal(a[index], b[index]));
            let to = Slot::Part(Part::new(reg, index as u8, 1));
            self.machine(Op::Salu(ops[index]), &[to, self.slot(left), self.slot(right)]);
        }
        [Word::Reg(reg, 0), Word::Reg(reg, 1)]
    }

    fn vector_pair(&mut self, ops: [Int; 2], a: Wide, b: Wide) -> Wide {
        // Everything is brought to VGPRs first, so that the long forms read no scalar but the carry.
        let [a, b] = [a, b].map(|words| words.map(|word| self.vector_word(word)));
        let carries = [self.new_mask(), self.new_mask()].map(|mask| self.mask_slot(mask));
        let reg = self.new_reg(Class::Vector, 2);
        for index in 0..2 {
            let to = Slot::Part(Part::new(reg, index as u8, 1));
            let mut slots = vec![to, carries[index], self.slot(a[index]), self.slot(b[index])];
            slots.extend((index == 1).then_some(carries[0]));
            self.machine(Op::Int(ops[index]), &slots);
        }
        [Word::Reg(reg, 0), Word::Reg(reg, 1)]
    }

    fn wide_multiply(&mut self, a: Wide, b: Wide) -> Result<Wide, Cause> {
        let low = self.integer(BinOp::Mul, a[0], b[0])?;
        let carried = self.integer(BinOp::MulHighU, a[0], b[0])?;
        let cross = [self.integer(BinOp::Mul, a[0], b[1])?, self.integer(BinOp::Mul, a[1], b[0])?];
        let high = self.integer(BinOp::Add, carried, cross[0])?;
        Ok([low, self.integer(BinOp::Add, high, cross[1])?])
    }

    fn wide_shift(&mut self, op: BinOp, a: Wide, amount: Word) -> Wide {
        let is_scalar = self.are_scalar(&[a]) && self.is_scalar(amount);
        if is_scalar {
            let from = self.tuple(&a, Class::Scalar);
            let reg = self.new_reg(Class::Scalar, 2);
            let op = match op {
                BinOp::Shl => Salu::SLshlB64,
                BinOp::ShrU => Salu::SLshrB64,
                _ => Salu::SAshrI64,
            };
            let slots = [Slot::Part(Part::new(reg, 0, 2)), Slot::Part(from), self.slot(amount)];
            self.machine(Op::Salu(op), &slots);
            return [Word::Reg(reg, 0), Word::Reg(reg, 1)];
        }
        let op = match op {
            BinOp::Shl => Int::VLshlrevB64,
            BinOp::ShrU => Int::VLshrrevB64,
            _ => Int::VAshrrevI64,
        };
        let args = vec![self.arg(amount.into()), self.wide_arg(a)];
        let reg = self.new_reg(Class::Vector, 2);
        self.vop(Op::Int(op), &[Slot::Part(Part::new(reg, 0, 2))], args, Extra::default());
        [Word::Reg(reg, 0), Word::Reg(reg, 1)]
    }

    fn wide_arg(&mut self, words: Wide) -> Arg {
        let class = if self.are_scalar(&[words])
            && words.iter().any(|word| matches!(word, Word::Reg(..)))
        {
            Class::Scalar
        } else {
            Class::Vector
        };
        let part = self.tuple(&words, class);
        Arg { slot: Slot::Part(part), neg: false, abs: false }
    }
}

fn fold(op: BinOp, a: Wide, b: Wide) -> Option<Wide> {
    const ZERO: Wide = [Word::Const(0); 2];
    if let ([Word::Const(al), Word::Const(ah)], [Word::Const(bl), Word::Const(bh)]) = (a, b) {
        let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let (a, b) = (join(al, ah), join(bl, bh));
        let result = match op {
            BinOp::Add => a.wrapping_add(b),
            BinOp::Sub => a.wrapping_sub(b),
            BinOp::Mul => a.wrapping_mul(b),
            BinOp::And => a & b,
            BinOp::Or => a | b,
            BinOp::Xor => a ^ b,
            BinOp::Shl => a.wrapping_shl(bl),
            BinOp::ShrU => a.wrapping_shr(bl),
            BinOp::ShrS => (a as i64).wrapping_shr(bl) as u64,
            _ => return None,
        };
        return Some([Word::Const(result as u32), Word::Const((result >> 32) as u32)]);
    }
    match op {
        BinOp::Add | BinOp::Or | BinOp::Xor if a == ZERO => Some(b),
        BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor if b == ZERO => Some(a),
        BinOp::Shl | BinOp::ShrU | BinOp::ShrS if b[0] == Word::Const(0) => Some(a),
        _ => None,
    }
}
