//! binary16 arithmetic on the low 16 bits of a word.
//!
//! Operands are widened to binary64, where sums and products of binary16 are exact, and rounded once.

use super::{FloatMode, class, f16_to_f64, fma_to_odd, narrow_f16};

const QUIET16: u32 = 0x0200;
const CANONICAL_NAN16: u32 = 0x7e00;

fn is_nan16(bits: u32) -> bool {
    bits & 0x7fff > 0x7c00
}

fn is_signalling16(bits: u32) -> bool {
    is_nan16(bits) && bits & QUIET16 == 0
}

/// Rounds a result to binary16, with the NaN that the operands call for.
fn finish<const N: usize>(result: f64, operands: [u32; N]) -> u32 {
    if !result.is_nan() {
        return narrow_f16(result);
    }
    let nan = operands.into_iter().find(|bits| is_nan16(*bits));
    nan.map_or(CANONICAL_NAN16, |bits| bits & 0xffff | QUIET16)
}

/// `a + b`.
pub(crate) fn add16(a: u32, b: u32) -> u32 {
    finish(f16_to_f64(a) + f16_to_f64(b), [a, b])
}

/// `a − b`.
pub(crate) fn sub16(a: u32, b: u32) -> u32 {
    finish(f16_to_f64(a) - f16_to_f64(b), [a, b])
}

/// `a · b`.
pub(crate) fn mul16(a: u32, b: u32) -> u32 {
    finish(f16_to_f64(a) * f16_to_f64(b), [a, b])
}

/// `a · b + c`, rounded once.
pub(crate) fn fma16(a: u32, b: u32, c: u32) -> u32 {
    finish(fma_to_odd(f16_to_f64(a), f16_to_f64(b), f16_to_f64(c)), [a, b, c])
}

/// As [`min32`](super::min32).
pub(crate) fn min16(mode: FloatMode, a: u32, b: u32) -> u32 {
    pick(mode, a, b, ordered(a) < ordered(b))
}

/// As [`max32`](super::max32).
pub(crate) fn max16(mode: FloatMode, a: u32, b: u32) -> u32 {
    pick(mode, a, b, ordered(a) > ordered(b))
}

fn pick(mode: FloatMode, a: u32, b: u32, is_first_better: bool) -> u32 {
    if mode.ieee && is_signalling16(a) {
        return a | QUIET16;
    }
    if mode.ieee && is_signalling16(b) {
        return b | QUIET16;
    }
    if is_nan16(a) || !is_nan16(b) && !is_first_better { b } else { a }
}

fn ordered(bits: u32) -> i32 {
    let signed = (bits << 16).cast_signed();
    signed ^ ((signed >> 31) & i32::MAX)
}

/// CLAMP: to 0…1, NaN to zero with DX10_CLAMP.
pub(crate) fn clamp16(mode: FloatMode, a: u32) -> u32 {
    if is_nan16(a) {
        return if mode.dx10_clamp { 0 } else { a };
    }
    if ordered(a) <= 0 { 0 } else { a.min(0x3c00) }
}

/// A function of one binary64 argument, applied to a binary16 and rounded once.
pub(crate) fn unary16(a: u32, function: impl Fn(f64) -> f64) -> u32 {
    finish(function(f16_to_f64(a)), [a])
}

/// As [`class32`](super::class32).
pub(crate) fn class16(a: u32) -> u32 {
    let exponent = a >> 10 & 0x1f;
    class(a >> 15 & 1 == 1, exponent == 0x1f, exponent == 0, a & 0x3ff != 0, a & QUIET16 != 0)
}

/// The middle of three; a NaN operand gives the minimum of the three.
pub(crate) fn med3_16(mode: FloatMode, a: u32, b: u32, c: u32) -> u32 {
    let least = min16(mode, min16(mode, a, b), c);
    if is_nan16(a) || is_nan16(b) || is_nan16(c) {
        return least;
    }
    let most = max16(mode, max16(mode, a, b), c);
    if most == a {
        max16(mode, b, c)
    } else if most == b {
        max16(mode, a, c)
    } else {
        max16(mode, a, b)
    }
}

/// As [`minimum32`](super::minimum32).
pub(crate) fn minimum16(a: u32, b: u32) -> u32 {
    if is_nan16(a) || is_nan16(b) {
        finish(f64::NAN, [a, b])
    } else if ordered(a) < ordered(b) {
        a
    } else {
        b
    }
}

/// As [`maximum32`](super::maximum32).
pub(crate) fn maximum16(a: u32, b: u32) -> u32 {
    if is_nan16(a) || is_nan16(b) {
        finish(f64::NAN, [a, b])
    } else if ordered(a) > ordered(b) {
        a
    } else {
        b
    }
}

/// `a − ⌊a⌋`, at most the largest number below one.
pub(crate) fn fract16(a: u32) -> u32 {
    unary16(a, |value| value - libm::floor(value)).min(0x3bff)
}

/// As [`frexp_exponent32`](super::frexp_exponent32).
pub(crate) fn frexp_exponent16(a: u32) -> u32 {
    let value = f16_to_f64(a);
    if value.is_finite() { libm::frexp(value).1.cast_unsigned() } else { 0 }
}

/// The quotient with the special cases of IEEE division put in (`v_div_fixup_f16`).
pub(crate) fn div_fixup16(quotient: u32, denominator: u32, numerator: u32) -> u32 {
    let sign = (denominator ^ numerator) & 0x8000;
    let (d, n) = (f16_to_f64(denominator), f16_to_f64(numerator));
    if n.is_nan() {
        return numerator | QUIET16;
    }
    if d.is_nan() {
        return denominator | QUIET16;
    }
    if n == 0.0 && d == 0.0 || n.is_infinite() && d.is_infinite() {
        return 0x8000 | CANONICAL_NAN16;
    }
    if d == 0.0 || n.is_infinite() {
        return sign | 0x7c00;
    }
    if d.is_infinite() || n == 0.0 {
        return sign;
    }
    sign | quotient & 0x7fff
}
