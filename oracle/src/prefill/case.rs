//! One problem of a prefill kernel, or of a tile and a scan kernel together: tensors under the names of kernel
//! arguments, and the judgement of what the kernels wrote.
//!
//! o and the final state are judged against the token-serial reference, stage tensors against the one that works
//! in chunks. A scan kernel alone is given the latter's stage tensors, rounded as its form stores them.

use specs::chunk::tables::ChunkTables;
use specs::chunk::{BetaForm, ChunkCommon, ChunkGate, DecayForm, ScanPart, TilePart};
use specs::{Dtype, HeadMap, Job, PrefillProblem, Spec, StateLayout};

use super::limits::Limits;
use super::placement::{Gathered, Placement};
use super::stages::{self, Stages};
use super::{Beta, Layouts, Outputs, Problem, serial};
use crate::measure::{Verdict, judge};
use crate::tensors::{Take, Tensors, put};
use crate::{DeltaShape, GateInput, OracleError, RawGate, Stored};

/// One problem of prefill kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is run.
    pub kernels: Kernels,
    /// The problem, its sequences packed and its rows token-major without gaps, wherever the kernels have them.
    pub problem: Problem,
    /// Where the kernels have the rows.
    pub placement: Placement,
}

/// What has to be known of the kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernels {
    /// What they share.
    pub common: ChunkCommon,
    /// How tiles are made, where they are made.
    pub tile: Option<TilePart>,
    /// How the state is carried, where it is carried.
    pub scan: Option<ScanPart>,
}

impl Kernels {
    /// Those of a job of prefill.
    pub fn of(job: &Job) -> Option<Kernels> {
        let Spec::Chunk(lead) = job.lead() else { return None };
        let tile = match job {
            Job::Split(split) => Some(split.tile.tile),
            Job::One(_) => lead.tile().copied(),
        };
        Some(Kernels { common: *lead.common(), tile, scan: lead.scan().copied() })
    }

    /// Dimensions of a problem; what no kernel has is as small as can be.
    pub fn shape(&self, problem: &PrefillProblem) -> DeltaShape {
        let Kernels { common, tile, scan } = self;
        DeltaShape {
            batch: 1,
            tokens: usize::try_from(problem.tokens()).unwrap_or(usize::MAX),
            key_heads: tile.map_or(common.value_heads, |tile| tile.key_heads) as usize,
            value_heads: common.value_heads as usize,
            head_k: common.head_k as usize,
            head_v: scan.map_or(1, |scan| scan.head_v) as usize,
            head_map: tile.map_or(HeadMap::Grouped, |tile| tile.head_map),
            state_layout: scan.map_or(StateLayout::KFirst, |scan| scan.state_layout),
            per_channel_gate: common.per_channel_gate(),
        }
    }

    /// Whether an initial state is an input.
    pub fn has_initial_state(&self) -> bool {
        self.scan.is_some_and(|scan| scan.initial_state)
    }
}

/// Ends of packed sequences.
pub(crate) fn ends(problem: &PrefillProblem) -> Vec<i64> {
    let ends = problem.lengths.iter().scan(0i64, |end, &length| {
        *end += i64::from(length);
        Some(*end)
    });
    [0].into_iter().chain(ends).collect()
}

impl Case {
    /// The problem whose input tensors are these, under the names of the kernels' arguments; rows of tokens are
    /// token-major without gaps, wherever the kernels have them.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor that is missing or has the wrong length, or the first element that
    /// breaks the kernels' contract.
    pub fn from_tensors(
        kernels: Kernels,
        problem: &PrefillProblem,
        tensors: &Tensors,
    ) -> Result<Case, OracleError> {
        let Some(tile) = &kernels.tile else { return Err(OracleError::ScanAlone) };
        let (shape, take, dtype) =
            (kernels.shape(problem), Take::new(tensors), kernels.common.dtype);
        let placement = Placement::of(&kernels, problem);
        let step = take.floats("beta", tile.beta_dtype)?;
        let v = match kernels.scan {
            Some(_) => take.floats("v", dtype)?,
            None => Stored::round(dtype, std::iter::repeat_n(0.0, shape.v_len())),
        };
        let initial = kernels.has_initial_state().then(|| take.f32s("h0"));
        let problem = Problem {
            layouts: Layouts::token_major(&shape),
            cu_seqlens: Some(ends(problem)),
            q: take.floats("q", dtype)?,
            k: take.floats("k", dtype)?,
            v,
            beta: match tile.beta {
                BetaForm::Given => Beta::Given(step),
                BetaForm::Sigmoid => Beta::Sigmoid(step),
                BetaForm::TwiceSigmoid => Beta::TwiceSigmoid(step),
            },
            gate: take_gate(&kernels.common, tile, &shape, &take)?,
            l2_norm: tile.qk_l2norm,
            initial_state: initial.transpose()?,
            scale: problem.scale,
            shape,
        };
        problem.check()?;
        let case = Case { kernels, problem, placement };
        case.check_contract(tile)?;
        Ok(case)
    }

    /// Refuses what the kernels may take for granted: finite numbers, and gates no lower than promised. A NaN would
    /// not stay in its row: masked factors are zeros, and a matrix product of zero and NaN is NaN.
    fn check_contract(&self, tile: &TilePart) -> Result<(), OracleError> {
        let Problem { q, k, v, beta, gate, initial_state, .. } = &self.problem;
        let state = Stored::F32(initial_state.clone().unwrap_or_default());
        let mut tensors =
            vec![("q", q), ("k", k), ("v", v), ("beta", beta.stored()), ("h0", &state)];
        let raw = gate
            .raw()
            .map(|raw| [Stored::F32(raw.a_log.clone()), Stored::F32(raw.dt_bias.clone())]);
        if let (Some(raw), Some([a_log, dt_bias])) = (gate.raw(), &raw) {
            tensors.extend([("g_raw", &raw.g_raw), ("a_log", a_log), ("dt_bias", dt_bias)]);
        }
        tensors.into_iter().try_for_each(|(tensor, values)| all_finite(tensor, values))?;
        // Only anchors at a fixed offset need the range that was promised.
        let bound = tile.gate.lower_bound_nats().filter(|_| tile.decay == DecayForm::FixedOffset);
        let (GateInput::LogDecay(g), Some(bound)) = (gate, bound) else { return Ok(()) };
        match g.iter().position(|&got| got < bound) {
            Some(index) => Err(OracleError::GateBelowBound { index, got: g[index], bound }),
            None => Ok(()),
        }
    }

    /// The input tensors under the names of the kernels' arguments, tables included, rows where the kernels have them.
    ///
    /// # Errors
    /// [`OracleError`] when the case is no problem, where stage tensors are inputs.
    pub fn tensors(&self) -> Result<Tensors, OracleError> {
        let placed = self.placement.of_problem(&self.problem);
        let Problem { q, k, v, beta, gate, initial_state, .. } = placed.as_ref();
        let mut tensors = Tensors::new();
        let [chunks, sequences] = ChunkTables::of(&self.kernels.common, &self.lengths()).bytes();
        let tables = [Some(chunks), self.kernels.scan.map(|_| sequences)];
        tables.into_iter().flatten().for_each(|(name, bytes)| put(&mut tensors, name, bytes));
        if let Some(strides) = self.placement.strides() {
            put(&mut tensors, "strides", strides);
        }
        if let Some(tile) = &self.kernels.tile {
            put(&mut tensors, "q", q.to_le_bytes());
            put(&mut tensors, "k", k.to_le_bytes());
            put(&mut tensors, "beta", beta.stored().to_le_bytes());
            put_gate(&mut tensors, tile, gate);
        } else {
            let stages = Stages::of(&self.problem, self.kernels.common.chunk as usize)?;
            tensors.extend(stages.stored(self.kernels.common.accuracy));
        }
        if self.kernels.scan.is_some() {
            put(&mut tensors, "v", v.to_le_bytes());
        }
        if let Some(state) = initial_state {
            put(&mut tensors, "h0", Stored::F32(state.clone()).to_le_bytes());
        }
        Ok(tensors)
    }

    /// Tokens of every sequence.
    fn lengths(&self) -> Vec<u32> {
        let ends = self.problem.cu_seqlens.as_deref().unwrap_or_default();
        ends.windows(2).map(|pair| u32::try_from(pair[1] - pair[0]).unwrap_or(0)).collect()
    }

    /// The float64 outputs.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem.
    pub fn reference(&self) -> Result<Outputs, OracleError> {
        serial::run(&self.problem)
    }

    /// Judges what the kernels wrote: the stage tensors, each with its low half and A and Aqk below and on their
    /// diagonals apart, then o and the final state.
    ///
    /// # Errors
    /// [`OracleError`] when an output is missing or has no whole elements, or the case is no problem.
    pub fn judge(&self, outputs: &Tensors) -> Result<Vec<(&'static str, Verdict)>, OracleError> {
        let mut verdicts = Vec::new();
        if self.kernels.tile.is_some() && outputs.contains_key("aqk") {
            let accuracy = self.kernels.common.accuracy;
            let want = Stages::of(&self.problem, self.kernels.common.chunk as usize)?;
            verdicts.extend(stages::judge(&want, accuracy, outputs)?);
        }
        if let Some(scan) = &self.kernels.scan {
            let want = self.reference()?;
            verdicts.push(("o", self.judge_against("o", outputs, &want.o)?));
            if scan.final_state {
                verdicts.push(("ht", self.judge_against("ht", outputs, &want.state)?));
            }
        }
        Ok(verdicts)
    }

    /// Judges `o` or `ht` against a reference from elsewhere, by the same limits.
    ///
    /// # Errors
    /// [`OracleError`] when the output is missing or has no whole elements.
    pub fn judge_against(
        &self,
        output: &str,
        outputs: &Tensors,
        reference: &[f64],
    ) -> Result<Verdict, OracleError> {
        let (limits, take) = (Limits::of(self.kernels.common.accuracy.kind()), Take::new(outputs));
        if output != "o" {
            return Ok(judge(&take.floats("ht", Dtype::F32)?, reference, |_| limits.state));
        }
        let written = take.floats("o", self.kernels.common.dtype)?;
        let Gathered { o, between } = self.placement.gathered(written)?;
        let mut verdict = judge(&o, reference, |floor| limits.o.at(floor));
        if let Some(index) = between {
            verdict.fail(format!("element {index}, which lies between rows, was written"));
        }
        Ok(verdict)
    }
}

fn all_finite(tensor: &'static str, values: &Stored) -> Result<(), OracleError> {
    let first = (0..values.len()).find(|&index| !values.f32_at(index).is_finite());
    match first {
        Some(index) => Err(OracleError::NonFinite { tensor, index, got: values.f64_at(index) }),
        None => Ok(()),
    }
}

fn take_gate(
    common: &ChunkCommon,
    tile: &TilePart,
    shape: &DeltaShape,
    take: &Take<'_>,
) -> Result<GateInput, OracleError> {
    let raw = |has_bias: bool| {
        let zeros = vec![0.0; shape.value_heads * shape.gate_channels()];
        Ok(RawGate {
            g_raw: take.floats("g_raw", common.dtype)?,
            a_log: take.f32s("a_log")?,
            dt_bias: if has_bias { take.f32s("dt_bias")? } else { zeros },
        })
    };
    Ok(match tile.gate {
        ChunkGate::LogDecayPerChannel { .. } | ChunkGate::LogDecayPerHead => {
            GateInput::LogDecay(take.f32s("g")?)
        }
        ChunkGate::Softplus { dt_bias } => GateInput::Softplus(raw(dt_bias)?),
        ChunkGate::BoundedSigmoid { lower_bound_nats, dt_bias } => {
            GateInput::BoundedSigmoid { raw: raw(dt_bias)?, lower_bound_nats }
        }
    })
}

fn put_gate(tensors: &mut Tensors, tile: &TilePart, gate: &GateInput) {
    let f32s = |values: &[f32]| Stored::F32(values.to_vec()).to_le_bytes();
    match gate {
        GateInput::LogDecay(g) => put(tensors, "g", f32s(g)),
        GateInput::Softplus(raw) | GateInput::BoundedSigmoid { raw, .. } => {
            put(tensors, "g_raw", raw.g_raw.to_le_bytes());
            put(tensors, "a_log", f32s(&raw.a_log));
            if has_bias(tile.gate) {
                put(tensors, "dt_bias", f32s(&raw.dt_bias));
            }
        }
    }
}

/// Whether a bias is added to raw gates.
pub(crate) fn has_bias(gate: ChunkGate) -> bool {
    match gate {
        ChunkGate::LogDecayPerChannel { .. } | ChunkGate::LogDecayPerHead => false,
        ChunkGate::BoundedSigmoid { dt_bias, .. } | ChunkGate::Softplus { dt_bias } => dt_bias,
    }
}
