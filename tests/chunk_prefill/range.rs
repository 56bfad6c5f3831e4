//! Scales, keys, queries, values and states at both ends of what the kernels hold: right, or reported.

use oracle::Stored;
use oracle::inputs::GatePattern;
use oracle::measure::rmse_ratio;
use oracle::prefill::{Problem, serial};
use specs::chunk::Accuracy;
use specs::{Dtype, Family, StatusBit};

use super::case::{Case, KDA, measure};
use super::launch::{Run, run, run_fused};
use super::{F16, FORMS};

/// Nothing hides o: no state, and gates at the bound, whose factors reach farthest.
const STRONG: GatePattern = GatePattern::Constant(-5.0);

/// Half of the channels at the bound, the others almost without decay.
const APART: GatePattern = GatePattern::Split(-5.0);

/// Every element times a power of two.
fn times(x: &Stored, log2: i32) -> Stored {
    Stored::round(x.dtype(), x.to_f64().into_iter().map(|x| x * 2f64.powi(log2)))
}

fn stateless(case: Case) -> Case {
    Case { initial_state: false, value_heads: 1, ..case }
}

/// The problem with q and k times powers of two.
fn of_size(problem: &Problem, [q, k]: [i32; 2]) -> Problem {
    Problem { q: times(&problem.q, q), k: times(&problem.k, k), ..problem.clone() }
}

/// How far every row of o is from float64, relative to itself.
fn by_rows(problem: &Problem, got: &Run) -> Vec<f64> {
    let width = problem.shape.head_v;
    let (want, got) = (serial::run(problem).expect("a problem").o, got.o.to_f64());
    want.chunks(width).zip(got.chunks(width)).map(|(want, got)| rmse_ratio(got, want)).collect()
}

/// All of o and the state within their limits, and no row of o farther from float64 than the same of another size,
/// by more than what 64 elements vary: where terms cancel, rows are far by themselves.
#[track_caller]
fn judge_rows(case: &Case, problem: &Problem, usual: &Problem, what: &str) {
    for run in [run, run_fused] {
        let got = run(case, problem);
        let measured = measure(case, problem, &got);
        let limit = measured.limits.o.at(measured.floor);
        assert!(measured.o <= limit, "{what} {case:?}: o is off by {:.2e}", measured.o);
        assert!(measured.state <= measured.limits.state, "{what} {case:?}: {:.2e}", measured.state);
        let rows = by_rows(problem, &got).into_iter().zip(by_rows(usual, &run(case, usual)));
        for (row, (ratio, of_usual)) in rows.enumerate() {
            let most = limit + 1.5 * of_usual;
            assert!(ratio <= most, "{what} {case:?}: row {row} is off by {ratio:.2e}, {most:.2e}");
        }
        assert!(got.status.is_clean(), "{what} {case:?}: {}", got.status);
    }
}

#[test]
fn a_scale_of_any_size_is_right() {
    for family in [Family::Kda, Family::Gdn] {
        for case in FORMS.map(|form| stateless(Case { family, checked: true, ..form })) {
            let problem = case.problem(&[0, 64], STRONG, (0.0, 1.0));
            for scale in [1e-4, 1e-6, 1e-34, 1e30] {
                let scaled = Problem { scale, ..problem.clone() };
                judge_rows(&case, &scaled, &problem, &format!("scale {scale}"));
            }
        }
    }
}

#[test]
fn small_keys_and_queries_are_right() {
    let pairs = FORMS[1];
    let short = Case { chunk: 16, ..pairs };
    let any_gate = Case { sub_chunks: true, ..pairs };
    let gdn = Case { family: Family::Gdn, ..pairs };
    for case in [KDA, pairs, short, any_gate, gdn] {
        let case = stateless(Case { checked: true, ..case });
        for pattern in [STRONG, APART] {
            let problem = case.problem(&[0, 64], pattern, (0.0, 1.0));
            for sizes in [[-11, 0], [-20, 0], [0, -11], [0, -20], [-20, -20], [5, 0]] {
                let what = format!("q, k of 2^{sizes:?}, {pattern:?}");
                judge_rows(&case, &of_size(&problem, sizes), &problem, &what);
            }
        }
    }
    let halves = stateless(F16);
    let problem = halves.problem(&[0, 64], STRONG, (0.0, 1.0));
    for sizes in [[-4, 0], [0, -4], [-4, -4], [5, 0]] {
        let small = of_size(&problem, sizes);
        let got = run(&halves, &small);
        let measured = measure(&halves, &small, &got);
        let limit = measured.limits.o.at(measured.floor);
        assert!(measured.o <= limit, "q, k of 2^{sizes:?}: o is off by {:.2e}", measured.o);
        assert!(got.status.is_clean(), "q, k of 2^{sizes:?}: {}", got.status);
    }
}

/// Of the split and the fused kernels, which report alike.
fn reported(case: &Case, problem: &Problem) -> specs::StatusWord {
    let (split, fused) = (run(case, problem), run_fused(case, problem));
    assert_eq!(split.status, fused.status, "{case:?}");
    split.status
}

#[test]
fn what_is_too_small_or_large_is_reported() {
    let checked = |case| stateless(Case { checked: true, ..case });
    let [plain, pairs, halves] = FORMS.map(checked);
    let any_gate = Case { sub_chunks: true, ..pairs };
    let gdn = Case { family: Family::Gdn, ..pairs };
    for (case, q, k) in [
        (plain, -26, 0),
        (pairs, -26, 0),
        (pairs, 0, -26),
        (halves, -8, 0),
        (halves, 0, -8),
        (any_gate, -64, 0),
        (gdn, 0, -64),
        (Case { family: Family::Gdn, ..halves }, -8, 0),
    ] {
        let problem = case.problem(&[0, 40], STRONG, (0.0, 1.0));
        assert!(reported(&case, &problem).is_clean(), "{case:?}");
        let word = reported(&case, &of_size(&problem, [q, k]));
        assert!(word.contains(StatusBit::OperandRange), "{case:?}, 2^{q}, 2^{k}: {word}");
    }
    // One row of a chunk, one head of it.
    let problem = pairs.problem(&[0, 40], STRONG, (0.0, 1.0));
    let mut q = problem.q.to_f64();
    q[37 * 128..38 * 128].iter_mut().for_each(|x| *x *= 2f64.powi(-30));
    let one_row = Problem { q: Stored::round(Dtype::Bf16, q.clone()), ..problem.clone() };
    assert!(reported(&pairs, &one_row).contains(StatusBit::OperandRange));
    q[37 * 128..38 * 128].fill(0.0);
    let zeros = Problem { q: Stored::round(Dtype::Bf16, q), ..problem.clone() };
    assert!(reported(&pairs, &zeros).is_clean());
    let large = of_size(&problem, [9, 0]);
    assert!(reported(&pairs, &large).contains(StatusBit::ArithmeticNonfinite));
}

/// Values and states at both ends: of f16 reported, of pairs of bf16 right.
#[test]
fn small_values_and_states_are_right_or_reported() {
    for case in FORMS {
        let case = Case { checked: true, value_heads: 1, ..case };
        let weak = GatePattern::Random(-0.5);
        for (pattern, log2) in
            [(STRONG, -20), (weak, -20), (STRONG, -100), (weak, -100), (STRONG, -119)]
        {
            let problem = case.problem(&[0, 64], pattern, (0.0, 1.0));
            let state = problem.initial_state.as_ref();
            let small = Problem {
                v: times(&problem.v, log2),
                initial_state: state.map(|s| s.iter().map(|s| s * 2f32.powi(log2)).collect()),
                ..problem
            };
            let (got, word) = (run(&case, &small), reported(&case, &small));
            let measured = measure(&case, &small, &got);
            println!("v, S of 2^{log2} {case:?}: o {:.2e}, {word}", measured.o);
            if matches!(case.accuracy, Accuracy::F16 { .. }) {
                assert!(word.contains(StatusBit::OperandRange), "2^{log2} {case:?}: {word}");
            } else {
                let is_right = measured.o <= measured.limits.o.at(measured.floor);
                assert_eq!(
                    (is_right, word.is_clean()),
                    (log2 > -119, log2 > -119),
                    "2^{log2} {case:?}: {word}"
                );
            }
        }
    }
}
