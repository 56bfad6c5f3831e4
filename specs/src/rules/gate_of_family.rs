//! The bounded sigmoid gate belongs to KDA. Gated DeltaNet models are trained with the softplus gate;
//! the two are different functions, so one cannot stand in for the other.

use crate::decode_step::{DecodeStepSpec, Family, GateKind};
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<DecodeStepSpec> =
    Rule { id: "gate_of_family", file: include_str!("gate_of_family.rs"), check };

fn check(spec: &DecodeStepSpec) -> Vec<Violation> {
    match (spec.family, spec.gate.kind()) {
        (Family::Gdn, GateKind::BoundedSigmoid) => vec![violation()],
        (Family::Gdn, GateKind::LogDecay | GateKind::Softplus) | (Family::Kda, _) => Vec::new(),
    }
}

fn violation() -> Violation {
    Violation {
        rule: RULE.id,
        field: "gate",
        got: "\"bounded_sigmoid\" with family \"gdn\"".to_owned(),
        limit: "\"log_decay\" or \"softplus\"".to_owned(),
        unit: "gate kinds",
        source: "the model's contract (Gated DeltaNet)",
        hint:
            "use gate = \"softplus\", or family = \"kda\" if the model has one gate a key channel"
                .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{decode, refused};
    use crate::{DecodeStepSpec, Family, Gate};

    const BOUNDED: Gate = Gate::BoundedSigmoid { lower_bound_nats: -5.0 };

    #[test]
    fn accepts_what_the_families_have() {
        for gate in [Gate::LogDecay, Gate::Softplus] {
            assert_eq!(DecodeStepSpec { gate, ..decode() }.check(), []);
        }
        for gate in [Gate::LogDecay, Gate::Softplus, BOUNDED] {
            assert_eq!(DecodeStepSpec { family: Family::Kda, gate, ..decode() }.check(), []);
        }
    }

    #[test]
    fn refuses_a_bounded_gate_of_gdn() {
        let spec = DecodeStepSpec { gate: BOUNDED, ..decode() };
        let words = ["bounded_sigmoid", "\"log_decay\" or \"softplus\"", "family = \"kda\""];
        refused(&spec.check(), "gate_of_family", "gate", &words);
    }
}
