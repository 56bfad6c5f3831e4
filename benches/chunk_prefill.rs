//! The accuracy of chunked prefill over the whole matrix of problems: gates from 0 to −5 a token (constant, random, split
//! between channels or heads) and raw, step sizes to 1 and to 2, lengths from 0 to 256 with empty sequences at every place,
//! with and without an initial state, every accuracy form, split and fused, in both numerics modes that stand for
//! gfx950. Emulated: no figure is a GPU's. Takes many minutes; `tests/chunk_prefill/` runs a sample. An argument
//! that is a part of a line's name leaves the others out.
//!
//! What is beyond its limit is listed, with what the host's model of the form's roundings gives for the same problem; only
//! what is worse than that model fails.

#[path = "../tests/chunk_prefill/case.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod case;
#[path = "../tests/chunk_prefill/launch.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod launch;

use std::process::ExitCode;

use case::{Case, KDA, Raw, measure, modelled};
use emulator::Numerics;
use oracle::inputs::{GatePattern, GateRange};
use specs::Family;
use specs::chunk::{Accuracy, BetaForm};

/// Ends of sequences of 0, 1, 5, 0, 31, 32, 33, 100 and 0 tokens, and of 256 alone.
const LENGTHS: [&[i64]; 2] = [&[0, 0, 1, 6, 6, 37, 69, 102, 202, 202], &[0, 256]];

const NATS: [f64; 5] = [0.0, -0.1, -0.5, -2.0, -5.0];

/// Worst ratios of a line, and what was beyond its limit.
#[derive(Default)]
struct Line {
    runs: usize,
    o: f64,
    state: f64,
    beyond: Vec<String>,
    /// Likewise, where the form's roundings alone put it.
    of_the_form: Vec<String>,
}

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let mut failed = 0;
    println!("{:<58}{:>6}{:>11}{:>11}", "form", "runs", "o", "state");
    for case in forms() {
        for most_beta in [1.0, 2.0] {
            let name = format!(
                "{} {} C={} K={} V={} {} beta to {most_beta}",
                case.family,
                case.accuracy.kind(),
                case.chunk,
                case.head_k,
                case.head_v,
                case.numerics.name()
            );
            if wanted.as_ref().is_some_and(|wanted| !name.contains(wanted)) {
                continue;
            }
            let line = line(&case, most_beta);
            println!("{name:<58}{:>6}{:>11.2e}{:>11.2e}", line.runs, line.o, line.state);
            line.of_the_form.iter().for_each(|beyond| println!("  of the form {beyond}"));
            line.beyond.iter().for_each(|beyond| println!("  BEYOND {beyond}"));
            failed += line.beyond.len();
        }
    }
    println!("{failed} beyond their limits");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn forms() -> Vec<Case> {
    let mut forms = Vec::new();
    for numerics in [Numerics::FmaSequential, Numerics::Cdna3Fdpa] {
        for family in [Family::Kda, Family::Gdn] {
            for accuracy in
                [Accuracy::Bf16, Accuracy::Bf16Split, Accuracy::F16 { value_bound: 1000.0 }]
            {
                let checked = matches!(accuracy, Accuracy::F16 { .. });
                let case = Case { family, accuracy, checked, numerics, ..KDA };
                forms.push(Case { atom_m: 32, ..case });
                forms.push(Case { chunk: 16, head_k: 64, head_v: 128, value_splits: 2, ..case });
            }
        }
    }
    forms
}

/// Every problem of a form.
fn line(case: &Case, most_beta: f64) -> Line {
    let mut line = Line::default();
    for ends in LENGTHS {
        for nats in NATS {
            let patterns =
                [GatePattern::Constant(nats), GatePattern::Random(nats), GatePattern::Split(nats)];
            for (index, pattern) in patterns.into_iter().enumerate() {
                let case = Case { initial_state: index != 1, ..*case };
                line.add(&case, ends, pattern, (0.0, most_beta));
            }
        }
        for range in GateRange::ALL {
            let beta = if most_beta > 1.0 { BetaForm::TwiceSigmoid } else { BetaForm::Sigmoid };
            let raw = |beta| Case { raw: Some(Raw { range, dt_bias: true, beta }), ..*case };
            // Where rules refuse step sizes that the kernel doubles, they are given.
            let (case, steps) = match raw(beta) {
                case if case.tile().check().is_empty() => (case, (-2.0, 2.0)),
                _ => (raw(BetaForm::Given), (0.0, most_beta)),
            };
            line.add(&case, ends, GatePattern::Constant(0.0), steps);
        }
    }
    line
}

impl Line {
    fn add(&mut self, case: &Case, ends: &[i64], pattern: GatePattern, beta: (f64, f64)) {
        let problem = case.problem(ends, pattern, beta);
        let runs = [launch::run(case, &problem), launch::run_fused(case, &problem)];
        for (run, kind) in runs.iter().zip(["split", "fused"]) {
            let measured = measure(case, &problem, run);
            self.runs += 1;
            self.o = self.o.max(measured.o);
            self.state = self.state.max(measured.state);
            let excess = measured.excess();
            if !excess.is_empty() {
                let ends = ends.last().copied().unwrap_or_default();
                let model = modelled(case, &problem);
                let is_only_rounding = measured.tiles_hold() && measured.is_of_the_form(model);
                let list = if is_only_rounding { &mut self.of_the_form } else { &mut self.beyond };
                let [o, state] = model;
                list.push(format!(
                    "{kind} {pattern:?}, {ends} tokens: {excess:?}; modelled o {o:.2e}, state {state:.2e}"
                ));
            }
            if !run.status.is_clean() {
                self.beyond.push(format!("{kind} {pattern:?}: status {}", run.status));
            }
        }
    }
}
