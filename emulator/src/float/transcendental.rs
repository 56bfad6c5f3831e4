//! The transcendental unit in binary32: subnormal sources and results count as zero, whatever MODE says.
//!
//! The bits of the hardware's results are not documented, only their accuracy (about one unit in the
//! last place). Here every function is computed in binary64 and rounded once, so the result is within
//! half a unit of the exact one: approximate, and the same on every host.

use super::{CANONICAL_NAN32, SIGN32, canonical, flush32};

fn through_f64(a: u32, function: impl Fn(f64) -> f64) -> u32 {
    let a = flush32(a);
    flush32(canonical(function(f64::from(f32::from_bits(a))) as f32, [a]))
}

/// 2^a.
pub(crate) fn exp2_32(a: u32) -> u32 {
    through_f64(a, libm::exp2)
}

/// log₂ a.
pub(crate) fn log2_32(a: u32) -> u32 {
    through_f64(a, log2_wide)
}

/// 1/a.
pub(crate) fn rcp32(a: u32) -> u32 {
    through_f64(a, |value| 1.0 / value)
}

/// 1/√a; −∞ for −0.
pub(crate) fn rsq32(a: u32) -> u32 {
    through_f64(a, |value| 1.0 / libm::sqrt(value))
}

/// √a.
pub(crate) fn sqrt32(a: u32) -> u32 {
    through_f64(a, libm::sqrt)
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
    if value.is_infinite() {
        return CANONICAL_NAN32;
    }
    let fraction = if value.abs() <= 256.0 { value - libm::trunc(value) } else { 0.0 };
    let result = function(fraction * core::f64::consts::TAU) as f32;
    flush32(if value == 0.0 && result == 0.0 { a & SIGN32 } else { canonical(result, [a]) })
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
