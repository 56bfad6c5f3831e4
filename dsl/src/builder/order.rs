//! The order in which lanes hold the results of a matrix operation along its rows, as an order of memory.
//!
//! A lane holds runs of four rows of a result, its groups by turns. As a factor of a next product it gives them
//! as they are: the next elements of its own, whatever rows they are. The other factor of that product must be read in
//! the same order, so it is stored in it: runs of four stay together and change places.
//!
//! Where rows of a result go to the halves of a wave by turns and both halves must hold a whole factor (WMMA), a lane gets
//! the other half's elements beside its own: two of its rows, then the two between and behind them. Of four
//! neighbours, the middle two change places.

use super::{Expr, Index, KernelBuilder, View};

/// Elements of a run that stays together.
const RUN: u32 = 4;

/// The order of results along their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultOrder {
    /// Runs of four change places.
    Runs(RunOrder),
    /// The middle two of four neighbours change places.
    Halves,
}

impl ResultOrder {
    /// Stores neighbours along the last axis of a view: each takes its place in this order.
    #[track_caller]
    pub(super) fn store<'k>(self, view: &View<'k>, indices: Vec<Index<'k>>, value: Expr<'k>) {
        let (k, lanes) = (value.builder(), value.ty().lanes());
        let lanes_32 = u32::from(lanes);
        if !is_regular(k, &indices, lanes_32) {
            let expected =
                "a power of two of neighbours, at most 8, from a multiple of their number on";
            return k.mistake(
                "a store to a factor's memory",
                format!("{lanes} neighbours"),
                expected,
            );
        }
        match self {
            ResultOrder::Runs(order) => {
                let indices = at_last(indices, |last| order.index(last, lanes_32));
                let start = view.element(&indices, lanes_32.min(RUN));
                for (run, first) in (0..lanes).step_by(RUN as usize).enumerate() {
                    let part = value.part(first, lanes.min(RUN as u8));
                    start.store_here(run as u32 * RUN * order.runs, part);
                }
            }
            ResultOrder::Halves if lanes_32 >= RUN => {
                let turned = turned(&value.elements());
                view.element(&indices, lanes_32).store_here(0, k.pack(&turned));
            }
            ResultOrder::Halves => {
                let start = view.element(&at_last(indices, turned_index), 1);
                for (place, element) in (0..).step_by(2).zip(value.elements()) {
                    start.store_here(place, element);
                }
            }
        }
    }

    /// Elements in their own order, put in this one.
    pub(super) fn of_elements<'k>(self, elements: &[Expr<'k>]) -> Vec<Expr<'k>> {
        match self {
            ResultOrder::Runs(_) => elements.to_vec(),
            ResultOrder::Halves => turned(elements),
        }
    }
}

/// The middle two of every four have changed places.
fn turned<'k>(elements: &[Expr<'k>]) -> Vec<Expr<'k>> {
    elements.chunks(RUN as usize).flat_map(|four| [four[0], four[2], four[1], four[3]]).collect()
}

/// The place of a single element, or of the first of two: bits 0 and 1 of the index have changed places.
#[track_caller]
fn turned_index(index: Index<'_>) -> Index<'_> {
    let Some(value) = index.value else {
        let index = index.constant;
        return (index & !3 | index >> 1 & 1 | (index & 1) << 1).into();
    };
    let index = value + index.constant as i32;
    let middle = (index.shr_u(1) & 1) | ((index & 1) << 1);
    ((index & !3) | middle).into()
}

/// Whether an access to neighbours starts at a multiple of their number, a power of two and at most two runs.
fn is_regular(k: &KernelBuilder, indices: &[Index<'_>], lanes: u32) -> bool {
    indices.last().is_none_or(|last| {
        lanes.is_power_of_two()
            && last.constant.is_multiple_of(lanes)
            && last.value.is_none_or(|value| k.multiple_of(value) >= lanes)
    }) && lanes <= 2 * RUN
}

fn at_last<'k>(
    mut indices: Vec<Index<'k>>,
    change: impl FnOnce(Index<'k>) -> Index<'k>,
) -> Vec<Index<'k>> {
    if let Some(last) = indices.last_mut() {
        *last = change(*last);
    }
    indices
}

/// Where runs of four neighbours lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunOrder {
    /// Groups of lanes that take the runs of a result by turns, a power of two.
    pub groups: u32,
    /// Runs that a lane gives to one operation, a power of two.
    pub runs: u32,
}

impl RunOrder {
    /// Where an access to `lanes` neighbours starts when its index is in the axis' own order. Its second run of four
    /// lies as many runs further as a lane gives to one operation.
    #[track_caller]
    fn index<'k>(self, index: Index<'k>, lanes: u32) -> Index<'k> {
        match index.value {
            None => self.constant_place(index.constant).into(),
            Some(value) => self.place(value + index.constant as i32, lanes).into(),
        }
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
