//! How verbs end: right, wrong, or with an error that fixes the exit code.

use codeobj::{CodeObjectError, UnknownKernel};
use emit::gcn::GcnError;
use emit::llvm::{Cause, EmitError};
use emulator::LaunchError;
use isa::target::UnknownTarget;
use oracle::OracleError;
use runtime::{DeviceError, PlanFailure};
use specs::dispatch::Refusal;
use specs::{InvalidProblem, PlanError, ProbeError, UnreadableSpec, Violation};

use crate::bundle::BundleError;
use crate::emitted::BrokenPromise;
use crate::emulate::bind::ArgumentsError;
use crate::emulate::tensor::TensorError;
use crate::files::FileError;
use crate::golden::GoldenError;
use crate::harness::tensor_file::TensorFileError;

/// What a verb found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, and everything is right: exit code 0.
    Right,
    /// Done, and something is wrong: exit code 1.
    Wrong,
    /// Right, but a file of results could not be written, which the report says: exit code 2.
    Unwritten,
    /// Done, and something that is needed is missing: exit code 3.
    Missing,
}

impl Outcome {
    /// [`Outcome::Right`] if so.
    pub fn right_if(right: bool) -> Outcome {
        if right { Outcome::Right } else { Outcome::Wrong }
    }
}

/// Why a verb could not be done.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Arguments that make no sense together, or name nothing there is.
    #[error("{0}")]
    Usage(String),
    /// A target that does not exist.
    #[error(transparent)]
    Target(#[from] UnknownTarget),
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A spec file that cannot be read.
    #[error(transparent)]
    Spec(#[from] UnreadableSpec),
    /// A spec that cannot be right.
    #[error("{file} breaks {} rule(s):\n{}", violations.len(), list(violations))]
    BrokenRules {
        /// The spec file.
        file: String,
        /// Every broken rule.
        violations: Vec<Violation>,
    },
    /// A problem that no kernel solves.
    #[error("{file}: no candidate solves this problem\n{refusal}")]
    NoCandidate {
        /// The problem file.
        file: String,
        /// Why each lost, and what would work.
        refusal: Box<Refusal>,
    },
    /// A problem that is not one of the spec.
    #[error(transparent)]
    Problem(#[from] InvalidProblem),
    /// A launch plan that cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A problem that would not fit memory.
    #[error(
        "the problem's tensors take {got_bytes} bytes, the limit of a run is {limit_bytes} bytes (the float64 \
         reference takes about six times as much): reduce batch, tokens or pool_slots"
    )]
    TooLarge {
        /// Bytes of its tensors.
        got_bytes: u64,
        /// Bytes they may take.
        limit_bytes: u64,
    },
    /// Specs that could not be read, already reported one by one.
    #[error("{unread} of {of} specs cannot be read")]
    Unread {
        /// How many could not.
        unread: usize,
        /// Of how many.
        of: usize,
    },
    /// Goldens of which none could be compared.
    #[error(
        "none of the {not_comparable} records could be compared: {}",
        "the lines above say why; `wavesmith doctor` shows what is missing"
    )]
    NothingCompared {
        /// How many.
        not_comparable: usize,
    },
    /// A file of tensors that is no problem of the spec.
    #[error(transparent)]
    Tensors(#[from] TensorFileError),
    /// A spec whose kernel cannot be built.
    #[error(transparent)]
    Kernel(#[from] kernels::KernelError),
    /// Assembly text that is none, or no assembler to ask.
    #[error("{file}: {cause}")]
    Assembly {
        /// The file.
        file: String,
        /// What the assembler says.
        cause: Cause,
    },
    /// What the LLVM back end says.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// A code object that is not what its spec promises.
    #[error(transparent)]
    Emitted(#[from] BrokenPromise),
    /// What the GCN back end says.
    #[error("{}{}", .0, gcn_remedy(.0))]
    Gcn(#[from] GcnError),
    /// Bytes that are no code object.
    #[error("{file}: {source}")]
    CodeObject {
        /// The file.
        file: String,
        /// Every problem.
        source: CodeObjectError,
    },
    /// A code object without that kernel.
    #[error(transparent)]
    UnknownKernel(#[from] UnknownKernel),
    /// Values that do not fit the arguments of a code object's kernel.
    #[error(transparent)]
    Arguments(#[from] ArgumentsError),
    /// What is wrong with one of several launches.
    #[error("launch {number}: {source}")]
    InLaunch {
        /// Its number, from 1.
        number: usize,
        /// What is wrong.
        source: Box<CliError>,
    },
    /// An array that cannot be read or saved.
    #[error(transparent)]
    Array(#[from] TensorError),
    /// A launch that the emulator cannot start.
    #[error(transparent)]
    Refused(#[from] LaunchError),
    /// A probe that there is not, or not of that kernel.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A device that failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A launch plan that was refused or failed.
    #[error(transparent)]
    Launch(#[from] PlanFailure),
    /// A reference that cannot be computed.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A bundle that cannot be made or read.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// Goldens that cannot be compared or written.
    #[error(transparent)]
    Golden(#[from] GoldenError),
    /// A document that cannot be written as JSON.
    #[error("cannot write JSON: {0}")]
    Json(serde_json::Error),
    /// Stdout takes no more.
    #[error("cannot write to stdout: {0}")]
    Stdout(std::io::Error),
}

impl CliError {
    /// Says which launch it is about, where a call has several; `launch` counts from 0.
    pub fn in_launch(self, launch: usize, of: usize) -> CliError {
        let number = launch + 1;
        if of == 1 { self } else { CliError::InLaunch { number, source: Box::new(self) } }
    }

    /// 1 when a rule, check or comparison failed or a fault happened, 2 for wrong usage, unreadable input and
    /// unwritable output, 3 when something needed is unavailable.
    pub fn exit_code(&self) -> u8 {
        match self {
            CliError::Usage(_)
            | CliError::Target(_)
            | CliError::File(_)
            | CliError::Spec(_)
            | CliError::Tensors(_)
            | CliError::CodeObject { .. }
            | CliError::Arguments(_)
            | CliError::Array(_)
            | CliError::UnknownKernel(_)
            | CliError::Stdout(_)
            | CliError::Unread { .. } => 2,
            CliError::InLaunch { source, .. } => source.exit_code(),
            CliError::Problem(problem) => problem_code(problem),
            CliError::Plan(PlanError::InvalidProblem(problem)) => problem_code(problem),
            CliError::Emit(error) if error.cause.is_unavailable() => 3,
            CliError::Assembly { cause, .. } if cause.is_unavailable() => 3,
            CliError::Assembly { .. } => 2,
            CliError::NothingCompared { .. } => 3,
            CliError::Device(DeviceError::Hip(error))
            | CliError::Launch(PlanFailure::Device(DeviceError::Hip(error)))
                if error.is_unavailable() =>
            {
                3
            }
            CliError::Bundle(BundleError::Twice { .. } | BundleError::Manifest { .. }) => 2,
            CliError::Bundle(_) => 1,
            CliError::Golden(error) => error.exit_code(),
            // The launch is right, but the emulator cannot do what the kernel's descriptor asks for.
            CliError::Refused(LaunchError::Descriptor { .. }) => 1,
            CliError::Refused(_) => 2,
            CliError::Oracle(error) if error.is_about_inputs() => 2,
            CliError::Probe(error) if error.is_about_its_text() => 2,
            CliError::BrokenRules { .. }
            | CliError::NoCandidate { .. }
            | CliError::Probe(_)
            | CliError::TooLarge { .. }
            | CliError::Plan(_)
            | CliError::Kernel(_)
            | CliError::Emit(_)
            | CliError::Emitted(_)
            | CliError::Gcn(_)
            | CliError::Device(_)
            | CliError::Launch(_)
            | CliError::Oracle(_)
            | CliError::Json(_) => 1,
        }
    }
}

/// What to change in a spec or a call, beside what the back end says of the kernel.
fn gcn_remedy(error: &GcnError) -> &'static str {
    match error.cause {
        emit::gcn::Cause::Registers { .. } => {
            "; --backend llvm compiles it, and of prefill kernels accuracy = \"bf16\" wants the fewest registers"
        }
        _ => "",
    }
}

fn problem_code(problem: &InvalidProblem) -> u8 {
    if problem.is_unreadable() { 2 } else { 1 }
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(|item| format!("  {item}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A worker that is there and does not answer says something about the kernel; one that is not there is missing.
    #[test]
    fn a_worker_that_hangs_fails_its_kernel() {
        let code = |cause| CliError::Emit(EmitError { kernel: "doubles".to_owned(), cause });
        let hangs = code(Cause::TimedOut { limit: Duration::from_secs(60) });
        assert_eq!(hangs.exit_code(), 1, "{hangs}");
        assert!(hangs.to_string().contains("60"), "{hangs}");
        let missing = code(Cause::WorkerMissing { looked_for: Vec::new() });
        assert_eq!(missing.exit_code(), 3, "{missing}");
    }
}
