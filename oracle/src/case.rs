//! One problem of any kernel, by its spec.

use specs::{Job, Problem, Spec};

use crate::inputs::{self, Sample};
use crate::measure::Verdict;
use crate::tensors::Tensors;
use crate::{OracleError, attention, conv_chunk, conv_step, decode_step, prefill, recurrent};

/// One problem of one kernel: its tensors, what they should become, and the judgement.
#[derive(Clone, Debug, PartialEq)]
pub enum Case {
    /// Of a decode kernel.
    DecodeStep(decode_step::Case),
    /// Of a conv kernel.
    ConvStep(conv_step::Case),
    /// Of prefill kernels.
    Prefill(Box<prefill::Case>),
    /// Of a recurrent kernel.
    Recurrent(Box<recurrent::Case>),
    /// Of a conv chunk kernel.
    ConvChunk(conv_chunk::Case),
    /// Of an attention kernel.
    Attention(attention::Case),
}

impl Case {
    /// A problem with generated tensors, of a spec or a job.
    ///
    /// # Errors
    /// [`OracleError::ForeignProblem`].
    pub fn generate(
        job: impl Into<Job>,
        problem: &Problem,
        sample: &Sample,
    ) -> Result<Case, OracleError> {
        let job = job.into();
        match (job.lead(), problem) {
            (Spec::DecodeStep(spec), Problem::DecodeStep(problem)) => {
                Ok(Case::DecodeStep(inputs::decode_step(&spec, problem, sample)))
            }
            (Spec::ConvStep(spec), Problem::ConvStep(problem)) => {
                Ok(Case::ConvStep(inputs::conv_step(&spec, problem, sample)))
            }
            (Spec::Chunk(_), Problem::Prefill(problem)) => {
                let kernels = prefill::Kernels::of(&job).ok_or(OracleError::ForeignProblem)?;
                Ok(Case::Prefill(Box::new(inputs::prefill_case(kernels, problem, sample))))
            }
            (Spec::Recurrent(spec), Problem::Prefill(problem)) => {
                Ok(Case::Recurrent(Box::new(inputs::recurrent(&spec, problem, sample))))
            }
            (Spec::ConvChunk(spec), Problem::ConvChunk(problem)) => {
                Ok(Case::ConvChunk(inputs::conv_chunk(&spec, problem, sample)))
            }
            (Spec::Attention(spec), Problem::Attention(problem)) => {
                Ok(Case::Attention(inputs::attention(&spec, problem, sample)))
            }
            (Spec::AttentionChunk(spec), Problem::Attention(problem)) => {
                Ok(Case::Attention(inputs::attention(&spec.step, problem, sample)))
            }
            _ => Err(OracleError::ForeignProblem),
        }
    }

    /// The problem whose input tensors are these, under the names of the kernel's arguments.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor that is missing or has the wrong length.
    pub fn from_tensors(
        job: impl Into<Job>,
        problem: &Problem,
        tensors: &Tensors,
    ) -> Result<Case, OracleError> {
        let job = job.into();
        match (job.lead(), problem) {
            (Spec::DecodeStep(spec), Problem::DecodeStep(problem)) => {
                decode_step::Case::from_tensors(&spec, problem, tensors).map(Case::DecodeStep)
            }
            (Spec::ConvStep(spec), Problem::ConvStep(problem)) => {
                conv_step::Case::from_tensors(&spec, problem, tensors).map(Case::ConvStep)
            }
            (Spec::Chunk(_), Problem::Prefill(problem)) => {
                let kernels = prefill::Kernels::of(&job).ok_or(OracleError::ForeignProblem)?;
                prefill::Case::from_tensors(kernels, problem, tensors)
                    .map(Box::new)
                    .map(Case::Prefill)
            }
            (Spec::Recurrent(spec), Problem::Prefill(problem)) => {
                let case = recurrent::Case::from_tensors(&spec, problem, tensors)?;
                Ok(Case::Recurrent(Box::new(case)))
            }
            (Spec::ConvChunk(spec), Problem::ConvChunk(problem)) => {
                conv_chunk::Case::from_tensors(&spec, problem, tensors).map(Case::ConvChunk)
            }
            (Spec::Attention(spec), Problem::Attention(problem)) => {
                attention::Case::from_tensors(&spec, problem, tensors).map(Case::Attention)
            }
            (Spec::AttentionChunk(spec), Problem::Attention(problem)) => {
                attention::Case::from_tensors(&spec.step, problem, tensors).map(Case::Attention)
            }
            _ => Err(OracleError::ForeignProblem),
        }
    }

    /// The input tensors, initial states and tables included, under the names of the kernels' arguments.
    ///
    /// # Errors
    /// [`OracleError`] when the case is no problem of this kernel, where that has to be solved for its inputs.
    pub fn tensors(&self) -> Result<Tensors, OracleError> {
        match self {
            Case::DecodeStep(case) => Ok(case.tensors()),
            Case::ConvStep(case) => Ok(case.tensors()),
            Case::Prefill(case) => case.tensors(),
            Case::Recurrent(case) => Ok(case.tensors()),
            Case::ConvChunk(case) => Ok(case.tensors()),
            Case::Attention(case) => Ok(case.tensors()),
        }
    }

    /// What the kernel must write, bit for bit, under the names of its arguments.
    ///
    /// # Errors
    /// [`OracleError`] when the case is no problem of this kernel, or of prefill, whose twin is a model.
    pub fn twin(&self) -> Result<Tensors, OracleError> {
        match self {
            Case::DecodeStep(case) => case.twin(),
            Case::ConvStep(case) => case.twin(),
            Case::Prefill(_) => Err(OracleError::NoTwin),
            Case::Recurrent(case) => case.twin(),
            Case::ConvChunk(case) => case.twin(),
            Case::Attention(case) => case.twin(),
        }
    }

    /// Judges what a kernel wrote against float64: a verdict an output, in the order of arguments.
    ///
    /// # Errors
    /// [`OracleError`] when an output is missing or has no whole elements, or the case is no problem.
    pub fn judge(&self, outputs: &Tensors) -> Result<Vec<(&'static str, Verdict)>, OracleError> {
        match self {
            Case::DecodeStep(case) => case.judge(outputs),
            Case::ConvStep(case) => case.judge(outputs),
            Case::Prefill(case) => case.judge(outputs),
            Case::Recurrent(case) => case.judge(outputs),
            Case::ConvChunk(case) => case.judge(outputs),
            Case::Attention(case) => case.judge(outputs),
        }
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
        match self {
            Case::DecodeStep(case) => case.judge_against(output, outputs, reference),
            Case::ConvStep(case) => case.judge_against(output, outputs, reference),
            Case::Prefill(case) => case.judge_against(output, outputs, reference),
            Case::Recurrent(case) => case.judge_against(output, outputs, reference),
            Case::ConvChunk(case) => case.judge_against(output, outputs, reference),
            Case::Attention(case) => case.judge_against(outputs, reference),
        }
    }
}
