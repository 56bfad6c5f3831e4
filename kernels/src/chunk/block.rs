//! What a work-item loads of a chunk: its block of keys, queries and gates, and its row's numbers.

use dsl::builder::Carried;
use dsl::ir::Access;
use dsl::{Expr, KernelBuilder, Mask};
use specs::{HeadMap, KdaTileSpec};

use super::gates::ChunkGates;
use super::layout::{HeadRows, Places, Tensor};
use super::{Rows, dtype};

/// The inputs of one value head.
pub(crate) struct Inputs<'k> {
    q: HeadRows<'k>,
    key: HeadRows<'k>,
    beta: HeadRows<'k>,
    pub gates: ChunkGates<'k>,
}

/// A block of a chunk as it lies in memory, zeros in rows that do not exist.
#[derive(Clone)]
pub(crate) struct Block<'k> {
    /// Vectors of four channels, row by row.
    pub key: Vec<Expr<'k>>,
    pub q: Vec<Expr<'k>>,
    /// With a gate a channel: likewise. With a gate a head: that of the work-item's row.
    pub gates: Vec<Expr<'k>>,
    /// β of the work-item's row.
    pub beta: Expr<'k>,
}

impl<'k> Inputs<'k> {
    /// Declares the parameters.
    #[track_caller]
    pub(crate) fn declare(
        k: &'k KernelBuilder,
        spec: &KdaTileSpec,
        places: &Places<'k>,
        head: Expr<'k>,
    ) -> Inputs<'k> {
        let (common, part) = (&spec.common, &spec.tile);
        let heads = common.value_heads;
        let key_head = match part.head_map {
            HeadMap::Grouped => head.div_u(heads / part.key_heads),
            HeadMap::Tiled => head.rem_u(part.key_heads),
        };
        let access = (dtype(common.dtype), Access::ReadOnly);
        let rows = |tensor, name| {
            places.tensor(k, (tensor, name), access, (part.key_heads, key_head), common.head_k)
        };
        let (q, key) = (rows(Tensor::Q, "q"), rows(Tensor::K, "k"));
        let access = (dtype(part.beta_dtype), Access::ReadOnly);
        let beta = places.tensor(k, (Tensor::Beta, "beta"), access, (heads, head), 1);
        Inputs { q, key, beta, gates: ChunkGates::declare(k, spec, places, head) }
    }

    /// The work-item's block of a chunk; a whole chunk asks no row whether it exists.
    #[track_caller]
    pub(crate) fn fetch(
        &self,
        k: &'k KernelBuilder,
        spec: &KdaTileSpec,
        rows: Rows<'k>,
    ) -> Block<'k> {
        let is_whole = rows.valid.eq(spec.common.chunk as i32);
        k.if_else(
            is_whole,
            || self.load(k, spec, rows, None),
            || self.load(k, spec, rows, Some(rows)),
        )
    }

    fn load(
        &self,
        k: &'k KernelBuilder,
        spec: &KdaTileSpec,
        rows: Rows<'k>,
        tail: Option<Rows<'k>>,
    ) -> Block<'k> {
        let common = &spec.common;
        let blocks = k.wave_blocks(common.chunk, common.head_k);
        let (first, column) = (blocks.first_row(), blocks.column());
        let vectors = |from: &HeadRows<'k>| {
            let view = from.of_chunk(rows, common.chunk);
            let from_here = view.window((first, 0));
            let load = |row: u32| match tail {
                None => from_here.load_stored((row, column), 4),
                Some(rows) => {
                    rows.or_zeros(first + row as i32, |row| view.load_stored([row, column], 4))
                }
            };
            (0..blocks.rows()).map(load).collect::<Vec<_>>()
        };
        let of_row = |from: &HeadRows<'k>| {
            let view = from.of_chunk(rows, common.chunk);
            let row = k.thread_id();
            let load = |row: Expr<'k>| view.load_stored((row, 0), 1);
            Mask::Where(row.lt_u(common.chunk)).or_zeros(|| match tail {
                None => load(row),
                Some(rows) => rows.or_zeros(row, load),
            })
        };
        let gates = if common.per_channel_gate() {
            vectors(&self.gates.given)
        } else {
            vec![of_row(&self.gates.given)]
        };
        Block { key: vectors(&self.key), q: vectors(&self.q), gates, beta: of_row(&self.beta) }
    }
}

impl<'k> Carried<'k> for Block<'k> {
    fn values(&self) -> Vec<Expr<'k>> {
        [self.key.values(), self.q.values(), self.gates.values(), vec![self.beta]].concat()
    }

    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> Block<'k> {
        Block {
            key: self.key.with_values(values),
            q: self.q.with_values(values),
            gates: self.gates.with_values(values),
            beta: self.beta.with_values(values),
        }
    }
}
