//! The manifest: everything about the kernels of a bundle, as one JSON document.

use std::collections::BTreeMap;

use codeobj::CodeObject;
use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use serde::{Deserialize, Serialize};
use specs::signature::{Argument, ArgumentKind};
use specs::{Job, Spec};

use crate::backend::Toolchain;
use crate::bundle::formula::{self, Formula, Unit};
use crate::bundle::plan::PlanEntry;
use crate::bundle::{BundleError, only_kernel};
use crate::error::CliError;
use crate::harness::{self, sha256};
use crate::pipeline;

/// The number of the format; readers refuse others.
pub const SCHEMA_NUMBER: u32 = 2;

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA_NUMBER`].
    pub schema: u32,
    /// What made it, with its version.
    pub generator: String,
    /// The kernels, by identifier.
    pub kernels: Vec<KernelEntry>,
    /// Kernels that are launched together, by identifier.
    pub plans: Vec<PlanEntry>,
    /// SHA-256 of every other file of the bundle, by name.
    pub files: BTreeMap<String, String>,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelEntry {
    /// The name of its functions in C and Rust: kernel and target.
    pub identifier: String,
    /// Its symbol in the code object.
    pub kernel: String,
    /// Its family.
    pub family: String,
    /// The processor it is built for.
    pub target: String,
    /// The target id in its metadata: settings of optional features it demands, if any.
    pub target_id: String,
    /// Its code object.
    pub code_object: CodeObjectEntry,
    /// What made the code object.
    pub toolchain: Toolchain,
    /// SHA-256 of the kernel IR's text.
    pub ir_sha256: String,
    /// Its arguments, in ABI order.
    pub arguments: Vec<ArgumentEntry>,
    /// Its launch.
    pub launch: LaunchEntry,
    /// What it needs of the hardware.
    pub resources: Resources,
    /// The spec it was built from: every field that is in play.
    pub spec: BTreeMap<String, String>,
    /// What is known about it, and how.
    pub evidence: Evidence,
}

/// A code object's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeObjectEntry {
    /// Its name in the bundle.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of the file.
    pub sha256: String,
    /// SHA-256 of what is loaded of it, which linkers' names do not change.
    pub loaded_sha256: String,
    /// Its version: `v5` or `v6`.
    pub version: String,
}

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentEntry {
    /// Its name.
    pub name: String,
    /// `pointer`, or the type of a value.
    pub kind: String,
    /// Bytes from the start of the kernel-argument segment; absent of what a plan takes.
    pub offset: Option<u32>,
    /// Its size in bytes.
    pub size: u32,
    /// Of a tensor: the type of an element.
    pub element: Option<String>,
    /// Of a tensor: what the kernel does with it.
    pub access: Option<String>,
    /// Of a tensor: what it is for.
    pub role: Option<String>,
    /// Of a tensor: its axes, slowest first, such as `B` or `HV=32`.
    pub shape: Option<Vec<String>>,
    /// Of a tensor: what its address must be a multiple of, in bytes.
    pub align_bytes: Option<u32>,
}

/// How a kernel is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchEntry {
    /// Work-items of a workgroup in x, y, z.
    pub workgroup: [u32; 3],
    /// What the grid grows with, in the order in which the calls take the numbers.
    pub counts: Vec<CountEntry>,
    /// Workgroups in x, y, z.
    pub grid: [Formula; 3],
    /// The same, to read.
    pub grid_text: [String; 3],
    /// LDS at launch, in bytes.
    pub dynamic_lds_bytes: u32,
}

/// A number that a call takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountEntry {
    /// Of what.
    pub unit: Unit,
    /// The parameter's name.
    pub parameter: String,
    /// Most of it, so that the grid keeps the driver's limits.
    pub max: u32,
    /// Tokens that one has at most, of units of tokens.
    pub tokens: Option<u32>,
}

/// What a kernel needs of the hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// LDS of a workgroup in bytes.
    pub lds_bytes: u32,
    /// Scratch of a work-item in bytes.
    pub scratch_bytes: u32,
    /// Vector registers of a wave.
    pub vgprs: u32,
    /// Accumulation registers of a wave.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Bytes of the kernel-argument segment.
    pub kernarg_bytes: u32,
    /// Lanes of a wave.
    pub wave_width: u32,
    /// Most work-items of a workgroup.
    pub max_workgroup: u32,
}

/// What is known about a kernel, and how it is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The compiler accepted and linked it.
    pub compiled: bool,
    /// It ran on the emulator and was compared with float64; absent where that was not done.
    pub emulated: Option<Emulated>,
    /// Figures of a cost model: none.
    pub modelled: Option<String>,
    /// Runs on a device: none.
    pub hardware: Option<String>,
}

/// One run on the emulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emulated {
    /// The mode of numerics of matrix instructions.
    pub numerics: String,
    /// The problem's parameters.
    pub problem: serde_json::Value,
    /// Each output's error against float64 and its limit.
    pub outputs: BTreeMap<String, Judged>,
}

/// One output's error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judged {
    /// rms of the difference over rms of the reference.
    pub rmse_ratio: f64,
    /// What it may be.
    pub limit: f64,
}

impl Emulated {
    /// Runs a job's default problem with the code objects of its kernels.
    ///
    /// # Errors
    /// [`BundleError::Wrong`], or what keeps it from being run.
    pub fn run(job: Job, code_objects: &[&[u8]]) -> Result<Emulated, CliError> {
        let problem = job.problem(&[] as &[&str])?;
        harness::refuse_too_large(&job, &problem)?;
        let case = Case::generate(job, &problem, &Sample { gates: GateRange::Mixed, seed: 1 })?;
        let mut device = harness::emulated(job.target());
        let ran = harness::execute(&mut device, code_objects, job, &problem, &case.tensors()?)?;
        let wrong =
            |why: String| BundleError::Wrong { name: job.name(), target: job.target().name(), why };
        let reports = ran.launches.iter().filter_map(|launch| launch.emulated.as_ref());
        if let Some(finding) = reports.flat_map(|report| &report.findings).next() {
            return Err(wrong(finding.to_string()).into());
        }
        if let Some(status) = ran.trouble() {
            return Err(wrong(format!("the kernel reports {status}")).into());
        }
        let mut outputs = BTreeMap::new();
        for (name, verdict) in case.judge(&ran.outputs)? {
            if !verdict.passed {
                return Err(wrong(format!("{name}: {verdict:?}")).into());
            }
            let judged = Judged { rmse_ratio: verdict.rmse_ratio, limit: verdict.limit };
            outputs.insert(name.to_owned(), judged);
        }
        let numerics = emulator::Numerics::default().to_string();
        let problem = serde_json::to_value(problem).map_err(CliError::Json)?;
        Ok(Emulated { numerics, problem, outputs })
    }
}

impl KernelEntry {
    /// Everything about a kernel.
    ///
    /// # Errors
    /// A code object that is not the spec's, or a grid that no formula describes.
    pub fn new(
        spec: &Spec,
        code_object: &[u8],
        toolchain: Toolchain,
        emulated: Option<Emulated>,
    ) -> Result<KernelEntry, CliError> {
        let object = CodeObject::parse(code_object)
            .map_err(|source| CliError::CodeObject { file: spec.name(), source })?;
        let kernel = only_kernel(spec, &object)?;
        let identifier = identifier(spec);
        let grid = formula::of(spec)?;
        let metadata = &kernel.metadata;
        Ok(KernelEntry {
            code_object: CodeObjectEntry {
                file: format!("{identifier}.hsaco"),
                bytes: code_object.len() as u64,
                sha256: sha256(code_object),
                loaded_sha256: object.loaded_bytes_sha256(),
                version: object.abi_version.to_string(),
            },
            kernel: spec.name(),
            family: spec.family().to_owned(),
            target: spec.target().name().to_owned(),
            target_id: object.features.target_id(object.target),
            toolchain,
            ir_sha256: sha256(dsl::text::print(&pipeline::kernel(spec)?).as_bytes()),
            arguments: arguments(spec, metadata),
            launch: LaunchEntry {
                workgroup: [spec.workgroup_size(), 1, 1],
                counts: counts(spec, &grid),
                grid,
                grid_text: grid.map(|formula| formula.text("")),
                dynamic_lds_bytes: 0,
            },
            resources: Resources {
                lds_bytes: metadata.group_segment_fixed_size,
                scratch_bytes: metadata.private_segment_fixed_size,
                vgprs: metadata.vgpr_count,
                agprs: metadata.agpr_count.unwrap_or(0),
                sgprs: metadata.sgpr_count,
                kernarg_bytes: metadata.kernarg_segment_size,
                wave_width: metadata.wavefront_size,
                max_workgroup: metadata.max_flat_workgroup_size,
            },
            spec: settings(spec),
            evidence: Evidence { compiled: true, emulated, modelled: None, hardware: None },
            identifier,
        })
    }
}

/// What a grid grows with, each with its largest count.
fn counts(spec: &Spec, grid: &[Formula; 3]) -> Vec<CountEntry> {
    let used = Unit::ALL.into_iter().filter(|unit| grid.iter().any(|f| f.unit == Some(*unit)));
    let entry = |unit: Unit| CountEntry {
        unit,
        parameter: unit.parameter().to_owned(),
        max: max_count(unit, grid, spec.workgroup_size()),
        tokens: unit.tokens(spec),
    };
    used.map(entry).collect()
}

/// Largest count whose grid keeps the limits of a launch: 65,535 workgroups in y and z, 2³¹ − 1 in x, and there less
/// than 2³² work-items too, in workgroups of so many.
fn max_count(unit: Unit, grid: &[Formula; 3], workgroup: u32) -> u32 {
    let by_items = u32::MAX.checked_div(workgroup).unwrap_or(u32::MAX);
    let most_x = by_items.min(i32::MAX.unsigned_abs());
    let limits = [most_x, specs::plan::MAX_GRID_YZ, specs::plan::MAX_GRID_YZ];
    let axes = grid.iter().zip(limits).filter(|(formula, _)| formula.unit == Some(unit));
    let most = |(formula, limit): (&Formula, u32)| {
        limit.saturating_sub(formula.fixed).checked_div(formula.per_unit)
    };
    axes.filter_map(most).min().unwrap_or(u32::MAX)
}

/// The fields of a spec that are in play, spelled as in spec files.
fn settings(spec: &Spec) -> BTreeMap<String, String> {
    let mut fields: BTreeMap<String, String> = spec
        .settings()
        .iter()
        .map(|(field, value)| (field.to_string(), value.to_string()))
        .collect();
    fields.insert("kernel".to_owned(), spec.kernel().to_string());
    fields
}

/// Arguments as the signature describes them, at the offsets of the compiled kernel.
fn arguments(spec: &Spec, metadata: &codeobj::KernelMetadata) -> Vec<ArgumentEntry> {
    let signature = spec.signature();
    let pairs = signature.arguments.iter().zip(metadata.explicit_args());
    let entry = |(argument, compiled): (&Argument, &codeobj::KernelArg)| {
        entry(argument, Some(compiled.offset), compiled.size)
    };
    pairs.map(entry).collect()
}

/// An argument as the signature describes it.
pub(crate) fn entry(argument: &Argument, offset: Option<u32>, size: u32) -> ArgumentEntry {
    let plain = ArgumentEntry {
        name: argument.name.to_owned(),
        kind: "pointer".to_owned(),
        offset,
        size,
        element: None,
        access: None,
        role: None,
        shape: None,
        align_bytes: None,
    };
    match &argument.kind {
        ArgumentKind::Scalar(scalar) => ArgumentEntry { kind: scalar.to_string(), ..plain },
        ArgumentKind::Buffer(buffer) => ArgumentEntry {
            element: Some(buffer.element.to_string()),
            access: Some(buffer.access.to_string()),
            role: Some(buffer.role.to_string()),
            shape: Some(buffer.shape.iter().map(ToString::to_string).collect()),
            align_bytes: Some(specs::signature::BUFFER_ALIGN_BYTES),
            ..plain
        },
    }
}

/// What a spec's kernel is called in C and Rust, whose names are as those of variants.
pub(crate) fn identifier(spec: &Spec) -> String {
    format!("{}_{}", spec.name(), spec.target())
}

impl Manifest {
    /// A manifest of kernels; its list of files is filled in when it is written.
    pub fn new(kernels: Vec<KernelEntry>, plans: Vec<PlanEntry>) -> Manifest {
        let generator = format!("wavesmith {}", env!("CARGO_PKG_VERSION"));
        Manifest { schema: SCHEMA_NUMBER, generator, kernels, plans, files: BTreeMap::new() }
    }

    /// The kernel of an identifier.
    pub fn kernel(&self, identifier: &str) -> Option<&KernelEntry> {
        self.kernels.iter().find(|kernel| kernel.identifier == identifier)
    }

    /// The document, with the hashes of the bundle's other files.
    ///
    /// # Errors
    /// A value that JSON does not have.
    pub fn text(&self, files: &BTreeMap<String, Vec<u8>>) -> Result<String, CliError> {
        let files = files.iter().map(|(name, bytes)| (name.clone(), sha256(bytes))).collect();
        let document = Manifest { files, ..self.clone() };
        let mut text = serde_json::to_string_pretty(&document).map_err(CliError::Json)?;
        text.push('\n');
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use specs::registry::LIBRARY;

    use super::*;

    #[test]
    fn the_largest_count_is_a_launch_that_a_device_takes() {
        for entry in LIBRARY {
            let spec = entry.spec().unwrap();
            let grid = formula::of(&spec).unwrap();
            for count in counts(&spec, &grid) {
                let [x, y, z] = grid.map(|formula| {
                    let per_unit =
                        if formula.unit == Some(count.unit) { formula.per_unit } else { 0 };
                    u64::from(formula.fixed) + u64::from(per_unit) * u64::from(count.max)
                });
                let items = x * u64::from(spec.workgroup_size());
                assert!(count.max > 0 && items < 1 << 32 && x < 1 << 31, "{}: {x}", entry.file);
                assert!(y.max(z) <= u64::from(specs::plan::MAX_GRID_YZ), "{}", entry.file);
            }
        }
    }
}
