//! The rules, one a file, and which of them each kernel obeys.

mod attention_features;
mod attention_registers;
mod block_size;
mod cache_dtype;
mod chunk;
mod chunk_queries;
mod conv_segment;
mod conv_width;
mod gate_lower_bound;
mod gate_of_family;
mod grid_size;
mod head_dim;
mod head_groups;
mod key_lanes;
mod key_tiling;
mod query_groups;
mod recurrent_state;
mod row_bytes;
mod serial_registers;
mod shared_heads;
mod sizes;
mod state_registers;
mod value_columns;
mod value_tiling;
mod wave_count;
mod wave_width;
mod workgroup_size;

use crate::attention::AttentionSpec;
use crate::attention_chunk::AttentionChunkSpec;
use crate::conv_chunk::ConvChunkSpec;
use crate::conv_step::ConvStepSpec;
use crate::decode_step::DecodeStepSpec;
use crate::recurrent::RecurrentSpec;
use crate::rule::Rule;

/// The rules of the decode step.
pub const DECODE_STEP: &[Rule<DecodeStepSpec>] = &[
    sizes::rule(),
    head_groups::rule(),
    value_columns::RULE,
    gate_of_family::RULE,
    gate_lower_bound::rule(),
    key_lanes::RULE,
    key_tiling::RULE,
    value_tiling::RULE,
    state_registers::RULE,
    wave_count::rule(),
    wave_width::rule(),
    workgroup_size::rule(),
    grid_size::rule(),
    row_bytes::rule(),
];

pub use chunk::{CHUNK_FUSED, CHUNK_SCAN, CHUNK_SPLIT, CHUNK_TILE, PREFILL_PROBLEM};
pub(crate) use chunk::{OF_PROBLEM_SCANS, OF_PROBLEM_TILES, plain_limit};

/// The rules of the conv step.
pub const CONV_STEP: &[Rule<ConvStepSpec>] = &[
    sizes::rule(),
    conv_width::RULE,
    wave_count::rule(),
    wave_width::rule(),
    workgroup_size::rule(),
    row_bytes::rule(),
];

/// The rules of the recurrent kernel beside those of its step.
pub const RECURRENT: &[Rule<RecurrentSpec>] = &[recurrent_state::RULE, serial_registers::RULE];

/// The rules of the conv chunk beside those of its step.
pub const CONV_CHUNK: &[Rule<ConvChunkSpec>] = &[conv_segment::RULE];

/// The rules of paged decode attention.
pub const ATTENTION: &[Rule<AttentionSpec>] = &[
    sizes::rule(),
    query_groups::RULE,
    shared_heads::RULE,
    head_dim::RULE,
    block_size::RULE,
    cache_dtype::RULE,
    attention_features::RULE,
    attention_registers::RULE,
    wave_count::rule(),
    wave_width::rule(),
    workgroup_size::rule(),
    row_bytes::rule(),
];

/// The rules of chunk attention beside those of its step.
pub const ATTENTION_CHUNK: &[Rule<AttentionChunkSpec>] = &[chunk_queries::RULE];

/// The multiple of `step` nearest to `value`, and at least one step.
fn nearest_multiple(value: u32, step: u32) -> u32 {
    let below = value - value % step;
    match below.checked_add(step) {
        Some(above) if below == 0 || above - value < value - below => above,
        _ => below,
    }
}

#[cfg(test)]
pub(crate) mod fixtures {
    //! Specs that break no rule, and the check that a changed one breaks exactly one.

    use isa::Target;

    use crate::attention::{AttentionSpec, CacheLayout};
    use crate::attention_chunk::AttentionChunkSpec;
    use crate::conv_chunk::ConvChunkSpec;
    use crate::conv_step::{Activation, ConvStepSpec};
    use crate::decode_step::{
        DecodeStepSpec, Family, Gate, HeadMap, Reduction, StateContract, StateLayout,
    };
    use crate::element::Dtype;
    use crate::recurrent::RecurrentSpec;
    use crate::rule::Violation;

    /// A legal decode step.
    pub fn decode() -> DecodeStepSpec {
        DecodeStepSpec {
            family: Family::Gdn,
            target: Target::Gfx1100,
            gate: Gate::LogDecay,
            key_heads: 4,
            value_heads: 12,
            head_k: 64,
            head_v: 96,
            dtype: Dtype::Bf16,
            head_map: HeadMap::Grouped,
            state_layout: StateLayout::KFirst,
            state_contract: StateContract::Separate,
            reduction: Reduction::LaneTree { k_lanes: 8 },
            waves: 4,
            wave_width: 32,
        }
    }

    /// A legal conv step.
    pub fn conv() -> ConvStepSpec {
        ConvStepSpec {
            target: Target::Gfx950,
            channels: 1000,
            width: 4,
            dtype: Dtype::Bf16,
            bias: false,
            activation: Activation::Silu,
            waves: 2,
            wave_width: 64,
        }
    }

    /// A legal recurrent kernel.
    pub fn recurrent() -> RecurrentSpec {
        RecurrentSpec { step: decode(), initial_state: true, final_state: true }
    }

    /// A legal conv chunk.
    pub fn conv_chunk() -> ConvChunkSpec {
        ConvChunkSpec { step: conv(), segment: 64 }
    }

    /// A legal attention kernel.
    pub fn attention() -> AttentionSpec {
        AttentionSpec {
            target: Target::Gfx1100,
            query_heads: 12,
            key_heads: 3,
            head_dim: 96,
            dtype: Dtype::Bf16,
            block_size: 16,
            cache_layout: CacheLayout::TokenFirst,
            heads_per_workgroup: 2,
            alibi: false,
            window: None,
            soft_cap: None,
            waves: 4,
            wave_width: 32,
        }
    }

    /// A legal chunk attention kernel.
    pub fn attention_chunk() -> AttentionChunkSpec {
        AttentionChunkSpec { step: attention(), queries_per_workgroup: 1 }
    }

    /// Asserts that exactly one violation is there, of this rule and field, with these words.
    pub fn refused(violations: &[Violation], rule: &str, field: &str, words: &[&str]) {
        let [violation] = violations else {
            panic!("one violation of {rule} expected, got {violations:#?}");
        };
        assert_eq!((violation.rule, violation.field), (rule, field));
        let text = violation.to_string();
        for word in words {
            assert!(text.contains(word), "'{word}' is missing in: {text}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixtures_break_no_rule() {
        assert_eq!(fixtures::decode().check(), []);
        assert_eq!(fixtures::conv().check(), []);
        assert_eq!(fixtures::recurrent().check(), []);
        assert_eq!(fixtures::conv_chunk().check(), []);
        assert_eq!(fixtures::attention().check(), []);
        assert_eq!(fixtures::attention_chunk().check(), []);
        assert_eq!(chunk::fixtures::tile().check(), []);
        assert_eq!(chunk::fixtures::scan().check(), []);
        assert_eq!(chunk::fixtures::fused().check(), []);
    }

    #[test]
    fn rules_have_distinct_ids_and_explanations() {
        fn pages<S>(rules: &[Rule<S>]) -> Vec<(&'static str, String)> {
            rules.iter().map(|rule| (rule.id, rule.explanation())).collect()
        }
        for list in [
            pages(DECODE_STEP),
            pages(CONV_STEP),
            pages(CHUNK_TILE),
            pages(CHUNK_SCAN),
            pages(CHUNK_FUSED),
            pages(CHUNK_SPLIT),
            pages(RECURRENT),
            pages(CONV_CHUNK),
            pages(ATTENTION),
            pages(ATTENTION_CHUNK),
            pages(PREFILL_PROBLEM),
        ] {
            let ids: std::collections::BTreeSet<_> = list.iter().map(|(id, _)| id).collect();
            assert_eq!(ids.len(), list.len());
            assert!(list.iter().all(|(_, explanation)| explanation.len() > 40), "{list:#?}");
        }
    }

    #[test]
    fn nearest_multiples() {
        assert_eq!(nearest_multiple(33, 16), 32);
        assert_eq!(nearest_multiple(47, 16), 48);
        assert_eq!(nearest_multiple(3, 16), 16);
        assert_eq!(nearest_multiple(u32::MAX, 16), u32::MAX - 15);
    }
}
