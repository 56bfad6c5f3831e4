//! Probes: kernels of which a phase has lost its arithmetic, or that occupy more LDS.
//!
//! A phase without arithmetic still loads what it loaded and stores what it stored: every element that it stores is one
//! number that depends on all that it loaded. So no compiler can drop the loads, nor what makes them worth loading.

use dsl::builder::{BuildError, Carried};
use dsl::ir::{Kernel, Scalar};
use dsl::{Expr, KernelBuilder, Mask, WaveTile};
use specs::chunk::ChunkCommon;
use specs::{ChunkSpec, KdaTileSpec, Probe, Probed};

use super::block::{Block, Inputs};
use super::layout::Places;
use super::scan::{Scan, Sequence};
use super::status::Status;
use super::tile::{self, Tile};
use super::{Lds, Operand, Rows, Stage, fused, scan, stage_shape};

/// What a kernel has less, or more, than its spec says.
#[derive(Clone, Copy, Default)]
pub(crate) struct Altered {
    /// The tile phase has no arithmetic.
    pub drops_tile: bool,
    /// The scan phase has none.
    pub drops_scan: bool,
    /// Bytes of LDS a workgroup, when they are more than the map's.
    pub lds_bytes: Option<u64>,
}

/// The kernel of a probe.
pub fn build(probed: &Probed) -> Result<Kernel, Vec<BuildError>> {
    let (name, probe) = (probed.name(), probed.probe());
    let altered = Altered {
        drops_tile: probe == Probe::DropTile,
        drops_scan: probe == Probe::DropScan,
        lds_bytes: (probed.ballast_bytes() > 0).then(|| probed.lds_bytes()),
    };
    match (probed.left(), probe) {
        (ChunkSpec::Tile(spec), Probe::TileLoop) => tile_loop(&name, &spec),
        (ChunkSpec::Tile(spec), _) => tile::build(&name, &spec, altered),
        (ChunkSpec::Scan(spec), _) => scan::build(&name, &spec, altered),
        (ChunkSpec::Fused(spec), _) => fused::build(&name, &spec, altered),
    }
}

/// Tiles alone, the chunks of a sequence one after the other, the next one's inputs loaded ahead: grid (1, value heads,
/// sequences).
fn tile_loop(name: &str, spec: &KdaTileSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.common.target, spec.common.workgroup_size());
    let lds = Lds::declare(&k, &spec.lds_map(), Altered::default());
    let sequence = Sequence::declare(&k);
    let places = Places::declare(&k, &spec.common);
    let inputs = Inputs::declare(&k, spec, &places, k.workgroup_id_y());
    let outputs = tile::outputs(&k, spec, |view| view);
    let status = Status::declare(&k, &spec.common, Some(&spec.tile));
    let rows = |chunk| Rows::of(&sequence.table, chunk);
    let fetch = |chunk| inputs.fetch(&k, spec, rows(chunk));
    let [first, end] = sequence.chunks;
    let ahead = Mask::Where(sequence.has(first)).or_zeros(|| fetch(first));
    let carried = (ahead, status.carried());
    let (_, seen) = k.for_range(first, end, 1, carried, |chunk, (ahead, seen)| {
        status.resume(&seen);
        let to = outputs.at(chunk, k.workgroup_id_y());
        Tile::new(&k, spec, &lds, &inputs, &to, &status, Altered::default())
            .make(rows(chunk), &ahead);
        // The next chunk's tiles take the place of those that the first wave still solves.
        k.barrier();
        let next = chunk + 1;
        let ahead = k.if_else(sequence.has(next), || fetch(next), || ahead.clone());
        (ahead, status.carried())
    });
    status.resume(&seen);
    status.report(&k);
    k.finish()
}

/// Declares LDS that nothing uses, so that a workgroup has `total` bytes of it.
#[track_caller]
pub(crate) fn ballast(k: &KernelBuilder, map_bytes: u64, total: u64) {
    let start = map_bytes.next_multiple_of(specs::lds_map::LDS_ALIGN_BYTES);
    k.lds("ballast", Scalar::I32, &[(total.saturating_sub(start) / 4) as u32]);
}

/// Uses LDS of a tile phase without arithmetic where no launch comes, for no chunk has fewer than no rows: a compiler that
/// saw it unused would take it away, and with it the limit on resident workgroups.
#[track_caller]
pub(crate) fn keep_lds<'k>(k: &'k KernelBuilder, lds: &Lds<'k>, rows: Rows<'k>, to: &Stage<'k>) {
    let steps = lds.view("beta");
    k.if_(rows.valid.lt(0), || {
        steps.store((0, k.thread_id()), k.thread_id().unsigned_to_f32());
        to.dec.store((0, 0), steps.load((0, rows.first)));
    });
}

impl<'k> Tile<'k, '_> {
    /// The tile phase without arithmetic: every element of the stage tensors is the sum of what the work-item loaded.
    pub(crate) fn fill_stage(&self, block: &Block<'k>) {
        let (common, lanes) = (&self.spec.common, block.gates[0].ty().lanes());
        let channel = if common.per_channel_gate() { self.blocks.column() } else { self.k.i32(0) };
        let bias = self.inputs.gates.bias(channel, lanes);
        let number = sum(self.k, block.values().into_iter().chain(bias));
        self.to.for_each(common, |view, [rows, columns]| {
            let lanes = (16 / view.elem().size_bytes()).min(columns) as u8;
            let vector = number.narrow(view.elem()).splat(lanes);
            let vectors = self.k.tile_vectors(rows, columns, lanes);
            vectors.for_each(|row, column| view.store([row, column], vector));
        });
    }
}

impl<'k> Scan<'k, '_> {
    /// A chunk without its products: every element of O is the sum of the lane's values and of one element of every stage
    /// tensor. The state stays as it is.
    pub(crate) fn fold_stage(&self, chunk: Expr<'k>, state: WaveTile<'k>) -> WaveTile<'k> {
        let (k, common) = (self.k, &self.spec.common);
        let rows = Rows::of(&self.sequence.table, chunk);
        let mut loaded = self.values(rows).values();
        k.barrier();
        self.stage.for_each(common, |view, [rows, _]| {
            loaded.push(view.load((k.thread_id().rem_u(rows), 0)));
        });
        let number = sum(k, loaded);
        let o = self.tokens.zero_tile(self.spec.scan.scan_atom_m, common.chunk);
        self.store(rows, &o.map_vectors(|o| number.splat(o.ty().lanes())));
        k.barrier();
        state
    }
}

impl<'k> Stage<'k> {
    /// Of one chunk and value head, from tensors of all.
    fn at(&self, chunk: Expr<'k>, head: Expr<'k>) -> Stage<'k> {
        let of = |operand: &Operand<'k>| operand.each(|view| view.at((chunk, head)));
        Stage {
            a: of(&self.a),
            gk: of(&self.gk),
            gq: of(&self.gq),
            aqk: of(&self.aqk),
            kt: of(&self.kt),
            dec: self.dec.at((chunk, head)),
        }
    }

    /// Calls `visit` with every tensor, halves apart, and its rows and columns.
    fn for_each(&self, common: &ChunkCommon, mut visit: impl FnMut(&dsl::View<'k>, [u32; 2])) {
        for (name, operand) in self.operands() {
            let shape = stage_shape(common, name);
            std::iter::once(&operand.high).chain(&operand.low).for_each(|view| visit(view, shape));
        }
        visit(&self.dec, stage_shape(common, "dec"));
    }
}

/// The sum of all elements, in f32.
fn sum<'k>(k: &'k KernelBuilder, vectors: impl IntoIterator<Item = Expr<'k>>) -> Expr<'k> {
    let elements = vectors.into_iter().flat_map(|vector| vector.widen().elements());
    elements.reduce(|sum, x| sum + x).unwrap_or(k.f32(0.0))
}
