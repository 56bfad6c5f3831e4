//! Indices of views.

use super::Expr;

/// One index: a value, a constant, or their sum.
#[derive(Clone, Copy)]
pub struct Index<'k> {
    pub(super) value: Option<Expr<'k>>,
    pub(super) constant: u32,
}

impl From<u32> for Index<'_> {
    fn from(constant: u32) -> Self {
        Index { value: None, constant }
    }
}

impl<'k> From<Expr<'k>> for Index<'k> {
    fn from(value: Expr<'k>) -> Index<'k> {
        Index { value: Some(value), constant: 0 }
    }
}

impl<'k> From<(Expr<'k>, u32)> for Index<'k> {
    fn from((value, constant): (Expr<'k>, u32)) -> Index<'k> {
        Index { value: Some(value), constant }
    }
}

/// Indices of the leading axes of a view: one index, an array, or a tuple.
pub trait Indices<'k> {
    /// The indices, slowest axis first.
    fn list(self) -> Vec<Index<'k>>;
}

impl<'k> Indices<'k> for () {
    fn list(self) -> Vec<Index<'k>> {
        Vec::new()
    }
}

impl<'k> Indices<'k> for Expr<'k> {
    fn list(self) -> Vec<Index<'k>> {
        vec![self.into()]
    }
}

impl<'k> Indices<'k> for u32 {
    fn list(self) -> Vec<Index<'k>> {
        vec![self.into()]
    }
}

impl<'k, I: Into<Index<'k>>, const N: usize> Indices<'k> for [I; N] {
    fn list(self) -> Vec<Index<'k>> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<'k, A: Into<Index<'k>>, B: Into<Index<'k>>> Indices<'k> for (A, B) {
    fn list(self) -> Vec<Index<'k>> {
        vec![self.0.into(), self.1.into()]
    }
}

impl<'k, A: Into<Index<'k>>, B: Into<Index<'k>>, C: Into<Index<'k>>> Indices<'k> for (A, B, C) {
    fn list(self) -> Vec<Index<'k>> {
        vec![self.0.into(), self.1.into(), self.2.into()]
    }
}
