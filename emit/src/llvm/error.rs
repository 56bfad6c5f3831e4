//! Why the LLVM back end has no code object to give.

use std::path::PathBuf;
use std::time::Duration;

use super::locate::{WORKER_NAME, WORKER_VARIABLE};
use super::protocol::Failure;

/// A kernel that could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel '{kernel}': {cause}")]
pub struct EmitError {
    /// The kernel, as its author or its spec names it.
    pub kernel: String,
    /// What happened.
    pub cause: Cause,
}

/// What kept the worker from delivering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The worker says why.
    #[error(transparent)]
    Failed(Failure),
    /// The worker was killed by a signal: a crash inside LLVM, or a limit of its resources.
    #[error("the LLVM worker was killed by signal {signal}{}", detail(stderr))]
    Crashed {
        /// Number of the signal.
        signal: i32,
        /// What it last wrote to its standard error.
        stderr: String,
    },
    /// No reply within the limit; the worker was killed.
    #[error("the LLVM worker did not answer within {} s and was stopped", limit.as_secs_f64())]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// There is no worker.
    #[error(
        "the LLVM worker {WORKER_NAME} was not found (looked for {}): build it with `cargo build --release` \
         or name it in {WORKER_VARIABLE}",
        list(looked_for)
    )]
    WorkerMissing {
        /// The files that were looked for.
        looked_for: Vec<PathBuf>,
    },
    /// The worker does not start or does not keep to the protocol.
    #[error("{} is not a working LLVM worker: {problem}; rebuild it with `cargo build --release`", worker.display())]
    WorkerBroken {
        /// The worker's file.
        worker: PathBuf,
        /// What was wrong.
        problem: String,
    },
}

impl Cause {
    /// Whether the back end itself is unusable here, whatever the kernel.
    pub fn is_unavailable(&self) -> bool {
        match self {
            Cause::WorkerMissing { .. } | Cause::WorkerBroken { .. } => true,
            Cause::Failed(failure) => {
                matches!(failure, Failure::LinkFailed { .. } | Failure::BadRequest { .. })
            }
            Cause::Crashed { .. } | Cause::TimedOut { .. } => false,
        }
    }
}

fn list(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn detail(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        words => format!(": {words}"),
    }
}
