//! A block of the cache has 16, 32 or 64 tokens. A wave takes a block's keys in whole rounds, and the scores of a block
//! stay in registers until its values are read.

use crate::attention::AttentionSpec;
use crate::rule::{Rule, Violation};

/// Legal numbers of tokens.
pub(super) const LEGAL: [u32; 3] = [16, 32, 64];

pub(crate) const RULE: Rule<AttentionSpec> =
    Rule { id: "block_size", file: include_str!("block_size.rs"), check };

fn check(spec: &AttentionSpec) -> Vec<Violation> {
    let legal = LEGAL.contains(&spec.block_size);
    if legal { Vec::new() } else { vec![violation(spec.block_size)] }
}

fn violation(block_size: u32) -> Violation {
    let nearest = LEGAL.into_iter().min_by_key(|legal| legal.abs_diff(block_size)).unwrap_or(16);
    Violation {
        rule: RULE.id,
        field: "block_size",
        got: block_size.to_string(),
        limit: "16, 32 or 64".to_owned(),
        unit: "tokens",
        source: "the attention kernels' contract",
        hint: format!("nearest legal: block_size = {nearest}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::AttentionSpec;
    use crate::rules::fixtures::{attention, refused};

    #[test]
    fn accepts_the_three_sizes() {
        for block_size in [16, 32, 64] {
            assert_eq!(AttentionSpec { block_size, ..attention() }.check(), []);
        }
    }

    #[test]
    fn refuses_every_other() {
        for (block_size, hint) in [(0, 16), (1, 16), (8, 16), (24, 16), (48, 32), (128, 64)] {
            let spec = AttentionSpec { block_size, ..attention() };
            let words = [&format!("got {block_size}"), "16, 32 or 64", &format!("= {hint}")];
            refused(&spec.check(), "block_size", "block_size", &words.map(|word| word as &str));
        }
    }
}
