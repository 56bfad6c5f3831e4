//! Problems: what a launch chooses freely, beside what the spec fixes.
//!
//! An empty batch is refused: a launch of no workgroups is an error to the driver, and a plan without
//! launches would report success without having touched an output. Whoever has an empty batch skips the
//! step.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::attention::{self, AttentionProblem};
use crate::chunk::problem as prefill;
use crate::chunk::{PrefillProblem, TokenLayout};
use crate::conv_chunk::ConvChunkSpec;
use crate::decode_step::{DecodeStepSpec, StateContract};
use crate::packed::{ConvChunkProblem, length_faults, read_lengths};
use crate::plan::MAX_GRID_YZ;
use crate::spec::Spec;
use crate::suggest::{nearest, shown};

/// What one launch of a spec's kernel chooses.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kernel", rename_all = "snake_case")]
pub enum Problem {
    /// Of a decode step.
    DecodeStep(DecodeStepProblem),
    /// Of a conv step.
    ConvStep(ConvStepProblem),
    /// Of the recurrent kernel, or of chunked prefill.
    Prefill(PrefillProblem),
    /// Of a conv chunk.
    ConvChunk(ConvChunkProblem),
    /// Of an attention kernel.
    Attention(AttentionProblem),
}

/// What one launch of a decode step chooses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DecodeStepProblem {
    /// B: sequences in the batch, 1 to 65,535.
    pub batch: u32,
    /// Slots in the state pool; present exactly with a pool contract.
    pub pool_slots: Option<u32>,
    /// The factor on q; finite.
    pub scale: f32,
}

/// What one launch of a conv step chooses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ConvStepProblem {
    /// B: sequences in the batch, 1 to 65,535.
    pub batch: u32,
}

/// One thing that is wrong with a problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProblemFault {
    /// The parameter it is about, as it was written.
    pub parameter: String,
    /// What was found.
    pub got: String,
    /// What was expected.
    pub expected: String,
    /// What to do.
    pub remedy: String,
    /// Whether the text could not be read at all, rather than being out of its limits.
    pub unreadable: bool,
}

/// Everything that is wrong with a problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InvalidProblem {
    /// At least one fault.
    pub faults: Vec<ProblemFault>,
}

impl fmt::Display for ProblemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProblemFault { parameter, got, expected, remedy, .. } = self;
        write!(f, "problem parameter `{parameter}`: got {got}, expected {expected}; {remedy}")
    }
}

impl fmt::Display for InvalidProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for InvalidProblem {}

impl InvalidProblem {
    /// Whether some of it could not be read at all (wrong usage), rather than being out of its limits.
    pub fn is_unreadable(&self) -> bool {
        self.faults.iter().any(|fault| fault.unreadable)
    }
}

/// Sequences of a pool problem unless said otherwise: enough that generated slots have a sentinel row
/// between live ones.
const DEFAULT_POOL_BATCH: u32 = 3;

/// Tokens of a sequence of the recurrent kernel unless said otherwise: it is for short prompts.
const RECURRENT_TOKENS: u32 = 16;

/// Tokens of a sequence of a conv chunk unless said otherwise: more than one segment, and a tail.
const CONV_TOKENS: u32 = 100;

/// Slots of a pool beyond the batch, so that a default problem leaves some of them untouched.
const SPARE_POOL_SLOTS: u32 = 2;

impl DecodeStepSpec {
    /// The scale of a model that does not say otherwise: K^(−1/2), computed in f64 and rounded once.
    pub fn default_scale(&self) -> f32 {
        prefill::default_scale(self.head_k)
    }
}

impl Problem {
    /// Sequences in the batch.
    pub fn batch(&self) -> u32 {
        match self {
            Problem::DecodeStep(problem) => problem.batch,
            Problem::ConvStep(problem) => problem.batch,
            Problem::Prefill(problem) => problem.sequences(),
            Problem::ConvChunk(problem) => u32::try_from(problem.lengths.len()).unwrap_or(u32::MAX),
            Problem::Attention(problem) => {
                u32::try_from(problem.contexts.len()).unwrap_or(u32::MAX)
            }
        }
    }

    /// Slots in the state pool, if there is one.
    pub fn pool_slots(&self) -> Option<u32> {
        match self {
            Problem::DecodeStep(problem) => problem.pool_slots,
            Problem::ConvStep(_)
            | Problem::Prefill(_)
            | Problem::ConvChunk(_)
            | Problem::Attention(_) => None,
        }
    }

    /// Tokens of every sequence, of problems of many tokens.
    pub fn lengths(&self) -> Option<&[u32]> {
        match self {
            Problem::DecodeStep(_) | Problem::ConvStep(_) => None,
            Problem::Attention(problem) => problem.lengths.as_deref(),
            Problem::Prefill(problem) => Some(&problem.lengths),
            Problem::ConvChunk(problem) => Some(&problem.lengths),
        }
    }

    /// Tokens of all sequences, of problems of many tokens.
    pub fn tokens(&self) -> Option<u64> {
        Some(self.lengths()?.iter().copied().map(u64::from).sum())
    }
}

impl Spec {
    fn has_pool(&self) -> bool {
        matches!(self, Spec::DecodeStep(spec) if spec.pool_sentinel().is_some())
    }

    /// Names of the parameters that a problem of this spec has.
    pub fn problem_parameters(&self) -> &'static [&'static str] {
        match self {
            Spec::DecodeStep(DecodeStepSpec {
                state_contract: StateContract::PoolInPlace { .. },
                ..
            }) => &["batch", "pool_slots", "scale"],
            Spec::DecodeStep(_) => &["batch", "scale"],
            Spec::ConvStep(_) => &["batch"],
            Spec::Chunk(spec) => prefill::parameters(spec.common().varlen, spec.common().layout),
            Spec::Recurrent(_) => prefill::parameters(true, TokenLayout::TokenMajor),
            Spec::ConvChunk(_) => &["batch", "lengths", "tokens"],
            Spec::Attention(_) => attention::PARAMETERS,
            Spec::AttentionChunk(_) => attention::CHUNK_PARAMETERS,
        }
    }

    /// The problem that `key=value` texts describe; what they leave out has its default: batch 1
    /// (3 with a pool, so that a row without a sequence is among them), two more pool slots than sequences, scale K^(−1/2);
    /// of chunked prefill 100 tokens a sequence, and 8 free elements behind every strided row; of attention a context of
    /// 100 tokens, the last 40 of them new where it takes many.
    ///
    /// # Errors
    /// Everything that is wrong with the texts and their values.
    pub fn problem<T: AsRef<str>>(&self, assignments: &[T]) -> Result<Problem, InvalidProblem> {
        let mut parameters = Parameters::parse(assignments, self.problem_parameters());
        let default_batch = if self.has_pool() { DEFAULT_POOL_BATCH } else { 1 };
        let problem = match self {
            Spec::DecodeStep(spec) => {
                let batch = parameters.count("batch").unwrap_or(default_batch);
                Problem::DecodeStep(DecodeStepProblem {
                    batch,
                    pool_slots: spec.pool_sentinel().map(|_| {
                        let given = parameters.count("pool_slots");
                        given.unwrap_or(batch.saturating_add(SPARE_POOL_SLOTS))
                    }),
                    scale: parameters.number("scale").unwrap_or_else(|| spec.default_scale()),
                })
            }
            Spec::ConvStep(_) => Problem::ConvStep(ConvStepProblem {
                batch: parameters.count("batch").unwrap_or(default_batch),
            }),
            Spec::Chunk(spec) => {
                let (scale, sizes) =
                    (prefill::default_scale(spec.common().head_k), prefill::DEFAULT_SIZES);
                Problem::Prefill(prefill::read(&mut parameters, scale, sizes, spec.common().layout))
            }
            Spec::Recurrent(spec) => Problem::Prefill(PrefillProblem::of(
                read_lengths(&mut parameters, (1, RECURRENT_TOKENS)),
                parameters.number("scale").unwrap_or_else(|| spec.step.default_scale()),
            )),
            Spec::ConvChunk(_) => Problem::ConvChunk(ConvChunkProblem {
                lengths: read_lengths(&mut parameters, (1, CONV_TOKENS)),
            }),
            Spec::Attention(spec) => Problem::Attention(attention::read(spec, &mut parameters)),
            Spec::AttentionChunk(spec) => {
                Problem::Attention(attention::read_chunk(&spec.step, &mut parameters))
            }
        };
        if parameters.faults.is_empty() {
            self.check_problem(&problem)?;
            return Ok(problem);
        }
        Err(InvalidProblem { faults: parameters.faults })
    }

    /// Whether a problem is within its limits and of this kernel.
    ///
    /// # Errors
    /// Every parameter that is not.
    pub fn check_problem(&self, problem: &Problem) -> Result<(), InvalidProblem> {
        let mut faults = Vec::new();
        if matches!(problem, Problem::DecodeStep(_) | Problem::ConvStep(_)) {
            faults.extend(within("batch", problem.batch(), MAX_GRID_YZ));
        }
        match (self, problem) {
            (Spec::DecodeStep(spec), Problem::DecodeStep(problem)) => {
                faults.extend(decode_faults(spec, problem))
            }
            (Spec::ConvStep(_), Problem::ConvStep(_)) => {}
            (Spec::Chunk(spec), Problem::Prefill(problem)) => {
                faults.extend(prefill::faults(spec, problem));
            }
            (Spec::Recurrent(spec), Problem::Prefill(problem)) => {
                faults.extend(length_faults(&problem.lengths));
                faults.extend(not_finite("scale", problem.scale, spec.step.default_scale()));
            }
            (Spec::ConvChunk(spec), Problem::ConvChunk(problem)) => {
                faults.extend(length_faults(&problem.lengths));
                faults.extend(too_many_segments(spec, &problem.lengths));
            }
            (Spec::Attention(spec), Problem::Attention(problem)) if problem.lengths.is_none() => {
                faults.extend(attention::faults(spec, problem));
            }
            (Spec::AttentionChunk(spec), Problem::Attention(problem)) => {
                faults.extend(attention::chunk_faults(spec, problem));
            }
            (_, Problem::DecodeStep(_)) => faults.push(other_kernel(self, "decode_step")),
            (_, Problem::ConvStep(_)) => faults.push(other_kernel(self, "conv_step")),
            (_, Problem::Prefill(_)) => faults.push(other_kernel(self, "prefill")),
            (_, Problem::ConvChunk(_)) => faults.push(other_kernel(self, "conv_chunk")),
            (_, Problem::Attention(_)) => faults.push(other_kernel(self, "attention")),
        }
        if faults.is_empty() { Ok(()) } else { Err(InvalidProblem { faults }) }
    }
}

fn decode_faults(spec: &DecodeStepSpec, problem: &DecodeStepProblem) -> Vec<ProblemFault> {
    let mut faults = Vec::new();
    match (spec.state_contract, problem.pool_slots) {
        (StateContract::PoolInPlace { .. }, Some(slots)) => {
            // Slot indices are signed 32-bit numbers.
            faults.extend(within("pool_slots", slots, i32::MAX.unsigned_abs()));
        }
        (StateContract::Separate, None) => {}
        (StateContract::PoolInPlace { .. }, None) => {
            faults.push(pool_mismatch("nothing", "a number of slots"))
        }
        (StateContract::Separate, Some(_)) => {
            faults.push(pool_mismatch("a number of slots", "nothing"))
        }
    }
    faults.extend(not_finite("scale", problem.scale, spec.default_scale()));
    faults
}

/// A fault when the longest sequence has more segments than a grid has workgroups in z.
fn too_many_segments(spec: &ConvChunkSpec, lengths: &[u32]) -> Option<ProblemFault> {
    let segments = spec.segments(lengths);
    (segments > MAX_GRID_YZ).then(|| ProblemFault {
        parameter: "lengths".to_owned(),
        got: format!("a sequence of {segments} segments of {} tokens", spec.segment),
        expected: format!("at most {MAX_GRID_YZ} segments a sequence"),
        remedy: "take a spec with a larger segment, or fewer tokens a launch".to_owned(),
        unreadable: false,
    })
}

/// A fault unless the scale is finite.
pub(crate) fn not_finite(parameter: &str, got: f32, default: f32) -> Option<ProblemFault> {
    let fault = || ProblemFault {
        parameter: parameter.to_owned(),
        got: got.to_string(),
        expected: "a finite number".to_owned(),
        remedy: format!("leave it out for K^(-1/2) = {default}"),
        unreadable: false,
    };
    (!got.is_finite()).then(fault)
}

/// A fault unless `1 ≤ got ≤ most`.
pub(crate) fn within(parameter: &str, got: u32, most: u32) -> Option<ProblemFault> {
    let fault = || ProblemFault {
        parameter: parameter.to_owned(),
        got: got.to_string(),
        expected: format!("1 to {most}"),
        remedy: format!("nearest legal: {parameter}={}", got.clamp(1, most)),
        unreadable: false,
    };
    (!(1..=most).contains(&got)).then(fault)
}

fn pool_mismatch(got: &str, expected: &str) -> ProblemFault {
    ProblemFault {
        parameter: "pool_slots".to_owned(),
        got: got.to_owned(),
        expected: expected.to_owned(),
        remedy: "pool_slots goes with state_contract = \"pool_in_place\" and only with it"
            .to_owned(),
        unreadable: false,
    }
}

fn other_kernel(spec: &Spec, got: &str) -> ProblemFault {
    ProblemFault {
        parameter: "kernel".to_owned(),
        got: format!("a problem of {got}"),
        expected: format!("a problem of {}", spec.kernel()),
        remedy: "make the problem from the spec that it is for".to_owned(),
        unreadable: false,
    }
}

/// `key=value` texts being read.
pub(crate) struct Parameters<'a> {
    texts: BTreeMap<&'a str, &'a str>,
    pub(crate) faults: Vec<ProblemFault>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn parse<T: AsRef<str>>(
        assignments: &'a [T],
        known: &[&'static str],
    ) -> Parameters<'a> {
        let mut parameters = Parameters { texts: BTreeMap::new(), faults: Vec::new() };
        for assignment in assignments {
            parameters.add(assignment.as_ref(), known);
        }
        parameters
    }

    fn add(&mut self, assignment: &'a str, known: &[&'static str]) {
        let Some((key, text)) = assignment.split_once('=') else {
            return self.refuse(assignment, "no '='", "key=value".to_owned(), known.join(", "));
        };
        let (key, text) = (key.trim(), text.trim());
        if !known.contains(&key) {
            let remedy = match nearest(key, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "the spec fixes everything else".to_owned(),
            };
            return self.refuse(key, "an unknown parameter", known.join(", "), remedy);
        }
        if self.texts.insert(key, text).is_some() {
            self.refuse(key, "it twice", "it once".to_owned(), "remove one".to_owned());
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.texts.contains_key(key)
    }

    pub(crate) fn count(&mut self, key: &str) -> Option<u32> {
        self.count_from(key, 1, u32::MAX, 4)
    }

    /// A whole number that `least` and `most` are said to bound, such as `example`; other numbers are judged later.
    pub(crate) fn count_from(
        &mut self,
        key: &str,
        least: u32,
        most: u32,
        example: u32,
    ) -> Option<u32> {
        let text = *self.texts.get(key)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            let got = format!("'{}'", shown(text));
            let expected = format!("a whole number from {least} to {most}");
            self.refuse(key, &got, expected, format!("write {key}={example}, say"));
        }
        parsed
    }

    /// Whole numbers between commas.
    pub(crate) fn counts(&mut self, key: &str) -> Option<Vec<u32>> {
        let listed = prefill::listed(self.texts.get(key)?);
        if let Err(item) = &listed {
            let got = format!("{item} in its list");
            let expected = "whole numbers between commas".to_owned();
            self.refuse(key, &got, expected, format!("write {key}=33,0,100, say"));
        }
        listed.ok()
    }

    pub(crate) fn number(&mut self, key: &str) -> Option<f32> {
        let text = *self.texts.get(key)?;
        let parsed = text.parse().ok();
        if parsed.is_none() {
            let got = format!("'{}'", shown(text));
            self.refuse(key, &got, "a number".to_owned(), format!("write {key}=0.125, say"));
        }
        parsed
    }

    pub(crate) fn refuse(&mut self, parameter: &str, got: &str, expected: String, remedy: String) {
        let fault = ProblemFault {
            parameter: shown(parameter),
            got: got.to_owned(),
            expected,
            remedy,
            unreadable: true,
        };
        self.faults.push(fault);
    }
}
