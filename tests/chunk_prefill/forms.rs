//! Accuracy forms, layouts, geometries and checks of the prefill kernels beside the plain ones.

use oracle::inputs::{GatePattern, GateRange};
use oracle::measure::rmse_ratio;
use oracle::prefill::Problem;
use oracle::prefill::serial;
use oracle::{GateInput, Stored};
use specs::chunk::{Accuracy, BetaForm, TokenLayout};
use specs::{Dtype, Family, KernelKind, StateLayout, StatusBit, StatusWord};
use wavesmith::backend::Backend;

use super::case::{Case, KDA, Raw, everywhere, judge, measure, modelled};
use super::launch::{prove, run, run_fused};
use super::{F16, PACKED, unnormed};

#[test]
fn halves_are_right_and_report_nothing() {
    for case in everywhere([F16, Case { family: Family::Gdn, ..F16 }]) {
        let problem = case.problem(&PACKED, GatePattern::Random(-2.0), (0.0, 1.0));
        judge(&case, &problem, "halves");
        let problem = case.problem(&[0, 256], GatePattern::Constant(0.0), (0.0, 2.0));
        judge(&case, &problem, "halves, long lives");
        assert!(
            run(&case, &problem).status.is_clean() && run_fused(&case, &problem).status.is_clean()
        );
    }
}

/// A problem with one element of keys or values replaced.
fn with(problem: &Problem, keys: bool, index: usize, value: f64) -> Problem {
    let from = if keys { &problem.k } else { &problem.v };
    let changed = from.to_f64().into_iter().enumerate();
    let changed = changed.map(|(at, x)| if at == index { value } else { x });
    let changed = Stored::round(Dtype::Bf16, changed);
    if keys {
        Problem { k: changed, ..problem.clone() }
    } else {
        Problem { v: changed, ..problem.clone() }
    }
}

#[test]
fn trouble_is_reported() {
    everywhere([F16]).for_each(|case| trouble_of(&case));
}

fn trouble_of(case: &Case) {
    let problem = case.problem(&[0, 40], GatePattern::Random(-0.5), (0.0, 1.0));
    let both = |problem: &Problem| {
        let (split, fused) = (run(case, problem).status, run_fused(case, problem).status);
        assert_eq!(split, fused);
        split
    };
    assert_eq!(both(&problem), StatusWord::CLEAN);
    // The last token, alone in its row of the second chunk's last block.
    let last = 39 * (KDA.value_heads * KDA.head_v) as usize + 5;
    let word = both(&with(&problem, false, last, f64::INFINITY));
    assert!(word.contains(StatusBit::InputNonfinite), "{word}");
    assert_eq!(both(&with(&problem, false, last, 1001.0)), StatusBit::ValueBound.into());
    let last = 39 * KDA.head_k as usize + 7;
    assert_eq!(both(&with(&problem, true, last, 1e-39)), StatusBit::InputSubnormal.into());
    let word = both(&with(&problem, true, last, f64::NAN));
    assert!(word.contains(StatusBit::InputNonfinite), "{word}");
}

/// Checks look on: they change no bit, and kernels without them have none of them.
#[test]
fn checks_change_no_bit() {
    for case in everywhere([KDA]) {
        let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
        let checked = Case { checked: true, ..case };
        let (with, without) = (run(&checked, &problem), run(&case, &problem));
        assert!(with.o.to_le_bytes() == without.o.to_le_bytes() && with.state == without.state);
        assert!(with.status.is_clean());
    }
}

#[test]
fn every_layout_of_rows_gives_the_same_bits() {
    for case in everywhere([KDA, Case { family: Family::Gdn, ..KDA }]) {
        let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
        let want = run(&case, &problem);
        for layout in [TokenLayout::HeadMajor, TokenLayout::Strided] {
            let case = Case { layout, ..case };
            for got in [run(&case, &problem), run_fused(&case, &problem)] {
                assert!(got.o.to_le_bytes() == want.o.to_le_bytes(), "o of {case:?}");
                assert!(got.state == want.state, "states of {case:?}");
            }
        }
    }
}

#[test]
fn sub_chunks_are_right() {
    let trained = Raw { range: GateRange::Trained, dt_bias: true, beta: BetaForm::Sigmoid };
    let pairs = Case { accuracy: Accuracy::Bf16Split, sub_chunks: true, ..KDA };
    let raw = Case { raw: Some(trained), qk_l2norm: true, ..pairs };
    let strong = Case { raw: Some(Raw { range: GateRange::Strong, ..trained }), head_k: 64, ..raw };
    let plain = Case { accuracy: Accuracy::Bf16, ..pairs };
    let long = Case { chunk: 64, head_k: 64, ..plain };
    for case in everywhere([Case { chunk: 16, ..raw }, raw, strong, plain, long]) {
        let problem = case.problem(&PACKED, GatePattern::Random(-8.0), (0.0, 1.0));
        let problem = if case.qk_l2norm { unnormed(problem) } else { problem };
        judge(&case, &problem, "sub-chunks");
        if case.chunk < 64 {
            let (split, fused) = (run(&case, &problem), run_fused(&case, &problem));
            assert!(fused.o.to_le_bytes() == split.o.to_le_bytes(), "o of {case:?}");
            assert!(fused.state == split.state, "states of {case:?}");
        }
    }
}

/// Where the state lives long, plain bf16 keeps its limits, with step sizes to 2 in the geometries that dispatch gives such
/// problems; with two of one gate a head, 64 channels and chunks of 64 it is beyond them. Everywhere the kernel is no farther
/// from float64 than the form's roundings on the host.
#[test]
fn plain_with_step_sizes_to_two_is_of_the_form() {
    let short = Case { chunk: 16, head_v: 128, value_splits: 2, ..KDA };
    let long = Case { chunk: 64, sub_chunks: true, ..KDA };
    for case in [KDA, short, long] {
        for at in 0..8 {
            let family = [Family::Kda, Family::Gdn][at % 2];
            let (head_k, most) = ([64, 128][at / 2 % 2], [1.0, 2.0][at / 4]);
            let sub_chunks = case.sub_chunks && family == Family::Kda;
            let case = Case { family, head_k, sub_chunks, ..case };
            let problem = case.problem(&[0, 256], GatePattern::Split(-0.1), (0.0, most));
            let model = modelled(&case, &problem);
            let measured = measure(&case, &problem, &run(&case, &problem));
            let (o, state) = (measured.o, measured.state);
            println!(
                "{family} C={} K={head_k} to {most}: o {o:.2e}, state {state:.2e}",
                case.chunk
            );
            assert!(measured.tiles_hold() && measured.is_of_the_form(model), "{case:?}: {model:?}");
            let amplified = [family == Family::Gdn, head_k == 64, case.chunk == 64];
            let is_amplified = amplified.into_iter().filter(|amplified| *amplified).count() > 1;
            let excess = measured.excess();
            assert!(excess.is_empty() || most > 1.0 && is_amplified, "{case:?}: {excess:?}");
        }
    }
}

/// Chunks of 64 rows for one gate a head, high operations, K ≠ V both ways.
#[test]
fn long_chunks_and_high_operations_are_right() {
    let gdn = Case { family: Family::Gdn, chunk: 64, head_k: 64, head_v: 128, ..KDA };
    let high = Case { atom_m: 32, head_v: 128, ..KDA };
    let halves = Case { atom_m: 32, ..F16 };
    let pairs = Case { atom_m: 32, accuracy: Accuracy::Bf16Split, ..KDA };
    for case in [gdn, high, halves, pairs] {
        let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
        judge(&case, &problem, "geometries");
    }
}

/// A gate of −∞, or one that f32 cannot tell from it, forgets everything before it, in any form without a bound.
#[test]
fn gates_of_any_size_reset_the_state() {
    let unbounded = [Case { family: Family::Gdn, ..KDA }, Case { sub_chunks: true, ..KDA }];
    for case in everywhere(unbounded) {
        let mut problem = case.problem(&[0, 40], GatePattern::Random(-0.5), (0.0, 1.0));
        let GateInput::LogDecay(gates) = &mut problem.gate else { panic!("given gates") };
        let of_token = gates.len() / 40;
        gates[7 * of_token..8 * of_token].fill(f32::NEG_INFINITY);
        gates[33 * of_token..34 * of_token].fill(-1e30);
        let want = serial::run(&problem).expect("a problem");
        for got in [run(&case, &problem), run_fused(&case, &problem)] {
            let (o, state) =
                (rmse_ratio(&got.o.to_f64(), &want.o), rmse_ratio(&got.state, &want.state));
            assert!(o < 4.4e-3 && state < 3.6e-3, "{case:?}: o {o:.2e}, state {state:.2e}");
        }
    }
}

/// How columns of V are shared changes no bit, nor does how LDS is.
#[test]
fn shares_of_columns_and_of_lds_change_no_bit() {
    let case = Case { head_v: 128, state_layout: StateLayout::VFirst, ..KDA };
    everywhere([case]).for_each(|case| shares_of(&case));
}

fn shares_of(case: &Case) {
    let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
    let want = run(case, &problem);
    for value_splits in [2, 4, 8] {
        let case = Case { value_splits, ..*case };
        let split = run(&case, &problem);
        assert!(split.o.to_le_bytes() == want.o.to_le_bytes() && split.state == want.state);
        let fused = run_fused(&case, &problem);
        // Of other workgroups: gates are summed by other groups of rows.
        if value_splits == 2 {
            assert!(fused.o.to_le_bytes() == want.o.to_le_bytes() && fused.state == want.state);
        }
        let overlaid = run_fused(&Case { overlay: true, ..case }, &problem);
        assert!(overlaid.o.to_le_bytes() == fused.o.to_le_bytes(), "{case:?}");
        assert!(overlaid.state == fused.state, "{case:?}");
    }
}

/// A sample of what `benches/mutation.rs` proves of all three kernels: a small fused one, over a chunk and a tail, as
/// both back ends make it.
/// `tests/mutation.rs` has a tile and a scan kernel.
#[test]
fn mutants_are_caught_or_shown_redundant() {
    let small = Case { family: Family::Gdn, chunk: 16, head_k: 64, value_heads: 1, ..KDA };
    let problem = small.problem(&[0, 21], GatePattern::Random(-0.5), (0.0, 1.0));
    for backend in [Backend::Llvm, Backend::Gcn] {
        let proof = prove(&small, &problem, KernelKind::ChunkFused, backend);
        println!("{backend:?}: {} mutants, {} caught", proof.verdicts.len(), proof.caught());
        assert!(proof.caught() > 0);
        let survivors: Vec<_> = proof.survivors().collect();
        assert!(survivors.is_empty(), "{backend:?}: nothing explains {survivors:?}");
    }
}
