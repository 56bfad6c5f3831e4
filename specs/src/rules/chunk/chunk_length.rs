//! A chunk has 16, 32 or 64 rows; in the fused kernel 16 or 32. The products tile in 16 rows. At 64 the
//! state mirror and the tiles of one workgroup do not fit beside each other, so 64 is for the tile and the
//! scan kernel only; on gfx1100, where one wave sums a chunk's gates and solves its system with a lane a row, for
//! neither.

use isa::Target;

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};
use crate::spec::KernelKind;

const ID: &str = "chunk_length";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("chunk_length.rs"), check: check::<S> }
}

fn legal(kernel: KernelKind, target: Target) -> &'static [u32] {
    match (kernel, target) {
        (KernelKind::ChunkTile | KernelKind::ChunkScan, Target::Gfx950) => &[16, 32, 64],
        _ => &[16, 32],
    }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (chunk, legal) = (spec.common().chunk, legal(S::KERNEL, spec.common().target));
    if legal.contains(&chunk) {
        return Vec::new();
    }
    let nearest = legal.iter().min_by_key(|legal| legal.abs_diff(chunk)).unwrap_or(&32);
    let split = " (64 rows need chunk_tile and chunk_scan, and gfx950)";
    vec![Violation {
        rule: ID,
        field: "chunk",
        got: chunk.to_string(),
        limit: legal.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
        unit: "rows",
        source: "the prefill kernels' contract",
        hint: format!("nearest legal: chunk = {nearest}{}", if chunk == 64 { split } else { "" }),
    }]
}

#[cfg(test)]
mod tests {
    use isa::Target;

    use crate::chunk::ChunkCommon;
    use crate::chunk::{KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec};
    use crate::rules::chunk::fixtures::{fused, scan, tile};
    use crate::rules::fixtures::refused;

    #[test]
    fn accepts_the_list() {
        for (chunk, pad_cb) in [(16, 16), (32, 8), (64, 8)] {
            let common = ChunkCommon { chunk, pad_cb, ..scan().common };
            assert_eq!(KdaChunkScanSpec { common, ..scan() }.check(), []);
        }
        let common = ChunkCommon { chunk: 16, ..tile().common };
        assert_eq!(KdaTileSpec { common, ..tile() }.check(), []);
        assert_eq!(KdaChunkFusedSpec { common, ..fused() }.check(), []);
    }

    #[test]
    fn refuses_other_lengths() {
        for (chunk, hint) in
            [(0, "chunk = 16"), (24, "chunk = 16"), (48, "chunk = 32"), (128, "chunk = 64")]
        {
            let common = ChunkCommon { chunk, ..tile().common };
            let spec = KdaTileSpec { common, ..tile() };
            let words = [&format!("got {chunk}"), "16 or 32 or 64", hint];
            refused(&super::check(&spec), "chunk_length", "chunk", &words);
        }
    }

    #[test]
    fn refuses_64_on_gfx1100() {
        let common = ChunkCommon { target: Target::Gfx1100, chunk: 64, ..scan().common };
        let spec = KdaChunkScanSpec { common, ..scan() };
        let words = ["got 64", "limit 16 or 32 (rows)", "gfx950"];
        refused(&super::check(&spec), "chunk_length", "chunk", &words);
    }

    #[test]
    fn refuses_64_in_the_fused_kernel() {
        let common = ChunkCommon { chunk: 64, ..fused().common };
        let spec = KdaChunkFusedSpec { common, ..fused() };
        let words = ["got 64", "limit 16 or 32 (rows)", "chunk_tile and chunk_scan"];
        refused(&super::check(&spec), "chunk_length", "chunk", &words);
    }
}
