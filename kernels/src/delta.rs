//! One token of the gated delta rule for one value head: the body that the decode step and the recurrent kernel share,
//! so that their bits are the same. The order of float operations is in `docs/kernels/decode_step.md`.

use dsl::{Expr, KernelBuilder, LaneGroups, Mask, View};
use specs::{DecodeStepSpec, HeadMap};

use crate::arguments::Arguments;
use crate::channels::Channels;
use crate::gates::{Gates, HeadGates};

/// One token of one value head, in memory.
pub struct Token<'k> {
    /// `[K]` of the key head that this value head reads.
    pub q: View<'k>,
    pub key: View<'k>,
    /// `[V]`.
    pub v: View<'k>,
    pub o: View<'k>,
    pub gates: Gates<'k>,
    pub beta: Expr<'k>,
    pub scale: Expr<'k>,
}

impl<'k> Token<'k> {
    /// Row `row` of the tensors (a sequence of a decode step, a token of packed sequences) for value head `h`.
    #[track_caller]
    pub fn at(
        spec: &DecodeStepSpec,
        args: &Arguments<'k>,
        (row, h): (Expr<'k>, Expr<'k>),
        gates: impl FnOnce() -> HeadGates<'k>,
    ) -> Token<'k> {
        let key_head = match spec.head_map {
            HeadMap::Grouped => h.div_u(spec.value_heads / spec.key_heads),
            HeadMap::Tiled => h.rem_u(spec.key_heads),
        };
        Token {
            q: args.view("q").at((row, key_head)),
            key: args.view("k").at((row, key_head)),
            v: args.view("v").at((row, h)),
            o: args.view("o").at((row, h)),
            gates: gates().at(args, row, h),
            beta: args.view("beta").load((row, h)),
            scale: args.scalar("scale"),
        }
    }

    /// What a lane's channels of the state meet.
    #[track_caller]
    pub fn operands(&self, channels: &Channels<'k>) -> Operands<'k> {
        let key = channels.load(&self.key);
        let q = channels.load(&self.q).into_iter().map(|q| q * self.scale).collect();
        let decay = self.gates.decays(channels.count(), |view| channels.load(view));
        Operands { key, q, decay }
    }
}

/// What a lane's channels of the state meet in one token, one number a channel.
pub struct Operands<'k> {
    key: Vec<Expr<'k>>,
    /// Times the scale.
    q: Vec<Expr<'k>>,
    decay: Vec<Expr<'k>>,
}

impl<'k> Operands<'k> {
    /// Takes the token in: the next state of the lane's channels, and the output of its columns. `state` has a vector of
    /// columns a channel, `v` is such a vector; the lanes of a group share the sums over K and combine them by a
    /// butterfly.
    #[track_caller]
    pub fn update(
        &self,
        lanes: LaneGroups<'k>,
        mut s: Vec<Expr<'k>>,
        v: Expr<'k>,
        beta: Expr<'k>,
    ) -> (Vec<Expr<'k>>, Expr<'k>) {
        let columns = v.ty().lanes();
        let zero = v.builder().f32(0.0);
        let (mut p, mut r, mut c) = (zero.splat(columns), zero.splat(columns), zero);
        for (channel, s) in s.iter_mut().enumerate() {
            let (key, q) = (self.key[channel], self.q[channel]);
            *s = *s * self.decay[channel];
            p = s.fma(key, p);
            r = s.fma(q, r);
            c = key.fma(q, c);
        }
        let (p, r, c) = (lanes.sum(p), lanes.sum(r), lanes.sum(c));
        let u = (v - p) * beta;
        let o = u.fma(c, r);
        let next = s.iter().zip(&self.key).map(|(s, key)| key.fma(u, *s)).collect();
        (next, o)
    }
}

/// The first of the lane group's `each` columns, and whether they exist.
pub fn group_columns<'k>(
    k: &'k KernelBuilder,
    spec: &DecodeStepSpec,
    lanes: LaneGroups<'k>,
    each: u32,
) -> (Expr<'k>, Mask<'k>) {
    columns(k, spec, lanes.group() * each)
}

/// The work-item's column, and whether it exists.
pub fn item_column<'k>(k: &'k KernelBuilder, spec: &DecodeStepSpec) -> (Expr<'k>, Mask<'k>) {
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
