//! The stage tensors of a problem as kernels store them, `[chunks, HV, …]`: what a tile kernel must write.

use std::collections::BTreeMap;

use specs::Dtype;
use specs::chunk::Accuracy;

use super::limits::Limits;
use super::{Problem, tile};
use crate::measure::{Verdict, judge_values, rmse_ratio};
use crate::tensors::{Take, Tensors};
use crate::{OracleError, Stored};

/// A stage tensor: its name, that of its low half, and whether it is a lower triangle.
struct Stage {
    name: &'static str,
    low: &'static str,
    is_triangle: bool,
}

const STAGES: [Stage; 5] = [
    Stage { name: "a", low: "a_low", is_triangle: true },
    Stage { name: "gk", low: "gk_low", is_triangle: false },
    Stage { name: "gq", low: "gq_low", is_triangle: false },
    Stage { name: "aqk", low: "aqk_low", is_triangle: true },
    Stage { name: "kt", low: "kt_low", is_triangle: false },
];

/// Every stage tensor of a problem in float64, chunks in the order of sequences and time, heads inside.
pub struct Stages {
    chunk: usize,
    /// The least sum of a chunk's gates, nats.
    deepest: f64,
    tensors: BTreeMap<&'static str, Vec<f64>>,
}

/// Of a chunk's decay, which every form keeps in f32: an exponential of a sum of gates, 160 of log2 with an ulp of
/// 1.5e-5. Below the normal numbers, where no state survives, any number there and zero are the same.
const DECAY_LIMIT: f64 = 2e-5;

/// A chunk's decay where numbers below the normal ones of f32 are zero, as the exponential of f32 flushes them.
pub fn flushed(decay: f64) -> f64 {
    if decay.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { decay }
}

impl Stages {
    /// Those of a problem in chunks of `chunk` tokens.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem.
    pub fn of(problem: &Problem, chunk: usize) -> Result<Stages, OracleError> {
        let (_, mut chunks) = tile::run(problem, chunk)?;
        chunks.sort_by_key(|chunk| (chunk.sequence, chunk.first, chunk.head));
        let channels = problem.shape.gate_channels();
        let all = |of: fn(&tile::Chunk) -> &[f64]| chunks.iter().flat_map(of).copied().collect();
        let dec = chunks.iter().flat_map(|chunk| &chunk.dec[..channels]).copied().collect();
        let tensors = BTreeMap::from([
            ("a", all(|chunk| &chunk.a)),
            ("gk", all(|chunk| &chunk.gk)),
            ("gq", all(|chunk| &chunk.gq)),
            ("aqk", all(|chunk| &chunk.aqk)),
            ("kt", all(|chunk| &chunk.kt)),
            ("dec", dec),
        ]);
        let deepest = chunks.iter().map(|chunk| chunk.deepest).fold(0.0, f64::min);
        Ok(Stages { chunk, deepest, tensors })
    }

    fn tensor(&self, name: &str) -> &[f64] {
        self.tensors.get(name).map_or(&[], Vec::as_slice)
    }

    /// The tensors as a form stores them.
    pub fn stored(&self, accuracy: Accuracy) -> Tensors {
        let mut tensors = Tensors::new();
        for Stage { name, low, .. } in STAGES {
            let [high, rest] = halves(self.tensor(name), accuracy);
            tensors.insert(name.to_owned(), high.to_le_bytes());
            if accuracy.splits(name) {
                tensors.insert(low.to_owned(), rest.to_le_bytes());
            }
        }
        let dec = Stored::round(Dtype::F32, self.tensor("dec").iter().copied());
        tensors.insert("dec".to_owned(), dec.to_le_bytes());
        tensors
    }
}

/// Values in a form's type, and what that leaves of them in the same type.
fn halves(values: &[f64], accuracy: Accuracy) -> [Stored; 2] {
    let high = Stored::round(accuracy.tile_dtype(), values.iter().copied());
    let rest = values.iter().zip(high.to_f64()).map(|(value, high)| value - high);
    let low = Stored::round(accuracy.tile_dtype(), rest);
    [high, low]
}

/// What a form keeps of a tensor's values.
fn kept(name: &str, values: &[f64], accuracy: Accuracy) -> Vec<f64> {
    let [high, low] = halves(values, accuracy);
    match accuracy.splits(name) {
        true => sum(&high, &low),
        false => high.to_f64(),
    }
}

fn sum(high: &Stored, low: &Stored) -> Vec<f64> {
    high.to_f64().into_iter().zip(low.to_f64()).map(|(high, low)| high + low).collect()
}

/// Judges every stage tensor that a kernel wrote; halves are added up, and of triangles the worse of the parts
/// below and on the diagonal counts, above it zeros are demanded.
pub fn judge(
    want: &Stages,
    accuracy: Accuracy,
    outputs: &Tensors,
) -> Result<Vec<(&'static str, Verdict)>, OracleError> {
    let take = Take::new(outputs);
    let limit = Limits::of(accuracy.kind()).stages_at(want.deepest);
    let mut verdicts = Vec::new();
    for Stage { name, low, is_triangle } in STAGES {
        let high = take.floats(name, accuracy.tile_dtype())?;
        let got = match accuracy.splits(name) {
            true => sum(&high, &take.floats(low, accuracy.tile_dtype())?),
            false => high.to_f64(),
        };
        let (want, rows) = (want.tensor(name), want.chunk);
        let parts: &[Part] =
            if is_triangle { &[Part::Below, Part::Diagonal, Part::Above] } else { &[Part::All] };
        let of_part = |part: &Part| {
            let (got, want) = (part.of(&got, rows), part.of(want, rows));
            let floor = rmse_ratio(&kept(name, &want, accuracy), &want);
            let limit = if *part == Part::Above { 0.0 } else { limit };
            judge_values(&got, &want, floor, limit)
        };
        let worst = parts
            .iter()
            .map(of_part)
            .max_by(|a, b| a.rmse_ratio.total_cmp(&b.rmse_ratio).then(b.passed.cmp(&a.passed)));
        verdicts.extend(worst.map(|verdict| (name, verdict)));
    }
    let dec: Vec<_> = take.floats("dec", Dtype::F32)?.to_f64().into_iter().map(flushed).collect();
    let want: Vec<_> = want.tensor("dec").iter().copied().map(flushed).collect();
    verdicts.push(("dec", judge_values(&dec, &want, 0.0, DECAY_LIMIT)));
    Ok(verdicts)
}

/// Which elements of a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Below,
    Diagonal,
    Above,
}

impl Part {
    fn of(self, values: &[f64], rows: usize) -> Vec<f64> {
        let is_here = |index: usize| {
            let (row, column) = (index / rows % rows, index % rows);
            match self {
                Part::All => true,
                Part::Below => column < row,
                Part::Diagonal => column == row,
                Part::Above => column > row,
            }
        };
        let here = values.iter().enumerate().filter(|(index, _)| is_here(*index));
        here.map(|(_, value)| *value).collect()
    }
}
