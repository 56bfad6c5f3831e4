//! Query heads are a multiple of key heads. Every key head serves equally many query heads, neighbours of each other; with
//! a remainder some query head would read a key head that does not exist.

use super::nearest_multiple;
use crate::attention::AttentionSpec;
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<AttentionSpec> =
    Rule { id: "query_groups", file: include_str!("query_groups.rs"), check };

fn check(spec: &AttentionSpec) -> Vec<Violation> {
    let AttentionSpec { key_heads, query_heads, .. } = *spec;
    let legal = key_heads == 0 || query_heads.is_multiple_of(key_heads);
    if legal { Vec::new() } else { vec![violation(key_heads, query_heads)] }
}

fn violation(key_heads: u32, query_heads: u32) -> Violation {
    Violation {
        rule: RULE.id,
        field: "query_heads",
        got: query_heads.to_string(),
        limit: format!("a multiple of key_heads = {key_heads}"),
        unit: "heads",
        source: "grouped query attention, the model's contract",
        hint: format!("nearest legal: query_heads = {}", nearest_multiple(query_heads, key_heads)),
    }
}

#[cfg(test)]
mod tests {
    use crate::AttentionSpec;
    use crate::rules::fixtures::{attention, refused};

    #[test]
    fn accepts_multiples() {
        for (query_heads, key_heads) in [(12, 12), (12, 1), (32, 8), (40, 8)] {
            let spec = AttentionSpec { query_heads, key_heads, ..attention() };
            assert_eq!(AttentionSpec { heads_per_workgroup: 1, ..spec }.check(), []);
        }
    }

    #[test]
    fn refuses_a_remainder() {
        let one = AttentionSpec { heads_per_workgroup: 1, ..attention() };
        let spec = AttentionSpec { query_heads: 33, key_heads: 16, ..one };
        let words = ["got 33", "a multiple of key_heads = 16", "query_heads = 32"];
        refused(&spec.check(), "query_groups", "query_heads", &words);
    }
}
