//! The query heads that a workgroup takes together belong to one key head: `heads_per_workgroup` divides the query heads of
//! a key head. Otherwise a workgroup would need the keys and values of two heads.

use crate::attention::AttentionSpec;
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<AttentionSpec> =
    Rule { id: "shared_heads", file: include_str!("shared_heads.rs"), check };

fn check(spec: &AttentionSpec) -> Vec<Violation> {
    let (heads, group) = (spec.heads_per_workgroup, spec.group());
    let is_group = group > 0 && spec.query_heads.is_multiple_of(spec.key_heads);
    let legal = heads == 0 || !is_group || group.is_multiple_of(heads);
    if legal { Vec::new() } else { vec![violation(heads, group)] }
}

fn violation(heads: u32, group: u32) -> Violation {
    let nearest = (1..=heads.min(group)).rev().find(|heads| group.is_multiple_of(*heads));
    Violation {
        rule: RULE.id,
        field: "heads_per_workgroup",
        got: heads.to_string(),
        limit: format!("a divisor of query_heads / key_heads = {group}"),
        unit: "heads",
        source: "the attention kernels' contract",
        hint: format!("nearest legal: heads_per_workgroup = {}", nearest.unwrap_or(1)),
    }
}

#[cfg(test)]
mod tests {
    use crate::AttentionSpec;
    use crate::rules::fixtures::{attention, refused};

    #[test]
    fn accepts_divisors() {
        for heads_per_workgroup in [1, 2] {
            assert_eq!(AttentionSpec { heads_per_workgroup, ..attention() }.check(), []);
        }
    }

    #[test]
    fn refuses_what_spans_key_heads() {
        let spec = AttentionSpec { heads_per_workgroup: 3, ..attention() };
        let words = ["got 3", "a divisor of query_heads / key_heads = 4", "workgroup = 2"];
        refused(&spec.check(), "shared_heads", "heads_per_workgroup", &words);
    }
}
