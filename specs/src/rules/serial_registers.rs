//! Under `reduction = "serial"` a lane of the recurrent kernel holds the K states of its column in registers, and every
//! token needs as many keys and queries beside them. Up to 64 channels that takes no scratch memory; more is not offered.

use crate::decode_step::Reduction;
use crate::recurrent::RecurrentSpec;
use crate::rule::{Rule, Violation};

/// Most channels that a lane holds.
const MAX_CHANNELS: u32 = 64;

pub(crate) const RULE: Rule<RecurrentSpec> =
    Rule { id: "serial_registers", file: include_str!("serial_registers.rs"), check };

fn check(spec: &RecurrentSpec) -> Vec<Violation> {
    let legal = spec.step.reduction != Reduction::Serial || spec.step.head_k <= MAX_CHANNELS;
    if legal { Vec::new() } else { vec![violation(spec.step.head_k)] }
}

fn violation(head_k: u32) -> Violation {
    Violation {
        rule: RULE.id,
        field: "head_k",
        got: head_k.to_string(),
        limit: format!("at most {MAX_CHANNELS} with reduction = \"serial\""),
        unit: "channels",
        source: "registers of a lane, the recurrent kernel's contract",
        hint: format!("use reduction = \"lane_tree\", or head_k = {MAX_CHANNELS}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{decode, recurrent, refused};
    use crate::{DecodeStepSpec, RecurrentSpec, Reduction};

    fn serial(head_k: u32) -> RecurrentSpec {
        let step = DecodeStepSpec { head_k, reduction: Reduction::Serial, ..decode() };
        RecurrentSpec { step, ..recurrent() }
    }

    #[test]
    fn accepts_the_limit_and_any_k_of_lanes_together() {
        assert_eq!(serial(64).check(), []);
        let step = DecodeStepSpec { head_k: 256, ..decode() };
        assert_eq!(RecurrentSpec { step, ..recurrent() }.check(), []);
    }

    #[test]
    fn refuses_more() {
        let words = ["got 65", "at most 64", "channels", "lane_tree"];
        refused(&serial(65).check(), "serial_registers", "head_k", &words);
    }
}
