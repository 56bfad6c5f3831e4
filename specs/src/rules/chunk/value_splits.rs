//! `value_splits` is 1, 2, 4 or 8: so many workgroups share the columns of a value head. Columns of the state are
//! independent, so a split changes no bit of the result, and each workgroup owns V / `value_splits` columns.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "value_splits";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("value_splits.rs"), check: check::<S> }
}

/// Legal numbers of workgroups.
const LEGAL: [u32; 4] = [1, 2, 4, 8];

/// Whether the columns are split by a legal number.
pub(super) fn fits<S: ChunkParts>(spec: &S) -> bool {
    spec.scan().is_none_or(|scan| LEGAL.contains(&scan.value_splits))
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let wrong = spec.scan().map(|scan| scan.value_splits).filter(|_| !fits(spec));
    wrong.map(violation).into_iter().collect()
}

fn violation(splits: u32) -> Violation {
    let nearest = LEGAL.into_iter().min_by_key(|legal| legal.abs_diff(splits)).unwrap_or(1);
    Violation {
        rule: ID,
        field: "value_splits",
        got: splits.to_string(),
        limit: "1, 2, 4 or 8".to_owned(),
        unit: "workgroups a value head",
        source: "the prefill kernels' contract",
        hint: format!("nearest legal: value_splits = {nearest}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, ScanPart};
    use crate::rules::chunk::fixtures::scan;
    use crate::rules::fixtures::refused;

    #[test]
    fn accepts_powers_of_two() {
        for (value_splits, waves) in [(1, 8), (2, 4), (4, 2), (8, 1)] {
            let common = ChunkCommon { waves, ..scan().common };
            let part = ScanPart { value_splits, ..scan().scan };
            assert_eq!(KdaChunkScanSpec { common, scan: part }.check(), []);
        }
    }

    #[test]
    fn refuses_other_numbers() {
        for (value_splits, hint) in [(0, "= 1"), (3, "= 2"), (16, "= 8")] {
            let spec =
                KdaChunkScanSpec { scan: ScanPart { value_splits, ..scan().scan }, ..scan() };
            let words = [&format!("got {value_splits}"), "1, 2, 4 or 8", hint];
            refused(&spec.check(), "value_splits", "value_splits", &words);
        }
    }
}
