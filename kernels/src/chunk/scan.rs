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
use super::{CHUNK_ROW, Lds, Rows, add_products, dtype};

/// The kernel of a legal spec, grid (value splits, value heads, sequences).
pub fn build(name: &str, spec: &KdaChunkScanSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.common.target, spec.common.workgroup_size());
    Scan::declare(&k, spec).run();
    k.finish()
}

/// One sequence's state, by columns of V of one value head.
struct Scan<'k, 's> {
    k: &'k KernelBuilder,
    spec: &'s KdaChunkScanSpec,
    lds: Lds<'k>,
    table: View<'k>,
    /// The sequence's first chunk in the table, and the end of its chunks.
    chunks: [Expr<'k>; 2],
    tensors: Vec<Tensor<'k>>,
    /// `[tokens, V]` of the value head.
    v: View<'k>,
    o: View<'k>,
    initial: Option<View<'k>>,
    last: Option<View<'k>>,
    /// The wave's first column of V: in the head, and in the workgroup.
    column: Expr<'k>,
    column_here: Expr<'k>,
}

/// A stage tensor of the value head: `[chunks, rows, columns]` in global memory, and its buffer in LDS.
struct Tensor<'k> {
    global: View<'k>,
    lds: View<'k>,
    vectors: TileVectors<'k>,
}

impl<'k, 's> Scan<'k, 's> {
    fn declare(k: &'k KernelBuilder, spec: &'s KdaChunkScanSpec) -> Scan<'k, 's> {
        let (common, part) = (&spec.common, &spec.scan);
        let heads = Some(common.value_heads);
        let (head, sequence) = (k.workgroup_id_y(), k.workgroup_id_z());
        let lds = Lds::declare(k, &spec.lds_map());

        let table = k.input("chunks", Scalar::I32, &[None, Some(CHUNK_ROW)]);
        let sequences = k.input("sequences", Scalar::I32, &[None, Some(2)]);
        let tensors = lds.names().map(|name| Tensor::declare(k, spec, &lds, name, head));
        let tensors = tensors.collect::<Vec<_>>().into_iter().flatten().collect();
        let values = [None, heads, Some(part.head_v)];
        let v = k.input("v", dtype(common.dtype), &values).pick(1, head);
        let state = match part.state_layout {
            StateLayout::KFirst => [None, heads, Some(common.head_k), Some(part.head_v)],
            StateLayout::VFirst => [None, heads, Some(part.head_v), Some(common.head_k)],
        };
        let initial = part.initial_state.then(|| k.input("h0", Scalar::F32, &state));
        let o = k.output("o", dtype(common.dtype), &values).pick(1, head);
        let last = part.final_state.then(|| k.output("ht", Scalar::F32, &state));
        let of_sequence = |view: View<'k>| view.at((sequence, head));

        let first = sequences.load((sequence, 0));
        let column_here = k.wave_id() * part.scan_atom_m;
        Scan {
            k,
            spec,
            lds,
            table,
            chunks: [first, first + sequences.load((sequence, 1))],
            tensors,
            v,
            o,
            initial: initial.map(of_sequence),
            last: last.map(of_sequence),
            column: k.workgroup_id_x() * part.columns() + column_here,
            column_here,
        }
    }

    fn run(&self) {
        let [first, end] = self.chunks;
        let state = self.initial_state();
        let state = if self.spec.scan.prefetch {
            let some = Mask::Where(first.lt(end));
            let ahead = some.or_zeros(|| self.fetch(first));
            let body = |chunk: Expr<'k>, (state, ahead): (WaveTile<'k>, Vec<Expr<'k>>)| {
                self.put(&ahead);
                let ahead = self.fetch((chunk + 1).min(end - 1));
                (self.chunk(chunk, state), ahead)
            };
            self.k.for_range(first, end, 1, (state, ahead), body).0
        } else {
            self.k.for_range(first, end, 1, state, |chunk, state| {
                self.put(&self.fetch(chunk));
                self.chunk(chunk, state)
            })
        };
        if let Some(last) = &self.last {
            match self.spec.scan.state_layout {
                StateLayout::KFirst => state.store(&last.window((0, self.column))),
                StateLayout::VFirst => state.store_transposed(&last.window((self.column, 0))),
            }
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

    /// The work-item's share of a chunk's stage tensors.
    fn fetch(&self, chunk: Expr<'k>) -> Vec<Expr<'k>> {
        let share = |tensor: &Tensor<'k>| tensor.vectors.load(&tensor.global.at(chunk));
        self.tensors.iter().flat_map(share).collect()
    }

    /// Stores what [`Scan::fetch`] gave to LDS.
    fn put(&self, vectors: &[Expr<'k>]) {
        let mut rest = vectors;
        for tensor in &self.tensors {
            let (mine, others) = rest.split_at(tensor.vectors.count());
            tensor.vectors.store(&tensor.lds, mine);
            rest = others;
        }
    }

    /// One chunk: its output, and the state after it.
    fn chunk(&self, chunk: Expr<'k>, state: WaveTile<'k>) -> WaveTile<'k> {
        let (k, common, zero) = (self.k, &self.spec.common, self.k.i32(0));
        let (m, depth) = (self.spec.scan.scan_atom_m, common.chunk);
        let rows = Rows::of(&self.table, chunk);
        let (keys, tokens) = (self.atom(common.head_k), self.atom(depth));
        let mine = |name: &str| self.lds.operand(name).window([self.column_here, zero]);
        let all = |name: &str| self.lds.operand(name);
        let (mirror, corrected) = (mine("s"), mine("r"));

        mirror.store_transposed(&state);
        k.barrier();
        let seen = product(keys, [depth, m], &all("gk"), &mirror, common.head_k);
        let values = self.values(rows, tokens);
        corrected.store_transposed(&values.zip(&seen, |v, seen| v - seen));
        k.barrier();
        let update = product(tokens, [depth, m], &all("a"), &corrected, depth);
        k.barrier();
        corrected.store_transposed(&update);
        k.barrier();
        let o = product(keys, [depth, m], &all("gq"), &mirror, common.head_k).by(tokens);
        self.store(rows, &add_products(o, &all("aqk"), &corrected, depth));
        let decays = self.lds.view("dec");
        let decay = |row| {
            if common.per_channel_gate() { decays.load((0, row)) } else { decays.load((0, 0)) }
        };
        let state = state.map(|s, row, _| s * decay(row)).by(tokens);
        let state = add_products(state, &all("kt"), &corrected, depth).by(keys);
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

    /// O of the rows that exist.
    fn store(&self, rows: Rows<'k>, o: &WaveTile<'k>) {
        let to = self.o.window((rows.first, self.column)).first_rows(self.spec.common.chunk);
        o.for_each(|value, row, column| {
            self.k.if_(row.lt_u(rows.valid), || to.store([row, column], value));
        });
    }

    /// The operation for products of tiles with `depth` terms a sum.
    fn atom(&self, depth: u32) -> Atom<'k> {
        let (common, m) = (&self.spec.common, self.spec.scan.scan_atom_m);
        let k = specs::chunk::atom_k(common.target, m).min(depth);
        self.k.matrix_atom(dtype(common.accuracy.tile_dtype()), m, k)
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
