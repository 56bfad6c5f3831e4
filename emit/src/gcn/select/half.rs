//! binary16 arithmetic: packed instructions, for scalars too, whose upper half is then nothing.

use dsl::ir::{BinOp, Type, Value};
use isa::Op;
use isa::table::{Int, Packed, Salu};

use super::values::{Loc, Word};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Inst, Kind, Part, Slot};

impl<'k> Selector<'k> {
    pub(super) fn half_binary(
        &mut self,
        op: BinOp,
        left: Value,
        right: Value,
        ty: Type,
    ) -> Result<Loc, Cause> {
        let (packed, negate) = match op {
            BinOp::FAdd => (Packed::VPkAddF16, false),
            BinOp::FSub => (Packed::VPkAddF16, true),
            BinOp::FMul => (Packed::VPkMulF16, false),
            _ => return Err(malformed(format!("{op:?} of f16"))),
        };
        self.packed_halves(packed, &[left, right], ty, if negate { 0b10 } else { 0 })
    }

    pub(super) fn half_fma(&mut self, operands: [Value; 3], ty: Type) -> Result<Loc, Cause> {
        self.packed_halves(Packed::VPkFmaF16, &operands, ty, 0)
    }

    fn packed_halves(
        &mut self,
        op: Packed,
        operands: &[Value],
        ty: Type,
        neg: u8,
    ) -> Result<Loc, Cause> {
        let mut sources = Vec::new();
        for operand in operands {
            sources.push(match ty.lanes() {
                1 => vec![self.half(*operand)?],
                _ => self.plain_words(*operand)?.into_iter().map(|word| (word, false)).collect(),
            });
        }
        let mut results = Vec::new();
        for index in 0..sources[0].len() {
            let halves: Vec<(Word, bool)> = sources.iter().map(|words| words[index]).collect();
            results.push(self.packed_word(op, &halves, ty.lanes() > 1, neg));
        }
        match (ty.lanes(), &results[..]) {
            (1, [word]) => Ok(Loc::Half { word: *word, high: false }),
            _ => Ok(Loc::of(results)),
        }
    }

    fn packed_word(&mut self, op: Packed, halves: &[(Word, bool)], both: bool, neg: u8) -> Word {
        let reg = self.new_reg(Class::Vector, 1);
        let mut slots = vec![Slot::Part(Part::new(reg, 0, 1))];
        let mut mods = isa::inst::Modifiers { neg, neg_hi: neg, ..Default::default() };
        for (index, (word, high)) in halves.iter().enumerate() {
            let word = self.vector_word(*word);
            slots.push(self.slot(word));
            let high = u8::from(*high);
            mods.op_sel |= high << index;
            mods.op_sel_hi |= if both { 1 } else { high } << index;
        }
        let mut inst = Inst::new(Kind::Machine(Op::Packed(op)), &slots, self.stmt());
        inst.mods = mods;
        self.emit(inst);
        Word::Reg(reg, 0)
    }

    /// Changes the signs of binary16 by a mask.
    pub(super) fn sign_f16(
        &mut self,
        value: Value,
        ty: Type,
        mask: u32,
        clears: bool,
    ) -> Result<Loc, Cause> {
        let (vector, scalar) =
            if clears { (Int::VAndB32, Salu::SAndB32) } else { (Int::VXorB32, Salu::SXorB32) };
        let (words, high) = match ty.lanes() {
            1 => {
                let (word, high) = self.half(value)?;
                (vec![word], high)
            }
            _ => (self.plain_words(value)?, false),
        };
        let mask = Word::Const(mask);
        let words: Vec<Word> = words
            .into_iter()
            .map(|word| match word {
                word if self.is_scalar(word) => self.salu(scalar, word, mask),
                word => self.valu(Op::Int(vector), &[mask, word]),
            })
            .collect();
        match (ty.lanes(), &words[..]) {
            (1, [word]) => Ok(Loc::Half { word: *word, high }),
            _ => Ok(Loc::of(words)),
        }
    }
}
