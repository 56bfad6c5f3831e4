//! The LDS buffers that AMD's generator for gfx950 (rocke) publishes for its prefill kernels. It copies the state and
//! the residual to LDS, and stages gates, keys and queries there.

use wavesmith_specs::chunk::{ChunkCommon, DecayForm, ScanPart, TilePart};
use wavesmith_specs::{Dtype, Element, LdsBuffer, Lifetime, Phase};

/// Rows of a sub-chunk.
const SUB_CHUNK: u32 = 16;

/// The buffers of a kernel with these parts.
pub fn lds_buffers(
    common: &ChunkCommon,
    tile: Option<&TilePart>,
    scan: Option<&ScanPart>,
) -> Vec<LdsBuffer> {
    let mut list = List::new(common);
    if let Some(tile) = tile {
        list.inputs(common, tile, scan.is_some());
        list.factors(common, tile);
        list.triangle(tile, scan.is_some());
    }
    if let Some(scan) = scan {
        if tile.is_none() {
            list.tiles(common);
        }
        list.decayed_keys(common, tile.is_some());
        list.state(scan);
    }
    list.buffers
}

/// Buffers in the making.
struct List {
    buffers: Vec<LdsBuffer>,
    chunk: u32,
    /// Pitches of rows of K and of C 16-bit elements.
    pitch_k: u32,
    pitch_c: u32,
    tile: Element,
    splits_tiles: bool,
}

/// A matrix by rows and pitch.
type Extent = (u32, u32);

impl List {
    fn new(common: &ChunkCommon) -> List {
        List {
            buffers: Vec::new(),
            chunk: common.chunk,
            pitch_k: common.head_k.saturating_add(common.pad_dk),
            pitch_c: common.chunk.saturating_add(common.pad_cb),
            tile: Element::from(common.accuracy.tile_dtype()),
            splits_tiles: common.accuracy.splits_tiles(),
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

    /// A 16-bit tile, with its low half where tiles are split.
    fn pair(
        &mut self,
        names: [(&'static str, &'static str); 2],
        extent: Extent,
        live: (Phase, Phase),
    ) {
        let halves = if self.splits_tiles { 2 } else { 1 };
        for name in names.into_iter().take(halves) {
            self.add(name, self.tile, extent, live);
        }
    }

    fn inputs(&mut self, common: &ChunkCommon, tile: &TilePart, fused: bool) {
        use Phase::{Products, Scan, Solve, Stage, Sweep};
        // Pairwise decays, and decays outside a product, need the inputs in the products.
        let factored = tile.decay == DecayForm::FixedOffset;
        let last = if factored { Sweep } else { Products };
        let (gates, keys, decays) = match common.per_channel_gate() {
            true => ((self.chunk, common.head_k), (self.chunk, common.head_k), common.head_k),
            false => ((1, self.chunk), (self.chunk, self.pitch_k), 1),
        };
        let until = |late| if fused { late } else { last };
        let input = Element::from(Dtype::Bf16);
        self.add(("g", "gates, then their sums in log2"), Element::F32, gates, (Stage, last));
        self.add(("k", "keys; fused: then GK"), input, keys, (Stage, until(Scan)));
        self.add(("q", "queries; fused: then GQ"), input, keys, (Stage, until(Scan)));
        if fused && self.splits_tiles {
            self.add(("gk_low", "low half of GK"), self.tile, keys, (Sweep, Scan));
            self.add(("gq_low", "low half of GQ"), self.tile, keys, (Sweep, Scan));
        }
        self.add(("beta", "step sizes"), Element::F32, (1, self.chunk), (Stage, Solve));
        if tile.qk_l2norm {
            for name in
                [("k_norm", "inverse lengths of keys"), ("q_norm", "inverse lengths of queries")]
            {
                self.add(name, Element::F32, (1, self.chunk), (Stage, last));
            }
        }
        let dec_last = if fused { Scan } else { Sweep };
        self.add(
            ("gl", "sum of the last row; fused: then dec"),
            Element::F32,
            (1, decays),
            (Stage, dec_last),
        );
    }

    fn factors(&mut self, common: &ChunkCommon, tile: &TilePart) {
        let (rows, others, first) = match tile.decay {
            DecayForm::OutsideProduct => return,
            DecayForm::FixedOffset => (self.chunk, self.chunk, Phase::Sweep),
            // Off the diagonal only: the later sub-chunk against all rows before it.
            DecayForm::SubChunks => match self.chunk.saturating_sub(SUB_CHUNK) {
                0 => return,
                before => (SUB_CHUNK, before, Phase::Products),
            },
        };
        let live = (first, Phase::Products);
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

    fn triangle(&mut self, tile: &TilePart, fused: bool) {
        use Phase::{Products, Scan, Solve};
        let wide = (self.chunk, self.chunk.saturating_add(tile.pad_c));
        let narrow = (self.chunk, self.pitch_c);
        let until = |late, alone| if fused { late } else { alone };
        self.add(("m", "T'"), Element::F32, wide, (Products, Solve));
        let stored = until(Solve, Solve);
        self.add(("a", "A, from diag(beta) on"), Element::F32, wide, (Products, stored));
        self.add(("aqk", "Aqk"), Element::F32, wide, (Products, stored));
        let system = [
            ("tb", "T' in 16 bits; fused: then A"),
            ("tb_low", "low half of T'; fused: then of A"),
        ];
        self.pair(system, narrow, (Products, until(Scan, Solve)));
        let solved = [
            ("zs", "solved rows, transposed; fused: then Aqk"),
            ("zs_low", "their low half; fused: then of Aqk"),
        ];
        self.pair(solved, narrow, (Solve, until(Scan, Solve)));
    }

    /// The stage tensors that a scan kernel reads.
    fn tiles(&mut self, common: &ChunkCommon) {
        use Phase::{Scan, Stage};
        let (keys, square) = ((self.chunk, self.pitch_k), (self.chunk, self.pitch_c));
        let decays = if common.per_channel_gate() { common.head_k } else { 1 };
        self.pair([("gk", "GK"), ("gk_low", "low half of GK")], keys, (Stage, Scan));
        self.pair([("gq", "GQ"), ("gq_low", "low half of GQ")], keys, (Stage, Scan));
        self.pair([("a", "A"), ("a_low", "low half of A")], square, (Stage, Scan));
        self.pair([("aqk", "Aqk"), ("aqk_low", "low half of Aqk")], square, (Stage, Scan));
        self.add(("dec", "decay of the chunk"), Element::F32, (1, decays), (Stage, Scan));
    }

    fn decayed_keys(&mut self, common: &ChunkCommon, fused: bool) {
        let first = if fused { Phase::Sweep } else { Phase::Stage };
        let names = [("kt", "Kt"), ("kt_low", "low half of Kt")];
        self.pair(names, (common.head_k, self.pitch_c), (first, Phase::Scan));
    }

    fn state(&mut self, scan: &ScanPart) {
        use Phase::Scan;
        let columns = scan.columns();
        let state = [("s", "copy of the state, transposed"), ("s_low", "its low half")];
        self.pair(state, (columns, self.pitch_k), (Scan, Scan));
        let corrected = [("r", "R, then V~, transposed"), ("r_low", "its low half")];
        self.pair(corrected, (columns, self.pitch_c), (Scan, Scan));
    }
}
