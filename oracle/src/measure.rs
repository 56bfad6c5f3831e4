//! How far a result is from its float64 reference, and whether that is near enough.

mod triangle;

use serde::Serialize;
use specs::Dtype;

use crate::Stored;

pub use triangle::{TriangleRatios, triangle_rmse_ratios};

/// Half an ulp of 1 in f32: the most that one rounding costs, relative to the result.
pub const F32_UNIT_ROUNDOFF: f64 = 1.0 / 16_777_216.0;

/// `rmse_ratio` that an output in bf16 or f16 may have when its kernel computes in f32: the floor, and
/// 5 % for values so near the middle of two that f32 takes the other one.
pub fn narrow_limit(floor: f64) -> f64 {
    1.05 * floor
}

/// The judgement of one output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// `rms(x − reference) / rms(reference)`; infinite when a zero reference or a non-finite element
    /// is not met exactly.
    pub rmse_ratio: f64,
    /// [`rmse_ratio`] of the reference itself, rounded to the output's type.
    pub floor: f64,
    /// Largest `|x − reference|`.
    pub max_abs: f64,
    /// What `rmse_ratio` may be at most.
    pub limit: f64,
    /// Elements whose reference is NaN or infinite: matched exactly, not part of the ratio.
    pub non_finite: usize,
    /// Whether the output is within its limit and breaks no other clause of its contract.
    pub passed: bool,
    /// Why not, in words, when it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// `rms(x − reference) / rms(reference)`.
///
/// A reference of zeros demands equality. Where the reference is NaN or infinite, `x` must be the
/// same; such elements take no further part. Lengths that differ are a mismatch.
pub fn rmse_ratio(x: &[f64], reference: &[f64]) -> f64 {
    if first_mismatch(x, reference).is_some() {
        return f64::INFINITY;
    }
    let finite = || x.iter().zip(reference).filter(|(_, r)| r.is_finite());
    let error = rms(finite().map(|(x, r)| x - r));
    let size = rms(finite().map(|(_, r)| *r));
    match (error == 0.0, size == 0.0) {
        (true, _) => 0.0,
        (false, true) => f64::INFINITY,
        (false, false) => error / size,
    }
}

/// What rounding the reference to `dtype` costs: no kernel that stores this type does better.
pub fn floor(reference: &[f64], dtype: Dtype) -> f64 {
    rmse_ratio(&Stored::round(dtype, reference.iter().copied()).to_f64(), reference)
}

/// Largest `|x − reference|` over elements whose reference is finite.
pub fn max_abs(x: &[f64], reference: &[f64]) -> f64 {
    let finite = x.iter().zip(reference).filter(|(_, r)| r.is_finite());
    let worse = |worst: f64, error: f64| if error <= worst { worst } else { error };
    finite.map(|(x, r)| (x - r).abs()).fold(0.0, worse)
}

/// Judges an output as stored against its reference; `limit` is given the floor.
pub fn judge(x: &Stored, reference: &[f64], limit: impl Fn(f64) -> f64) -> Verdict {
    let floor = floor(reference, x.dtype());
    judge_values(&x.to_f64(), reference, floor, limit(floor))
}

/// Judges the values of an output of any type against their reference.
pub fn judge_values(values: &[f64], reference: &[f64], floor: f64, limit: f64) -> Verdict {
    let rmse_ratio = rmse_ratio(values, reference);
    let mut verdict = Verdict {
        rmse_ratio,
        floor,
        max_abs: max_abs(values, reference),
        limit,
        non_finite: reference.iter().filter(|r| !r.is_finite()).count(),
        passed: true,
        failure: None,
    };
    if let Some(mismatch) = first_mismatch(values, reference) {
        verdict.fail(mismatch);
    } else if let Some(reason) = verdict.says_nothing(reference.len()) {
        verdict.fail(reason);
    } else if rmse_ratio > limit || limit.is_nan() {
        verdict.fail(format!("rmse_ratio {rmse_ratio:.3e} is above its limit {limit:.3e}"));
    }
    verdict
}

impl Verdict {
    /// Why meeting the limit would prove nothing, when it would not: an output of zeros would do.
    fn says_nothing(&self, elements: usize) -> Option<String> {
        if elements > 0 && self.non_finite == elements {
            return Some(
                "every element of the reference is NaN or infinite: nothing to measure".to_owned(),
            );
        }
        let hopeless = !self.floor.is_finite() || self.limit >= 1.0;
        hopeless.then(|| {
            let floor = self.floor;
            format!("the reference is out of the output type's range (its rounding alone costs {floor:.3e}): nothing to measure")
        })
    }

    /// Fails the output for a reason that no ratio shows; the first reason is kept.
    pub fn fail(&mut self, reason: String) {
        self.passed = false;
        self.failure.get_or_insert(reason);
    }
}

/// Lengths that differ, or the first element of which exactly one side is finite, or both are not
/// and differ.
fn first_mismatch(x: &[f64], reference: &[f64]) -> Option<String> {
    if x.len() != reference.len() {
        return Some(format!("{} elements, the reference has {}", x.len(), reference.len()));
    }
    let same =
        |x: f64, r: f64| x.is_finite() && r.is_finite() || x == r || x.is_nan() && r.is_nan();
    let index = (0..x.len()).find(|&index| !same(x[index], reference[index]))?;
    Some(format!("element {index} is {}, the reference is {}", x[index], reference[index]))
}

/// Root mean square, scaled so that squares neither overflow nor vanish.
fn rms(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(0.0, |most: f64, x| most.max(x.abs()));
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    let (sum, count) =
        values.fold((0.0, 0.0), |(sum, n), x| (sum + (x / largest) * (x / largest), n + 1.0));
    largest * (sum / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;

    #[test]
    fn ratio_is_relative_to_the_reference() {
        for unit in [1.0, 1e-200, 1e200] {
            let ratio = rmse_ratio(&[4.0 * unit, 8.0 * unit], &[4.0 * unit, 4.0 * unit]);
            assert!((ratio - 0.5f64.sqrt()).abs() < 1e-15, "{ratio} at {unit}");
        }
        assert_eq!(max_abs(&[3.0, 4.5], &[3.0, 3.0]), 1.5);
    }

    #[test]
    fn zero_reference_demands_equality() {
        assert_eq!(rmse_ratio(&[0.0, -0.0], &[0.0, 0.0]), 0.0);
        assert_eq!(rmse_ratio(&[0.0, 1e-300], &[0.0, 0.0]), INF);
        assert_eq!(rmse_ratio(&[], &[]), 0.0);
    }

    #[test]
    fn non_finite_elements_must_match() {
        assert_eq!(rmse_ratio(&[1.0, NAN, INF], &[1.0, NAN, INF]), 0.0);
        for (x, r) in [(NAN, 1.0), (1.0, NAN), (INF, 1.0), (INF, -INF), (NAN, INF), (1.0, INF)] {
            assert_eq!(rmse_ratio(&[1.0, x], &[1.0, r]), INF, "{x} against {r}");
        }
    }

    #[test]
    fn verdicts_say_what_is_wrong() {
        let within = |_| 1e-3;
        assert!(judge(&Stored::F32(vec![1.0, 2.0]), &[1.0, 2.001], within).passed);
        let far = judge(&Stored::F32(vec![1.0, 2.0]), &[1.0, 2.1], within);
        assert!(!far.passed && far.failure.is_some_and(|why| why.contains("above its limit")));
        let poisoned = judge(&Stored::poison(Dtype::Bf16, 2), &[1.0, 2.0], |floor| floor);
        assert_eq!(poisoned.failure.as_deref(), Some("element 0 is NaN, the reference is 1"));
        let short = judge(&Stored::F32(vec![1.0]), &[1.0, 2.0], within);
        assert_eq!(short.failure.as_deref(), Some("1 elements, the reference has 2"));
        assert!(!judge(&Stored::F32(vec![1.0]), &[2.0], |_| NAN).passed);
    }

    #[test]
    fn what_an_output_of_zeros_would_pass_is_no_pass() {
        let narrow = |floor: f64| 1.05 * floor;
        let lost = judge(&Stored::round(Dtype::F16, [0.0, 0.0]), &[1e-12, -1e-12], narrow);
        assert!(lost.failure.is_some_and(|why| why.contains("nothing to measure")));
        let huge = judge(&Stored::round(Dtype::Bf16, [1.0, INF]), &[1.0, 1e308], narrow);
        assert!(!huge.passed);
        let nan = judge(&Stored::F32(vec![f32::NAN; 2]), &[NAN, NAN], |_| 1e-6);
        assert_eq!((nan.passed, nan.non_finite), (false, 2));
        let some = judge(&Stored::F32(vec![f32::NAN, 1.0]), &[NAN, 1.0], |_| 1e-6);
        assert_eq!((some.passed, some.non_finite), (true, 1));
    }

    #[test]
    fn floor_is_the_rounding_of_the_reference() {
        let half_ulp = 2f64.powi(-8) / (1.0 + 2f64.powi(-8));
        assert_eq!(floor(&[1.0 + 2f64.powi(-8)], Dtype::Bf16), half_ulp);
        assert_eq!(floor(&[1.5], Dtype::F16), 0.0);
    }
}
