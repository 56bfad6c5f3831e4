//! The keys of attention's spec files.

use super::CacheLayout;
use crate::choice::Choice;
use crate::element::Dtype;
use crate::field::{Field, FieldKind, InName, Presence, Value};
use crate::field::{target_field, wave_width_field, waves_field};

/// The keys of a spec file of paged decode attention, beside [`crate::field::HEADER_FIELDS`].
pub const FIELDS: &[Field] = &[
    target_field(),
    required("query_heads", "HQ: heads of q and o, a multiple of key_heads", "hq"),
    required("key_heads", "HKV: heads of keys and values", "hkv"),
    required("head_dim", "D: channels of a head: 64, 96, 128 or 256", "d"),
    Field {
        key: "dtype",
        meaning: "type of q, of the caches and of o: bf16 or f16",
        kind: FieldKind::Choice(Dtype::NAMES),
        presence: Presence::Required,
        in_name: InName::Value,
    },
    required("block_size", "tokens of a block of the cache: 16, 32 or 64", "b"),
    Field {
        key: "cache_layout",
        meaning: "axes of a block: [block_size, HKV, D] (token_first) or [HKV, block_size, D] (head_first)",
        kind: FieldKind::Choice(CacheLayout::NAMES),
        presence: Presence::Required,
        in_name: InName::Value,
    },
    Field {
        key: "heads_per_workgroup",
        meaning: "query heads of one key head that a workgroup takes together",
        kind: FieldKind::Count,
        presence: Presence::Default(Value::Count(1)),
        in_name: InName::Prefixed("heads"),
    },
    Field {
        key: "alibi",
        meaning: "whether scores have a bias by distance; no kernel has it",
        kind: FieldKind::Flag,
        presence: Presence::Default(Value::Flag(false)),
        in_name: InName::Word("alibi"),
    },
    Field {
        key: "window",
        meaning: "the last tokens that a query sees, when it does not see all; no kernel has it",
        kind: FieldKind::Count,
        presence: Presence::Optional,
        in_name: InName::Prefixed("window"),
    },
    Field {
        key: "soft_cap",
        meaning: "what scores are squeezed below, when they are; no kernel has it",
        kind: FieldKind::Number,
        presence: Presence::Optional,
        in_name: InName::Prefixed("cap"),
    },
    waves_field(),
    wave_width_field(),
];

const fn required(key: &'static str, meaning: &'static str, prefix: &'static str) -> Field {
    Field {
        key,
        meaning,
        kind: FieldKind::Count,
        presence: Presence::Required,
        in_name: InName::Prefixed(prefix),
    }
}
