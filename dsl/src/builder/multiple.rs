//! Which power of two divides a value: how views find out by themselves which accesses are aligned.
//!
//! Wrapping keeps divisibility by powers of two, so the rules hold for wrapping arithmetic.

use crate::ir::{BinOp, Conversion, Op, Value};

use super::{Expr, KernelBuilder};

impl KernelBuilder {
    /// The largest known power of two, up to 2³¹, that divides the value.
    pub(super) fn multiple_of(&self, value: Expr<'_>) -> u32 {
        1 << self.facts(value.value()).log2_multiple.min(31)
    }

    /// The largest known n such that the result of `op` is a multiple of 2ⁿ; 64 for zero.
    pub(super) fn log2_multiple(&self, op: &Op) -> u32 {
        let of = |value: &Value| self.facts(*value).log2_multiple;
        let shift = |amount: &Value| self.facts(*amount).bits.map_or(0, |bits| bits as u32 % 32);
        match op {
            Op::Binary(BinOp::Mul, a, b) => (of(a) + of(b)).min(64),
            Op::Binary(BinOp::Shl, a, amount) => (of(a) + shift(amount)).min(64),
            Op::Binary(BinOp::And, a, b) => of(a).max(of(b)),
            Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor, a, b) => of(a).min(of(b)),
            Op::Binary(BinOp::MinS | BinOp::MaxS | BinOp::MinU | BinOp::MaxU, a, b) => {
                of(a).min(of(b))
            }
            Op::Select(_, a, b) => of(a).min(of(b)),
            Op::Convert(
                Conversion::ZeroExtend | Conversion::SignExtend | Conversion::Truncate,
                a,
            ) => of(a),
            _ => 0,
        }
    }
}
