//! What may stand beside an expression: another expression, or a Rust number.

use crate::ir::{Scalar, Type};

use super::Expr;

/// The other side of an operation.
pub trait Operand<'k>: Copy {
    /// As a value of the type that fits beside `other`.
    #[track_caller]
    fn beside(self, other: Expr<'k>) -> Expr<'k>;
}

impl<'k> Operand<'k> for Expr<'k> {
    /// A scalar beside a vector of its type becomes the vector of its copies.
    #[track_caller]
    fn beside(self, other: Expr<'k>) -> Expr<'k> {
        match (self.ty(), other.ty()) {
            (Type::Scalar(mine), Type::Vector(theirs, lanes)) if mine == theirs => {
                self.splat(lanes)
            }
            _ => self,
        }
    }
}

impl<'k> Operand<'k> for f32 {
    #[track_caller]
    fn beside(self, other: Expr<'k>) -> Expr<'k> {
        let bits = match other.ty().scalar() {
            Some(Scalar::F16) => u64::from(half::f16::from_f32(self).to_bits()),
            Some(Scalar::F32) => u64::from(self.to_bits()),
            _ => return misplaced(other, self),
        };
        other.builder().constant(other.ty(), bits)
    }
}

impl<'k> Operand<'k> for i32 {
    #[track_caller]
    fn beside(self, other: Expr<'k>) -> Expr<'k> {
        integer(other, self, i64::from(self) as u64)
    }
}

impl<'k> Operand<'k> for u32 {
    #[track_caller]
    fn beside(self, other: Expr<'k>) -> Expr<'k> {
        integer(other, self, u64::from(self))
    }
}

#[track_caller]
fn integer<'k>(other: Expr<'k>, number: impl ToString, bits: u64) -> Expr<'k> {
    match other.ty().scalar() {
        Some(Scalar::I32) => other.builder().constant(other.ty(), bits & u64::from(u32::MAX)),
        Some(Scalar::I64) => other.builder().constant(other.ty(), bits),
        _ => misplaced(other, number),
    }
}

#[track_caller]
fn misplaced<'k>(other: Expr<'k>, number: impl ToString) -> Expr<'k> {
    let expected = "a float beside f32 or f16, an integer beside i32 or i64";
    other.builder().mistake(
        "a number as operand",
        format!("{} beside {}", number.to_string(), other.ty()),
        expected,
    );
    other
}
