//! A value head has at most 1024 channels. The decode step's contract ends there: it is the
//! range that tests cover, and no public model comes near.

use crate::decode_step::DecodeStepSpec;
use crate::rule::{Rule, Violation};

/// Most channels of a value head.
pub(super) const MAX_HEAD_V: u32 = 1024;

pub(crate) const RULE: Rule<DecodeStepSpec> =
    Rule { id: "value_columns", file: include_str!("value_columns.rs"), check };

fn check(spec: &DecodeStepSpec) -> Vec<Violation> {
    let legal = spec.head_v <= MAX_HEAD_V;
    if legal { Vec::new() } else { vec![violation(spec.head_v)] }
}

fn violation(head_v: u32) -> Violation {
    Violation {
        rule: RULE.id,
        field: "head_v",
        got: head_v.to_string(),
        limit: format!("at most {MAX_HEAD_V}"),
        unit: "channels",
        source: "the decode step's contract",
        hint: format!("nearest legal: head_v = {MAX_HEAD_V}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::DecodeStepSpec;
    use crate::rules::fixtures::{decode, refused};

    #[test]
    fn accepts_the_limit() {
        assert_eq!(DecodeStepSpec { head_v: 1024, ..decode() }.check(), []);
    }

    #[test]
    fn refuses_more() {
        let spec = DecodeStepSpec { head_v: 2048, ..decode() };
        let words = ["got 2048", "at most 1024", "channels", "head_v = 1024"];
        refused(&spec.check(), "value_columns", "head_v", &words);
    }
}
