//! The path's cost: spec → code object through LLVM, and a whole run of the decode step at batch 1.
//! Wall time of this machine, printed for people; nothing here is a measurement of a GPU.

use std::path::Path;
use std::time::{Duration, Instant};

use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use specs::registry::LIBRARY;
use wavesmith::{harness, pipeline};

const REPEATS: usize = 5;

fn main() {
    println!("median of {REPEATS}, wall time on this machine");
    println!("{:<44} {:>14} {:>14}", "spec", "spec → object", "run, batch 1");
    for entry in LIBRARY {
        let (compile, run) = (median(|| compile(entry.file)), median(|| run(entry.file)));
        println!("{:<44} {:>11.1} ms {:>11.1} ms", entry.file, millis(compile), millis(run));
    }
}

fn compile(file: &str) {
    let spec = pipeline::legal_spec(&library(file)).expect("library specs are legal");
    pipeline::compile(&spec).expect("library specs compile");
}

/// What `wavesmith run` does: compile, generate, execute, compare.
fn run(file: &str) {
    let spec = pipeline::legal_spec(&library(file)).expect("library specs are legal");
    let artefacts = pipeline::compile(&spec).expect("library specs compile");
    let problem = spec.problem(&["batch=1"]).expect("a batch of 1 is a problem");
    let sample = Sample { gates: GateRange::Mixed, seed: 1 };
    let case = Case::generate(&spec, &problem, &sample).expect("the problem is the spec's");
    let mut device = harness::emulated(spec.target());
    let tensors = case.tensors().expect("the case is a problem");
    let execution =
        harness::execute(&mut device, &[&artefacts.code_object], &spec, &problem, &tensors);
    let outputs = execution.expect("library specs run").outputs;
    let verdicts = case.judge(&outputs).expect("outputs can be judged");
    assert!(verdicts.iter().all(|(_, verdict)| verdict.passed), "{file}: {verdicts:?}");
}

fn library(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/library").join(file)
}

fn median(work: impl Fn()) -> Duration {
    let mut times: Vec<_> = (0..REPEATS)
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed()
        })
        .collect();
    times.sort();
    times[REPEATS / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
