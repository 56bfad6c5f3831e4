//! The tile kernel of chunked prefill: the stage tensors of every chunk, chunks in parallel.
//!
//! A workgroup owns one chunk of one value head. Tensors, phases and the order of all float operations are in
//! `docs/kernels/kda.md`.

use dsl::builder::BuildError;
use dsl::ir::{Kernel, Scalar};
use dsl::math::{LOG2_E, sigmoid};
use dsl::{Expr, KernelBuilder};
use specs::KdaTileSpec;
use specs::chunk::{BetaForm, DecayForm};

use super::inputs::Inputs;
use super::operand::product;
use super::{CHUNK_ROW, L2_NORM_EPSILON, Lds, Operand, Rows, Stage, dtype};

/// The kernel of a legal spec, grid (chunks, value heads, 1).
pub fn build(name: &str, spec: &KdaTileSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.common.target, spec.common.workgroup_size());
    let lds = Lds::declare(&k, &spec.lds_map());
    let table = k.input("chunks", Scalar::I32, &[None, Some(CHUNK_ROW)]);
    let inputs = Inputs::declare(&k, spec, k.workgroup_id_y());
    let rows = Rows::of(&table, k.workgroup_id_x());
    let inputs = inputs.of_chunk(rows, spec.common.chunk);
    let tile = Tile { k: &k, spec, lds: &lds, rows, inputs, to: &outputs(&k, spec) };
    tile.stage();
    k.barrier();
    tile.norms();
    tile.cumulate();
    k.barrier();
    tile.sweep();
    tile.decayed_keys();
    k.barrier();
    tile.products();
    k.barrier();
    tile.solve();
    k.barrier();
    tile.store();
    k.finish()
}

/// The stage tensors of the workgroup's chunk in global memory.
#[track_caller]
fn outputs<'k>(k: &'k KernelBuilder, spec: &KdaTileSpec) -> Stage<'k> {
    let common = &spec.common;
    let (chunk, head_k, tile) = (common.chunk, common.head_k, dtype(common.accuracy.tile_dtype()));
    let index = (k.workgroup_id_x(), k.workgroup_id_y());
    let output = |name: &str, elem, [rows, columns]: [u32; 2]| {
        k.output(name, elem, &[None, Some(common.value_heads), Some(rows), Some(columns)]).at(index)
    };
    let pair = |name: &str, shape| {
        let high = output(name, tile, shape);
        let low = || output(&format!("{name}_low"), tile, shape);
        Operand { high, low: common.accuracy.splits_tiles().then(low) }
    };
    Stage {
        a: pair("a", [chunk, chunk]),
        gk: pair("gk", [chunk, head_k]),
        gq: pair("gq", [chunk, head_k]),
        aqk: pair("aqk", [chunk, chunk]),
        kt: pair("kt", [head_k, chunk]),
        dec: output("dec", Scalar::F32, [1, channels(spec)]),
    }
}

/// Gates of a row.
fn channels(spec: &KdaTileSpec) -> u32 {
    if spec.common.per_channel_gate() { spec.common.head_k } else { 1 }
}

/// One chunk of one value head.
pub(crate) struct Tile<'k, 's> {
    pub k: &'k KernelBuilder,
    pub spec: &'s KdaTileSpec,
    pub lds: &'s Lds<'k>,
    pub rows: Rows<'k>,
    /// Of the chunk.
    pub inputs: Inputs<'k>,
    pub to: &'s Stage<'k>,
}

/// The phases, each between barriers.
impl<'k> Tile<'k, '_> {
    /// Inputs to LDS, zeros in rows that do not exist: a zero gate leaves the sums where the last row put them.
    pub(crate) fn stage(&self) {
        let common = &self.spec.common;
        for (name, from) in [("q", &self.inputs.q), ("k", &self.inputs.key)] {
            let to = self.lds.view(name);
            self.k.tile_vectors(common.chunk, common.head_k, 8).for_each(|row, column| {
                let keys = self.rows.or_zeros(row, |row| from.load_stored([row, column], 8));
                to.store([row, column], keys);
            });
        }
        self.stage_gates();
        let steps = self.lds.view("beta");
        let row = self.k.thread_id();
        self.k.if_(row.lt_u(common.chunk), || {
            let step = |row| self.step_size(self.inputs.beta.load(row));
            steps.store((0, row), self.rows.or_zeros(row, step));
        });
    }

    fn stage_gates(&self) {
        let (common, gates) = (&self.spec.common, self.lds.view("g"));
        if common.per_channel_gate() {
            self.k.tile_vectors(common.chunk, common.head_k, 4).for_each(|row, column| {
                let g = self.rows.or_zeros(row, |row| self.inputs.gates.log_decay(row, column, 4));
                gates.store([row, column], g);
            });
            return;
        }
        let row = self.k.thread_id();
        self.k.if_(row.lt_u(common.chunk), || {
            let channel = self.k.i32(0);
            let g = self.rows.or_zeros(row, |row| self.inputs.gates.log_decay(row, channel, 1));
            gates.store((0, row), g);
        });
    }

    fn step_size(&self, given: Expr<'k>) -> Expr<'k> {
        match self.spec.tile.beta {
            BetaForm::Given => given,
            BetaForm::Sigmoid => sigmoid(given),
            BetaForm::TwiceSigmoid => sigmoid(given) * 2.0,
        }
    }

    /// Inverse lengths of keys and queries to LDS, where the spec asks for them: a row's work-item adds up its squares.
    pub(crate) fn norms(&self) {
        let (k, common, row) = (self.k, &self.spec.common, self.k.thread_id());
        if !self.spec.tile.qk_l2norm {
            return;
        }
        k.if_(row.lt_u(common.chunk), || {
            for name in ["k", "q"] {
                let mut squares = k.f32(0.0);
                for x in self.lds.view(name).load_run((row, 0), common.head_k) {
                    squares = x.fma(x, squares);
                }
                let lengths = self.lds.view(&format!("{name}_norm"));
                lengths.store((0, row), (squares + L2_NORM_EPSILON).rsq());
            }
        });
    }

    /// What a row of keys (`"k"`) or queries (`"q"`) is multiplied by, where the spec norms them.
    fn norm(&self, name: &str, row: Expr<'k>) -> Option<Expr<'k>> {
        self.lds.find(&format!("{name}_norm")).map(|lengths| lengths.load((0, row)))
    }

    /// A row's keys, normed where the spec asks for it.
    fn normed(&self, keys: Expr<'k>, row: Expr<'k>) -> Expr<'k> {
        self.norm("k", row).map_or(keys, |factor| keys * factor)
    }

    /// Gates to their sums over the rows so far, in log2.
    pub(crate) fn cumulate(&self) {
        if self.spec.common.per_channel_gate() {
            self.cumulate_channels()
        } else {
            self.cumulate_head()
        }
    }

    /// Groups of work-items sum their share of the rows of every channel, then add the shares before theirs.
    fn cumulate_channels(&self) {
        let (k, common) = (self.k, &self.spec.common);
        let (gates, channels) = (self.lds.view("g"), common.head_k);
        let groups = common.workgroup_size() / channels;
        let share = common.chunk / groups;
        let (group, channel) = (k.thread_id().div_u(channels), k.thread_id().rem_u(channels));
        let first = group * share;

        let mut sums = Vec::with_capacity(share as usize);
        let mut sum = k.f32(0.0);
        for row in 0..share {
            sum = sum + gates.load(((first, row), channel));
            sums.push(sum);
        }
        gates.store(((first, share - 1), channel), sum);
        k.barrier();
        let mut before = k.f32(0.0);
        for earlier in 0..groups - 1 {
            let total = gates.load(((k.i32(0), earlier * share + share - 1), channel));
            before = before + group.lt_u(earlier + 1).select(k.f32(0.0), total);
        }
        k.barrier();
        for (row, sum) in (0..share).zip(&sums) {
            gates.store(((first, row), channel), (before + *sum) * LOG2_E);
        }
        k.if_(group.eq(groups as i32 - 1), || {
            self.lds.view("gl").store((0, channel), (before + sum) * LOG2_E);
        });
    }

    /// One gate a row: every row's work-item adds up the rows before it.
    fn cumulate_head(&self) {
        let (k, chunk) = (self.k, self.spec.common.chunk);
        let (gates, row) = (self.lds.view("g"), k.thread_id());
        let mut sum = k.f32(0.0);
        for (earlier, gate) in (0..chunk).zip(gates.load_run((0, 0), chunk)) {
            sum = sum + row.lt_u(earlier).select(k.f32(0.0), gate);
        }
        let sum = sum * LOG2_E;
        k.barrier();
        k.if_(row.lt_u(chunk), || gates.store((0, row), sum));
        k.if_(row.eq(chunk as i32 - 1), || {
            self.lds.view("gl").store((0, 0), sum);
        });
    }

    /// Decayed keys and queries and the chunk's decays to the stage, decay factors to LDS.
    pub(crate) fn sweep(&self) {
        let (common, zero) = (&self.spec.common, self.k.i32(0));
        let (keys, queries) = (self.lds.view("k"), self.lds.view("q"));
        let offset = self.spec.anchor_offset_log2();
        let factors = offset.map(|_| ["x", "y", "xq"].map(|name| self.lds.operand(name)));
        self.k.tile_vectors(common.chunk, common.head_k, 8).for_each(|row, column| {
            let key = self.normed(keys.load_vector([row, column], 8), row);
            let scale =
                self.norm("q", row).map_or(self.inputs.scale, |factor| factor * self.inputs.scale);
            let query = queries.load_vector([row, column], 8) * scale;
            let sum = self.sums(row, column);
            let decay = sum.exp2();
            self.to.gk.store(row, column, key * decay);
            self.to.gq.store(row, column, query * decay);
            if let (Some([x, y, xq]), Some(offset)) = (&factors, offset) {
                let exponent = (sum - self.sums(zero, column)) + offset as f32;
                let (up, down) = (exponent.exp2(), (-exponent).exp2());
                x.store(row, column, key * up);
                y.store(row, column, key * down);
                xq.store(row, column, query * up);
            }
        });
        let last = self.lds.view("gl");
        self.k.tile_vectors(1, channels(self.spec), 1).for_each(|row, channel| {
            self.to.dec.store([row, channel], last.load([row, channel]).exp2());
        });
    }

    /// Kt: eight rows of a channel at a time, neighbours in the result.
    pub(crate) fn decayed_keys(&self) {
        let (common, keys) = (&self.spec.common, self.lds.view("k"));
        self.k.tile_vectors(common.head_k, common.chunk, 8).for_each(|channel, row| {
            let last = self.last_sum(channel);
            let mut decayed = Vec::with_capacity(8);
            for step in 0..8 {
                let key = self.normed(keys.load(((row, step), channel)), row + step);
                decayed.push(key * (last - self.sum(row + step, channel)).exp2());
            }
            self.to.kt.store(channel, row, self.k.pack(&decayed));
        });
    }

    /// Sums of the gates up to a row, of eight channels.
    fn sums(&self, row: Expr<'k>, column: Expr<'k>) -> Expr<'k> {
        let gates = self.lds.view("g");
        if self.spec.common.per_channel_gate() {
            gates.load_vector([row, column], 8)
        } else {
            gates.load((0, row)).splat(8)
        }
    }

    fn sum(&self, row: Expr<'k>, channel: Expr<'k>) -> Expr<'k> {
        let gates = self.lds.view("g");
        if self.spec.common.per_channel_gate() {
            gates.load([row, channel])
        } else {
            gates.load((0, row))
        }
    }

    fn last_sum(&self, channel: Expr<'k>) -> Expr<'k> {
        let last = self.lds.view("gl");
        if self.spec.common.per_channel_gate() {
            last.load((0, channel))
        } else {
            last.load((0, 0))
        }
    }

    /// The strict lower triangle of β·Akk and the lower triangle of Aqk to LDS.
    pub(crate) fn products(&self) {
        let (k, spec) = (self.k, self.spec);
        let (chunk, m, waves) = (spec.common.chunk, spec.tile.tile_atom_m, spec.common.waves);
        let across = chunk / m;
        for start in (0..across * across).step_by(waves as usize) {
            let part = k.wave_id() + start;
            let origin = [part.div_u(across) * m, part.rem_u(across) * m];
            let exists = start + waves <= across * across;
            if exists {
                self.part_of_products(origin);
            } else {
                k.if_(part.lt_u(across * across), || self.part_of_products(origin));
            }
        }
    }

    fn part_of_products(&self, [row, column]: [Expr<'k>; 2]) {
        let (k, spec) = (self.k, self.spec);
        let (m, depth) = (spec.tile.tile_atom_m, spec.common.head_k);
        let is_factored = spec.tile.decay == DecayForm::FixedOffset;
        let [x, y, xq] = if is_factored { ["x", "y", "xq"] } else { ["k", "k", "q"] };
        let [x, y, xq] = [x, y, xq].map(|name| self.lds.operand(name));
        let elem = y.high.elem();
        let atom = k.matrix_atom(elem, m, specs::chunk::atom_k(spec.common.target, m));
        let y = y.window([column, k.i32(0)]);
        let times =
            |left: &Operand<'k>| product(atom, [m, m], &left.window([row, k.i32(0)]), &y, depth);
        let (akk, aqk) = (times(&x), times(&xq));
        let (steps, gates) = (self.lds.view("beta"), self.lds.view("g"));
        let place = |i, j| (row + i, column + j);
        // Between a pair of rows; the difference of a later column is masked before it can overflow.
        let decay =
            |i: Expr<'k>, j: Expr<'k>| (gates.load((0, i)) - gates.load((0, j))).min(0.0).exp2();
        // Inverse lengths of a pair of rows that are as given in LDS.
        let lengths = |name, i, j| {
            let pair = self.norm(name, i).zip(self.norm("k", j)).filter(|_| !is_factored);
            pair.map(|(left, right)| left * right)
        };
        let normed = |value, factor: Option<Expr<'k>>| factor.map_or(value, |x| value * x);
        let zero = k.f32(0.0);
        let (triangle, queries) = (self.lds.view("m"), self.lds.view("aqk"));
        akk.for_each(|value, i, j| {
            let (i, j) = place(i, j);
            let value = normed(value, lengths("k", i, j)) * steps.load((0, i));
            let value = if is_factored { value } else { value * decay(i, j) };
            triangle.store([i, j], j.lt_u(i).select(value, zero));
        });
        aqk.for_each(|value, i, j| {
            let (i, j) = place(i, j);
            let value = normed(value, lengths("q", i, j));
            let value = if is_factored { value } else { value * self.inputs.scale * decay(i, j) };
            queries.store([i, j], j.le_u(i).select(value, zero));
        });
    }

    /// `A = (I + T')⁻¹ diag(β)` by forward substitution in f32: a lane of the first wave owns a column.
    pub(crate) fn solve(&self) {
        let (k, chunk) = (self.k, self.spec.common.chunk);
        let (triangle, steps, solved) =
            (self.lds.view("m"), self.lds.view("beta"), self.lds.view("a"));
        k.if_(k.wave_id().eq(0), || {
            let column = k.lane_id() & (chunk - 1);
            let mut rows: Vec<Expr<'k>> = Vec::with_capacity(chunk as usize);
            for row in 0..chunk {
                let on_diagonal = column.eq(row as i32);
                let mut sum = on_diagonal.select(steps.load((0, row)), 0.0);
                for (factor, earlier) in triangle.load_run((row, 0), row).into_iter().zip(&rows) {
                    sum = (-factor).fma(*earlier, sum);
                }
                rows.push(sum);
            }
            k.if_(k.lane_id().lt_u(chunk), || {
                for (row, value) in (0..chunk).zip(rows) {
                    solved.store((row, column), value);
                }
            });
        });
    }

    /// A and Aqk to the stage.
    pub(crate) fn store(&self) {
        let (chunk, solved, queries) =
            (self.spec.common.chunk, self.lds.view("a"), self.lds.view("aqk"));
        self.k.tile_vectors(chunk, chunk, 8).for_each(|row, column| {
            self.to.a.store(row, column, solved.load_vector([row, column], 8));
            self.to.aqk.store(row, column, queries.load_vector([row, column], 8));
        });
    }
}
