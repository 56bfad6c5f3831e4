//! Operands of matrix products: one 16-bit number an element, or two whose sum it is.

use dsl::builder::Index;
use dsl::{Atom, Expr, Factor, Held, Scalar, SplitFactor, View, WaveTile};

/// A matrix of 16-bit elements in memory, perhaps as a high and a low part: `high` is the number rounded, `low` what
/// rounding lost, rounded.
#[derive(Clone)]
pub(crate) struct Operand<'k> {
    pub high: View<'k>,
    pub low: Option<View<'k>>,
}

/// The same in the registers of a wave.
pub(crate) struct HeldOperand<'k> {
    high: Held<'k>,
    low: Option<Held<'k>>,
}

impl<'k> Operand<'k> {
    /// Every part by itself, changed.
    pub(crate) fn each(&self, change: impl Fn(&View<'k>) -> View<'k>) -> Operand<'k> {
        Operand { high: change(&self.high), low: self.low.as_ref().map(change) }
    }

    /// Stores f32 values, a vector of neighbours along the last axis.
    #[track_caller]
    pub(crate) fn store(
        &self,
        row: impl Into<Index<'k>>,
        column: impl Into<Index<'k>>,
        value: Expr<'k>,
    ) {
        let (row, column) = (row.into(), column.into());
        let high = value.narrow(self.high.elem());
        self.high.store([row, column], high);
        if let Some(low) = &self.low {
            low.store([row, column], value - high.widen());
        }
    }
}

impl<'k> HeldOperand<'k> {
    /// The transpose of a tile, rounded to `elem`.
    #[track_caller]
    pub(crate) fn of(
        tile: &WaveTile<'k>,
        atom: Atom<'k>,
        elem: Scalar,
        is_pair: bool,
    ) -> HeldOperand<'k> {
        let high = tile.held(atom, |x| x.narrow(elem));
        let low = is_pair.then(|| tile.held(atom, |x| (x - x.narrow(elem).widen()).narrow(elem)));
        HeldOperand { high, low }
    }
}

impl<'k> HeldOperand<'k> {
    /// A matrix of f32 numbers in memory, `extent` by rows and terms, as a pair for products beside a held one.
    #[track_caller]
    pub(crate) fn pair_of(
        view: &View<'k>,
        atom: Atom<'k>,
        extent: [u32; 2],
        elem: Scalar,
    ) -> HeldOperand<'k> {
        let high = atom.rounded(view, extent, |x| x.narrow(elem));
        let low = atom.rounded(view, extent, |x| (x - x.narrow(elem).widen()).narrow(elem));
        HeldOperand { high, low: Some(low) }
    }
}

impl<'f, 'k> From<&'f Operand<'k>> for SplitFactor<'f, 'k> {
    fn from(operand: &'f Operand<'k>) -> SplitFactor<'f, 'k> {
        let low = operand.low.as_ref().map(Factor::Stored);
        SplitFactor { high: Factor::Stored(&operand.high), low }
    }
}

impl<'f, 'k> From<&'f HeldOperand<'k>> for SplitFactor<'f, 'k> {
    fn from(operand: &'f HeldOperand<'k>) -> SplitFactor<'f, 'k> {
        SplitFactor {
            high: Factor::Held(&operand.high),
            low: operand.low.as_ref().map(Factor::Held),
        }
    }
}

/// Adds `A · Bᵀ` of operands to a tile.
#[track_caller]
pub(crate) fn add_products<'k, 'f>(
    sum: WaveTile<'k>,
    a: impl Into<SplitFactor<'f, 'k>>,
    b: impl Into<SplitFactor<'f, 'k>>,
    depth: u32,
) -> WaveTile<'k>
where
    'k: 'f,
{
    sum.add_split(a.into(), b.into(), depth)
}
