//! Integer arithmetic on 32 bits, and the way from an operation to its unit.

use dsl::ir::{BinOp, Op as IrOp, Scalar, Type, Value};
use isa::Op;
use isa::table::{Int, Salu};

use super::values::{Loc, Word};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::Slot;
use crate::gcn::simplify::fold::evaluate;

impl<'k> Selector<'k> {
    pub(super) fn binary(
        &mut self,
        op: BinOp,
        left: Value,
        right: Value,
        result: Value,
    ) -> Result<Loc, Cause> {
        let ty = self.ty(result);
        match (op, ty.scalar()) {
            (BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FMin | BinOp::FMax, _) => {
                self.float_binary(op, left, right, ty)
            }
            (_, Some(Scalar::I1)) => self.logical(op, left, right),
            (_, Some(Scalar::I64)) => self.wide_binary(op, left, right),
            _ => {
                if let Some(word) = self.fused(op, left, right)? {
                    return Ok(Loc::of([word]));
                }
                let (a, b) = (self.plain_words(left)?, self.plain_words(right)?);
                let words = a.into_iter().zip(b);
                let words: Result<Vec<Word>, Cause> =
                    words.map(|(a, b)| self.integer(op, a, b)).collect();
                Ok(Loc::of(words?))
            }
        }
    }

    /// Two operations of the vector unit in one, where the inner one has a lane's own operand: the inner result is
    /// then made only if others want it.
    fn fused(&mut self, op: BinOp, left: Value, right: Value) -> Result<Option<Word>, Cause> {
        for (inner, outer) in [(left, right), (right, left)] {
            let Some(IrOp::Binary(first, x, y)) = self.defs[inner.0 as usize] else { continue };
            let (x, y) = (*x, *y);
            let is_plain = self.ty(x) == Type::I32 && self.ty(inner) == Type::I32;
            let shifts = inner != left || op != BinOp::Shl;
            let row = match (op, first) {
                (BinOp::Add, BinOp::Shl) => Int::VLshlAddU32,
                (BinOp::Or, BinOp::Shl) => Int::VLshlOrB32,
                (BinOp::Add, BinOp::Add) => Int::VAdd3U32,
                (BinOp::Or, BinOp::And) => Int::VAndOrB32,
                (BinOp::Or, BinOp::Or) => Int::VOr3B32,
                (BinOp::Shl, BinOp::Add) if !shifts => Int::VAddLshlU32,
                _ => continue,
            };
            if !is_plain || self.plan.uses(inner) > 1 && *first != BinOp::Shl {
                continue;
            }
            let words = [self.word(x)?, self.word(y)?, self.word(outer)?];
            let inner_word = self.word(inner)?;
            let is_const = |word: Word| matches!(word, Word::Const(_));
            let folds = is_const(words[2]) && words[2] == Word::Const(0) || is_const(inner_word);
            let on_vectors = words.iter().any(|word| self.is_vector(*word));
            let scalars = words.iter().filter(|word| self.is_scalar(**word) && !is_const(**word));
            let fits =
                scalars.count() <= 1 && words.iter().all(|word| self.is_inline_or_register(*word));
            let amount = if row == Int::VAddLshlU32 { words[2] } else { words[1] };
            let is_shift = !matches!(row, Int::VLshlAddU32 | Int::VLshlOrB32 | Int::VAddLshlU32)
                || is_const(amount);
            if on_vectors && fits && is_shift && !folds {
                return Ok(Some(self.valu(Op::Int(row), &words)));
            }
        }
        Ok(None)
    }

    fn is_inline_or_register(&self, word: Word) -> bool {
        !matches!(self.slot(word), Slot::Fixed(isa::Operand::Literal(_)))
    }

    /// One 32-bit operation on the unit where its operands are.
    pub(super) fn integer(&mut self, op: BinOp, a: Word, b: Word) -> Result<Word, Cause> {
        if let Some(known) = fold(op, a, b) {
            return Ok(known);
        }
        if matches!(op, BinOp::DivU | BinOp::RemU) {
            let Word::Const(divisor @ 1..) = b else {
                return Err(malformed(
                    "a division by something other than a nonzero constant".into(),
                ));
            };
            return self.divide(op, a, divisor);
        }
        let is_scalar = self.is_scalar(a) && self.is_scalar(b);
        Ok(if is_scalar { self.scalar_integer(op, a, b) } else { self.vector_integer(op, a, b) })
    }

    fn scalar_integer(&mut self, op: BinOp, a: Word, b: Word) -> Word {
        let op = match op {
            BinOp::Add => Salu::SAddI32,
            BinOp::Sub => Salu::SSubI32,
            BinOp::Mul => Salu::SMulI32,
            BinOp::MulHighU => Salu::SMulHiU32,
            BinOp::And => Salu::SAndB32,
            BinOp::Or => Salu::SOrB32,
            BinOp::Xor => Salu::SXorB32,
            BinOp::Shl => Salu::SLshlB32,
            BinOp::ShrU => Salu::SLshrB32,
            BinOp::ShrS => Salu::SAshrI32,
            BinOp::MinS => Salu::SMinI32,
            BinOp::MaxS => Salu::SMaxI32,
            BinOp::MinU => Salu::SMinU32,
            _ => Salu::SMaxU32,
        };
        self.salu(op, a, b)
    }

    fn vector_integer(&mut self, op: BinOp, a: Word, b: Word) -> Word {
        // Shifts have their amount first.
        let (op, words) = match op {
            BinOp::Add => (Int::VAddNcU32, [a, b]),
            BinOp::Sub => (Int::VSubNcU32, [a, b]),
            BinOp::Mul => (Int::VMulLoU32, [a, b]),
            BinOp::MulHighU => (Int::VMulHiU32, [a, b]),
            BinOp::And => (Int::VAndB32, [a, b]),
            BinOp::Or => (Int::VOrB32, [a, b]),
            BinOp::Xor => (Int::VXorB32, [a, b]),
            BinOp::Shl => (Int::VLshlrevB32, [b, a]),
            BinOp::ShrU => (Int::VLshrrevB32, [b, a]),
            BinOp::ShrS => (Int::VAshrrevI32, [b, a]),
            BinOp::MinS => (Int::VMinI32, [a, b]),
            BinOp::MaxS => (Int::VMaxI32, [a, b]),
            BinOp::MinU => (Int::VMinU32, [a, b]),
            _ => (Int::VMaxU32, [a, b]),
        };
        self.valu(Op::Int(op), &words)
    }

    /// Quotient or remainder by a constant: shifts for powers of two, else a product with the reciprocal
    /// (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", figure 4.1).
    fn divide(&mut self, op: BinOp, a: Word, divisor: u32) -> Result<Word, Cause> {
        if divisor.is_power_of_two() {
            let (shift, mask) = (Word::Const(divisor.ilog2()), Word::Const(divisor - 1));
            return match op {
                BinOp::DivU => self.integer(BinOp::ShrU, a, shift),
                _ => self.integer(BinOp::And, a, mask),
            };
        }
        let bits = 32 - (divisor - 1).leading_zeros();
        let reciprocal = ((1u128 << (32 + bits)).div_ceil(u128::from(divisor))) as u64;
        let factor = Word::Const(reciprocal as u32);
        let high = self.integer(BinOp::MulHighU, a, factor)?;
        let quotient = if reciprocal >> 32 == 0 {
            self.integer(BinOp::ShrU, high, Word::Const(bits))?
        } else {
            let rest = self.integer(BinOp::Sub, a, high)?;
            let half = self.integer(BinOp::ShrU, rest, Word::Const(1))?;
            let sum = self.integer(BinOp::Add, half, high)?;
            self.integer(BinOp::ShrU, sum, Word::Const(bits - 1))?
        };
        if op == BinOp::DivU {
            return Ok(quotient);
        }
        let whole = self.integer(BinOp::Mul, quotient, Word::Const(divisor))?;
        self.integer(BinOp::Sub, a, whole)
    }

    pub(super) fn complement(&mut self, value: Value, ty: Type) -> Result<Loc, Cause> {
        if ty.scalar() == Some(Scalar::I1) {
            let cond = self.cond(value)?;
            return Ok(Loc::Cond(self.negate(cond)));
        }
        let words = self.plain_words(value)?;
        let ones = Word::Const(u32::MAX);
        let words: Result<Vec<Word>, Cause> =
            words.into_iter().map(|word| self.integer(BinOp::Xor, word, ones)).collect();
        Ok(Loc::of(words?))
    }
}

/// What an operation on constants gives, or one with a neutral operand.
fn fold(op: BinOp, a: Word, b: Word) -> Option<Word> {
    if let (Word::Const(a), Word::Const(b)) = (a, b) {
        return evaluate(op, a, b).map(Word::Const);
    }
    match (op, a, b) {
        (BinOp::Add | BinOp::Or | BinOp::Xor, Word::Const(0), other) => Some(other),
        (
            BinOp::Add
            | BinOp::Sub
            | BinOp::Or
            | BinOp::Xor
            | BinOp::Shl
            | BinOp::ShrU
            | BinOp::ShrS,
            other,
            Word::Const(0),
        ) => Some(other),
        (BinOp::Mul | BinOp::DivU, other, Word::Const(1)) => Some(other),
        (BinOp::Mul, Word::Const(1), other) => Some(other),
        (BinOp::Mul | BinOp::And, _, Word::Const(0))
        | (BinOp::Mul | BinOp::And, Word::Const(0), _) => Some(Word::Const(0)),
        (BinOp::RemU, _, Word::Const(1)) => Some(Word::Const(0)),
        _ => None,
    }
}
