//! Factors that lanes hold already: the result of one product as a factor of the next, without a way through LDS.
//!
//! A lane holds the same columns of a result as it needs rows of a factor. Which of its elements meet in one operation
//! is for both factors to agree on: the stored one lies in the order of [`Atom::ordered`].

use super::{Atom, Expr, View, WaveTile};

/// A factor `[rows, terms of the sum]` in the registers of a wave.
#[derive(Clone)]
pub struct Held<'k> {
    /// For each operation along the sum, the parts of its rows.
    steps: Vec<Vec<Expr<'k>>>,
}

/// A factor of a product.
#[derive(Clone, Copy)]
pub enum Factor<'f, 'k> {
    /// In LDS or global memory, the axis of summation last.
    Stored(&'f View<'k>),
    /// In registers.
    Held(&'f Held<'k>),
}

impl<'k> WaveTile<'k> {
    /// The tile's transpose as a factor for `atom`: sums run along the tile's rows. `round` makes elements of the atom's
    /// type from vectors of f32.
    #[track_caller]
    pub fn held(&self, atom: Atom<'k>, round: impl Fn(Expr<'k>) -> Expr<'k>) -> Held<'k> {
        let columns = self.lane_elements();
        let count = atom.lane_elements();
        let total = columns.first().map_or(0, Vec::len);
        if !total.is_multiple_of(count) || atom.m() != self.m() {
            atom.refuse_depth(total as u32);
        }
        let mut steps = Vec::new();
        for start in (0..total / count).map(|step| step * count) {
            let mut parts = Vec::with_capacity(columns.len());
            for column in &columns {
                let end = (start + count).min(column.len());
                parts.push(round(self.builder().pack(&column[start..end])));
            }
            steps.push(parts);
        }
        Held { steps }
    }

    /// Adds `A · Bᵀ` with `depth` terms a sum, of factors of which one may be held: then the other lies in the order of
    /// results of this tile's operation.
    #[track_caller]
    pub fn add_factors(self, a: Factor<'_, 'k>, b: Factor<'_, 'k>, depth: u32) -> WaveTile<'k> {
        let atom = self.atom();
        if !depth.is_multiple_of(atom.depth()) {
            atom.refuse_depth(depth);
        }
        // Runs of single elements serve beside anything, and by wider reads.
        let beside_held = atom.lane_elements() == 1
            || matches!(a, Factor::Held(_))
            || matches!(b, Factor::Held(_));
        let [rows, columns] = self.blocks();
        let (lefts, rights) =
            (a.steps(atom, rows, depth, beside_held), b.steps(atom, columns, depth, beside_held));
        let mut sum = self;
        for (left, right) in lefts.iter().zip(&rights) {
            sum.multiply_add(left, right);
        }
        sum
    }
}

impl<'k> Factor<'_, 'k> {
    /// The parts of `blocks` blocks of rows for each operation along the sum.
    #[track_caller]
    fn steps(
        self,
        atom: Atom<'k>,
        blocks: u32,
        depth: u32,
        beside_held: bool,
    ) -> Vec<Vec<Expr<'k>>> {
        let count = (depth / atom.depth()) as usize;
        match self {
            Factor::Held(held) => {
                if held.steps.len() < count {
                    atom.refuse_depth(depth);
                }
                held.steps.clone()
            }
            Factor::Stored(view) => {
                let wanted = if beside_held { atom.result_order() } else { None };
                if view.order() != wanted {
                    atom.refuse_order();
                }
                let mut steps: Vec<Vec<Expr<'k>>> = vec![Vec::new(); count];
                for block in 0..blocks {
                    let parts = atom.stored_parts(view, block, count as u32, beside_held);
                    steps.iter_mut().zip(parts).for_each(|(step, part)| step.push(part));
                }
                steps
            }
        }
    }
}
