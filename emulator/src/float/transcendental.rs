//! The transcendental unit in binary32: subnormal sources and results count as zero, whatever MODE says.
//!
//! The bits of the hardware's results are not documented, only their accuracy (about one unit in the
//! last place). Here every function is computed in binary64 and rounded once, so the result is within
//! half a unit of the exact one: approximate, and the same on every host.

use super::{SIGN32, canonical, flush32, is_nan32, quiet32};
use crate::lanes::Fused;
use crate::lanes::simd::RowFunction;
use crate::wave::{ROW_LANES, Row};

#[inline(always)]
fn through_f64(a: u32, function: impl Fn(f64) -> f64) -> u32 {
    let a = flush32(a);
    flush32(canonical(function(f64::from(f32::from_bits(a))) as f32, [a]))
}

/// 2^r of −½ to ½ as a polynomial: its coefficients from r¹¹ down to r, and 1. It passes through 2^r at the
/// 11 Chebyshev nodes of the interval; the relative error is below 2⁻⁵⁵ before rounding.
const EXP2: [f64; 11] = [
    4.454_960_598_186_518_6e-10,
    7.072_585_949_269_223e-9,
    1.017_806_244_584_577_4e-7,
    1.321_544_258_792_169e-6,
    1.525_273_382_983_612e-5,
    0.000_154_035_304_417_360_5,
    0.001_333_355_814_641_693_6,
    0.009_618_129_107_606_888,
    0.055_504_108_664_821_6,
    0.240_226_506_959_100_97,
    core::f64::consts::LN_2,
];

/// Lanes whose exponentials are worked out together.
const TOGETHER: usize = 16;

/// 2^a of a row of lanes, as bits. Free of branches and tables, so that it becomes vector code. What the sum of the
/// polynomial is made of changes no result: both ways were compared on every input.
pub(crate) struct Exp2;

impl RowFunction for Exp2 {
    #[inline(always)]
    fn of_row(&self, fused: Fused, row: &Row) -> Row {
        let mut out = [0; ROW_LANES];
        let (groups, _) = row.as_chunks::<TOGETHER>();
        for (out, group) in out.as_chunks_mut::<TOGETHER>().0.iter_mut().zip(groups) {
            *out = exp2_together(fused, *group);
        }
        out
    }
}

/// The steps of one polynomial wait for each other: those of several vectors are taken in turns.
#[inline(always)]
fn exp2_together(fused: Fused, a: [u32; TOGETHER]) -> [u32; TOGETHER] {
    /// 1.5 · 2²³: adding it rounds at the units and leaves the integer in the low bits.
    const MAGIC: f32 = 12_582_912.0;
    let (mut shifted, mut fractions) = ([0; TOGETHER], [0.0; TOGETHER]);
    for lane in 0..TOGETHER {
        let x = f32::from_bits(a[lane]);
        // Below 2^−126 results are flushed; −127 and 128 give zero and infinity by their exponents.
        let x = if x < -126.0 { -127.0 } else { x };
        let x = if x > 128.0 { 128.0 } else { x };
        let sum = x + MAGIC;
        shifted[lane] = sum.to_bits();
        fractions[lane] = f64::from(x - (sum - MAGIC));
    }
    let mut powers = [EXP2[0]; TOGETHER];
    for coefficient in EXP2[1..].iter().chain(&[1.0]) {
        for lane in 0..TOGETHER {
            powers[lane] = match fused {
                Fused::Instruction => powers[lane].mul_add(fractions[lane], *coefficient),
                Fused::Software => powers[lane] * fractions[lane] + *coefficient,
            };
        }
    }
    let mut out = [0; TOGETHER];
    for lane in 0..TOGETHER {
        // The power of the fraction is normal; the integer goes straight into its exponent.
        let power = (powers[lane] as f32).to_bits().wrapping_add(shifted[lane] << 23);
        out[lane] = if is_nan32(a[lane]) { quiet32(a[lane]) } else { power };
    }
    out
}

/// log₂ a.
pub(crate) fn log2_32(a: u32) -> u32 {
    through_f64(a, log2_wide)
}

/// 1/a.
#[inline(always)]
pub(crate) fn rcp32(a: u32) -> u32 {
    through_f64(a, |value| 1.0 / value)
}

/// 1/√a; −∞ for −0.
#[inline(always)]
pub(crate) fn rsq32(a: u32) -> u32 {
    through_f64(a, |value| 1.0 / value.sqrt())
}

/// √a.
#[inline(always)]
pub(crate) fn sqrt32(a: u32) -> u32 {
    through_f64(a, f64::sqrt)
}

/// sin 2πa.
pub(crate) fn sin32(a: u32) -> u32 {
    turn(a, libm::sin)
}

/// cos 2πa.
pub(crate) fn cos32(a: u32) -> u32 {
    turn(a, libm::cos)
}

/// A function of an angle in turns. Beyond ±256 turns the sine is zero and the cosine one.
///
/// Source: RDNA3 ISA manual, `V_SIN_F32`: valid input domain −256 to 256.
fn turn(a: u32, function: impl Fn(f64) -> f64) -> u32 {
    let value = f64::from(f32::from_bits(flush32(a)));
    if !value.is_finite() {
        return canonical(f32::NAN, [a]);
    }
    let fraction = if value.abs() <= 256.0 { value - libm::trunc(value) } else { 0.0 };
    let result = function(fraction * core::f64::consts::TAU) as f32;
    flush32(if value == 0.0 && result == 0.0 { a & SIGN32 } else { result.to_bits() })
}

/// log₂ in binary64, −∞ for either zero.
pub(crate) fn log2_wide(value: f64) -> f64 {
    if value == 0.0 { f64::NEG_INFINITY } else { libm::log2(value) }
}

/// sin 2πx in binary64.
pub(crate) fn sin_turns(value: f64) -> f64 {
    libm::sin((value - libm::trunc(value)) * core::f64::consts::TAU)
}

/// cos 2πx in binary64.
pub(crate) fn cos_turns(value: f64) -> f64 {
    libm::cos((value - libm::trunc(value)) * core::f64::consts::TAU)
}
