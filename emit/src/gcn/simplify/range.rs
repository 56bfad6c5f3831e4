//! Bounds of unsigned 32-bit values, for knowing that a sum does not wrap.

use dsl::ir::{BinOp, Conversion, Op, Scalar, Special, Type, Value};

use super::Walk;

/// Smallest and largest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest.
    pub low: u32,
    /// The largest.
    pub high: u32,
}

impl Range {
    /// Nothing is known.
    pub const ALL: Range = Range { low: 0, high: u32::MAX };

    fn new(low: u32, high: u32) -> Range {
        Range { low, high }
    }

    /// Of a loop's index, which is below the upper bound, both taken as signed.
    pub fn of_index(lower: Range, upper: Range) -> Range {
        let is_signed_positive = |range: Range| range.high <= i32::MAX as u32;
        match is_signed_positive(lower) && is_signed_positive(upper) && upper.high > 0 {
            true => Range::new(lower.low, (upper.high - 1).max(lower.low)),
            false => Range::ALL,
        }
    }
}

impl Walk<'_> {
    /// Bounds of an operation's result.
    pub(super) fn range_of(&self, op: &Op) -> Range {
        self.known_range(op).unwrap_or(Range::ALL)
    }

    fn known_range(&self, op: &Op) -> Option<Range> {
        let width = self.old.target.wave_width();
        match op {
            Op::Const { ty: Type::Scalar(Scalar::I32), bits } => {
                Some(Range::new(*bits as u32, *bits as u32))
            }
            Op::Special(Special::ThreadId) => Some(Range::new(0, self.old.workgroup_size - 1)),
            Op::Special(Special::LaneId) => Some(Range::new(0, width - 1)),
            Op::Special(Special::WaveId) => {
                Some(Range::new(0, (self.old.workgroup_size / width).saturating_sub(1)))
            }
            Op::Binary(op, a, b) if self.ty(*a) == Type::I32 => self.range_of_binary(*op, *a, *b),
            Op::Select(_, a, b) if self.ty(*a) == Type::I32 => {
                let (a, b) = (self.range(*a), self.range(*b));
                Some(Range::new(a.low.min(b.low), a.high.max(b.high)))
            }
            Op::Convert(Conversion::ZeroExtend, value) => match self.ty(*value).scalar() {
                Some(Scalar::I1) => Some(Range::new(0, 1)),
                Some(Scalar::I16) => Some(Range::new(0, 0xffff)),
                _ => None,
            },
            _ => None,
        }
    }

    fn range_of_binary(&self, op: BinOp, a: Value, b: Value) -> Option<Range> {
        let (a, b) = (self.range(a), self.range(b));
        let constant = (b.low == b.high).then_some(b.low);
        Some(match op {
            BinOp::Add => Range::new(a.low.checked_add(b.low)?, a.high.checked_add(b.high)?),
            BinOp::Mul => Range::new(a.low.checked_mul(b.low)?, a.high.checked_mul(b.high)?),
            BinOp::Sub => Range::new(a.low.checked_sub(b.high)?, a.high.checked_sub(b.low)?),
            BinOp::And => Range::new(0, a.high.min(b.high)),
            BinOp::Or | BinOp::Xor => Range::new(0, ones(a.high | b.high)),
            BinOp::Shl => {
                let shift = constant.filter(|shift| *shift < 32)?;
                Range::new(shl(a.low, shift)?, shl(a.high, shift)?)
            }
            BinOp::ShrU => {
                let shift = constant? % 32;
                Range::new(a.low >> shift, a.high >> shift)
            }
            BinOp::DivU => {
                Range::new(a.low.checked_div(constant?)?, a.high.checked_div(constant?)?)
            }
            BinOp::RemU => Range::new(0, constant?.checked_sub(1)?.min(a.high)),
            BinOp::MinU => Range::new(a.low.min(b.low), a.high.min(b.high)),
            BinOp::MaxU => Range::new(a.low.max(b.low), a.high.max(b.high)),
            _ => return None,
        })
    }
}

fn shl(value: u32, shift: u32) -> Option<u32> {
    (u64::from(value) << shift).try_into().ok()
}

/// All bits up to the highest one set.
fn ones(value: u32) -> u32 {
    match value.leading_zeros() {
        32 => 0,
        zeros => u32::MAX >> zeros,
    }
}
