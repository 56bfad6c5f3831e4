//! K and V are 64 or 128 each, and need not be equal. Both are whole numbers of matrix operations in every
//! shape that the products use, and one pass of a workgroup covers a row of K.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "chunk_heads";

/// Legal numbers of channels.
const LEGAL: [u32; 2] = [64, 128];

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("chunk_heads.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let k = ("head_k", spec.common().head_k);
    let v = spec.scan().map(|scan| ("head_v", scan.head_v));
    let wrong = [Some(k), v].into_iter().flatten().filter(|(_, got)| !LEGAL.contains(got));
    wrong.map(|(field, got)| violation(field, got)).collect()
}

fn violation(field: &'static str, got: u32) -> Violation {
    Violation {
        rule: ID,
        field,
        got: got.to_string(),
        limit: "64 or 128".to_owned(),
        unit: "channels",
        source: "the prefill kernels' contract",
        hint: format!("nearest legal: {field} = {}", if got > 96 { 128 } else { 64 }),
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, ScanPart};
    use crate::rules::chunk::fixtures::scan;
    use crate::rules::fixtures::refused;

    fn heads(head_k: u32, head_v: u32) -> KdaChunkScanSpec {
        let common = ChunkCommon { head_k, ..scan().common };
        KdaChunkScanSpec {
            common,
            scan: ScanPart { head_v, value_splits: head_v / 64, ..scan().scan },
        }
    }

    #[test]
    fn accepts_64_and_128_in_any_pair() {
        for (k, v) in [(64, 64), (64, 128), (128, 64), (128, 128)] {
            assert_eq!(heads(k, v).check(), []);
        }
    }

    #[test]
    fn refuses_other_sizes() {
        refused(&super::check(&heads(96, 64)), "chunk_heads", "head_k", &["got 96", "head_k = 64"]);
        refused(
            &super::check(&heads(64, 256)),
            "chunk_heads",
            "head_v",
            &["got 256", "head_v = 128"],
        );
        assert_eq!(super::check(&heads(0, 7)).len(), 2);
    }
}
