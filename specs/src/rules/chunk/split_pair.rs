//! The tile and the scan kernel of a split prefill agree on everything that the stage tensors between them depend
//! on: family, target, accuracy and value bound, value heads, K, chunk, types, rows in memory, `varlen` and
//! `checked`. Waves and pads may differ, each kernel has its own.

use crate::chunk::{ChunkSpec, Split};
use crate::rule::{Rule, Violation};

const ID: &str = "split_pair";

pub(super) const RULE: Rule<Split> = Rule { id: ID, file: include_str!("split_pair.rs"), check };

/// Fields that both kernels have and that may differ.
const OWN: [&str; 3] = ["min_groups_per_cu", "pad_dk", "waves"];

fn check(split: &Split) -> Vec<Violation> {
    let (tile, scan) = (ChunkSpec::Tile(split.tile), ChunkSpec::Scan(split.scan));
    let (tiles, scans) = (tile.settings(), scan.settings());
    let shared = tile.kernel().fields().iter().filter(|field| !OWN.contains(&field.key));
    let differing = shared.filter_map(|field| {
        let (of_tile, of_scan) = (tiles.get(field.key)?, scans.get(field.key)?);
        (of_tile != of_scan).then(|| Violation {
            rule: ID,
            field: field.key,
            got: format!("{of_scan} in the scan"),
            limit: format!("{of_tile}, as the tile has it"),
            unit: "a pair of specs",
            source: "the stage tensors that the tile writes and the scan reads",
            hint: format!("give both {} = {of_tile} or both {of_scan}", field.key),
        })
    });
    differing.collect()
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, Split};
    use crate::rules::chunk::fixtures::{scan, tile};
    use crate::rules::fixtures::refused;

    fn pair(change: impl Fn(&mut ChunkCommon)) -> Split {
        let mut common = scan().common;
        change(&mut common);
        Split { tile: tile(), scan: KdaChunkScanSpec { common, ..scan() } }
    }

    #[test]
    fn accepts_other_waves_and_pads() {
        assert_eq!(pair(|common| common.pad_dk = 16).check(), []);
    }

    #[test]
    fn refuses_other_tensors() {
        let words = ["16 in the scan", "32, as the tile has it"];
        refused(&pair(|common| common.chunk = 16).check(), "split_pair", "chunk", &words);
        let heads = pair(|common| common.value_heads = 4).check();
        refused(&heads, "split_pair", "value_heads", &["4 in the scan", "8, as the tile has it"]);
    }
}
