//! The scan kernel of chunked prefill: the state through the stage tensors of a sequence's chunks.
//!
//! A workgroup owns columns of V of one value head of one sequence; each of its waves owns some of them and shares only
//! the stage tensors with the others. Tensors and the order of all float operations are in `docs/kernels/kda.md`.

use dsl::builder::BuildError;
use dsl::builder::TileVectors;
use dsl::ir::{Kernel, Scalar};
use dsl::{Atom, Expr, KernelBuilder, Mask, View, WaveTile};
use specs::{KdaChunkScanSpec, StateLayout};

use super::operand::product;
use super::{CHUNK_ROW, Lds, Rows, Stage, add_products, dtype};

/// The kernel of a legal spec, grid (value splits, value heads, sequences).
pub fn build(name: &str, spec: &KdaChunkScanSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.common.target, spec.common.workgroup_size());
    let lds = Lds::declare(&k, &spec.lds_map());
    let sequence = Sequence::declare(&k);
    let tensors = Tensors::declare(&k, spec, &lds);
    let [first, end] = sequence.chunks;
    let scan = Scan::declare(&k, spec, &lds, sequence, stage_in_lds(&lds));
    if spec.scan.prefetch {
        let some = Mask::Where(first.lt(end));
        let ahead = some.or_zeros(|| tensors.fetch(first));
        let carried = (scan.initial_state(), ahead);
        let (state, _) = k.for_range(first, end, 1, carried, |chunk, (state, ahead)| {
            tensors.put(&ahead);
            let ahead = tensors.fetch((chunk + 1).min(end - 1));
            (scan.chunk(chunk, state), ahead)
        });
        scan.finish(&state);
    } else {
        scan.through(|chunk| tensors.put(&tensors.fetch(chunk)));
    }
    k.finish()
}

fn stage_in_lds<'k>(lds: &Lds<'k>) -> Stage<'k> {
    let [a, gk, gq, aqk, kt] = ["a", "gk", "gq", "aqk", "kt"].map(|name| lds.operand(name));
    Stage { a, gk, gq, aqk, kt, dec: lds.view("dec") }
}

/// The chunks of the workgroup's sequence.
#[derive(Clone)]
pub(crate) struct Sequence<'k> {
    /// The chunks of all sequences.
    pub table: View<'k>,
    /// The sequence's first chunk in the table, and the end of its chunks.
    pub chunks: [Expr<'k>; 2],
}

impl<'k> Sequence<'k> {
    /// Declares the tables.
    #[track_caller]
    pub(crate) fn declare(k: &'k KernelBuilder) -> Sequence<'k> {
        let table = k.input("chunks", Scalar::I32, &[None, Some(CHUNK_ROW)]);
        let sequences = k.input("sequences", Scalar::I32, &[None, Some(2)]);
        let row = sequences.at(k.workgroup_id_z());
        let first = row.load(0);
        Sequence { table, chunks: [first, first + row.load(1)] }
    }
}

/// One sequence's state, by columns of V of one value head.
pub(crate) struct Scan<'k, 's> {
    k: &'k KernelBuilder,
    spec: &'s KdaChunkScanSpec,
    lds: &'s Lds<'k>,
    sequence: Sequence<'k>,
    /// The stage tensors of the chunk.
    stage: Stage<'k>,
    /// `[tokens, V]` of the value head.
    v: View<'k>,
    o: View<'k>,
    initial: Option<View<'k>>,
    last: Option<View<'k>>,
    /// The wave's first column of V: in the head, and in the workgroup.
    column: Expr<'k>,
    column_here: Expr<'k>,
}

impl<'k, 's> Scan<'k, 's> {
    /// Declares values, outputs and states.
    #[track_caller]
    pub(crate) fn declare(
        k: &'k KernelBuilder,
        spec: &'s KdaChunkScanSpec,
        lds: &'s Lds<'k>,
        sequence: Sequence<'k>,
        stage: Stage<'k>,
    ) -> Scan<'k, 's> {
        let (common, part) = (&spec.common, &spec.scan);
        let heads = Some(common.value_heads);
        let (head, index) = (k.workgroup_id_y(), k.workgroup_id_z());
        let values = [None, heads, Some(part.head_v)];
        let v = k.input("v", dtype(common.dtype), &values).pick(1, head);
        let state = match part.state_layout {
            StateLayout::KFirst => [None, heads, Some(common.head_k), Some(part.head_v)],
            StateLayout::VFirst => [None, heads, Some(part.head_v), Some(common.head_k)],
        };
        let initial = part.initial_state.then(|| k.input("h0", Scalar::F32, &state));
        let o = k.output("o", dtype(common.dtype), &values).pick(1, head);
        let last = part.final_state.then(|| k.output("ht", Scalar::F32, &state));
        let of_sequence = |view: View<'k>| view.at((index, head));
        let column_here = k.wave_id() * part.scan_atom_m;
        Scan {
            k,
            spec,
            lds,
            sequence,
            stage,
            v,
            o,
            initial: initial.map(of_sequence),
            last: last.map(of_sequence),
            column: k.workgroup_id_x() * part.columns() + column_here,
            column_here,
        }
    }

    /// The state from the first chunk to the last; `stage` puts a chunk's tensors where they are read.
    #[track_caller]
    pub(crate) fn through(&self, stage: impl Fn(Expr<'k>)) {
        let [first, end] = self.sequence.chunks;
        let state = self.k.for_range(first, end, 1, self.initial_state(), |chunk, state| {
            stage(chunk);
            self.chunk(chunk, state)
        });
        self.finish(&state);
    }

    /// Stores the last state.
    fn finish(&self, state: &WaveTile<'k>) {
        let Some(last) = &self.last else { return };
        match self.spec.scan.state_layout {
            StateLayout::KFirst => state.store(&last.window((0, self.column))),
            StateLayout::VFirst => state.store_transposed(&last.window((self.column, 0))),
        }
    }

    /// S of the wave's columns, `[K, columns]`.
    fn initial_state(&self) -> WaveTile<'k> {
        let (m, head_k) = (self.spec.scan.scan_atom_m, self.spec.common.head_k);
        let atom = self.atom(head_k);
        let Some(initial) = &self.initial else { return atom.zero_tile(head_k, m) };
        atom.tile(head_k, m, |row, _| match self.spec.scan.state_layout {
            StateLayout::KFirst => atom.load(&initial.window((row, self.column))),
            StateLayout::VFirst => atom.load_transposed(&initial.window((self.column, row))),
        })
    }

    /// One chunk: its output, and the state after it.
    fn chunk(&self, chunk: Expr<'k>, state: WaveTile<'k>) -> WaveTile<'k> {
        let (k, common, zero) = (self.k, &self.spec.common, self.k.i32(0));
        let (m, depth) = (self.spec.scan.scan_atom_m, common.chunk);
        let rows = Rows::of(&self.sequence.table, chunk);
        let (keys, tokens) = (self.atom(common.head_k), self.atom(depth));
        let mine = |name: &str| self.lds.operand(name).window([self.column_here, zero]);
        let stage = &self.stage;
        let (mirror, corrected) = (mine("s"), mine("r"));

        mirror.store_transposed(&state);
        k.barrier();
        let seen = product(keys, [depth, m], &stage.gk, &mirror, common.head_k);
        let values = self.values(rows, tokens);
        corrected.store_transposed(&values.zip(&seen, |v, seen| v - seen));
        k.barrier();
        let update = product(tokens, [depth, m], &stage.a, &corrected, depth);
        k.barrier();
        corrected.store_transposed(&update);
        k.barrier();
        let o = product(keys, [depth, m], &stage.gq, &mirror, common.head_k).by(tokens);
        self.store(rows, &add_products(o, &stage.aqk, &corrected, depth));
        let decay = |row| {
            if common.per_channel_gate() {
                stage.dec.load((0, row))
            } else {
                stage.dec.load((0, 0))
            }
        };
        let state = state.map(|s, row, _| s * decay(row)).by(tokens);
        let state = add_products(state, &stage.kt, &corrected, depth).by(keys);
        k.barrier();
        state
    }

    /// V of the chunk's rows, `[C, columns]`, zeros in rows that do not exist.
    fn values(&self, rows: Rows<'k>, atom: Atom<'k>) -> WaveTile<'k> {
        let chunk = self.spec.common.chunk;
        let v = self.v.window((rows.first, self.column)).first_rows(chunk);
        atom.tile(chunk, self.spec.scan.scan_atom_m, |start, _| {
            atom.fill(|row, column| {
                let row = if start == 0 { row } else { row + start };
                rows.or_zeros(row, |row| v.load([row, column]))
            })
        })
    }

    /// O of the rows that exist; a whole chunk asks no row.
    fn store(&self, rows: Rows<'k>, o: &WaveTile<'k>) {
        let to = self.o.window((rows.first, self.column)).first_rows(self.spec.common.chunk);
        let chunk = self.spec.common.chunk as i32;
        self.k.if_(rows.valid.eq(chunk), || {
            o.for_each(|value, row, column| to.store([row, column], value));
        });
        self.k.if_(rows.valid.ne(chunk), || {
            o.for_each(|value, row, column| {
                self.k.if_(row.lt_u(rows.valid), || to.store([row, column], value));
            });
        });
    }

    /// The operation for products of tiles with `depth` terms a sum.
    fn atom(&self, depth: u32) -> Atom<'k> {
        let (common, m) = (&self.spec.common, self.spec.scan.scan_atom_m);
        let k = specs::chunk::atom_k(common.target, m).min(depth);
        self.k.matrix_atom(dtype(common.accuracy.tile_dtype()), m, k)
    }
}

/// The stage tensors of the value head.
struct Tensors<'k>(Vec<Tensor<'k>>);

/// A stage tensor: `[chunks, rows, columns]` in global memory, and its buffer in LDS.
struct Tensor<'k> {
    global: View<'k>,
    lds: View<'k>,
    vectors: TileVectors<'k>,
}

impl<'k> Tensors<'k> {
    #[track_caller]
    fn declare(k: &'k KernelBuilder, spec: &KdaChunkScanSpec, lds: &Lds<'k>) -> Tensors<'k> {
        let head = k.workgroup_id_y();
        Tensors(lds.names().filter_map(|name| Tensor::declare(k, spec, lds, name, head)).collect())
    }

    /// The work-item's share of a chunk's stage tensors.
    fn fetch(&self, chunk: Expr<'k>) -> Vec<Expr<'k>> {
        let share = |tensor: &Tensor<'k>| tensor.vectors.load(&tensor.global.at(chunk));
        self.0.iter().flat_map(share).collect()
    }

    /// Stores what [`Tensors::fetch`] gave to LDS.
    fn put(&self, vectors: &[Expr<'k>]) {
        let mut rest = vectors;
        for tensor in &self.0 {
            let (mine, others) = rest.split_at(tensor.vectors.count());
            tensor.vectors.store(&tensor.lds, mine);
            rest = others;
        }
    }
}

impl<'k> Tensor<'k> {
    /// The stage tensor behind a buffer of LDS; the state's and the residual's buffers have none.
    fn declare(
        k: &'k KernelBuilder,
        spec: &KdaChunkScanSpec,
        lds: &Lds<'k>,
        name: &str,
        head: Expr<'k>,
    ) -> Option<Tensor<'k>> {
        let common = &spec.common;
        let (chunk, head_k) = (common.chunk, common.head_k);
        let channels = if common.per_channel_gate() { head_k } else { 1 };
        let [rows, columns] = match name {
            "gk" | "gk_low" | "gq" | "gq_low" => [chunk, head_k],
            "a" | "a_low" | "aqk" | "aqk_low" => [chunk, chunk],
            "kt" | "kt_low" => [head_k, chunk],
            "dec" => [1, channels],
            _ => return None,
        };
        let lds = lds.view(name);
        let shape = [None, Some(common.value_heads), Some(rows), Some(columns)];
        let global = k.input(name, lds.elem(), &shape).pick(1, head);
        let lanes = (16 / lds.elem().size_bytes()).min(columns) as u8;
        Some(Tensor { global, lds, vectors: k.tile_vectors(rows, columns, lanes) })
    }
}
