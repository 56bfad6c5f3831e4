//! Log decays, given or made from raw gates, in float64.

use crate::error::expect_len;
use crate::{DeltaShape, OracleError, Stored};

/// Where the log decays come from.
#[derive(Clone, Debug, PartialEq)]
pub enum GateInput {
    /// Given in nats, f32, [B, T, HV] or [B, T, HV, K].
    LogDecay(Vec<f32>),
    /// `g = −exp(A_log) · softplus(g_raw + dt_bias)`.
    Softplus(RawGate),
    /// `g = lower_bound · sigmoid(exp(A_log) · (g_raw + dt_bias))`.
    BoundedSigmoid {
        /// The raw gate.
        raw: RawGate,
        /// The bound in nats, below zero.
        lower_bound_nats: f32,
    },
}

/// A gate before its activation.
#[derive(Clone, Debug, PartialEq)]
pub struct RawGate {
    /// [B, T, HV] or [B, T, HV, K].
    pub g_raw: Stored,
    /// Natural logarithm of the rate, `[HV]`.
    pub a_log: Vec<f32>,
    /// `[HV]` or [HV, K].
    pub dt_bias: Vec<f32>,
}

impl GateInput {
    /// The raw tensors, unless log decays are given.
    pub fn raw(&self) -> Option<&RawGate> {
        match self {
            GateInput::LogDecay(_) => None,
            GateInput::Softplus(raw) | GateInput::BoundedSigmoid { raw, .. } => Some(raw),
        }
    }

    /// Refuses tensors whose lengths are not the shape's.
    pub(crate) fn check(&self, shape: &DeltaShape) -> Result<(), OracleError> {
        match self {
            GateInput::LogDecay(g) => expect_len("g", g.len(), shape.gate_len()),
            GateInput::Softplus(raw) | GateInput::BoundedSigmoid { raw, .. } => {
                expect_len("g_raw", raw.g_raw.len(), shape.gate_len())?;
                expect_len("a_log", raw.a_log.len(), shape.value_heads)?;
                let biases = shape.value_heads * shape.gate_channels();
                expect_len("dt_bias", raw.dt_bias.len(), biases)
            }
        }
    }

    /// Log decay in nats of `channel` of value head `h`, whose gates start at flat index `row`.
    pub(crate) fn log_decay(
        &self,
        shape: &DeltaShape,
        row: usize,
        h: usize,
        channel: usize,
    ) -> f64 {
        match self {
            GateInput::LogDecay(g) => f64::from(g[row + channel]),
            GateInput::Softplus(raw) => {
                let (rate, x) = raw.rate_and_argument(shape, row, h, channel);
                -(rate * softplus(x))
            }
            GateInput::BoundedSigmoid { raw, lower_bound_nats } => {
                let (rate, x) = raw.rate_and_argument(shape, row, h, channel);
                f64::from(*lower_bound_nats) * sigmoid(rate * x)
            }
        }
    }

    /// Every log decay in nats, laid out as the gates are.
    ///
    /// # Errors
    /// [`OracleError`] when shape or lengths are wrong.
    pub fn log_decays(&self, shape: &DeltaShape) -> Result<Vec<f64>, OracleError> {
        shape.check()?;
        self.check(shape)?;
        let channels = shape.gate_channels();
        let at = |index: usize| {
            let (row, channel) = (index / channels, index % channels);
            self.log_decay(shape, row * channels, row % shape.value_heads, channel)
        };
        Ok((0..shape.gate_len()).map(at).collect())
    }
}

impl RawGate {
    /// `exp(A_log)`, kept finite so that an underflowed softplus still gives no decay, and
    /// `g_raw + dt_bias`.
    fn rate_and_argument(
        &self,
        shape: &DeltaShape,
        row: usize,
        h: usize,
        channel: usize,
    ) -> (f64, f64) {
        let rate = libm::exp(f64::from(self.a_log[h]));
        let rate = if rate > f64::MAX { f64::MAX } else { rate };
        let bias = f64::from(self.dt_bias[h * shape.gate_channels() + channel]);
        (rate, self.g_raw.f64_at(row + channel) + bias)
    }
}

/// `ln(1 + eˣ)` without overflow.
fn softplus(x: f64) -> f64 {
    let above = if x < 0.0 { 0.0 } else { x };
    above + libm::log1p(libm::exp(-x.abs()))
}

/// `1 / (1 + e⁻ˣ)` without overflow.
pub(crate) fn sigmoid(x: f64) -> f64 {
    let small = libm::exp(-x.abs());
    if x < 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_are_stable_at_both_ends() {
        assert_eq!(softplus(1000.0), 1000.0);
        assert_eq!(softplus(-1000.0), 0.0);
        assert_eq!(softplus(0.0), core::f64::consts::LN_2);
        assert!((softplus(-40.0) / libm::exp(-40.0) - 1.0).abs() < 1e-15);
        assert_eq!((sigmoid(-1000.0), sigmoid(0.0), sigmoid(1000.0)), (0.0, 0.5, 1.0));
        assert!((sigmoid(-40.0) / libm::exp(-40.0) - 1.0).abs() < 1e-15);
        assert!(softplus(f64::NAN).is_nan() && sigmoid(f64::NAN).is_nan());
    }
}
