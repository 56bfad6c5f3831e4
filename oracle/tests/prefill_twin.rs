//! The rounding twin of chunked prefill against float64: what each accuracy form reaches in the planned order of
//! operations. A model of rounding, not of hardware.

use specs::chunk::{Accuracy, DecayForm};
use specs::{Dtype, Gate, HeadMap, StateLayout};
use wavesmith_oracle::inputs::{GatePattern, GateRange, PrefillGates, PrefillSample, prefill};
use wavesmith_oracle::measure::{floor, rmse_ratio, triangle_rmse_ratios};
use wavesmith_oracle::prefill::{Beta, Layouts, Problem, serial, tile};
use wavesmith_oracle::twin::prefill::{Form, run};
use wavesmith_oracle::{DeltaShape, GateInput, Stored};

const F16: Accuracy = Accuracy::F16 { value_bound: 65_504.0 };

fn shape(tokens: usize, per_channel_gate: bool) -> DeltaShape {
    DeltaShape {
        batch: 1,
        tokens,
        key_heads: 1,
        value_heads: 2,
        head_k: 64,
        head_v: 32,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::VFirst,
        per_channel_gate,
    }
}

fn problem(
    tokens: usize,
    per_channel_gate: bool,
    pattern: GatePattern,
    beta: (f64, f64),
) -> Problem {
    let gates = PrefillGates::Given(pattern);
    let sample = PrefillSample { gates, beta, initial_state: true, seed: 5 };
    prefill(shape(tokens, per_channel_gate), None, Dtype::Bf16, &sample)
}

/// The form for gates of at least −5.
fn form(accuracy: Accuracy, decay: DecayForm, chunk: usize) -> Form {
    let offset = match (decay, chunk) {
        (DecayForm::FixedOffset, 16) => 55.0,
        (DecayForm::FixedOffset, _) => 112.0,
        _ => 0.0,
    };
    let shift_log2 = if offset > 100.0 { 12 } else { 0 };
    let groups = if decay == DecayForm::OutsideProduct { 1 } else { 16 };
    Form { accuracy, decay, offset, shift_log2, chunk, solve_block: 16, groups }
}

/// Every decay form with its chunk lengths.
const FORMS: [(bool, DecayForm, usize); 4] = [
    (true, DecayForm::FixedOffset, 16),
    (true, DecayForm::FixedOffset, 32),
    (true, DecayForm::SubChunks, 64),
    (false, DecayForm::OutsideProduct, 32),
];

/// Worst results of an accuracy form.
#[derive(Debug, Default)]
struct Worst {
    /// `rmse_ratio` of o over the floor of bf16.
    o_over_floor: f64,
    /// `rmse_ratio` of the final state.
    state: f64,
    /// `rmse_ratio` of A and Aqk below the diagonal.
    strict_lower: f64,
    /// Likewise on the diagonal.
    diagonal: f64,
}

impl Worst {
    fn add(&mut self, problem: &Problem, form: &Form) {
        let want = serial::run(problem).unwrap();
        let (_, chunks) = tile::run(problem, form.chunk).unwrap();
        let got = run(problem, form).unwrap();
        let state: Vec<f64> = got.state.iter().map(|&s| f64::from(s)).collect();
        let o = rmse_ratio(&got.o.to_f64(), &want.o) / floor(&want.o, Dtype::Bf16);
        self.o_over_floor = self.o_over_floor.max(o);
        self.state = self.state.max(rmse_ratio(&state, &want.state));
        let a: Vec<f64> = chunks.iter().flat_map(|chunk| chunk.a.clone()).collect();
        let aqk: Vec<f64> = chunks.iter().flat_map(|chunk| chunk.aqk.clone()).collect();
        for (got, want) in [(&got.a, &a), (&got.aqk, &aqk)] {
            let ratios = triangle_rmse_ratios(got, want, form.chunk);
            assert_eq!(ratios.above, 0.0);
            self.diagonal = self.diagonal.max(ratios.diagonal);
            self.strict_lower = self.strict_lower.max(ratios.strict_lower);
        }
    }
}

/// The worst of a form over gates from 0 to −5, lengths and decay forms, with `change` made to it.
fn worst(accuracy: Accuracy, most_beta: f64, change: impl Fn(&mut Form)) -> Worst {
    let mut worst = Worst::default();
    for (per_channel_gate, decay, chunk) in FORMS {
        let mut form = form(accuracy, decay, chunk);
        change(&mut form);
        for nats in [0.0, -0.1, -0.5, -2.0, -5.0] {
            let constant = GatePattern::Constant(nats);
            for pattern in [constant, GatePattern::Random(nats), GatePattern::Split(nats)] {
                worst.add(&problem(100, per_channel_gate, pattern, (0.0, most_beta)), &form);
            }
        }
        for pattern in [GatePattern::Constant(0.0), GatePattern::Split(-0.1)] {
            worst.add(&problem(256, per_channel_gate, pattern, (0.0, most_beta)), &form);
        }
    }
    worst
}

/// The model's worst values with a little room: `o_over_floor`, `state`, `strict_lower`, `diagonal`.
#[track_caller]
fn within(accuracy: Accuracy, most_beta: f64, limits: [f64; 4], change: impl Fn(&mut Form)) {
    let got = worst(accuracy, most_beta, change);
    let values = [got.o_over_floor, got.state, got.strict_lower, got.diagonal];
    println!("{accuracy:?}, beta to {most_beta}: {got:?}");
    let inside = values.iter().zip(limits).all(|(got, limit)| *got <= limit);
    assert!(inside, "{accuracy:?}, beta to {most_beta}: {got:?}, limits {limits:?}");
}

/// One bf16 but for R and Ṽ: eight bits a tile, and errors of the state that step sizes above 1 amplify.
#[test]
fn plain_form() {
    within(Accuracy::Bf16, 1.0, [2.3, 2.8e-3, 2.8e-3, 3.2e-3], |_| ());
    within(Accuracy::Bf16, 2.0, [2.8, 4.1e-3, 2.8e-3, 3.2e-3], |_| ());
}

/// Sixteen bits in every operand: beyond what a bf16 output shows.
#[test]
fn split_form() {
    within(Accuracy::Bf16Split, 1.0, [1.001, 9e-6, 1e-5, 1e-5], |_| ());
    within(Accuracy::Bf16Split, 2.0, [1.001, 1.2e-5, 1e-5, 1e-5], |_| ());
}

/// Blocks of the solve change A by no more than the last bits of f32.
#[test]
fn blocks_of_the_solve() {
    let problem = problem(100, false, GatePattern::Constant(-0.1), (0.0, 1.0));
    for solve_block in [16, 32] {
        let form = form(Accuracy::Bf16, DecayForm::OutsideProduct, 32);
        let mut worst = Worst::default();
        worst.add(&problem, &Form { solve_block, ..form });
        assert!(worst.strict_lower < 1e-5, "{solve_block}: {worst:?}");
    }
}

/// Eleven bits in the tiles, sixteen in the factors, twenty-two in what the state goes through.
#[test]
fn half_form() {
    within(F16, 1.0, [1.03, 3.1e-4, 1e-5, 1e-5], |_| ());
    within(F16, 2.0, [1.05, 4.4e-4, 1e-5, 1e-5], |_| ());
}

/// A power of two as offset is exact: without decay the anchor costs nothing but the last bits of keys so
/// small (below 2^−14) that their far factor is subnormal.
#[test]
fn an_integer_offset_is_exact() {
    let problem = problem(33, true, GatePattern::Constant(0.0), (0.0, 1.0));
    let aqk = |offset| {
        let form = form(Accuracy::Bf16, DecayForm::FixedOffset, 32);
        run(&problem, &Form { offset, ..form }).unwrap().aqk
    };
    assert!(rmse_ratio(&aqk(112.0), &aqk(0.0)) <= 1e-6);
    assert!(rmse_ratio(&aqk(111.8), &aqk(0.0)) > 1e-4);
}

/// Gates beyond the promised bound leave the factors' range: what the rule `gate_range` refuses.
#[test]
fn gates_beyond_their_bound_are_wrong() {
    let beyond = problem(32, true, GatePattern::Constant(-8.0), (0.0, 1.0));
    let want = serial::run(&beyond).unwrap();
    let got = |form: Form| rmse_ratio(&run(&beyond, &form).unwrap().o.to_f64(), &want.o);
    assert!(got(form(Accuracy::Bf16Split, DecayForm::FixedOffset, 32)) > 0.1);
    assert!(got(form(Accuracy::Bf16Split, DecayForm::SubChunks, 32)) < 2e-3);
}

/// Rows from `tokens` on, or up to it, as a problem of their own.
fn part(whole: &Problem, tokens: std::ops::Range<usize>, state: Option<Vec<f32>>) -> Problem {
    let shape = DeltaShape { tokens: tokens.len(), ..whole.shape };
    let cut = |x: &Stored, row: usize| {
        let values = (tokens.start * row..tokens.end * row).map(|index| x.f64_at(index));
        Stored::round(x.dtype(), values)
    };
    let gates = shape.value_heads * shape.gate_channels();
    let GateInput::LogDecay(g) = &whole.gate else { panic!("generated with log decays") };
    Problem {
        layouts: Layouts::token_major(&shape),
        q: cut(&whole.q, shape.key_heads * shape.head_k),
        k: cut(&whole.k, shape.key_heads * shape.head_k),
        v: cut(&whole.v, shape.value_heads * shape.head_v),
        beta: Beta::Given(cut(whole.beta.stored(), shape.value_heads)),
        gate: GateInput::LogDecay(g[tokens.start * gates..tokens.end * gates].to_vec()),
        initial_state: state,
        shape,
        ..whole.clone()
    }
}

/// Every decay form with every accuracy form, at 32 rows.
fn forms() -> impl Iterator<Item = (bool, Form)> {
    let decays = [
        (true, DecayForm::FixedOffset),
        (true, DecayForm::SubChunks),
        (false, DecayForm::OutsideProduct),
    ];
    let accuracies = [Accuracy::Bf16, Accuracy::Bf16Split, F16];
    decays.into_iter().flat_map(move |(per_channel_gate, decay)| {
        accuracies.map(|accuracy| (per_channel_gate, form(accuracy, decay, 32)))
    })
}

#[test]
fn cuts_at_chunks_change_no_bit() {
    for (per_channel_gate, form) in forms() {
        let whole = problem(75, per_channel_gate, GatePattern::Random(-0.5), (0.0, 2.0));
        let want = run(&whole, &form).unwrap();
        let first = run(&part(&whole, 0..32, whole.initial_state.clone()), &form).unwrap();
        let second = run(&part(&whole, 32..75, Some(first.state)), &form).unwrap();
        assert_eq!(second.state, want.state, "{form:?}");
        assert_eq!([first.o.to_f64(), second.o.to_f64()].concat(), want.o.to_f64(), "{form:?}");
    }
}

#[test]
fn outputs_do_not_depend_on_later_rows() {
    for (per_channel_gate, form) in forms() {
        let base = problem(33, per_channel_gate, GatePattern::Random(-2.0), (0.0, 1.0));
        let row = base.shape.value_heads * base.shape.head_v;
        let want = run(&base, &form).unwrap().o.to_f64();
        for p in [1, 7, 15, 16, 17, 31, 32] {
            // The rows before p, then later rows of another problem.
            let other = problem(33, per_channel_gate, GatePattern::Constant(-4.0), (0.0, 2.0));
            let changed = joined(&part(&base, 0..p, None), &part(&other, p..33, None));
            let changed = Problem { initial_state: base.initial_state.clone(), ..changed };
            let got = run(&changed, &form).unwrap().o.to_f64();
            assert_eq!(got[..p * row], want[..p * row], "rows before {p}, {form:?}");
            assert_ne!(got[p * row..], want[p * row..], "rows from {p}, {form:?}");
        }
    }
}

/// Two problems of one sequence, one after the other; keys and values of the second negated.
fn joined(first: &Problem, second: &Problem) -> Problem {
    let tokens = first.shape.tokens + second.shape.tokens;
    let shape = DeltaShape { tokens, ..first.shape };
    let both = |a: &Stored, b: &Stored, sign: f64| {
        let later = b.to_f64().into_iter().map(|x| sign * x);
        Stored::round(a.dtype(), a.to_f64().into_iter().chain(later))
    };
    let (GateInput::LogDecay(a), GateInput::LogDecay(b)) = (&first.gate, &second.gate) else {
        panic!("generated with log decays")
    };
    Problem {
        layouts: Layouts::token_major(&shape),
        q: both(&first.q, &second.q, 1.0),
        k: both(&first.k, &second.k, -1.0),
        v: both(&first.v, &second.v, -1.0),
        beta: Beta::Given(both(first.beta.stored(), second.beta.stored(), 1.0)),
        gate: GateInput::LogDecay([a.as_slice(), b].concat()),
        shape,
        ..first.clone()
    }
}

/// Raw gates, norms and sigmoids in f32 cost less than a bf16 output shows; operands are pairs, so that nothing
/// else does either.
#[test]
fn raw_inputs() {
    let bounded = Gate::BoundedSigmoid { lower_bound_nats: -5.0 };
    for (per_channel_gate, gate, decay) in [
        (true, bounded, DecayForm::FixedOffset),
        (true, Gate::Softplus, DecayForm::SubChunks),
        (false, Gate::Softplus, DecayForm::OutsideProduct),
    ] {
        for range in GateRange::ALL {
            let gates = PrefillGates::Raw(gate, range);
            let sample = PrefillSample { gates, beta: (-2.0, 2.0), initial_state: true, seed: 9 };
            let raw = prefill(shape(70, per_channel_gate), None, Dtype::Bf16, &sample);
            let beta = Beta::TwiceSigmoid(raw.beta.stored().clone());
            let mut worst = Worst::default();
            let problem = Problem { beta, l2_norm: true, ..raw };
            let form = form(Accuracy::Bf16Split, decay, 32);
            worst.add(&problem, &form);
            assert!(worst.o_over_floor <= 1.001 && worst.state <= 1.5e-5, "{range:?}: {worst:?}");
        }
    }
}

#[test]
fn packed_sequences_and_their_tails() {
    let gates = PrefillGates::Given(GatePattern::Random(-0.5));
    let sample = PrefillSample { gates, beta: (0.0, 1.0), initial_state: true, seed: 4 };
    let ends = vec![0, 0, 1, 34, 34, 70, 70];
    let packed = prefill(shape(70, true), Some(ends.clone()), Dtype::Bf16, &sample);
    let form = form(Accuracy::Bf16Split, DecayForm::FixedOffset, 32);
    let got = run(&packed, &form).unwrap();
    let want = serial::run(&packed).unwrap();
    assert!(rmse_ratio(&got.o.to_f64(), &want.o) <= 1.001 * floor(&want.o, Dtype::Bf16));
    let rows = packed.shape.state_row_len();
    for (n, pair) in ends.windows(2).enumerate() {
        let states = n * rows..(n + 1) * rows;
        let initial = packed.initial_state.as_ref().map(|state| state[states.clone()].to_vec());
        let alone = Problem {
            cu_seqlens: None,
            ..part(&packed, pair[0] as usize..pair[1] as usize, initial)
        };
        assert_eq!(run(&alone, &form).unwrap().state, got.state[states], "sequence {n}");
    }
}

#[test]
fn a_form_follows_from_a_spec() {
    let text = r#"
        schema = 1
        kind = "spec"
        kernel = "chunk_tile"
        family = "kda"
        target = "gfx950"
        accuracy = "bf16_split"
        gate = "log_decay_per_channel"
        gate_lower_bound_nats = -5
        decay = "fixed_offset"
        key_heads = 1
        value_heads = 2
        head_map = "grouped"
        head_k = 64
        dtype = "bf16"
        chunk = 32
    "#;
    let Ok(specs::Spec::Chunk(specs::ChunkSpec::Tile(spec))) = specs::parse_spec("a.toml", text)
    else {
        panic!("a tile spec")
    };
    let want = form(Accuracy::Bf16Split, DecayForm::FixedOffset, 32);
    assert_eq!(Form::of(&spec.common, &spec.tile), want);
}

#[test]
fn forms_must_divide_their_chunk() {
    let problem = problem(5, true, GatePattern::Constant(-1.0), (0.0, 1.0));
    let good = form(Accuracy::Bf16, DecayForm::FixedOffset, 32);
    for (bad, words) in [
        (Form { solve_block: 5, ..good }, "solve_block is 5"),
        (Form { groups: 0, ..good }, "groups is 0"),
    ] {
        assert!(run(&problem, &bad).unwrap_err().to_string().contains(words));
    }
}
