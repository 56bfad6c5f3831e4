//! Factors that lanes hold already: the result of one product as a factor of the next, without a way through LDS.
//!
//! A lane holds the same columns of a result as it needs rows of a factor. Which of its elements meet in one operation
//! is for both factors to agree on: the stored one lies in the order of [`Atom::ordered`]. Where each half of a wave
//! needs all rows of a factor (WMMA), it gets the other half's.

use super::order::ResultOrder;
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

/// A factor that is the sum of two, one of them perhaps nothing: a number rounded, and what rounding lost, rounded.
#[derive(Clone, Copy)]
pub struct SplitFactor<'f, 'k> {
    /// The larger part.
    pub high: Factor<'f, 'k>,
    /// The smaller part.
    pub low: Option<Factor<'f, 'k>>,
}

impl<'k> WaveTile<'k> {
    /// Adds `A · Bᵀ` of sums, with `depth` terms: the products with low parts before those of high parts; that of both
    /// low parts is below what a sum keeps and is left out. One product after the other, or, where factors lie twice in a
    /// wave and take twice the registers, all of them for one operation along the sum after the other.
    #[track_caller]
    pub fn add_split(
        self,
        a: SplitFactor<'_, 'k>,
        b: SplitFactor<'_, 'k>,
        depth: u32,
    ) -> WaveTile<'k> {
        if self.atom().doubles_factors() {
            return self.add_split_by_steps(a, b, depth);
        }
        let mut sum = self;
        if let Some(low) = a.low {
            sum = sum.add_factors(low, b.high, depth);
        }
        if let Some(low) = b.low {
            sum = sum.add_factors(a.high, low, depth);
        }
        sum.add_factors(a.high, b.high, depth)
    }

    #[track_caller]
    fn add_split_by_steps(
        self,
        a: SplitFactor<'_, 'k>,
        b: SplitFactor<'_, 'k>,
        depth: u32,
    ) -> WaveTile<'k> {
        let atom = self.atom();
        if !depth.is_multiple_of(atom.depth()) {
            atom.refuse_depth(depth);
        }
        let beside_held = [a.high, b.high].iter().any(|factor| matches!(factor, Factor::Held(_)));
        let [rows, columns] = self.blocks();
        let mut sum = self;
        for step in 0..depth / atom.depth() {
            let part =
                |factor: Factor<'_, 'k>, block| factor.part(atom, [block, step], beside_held);
            let rights: Vec<_> = (0..columns)
                .map(|block| (b.low.map(|low| part(low, block)), part(b.high, block)))
                .collect();
            for row in 0..rows {
                let (low, high) = (a.low.map(|low| part(low, row)), part(a.high, row));
                for (column, (right_low, right_high)) in (0..).zip(&rights) {
                    let products = [
                        low.map(|low| (low, *right_high)),
                        right_low.map(|right| (high, right)),
                        Some((high, *right_high)),
                    ];
                    for (left, right) in products.into_iter().flatten() {
                        sum.multiply_add_block([row, column], left, right);
                    }
                }
            }
        }
        sum
    }

    /// The tile's transpose as a factor for `atom`: sums run along the tile's rows. `round` makes elements of the atom's
    /// type from vectors of f32.
    #[track_caller]
    pub fn held(&self, atom: Atom<'k>, round: impl Fn(Expr<'k>) -> Expr<'k>) -> Held<'k> {
        let columns = self.lane_elements();
        let count = atom.own_elements();
        let total = columns.first().map_or(0, Vec::len);
        if !total.is_multiple_of(count) || atom.m() != self.m() {
            atom.refuse_depth(total as u32);
        }
        let mut steps = Vec::new();
        for start in (0..total / count).map(|step| step * count) {
            let mut parts = Vec::with_capacity(columns.len());
            for column in &columns {
                let end = (start + count).min(column.len());
                let own = round(self.builder().pack(&column[start..end]));
                parts.push(atom.completed(own));
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

impl<'k> Atom<'k> {
    /// A factor from the top left of a view of f32 numbers, `[rows, depth]`, for a product beside a held one. `round`
    /// makes elements of the atom's type from vectors of f32.
    #[track_caller]
    pub fn rounded(
        self,
        view: &View<'k>,
        [rows, depth]: [u32; 2],
        round: impl Fn(Expr<'k>) -> Expr<'k>,
    ) -> Held<'k> {
        let (m, terms) = (self.m(), self.depth());
        if !rows.is_multiple_of(m) {
            self.refuse_tile(rows, m);
        }
        if !depth.is_multiple_of(terms) {
            self.refuse_depth(depth);
        }
        let order = self.result_order();
        if matches!(order, Some(ResultOrder::Runs(_))) {
            self.refuse_order();
        }
        let mut steps = Vec::new();
        for start in (0..depth).step_by(terms as usize) {
            let mut parts = Vec::new();
            for block in 0..rows / m {
                let elements = self.own_row(&view.window([block * m, start]));
                let elements = order.map_or(elements.clone(), |order| order.of_elements(&elements));
                parts.push(round(self.builder().pack(&elements)));
            }
            steps.push(parts);
        }
        Held { steps }
    }
}

impl<'k> Factor<'_, 'k> {
    /// The part of a block of rows for one operation along the sum.
    #[track_caller]
    fn part(self, atom: Atom<'k>, [block, step]: [u32; 2], beside_held: bool) -> Expr<'k> {
        match self {
            Factor::Held(held) => {
                let parts = held.steps.get(step as usize);
                let part = parts.and_then(|parts| parts.get(block as usize));
                part.copied().unwrap_or_else(|| {
                    atom.refuse_depth(step * atom.depth());
                    atom.builder().f32(0.0)
                })
            }
            Factor::Stored(view) => {
                let wanted = if beside_held { atom.result_order() } else { None };
                if view.order() != wanted {
                    atom.refuse_order();
                }
                let here = view.window([0, step * atom.depth()]);
                atom.stored_parts(&here, block, 1, beside_held)[0]
            }
        }
    }

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
