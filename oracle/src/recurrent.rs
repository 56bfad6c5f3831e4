//! The recurrent kernel: contract and limits of its outputs. The float64 reference is
//! [`prefill::serial`](crate::prefill::serial)'s.

use specs::{Dtype, PrefillProblem, RecurrentSpec, Reduction, packed};

use crate::decode_step::{self, put_gate, take_gate};
use crate::measure::{F32_UNIT_ROUNDOFF, Verdict, judge};
use crate::prefill::{Beta, Layouts, Outputs, Problem, serial};
use crate::tensors::{Take, Tensors, put};
use crate::{DeltaShape, GateInput, OracleError, Stored, twin};

/// One problem of one recurrent kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Tensors of packed sequences: a batch of 1 with their ends.
    pub problem: Problem,
    /// The order in which the kernel sums over K.
    pub reduction: Reduction,
    /// Whether the final state is stored.
    pub final_state: bool,
}

/// Dimensions of a problem.
pub(crate) fn shape(spec: &RecurrentSpec, problem: &PrefillProblem) -> DeltaShape {
    let tokens = usize::try_from(problem.tokens()).unwrap_or(usize::MAX);
    DeltaShape { tokens, ..DeltaShape::of_decode_step(&spec.step, 1) }
}

impl Case {
    /// The problem whose input tensors are these, under the names of the kernel's arguments.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor that is missing or has the wrong length.
    pub fn from_tensors(
        spec: &RecurrentSpec,
        problem: &PrefillProblem,
        tensors: &Tensors,
    ) -> Result<Case, OracleError> {
        let (shape, step, take) = (shape(spec, problem), &spec.step, Take::new(tensors));
        let ends = packed::sequence_ends(&problem.lengths);
        let problem = Problem {
            layouts: Layouts::token_major(&shape),
            cu_seqlens: Some(ends.into_iter().map(i64::from).collect()),
            q: take.floats("q", step.dtype)?,
            k: take.floats("k", step.dtype)?,
            v: take.floats("v", step.dtype)?,
            beta: Beta::Given(take.floats("beta", step.dtype)?),
            gate: take_gate(step, &take)?,
            l2_norm: false,
            initial_state: spec.initial_state.then(|| take.f32s("state")).transpose()?,
            scale: problem.scale,
            shape,
        };
        problem.check()?;
        Ok(Case { problem, reduction: step.reduction, final_state: spec.final_state })
    }

    /// The input tensors, initial states and ends included, under the names of the kernel's arguments.
    pub fn tensors(&self) -> Tensors {
        let Problem { q, k, v, beta, gate, initial_state, cu_seqlens, .. } = &self.problem;
        let mut tensors = Tensors::new();
        put(&mut tensors, "q", q.to_le_bytes());
        put(&mut tensors, "k", k.to_le_bytes());
        put(&mut tensors, "v", v.to_le_bytes());
        put(&mut tensors, "beta", beta.stored().to_le_bytes());
        put_gate(&mut tensors, gate);
        let ends = cu_seqlens.iter().flatten().flat_map(|end| (*end as i32).to_le_bytes());
        put(&mut tensors, "cu_seqlens", ends.collect());
        if let Some(state) = initial_state {
            put(&mut tensors, "state", Stored::F32(state.clone()).to_le_bytes());
        }
        tensors
    }

    /// The float64 outputs.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem.
    pub fn reference(&self) -> Result<Outputs, OracleError> {
        serial::run(&self.problem)
    }

    /// What the kernel must write, bit for bit, under the names of its arguments.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem of this kernel.
    pub fn twin(&self) -> Result<Tensors, OracleError> {
        let outputs = twin::recurrent::run(&self.problem, self.reduction)?;
        let mut tensors = Tensors::new();
        put(&mut tensors, "o", outputs.o.to_le_bytes());
        if self.final_state {
            put(&mut tensors, "next_state", Stored::F32(outputs.state).to_le_bytes());
        }
        Ok(tensors)
    }

    /// Judges what a kernel wrote: `next_state`, where it stores one, and `o`.
    ///
    /// # Errors
    /// [`OracleError`] when an output is missing or has no whole elements, or the case is no problem.
    pub fn judge(&self, outputs: &Tensors) -> Result<Vec<(&'static str, Verdict)>, OracleError> {
        let reference = self.reference()?;
        let mut verdicts = Vec::new();
        if self.final_state {
            let verdict = self.judge_against("next_state", outputs, &reference.state)?;
            verdicts.push(("next_state", verdict));
        }
        verdicts.push(("o", self.judge_against("o", outputs, &reference.o)?));
        Ok(verdicts)
    }

    /// Judges one output against a reference from elsewhere, by the same limits.
    ///
    /// # Errors
    /// [`OracleError`] when the output is missing or has no whole elements.
    pub fn judge_against(
        &self,
        output: &str,
        outputs: &Tensors,
        reference: &[f64],
    ) -> Result<Verdict, OracleError> {
        let (take, dtype) = (Take::new(outputs), self.problem.v.dtype());
        Ok(match output == "o" {
            true => {
                let limit = |floor| self.output_limit(dtype, floor);
                judge(&take.floats("o", dtype)?, reference, limit)
            }
            false => {
                let state = take.floats("next_state", Dtype::F32)?;
                judge(&state, reference, |_| self.state_limit())
            }
        })
    }

    /// `rmse_ratio` that a final state may have, f32: a decode step's limit, or what many tokens add up to.
    ///
    /// Each token adds the roundings of its decay and its update, 0.6 unit roundoffs together, which add like
    /// independent errors for as long as the state remembers them. They add to a step's error with log decays given:
    /// what raw gates add to that needs large rates, and then a state forgets within a token or two.
    pub fn state_limit(&self) -> f64 {
        let step = decode_step::state_limit(&GateInput::LogDecay(Vec::new()));
        decode_step::state_limit(&self.problem.gate).max(self.accumulated(step))
    }

    /// `rmse_ratio` that o may have: a decode step's limit, or in f32 what the states of many tokens add to it.
    pub fn output_limit(&self, dtype: Dtype, floor: f64) -> f64 {
        let Problem { shape, gate, .. } = &self.problem;
        let of =
            |gate: &GateInput| decode_step::output_limit(shape, gate, self.reduction, dtype, floor);
        match dtype {
            Dtype::F32 => of(gate).max(self.accumulated(of(&GateInput::LogDecay(Vec::new())))),
            Dtype::Bf16 | Dtype::F16 => of(gate),
        }
    }

    fn accumulated(&self, step: f64) -> f64 {
        let token = 0.6 * F32_UNIT_ROUNDOFF;
        (step * step + token * token * (self.remembered_tokens() - 1.0).max(0.0)).sqrt()
    }

    /// Tokens whose roundings a state holds at once, without decay: all of the longest sequence, but no more than the
    /// delta rule's own forgetting leaves. A token of step size β takes away the share 1 − (1 − β)² of what lies along
    /// its key, one of K directions.
    fn remembered_tokens(&self) -> f64 {
        let ends = self.problem.cu_seqlens.iter().flat_map(|ends| ends.windows(2));
        let longest = ends.map(|pair| (pair[1] - pair[0]) as f64).fold(0.0, f64::max);
        let steps = self.problem.beta.stored().to_f64();
        let forgotten: f64 = steps.iter().map(|beta| beta * (2.0 - beta)).sum();
        let share = forgotten / (steps.len().max(1) * self.problem.shape.head_k) as f64;
        if share > 0.0 { longest.min(1.0 / share) } else { longest }
    }
}
