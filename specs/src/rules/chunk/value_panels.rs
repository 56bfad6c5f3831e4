//! The columns that a workgroup owns, V / `value_splits`, are `scan_atom_m` times its waves: one panel of the
//! state a wave. A wave keeps its panel's accumulators for the whole sequence; a second panel would double
//! them, and a wave without one would only wait.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "value_panels";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("value_panels.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (common, Some(scan)) = (spec.common(), spec.scan()) else { return Vec::new() };
    if !super::matrix_atoms::fits(spec) || !super::value_splits::fits(spec) {
        return Vec::new();
    }
    let covered = scan.scan_atom_m.saturating_mul(common.waves);
    let columns = scan.columns();
    if covered == columns {
        return Vec::new();
    }
    let waves = columns / scan.scan_atom_m.max(1);
    let hint = match [1, 2, 4, 8].contains(&waves) {
        true => format!("take waves = {waves}"),
        false => "take another value_splits or scan_atom_m".to_owned(),
    };
    vec![Violation {
        rule: ID,
        field: "waves",
        got: format!("{covered} columns (scan_atom_m × waves)"),
        limit: format!("{columns} (head_v / value_splits)"),
        unit: "columns of V",
        source: "one panel a wave, docs/kernels/kda.md",
        hint,
    }]
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, ScanPart};
    use crate::rules::chunk::fixtures::scan;
    use crate::rules::fixtures::refused;

    fn panels(value_splits: u32, scan_atom_m: u32, waves: u32) -> KdaChunkScanSpec {
        let part = ScanPart { value_splits, scan_atom_m, ..scan().scan };
        KdaChunkScanSpec { common: ChunkCommon { waves, ..scan().common }, scan: part }
    }

    #[test]
    fn accepts_one_panel_a_wave() {
        for (splits, atom, waves) in [(1, 32, 4), (2, 16, 4), (4, 16, 2), (8, 16, 1), (1, 16, 8)] {
            assert_eq!(panels(splits, atom, waves).check(), []);
        }
    }

    #[test]
    fn refuses_more_and_fewer() {
        let words = ["got 64 columns", "limit 128 (head_v / value_splits)", "waves = 8"];
        refused(&panels(1, 16, 4).check(), "value_panels", "waves", &words);
        let words = ["got 64 columns", "limit 16", "waves = 1"];
        refused(&panels(8, 16, 4).check(), "value_panels", "waves", &words);
        let words = ["got 128 columns", "limit 16", "another value_splits"];
        refused(&panels(8, 32, 4).check(), "value_panels", "waves", &words);
    }
}
