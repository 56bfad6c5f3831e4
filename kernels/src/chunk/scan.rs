//! The scan kernel of chunked prefill: the state through the stage tensors of a sequence's chunks.
//!
//! A workgroup owns columns of V of one value head of one sequence; each of its waves owns some of them, in registers from
//! the first chunk to the last, and shares only the stage tensors with the others. Tensors and the order of all float
//! operations are in `docs/kernels/kda.md`.

use dsl::builder::{BuildError, Carried};
use dsl::ir::{Access, Kernel, Scalar};
use dsl::{Atom, Expr, KernelBuilder, Mask, View, WaveTile};
use specs::{KdaChunkScanSpec, StateLayout};

use super::layout::{HeadRows, Places, Tensor};
use super::operand::HeldOperand;
use super::probe::Altered;
use super::status::Status;
use super::tensors::Tensors;
use super::{CHUNK_ROW, Lds, Operand, Rows, Stage, add_products, dtype};

/// The kernel of a legal spec, grid (value splits, value heads, sequences).
pub(crate) fn build(
    name: &str,
    spec: &KdaChunkScanSpec,
    altered: Altered,
) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.common.target, spec.common.workgroup_size());
    let lds = Lds::declare(&k, &spec.lds_map(), altered);
    let sequence = Sequence::declare(&k);
    let places = Places::declare(&k, &spec.common);
    let stage = stage_in_lds(&k, spec, &lds, "a");
    let tensors = Tensors::declare(&k, spec, &lds, &stage);
    let scan = Scan::declare(&k, spec, &places, (sequence.clone(), stage), altered);
    let status = Status::declare(&k, &spec.common, None);
    if spec.scan.prefetch {
        let first = sequence.chunks[0];
        let ahead = Mask::Where(sequence.has(first)).or_zeros(|| tensors.fetch(first));
        scan.through(&status, ahead, |chunk, ahead| {
            tensors.put(&ahead);
            let next = chunk + 1;
            k.if_else(sequence.has(next), || tensors.fetch(next), || ahead.clone())
        });
    } else {
        scan.through(&status, (), |chunk, ()| tensors.put(&tensors.fetch(chunk)));
    }
    status.report(&k);
    k.finish()
}

/// The stage tensors in LDS, in the order in which lanes hold the other factors of their products; `a` is A's buffer.
pub(crate) fn stage_in_lds<'k>(
    k: &'k KernelBuilder,
    spec: &KdaChunkScanSpec,
    lds: &Lds<'k>,
    a: &str,
) -> Stage<'k> {
    let (keys, tokens) = (atom(k, spec, spec.common.head_k), atom(k, spec, spec.common.chunk));
    let ordered = |name: &str, atom: Atom<'k>| lds.operand(name).each(|view| atom.ordered(view));
    Stage {
        a: ordered(a, tokens),
        gk: ordered("gk", keys),
        gq: ordered("gq", keys),
        aqk: ordered("aqk", tokens),
        kt: ordered("kt", tokens),
        dec: lds.view("dec"),
    }
}

/// The operation for products with `depth` terms a sum.
fn atom<'k>(k: &'k KernelBuilder, spec: &KdaChunkScanSpec, depth: u32) -> Atom<'k> {
    let (common, m) = (&spec.common, spec.scan.scan_atom_m);
    let terms = specs::chunk::atom_k(common.target, m).min(depth);
    k.matrix_atom(dtype(common.accuracy.tile_dtype()), m, terms)
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

    /// Whether the chunk is before the end of them.
    #[track_caller]
    pub(crate) fn has(&self, chunk: Expr<'k>) -> Expr<'k> {
        chunk.lt(self.chunks[1])
    }
}

/// What a chunk finds in the state before it.
struct Read<'k> {
    /// GK S.
    seen: WaveTile<'k>,
    asked: Asked<'k>,
}

/// Sᵀ GQᵀ.
enum Asked<'k> {
    /// Computed.
    Known(WaveTile<'k>),
    /// To be computed from the rounded state.
    Of(HeldOperand<'k>),
}

/// One sequence's state, by columns of V of one value head.
pub(crate) struct Scan<'k, 's> {
    pub k: &'k KernelBuilder,
    pub spec: &'s KdaChunkScanSpec,
    pub sequence: Sequence<'k>,
    /// The stage tensors of the chunk.
    pub stage: Stage<'k>,
    v: HeadRows<'k>,
    o: HeadRows<'k>,
    /// The factor on o.
    scale: Expr<'k>,
    initial: Option<View<'k>>,
    last: Option<View<'k>>,
    /// The wave's first column of V in the head.
    column: Expr<'k>,
    /// Operations whose sums run over K, and over tokens.
    keys: Atom<'k>,
    pub tokens: Atom<'k>,
    altered: Altered,
}

impl<'k, 's> Scan<'k, 's> {
    /// Declares values, outputs and states.
    #[track_caller]
    pub(crate) fn declare(
        k: &'k KernelBuilder,
        spec: &'s KdaChunkScanSpec,
        places: &Places<'k>,
        (sequence, stage): (Sequence<'k>, Stage<'k>),
        altered: Altered,
    ) -> Scan<'k, 's> {
        let (common, part) = (&spec.common, &spec.scan);
        let (head, index) = (k.workgroup_id_y(), k.workgroup_id_z());
        let (heads, elem) = (common.value_heads, dtype(common.dtype));
        let rows = |tensor, name, access| {
            places.tensor(k, (tensor, name), (elem, access), (heads, head), part.head_v)
        };
        let [rows_of_state, width] = match part.state_layout {
            StateLayout::KFirst => [common.head_k, part.head_v],
            StateLayout::VFirst => [part.head_v, common.head_k],
        };
        let state = [None, Some(heads), Some(rows_of_state), Some(width)];
        let v = rows(Tensor::V, "v", Access::ReadOnly);
        let scale = k.scalar("scale", Scalar::F32);
        let initial = part.initial_state.then(|| k.input("h0", Scalar::F32, &state));
        let o = rows(Tensor::O, "o", Access::WriteOnly);
        let last = part.final_state.then(|| k.output("ht", Scalar::F32, &state));
        let of_sequence = |view: View<'k>| view.at((index, head));
        Scan {
            k,
            spec,
            sequence,
            stage,
            v,
            o,
            scale,
            initial: initial.map(of_sequence),
            last: last.map(of_sequence),
            column: k.workgroup_id_x() * part.columns() + k.wave_id() * part.scan_atom_m,
            keys: atom(k, spec, common.head_k),
            tokens: atom(k, spec, common.chunk),
            altered,
        }
    }

    /// The state from the first chunk to the last; `stage` puts a chunk's tensors where they are read, from what it gave
    /// the chunk before.
    #[track_caller]
    pub(crate) fn through<A: Carried<'k>>(
        &self,
        status: &Status<'k>,
        ahead: A,
        stage: impl Fn(Expr<'k>, A) -> A,
    ) {
        let [first, end] = self.sequence.chunks;
        let initial = self.initial_state();
        initial.for_each_vector(|s| status.input(s));
        let carried = ((initial, ahead), status.carried());
        let ((state, _), seen) =
            self.k.for_range(first, end, 1, carried, |chunk, ((state, ahead), seen)| {
                status.resume(&seen);
                let ahead = stage(chunk, ahead);
                let state = if self.altered.drops_scan {
                    self.fold_stage(chunk, state)
                } else {
                    self.chunk(chunk, state, status)
                };
                ((state, ahead), status.carried())
            });
        status.resume(&seen);
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
        let Some(initial) = &self.initial else { return self.keys.zero_tile(head_k, m) };
        self.keys.tile(head_k, m, |row, _| match self.spec.scan.state_layout {
            StateLayout::KFirst => self.keys.load(&initial.window((row, self.column))),
            StateLayout::VFirst => self.keys.load_transposed(&initial.window((self.column, row))),
        })
    }

    /// One chunk: its output, and the state after it.
    fn chunk(&self, chunk: Expr<'k>, state: WaveTile<'k>, status: &Status<'k>) -> WaveTile<'k> {
        let (common, m, stage) = (&self.spec.common, self.spec.scan.scan_atom_m, &self.stage);
        let (depth, elem) = (common.chunk, dtype(common.accuracy.tile_dtype()));
        let tokens = self.tokens;
        let rows = Rows::of(&self.sequence.table, chunk);
        let values = self.values(rows);
        self.k.barrier();

        let Read { seen, asked } = self.read(&state);
        let residual = values.zip(&seen, |v, seen| v - seen);
        let r = HeldOperand::of(&residual, tokens, elem, true);
        let corrected = add_products(tokens.zero_tile(depth, m), &stage.a, &r, depth);
        let u = HeldOperand::of(&corrected, tokens, elem, true);
        let o = self.answer(asked).by(tokens);
        let o = add_products(o, &u, &stage.aqk, depth).map_vectors(|o| o * self.scale);
        self.store(rows, &o);
        let state = self.after(&state, &u);

        values.for_each_vector(|v| status.input(v));
        for checked in [&residual, &corrected] {
            checked.for_each_vector(|x| status.result(x));
        }
        for finite in [&o, &state] {
            finite.for_each_vector(|x| status.finite(x));
        }
        for bounded in [&values, &residual, &corrected, &state] {
            bounded.for_each_vector(|x| status.bounded(x));
        }
        self.k.barrier();
        state
    }

    /// What keys and queries find in the state. Where the rounded state takes twice the registers of the state itself, both
    /// read it a few rows at a time; else queries wait, so that fewer results are alive.
    fn read(&self, state: &WaveTile<'k>) -> Read<'k> {
        let (common, m, stage, keys) =
            (&self.spec.common, self.spec.scan.scan_atom_m, &self.stage, self.keys);
        let (depth, head_k) = (common.chunk, common.head_k);
        let (elem, is_pair) = (dtype(common.accuracy.tile_dtype()), common.accuracy.splits_steps());
        let mut seen = keys.zero_tile(depth, m);
        if !keys.doubles_factors() {
            let s = HeldOperand::of(state, keys, elem, is_pair);
            seen = add_products(seen, &stage.gk, &s, head_k);
            return Read { seen, asked: Asked::Of(s) };
        }
        let mut asked = keys.zero_tile(m, depth);
        for block in 0..head_k / m {
            let s = HeldOperand::of(&state.row_block(block), keys, elem, is_pair);
            let here = |operand: &Operand<'k>| operand.each(|view| view.window([0, block * m]));
            seen = add_products(seen, &here(&stage.gk), &s, m);
            asked = add_products(asked, &s, &here(&stage.gq), m);
        }
        Read { seen, asked: Asked::Known(asked) }
    }

    /// Sᵀ GQᵀ.
    fn answer(&self, asked: Asked<'k>) -> WaveTile<'k> {
        let (common, m) = (&self.spec.common, self.spec.scan.scan_atom_m);
        match asked {
            Asked::Known(answer) => answer,
            Asked::Of(s) => {
                let zeros = self.keys.zero_tile(m, common.chunk);
                add_products(zeros, &s, &self.stage.gq, common.head_k)
            }
        }
    }

    /// The state times the chunk's decays, and what the chunk adds to it: where factors take twice the registers, a few rows
    /// at a time.
    fn after(&self, state: &WaveTile<'k>, u: &HeldOperand<'k>) -> WaveTile<'k> {
        let (depth, m, kt) = (self.spec.common.chunk, self.keys.m(), &self.stage.kt);
        let added = |rows: WaveTile<'k>, kt: &Operand<'k>| {
            add_products(rows.by(self.tokens), kt, u, depth).by(self.keys)
        };
        if !self.keys.doubles_factors() {
            return added(self.decayed(state, 0), kt);
        }
        let block = |block: u32| {
            let rows = self.decayed(&state.row_block(block), block * m);
            added(rows, &kt.each(|view| view.window([block * m, 0])))
        };
        let blocks = (0..self.spec.common.head_k / m).map(block).collect();
        WaveTile::stacked(blocks).unwrap_or_else(|| state.clone())
    }

    /// Rows of the state, from row `first` on, times the chunk's decays.
    fn decayed(&self, state: &WaveTile<'k>, first: u32) -> WaveTile<'k> {
        let decays = self.stage.dec.at(0);
        if !self.spec.common.per_channel_gate() {
            let decay = decays.load(0);
            return state.map_vectors(|s| s * decay);
        }
        let (rows, m) = (state.rows(), self.spec.scan.scan_atom_m);
        let factors =
            self.keys.tile(rows, m, |row, _| self.keys.load_rows(&decays.window(first + row)));
        state.zip(&factors, |s, decay| s * decay)
    }

    /// V of the chunk's rows, `[C, columns]`, zeros in rows that do not exist; a whole chunk asks no row.
    pub(crate) fn values(&self, rows: Rows<'k>) -> WaveTile<'k> {
        let (chunk, atom) = (self.spec.common.chunk, self.tokens);
        let v = self.v.of_chunk(rows, chunk).window((0, self.column));
        let tile = |part: &dyn Fn(u32) -> dsl::Accumulator<'k>| {
            atom.tile(chunk, self.spec.scan.scan_atom_m, |start, _| part(start))
        };
        let whole = || tile(&|start| atom.load(&v.window([start, 0])));
        let tail = || {
            tile(&|start| {
                let load = |row: Expr<'k>, column: Expr<'k>| {
                    rows.or_zeros(row + start as i32, |row| v.load([row, column]))
                };
                atom.fill(load)
            })
        };
        self.k.if_else(rows.valid.eq(chunk as i32), whole, tail)
    }

    /// O of the rows that exist, from its transpose; a whole chunk asks no row.
    pub(crate) fn store(&self, rows: Rows<'k>, o: &WaveTile<'k>) {
        let chunk = self.spec.common.chunk;
        let to = self.o.of_chunk(rows, chunk).window((0, self.column));
        let o = o.map_vectors(|o| o.narrow(to.elem()));
        let is_whole = rows.valid.eq(chunk as i32);
        self.k.if_(is_whole, || {
            o.for_each_run(|values, column, row| to.store((row, column), values));
        });
        self.k.if_(!is_whole, || {
            o.for_each_run(|values, column, row| {
                let exists = (row.0 + row.1 as i32).lt_u(rows.valid);
                self.k.if_(exists, || to.store((row, column), values));
            });
        });
    }
}
