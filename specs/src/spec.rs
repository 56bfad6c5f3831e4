//! A spec of any kernel.

use isa::Target;

use crate::choice::{Choice, choice};
use crate::chunk::{ChunkSpec, fields as chunk_fields};
use crate::conv_step::{self, ConvStepSpec};
use crate::decode_step::{self, DecodeStepSpec};
use crate::field::{Field, Settings};
use crate::lds_map::LdsMap;

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
    }
}

impl KernelKind {
    /// The targets that its specs may name.
    pub fn targets(self) -> &'static [Target] {
        match self {
            KernelKind::DecodeStep | KernelKind::ConvStep => &Target::ALL,
            KernelKind::ChunkTile | KernelKind::ChunkScan | KernelKind::ChunkFused => {
                &[Target::Gfx950]
            }
        }
    }

    /// The keys of this kernel's spec files, beside [`crate::field::HEADER_FIELDS`].
    pub fn fields(self) -> &'static [Field] {
        match self {
            KernelKind::DecodeStep => decode_step::FIELDS,
            KernelKind::ConvStep => conv_step::FIELDS,
            KernelKind::ChunkTile => chunk_fields::TILE,
            KernelKind::ChunkScan => chunk_fields::SCAN,
            KernelKind::ChunkFused => chunk_fields::FUSED,
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
}

impl Spec {
    /// Which kernel this is a spec of.
    pub fn kernel(&self) -> KernelKind {
        match self {
            Spec::DecodeStep(_) => KernelKind::DecodeStep,
            Spec::ConvStep(_) => KernelKind::ConvStep,
            Spec::Chunk(spec) => spec.kernel(),
        }
    }

    /// The family's name: `gdn`, `kda` or `conv`.
    pub fn family(&self) -> &'static str {
        match self {
            Spec::DecodeStep(spec) => spec.family.name(),
            Spec::ConvStep(_) => ConvStepSpec::FAMILY,
            Spec::Chunk(spec) => spec.common().family.name(),
        }
    }

    /// The GPU that the kernel is built for.
    pub fn target(&self) -> Target {
        match self {
            Spec::DecodeStep(spec) => spec.target,
            Spec::ConvStep(spec) => spec.target,
            Spec::Chunk(spec) => spec.common().target,
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
        }
    }

    /// Every field that is in play with its value.
    pub fn settings(&self) -> Settings {
        match self {
            Spec::DecodeStep(spec) => spec.settings(),
            Spec::ConvStep(spec) => spec.settings(),
            Spec::Chunk(spec) => spec.settings(),
        }
    }

    /// Work-items in a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        match self {
            Spec::DecodeStep(spec) => spec.workgroup_size(),
            Spec::ConvStep(spec) => spec.workgroup_size(),
            Spec::Chunk(spec) => spec.common().workgroup_size(),
        }
    }

    /// Waves in a workgroup.
    pub fn waves(&self) -> u32 {
        match self {
            Spec::DecodeStep(spec) => spec.waves,
            Spec::ConvStep(spec) => spec.waves,
            Spec::Chunk(spec) => spec.common().waves,
        }
    }

    /// Lanes of a wave.
    pub fn wave_width(&self) -> u32 {
        match self {
            Spec::DecodeStep(spec) => spec.wave_width,
            Spec::ConvStep(spec) => spec.wave_width,
            Spec::Chunk(spec) => spec.common().wave_width,
        }
    }

    /// LDS of a workgroup by buffer, of kernels that use any.
    pub fn lds_map(&self) -> Option<LdsMap> {
        match self {
            Spec::DecodeStep(_) | Spec::ConvStep(_) => None,
            Spec::Chunk(spec) => Some(spec.lds_map()),
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

impl From<ConvStepSpec> for Spec {
    fn from(spec: ConvStepSpec) -> Spec {
        Spec::ConvStep(spec)
    }
}
