//! Why goldens cannot be read, compared or blessed.

use std::path::PathBuf;

use crate::files::FileError;

/// A failure of the engine; an artefact that changed is none.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// A file or folder that cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A fixture that does not say what a fixture says.
    #[error("{} is no fixture: {problem}", path.display())]
    Fixture {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A spec file that does not read.
    #[error(transparent)]
    Spec(#[from] specs::UnreadableSpec),
    /// Two specs of one variant and target.
    #[error("two specs are {family}/{variant} for {target}: remove one")]
    VariantTwice {
        /// The family.
        family: String,
        /// The variant's name.
        variant: String,
        /// The target.
        target: isa::Target,
    },
    /// Nothing to compare.
    #[error("no spec files (*.toml) in {}", folder.display())]
    NoSpecs {
        /// Where they were looked for.
        folder: PathBuf,
    },
    /// A blessing without a reason.
    #[error("a blessing needs a reason: --why \"what changed and why that is right\"")]
    NoReason,
    /// A blessing where nobody looks.
    #[error(
        "goldens are not blessed in CI (the variable CI is set): bless where a person reads what moved"
    )]
    InCi,
    /// Variants whose artefacts cannot be made here; nothing was written.
    #[error("nothing was blessed: {}", reasons.join("; "))]
    Incomplete {
        /// Whether each of them only lacks something on this machine, such as LLVM.
        unavailable: bool,
        /// Variant, target and reason of each.
        reasons: Vec<String>,
    },
}

impl GoldenError {
    /// 2 for unreadable input and wrong usage, 3 when something needed is unavailable, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            GoldenError::Incomplete { unavailable: true, .. } => 3,
            GoldenError::Incomplete { .. } | GoldenError::InCi => 1,
            GoldenError::File(_)
            | GoldenError::Fixture { .. }
            | GoldenError::Spec(_)
            | GoldenError::VariantTwice { .. }
            | GoldenError::NoSpecs { .. }
            | GoldenError::NoReason => 2,
        }
    }
}
