//! With gates of one a channel, the work-items of a workgroup are a multiple of K, at least 2·K, and the groups
//! they form divide the chunk. Each group sums the gates of its share of the rows, one channel a work-item,
//! and then adds the totals of the groups before it; a remainder would leave rows or channels unsummed.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "cumulate_groups";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("cumulate_groups.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let common = spec.common();
    let (k, chunk, size) = (common.head_k, common.chunk, common.workgroup_size());
    if spec.tile().is_none() || !common.per_channel_gate() || k == 0 {
        return Vec::new();
    }
    let is_legal = |size: u32| {
        size.is_multiple_of(k) && size / k >= 2 && chunk.is_multiple_of((size / k).max(1))
    };
    if is_legal(size) {
        return Vec::new();
    }
    let legal =
        [1, 2, 4, 8].into_iter().filter(|waves| is_legal(waves * common.wave_width.min(64)));
    let hint = match legal.min_by_key(|waves| waves.abs_diff(common.waves)) {
        Some(waves) => format!("nearest legal: waves = {waves}"),
        None => "no number of waves divides these rows and channels".to_owned(),
    };
    vec![Violation {
        rule: ID,
        field: "waves",
        got: format!("{size} work-items"),
        limit: format!(
            "a multiple of head_k = {k}, 2 or more groups, a divisor of chunk = {chunk}"
        ),
        unit: "work-items, groups of head_k",
        source: "the cumulative gate, docs/kernels/kda.md",
        hint,
    }]
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, ChunkGate, DecayForm, KdaTileSpec, TilePart};
    use crate::decode_step::Family;
    use crate::rules::chunk::fixtures::tile;
    use crate::rules::fixtures::refused;

    fn waves(waves: u32, head_k: u32) -> KdaTileSpec {
        KdaTileSpec { common: ChunkCommon { waves, head_k, ..tile().common }, ..tile() }
    }

    #[test]
    fn accepts_whole_groups() {
        for (count, head_k) in [(4, 128), (8, 128), (2, 64), (4, 64), (8, 64)] {
            assert_eq!(waves(count, head_k).check(), []);
        }
    }

    #[test]
    fn refuses_a_single_group() {
        let words =
            ["got 128 work-items", "a multiple of head_k = 128, 2 or more groups", "waves = 4"];
        refused(&waves(2, 128).check(), "cumulate_groups", "waves", &words);
    }

    #[test]
    fn one_gate_a_head_needs_no_groups() {
        let common = ChunkCommon { family: Family::Gdn, ..waves(2, 128).common };
        let (gate, decay) = (ChunkGate::LogDecayPerHead, DecayForm::OutsideProduct);
        let spec = KdaTileSpec { common, tile: TilePart { gate, decay, ..tile().tile } };
        assert_eq!(spec.check(), []);
    }
}
