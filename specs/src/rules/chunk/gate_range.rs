//! With `decay = "fixed_offset"`, the anchor's offset `½·(C − 1)·|bound|·log2 e`, rounded up to an integer, plus the
//! factors' shift (what the offset has above 100), plus what a token's decay has above 2^−9, is at most 124 in units of
//! log2. Decay factors reach 2 to the power of the shift plus and minus the offset. So elements of keys and queries below
//! 16 have finite factors, those down to 2^−24 keep eleven bits in theirs, and the decay from the chunk's start to the
//! anchor, one token more, keeps sixteen. Beyond that, clamped factors would give finite, wrong outputs. The bound is
//! `gate_lower_bound_nats`: finite, and at most 0.

use crate::chunk::{ChunkParts, DecayForm, LEAST_EXPONENT, TilePart, half_span};
use crate::rule::{Rule, Violation};
use crate::rules::gate_lower_bound::BoundedGate;

const ID: &str = "gate_range";

/// Largest exponent of a factor in units of log2: elements below 2⁴ stay below the largest bf16, 2¹²⁸.
const MAX_EXPONENT: f64 = 124.0;

/// How far the decay from the chunk's start to the anchor may go beyond that, in units of log2: 2⁻¹³³ is sixteen steps of
/// f32's subnormal numbers above their least.
const START_ROOM: f64 = 9.0;

/// Longest chunk with one anchor; `decay_form` refuses longer ones.
const MAX_ROWS: u32 = 32;

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("gate_range.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let Some(tile) = spec.tile() else { return Vec::new() };
    let Some(bound) = tile.gate.lower_bound_nats() else { return Vec::new() };
    // The bounded sigmoid's own range has a rule of its own.
    let given = spec.sigmoid_bound_nats().is_none();
    if given && !(bound.is_finite() && bound <= 0.0) {
        return vec![no_bound(bound)];
    }
    let chunk = spec.common().chunk;
    let is_anchored = tile.decay == DecayForm::FixedOffset && chunk <= MAX_ROWS;
    let offset = tile.anchor_offset_log2(chunk).filter(|_| is_anchored);
    let beyond = offset.filter(|_| exponent(chunk, f64::from(bound)) > MAX_EXPONENT);
    beyond.map(|offset| out_of_range(tile, chunk, bound, offset)).into_iter().collect()
}

/// The furthest that an exponent gets from zero, the room for the decay from the chunk's start left out.
fn exponent(chunk: u32, bound: f64) -> f64 {
    let step = bound.abs() * std::f64::consts::LOG2_E;
    let offset = (half_span(chunk) * step).ceil();
    let shift = (offset - f64::from(LEAST_EXPONENT)).max(0.0);
    offset + shift + (step - START_ROOM).max(0.0)
}

/// The largest legal bound without its sign, in thousandths, rounded towards zero: the exponent grows with it.
fn most(chunk: u32) -> f64 {
    let legal = |thousandths: u32| {
        // As it will be read: an f32.
        let bound = (f64::from(thousandths) / 1000.0) as f32;
        exponent(chunk, f64::from(bound)) <= MAX_EXPONENT
    };
    let (mut low, mut high) = (0, 200_000);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if legal(middle) { low = middle } else { high = middle }
    }
    f64::from(low) / 1000.0
}

fn no_bound(bound: f32) -> Violation {
    Violation {
        rule: ID,
        field: "gate_lower_bound_nats",
        got: format!("{bound:?}"),
        limit: "a finite number, at most 0.0".to_owned(),
        unit: "nats a token",
        source: "log decays are at most 0 (the model's contract)",
        hint: "state what the problem's gates are at least, such as -5.0".to_owned(),
    }
}

fn out_of_range(tile: &TilePart, chunk: u32, bound: f32, offset: u32) -> Violation {
    let (most, reach) = (most(chunk), exponent(chunk, f64::from(bound)));
    Violation {
        rule: ID,
        field: "gate_lower_bound_nats",
        got: format!("{bound:?}, an offset of {offset} and exponents to {reach:.1}"),
        limit: format!("-{most:.3} nats at chunk = {chunk}, exponents to {MAX_EXPONENT}"),
        unit: "nats a token, log2 units",
        source: "exponent range of f32 and bf16; closed form in docs/kernels/kda.md",
        hint: format!(
            "take decay = \"sub_chunks\" (any range) with gate = \"{}\"",
            tile.gate.kind()
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, ChunkGate, DecayForm, KdaTileSpec, TilePart};
    use crate::rules::chunk::fixtures::tile;
    use crate::rules::fixtures::refused;

    fn bounded(lower_bound_nats: f32, chunk: u32) -> KdaTileSpec {
        let common = ChunkCommon { chunk, ..tile().common };
        let gate = ChunkGate::LogDecayPerChannel { lower_bound_nats };
        KdaTileSpec { common, tile: TilePart { gate, ..tile().tile } }
    }

    #[test]
    fn accepts_up_to_the_closed_form() {
        for (bound, chunk, offset) in
            [(-5.0, 32, 112), (-5.008, 32, 112), (-10.073, 16, 109), (0.0, 32, 0), (-5.0, 16, 55)]
        {
            let spec = bounded(bound, chunk);
            assert_eq!(spec.check(), [], "{bound} at {chunk}");
            assert_eq!(spec.anchor_offset_log2(), Some(offset));
        }
    }

    #[test]
    fn refuses_more_with_both_numbers() {
        for (bound, chunk, offset, most) in
            [(-5.1, 32, 115, "-5.008"), (-8.0, 32, 179, "-5.008"), (-11.7, 16, 127, "-10.073")]
        {
            let got = format!("got {bound:?}, an offset of {offset} and");
            let limit = format!("limit {most} nats at chunk = {chunk}, exponents to 124");
            let words = [got.as_str(), &limit, "sub_chunks"];
            let field = "gate_lower_bound_nats";
            refused(&bounded(bound, chunk).check(), "gate_range", field, &words);
        }
    }

    #[test]
    fn the_shown_limits_are_legal_and_tight() {
        for (chunk, most) in [(32, 5.008f32), (16, 10.073)] {
            assert_eq!(bounded(-most, chunk).check(), []);
            assert_eq!(bounded(-most - 0.002, chunk).check().len(), 1);
        }
    }

    #[test]
    fn sub_chunks_have_no_range() {
        let any = bounded(-1000.0, 32);
        let any = KdaTileSpec { tile: TilePart { decay: DecayForm::SubChunks, ..any.tile }, ..any };
        assert_eq!((any.check(), any.anchor_offset_log2()), (vec![], None));
    }

    #[test]
    fn refuses_what_is_no_bound() {
        for bound in [0.5, f32::NAN, f32::NEG_INFINITY] {
            let words = [&format!("got {bound:?}"), "a finite number, at most 0.0"];
            let field = "gate_lower_bound_nats";
            refused(&bounded(bound, 32).check(), "gate_range", field, &words);
        }
    }
}
