//! Named models of the arithmetic of matrix and dot-product instructions.
//!
//! The manuals say what these instructions compute and not how sums are ordered and rounded. A mode of
//! [`Numerics`] is one complete answer; every report names the mode that it ran in. `fma-sequential` is a
//! plain definition for both targets, the others restate models that others derived from hardware:
//! `cdna3` and `rdna3` say from which chip, and what is a guess for ours.

mod cdna3;
mod factor;
mod rdna3;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use isa::Target;
use serde::Serialize;

pub(crate) use cdna3::{FusedGroup, GROUP, fused_sum};
pub(crate) use factor::Format;
pub(crate) use rdna3::{Dot2, ProductPair, dot2};

/// How matrix and dot-product instructions order and round their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Numerics {
    /// Matrix: one fused multiply-add a product in ascending k, in the format of D (binary32 where D is
    /// narrower, rounded at the end). Dot products: the exact sum, rounded once. Not any hardware's.
    #[default]
    FmaSequential,
    /// The fused dot product of CDNA3 as the MMA-Sim paper describes it; a candidate for gfx950.
    Cdna3Fdpa,
    /// The two-product adder of RDNA3 as measured on gfx1100 and gfx1151; a candidate for gfx1100.
    Rdna3Candidate,
}

impl Numerics {
    /// Every mode.
    pub const ALL: [Numerics; 3] =
        [Numerics::FmaSequential, Numerics::Cdna3Fdpa, Numerics::Rdna3Candidate];

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Numerics::FmaSequential => "fma-sequential",
            Numerics::Cdna3Fdpa => "cdna3-fdpa",
            Numerics::Rdna3Candidate => "rdna3-candidate",
        }
    }

    /// The modes of a target, the default first.
    pub fn of_target(target: Target) -> &'static [Numerics] {
        match target {
            Target::Gfx950 => &[Numerics::FmaSequential, Numerics::Cdna3Fdpa],
            Target::Gfx1100 => &[Numerics::FmaSequential, Numerics::Rdna3Candidate],
        }
    }

    /// Refuses a mode that the target does not have.
    ///
    /// # Errors
    /// [`WrongNumerics`] with the modes that it has.
    pub fn check(self, target: Target) -> Result<(), WrongNumerics> {
        let valid = Numerics::of_target(target);
        if valid.contains(&self) { Ok(()) } else { Err(WrongNumerics { got: self, target }) }
    }
}

impl fmt::Display for Numerics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A mode of numerics that the target does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("numerics {got} is no mode of {target}; it has {}", list(Numerics::of_target(*target)))]
pub struct WrongNumerics {
    /// The mode asked for.
    pub got: Numerics,
    /// The target.
    pub target: Target,
}

/// A name that no mode has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' is no mode of numerics; modes are {}", list(&Numerics::ALL))]
pub struct UnknownNumerics {
    /// The name.
    pub name: String,
}

impl FromStr for Numerics {
    type Err = UnknownNumerics;

    fn from_str(name: &str) -> Result<Numerics, UnknownNumerics> {
        let mode = Numerics::ALL.into_iter().find(|mode| mode.name() == name);
        mode.ok_or_else(|| UnknownNumerics { name: name.to_owned() })
    }
}

fn list(modes: &[Numerics]) -> String {
    modes.iter().map(|mode| mode.name()).collect::<Vec<_>>().join(", ")
}
