//! Running one problem of a spec and judging the result: inputs, device, float64 reference.

pub mod conditions;
pub mod devices;
mod tensor_error;
pub mod tensor_file;
mod tensor_values;

use emulator::{Numerics, Options};
use isa::Target;
use oracle::tensors::Tensors;
use runtime::{Device, EmulatedDevice, LaunchReport, run_plan};
use sha2::{Digest, Sha256};
use specs::{Job, Problem, StatusWord};

use crate::error::CliError;

/// Wave instructions of one launch unless said otherwise: a thousand times what library specs need.
pub const INSTRUCTION_LIMIT: u64 = 200_000_000;

/// Bytes of tensors that one problem may have: the float64 reference needs about six times as much.
const MAX_TENSOR_BYTES: u64 = 1 << 30;

/// Refuses a problem whose tensors would not fit this program's memory.
///
/// # Errors
/// [`CliError::TooLarge`] with both numbers.
pub fn refuse_too_large(job: &Job, problem: &Problem) -> Result<(), CliError> {
    let tensors = job.plan(problem)?.tensors;
    let got_bytes =
        tensors.iter().fold(0u64, |sum, tensor| sum.saturating_add(tensor.size_bytes()));
    match got_bytes > MAX_TENSOR_BYTES {
        true => Err(CliError::TooLarge { got_bytes, limit_bytes: MAX_TENSOR_BYTES }),
        false => Ok(()),
    }
}

/// Outputs of one problem and what the device said.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Every tensor that the kernel writes, but for the status word.
    pub outputs: Tensors,
    /// What the kernels reported, where they take a status word; anything but a clean one invalidates the run.
    pub status: Option<StatusWord>,
    /// What each launch did.
    pub launches: Vec<LaunchReport>,
}

impl Execution {
    /// What the kernels reported, where they reported anything.
    pub fn trouble(&self) -> Option<StatusWord> {
        self.status.filter(|status| !status.is_clean())
    }
}

/// Runs one problem of a job on a device; `code_objects` are those of its kernels.
///
/// # Errors
/// A plan that cannot be made or does not fit, or a device that failed.
pub fn execute(
    device: &mut dyn Device,
    code_objects: &[&[u8]],
    job: impl Into<Job>,
    problem: &Problem,
    inputs: &Tensors,
) -> Result<Execution, CliError> {
    let plan = job.into().plan(problem)?;
    let mut modules = Vec::new();
    for code_object in code_objects {
        modules.push(device.load(code_object)?);
    }
    let outcome = run_plan(device, &modules, &plan, inputs);
    modules.into_iter().try_for_each(|module| device.unload(module))?;
    let outcome = outcome?;
    Ok(Execution { outputs: outcome.outputs, status: outcome.status, launches: outcome.launches })
}

/// The emulated device of a target, as every verb uses it.
pub fn emulated(target: Target) -> EmulatedDevice {
    EmulatedDevice::new(target, options(INSTRUCTION_LIMIT, Numerics::default()))
}

/// The emulator's options, but for a limit on the wave instructions of a launch and a mode of numerics.
pub fn options(instruction_limit: u64, numerics: Numerics) -> Options {
    Options { instruction_limit, numerics, ..Options::default() }
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
