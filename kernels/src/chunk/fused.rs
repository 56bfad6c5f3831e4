//! The fused kernel of chunked prefill: tiles and the state's step through them, chunk after chunk, in one workgroup.
//!
//! The phases are those of the tile and the scan kernel; stage tensors stay in LDS, where GK and GQ take the place of the
//! keys and queries, and decays that of the last gates.

use dsl::KernelBuilder;
use dsl::builder::BuildError;
use dsl::ir::Kernel;
use specs::chunk::DecayForm;
use specs::{KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec};

use super::inputs::Inputs;
use super::scan::{Scan, Sequence};
use super::tile::Tile;
use super::{Lds, Operand, Rows, Stage};

/// The kernel of a legal spec, grid (value splits, value heads, sequences).
pub fn build(name: &str, spec: &KdaChunkFusedSpec) -> Result<Kernel, Vec<BuildError>> {
    let KdaChunkFusedSpec { common, tile, scan } = *spec;
    let (of_tile, of_scan) = (KdaTileSpec { common, tile }, KdaChunkScanSpec { common, scan });
    let k = KernelBuilder::new(name, common.target, common.workgroup_size());
    let lds = Lds::declare(&k, &spec.lds_map());
    let sequence = Sequence::declare(&k);
    let inputs = Inputs::declare(&k, &of_tile, k.workgroup_id_y());
    let stage = stage_in_lds(&lds);
    let scan = Scan::declare(&k, &of_scan, &lds, sequence.clone(), stage.clone());
    scan.through(|chunk| {
        let rows = Rows::of(&sequence.table, chunk);
        let inputs = inputs.of_chunk(rows, common.chunk);
        make_tiles(&Tile { k: &k, spec: &of_tile, lds: &lds, rows, inputs, to: &stage });
    });
    k.finish()
}

/// Where the tiles of a chunk end.
fn stage_in_lds<'k>(lds: &Lds<'k>) -> Stage<'k> {
    let in_place_of = |name: &str, low: &str| Operand { high: lds.view(name), low: lds.find(low) };
    Stage {
        a: lds.operand("tb"),
        gk: in_place_of("k", "gk_low"),
        gq: in_place_of("q", "gq_low"),
        aqk: lds.operand("zs"),
        kt: lds.operand("kt"),
        dec: lds.view("gl"),
    }
}

/// Kt is made before GK and decays replace what it needs; so are products that take keys as given.
/// The scan's first barrier, behind its copy of the state, ends the last phase.
fn make_tiles(tile: &Tile<'_, '_>) {
    let k = tile.k;
    tile.stage();
    k.barrier();
    tile.norms();
    tile.cumulate();
    k.barrier();
    tile.decayed_keys();
    if tile.spec.tile.decay == DecayForm::FixedOffset {
        k.barrier();
        tile.sweep();
        k.barrier();
        tile.products();
    } else {
        tile.products();
        k.barrier();
        tile.sweep();
    }
    k.barrier();
    tile.solve();
    k.barrier();
    tile.store();
}
