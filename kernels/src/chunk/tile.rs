//! The tile kernel of chunked prefill: the stage tensors of every chunk, chunks in parallel.
//!
//! A workgroup owns one chunk of one value head. Tensors, phases and the order of all float operations are in
//! `docs/kernels/kda.md`.

use dsl::builder::{BuildError, WaveBlocks};
use dsl::ir::{Kernel, Scalar};
use dsl::math::sigmoid;
use dsl::{Expr, KernelBuilder, View};
use specs::KdaTileSpec;
use specs::chunk::{BetaForm, DecayForm};

use super::block::{Block, Inputs};
use super::layout::Places;
use super::probe::{self, Altered};
use super::status::Status;
use super::{CHUNK_ROW, Lds, Operand, Rows, Stage, dtype, stage_shape, sub_chunks};

/// The kernel of a legal spec, grid (chunks, value heads, 1).
pub(crate) fn build(
    name: &str,
    spec: &KdaTileSpec,
    altered: Altered,
) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.common.target, spec.common.workgroup_size());
    let lds = Lds::declare(&k, &spec.lds_map(), altered);
    let table = k.input("chunks", Scalar::I32, &[None, Some(CHUNK_ROW)]);
    let places = Places::declare(&k, &spec.common);
    let inputs = Inputs::declare(&k, spec, &places, k.workgroup_id_y());
    let index = (k.workgroup_id_x(), k.workgroup_id_y());
    let to = outputs(&k, spec, |view| view.at(index));
    let status = Status::declare(&k, &spec.common, Some(&spec.tile));
    let tile = Tile::new(&k, spec, &lds, &inputs, &to, &status, altered);
    let rows = Rows::of(&table, k.workgroup_id_x());
    tile.make(rows, &inputs.fetch(&k, spec, rows));
    if altered.drops_tile {
        probe::keep_lds(&k, &lds, rows, &to);
    }
    status.report(&k);
    k.finish()
}

/// The stage tensors in global memory: `part` of each, declared as `[chunks, value heads, rows, columns]`.
#[track_caller]
pub(crate) fn outputs<'k>(
    k: &'k KernelBuilder,
    spec: &KdaTileSpec,
    part: impl Fn(View<'k>) -> View<'k>,
) -> Stage<'k> {
    let common = &spec.common;
    let tile = dtype(common.accuracy.tile_dtype());
    let output = |name: &str, elem| {
        let [rows, columns] = stage_shape(common, name);
        let shape = [None, Some(common.value_heads), Some(rows), Some(columns)];
        part(k.output(name, elem, &shape))
    };
    let pair = |name: &str| {
        let high = output(name, tile);
        let low = || output(&format!("{name}_low"), tile);
        Operand { high, low: common.accuracy.splits(name).then(low) }
    };
    Stage {
        a: pair("a"),
        gk: pair("gk"),
        gq: pair("gq"),
        aqk: pair("aqk"),
        kt: pair("kt"),
        dec: output("dec", Scalar::F32),
    }
}

/// How chunks of one value head become stage tensors.
pub(crate) struct Tile<'k, 's> {
    pub k: &'k KernelBuilder,
    pub spec: &'s KdaTileSpec,
    pub lds: &'s Lds<'k>,
    pub inputs: &'s Inputs<'k>,
    pub to: &'s Stage<'k>,
    pub status: &'s Status<'k>,
    /// Who owns which keys, queries and gates of a channel.
    pub blocks: WaveBlocks<'k>,
    pub altered: Altered,
}

/// A block's keys and queries in f32, row by row, in vectors of four channels.
pub(crate) struct Keys<'k> {
    pub key: Vec<Expr<'k>>,
    pub query: Vec<Expr<'k>>,
}

impl<'k, 's> Tile<'k, 's> {
    #[track_caller]
    pub(crate) fn new(
        k: &'k KernelBuilder,
        spec: &'s KdaTileSpec,
        lds: &'s Lds<'k>,
        inputs: &'s Inputs<'k>,
        to: &'s Stage<'k>,
        status: &'s Status<'k>,
        altered: Altered,
    ) -> Tile<'k, 's> {
        let blocks = k.wave_blocks(spec.common.chunk, spec.common.head_k);
        Tile { k, spec, lds, inputs, to, status, blocks, altered }
    }

    /// The stage tensors of a chunk from its block. What the last phase writes, and what this one reads of LDS, is other
    /// waves' after a barrier.
    pub(crate) fn make(&self, rows: Rows<'k>, block: &Block<'k>) {
        if self.altered.drops_tile {
            return self.fill_stage(block);
        }
        let k = self.k;
        self.step_sizes(rows, block);
        let keys = self.keys(block);
        self.share_squares(&keys);
        if !self.spec.common.per_channel_gate() {
            self.head_sums(rows, block);
        }
        if self.spec.tile.qk_l2norm || !self.spec.common.per_channel_gate() {
            k.barrier();
        }
        let keys = self.normed(keys);
        for row in keys.key.iter().chain(&keys.query) {
            self.status.row(*row, |largest| self.blocks.group_max_u(largest));
        }
        match self.spec.tile.decay {
            DecayForm::OutsideProduct => self.sweep_by_rows(block, &keys),
            DecayForm::FixedOffset => self.sweep_factors(rows, block, &keys),
            DecayForm::SubChunks => self.sweep_by_channels(rows, block, &keys),
        }
        k.barrier();
        match self.spec.tile.decay {
            DecayForm::SubChunks => self.sub_chunk_products(),
            DecayForm::FixedOffset | DecayForm::OutsideProduct => self.products(),
        }
        if self.solves_what_others_made() {
            k.barrier();
        }
        k.if_(k.wave_id().eq(0), || self.solve());
    }

    /// Whether the first wave's solve reads what other waves made since the last barrier, or writes where they still read:
    /// not when T' is one operation's result, its own, and buffers lie apart.
    fn solves_what_others_made(&self) -> bool {
        let (common, tile) = (&self.spec.common, &self.spec.tile);
        let is_own = match tile.decay {
            DecayForm::SubChunks => sub_chunks::first_wave_ends_keys(common.chunk),
            DecayForm::FixedOffset | DecayForm::OutsideProduct => tile.tile_atom_m == common.chunk,
        };
        !is_own || tile.lds_overlay
    }

    /// β of every row to LDS, by the first wave.
    fn step_sizes(&self, rows: Rows<'k>, block: &Block<'k>) {
        let (k, chunk, given) = (self.k, self.spec.common.chunk, block.beta.widen());
        self.status.input(given);
        let step = match self.spec.tile.beta {
            BetaForm::Given => given,
            BetaForm::Sigmoid => rows.keep(k.thread_id(), sigmoid(given)),
            BetaForm::TwiceSigmoid => rows.keep(k.thread_id(), sigmoid(given) * 2.0),
        };
        let steps = self.lds.view("beta");
        k.if_(k.thread_id().lt_u(chunk), || steps.store((0, k.thread_id()), step));
    }

    fn keys(&self, block: &Block<'k>) -> Keys<'k> {
        let wide = |given: &[Expr<'k>]| -> Vec<Expr<'k>> {
            let wide = given.iter().map(|given| given.widen());
            wide.inspect(|wide| self.status.input(*wide)).collect()
        };
        Keys { key: wide(&block.key), query: wide(&block.q) }
    }
}
