//! The LDS buffers of the prefill kernels.
//!
//! The state, the residual and what corrects it stay in registers: results of one product are factors of the next as lanes
//! hold them. LDS holds what waves share, and what a wave turns round for itself.

use super::{Accuracy, ChunkCommon, ChunkParts, DecayForm, ScanPart, TilePart};
use crate::element::Element;
use crate::lds_map::{LdsBuffer, LdsMap, Lifetime, Phase, Placement};

/// Rows of a sub-chunk.
const SUB_CHUNK: u32 = 16;

/// The map of a spec.
pub(crate) fn map<S: ChunkParts>(spec: &S) -> LdsMap {
    let overlay = spec.tile().is_some_and(|tile| tile.lds_overlay);
    let placement = if overlay { Placement::ByLifetime } else { Placement::Disjoint };
    LdsMap::place(lds_buffers(spec.common(), spec.tile(), spec.scan()), placement)
}

/// The buffers of a kernel with these parts, not placed yet.
pub fn lds_buffers(
    common: &ChunkCommon,
    tile: Option<&TilePart>,
    scan: Option<&ScanPart>,
) -> Vec<LdsBuffer> {
    let mut list = List::new(common);
    if let Some(tile) = tile {
        list.gates(common, tile);
        list.rows(common, tile);
        list.factors(common, tile);
        list.triangle(tile);
    }
    if scan.is_some() {
        list.stage_tensors(common, tile.is_some());
    }
    list.buffers
}

/// Buffers in the making.
struct List {
    buffers: Vec<LdsBuffer>,
    chunk: u32,
    head_k: u32,
    /// Pitches of rows of K and of C 16-bit elements.
    pitch_k: u32,
    pitch_c: u32,
    tile: Element,
    accuracy: Accuracy,
}

/// A matrix by rows and pitch.
type Extent = (u32, u32);

impl List {
    fn new(common: &ChunkCommon) -> List {
        List {
            buffers: Vec::new(),
            chunk: common.chunk,
            head_k: common.head_k,
            pitch_k: common.head_k.saturating_add(common.pad_dk),
            pitch_c: common.chunk.saturating_add(common.pad_cb),
            tile: Element::from(common.accuracy.tile_dtype()),
            accuracy: common.accuracy,
        }
    }

    fn add(
        &mut self,
        (name, holds): (&'static str, &'static str),
        element: Element,
        (rows, pitch): Extent,
        (first, last): (Phase, Phase),
    ) {
        let live = Lifetime::new(first, last);
        self.buffers.push(LdsBuffer { name, holds, element, rows, pitch, live });
    }

    /// A 16-bit tile, with its low half where it is split.
    fn pair(
        &mut self,
        is_split: bool,
        names: [(&'static str, &'static str); 2],
        extent: Extent,
        live: (Phase, Phase),
    ) {
        let halves = if is_split { 2 } else { 1 };
        for name in names.into_iter().take(halves) {
            self.add(name, self.tile, extent, live);
        }
    }

    /// Sums of gates, and what becomes of them.
    fn gates(&mut self, common: &ChunkCommon, tile: &TilePart) {
        use Phase::{Products, Stage, Sweep};
        let f32s = Element::F32;
        if !common.per_channel_gate() {
            let row = (1, self.chunk);
            self.add(("g", "gates, then their sums in log2"), f32s, row, (Stage, Products));
            self.add(("decay", "decay from the chunk's start"), f32s, row, (Stage, Sweep));
            self.add(("rest", "decay to the chunk's end"), f32s, row, (Stage, Sweep));
            return;
        }
        let groups = common.row_groups();
        let sums = (
            groups.saturating_mul(2),
            self.head_k.saturating_add(sums_pad(groups, common.wave_width)),
        );
        self.add(("sums", "zeros, then sums of groups of rows"), f32s, sums, (Stage, Sweep));
        let row = (1, self.head_k);
        if tile.decay == DecayForm::FixedOffset {
            self.add(("start", "decay from the start to the anchor"), f32s, row, (Stage, Sweep));
        } else {
            let sums = (self.chunk, self.head_k.saturating_add(4));
            self.add(("g", "sums of gates in log2"), f32s, sums, (Sweep, Products));
        }
        self.add(("rest", "anchor to end: decay, or its log2"), f32s, row, (Stage, Sweep));
    }

    /// One number a row.
    fn rows(&mut self, common: &ChunkCommon, tile: &TilePart) {
        use Phase::{Products, Solve, Stage, Sweep};
        self.add(("beta", "step sizes"), Element::F32, (1, self.chunk), (Stage, Solve));
        if tile.qk_l2norm {
            let squares = (self.chunk.saturating_mul(2), common.waves);
            let shares = ("squares", "each wave's share of the squared lengths of k, then q");
            self.add(shares, Element::F32, squares, (Stage, Sweep));
            for name in
                [("k_norm", "inverse lengths of keys"), ("q_norm", "inverse lengths of queries")]
            {
                self.add(name, Element::F32, (1, self.chunk), (Sweep, Products));
            }
        }
    }

    fn factors(&mut self, common: &ChunkCommon, tile: &TilePart) {
        let live = (Phase::Sweep, Phase::Products);
        if tile.decay != DecayForm::FixedOffset {
            for name in [("k", "keys"), ("q", "queries")] {
                self.add(name, Element::Bf16, (self.chunk, self.pitch_k), live);
            }
        }
        let (rows, others) = match tile.decay {
            DecayForm::OutsideProduct => return,
            DecayForm::FixedOffset => (self.chunk, self.chunk),
            // Off the diagonal only: the later sub-chunk against all rows before it.
            DecayForm::SubChunks => match self.chunk.saturating_sub(SUB_CHUNK) {
                0 => return,
                before => (SUB_CHUNK, before),
            },
        };
        let halves = if common.accuracy.splits_factors() { 2 } else { 1 };
        let names = [
            [("x", "later keys times decay"), ("x_low", "low half of x")],
            [("y", "earlier keys over decay"), ("y_low", "low half of y")],
            [("xq", "queries times decay"), ("xq_low", "low half of xq")],
        ];
        for (pair, rows) in names.into_iter().zip([rows, others, rows]) {
            for name in pair.into_iter().take(halves) {
                self.add(name, Element::Bf16, (rows, self.pitch_k), live);
            }
        }
    }

    fn triangle(&mut self, tile: &TilePart) {
        use Phase::{Products, Solve};
        let wide = (self.chunk, self.chunk.saturating_add(tile.pad_c));
        let block = (self.chunk, tile.solve_block.saturating_add(tile.pad_c));
        self.add(("m", "T'"), Element::F32, wide, (Products, Solve));
        self.add(("a", "A"), Element::F32, wide, (Solve, Solve));
        if tile.solve_block < self.chunk {
            self.add(("p", "inverses of diagonal blocks"), Element::F32, block, (Solve, Solve));
            self.add(("d", "A's diagonal blocks, transposed"), Element::F32, block, (Solve, Solve));
        }
    }

    /// The stage tensors: what a scan reads.
    fn stage_tensors(&mut self, common: &ChunkCommon, fused: bool) {
        use Phase::{Products, Scan, Solve, Stage, Sweep};
        let (keys, square) = ((self.chunk, self.pitch_k), (self.chunk, self.pitch_c));
        let from = |phase| if fused { phase } else { Stage };
        let split = self.accuracy.splits_tiles();
        let swept = (from(Sweep), Scan);
        self.pair(split, [("gk", "GK"), ("gk_low", "low half of GK")], keys, swept);
        self.pair(split, [("gq", "GQ"), ("gq_low", "low half of GQ")], keys, swept);
        let solved = (from(Solve), Scan);
        let steps = self.accuracy.splits_steps();
        let name = if fused { "tb" } else { "a" };
        let low = if fused { "tb_low" } else { "a_low" };
        self.pair(steps, [(name, "A in 16 bits"), (low, "low half of A")], square, solved);
        let names = [("aqk", "Aqk"), ("aqk_low", "low half of Aqk")];
        self.pair(split, names, square, (from(Products), Scan));
        let decays = if common.per_channel_gate() { self.head_k } else { 1 };
        self.add(("dec", "decay of the chunk"), Element::F32, (1, decays), (Stage, Scan));
        let turned = (self.head_k, self.pitch_c);
        self.pair(split, [("kt", "Kt"), ("kt_low", "low half of Kt")], turned, swept);
    }
}

/// Elements of padding behind a row of sums, so that the rows that a 128-bit read takes at once lie in other banks: a
/// wave reads as many neighbouring columns of each as it has lanes in a group, four a lane.
fn sums_pad(groups: u32, wave_width: u32) -> u32 {
    let columns = 4u32.saturating_mul(wave_width / groups.max(1));
    if columns < 64 { columns } else { 0 }
}
