//! Value heads are a multiple of key heads. Every key head serves equally many value heads, in groups or
//! in turns (`head_map`); with a remainder some head would read a key head that does not exist.

use super::nearest_multiple;
use crate::chunk::ChunkParts;
use crate::decode_step::DecodeStepSpec;
use crate::rule::{Rule, Violation};

const ID: &str = "head_groups";

/// Heads of a spec.
pub(crate) trait Heads {
    /// Key heads and value heads; no key heads where the kernel reads no keys.
    fn heads(&self) -> (u32, u32);
}

impl Heads for DecodeStepSpec {
    fn heads(&self) -> (u32, u32) {
        (self.key_heads, self.value_heads)
    }
}

impl<S: ChunkParts> Heads for S {
    fn heads(&self) -> (u32, u32) {
        (self.tile().map_or(0, |tile| tile.key_heads), self.common().value_heads)
    }
}

pub(crate) const fn rule<S: Heads>() -> Rule<S> {
    Rule { id: ID, file: include_str!("head_groups.rs"), check: check::<S> }
}

fn check<S: Heads>(spec: &S) -> Vec<Violation> {
    let (key_heads, value_heads) = spec.heads();
    let legal = key_heads == 0 || value_heads.is_multiple_of(key_heads);
    if legal { Vec::new() } else { vec![violation(key_heads, value_heads)] }
}

fn violation(key_heads: u32, value_heads: u32) -> Violation {
    Violation {
        rule: ID,
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
    use crate::chunk::{KdaTileSpec, TilePart};
    use crate::rules::chunk::fixtures::tile;
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
        let spec = KdaTileSpec { tile: TilePart { key_heads: 3, ..tile().tile }, ..tile() };
        let words = ["got 8", "a multiple of key_heads = 3", "value_heads = 9"];
        refused(&spec.check(), "head_groups", "value_heads", &words);
    }

    #[test]
    fn refuses_fewer_value_heads_than_key_heads() {
        let spec = DecodeStepSpec { key_heads: 16, value_heads: 8, ..decode() };
        refused(&spec.check(), "head_groups", "value_heads", &["value_heads = 16"]);
    }
}
