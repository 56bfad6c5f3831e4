//! Recurrent: any number of tokens of gated linear attention for packed sequences, one after the other.
//!
//! A workgroup owns columns of V of one value head of one sequence and holds their state in registers from the first
//! token to the last. Every token takes the body of the decode step, so its bits are the decode step's. The contract is
//! `docs/kernels/recurrent.md`.

use dsl::builder::BuildError;
use dsl::ir::Kernel;
use dsl::{Expr, KernelBuilder, LaneGroups, Mask};
use specs::{RecurrentSpec, Reduction};

use crate::arguments::Arguments;
use crate::channels::{COLUMNS, Channels, HeadState};
use crate::delta::{Token, group_columns};
use crate::gates::HeadGates;

/// The kernel of a legal spec.
pub fn build(name: &str, spec: &RecurrentSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.step.target, spec.step.workgroup_size());
    let args = Arguments::declare(&k, &spec.signature());
    let (h, sequence) = (k.workgroup_id_y(), k.workgroup_id_z());
    let ends = args.view("cu_seqlens").window(sequence);
    let (first, end) = (ends.load(0), ends.load(1));
    let share = Share::new(&k, spec);
    let gates = HeadGates::new(&spec.step, &args, h);

    let state = |name| HeadState::new(args.view(name).at((sequence, h)), spec.step.state_layout);
    let initial = spec.initial_state.then(|| state("state"));
    let states = k.for_range(first, end, 1, share.load(initial.as_ref()), |row, states| {
        let token = Token::at(&spec.step, &args, (row, h), || gates.clone());
        share.take(&token, states)
    });
    if spec.final_state {
        let last = state("next_state");
        share.inside.run(|| {
            last.store_tile(&share.channels, share.column, share.columns, &states);
        });
    }
    k.finish()
}

/// A lane's share of a head's state: some channels of some columns.
struct Share<'k> {
    k: &'k KernelBuilder,
    lanes: LaneGroups<'k>,
    channels: Channels<'k>,
    /// The first of the lane group's columns, how many it owns, and whether they exist.
    column: Expr<'k>,
    columns: u32,
    inside: Mask<'k>,
}

impl<'k> Share<'k> {
    /// Every lane group owns [`COLUMNS`] columns; under serial sums every work-item owns one, with all its channels.
    fn new(k: &'k KernelBuilder, spec: &RecurrentSpec) -> Share<'k> {
        let step = &spec.step;
        let (lanes, columns) = match step.reduction {
            Reduction::LaneTree { k_lanes } => (k.lane_groups(k_lanes), COLUMNS),
            Reduction::Serial => (k.lane_groups(1), 1),
        };
        let channels = match step.reduction {
            Reduction::LaneTree { k_lanes } => {
                Channels::of_lane(lanes.lane(), k_lanes, step.head_k, step.state_layout)
            }
            Reduction::Serial => Channels::all(k, step.head_k),
        };
        let (column, inside) = group_columns(k, step, lanes, columns);
        Share { k, lanes, channels, column, columns, inside }
    }

    /// The state before the first token: for each channel a vector of columns.
    fn load(&self, initial: Option<&HeadState<'k>>) -> Vec<Expr<'k>> {
        let Some(initial) = initial else {
            return vec![self.k.f32(0.0).splat(self.columns as u8); self.channels.count()];
        };
        let load = || initial.load_tile(&self.channels, self.column, self.columns);
        self.inside.or_zeros(load)
    }

    /// Takes a token in: stores its output and gives the state after it.
    fn take(&self, token: &Token<'k>, states: Vec<Expr<'k>>) -> Vec<Expr<'k>> {
        let operands = token.operands(&self.channels);
        let v = self.inside.or_zeros(|| token.v.load_vector(self.column, self.columns as u8));
        let (next, o) = operands.update(self.lanes, states, v, token.beta);
        let store = || token.o.store(self.column, o);
        self.inside.run(|| match self.lanes.lanes() {
            1 => store(),
            _ => self.k.if_(self.lanes.lane().eq(0), store),
        });
        next
    }
}
