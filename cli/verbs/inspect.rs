//! `inspect`: what a loader will see of a code object.

use std::collections::BTreeMap;
use std::path::PathBuf;

use codeobj::{CodeObject, Kernel, SegmentFlags};
use isa::Target;
use isa::occupancy::{Limiter, Occupancy};
use isa::target::ComputeUnit;
use serde::Serialize;
use serde_json::{Value, json};

use crate::code_object_file;
use crate::emitted::resident;
use crate::error::{CliError, Outcome};
use crate::report;

/// Arguments of `inspect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Code object
    #[arg(value_name = "FILE.hsaco")]
    file: PathBuf,
}

/// A code object and what follows from it.
#[derive(Serialize)]
struct Inspected<'o> {
    #[serde(flatten)]
    object: &'o CodeObject,
    loaded_bytes_sha256: String,
    /// Kernel → resident waves and workgroups, and what limits them.
    occupancy: BTreeMap<&'o str, Value>,
}

/// Shows target, segments, kernels, descriptors and arguments.
///
/// # Errors
/// A file that is no code object, with every reason.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let (_, object) = code_object_file::read(&args.file)?;
    if json {
        report::json(&inspected(&object))?;
    } else {
        report::text(&text(&object))?;
    }
    Ok(Outcome::Right)
}

fn inspected(object: &CodeObject) -> Inspected<'_> {
    let of_kernel = |kernel| match resident(object.target, kernel) {
        Ok(Occupancy { workgroups_per_unit, waves_per_simd, limiter }) => json!({
            "workgroups_per_unit": workgroups_per_unit,
            "waves_per_simd": waves_per_simd,
            "limiter": format!("{limiter:?}"),
        }),
        Err(reason) => json!({ "does_not_fit": reason.to_string() }),
    };
    let occupancy = object.kernels.iter().map(|kernel| (kernel.name.as_str(), of_kernel(kernel)));
    let occupancy = occupancy.collect();
    Inspected { object, loaded_bytes_sha256: object.loaded_bytes_sha256(), occupancy }
}

fn occupancy_text(target: Target, kernel: &Kernel) -> String {
    match resident(target, kernel) {
        Ok(Occupancy { workgroups_per_unit, waves_per_simd, limiter }) => {
            let limiter = match limiter {
                Limiter::WaveSlots => "wave slots",
                Limiter::Registers => "registers",
                Limiter::Lds => "LDS",
                Limiter::WorkgroupSlots => "workgroup slots",
            };
            let unit = match target.limits().compute_unit {
                ComputeUnit::Cu => "CU",
                ComputeUnit::Wgp => "WGP",
            };
            format!(
                "{waves_per_simd} waves a SIMD, {workgroups_per_unit} workgroups a {unit}, limited by {limiter}"
            )
        }
        Err(reason) => reason.to_string(),
    }
}

fn text(object: &CodeObject) -> String {
    let mut out = format!(
        "target {}, code object {}, loaded bytes SHA-256 {}\n",
        object.features.target_id(object.target),
        object.abi_version,
        object.loaded_bytes_sha256()
    );
    let segments = object.segments.iter().map(|segment| {
        vec![
            "  segment".to_owned(),
            format!("{:#x}", segment.address),
            format!("{} bytes", segment.memory_size),
            flags(segment.flags),
        ]
    });
    out.push_str(&report::table(&segments.collect::<Vec<_>>()));
    object.kernels.iter().for_each(|kernel| out.push_str(&kernel_text(object.target, kernel)));
    out
}

fn flags(flags: SegmentFlags) -> String {
    let bit = |set: bool, letter: char| if set { letter } else { '-' };
    [bit(flags.read, 'r'), bit(flags.write, 'w'), bit(flags.execute, 'x')].iter().collect()
}

fn kernel_text(target: Target, kernel: &Kernel) -> String {
    let (descriptor, metadata) = (&kernel.descriptor, &kernel.metadata);
    let row = |name: &str, value: String| vec![format!("  {name}"), value];
    let rows = [
        row("entry", format!("{:#x}, {} bytes of code", kernel.entry_address, kernel.code_size)),
        row("wave", format!("{} lanes", metadata.wavefront_size)),
        row("workgroup", format!("at most {} work-items", metadata.max_flat_workgroup_size)),
        row("VGPRs", format!("{} allocated", descriptor.vgprs)),
        row("SGPRs", metadata.sgpr_count.to_string()),
        row(
            "spills",
            format!("{} VGPRs, {} SGPRs", metadata.vgpr_spill_count, metadata.sgpr_spill_count),
        ),
        row("LDS", format!("{} bytes", descriptor.group_segment_bytes)),
        row("scratch a lane", format!("{} bytes", descriptor.private_segment_bytes)),
        row("occupancy", occupancy_text(target, kernel)),
        row("kernarg segment", format!("{} bytes", descriptor.kernarg_bytes)),
    ];
    let head = ["  argument", "offset", "bytes", "kind", "access"].map(str::to_owned).to_vec();
    let arguments = metadata.args.iter().map(|arg| {
        vec![
            format!("  {}", arg.name.as_deref().unwrap_or("(unnamed)")),
            arg.offset.to_string(),
            arg.size.to_string(),
            arg.value_kind.word().to_owned(),
            arg.known_access().map_or("", |access| access.word()).to_owned(),
        ]
    });
    let arguments: Vec<_> = std::iter::once(head).chain(arguments).collect();
    format!("kernel {}\n{}{}", kernel.name, report::table(&rows), report::table(&arguments))
}
