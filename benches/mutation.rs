//! Mutation proof of the whole library: every wait, barrier, cache operation and no-op of each kernel taken
//! away or weakened, rows of LDS moved together and apart, one at a time. Prints what was caught, lists what is redundant
//! and why, and fails on mutants that nothing explains. Takes minutes; `tests/mutation.rs` and `tests/chunk_prefill/` run
//! a sample. An argument that is a part of a file's or kernel's name leaves the others out; `--backend gcn` or
//! `--backend llvm` leaves out the code of the other one.

#[path = "../tests/chunk_prefill/case.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod case;
#[path = "../tests/chunk_prefill/launch.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod launch;

use std::path::Path;
use std::process::ExitCode;

use case::{Case, KDA};
use clap::{Parser, ValueEnum};
use oracle::inputs::GatePattern;
use specs::chunk::Accuracy;
use specs::registry::LIBRARY;
use specs::{Family, KernelKind};
use wavesmith::backend::Backend;
use wavesmith::mutation::{Proof, prove_spec};
use wavesmith::pipeline;

/// What is to be proved.
#[derive(Parser)]
struct Args {
    /// A part of the names of files and kernels; all without it
    name: Option<String>,
    /// Back end whose code is mutated; both without it
    #[arg(long, value_enum)]
    backend: Option<Backend>,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let is_asked = |backend: &Backend| args.backend.is_none_or(|asked| asked == *backend);
    let backends = Backend::value_variants().iter().filter(|backend| is_asked(backend));
    let n_unexplained: usize =
        backends.map(|backend| proved(*backend, args.name.as_deref().unwrap_or_default())).sum();
    println!("{n_unexplained} mutants that nothing explains");
    if n_unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Proves the kernels whose name has a part, as a back end makes them; how many mutants nothing explains.
fn proved(backend: Backend, part: &str) -> usize {
    let mut n_unexplained = 0;
    for entry in LIBRARY.iter().filter(|entry| entry.file.contains(part)) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/library").join(entry.file);
        let spec = pipeline::legal_spec(&path).expect("library specs are legal");
        let proof = prove_spec(&spec, backend, &["batch=1"])
            .expect("library specs compile")
            .expect("library kernels run clean");
        n_unexplained += shown(entry.file, backend, &proof);
    }
    for (name, case, kernel) in prefill().filter(|(name, ..)| name.contains(part)) {
        let problem = case.problem(&[0, 21, 121], GatePattern::Random(-0.5), (0.0, 1.0));
        n_unexplained += shown(&name, backend, &launch::prove(&case, &problem, kernel, backend));
    }
    n_unexplained
}

/// Every prefill kernel in both families, over several chunks and a tail, so that what one chunk owes the next is seen; two
/// waves or more.
fn prefill() -> impl Iterator<Item = (String, Case, KernelKind)> {
    let f16 = Accuracy::F16 { value_bound: 1000.0 };
    let forms = [
        ("kda_plain", Case { atom_m: 32, ..KDA }),
        ("kda_f16", Case { accuracy: f16, checked: true, chunk: 16, head_k: 64, ..KDA }),
        ("gdn_plain", Case { family: Family::Gdn, ..KDA }),
        ("kda_sub_chunks", Case { sub_chunks: true, head_k: 64, ..KDA }),
    ];
    forms.into_iter().flat_map(|(name, case)| {
        let case = Case { value_heads: 1, ..case };
        [KernelKind::ChunkTile, KernelKind::ChunkScan, KernelKind::ChunkFused]
            .map(|kernel| (format!("{name}_{kernel}"), case, kernel))
    })
}

/// Prints a proof; how many mutants nothing explains.
fn shown(name: &str, backend: Backend, proof: &Proof) -> usize {
    let (n, n_caught) = (proof.verdicts.len(), proof.caught());
    println!("{name} by {}: {n} mutants, {n_caught} caught", backend.name());
    for (mutant, reason) in proof.redundant() {
        println!("  redundant  {mutant}: {reason}");
    }
    proof.survivors().map(|mutant| println!("  SURVIVED   {mutant}")).count()
}
