//! binary32 arithmetic on bits.

use super::{
    CANONICAL_NAN32, FloatMode, INF32, SIGN32, canonical, is_nan32, is_signalling32, quiet32,
};
use crate::lanes::Fused;

fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// `a + b`.
#[inline]
pub(crate) fn add32(a: u32, b: u32) -> u32 {
    canonical(float(a) + float(b), [a, b])
}

/// `a − b`.
#[inline]
pub(crate) fn sub32(a: u32, b: u32) -> u32 {
    canonical(float(a) - float(b), [a, b])
}

/// `a · b`.
#[inline]
pub(crate) fn mul32(a: u32, b: u32) -> u32 {
    canonical(float(a) * float(b), [a, b])
}

/// `a · b`, where a zero factor gives +0 whatever the other one is (`v_mul_legacy_f32`).
#[inline]
pub(crate) fn mul_legacy32(a: u32, b: u32) -> u32 {
    if a & !SIGN32 == 0 || b & !SIGN32 == 0 { 0 } else { mul32(a, b) }
}

/// `a · b + c`, rounded once.
#[inline]
pub(crate) fn fma32(a: u32, b: u32, c: u32) -> u32 {
    let wide = fma_to_odd(f64::from(float(a)), f64::from(float(b)), f64::from(float(c)));
    canonical(wide as f32, [a, b, c])
}

/// `a · b + c` in binary64, rounded to odd: a later rounding to half the precision or less gives the
/// correctly rounded result. The product must be exact in binary64, and nothing may overflow.
///
/// The error of the sum is computed exactly (Knuth's two-sum); where it is not zero, the last bit is
/// made odd in the direction of the error (Boldo and Melquiond, "Emulation of FMA and correctly
/// rounded sums: proved algorithms using rounding to odd").
#[inline]
pub(crate) fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    let bits = sum.to_bits();
    let is_inexact = error != 0.0 && sum.is_finite() && bits & 1 == 0;
    let towards_larger = (error > 0.0) == (sum > 0.0);
    let odd = if towards_larger { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if is_inexact { odd } else { bits })
}

/// IEEE 754-2008 minNum, −0 below +0; signalling NaNs are quieted and win in IEEE mode.
#[inline]
pub(crate) fn min32(mode: FloatMode, a: u32, b: u32) -> u32 {
    pick(mode, a, b, ordered(a) < ordered(b))
}

/// IEEE 754-2008 maxNum, +0 above −0; signalling NaNs are quieted and win in IEEE mode.
#[inline]
pub(crate) fn max32(mode: FloatMode, a: u32, b: u32) -> u32 {
    pick(mode, a, b, ordered(a) > ordered(b))
}

/// The smaller one of two that are not NaN, −0 below +0. Of equal ones the bits together are the result.
#[inline(always)]
pub(crate) fn less32(a: u32, b: u32) -> u32 {
    let less = |x: f32, y: f32| if x < y { x } else { y }.to_bits();
    less(float(a), float(b)) | less(float(b), float(a))
}

/// The larger one of two that are not NaN, +0 above −0. Of equal ones the common bits are the result.
#[inline(always)]
pub(crate) fn more32(a: u32, b: u32) -> u32 {
    let more = |x: f32, y: f32| if x > y { x } else { y }.to_bits();
    more(float(a), float(b)) & more(float(b), float(a))
}

/// The number of two operands when one is NaN, the first when it is `better`, otherwise the second.
#[inline]
fn pick(mode: FloatMode, a: u32, b: u32, is_first_better: bool) -> u32 {
    let number = if is_nan32(a) || !is_nan32(b) && !is_first_better { b } else { a };
    if !mode.ieee {
        return number;
    }
    let number = if is_nan32(number) { quiet32(number) } else { number };
    let number = if is_signalling32(b) { quiet32(b) } else { number };
    if is_signalling32(a) { quiet32(a) } else { number }
}

/// The middle of three; a NaN operand gives the minimum of the three.
///
/// Source: RDNA3 ISA manual, `V_MED3_F32`.
#[inline]
pub(crate) fn med3_32(mode: FloatMode, a: u32, b: u32, c: u32) -> u32 {
    let least = min32(mode, min32(mode, a, b), c);
    if is_nan32(a) || is_nan32(b) || is_nan32(c) {
        return least;
    }
    let most = max32(mode, max32(mode, a, b), c);
    if most == a {
        max32(mode, b, c)
    } else if most == b {
        max32(mode, a, c)
    } else {
        max32(mode, a, b)
    }
}

/// Monotone in the value for numbers, −0 just below +0.
#[inline]
fn ordered(bits: u32) -> i32 {
    let signed = bits.cast_signed();
    signed ^ ((signed >> 31) & i32::MAX)
}

/// Nearest integer, ties to even; the sign stays, of zero too. Numbers from 2²³ on have no fraction, and
/// below it adding 2²³ rounds at the units.
#[inline(always)]
pub(crate) fn nearest_even(fused: Fused, value: f32) -> f32 {
    const NO_FRACTION: f32 = 8_388_608.0;
    if fused == Fused::Instruction {
        return value.round_ties_even();
    }
    let magic = NO_FRACTION.copysign(value);
    let rounded = ((value + magic) - magic).copysign(value);
    if value.abs() < NO_FRACTION { rounded } else { value }
}

/// Largest integer not above.
#[inline(always)]
pub(crate) fn floor(fused: Fused, value: f32) -> f32 {
    if fused == Fused::Instruction {
        return value.floor();
    }
    let nearest = nearest_even(fused, value);
    (if nearest > value { nearest - 1.0 } else { nearest }).copysign(value)
}

/// Smallest integer not below.
#[inline(always)]
pub(crate) fn ceil(fused: Fused, value: f32) -> f32 {
    if fused == Fused::Instruction {
        return value.ceil();
    }
    let nearest = nearest_even(fused, value);
    (if nearest < value { nearest + 1.0 } else { nearest }).copysign(value)
}

/// Integer part.
#[inline(always)]
pub(crate) fn trunc(fused: Fused, value: f32) -> f32 {
    floor(fused, value.abs()).copysign(value)
}

/// `a − ⌊a⌋`, at most the largest number below one.
///
/// Source: RDNA3 ISA manual, `V_FRACT_F32` ("maximum value 0x3f7fffff").
pub(crate) fn fract32(a: u32) -> u32 {
    let value = float(a);
    if value.is_infinite() {
        return CANONICAL_NAN32;
    }
    let result = value - floor(Fused::Software, value);
    canonical(
        if result < 1.0 || result.is_nan() { result } else { f32::from_bits(0x3f7f_ffff) },
        [a],
    )
}

/// `a · 2^exponent`, rounded once.
#[inline]
pub(crate) fn ldexp32(a: u32, exponent: i32) -> u32 {
    let scale = f64::from_bits(u64::from((1023 + exponent.clamp(-500, 500)).unsigned_abs()) << 52);
    canonical((f64::from(float(a)) * scale) as f32, [a])
}

/// As [`ldexp32`]. With instructions of the host it may give NaN where that does not: where one product is not known
/// to round once.
#[inline(always)]
pub(crate) fn ldexp_lanes(fused: Fused, a: f32, exponent: i32) -> f32 {
    if fused == Fused::Software {
        return float(ldexp32(a.to_bits(), exponent));
    }
    /// Nothing finite is left of a number times two to this power.
    const VANISHING: i32 = -300;
    let is_normal = exponent.wrapping_add(126).cast_unsigned() < 254;
    let factor = exponent.wrapping_add(127).cast_unsigned() << 23;
    let other = if exponent < VANISHING { 0 } else { CANONICAL_NAN32 };
    a * float(if is_normal { factor } else { other })
}

/// Exponent e of `a = m · 2^e` with m in [0.5, 1); zero for zero, infinity and NaN.
pub(crate) fn frexp_exponent32(a: u32) -> u32 {
    let value = float(a);
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let biased = f64::from(value).to_bits() >> 52 & 0x7ff;
    (i32::try_from(biased).expect("eleven bits") - 1022).cast_unsigned()
}

/// Significand m of `a = m · 2^e` with |m| in [0.5, 1); zero, infinity and NaN unchanged.
pub(crate) fn frexp_significand32(a: u32) -> u32 {
    let value = float(a);
    if value == 0.0 || !value.is_finite() {
        return canonical(value, [a]);
    }
    let bits = f64::from(value).to_bits() & !(0x7ff << 52) | 1022 << 52;
    (f64::from_bits(bits) as f32).to_bits()
}

/// Output multiplier (OMOD), rounded like any product.
pub(crate) fn scale32(a: u32, factor: f32) -> u32 {
    mul32(a, factor.to_bits())
}

/// CLAMP: to 0…1, NaN to zero with DX10_CLAMP.
pub(crate) fn clamp32(mode: FloatMode, a: u32) -> u32 {
    let value = float(a);
    if value.is_nan() {
        return if mode.dx10_clamp { 0 } else { a };
    }
    if value <= 0.0 {
        0
    } else if value > 1.0 {
        1.0_f32.to_bits()
    } else {
        a
    }
}

/// Class of a number as one bit of ten, the way `v_cmp_class` counts them.
///
/// Source: RDNA3 ISA manual, `V_CMP_CLASS_F32`.
pub(crate) fn class32(a: u32) -> u32 {
    class(
        a & SIGN32 != 0,
        a & INF32 == INF32,
        a & INF32 == 0,
        a & 0x007f_ffff != 0,
        a & super::QUIET32 != 0,
    )
}

/// One bit of the class mask, from what the fields of a number say.
pub(crate) fn class(
    is_negative: bool,
    is_exponent_full: bool,
    is_exponent_empty: bool,
    has_fraction: bool,
    is_quiet: bool,
) -> u32 {
    let positive =
        |if_negative: u32, if_positive: u32| if is_negative { if_negative } else { if_positive };
    let bit = match (is_exponent_full, is_exponent_empty, has_fraction) {
        (true, _, true) => u32::from(is_quiet),
        (true, _, false) => positive(2, 9),
        (false, true, true) => positive(4, 7),
        (false, true, false) => positive(5, 6),
        (false, false, _) => positive(3, 8),
    };
    1 << bit
}

/// IEEE 754-2019 minimum: NaN wins, −0 below +0.
pub(crate) fn minimum32(a: u32, b: u32) -> u32 {
    if is_nan32(a) || is_nan32(b) {
        canonical(f32::NAN, [a, b])
    } else if ordered(a) < ordered(b) {
        a
    } else {
        b
    }
}

/// IEEE 754-2019 maximum: NaN wins, +0 above −0.
pub(crate) fn maximum32(a: u32, b: u32) -> u32 {
    if is_nan32(a) || is_nan32(b) {
        canonical(f32::NAN, [a, b])
    } else if ordered(a) > ordered(b) {
        a
    } else {
        b
    }
}

/// A binary32 sum with an exact binary64 addend, rounded once.
pub(crate) fn sum32(exact: f64, addend: u32) -> u32 {
    canonical((exact + f64::from(float(addend))) as f32, [addend])
}
