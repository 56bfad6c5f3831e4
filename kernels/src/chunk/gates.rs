//! Gates of a chunk's rows: log decays as given, or made from raw gates.

use dsl::ir::Scalar;
use dsl::{Expr, KernelBuilder, View};
use specs::chunk::ChunkGate;
use specs::{Gate, KdaTileSpec};

use super::dtype;
use crate::gates;

/// The gates of one value head.
#[derive(Clone)]
pub(crate) struct ChunkGates<'k> {
    /// Log decays in nats, or raw gates: `[tokens, K]`, or `[tokens, 1]` where a head has one gate; `[C, ..]` of a chunk.
    given: View<'k>,
    raw: Option<Raw<'k>>,
}

/// What turns raw gates into log decays.
#[derive(Clone)]
struct Raw<'k> {
    gate: Gate,
    rate: Expr<'k>,
    /// Added to the raw gates, `[K]` or `[1]`.
    dt_bias: Option<View<'k>>,
}

impl<'k> ChunkGates<'k> {
    /// Declares the parameters `g`, or `g_raw`, `a_log` and, where the spec asks for it, `dt_bias`.
    #[track_caller]
    pub(crate) fn declare(
        k: &'k KernelBuilder,
        spec: &KdaTileSpec,
        head: Expr<'k>,
    ) -> ChunkGates<'k> {
        let (common, heads) = (&spec.common, Some(spec.common.value_heads));
        let channels = Some(if common.per_channel_gate() { common.head_k } else { 1 });
        let (gate, has_bias) = match spec.tile.gate {
            ChunkGate::LogDecayPerChannel { .. } | ChunkGate::LogDecayPerHead => {
                (Gate::LogDecay, false)
            }
            ChunkGate::BoundedSigmoid { lower_bound_nats, dt_bias } => {
                (Gate::BoundedSigmoid { lower_bound_nats }, dt_bias)
            }
            ChunkGate::Softplus { dt_bias } => (Gate::Softplus, dt_bias),
        };
        let is_raw = gate != Gate::LogDecay;
        let shape = [None, heads, channels];
        let given = if is_raw {
            k.input("g_raw", dtype(common.dtype), &shape)
        } else {
            k.input("g", Scalar::F32, &shape)
        };
        let raw = is_raw.then(|| Raw {
            gate,
            rate: gates::rate(k.input("a_log", Scalar::F32, &[heads]).load(head)),
            dt_bias: has_bias.then(|| k.input("dt_bias", Scalar::F32, &[heads, channels]).at(head)),
        });
        ChunkGates { given: given.pick(1, head), raw }
    }

    /// Those of the rows that `part` takes.
    pub(crate) fn of_chunk(&self, part: impl Fn(&View<'k>) -> View<'k>) -> ChunkGates<'k> {
        ChunkGates { given: part(&self.given), raw: self.raw.clone() }
    }

    /// Log decays in nats of `lanes` neighbouring channels of a row.
    #[track_caller]
    pub(crate) fn log_decay(&self, row: Expr<'k>, channel: Expr<'k>, lanes: u8) -> Expr<'k> {
        let given = self.given.load_vector([row, channel], lanes);
        let Some(raw) = &self.raw else { return given };
        let biased = match &raw.dt_bias {
            Some(bias) => given + bias.load_vector(channel, lanes),
            None => given,
        };
        let mut decays = Vec::with_capacity(usize::from(lanes));
        for x in biased.elements() {
            decays.push(gates::log_decay(raw.gate, x, raw.rate));
        }
        given.builder().pack(&decays)
    }
}
