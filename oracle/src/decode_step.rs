//! The decode step: contract, float64 reference and limits of its outputs.
//!
//! The recurrence is [`delta_rule`](crate::delta_rule)'s, for one token. A sequence whose slot is the
//! sentinel has no state: its row of o is zeros, and no state that no live sequence owns may change.

use specs::{DecodeStepProblem, DecodeStepSpec, Dtype, Reduction, StateContract};

use crate::delta_rule::{Inputs, Outputs, State, token_serial};
use crate::measure::{F32_UNIT_ROUNDOFF, Verdict, judge, narrow_limit};
use crate::tensors::{Take, Tensors, put};
use crate::{DeltaShape, GateInput, OracleError, RawGate, Stored, twin};

/// One problem of one decode kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Dimensions; one token.
    pub shape: DeltaShape,
    /// Input tensors and states.
    pub inputs: Inputs,
    /// The order in which the kernel sums over K.
    pub reduction: Reduction,
}

impl Case {
    /// The problem whose input tensors are these, under the names of the kernel's arguments.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor that is missing or has the wrong length.
    pub fn from_tensors(
        spec: &DecodeStepSpec,
        problem: &DecodeStepProblem,
        tensors: &Tensors,
    ) -> Result<Case, OracleError> {
        let shape = DeltaShape::of_decode_step(spec, problem.batch as usize);
        let take = Take::new(tensors);
        let inputs = Inputs {
            q: take.floats("q", spec.dtype)?,
            k: take.floats("k", spec.dtype)?,
            v: take.floats("v", spec.dtype)?,
            beta: take.floats("beta", spec.dtype)?,
            gate: take_gate(spec, &take)?,
            state: take_state(spec, &take)?,
            scale: problem.scale,
        };
        inputs.check(&shape)?;
        Ok(Case { shape, inputs, reduction: spec.reduction })
    }

    /// The input tensors, initial states included, under the names of the kernel's arguments.
    pub fn tensors(&self) -> Tensors {
        let inputs = &self.inputs;
        let mut tensors = Tensors::new();
        put(&mut tensors, "q", inputs.q.to_le_bytes());
        put(&mut tensors, "k", inputs.k.to_le_bytes());
        put(&mut tensors, "v", inputs.v.to_le_bytes());
        put(&mut tensors, "beta", inputs.beta.to_le_bytes());
        put_gate(&mut tensors, &inputs.gate);
        match &inputs.state {
            State::Separate(values) => put(&mut tensors, "state", f32_bytes(values)),
            State::Pool { pool, slots, .. } => {
                put(&mut tensors, "pool", f32_bytes(pool));
                put(&mut tensors, "slots", slots.iter().flat_map(|s| s.to_le_bytes()).collect());
            }
        }
        tensors
    }

    /// The float64 outputs.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one decode step.
    pub fn reference(&self) -> Result<Outputs, OracleError> {
        match self.shape.tokens {
            1 => token_serial(&self.shape, &self.inputs),
            got => Err(OracleError::Dimension { field: "tokens", got, limit: "1" }),
        }
    }

    /// What the kernel must write, bit for bit, under the names of its arguments.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one decode step of this kernel.
    pub fn twin(&self) -> Result<Tensors, OracleError> {
        let outputs = twin::decode_step::run(&self.shape, &self.inputs, self.reduction)?;
        let mut tensors = Tensors::new();
        put(&mut tensors, "o", outputs.o.to_le_bytes());
        put(&mut tensors, self.state_name(), f32_bytes(&outputs.state));
        Ok(tensors)
    }

    /// Judges what a kernel wrote: `next_state` or `pool`, and `o`.
    ///
    /// # Errors
    /// [`OracleError`] when an output is missing or has no whole elements, or the case is no problem.
    pub fn judge(&self, outputs: &Tensors) -> Result<Vec<(&'static str, Verdict)>, OracleError> {
        let reference = self.reference()?;
        let take = Take::new(outputs);
        let o = take.floats("o", self.inputs.v.dtype())?;
        let state = take.floats(self.state_name(), Dtype::F32)?;
        let mut o_verdict = self.judge_o(&o, &reference.o);
        let mut state_verdict = self.judge_state(&state, &reference.state);
        if let Some(reason) = self.sentinel_row_not_zero(&o) {
            o_verdict.fail(reason);
        }
        if let Some(reason) = self.foreign_slot_changed(&state) {
            state_verdict.fail(reason);
        }
        Ok(vec![(self.state_name(), state_verdict), ("o", o_verdict)])
    }

    /// Judges one output against a reference from elsewhere, by the same limits.
    ///
    /// # Errors
    /// [`OracleError`] when the output is none of this kernel, missing or has no whole elements.
    pub fn judge_against(
        &self,
        output: &str,
        outputs: &Tensors,
        reference: &[f64],
    ) -> Result<Verdict, OracleError> {
        let take = Take::new(outputs);
        match output == "o" {
            true => Ok(self.judge_o(&take.floats("o", self.inputs.v.dtype())?, reference)),
            false => {
                let state = take.floats(self.state_name(), Dtype::F32)?;
                Ok(self.judge_state(&state, reference))
            }
        }
    }

    fn judge_o(&self, o: &Stored, reference: &[f64]) -> Verdict {
        let (gate, dtype) = (&self.inputs.gate, o.dtype());
        let limit = |floor| output_limit(&self.shape, gate, self.reduction, dtype, floor);
        judge(o, reference, limit)
    }

    fn judge_state(&self, state: &Stored, reference: &[f64]) -> Verdict {
        judge(state, reference, |_| state_limit(&self.inputs.gate))
    }

    fn state_name(&self) -> &'static str {
        match self.inputs.state {
            State::Separate(_) => "next_state",
            State::Pool { .. } => "pool",
        }
    }

    fn sentinel_row_not_zero(&self, o: &Stored) -> Option<String> {
        let row_len = self.shape.value_heads * self.shape.head_v;
        let absent = |b: &usize| self.inputs.state.row(*b).is_none();
        let mut elements =
            (0..self.shape.batch).filter(absent).flat_map(|b| b * row_len..(b + 1) * row_len);
        let index = elements.find(|index| *index < o.len() && o.f32_at(*index) != 0.0)?;
        let row = index / row_len;
        Some(format!(
            "row {row} has no sequence, so its element {index} must be 0, not {}",
            o.f32_at(index)
        ))
    }

    fn foreign_slot_changed(&self, state: &Stored) -> Option<String> {
        let live: Vec<usize> =
            (0..self.shape.batch).filter_map(|b| self.inputs.state.row(b)).collect();
        let before = self.inputs.state.values();
        let row_len = self.shape.state_row_len();
        let changed = |index: &usize| {
            let bits = |x: f32| x.to_bits();
            !live.contains(&(index / row_len)) && bits(before[*index]) != bits(state.f32_at(*index))
        };
        let index = (0..before.len().min(state.len())).find(changed)?;
        Some(format!("no sequence owns slot {}, but its element {index} changed", index / row_len))
    }
}

/// `rmse_ratio` that a state may have, f32.
///
/// With log decays given, each element is one product, one exponential and one fused update: 2.5
/// unit roundoffs, 1.5e-7. Raw gates add the rounding of the activation's argument, which the rate
/// exp(A_log) multiplies: 5 unit roundoffs, 3e-7.
pub fn state_limit(gate: &GateInput) -> f64 {
    match gate {
        GateInput::LogDecay(_) => 2.5 * F32_UNIT_ROUNDOFF,
        GateInput::Softplus(_) | GateInput::BoundedSigmoid { .. } => 5.0 * F32_UNIT_ROUNDOFF,
    }
}

/// `rmse_ratio` that o may have. In f32: the state's error as the readout sees it (3 unit roundoffs,
/// 9 with raw gates), and the roundings of the longest run of dependent sums over K, which add like
/// independent errors. In bf16 and f16: the floor, and 5 % for values near the middle of two.
pub fn output_limit(
    shape: &DeltaShape,
    gate: &GateInput,
    reduction: Reduction,
    dtype: Dtype,
    floor: f64,
) -> f64 {
    let state: f64 = match gate {
        GateInput::LogDecay(_) => 3.0,
        GateInput::Softplus(_) | GateInput::BoundedSigmoid { .. } => 9.0,
    };
    let run = match reduction {
        Reduction::Serial => shape.head_k as f64,
        Reduction::LaneTree { k_lanes } => {
            shape.head_k as f64 / f64::from(k_lanes) + f64::from(k_lanes.trailing_zeros())
        }
    };
    match dtype {
        Dtype::F32 => F32_UNIT_ROUNDOFF * (state * state + run / 6.0).sqrt(),
        Dtype::Bf16 | Dtype::F16 => narrow_limit(floor),
    }
}

pub(crate) fn put_gate(tensors: &mut Tensors, gate: &GateInput) {
    match gate {
        GateInput::LogDecay(g) => put(tensors, "g", f32_bytes(g)),
        GateInput::Softplus(raw) | GateInput::BoundedSigmoid { raw, .. } => {
            put(tensors, "g_raw", raw.g_raw.to_le_bytes());
            put(tensors, "a_log", f32_bytes(&raw.a_log));
            put(tensors, "dt_bias", f32_bytes(&raw.dt_bias));
        }
    }
}

pub(crate) fn take_gate(spec: &DecodeStepSpec, take: &Take<'_>) -> Result<GateInput, OracleError> {
    let raw = || {
        let (g_raw, a_log) = (take.floats("g_raw", spec.dtype)?, take.f32s("a_log")?);
        Ok(RawGate { g_raw, a_log, dt_bias: take.f32s("dt_bias")? })
    };
    Ok(match spec.gate {
        specs::Gate::LogDecay => GateInput::LogDecay(take.f32s("g")?),
        specs::Gate::Softplus => GateInput::Softplus(raw()?),
        specs::Gate::BoundedSigmoid { lower_bound_nats } => {
            GateInput::BoundedSigmoid { raw: raw()?, lower_bound_nats }
        }
    })
}

fn take_state(spec: &DecodeStepSpec, take: &Take<'_>) -> Result<State, OracleError> {
    Ok(match spec.state_contract {
        StateContract::Separate => State::Separate(take.f32s("state")?),
        StateContract::PoolInPlace { sentinel } => {
            State::Pool { pool: take.f32s("pool")?, slots: take.i32s("slots")?, sentinel }
        }
    })
}

fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}
