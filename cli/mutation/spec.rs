//! The mutation proof of a spec of this project: its kernel, launched as its plan says, on a small problem.

use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use oracle::tensors::Tensors;
use runtime::{Device, EmulatedDevice, run_plan};
use specs::{LaunchPlan, Spec, StatusWord};

use super::{MutationError, Proof, Run, prove};
use crate::backend::Backend;
use crate::error::CliError;
use crate::pipeline;

/// Wave instructions of one launch: a mutant that runs away is a fault.
const INSTRUCTION_LIMIT: u64 = 5_000_000;

/// Proves the kernel that a back end makes of a legal spec, on the problem of these sizes, as `wavesmith run` takes them.
///
/// # Errors
/// Any error of the path to the code object, or what keeps the kernel from having mutants.
pub fn prove_spec(
    spec: &Spec,
    backend: Backend,
    sizes: &[&str],
) -> Result<Result<Proof, MutationError>, CliError> {
    let code_object = backend.code_object(spec)?;
    let problem = spec.problem(sizes)?;
    let sample = Sample { gates: GateRange::Mixed, seed: 1 };
    let inputs = Case::generate(spec, &problem, &sample)?.tensors()?;
    let plan = spec.plan(&problem)?;
    let kernel = pipeline::kernel(spec)?.name;
    Ok(prove(&code_object, &kernel, |bytes| run(spec, &plan, &inputs, bytes)))
}

fn run(spec: &Spec, plan: &LaunchPlan, inputs: &Tensors, bytes: &[u8]) -> Result<Run, String> {
    let options = emulator::Options {
        instruction_limit: INSTRUCTION_LIMIT,
        stats: true,
        ..emulator::Options::default()
    };
    let mut device = EmulatedDevice::new(spec.target(), options);
    let module = device.load(bytes).map_err(|error| error.to_string())?;
    let outcome = run_plan(&mut device, &[module], plan, inputs).map_err(|e| e.to_string())?;
    let reports = outcome.launches.into_iter().filter_map(|launch| launch.emulated).collect();
    let status = outcome.status.map_or(0, StatusWord::bits).to_le_bytes();
    let outputs = outcome.outputs.into_values().flatten().chain(status).collect();
    Ok(Run { reports, outputs })
}
