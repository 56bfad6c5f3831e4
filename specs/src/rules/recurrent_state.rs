//! The recurrent kernel's states are separate buffers. It reads a sequence's initial state before its first token and
//! stores the final one after its last; slots of a pool are the decode step's.

use crate::choice::Choice;
use crate::decode_step::StateContract;
use crate::recurrent::RecurrentSpec;
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<RecurrentSpec> =
    Rule { id: "recurrent_state", file: include_str!("recurrent_state.rs"), check };

fn check(spec: &RecurrentSpec) -> Vec<Violation> {
    match spec.step.state_contract {
        StateContract::Separate => Vec::new(),
        contract @ StateContract::PoolInPlace { .. } => vec![Violation {
            rule: RULE.id,
            field: "state_contract",
            got: contract.kind().name().to_owned(),
            limit: "separate".to_owned(),
            unit: "contract",
            source: "the recurrent kernel's contract",
            hint: "use state_contract = \"separate\", or a decode step a token".to_owned(),
        }],
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{decode, recurrent, refused};
    use crate::{DecodeStepSpec, RecurrentSpec, StateContract};

    #[test]
    fn accepts_separate_states() {
        assert_eq!(RecurrentSpec { initial_state: false, ..recurrent() }.check(), []);
    }

    #[test]
    fn refuses_pools() {
        let state_contract = StateContract::PoolInPlace { sentinel: -1 };
        let step = DecodeStepSpec { state_contract, ..decode() };
        let violations = RecurrentSpec { step, ..recurrent() }.check();
        let words = ["got pool_in_place", "separate", "decode step"];
        refused(&violations, "recurrent_state", "state_contract", &words);
    }
}
