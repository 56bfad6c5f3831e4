//! What checked kernels watch, and the status word to which they report it.

use std::cell::RefCell;

use dsl::ir::{Access, Scalar, Type};
use dsl::{Expr, KernelBuilder, View};
use specs::chunk::{Accuracy, ChunkCommon, TilePart};
use specs::status::StatusBit;

/// Bits of the least f32 that is no finite number.
const INFINITY: i32 = 0x7F80_0000;
/// Bits of the largest subnormal f32.
const LARGEST_SUBNORMAL: u32 = 0x007F_FFFF;

/// What the largest of a wave's v, S, R and Ṽ is at least, if it is not 0, for pairs of f16 to hold eleven bits of them:
/// their steps are 2⁻²⁴ apart below 2⁻¹⁴.
const LEAST_F16_VALUE: f32 = 1.0 / 8192.0;

/// Watches values of a kernel whose spec asks for it; emits nothing in any other.
pub(crate) struct Status<'k> {
    watch: Option<Watch<'k>>,
}

struct Watch<'k> {
    /// `[1]`.
    word: View<'k>,
    value_bound: Option<f32>,
    /// What the largest element of a row of keys or queries is at least.
    least_row: f32,
    seen: RefCell<Seen<'k>>,
}

/// Extremes of the bits of magnitudes so far, as unsigned numbers: of non-negative floats they have the floats' order.
#[derive(Clone, Copy)]
struct Seen<'k> {
    largest_input: Expr<'k>,
    /// Less one, so that zero is the largest.
    least_input: Expr<'k>,
    largest_result: Expr<'k>,
    least_result: Expr<'k>,
    /// Of what `value_bound` bounds.
    largest_bounded: Expr<'k>,
    /// Of the largest of every row of keys and queries, less one as above.
    least_row: Expr<'k>,
}

impl<'k> Status<'k> {
    /// Declares the parameter `status` where the spec is checked; `tile` is how tiles are made, in kernels that make them.
    #[track_caller]
    pub(crate) fn declare(
        k: &'k KernelBuilder,
        common: &ChunkCommon,
        tile: Option<&TilePart>,
    ) -> Status<'k> {
        let watch = common.checked.then(|| {
            let value_bound = match common.accuracy {
                Accuracy::F16 { value_bound } => Some(value_bound),
                Accuracy::Bf16 | Accuracy::Bf16Split => None,
            };
            let (none, most) = (k.i32(0), k.i32(-1));
            let seen = Seen {
                largest_input: none,
                least_input: most,
                largest_result: none,
                least_result: most,
                largest_bounded: none,
                least_row: most,
            };
            let least_row = tile.map_or(0.0, |tile| tile.least_row(common));
            let word = k.buffer("status", Scalar::I32, Access::ReadWrite, &[Some(1)]);
            Watch { word, value_bound, least_row, seen: RefCell::new(seen) }
        });
        Status { watch }
    }

    /// Elements of an input or a state, as f32.
    #[track_caller]
    pub(crate) fn input(&self, x: Expr<'k>) {
        self.update(x, |seen, bits| {
            seen.largest_input = bits.max_u(seen.largest_input);
            seen.least_input = (bits - 1).min_u(seen.least_input);
        });
    }

    /// Results of checked operations.
    #[track_caller]
    pub(crate) fn result(&self, x: Expr<'k>) {
        self.finite(x);
        self.update(x, |seen, bits| seen.least_result = (bits - 1).min_u(seen.least_result));
    }

    /// Results that decay may drive to zero, through subnormal numbers: only whether they are finite.
    #[track_caller]
    pub(crate) fn finite(&self, x: Expr<'k>) {
        self.update(x, |seen, bits| seen.largest_result = bits.max_u(seen.largest_result));
    }

    /// What `value_bound` bounds.
    #[track_caller]
    pub(crate) fn bounded(&self, x: Expr<'k>) {
        if self.watch.as_ref().is_some_and(|watch| watch.value_bound.is_some()) {
            self.update(x, |seen, bits| seen.largest_bounded = bits.max_u(seen.largest_bounded));
        }
    }

    /// A wave's part of a row of keys or queries, as factors are made of it; `largest` gives the largest of the lanes that
    /// share it.
    #[track_caller]
    pub(crate) fn row(&self, x: Expr<'k>, largest: impl Fn(Expr<'k>) -> Expr<'k>) {
        let Some(watch) = &self.watch else { return };
        let mine = magnitudes(x).into_iter().reduce(|most, bits| most.max_u(bits));
        let Some(mine) = mine else { return };
        let mut seen = watch.seen.borrow_mut();
        seen.least_row = (largest(mine) - 1).min_u(seen.least_row);
    }

    #[track_caller]
    fn update(&self, x: Expr<'k>, with: impl Fn(&mut Seen<'k>, Expr<'k>)) {
        let Some(watch) = &self.watch else { return };
        let mut seen = watch.seen.borrow_mut();
        magnitudes(x).into_iter().for_each(|bits| with(&mut seen, bits));
    }

    /// What has been seen, to be carried through a loop.
    pub(crate) fn carried(&self) -> Vec<Expr<'k>> {
        let Some(watch) = &self.watch else { return Vec::new() };
        let seen = *watch.seen.borrow();
        vec![
            seen.largest_input,
            seen.least_input,
            seen.largest_result,
            seen.least_result,
            seen.largest_bounded,
            seen.least_row,
        ]
    }

    /// Goes on from what [`Status::carried`] gave.
    pub(crate) fn resume(&self, carried: &[Expr<'k>]) {
        let Some(watch) = &self.watch else { return };
        let [largest_input, least_input, largest_result, least_result, largest_bounded, least_row] =
            *carried
        else {
            return;
        };
        *watch.seen.borrow_mut() = Seen {
            largest_input,
            least_input,
            largest_result,
            least_result,
            largest_bounded,
            least_row,
        };
    }

    /// Reports, where there is something to report.
    #[track_caller]
    pub(crate) fn report(&self, k: &'k KernelBuilder) {
        let Some(watch) = &self.watch else { return };
        let seen = *watch.seen.borrow();
        let subnormal = |least: Expr<'k>| least.lt_u(LARGEST_SUBNORMAL);
        let beyond = |largest: Expr<'k>, bits: i32| k.i32(bits).le_u(largest);
        let bound = watch.value_bound.unwrap_or(f32::INFINITY).to_bits() as i32;
        let below = |least: Expr<'k>, most: f32| least.lt_u((most.to_bits() as i32 - 1).max(0));
        let conditions = [
            (StatusBit::InputSubnormal, subnormal(seen.least_input)),
            (StatusBit::InputNonfinite, beyond(seen.largest_input, INFINITY)),
            (StatusBit::ArithmeticSubnormal, subnormal(seen.least_result)),
            (StatusBit::ArithmeticNonfinite, beyond(seen.largest_result, INFINITY)),
            (StatusBit::ValueBound, beyond(seen.largest_bounded, bound)),
            (StatusBit::OperandRange, below(seen.least_row, watch.least_row)),
        ];
        // A lane alone may have seen but one small element of a short sequence.
        let of_f16 = watch.value_bound.map(|_| {
            let largest = k.lane_groups(k.target().wave_width()).max_u(seen.largest_bounded);
            (StatusBit::OperandRange, below(largest - 1, LEAST_F16_VALUE))
        });
        let mut bits = k.i32(0);
        for (bit, holds) in conditions.into_iter().chain(of_f16) {
            bits = bits | holds.select(k.constant(Type::I32, u64::from(bit.mask())), 0);
        }
        k.if_(bits.ne(0), || watch.word.atomic_or(0, bits));
    }
}

/// Bits of the magnitudes of a vector's elements, which have the magnitudes' order as unsigned numbers.
#[track_caller]
fn magnitudes(x: Expr<'_>) -> Vec<Expr<'_>> {
    (x.bitcast(x.ty().with_scalar(Scalar::I32)) & i32::MAX).elements()
}
