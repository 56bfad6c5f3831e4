//! Mutation proof of the whole library: every wait, barrier, cache operation and no-op of each kernel taken
//! away or weakened, one at a time. Prints what was caught, lists what is redundant and why, and fails on
//! mutants that nothing explains. Takes minutes; `tests/mutation.rs` runs a sample.

use std::path::Path;
use std::process::ExitCode;

use specs::registry::LIBRARY;
use wavesmith::mutation::prove_spec;
use wavesmith::pipeline;

fn main() -> ExitCode {
    let mut n_unexplained = 0;
    for entry in LIBRARY {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/library").join(entry.file);
        let spec = pipeline::legal_spec(&path).expect("library specs are legal");
        let proof = prove_spec(&spec, &["batch=1"])
            .expect("library specs compile")
            .expect("library kernels run clean");
        let (all, caught) = (proof.verdicts.len(), proof.caught());
        println!("{}: {all} mutants, {caught} caught", entry.file);
        for (name, reason) in proof.redundant() {
            println!("  redundant  {name}: {reason}");
        }
        for name in proof.survivors() {
            println!("  SURVIVED   {name}");
            n_unexplained += 1;
        }
    }
    println!("{n_unexplained} mutants that nothing explains");
    if n_unexplained == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
