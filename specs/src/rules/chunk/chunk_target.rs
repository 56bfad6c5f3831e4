//! Chunked prefill is specified for gfx950. Its products are laid out for MFMA and its maps for 160 KiB of LDS;
//! what gfx1100's WMMA and its 64 KiB need (other panels, smaller slices of V, another order of sums) is not
//! specified yet, so a spec for gfx1100 is refused by name, whatever its sizes.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "chunk_target";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("chunk_target.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (target, legal) = (spec.common().target, S::KERNEL.targets());
    if legal.contains(&target) {
        return Vec::new();
    }
    vec![Violation {
        rule: ID,
        field: "target",
        got: target.to_string(),
        limit: legal.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
        unit: "chip",
        source: "the prefill kernels' contract",
        hint: "take target = \"gfx950\"; on gfx1100 a decode step a token gives the same result"
            .to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use isa::Target;

    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, KdaTileSpec};
    use crate::rules::chunk::fixtures::{scan, tile};
    use crate::rules::fixtures::refused;

    #[test]
    fn accepts_gfx950() {
        assert_eq!((tile().check(), scan().check()), (vec![], vec![]));
    }

    #[test]
    fn refuses_gfx1100_by_name() {
        let at = |common| ChunkCommon { target: Target::Gfx1100, wave_width: 32, ..common };
        let words = ["got gfx1100", "limit gfx950", "decode step"];
        let spec = KdaTileSpec { common: ChunkCommon { waves: 8, ..at(tile().common) }, ..tile() };
        refused(&super::check(&spec), "chunk_target", "target", &words);
        let spec = KdaChunkScanSpec { common: at(scan().common), ..scan() };
        refused(&super::check(&spec), "chunk_target", "target", &words);
    }
}
