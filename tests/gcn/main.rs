//! The GCN back end on the emulator: every library spec against float64 and, bit by bit, against the host twin and the
//! LLVM back end; its code objects through other readers; kernels that are written to break it.

mod budget;
mod differential;
mod explain;
mod kernels_by_hand;
mod library;
mod objects;
#[path = "../../dsl/tests/random/mod.rs"]
mod program;
mod programs;
mod quality;
#[path = "../instances/random.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod random;
#[cfg(feature = "llvm")]
mod witness;

use emit::gcn::{self, Options};
use specs::{Job, Spec};

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

/// What runs together: every library spec alone, and every tile kernel of chunked prefill with the scan kernel of its
/// name or, without one, with the first that goes with it, if there is any.
fn library_jobs() -> Vec<(String, Job)> {
    let specs = whole_library();
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
            jobs.push((name.clone(), job.unwrap_or_else(|| Job::of(&[*spec]).unwrap())));
        } else if !is_part(name, "scan") {
            jobs.push((name.clone(), Job::of(&[*spec]).unwrap()));
        }
    }
    let runs = |spec: &Spec| jobs.iter().any(|(_, job)| job.specs().contains(spec));
    specs.iter().for_each(|(name, spec)| assert!(runs(spec), "{name} is in no job"));
    jobs
}

/// The code object of a kernel, whose allocation is checked.
fn compiled(kernel: &dsl::ir::Kernel) -> gcn::Artefacts {
    let options = Options { check: true, ..Options::default() };
    gcn::compile(kernel, &options).unwrap_or_else(|error| panic!("{error}"))
}
