//! Truth values: comparisons, choices, and masks of lanes.

use dsl::ir::{BinOp, CmpOp, Scalar, Type, Value};
use isa::reg::SpecialReg;
use isa::table::{Compare, CompareType, Control, Int, Salu, Test};
use isa::{Op, Operand};

use super::legal::{Arg, Extra};
use super::values::{Cond, Loc, Src, Word};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Part, Reg, Slot};

/// EXEC as an operand.
pub const EXEC: Slot = Slot::Fixed(Operand::Special(SpecialReg::ExecLo));

impl<'k> Selector<'k> {
    /// Registers of a lane mask.
    pub(super) fn mask_words(&self) -> u8 {
        (self.target.wave_width() / 32) as u8
    }

    pub(super) fn new_mask(&mut self) -> Reg {
        let count = self.mask_words();
        self.new_reg(Class::Scalar, count)
    }

    pub(super) fn mask_slot(&self, reg: Reg) -> Slot {
        Slot::Part(Part::new(reg, 0, self.mask_words()))
    }

    /// The operation of the wave's width.
    pub(super) fn mask_op(&self, wave32: Salu, wave64: Salu) -> Op {
        Op::Salu(if self.target.wave_width() == 32 { wave32 } else { wave64 })
    }

    pub(super) fn cond(&self, value: Value) -> Result<Cond, Cause> {
        match self.value_loc(value)? {
            Loc::Cond(cond) => Ok(*cond),
            _ => Err(malformed(format!("%{} is no truth value", value.0))),
        }
    }

    pub(super) fn compare(&mut self, op: CmpOp, left: Value, right: Value) -> Result<Loc, Cause> {
        let ty = self.ty(left);
        match ty.scalar() {
            Some(Scalar::F32) => {
                let (test, ty) = (float_test(op), CompareType::F32);
                let sources = [self.src(left)?, self.src(right)?];
                let args = sources.map(|src| self.arg(src)).to_vec();
                Ok(self.vector_compare(Compare { test, ty, writes_exec: false }, args))
            }
            Some(Scalar::I64) => self.compare_wide(op, left, right),
            _ => {
                let (a, b) = (self.word(left)?, self.word(right)?);
                Ok(self.compare_words(op, a, b))
            }
        }
    }

    fn compare_words(&mut self, op: CmpOp, a: Word, b: Word) -> Loc {
        if let (Word::Const(a), Word::Const(b)) = (a, b) {
            return Loc::Cond(Cond::Const(holds(op, a, b)));
        }
        if self.is_scalar(a) && self.is_scalar(b) {
            let b = self.one_literal(a, b);
            return Loc::Cond(Cond::Scalar(scalar_compare(op), [self.slot(a), self.slot(b)]));
        }
        let (test, ty) = integer_test(op, false);
        let args = [a, b].map(|word| self.arg(word.into())).to_vec();
        self.vector_compare(Compare { test, ty, writes_exec: false }, args)
    }

    pub(super) fn vector_compare(&mut self, compare: Compare, args: Vec<Arg>) -> Loc {
        let mask = self.new_mask();
        let slot = self.mask_slot(mask);
        self.vop(Op::Compare(compare), &[slot], args, Extra::default());
        Loc::Cond(Cond::Mask(mask))
    }

    fn compare_wide(&mut self, op: CmpOp, left: Value, right: Value) -> Result<Loc, Cause> {
        let (a, b) = (self.plain_words(left)?, self.plain_words(right)?);
        let all_scalar = a.iter().chain(&b).all(|word| self.is_scalar(*word));
        if all_scalar && matches!(op, CmpOp::Eq | CmpOp::Ne) {
            let (a, b) = (self.tuple(&a, Class::Scalar), self.tuple(&b, Class::Scalar));
            let op = if op == CmpOp::Eq { Salu::SCmpEqU64 } else { Salu::SCmpLgU64 };
            return Ok(Loc::Cond(Cond::Scalar(op, [Slot::Part(a), Slot::Part(b)])));
        }
        let (test, ty) = integer_test(op, true);
        let args = [a, b].map(|words| Arg {
            slot: Slot::Part(self.tuple(&words, Class::Vector)),
            neg: false,
            abs: false,
        });
        Ok(self.vector_compare(Compare { test, ty, writes_exec: false }, args.to_vec()))
    }

    /// The condition as a mask operand.
    pub(super) fn mask(&mut self, cond: Cond) -> Slot {
        match cond {
            Cond::Const(truth) => Slot::Fixed(Operand::Int(if truth { -1 } else { 0 })),
            Cond::Mask(reg) => self.mask_slot(reg),
            Cond::Scalar(op, sources) => {
                self.machine(Op::Salu(op), &sources);
                let reg = self.new_mask();
                let select = self.mask_op(Salu::SCselectB32, Salu::SCselectB64);
                let [ones, zero] = [-1, 0].map(|value| Slot::Fixed(Operand::Int(value)));
                let slot = self.mask_slot(reg);
                self.machine(select, &[slot, ones, zero]);
                slot
            }
        }
    }

    /// Leaves the condition, the same in all lanes, in SCC.
    pub(super) fn leave_in_scc(&mut self, cond: Cond) {
        if let Cond::Scalar(op, sources) = cond {
            return self.machine(Op::Salu(op), &sources);
        }
        let mask = self.mask(cond);
        let reg = self.new_mask();
        let and = self.mask_op(Salu::SAndB32, Salu::SAndB64);
        let slot = self.mask_slot(reg);
        self.machine(and, &[slot, EXEC, mask]);
    }

    /// A branch taken when the condition, the same in all lanes, is `truth`. The target is set later.
    pub(super) fn branch_if(&mut self, cond: Cond, truth: bool) -> (usize, usize) {
        self.leave_in_scc(cond);
        let op = if truth { Control::SCbranchScc1 } else { Control::SCbranchScc0 };
        self.branch(op)
    }

    /// And, or, exclusive or of truth values.
    pub(super) fn logical(&mut self, op: BinOp, left: Value, right: Value) -> Result<Loc, Cause> {
        let (a, b) = (self.cond(left)?, self.cond(right)?);
        let known = match (op, a, b) {
            (BinOp::And, Cond::Const(true), other) | (BinOp::And, other, Cond::Const(true)) => {
                other
            }
            (BinOp::And, Cond::Const(false), _) | (BinOp::And, _, Cond::Const(false)) => {
                Cond::Const(false)
            }
            (BinOp::Or, Cond::Const(false), other) | (BinOp::Or, other, Cond::Const(false)) => {
                other
            }
            (BinOp::Or, Cond::Const(true), _) | (BinOp::Or, _, Cond::Const(true)) => {
                Cond::Const(true)
            }
            _ => {
                let (a, b) = (self.mask(a), self.mask(b));
                let op = match op {
                    BinOp::And => self.mask_op(Salu::SAndB32, Salu::SAndB64),
                    BinOp::Or => self.mask_op(Salu::SOrB32, Salu::SOrB64),
                    _ => self.mask_op(Salu::SXorB32, Salu::SXorB64),
                };
                self.new_mask_of(op, a, b)
            }
        };
        Ok(Loc::Cond(known))
    }

    fn new_mask_of(&mut self, op: Op, a: Slot, b: Slot) -> Cond {
        let reg = self.new_mask();
        let slot = self.mask_slot(reg);
        self.machine(op, &[slot, a, b]);
        Cond::Mask(reg)
    }

    pub(super) fn negate(&mut self, cond: Cond) -> Cond {
        match cond {
            Cond::Const(truth) => Cond::Const(!truth),
            Cond::Scalar(op, sources) => Cond::Scalar(opposite(op), sources),
            Cond::Mask(reg) => {
                let mask = self.mask_slot(reg);
                let op = self.mask_op(Salu::SXorB32, Salu::SXorB64);
                self.new_mask_of(op, mask, EXEC)
            }
        }
    }

    /// The mask of the lower 32 lanes of 64.
    pub(super) fn low_half_of_lanes(&mut self) -> Cond {
        let (ones, zero) = (self.scalar_const(u32::MAX), self.scalar_const(0));
        let words = [Word::Reg(ones, 0), Word::Reg(zero, 0)];
        let part = self.tuple(&words, Class::Scalar);
        Cond::Mask(part.reg)
    }

    pub(super) fn choose(
        &mut self,
        cond: Value,
        yes: Value,
        no: Value,
        ty: Type,
    ) -> Result<Loc, Cause> {
        let cond = self.cond(cond)?;
        if let Cond::Const(truth) = cond {
            return Ok(self.value_loc(if truth { yes } else { no })?.clone());
        }
        if ty.scalar() == Some(Scalar::I1) {
            return self.choose_truth(cond, yes, no);
        }
        let is_half = ty.lanes() == 1 && super::values::is_16_bit(ty.scalar());
        let (yes, no) = (self.words(yes)?, self.words(no)?);
        let mut words = Vec::with_capacity(yes.len());
        let mut mask = None;
        for (yes, no) in yes.into_iter().zip(no) {
            let scalar = yes.is_plain()
                && no.is_plain()
                && self.is_scalar(yes.word)
                && self.is_scalar(no.word);
            words.push(match cond {
                Cond::Scalar(op, sources) if scalar => {
                    self.machine(Op::Salu(op), &sources);
                    self.salu(Salu::SCselectB32, yes.word, no.word)
                }
                _ => {
                    let slot = match mask {
                        Some(slot) => slot,
                        None => self.mask(cond),
                    };
                    mask = Some(slot);
                    self.select_by(slot, yes, no)
                }
            });
        }
        match words[..] {
            [word] if is_half => Ok(Loc::Half { word, high: false }),
            _ => Ok(Loc::of(words)),
        }
    }

    fn choose_truth(&mut self, cond: Cond, yes: Value, no: Value) -> Result<Loc, Cause> {
        let (yes, no) = (self.cond(yes)?, self.cond(no)?);
        let [cond, yes, no] = [cond, yes, no].map(|cond| self.mask(cond));
        let and = self.mask_op(Salu::SAndB32, Salu::SAndB64);
        let and_not = self.mask_op(Salu::SAndNot1B32, Salu::SAndNot1B64);
        let or = self.mask_op(Salu::SOrB32, Salu::SOrB64);
        let [chosen, other] =
            [(and, yes), (and_not, no)].map(|(op, from)| self.new_mask_of(op, from, cond));
        let [chosen, other] = [chosen, other].map(|cond| self.mask(cond));
        Ok(Loc::Cond(self.new_mask_of(or, chosen, other)))
    }

    /// One of two words by a condition of each lane.
    pub(super) fn select_word(&mut self, cond: Cond, yes: Src, no: Src) -> Word {
        let mask = self.mask(cond);
        self.select_by(mask, yes, no)
    }

    fn select_by(&mut self, mask: Slot, yes: Src, no: Src) -> Word {
        let mask = Arg { slot: mask, neg: false, abs: false };
        let args = vec![self.arg(no), self.arg(yes), mask];
        let reg = self.new_reg(Class::Vector, 1);
        let to = Slot::Part(Part::new(reg, 0, 1));
        self.vop(Op::Int(Int::VCndmaskB32), &[to], args, Extra::default());
        Word::Reg(reg, 0)
    }

    /// 1 where the condition holds, else 0.
    pub(super) fn truth_as_word(&mut self, cond: Cond) -> Word {
        match cond {
            Cond::Const(truth) => Word::Const(truth.into()),
            Cond::Scalar(op, sources) => {
                self.machine(Op::Salu(op), &sources);
                self.salu(Salu::SCselectB32, Word::Const(1), Word::Const(0))
            }
            mask => self.select_word(mask, Word::Const(1).into(), Word::Const(0).into()),
        }
    }

    /// A mask from a word that is not 0 where the condition holds.
    pub(super) fn word_as_truth(&mut self, word: Word) -> Cond {
        match self.compare_words(CmpOp::Ne, word, Word::Const(0)) {
            Loc::Cond(cond) => cond,
            _ => Cond::Const(false),
        }
    }
}

fn float_test(op: CmpOp) -> Test {
    match op {
        CmpOp::FEq => Test::Eq,
        CmpOp::FNe => Test::Neq,
        CmpOp::FLt => Test::Lt,
        _ => Test::Le,
    }
}

fn integer_test(op: CmpOp, is_wide: bool) -> (Test, CompareType) {
    let signed = matches!(op, CmpOp::LtS | CmpOp::LeS);
    let ty = match (signed, is_wide) {
        (true, false) => CompareType::I32,
        (false, false) => CompareType::U32,
        (true, true) => CompareType::I64,
        (false, true) => CompareType::U64,
    };
    let test = match op {
        CmpOp::Eq => Test::Eq,
        CmpOp::Ne => Test::Lg,
        CmpOp::LtS | CmpOp::LtU => Test::Lt,
        _ => Test::Le,
    };
    (test, ty)
}

fn scalar_compare(op: CmpOp) -> Salu {
    match op {
        CmpOp::Eq => Salu::SCmpEqU32,
        CmpOp::Ne => Salu::SCmpLgU32,
        CmpOp::LtS => Salu::SCmpLtI32,
        CmpOp::LeS => Salu::SCmpLeI32,
        CmpOp::LtU => Salu::SCmpLtU32,
        _ => Salu::SCmpLeU32,
    }
}

fn opposite(op: Salu) -> Salu {
    match op {
        Salu::SCmpEqU32 => Salu::SCmpLgU32,
        Salu::SCmpLgU32 => Salu::SCmpEqU32,
        Salu::SCmpLtI32 => Salu::SCmpGeI32,
        Salu::SCmpLeI32 => Salu::SCmpGtI32,
        Salu::SCmpLtU32 => Salu::SCmpGeU32,
        Salu::SCmpLeU32 => Salu::SCmpGtU32,
        Salu::SCmpGeI32 => Salu::SCmpLtI32,
        Salu::SCmpGtI32 => Salu::SCmpLeI32,
        Salu::SCmpGeU32 => Salu::SCmpLtU32,
        Salu::SCmpGtU32 => Salu::SCmpLeU32,
        Salu::SCmpEqU64 => Salu::SCmpLgU64,
        Salu::SCmpLgU64 => Salu::SCmpEqU64,
        other => other,
    }
}

fn holds(op: CmpOp, a: u32, b: u32) -> bool {
    let (sa, sb) = (a as i32, b as i32);
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::LtS => sa < sb,
        CmpOp::LeS => sa <= sb,
        CmpOp::LtU => a < b,
        _ => a <= b,
    }
}
