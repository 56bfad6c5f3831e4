//! Gates: from what the model gives to the factor by which a step decays the state.

use dsl::math::{exp, sigmoid, softplus};
use dsl::{Expr, View};
use specs::{DecodeStepSpec, Family, Gate};

use crate::arguments::Arguments;

/// What all tokens of one value head share of its gates.
#[derive(Clone)]
pub struct HeadGates<'k> {
    gate: Gate,
    /// Whether the head has one gate a token, or every key channel its own.
    one_a_head: bool,
    raw: Option<RawGates<'k>>,
}

/// What turns raw gates into log decay.
#[derive(Clone)]
struct RawGates<'k> {
    /// exp(A_log), finite.
    rate: Expr<'k>,
    /// Added to the raw gates, shaped like them.
    dt_bias: View<'k>,
}

/// The gates of one value head at one token.
pub struct Gates<'k> {
    head: HeadGates<'k>,
    /// Log decay in nats, or raw gates: without axes (a gate a head) or `[K]` (a gate a channel).
    given: View<'k>,
    /// The head's one factor, when it has only one.
    head_decay: Option<Expr<'k>>,
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

impl<'k> HeadGates<'k> {
    /// Those of head `h`.
    #[track_caller]
    pub fn new(spec: &DecodeStepSpec, args: &Arguments<'k>, h: Expr<'k>) -> HeadGates<'k> {
        let raw = spec.has_raw_gates().then(|| RawGates {
            rate: rate(args.view("a_log").load(h)),
            dt_bias: args.view("dt_bias").at(h),
        });
        HeadGates { gate: spec.gate, one_a_head: spec.family == Family::Gdn, raw }
    }

    /// The head's gates in row `row` of the tensor of gates.
    #[track_caller]
    pub fn at(self, args: &Arguments<'k>, row: Expr<'k>, h: Expr<'k>) -> Gates<'k> {
        let given = args.view(if self.raw.is_some() { "g_raw" } else { "g" }).at((row, h));
        let mut gates = Gates { head: self, given, head_decay: None };
        if gates.head.one_a_head {
            gates.head_decay = gates.decays_of(|gate| vec![gate.load(())]).pop();
        }
        gates
    }
}

impl<'k> Gates<'k> {
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
        let Some(RawGates { rate, dt_bias }) = &self.head.raw else {
            return given.into_iter().map(exp).collect();
        };
        let biased = given.into_iter().zip(load(dt_bias)).map(|(raw, bias)| raw + bias);
        biased.map(|x| exp(log_decay(self.head.gate, x, *rate))).collect()
    }
}
