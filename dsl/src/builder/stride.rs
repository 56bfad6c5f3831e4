//! Distances between neighbours of an axis.

use crate::ir::Scalar;

use super::{Expr, KernelBuilder};

/// From one index of an axis to the next.
#[derive(Clone, Copy)]
pub(super) enum Stride<'k> {
    /// So many bytes.
    Bytes(u64),
    /// So many elements, an i32 that the launch gives.
    Elements(Expr<'k>),
}

impl<'k> Stride<'k> {
    /// Of axes without gaps, slowest first.
    pub(super) fn packed(dims: &[Option<u32>], elem: Scalar) -> Vec<Stride<'k>> {
        let mut strides = Vec::with_capacity(dims.len());
        let mut bytes = u64::from(elem.size_bytes());
        for dim in dims.iter().rev() {
            strides.push(Stride::Bytes(bytes));
            bytes = bytes.saturating_mul(u64::from(dim.unwrap_or(1)));
        }
        strides.reverse();
        strides
    }

    /// An index as a value that is still to be multiplied, and bytes that are known now.
    #[track_caller]
    pub(super) fn place(
        self,
        k: &'k KernelBuilder,
        value: Option<Expr<'k>>,
        constant: u32,
    ) -> (Option<Expr<'k>>, u64) {
        match (self, value) {
            (Stride::Bytes(bytes), value) => (value, u64::from(constant).saturating_mul(bytes)),
            (Stride::Elements(_), value) if constant == 0 => (value, 0),
            (Stride::Elements(_), Some(value)) => (Some(value + constant as i32), 0),
            (Stride::Elements(_), None) => (Some(k.i32(constant as i32)), 0),
        }
    }

    /// So many of it in bytes, 32 bits.
    #[track_caller]
    pub(super) fn bytes(self, index: Expr<'k>, elem: Scalar) -> Expr<'k> {
        match self {
            Stride::Bytes(bytes) => scaled(index, bytes),
            Stride::Elements(elements) => scaled(index * elements, u64::from(elem.size_bytes())),
        }
    }

    /// So many of it in bytes, 64 bits.
    #[track_caller]
    pub(super) fn wide_bytes(self, index: Expr<'k>, elem: Scalar) -> Expr<'k> {
        let index = index.zero_extend(Scalar::I64);
        match self {
            Stride::Bytes(bytes) => scaled(index, bytes),
            Stride::Elements(elements) => {
                let elements = elements.zero_extend(Scalar::I64);
                scaled(index * elements, u64::from(elem.size_bytes()))
            }
        }
    }

    /// Bytes of an axis of that length. Where the launch gives the stride, it promises that known lengths stay within
    /// 32 bits.
    pub(super) fn reach(self, dim: u32) -> u64 {
        match self {
            Stride::Bytes(bytes) => u64::from(dim).saturating_mul(bytes),
            Stride::Elements(_) => 0,
        }
    }
}

/// An index times a stride in bytes, as cheap as it can be.
#[track_caller]
fn scaled(index: Expr<'_>, stride: u64) -> Expr<'_> {
    if stride == 1 {
        return index;
    }
    if stride.is_power_of_two() {
        return index << stride.trailing_zeros();
    }
    index * index.builder().constant(index.ty(), stride)
}
