//! Kernels: from a spec to kernel IR, one file a family.
//!
//! The order of every kernel's float operations is a contract, written in `docs/kernels/`; its arguments and launch
//! geometry are the spec's.

mod arguments;
mod attention;
mod channels;
mod chunk;
mod conv;
mod conv_chunk;
mod conv_step;
mod decode_step;
mod delta;
mod gates;
mod recurrent;

use dsl::builder::BuildError;
use dsl::ir::Kernel;
use specs::{ChunkSpec, Probed, Spec, Violation};

use chunk::probe::Altered;

/// Why there is no kernel for a spec.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The spec breaks rules; all of them are here.
    #[error("{name} breaks {} of its rules: {}", violations.len(), joined(violations))]
    Refused {
        /// The variant's name.
        name: String,
        /// What it breaks.
        violations: Vec<Violation>,
    },
    /// A kernel family built something that the verifier refuses: a defect of this crate.
    #[error("{name} cannot be built, which is a defect of its kernel family: {}", joined(errors))]
    Build {
        /// The variant's name.
        name: String,
        /// Every error, with the line of the family's source.
        errors: Vec<BuildError>,
    },
}

/// The kernel of a spec.
pub fn build(spec: &Spec) -> Result<Kernel, KernelError> {
    let name = spec.name();
    if let Err(violations) = specs::is_valid_spec(spec) {
        return Err(KernelError::Refused { name, violations });
    }
    let built = match spec {
        Spec::DecodeStep(spec) => decode_step::build(&name, spec),
        Spec::ConvStep(spec) => conv_step::build(&name, spec),
        Spec::Chunk(spec) => return build_chunk(spec),
        Spec::Recurrent(spec) => recurrent::build(&name, spec),
        Spec::ConvChunk(spec) => conv_chunk::build(&name, spec),
        Spec::Attention(spec) => attention::build(&name, spec),
        Spec::AttentionChunk(spec) => attention::build_chunk(&name, spec),
    };
    built.map_err(|errors| KernelError::Build { name, errors })
}

/// The kernel of a prefill spec.
pub fn build_chunk(spec: &ChunkSpec) -> Result<Kernel, KernelError> {
    let name = Spec::Chunk(*spec).name();
    let violations = spec.check();
    if !violations.is_empty() {
        return Err(KernelError::Refused { name, violations });
    }
    let built = match spec {
        ChunkSpec::Tile(spec) => chunk::tile::build(&name, spec, Altered::default()),
        ChunkSpec::Scan(spec) => chunk::scan::build(&name, spec, Altered::default()),
        ChunkSpec::Fused(spec) => chunk::fused::build(&name, spec, Altered::default()),
    };
    built.map_err(|errors| KernelError::Build { name, errors })
}

/// The kernel of a prefill spec with a probe.
pub fn build_probed(probed: &Probed) -> Result<Kernel, KernelError> {
    let name = probed.name();
    let violations = probed.untouched().check();
    if !violations.is_empty() {
        return Err(KernelError::Refused { name, violations });
    }
    chunk::probe::build(probed).map_err(|errors| KernelError::Build { name, errors })
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
