//! Every library spec, run on one small problem.

use emulator::Numerics;
use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use specs::{Job, Problem, Spec};
use wavesmith::harness;

use super::{compiled, library_jobs};

/// A small problem and its inputs: one sequence; in chunked prefill 40 tokens, of which the last chunk has a tail.
pub fn case(job: &Job) -> (Problem, Case) {
    let (size, gates) = match job.lead() {
        Spec::Chunk(_) => ("tokens=40", GateRange::Weak),
        _ => ("batch=1", GateRange::Mixed),
    };
    let problem = job.problem(&[size]).unwrap();
    let case = Case::generate(*job, &problem, &Sample { gates, seed: 5 }).unwrap();
    (problem, case)
}

/// Code objects of a job, each allocation checked.
pub fn code_objects(job: &Job) -> Vec<Vec<u8>> {
    let build = |spec: &Spec| compiled(&kernels::build(spec).unwrap()).code_object;
    job.specs().iter().map(build).collect()
}

/// Outputs of code objects, which must run without a finding.
pub fn outputs(
    job: &Job,
    code_objects: &[Vec<u8>],
    (problem, case): (&Problem, &Case),
    numerics: Numerics,
) -> oracle::tensors::Tensors {
    let options = harness::options(harness::INSTRUCTION_LIMIT, numerics);
    let mut device = runtime::EmulatedDevice::new(job.target(), options);
    let tensors = case.tensors().unwrap();
    let objects: Vec<&[u8]> = code_objects.iter().map(Vec::as_slice).collect();
    let execution = harness::execute(&mut device, &objects, *job, problem, &tensors)
        .unwrap_or_else(|error| panic!("{}: {error}", job.name()));
    for report in execution.launches.iter().filter_map(|launch| launch.emulated.as_ref()) {
        assert_eq!(report.findings, [], "{}", job.name());
        assert!(report.wave_instructions > 0, "{}: nothing ran", job.name());
    }
    assert_eq!(execution.trouble(), None, "{}", job.name());
    execution.outputs
}

#[test]
fn every_library_spec_is_right_and_equal_to_its_twin() {
    let jobs = library_jobs();
    assert!(jobs.len() >= 50, "{} jobs", jobs.len());
    for (name, job) in jobs {
        let (problem, case) = case(&job);
        let outputs = outputs(&job, &code_objects(&job), (&problem, &case), Numerics::default());
        for (output, verdict) in case.judge(&outputs).unwrap() {
            assert!(verdict.passed, "{name}: {output}: {verdict:?}");
        }
        // Matrix operations have no twin: the order of their sums is the hardware's.
        if matches!(job.lead(), Spec::Chunk(_)) {
            continue;
        }
        for (output, twin) in &case.twin().unwrap() {
            assert!(outputs[output] == *twin, "{name}: {output} differs from its twin");
        }
    }
}
