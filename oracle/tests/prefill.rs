//! The two prefill references against each other, over gates, step sizes, lengths and layouts.

use specs::{Dtype, Gate, HeadMap, StateLayout};
use wavesmith_oracle::inputs::{GatePattern, GateRange, PrefillGates, PrefillSample, prefill};
use wavesmith_oracle::measure::rmse_ratio;
use wavesmith_oracle::prefill::{Beta, Layouts, Outputs, Problem, RowLayout, serial, tile};
use wavesmith_oracle::{DeltaShape, GateInput, OracleError, Stored};

const CHUNKS: [usize; 3] = [16, 32, 64];
const LENGTHS: [usize; 8] = [0, 1, 5, 31, 32, 33, 100, 256];

fn unit_roundoff() -> f64 {
    f64::EPSILON / 2.0
}

/// K ≠ V, HV = 2·HK.
fn shape(tokens: usize, per_channel_gate: bool) -> DeltaShape {
    DeltaShape {
        batch: 2,
        tokens,
        key_heads: 2,
        value_heads: 4,
        head_k: 32,
        head_v: 20,
        head_map: HeadMap::Grouped,
        state_layout: StateLayout::KFirst,
        per_channel_gate,
    }
}

fn sample(gates: PrefillGates) -> PrefillSample {
    PrefillSample { gates, beta: (0.0, 1.0), initial_state: true, seed: 3 }
}

fn random(nats: f64) -> PrefillSample {
    sample(PrefillGates::Given(GatePattern::Random(nats)))
}

fn problem(tokens: usize, per_channel_gate: bool, sample: &PrefillSample) -> Problem {
    prefill(shape(tokens, per_channel_gate), None, Dtype::Bf16, sample)
}

/// Largest `rmse_ratio` between the references over all chunk lengths: of o, of the state.
fn distance(problem: &Problem) -> (f64, f64) {
    let want = serial::run(problem).unwrap();
    let distances = CHUNKS.map(|chunk| {
        let (got, _) = tile::run(problem, chunk).unwrap();
        (rmse_ratio(&got.o, &want.o), rmse_ratio(&got.state, &want.state))
    });
    distances.into_iter().fold((0.0, 0.0), |worst, got| (got.0.max(worst.0), got.1.max(worst.1)))
}

#[track_caller]
fn agree(problem: &Problem, what: &str) {
    let (o, state) = distance(problem);
    let limit = limit(problem);
    assert!(
        o <= limit && state <= limit,
        "{what}: o {o:.2e}, state {state:.2e}, limit {limit:.2e}"
    );
}

/// What the references may differ by: sums over K cost a few roundings, and each token rounds the state
/// a few times more, errors that add like independent ones.
fn limit(problem: &Problem) -> f64 {
    unit_roundoff() * (4.0 + 1.7 * (problem.shape.tokens as f64).sqrt())
}

fn patterns(nats: f64) -> [GatePattern; 3] {
    [GatePattern::Constant(nats), GatePattern::Random(nats), GatePattern::Split(nats)]
}

#[test]
fn gates_step_sizes_and_lengths() {
    for per_channel_gate in [false, true] {
        for pattern in [0.0, -0.1, -0.5, -2.0, -5.0].into_iter().flat_map(patterns) {
            for beta in [(0.0, 1.0), (0.0, 2.0)] {
                for tokens in LENGTHS {
                    let sample = PrefillSample { beta, ..sample(PrefillGates::Given(pattern)) };
                    let problem = problem(tokens, per_channel_gate, &sample);
                    println!(
                        "W {tokens} {per_channel_gate} {pattern:?} {beta:?} {:?}",
                        distance(&problem)
                    );
                }
            }
        }
    }
}

#[test]
fn heads_of_models() {
    for (per_channel_gate, nats) in [(false, -0.1), (true, -0.1), (true, -5.0)] {
        let shape =
            DeltaShape { batch: 1, head_k: 128, head_v: 64, ..shape(100, per_channel_gate) };
        let problem = prefill(shape, None, Dtype::Bf16, &random(nats));
        agree(&problem, "K = 128, V = 64");
    }
}

#[test]
fn raw_gates_norms_and_sigmoids() {
    let bounded = Gate::BoundedSigmoid { lower_bound_nats: -5.0 };
    for (per_channel_gate, gate) in
        [(false, Gate::Softplus), (true, Gate::Softplus), (true, bounded)]
    {
        for range in GateRange::ALL {
            let raw = problem(100, per_channel_gate, &sample(PrefillGates::Raw(gate, range)));
            let b = raw.beta.stored().clone();
            for beta in [Beta::Given(b.clone()), Beta::Sigmoid(b.clone()), Beta::TwiceSigmoid(b)] {
                let problem = Problem { beta, l2_norm: true, ..raw.clone() };
                agree(&problem, &format!("{gate:?} in {range:?}"));
            }
        }
    }
}

/// Both references of a problem.
fn both(problem: &Problem) -> [Outputs; 2] {
    [serial::run(problem).unwrap(), tile::run(problem, 16).unwrap().0]
}

#[test]
fn packed_sequences_are_as_if_alone() {
    let shape = DeltaShape { batch: 1, ..shape(64, true) };
    for ends in [
        vec![0, 0, 64],
        vec![0, 5, 5, 38, 64],
        vec![0, 64, 64],
        vec![0, 0, 0, 17, 17, 17, 64, 64, 64],
        vec![0, 1, 2, 34, 64],
    ] {
        let packed = prefill(shape, Some(ends.clone()), Dtype::Bf16, &random(-0.5));
        let together = both(&packed);
        for (n, pair) in ends.windows(2).enumerate() {
            let alone = both(&alone(&packed, n, pair[0] as usize..pair[1] as usize));
            for (together, alone) in together.iter().zip(&alone) {
                let states = n * shape.state_row_len()..(n + 1) * shape.state_row_len();
                assert_eq!(together.state[states], alone.state, "sequence {n} of {ends:?}");
                let row = shape.value_heads * shape.head_v;
                let rows = pair[0] as usize * row..pair[1] as usize * row;
                assert_eq!(together.o[rows], alone.o, "sequence {n} of {ends:?}");
            }
        }
    }
}

/// One sequence of a packed problem as a problem of its own.
fn alone(packed: &Problem, n: usize, tokens: std::ops::Range<usize>) -> Problem {
    let shape = DeltaShape { tokens: tokens.len(), ..packed.shape };
    let cut = |x: &Stored, row: usize| {
        let values = (tokens.start * row..tokens.end * row).map(|index| x.f64_at(index));
        Stored::round(x.dtype(), values)
    };
    let gates = shape.value_heads * shape.gate_channels();
    let GateInput::LogDecay(g) = &packed.gate else { panic!("generated with log decays") };
    let states = n * shape.state_row_len()..(n + 1) * shape.state_row_len();
    Problem {
        cu_seqlens: None,
        layouts: Layouts::token_major(&shape),
        q: cut(&packed.q, shape.key_heads * shape.head_k),
        k: cut(&packed.k, shape.key_heads * shape.head_k),
        v: cut(&packed.v, shape.value_heads * shape.head_v),
        beta: Beta::Given(cut(packed.beta.stored(), shape.value_heads)),
        gate: GateInput::LogDecay(g[tokens.start * gates..tokens.end * gates].to_vec()),
        initial_state: packed.initial_state.as_ref().map(|s| s[states].to_vec()),
        shape,
        ..packed.clone()
    }
}

#[test]
fn without_tokens_the_state_passes_through() {
    let none = DeltaShape { batch: 1, ..shape(0, true) };
    let empty = prefill(none, Some(vec![0, 0, 0, 0]), Dtype::Bf16, &random(-0.5));
    let state: Vec<f64> = empty.initial_state.iter().flatten().map(|&s| f64::from(s)).collect();
    assert_eq!(state.len(), 3 * none.state_row_len());
    for got in both(&empty) {
        assert_eq!((got.o, &got.state), (vec![], &state));
    }
    let no_sequence = Problem { cu_seqlens: Some(vec![0]), initial_state: None, ..empty.clone() };
    let from_nothing = Problem { initial_state: None, ..empty };
    for (problem, states) in [(no_sequence, 0), (from_nothing, 3)] {
        for got in both(&problem) {
            assert_eq!(got.state, vec![0.0; states * none.state_row_len()]);
        }
    }
}

#[test]
fn an_absent_state_is_zeros() {
    let some = problem(33, true, &random(-0.1));
    let zeros = vec![0.0; 2 * some.shape.state_row_len()];
    let zero = Problem { initial_state: Some(zeros), ..some.clone() };
    let none = Problem { initial_state: None, ..some.clone() };
    assert_eq!(both(&zero), both(&none));
    assert_ne!(both(&some), both(&none));
}

/// Rows with gaps between them along every axis.
fn padded(layout: RowLayout) -> RowLayout {
    RowLayout { batch: 2 * layout.batch + 5, token: layout.token + 3, head: layout.head + 1 }
}

#[test]
fn layouts_do_not_change_results() {
    for per_channel_gate in [false, true] {
        let raw = PrefillGates::Raw(Gate::Softplus, GateRange::Trained);
        for sample in [random(-0.5), sample(raw)] {
            let dense = problem(33, per_channel_gate, &sample);
            let want = both(&dense);
            let head_major = Layouts::head_major(&dense.shape);
            // Head-major rows, 40 tokens apart, in gaps of NaN.
            let wide = Layouts::head_major(&DeltaShape { tokens: 40, ..dense.shape });
            let token_major = Layouts::token_major(&DeltaShape { value_heads: 5, ..dense.shape });
            let gaps = Layouts { v: padded(token_major.v), o: token_major.o, ..wide };
            for layouts in [head_major, wide, gaps] {
                let relaid = dense.relaid(layouts);
                assert_eq!(both(&relaid), want);
                assert_eq!(relaid.relaid(dense.layouts), dense);
            }
        }
    }
}

#[test]
fn state_orientation_is_only_an_order() {
    let k_first = problem(33, true, &random(-0.1));
    let shape = DeltaShape { state_layout: StateLayout::VFirst, ..k_first.shape };
    let (k, v) = (shape.head_k, shape.head_v);
    let turned = |x: &[f64]| -> Vec<f64> {
        let head = |s: &[f64]| (0..k * v).map(|i| s[i % k * v + i / k]).collect::<Vec<_>>();
        x.chunks(k * v).flat_map(head).collect()
    };
    let initial: Vec<f64> = k_first.initial_state.iter().flatten().map(|&s| f64::from(s)).collect();
    let initial = turned(&initial).iter().map(|&s| s as f32).collect();
    let v_first = Problem { shape, initial_state: Some(initial), ..k_first.clone() };
    for (k_first, v_first) in both(&k_first).iter().zip(both(&v_first)) {
        assert_eq!(turned(&k_first.state), v_first.state);
        assert_eq!(k_first.o, v_first.o);
    }
}

#[test]
fn tiled_heads() {
    let grouped = problem(33, true, &random(-0.5));
    let shape = DeltaShape { head_map: HeadMap::Tiled, ..grouped.shape };
    let tiled = Problem { shape, ..grouped.clone() };
    agree(&tiled, "tiled");
    assert_ne!(serial::run(&tiled).unwrap().o, serial::run(&grouped).unwrap().o);
}

#[test]
fn a_gate_of_minus_infinity_resets_the_state() {
    for per_channel_gate in [false, true] {
        let mut reset = problem(33, per_channel_gate, &random(-0.5));
        let GateInput::LogDecay(g) = &mut reset.gate else { panic!("generated with log decays") };
        let row = reset.shape.value_heads * reset.shape.gate_channels();
        g[20 * row..21 * row].fill(f32::NEG_INFINITY);
        let got = serial::run(&reset).unwrap();
        assert!(got.o.iter().chain(&got.state).all(|x| x.is_finite()));
        agree(&reset, "a reset");
    }
}

#[test]
fn any_strength_of_decay_stays_in_range() {
    for (per_channel_gate, nats) in [(false, -40.0), (true, -40.0), (true, -1e30)] {
        let strong = problem(100, per_channel_gate, &random(nats));
        agree(&strong, "strong gates");
    }
}

/// The outputs of rows before `p` do not change by a bit with anything of rows from `p` on.
#[test]
fn chunks_are_causal() {
    let base = problem(33, true, &random(-2.0));
    let row = base.shape.value_heads * base.shape.head_v;
    let (want, _) = tile::run(&base, 32).unwrap();
    for p in 0..33 {
        let mut changed = base.clone();
        let GateInput::LogDecay(g) = &mut changed.gate else { panic!("generated with log decays") };
        let gates = base.shape.value_heads * base.shape.gate_channels();
        g[p * gates..33 * gates].iter_mut().for_each(|g| *g *= 0.5);
        let (keys, values) = (base.shape.key_heads * base.shape.head_k, row);
        changed.k = negated(&base.k, p * keys..33 * keys);
        changed.v = negated(&base.v, p * values..33 * values);
        let (got, _) = tile::run(&changed, 32).unwrap();
        assert_eq!(got.o[..p * row], want.o[..p * row], "rows before {p}");
        assert_ne!(got.o[p * row..33 * row], want.o[p * row..33 * row], "rows from {p}");
    }
}

fn negated(x: &Stored, range: std::ops::Range<usize>) -> Stored {
    let value = |index| if range.contains(&index) { -x.f64_at(index) } else { x.f64_at(index) };
    Stored::round(x.dtype(), (0..x.len()).map(value))
}

#[test]
fn tails_end_at_their_last_token() {
    let problem = problem(37, true, &random(-0.5));
    let (outputs, chunks) = tile::run(&problem, 16).unwrap();
    let heads = problem.shape.value_heads;
    assert_eq!(chunks.len(), 2 * heads * 3);
    let (k, v) = (problem.shape.head_k, problem.shape.head_v);
    for chunk in chunks.chunks(3).map(|of_head| &of_head[2]) {
        assert_eq!((chunk.rows, chunk.first.1), (5, 32));
        for (tensor, valid) in [
            (&chunk.a, 5 * 16),
            (&chunk.aqk, 5 * 16),
            (&chunk.akk, 5 * 16),
            (&chunk.gk, 5 * k),
            (&chunk.gq, 5 * k),
            (&chunk.v_tilde, 5 * v),
            (&chunk.o, 5 * v),
        ] {
            assert!(tensor[valid..].iter().all(|x| *x == 0.0));
        }
        assert!(chunk.kt.chunks(16).all(|row| row[5..].iter().all(|x| *x == 0.0) && row[4] != 0.0));
        // The last row decays by nothing up to the chunk's end: its row of Kt is k itself.
        let ratio: Vec<f64> =
            chunk.gk[4 * k..5 * k].iter().zip(&chunk.dec).map(|(gk, dec)| gk / dec).collect();
        let last: Vec<f64> = chunk.kt.chunks(16).map(|row| row[4]).collect();
        assert!(rmse_ratio(&ratio, &last) < 4.0 * unit_roundoff());
        // S' = diag(dec) S + Kt V~, for the state that the problem ends with.
        let state = (chunk.sequence * heads + chunk.head) * k * v;
        let next = (0..k * v).map(|i| {
            let added: f64 =
                (0..5).map(|j| chunk.kt[i / v * 16 + j] * chunk.v_tilde[j * v + i % v]).sum();
            chunk.dec[i / v] * chunk.state[i] + added
        });
        assert!(
            rmse_ratio(&next.collect::<Vec<_>>(), &outputs.state[state..state + k * v]) < 1e-15
        );
    }
}

#[track_caller]
fn refused(problem: &Problem, words: &str) {
    for error in [serial::run(problem).err(), tile::run(problem, 16).err()] {
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains(words), "'{words}' is missing in: {text}");
    }
}

#[test]
fn what_is_no_problem_is_refused() {
    let good = problem(33, true, &random(-0.5));
    let packed = |ends: &[i64]| {
        let shape = DeltaShape { batch: 1, ..good.shape };
        Problem { shape, cu_seqlens: Some(ends.to_vec()), initial_state: None, ..good.clone() }
    };
    refused(&packed(&[]), "cu_seqlens[0] is None");
    refused(&packed(&[1, 33]), "cu_seqlens[0] is Some(1); it must be 0");
    refused(
        &packed(&[0, 20, 10, 33]),
        "cu_seqlens[2] is Some(10); it must be at least the number before it",
    );
    refused(&packed(&[0, 20, 32]), "cu_seqlens[2] is Some(32); it must be the number of tokens");
    let two = Problem { cu_seqlens: Some(vec![0, 33]), ..good.clone() };
    refused(&two, "batch is 2; it must be 1 with packed sequences");
    let wide = Layouts { v: RowLayout { token: 100, ..good.layouts.v }, ..good.layouts };
    refused(&Problem { layouts: wide, ..good.clone() }, "tensor 'v' has");
    let GateInput::LogDecay(g) = &good.gate else { panic!("generated with log decays") };
    let mut rising = g.clone();
    rising[7] = 0.25;
    let rising = Problem { gate: GateInput::LogDecay(rising), ..good.clone() };
    refused(&rising, "log decay 7 is 0.25; gates are at most 0 nats");
    let short = Problem { initial_state: Some(vec![0.0; 3]), ..good.clone() };
    refused(&short, "tensor 'h0' has 3 elements");
    let no_chunk = tile::run(&good, 0).unwrap_err();
    assert_eq!(no_chunk, OracleError::Dimension { field: "chunk", got: 0, limit: "at least 1" });
}
