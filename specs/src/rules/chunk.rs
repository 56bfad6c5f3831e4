//! The rules of the prefill kernels, beside those that they share with the step kernels.

mod chunk_dtype;
mod chunk_gate;
mod chunk_heads;
mod chunk_length;
mod decay_form;
mod gate_range;
mod groups_per_cu;
mod large_steps;
mod lds_bytes;
mod lds_pitch;
mod matrix_atoms;
mod problem_promises;
mod row_groups;
mod solve_blocks;
mod split_pair;
mod value_bound;
mod value_panels;
mod value_splits;

pub(crate) use large_steps::plain_limit;

use super::{
    gate_lower_bound, grid_size, head_groups, sizes, wave_count, wave_width, workgroup_size,
};
use crate::chunk::lds_buffers;
use crate::chunk::{
    Accuracy, ChunkCommon, ChunkParts, KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec, ScanPart,
    Split, TilePart,
};
use crate::dispatch::PrefillRequest;
use crate::lds_map::{LdsMap, Placement};
use crate::rule::Rule;

/// The rules of the tile kernel.
pub const CHUNK_TILE: &[Rule<KdaTileSpec>] = &[
    sizes::rule(),
    head_groups::rule(),
    chunk_heads::rule(),
    grid_size::rule(),
    chunk_dtype::rule(),
    chunk_length::rule(),
    chunk_gate::rule(),
    gate_lower_bound::rule(),
    decay_form::rule(),
    gate_range::rule(),
    value_bound::rule(),
    large_steps::rule(),
    matrix_atoms::rule(),
    solve_blocks::rule(),
    wave_count::rule(),
    wave_width::rule(),
    workgroup_size::rule(),
    row_groups::rule(),
    lds_pitch::rule(),
    lds_bytes::rule(),
    groups_per_cu::rule(),
];

/// The rules of the scan kernel.
pub const CHUNK_SCAN: &[Rule<KdaChunkScanSpec>] = &[
    sizes::rule(),
    chunk_heads::rule(),
    grid_size::rule(),
    chunk_dtype::rule(),
    chunk_length::rule(),
    value_bound::rule(),
    value_splits::rule(),
    matrix_atoms::rule(),
    wave_count::rule(),
    wave_width::rule(),
    workgroup_size::rule(),
    value_panels::rule(),
    lds_pitch::rule(),
    lds_bytes::rule(),
    groups_per_cu::rule(),
];

/// The rules of the fused kernel.
pub const CHUNK_FUSED: &[Rule<KdaChunkFusedSpec>] = &[
    sizes::rule(),
    head_groups::rule(),
    chunk_heads::rule(),
    grid_size::rule(),
    chunk_dtype::rule(),
    chunk_length::rule(),
    chunk_gate::rule(),
    gate_lower_bound::rule(),
    decay_form::rule(),
    gate_range::rule(),
    value_bound::rule(),
    large_steps::rule(),
    value_splits::rule(),
    matrix_atoms::rule(),
    solve_blocks::rule(),
    wave_count::rule(),
    wave_width::rule(),
    workgroup_size::rule(),
    row_groups::rule(),
    value_panels::rule(),
    lds_pitch::rule(),
    lds_bytes::rule(),
    groups_per_cu::rule(),
];

/// The rules of a tile and a scan kernel as one split prefill, beside those of each.
pub const CHUNK_SPLIT: &[Rule<Split>] = &[split_pair::RULE];

/// The rules of a problem file of prefill that are its own.
pub const PREFILL_PROBLEM: &[Rule<PrefillRequest>] = &[problem_promises::RULE];

/// Rules of specs that are about the problem alone, whatever its kernels are.
pub(crate) const OF_PROBLEM_TILES: &[Rule<KdaTileSpec>] = &[
    sizes::rule(),
    head_groups::rule(),
    chunk_heads::rule(),
    grid_size::rule(),
    chunk_dtype::rule(),
    chunk_gate::rule(),
    gate_lower_bound::rule(),
];

/// Likewise, of what only kernels with a state have.
pub(crate) const OF_PROBLEM_SCANS: &[Rule<KdaChunkScanSpec>] = &[chunk_heads::rule()];

/// The parts of a spec on which its LDS map depends.
#[derive(Clone, Copy)]
struct Parts {
    common: ChunkCommon,
    tile: Option<TilePart>,
    scan: Option<ScanPart>,
}

impl Parts {
    fn bytes(&self) -> u64 {
        let overlaid = self.tile.is_some_and(|tile| tile.lds_overlay);
        let placement = if overlaid { Placement::ByLifetime } else { Placement::Disjoint };
        let buffers = lds_buffers(&self.common, self.tile.as_ref(), self.scan.as_ref());
        LdsMap::place(buffers, placement).total_bytes()
    }

    /// What makes the map smaller, cheapest first: each with its words, where it changes something.
    fn reductions(&self) -> Vec<(String, Parts)> {
        let mut ways = Vec::new();
        let common = self.common;
        for (field, pad, least) in [("pad_dk", common.pad_dk, 8), ("pad_cb", common.pad_cb, 8)] {
            let mut smaller = *self;
            let changed = if field == "pad_dk" {
                &mut smaller.common.pad_dk
            } else {
                &mut smaller.common.pad_cb
            };
            *changed = least;
            ways.extend((pad > least).then(|| (format!("{field} = {least}"), smaller)));
        }
        if let Some(tile) = self.tile {
            let pad = TilePart { pad_c: 4, ..tile };
            ways.extend((tile.pad_c > 4).then(|| ("pad_c = 4".to_owned(), self.with_tile(pad))));
            let overlaid = TilePart { lds_overlay: true, ..tile };
            let words = || ("lds_overlay = true".to_owned(), self.with_tile(overlaid));
            ways.extend((!tile.lds_overlay).then(words));
        }
        if let Some(scan) = self.scan.filter(|scan| scan.value_splits < 8) {
            let value_splits = (2 * scan.value_splits).max(1);
            let scan = Some(ScanPart { value_splits, ..scan });
            ways.push((format!("value_splits = {value_splits}"), Parts { scan, ..*self }));
        }
        if common.accuracy != Accuracy::Bf16 {
            let common = ChunkCommon { accuracy: Accuracy::Bf16, ..common };
            ways.push(("accuracy = \"bf16\"".to_owned(), Parts { common, ..*self }));
        }
        if common.chunk > 16 {
            let chunk = common.chunk / 2;
            let common = ChunkCommon { chunk, ..common };
            ways.push((format!("chunk = {chunk}"), Parts { common, ..*self }));
        }
        ways
    }

    fn with_tile(&self, tile: TilePart) -> Parts {
        Parts { tile: Some(tile), ..*self }
    }
}

/// What to change so that the bytes of the LDS map fit: every single change that suffices, else changes that do together.
fn way_out<S: ChunkParts>(spec: &S, fits: impl Fn(u64) -> bool) -> String {
    let (tile, scan) = (spec.tile().copied(), spec.scan().copied());
    let mut parts = Parts { common: *spec.common(), tile, scan };
    let alone = parts.reductions().into_iter().map(|(words, smaller)| (words, smaller.bytes()));
    let alone: Vec<_> = alone.filter(|(_, bytes)| fits(*bytes)).collect();
    if !alone.is_empty() {
        let ways = alone.iter().map(|(words, bytes)| format!("{words} takes {bytes} bytes"));
        return ways.collect::<Vec<_>>().join("; ");
    }
    let mut together = Vec::new();
    while !fits(parts.bytes()) {
        let bytes = parts.bytes();
        let helps = |(_, smaller): &(String, Parts)| smaller.bytes() < bytes;
        let Some((words, smaller)) = parts.reductions().into_iter().find(helps) else {
            return format!("nothing fits: with {} it takes {bytes} bytes", together.join(", "));
        };
        together.push(words);
        parts = smaller;
    }
    format!("together {} take {} bytes", together.join(", "), parts.bytes())
}

#[cfg(test)]
pub(crate) mod fixtures {
    //! Prefill specs that break no rule.

    use isa::Target;

    use crate::chunk::{
        Accuracy, BetaForm, ChunkCommon, ChunkGate, DecayForm, KdaChunkFusedSpec, KdaChunkScanSpec,
        KdaTileSpec, ScanPart, TilePart, TokenLayout,
    };
    use crate::decode_step::{Family, HeadMap, StateLayout};
    use crate::element::Dtype;

    fn common() -> ChunkCommon {
        ChunkCommon {
            family: Family::Kda,
            target: Target::Gfx950,
            accuracy: Accuracy::Bf16,
            value_heads: 8,
            head_k: 128,
            dtype: Dtype::Bf16,
            chunk: 32,
            layout: TokenLayout::TokenMajor,
            varlen: false,
            checked: false,
            pad_dk: 8,
            pad_cb: 8,
            min_groups_per_cu: 1,
            waves: 4,
            wave_width: 64,
        }
    }

    /// A legal tile kernel.
    pub fn tile() -> KdaTileSpec {
        let tile = TilePart {
            gate: ChunkGate::LogDecayPerChannel { lower_bound_nats: -5.0 },
            decay: DecayForm::FixedOffset,
            key_heads: 4,
            head_map: HeadMap::Grouped,
            qk_l2norm: false,
            beta: BetaForm::Given,
            beta_dtype: Dtype::Bf16,
            pad_c: 4,
            solve_block: 16,
            tile_atom_m: 16,
            lds_overlay: false,
        };
        KdaTileSpec { common: common(), tile }
    }

    /// A legal scan kernel.
    pub fn scan() -> KdaChunkScanSpec {
        let scan = ScanPart {
            head_v: 128,
            value_splits: 2,
            state_layout: StateLayout::KFirst,
            initial_state: true,
            final_state: true,
            scan_atom_m: 16,
            prefetch: true,
        };
        KdaChunkScanSpec { common: common(), scan }
    }

    /// A legal fused kernel.
    pub fn fused() -> KdaChunkFusedSpec {
        KdaChunkFusedSpec { common: common(), tile: tile().tile, scan: scan().scan }
    }
}
