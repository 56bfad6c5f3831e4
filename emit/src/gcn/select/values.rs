//! Where values are: words in registers and constants, halves of words, conditions.

use dsl::ir::{Scalar, Type, Value};
use isa::Operand;
use isa::table::{Convert, Int, Salu};
use isa::{Op, reg::InlineFloat};

use super::{Known, Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Inst, Kind, Part, Reg, Slot};

/// 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// One register of a tuple.
    Reg(Reg, u8),
    /// A constant.
    Const(u32),
}

/// A word as a source: what its user may do on the fly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Src {
    /// The word.
    pub word: Word,
    /// The user clears the sign of the binary32, before `neg`.
    pub abs: bool,
    /// The user flips the sign of the binary32.
    pub neg: bool,
    /// The user takes the word of the lane whose index is XORed with this.
    pub lane_xor: u8,
}

impl From<Word> for Src {
    fn from(word: Word) -> Src {
        Src { word, abs: false, neg: false, lane_xor: 0 }
    }
}

impl Src {
    /// Whether the word is the source as it stands.
    pub fn is_plain(self) -> bool {
        !self.abs && !self.neg && self.lane_xor == 0
    }
}

/// A truth value of each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cond {
    /// The same everywhere.
    Const(bool),
    /// One bit a lane in SGPRs; bits of inactive lanes mean nothing.
    Mask(Reg),
    /// A scalar comparison, made where it is used.
    Scalar(Salu, [Slot; 2]),
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loc {
    /// Words, lowest first; vectors of 16-bit elements have two in a word.
    Words(Vec<Src>),
    /// A 16-bit value in one half of a word.
    Half {
        /// The word.
        word: Word,
        /// The upper half.
        high: bool,
    },
    /// A truth value.
    Cond(Cond),
}

impl Loc {
    /// Words without anything to do on the fly.
    pub fn of(words: impl IntoIterator<Item = Word>) -> Loc {
        Loc::Words(words.into_iter().map(Src::from).collect())
    }

    /// All words of a register.
    pub fn of_reg(reg: Reg, count: u8) -> Loc {
        Loc::of((0..count).map(|index| Word::Reg(reg, index)))
    }
}

/// 16-bit elements lie in pairs in the words of a vector.
pub fn is_16_bit(scalar: Option<Scalar>) -> bool {
    matches!(scalar, Some(Scalar::I16 | Scalar::F16 | Scalar::Bf16))
}

/// The operand of a constant of 32 bits: inline where the hardware has it.
pub fn const_operand(bits: u32) -> Operand {
    let signed = bits as i32;
    if (-16..=64).contains(&signed) {
        return Operand::Int(signed);
    }
    let float = InlineFloat::ALL.into_iter().find(|float| float.bits32() == bits);
    float.map_or(Operand::Literal(bits), Operand::Float)
}

impl<'k> Selector<'k> {
    pub(super) fn constant(&self, ty: Type, bits: u64) -> Loc {
        match ty.scalar() {
            Some(Scalar::I1) => Loc::Cond(Cond::Const(bits & 1 == 1)),
            Some(Scalar::I64) => Loc::of(
                (0..ty.lanes())
                    .flat_map(|_| [Word::Const(bits as u32), Word::Const((bits >> 32) as u32)]),
            ),
            scalar if is_16_bit(scalar) => {
                let half = bits as u32 & 0xffff;
                match ty.lanes() {
                    1 => Loc::Half { word: Word::Const(half), high: false },
                    lanes => {
                        Loc::of((0..lanes.div_ceil(2)).map(|_| Word::Const(half << 16 | half)))
                    }
                }
            }
            _ => Loc::of((0..ty.lanes()).map(|_| Word::Const(bits as u32))),
        }
    }

    /// The words of a place; a half is moved to the low end of a word of its own.
    pub(super) fn words_of(&mut self, loc: Loc, ty: Type) -> Result<Vec<Src>, Cause> {
        match loc {
            Loc::Words(words) => Ok(words),
            Loc::Half { word, high } => {
                let word = self.low_half(word, high);
                Ok(vec![word.into()])
            }
            Loc::Cond(_) => Err(malformed(format!("words of a value of type {ty}"))),
        }
    }

    /// A word whose lower 16 bits are the half; the upper ones are anything.
    pub(super) fn low_half(&mut self, word: Word, high: bool) -> Word {
        match (word, high) {
            (word, false) => word,
            (Word::Const(bits), true) => Word::Const(bits >> 16),
            (Word::Reg(reg, _), true) => {
                let sixteen = Word::Const(16);
                match self.class(reg) {
                    Class::Scalar => self.salu(Salu::SLshrB32, word, sixteen),
                    Class::Vector => self.valu(Op::Int(Int::VLshrrevB32), &[sixteen, word]),
                }
            }
        }
    }

    /// The only word of a value.
    pub(super) fn src(&mut self, value: Value) -> Result<Src, Cause> {
        match self.words(value)?[..] {
            [src] => Ok(src),
            _ => Err(malformed(format!("%{} is not one word", value.0))),
        }
    }

    /// The only word of a value, with everything done that was left to its user.
    pub(super) fn word(&mut self, value: Value) -> Result<Word, Cause> {
        let src = self.src(value)?;
        Ok(self.plain(src))
    }

    /// The words of a value, likewise.
    pub(super) fn plain_words(&mut self, value: Value) -> Result<Vec<Word>, Cause> {
        let words = self.words(value)?;
        Ok(words.into_iter().map(|src| self.plain(src)).collect())
    }

    /// Does what was left to the user of a word.
    pub(super) fn plain(&mut self, src: Src) -> Word {
        let word = match (src.word, src.lane_xor) {
            (word, 0) => word,
            (word, mask) => self.exchange(word, mask.into()),
        };
        let (abs, neg) = (0x7fff_ffff, 0x8000_0000);
        match (src.abs, src.neg) {
            (false, false) => word,
            (true, false) => self.bitwise(Salu::SAndB32, Int::VAndB32, word, abs),
            (false, true) => self.bitwise(Salu::SXorB32, Int::VXorB32, word, neg),
            (true, true) => self.bitwise(Salu::SOrB32, Int::VOrB32, word, neg),
        }
    }

    fn bitwise(&mut self, scalar: Salu, vector: Int, word: Word, bits: u32) -> Word {
        match word {
            Word::Reg(reg, _) if self.class(reg) == Class::Vector => {
                self.valu(Op::Int(vector), &[Word::Const(bits), word])
            }
            Word::Reg(..) => self.salu(scalar, word, Word::Const(bits)),
            Word::Const(value) => Word::Const(match scalar {
                Salu::SAndB32 => value & bits,
                Salu::SXorB32 => value ^ bits,
                _ => value | bits,
            }),
        }
    }

    /// The operand of a word.
    pub(super) fn slot(&self, word: Word) -> Slot {
        match word {
            Word::Reg(reg, index) => Slot::Part(Part::new(reg, index, 1)),
            Word::Const(bits) => Slot::Fixed(const_operand(bits)),
        }
    }

    /// Whether a word can be an operand of the scalar unit.
    pub(super) fn is_scalar(&self, word: Word) -> bool {
        match word {
            Word::Reg(reg, _) => self.class(reg) == Class::Scalar,
            Word::Const(_) => true,
        }
    }

    pub(super) fn is_vector(&self, word: Word) -> bool {
        !self.is_scalar(word)
    }

    /// The word where the scalar unit can read it; it must be the same in all lanes.
    pub(super) fn scalar_word(&mut self, word: Word) -> Word {
        if self.is_scalar(word) {
            return word;
        }
        let reg = self.new_reg(Class::Scalar, 1);
        let slots = [Slot::Part(Part::new(reg, 0, 1)), self.slot(word)];
        self.machine(Op::Lane(isa::table::Lane::VReadfirstlaneB32), &slots);
        Word::Reg(reg, 0)
    }

    /// The word in a VGPR.
    pub(super) fn in_vgpr(&mut self, word: Word) -> (Reg, u8) {
        match word {
            Word::Reg(reg, index) if self.class(reg) == Class::Vector => (reg, index),
            Word::Reg(reg, index) => (self.vector_copy(Known::VectorCopy(reg, index), word), 0),
            Word::Const(bits) => (self.vector_copy(Known::VectorConst(bits), word), 0),
        }
    }

    fn vector_copy(&mut self, known: Known, word: Word) -> Reg {
        if let Some(reg) = self.recall(&known) {
            return reg;
        }
        let reg = self.new_reg(Class::Vector, 1);
        let copy = [Slot::Part(Part::new(reg, 0, 1)), self.slot(word)];
        let inst = Inst::new(Kind::Copy, &copy, self.stmt());
        if self.loops > 0 && matches!(known, Known::VectorConst(_)) {
            self.prologue.push(inst);
            self.known[0].insert(known, reg);
        } else {
            self.emit(inst);
            self.remember(known, reg);
        }
        reg
    }

    /// A constant in an SGPR, made once before everything else.
    pub(super) fn scalar_const(&mut self, bits: u32) -> Reg {
        if let Some(reg) = self.scalar_consts.get(&bits) {
            return *reg;
        }
        let reg = self.new_reg(Class::Scalar, 1);
        let copy = [Slot::Part(Part::new(reg, 0, 1)), self.slot(Word::Const(bits))];
        self.prologue.push(Inst::new(Kind::Copy, &copy, 0));
        self.scalar_consts.insert(bits, reg);
        reg
    }

    /// Words side by side in registers of a class: where they are, if they lie so already, else gathered.
    pub(super) fn tuple(&mut self, words: &[Word], class: Class) -> Part {
        let count = words.len() as u8;
        if let Some(part) = self.existing(words, class) {
            return part;
        }
        let known = Known::Tuple(class, words.to_vec());
        if let Some(reg) = self.recall(&known) {
            return Part::new(reg, 0, count);
        }
        let words: Vec<Word> = match class {
            Class::Scalar => words.iter().map(|word| self.scalar_word(*word)).collect(),
            Class::Vector => words.to_vec(),
        };
        let reg = self.new_reg(class, count);
        let mut index = 0;
        while index < words.len() {
            let run = self.run_length(&words[index..]);
            let to = Part::new(reg, index as u8, run as u8);
            let from = match words[index] {
                Word::Reg(reg, first) => Slot::Part(Part::new(reg, first, run as u8)),
                constant => self.slot(constant),
            };
            self.copy(to, from);
            index += run;
        }
        self.remember(known, reg);
        Part::new(reg, 0, count)
    }

    /// Neighbours at the start of the words.
    fn run_length(&self, words: &[Word]) -> usize {
        let Word::Reg(reg, first) = words[0] else { return 1 };
        let follows =
            |(index, word): &(usize, &Word)| **word == Word::Reg(reg, first + *index as u8);
        words.iter().enumerate().take_while(follows).count()
    }

    fn existing(&self, words: &[Word], class: Class) -> Option<Part> {
        let Word::Reg(reg, first) = *words.first()? else { return None };
        let (info, count) = (self.function.info(reg), words.len() as u8);
        let needed = crate::gcn::mir::natural_alignment(self.target, class, count);
        let is_aligned = info.align.is_multiple_of(needed) && first.is_multiple_of(needed);
        let fits = info.class == class && is_aligned && self.run_length(words) == words.len();
        fits.then(|| Part::new(reg, first, count))
    }

    pub(super) fn bitcast(&mut self, value: Value, to: Type) -> Result<Loc, Cause> {
        let loc = self.value_loc(value)?.clone();
        let from = self.ty(value);
        let is_half = is_16_bit(to.scalar()) && to.lanes() == 1;
        match loc {
            Loc::Words(_) if is_half => {
                let word = self.word(value)?;
                Ok(Loc::Half { word, high: false })
            }
            Loc::Words(words) if from.scalar() != to.scalar() => {
                Ok(Loc::of(words.into_iter().map(|src| self.plain(src)).collect::<Vec<_>>()))
            }
            loc => Ok(loc),
        }
    }

    pub(super) fn extract(&mut self, vector: Value, index: u8) -> Result<Loc, Cause> {
        let ty = self.ty(vector);
        let words = self.words(vector)?;
        let at = |index: usize| {
            let word = words.get(index).copied();
            word.ok_or_else(|| malformed(format!("element {index} of a {ty}")))
        };
        match ty.scalar() {
            scalar if is_16_bit(scalar) => {
                let src = at(usize::from(index / 2))?;
                Ok(Loc::Half { word: self.plain(src), high: index % 2 == 1 })
            }
            Some(Scalar::I64) => {
                let first = usize::from(index) * 2;
                Ok(Loc::Words(vec![at(first)?, at(first + 1)?]))
            }
            _ => Ok(Loc::Words(vec![at(index.into())?])),
        }
    }

    pub(super) fn pack(&mut self, elements: &[Value], ty: Type) -> Result<Loc, Cause> {
        if !is_16_bit(ty.scalar()) {
            let mut words = Vec::new();
            for element in elements {
                words.extend(self.words(*element)?);
            }
            return Ok(Loc::Words(words));
        }
        let mut words = Vec::new();
        for pair in elements.chunks(2) {
            let low = self.half(pair[0])?;
            let high = match pair.get(1) {
                Some(high) => self.half(*high)?,
                None => (Word::Const(0), false),
            };
            words.push(self.join_halves(low, high));
        }
        Ok(Loc::of(words))
    }

    /// The place of a 16-bit value.
    pub(super) fn half(&mut self, value: Value) -> Result<(Word, bool), Cause> {
        match self.value_loc(value)?.clone() {
            Loc::Half { word, high } => Ok((word, high)),
            Loc::Words(words) if words.len() == 1 => Ok((self.plain(words[0]), false)),
            _ => Err(malformed(format!("%{} is not 16 bits wide", value.0))),
        }
    }

    /// A word of two halves.
    pub(super) fn join_halves(&mut self, low: (Word, bool), high: (Word, bool)) -> Word {
        if low.0 == high.0 && !low.1 && high.1 {
            return low.0;
        }
        if let (Word::Const(a), Word::Const(b)) = (low.0, high.0) {
            let pick = |word: u32, upper: bool| if upper { word >> 16 } else { word & 0xffff };
            return Word::Const(pick(b, high.1) << 16 | pick(a, low.1));
        }
        if self.is_scalar(low.0) && self.is_scalar(high.0) {
            let low = self.low_half(low.0, low.1);
            let high = self.low_half(high.0, high.1);
            return self.salu(Salu::SPackLlB32B16, low, high);
        }
        // v_perm_b32 picks bytes: 0–3 of the second source, 4–7 of the first.
        let bytes = |upper: bool, base: u32| if upper { base + 0x0302 } else { base + 0x0100 };
        let selector = bytes(high.1, 0x0404) << 16 | bytes(low.1, 0);
        let words = [high.0, low.0, Word::Const(selector)];
        self.valu(Op::Int(Int::VPermB32), &words)
    }

    /// binary32 of a bfloat16 or binary16 half.
    pub(super) fn widen(&mut self, scalar: Scalar, word: Word, high: bool) -> Word {
        if scalar == Scalar::F16 {
            return self.widen_f16(word, high);
        }
        let (mask, sixteen) = (Word::Const(0xffff_0000), Word::Const(16));
        match (word, high) {
            (Word::Const(bits), true) => Word::Const(bits & 0xffff_0000),
            (Word::Const(bits), false) => Word::Const(bits << 16),
            _ if self.is_scalar(word) && high => self.salu(Salu::SAndB32, word, mask),
            _ if self.is_scalar(word) => self.salu(Salu::SLshlB32, word, sixteen),
            (_, true) => self.valu(Op::Int(Int::VAndB32), &[mask, word]),
            (_, false) => self.valu(Op::Int(Int::VLshlrevB32), &[sixteen, word]),
        }
    }

    fn widen_f16(&mut self, word: Word, high: bool) -> Word {
        let op = Op::Convert(Convert::VCvtF32F16);
        if high && self.target == isa::Target::Gfx1100 && self.is_vector(word) {
            return self.valu_sel(op, &[word], 1);
        }
        let low = self.low_half(word, high);
        let (reg, index) = self.in_vgpr(low);
        self.valu(op, &[Word::Reg(reg, index)])
    }
}
