//! The three steps that compilers build IEEE division from.
//!
//! Source: RDNA3 and CDNA3 ISA manuals, `V_DIV_SCALE`, `V_DIV_FMAS`, `V_DIV_FIXUP`. The manuals' text of
//! `V_DIV_FMAS_F32` scales by 2³² only, which undoes neither scaling of `V_DIV_SCALE_F32`; the
//! factors here, 2⁶⁴ or 2⁻⁶⁴ by the size of the quotient, are the ones that make the sequence return
//! correctly rounded quotients (see the tests). Likewise "the reciprocal is subnormal" is read as
//! subnormal in the format of the division.

use super::{
    CANONICAL_NAN32, CANONICAL_NAN64, INF32, QUIET64, SIGN32, fma_to_odd, fma64, is_nan32, ldexp32,
    ldexp64, quiet32,
};

fn exponent32(bits: u32) -> i32 {
    (bits >> 23 & 0xff).cast_signed()
}

fn exponent64(bits: u64) -> i64 {
    (bits >> 52 & 0x7ff).cast_signed()
}

/// What V_DIV_SCALE does to its first source, and whether V_DIV_FMAS must scale back.
enum Scaling {
    Nan,
    Both(i32, bool),
    DenominatorOnly(i32),
    NumeratorOnly(i32),
    Keep,
}

/// `v_div_scale_f32`: the scaled `value` (numerator or denominator) and the bit for VCC.
pub(crate) fn div_scale32(value: u32, denominator: u32, numerator: u32) -> (u32, bool) {
    let (d, n) = (f32::from_bits(denominator), f32::from_bits(numerator));
    let is_tiny = |bits: u32| exponent32(bits) == 0;
    let scaling = if n == 0.0 || d == 0.0 {
        Scaling::Nan
    } else if exponent32(numerator) - exponent32(denominator) >= 96 {
        Scaling::DenominatorOnly(64)
    } else if is_tiny(denominator) {
        Scaling::Both(64, false)
    } else {
        let is_reciprocal_tiny = is_tiny((1.0 / d).to_bits());
        let is_quotient_tiny = is_tiny((n / d).to_bits());
        match (is_reciprocal_tiny, is_quotient_tiny) {
            (true, true) => Scaling::DenominatorOnly(-64),
            (true, false) => Scaling::Both(-64, false),
            (false, true) => Scaling::NumeratorOnly(64),
            (false, false) if exponent32(numerator) <= 23 => Scaling::Both(64, false),
            (false, false) => Scaling::Keep,
        }
    };
    match scaling {
        Scaling::Nan => (CANONICAL_NAN32, false),
        Scaling::Both(by, vcc) => (ldexp32(value, by), vcc),
        Scaling::DenominatorOnly(by) => {
            (if value == denominator { ldexp32(value, by) } else { value }, true)
        }
        Scaling::NumeratorOnly(by) => {
            (if value == numerator { ldexp32(value, by) } else { value }, true)
        }
        Scaling::Keep => (value, false),
    }
}

/// Whether [`div_scale32`] surely keeps its first source: all numbers far from where a step of the division could
/// overflow or lose bits. Free of branches.
pub(crate) fn is_unscaled32(denominator: u32, numerator: u32) -> bool {
    let (d, n) = (exponent32(denominator), exponent32(numerator));
    // 1 / d is normal up to 2^126; n / d is from an exponent 125 below on.
    (1..=250).contains(&d) & (24..=254).contains(&n) & (-119..96).contains(&(n - d))
}

/// `v_div_fmas_f32`: `a · b + c`, scaled back where V_DIV_SCALE set VCC.
pub(crate) fn div_fmas32(a: u32, b: u32, c: u32, scale: bool) -> u32 {
    if !scale {
        return super::fma32(a, b, c);
    }
    let wide = |bits: u32| f64::from(f32::from_bits(bits));
    let factor = f64::from_bits(if exponent32(c) > 127 { 1023 + 64 } else { 1023 - 64 } << 52);
    super::canonical((fma_to_odd(wide(a), wide(b), wide(c)) * factor) as f32, [a, b, c])
}

/// `v_div_fixup_f32`: the quotient with the special cases of IEEE division put in.
pub(crate) fn div_fixup32(quotient: u32, denominator: u32, numerator: u32) -> u32 {
    let sign = (denominator ^ numerator) & SIGN32;
    let (d, n) = (f32::from_bits(denominator), f32::from_bits(numerator));
    if n.is_nan() {
        return quiet32(numerator);
    }
    if d.is_nan() {
        return quiet32(denominator);
    }
    if n == 0.0 && d == 0.0 || n.is_infinite() && d.is_infinite() {
        return CANONICAL_NAN32 | SIGN32;
    }
    if d == 0.0 || n.is_infinite() {
        return sign | INF32;
    }
    let is_underflow = exponent32(numerator) - exponent32(denominator) < -150;
    if d.is_infinite() || n == 0.0 || is_underflow {
        return sign;
    }
    if is_nan32(quotient) { sign | INF32 } else { sign | quotient & !SIGN32 }
}

/// `v_div_scale_f64`.
pub(crate) fn div_scale64(value: u64, denominator: u64, numerator: u64) -> (u64, bool) {
    let (d, n) = (f64::from_bits(denominator), f64::from_bits(numerator));
    let is_tiny = |bits: u64| exponent64(bits) == 0;
    let only =
        |chosen: u64, by: i32| (if value == chosen { ldexp64(value, by) } else { value }, true);
    if n == 0.0 || d == 0.0 {
        return (CANONICAL_NAN64, false);
    }
    if exponent64(numerator) - exponent64(denominator) >= 768 {
        return only(denominator, 128);
    }
    if is_tiny(denominator) {
        return (ldexp64(value, 128), false);
    }
    match (is_tiny((1.0 / d).to_bits()), is_tiny((n / d).to_bits())) {
        (true, true) => only(denominator, -128),
        (true, false) => (ldexp64(value, -128), false),
        (false, true) => only(numerator, 128),
        (false, false) if exponent64(numerator) <= 53 => (ldexp64(value, 128), false),
        (false, false) => (value, false),
    }
}

/// `v_div_fmas_f64`. Scaling back to a subnormal rounds twice: the result is then within one unit.
pub(crate) fn div_fmas64(a: u64, b: u64, c: u64, scale: bool) -> u64 {
    let result = fma64(a, b, c);
    if !scale {
        return result;
    }
    ldexp64(result, if exponent64(c) > 1023 { 128 } else { -128 })
}

/// `v_div_fixup_f64`.
pub(crate) fn div_fixup64(quotient: u64, denominator: u64, numerator: u64) -> u64 {
    let sign = (denominator ^ numerator) & 1 << 63;
    let (d, n) = (f64::from_bits(denominator), f64::from_bits(numerator));
    if n.is_nan() {
        return numerator | QUIET64;
    }
    if d.is_nan() {
        return denominator | QUIET64;
    }
    if n == 0.0 && d == 0.0 || n.is_infinite() && d.is_infinite() {
        return CANONICAL_NAN64 | 1 << 63;
    }
    let infinity = sign | f64::INFINITY.to_bits();
    if d == 0.0 || n.is_infinite() {
        return infinity;
    }
    if d.is_infinite() || n == 0.0 || exponent64(numerator) - exponent64(denominator) < -1075 {
        return sign;
    }
    if f64::from_bits(quotient).is_nan() { infinity } else { sign | quotient & !(1 << 63) }
}
