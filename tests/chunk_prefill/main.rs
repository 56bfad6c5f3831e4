//! The kernels of chunked prefill on the emulator against float64: stage tensors, outputs and states;
//! padding and outputs hold NaN before the launch.

mod case;
mod forms;
mod launch;
mod range;
mod reference;

use case::{Case, KDA, Raw, everywhere, judge};
use launch::{run, run_fused};
use oracle::inputs::{GatePattern, GateRange};
use oracle::prefill::{Beta, Problem};
use oracle::{DeltaShape, GateInput, Stored};
use specs::chunk::{Accuracy, BetaForm};
use specs::{Family, StateLayout};

/// The form that needs a bound and reports.
const F16: Case = Case { accuracy: Accuracy::F16 { value_bound: 1000.0 }, checked: true, ..KDA };

/// Every accuracy form.
const FORMS: [Case; 3] = [KDA, Case { accuracy: Accuracy::Bf16Split, ..KDA }, F16];

/// Packed sequences with empty ones at both ends and between.
const PACKED: [i64; 7] = [0, 0, 40, 40, 41, 105, 105];

#[test]
fn every_form_of_every_family_is_right() {
    for family in [Family::Kda, Family::Gdn] {
        for accuracy in [Accuracy::Bf16, Accuracy::Bf16Split] {
            for case in everywhere([Case { family, accuracy, ..KDA }]) {
                let problem = case.problem(&PACKED, GatePattern::Random(-2.0), (0.0, 1.0));
                judge(&case, &problem, "forms");
            }
        }
    }
}

#[test]
fn every_geometry_is_right() {
    let small = Case { chunk: 16, head_k: 64, head_v: 128, ..KDA };
    let split = Case { head_v: 128, value_splits: 4, ..KDA };
    let v_first = Case { state_layout: StateLayout::VFirst, value_splits: 2, ..KDA };
    let gdn = Case { family: Family::Gdn, ..small };
    for case in everywhere([small, split, v_first, gdn]) {
        let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 2.0));
        judge(&case, &problem, "geometries");
    }
}

/// Every token of a decay, in chunks with a tail, whether the state starts from something.
#[test]
fn gates_from_none_to_the_bound_are_right() {
    let patterns = [
        GatePattern::Constant(0.0),
        GatePattern::Constant(-0.1),
        GatePattern::Constant(-5.0),
        GatePattern::Split(-5.0),
    ];
    for case in everywhere([Case { accuracy: Accuracy::Bf16Split, ..KDA }]) {
        for pattern in patterns {
            judge(&case, &case.problem(&[0, 33, 100], pattern, (0.0, 1.0)), "gates");
        }
        // Whole chunks of the strongest gates: no decay of theirs is a normal number of f32.
        let strongest = case.problem(&[0, 64], GatePattern::Constant(-5.0), (0.0, 1.0));
        judge(&case, &strongest, "no decay left");
    }
}

/// One gate a head has no least one: 40 nats a token. Most of what such gates leave of keys and queries is below f16's
/// range, where its stage tensors are held to a step of it.
#[test]
fn gates_of_forty_nats_are_right() {
    for case in everywhere(FORMS.map(|form| Case { family: Family::Gdn, ..form })) {
        for pattern in
            [GatePattern::Constant(-10.0), GatePattern::Random(-40.0), GatePattern::Constant(-40.0)]
        {
            let problem = case.problem(&[0, 100], pattern, (0.0, 1.0));
            judge(&case, &problem, "gates of forty nats");
        }
    }
}

/// Where the state lives long, what rounding costs adds up: 256 tokens of weak gates, step sizes up to 2.
#[test]
fn long_lives_are_right() {
    for family in [Family::Kda, Family::Gdn] {
        for head_k in [64, 128] {
            for nats in [0.0, -0.1] {
                let accuracy = Accuracy::Bf16Split;
                for case in everywhere([Case { family, accuracy, head_k, ..KDA }]) {
                    let problem = case.problem(&[0, 256], GatePattern::Constant(nats), (0.0, 2.0));
                    judge(&case, &problem, "long lives");
                }
            }
        }
    }
    for (head_k, most_beta) in [(64, 1.0), (64, 2.0), (128, 1.0), (128, 2.0)] {
        for case in everywhere([Case { head_k, ..KDA }]) {
            let problem = case.problem(&[0, 256], GatePattern::Constant(0.0), (0.0, most_beta));
            judge(&case, &problem, "long lives");
        }
    }
}

/// Sequences of 0, 1, 5, 31, 32, 33 and 100 tokens.
const LENGTHS: [i64; 8] = [0, 0, 1, 6, 37, 69, 102, 202];

#[test]
fn every_length_is_right() {
    for family in [Family::Kda, Family::Gdn] {
        for case in everywhere(FORMS.map(|form| Case { family, head_k: 64, ..form })) {
            let problem = case.problem(&LENGTHS, GatePattern::Random(-0.5), (0.0, 1.0));
            judge(&case, &problem, "lengths");
        }
    }
}

/// Keys and queries of many lengths: unit rows times 1/4 to 4, by turns.
fn unnormed(problem: Problem) -> Problem {
    let width = problem.shape.head_k;
    let stretched = |x: &Stored| {
        let factor = |index: usize| 2f64.powi((index / width % 5) as i32 - 2);
        let values = x.to_f64().into_iter().enumerate().map(|(i, x)| x * factor(i));
        Stored::round(x.dtype(), values)
    };
    Problem { q: stretched(&problem.q), k: stretched(&problem.k), l2_norm: true, ..problem }
}

/// Gates, step sizes and norms made in the kernel, as trained models have them.
#[test]
fn raw_inputs_are_right() {
    let case = Case { accuracy: Accuracy::Bf16Split, head_k: 64, qk_l2norm: true, ..KDA };
    for family in [Family::Kda, Family::Gdn] {
        for (range, dt_bias, beta) in [
            (GateRange::Weak, true, BetaForm::Sigmoid),
            (GateRange::Trained, false, BetaForm::TwiceSigmoid),
            (GateRange::Strong, true, BetaForm::Given),
        ] {
            let raw = Some(Raw { range, dt_bias, beta });
            let steps = if beta == BetaForm::Given { (0.0, 1.0) } else { (-2.0, 2.0) };
            for case in everywhere([Case { family, raw, ..case }]) {
                let problem = case.problem(&[0, 0, 5, 75], GatePattern::Constant(0.0), steps);
                judge(&case, &unnormed(problem), "raw inputs");
            }
        }
    }
}

/// Norms with given gates, in one bf16 and other geometries.
#[test]
fn norms_are_right() {
    for family in [Family::Kda, Family::Gdn] {
        for (chunk, accuracy) in [(16, Accuracy::Bf16), (32, Accuracy::Bf16Split)] {
            for case in everywhere([Case { family, chunk, accuracy, qk_l2norm: true, ..KDA }]) {
                let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
                judge(&case, &unnormed(problem), "norms");
            }
        }
    }
}

/// Some tokens of a problem as one sequence that starts from this state.
fn part(problem: &Problem, tokens: std::ops::Range<usize>, state: &[f32]) -> Problem {
    let all = problem.shape.tokens;
    let share = |x: &Stored| {
        let bytes = x.to_le_bytes();
        let row = bytes.len() / all;
        let kept = &bytes[tokens.start * row..tokens.end * row];
        Stored::from_le_bytes("a cut", x.dtype(), kept).expect("whole elements")
    };
    let (Beta::Given(beta), GateInput::LogDecay(g)) = (&problem.beta, &problem.gate) else {
        panic!("given steps and gates");
    };
    let gates = g.len() / all;
    Problem {
        shape: DeltaShape { tokens: tokens.len(), ..problem.shape },
        cu_seqlens: Some(vec![0, tokens.len() as i64]),
        q: share(&problem.q),
        k: share(&problem.k),
        v: share(&problem.v),
        beta: Beta::Given(share(beta)),
        gate: GateInput::LogDecay(g[tokens.start * gates..tokens.end * gates].to_vec()),
        initial_state: Some(state.to_vec()),
        ..problem.clone()
    }
}

fn initial_state(problem: &Problem) -> &[f32] {
    problem.initial_state.as_deref().expect("an initial state")
}

/// Cut at a multiple of the chunk, the state handed on, a sequence gives the same bits.
#[test]
fn cuts_at_chunks_change_no_bit() {
    for family in [Family::Kda, Family::Gdn] {
        for case in everywhere(FORMS.map(|form| Case { family, head_k: 64, ..form })) {
            let problem = case.problem(&[0, 75], GatePattern::Random(-0.5), (0.0, 1.0));
            let whole = run(&case, &problem);
            let first = run(&case, &part(&problem, 0..32, initial_state(&problem)));
            let handed: Vec<f32> = first.state.iter().map(|&s| s as f32).collect();
            let second = run(&case, &part(&problem, 32..75, &handed));
            assert!(second.state == whole.state, "states of {case:?}");
            let both = [first.o.to_le_bytes(), second.o.to_le_bytes()].concat();
            assert!(both == whole.o.to_le_bytes(), "o of {case:?}");
        }
    }
}

/// What a sequence gives does not depend on the others of its batch.
#[test]
fn alone_gives_the_bits_of_a_batch() {
    for case in everywhere(FORMS.map(|form| Case { head_k: 64, ..form })) {
        let problem = case.problem(&[0, 40, 75], GatePattern::Random(-0.5), (0.0, 1.0));
        let batch = run(&case, &problem);
        let (states, o) = (initial_state(&problem), batch.o.to_le_bytes());
        let (of_sequence, of_token) = (states.len() / 2, o.len() / 75);
        for (sequence, tokens) in [0..40, 40..75].into_iter().enumerate() {
            let here = sequence * of_sequence..(sequence + 1) * of_sequence;
            let alone = run(&case, &part(&problem, tokens.clone(), &states[here.clone()]));
            assert!(alone.state == batch.state[here], "the state of sequence {sequence}, {case:?}");
            let want = &o[tokens.start * of_token..tokens.end * of_token];
            assert!(alone.o.to_le_bytes() == want, "o of sequence {sequence}, {case:?}");
        }
    }
}

/// Fetching the next chunk's tensors ahead changes no bit.
#[test]
fn fetching_ahead_changes_no_bit() {
    for case in everywhere(FORMS.map(|form| Case { head_k: 64, value_heads: 1, ..form })) {
        let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
        for run in [run, run_fused] {
            let ahead = run(&case, &problem);
            let plain = run(&Case { prefetch: false, ..case }, &problem);
            assert!(ahead.o.to_le_bytes() == plain.o.to_le_bytes(), "o of {case:?}");
            assert!(ahead.state == plain.state, "states of {case:?}");
        }
    }
}

/// The fused kernel has the phases of the other two: the same bits where gates are summed by as many groups.
#[test]
fn fused_gives_the_bits_of_split() {
    let one = Case { head_k: 64, ..KDA };
    let pairs = Case { chunk: 16, accuracy: Accuracy::Bf16Split, ..KDA };
    let raw = Raw { range: GateRange::Trained, dt_bias: true, beta: BetaForm::Sigmoid };
    let raw = Case { raw: Some(raw), qk_l2norm: true, ..one };
    let halves = Case { head_v: 128, value_splits: 2, state_layout: StateLayout::VFirst, ..KDA };
    for family in [Family::Kda, Family::Gdn] {
        let cases = [KDA, one, pairs, raw, halves, Case { head_k: 64, ..F16 }];
        for case in everywhere(cases.map(|case| Case { family, ..case })) {
            let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
            let problem = if case.qk_l2norm { unnormed(problem) } else { problem };
            let split = run(&case, &problem);
            let fused = run_fused(&case, &problem);
            assert!(fused.o.to_le_bytes() == split.o.to_le_bytes(), "o of {case:?}");
            assert!(fused.state == split.state, "states of {case:?}");
        }
    }
}

/// What 64 tokens of a head cost in wave instructions, K = V = 128: no more than `docs/kernels/kda.md` says, and a
/// twentieth for other versions of LLVM. `benches/chunk_cost.rs` counts more of it.
#[test]
fn instructions_of_64_tokens() {
    let case = Case { value_heads: 1, head_v: 128, atom_m: 32, ..KDA };
    let problem = case.problem(&[0, 64], GatePattern::Random(-0.5), (0.0, 1.0));
    let runs = [run(&case, &problem).stats, run_fused(&case, &problem).stats];
    for (stats, (kind, most)) in runs.iter().zip([("split", 9_794_u64), ("fused", 9_382)]) {
        let sum: u64 = stats.iter().flat_map(|stats| stats.instructions.values()).sum();
        println!("{kind}: {sum} wave instructions");
        assert!(sum <= most + most / 20, "{kind}: {sum} wave instructions");
    }
}

/// What rows give does not depend on later ones, not a bit of it: other finite keys, values and gates from row p on leave
/// the rows before p alone, for every p of a chunk and its tail.
#[test]
fn no_output_depends_on_a_later_row() {
    let gdn = Case { family: Family::Gdn, ..KDA };
    let cases = [KDA, gdn, Case { sub_chunks: true, ..KDA }, FORMS[1], F16];
    for case in everywhere(cases.map(|case| Case { head_k: 64, value_heads: 1, ..case })) {
        let problem = case.problem(&[0, 40], GatePattern::Random(-2.0), (0.0, 1.0));
        let other = case.problem(&[0, 40], GatePattern::Constant(-4.0), (0.0, 1.0));
        let whole = run_fused(&case, &problem).o.to_le_bytes();
        let row = (case.value_heads * case.head_v) as usize * 2;
        for p in 1..40 {
            let mixed = joined(&problem, &other, p);
            let got = run_fused(&case, &mixed).o.to_le_bytes();
            assert!(got[..p * row] == whole[..p * row], "rows before {p}, {case:?}");
            assert!(got[p * row..] != whole[p * row..], "rows from {p}, {case:?}");
        }
    }
}

/// The first rows of one problem, then those of another with keys and values negated.
fn joined(first: &Problem, second: &Problem, rows: usize) -> Problem {
    let all = first.shape.tokens;
    let both = |a: &Stored, b: &Stored, sign: f64| {
        let row = a.to_f64().len() / all;
        let later = b.to_f64().into_iter().skip(rows * row).map(|x| sign * x);
        Stored::round(a.dtype(), a.to_f64().into_iter().take(rows * row).chain(later))
    };
    let (GateInput::LogDecay(a), GateInput::LogDecay(b)) = (&first.gate, &second.gate) else {
        panic!("given gates")
    };
    let cut = rows * a.len() / all;
    Problem {
        k: both(&first.k, &second.k, -1.0),
        v: both(&first.v, &second.v, -1.0),
        gate: GateInput::LogDecay([&a[..cut], &b[cut..]].concat()),
        ..first.clone()
    }
}
