//! Floats: each operation rounded once, to nearest even, subnormals kept unless the operation flushes them.

use half::f16;

use crate::ir::Scalar;

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn half(bits: u64) -> f16 {
    f16::from_bits(bits as u16)
}

pub(super) fn add(scalar: Scalar, a: u64, b: u64) -> u64 {
    match scalar {
        Scalar::F16 => fma(scalar, a, f16::ONE.to_bits().into(), b),
        _ => (single(a) + single(b)).to_bits().into(),
    }
}

/// A product of two halves has at most 22 bits: binary32 holds it, and rounds nothing.
pub(super) fn multiply(scalar: Scalar, a: u64, b: u64) -> u64 {
    match scalar {
        Scalar::F16 => f16::from_f32(half(a).to_f32() * half(b).to_f32()).to_bits().into(),
        _ => (single(a) * single(b)).to_bits().into(),
    }
}

pub(super) fn fma(scalar: Scalar, a: u64, b: u64, c: u64) -> u64 {
    match scalar {
        Scalar::F16 => fma_half(half(a), half(b), half(c)).to_bits().into(),
        _ => libm::fmaf(single(a), single(b), single(c)).to_bits().into(),
    }
}

/// Exact in units of 2⁻⁴⁸, which every product of halves is a multiple of; then rounded.
fn fma_half(a: f16, b: f16, c: f16) -> f16 {
    let plain = libm::fmaf(a.to_f32(), b.to_f32(), c.to_f32());
    if !(a.is_finite() && b.is_finite() && c.is_finite()) || plain == 0.0 {
        return f16::from_f32(plain);
    }
    // A half is a whole multiple of 2^−24.
    let units = |x: f16| (x.to_f64() * f64::from(1 << 24)) as i128;
    round_half(units(a) * units(b) + (units(c) << 24))
}

/// The nearest half of a number in units of 2⁻⁴⁸.
fn round_half(number: i128) -> f16 {
    let magnitude = number.unsigned_abs();
    let top = 127 - magnitude.leading_zeros() as i32;
    // The last of eleven bits, and no less than the least subnormal, 2^−24.
    let last = (top - 10).max(24);
    let (whole, rest) = (magnitude >> last, magnitude & ((1 << last) - 1));
    let middle = 1u128 << (last - 1);
    let up = rest > middle || rest == middle && whole & 1 == 1;
    let rounded = (whole + u128::from(up)) as f32 * libm::exp2f((last - 48) as f32);
    f16::from_f32(if number < 0 { -rounded } else { rounded })
}

pub(super) fn min_num(a: u64, b: u64) -> u64 {
    let (x, y) = (single(a), single(b));
    let takes_a = y.is_nan() || x < y || x == y && x.is_sign_negative();
    if takes_a { a } else { b }
}

pub(super) fn max_num(a: u64, b: u64) -> u64 {
    let (x, y) = (single(a), single(b));
    let takes_a = y.is_nan() || x > y || x == y && x.is_sign_positive();
    if takes_a { a } else { b }
}

/// A function of binary32, found in binary64 and rounded once; subnormal arguments and results are zeros.
pub(super) fn flushed(a: u64, function: impl Fn(f64) -> f64) -> u64 {
    flush(function(f64::from(flush(single(a)))) as f32).to_bits().into()
}

fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fma_of(a: f32, b: f32, c: f32) -> f16 {
        fma_half(f16::from_f32(a), f16::from_f32(b), f16::from_f32(c))
    }

    #[test]
    fn a_half_is_rounded_once() {
        // 1 + 2⁻¹¹ is a tie; what is added far below decides it, and binary32 cannot hold both.
        let least = f16::from_bits(1);
        let tie = fma_half(f16::from_f32(1.0 / 2048.0), f16::ONE, f16::ONE);
        assert_eq!(tie, f16::ONE);
        let above =
            fma_half(f16::from_f32(1.0 / 1024.0 + 1.0 / 1_048_576.0), f16::from_f32(0.5), f16::ONE);
        assert!(above > f16::ONE);
        assert_eq!(fma_half(least, f16::from_f32(0.5), f16::ZERO), f16::ZERO);
        assert_eq!(fma_half(least, f16::from_f32(0.75), f16::ZERO), least);
        assert_eq!(fma_of(255.0, 257.0, -65_504.0).to_f32(), 31.0);
        assert_eq!(fma_of(65_504.0, 65_504.0, 0.0), f16::INFINITY);
        assert_eq!(fma_of(-65_504.0, 1.0, -15.0).to_f32(), -65_504.0);
        assert_eq!(fma_of(-65_504.0, 1.0, -16.0), f16::NEG_INFINITY);
    }

    #[test]
    fn zeros_keep_their_sign() {
        assert_eq!(fma_half(f16::NEG_ZERO, f16::ONE, f16::NEG_ZERO).to_bits(), 0x8000);
        assert_eq!(fma_half(f16::ONE, f16::ONE, f16::NEG_ONE).to_bits(), 0);
        let [plus, minus] = [0f32, -0f32].map(|zero| u64::from(zero.to_bits()));
        assert_eq!((min_num(plus, minus), min_num(minus, plus)), (minus, minus));
        assert_eq!((max_num(plus, minus), max_num(minus, plus)), (plus, plus));
    }

    #[test]
    fn approximations_flush_subnormals() {
        let bits = |x: f32| u64::from(x.to_bits());
        let subnormal = bits(-f32::MIN_POSITIVE / 2.0);
        assert_eq!(flushed(subnormal, |x| 1.0 / x), bits(f32::NEG_INFINITY));
        assert_eq!(flushed(bits(-126.5), libm::exp2), 0);
    }
}
