//! Tensors for prefill problems.

use specs::chunk::{BetaForm, ChunkGate};
use specs::{Dtype, Gate, PrefillProblem};

use super::{GateRange, Generator, Random, Sample};
use crate::prefill::case::{ends, has_bias};
use crate::prefill::{Beta, Case, Kernels, Layouts, Placement, Problem};
use crate::{DeltaShape, GateInput};

/// Which tensors to generate for a prefill problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefillSample {
    /// How strongly the state decays.
    pub gates: PrefillGates,
    /// Bounds of the step sizes, used as given.
    pub beta: (f64, f64),
    /// Whether there are initial states.
    pub initial_state: bool,
    /// Chooses the numbers.
    pub seed: u64,
}

/// How strongly the state of a prefill problem decays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PrefillGates {
    /// Given log decays.
    Given(GatePattern),
    /// Raw tensors of a gate kind, in a range; [`specs::Gate::LogDecay`] gives log decays in it.
    Raw(specs::Gate, GateRange),
}

/// Log decays around one number of nats a token, at most 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GatePattern {
    /// Exactly this everywhere.
    Constant(f64),
    /// Evenly between this and 0.
    Random(f64),
    /// This in every other channel (or head, where a head has one gate), a hundredth of it in the rest.
    Split(f64),
}

impl GatePattern {
    fn log_decay(self, column: usize, random: &mut Random) -> f64 {
        let u = random.uniform();
        match self {
            GatePattern::Constant(nats) => nats,
            GatePattern::Random(nats) => nats * u,
            GatePattern::Split(nats) if column.is_multiple_of(2) => nats,
            GatePattern::Split(nats) => 0.01 * nats,
        }
    }
}

/// Tensors for a prefill problem in `dtype`, token-major, without norm: q and k of unit length a head,
/// v and initial states N(0, 1), a scale of K^(−1/2).
pub fn prefill(
    shape: DeltaShape,
    cu_seqlens: Option<Vec<i64>>,
    dtype: Dtype,
    sample: &PrefillSample,
) -> Problem {
    let make = Generator { seed: sample.seed, dtype };
    let columns = shape.value_heads * shape.gate_channels();
    let gate = match sample.gates {
        PrefillGates::Raw(gate, range) => make.gate(&shape, gate, range),
        PrefillGates::Given(pattern) => {
            let mut random = make.random("g");
            let at = |index| pattern.log_decay(index % columns, &mut random) as f32;
            GateInput::LogDecay((0..shape.gate_len()).map(at).collect())
        }
    };
    let mut problem = Problem {
        layouts: Layouts::token_major(&shape),
        q: make.unit_rows("q", shape.qk_len(), shape.head_k),
        k: make.unit_rows("k", shape.qk_len(), shape.head_k),
        v: make.normal("v", shape.v_len(), 0.0),
        beta: Beta::Given(make.uniform("beta", shape.beta_len(), sample.beta)),
        gate,
        l2_norm: false,
        initial_state: None,
        scale: 1.0 / (shape.head_k as f32).sqrt(),
        cu_seqlens,
        shape,
    };
    if sample.initial_state {
        let mut random = make.random("state");
        let states = problem.sequences() * shape.state_row_len();
        problem.initial_state = Some((0..states).map(|_| random.normal() as f32).collect());
    }
    problem
}

/// Least log decay of generated gates where the kernel has none of its own: a scan kernel alone.
const SCAN_LEAST_GATE: f32 = -5.0;

/// Tensors for prefill kernels: q and k of unit length a head, or of many lengths where the kernel norms them; v
/// and states N(0, 1); step sizes in (0, 1), or N(0, 1) before their sigmoid. Given gates stay above the bound that the
/// spec promises.
pub fn prefill_case(kernels: Kernels, problem: &PrefillProblem, sample: &Sample) -> Case {
    let shape = kernels.shape(problem);
    let (gates, bound) = gates_of(&kernels, sample.gates);
    let initial_state = kernels.has_initial_state();
    let of = PrefillSample { gates, beta: (0.01, 0.99), initial_state, seed: sample.seed };
    let mut made = prefill(shape, Some(ends(problem)), kernels.common.dtype, &of);
    made.scale = problem.scale;
    if let (GateInput::LogDecay(g), Some(bound)) = (&mut made.gate, bound) {
        g.iter_mut().for_each(|g| *g = g.max(bound));
    }
    let placement = Placement::of(&kernels, problem);
    let Some(tile) = &kernels.tile else { return Case { kernels, problem: made, placement } };
    if let (GateInput::Softplus(raw) | GateInput::BoundedSigmoid { raw, .. }, false) =
        (&mut made.gate, has_bias(tile.gate))
    {
        raw.dt_bias.fill(0.0);
    }
    let steps = Generator { seed: sample.seed, dtype: tile.beta_dtype };
    let raw = || steps.normal("beta", shape.beta_len(), 0.0);
    made.beta = match tile.beta {
        BetaForm::Given => Beta::Given(steps.uniform("beta", shape.beta_len(), of.beta)),
        BetaForm::Sigmoid => Beta::Sigmoid(raw()),
        BetaForm::TwiceSigmoid => Beta::TwiceSigmoid(raw()),
    };
    if tile.qk_l2norm {
        let make = Generator { seed: sample.seed, dtype: kernels.common.dtype };
        let rows = |name| make.normal(name, shape.qk_len(), 0.0);
        (made.q, made.k, made.l2_norm) = (rows("q"), rows("k"), true);
    }
    Case { kernels, problem: made, placement }
}

/// How gates are made, and what given ones are at least.
fn gates_of(kernels: &Kernels, range: GateRange) -> (PrefillGates, Option<f32>) {
    let (gate, bound) = match kernels.tile.map(|tile| tile.gate) {
        None => (Gate::LogDecay, Some(SCAN_LEAST_GATE)),
        Some(ChunkGate::LogDecayPerHead) => (Gate::LogDecay, None),
        Some(ChunkGate::LogDecayPerChannel { lower_bound_nats }) => {
            (Gate::LogDecay, Some(lower_bound_nats))
        }
        Some(ChunkGate::BoundedSigmoid { lower_bound_nats, .. }) => {
            (Gate::BoundedSigmoid { lower_bound_nats }, None)
        }
        Some(ChunkGate::Softplus { .. }) => (Gate::Softplus, None),
    };
    (PrefillGates::Raw(gate, range), bound)
}
