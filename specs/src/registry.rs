//! What there is: families, kernels and the library of spec files, built in so that listings work anywhere.

use serde::Serialize;

use crate::spec::{KernelKind, Spec};
use crate::spec_file::{UnreadableSpec, parse_spec};

/// A family of kernels, under the name that golden records and file names use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FamilyEntry {
    /// Short name.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Its kernels.
    pub kernels: &'static [KernelKind],
}

/// The kernels of the gated delta rule.
const DELTA_RULE: &[KernelKind] = &[
    KernelKind::DecodeStep,
    KernelKind::Recurrent,
    KernelKind::ChunkTile,
    KernelKind::ChunkScan,
    KernelKind::ChunkFused,
];

/// Every family, in the order of listings.
pub const FAMILIES: &[FamilyEntry] = &[
    FamilyEntry { name: "gdn", title: "Gated DeltaNet", kernels: DELTA_RULE },
    FamilyEntry { name: "kda", title: "Kimi Delta Attention", kernels: DELTA_RULE },
    FamilyEntry {
        name: "conv",
        title: "Causal depthwise convolution",
        kernels: &[KernelKind::ConvStep, KernelKind::ConvChunk],
    },
    FamilyEntry {
        name: "attention",
        title: "Softmax attention to a paged cache",
        kernels: &[KernelKind::AttentionDecode, KernelKind::AttentionChunk],
    },
];

/// A spec file of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibrarySpec {
    /// Name of the file in `specs/library`.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl LibrarySpec {
    /// The spec; the library's own files are always readable and legal, which a test proves.
    ///
    /// # Errors
    /// As for any file.
    pub fn spec(&self) -> Result<Spec, UnreadableSpec> {
        parse_spec(self.file, self.text)
    }

    /// What the file is for: its opening comment.
    pub fn purpose(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix('#'));
        comment.map(str::trim).collect::<Vec<_>>().join(" ")
    }
}

/// Declares the library by base names: those of every target, then those of gfx950 alone.
macro_rules! library {
    ([$($base:literal),+ $(,)?], gfx950: [$($alone:literal),+ $(,)?]) => {
        &[
            $(
                library!(file $base, "gfx950"),
                library!(file $base, "gfx1100"),
            )+
            $(library!(file $alone, "gfx950"),)+
        ]
    };
    (file $base:literal, $target:literal) => {
        LibrarySpec {
            file: concat!($base, "_", $target, ".toml"),
            text: include_str!(concat!("../library/", $base, "_", $target, ".toml")),
        }
    };
}

/// Every spec file of the library, in the order of listings.
pub const LIBRARY: &[LibrarySpec] = library!([
        "gdn_decode",
        "gdn_decode_v_first",
        "gdn_decode_pool",
        "gdn_decode_log_decay",
        "gdn_decode_qwen3_5_large",
        "gdn_decode_packed",
        "gdn_decode_tiled",
        "gdn_decode_three_to_one",
        "gdn_decode_serial",
        "gdn_decode_f32",
        "gdn_decode_f16",
        "kda_decode",
        "kda_decode_bounded_gate",
        "kda_decode_kimi_k3_tp8",
        "kda_decode_pool",
        "kda_decode_log_decay",
        "kda_decode_serial",
        "conv_step",
        "conv_step_bias",
        "conv_step_plain",
        "conv_step_width1",
        "conv_step_width8",
        "gdn_recurrent",
        "gdn_recurrent_v_first",
        "gdn_recurrent_serial",
        "kda_recurrent",
        "kda_recurrent_kimi_k3_tp8",
        "kda_recurrent_fresh",
        "conv_chunk",
        "conv_chunk_bias",
        "conv_chunk_plain",
        "conv_chunk_width1",
        "conv_chunk_width16",
        "attention_decode",
        "attention_decode_mha",
        "attention_decode_mqa",
        "attention_decode_d96",
        "attention_decode_d64",
        "attention_decode_d256",
        "attention_chunk",
        "attention_chunk_mha",
        "attention_chunk_d256",
        "kda_chunk_tile",
        "kda_chunk_scan",
        "kda_chunk_fused",
        "kda_chunk_tile_bf16",
        "kda_chunk_scan_bf16",
        "kda_chunk_fused_bf16",
        "kda_chunk_tile_f16",
        "kda_chunk_scan_f16",
        "kda_chunk_fused_f16",
        "gdn_chunk_tile",
        "gdn_chunk_scan",
        "gdn_chunk_fused",
        "gdn_chunk_tile_bf16",
        "gdn_chunk_scan_bf16",
        "gdn_chunk_fused_bf16",
        "gdn_chunk_tile_f16",
        "gdn_chunk_scan_f16",
        "gdn_chunk_fused_f16",
], gfx950: [
        "kda_chunk_tile_raw",
        "kda_chunk_scan_varlen",
        "kda_chunk_fused_raw",
        "kda_chunk_tile_c16",
        "kda_chunk_scan_c16",
        "kda_chunk_tile_atom32",
        "kda_chunk_scan_atom32",
        "kda_chunk_fused_checked",
        "kda_chunk_tile_head_major",
        "kda_chunk_scan_head_major",
        "kda_chunk_fused_strided",
        "kda_chunk_tile_c64",
        "kda_chunk_scan_c64",
        "kda_chunk_tile_unbounded",
        "kda_chunk_fused_unbounded",
        "gdn_chunk_tile_raw",
        "gdn_chunk_scan_varlen",
        "gdn_chunk_fused_raw",
        "gdn_chunk_fused_head_major",
        "gdn_chunk_tile_strided",
        "gdn_chunk_scan_strided",
        "gdn_chunk_tile_c64",
        "gdn_chunk_scan_c64",
]);
