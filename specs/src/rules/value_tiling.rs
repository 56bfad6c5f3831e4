//! With `reduction = "lane_tree"`, V is a multiple of 4. A lane group owns four neighbouring columns, which
//! it reads and writes as one 16-byte access where they are neighbours in memory too; a remainder would
//! reach into the next row.

use super::nearest_multiple;
use super::value_columns::MAX_HEAD_V;
use crate::decode_step::{COLUMNS_PER_LANE_GROUP, DecodeStepSpec, Reduction};
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<DecodeStepSpec> =
    Rule { id: "value_tiling", file: include_str!("value_tiling.rs"), check };

fn check(spec: &DecodeStepSpec) -> Vec<Violation> {
    match spec.reduction {
        Reduction::LaneTree { .. } if !spec.head_v.is_multiple_of(COLUMNS_PER_LANE_GROUP) => {
            vec![violation(spec.head_v)]
        }
        Reduction::LaneTree { .. } | Reduction::Serial => Vec::new(),
    }
}

fn violation(head_v: u32) -> Violation {
    let nearest = nearest_multiple(head_v.min(MAX_HEAD_V), COLUMNS_PER_LANE_GROUP);
    Violation {
        rule: RULE.id,
        field: "head_v",
        got: head_v.to_string(),
        limit: format!("a multiple of {COLUMNS_PER_LANE_GROUP}"),
        unit: "channels",
        source: "the decode step's contract",
        hint: format!("use reduction = \"serial\" for this head, or head_v = {nearest}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{decode, refused};
    use crate::{DecodeStepSpec, Reduction};

    #[test]
    fn accepts_multiples_and_any_serial_v() {
        assert_eq!(DecodeStepSpec { head_v: 4, ..decode() }.check(), []);
        assert_eq!(
            DecodeStepSpec { head_v: 33, reduction: Reduction::Serial, ..decode() }.check(),
            []
        );
    }

    #[test]
    fn never_suggests_what_another_rule_refuses() {
        let spec = DecodeStepSpec { head_v: 2047, ..decode() };
        let violations = spec.check();
        let tiling = violations.iter().find(|violation| violation.rule == "value_tiling").unwrap();
        assert!(tiling.hint.contains("head_v = 1024"), "{}", tiling.hint);
    }

    #[test]
    fn refuses_a_remainder() {
        let spec = DecodeStepSpec { head_v: 66, ..decode() };
        let words = ["got 66", "a multiple of 4", "reduction = \"serial\"", "head_v = 64"];
        refused(&spec.check(), "value_tiling", "head_v", &words);
    }
}
