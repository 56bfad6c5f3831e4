//! One problem of any kernel, by its spec.

use specs::Spec;

use crate::inputs::{self, Sample};
use crate::measure::Verdict;
use crate::tensors::Tensors;
use crate::{OracleError, conv_step, decode_step};

/// One problem of one kernel: its tensors, what they should become, and the judgement.
#[derive(Clone, Debug, PartialEq)]
pub enum Case {
    /// Of a decode kernel.
    DecodeStep(decode_step::Case),
    /// Of a conv kernel.
    ConvStep(conv_step::Case),
}

impl Case {
    /// A problem with generated tensors.
    pub fn generate(spec: &Spec, sample: &Sample) -> Case {
        match spec {
            Spec::DecodeStep(spec) => Case::DecodeStep(inputs::decode_step(spec, sample)),
            Spec::ConvStep(spec) => Case::ConvStep(inputs::conv_step(spec, sample)),
        }
    }

    /// The problem whose input tensors are these, under the names of the kernel's arguments. `scale`
    /// is a decode step's readout factor, K^(−1/2) unless given.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor that is missing or has the wrong length.
    pub fn from_tensors(
        spec: &Spec,
        batch: usize,
        scale: Option<f32>,
        tensors: &Tensors,
    ) -> Result<Case, OracleError> {
        match spec {
            Spec::DecodeStep(spec) => {
                decode_step::Case::from_tensors(spec, batch, scale, tensors).map(Case::DecodeStep)
            }
            Spec::ConvStep(spec) => {
                conv_step::Case::from_tensors(spec, batch, tensors).map(Case::ConvStep)
            }
        }
    }

    /// The input tensors, initial states included, under the names of the kernel's arguments.
    pub fn tensors(&self) -> Tensors {
        match self {
            Case::DecodeStep(case) => case.tensors(),
            Case::ConvStep(case) => case.tensors(),
        }
    }

    /// The value of an argument that is passed by value.
    pub fn scalar(&self, argument: &str) -> Option<f32> {
        match self {
            Case::DecodeStep(case) => (argument == "scale").then_some(case.inputs.scale),
            Case::ConvStep(_) => None,
        }
    }

    /// What the kernel must write, bit for bit, under the names of its arguments.
    ///
    /// # Errors
    /// [`OracleError`] when the case is no problem of this kernel.
    pub fn twin(&self) -> Result<Tensors, OracleError> {
        match self {
            Case::DecodeStep(case) => case.twin(),
            Case::ConvStep(case) => case.twin(),
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
        }
    }
}
