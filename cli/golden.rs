//! The golden engine: fixtures that say what every variant's artefacts were when somebody last looked.
//!
//! A [`Suite`] is a list of specs and a folder of fixtures, `<family>/<variant>.toml`, one
//! [`Record`] a target: hashes of spec, kernel IR, the GCN back end's assembly and code object, LLVM IR and LLVM's
//! code object, beside the properties that a reviewer reads. [`check`] compares, [`bless`] rewrites, [`diff`] adds what changed in the
//! kernel IR. Artefacts come from an [`ArtefactSource`], so the engine itself needs no back end.
//!
//! What LLVM made depends on LLVM: a record of another LLVM version is *not comparable*. It is counted
//! and shown and is never a match; kernel IR and what the GCN back end made are compared all the same.

mod bless;
mod check;
mod error;
mod observe;
mod properties;
mod record;
mod suite;
#[cfg(test)]
mod tests;

pub use bless::{Blessed, bless};
pub use check::{Counts, Entry, Moved, Report, Status, check, diff};
pub use error::GoldenError;
pub use observe::{ArtefactSource, SourceError};
pub use properties::of_kernel as properties;
pub use record::{Blessing, Fixture, GcnRecord, LlvmRecord, Properties, Record};
pub use suite::Suite;
