//! `tile_atom_m` and `scan_atom_m` are 16 or, on gfx950, 32, the rows of the target's matrix operations, and divide the
//! chunk: a chunk's rows are whole operations of the products of keys and of the scan.

use isa::Target;

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "matrix_atoms";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("matrix_atoms.rs"), check: check::<S> }
}

/// Rows of the target's matrix operations, and where that is from.
fn legal(target: Target) -> (&'static [u32], &'static str) {
    match target {
        Target::Gfx950 => (&[16, 32], "MFMA shapes of 16-bit operands (CDNA ISA manuals)"),
        Target::Gfx1100 => (&[16], "WMMA shapes (RDNA3 ISA manual)"),
    }
}

/// Whether every atom is legal.
pub(super) fn fits<S: ChunkParts>(spec: &S) -> bool {
    check(spec).is_empty()
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (chunk, (legal, source)) = (spec.common().chunk, legal(spec.common().target));
    let is_wrong = |m: &u32| !legal.contains(m) || !chunk.is_multiple_of(*m);
    let tile = spec.tile().map(|tile| tile.tile_atom_m).filter(is_wrong);
    let scan = spec.scan().map(|scan| scan.scan_atom_m).filter(is_wrong);
    let violation = |field: &'static str, m: u32| {
        let rows = legal.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
        let nearest = if legal.contains(&32) && chunk >= 32 && m > 24 { 32 } else { 16 };
        Violation {
            rule: ID,
            field,
            got: m.to_string(),
            limit: format!("{rows}, a divisor of chunk = {chunk}"),
            unit: "rows",
            source,
            hint: format!("nearest legal: {field} = {nearest}"),
        }
    };
    let tile = tile.map(|m| violation("tile_atom_m", m));
    let scan = scan.map(|m| violation("scan_atom_m", m));
    tile.into_iter().chain(scan).collect()
}

#[cfg(test)]
mod tests {
    use isa::Target;

    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, KdaTileSpec, ScanPart, TilePart};
    use crate::rules::chunk::fixtures::{scan, tile};
    use crate::rules::fixtures::refused;

    fn tile_atom(tile_atom_m: u32, chunk: u32) -> KdaTileSpec {
        let common = ChunkCommon { chunk, ..tile().common };
        KdaTileSpec { common, tile: TilePart { tile_atom_m, ..tile().tile } }
    }

    #[test]
    fn accepts_16_and_32() {
        for (m, chunk) in [(16, 16), (16, 32), (32, 32)] {
            assert_eq!(tile_atom(m, chunk).check(), []);
        }
        let whole = ScanPart { scan_atom_m: 32, value_splits: 1, ..scan().scan };
        assert_eq!(KdaChunkScanSpec { scan: whole, ..scan() }.check(), []);
    }

    #[test]
    fn refuses_32_rows_on_gfx1100() {
        let common = ChunkCommon { target: Target::Gfx1100, wave_width: 32, ..tile().common };
        let spec = KdaTileSpec { common, tile: TilePart { tile_atom_m: 32, ..tile().tile } };
        let words = ["got 32", "limit 16, a divisor", "WMMA", "tile_atom_m = 16"];
        refused(&super::check(&spec), "matrix_atoms", "tile_atom_m", &words);
    }

    #[test]
    fn refuses_other_rows() {
        for (m, chunk, hint) in [
            (32, 16, "tile_atom_m = 16"),
            (8, 32, "tile_atom_m = 16"),
            (64, 32, "tile_atom_m = 32"),
        ] {
            let words = [&format!("got {m}"), &format!("a divisor of chunk = {chunk}"), hint];
            refused(&tile_atom(m, chunk).check(), "matrix_atoms", "tile_atom_m", &words);
        }
        let spec = KdaChunkScanSpec { scan: ScanPart { scan_atom_m: 4, ..scan().scan }, ..scan() };
        refused(&spec.check(), "matrix_atoms", "scan_atom_m", &["got 4", "scan_atom_m = 16"]);
        let common = ChunkCommon { chunk: 16, ..scan().common };
        let high = ScanPart { scan_atom_m: 32, value_splits: 1, ..scan().scan };
        let spec = KdaChunkScanSpec { common, scan: high };
        let words = ["got 32", "a divisor of chunk = 16"];
        refused(&spec.check(), "matrix_atoms", "scan_atom_m", &words);
    }
}
