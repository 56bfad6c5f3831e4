//! The causal conv step in float64: contract, reference and limits of its outputs.
//!
//! ```text
//! window[c] = [history[c, 0], …, history[c, W−2], x[c]]
//! y[c] = act(bias[c] + Σ_w weight[c, w] · window[c, w])        next_history[c] = window[c, 1:]
//! ```

use specs::{Activation, ConvStepProblem, ConvStepSpec, Dtype};

use crate::error::expect_len;
use crate::gate::sigmoid;
use crate::measure::{F32_UNIT_ROUNDOFF, Verdict, judge, narrow_limit};
use crate::tensors::{Take, Tensors, put};
use crate::{OracleError, Stored, twin};

/// Dimensions of one problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sequences, B.
    pub batch: usize,
    /// Channels, D.
    pub channels: usize,
    /// Taps, W ≥ 1.
    pub width: usize,
    /// What is applied to the sum.
    pub activation: Activation,
}

/// Tensors of one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// The newest samples, [B, D].
    pub x: Stored,
    /// [D, W]; the last weight meets the newest sample.
    pub weight: Stored,
    /// `[D]`.
    pub bias: Option<Stored>,
    /// [B, D, W−1], oldest → newest; absent at width 1.
    pub history: Option<Stored>,
}

/// What a problem's outputs should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// [B, D].
    pub y: Vec<f64>,
    /// [B, D, W−1]: copied, so exact; absent at width 1.
    pub next_history: Option<Vec<f64>>,
}

impl Shape {
    /// The problem of a conv kernel over `batch` sequences.
    pub fn of(spec: &ConvStepSpec, batch: usize) -> Shape {
        let (channels, width) = (spec.channels as usize, spec.width as usize);
        Shape { batch, channels, width, activation: spec.activation }
    }

    /// Elements of a history: B · D · (W−1).
    pub fn history_len(&self) -> usize {
        self.batch * self.channels * (self.width - 1)
    }
}

impl Inputs {
    /// Refuses tensors that do not describe one problem of this shape.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor or dimension that is wrong.
    pub fn check(&self, shape: &Shape) -> Result<(), OracleError> {
        if shape.width == 0 {
            return Err(OracleError::Dimension { field: "width", got: 0, limit: "at least 1" });
        }
        expect_len("x", self.x.len(), shape.batch * shape.channels)?;
        expect_len("weight", self.weight.len(), shape.channels * shape.width)?;
        if let Some(bias) = &self.bias {
            expect_len("bias", bias.len(), shape.channels)?;
        }
        let presence = |problem| OracleError::Presence { tensor: "history", problem };
        match &self.history {
            Some(_) if shape.width == 1 => Err(presence("must be absent at width 1")),
            None if shape.width > 1 => Err(presence("must be given at widths above 1")),
            Some(history) => expect_len("history", history.len(), shape.history_len()),
            None => Ok(()),
        }
    }

    /// The tensors under the names of the kernel's arguments; their lengths are not checked.
    pub(crate) fn take(spec: &ConvStepSpec, take: &Take<'_>) -> Result<Inputs, OracleError> {
        let floats = |name| take.floats(name, spec.dtype);
        Ok(Inputs {
            x: floats("x")?,
            weight: floats("weight")?,
            bias: spec.bias.then(|| floats("bias")).transpose()?,
            history: (spec.width > 1).then(|| floats("history")).transpose()?,
        })
    }

    /// The tensors as bytes, under the names of the kernel's arguments.
    pub(crate) fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::new();
        put(&mut tensors, "x", self.x.to_le_bytes());
        put(&mut tensors, "weight", self.weight.to_le_bytes());
        for (name, tensor) in [("bias", &self.bias), ("history", &self.history)] {
            if let Some(tensor) = tensor {
                put(&mut tensors, name, tensor.to_le_bytes());
            }
        }
        tensors
    }

    /// Sample `w` of the window of flat channel `bd` = b · D + c.
    pub(crate) fn window(&self, shape: &Shape, bd: usize, w: usize) -> f32 {
        match &self.history {
            Some(history) if w + 1 < shape.width => history.f32_at(bd * (shape.width - 1) + w),
            _ => self.x.f32_at(bd),
        }
    }
}

/// One problem of one conv kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Dimensions.
    pub shape: Shape,
    /// Input tensors.
    pub inputs: Inputs,
}

impl Case {
    /// The problem whose input tensors are these, under the names of the kernel's arguments.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor that is missing or has the wrong length.
    pub fn from_tensors(
        spec: &ConvStepSpec,
        problem: &ConvStepProblem,
        tensors: &Tensors,
    ) -> Result<Case, OracleError> {
        let shape = Shape::of(spec, problem.batch as usize);
        let inputs = Inputs::take(spec, &Take::new(tensors))?;
        inputs.check(&shape)?;
        Ok(Case { shape, inputs })
    }

    /// The input tensors, history included, under the names of the kernel's arguments.
    pub fn tensors(&self) -> Tensors {
        self.inputs.tensors()
    }

    /// What the kernel must write, bit for bit, under the names of its arguments.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem.
    pub fn twin(&self) -> Result<Tensors, OracleError> {
        let outputs = twin::conv_step::run(&self.shape, &self.inputs)?;
        let mut tensors = Tensors::new();
        put(&mut tensors, "y", outputs.y.to_le_bytes());
        if let Some(history) = outputs.next_history {
            put(&mut tensors, "next_history", history.to_le_bytes());
        }
        Ok(tensors)
    }

    /// Judges what a kernel wrote: `next_history` above width 1, and `y`.
    ///
    /// # Errors
    /// [`OracleError`] when an output is missing or has no whole elements, or the case is no problem.
    pub fn judge(&self, outputs: &Tensors) -> Result<Vec<(&'static str, Verdict)>, OracleError> {
        let reference = reference(&self.shape, &self.inputs)?;
        let mut verdicts = Vec::new();
        if let Some(want) = &reference.next_history {
            verdicts.push(("next_history", self.judge_against("next_history", outputs, want)?));
        }
        verdicts.push(("y", self.judge_against("y", outputs, &reference.y)?));
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
        let (take, dtype) = (Take::new(outputs), self.inputs.x.dtype());
        match output == "y" {
            true => {
                let limit = |floor| output_limit(&self.shape, dtype, floor);
                Ok(judge(&take.floats("y", dtype)?, reference, limit))
            }
            false => Ok(judge(&take.floats("next_history", dtype)?, reference, |_| 0.0)),
        }
    }
}

/// `rmse_ratio` that y may have. In f32: W dependent roundings, which add like independent errors,
/// and with SiLU two unit roundoffs for the sigmoid. In bf16 and f16: the floor, and 5 % for values
/// near the middle of two.
pub fn output_limit(shape: &Shape, dtype: Dtype, floor: f64) -> f64 {
    let activation = match shape.activation {
        Activation::None => 0.5,
        Activation::Silu => 4.0,
    };
    match dtype {
        Dtype::F32 => F32_UNIT_ROUNDOFF * (activation + shape.width as f64 / 3.0f64).sqrt(),
        Dtype::Bf16 | Dtype::F16 => narrow_limit(floor),
    }
}

/// The float64 outputs of a problem.
///
/// # Errors
/// [`OracleError`] when shape and tensors do not describe one problem.
pub fn reference(shape: &Shape, inputs: &Inputs) -> Result<Outputs, OracleError> {
    inputs.check(shape)?;
    let y = |bd: usize| {
        let c = bd % shape.channels;
        let tap =
            |w| inputs.weight.f64_at(c * shape.width + w) * f64::from(inputs.window(shape, bd, w));
        let bias = inputs.bias.as_ref().map_or(0.0, |bias| bias.f64_at(c));
        activate(shape.activation, bias + (0..shape.width).map(tap).sum::<f64>())
    };
    let kept = |at: usize| {
        let (bd, w) = (at / (shape.width - 1), at % (shape.width - 1));
        f64::from(inputs.window(shape, bd, w + 1))
    };
    let y = (0..shape.batch * shape.channels).map(y).collect();
    let history = inputs.history.as_ref();
    Ok(Outputs { y, next_history: history.map(|_| (0..shape.history_len()).map(kept).collect()) })
}

fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::None => x,
        Activation::Silu => x * sigmoid(x),
    }
}
