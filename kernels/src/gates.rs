//! Gates: from what the model gives to the factor by which a step decays the state.

use dsl::math::{exp, sigmoid, softplus};
use dsl::{Expr, View};
use specs::{DecodeStepSpec, Family, Gate};

use crate::arguments::Arguments;

/// The gates of one value head of one sequence.
pub struct Gates<'k> {
    gate: Gate,
    /// Log decay in nats, or raw gates: without axes (a gate a head) or `[K]` (a gate a channel).
    given: View<'k>,
    raw: Option<RawGates<'k>>,
    /// The head's one factor, when it has only one.
    head_decay: Option<Expr<'k>>,
}

/// What turns raw gates into log decay.
struct RawGates<'k> {
    /// exp(A_log), finite.
    rate: Expr<'k>,
    /// Added to the raw gates, shaped like them.
    dt_bias: View<'k>,
}

/// exp(A_log), infinity as the largest finite f32, so that a rate times zero is never NaN; NaN stays NaN.
#[track_caller]
pub fn rate<'k>(a_log: Expr<'k>) -> Expr<'k> {
    let rate = exp(a_log);
    rate.ne(f32::INFINITY).select(rate, f32::MAX)
}

/// Log decay in nats of a raw gate with its bias.
#[track_caller]
pub fn log_decay<'k>(gate: Gate, x: Expr<'k>, rate: Expr<'k>) -> Expr<'k> {
    match gate {
        Gate::LogDecay => x,
        Gate::Softplus => -(rate * softplus(x)),
        Gate::BoundedSigmoid { lower_bound_nats } => sigmoid(rate * x) * lower_bound_nats,
    }
}

impl<'k> Gates<'k> {
    /// The gates of head `h` of sequence `b`.
    #[track_caller]
    pub fn of_head(
        spec: &DecodeStepSpec,
        args: &Arguments<'k>,
        b: Expr<'k>,
        h: Expr<'k>,
    ) -> Gates<'k> {
        let raw = spec.has_raw_gates().then(|| RawGates {
            rate: rate(args.view("a_log").load(h)),
            dt_bias: args.view("dt_bias").at(h),
        });
        let given = args.view(if raw.is_some() { "g_raw" } else { "g" }).at((b, h));
        let mut gates = Gates { gate: spec.gate, given, raw, head_decay: None };
        if spec.family == Family::Gdn {
            gates.head_decay = gates.decays_of(|gate| vec![gate.load(())]).pop();
        }
        gates
    }

    /// The factors of the `count` channels that `load` takes from a view of `[K]`.
    #[track_caller]
    pub fn decays(&self, count: usize, load: impl Fn(&View<'k>) -> Vec<Expr<'k>>) -> Vec<Expr<'k>> {
        match self.head_decay {
            Some(decay) => vec![decay; count],
            None => self.decays_of(load),
        }
    }

    #[track_caller]
    fn decays_of(&self, load: impl Fn(&View<'k>) -> Vec<Expr<'k>>) -> Vec<Expr<'k>> {
        let given = load(&self.given);
        let Some(RawGates { rate, dt_bias }) = &self.raw else {
            return given.into_iter().map(exp).collect();
        };
        let biased = given.into_iter().zip(load(dt_bias)).map(|(raw, bias)| raw + bias);
        biased.map(|x| exp(log_decay(self.gate, x, *rate))).collect()
    }
}
