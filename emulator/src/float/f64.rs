//! binary64 arithmetic on bits.

use super::{FloatMode, QUIET64, canonical64, class};

fn float(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// `a + b`.
pub(crate) fn add64(a: u64, b: u64) -> u64 {
    canonical64(float(a) + float(b), [a, b])
}

/// `a · b`.
pub(crate) fn mul64(a: u64, b: u64) -> u64 {
    canonical64(float(a) * float(b), [a, b])
}

/// `a · b + c`, rounded once.
pub(crate) fn fma64(a: u64, b: u64, c: u64) -> u64 {
    canonical64(libm::fma(float(a), float(b), float(c)), [a, b, c])
}

/// As [`min32`](super::min32).
pub(crate) fn min64(mode: FloatMode, a: u64, b: u64) -> u64 {
    pick(mode, a, b, ordered(a) < ordered(b))
}

/// As [`max32`](super::max32).
pub(crate) fn max64(mode: FloatMode, a: u64, b: u64) -> u64 {
    pick(mode, a, b, ordered(a) > ordered(b))
}

fn pick(mode: FloatMode, a: u64, b: u64, is_first_better: bool) -> u64 {
    let is_signalling = |bits: u64| float(bits).is_nan() && bits & QUIET64 == 0;
    if mode.ieee && is_signalling(a) {
        return a | QUIET64;
    }
    if mode.ieee && is_signalling(b) {
        return b | QUIET64;
    }
    if float(a).is_nan() || !float(b).is_nan() && !is_first_better { b } else { a }
}

fn ordered(bits: u64) -> i64 {
    let signed = bits.cast_signed();
    signed ^ ((signed >> 63) & i64::MAX)
}

/// Nearest integer, ties to even.
pub(crate) fn round_even64(a: u64) -> u64 {
    canonical64(libm::roundeven(float(a)), [a])
}

/// Largest integer not above.
pub(crate) fn floor64(a: u64) -> u64 {
    canonical64(libm::floor(float(a)), [a])
}

/// Smallest integer not below.
pub(crate) fn ceil64(a: u64) -> u64 {
    canonical64(libm::ceil(float(a)), [a])
}

/// Integer part.
pub(crate) fn trunc64(a: u64) -> u64 {
    canonical64(libm::trunc(float(a)), [a])
}

/// `a · 2^exponent`, rounded once.
pub(crate) fn ldexp64(a: u64, exponent: i32) -> u64 {
    canonical64(libm::scalbn(float(a), exponent.clamp(-5000, 5000)), [a])
}

/// CLAMP: to 0…1, NaN to zero with DX10_CLAMP.
pub(crate) fn clamp64(mode: FloatMode, a: u64) -> u64 {
    let value = float(a);
    if value.is_nan() {
        return if mode.dx10_clamp { 0 } else { a };
    }
    if value <= 0.0 { 0 } else { value.min(1.0).to_bits() }
}

/// As [`class32`](super::class32).
pub(crate) fn class64(a: u64) -> u32 {
    let exponent = a >> 52 & 0x7ff;
    class(
        a >> 63 == 1,
        exponent == 0x7ff,
        exponent == 0,
        a & ((1 << 52) - 1) != 0,
        a & QUIET64 != 0,
    )
}

/// `a − ⌊a⌋`, at most the largest number below one.
pub(crate) fn fract64(a: u64) -> u64 {
    let value = float(a);
    let result = value - libm::floor(value);
    canonical64(if result >= 1.0 { 1.0 - f64::EPSILON / 2.0 } else { result }, [a])
}

/// 1/a, correctly rounded.
pub(crate) fn rcp64(a: u64) -> u64 {
    canonical64(1.0 / float(a), [a])
}

/// 1/√a.
pub(crate) fn rsq64(a: u64) -> u64 {
    canonical64(1.0 / libm::sqrt(float(a)), [a])
}

/// √a, correctly rounded.
pub(crate) fn sqrt64(a: u64) -> u64 {
    canonical64(libm::sqrt(float(a)), [a])
}

/// As [`frexp_exponent32`](super::frexp_exponent32).
pub(crate) fn frexp_exponent64(a: u64) -> u32 {
    let value = float(a);
    if value.is_finite() { libm::frexp(value).1.cast_unsigned() } else { 0 }
}

/// As [`frexp_significand32`](super::frexp_significand32).
pub(crate) fn frexp_significand64(a: u64) -> u64 {
    let value = float(a);
    canonical64(if value.is_finite() { libm::frexp(value).0 } else { value }, [a])
}
