//! What the halves of a wave exchange where rows of results go to them by turns and both need whole factors: WMMA.
//!
//! A lane of the lower half holds the even rows of its column of a result, the lane 16 above it the odd ones. As a factor
//! both must give all rows of the column; stored as a row of the transpose, each had better have neighbours.

use isa::fragment::Part;

use crate::ir::{Scalar, Type};

use super::matrix::Place;
use super::{Accumulator, Atom, Expr, View};

impl<'k> Atom<'k> {
    /// Distance in lanes of the second copy that factors must have.
    pub(super) fn copy(self) -> Option<u32> {
        self.fragment(Part::A).copy()
    }

    /// Whether every element of a factor lies in two lanes, so that factors take twice the registers.
    pub fn doubles_factors(self) -> bool {
        self.copy().is_some()
    }

    /// Elements of a result that become a lane's part of a factor, beside those that it gets of the other copy's lane.
    pub(super) fn own_elements(self) -> usize {
        self.lane_elements() / if self.copy().is_some() { 2 } else { 1 }
    }

    /// A lane's part of a factor from [`Atom::own_elements`] of a result, rounded to 16 bits: where factors have two
    /// copies, with those of the other copy's lane, in the order of results.
    #[track_caller]
    pub(super) fn completed(self, own: Expr<'k>) -> Expr<'k> {
        let (Some(distance), Type::Vector(elem, lanes)) = (self.copy(), own.ty()) else {
            return own;
        };
        let lower = self.group.eq(0);
        let mut words = Vec::with_capacity(usize::from(lanes));
        for mine in own.bitcast(Type::Vector(Scalar::I32, lanes / 2)).elements() {
            let theirs = mine.lane_xor(distance);
            words.extend([lower.select(mine, theirs), lower.select(theirs, mine)]);
        }
        self.builder().pack(&words).bitcast(Type::Vector(elem, 2 * lanes))
    }

    /// The lane's elements of C from a view of its transpose: each half of the wave loads neighbours.
    #[track_caller]
    pub(super) fn load_half(self, distance: u32, view: &View<'k>) -> Expr<'k> {
        let run = view.load_run(self.half().transposed(), self.own_elements() as u32);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for two in run.chunks_exact(2) {
            let [one, other] = self.exchanged(distance, two[0], two[1]);
            first.push(one);
            second.push(other);
        }
        self.builder().pack(&[first, second].concat())
    }

    /// Where the lane's half of a column's rows starts, when it wants neighbours.
    #[track_caller]
    pub(super) fn half(self) -> Place<'k> {
        let first = self.group * self.own_elements() as i32;
        Place { first, offset: 0, column: self.across }
    }

    /// The lane's part of a row of a factor, one by one.
    #[track_caller]
    pub(super) fn own_row(self, view: &View<'k>) -> Vec<Expr<'k>> {
        let factor = self.fragment(Part::A);
        let start = if factor.groups() == 1 {
            super::Index::from(0)
        } else {
            super::Index::from(self.group * factor.run())
        };
        view.load_run([super::Index::from(self.across), start], factor.run())
    }

    /// The lower half's `first` and the upper half's, then the lower half's `second` and the upper half's: in the lower half
    /// the two of `first`, in the upper half the two of `second`.
    #[track_caller]
    fn exchanged(self, distance: u32, first: Expr<'k>, second: Expr<'k>) -> [Expr<'k>; 2] {
        let lower = self.group.eq(0);
        let (kept, sent) = (lower.select(first, second), lower.select(second, first));
        let got = sent.lane_xor(distance);
        [lower.select(kept, got), lower.select(got, kept)]
    }
}

impl<'k> Accumulator<'k> {
    /// The rows of the lane's column from [`Atom::half`] on, half of them all.
    #[track_caller]
    pub(super) fn neighbours(self, distance: u32) -> Expr<'k> {
        let ty = self.value.ty();
        let narrow = ty.scalar().filter(|elem| elem.size_bytes() == 2);
        let bits = match narrow {
            Some(_) => self.value.bitcast(Type::Vector(Scalar::I32, ty.lanes() / 2)),
            None => self.value,
        };
        let words = bits.elements();
        let (first, second) = words.split_at(words.len() / 2);
        let mut neighbours = Vec::with_capacity(usize::from(ty.lanes()));
        for (first, second) in first.iter().zip(second) {
            let pair = self.atom.exchanged(distance, *first, *second);
            let Some(elem) = narrow else {
                neighbours.extend(pair);
                continue;
            };
            let [even, odd] = pair.map(|two| two.bitcast(Type::Vector(elem, 2)));
            neighbours.extend([0, 1].into_iter().flat_map(|i| [even.element(i), odd.element(i)]));
        }
        self.atom.builder().pack(&neighbours)
    }
}
