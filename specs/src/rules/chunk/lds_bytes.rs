//! The LDS map of a workgroup fits the target's limit, 163840 bytes on gfx950 and 65536 on gfx1100. The map's total is what
//! the code object declares; a driver refuses a launch with more.

use super::way_out;
use crate::chunk::{ChunkParts, lds_map_of};
use crate::rule::{Rule, Violation};

const ID: &str = "lds_bytes";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("lds_bytes.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let limit = u64::from(spec.common().target.limits().lds_bytes_per_workgroup);
    let total = lds_map_of(spec).total_bytes();
    if total <= limit {
        return Vec::new();
    }
    vec![Violation {
        rule: ID,
        field: if spec.tile().is_some() { "accuracy" } else { "value_splits" },
        got: total.to_string(),
        limit: format!("at most {limit} on {}", spec.common().target),
        unit: "bytes of LDS a workgroup",
        source: "LLVM 22, addressable local memory; table in docs/kernels/kda.md",
        hint: way_out(spec, |bytes| bytes <= limit),
    }]
}

#[cfg(test)]
mod tests {
    use isa::Target;

    use crate::chunk::{Accuracy, ChunkCommon, KdaChunkFusedSpec, KdaTileSpec, ScanPart};
    use crate::chunk::{DecayForm, TilePart};
    use crate::rules::chunk::fixtures::{fused, tile};
    use crate::rules::fixtures::refused;

    fn whole(accuracy: Accuracy) -> KdaChunkFusedSpec {
        let common = ChunkCommon { accuracy, waves: 4, checked: true, ..fused().common };
        let scan = ScanPart { value_splits: 1, scan_atom_m: 32, ..fused().scan };
        KdaChunkFusedSpec { common, scan, ..fused() }
    }

    #[test]
    fn accepts_what_fits() {
        for accuracy in [Accuracy::Bf16, Accuracy::Bf16Split, Accuracy::F16 { value_bound: 100.0 }]
        {
            assert_eq!(whole(accuracy).check(), []);
        }
    }

    #[test]
    fn refuses_on_gfx1100_what_only_gfx950_has_room_for() {
        let common =
            ChunkCommon { target: Target::Gfx1100, wave_width: 32, ..whole(Accuracy::Bf16).common };
        let spec = KdaChunkFusedSpec { common, ..whole(Accuracy::Bf16) };
        let words = ["at most 65536 on gfx1100", "lds_overlay = true takes"];
        refused(&super::check(&spec), "lds_bytes", "accuracy", &words);
    }

    #[test]
    fn refuses_what_does_not_fit_with_its_bytes() {
        let common = ChunkCommon { pad_dk: 136, ..whole(Accuracy::Bf16Split).common };
        let spec = KdaChunkFusedSpec { common, ..whole(Accuracy::Bf16Split) };
        let got = format!("got {}", spec.lds_map().total_bytes());
        let words = [got.as_str(), "at most 163840 on gfx950", "pad_dk = 8 takes"];
        refused(&spec.check(), "lds_bytes", "accuracy", &words);
    }

    #[test]
    fn an_overlay_may_fit_where_buffers_apart_do_not() {
        let of = |lds_overlay| KdaTileSpec {
            common: ChunkCommon { chunk: 64, accuracy: Accuracy::Bf16Split, ..tile().common },
            tile: TilePart { decay: DecayForm::SubChunks, lds_overlay, ..tile().tile },
        };
        assert_eq!(of(true).check(), []);
        assert!(of(true).lds_map().total_bytes() < of(false).lds_map().total_bytes());
    }
}
