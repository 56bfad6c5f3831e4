//! Compile, run on the emulator, and compare: with float64 by limits, with the host twin by bits.

use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use oracle::tensors::Tensors;
use specs::{Problem, Spec};
use wavesmith::{harness, pipeline};

/// A compiled spec that problems can be run on.
pub struct Subject {
    /// What it was compiled from.
    pub spec: Spec,
    code_object: Vec<u8>,
}

impl Subject {
    /// Compiles a legal spec.
    pub fn new(spec: impl Into<Spec>) -> Subject {
        let spec = spec.into();
        assert_eq!(spec.check(), [], "{}", spec.name());
        let artefacts = pipeline::compile(&spec).unwrap_or_else(|e| panic!("{e}"));
        Subject { spec, code_object: artefacts.code_object }
    }

    /// Runs one generated problem of these sizes; every output is prefilled with NaN by the plan.
    pub fn verify(&self, sizes: &str, gates: GateRange, seed: u64) {
        let problem = self.spec.problem(&[sizes]).unwrap();
        let case = Case::generate(&self.spec, &problem, &Sample { gates, seed }).unwrap();
        let name = format!("{} {} {sizes} {gates:?}", self.spec.target(), self.spec.name());
        let outputs = self.run(&problem, &case.tensors().unwrap());
        for (output, verdict) in case.judge(&outputs).unwrap() {
            assert!(verdict.passed, "{name}: {output}: {verdict:?}");
        }
        let twin = case.twin().unwrap();
        assert_eq!(twin.keys().collect::<Vec<_>>(), outputs.keys().collect::<Vec<_>>());
        for (output, want) in &twin {
            let got = &outputs[output];
            let first = got.iter().zip(want).position(|(got, want)| got != want);
            assert!(
                got.len() == want.len() && first.is_none(),
                "{name}: {output}: byte {first:?} differs from the twin"
            );
        }
    }

    /// Runs a problem on these inputs, without any finding, and gives what the kernel wrote.
    pub fn run(&self, problem: &Problem, inputs: &Tensors) -> Tensors {
        let name = format!("{} {} {problem:?}", self.spec.target(), self.spec.name());
        let mut device = harness::emulated(self.spec.target());
        let execution =
            harness::execute(&mut device, &[&self.code_object], &self.spec, problem, inputs)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        for report in execution.launches.iter().filter_map(|launch| launch.emulated.as_ref()) {
            assert!(report.findings.is_empty(), "{name}: {}", report.findings[0]);
            assert!(report.wave_instructions > 0, "{name}: nothing ran");
        }
        assert_eq!(execution.trouble(), None, "{name}");
        execution.outputs
    }
}
