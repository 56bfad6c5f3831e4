//! The arguments of the prefill kernels, in the order of their declarations.
//!
//! Where rows are token-major, tokens of all sequences are one axis T, sequences one behind the other; a batch of equal
//! lengths is packed the same way. Head-major rows need the batch as an axis; packed sequences are a batch of one.

use super::tables::{CHUNK_ROW, SEQUENCE_ROW, STRIDE_ROWS};
use super::{ChunkCommon, ChunkGate, ChunkSpec, ScanPart, TilePart, TokenLayout};
use crate::decode_step::StateLayout;
use crate::element::Element;
use crate::signature::{
    Access, Argument, ArgumentKind, Axis, BATCH, Extent, Role, SEQUENCES, ScalarType, Signature,
    TOKENS, buffer, fixed, input, output, scale,
};

/// Chunks of all sequences.
const CHUNKS: Axis = Axis { symbol: "chunks", extent: Extent::Chunks };

impl ChunkSpec {
    /// The kernel's arguments.
    pub fn signature(&self) -> Signature {
        let common = self.common();
        let mut arguments = vec![table("chunks", &[CHUNKS, fixed("row", CHUNK_ROW)])];
        if self.scan().is_some() {
            arguments.push(sequence_table());
        }
        arguments.extend(places(common));
        match self {
            ChunkSpec::Tile(spec) => {
                arguments.extend(inputs(common, &spec.tile));
                let order = [A, GK, GQ, AQK, KT];
                arguments.extend(stages(common, &order, Access::WriteOnly, Role::Output));
                arguments.push(decays(common, Access::WriteOnly, Role::Output));
            }
            ChunkSpec::Scan(spec) => {
                // The order of the buffers in the LDS map.
                let stage =
                    |tensors: &[Stage]| stages(common, tensors, Access::ReadOnly, Role::Input);
                arguments.extend(stage(&[GK, GQ, A, AQK]));
                arguments.push(decays(common, Access::ReadOnly, Role::Input));
                arguments.extend(stage(&[KT]));
                arguments.extend(values(common, &spec.scan));
            }
            ChunkSpec::Fused(spec) => {
                arguments.extend(inputs(common, &spec.tile));
                arguments.extend(values(common, &spec.scan));
            }
        }
        arguments.extend(common.checked.then(status));
        Signature { arguments }
    }
}

/// What the layout of rows needs: nothing, `tokens` of a batch row, or `strides`.
fn places(common: &ChunkCommon) -> Option<Argument> {
    match common.layout {
        TokenLayout::TokenMajor => None,
        TokenLayout::HeadMajor => {
            Some(Argument { name: "tokens", kind: ArgumentKind::Scalar(ScalarType::I32) })
        }
        TokenLayout::Strided => {
            let tensors = fixed("tensors", STRIDE_ROWS.len() as u32);
            Some(table("strides", &[tensors, fixed("strides", 3)]))
        }
    }
}

/// The status word.
fn status() -> Argument {
    buffer("status", Element::I32, Access::ReadWrite, Role::Status, &[fixed("1", 1)])
}

/// The axes of a tensor with a row a token and head; a row of one number has no axis where rows have no gaps.
fn rows(common: &ChunkCommon, heads: Axis, row: Option<Axis>) -> Vec<Axis> {
    let before = match (common.layout, common.varlen) {
        (TokenLayout::TokenMajor, _) => vec![TOKENS, heads],
        (TokenLayout::HeadMajor, true) => vec![fixed("B", 1), heads, TOKENS],
        (TokenLayout::HeadMajor, false) => {
            vec![BATCH, heads, Axis { symbol: "T", extent: Extent::SequenceTokens }]
        }
        (TokenLayout::Strided, _) => {
            let Axis { symbol, extent } = row.unwrap_or(fixed("1", 1));
            let extent = Extent::Gapped(extent.fixed().unwrap_or(1));
            return vec![TOKENS, heads, Axis { symbol, extent }];
        }
    };
    before.into_iter().chain(row).collect()
}

/// The table of sequences.
pub(crate) fn sequence_table() -> Argument {
    table("sequences", &[SEQUENCES, fixed("row", SEQUENCE_ROW)])
}

fn table(name: &'static str, shape: &[Axis]) -> Argument {
    buffer(name, Element::I32, Access::ReadOnly, Role::Table, shape)
}

/// What tiles are made from.
fn inputs(common: &ChunkCommon, tile: &TilePart) -> Vec<Argument> {
    let (element, heads) = (Element::from(common.dtype), fixed("HV", common.value_heads));
    let keys = rows(common, fixed("HK", tile.key_heads), Some(fixed("K", common.head_k)));
    let mut arguments = vec![
        input("q", element, &keys),
        input("k", element, &keys),
        input("beta", tile.beta_dtype.into(), &rows(common, heads, None)),
    ];
    let channels = channels(common);
    let gates = rows(common, heads, Some(channels));
    let raw_bias = match tile.gate {
        ChunkGate::LogDecayPerChannel { .. } | ChunkGate::LogDecayPerHead => None,
        ChunkGate::BoundedSigmoid { dt_bias, .. } | ChunkGate::Softplus { dt_bias } => {
            Some(dt_bias)
        }
    };
    let Some(has_bias) = raw_bias else {
        arguments.push(input("g", Element::F32, &gates));
        return arguments;
    };
    arguments.push(input("g_raw", element, &gates));
    arguments.push(input("a_log", Element::F32, &[heads]));
    if has_bias {
        arguments.push(input("dt_bias", Element::F32, &[heads, channels]));
    }
    arguments
}

/// Gates of a row of one value head.
fn channels(common: &ChunkCommon) -> Axis {
    if common.per_channel_gate() { fixed("K", common.head_k) } else { fixed("1", 1) }
}

/// A stage tensor in 16 bits, with its low half where tiles are pairs.
#[derive(Clone, Copy)]
struct Stage {
    names: [&'static str; 2],
    /// Rows and columns.
    extent: fn(&ChunkCommon) -> [Axis; 2],
}

const A: Stage = Stage { names: ["a", "a_low"], extent: square };
const GK: Stage = Stage { names: ["gk", "gk_low"], extent: keys };
const GQ: Stage = Stage { names: ["gq", "gq_low"], extent: keys };
const AQK: Stage = Stage { names: ["aqk", "aqk_low"], extent: square };
const KT: Stage = Stage { names: ["kt", "kt_low"], extent: transposed_keys };

fn stages(common: &ChunkCommon, tensors: &[Stage], access: Access, role: Role) -> Vec<Argument> {
    let element = Element::from(common.accuracy.tile_dtype());
    let of = |stage: &Stage| {
        let [rows, columns] = (stage.extent)(common);
        let shape = [CHUNKS, fixed("HV", common.value_heads), rows, columns];
        let halves = if common.accuracy.splits(stage.names[0]) { 2 } else { 1 };
        let halves = stage.names.into_iter().take(halves);
        halves.map(move |name| buffer(name, element, access, role, &shape))
    };
    tensors.iter().flat_map(of).collect()
}

fn square(common: &ChunkCommon) -> [Axis; 2] {
    [fixed("C", common.chunk); 2]
}

fn keys(common: &ChunkCommon) -> [Axis; 2] {
    [fixed("C", common.chunk), fixed("K", common.head_k)]
}

fn transposed_keys(common: &ChunkCommon) -> [Axis; 2] {
    let [rows, columns] = keys(common);
    [columns, rows]
}

/// The decays of whole chunks.
fn decays(common: &ChunkCommon, access: Access, role: Role) -> Argument {
    let shape = [CHUNKS, fixed("HV", common.value_heads), fixed("1", 1), channels(common)];
    buffer("dec", Element::F32, access, role, &shape)
}

/// Values, outputs and states.
fn values(common: &ChunkCommon, scan: &ScanPart) -> Vec<Argument> {
    let (element, heads) = (Element::from(common.dtype), fixed("HV", common.value_heads));
    let (k, v) = (fixed("K", common.head_k), fixed("V", scan.head_v));
    let rows = rows(common, heads, Some(v));
    let state = match scan.state_layout {
        StateLayout::KFirst => [SEQUENCES, heads, k, v],
        StateLayout::VFirst => [SEQUENCES, heads, v, k],
    };
    let initial = buffer("h0", Element::F32, Access::ReadOnly, Role::State, &state);
    let last = buffer("ht", Element::F32, Access::WriteOnly, Role::NextState, &state);
    let mut arguments = vec![input("v", element, &rows), scale()];
    arguments.extend(scan.initial_state.then_some(initial));
    arguments.push(output("o", element, &rows));
    arguments.extend(scan.final_state.then_some(last));
    arguments
}
