//! The lower bound of the bounded sigmoid gate is in [−5, 0) nats a token. At zero or above the state
//! would never decay or would grow; below −5 the gate leaves the range that models of this form are
//! defined on. The bound is part of the model: changing it is no speed option.

use crate::chunk::{ChunkGate, ChunkParts};
use crate::decode_step::{DecodeStepSpec, Gate};
use crate::rule::{Rule, Violation};

/// Lowest bound in nats a token.
const LOWEST_NATS: f32 = -5.0;

const ID: &str = "gate_lower_bound";

/// A spec whose gate may be the bounded sigmoid.
pub(crate) trait BoundedGate {
    /// The sigmoid's bound, where that is the gate.
    fn sigmoid_bound_nats(&self) -> Option<f32>;
}

impl BoundedGate for DecodeStepSpec {
    fn sigmoid_bound_nats(&self) -> Option<f32> {
        match self.gate {
            Gate::BoundedSigmoid { lower_bound_nats } => Some(lower_bound_nats),
            Gate::LogDecay | Gate::Softplus => None,
        }
    }
}

impl<S: ChunkParts> BoundedGate for S {
    fn sigmoid_bound_nats(&self) -> Option<f32> {
        match self.tile()?.gate {
            ChunkGate::BoundedSigmoid { lower_bound_nats, .. } => Some(lower_bound_nats),
            _ => None,
        }
    }
}

pub(crate) const fn rule<S: BoundedGate>() -> Rule<S> {
    Rule { id: ID, file: include_str!("gate_lower_bound.rs"), check: check::<S> }
}

fn check<S: BoundedGate>(spec: &S) -> Vec<Violation> {
    let bound = spec.sigmoid_bound_nats();
    let outside = bound.filter(|bound| !(LOWEST_NATS..0.0).contains(bound));
    outside.map(violation).into_iter().collect()
}

fn violation(lower_bound_nats: f32) -> Violation {
    Violation {
        rule: ID,
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
    use crate::chunk::{ChunkGate, KdaTileSpec, TilePart};
    use crate::rules::chunk::fixtures::tile;
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
            let gate = ChunkGate::BoundedSigmoid { lower_bound_nats: bound, dt_bias: true };
            let spec = KdaTileSpec { tile: TilePart { gate, ..tile().tile }, ..tile() };
            let got = super::rule().check(&spec);
            refused(&got, "gate_lower_bound", "gate_lower_bound_nats", &words);
        }
    }
}
