//! The mode `rdna3-candidate`: the two-product adder of RDNA3.
//!
//! Source: ROCm/rocm-systems issue 12056 (measurements on gfx1151: finite arithmetic) and pull request
//! 12120 with its captures from a Radeon Pro W7900, gfx1100 (special values, 16-bit results, order of
//! WMMA). Restated here; its authors report that all captured cases agree. It stays a candidate: no
//! statement of the vendor's documents confirms it.
//!
//! One step adds two products to C. All three are aligned to one grid, cut off, and added as integers in
//! the sign of C; a term of the opposite sign is negated by inverting its bits, without the 1 that two's
//! complement adds, so it weighs one unit more (even a zero does). The grid's unit is the larger of 2^(e−24)
//! with e the larger sum of the exponents of a product's factors, and 2^(l−26) with l the exponent of the
//! largest term's first bit. The sum is rounded to nearest even with 24 bits; what is then below the
//! smallest normal binary32 is +0. bf16 factors and C lose subnormals, f16 factors keep them. `v_wmma` is
//! eight steps in ascending k. With 16-bit results every step rounds to them: f16 from the integer sum with
//! gradual underflow, bf16 by cutting off the binary32 result.

use super::factor::Format;
use crate::float::f16_to_f32;

/// NaN of a NaN factor (captured).
const FACTOR_NAN: u32 = 0xffc0_0a3d;
/// NaN of 0 · ∞ and of ∞ − ∞.
const INVALID_NAN: u32 = 0xffc0_0000;
const QUIET: u32 = 0x0040_0000;
const INFINITY: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;
/// Exponent that is below every term's.
const NONE: i32 = -1024;

/// The format of C and D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dot2 {
    /// binary32.
    F32,
    /// binary16; what is too large becomes the largest finite number if `saturates` (FP16_OVFL).
    F16 {
        /// FP16_OVFL of MODE.
        saturates: bool,
    },
    /// bfloat16.
    Bf16,
}

/// A term of the sum: `significand · 2^exponent` with a sign.
#[derive(Clone, Copy)]
struct Term {
    significand: i64,
    exponent: i32,
    is_negative: bool,
}

impl Term {
    /// Exponent of the first set bit.
    fn leading(self) -> i32 {
        let bit = self.significand.checked_ilog2();
        bit.map_or(NONE, |bit| self.exponent + bit.cast_signed())
    }
}

/// A sum in units of 2^grid, positive in the direction of the sign that C has.
#[derive(Clone, Copy)]
struct Sum {
    units: i64,
    grid: i32,
    is_frame_negative: bool,
}

/// C plus two products. `pairs` are raw factors of `format`; C and the result are bits of `result`.
pub(crate) fn dot2(format: Format, result: Dot2, pairs: [[u32; 2]; 2], c: u32) -> u32 {
    let wide_c = match result {
        Dot2::F32 => c,
        Dot2::F16 { .. } => f16_to_f32(c),
        Dot2::Bf16 => c << 16,
    };
    if let Some(special) = special(format, pairs, wide_c) {
        return narrow_special(result, special);
    }
    let Some(sum) = sum(format, result, pairs, wide_c) else { return 0 };
    match result {
        Dot2::F32 => round32(sum),
        Dot2::F16 { saturates } => round16(sum, saturates),
        Dot2::Bf16 => round32(sum) >> 16,
    }
}

/// The exact integer sum; `None` when every term is zero.
fn sum(format: Format, result: Dot2, pairs: [[u32; 2]; 2], wide_c: u32) -> Option<Sum> {
    let field = wide_c >> 23 & 0xff;
    let c = Term {
        significand: if field == 0 { 0 } else { i64::from(wide_c & 0x7f_ffff | 0x80_0000) },
        exponent: field.cast_signed() - 127 - 23,
        is_negative: wide_c & SIGN != 0,
    };
    let products = pairs.map(|pair| product(format, pair));
    if c.significand == 0 && products.iter().all(|(term, _)| term.significand == 0) {
        return None;
    }
    let floor = if matches!(result, Dot2::F16 { .. }) { -14 } else { NONE };
    let terms = [c, products[0].0, products[1].0];
    let leading = terms.map(Term::leading).into_iter().fold(floor, i32::max);
    let nominal = products.iter().map(|(_, nominal)| *nominal).fold(NONE, i32::max);
    let grid = (nominal - 24).max(leading - 26);
    let units = terms.iter().map(|term| {
        let shift = term.exponent - grid;
        let magnitude = match shift {
            ..0 => term.significand >> shift.unsigned_abs().min(63),
            0.. => term.significand << shift,
        };
        if term.is_negative == c.is_negative { magnitude } else { !magnitude }
    });
    Some(Sum { units: units.sum(), grid, is_frame_negative: c.is_negative })
}

/// A product and the sum of its factors' exponents, which counts only where it is not zero.
fn product(format: Format, pair: [u32; 2]) -> (Term, i32) {
    let [a, b] = pair.map(|bits| {
        let mut factor = format.factor(bits);
        // Without its hidden bit it is subnormal.
        let is_subnormal = factor.significand.unsigned_abs() >> format.fraction_bits == 0;
        if format == Format::BF16 && is_subnormal {
            factor.significand = 0;
        }
        factor
    });
    let nominal = a.exponent + b.exponent;
    let significand = i64::from(a.significand).abs() * i64::from(b.significand).abs();
    let is_negative = format.is_negative(pair[0]) != format.is_negative(pair[1]);
    let exponent = nominal - 2 * format.fraction_bits.cast_signed();
    let nominal = if significand == 0 { NONE } else { nominal };
    (Term { significand, exponent, is_negative }, nominal)
}

fn is_negative(sum: Sum) -> bool {
    (sum.units < 0) != sum.is_frame_negative
}

/// To nearest even with 24 bits; +0 below the normal numbers.
fn round32(sum: Sum) -> u32 {
    let magnitude = sum.units.unsigned_abs();
    let Some(top) = magnitude.checked_ilog2() else { return 0 };
    let shift = top.cast_signed() - 23;
    let significand = shift_to_even(magnitude, shift);
    let carry = u32::from(significand >> 24 != 0);
    let exponent = top.cast_signed() + sum.grid + carry.cast_signed();
    let sign = if is_negative(sum) { SIGN } else { 0 };
    match exponent {
        ..-126 => 0,
        128.. => sign | INFINITY,
        _ => {
            let fraction = ((significand >> carry) & 0x7f_ffff) as u32;
            sign | (exponent + 127).unsigned_abs() << 23 | fraction
        }
    }
}

/// To nearest even binary16 with subnormals; a sum of zero is +0.
fn round16(sum: Sum, saturates: bool) -> u32 {
    let magnitude = sum.units.unsigned_abs();
    let Some(top) = magnitude.checked_ilog2() else { return 0 };
    // The unit in the last place: 2^−24 for subnormals.
    let last = (top.cast_signed() + sum.grid - 10).max(-24);
    let significand = shift_to_even(magnitude, last - sum.grid);
    if significand == 0 {
        return 0;
    }
    // A subnormal adds to an exponent field of zero; a hidden bit, or a carry into it, counts one up.
    let bits = (u64::from((last + 24).unsigned_abs()) << 10) + significand;
    let largest = if saturates { 0x7bff } else { 0x7c00 };
    let magnitude = if bits >= 0x7c00 { largest } else { bits as u32 };
    if is_negative(sum) { 0x8000 | magnitude } else { magnitude }
}

fn shift_to_even(value: u64, shift: i32) -> u64 {
    match shift {
        ..=0 => value << shift.unsigned_abs(),
        64.. => 0,
        _ => {
            let (kept, rest) = (value >> shift, value & ((1 << shift) - 1));
            let half = 1_u64 << (shift - 1);
            kept + u64::from(rest > half || rest == half && kept & 1 == 1)
        }
    }
}

/// The result, as binary32, where a NaN or an infinity takes part. NaN factors come before invalid
/// products, these before a NaN of C.
fn special(format: Format, pairs: [[u32; 2]; 2], c: u32) -> Option<u32> {
    if pairs.iter().flatten().any(|bits| format.is_nan(*bits)) {
        return Some(FACTOR_NAN);
    }
    let is_zero =
        |bits: u32| !format.is_infinite(bits) && product(format, [bits, bits]).0.significand == 0;
    let is_invalid = |[a, b]: [u32; 2]| {
        format.is_infinite(a) && is_zero(b) || format.is_infinite(b) && is_zero(a)
    };
    if pairs.into_iter().any(is_invalid) {
        return Some(INVALID_NAN);
    }
    let sign = |[a, b]: [u32; 2]| {
        let is_infinite = format.is_infinite(a) || format.is_infinite(b);
        is_infinite.then(|| format.is_negative(a) != format.is_negative(b))
    };
    let mut signs = pairs.map(sign).into_iter().flatten().collect::<Vec<bool>>();
    let disagree = |signs: &[bool]| signs.contains(&true) && signs.contains(&false);
    if disagree(&signs) {
        return Some(INVALID_NAN);
    }
    if c & !SIGN > INFINITY {
        return Some(c | QUIET);
    }
    if c & !SIGN == INFINITY {
        signs.push(c & SIGN != 0);
    }
    if disagree(&signs) {
        return Some(INVALID_NAN);
    }
    signs.first().map(|is_negative| if *is_negative { SIGN | INFINITY } else { INFINITY })
}

fn narrow_special(result: Dot2, bits: u32) -> u32 {
    match (result, bits) {
        (Dot2::F32, _) => bits,
        (Dot2::F16 { .. }, FACTOR_NAN) => 0xfe3d,
        (Dot2::Bf16, FACTOR_NAN) => 0xfffd,
        (Dot2::F16 { .. }, _) => bits >> 16 & 0x8000 | 0x7c00 | bits >> 13 & 0x3ff,
        (Dot2::Bf16, _) => bits >> 16,
    }
}

/// Two products in neighbouring columns: factors of a row of A, and rows of B. Factors are zero or between 2^−50 and
/// 2^51, the exponents those of their formats, and far below all others where the factor is zero.
pub(crate) struct ProductPair<'b, const N: usize> {
    pub a: [f32; 2],
    pub a_exponents: [i32; 2],
    pub b: [&'b [f32; N]; 2],
    pub b_exponents: [&'b [i32; N]; 2],
}

impl<const N: usize> ProductPair<'_, N> {
    /// Adds the products to the sums of the first `n` columns as [`dot2`] does with binary32 results, free of
    /// branches; `cut` converts to an integer towards zero. Sums are no NaN. `true` where one is so small that its
    /// unit is below 2^−126: this one is wrong. That `n` is no constant keeps the loop one over columns.
    #[expect(
        clippy::needless_range_loop,
        reason = "the column runs over the rows of B too, and this form becomes vector code"
    )]
    #[inline(always)]
    pub(crate) fn add_to(&self, sums: &mut [f32; N], n: usize, cut: impl Fn(f32) -> i32) -> bool {
        /// The smallest unit that binary32 can scale by and back.
        const FINEST: i32 = -126;
        let mut is_any_finer = false;
        for j in 0..n.min(N) {
            let product = |k: usize| (self.a[k] * self.b[k][j]).to_bits();
            let nominal = |k: usize| self.a_exponents[k] + self.b_exponents[k][j];
            let (c, products) = (sums[j].to_bits(), [product(0), product(1)]);
            let c_magnitude = if c & INFINITY == 0 { 0 } else { c & !SIGN };
            let largest = c_magnitude.max(products[0] & !SIGN).max(products[1] & !SIGN);
            let leading = (largest >> 23).cast_signed() - 127;
            let wanted = (nominal(0).max(nominal(1)) - 24).max(leading - 26);
            is_any_finer |= (largest != 0) & (wanted < FINEST);
            let grid = wanted.max(FINEST);
            let power = |exponent: i32| f32::from_bits((127 + exponent).cast_unsigned() << 23);
            let mut units = cut(f32::from_bits(c_magnitude) * power(-grid));
            for product in products {
                // In the sign of C; inverted bits of an opposing term are one less than its negative.
                let framed = product ^ c & SIGN;
                units += cut(f32::from_bits(framed) * power(-grid)) + (framed.cast_signed() >> 31);
            }
            let sum = (units as f32 * power(grid)).to_bits() ^ c & SIGN;
            sums[j] = f32::from_bits(if largest == 0 || units == 0 { 0 } else { sum });
        }
        is_any_finer
    }
}
