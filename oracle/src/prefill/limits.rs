//! How far the outputs of prefill kernels may be from float64, as `rmse_ratio`, by accuracy form.

use std::f64::consts::{LN_2, LOG2_E};

use specs::chunk::AccuracyKind;

/// The most that one rounding of a normal number to bf16 costs, relative to it: u / (1 + u) with u = 2⁻⁸. A floor
/// above it means that the reference lies among the subnormal numbers, where a kernel that stores bf16 says nothing.
pub const BF16_WORST_ROUNDING: f64 = 1.0 / 257.0;

/// A limit that may grow with the floor of its output, up to a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutputLimit {
    /// This, whatever the floor is.
    Flat(f64),
    /// So many times the floor, which counts as [`BF16_WORST_ROUNDING`] at most.
    TimesFloor(f64),
}

impl OutputLimit {
    /// The limit of an output whose rounding alone costs `floor`.
    pub fn at(self, floor: f64) -> f64 {
        match self {
            OutputLimit::Flat(limit) => limit,
            OutputLimit::TimesFloor(times) => times * floor.min(BF16_WORST_ROUNDING),
        }
    }
}

/// The limits of an accuracy form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Of o.
    pub o: OutputLimit,
    /// Of the final state.
    pub state: f64,
    /// Of every stage tensor; of A and Aqk below and on their diagonals apart. Strong gates add to it:
    /// [`Limits::stages_at`].
    pub stages: f64,
}

/// Gates of a chunk add up to so many nats in the contract: 64 tokens of 40. Deeper sums widen no limit.
const DEEPEST: f64 = 64.0 * 40.0;

/// What rounding costs in a difference of two sums of gates that f32 holds in log2, relative to its exponential, where the
/// sums reach `nats`: half an ulp of each.
fn rounding_of_sums(nats: f64) -> f64 {
    let most = nats.abs().min(DEEPEST) * LOG2_E;
    let half_ulp = libm::exp2(libm::floor(libm::log2(most)) - 24.0);
    2.0 * half_ulp * LN_2
}

impl Limits {
    /// Those of a form. The figures behind them are in `docs/kernels/kda.md`, *Accuracy forms*:
    ///
    /// * `bf16`: 4.2e-3 is the worst state of model and emulated kernels, at K = 64, C = 16 and step sizes up to 2, beyond
    ///   this limit; with step sizes up to 1 it is 2.8e-3. 4.4e-3 and 3.6e-3 are what published kernels of this form
    ///   reach or miss by a little. Stage tensors are one rounding of products of once rounded factors: √3 roundings of 1.66e-3, and what the
    ///   solve adds.
    /// * `bf16_split`: o at its floor; 12 % for the values between two numbers that an error of 1e-5 moves. The
    ///   state's worst in the model is 9.7e-6; stage tensors are limited by the sums of gates in f32, 160 of log2
    ///   with an ulp of 1.5e-5.
    /// * `f16`: one rounding to 11 bits a tile.
    pub fn of(accuracy: AccuracyKind) -> Limits {
        match accuracy {
            AccuracyKind::Bf16 => {
                Limits { o: OutputLimit::Flat(4.4e-3), state: 3.6e-3, stages: 4e-3 }
            }
            AccuracyKind::Bf16Split => {
                Limits { o: OutputLimit::TimesFloor(1.12), state: 1.5e-5, stages: 2e-5 }
            }
            AccuracyKind::F16 => {
                Limits { o: OutputLimit::TimesFloor(1.12), state: 5e-4, stages: 5e-4 }
            }
        }
    }

    /// The limit of stage tensors where the gates of a chunk add up to as much as `deepest` nats: exponents in A and
    /// Aqk are differences of such sums, so their own rounding is a limit of any form.
    pub fn stages_at(&self, deepest: f64) -> f64 {
        self.stages.max(rounding_of_sums(deepest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sums_that_f32_holds_coarsely_widen_the_limit_of_stages() {
        let split = Limits::of(AccuracyKind::Bf16Split);
        // 32 tokens of the strongest gate a channel, 5 nats: 231 in log2, whose ulp is 1.5e-5.
        for nats in [0.0, -1.0, -160.0] {
            assert_eq!(split.stages_at(nats), split.stages);
        }
        // 32 tokens of 40 nats: 1847 in log2, whose ulp is 1.2e-4.
        let at_forty = split.stages_at(-1280.0);
        assert!((8.4e-5..8.5e-5).contains(&at_forty), "{at_forty:e}");
        assert_eq!(split.stages_at(-1e9), split.stages_at(-2560.0));
        assert_eq!(Limits::of(AccuracyKind::Bf16).stages_at(-2560.0), 4e-3);
    }

    #[test]
    fn a_floor_among_subnormals_widens_no_limit() {
        let split = Limits::of(AccuracyKind::Bf16Split).o;
        assert_eq!(split.at(1.66e-3), 1.12 * 1.66e-3);
        assert!(split.at(0.3) < 4.4e-3 && split.at(f64::INFINITY) < 4.4e-3);
        assert_eq!(Limits::of(AccuracyKind::Bf16).o.at(0.3), 4.4e-3);
    }
}
