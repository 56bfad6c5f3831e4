//! The waves of a tile or fused kernel share K evenly, four neighbouring channels a lane: K is 4·`waves` times a power
//! of two, at most the lanes of a wave. What lanes are left form groups that share the chunk's rows evenly, at most 16
//! rows a lane. So whatever belongs to one channel (sums of gates, decays) stays inside one wave.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "row_groups";

/// Most rows of a lane, which keeps all of them in registers.
const MAX_ROWS: u32 = 16;

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("row_groups.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let common = spec.common();
    let (k, chunk, lanes) = (common.head_k, common.chunk, common.wave_width);
    if spec.tile().is_none() {
        return Vec::new();
    }
    let is_legal = |waves: u32| {
        let across = k / waves.max(1) / 4;
        let groups = lanes.checked_div(across).unwrap_or(0);
        let shares = across.is_power_of_two() && across.checked_mul(4 * waves) == Some(k);
        shares && groups > 0 && chunk.is_multiple_of(groups) && chunk / groups <= MAX_ROWS
    };
    if is_legal(common.waves) {
        return Vec::new();
    }
    let legal = [1, 2, 4, 8].into_iter().filter(|waves| is_legal(*waves));
    let hint = match legal.min_by_key(|waves| waves.abs_diff(common.waves)) {
        Some(waves) => format!("nearest legal: waves = {waves}"),
        None => "no number of waves divides these rows and channels".to_owned(),
    };
    vec![Violation {
        rule: ID,
        field: "waves",
        got: common.waves.to_string(),
        limit: format!(
            "head_k = {k} shared by 4 channels a lane, chunk = {chunk} by at most {MAX_ROWS} rows a lane"
        ),
        unit: "waves",
        source: "blocks of a chunk, docs/kernels/kda.md",
        hint,
    }]
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaTileSpec};
    use crate::rules::chunk::fixtures::tile;
    use crate::rules::fixtures::refused;

    fn waves(waves: u32, head_k: u32, chunk: u32) -> KdaTileSpec {
        let common = ChunkCommon { waves, head_k, chunk, ..tile().common };
        KdaTileSpec { common, ..tile() }
    }

    #[test]
    fn accepts_whole_shares() {
        for (count, head_k) in [(1, 128), (2, 128), (4, 128), (8, 128), (1, 64), (8, 64)] {
            assert_eq!(waves(count, head_k, 32).check(), []);
        }
    }

    #[test]
    fn refuses_more_groups_than_rows() {
        let words = ["got 8", "head_k = 64", "chunk = 16", "waves = 4"];
        refused(&waves(8, 64, 16).check(), "row_groups", "waves", &words);
    }
}
