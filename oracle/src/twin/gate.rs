//! Log decays in float32, in the order of operations that every kernel with gates promises.

use super::instruction::{LN2, LOG2E, exp2, log2, max_num, rcp};
use crate::{GateInput, RawGate};

/// Log decay in nats of gate `index` of value head `h`; `bias` is its place in dt_bias.
pub(super) fn log_decay(gate: &GateInput, index: usize, h: usize, bias: usize) -> f32 {
    let argument = |raw: &RawGate| {
        let rate = exp2(raw.a_log[h] * LOG2E);
        let a = if rate == f32::INFINITY { f32::MAX } else { rate };
        (a, raw.g_raw.f32_at(index) + raw.dt_bias[bias])
    };
    match gate {
        GateInput::LogDecay(g) => g[index],
        GateInput::Softplus(raw) => {
            let (a, x) = argument(raw);
            let e = exp2(-x.abs() * LOG2E);
            let w = 1.0 + e;
            let lost = e - (w - 1.0);
            -(a * lost.mul_add(rcp(w), log2(w).mul_add(LN2, max_num(x, 0.0))))
        }
        GateInput::BoundedSigmoid { raw, lower_bound_nats } => {
            let (a, x) = argument(raw);
            lower_bound_nats * rcp(1.0 + exp2(-(a * x) * LOG2E))
        }
    }
}
