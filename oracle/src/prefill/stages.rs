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

/// What a type's numbers are at least apart.
fn least_step(dtype: Dtype) -> f64 {
    libm::exp2(match dtype {
        Dtype::F32 => -149.0,
        Dtype::Bf16 => -133.0,
        Dtype::F16 => -24.0,
    })
}

/// What a kernel wrote and what it should have written, where `dtype` can hold that to `limit`: of a number so small that
/// half of the type's least step is more than `limit` of it, nearness tells nothing. It counts as zero on both sides if
/// the kernel is within that step, which is one rounding and another one's worth of room, and as it is otherwise. A zero
/// is held to be zero, and tensors of different lengths stay as they are.
pub fn representable(got: &[f64], want: &[f64], dtype: Dtype, limit: f64) -> [Vec<f64>; 2] {
    let step = least_step(dtype);
    let least = step / (2.0 * limit);
    if got.len() != want.len() {
        return [got.to_vec(), want.to_vec()];
    }
    let both = got.iter().zip(want).map(|(&got, &want)| {
        let is_met = want != 0.0 && want.abs() < least && (got - want).abs() <= step;
        if is_met { (0.0, 0.0) } else { (got, want) }
    });
    let (got, want) = both.unzip();
    [got, want]
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
            let [got, want] = match part {
                Part::Above => [got, want],
                _ => representable(&got, &want, accuracy.tile_dtype(), limit),
            };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// With a limit of 5e-4, f16 holds what is at least 2^-14 or so.
    #[test]
    fn what_a_type_cannot_hold_is_held_to_its_step() {
        let (limit, step) = (5e-4, libm::exp2(-24.0));
        let of = |got: f64, want: f64| {
            let [got, want] = representable(&[got], &[want], Dtype::F16, limit);
            (got[0], want[0])
        };
        assert_eq!(of(0.0, 0.4 * step), (0.0, 0.0));
        assert_eq!(of(900.0 * step, 901.0 * step), (0.0, 0.0));
        assert_eq!(of(3.0 * step, 0.4 * step), (3.0 * step, 0.4 * step));
        assert_eq!(of(1001.0 * step, 1002.0 * step), (1001.0 * step, 1002.0 * step));
        assert_eq!(of(step, 0.0), (step, 0.0));
        assert!(of(f64::NAN, step).0.is_nan());
        let [got, want] = representable(&[0.0, 0.0], &[step / 4.0], Dtype::F16, limit);
        assert_eq!((got.len(), want.len()), (2, 1));
    }
}
