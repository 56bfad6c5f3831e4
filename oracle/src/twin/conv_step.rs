//! Float32 twin of the conv step.

use specs::Activation;

use super::instruction::{LOG2E, exp2, rcp};
use super::narrow;
use crate::conv_step::{Inputs, Shape};
use crate::{OracleError, Stored};

/// A kernel's outputs, in its types.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// [B, D].
    pub y: Stored,
    /// [B, D, W−1]; absent at width 1.
    pub next_history: Option<Stored>,
}

/// The outputs of the kernel.
///
/// # Errors
/// [`OracleError`] when shape and tensors do not describe one problem.
pub fn run(shape: &Shape, inputs: &Inputs) -> Result<Outputs, OracleError> {
    inputs.check(shape)?;
    let channels = 0..shape.batch * shape.channels;
    let y = channels.map(|bd| activate(shape.activation, sum(shape, inputs, bd))).collect();
    let next_history = inputs.history.as_ref().map(|history| {
        let window =
            |at: usize| inputs.window(shape, at / (shape.width - 1), at % (shape.width - 1) + 1);
        narrow(history.dtype(), (0..shape.history_len()).map(window).collect())
    });
    Ok(Outputs { y: narrow(inputs.x.dtype(), y), next_history })
}

fn sum(shape: &Shape, inputs: &Inputs, bd: usize) -> f32 {
    let c = bd % shape.channels;
    let weight = |w| inputs.weight.f32_at(c * shape.width + w);
    let window = |w| inputs.window(shape, bd, w);
    let first = match &inputs.bias {
        Some(bias) => weight(0).mul_add(window(0), bias.f32_at(c)),
        None => weight(0) * window(0),
    };
    (1..shape.width).fold(first, |acc, w| weight(w).mul_add(window(w), acc))
}

fn activate(activation: Activation, acc: f32) -> f32 {
    match activation {
        Activation::None => acc,
        Activation::Silu => acc * rcp(1.0 + exp2(-acc * LOG2E)),
    }
}
