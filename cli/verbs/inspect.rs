//! `inspect`: what a loader will see of a code object.

use std::path::PathBuf;

use codeobj::{CodeObject, Kernel, SegmentFlags};

use crate::code_object_file;
use crate::error::{CliError, Outcome};
use crate::report;

/// Arguments of `inspect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Code object
    #[arg(value_name = "FILE.hsaco")]
    file: PathBuf,
}

/// Shows target, segments, kernels, descriptors and arguments.
///
/// # Errors
/// A file that is no code object, with every reason.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let (_, object) = code_object_file::read(&args.file)?;
    if json {
        report::json(&object)?;
    } else {
        report::text(&text(&object))?;
    }
    Ok(Outcome::Right)
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
    object.kernels.iter().for_each(|kernel| out.push_str(&kernel_text(kernel)));
    out
}

fn flags(flags: SegmentFlags) -> String {
    let bit = |set: bool, letter: char| if set { letter } else { '-' };
    [bit(flags.read, 'r'), bit(flags.write, 'w'), bit(flags.execute, 'x')].iter().collect()
}

fn kernel_text(kernel: &Kernel) -> String {
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
