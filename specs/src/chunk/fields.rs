//! The keys of prefill spec files.

use super::{AccuracyKind, BetaForm, ChunkGateKind, DecayForm, TokenLayout};
use crate::choice::Choice;
use crate::decode_step::{Family, HeadMap, StateLayout};
use crate::element::Dtype;
use crate::field::{Field, FieldKind, InName, Presence, Value};
use crate::field::{target_field, wave_width_field, waves_field};

/// The keys of a tile kernel.
pub(crate) const TILE: &[Field] = &joined::<
    { IDENTITY.len() + GATES.len() + ROWS.len() + TILES.len() + CHUNK.len() + GEOMETRY.len() },
>(&[IDENTITY, GATES, ROWS, TILES, CHUNK, GEOMETRY]);

/// The keys of a scan kernel.
pub(crate) const SCAN: &[Field] = &joined::<
    { IDENTITY.len() + ROWS.len() + STATE.len() + CHUNK.len() + PAD_CB.len() + GEOMETRY.len() },
>(&[IDENTITY, ROWS, STATE, CHUNK, PAD_CB, GEOMETRY]);

/// The keys of a fused kernel.
pub(crate) const FUSED: &[Field] =
    &joined::<
        {
            IDENTITY.len()
                + GATES.len()
                + ROWS.len()
                + STATE.len()
                + TILES.len()
                + CHUNK.len()
                + PAD_CB.len()
                + GEOMETRY.len()
        },
    >(&[IDENTITY, GATES, ROWS, STATE, TILES, CHUNK, PAD_CB, GEOMETRY]);

/// See [`super::ChunkCommon::pad_cb`].
pub(crate) const DEFAULT_PAD_CB: u32 = 8;

/// What is computed.
const IDENTITY: &[Field] = &[
    required(
        "family",
        "Gated DeltaNet (one gate a value head) or Kimi Delta Attention (one gate a key channel)",
        FieldKind::Choice(Family::NAMES),
        InName::Never,
    ),
    target_field(),
    required(
        "accuracy",
        "what operands of matrix products are rounded to; part of the result, so it has no default",
        FieldKind::Choice(AccuracyKind::NAMES),
        InName::Value,
    ),
    with(
        "value_bound",
        "what |v|, |S|, |R| and |V~| stay below, at most 65504",
        FieldKind::Number,
        Presence::With { key: "accuracy", values: &["f16"], default: None },
        InName::Prefixed("vb"),
    ),
];

/// How the state decays.
const GATES: &[Field] = &[
    required(
        "gate",
        "where the log decay comes from; part of the model, so it has no default",
        FieldKind::Choice(ChunkGateKind::NAMES),
        InName::Value,
    ),
    with(
        "gate_lower_bound_nats",
        "what every log decay is at least, in nats a token; with bounded_sigmoid in [-5, 0)",
        FieldKind::Number,
        Presence::With {
            key: "gate",
            values: &["log_decay_per_channel", "bounded_sigmoid"],
            default: None,
        },
        InName::Prefixed("lb"),
    ),
    with(
        "dt_bias",
        "whether a dt_bias is added to the raw gate",
        FieldKind::Flag,
        Presence::With {
            key: "gate",
            values: &["bounded_sigmoid", "softplus"],
            default: Some(Value::Flag(true)),
        },
        InName::Word("nobias"),
    ),
    required(
        "decay",
        "how the decay between two rows enters the products of keys",
        FieldKind::Choice(DecayForm::NAMES),
        InName::Value,
    ),
    required("key_heads", "HK: heads of q and k", FieldKind::Count, InName::Prefixed("hk")),
    required(
        "head_map",
        "key head of value head h: grouped is h / (HV / HK), tiled is h mod HK",
        FieldKind::Choice(HeadMap::NAMES),
        InName::Value,
    ),
    optional(
        "qk_l2norm",
        "whether rows of q and k are divided by their length",
        FieldKind::Flag,
        Value::Flag(false),
        InName::Word("l2norm"),
    ),
    optional(
        "beta",
        "where the step size comes from: given, sigmoid(b) or 2 sigmoid(b)",
        FieldKind::Choice(BetaForm::NAMES),
        Value::Name("given"),
        InName::Prefixed("beta_"),
    ),
    optional(
        "beta_dtype",
        "type of beta or of what it is made from",
        FieldKind::Choice(Dtype::NAMES),
        Value::Name("bf16"),
        InName::Prefixed("beta_"),
    ),
];

/// Which rows there are and where they lie.
const ROWS: &[Field] = &[
    required(
        "value_heads",
        "HV: heads of v, g, beta, o and the state",
        FieldKind::Count,
        InName::Prefixed("hv"),
    ),
    required(
        "head_k",
        "K: channels of a key head, 64 or 128",
        FieldKind::Count,
        InName::Prefixed("k"),
    ),
    required(
        "dtype",
        "type of q, k, v, o and of raw gates; the state is f32",
        FieldKind::Choice(Dtype::NAMES),
        InName::Prefixed("io_"),
    ),
    optional(
        "layout",
        "order of rows in memory: [B, T, H, D], [B, H, T, D] or strides as arguments",
        FieldKind::Choice(TokenLayout::NAMES),
        Value::Name("token_major"),
        InName::Value,
    ),
    optional(
        "varlen",
        "whether sequences are packed, with their ends in cu_seqlens",
        FieldKind::Flag,
        Value::Flag(false),
        InName::Word("varlen"),
    ),
    optional(
        "checked",
        "whether the kernel writes the status word",
        FieldKind::Flag,
        Value::Flag(false),
        InName::Word("checked"),
    ),
];

/// How the state is carried.
const STATE: &[Field] = &[
    required(
        "head_v",
        "V: channels of a value head, 64 or 128",
        FieldKind::Count,
        InName::Prefixed("v"),
    ),
    required(
        "state_layout",
        "one head's state, slowest axis first: k_first is [K, V], v_first is [V, K]",
        FieldKind::Choice(StateLayout::NAMES),
        InName::Value,
    ),
    optional(
        "initial_state",
        "whether there is an initial state; without one it is zeros",
        FieldKind::Flag,
        Value::Flag(true),
        InName::Word("noh0"),
    ),
    optional(
        "final_state",
        "whether the final state is stored",
        FieldKind::Flag,
        Value::Flag(true),
        InName::Word("noht"),
    ),
    optional(
        "value_splits",
        "workgroups that share the columns of one value head: 1, 2, 4 or 8",
        FieldKind::Count,
        Value::Count(1),
        InName::Prefixed("vs"),
    ),
    optional(
        "scan_atom_m",
        "rows of the matrix operation in the scan's products: 16 or 32",
        FieldKind::Count,
        Value::Count(16),
        InName::Prefixed("sa"),
    ),
    optional(
        "prefetch",
        "whether the next chunk's loads are issued before this chunk's last phases",
        FieldKind::Flag,
        Value::Flag(true),
        InName::Word("noprefetch"),
    ),
];

/// How tiles are made.
const TILES: &[Field] = &[
    optional(
        "tile_atom_m",
        "rows of the matrix operation in the products of keys: 16 or 32",
        FieldKind::Count,
        Value::Count(16),
        InName::Prefixed("ta"),
    ),
    optional(
        "solve_block",
        "rows of a block of the triangular solve: a multiple of 16 that divides the chunk",
        FieldKind::Count,
        Value::Count(16),
        InName::Prefixed("sb"),
    ),
    optional(
        "pad_c",
        "elements of padding of a row of C f32 elements in LDS",
        FieldKind::Count,
        Value::Count(4),
        InName::Prefixed("pc"),
    ),
    optional(
        "lds_overlay",
        "whether buffers that are never live together share LDS",
        FieldKind::Flag,
        Value::Flag(false),
        InName::Word("overlay"),
    ),
];

/// Rows of a chunk, and of K in LDS.
const CHUNK: &[Field] = &[
    required("chunk", "C: rows of a chunk: 16, 32 or 64", FieldKind::Count, InName::Prefixed("c")),
    optional(
        "pad_dk",
        "elements of padding of a row of K elements in LDS",
        FieldKind::Count,
        Value::Count(8),
        InName::Prefixed("pdk"),
    ),
];

/// Rows of C in 16 bits, which only kernels with a scan have in LDS.
const PAD_CB: &[Field] = &[optional(
    "pad_cb",
    "elements of padding of a row of C 16-bit elements in LDS",
    FieldKind::Count,
    Value::Count(DEFAULT_PAD_CB),
    InName::Prefixed("pcb"),
)];

/// The shape of a workgroup.
const GEOMETRY: &[Field] = &[
    optional(
        "min_groups_per_cu",
        "workgroups that must fit on a CU by their LDS, in whole granules",
        FieldKind::Count,
        Value::Count(1),
        InName::Prefixed("g"),
    ),
    waves_field(),
    wave_width_field(),
];

const fn with(
    key: &'static str,
    meaning: &'static str,
    kind: FieldKind,
    presence: Presence,
    in_name: InName,
) -> Field {
    Field { key, meaning, kind, presence, in_name }
}

const fn required(
    key: &'static str,
    meaning: &'static str,
    kind: FieldKind,
    in_name: InName,
) -> Field {
    with(key, meaning, kind, Presence::Required, in_name)
}

const fn optional(
    key: &'static str,
    meaning: &'static str,
    kind: FieldKind,
    default: Value,
    in_name: InName,
) -> Field {
    with(key, meaning, kind, Presence::Default(default), in_name)
}

/// Tables one after the other.
const fn joined<const N: usize>(tables: &[&[Field]]) -> [Field; N] {
    let mut fields = [tables[0][0]; N];
    let (mut table, mut next) = (0, 0);
    while table < tables.len() {
        let mut row = 0;
        while row < tables[table].len() {
            fields[next] = tables[table][row];
            next += 1;
            row += 1;
        }
        table += 1;
    }
    fields
}
