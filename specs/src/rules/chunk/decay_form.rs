//! How a decay enters the products of keys follows from the gate. One gate a head stays outside the dot
//! product (`outside_product`), in any range. Gates of one a channel need factors: around a fixed offset
//! (`fixed_offset`), which needs a bound that the problem or the gate promises and at most 32 rows, or by
//! sub-chunks of 16 rows (`sub_chunks`), in any range. Anchors that depend on later rows would make earlier
//! outputs depend on them, so there are none.

use crate::chunk::{ChunkParts, DecayForm, TilePart};
use crate::rule::{Rule, Violation};

const ID: &str = "decay_form";

/// Most rows that one anchor at a fixed offset serves.
const FIXED_OFFSET_ROWS: u32 = 32;

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("decay_form.rs"), check: check::<S> }
}

/// The forms that are right, with the reason.
fn legal(per_channel: bool, tile: &TilePart, chunk: u32) -> (&'static [DecayForm], &'static str) {
    let bounded = tile.gate.lower_bound_nats().is_some();
    match per_channel {
        false => (&[DecayForm::OutsideProduct], "one gate a head"),
        true if chunk > FIXED_OFFSET_ROWS => (&[DecayForm::SubChunks], "more than 32 rows"),
        true if !bounded => (&[DecayForm::SubChunks], "unbounded gates of one a channel"),
        true => (&[DecayForm::FixedOffset, DecayForm::SubChunks], "bounded gates of one a channel"),
    }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (common, Some(tile)) = (spec.common(), spec.tile()) else { return Vec::new() };
    let (legal, why) = legal(common.per_channel_gate(), tile, common.chunk);
    if legal.contains(&tile.decay) || !super::chunk_gate::fits(spec) {
        return Vec::new();
    }
    let names = legal.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
    vec![Violation {
        rule: ID,
        field: "decay",
        got: tile.decay.to_string(),
        limit: format!("{names} with {why}"),
        unit: "form of decays",
        source: "docs/kernels/kda.md, decay factors",
        hint: format!("take decay = \"{}\"", legal[0]),
    }]
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, ChunkGate, DecayForm, KdaTileSpec, TilePart};
    use crate::decode_step::Family;
    use crate::rules::chunk::fixtures::tile;
    use crate::rules::fixtures::refused;

    fn of(family: Family, gate: ChunkGate, decay: DecayForm, chunk: u32) -> KdaTileSpec {
        let common = ChunkCommon { family, chunk, ..tile().common };
        KdaTileSpec { common, tile: TilePart { gate, decay, lds_overlay: true, ..tile().tile } }
    }

    const WEAK: ChunkGate = ChunkGate::LogDecayPerChannel { lower_bound_nats: -0.5 };
    const SOFTPLUS: ChunkGate = ChunkGate::Softplus { dt_bias: true };

    #[test]
    fn accepts_the_forms_that_are_right() {
        for (family, gate, decay, chunk) in [
            (Family::Gdn, ChunkGate::LogDecayPerHead, DecayForm::OutsideProduct, 32),
            (Family::Gdn, SOFTPLUS, DecayForm::OutsideProduct, 64),
            (Family::Kda, WEAK, DecayForm::FixedOffset, 32),
            (Family::Kda, WEAK, DecayForm::SubChunks, 32),
            (Family::Kda, WEAK, DecayForm::SubChunks, 64),
            (Family::Kda, SOFTPLUS, DecayForm::SubChunks, 64),
        ] {
            assert_eq!(of(family, gate, decay, chunk).check(), []);
        }
    }

    #[test]
    fn refuses_the_others_with_the_reason() {
        for (family, gate, decay, chunk, limit) in [
            (
                Family::Gdn,
                SOFTPLUS,
                DecayForm::SubChunks,
                32,
                "outside_product with one gate a head",
            ),
            (
                Family::Kda,
                WEAK,
                DecayForm::OutsideProduct,
                32,
                "fixed_offset or sub_chunks with bounded",
            ),
            (Family::Kda, WEAK, DecayForm::FixedOffset, 64, "sub_chunks with more than 32 rows"),
            (Family::Kda, SOFTPLUS, DecayForm::FixedOffset, 32, "sub_chunks with unbounded gates"),
        ] {
            let words = [&format!("got {decay}"), limit];
            refused(&of(family, gate, decay, chunk).check(), "decay_form", "decay", &words);
        }
    }
}
