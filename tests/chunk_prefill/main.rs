//! The kernels of chunked prefill on the emulator against float64: stage tensors, outputs and states;
//! padding and outputs hold NaN before the launch.

mod launch;
mod reference;

use launch::{Run, run, run_fused};
use oracle::inputs::{GatePattern, GateRange, PrefillGates, PrefillSample, prefill};
use oracle::measure::{rmse_ratio, triangle_rmse_ratios};
use oracle::prefill::{Beta, Outputs, Problem, serial, tile};
use oracle::{DeltaShape, GateInput, Stored, twin};
use specs::chunk::{
    Accuracy, BetaForm, ChunkCommon, ChunkGate, DecayForm, ScanPart, TilePart, TokenLayout,
};
use specs::{
    ChunkSpec, Dtype, Family, Gate, HeadMap, KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec,
    StateLayout, Target,
};

/// What varies between the tests.
#[derive(Clone, Copy, Debug)]
struct Case {
    family: Family,
    accuracy: Accuracy,
    key_heads: u32,
    value_heads: u32,
    chunk: u32,
    head_k: u32,
    head_v: u32,
    value_splits: u32,
    state_layout: StateLayout,
    /// Gates and step sizes are made from raw ones.
    raw: Option<Raw>,
    qk_l2norm: bool,
    /// Of the scan kernel; the fused kernel has none.
    prefetch: bool,
}

/// How gates and step sizes are made: bounded sigmoid (KDA) or softplus (Gated DeltaNet).
#[derive(Clone, Copy, Debug)]
struct Raw {
    range: GateRange,
    dt_bias: bool,
    beta: BetaForm,
}

/// The least log decay of the bounded sigmoid, and what given gates of KDA promise.
const LEAST_GATE: f32 = -5.0;

const KDA: Case = Case {
    family: Family::Kda,
    accuracy: Accuracy::Bf16,
    key_heads: 1,
    value_heads: 2,
    chunk: 32,
    head_k: 128,
    head_v: 64,
    value_splits: 1,
    state_layout: StateLayout::KFirst,
    raw: None,
    qk_l2norm: false,
    prefetch: true,
};

impl Case {
    fn common(&self, waves: u32) -> ChunkCommon {
        ChunkCommon {
            family: self.family,
            target: Target::Gfx950,
            accuracy: self.accuracy,
            value_heads: self.value_heads,
            head_k: self.head_k,
            dtype: Dtype::Bf16,
            chunk: self.chunk,
            layout: TokenLayout::TokenMajor,
            varlen: true,
            checked: false,
            pad_dk: 8,
            pad_cb: if self.chunk == 16 { 16 } else { 8 },
            min_groups_per_cu: 1,
            waves,
            wave_width: 64,
        }
    }

    fn tile(&self) -> KdaTileSpec {
        let lower_bound_nats = LEAST_GATE;
        let gate = match (self.family, self.raw.map(|raw| raw.dt_bias)) {
            (Family::Kda, None) => ChunkGate::LogDecayPerChannel { lower_bound_nats },
            (Family::Kda, Some(dt_bias)) => ChunkGate::BoundedSigmoid { lower_bound_nats, dt_bias },
            (Family::Gdn, None) => ChunkGate::LogDecayPerHead,
            (Family::Gdn, Some(dt_bias)) => ChunkGate::Softplus { dt_bias },
        };
        let decay = match self.family {
            Family::Kda => DecayForm::FixedOffset,
            Family::Gdn => DecayForm::OutsideProduct,
        };
        let tile = TilePart {
            gate,
            decay,
            key_heads: self.key_heads,
            head_map: HeadMap::Grouped,
            qk_l2norm: self.qk_l2norm,
            beta: self.raw.map_or(BetaForm::Given, |raw| raw.beta),
            beta_dtype: Dtype::Bf16,
            pad_c: 4,
            solve_block: 8,
            tile_atom_m: 16,
            lds_overlay: false,
        };
        KdaTileSpec { common: self.common(4), tile }
    }

    fn scan(&self) -> KdaChunkScanSpec {
        let scan = ScanPart {
            head_v: self.head_v,
            value_splits: self.value_splits,
            state_layout: self.state_layout,
            initial_state: true,
            final_state: true,
            scan_atom_m: 16,
            prefetch: self.prefetch,
        };
        let waves = self.head_v / self.value_splits / 16;
        KdaChunkScanSpec { common: self.common(waves), scan }
    }

    /// Of the scan kernel's waves, without fetching ahead.
    fn fused(&self) -> KdaChunkFusedSpec {
        let KdaChunkScanSpec { common, scan } = self.scan();
        let scan = ScanPart { prefetch: false, ..scan };
        KdaChunkFusedSpec { common, tile: self.tile().tile, scan }
    }

    fn problem(&self, ends: &[i64], gates: GatePattern, beta: (f64, f64)) -> Problem {
        let shape = DeltaShape {
            batch: 1,
            tokens: *ends.last().expect("ends") as usize,
            key_heads: self.key_heads as usize,
            value_heads: self.value_heads as usize,
            head_k: self.head_k as usize,
            head_v: self.head_v as usize,
            head_map: HeadMap::Grouped,
            state_layout: self.state_layout,
            per_channel_gate: self.family == Family::Kda,
        };
        let gates = PrefillGates::Given(gates);
        let sample = PrefillSample { gates, beta, initial_state: true, seed: 7 };
        let given = prefill(shape, Some(ends.to_vec()), Dtype::Bf16, &sample);
        let Some(raw) = self.raw else { return given };
        let gate = match self.family {
            Family::Kda => Gate::BoundedSigmoid { lower_bound_nats: LEAST_GATE },
            Family::Gdn => Gate::Softplus,
        };
        let sample = PrefillSample { gates: PrefillGates::Raw(gate, raw.range), ..sample };
        let mut problem = prefill(shape, Some(ends.to_vec()), Dtype::Bf16, &sample);
        let step = problem.beta.stored().clone();
        problem.beta = match raw.beta {
            BetaForm::Given => Beta::Given(step),
            BetaForm::Sigmoid => Beta::Sigmoid(step),
            BetaForm::TwiceSigmoid => Beta::TwiceSigmoid(step),
        };
        if let (GateInput::Softplus(raw) | GateInput::BoundedSigmoid { raw, .. }, false) =
            (&mut problem.gate, raw.dt_bias)
        {
            raw.dt_bias.fill(0.0);
        }
        problem
    }
}

/// How far results may be from float64, as `rmse_ratio`.
#[derive(Debug)]
struct Limits {
    o: f64,
    state: f64,
    /// Of every stage tensor; A and Aqk below and on their diagonals apart.
    tiles: f64,
}

impl Case {
    /// `docs/kernels/kda.md`, accuracy; `floor` is what rounding the reference to bf16 costs.
    ///
    /// The plain form's limits are stated for K = 128 and step sizes up to 1. Where the model of its roundings
    /// is beyond them (shorter keys, larger steps, long lives), the model and a tenth of it is the limit.
    fn limits(&self, problem: &Problem, want: &Outputs, floor: f64) -> Limits {
        match self.accuracy {
            Accuracy::Bf16 => {
                let tile = self.tile();
                let form = twin::prefill::Form::of(&tile.common, &tile.tile);
                let model = twin::prefill::run(problem, &form).expect("a problem");
                let state: Vec<f64> = model.state.iter().map(|&s| f64::from(s)).collect();
                let o = 1.1 * rmse_ratio(&model.o.to_f64(), &want.o);
                let state = 1.1 * rmse_ratio(&state, &want.state);
                Limits { o: o.max(4.4e-3), state: state.max(3.6e-3), tiles: 4e-3 }
            }
            Accuracy::Bf16Split => Limits { o: 1.12 * floor, state: 0.9e-3, tiles: 1e-4 },
            Accuracy::F16 { .. } => Limits { o: 1.12 * floor, state: 0.5e-3, tiles: 5e-4 },
        }
    }
}

/// Runs a problem and compares everything with float64.
#[track_caller]
fn judge(case: &Case, problem: &Problem, what: &str) {
    let Run { tiles, o, state, .. } = run(case, problem);
    let want = serial::run(problem).expect("a problem");
    let rounded = Stored::round(Dtype::Bf16, want.o.iter().copied()).to_f64();
    let limits = case.limits(problem, &want, rmse_ratio(&rounded, &want.o));
    let (o, state) = (rmse_ratio(&o.to_f64(), &want.o), rmse_ratio(&state, &want.state));
    println!("{what} {case:?}: o {o:.2e}, state {state:.2e}, {limits:?}");
    assert!(
        o <= limits.o && state <= limits.state,
        "{what} {case:?}: o {o:.2e}, state {state:.2e}, {limits:?}"
    );
    let (_, chunks) = tile::run(problem, case.chunk as usize).expect("a problem");
    for (name, got) in &tiles {
        let want: Vec<f64> = chunks.iter().flat_map(|chunk| case.tensor(chunk, name)).collect();
        let ratio = if name == "a" || name == "aqk" {
            let ratios = triangle_rmse_ratios(got, &want, case.chunk as usize);
            ratios.strict_lower.max(ratios.diagonal).max(ratios.above)
        } else {
            rmse_ratio(got, &want)
        };
        assert!(ratio <= limits.tiles, "{what} {case:?}: {name} {ratio:.2e}");
    }
}

impl Case {
    fn tensor(&self, chunk: &tile::Chunk, name: &str) -> Vec<f64> {
        match name {
            "a" => chunk.a.clone(),
            "aqk" => chunk.aqk.clone(),
            "gk" => chunk.gk.clone(),
            "gq" => chunk.gq.clone(),
            "kt" => chunk.kt.clone(),
            "dec" if self.family == Family::Gdn => vec![chunk.dec[0]],
            "dec" => chunk.dec.clone(),
            name => panic!("no tensor {name}"),
        }
    }
}

/// Packed sequences with empty ones at both ends and between.
const PACKED: [i64; 7] = [0, 0, 40, 40, 41, 105, 105];

#[test]
fn every_form_of_every_family_is_right() {
    for family in [Family::Kda, Family::Gdn] {
        for accuracy in [Accuracy::Bf16, Accuracy::Bf16Split] {
            let case = Case { family, accuracy, ..KDA };
            let problem = case.problem(&PACKED, GatePattern::Random(-2.0), (0.0, 1.0));
            judge(&case, &problem, "forms");
        }
    }
}

#[test]
fn every_geometry_is_right() {
    let small = Case { chunk: 16, head_k: 64, head_v: 128, ..KDA };
    let split = Case { head_v: 128, value_splits: 4, ..KDA };
    let v_first = Case { state_layout: StateLayout::VFirst, value_splits: 2, ..KDA };
    let gdn = Case { family: Family::Gdn, ..small };
    for case in [small, split, v_first, gdn] {
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
    let case = Case { accuracy: Accuracy::Bf16Split, ..KDA };
    for pattern in patterns {
        judge(&case, &case.problem(&[0, 33, 100], pattern, (0.0, 1.0)), "gates");
    }
    let case = Case { family: Family::Gdn, ..case };
    judge(&case, &case.problem(&[0, 100], GatePattern::Random(-40.0), (0.0, 1.0)), "strong gates");
}

/// Where the state lives long, what rounding costs adds up: 256 tokens of weak gates, step sizes up to 2.
#[test]
fn long_lives_are_right() {
    for family in [Family::Kda, Family::Gdn] {
        for head_k in [64, 128] {
            for nats in [0.0, -0.1] {
                let accuracy = Accuracy::Bf16Split;
                let case = Case { family, accuracy, head_k, ..KDA };
                let problem = case.problem(&[0, 256], GatePattern::Constant(nats), (0.0, 2.0));
                judge(&case, &problem, "long lives");
            }
        }
    }
    for (head_k, most_beta) in [(64, 1.0), (64, 2.0), (128, 1.0), (128, 2.0)] {
        let case = Case { head_k, ..KDA };
        let problem = case.problem(&[0, 256], GatePattern::Constant(0.0), (0.0, most_beta));
        judge(&case, &problem, "long lives");
    }
}

/// Sequences of 0, 1, 5, 31, 32, 33 and 100 tokens.
const LENGTHS: [i64; 8] = [0, 0, 1, 6, 37, 69, 102, 202];

#[test]
fn every_length_is_right() {
    for family in [Family::Kda, Family::Gdn] {
        for accuracy in [Accuracy::Bf16, Accuracy::Bf16Split] {
            let case = Case { family, accuracy, head_k: 64, ..KDA };
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
            let case = Case { family, raw, ..case };
            let steps = if beta == BetaForm::Given { (0.0, 1.0) } else { (-2.0, 2.0) };
            let problem = case.problem(&[0, 0, 5, 75], GatePattern::Constant(0.0), steps);
            judge(&case, &unnormed(problem), "raw inputs");
        }
    }
}

/// Norms with given gates, in one bf16 and other geometries.
#[test]
fn norms_are_right() {
    for family in [Family::Kda, Family::Gdn] {
        for (chunk, accuracy) in [(16, Accuracy::Bf16), (32, Accuracy::Bf16Split)] {
            let case = Case { family, chunk, accuracy, qk_l2norm: true, ..KDA };
            let problem = case.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
            judge(&case, &unnormed(problem), "norms");
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
        let case = Case { family, head_k: 64, ..KDA };
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

/// What a sequence gives does not depend on the others of its batch.
#[test]
fn alone_gives_the_bits_of_a_batch() {
    let problem = KDA.problem(&[0, 40, 75], GatePattern::Random(-0.5), (0.0, 1.0));
    let batch = run(&KDA, &problem);
    let (states, o) = (initial_state(&problem), batch.o.to_le_bytes());
    let (of_sequence, of_token) = (states.len() / 2, o.len() / 75);
    for (sequence, tokens) in [0..40, 40..75].into_iter().enumerate() {
        let here = sequence * of_sequence..(sequence + 1) * of_sequence;
        let alone = run(&KDA, &part(&problem, tokens.clone(), &states[here.clone()]));
        assert!(alone.state == batch.state[here], "the state of sequence {sequence}");
        let want = &o[tokens.start * of_token..tokens.end * of_token];
        assert!(alone.o.to_le_bytes() == want, "o of sequence {sequence}");
    }
}

/// Fetching the next chunk's tensors ahead changes no bit.
#[test]
fn fetching_ahead_changes_no_bit() {
    let problem = KDA.problem(&PACKED, GatePattern::Random(-0.5), (0.0, 1.0));
    let (ahead, plain) = (run(&KDA, &problem), run(&Case { prefetch: false, ..KDA }, &problem));
    assert!(ahead.o.to_le_bytes() == plain.o.to_le_bytes() && ahead.state == plain.state);
}

/// The fused kernel has the phases of the other two: the same bits where gates are summed by as many groups.
#[test]
fn fused_gives_the_bits_of_split() {
    let one = Case { head_k: 64, ..KDA };
    let pairs = Case { chunk: 16, accuracy: Accuracy::Bf16Split, ..KDA };
    let raw = Raw { range: GateRange::Trained, dt_bias: true, beta: BetaForm::Sigmoid };
    let raw = Case { raw: Some(raw), qk_l2norm: true, ..one };
    let halves = Case { head_v: 128, value_splits: 2, state_layout: StateLayout::VFirst, ..KDA };
    for case in [KDA, one, pairs, raw, halves] {
        for family in [Family::Kda, Family::Gdn] {
            let case = Case { family, ..case };
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
/// twentieth for other versions of LLVM.
#[test]
fn instructions_of_64_tokens() {
    let case = Case { value_heads: 1, head_v: 128, ..KDA };
    let problem = case.problem(&[0, 64], GatePattern::Random(-0.5), (0.0, 1.0));
    let stats = [run(&case, &problem).stats, run_fused(&case, &problem).stats].concat();
    for (stats, (kernel, most)) in
        stats.iter().zip([("tile", 7_230_u64), ("scan", 8_046), ("fused", 15_088)])
    {
        let sum: u64 = stats.instructions.values().sum();
        println!("{kernel}: {sum} wave instructions, {:?}", stats.instructions);
        assert!(sum <= most + most / 20, "{kernel}: {sum} wave instructions");
    }
}

/// What rows of a chunk give does not depend on later rows: not a bit of it.
#[test]
fn no_output_depends_on_a_later_row() {
    let problem = KDA.problem(&[0, 40], GatePattern::Random(-2.0), (0.0, 1.0));
    let whole = run(&KDA, &problem).o.to_le_bytes();
    let row = (KDA.value_heads * KDA.head_v) as usize * 2;
    for tokens in [1, 2, 17, 31, 39] {
        let cut = part(&problem, 0..tokens, initial_state(&problem));
        let part = run(&KDA, &cut).o.to_le_bytes();
        assert!(part == whole[..tokens * row], "the first {tokens} of 40 tokens");
    }
}

#[test]
fn what_has_no_kernel_is_refused_by_its_field() {
    let mut spec = KDA.tile();
    spec.tile.lds_overlay = true;
    let error = kernels::build_chunk(&ChunkSpec::Tile(spec)).expect_err("a refusal");
    assert!(
        error.to_string().ends_with("no kernel is emitted yet for lds_overlay = true"),
        "{error}"
    );
}
