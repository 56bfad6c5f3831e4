//! In the fused kernel, `lds_overlay` excludes `prefetch`. Prefetched inputs of the next chunk arrive while the
//! scan phases run; with the overlay the buffers of those inputs belong to the state's copy and to R then,
//! and keeping all inputs of a chunk in registers instead is not specified.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "overlay_prefetch";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("overlay_prefetch.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let both = matches!((spec.tile(), spec.scan()), (Some(tile), Some(scan)) if tile.lds_overlay && scan.prefetch);
    let violation = both.then(|| Violation {
        rule: ID,
        field: "lds_overlay",
        got: "true beside prefetch = true".to_owned(),
        limit: "one of the two".to_owned(),
        unit: "use of the inputs' LDS",
        source: "lifetimes of the LDS map, docs/kernels/kda.md",
        hint: "take prefetch = false, or lds_overlay = false".to_owned(),
    });
    violation.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::chunk::{KdaChunkFusedSpec, KdaTileSpec, ScanPart, TilePart};
    use crate::rules::chunk::fixtures::{fused, tile};
    use crate::rules::fixtures::refused;

    fn with(lds_overlay: bool, prefetch: bool) -> KdaChunkFusedSpec {
        let tile = TilePart { lds_overlay, ..fused().tile };
        KdaChunkFusedSpec { tile, scan: ScanPart { prefetch, ..fused().scan }, ..fused() }
    }

    #[test]
    fn accepts_either() {
        for (overlay, prefetch) in [(false, false), (true, false), (false, true)] {
            assert_eq!(with(overlay, prefetch).check(), []);
        }
        let alone = TilePart { lds_overlay: true, ..tile().tile };
        assert_eq!(KdaTileSpec { tile: alone, ..tile() }.check(), []);
    }

    #[test]
    fn refuses_both() {
        let words = ["got true beside prefetch = true", "prefetch = false"];
        refused(&with(true, true).check(), "overlay_prefetch", "lds_overlay", &words);
    }
}
