//! The fused kernel of chunked prefill: tiles and the state's step through them, chunk after chunk, in one workgroup.
//!
//! The phases are those of the tile and the scan kernel; stage tensors stay in LDS.

use dsl::builder::BuildError;
use dsl::ir::Kernel;
use dsl::{KernelBuilder, Mask};
use specs::{KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec};

use super::block::Inputs;
use super::layout::Places;
use super::probe::Altered;
use super::scan::{Scan, Sequence, stage_in_lds};
use super::status::Status;
use super::tile::Tile;
use super::{Lds, Rows};

/// The kernel of a legal spec, grid (value splits, value heads, sequences).
pub(crate) fn build(
    name: &str,
    spec: &KdaChunkFusedSpec,
    altered: Altered,
) -> Result<Kernel, Vec<BuildError>> {
    let KdaChunkFusedSpec { common, tile, scan } = *spec;
    let (of_tile, of_scan) = (KdaTileSpec { common, tile }, KdaChunkScanSpec { common, scan });
    let k = KernelBuilder::new(name, common.target, common.workgroup_size());
    let lds = Lds::declare(&k, &spec.lds_map(), altered);
    let sequence = Sequence::declare(&k);
    let places = Places::declare(&k, &common);
    let inputs = Inputs::declare(&k, &of_tile, &places, k.workgroup_id_y());
    let stage = stage_in_lds(&k, &of_scan, &lds, "tb");
    let state = (sequence.clone(), stage.clone());
    let scan = Scan::declare(&k, &of_scan, &places, state, altered);
    let status = Status::declare(&k, &common, Some(&of_tile.tile));
    let tile = Tile::new(&k, &of_tile, &lds, &inputs, &stage, &status, altered);
    let rows = |chunk| Rows::of(&sequence.table, chunk);
    let fetch = |chunk| inputs.fetch(&k, &of_tile, rows(chunk));
    if spec.scan.prefetch {
        let first = sequence.chunks[0];
        let ahead = Mask::Where(sequence.has(first)).or_zeros(|| fetch(first));
        scan.through(&status, ahead, |chunk, ahead| {
            tile.make(rows(chunk), &ahead);
            let next = chunk + 1;
            k.if_else(sequence.has(next), || fetch(next), || ahead.clone())
        });
    } else {
        scan.through(&status, (), |chunk, ()| tile.make(rows(chunk), &fetch(chunk)));
    }
    status.report(&k);
    k.finish()
}
