//! The GCN back end on the emulator: every library spec against float64 and, bit by bit, against the host twin and the
//! LLVM back end; its code objects through other readers; kernels that are written to break it.

mod kernels_by_hand;
mod library;
mod objects;
#[cfg(feature = "llvm")]
mod witness;

use emit::gcn::{self, Options};
use specs::{Job, Spec};

/// Library specs that the back end refuses, with the registers that run out: it schedules for no register pressure, has
/// no AGPRs and never spills.
const REFUSED: [(&str, &str); 15] = [
    ("gdn_chunk_fused_f16_gfx950", "VGPRs"),
    ("gdn_chunk_scan_c64_gfx950", "VGPRs"),
    ("gdn_chunk_scan_f16_gfx950", "VGPRs"),
    ("gdn_chunk_scan_gfx950", "VGPRs"),
    ("gdn_chunk_scan_strided_gfx950", "VGPRs"),
    ("gdn_chunk_scan_varlen_gfx950", "VGPRs"),
    ("gdn_recurrent_serial_gfx1100", "SGPRs"),
    ("gdn_recurrent_serial_gfx950", "SGPRs"),
    ("kda_chunk_fused_checked_gfx950", "VGPRs"),
    ("kda_chunk_fused_f16_gfx950", "VGPRs"),
    ("kda_chunk_scan_c64_gfx950", "VGPRs"),
    ("kda_chunk_scan_f16_gfx950", "VGPRs"),
    ("kda_chunk_scan_gfx950", "VGPRs"),
    ("kda_chunk_scan_head_major_gfx950", "VGPRs"),
    ("kda_chunk_scan_varlen_gfx950", "VGPRs"),
];

/// Every spec of the library by the name of its file.
fn whole_library() -> Vec<(String, Spec)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/library");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        (name, specs::read_spec(file).unwrap())
    };
    files.iter().map(read).collect()
}

/// Specs of the library that the back end compiles.
fn library_specs() -> Vec<(String, Spec)> {
    let mut specs = whole_library();
    specs.retain(|(name, _)| !REFUSED.iter().any(|(refused, _)| refused == name));
    specs
}

#[test]
fn what_has_no_registers_is_refused_with_their_number() {
    let specs = whole_library();
    for (name, wanted) in REFUSED {
        let (_, spec) = specs.iter().find(|(file, _)| file == name).unwrap();
        let error = gcn::compile(&kernels::build(spec).unwrap(), &Options::default()).unwrap_err();
        let gcn::Cause::Registers { file, needed, limit, .. } = error.cause else {
            panic!("{name}: {error}")
        };
        assert_eq!(file, wanted, "{name}");
        assert!(needed > limit, "{name}: {needed} of {limit}");
    }
}

/// What runs together: every library spec alone, and every tile kernel of chunked prefill with the scan kernel of its
/// name or, without one, with the first that goes with it, if there is any.
fn library_jobs() -> Vec<(String, Job)> {
    let specs = library_specs();
    let is_part = |name: &str, part: &str| name.contains(&format!("_chunk_{part}_"));
    let mut jobs = Vec::new();
    for (name, spec) in &specs {
        if is_part(name, "tile") {
            let namesake = name.replace("_tile_", "_scan_");
            let mut scans: Vec<_> = specs.iter().filter(|(n, _)| is_part(n, "scan")).collect();
            scans.sort_by_key(|(scan, _)| *scan != namesake);
            let job = scans.iter().find_map(|(_, scan)| {
                Job::of(&[*spec, *scan]).ok().filter(|job| job.check().is_empty())
            });
            // A tile kernel whose scan kernels are all refused runs alone.
            jobs.push((name.clone(), job.unwrap_or_else(|| Job::of(&[*spec]).unwrap())));
        } else if !is_part(name, "scan") {
            jobs.push((name.clone(), Job::of(&[*spec]).unwrap()));
        }
    }
    jobs
}

/// The code object of a kernel, whose allocation is checked.
fn compiled(kernel: &dsl::ir::Kernel) -> gcn::Artefacts {
    let options = Options { check: true, ..Options::default() };
    gcn::compile(kernel, &options).unwrap_or_else(|error| panic!("{error}"))
}
