//! Plain `bf16` takes step sizes to 2 (`beta = "twice_sigmoid"`) unless two of these come together: one gate a head, keys of
//! fewer than 128 channels, chunks of more than 32 rows. Step sizes above 1 amplify what rounding the state, A and GK to one
//! bf16 costs, and each of the three makes it more: with two or three the state was found up to 4.5e-3 from float64 after 256
//! tokens of weak gates, on the emulator and by the host's model of the roundings, and its limit is 3.6e-3. How large
//! given step sizes are no spec knows: such kernels are legal, and `run` holds them to the same limit.

use crate::chunk::{AccuracyKind, BetaForm, ChunkParts};
use crate::decode_step::Family;
use crate::rule::{Rule, Violation};

const ID: &str = "large_steps";

/// Least channels of a key, and most rows of a chunk, that do not amplify.
const CHANNELS: u32 = 128;
const ROWS: u32 = 32;

/// What comes of it.
const COST: &str =
    "step sizes above 1 put the state up to 4.5e-3 from float64, its limit is 3.6e-3";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("large_steps.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (common, Some(tile)) = (spec.common(), spec.tile()) else { return Vec::new() };
    let limit = plain_limit(common.family, common.head_k, common.chunk);
    let limit = limit.filter(|_| {
        common.accuracy.kind() == AccuracyKind::Bf16 && tile.beta == BetaForm::TwiceSigmoid
    });
    let violation = |limit| Violation {
        rule: ID,
        field: "beta",
        got: format!(
            "{} with family = \"{}\", head_k = {} and chunk = {}",
            tile.beta, common.family, common.head_k, common.chunk
        ),
        limit,
        unit: "where step sizes come from",
        source: "accuracy forms in docs/kernels/kda.md",
        hint: "take accuracy = \"bf16_split\", which keeps its limits with step sizes to 2"
            .to_owned(),
    };
    limit.map(violation).into_iter().collect()
}

/// What plain `bf16` takes instead of step sizes above 1, where it does not keep the state's limit with them.
pub(crate) fn plain_limit(family: Family, head_k: u32, chunk: u32) -> Option<String> {
    let amplified = [family == Family::Gdn, head_k < CHANNELS, chunk > ROWS];
    let is_beyond = amplified.into_iter().filter(|amplified| *amplified).count() > 1;
    is_beyond.then(|| {
        format!(
            "sigmoid, with two of one gate a head, head_k below {CHANNELS} and chunks above {ROWS}: {COST}"
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::chunk::{Accuracy, BetaForm, ChunkCommon, DecayForm, KdaTileSpec, TilePart};
    use crate::rules::chunk::fixtures::tile;
    use crate::rules::fixtures::refused;

    fn doubled(head_k: u32, chunk: u32) -> KdaTileSpec {
        let (common, part) = (tile().common, tile().tile);
        let decay = if chunk > 32 { DecayForm::SubChunks } else { part.decay };
        KdaTileSpec {
            common: ChunkCommon { head_k, chunk, ..common },
            tile: TilePart { beta: BetaForm::TwiceSigmoid, decay, lds_overlay: true, ..part },
        }
    }

    #[test]
    fn accepts_one_amplifier_and_exacter_forms() {
        for (head_k, chunk) in [(128, 32), (64, 32), (128, 64)] {
            assert_eq!(doubled(head_k, chunk).check(), []);
        }
        let spec = doubled(64, 64);
        let common = ChunkCommon { accuracy: Accuracy::Bf16Split, ..spec.common };
        assert_eq!(KdaTileSpec { common, ..spec }.check(), []);
        let tile = TilePart { beta: BetaForm::Given, ..spec.tile };
        assert_eq!(KdaTileSpec { tile, ..spec }.check(), []);
    }

    #[test]
    fn refuses_two_with_both_numbers() {
        let words =
            ["got twice_sigmoid", "head_k = 64 and chunk = 64", "4.5e-3", "3.6e-3", "bf16_split"];
        refused(&doubled(64, 64).check(), "large_steps", "beta", &words);
    }
}
