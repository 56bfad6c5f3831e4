//! Which key channels a lane owns, and how one head's state lies in memory.

use dsl::{Expr, KernelBuilder, View};
use specs::StateLayout;

/// Columns of V that a lane owns.
pub const COLUMNS: u32 = specs::decode_step::COLUMNS_PER_LANE_GROUP;

/// A lane's share of K channels, in the order in which it sums them: runs of neighbours at equal distances.
pub struct Channels<'k> {
    /// The lane's first channel.
    first: Expr<'k>,
    runs: u32,
    /// Channels from one run's start to the next's.
    distance: u32,
    /// Channels in a run.
    length: u32,
}

impl<'k> Channels<'k> {
    /// The share of lane `lane` of `lanes`: one block where columns are neighbours in memory (K-first), interleaved
    /// runs of 4 where channels are (V-first), so that a wave always reads whole lines.
    #[track_caller]
    pub fn of_lane(lane: Expr<'k>, lanes: u32, head_k: u32, layout: StateLayout) -> Channels<'k> {
        let share = head_k / lanes;
        match layout {
            StateLayout::KFirst => {
                Channels { first: lane * share, runs: 1, distance: share, length: share }
            }
            StateLayout::VFirst => {
                Channels { first: lane * 4, runs: share / 4, distance: 4 * lanes, length: 4 }
            }
        }
    }

    /// All channels in ascending order, of a work-item that shares them with no other.
    #[track_caller]
    pub fn all(k: &'k KernelBuilder, head_k: u32) -> Channels<'k> {
        Channels { first: k.i32(0), runs: 1, distance: head_k, length: head_k }
    }

    /// Number of channels.
    pub fn count(&self) -> usize {
        (self.runs * self.length) as usize
    }

    /// The share of a row of `[K]`.
    #[track_caller]
    pub fn load(&self, row: &View<'k>) -> Vec<Expr<'k>> {
        let share = row.window(self.first);
        let mut channels = Vec::with_capacity(self.count());
        for run in 0..self.runs {
            channels.extend(share.load_run(run * self.distance, self.length));
        }
        channels
    }
}

/// One head's state in memory: [K, V] or [V, K].
pub struct HeadState<'k> {
    view: View<'k>,
    layout: StateLayout,
}

impl<'k> HeadState<'k> {
    /// A view of [K, V] or [V, K].
    pub fn new(view: View<'k>, layout: StateLayout) -> HeadState<'k> {
        HeadState { view, layout }
    }

    /// The state of channel `k` in column `v`.
    #[track_caller]
    pub fn load(&self, k: Expr<'k>, v: Expr<'k>) -> Expr<'k> {
        self.view.load(self.order(k, v))
    }

    /// Stores the state of channel `k` in column `v`.
    #[track_caller]
    pub fn store(&self, k: Expr<'k>, v: Expr<'k>, value: Expr<'k>) {
        self.view.store(self.order(k, v), value);
    }

    fn order(&self, k: Expr<'k>, v: Expr<'k>) -> (Expr<'k>, Expr<'k>) {
        match self.layout {
            StateLayout::KFirst => (k, v),
            StateLayout::VFirst => (v, k),
        }
    }

    /// The channels' states in `columns` columns from `v` on: for each channel a vector of columns, or the only one.
    #[track_caller]
    pub fn load_tile(&self, channels: &Channels<'k>, v: Expr<'k>, columns: u32) -> Vec<Expr<'k>> {
        let tile = self.view.window(self.order(channels.first, v));
        let mut states = Vec::with_capacity(channels.count());
        for run in 0..channels.runs {
            let start = run * channels.distance;
            match self.layout {
                StateLayout::KFirst => {
                    let row = |channel| tile.load_vector((start + channel, 0), columns as u8);
                    states.extend((0..channels.length).map(row));
                }
                StateLayout::VFirst => {
                    let column = |c| tile.load_run((c, start), channels.length);
                    states.extend(transposed(
                        v.builder(),
                        &(0..columns).map(column).collect::<Vec<_>>(),
                    ));
                }
            }
        }
        states
    }

    /// Stores what [`HeadState::load_tile`] loads.
    #[track_caller]
    pub fn store_tile(
        &self,
        channels: &Channels<'k>,
        v: Expr<'k>,
        columns: u32,
        states: &[Expr<'k>],
    ) {
        let tile = self.view.window(self.order(channels.first, v));
        for (run, states) in (0..channels.runs).zip(states.chunks(channels.length as usize)) {
            let start = run * channels.distance;
            match self.layout {
                StateLayout::KFirst => {
                    let rows = (start..).zip(states);
                    rows.for_each(|(channel, state)| tile.store((channel, 0), *state));
                }
                StateLayout::VFirst => (0..columns).for_each(|c| {
                    let column: Vec<_> =
                        states.iter().map(|state| state.element(c as u8)).collect();
                    tile.store_run((c, start), &column);
                }),
            }
        }
    }
}

/// From columns of channels to a vector of columns a channel.
#[track_caller]
fn transposed<'k>(k: &'k KernelBuilder, columns: &[Vec<Expr<'k>>]) -> Vec<Expr<'k>> {
    let channels = columns.first().map_or(0, Vec::len);
    let mut vectors = Vec::with_capacity(channels);
    for channel in 0..channels {
        let elements: Vec<_> = columns.iter().map(|column| column[channel]).collect();
        vectors.push(k.pack(&elements));
    }
    vectors
}
