//! Rows in LDS start at multiples of 16 bytes: `pad_dk` and, where there is a scan, C + `pad_cb` are multiples of 8
//! (16-bit elements), `pad_c` is a multiple of 4 (f32). 128-bit LDS accesses need that alignment; a pitch that is a multiple of
//! 4 elements only would pass for 64-bit accesses and fault or tear here.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "lds_pitch";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("lds_pitch.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let common = spec.common();
    let rows_of_c = common.chunk.saturating_add(common.pad_cb);
    let pitches = [
        Some(("pad_dk", common.pad_dk, common.pad_dk, 8)),
        spec.scan().map(|_| ("pad_cb", common.pad_cb, rows_of_c, 8)),
        spec.tile().map(|tile| ("pad_c", tile.pad_c, tile.pad_c, 4)),
    ];
    let wrong =
        pitches.into_iter().flatten().filter(|(_, _, pitch, step)| !pitch.is_multiple_of(*step));
    wrong.map(|(field, got, pitch, step)| violation(field, got, pitch, step)).collect()
}

fn violation(field: &'static str, got: u32, pitch: u32, step: u32) -> Violation {
    // The padding below, or the next one above where there is none below.
    let excess = pitch % step;
    let nearest = got.checked_sub(excess).unwrap_or(got.saturating_add(step - excess));
    let what = if field == "pad_cb" { "chunk + pad_cb" } else { field };
    Violation {
        rule: ID,
        field,
        got: got.to_string(),
        limit: format!("{what} a multiple of {step}"),
        unit: "elements",
        source: "16-byte alignment of 128-bit LDS accesses (ISA manuals)",
        hint: format!("nearest legal: {field} = {nearest}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, KdaTileSpec, TilePart};
    use crate::rules::chunk::fixtures::{scan, tile};
    use crate::rules::fixtures::refused;

    fn padded(pad_dk: u32, pad_c: u32) -> KdaTileSpec {
        let common = ChunkCommon { pad_dk, ..tile().common };
        KdaTileSpec { common, tile: TilePart { pad_c, ..tile().tile } }
    }

    fn rows_of_c(pad_cb: u32) -> KdaChunkScanSpec {
        KdaChunkScanSpec { common: ChunkCommon { pad_cb, ..scan().common }, ..scan() }
    }

    #[test]
    fn accepts_16_byte_rows() {
        for (pad_dk, pad_c, pad_cb) in [(8, 4, 8), (16, 4, 16), (0, 0, 0)] {
            assert_eq!(padded(pad_dk, pad_c).check(), []);
            assert_eq!(rows_of_c(pad_cb).check(), []);
        }
    }

    #[test]
    fn refuses_pitches_of_8_bytes() {
        let words = ["got 4", "pad_dk a multiple of 8", "pad_dk = 0"];
        refused(&padded(4, 4).check(), "lds_pitch", "pad_dk", &words);
        let words = ["got 6", "pad_c a multiple of 4", "pad_c = 4"];
        refused(&padded(8, 6).check(), "lds_pitch", "pad_c", &words);
        let words = ["got 12", "chunk + pad_cb a multiple of 8", "pad_cb = 8"];
        refused(&rows_of_c(12).check(), "lds_pitch", "pad_cb", &words);
    }
}
