//! A spec of any kernel.

use isa::Target;

use crate::attention::{self, AttentionSpec};
use crate::attention_chunk::{self, AttentionChunkSpec};
use crate::choice::{Choice, choice};
use crate::chunk::{ChunkSpec, fields as chunk_fields};
use crate::conv_chunk::{self, ConvChunkSpec};
use crate::conv_step::{self, ConvStepSpec};
use crate::decode_step::{self, DecodeStepSpec};
use crate::field::{Field, Settings};
use crate::lds_map::LdsMap;
use crate::recurrent::{self, RecurrentSpec};

choice! {
    /// The kernels that specs describe.
    pub enum KernelKind {
        /// [`DecodeStepSpec`].
        DecodeStep = "decode_step",
        /// [`ConvStepSpec`].
        ConvStep = "conv_step",
        /// [`crate::KdaTileSpec`].
        ChunkTile = "chunk_tile",
        /// [`crate::KdaChunkScanSpec`].
        ChunkScan = "chunk_scan",
        /// [`crate::KdaChunkFusedSpec`].
        ChunkFused = "chunk_fused",
        /// [`RecurrentSpec`].
        Recurrent = "recurrent",
        /// [`ConvChunkSpec`].
        ConvChunk = "conv_chunk",
        /// [`AttentionSpec`].
        AttentionDecode = "attention_decode",
        /// [`AttentionChunkSpec`].
        AttentionChunk = "attention_chunk",
    }
}

impl KernelKind {
    /// The keys of this kernel's spec files, beside [`crate::field::HEADER_FIELDS`].
    pub fn fields(self) -> &'static [Field] {
        match self {
            KernelKind::DecodeStep => decode_step::FIELDS,
            KernelKind::ConvStep => conv_step::FIELDS,
            KernelKind::ChunkTile => chunk_fields::TILE,
            KernelKind::ChunkScan => chunk_fields::SCAN,
            KernelKind::ChunkFused => chunk_fields::FUSED,
            KernelKind::Recurrent => recurrent::FIELDS,
            KernelKind::ConvChunk => conv_chunk::FIELDS,
            KernelKind::AttentionDecode => attention::FIELDS,
            KernelKind::AttentionChunk => attention_chunk::FIELDS,
        }
    }
}

/// A spec of any kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spec {
    /// One token of gated linear attention.
    DecodeStep(DecodeStepSpec),
    /// One token of a causal convolution.
    ConvStep(ConvStepSpec),
    /// A part of chunked prefill.
    Chunk(ChunkSpec),
    /// Many tokens of gated linear attention, one after the other.
    Recurrent(RecurrentSpec),
    /// Many tokens of a causal convolution.
    ConvChunk(ConvChunkSpec),
    /// Softmax attention to a paged cache.
    Attention(AttentionSpec),
    /// The same of many queries.
    AttentionChunk(AttentionChunkSpec),
}

impl Spec {
    /// Which kernel this is a spec of.
    pub fn kernel(&self) -> KernelKind {
        match self {
            Spec::DecodeStep(_) => KernelKind::DecodeStep,
            Spec::ConvStep(_) => KernelKind::ConvStep,
            Spec::Chunk(spec) => spec.kernel(),
            Spec::Recurrent(_) => KernelKind::Recurrent,
            Spec::ConvChunk(_) => KernelKind::ConvChunk,
            Spec::Attention(_) => KernelKind::AttentionDecode,
            Spec::AttentionChunk(_) => KernelKind::AttentionChunk,
        }
    }

    /// The family's name: `gdn`, `kda`, `conv` or `attention`.
    pub fn family(&self) -> &'static str {
        match self {
            Spec::DecodeStep(spec) => spec.family.name(),
            Spec::ConvStep(_) | Spec::ConvChunk(_) => ConvStepSpec::FAMILY,
            Spec::Chunk(spec) => spec.common().family.name(),
            Spec::Recurrent(spec) => spec.step.family.name(),
            Spec::Attention(_) | Spec::AttentionChunk(_) => AttentionSpec::FAMILY,
        }
    }

    /// The GPU that the kernel is built for.
    pub fn target(&self) -> Target {
        match self {
            Spec::DecodeStep(spec) => spec.target,
            Spec::ConvStep(spec) => spec.target,
            Spec::Chunk(spec) => spec.common().target,
            Spec::Recurrent(spec) => spec.step.target,
            Spec::ConvChunk(spec) => spec.step.target,
            Spec::Attention(spec) => spec.target,
            Spec::AttentionChunk(spec) => spec.step.target,
        }
    }

    /// The spec of `kernel` that settings describe, when every field in play is there.
    pub fn from_settings(kernel: KernelKind, settings: &Settings) -> Option<Spec> {
        match kernel {
            KernelKind::DecodeStep => DecodeStepSpec::from_settings(settings).map(Spec::DecodeStep),
            KernelKind::ConvStep => ConvStepSpec::from_settings(settings).map(Spec::ConvStep),
            KernelKind::ChunkTile | KernelKind::ChunkScan | KernelKind::ChunkFused => {
                ChunkSpec::from_settings(kernel, settings).map(Spec::Chunk)
            }
            KernelKind::Recurrent => RecurrentSpec::from_settings(settings).map(Spec::Recurrent),
            KernelKind::ConvChunk => ConvChunkSpec::from_settings(settings).map(Spec::ConvChunk),
            KernelKind::AttentionDecode => {
                AttentionSpec::from_settings(settings).map(Spec::Attention)
            }
            KernelKind::AttentionChunk => {
                AttentionChunkSpec::from_settings(settings).map(Spec::AttentionChunk)
            }
        }
    }

    /// Every field that is in play with its value.
    pub fn settings(&self) -> Settings {
        match self {
            Spec::DecodeStep(spec) => spec.settings(),
            Spec::ConvStep(spec) => spec.settings(),
            Spec::Chunk(spec) => spec.settings(),
            Spec::Recurrent(spec) => spec.settings(),
            Spec::ConvChunk(spec) => spec.settings(),
            Spec::Attention(spec) => spec.settings(),
            Spec::AttentionChunk(spec) => spec.settings(),
        }
    }

    /// Work-items in a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        match self {
            Spec::DecodeStep(spec) => spec.workgroup_size(),
            Spec::ConvStep(spec) => spec.workgroup_size(),
            Spec::Chunk(spec) => spec.common().workgroup_size(),
            Spec::Recurrent(spec) => spec.step.workgroup_size(),
            Spec::ConvChunk(spec) => spec.step.workgroup_size(),
            Spec::Attention(spec) => spec.workgroup_size(),
            Spec::AttentionChunk(spec) => spec.step.workgroup_size(),
        }
    }

    /// Waves in a workgroup.
    pub fn waves(&self) -> u32 {
        match self {
            Spec::DecodeStep(spec) => spec.waves,
            Spec::ConvStep(spec) => spec.waves,
            Spec::Chunk(spec) => spec.common().waves,
            Spec::Recurrent(spec) => spec.step.waves,
            Spec::ConvChunk(spec) => spec.step.waves,
            Spec::Attention(spec) => spec.waves,
            Spec::AttentionChunk(spec) => spec.step.waves,
        }
    }

    /// Lanes of a wave.
    pub fn wave_width(&self) -> u32 {
        match self {
            Spec::DecodeStep(spec) => spec.wave_width,
            Spec::ConvStep(spec) => spec.wave_width,
            Spec::Chunk(spec) => spec.common().wave_width,
            Spec::Recurrent(spec) => spec.step.wave_width,
            Spec::ConvChunk(spec) => spec.step.wave_width,
            Spec::Attention(spec) => spec.wave_width,
            Spec::AttentionChunk(spec) => spec.step.wave_width,
        }
    }

    /// LDS of a workgroup by buffer, of kernels that place several in it.
    pub fn lds_map(&self) -> Option<LdsMap> {
        match self {
            Spec::Chunk(spec) => Some(spec.lds_map()),
            _ => None,
        }
    }

    /// Bytes of LDS a workgroup.
    pub fn lds_bytes(&self) -> u64 {
        match self {
            Spec::Attention(spec) => spec.lds_bytes(),
            Spec::AttentionChunk(spec) => spec.lds_bytes(),
            _ => self.lds_map().map_or(0, |map| map.total_bytes()),
        }
    }
}

impl From<DecodeStepSpec> for Spec {
    fn from(spec: DecodeStepSpec) -> Spec {
        Spec::DecodeStep(spec)
    }
}

impl From<ChunkSpec> for Spec {
    fn from(spec: ChunkSpec) -> Spec {
        Spec::Chunk(spec)
    }
}

impl From<RecurrentSpec> for Spec {
    fn from(spec: RecurrentSpec) -> Spec {
        Spec::Recurrent(spec)
    }
}

impl From<ConvChunkSpec> for Spec {
    fn from(spec: ConvChunkSpec) -> Spec {
        Spec::ConvChunk(spec)
    }
}

impl From<AttentionSpec> for Spec {
    fn from(spec: AttentionSpec) -> Spec {
        Spec::Attention(spec)
    }
}

impl From<AttentionChunkSpec> for Spec {
    fn from(spec: AttentionChunkSpec) -> Spec {
        Spec::AttentionChunk(spec)
    }
}

impl From<ConvStepSpec> for Spec {
    fn from(spec: ConvStepSpec) -> Spec {
        Spec::ConvStep(spec)
    }
}
