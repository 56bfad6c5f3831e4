//! Library specs on the device, compared with float64 and with the emulator's bits.

use std::collections::BTreeMap;

use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use oracle::measure::Verdict;
use runtime::{Device, HipDevice};
use serde::Serialize;
use specs::registry::LIBRARY;
use specs::{Job, Spec};

use crate::backend::Backend;
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

/// A spec without a code object.
#[derive(Debug, Serialize)]
pub struct NotCompiled {
    /// The spec file of the library.
    pub spec: &'static str,
    /// What the back end says.
    pub why: String,
}

/// Runs every library spec of the device's target, or those whose file name contains `kernels`; those that the GCN back
/// end has no registers for are listed apart.
///
/// # Errors
/// Any other kernel that cannot be compiled, or a device that fails.
pub fn run(
    device: &mut HipDevice,
    backend: Backend,
    kernels: Option<&str>,
) -> Result<(Vec<Numeric>, Vec<NotCompiled>), CliError> {
    let (mut cases, mut not_compiled) = (Vec::new(), Vec::new());
    for entry in LIBRARY {
        let spec = entry.spec()?;
        let wanted = kernels.is_none_or(|part| entry.file.contains(part));
        if spec.target() != device.target() || !wanted {
            continue;
        }
        match cache::code_object(&spec, backend) {
            Ok(code_object) => cases.push(case(device, entry.file, &spec, &code_object)?),
            Err(CliError::Gcn(error)) => {
                not_compiled.push(NotCompiled { spec: entry.file, why: error.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(part) = kernels.filter(|_| cases.is_empty() && not_compiled.is_empty()) {
        return Err(CliError::Usage(format!(
            "no library spec of {} has '{part}' in its name; `wavesmith list` shows them",
            device.target()
        )));
    }
    Ok((cases, not_compiled))
}

fn case(
    device: &mut HipDevice,
    file: &'static str,
    spec: &Spec,
    code_object: &[u8],
) -> Result<Numeric, CliError> {
    let problem = spec.problem(&[] as &[&str])?;
    let job = Job::from(spec);
    let case = Case::generate(job, &problem, &Sample { gates: GateRange::Mixed, seed: 1 })?;
    let inputs = case.tensors()?;
    let ran = harness::execute(device, &[code_object], job, &problem, &inputs)?;
    let mut emulated = harness::emulated(spec.target());
    let expected = harness::execute(&mut emulated, &[code_object], job, &problem, &inputs)?;
    let differ =
        ran.outputs.iter().filter(|(name, bytes)| expected.outputs.get(*name) != Some(*bytes));
    let bits_unlike_emulator = differ.map(|(name, _)| name.clone()).collect();
    let verdicts = case.judge(&ran.outputs)?;
    let outputs: BTreeMap<String, Verdict> =
        verdicts.into_iter().map(|(name, verdict)| (name.to_owned(), verdict)).collect();
    Ok(Numeric {
        spec: file,
        kernel: spec.name(),
        code_object_sha256: sha256(code_object),
        passed: !outputs.is_empty()
            && ran.trouble().is_none()
            && outputs.values().all(|verdict| verdict.passed),
        status: ran.trouble().map(|status| status.to_string()),
        outputs,
        bits_unlike_emulator,
    })
}
