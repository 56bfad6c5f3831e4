//! The order in which lanes hold the results of a matrix operation along its rows, as an order of memory.
//!
//! A lane holds runs of four rows of a result, its groups by turns. As a factor of a next product it gives them
//! as they are: the next elements of its own, whatever rows they are. The other factor of that product must be read in
//! the same order, so it is stored in it: runs of four stay together and change places.

use super::{Expr, Index, KernelBuilder};

/// Elements of a run that stays together.
const RUN: u32 = 4;

/// Where runs of four neighbours lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunOrder {
    /// Groups of lanes that take the runs of a result by turns, a power of two.
    pub groups: u32,
    /// Runs that a lane gives to one operation, a power of two.
    pub runs: u32,
}

impl RunOrder {
    /// Where an access to `lanes` neighbours (a power of two) starts when its last index is in the axis' own order, and
    /// how many elements further its second run of four lies.
    #[track_caller]
    pub(super) fn places<'k>(
        self,
        k: &'k KernelBuilder,
        mut indices: Vec<Index<'k>>,
        lanes: u32,
    ) -> (Vec<Index<'k>>, u32) {
        let Some(last) = indices.last_mut() else { return (indices, 0) };
        let is_regular = lanes.is_power_of_two()
            && last.constant.is_multiple_of(lanes)
            && last.value.is_none_or(|value| k.multiple_of(value) >= lanes);
        if !is_regular || lanes > 2 * RUN {
            let expected =
                "a power of two of neighbours, at most 8, from a multiple of their number on";
            k.mistake("a store to a factor's memory", format!("{lanes} neighbours"), expected);
        }
        *last = match last.value {
            None => self.constant_place(last.constant).into(),
            Some(value) => self.place(value + last.constant as i32, lanes).into(),
        };
        (indices, RUN * self.runs)
    }

    fn constant_place(self, index: u32) -> u32 {
        let (run, inside) = (index / RUN, index % RUN);
        let (group, turn) = (run % self.groups, run / self.groups);
        let (step, among) = (turn / self.runs, turn % self.runs);
        ((step * self.groups + group) * self.runs + among) * RUN + inside
    }

    /// The same for an index that is known at run time.
    #[track_caller]
    fn place<'k>(self, index: Expr<'k>, lanes: u32) -> Expr<'k> {
        let log2 = |number: u32| number.trailing_zeros();
        let inner = log2(RUN) + log2(self.groups);
        let low = (self.groups * self.runs * RUN - 1) as i32;
        let group = (index & ((self.groups - 1) * RUN) as i32) << log2(self.runs);
        let among = index.shr_u(inner) & (self.runs - 1) as i32;
        let among = among << log2(RUN);
        let place = (index & !low) + (group + among);
        if lanes >= RUN { place } else { place + (index & (RUN - 1) as i32) }
    }
}
