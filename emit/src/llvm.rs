//! The LLVM back end, seen from the main program: a kernel goes out as text, artefacts come back.
//!
//! The work is done by the program `wavesmith-llvm`, one process a request, because LLVM can abort, hang
//! or be absent. Whatever happens there arrives here as a typed [`EmitError`] that names the kernel.

mod assembly;
mod error;
mod locate;
mod process;

// Included by path: client and worker share the wire format, but the client must not link the worker's
// crate, which needs libLLVM.
#[path = "../llvm/src/protocol.rs"]
pub mod protocol;

use std::path::{Path, PathBuf};
use std::time::Duration;

use dsl::ir::Kernel;
use isa::Target;

pub use assembly::{assemble, assemble_lines, disassemble, disassemble_each};
pub use error::{Cause, EmitError};
pub use locate::{WORKER_NAME, WORKER_VARIABLE};
pub use protocol::{AssembledLine, Diagnostic, DisassembledLine, Failure, LlvmIdentity, Toolchain};

use protocol::{Reply, Request};

/// How to run the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The worker to use; without one, [`WORKER_VARIABLE`] names it, else it stands beside this program.
    pub worker: Option<PathBuf>,
    /// Longest wait for one reply.
    pub time_limit: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { worker: None, time_limit: Duration::from_secs(60) }
    }
}

/// What LLVM makes of one kernel. Equal kernels give equal bytes under equal [`LlvmIdentity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artefacts {
    /// The LLVM that made them: artefacts of different identities are not comparable.
    pub llvm: LlvmIdentity,
    /// LLVM IR text before any optimisation.
    pub llvm_ir: String,
    /// Assembly text after optimisation.
    pub assembly: String,
    /// The linked code object.
    pub code_object: Vec<u8>,
}

/// The worker that would be used, and its tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerReport {
    /// The worker's file.
    pub worker: PathBuf,
    /// Its LLVM and linker.
    pub toolchain: Toolchain,
}

/// All artefacts of a kernel.
///
/// # Errors
/// Any [`Cause`], with the kernel's name.
pub fn compile(kernel: &Kernel, options: &Options) -> Result<Artefacts, EmitError> {
    compile_text(&kernel.name, &dsl::text::print(kernel), options)
}

/// As [`compile`], from the kernel's text form; `name` stands in errors.
///
/// # Errors
/// Any [`Cause`], with `name`.
pub fn compile_text(name: &str, text: &str, options: &Options) -> Result<Artefacts, EmitError> {
    request_artefacts(Request::Compile, text, options)
        .map_err(|cause| EmitError { kernel: name.to_owned(), cause })
}

/// All artefacts of an LLVM module for `amdgcn-amd-amdhsa` that somebody else wrote, from its text.
/// `level` is the optimisation level, 0 to 3; `name` stands in errors.
///
/// # Errors
/// Any [`Cause`], with `name`.
pub fn compile_module(
    name: &str,
    ir: &str,
    target: Target,
    level: u8,
    options: &Options,
) -> Result<Artefacts, EmitError> {
    let request = Request::CompileModule { target: target.name().to_owned(), level };
    request_artefacts(request, ir, options)
        .map_err(|cause| EmitError { kernel: name.to_owned(), cause })
}

/// Which worker, LLVM and linker are in use.
///
/// # Errors
/// The worker is missing, broken or too slow.
pub fn describe(options: &Options) -> Result<WorkerReport, Cause> {
    let worker = locate::worker(options)?;
    match process::exchange(&worker, Request::Describe, Vec::new(), options.time_limit)? {
        (Reply::Described(toolchain), _) => Ok(WorkerReport { worker, toolchain }),
        (reply, _) => Err(unexpected(&worker, reply)),
    }
}

fn request_artefacts(request: Request, text: &str, options: &Options) -> Result<Artefacts, Cause> {
    let worker = locate::worker(options)?;
    let text = text.as_bytes().to_vec();
    match process::exchange(&worker, request, text, options.time_limit)? {
        (Reply::Compiled { llvm, llvm_ir_bytes, assembly_bytes, code_object_bytes }, body) => {
            let lengths = [llvm_ir_bytes, assembly_bytes, code_object_bytes];
            let [llvm_ir, assembly, code_object] = split(body, lengths)
                .ok_or_else(|| broken(&worker, "the lengths of the artefacts do not add up"))?;
            let text = |bytes| {
                String::from_utf8(bytes).map_err(|_| broken(&worker, "a text is not UTF-8"))
            };
            Ok(Artefacts { llvm, llvm_ir: text(llvm_ir)?, assembly: text(assembly)?, code_object })
        }
        (reply, _) => Err(unexpected(&worker, reply)),
    }
}

/// The parts of a body, if they fill it exactly.
fn split(mut body: Vec<u8>, lengths: [u64; 3]) -> Option<[Vec<u8>; 3]> {
    let total = lengths.iter().try_fold(0u64, |sum, length| sum.checked_add(*length))?;
    if total != body.len() as u64 {
        return None;
    }
    let code_object = body.split_off((lengths[0] + lengths[1]) as usize);
    let assembly = body.split_off(lengths[0] as usize);
    Some([body, assembly, code_object])
}

fn unexpected(worker: &Path, reply: Reply) -> Cause {
    match reply {
        Reply::Failed(failure) => Cause::Failed(failure),
        Reply::Described(_)
        | Reply::Compiled { .. }
        | Reply::AssembledObject
        | Reply::AssembledLines
        | Reply::Disassembled => broken(worker, "the reply answers another request"),
    }
}

fn broken(worker: &Path, problem: &str) -> Cause {
    Cause::WorkerBroken { worker: worker.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_must_fill_the_body_exactly() {
        let body = b"iraasmobj".to_vec();
        let parts = split(body.clone(), [2, 4, 3]).expect("the lengths fit");
        assert_eq!(parts.map(|part| part.len()), [2, 4, 3]);
        assert_eq!(split(body.clone(), [2, 4, 4]), None);
        assert_eq!(split(body, [u64::MAX, 9, 1]), None);
    }
}
