//! Conversions.

use dsl::ir::{BinOp, Conversion, Scalar, Type, Value};
use isa::table::{Compare, CompareType, Convert, Int, Test};
use isa::{Op, Target};

use super::values::{Cond, Loc, Src, Word, is_16_bit};
use super::{Selector, malformed};
use crate::gcn::error::Cause;

impl<'k> Selector<'k> {
    pub(super) fn convert(
        &mut self,
        conversion: Conversion,
        value: Value,
        to: Type,
    ) -> Result<Loc, Cause> {
        let from = self.ty(value);
        match conversion {
            Conversion::FExtend => self.extend_float(value, from),
            Conversion::FTruncate => self.truncate_float(value, to),
            Conversion::I32ToF32 => self.convert_words(value, Convert::VCvtF32I32),
            Conversion::U32ToF32 => self.convert_words(value, Convert::VCvtF32U32),
            Conversion::F32ToI32 => self.convert_words(value, Convert::VCvtI32F32),
            Conversion::SignExtend => {
                let mut words = Vec::new();
                for word in self.plain_words(value)? {
                    let sign = self.integer(BinOp::ShrS, word, Word::Const(31))?;
                    words.extend([word, sign]);
                }
                Ok(Loc::of(words))
            }
            Conversion::ZeroExtend => self.zero_extend(value, from, to),
            Conversion::Truncate => self.truncate(value, from, to),
        }
    }

    fn convert_words(&mut self, value: Value, op: Convert) -> Result<Loc, Cause> {
        let words = self.words(value)?;
        let words = words.into_iter().map(|src| self.valu_src(Op::Convert(op), &[src]));
        Ok(Loc::of(words.collect::<Vec<_>>()))
    }

    /// The halves of a value of 16-bit elements.
    fn halves(&mut self, value: Value, ty: Type) -> Result<Vec<(Word, bool)>, Cause> {
        if ty.lanes() == 1 {
            return Ok(vec![self.half(value)?]);
        }
        let words = self.plain_words(value)?;
        let lanes = 0..usize::from(ty.lanes());
        let at = |lane: usize| words.get(lane / 2).map(|word| (*word, lane % 2 == 1));
        lanes.map(at).collect::<Option<_>>().ok_or_else(|| malformed(format!("elements of {ty}")))
    }

    fn extend_float(&mut self, value: Value, from: Type) -> Result<Loc, Cause> {
        let scalar = from.scalar().unwrap_or(Scalar::F16);
        let halves = self.halves(value, from)?;
        let words = halves.into_iter().map(|(word, high)| self.widen(scalar, word, high));
        Ok(Loc::of(words.collect::<Vec<_>>()))
    }

    fn zero_extend(&mut self, value: Value, from: Type, to: Type) -> Result<Loc, Cause> {
        let is_wide = to.scalar() == Some(Scalar::I64);
        let mut words = Vec::new();
        if from.scalar() == Some(Scalar::I1) {
            let cond = self.cond(value)?;
            words.push(self.truth_as_word(cond));
        } else if is_16_bit(from.scalar()) {
            for (word, high) in self.halves(value, from)? {
                words.push(match high {
                    true => self.low_half(word, true),
                    false => self.integer(BinOp::And, word, Word::Const(0xffff))?,
                });
            }
        } else {
            words = self.plain_words(value)?;
        }
        if is_wide {
            words = words.into_iter().flat_map(|word| [word, Word::Const(0)]).collect();
        }
        Ok(Loc::of(words))
    }

    fn truncate(&mut self, value: Value, from: Type, to: Type) -> Result<Loc, Cause> {
        let mut words = self.plain_words(value)?;
        if from.scalar() == Some(Scalar::I64) {
            words = words.into_iter().step_by(2).collect();
        }
        if !is_16_bit(to.scalar()) {
            return Ok(Loc::of(words));
        }
        Ok(self.join_all_halves(words.into_iter().map(|word| (word, false)).collect()))
    }

    /// A scalar or vector of 16-bit elements from its halves.
    pub(super) fn join_all_halves(&mut self, halves: Vec<(Word, bool)>) -> Loc {
        if let [(word, high)] = halves[..] {
            return Loc::Half { word, high };
        }
        let pairs = halves.chunks(2).map(|pair| {
            let high = pair.get(1).copied().unwrap_or((Word::Const(0), false));
            self.join_halves(pair[0], high)
        });
        Loc::of(pairs.collect::<Vec<_>>())
    }

    fn truncate_float(&mut self, value: Value, to: Type) -> Result<Loc, Cause> {
        let words = self.words(value)?;
        match (to.scalar(), self.target) {
            (Some(Scalar::Bf16), Target::Gfx1100) => {
                let halves = words.into_iter().map(|src| (self.round_to_bf16(src), true));
                let halves = halves.collect();
                Ok(self.join_all_halves(halves))
            }
            (Some(Scalar::Bf16), Target::Gfx950) => {
                Ok(self.narrow_in_pairs(Convert::VCvtPkBf16F32, &words))
            }
            (_, Target::Gfx950) => Ok(self.narrow_in_pairs(Convert::VCvtPkF16F32, &words)),
            (_, Target::Gfx1100) => {
                let op = Op::Convert(Convert::VCvtF16F32);
                let halves: Vec<_> =
                    words.into_iter().map(|src| (self.valu_src(op, &[src]), false)).collect();
                Ok(self.join_all_halves(halves))
            }
        }
    }

    fn narrow_in_pairs(&mut self, op: Convert, words: &[Src]) -> Loc {
        let pairs: Vec<Word> = words
            .chunks(2)
            .map(|pair| {
                let high = pair.get(1).copied().unwrap_or(Word::Const(0).into());
                self.valu_src(Op::Convert(op), &[pair[0], high])
            })
            .collect();
        match (words.len(), &pairs[..]) {
            (1, [word]) => Loc::Half { word: *word, high: false },
            _ => Loc::of(pairs),
        }
    }

    /// gfx1100 has no conversion to bfloat16: the upper half of the result is the bfloat16. The sequence of integer
    /// operations is the meaning of the conversion on this target, in every back end.
    fn round_to_bf16(&mut self, src: Src) -> Word {
        let word = self.plain(src);
        let word = self.vector_word(word);
        let is_odd = self.valu(Op::Int(Int::VBfeU32), &[word, Word::Const(16), Word::Const(1)]);
        let rounded = self.valu(Op::Int(Int::VAdd3U32), &[word, is_odd, Word::Const(0x7fff)]);
        let quiet = self.valu(Op::Int(Int::VOrB32), &[Word::Const(0x0040_0000), word]);
        let args = [word, word].map(|word| self.arg(word.into())).to_vec();
        let unordered = Compare { test: Test::U, ty: CompareType::F32, writes_exec: false };
        match self.vector_compare(unordered, args) {
            Loc::Cond(cond @ Cond::Mask(_)) => self.select_word(cond, quiet.into(), rounded.into()),
            _ => rounded,
        }
    }
}
