//! C + `pad_cb` is at least the k of the matrix operations: 32 with 16 rows, 16 with 32. A product that sums
//! over the rows of a chunk reads a whole operation's k; beyond the chunk it must find zeros of its own
//! buffer and not the next row. Chunks of 16 need `pad_cb = 16` with operations of 16 rows.

use crate::chunk::{ChunkParts, atom_k};
use crate::rule::{Rule, Violation};

const ID: &str = "zero_padding";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("zero_padding.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let common = spec.common();
    let tile = spec.tile().map(|tile| tile.tile_atom_m);
    let atoms = tile.into_iter().chain(spec.scan().map(|scan| scan.scan_atom_m));
    let need = atoms.map(|m| atom_k(common.target, m)).max().unwrap_or(0);
    let row = common.chunk.saturating_add(common.pad_cb);
    if row >= need || !super::matrix_atoms::fits(spec) {
        return Vec::new();
    }
    vec![Violation {
        rule: ID,
        field: "pad_cb",
        got: format!("{}, a row of {row}", common.pad_cb),
        limit: format!("chunk + pad_cb of {need} or more"),
        unit: "elements",
        source: "k of 16-bit MFMA operations (CDNA ISA manuals)",
        hint: format!("nearest legal: pad_cb = {}", need.saturating_sub(common.chunk)),
    }]
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, KdaTileSpec, ScanPart};
    use crate::rules::chunk::fixtures::{scan, tile};
    use crate::rules::fixtures::refused;

    #[test]
    fn accepts_a_row_of_one_operation() {
        let common = ChunkCommon { chunk: 16, pad_cb: 16, ..tile().common };
        assert_eq!(KdaTileSpec { common, ..tile() }.check(), []);
        // Operations of 32 rows have k = 16.
        let common = ChunkCommon { chunk: 16, pad_cb: 8, ..scan().common };
        let part = ScanPart { scan_atom_m: 32, value_splits: 1, ..scan().scan };
        assert_eq!(KdaChunkScanSpec { common, scan: part }.check(), []);
    }

    #[test]
    fn refuses_rows_that_reach_into_the_next() {
        let common = ChunkCommon { chunk: 16, pad_cb: 8, ..tile().common };
        let words = ["got 8, a row of 24", "chunk + pad_cb of 32", "pad_cb = 16"];
        let spec = KdaTileSpec { common, ..tile() };
        refused(&spec.check(), "zero_padding", "pad_cb", &words);
    }
}
