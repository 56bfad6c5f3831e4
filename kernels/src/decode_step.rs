//! Decode step: one token of gated linear attention for every sequence of a batch (Gated DeltaNet, Kimi Delta
//! Attention).
//!
//! A workgroup owns columns of V of one value head of one sequence. The contract, with the order of all float
//! operations, is `docs/kernels/decode_step.md`.

use dsl::builder::BuildError;
use dsl::ir::Kernel;
use dsl::{Expr, KernelBuilder, LaneGroups, Mask, View};
use specs::{DecodeStepSpec, HeadMap, Reduction, StateContract};

use crate::arguments::Arguments;
use crate::channels::{COLUMNS, Channels, HeadState};
use crate::gates::Gates;

/// The kernel of a legal spec.
pub fn build(name: &str, spec: &DecodeStepSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.target, spec.workgroup_size());
    let args = Arguments::declare(&k, &spec.signature());
    let (h, b) = (k.workgroup_id_y(), k.workgroup_id_z());
    match spec.state_contract {
        StateContract::Separate => {
            let row = (b, h);
            Head::new(&k, spec, &args, b, h)
                .step(args.view("state").at(row), args.view("next_state").at(row));
        }
        StateContract::PoolInPlace { sentinel } => {
            let slot = args.view("slots").load(b);
            let step = || {
                let state = args.view("pool").at((slot, h));
                Head::new(&k, spec, &args, b, h).step(state.clone(), state);
            };
            k.if_else(slot.ne(sentinel), step, || clear(&k, spec, &args.view("o").at((b, h))));
        }
    }
    k.finish()
}

/// One value head of one sequence.
struct Head<'k, 's> {
    k: &'k KernelBuilder,
    spec: &'s DecodeStepSpec,
    /// `[K]` of the key head that this value head reads.
    q: View<'k>,
    key: View<'k>,
    /// `[V]`.
    v: View<'k>,
    o: View<'k>,
    gates: Gates<'k>,
    beta: Expr<'k>,
    scale: Expr<'k>,
}

impl<'k, 's> Head<'k, 's> {
    fn new(
        k: &'k KernelBuilder,
        spec: &'s DecodeStepSpec,
        args: &Arguments<'k>,
        b: Expr<'k>,
        h: Expr<'k>,
    ) -> Self {
        let key_head = match spec.head_map {
            HeadMap::Grouped => h.div_u(spec.value_heads / spec.key_heads),
            HeadMap::Tiled => h.rem_u(spec.key_heads),
        };
        Head {
            k,
            spec,
            q: args.view("q").at((b, key_head)),
            key: args.view("k").at((b, key_head)),
            v: args.view("v").at((b, h)),
            o: args.view("o").at((b, h)),
            gates: Gates::of_head(spec, args, b, h),
            beta: args.view("beta").load((b, h)),
            scale: args.scalar("scale"),
        }
    }

    /// The step, from one view of the head's state to another, perhaps the same.
    fn step(&self, state: View<'k>, next_state: View<'k>) {
        let [state, next_state] =
            [state, next_state].map(|view| HeadState::new(view, self.spec.state_layout));
        match self.spec.reduction {
            Reduction::LaneTree { k_lanes } => self.lane_tree(k_lanes, &state, &next_state),
            Reduction::Serial => self.serial(&state, &next_state),
        }
    }

    /// Every lane group owns [`COLUMNS`] columns and holds their decayed state in registers; its lanes share the sums
    /// over K and combine them by a butterfly.
    fn lane_tree(&self, k_lanes: u32, state: &HeadState<'k>, next_state: &HeadState<'k>) {
        let lanes = self.k.lane_groups(k_lanes);
        let channels =
            Channels::of_lane(lanes.lane(), k_lanes, self.spec.head_k, self.spec.state_layout);
        let (column, inside) = group_columns(self.k, self.spec, lanes);

        let key = channels.load(&self.key);
        let q: Vec<_> = channels.load(&self.q).into_iter().map(|q| q * self.scale).collect();
        let decay = self.gates.decays(channels.count(), |view| channels.load(view));
        let load =
            || (state.load_tile(&channels, column), self.v.load_vector(column, COLUMNS as u8));
        let (mut s, v) = inside.or_zeros(load);

        let zero = self.k.f32(0.0);
        let (mut p, mut r, mut c) = (zero.splat(COLUMNS as u8), zero.splat(COLUMNS as u8), zero);
        for channel in 0..channels.count() {
            s[channel] = s[channel] * decay[channel];
            p = s[channel].fma(key[channel], p);
            r = s[channel].fma(q[channel], r);
            c = key[channel].fma(q[channel], c);
        }
        let (p, r, c) = (lanes.sum(p), lanes.sum(r), lanes.sum(c));
        let u = (v - p) * self.beta;
        let o = u.fma(c, r);
        let next: Vec<_> = s.iter().zip(&key).map(|(s, key)| key.fma(u, *s)).collect();
        inside.run(|| {
            next_state.store_tile(&channels, column, &next);
            self.k.if_(lanes.lane().eq(0), || self.o.store(column, o));
        });
    }

    /// Every work-item owns one column and sums over K in ascending order, in two passes over the state.
    fn serial(&self, state: &HeadState<'k>, next_state: &HeadState<'k>) {
        let (column, inside) = item_column(self.k, self.spec);
        let decayed = |i: Expr<'k>| {
            let decay = self.gates.decays(1, |view| vec![view.load(i)]);
            state.load(i, column) * decay[0]
        };
        inside.run(|| {
            let zero = self.k.f32(0.0);
            let [p, r, c] = self.k.for_range(0, self.spec.head_k, 1, [zero; 3], |i, [p, r, c]| {
                let (s, key, q) = (decayed(i), self.key.load(i), self.q.load(i) * self.scale);
                [s.fma(key, p), s.fma(q, r), key.fma(q, c)]
            });
            let u = (self.v.load(column) - p) * self.beta;
            self.o.store(column, u.fma(c, r));
            self.k.for_range(0, self.spec.head_k, 1, (), |i, ()| {
                next_state.store(i, column, self.key.load(i).fma(u, decayed(i)));
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
            let (column, inside) = group_columns(k, spec, lanes);
            let first_lane = lanes.lane().eq(0);
            inside.run(|| k.if_(first_lane, || o.store(column, zero.splat(COLUMNS as u8))));
        }
        Reduction::Serial => {
            let (column, inside) = item_column(k, spec);
            inside.run(|| o.store(column, zero));
        }
    }
}

/// The first of the lane group's columns, and whether they exist.
fn group_columns<'k>(
    k: &'k KernelBuilder,
    spec: &DecodeStepSpec,
    lanes: LaneGroups<'k>,
) -> (Expr<'k>, Mask<'k>) {
    columns(k, spec, lanes.group() * COLUMNS)
}

/// The work-item's column, and whether it exists.
fn item_column<'k>(k: &'k KernelBuilder, spec: &DecodeStepSpec) -> (Expr<'k>, Mask<'k>) {
    columns(k, spec, k.thread_id())
}

fn columns<'k>(
    k: &'k KernelBuilder,
    spec: &DecodeStepSpec,
    in_workgroup: Expr<'k>,
) -> (Expr<'k>, Mask<'k>) {
    let owned = spec.columns_per_workgroup();
    let column = k.workgroup_id_x() * owned + in_workgroup;
    (column, Mask::below(column, spec.head_v, owned))
}
