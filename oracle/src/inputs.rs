//! Seeded input tensors, the same bits on every host: integer arithmetic and IEEE operations only.
//!
//! Every tensor has a stream of its own, made from the seed and the tensor's name, so that asking for
//! one more tensor changes no other.

mod attention;
mod packed;
mod prefill;

use specs::{
    ConvStepProblem, ConvStepSpec, DecodeStepProblem, DecodeStepSpec, Dtype, StateContract,
};

use crate::delta_rule::{Inputs, State};
use crate::{DeltaShape, GateInput, RawGate, Stored, conv_step, decode_step};

pub use attention::attention;
pub use packed::{conv_chunk, recurrent};
pub use prefill::{GatePattern, PrefillGates, PrefillSample, prefill, prefill_case};

/// Which tensors to generate for a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sample {
    /// How strongly states decay; without effect on kernels that have no gates.
    pub gates: GateRange,
    /// Chooses the numbers.
    pub seed: u64,
}

/// How strongly states decay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateRange {
    /// g = 0: the plain delta rule.
    Zero,
    /// g in [−0.1, 0): a sign error shows.
    Weak,
    /// As trained models have them: rates exp(A_log) up to 16, most steps small.
    Trained,
    /// g in (−20, 0], every magnitude.
    Mixed,
    /// g in [−20, 0), evenly: hardly any state survives.
    Strong,
}

impl GateRange {
    /// Every range.
    pub const ALL: [GateRange; 5] =
        [GateRange::Zero, GateRange::Weak, GateRange::Trained, GateRange::Mixed, GateRange::Strong];

    /// A log decay in nats.
    fn log_decay(self, random: &mut Random) -> f64 {
        let u = random.uniform();
        match self {
            GateRange::Zero => 0.0,
            GateRange::Weak => -0.1 * (1.0 - u),
            GateRange::Trained => -1.6 * u * u,
            GateRange::Mixed => -20.0 * (u * u) * (u * u),
            GateRange::Strong => -20.0 * (1.0 - u),
        }
    }

    /// Bounds of A_log and of dt_bias, and the mean of g_raw, that give such decays.
    fn raw(self) -> RawRange {
        let (a_log, dt_bias, g_raw_mean) = match self {
            GateRange::Zero => ((1.0, 2.0), (-1.0, 0.0), -104.0),
            GateRange::Weak => ((-3.0, -2.0), (-1.0, 0.0), -1.0),
            GateRange::Trained => ((2.0, 2.77), (-7.0, -2.0), 0.0),
            GateRange::Mixed => ((-3.0, 2.75), (-3.0, 1.0), 0.0),
            GateRange::Strong => ((1.0, 2.0), (0.0, 1.0), 1.0),
        };
        RawRange { a_log, dt_bias, g_raw_mean }
    }
}

struct RawRange {
    a_log: (f64, f64),
    dt_bias: (f64, f64),
    g_raw_mean: f64,
}

/// Tensors for a decode kernel: q and k of unit length a head, v and states N(0, 1), β in (0, 1),
/// and the problem's scale.
///
/// With a pool, slots are drawn without repetition, each third sequence from the second on (and those
/// for which the pool has no slot) has none, and slots that no sequence owns hold NaN.
pub fn decode_step(
    spec: &DecodeStepSpec,
    problem: &DecodeStepProblem,
    sample: &Sample,
) -> decode_step::Case {
    let shape = DeltaShape::of_decode_step(spec, problem.batch as usize);
    let make = Generator { seed: sample.seed, dtype: spec.dtype };
    let inputs = Inputs {
        q: make.unit_rows("q", shape.qk_len(), shape.head_k),
        k: make.unit_rows("k", shape.qk_len(), shape.head_k),
        v: make.normal("v", shape.v_len(), 0.0),
        beta: make.uniform("beta", shape.beta_len(), (0.01, 0.99)),
        gate: make.gate(&shape, spec.gate, sample.gates),
        state: make.state(&shape, spec.state_contract, problem.pool_slots),
        scale: problem.scale,
    };
    decode_step::Case { shape, inputs, reduction: spec.reduction }
}

/// Tensors for a conv kernel: x, history and bias N(0, 1), weights uniform in (−1, 1) / √W.
pub fn conv_step(
    spec: &ConvStepSpec,
    problem: &ConvStepProblem,
    sample: &Sample,
) -> conv_step::Case {
    let shape = conv_step::Shape::of(spec, problem.batch as usize);
    let make = Generator { seed: sample.seed, dtype: spec.dtype };
    conv_step::Case { shape, inputs: make.conv(spec, &shape, shape.batch) }
}

/// Makes the tensors of one problem.
struct Generator {
    seed: u64,
    dtype: Dtype,
}

impl Generator {
    fn random(&self, name: &str) -> Random {
        Random::new(self.seed, name)
    }

    fn normal(&self, name: &str, len: usize, mean: f64) -> Stored {
        let mut random = self.random(name);
        Stored::round(self.dtype, (0..len).map(|_| mean + random.normal()))
    }

    fn uniform(&self, name: &str, len: usize, bounds: (f64, f64)) -> Stored {
        let mut random = self.random(name);
        Stored::round(self.dtype, (0..len).map(|_| random.between(bounds)))
    }

    /// `rows` rows of x, and histories of the shape's batch.
    fn conv(
        &self,
        spec: &ConvStepSpec,
        shape: &conv_step::Shape,
        rows: usize,
    ) -> conv_step::Inputs {
        let bound = 1.0 / (shape.width as f64).sqrt();
        let weights = shape.channels * shape.width;
        let history = || self.normal("history", shape.history_len(), 0.0);
        conv_step::Inputs {
            x: self.normal("x", rows * shape.channels, 0.0),
            weight: self.uniform("weight", weights, (-bound, bound)),
            bias: spec.bias.then(|| self.normal("bias", shape.channels, 0.0)),
            history: (shape.width > 1).then(history),
        }
    }

    /// Rows of `row` normal values, scaled to length 1.
    fn unit_rows(&self, name: &str, len: usize, row: usize) -> Stored {
        let mut random = self.random(name);
        let mut values: Vec<f64> = (0..len).map(|_| random.normal()).collect();
        for row in values.chunks_mut(row) {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
            row.iter_mut().for_each(|x| *x /= length);
        }
        Stored::round(self.dtype, values)
    }

    fn gate(&self, shape: &DeltaShape, gate: specs::Gate, range: GateRange) -> GateInput {
        match gate {
            specs::Gate::LogDecay => {
                let mut random = self.random("g");
                let decays = (0..shape.gate_len()).map(|_| range.log_decay(&mut random) as f32);
                GateInput::LogDecay(decays.collect())
            }
            specs::Gate::Softplus => GateInput::Softplus(self.raw_gate(shape, range.raw())),
            specs::Gate::BoundedSigmoid { lower_bound_nats } => {
                let raw = self.raw_gate(shape, range.raw());
                GateInput::BoundedSigmoid { raw, lower_bound_nats }
            }
        }
    }

    fn raw_gate(&self, shape: &DeltaShape, range: RawRange) -> RawGate {
        let f32s = |name: &str, len: usize, bounds| {
            let mut random = self.random(name);
            (0..len).map(|_| random.between(bounds) as f32).collect()
        };
        RawGate {
            g_raw: self.normal("g_raw", shape.gate_len(), range.g_raw_mean),
            a_log: f32s("a_log", shape.value_heads, range.a_log),
            dt_bias: f32s("dt_bias", shape.value_heads * shape.gate_channels(), range.dt_bias),
        }
    }

    fn state(&self, shape: &DeltaShape, contract: StateContract, pool_slots: Option<u32>) -> State {
        let mut random = self.random("state");
        let mut rows = |rows: usize| -> Vec<f32> {
            (0..rows * shape.state_row_len()).map(|_| random.normal() as f32).collect()
        };
        match contract {
            StateContract::Separate => State::Separate(rows(shape.batch)),
            StateContract::PoolInPlace { sentinel } => {
                let pool_slots = pool_slots.unwrap_or_default();
                let slots = self.slots(shape.batch, pool_slots, sentinel);
                let mut pool = rows(pool_slots as usize);
                for (slot, row) in pool.chunks_mut(shape.state_row_len()).enumerate() {
                    if !slots.iter().any(|&s| s != sentinel && usize::try_from(s) == Ok(slot)) {
                        row.fill(f32::NAN);
                    }
                }
                State::Pool { pool, slots, sentinel }
            }
        }
    }

    /// One slot a sequence, in no order; sequences 1, 4, 7, … have none, and none has a slot whose
    /// index is the sentinel.
    fn slots(&self, batch: usize, pool_slots: u32, sentinel: i32) -> Vec<i32> {
        let mut random = self.random("slots");
        let all = 0..i32::try_from(pool_slots).unwrap_or(i32::MAX);
        let mut slots: Vec<i32> = all.filter(|slot| *slot != sentinel).collect();
        for last in (1..slots.len()).rev() {
            slots.swap(last, random.below(last + 1));
        }
        slots.resize(batch, sentinel);
        slots.iter_mut().skip(1).step_by(3).for_each(|slot| *slot = sentinel);
        slots
    }
}

/// The splitmix64 generator (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
struct Random {
    state: u64,
}

impl Random {
    /// The stream of one tensor; its name is folded in by FNV-1a.
    fn new(seed: u64, name: &str) -> Random {
        let fold =
            |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        let name = name.bytes().fold(0xCBF2_9CE4_8422_2325, fold);
        let mut random = Random { state: seed };
        Random { state: random.next() ^ name }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Uniform in [0, 1), a multiple of 2^−53.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Nearly N(0, 1): twelve uniforms less their mean, within ±6.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Uniform below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        (self.uniform() * bound as f64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_fixed() {
        // The first outputs of splitmix64 from state 0, as its authors' reference code gives them.
        let mut random = Random { state: 0 };
        let first = [random.next(), random.next(), random.next()];
        assert_eq!(first, [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
        assert_ne!(Random::new(1, "q").next(), Random::new(1, "k").next());
        assert_ne!(Random::new(1, "q").next(), Random::new(2, "q").next());
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut random = Random::new(7, "v");
        let draws: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
    }

    #[test]
    fn slots_are_distinct_and_some_are_missing() {
        for sentinel in [-1, 0, 3] {
            let make = Generator { seed: 5, dtype: Dtype::F32 };
            let slots = make.slots(8, 10, sentinel);
            let mut live: Vec<i32> = slots.iter().copied().filter(|s| *s != sentinel).collect();
            assert_eq!(
                (slots[1], slots[4], slots[7], live.len()),
                (sentinel, sentinel, sentinel, 5)
            );
            live.sort_unstable();
            live.dedup();
            assert!(live.len() == 5 && live.iter().all(|s| (0..10).contains(s)));
        }
    }
}
