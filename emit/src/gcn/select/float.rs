//! Float arithmetic: element by element, or in pairs where the target has packed binary32.

use dsl::ir::{BinOp, Op as IrOp, Scalar, Type, UnOp, Value};
use isa::table::{Float, Packed};
use isa::{Op, Operand, Target};

use super::legal::Extra;
use super::values::{Loc, Src, Word, const_operand};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Inst, Kind, Part, Slot};

/// An operation on binary32, and the packed form of gfx950.
#[derive(Clone, Copy)]
struct Arithmetic {
    single: Float,
    packed: Option<Packed>,
}

impl<'k> Selector<'k> {
    pub(super) fn unary(&mut self, op: UnOp, value: Value, ty: Type) -> Result<Loc, Cause> {
        let is_f16 = ty.scalar() == Some(Scalar::F16);
        let single = match op {
            UnOp::Not => return self.complement(value, ty),
            UnOp::FNeg if is_f16 => return self.sign_f16(value, ty, 0x8000_8000, false),
            UnOp::FAbs if is_f16 => return self.sign_f16(value, ty, 0x7fff_7fff, true),
            UnOp::FNeg => return self.with_sign(value, |src| Src { neg: !src.neg, ..src }),
            UnOp::FAbs => return self.with_sign(value, |src| Src { abs: true, neg: false, ..src }),
            UnOp::Exp2 => Float::VExpF32,
            UnOp::Log2 => Float::VLogF32,
            UnOp::Rcp => Float::VRcpF32,
            UnOp::Rsq => Float::VRsqF32,
            UnOp::Sqrt => Float::VSqrtF32,
            UnOp::RoundEven => Float::VRndneF32,
        };
        let words = self.words(value)?;
        let results = words.into_iter().map(|src| self.valu_src(Op::Float(single), &[src]));
        Ok(Loc::of(results.collect::<Vec<_>>()))
    }

    fn with_sign(&mut self, value: Value, change: impl Fn(Src) -> Src) -> Result<Loc, Cause> {
        Ok(Loc::Words(self.words(value)?.into_iter().map(change).collect()))
    }

    /// Sums, differences, products, minima and maxima of floats.
    pub(super) fn float_binary(
        &mut self,
        op: BinOp,
        left: Value,
        right: Value,
        ty: Type,
    ) -> Result<Loc, Cause> {
        if ty.scalar() == Some(Scalar::F16) {
            return self.half_binary(op, left, right, ty);
        }
        let (mut a, mut b) = (self.words(left)?, self.words(right)?);
        if matches!(op, BinOp::FMin | BinOp::FMax) {
            a = self.quiet(left, a);
            b = self.quiet(right, b);
        }
        let arithmetic = match op {
            BinOp::FAdd => Arithmetic { single: Float::VAddF32, packed: Some(Packed::VPkAddF32) },
            BinOp::FMul => Arithmetic { single: Float::VMulF32, packed: Some(Packed::VPkMulF32) },
            BinOp::FSub => Arithmetic { single: Float::VSubF32, packed: Some(Packed::VPkAddF32) },
            BinOp::FMin => Arithmetic { single: Float::VMinF32, packed: None },
            BinOp::FMax => Arithmetic { single: Float::VMaxF32, packed: None },
            _ => return Err(malformed(format!("{op:?} of floats"))),
        };
        self.elementwise(arithmetic, &[a, b], op == BinOp::FSub)
    }

    pub(super) fn fma(&mut self, operands: [Value; 3], ty: Type) -> Result<Loc, Cause> {
        if ty.scalar() == Some(Scalar::F16) {
            return self.half_fma(operands, ty);
        }
        let mut sources = Vec::new();
        for operand in operands {
            sources.push(self.words(operand)?);
        }
        let fma = Arithmetic { single: Float::VFmaF32, packed: Some(Packed::VPkFmaF32) };
        self.elementwise(fma, &sources, false)
    }

    /// Signalling NaN would come out of a minimum as the result. Arithmetic never makes one; what comes from
    /// elsewhere is made quiet by a maximum with itself.
    fn quiet(&mut self, value: Value, words: Vec<Src>) -> Vec<Src> {
        if self.is_quiet(value) {
            return words;
        }
        let mut quiet = |src: Src| match src.word {
            Word::Const(_) => src,
            Word::Reg(..) => self.valu_src(Op::Float(Float::VMaxF32), &[src, src]).into(),
        };
        words.into_iter().map(&mut quiet).collect()
    }

    fn is_quiet(&self, value: Value) -> bool {
        match self.defs[value.0 as usize] {
            Some(IrOp::Binary(..) | IrOp::Fma(..) | IrOp::Matrix { .. } | IrOp::Convert(..)) => {
                !matches!(
                    self.defs[value.0 as usize],
                    Some(IrOp::Convert(dsl::ir::Conversion::FExtend, _))
                )
            }
            Some(IrOp::Unary(UnOp::FNeg | UnOp::FAbs, inner)) => self.is_quiet(*inner),
            Some(IrOp::Unary(..) | IrOp::Const { .. }) => true,
            Some(IrOp::Extract(inner, _)) => self.is_quiet(*inner),
            Some(IrOp::Pack(elements)) => elements.iter().all(|element| self.is_quiet(*element)),
            Some(IrOp::Select(_, yes, no)) => self.is_quiet(*yes) && self.is_quiet(*no),
            Some(IrOp::LaneXor { value, .. }) => self.is_quiet(*value),
            _ => false,
        }
    }

    fn elementwise(
        &mut self,
        op: Arithmetic,
        sources: &[Vec<Src>],
        subtracts: bool,
    ) -> Result<Loc, Cause> {
        let lanes = sources.first().map_or(0, Vec::len);
        if sources.iter().any(|words| words.len() != lanes) {
            return Err(malformed("operands of different sizes".to_owned()));
        }
        let mut results = Vec::with_capacity(lanes);
        let mut lane = 0;
        while lane < lanes {
            let is_pair = self.target == Target::Gfx950 && lane + 1 < lanes;
            match op.packed.filter(|_| is_pair && pairs_up(sources, lane)) {
                Some(packed) => {
                    results.extend(self.pair(packed, sources, lane, subtracts));
                    lane += 2;
                }
                None => {
                    let words: Vec<Src> = sources.iter().map(|words| words[lane]).collect();
                    results.push(self.single(op.single, &words));
                    lane += 1;
                }
            }
        }
        Ok(Loc::of(results))
    }

    /// One element; a source that lies in another lane is read there.
    fn single(&mut self, op: Float, sources: &[Src]) -> Word {
        let moved = sources.iter().position(|src| src.lane_xor != 0);
        let (Some(at), Float::VAddF32 | Float::VMulF32) = (moved, op) else {
            return self.valu_src(Op::Float(op), sources);
        };
        let (near, far) = (sources[1 - at], sources[at]);
        let (partial, ctrl) = self.towards(far.word, far.lane_xor.into());
        let Some(ctrl) = ctrl else {
            let done = Src { lane_xor: 0, word: partial, ..far };
            return self.valu_src(Op::Float(op), &[near, done]);
        };
        let partial = Src { lane_xor: 0, word: self.vector_word(partial), ..far };
        let near_word = self.plain(near);
        let near = self.vector_word(near_word);
        let args = vec![self.arg(partial), self.arg(near.into())];
        let reg = self.new_reg(Class::Vector, 1);
        let extra = Extra { op_sel: 0, dpp: Some(ctrl) };
        self.vop(Op::Float(op), &[Slot::Part(Part::new(reg, 0, 1))], args, extra);
        Word::Reg(reg, 0)
    }

    pub(super) fn vector_word(&mut self, word: Word) -> Word {
        let (reg, index) = self.in_vgpr(word);
        Word::Reg(reg, index)
    }

    /// Elements `lane` and `lane + 1` by one packed instruction.
    fn pair(
        &mut self,
        op: Packed,
        sources: &[Vec<Src>],
        lane: usize,
        subtracts: bool,
    ) -> [Word; 2] {
        let reg = self.new_reg(Class::Vector, 2);
        let mut slots = vec![Slot::Part(Part::new(reg, 0, 2))];
        let mut mods = isa::inst::Modifiers::default();
        for (index, words) in sources.iter().enumerate() {
            let (mut low, mut high) = (words[lane], words[lane + 1]);
            if subtracts && index == 1 {
                (low.neg, high.neg) = (!low.neg, !high.neg);
            }
            let (slot, halves) = self.pair_operand(low, high);
            slots.push(slot);
            let is_const = matches!(slot, Slot::Fixed(_));
            mods.neg |= u8::from(low.neg && !is_const) << index;
            mods.neg_hi |= u8::from(high.neg && !is_const) << index;
            mods.op_sel |= halves.0 << index;
            mods.op_sel_hi |= halves.1 << index;
        }
        let mut inst = Inst::new(Kind::Machine(Op::Packed(op)), &slots, self.stmt());
        inst.mods = mods;
        self.emit(inst);
        [Word::Reg(reg, 0), Word::Reg(reg, 1)]
    }

    /// A pair of registers, and which of them the low and the high element are in.
    fn pair_operand(&mut self, low: Src, high: Src) -> (Slot, (u8, u8)) {
        if let (Word::Const(a), Word::Const(b)) = (low.word, high.word) {
            let flip = |bits: u32, src: Src| if src.neg { bits ^ 0x8000_0000 } else { bits };
            let (a, b) = (flip(a, low), flip(b, high));
            let operand = const_operand(a);
            if a == b && !matches!(operand, Operand::Literal(_)) {
                return (Slot::Fixed(operand), (0, 0));
            }
        }
        let low = self.vector_word(low.word);
        let high = self.vector_word(high.word);
        let (Word::Reg(a, i), Word::Reg(b, j)) = (low, high) else {
            return (Slot::None, (0, 1));
        };
        if a == b && i / 2 == j / 2 {
            let info = &mut self.function.regs[a.0 as usize];
            info.count = info.count.next_multiple_of(2);
            info.align = info.align.max(2);
            let live = 1 << (i % 2) | 1 << (j % 2);
            let part = Part { reg: a, first: i & !1, count: 2, live };
            return (Slot::Part(part), (i % 2, j % 2));
        }
        let part = self.tuple(&[low, high], Class::Vector);
        (Slot::Part(part), (0, 1))
    }
}

/// Whether the elements can be done by a packed instruction: it has no absolute values and moves no lanes.
fn pairs_up(sources: &[Vec<Src>], lane: usize) -> bool {
    sources
        .iter()
        .all(|words| words[lane..lane + 2].iter().all(|src| !src.abs && src.lane_xor == 0))
}
