//! Library specs on the device, compared with float64 and with the emulator's bits.

use std::collections::BTreeMap;

use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use oracle::measure::Verdict;
use runtime::{Device, HipDevice};
use serde::Serialize;
use specs::registry::LIBRARY;
use specs::{Job, Spec};

use crate::cache;
use crate::error::CliError;
use crate::harness::{self, sha256};

/// One spec's case.
#[derive(Debug, Serialize)]
pub struct Numeric {
    /// The spec file of the library.
    pub spec: &'static str,
    /// The kernel.
    pub kernel: String,
    /// SHA-256 of the code object that ran.
    pub code_object_sha256: String,
    /// Whether every output is within its limit and the kernel reported no trouble.
    pub passed: bool,
    /// What the kernel reported, where it takes a status word and anything was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The verdicts.
    pub outputs: BTreeMap<String, Verdict>,
    /// Outputs whose bits differ from the emulator's: no failure, since approximate instructions may.
    pub bits_unlike_emulator: Vec<String>,
}

/// Runs every library spec of the device's target, or those whose file name contains `kernels`.
///
/// # Errors
/// A kernel that cannot be compiled, or a device that fails.
pub fn run(device: &mut HipDevice, kernels: Option<&str>) -> Result<Vec<Numeric>, CliError> {
    let mut cases = Vec::new();
    for entry in LIBRARY {
        let spec = entry.spec()?;
        let wanted = kernels.is_none_or(|part| entry.file.contains(part));
        if spec.target() == device.target() && wanted {
            cases.push(case(device, entry.file, &spec)?);
        }
    }
    Ok(cases)
}

fn case(device: &mut HipDevice, file: &'static str, spec: &Spec) -> Result<Numeric, CliError> {
    let problem = spec.problem(&[] as &[&str])?;
    let job = Job::from(spec);
    let case = Case::generate(job, &problem, &Sample { gates: GateRange::Mixed, seed: 1 })?;
    let code_object = cache::code_object(spec)?;
    let inputs = case.tensors()?;
    let ran = harness::execute(device, &[&code_object], job, &problem, &inputs)?;
    let mut emulated = harness::emulated(spec.target());
    let expected = harness::execute(&mut emulated, &[&code_object], job, &problem, &inputs)?;
    let differ =
        ran.outputs.iter().filter(|(name, bytes)| expected.outputs.get(*name) != Some(*bytes));
    let bits_unlike_emulator = differ.map(|(name, _)| name.clone()).collect();
    let verdicts = case.judge(&ran.outputs)?;
    let outputs: BTreeMap<String, Verdict> =
        verdicts.into_iter().map(|(name, verdict)| (name.to_owned(), verdict)).collect();
    Ok(Numeric {
        spec: file,
        kernel: spec.name(),
        code_object_sha256: sha256(&code_object),
        passed: !outputs.is_empty()
            && ran.trouble().is_none()
            && outputs.values().all(|verdict| verdict.passed),
        status: ran.trouble().map(|status| status.to_string()),
        outputs,
        bits_unlike_emulator,
    })
}
