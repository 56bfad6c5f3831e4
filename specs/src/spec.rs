//! A spec of any kernel.

use isa::Target;

use crate::choice::{Choice, choice};
use crate::conv_step::{self, ConvStepSpec};
use crate::decode_step::{self, DecodeStepSpec};
use crate::field::{Field, Settings};

choice! {
    /// The kernels that specs describe.
    pub enum KernelKind {
        /// [`DecodeStepSpec`].
        DecodeStep = "decode_step",
        /// [`ConvStepSpec`].
        ConvStep = "conv_step",
    }
}

impl KernelKind {
    /// The keys of this kernel's spec files, beside [`crate::field::HEADER_FIELDS`].
    pub fn fields(self) -> &'static [Field] {
        match self {
            KernelKind::DecodeStep => decode_step::FIELDS,
            KernelKind::ConvStep => conv_step::FIELDS,
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
}

impl Spec {
    /// Which kernel this is a spec of.
    pub fn kernel(&self) -> KernelKind {
        match self {
            Spec::DecodeStep(_) => KernelKind::DecodeStep,
            Spec::ConvStep(_) => KernelKind::ConvStep,
        }
    }

    /// The family's name: `gdn`, `kda` or `conv`.
    pub fn family(&self) -> &'static str {
        match self {
            Spec::DecodeStep(spec) => spec.family.name(),
            Spec::ConvStep(_) => ConvStepSpec::FAMILY,
        }
    }

    /// The GPU that the kernel is built for.
    pub fn target(&self) -> Target {
        match self {
            Spec::DecodeStep(spec) => spec.target,
            Spec::ConvStep(spec) => spec.target,
        }
    }

    /// The spec of `kernel` that settings describe, when every field in play is there.
    pub fn from_settings(kernel: KernelKind, settings: &Settings) -> Option<Spec> {
        match kernel {
            KernelKind::DecodeStep => DecodeStepSpec::from_settings(settings).map(Spec::DecodeStep),
            KernelKind::ConvStep => ConvStepSpec::from_settings(settings).map(Spec::ConvStep),
        }
    }

    /// Every field that is in play with its value.
    pub fn settings(&self) -> Settings {
        match self {
            Spec::DecodeStep(spec) => spec.settings(),
            Spec::ConvStep(spec) => spec.settings(),
        }
    }

    /// Work-items in a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        match self {
            Spec::DecodeStep(spec) => spec.workgroup_size(),
            Spec::ConvStep(spec) => spec.workgroup_size(),
        }
    }
}

impl From<DecodeStepSpec> for Spec {
    fn from(spec: DecodeStepSpec) -> Spec {
        Spec::DecodeStep(spec)
    }
}

impl From<ConvStepSpec> for Spec {
    fn from(spec: ConvStepSpec) -> Spec {
        Spec::ConvStep(spec)
    }
}
