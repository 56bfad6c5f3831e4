//! Functions built on the hardware's approximations, each with a fixed order of operations.
//!
//! These orders are contracts: kernels, their documentation and host twins repeat them exactly. Products and sums round
//! once each, `fma` rounds once, and nothing is contracted.

use crate::builder::Expr;

/// log2 e, rounded to f32 (0x3FB8AA3B).
pub const LOG2_E: f32 = f32::from_bits(0x3FB8_AA3B);

/// ln 2, rounded to f32 (0x3F317218).
pub const LN_2: f32 = f32::from_bits(0x3F31_7218);

/// e^x: `exp2(x · LOG2_E)`.
#[track_caller]
pub fn exp<'k>(x: Expr<'k>) -> Expr<'k> {
    (x * LOG2_E).exp2()
}

/// 1 / (1 + e^−x): `rcp(1 + exp2((−x) · LOG2_E))`.
#[track_caller]
pub fn sigmoid<'k>(x: Expr<'k>) -> Expr<'k> {
    (exp(-x) + 1.0).rcp()
}

/// x · sigmoid(x).
#[track_caller]
pub fn silu<'k>(x: Expr<'k>) -> Expr<'k> {
    x * sigmoid(x)
}

/// ln(1 + e^x). With `e = exp2((−|x|) · LOG2_E)` and `w = 1 + e`:
/// `fma(e − (w − 1), rcp(w), fma(log2(w), LN_2, max(x, 0)))`.
///
/// The outer `fma` gives back what rounding `w` lost. Without it a small e is off by up to 2^−24, which a
/// large gate rate multiplies.
#[track_caller]
pub fn softplus<'k>(x: Expr<'k>) -> Expr<'k> {
    let e = exp(-x.abs());
    let w = e + 1.0;
    let lost = e - (w - 1.0);
    lost.fma(w.rcp(), w.log2().fma(LN_2, x.max(0.0)))
}

/// a / b: `a · rcp(b)`.
#[track_caller]
pub fn divide<'k>(a: Expr<'k>, b: Expr<'k>) -> Expr<'k> {
    a * b.rcp()
}
