//! Gates of a chunk's rows: log decays as given, or made from raw gates.

use dsl::ir::{Access, Scalar};
use dsl::{Expr, KernelBuilder, View};
use specs::chunk::{ChunkGate, DecayForm};
use specs::{Gate, KdaTileSpec};

use super::dtype;
use super::layout::{HeadRows, Places, Tensor};
use super::status::Status;
use crate::gates;

/// The gates of one value head.
#[derive(Clone)]
pub(crate) struct ChunkGates<'k> {
    /// Log decays in nats, or raw gates: rows of K, or of one where a head has one gate.
    pub given: HeadRows<'k>,
    raw: Option<Raw<'k>>,
    /// Whether a gate may be anything at most 0.
    unbounded: bool,
}

/// The least log decay in nats that counts where gates are unbounded: its decay is 0 in f32, and sums of it stay finite,
/// so that their differences are numbers.
const LEAST: f32 = -128.0;

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
        places: &Places<'k>,
        head: Expr<'k>,
    ) -> ChunkGates<'k> {
        let common = &spec.common;
        let heads = common.value_heads;
        let channels = if common.per_channel_gate() { common.head_k } else { 1 };
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
        let (name, elem) = if is_raw { ("g_raw", dtype(common.dtype)) } else { ("g", Scalar::F32) };
        let access = (elem, Access::ReadOnly);
        let given = places.tensor(k, (Tensor::G, name), access, (heads, head), channels);
        let raw = is_raw.then(|| Raw {
            gate,
            rate: gates::rate(k.input("a_log", Scalar::F32, &[Some(heads)]).load(head)),
            dt_bias: has_bias
                .then(|| k.input("dt_bias", Scalar::F32, &[Some(heads), Some(channels)]).at(head)),
        });
        ChunkGates { given, raw, unbounded: spec.tile.decay != DecayForm::FixedOffset }
    }

    /// Whether gates are raw: then those of rows that do not exist give a decay too, which no one may use.
    pub(crate) fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// What is added to a vector of raw gates from `channel` on, where there is a bias.
    #[track_caller]
    pub(crate) fn bias(&self, channel: Expr<'k>, lanes: u8) -> Option<Expr<'k>> {
        let bias = self.raw.as_ref()?.dt_bias.as_ref()?;
        Some(bias.load_vector(channel, lanes))
    }

    /// Log decays in nats of what was loaded of [`ChunkGates::given`] from `channel` on, vector by vector.
    #[track_caller]
    pub(crate) fn log_decays(
        &self,
        given: &[Expr<'k>],
        channel: Expr<'k>,
        status: &Status<'k>,
    ) -> Vec<Expr<'k>> {
        let wide: Vec<_> = given.iter().map(|given| given.widen()).collect();
        wide.iter().for_each(|given| status.input(*given));
        let (Some(raw), Some(first)) = (&self.raw, wide.first()) else {
            return self.floored(wide);
        };
        let (k, lanes) = (first.builder(), first.ty().lanes());
        let bias = self.bias(channel, lanes);
        if let Some(bias) = bias {
            status.input(bias);
        }
        let mut decays = Vec::with_capacity(wide.len());
        for given in wide {
            let biased = bias.map_or(given, |bias| given + bias);
            let each = biased.elements().into_iter();
            let each: Vec<_> = each.map(|x| gates::log_decay(raw.gate, x, raw.rate)).collect();
            decays.push(k.pack(&each));
        }
        self.floored(decays)
    }

    fn floored(&self, decays: Vec<Expr<'k>>) -> Vec<Expr<'k>> {
        if !self.unbounded {
            return decays;
        }
        let floor = |decay: Expr<'k>| {
            let k = decay.builder();
            let each = decay.elements().into_iter();
            let each = each.map(|x| x.lt(LEAST).select(k.f32(LEAST), x));
            k.pack(&each.collect::<Vec<_>>())
        };
        decays.into_iter().map(floor).collect()
    }
}
