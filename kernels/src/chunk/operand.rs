//! Operands of matrix products: one 16-bit number an element, or two whose sum it is.

use dsl::{Atom, Expr, View, WaveTile};

/// A matrix of 16-bit elements, perhaps as a high and a low part: `high` is the number rounded, `low` what rounding lost,
/// rounded.
#[derive(Clone)]
pub(crate) struct Operand<'k> {
    pub high: View<'k>,
    pub low: Option<View<'k>>,
}

impl<'k> Operand<'k> {
    /// The operand from a row and a column on.
    #[track_caller]
    pub(crate) fn window(&self, origin: [Expr<'k>; 2]) -> Operand<'k> {
        let window = |view: &View<'k>| view.window(origin);
        Operand { high: window(&self.high), low: self.low.as_ref().map(window) }
    }

    /// Stores f32 values, a vector of neighbours along the last axis.
    #[track_caller]
    pub(crate) fn store(&self, row: Expr<'k>, column: Expr<'k>, value: Expr<'k>) {
        let high = value.narrow(self.high.elem());
        self.high.store([row, column], high);
        if let Some(low) = &self.low {
            low.store([row, column], value - high.widen());
        }
    }

    /// Stores the transpose of a tile that a wave holds.
    #[track_caller]
    pub(crate) fn store_transposed(&self, tile: &WaveTile<'k>) {
        tile.store_transposed(&self.high);
        if let Some(low) = &self.low {
            tile.map(|value, _, _| value - value.narrow(self.high.elem()).widen())
                .store_transposed(low);
        }
    }
}

/// Adds `A · Bᵀ` of operands to a tile: the products with low parts first, small terms before large ones; the product of
/// both low parts is below what a sum keeps and is left out.
#[track_caller]
pub(crate) fn add_products<'k>(
    sum: WaveTile<'k>,
    a: &Operand<'k>,
    b: &Operand<'k>,
    depth: u32,
) -> WaveTile<'k> {
    let mut sum = sum;
    if let Some(low) = &a.low {
        sum = sum.add_product(low, &b.high, depth);
    }
    if let Some(low) = &b.low {
        sum = sum.add_product(&a.high, low, depth);
    }
    sum.add_product(&a.high, &b.high, depth)
}

/// `A · Bᵀ` of operands, `[rows, columns]`.
#[track_caller]
pub(crate) fn product<'k>(
    atom: Atom<'k>,
    [rows, columns]: [u32; 2],
    a: &Operand<'k>,
    b: &Operand<'k>,
    depth: u32,
) -> WaveTile<'k> {
    add_products(atom.zero_tile(rows, columns), a, b, depth)
}
