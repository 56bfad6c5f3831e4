//! One token of a depthwise causal convolution: the body that the conv step and the conv chunk share, so that their
//! bits are the same. The order of float operations is in `docs/kernels/conv_step.md`.

use dsl::Expr;
use dsl::ir::{Scalar, Type};
use dsl::math::silu;
use specs::{Activation, ConvStepSpec};

use crate::arguments::Arguments;

/// The weights of one channel.
pub struct Taps<'k> {
    /// Oldest to newest.
    weight: Vec<Expr<'k>>,
    bias: Option<Expr<'k>>,
    activation: Activation,
}

impl<'k> Taps<'k> {
    /// Those of `channel`.
    #[track_caller]
    pub fn load(spec: &ConvStepSpec, args: &Arguments<'k>, channel: Expr<'k>) -> Taps<'k> {
        let weight = args.view("weight").load_run((channel, 0), spec.width);
        let bias = spec.bias.then(|| args.view("bias").load(channel));
        Taps { weight, bias, activation: spec.activation }
    }

    /// The output of a window of samples, oldest to newest, as f32.
    #[track_caller]
    pub fn output(&self, window: impl IntoIterator<Item = Expr<'k>>) -> Option<Expr<'k>> {
        let mut sum = self.bias;
        for (weight, sample) in self.weight.iter().zip(window) {
            sum = Some(match sum {
                Some(sum) => weight.fma(sample, sum),
                None => *weight * sample,
            });
        }
        sum.map(|sum| match self.activation {
            Activation::None => sum,
            Activation::Silu => silu(sum),
        })
    }
}

/// A sample's stored bits as f32.
#[track_caller]
pub fn widened<'k>(bits: Expr<'k>, stored: Scalar) -> Expr<'k> {
    bits.bitcast(Type::Scalar(stored)).widen()
}
