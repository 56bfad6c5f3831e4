//! Every size of a spec is at least 1. A kernel over zero heads, channels or taps computes nothing, and
//! would be reported as a success that touched no output.

use crate::attention::AttentionSpec;
use crate::chunk::ChunkParts;
use crate::conv_step::ConvStepSpec;
use crate::decode_step::DecodeStepSpec;
use crate::rule::{Rule, Violation};

const ID: &str = "sizes";

/// Sizes of a spec by field.
pub(crate) trait Sizes {
    /// Every size that may not be zero.
    fn sizes(&self) -> Vec<(&'static str, u32)>;
}

impl Sizes for DecodeStepSpec {
    fn sizes(&self) -> Vec<(&'static str, u32)> {
        vec![
            ("key_heads", self.key_heads),
            ("value_heads", self.value_heads),
            ("head_k", self.head_k),
            ("head_v", self.head_v),
        ]
    }
}

impl Sizes for ConvStepSpec {
    fn sizes(&self) -> Vec<(&'static str, u32)> {
        vec![("channels", self.channels)]
    }
}

impl Sizes for AttentionSpec {
    fn sizes(&self) -> Vec<(&'static str, u32)> {
        vec![
            ("query_heads", self.query_heads),
            ("key_heads", self.key_heads),
            ("heads_per_workgroup", self.heads_per_workgroup),
        ]
    }
}

impl<S: ChunkParts> Sizes for S {
    fn sizes(&self) -> Vec<(&'static str, u32)> {
        let key_heads = self.tile().map(|tile| ("key_heads", tile.key_heads));
        [("value_heads", self.common().value_heads)].into_iter().chain(key_heads).collect()
    }
}

pub(crate) const fn rule<S: Sizes>() -> Rule<S> {
    Rule { id: ID, file: include_str!("sizes.rs"), check: check::<S> }
}

fn check<S: Sizes>(spec: &S) -> Vec<Violation> {
    let zero = spec.sizes().into_iter().filter(|(_, size)| *size == 0);
    zero.map(|(field, _)| violation(field)).collect()
}

fn violation(field: &'static str) -> Violation {
    Violation {
        rule: ID,
        field,
        got: "0".to_owned(),
        limit: "1 or more".to_owned(),
        unit: "heads or channels",
        source: "the kernel's contract",
        hint: format!("nearest legal: {field} = 1"),
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::ChunkCommon;
    use crate::rules::chunk::fixtures::scan;
    use crate::rules::fixtures::{conv, decode, refused};

    #[test]
    fn accepts_one() {
        let spec = crate::DecodeStepSpec { key_heads: 1, value_heads: 1, ..decode() };
        assert_eq!(spec.check(), []);
        assert_eq!(crate::ConvStepSpec { channels: 1, ..conv() }.check(), []);
    }

    #[test]
    fn refuses_zero_in_every_field() {
        for (field, spec) in [
            ("key_heads", crate::DecodeStepSpec { key_heads: 0, ..decode() }),
            ("value_heads", crate::DecodeStepSpec { value_heads: 0, ..decode() }),
            ("head_k", crate::DecodeStepSpec { head_k: 0, ..decode() }),
            ("head_v", crate::DecodeStepSpec { head_v: 0, ..decode() }),
        ] {
            refused(&spec.check(), "sizes", field, &["got 0", "1 or more", "nearest legal"]);
        }
        let common = ChunkCommon { value_heads: 0, ..scan().common };
        let spec = crate::KdaChunkScanSpec { common, ..scan() };
        refused(&spec.check(), "sizes", "value_heads", &["got 0"]);
        let spec = crate::ConvStepSpec { channels: 0, ..conv() };
        refused(&spec.check(), "sizes", "channels", &["got 0"]);
    }
}
