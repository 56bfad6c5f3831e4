//! A launch has at most 65,535 workgroups in y. Value heads are the grid's y axis, and the driver takes no
//! more there; the batch, the z axis, has the same limit, checked with the problem.

use crate::chunk::ChunkParts;
use crate::decode_step::DecodeStepSpec;
use crate::plan::MAX_GRID_YZ;
use crate::rule::{Rule, Violation};

const ID: &str = "grid_size";

/// Heads of a spec.
pub(crate) trait Heads {
    /// Key heads, of kernels that read keys.
    fn key_heads(&self) -> Option<u32>;
    /// Value heads.
    fn value_heads(&self) -> u32;
}

impl Heads for DecodeStepSpec {
    fn key_heads(&self) -> Option<u32> {
        Some(self.key_heads)
    }

    fn value_heads(&self) -> u32 {
        self.value_heads
    }
}

impl<S: ChunkParts> Heads for S {
    fn key_heads(&self) -> Option<u32> {
        self.tile().map(|tile| tile.key_heads)
    }

    fn value_heads(&self) -> u32 {
        self.common().value_heads
    }
}

pub(crate) const fn rule<S: Heads>() -> Rule<S> {
    Rule { id: ID, file: include_str!("grid_size.rs"), check: check::<S> }
}

fn check<S: Heads>(spec: &S) -> Vec<Violation> {
    let legal = spec.value_heads() <= MAX_GRID_YZ;
    if legal { Vec::new() } else { vec![violation(spec)] }
}

fn violation<S: Heads>(spec: &S) -> Violation {
    let key_heads = spec.key_heads().unwrap_or(1).clamp(1, MAX_GRID_YZ);
    Violation {
        rule: ID,
        field: "value_heads",
        got: spec.value_heads().to_string(),
        limit: format!("at most {MAX_GRID_YZ}"),
        unit: "workgroups in y",
        source: "ROCr agent information, maximum grid dimensions",
        hint: format!("nearest legal: value_heads = {}", MAX_GRID_YZ - MAX_GRID_YZ % key_heads),
    }
}

#[cfg(test)]
mod tests {
    use crate::DecodeStepSpec;
    use crate::rules::fixtures::{decode, refused};

    #[test]
    fn accepts_the_limit() {
        assert_eq!(DecodeStepSpec { key_heads: 1, value_heads: 65_535, ..decode() }.check(), []);
    }

    #[test]
    fn refuses_more() {
        let spec = DecodeStepSpec { key_heads: 4, value_heads: 65_536, ..decode() };
        let words = ["got 65536", "at most 65535", "workgroups in y", "value_heads = 65532"];
        refused(&spec.check(), "grid_size", "value_heads", &words);
    }
}
