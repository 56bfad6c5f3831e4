//! The mode `cdna3-fdpa`: the fused dot product with accumulation of CDNA3's matrix cores.
//!
//! Source: Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores", arXiv
//! 2511.10909, and its reference implementation (MIT), which its authors compared bit by bit with an
//! MI300X (CDNA3). Restated here in integers. Nobody has published such a comparison for gfx950: that the
//! model carries over, and that instructions of larger K keep groups of eight, is a hypothesis.
//!
//! f16 and bf16: the products of min(8, K) consecutive k are formed exactly, aligned to the largest
//! exponent among them, cut off (towards zero) behind 24 fraction bits, and added. That sum keeps 31
//! fraction bits and C keeps 24 when both are aligned to the larger exponent, rounded down; their sum is
//! rounded to nearest even and is C of the next group. 8-bit floats: groups of 16, the products of even
//! and of odd k summed apart and joined at 24 fraction bits, rounded down. Exponents are those of the
//! operands' fields, so a product counts as `2^(ea+eb)` even when it is as large as `4·2^(ea+eb)`; a factor
//! of zero counts as 2⁻¹²⁶. Subnormals are kept. A product of 2^128 or more counts as infinite.
//!
//! Not modelled: which NaN comes out (here always the positive quiet one).

use super::factor::{Factor, Format};

/// Products of 16-bit factors in a group.
pub(crate) const GROUP: usize = 8;
/// Fraction bits of aligned products, and of C.
const FRACTION_BITS: i32 = 24;
/// Fraction bits of the sum of products beside C.
const SUM_FRACTION_BITS: i32 = 31;
const QUIET_NAN: u32 = 0x7fc0_0000;
const INFINITY: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;

/// A fixed-point number: `units · 2^(exponent − FRACTION_BITS)`.
#[derive(Clone, Copy)]
struct Aligned {
    units: i64,
    exponent: i32,
}

/// C plus the products of all k, group after group. Factors are raw bits of their formats, C is binary32.
pub(crate) fn fused_sum(formats: [Format; 2], factors: &[[u32; 2]], c: u32) -> u32 {
    let group = if formats[0].is_eight_bit() { 2 * GROUP } else { GROUP };
    factors.chunks(group).fold(c, |c, factors| fused_group(formats, factors, c))
}

fn fused_group(formats: [Format; 2], factors: &[[u32; 2]], c: u32) -> u32 {
    if let Some(special) = special_sum(formats, factors, c) {
        return special;
    }
    let products = || factors.iter().map(|pair| product(formats, *pair));
    if !formats[0].is_eight_bit() {
        return add(sum(products()), c, false);
    }
    let (even, odd) = (sum(products().step_by(2)), sum(products().skip(1).step_by(2)));
    let exponent = even.exponent.max(odd.exponent);
    let aligned = |part: Aligned| shift_down(part.units, exponent - part.exponent);
    add(Aligned { units: aligned(even) + aligned(odd), exponent }, c, true)
}

/// The exact product of two finite factors in units of 24 fraction bits.
fn product(formats: [Format; 2], pair: [u32; 2]) -> Aligned {
    let factor = |k: usize| {
        let factor = formats[k].factor(pair[k]);
        if factor.significand == 0 { Factor { significand: 0, exponent: -126 } } else { factor }
    };
    let (a, b) = (factor(0), factor(1));
    let fraction_bits = formats[0].fraction_bits + formats[1].fraction_bits;
    let significand = i64::from(a.significand) * i64::from(b.significand);
    Aligned {
        units: significand << (FRACTION_BITS.unsigned_abs() - fraction_bits),
        exponent: a.exponent + b.exponent,
    }
}

/// Aligned to the largest exponent, cut off, added.
fn sum(products: impl Iterator<Item = Aligned> + Clone) -> Aligned {
    let exponent = products.clone().map(|product| product.exponent).max().unwrap_or_default();
    let cut = |product: Aligned| {
        let magnitude = product.units.abs() >> (exponent - product.exponent).min(63);
        magnitude * product.units.signum()
    };
    Aligned { units: products.map(cut).sum(), exponent }
}

/// The sum of products and C, rounded to binary32. With `drops_far_c`, a C more than 25 binades below
/// the sum counts as zero, where rounding down would leave −1 of a negative one.
fn add(sum: Aligned, c: u32, drops_far_c: bool) -> u32 {
    let field = (c >> 23 & 0xff).cast_signed();
    let hidden = if field == 0 { 0 } else { 0x80_0000 };
    let magnitude = i64::from(c & 0x7f_ffff | hidden);
    let c_exponent = if magnitude == 0 { -126 } else { field.max(1) - 127 };
    // 23 fraction bits become 24.
    let c_units = if c & SIGN == 0 { magnitude } else { -magnitude } << 1;
    let exponent = sum.exponent.max(c_exponent);
    let extra = (SUM_FRACTION_BITS - FRACTION_BITS).unsigned_abs();
    let is_far = drops_far_c && c_exponent < exponent - 25;
    let c_units = if is_far { 0 } else { shift_down(c_units, exponent - c_exponent) };
    let total = shift_down(sum.units << extra, exponent - sum.exponent) + (c_units << extra);
    // Below 2^53 units, and far inside the exponents of binary64: exact until the one rounding.
    (((total as f64) * power_of_two(exponent - SUM_FRACTION_BITS)) as f32).to_bits()
}

fn shift_down(units: i64, by: i32) -> i64 {
    units >> by.min(63)
}

/// 2^`exponent`, for exponents of normal binary64 numbers.
#[inline(always)]
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(u64::from((exponent + 1023).unsigned_abs()) << 52)
}

/// The result where an infinity or a NaN takes part, or a product is too large for binary32.
fn special_sum(formats: [Format; 2], factors: &[[u32; 2]], c: u32) -> Option<u32> {
    let (mut is_nan, mut positive, mut negative) = (c & !SIGN > INFINITY, false, false);
    let mut note_infinity = |is_negative: bool| match is_negative {
        false => positive = true,
        true => negative = true,
    };
    if c & !SIGN == INFINITY {
        note_infinity(c & SIGN != 0);
    }
    let mut is_huge = [false; 2];
    for pair in factors {
        let has = |f: fn(Format, u32) -> bool| [0, 1].map(|k| f(formats[k], pair[k]));
        let is_negative = formats[0].is_negative(pair[0]) != formats[1].is_negative(pair[1]);
        let is_zero =
            |k: usize| !has(Format::is_infinite)[k] && formats[k].factor(pair[k]).significand == 0;
        let [a_infinite, b_infinite] = has(Format::is_infinite);
        is_nan |= has(Format::is_nan) != [false; 2];
        if a_infinite || b_infinite {
            is_nan |= a_infinite && is_zero(1) || b_infinite && is_zero(0);
            note_infinity(is_negative);
        } else if is_huge_product(formats, *pair) {
            is_huge[usize::from(is_negative)] = true;
        }
    }
    if is_nan || positive && negative {
        return Some(QUIET_NAN);
    }
    if positive || negative {
        return Some(if negative { SIGN | INFINITY } else { INFINITY });
    }
    match is_huge {
        [false, false] => None,
        [true, true] => Some(QUIET_NAN),
        [_, is_negative] => Some(if is_negative { SIGN | INFINITY } else { INFINITY }),
    }
}

/// Whether the product of finite factors is 2^128 or more.
fn is_huge_product(formats: [Format; 2], pair: [u32; 2]) -> bool {
    let Aligned { units, exponent } = product(formats, pair);
    units != 0 && exponent - FRACTION_BITS + units.unsigned_abs().ilog2().cast_signed() >= 128
}

/// Eight products in neighbouring columns: factors of a row of A, and rows of B. Factors are of at most 16 bits, zero
/// or between 2^−50 and 2^51, their exponents as [`product`] counts them.
pub(crate) struct FusedGroup<'f, const N: usize> {
    pub a: [&'f f32; GROUP],
    pub a_exponents: [&'f i32; GROUP],
    pub b: [&'f [f32; N]; GROUP],
    pub b_exponents: [&'f [i32; N]; GROUP],
}

impl<const N: usize> FusedGroup<'_, N> {
    /// Adds the group to the sums of the first `n` columns, which become the next ones; `cut` converts to an integer
    /// towards zero. That `n` is no constant keeps the loop one over columns, which the compiler turns into vector
    /// code.
    #[expect(
        clippy::needless_range_loop,
        reason = "the column runs over the rows of B too, and this form becomes vector code"
    )]
    #[inline(always)]
    pub(crate) fn add_group(&self, sums: &mut [f32; N], n: usize, cut: impl Fn(f32) -> i32) {
        for j in 0..n.min(N) {
            let (exponent, scale) = self.scale(j);
            let mut units = 0;
            for k in 0..GROUP {
                units += cut(self.a[k] * self.b[k][j] * scale);
            }
            sums[j] = fused_add(units, exponent, sums[j], false);
        }
    }

    /// Adds two groups of 8-bit factors, those of even and of odd k, as [`FusedGroup::add_group`] adds one.
    #[expect(
        clippy::needless_range_loop,
        reason = "the column runs over the rows of B too, and this form becomes vector code"
    )]
    #[inline(always)]
    pub(crate) fn add_two_groups(
        even: &Self,
        odd: &Self,
        sums: &mut [f32; N],
        n: usize,
        cut: impl Fn(f32) -> i32,
    ) {
        for j in 0..n.min(N) {
            let (even_exponent, even_scale) = even.scale(j);
            let (odd_exponent, odd_scale) = odd.scale(j);
            let (mut even_units, mut odd_units) = (0, 0);
            for k in 0..GROUP {
                even_units += cut(even.a[k] * even.b[k][j] * even_scale);
                odd_units += cut(odd.a[k] * odd.b[k][j] * odd_scale);
            }
            let exponent = even_exponent.max(odd_exponent);
            let units = (even_units >> (exponent - even_exponent).min(31))
                + (odd_units >> (exponent - odd_exponent).min(31));
            sums[j] = fused_add(units, exponent, sums[j], true);
        }
    }

    /// The exponent of a column's sum, and what scales its products to units. No product of these factors loses bits
    /// in binary32, and a scaled one is below 2^26.
    #[inline(always)]
    fn scale(&self, j: usize) -> (i32, f32) {
        let mut exponent = i32::MIN;
        for k in 0..GROUP {
            exponent = exponent.max(self.a_exponents[k] + self.b_exponents[k][j]);
        }
        // Only a sum of zeros has an exponent below −100.
        let field = 127 + FRACTION_BITS - exponent.max(-100);
        (exponent, f32::from_bits(field.cast_unsigned() << 23))
    }
}

/// As [`add`], free of branches: every value is exact in binary64 until the one rounding.
#[inline(always)]
fn fused_add(units: i32, exponent: i32, c: f32, drops_far_c: bool) -> f32 {
    let magnitude = c.to_bits() & !SIGN;
    let field = (magnitude >> 23).cast_signed() - 127;
    let c_exponent = field.max(-126);
    let top = exponent.max(c_exponent);
    let extra = SUM_FRACTION_BITS - FRACTION_BITS;
    let products = floor(f64::from(units) * power_of_two(extra + exponent - top));
    let addend = floor(f64::from(c) * power_of_two(FRACTION_BITS - top));
    let addend = if drops_far_c && c_exponent < top - 25 { 0.0 } else { addend };
    let total = products + addend * power_of_two(extra);
    let sum = (total * power_of_two(top - SUM_FRACTION_BITS)) as f32;
    if sum.is_nan() { f32::from_bits(QUIET_NAN) } else { sum }
}

/// The largest integer not above a number below 2^51; infinities stay.
#[inline(always)]
fn floor(value: f64) -> f64 {
    const INTEGERS: f64 = 1.5 * (1_u64 << 52) as f64;
    let nearest = value + INTEGERS - INTEGERS;
    if nearest > value { nearest - 1.0 } else { nearest }
}
