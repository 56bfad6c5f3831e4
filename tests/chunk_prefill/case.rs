//! Specs and problems of prefill, and what their kernels' results are measured by.

use oracle::inputs::{GatePattern, GateRange, PrefillGates, PrefillSample, prefill};
use oracle::measure::{floor, rmse_ratio, triangle_rmse_ratios};
use oracle::prefill::stages::{flushed, representable};
use oracle::prefill::{Beta, Limits, Problem, serial, tile};
use oracle::twin::prefill::Form;
use oracle::{DeltaShape, GateInput, twin};
use specs::chunk::{
    Accuracy, BetaForm, ChunkCommon, ChunkGate, DecayForm, ScanPart, TilePart, TokenLayout,
};
use specs::{
    ChunkSpec, Dtype, Family, Gate, HeadMap, KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec,
    Spec, StateLayout, Target,
};

use crate::launch::{Run, run};

/// What varies between the tests.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub target: Target,
    pub family: Family,
    pub accuracy: Accuracy,
    pub key_heads: u32,
    pub value_heads: u32,
    pub chunk: u32,
    pub head_k: u32,
    pub head_v: u32,
    pub value_splits: u32,
    pub state_layout: StateLayout,
    /// Gates and step sizes are made from raw ones.
    pub raw: Option<Raw>,
    pub qk_l2norm: bool,
    pub prefetch: bool,
    pub layout: TokenLayout,
    /// Sub-chunks, whatever the gates are.
    pub sub_chunks: bool,
    pub checked: bool,
    /// Rows of all matrix operations.
    pub atom_m: u32,
    pub overlay: bool,
    pub initial_state: bool,
    pub numerics: emulator::Numerics,
    /// Whether bytes and LDS clocks are counted.
    pub counted: bool,
}

/// How gates and step sizes are made: bounded sigmoid (KDA) or softplus (Gated DeltaNet).
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    pub range: GateRange,
    pub dt_bias: bool,
    pub beta: BetaForm,
}

/// The least log decay of the bounded sigmoid, and what given gates of KDA promise.
pub const LEAST_GATE: f32 = -5.0;

pub const KDA: Case = Case {
    target: Target::Gfx950,
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
    layout: TokenLayout::TokenMajor,
    sub_chunks: false,
    checked: false,
    atom_m: 16,
    overlay: false,
    initial_state: true,
    numerics: emulator::Numerics::FmaSequential,
    counted: false,
};

/// Cases on every target.
pub fn everywhere<const N: usize>(cases: [Case; N]) -> impl Iterator<Item = Case> {
    cases.into_iter().flat_map(|case| Target::ALL.into_iter().map(move |target| case.on(target)))
}

impl Case {
    /// The same, as another target has it. gfx1100: operations of 16 rows, chunks of which all buffers fit 64 KiB, and the
    /// numerics that are nearest to what is known of its matrix operations.
    pub fn on(self, target: Target) -> Case {
        // Of sub-chunks in chunks of 32 rows, LLVM does not finish the kernels of four waves (docs/kernels/kda.md).
        let is_long = self.head_k == 64 && !self.sub_chunks && self.fits(32);
        match target {
            Target::Gfx950 => self,
            Target::Gfx1100 => Case {
                target,
                chunk: if is_long { self.chunk.min(32) } else { 16 },
                atom_m: 16,
                overlay: self.overlay || self.head_k == 128,
                numerics: emulator::Numerics::Rdna3Candidate,
                ..self
            },
        }
    }

    /// Whether chunks of so many rows of 64 channels fit every kernel on gfx1100.
    fn fits(self, chunk: u32) -> bool {
        let (target, atom_m) = (Target::Gfx1100, 16);
        let case = Case { target, chunk, atom_m, ..self };
        let [tile, scan] = [ChunkSpec::Tile(case.tile()), ChunkSpec::Scan(case.scan())];
        let specs = [tile, scan, ChunkSpec::Fused(case.fused())];
        specs.into_iter().all(|spec| Spec::Chunk(spec).check().is_empty())
    }

    pub fn common(&self, waves: u32) -> ChunkCommon {
        let (chunk, high) = (self.chunk, self.atom_m > 16);
        // What keeps rows that are read at once in banks of their own (docs/kernels/kda.md, LDS).
        let [pad_dk, pad_cb] = match self.target {
            Target::Gfx950 if high => [8, 8],
            Target::Gfx950 => [16, if chunk > 16 { 16 } else { 8 }],
            Target::Gfx1100 => [8, if self.head_k == 128 { 0 } else { 8 }],
        };
        ChunkCommon {
            family: self.family,
            target: self.target,
            accuracy: self.accuracy,
            value_heads: self.value_heads,
            head_k: self.head_k,
            dtype: Dtype::Bf16,
            chunk: self.chunk,
            layout: self.layout,
            varlen: true,
            checked: self.checked,
            pad_dk,
            pad_cb,
            min_groups_per_cu: 1,
            waves,
            wave_width: self.target.wave_width(),
        }
    }

    pub fn tile(&self) -> KdaTileSpec {
        let lower_bound_nats = LEAST_GATE;
        let gate = match (self.family, self.raw.map(|raw| raw.dt_bias)) {
            (Family::Kda, None) => ChunkGate::LogDecayPerChannel { lower_bound_nats },
            (Family::Kda, Some(dt_bias)) if self.sub_chunks => ChunkGate::Softplus { dt_bias },
            (Family::Kda, Some(dt_bias)) => ChunkGate::BoundedSigmoid { lower_bound_nats, dt_bias },
            (Family::Gdn, None) => ChunkGate::LogDecayPerHead,
            (Family::Gdn, Some(dt_bias)) => ChunkGate::Softplus { dt_bias },
        };
        let decay = match self.family {
            Family::Kda if self.sub_chunks => DecayForm::SubChunks,
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
            solve_block: 16,
            tile_atom_m: self.atom_m,
            lds_overlay: self.overlay,
        };
        KdaTileSpec { common: self.common(4), tile }
    }

    pub fn scan(&self) -> KdaChunkScanSpec {
        let scan = ScanPart {
            head_v: self.head_v,
            value_splits: self.value_splits,
            state_layout: self.state_layout,
            initial_state: self.initial_state,
            final_state: true,
            scan_atom_m: self.atom_m,
            prefetch: self.prefetch,
        };
        let waves = self.head_v / self.value_splits / self.atom_m;
        KdaChunkScanSpec { common: self.common(waves), scan }
    }

    /// Of the scan kernel's waves.
    pub fn fused(&self) -> KdaChunkFusedSpec {
        let KdaChunkScanSpec { common, scan } = self.scan();
        KdaChunkFusedSpec { common, tile: self.tile().tile, scan }
    }

    pub fn problem(&self, ends: &[i64], gates: GatePattern, beta: (f64, f64)) -> Problem {
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
        let sample = PrefillSample { gates, beta, initial_state: self.initial_state, seed: 7 };
        let given = prefill(shape, Some(ends.to_vec()), Dtype::Bf16, &sample);
        let Some(raw) = self.raw else { return given };
        let gate = match self.family {
            Family::Kda if self.sub_chunks => Gate::Softplus,
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

/// How far a run was from float64.
pub struct Measured {
    pub o: f64,
    pub state: f64,
    /// Stage tensors by name, A and Aqk by the worse of their triangle and their diagonal.
    pub tiles: Vec<(String, f64)>,
    /// What rounding the reference of o to bf16 costs.
    pub floor: f64,
    pub limits: Limits,
}

impl Measured {
    /// What is beyond its limit.
    pub fn excess(&self) -> Vec<String> {
        let limits = &self.limits;
        let tiles = self.tiles.iter().map(|(name, ratio)| (name.as_str(), *ratio, limits.stages));
        let o = ("o", self.o, limits.o.at(self.floor));
        let all = [o, ("state", self.state, limits.state)].into_iter();
        let beyond = all.chain(tiles).filter(|(_, got, limit)| got.is_nan() || got > limit);
        beyond.map(|(name, got, limit)| format!("{name} {got:.2e}, limit {limit:.2e}")).collect()
    }
}

/// Compares a run with float64.
pub fn measure(case: &Case, problem: &Problem, got: &Run) -> Measured {
    let want = serial::run(problem).expect("a problem");
    let mut limits = Limits::of(case.accuracy.kind());
    let floor = floor(&want.o, Dtype::Bf16);
    let (o, state) = (rmse_ratio(&got.o.to_f64(), &want.o), rmse_ratio(&got.state, &want.state));
    let (_, chunks) = tile::run(problem, case.chunk as usize).expect("a problem");
    limits.stages = limits.stages_at(chunks.iter().map(|chunk| chunk.deepest).fold(0.0, f64::min));
    let ratio = |(name, got): &(String, Vec<f64>)| {
        let want: Vec<f64> = chunks.iter().flat_map(|chunk| case.tensor(chunk, name)).collect();
        let dtype = if name == "dec" { Dtype::F32 } else { case.accuracy.tile_dtype() };
        let [got, want] = &representable(got, &want, dtype, limits.stages);
        let ratio = if name == "a" || name == "aqk" {
            let ratios = triangle_rmse_ratios(got, want, case.chunk as usize);
            ratios.strict_lower.max(ratios.diagonal).max(ratios.above)
        } else if name == "dec" {
            let got: Vec<f64> = got.iter().map(|decay| flushed(*decay)).collect();
            rmse_ratio(&got, want)
        } else {
            rmse_ratio(got, want)
        };
        (name.clone(), ratio)
    };
    Measured { o, state, tiles: got.tiles.iter().map(ratio).collect(), floor, limits }
}

/// o and state of the host's model of the form's roundings (`oracle::twin::prefill`), as [`measure`] has them.
pub fn modelled(case: &Case, problem: &Problem) -> [f64; 2] {
    let want = serial::run(problem).expect("a problem");
    let KdaTileSpec { common, tile } = case.tile();
    let got = twin::prefill::run(problem, &Form::of(&common, &tile)).expect("a problem");
    let state: Vec<f64> = got.state.iter().map(|&s| f64::from(s)).collect();
    [rmse_ratio(&got.o.to_f64(), &want.o), rmse_ratio(&state, &want.state)]
}

/// How much farther from float64 a kernel may be than the model of its form: sums of matrix operations have orders of
/// their own.
const MODEL_ROOM: f64 = 1.1;

impl Measured {
    /// Whether every stage tensor is within its limit.
    pub fn tiles_hold(&self) -> bool {
        self.tiles.iter().all(|(_, ratio)| *ratio <= self.limits.stages)
    }

    /// Whether o and the state are where the form's roundings put them.
    pub fn is_of_the_form(&self, [o, state]: [f64; 2]) -> bool {
        self.o <= MODEL_ROOM * o && self.state <= MODEL_ROOM * state
    }
}

/// Runs a problem and compares everything with float64.
#[track_caller]
pub fn judge(case: &Case, problem: &Problem, what: &str) {
    let measured = measure(case, problem, &run(case, problem));
    println!("{what} {case:?}: o {:.2e}, state {:.2e}", measured.o, measured.state);
    let excess = measured.excess();
    assert!(excess.is_empty(), "{what} {case:?}: {excess:?}");
}

impl Case {
    fn tensor(&self, chunk: &tile::Chunk, name: &str) -> Vec<f64> {
        match name {
            "a" => chunk.a.clone(),
            "aqk" => chunk.aqk.clone(),
            "gk" => chunk.gk.clone(),
            "gq" => chunk.gq.clone(),
            "kt" => chunk.kt.clone(),
            "dec" => {
                let channels = if self.family == Family::Gdn { 1 } else { chunk.dec.len() };
                chunk.dec[..channels].iter().map(|decay| flushed(*decay)).collect()
            }
            name => panic!("no tensor {name}"),
        }
    }
}
