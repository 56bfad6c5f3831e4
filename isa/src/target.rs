//! The targets and every limit that the rest of the project takes from the hardware.

use std::fmt;
use std::str::FromStr;

/// A GPU that kernels are built for. Unknown names are an error, never a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// CDNA4: MFMA, wave64.
    Gfx950,
    /// RDNA3: WMMA, wave32.
    Gfx1100,
}

/// A target name that this project does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown target '{got}': supported targets are gfx950, gfx1100 (exact chips, not families)")]
pub struct UnknownTarget {
    /// What was asked for.
    pub got: String,
}

impl Target {
    /// Every target, in the order of listings.
    pub const ALL: [Target; 2] = [Target::Gfx950, Target::Gfx1100];

    /// The name that LLVM and file names use.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Gfx950 => "gfx950",
            Target::Gfx1100 => "gfx1100",
        }
    }

    /// Lanes of a wave.
    pub const fn wave_width(self) -> u32 {
        match self {
            Target::Gfx950 => 64,
            Target::Gfx1100 => 32,
        }
    }
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Target, UnknownTarget> {
        let known = Target::ALL.into_iter().find(|target| target.name() == name);
        known.ok_or_else(|| UnknownTarget { got: name.to_owned() })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
