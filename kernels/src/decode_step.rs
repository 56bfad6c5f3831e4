//! Decode step: one token of gated linear attention for every sequence of a batch (Gated DeltaNet, Kimi Delta
//! Attention).
//!
//! A workgroup owns columns of V of one value head of one sequence. The contract, with the order of all float
//! operations, is `docs/kernels/decode_step.md`.

use dsl::builder::BuildError;
use dsl::ir::Kernel;
use dsl::{Expr, KernelBuilder, View};
use specs::{DecodeStepSpec, Reduction, StateContract};

use crate::arguments::Arguments;
use crate::channels::{COLUMNS, Channels, HeadState};
use crate::delta::{Token, group_columns, item_column};
use crate::gates::HeadGates;

/// The kernel of a legal spec.
pub fn build(name: &str, spec: &DecodeStepSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.target, spec.workgroup_size());
    let args = Arguments::declare(&k, &spec.signature());
    let (h, b) = (k.workgroup_id_y(), k.workgroup_id_z());
    match spec.state_contract {
        StateContract::Separate => {
            let row = (b, h);
            Step::new(&k, spec, &args, row)
                .run(args.view("state").at(row), args.view("next_state").at(row));
        }
        StateContract::PoolInPlace { sentinel } => {
            let slot = args.view("slots").load(b);
            let step = || {
                let state = args.view("pool").at((slot, h));
                Step::new(&k, spec, &args, (b, h)).run(state.clone(), state);
            };
            k.if_else(slot.ne(sentinel), step, || clear(&k, spec, &args.view("o").at((b, h))));
        }
    }
    k.finish()
}

/// One value head of one sequence.
struct Step<'k, 's> {
    k: &'k KernelBuilder,
    spec: &'s DecodeStepSpec,
    token: Token<'k>,
}

impl<'k, 's> Step<'k, 's> {
    fn new(
        k: &'k KernelBuilder,
        spec: &'s DecodeStepSpec,
        args: &Arguments<'k>,
        row: (Expr<'k>, Expr<'k>),
    ) -> Self {
        let token = Token::at(spec, args, row, || HeadGates::new(spec, args, row.1));
        Step { k, spec, token }
    }

    /// The step, from one view of the head's state to another, perhaps the same.
    fn run(&self, state: View<'k>, next_state: View<'k>) {
        let [state, next_state] =
            [state, next_state].map(|view| HeadState::new(view, self.spec.state_layout));
        match self.spec.reduction {
            Reduction::LaneTree { k_lanes } => self.lane_tree(k_lanes, &state, &next_state),
            Reduction::Serial => self.serial(&state, &next_state),
        }
    }

    /// Every lane group owns [`COLUMNS`] columns and holds their state in registers.
    fn lane_tree(&self, k_lanes: u32, state: &HeadState<'k>, next_state: &HeadState<'k>) {
        let Step { k, spec, token } = self;
        let lanes = k.lane_groups(k_lanes);
        let channels = Channels::of_lane(lanes.lane(), k_lanes, spec.head_k, spec.state_layout);
        let (column, inside) = group_columns(k, spec, lanes, COLUMNS);

        let operands = token.operands(&channels);
        let load = || {
            let state = state.load_tile(&channels, column, COLUMNS);
            (state, token.v.load_vector(column, COLUMNS as u8))
        };
        let (s, v) = inside.or_zeros(load);
        let (next, o) = operands.update(lanes, s, v, token.beta);
        inside.run(|| {
            next_state.store_tile(&channels, column, COLUMNS, &next);
            k.if_(lanes.lane().eq(0), || token.o.store(column, o));
        });
    }

    /// Every work-item owns one column and sums over K in ascending order, in two passes over the state.
    fn serial(&self, state: &HeadState<'k>, next_state: &HeadState<'k>) {
        let Step { k, spec, token } = self;
        let (column, inside) = item_column(k, spec);
        let decayed = |i: Expr<'k>| {
            let decay = token.gates.decays(1, |view| vec![view.load(i)]);
            state.load(i, column) * decay[0]
        };
        inside.run(|| {
            let zero = k.f32(0.0);
            let [p, r, c] = k.for_range(0, spec.head_k, 1, [zero; 3], |i, [p, r, c]| {
                let (s, key, q) = (decayed(i), token.key.load(i), token.q.load(i) * token.scale);
                [s.fma(key, p), s.fma(q, r), key.fma(q, c)]
            });
            let u = (token.v.load(column) - p) * token.beta;
            token.o.store(column, u.fma(c, r));
            k.for_range(0, spec.head_k, 1, (), |i, ()| {
                next_state.store(i, column, token.key.load(i).fma(u, decayed(i)));
            });
        });
    }
}

/// Zeros for the outputs of a sequence that is not there.
fn clear<'k>(k: &'k KernelBuilder, spec: &DecodeStepSpec, o: &View<'k>) {
    let zero = k.f32(0.0);
    match spec.reduction {
        Reduction::LaneTree { k_lanes } => {
            let lanes = k.lane_groups(k_lanes);
            let (column, inside) = group_columns(k, spec, lanes, COLUMNS);
            let first_lane = lanes.lane().eq(0);
            inside.run(|| k.if_(first_lane, || o.store(column, zero.splat(COLUMNS as u8))));
        }
        Reduction::Serial => {
            let (column, inside) = item_column(k, spec);
            inside.run(|| o.store(column, zero));
        }
    }
}
