//! `min_groups_per_cu` is at least 1, and so many workgroups fit on a compute unit (on gfx1100, a workgroup processor) by
//! their LDS, each in whole granules (1280 bytes on gfx950, 512 on gfx1100). One is what correctness needs; more is a preference for occupancy, kept
//! as a field so that it is checked instead of hoped for. Registers are known only of emitted code.

use isa::occupancy::allocated_lds_bytes;

use super::way_out;
use crate::chunk::{ChunkParts, lds_map_of};
use crate::rule::{Rule, Violation};

const ID: &str = "groups_per_cu";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("groups_per_cu.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (target, wanted) = (spec.common().target, spec.common().min_groups_per_cu);
    let limits = target.limits();
    // A map beyond the workgroup's limit has a rule of its own.
    let total = lds_map_of(spec).total_bytes();
    if total > u64::from(limits.lds_bytes_per_workgroup) {
        return Vec::new();
    }
    let allocated = |total: u64| {
        u32::try_from(total).map_or(u32::MAX, |total| allocated_lds_bytes(target, total))
    };
    let fitting = |total: u64| limits.lds_bytes_per_unit / allocated(total).max(1);
    let (allocated, fit) = (allocated(total), fitting(total));
    if (1..=fit).contains(&wanted) {
        return Vec::new();
    }
    vec![Violation {
        rule: ID,
        field: "min_groups_per_cu",
        got: wanted.to_string(),
        limit: format!(
            "1 to {fit}: {total} bytes take {allocated} of {}",
            limits.lds_bytes_per_unit
        ),
        unit: "workgroups a CU",
        source: "LDS granules (AMDGPUUsage, GRANULATED_LDS_SIZE)",
        hint: if wanted == 0 {
            "take min_groups_per_cu = 1".to_owned()
        } else {
            let fewer = format!("take min_groups_per_cu = {fit}");
            format!("{fewer}, or: {}", way_out(spec, |total| fitting(total) >= wanted))
        },
    }]
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaChunkFusedSpec, KdaTileSpec};
    use crate::rules::chunk::fixtures::{fused, tile};
    use crate::rules::fixtures::refused;

    fn tiles(min_groups_per_cu: u32) -> KdaTileSpec {
        KdaTileSpec { common: ChunkCommon { min_groups_per_cu, ..tile().common }, ..tile() }
    }

    #[test]
    fn accepts_half_a_cu_each() {
        assert_eq!((tiles(1).check(), tiles(2).check()), (vec![], vec![]));
    }

    #[test]
    fn refuses_more_than_fit_in_whole_granules() {
        let total = tiles(1).lds_map().total_bytes();
        let allocated = total.next_multiple_of(1280);
        let fit = 163_840 / allocated;
        let words = [format!("1 to {fit}: {total} bytes take {allocated} of 163840")];
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let more = fit as u32 + 1;
        refused(&tiles(more).check(), "groups_per_cu", "min_groups_per_cu", &words);
        let common = ChunkCommon { min_groups_per_cu: 2, pad_dk: 72, ..fused().common };
        let spec = KdaChunkFusedSpec { common, ..fused() };
        refused(
            &spec.check(),
            "groups_per_cu",
            "min_groups_per_cu",
            &["got 2", "1 to 1", "take min_groups_per_cu = 1, or: chunk = 16 takes"],
        );
    }

    #[test]
    fn refuses_none() {
        refused(&tiles(0).check(), "groups_per_cu", "min_groups_per_cu", &["got 0", "= 1"]);
    }
}
