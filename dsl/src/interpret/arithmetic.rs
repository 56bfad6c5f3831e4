//! Operations on single elements, as bits in and bits out.

use crate::ir::{BinOp, CmpOp, Scalar, Type, UnOp};

use super::float;

/// The bits that a scalar has.
pub(super) fn mask(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::I1 => 1,
        Scalar::I16 | Scalar::F16 | Scalar::Bf16 => 0xffff,
        Scalar::I32 | Scalar::F32 => 0xffff_ffff,
        Scalar::I64 => u64::MAX,
    }
}

/// The value of an integer with its sign.
fn signed(scalar: Scalar, bits: u64) -> i64 {
    if scalar == Scalar::I64 { bits as i64 } else { i64::from(bits as u32 as i32) }
}

pub(super) fn unary(op: UnOp, scalar: Scalar, a: u64) -> u64 {
    let sign = if scalar == Scalar::F16 { 1 << 15 } else { 1 << 31 };
    match op {
        UnOp::FNeg => a ^ sign,
        UnOp::FAbs => a & !sign,
        UnOp::Exp2 => float::flushed(a, libm::exp2),
        UnOp::Log2 => float::flushed(a, libm::log2),
        UnOp::Rcp => float::flushed(a, |x| 1.0 / x),
        UnOp::Rsq => float::flushed(a, |x| 1.0 / libm::sqrt(x)),
        UnOp::Sqrt => float::flushed(a, libm::sqrt),
        UnOp::RoundEven => f32::from_bits(a as u32).round_ties_even().to_bits().into(),
        UnOp::Not => !a & mask(scalar),
    }
}

/// `None` where the IR gives no meaning: division by zero.
pub(super) fn binary(op: BinOp, scalar: Scalar, a: u64, b: u64) -> Option<u64> {
    let width = 64 - mask(scalar).leading_zeros();
    let amount = (b % u64::from(width)) as u32;
    let (x, y) = (signed(scalar, a), signed(scalar, b));
    let bits = match op {
        BinOp::FAdd => float::add(scalar, a, b),
        BinOp::FSub => float::add(scalar, a, unary(UnOp::FNeg, scalar, b)),
        BinOp::FMul => float::multiply(scalar, a, b),
        BinOp::FMin => float::min_num(a, b),
        BinOp::FMax => float::max_num(a, b),
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::MulHighU => a.wrapping_mul(b) >> 32,
        BinOp::DivU => a.checked_div(b)?,
        BinOp::RemU => a.checked_rem(b)?,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => a << amount,
        BinOp::ShrU => a >> amount,
        BinOp::ShrS => (x >> amount) as u64,
        BinOp::MinS => x.min(y) as u64,
        BinOp::MaxS => x.max(y) as u64,
        BinOp::MinU => a.min(b),
        BinOp::MaxU => a.max(b),
    };
    Some(bits & mask(scalar))
}

pub(super) fn compare(op: CmpOp, ty: Type, a: u64, b: u64) -> bool {
    let scalar = ty.scalar().unwrap_or(Scalar::I64);
    let (x, y) = (signed(scalar, a), signed(scalar, b));
    let (f, g) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::LtS => x < y,
        CmpOp::LeS => x <= y,
        CmpOp::LtU => a < b,
        CmpOp::LeU => a <= b,
        CmpOp::FEq => f == g,
        CmpOp::FNe => f != g,
        CmpOp::FLt => f < g,
        CmpOp::FLe => f <= g,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_shift_modulo_their_width() {
        let i32s = |op, a: u32, b: u32| binary(op, Scalar::I32, a.into(), b.into());
        assert_eq!(i32s(BinOp::Add, u32::MAX, 2), Some(1));
        assert_eq!(i32s(BinOp::Shl, 3, 33), Some(6));
        assert_eq!(i32s(BinOp::ShrS, 0x8000_0000, 31), Some(0xffff_ffff));
        assert_eq!(i32s(BinOp::MulHighU, 0x8000_0000, 6), Some(3));
        assert_eq!(i32s(BinOp::MinS, 1, 0xffff_ffff), Some(0xffff_ffff));
        assert_eq!(i32s(BinOp::MinU, 1, 0xffff_ffff), Some(1));
        assert_eq!(i32s(BinOp::DivU, 1, 0), None);
        assert_eq!(binary(BinOp::ShrS, Scalar::I64, 1 << 63, 127), Some(u64::MAX));
        assert_eq!(unary(UnOp::Not, Scalar::I1, 1), 0);
    }

    #[test]
    fn comparisons_of_nan_are_false_but_for_unequal() {
        let nan = u64::from(f32::NAN.to_bits());
        for (op, holds) in
            [(CmpOp::FEq, false), (CmpOp::FLt, false), (CmpOp::FLe, false), (CmpOp::FNe, true)]
        {
            assert_eq!(compare(op, Type::F32, nan, nan), holds, "{op:?}");
        }
        assert!(compare(CmpOp::LtS, Type::I32, 0xffff_ffff, 0));
        assert!(!compare(CmpOp::LtU, Type::I32, 0xffff_ffff, 0));
    }
}
