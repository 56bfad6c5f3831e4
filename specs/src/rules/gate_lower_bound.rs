//! The lower bound of the bounded sigmoid gate is in [−5, 0) nats a token. At zero or above the state
//! would never decay or would grow; below −5 the gate leaves the range that models of this form are
//! defined on. The bound is part of the model: changing it is no speed option.

use crate::decode_step::{DecodeStepSpec, Gate};
use crate::rule::{Rule, Violation};

/// Lowest bound in nats a token.
const LOWEST_NATS: f32 = -5.0;

pub(crate) const RULE: Rule<DecodeStepSpec> =
    Rule { id: "gate_lower_bound", file: include_str!("gate_lower_bound.rs"), check };

fn check(spec: &DecodeStepSpec) -> Vec<Violation> {
    match spec.gate {
        Gate::BoundedSigmoid { lower_bound_nats }
            if !(LOWEST_NATS..0.0).contains(&lower_bound_nats) =>
        {
            vec![violation(lower_bound_nats)]
        }
        _ => Vec::new(),
    }
}

fn violation(lower_bound_nats: f32) -> Violation {
    Violation {
        rule: RULE.id,
        field: "gate_lower_bound_nats",
        got: format!("{lower_bound_nats:?}"),
        limit: format!("{LOWEST_NATS:?} up to, not including, 0.0"),
        unit: "nats a token",
        source: "the model's contract (Kimi Delta Attention, safe gate)",
        hint: format!("take the model's own bound; the usual one is {LOWEST_NATS:?}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{decode, refused};
    use crate::{DecodeStepSpec, Family, Gate};

    fn bounded(lower_bound_nats: f32) -> DecodeStepSpec {
        DecodeStepSpec {
            family: Family::Kda,
            gate: Gate::BoundedSigmoid { lower_bound_nats },
            ..decode()
        }
    }

    #[test]
    fn accepts_the_range() {
        for bound in [-5.0, -2.5, -f32::MIN_POSITIVE] {
            assert_eq!(bounded(bound).check(), []);
        }
    }

    #[test]
    fn refuses_what_lies_outside() {
        for (bound, shown) in [
            (-5.001, "got -5.001"),
            (0.0, "got 0.0"),
            (-0.0, "got -0.0"),
            (5.0, "got 5.0"),
            (f32::NAN, "got NaN"),
            (f32::NEG_INFINITY, "got -inf"),
        ] {
            let words = [shown, "-5.0 up to, not including, 0.0", "nats"];
            refused(&bounded(bound).check(), "gate_lower_bound", "gate_lower_bound_nats", &words);
        }
    }
}
