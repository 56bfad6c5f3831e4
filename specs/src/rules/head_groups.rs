//! Value heads are a multiple of key heads. Every key head serves equally many value heads, in groups or
//! in turns (`head_map`); with a remainder some head would read a key head that does not exist.

use super::nearest_multiple;
use crate::decode_step::DecodeStepSpec;
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<DecodeStepSpec> =
    Rule { id: "head_groups", file: include_str!("head_groups.rs"), check };

fn check(spec: &DecodeStepSpec) -> Vec<Violation> {
    let DecodeStepSpec { key_heads, value_heads, .. } = *spec;
    let legal = key_heads == 0 || value_heads.is_multiple_of(key_heads);
    if legal { Vec::new() } else { vec![violation(key_heads, value_heads)] }
}

fn violation(key_heads: u32, value_heads: u32) -> Violation {
    Violation {
        rule: RULE.id,
        field: "value_heads",
        got: value_heads.to_string(),
        limit: format!("a multiple of key_heads = {key_heads}"),
        unit: "heads",
        source: "grouped value attention, the model's contract",
        hint: format!("nearest legal: value_heads = {}", nearest_multiple(value_heads, key_heads)),
    }
}

#[cfg(test)]
mod tests {
    use crate::DecodeStepSpec;
    use crate::rules::fixtures::{decode, refused};

    #[test]
    fn accepts_multiples() {
        for value_heads in [4, 8, 12, 64] {
            assert_eq!(DecodeStepSpec { value_heads, ..decode() }.check(), []);
        }
    }

    #[test]
    fn refuses_a_remainder() {
        let spec = DecodeStepSpec { key_heads: 16, value_heads: 33, ..decode() };
        let words = ["got 33", "a multiple of key_heads = 16", "value_heads = 32"];
        refused(&spec.check(), "head_groups", "value_heads", &words);
    }

    #[test]
    fn refuses_fewer_value_heads_than_key_heads() {
        let spec = DecodeStepSpec { key_heads: 16, value_heads: 8, ..decode() };
        refused(&spec.check(), "head_groups", "value_heads", &["value_heads = 16"]);
    }
}
