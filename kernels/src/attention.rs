//! Attention to a paged cache: queries of sequences against keys and values that lie in blocks.
//!
//! A workgroup takes some query heads of one key head of one sequence, in decode of its only query, in chunk attention of
//! some neighbouring ones; its waves share the sequence's blocks. Lanes share the keys of a block: a group of neighbours
//! holds a key's channels, the groups of a wave hold different keys. Every group keeps a softmax of its own for each
//! query head over its keys, and they are merged once at the end, groups through lanes, waves through LDS. What a query
//! does not see changes no bit of it. The contract, with the order of all float operations, is
//! `docs/kernels/attention.md`.

use dsl::builder::{BuildError, Carried};
use dsl::ir::{Kernel, Scalar, Type};
use dsl::math::LOG2_E;
use dsl::{Expr, KernelBuilder, LaneGroups, View};
use specs::attention::CHANNELS_PER_READ;
use specs::signature::SEQUENCE_ENDS;
use specs::{AttentionChunkSpec, AttentionSpec, CacheLayout};

use crate::arguments::Arguments;

/// Reads of 16 bytes that a lane has in flight at once.
const READS_AT_ONCE: usize = 8;

/// Channels of one read.
const READ: u8 = CHANNELS_PER_READ as u8;

/// Channels of an output that a work-item merges at once.
const MERGED: u8 = 4;

/// Bits of two 16-bit zeros below 0. Their product with a weight added to a sum is the sum, whichever zero that is.
const NEGATIVE_ZEROS: u32 = 0x8000_8000;

/// The decode kernel of a legal spec.
pub fn build(name: &str, spec: &AttentionSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.target, spec.workgroup_size());
    let args = Arguments::declare(&k, &spec.signature());
    let sequence = k.workgroup_id_z();
    let context = args.view(AttentionSpec::CONTEXTS).load(sequence);
    let only = Query { row: sequence, context, exists: None };
    Share::new(&k, spec, &args, Work { sequence, queries: vec![only] }).run();
    k.finish()
}

/// The chunk attention kernel of a legal spec.
pub fn build_chunk(name: &str, spec: &AttentionChunkSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.step.target, spec.step.workgroup_size());
    let args = Arguments::declare(&k, &spec.signature());
    let sequence = k.workgroup_id_y();
    let ends = args.view(SEQUENCE_ENDS).window(sequence);
    let (start, end) = (ends.load(0), ends.load(1));
    let count = spec.queries_per_workgroup.cast_signed();
    let first = start + k.workgroup_id_z() * k.i32(count);
    k.if_(first.lt(end), || {
        // Of the sequence's tokens before those of the queries, as many more as there are rows before the sequence.
        let earlier = args.view(AttentionSpec::CONTEXTS).load(sequence) - end;
        let query = |index: i32| {
            let row = (first + index).min(end - 1);
            let exists = (index > 0).then(|| (first + index).lt(end));
            Query { row, context: earlier + row + 1, exists }
        };
        let queries = (0..count).map(query).collect();
        Share::new(&k, &spec.step, &args, Work { sequence, queries }).run();
    });
    k.finish()
}

/// What a workgroup is to do.
struct Work<'k> {
    sequence: Expr<'k>,
    /// In the order of their tokens: none sees more than the last.
    queries: Vec<Query<'k>>,
}

/// One query.
struct Query<'k> {
    /// Its row in q and o.
    row: Expr<'k>,
    /// Tokens that it sees.
    context: Expr<'k>,
    /// Whether it is one; where it may not be, it is the sequence's last query once more.
    exists: Option<Expr<'k>>,
}

/// What some lanes know of one query head: a softmax over the keys that they have seen.
struct Head<'k> {
    /// The largest score.
    max: Expr<'k>,
    /// Σ 2^(score − max).
    weight: Expr<'k>,
    /// Σ 2^(score − max) · v, of the lane's channels: a vector a read.
    sums: Vec<Expr<'k>>,
}

impl<'k> Carried<'k> for Head<'k> {
    fn values(&self) -> Vec<Expr<'k>> {
        [&[self.max, self.weight], self.sums.as_slice()].concat()
    }

    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> Head<'k> {
        Head {
            max: self.max.with_values(values),
            weight: self.weight.with_values(values),
            sums: self.sums.with_values(values),
        }
    }
}

/// A lane's share of a workgroup's work.
struct Share<'k, 's> {
    k: &'k KernelBuilder,
    spec: &'s AttentionSpec,
    work: Work<'k>,
    /// From the workgroup's first head on: [rows, heads, D].
    o: View<'k>,
    /// The sequence's blocks.
    table: View<'k>,
    key_head: Expr<'k>,
    /// Lanes that hold one key together.
    lanes: LaneGroups<'k>,
    /// The group's index in its wave: which of the keys of a step it holds.
    group: Expr<'k>,
    /// The lane's first channel.
    channel: Expr<'k>,
    /// [blocks, …], as the spec lays them out.
    keys: View<'k>,
    values: View<'k>,
    /// For each head of each query the lane's channels of q · scale · log2 e, in pairs.
    q: Vec<Vec<Expr<'k>>>,
}

impl<'k, 's> Share<'k, 's> {
    fn new(
        k: &'k KernelBuilder,
        spec: &'s AttentionSpec,
        args: &Arguments<'k>,
        work: Work<'k>,
    ) -> Self {
        let first_head = k.workgroup_id_x() * spec.heads_per_workgroup;
        let lanes = k.lane_groups(spec.key_lanes());
        let channel = lanes.lane() * CHANNELS_PER_READ;
        let mut share = Share {
            k,
            spec,
            o: args.view("o").window((0, first_head, 0)),
            table: args.view("block_table").at(work.sequence),
            key_head: first_head.div_u(spec.group()),
            work,
            lanes,
            group: k.lane_id().shr_u(spec.key_lanes().trailing_zeros()),
            channel,
            keys: args.view("k_cache").clone(),
            values: args.view("v_cache").clone(),
            q: Vec::new(),
        };
        let factor = args.scalar("scale") * LOG2_E;
        for query in &share.work.queries {
            let rows = args.view("q").at(query.row).window((first_head, channel));
            for head in 0..spec.heads_per_workgroup {
                let runs =
                    share.reads().map(|first| rows.load_vector((head, first), READ) * factor);
                share.q.push(runs.flat_map(pairs).collect());
            }
        }
        share
    }

    fn run(&self) {
        let heads = self.attend();
        let heads = heads.iter().map(|head| self.merge_groups(head)).collect::<Vec<_>>();
        match self.spec.waves {
            1 => self.store(&heads),
            _ => self.merge_waves(&heads),
        }
    }

    /// Where the lane's reads of a row start, from its first channel on.
    fn reads(&self) -> impl Iterator<Item = u32> + use<> {
        let distance = CHANNELS_PER_READ * self.spec.key_lanes();
        (0..self.spec.head_dim / distance).map(move |read| read * distance)
    }

    /// A softmax over no keys.
    fn nothing(&self) -> Head<'k> {
        let (zero, least) = (self.k.f32(0.0), self.k.f32(f32::MIN));
        Head { max: least, weight: zero, sums: self.reads().map(|_| zero.splat(READ)).collect() }
    }

    /// The softmax of every head of every query over the keys of the lane's group in the blocks of its wave.
    fn attend(&self) -> Vec<Head<'k>> {
        let size = self.spec.block_size;
        let Some(last) = self.work.queries.last() else { return Vec::new() };
        let blocks = (last.context + (size - 1)).shr_u(size.trailing_zeros());
        let none = self.q.iter().map(|_| self.nothing()).collect::<Vec<_>>();
        self.k.for_range(self.k.wave_id(), blocks, self.spec.waves, none, |index, heads| {
            let block = self.table.load(index);
            let before = index * size;
            let left: Vec<_> =
                self.work.queries.iter().map(|query| query.context - before).collect();
            self.take_block(block, &left, &heads)
        })
    }

    /// Takes a block in, of which each query sees so many keys from its start on.
    fn take_block(&self, block: Expr<'k>, left: &[Expr<'k>], heads: &[Head<'k>]) -> Vec<Head<'k>> {
        let per_query = self.spec.heads_per_workgroup as usize;
        let steps: Vec<u32> = (0..self.spec.steps_per_block()).collect();
        let sees = |step: u32, query: usize| {
            (self.group + step * self.spec.keys_at_once()).lt(left[query])
        };
        let mut scores = vec![Vec::new(); heads.len()];
        self.for_each_row(&self.rows(&self.keys, block), &steps, |step, row| {
            let key: Vec<_> = row.into_iter().flat_map(|read| pairs(read.widen())).collect();
            let queries = self.q.chunks(per_query).zip(scores.chunks_mut(per_query));
            for (query, (q, scores)) in queries.enumerate() {
                for (q, scores) in q.iter().zip(scores) {
                    let score = self.lanes.sum(dot(q, &key));
                    scores.push(sees(step, query).select(score, f32::NEG_INFINITY));
                }
            }
        });
        let taken = heads.iter().zip(&scores).map(|(head, scores)| head.rescaled(scores));
        let (mut heads, weights): (Vec<_>, Vec<_>) = taken.unzip();
        self.for_each_row(&self.rows(&self.values, block), &steps, |step, row| {
            let queries = heads.chunks_mut(per_query).zip(weights.chunks(per_query));
            for (query, (heads, weights)) in queries.enumerate() {
                let seen = |read: &Expr<'k>| if_seen(sees(step, query), *read).widen();
                let value: Vec<_> = row.iter().map(seen).collect();
                for (head, weights) in heads.iter_mut().zip(weights) {
                    head.add(&value, weights[step as usize]);
                }
            }
        });
        heads
    }

    /// A block's rows of one head, from the lane's first key and channel on: [keys, D].
    fn rows(&self, cache: &View<'k>, block: Expr<'k>) -> View<'k> {
        let block = cache.at(block);
        let rows = match self.spec.cache_layout {
            CacheLayout::TokenFirst => block.pick(1, self.key_head),
            CacheLayout::HeadFirst => block.at(self.key_head),
        };
        rows.window((self.group, self.channel))
    }

    /// Visits the lane's part of its row in each step, as it is stored; reads of several steps are in flight together.
    fn for_each_row(
        &self,
        rows: &View<'k>,
        steps: &[u32],
        mut visit: impl FnMut(u32, Vec<Expr<'k>>),
    ) {
        let at_once = (READS_AT_ONCE / self.reads().count()).max(1);
        let row = |step: &u32| -> Vec<_> {
            let key = step * self.spec.keys_at_once();
            self.reads().map(|first| rows.load_stored((key, first), READ)).collect()
        };
        for steps in steps.chunks(at_once) {
            let loaded: Vec<_> = steps.iter().map(row).collect();
            steps.iter().zip(loaded).for_each(|(step, row)| visit(*step, row));
        }
    }

    /// The softmax over the keys of all groups of the wave, in each of its lanes.
    fn merge_groups(&self, head: &Head<'k>) -> Head<'k> {
        let max = self.across_groups(head.max, |a, b| a.max(b));
        let factor = (head.max - max).exp2();
        let sum = |x: Expr<'k>| self.across_groups(x * factor, |a, b| a + b);
        Head { max, weight: sum(head.weight), sums: head.sums.iter().copied().map(sum).collect() }
    }

    /// A butterfly over the groups of the wave.
    fn across_groups(
        &self,
        x: Expr<'k>,
        combine: impl Fn(Expr<'k>, Expr<'k>) -> Expr<'k>,
    ) -> Expr<'k> {
        let masks = std::iter::successors(Some(self.lanes.lanes()), |mask| Some(mask * 2));
        let masks = masks.take_while(|mask| *mask < self.spec.wave_width);
        masks.fold(x, |x, mask| combine(x, x.lane_xor(mask)))
    }

    /// Every query with its index.
    fn queries(&self) -> impl Iterator<Item = (u32, &Query<'k>)> {
        (0..).zip(&self.work.queries)
    }

    /// Stores what the only wave has.
    fn store(&self, heads: &[Head<'k>]) {
        let heads = heads.chunks(self.spec.heads_per_workgroup as usize);
        self.k.if_(self.group.eq(0), || {
            for (query, heads) in self.work.queries.iter().zip(heads) {
                let o = self.o.at(query.row).window((0, self.channel));
                query.if_exists(|| {
                    for (row, head) in (0..).zip(heads) {
                        let reads = self.reads().zip(&head.sums);
                        reads.for_each(|(first, sum)| {
                            o.store((row, first), query.output(*sum, head.weight));
                        });
                    }
                });
            }
        });
    }

    /// Merges the waves through LDS and stores.
    fn merge_waves(&self, heads: &[Head<'k>]) {
        let AttentionSpec { waves, head_dim, heads_per_workgroup: per_query, .. } = *self.spec;
        let rows = self.queries().count() as u32 * per_query;
        let sums = self.k.lds("sums", Scalar::F32, &[waves, rows, head_dim]);
        let softmax = self.k.lds("softmax", Scalar::F32, &[waves, rows, 2]);
        self.k.if_(self.group.eq(0), || {
            let (sums, softmax) = (sums.at(self.k.wave_id()), softmax.at(self.k.wave_id()));
            for (row, head) in (0..).zip(heads) {
                let channels = sums.at(row).window(self.channel);
                let reads = self.reads().zip(&head.sums);
                reads.for_each(|(first, sum)| channels.store_run(first, &sum.elements()));
                self.k.if_(self.channel.eq(0), || {
                    softmax.store_run((row, 0), &[head.max, head.weight]);
                });
            }
        });
        self.k.barrier();
        for (index, query) in self.queries() {
            let first = (0, index * per_query, 0);
            let (sums, softmax) = (sums.window(first), softmax.window(first));
            query.if_exists(|| self.store_merged(query, &sums, &softmax));
        }
    }

    /// Merges what waves have of a query's heads, [waves, heads, …], and stores.
    fn store_merged(&self, query: &Query<'k>, sums: &View<'k>, softmax: &View<'k>) {
        let AttentionSpec { waves, head_dim, heads_per_workgroup, .. } = *self.spec;
        let o = self.o.at(query.row);
        self.k.tile_vectors(heads_per_workgroup, head_dim, MERGED).for_each(|row, channel| {
            let of_wave = |wave: u32| {
                let [max, weight] = [0, 1].map(|what| softmax.load((wave, row, what)));
                let sums = vec![sums.load_vector((wave, row, channel), MERGED)];
                Head { max, weight, sums }
            };
            let head = merged(&(0..waves).map(of_wave).collect::<Vec<_>>());
            o.store((row, channel), query.output(head.sums[0], head.weight));
        });
    }
}

impl<'k> Query<'k> {
    /// Runs `store` unless the query is another one once more.
    fn if_exists(&self, store: impl FnOnce()) {
        match self.exists {
            Some(exists) => exists.builder().if_(exists, store),
            None => store(),
        }
    }

    /// Normalised sums; zeros of a query that sees nothing.
    fn output(&self, sum: Expr<'k>, weight: Expr<'k>) -> Expr<'k> {
        let o = sum * weight.rcp();
        self.context.eq(0).select(o.builder().constant(o.ty(), 0), o)
    }
}

impl<'k> Head<'k> {
    /// The head before the values of keys with these scores, and their weights: its weight has them, its sums do not.
    fn rescaled(&self, scores: &[Expr<'k>]) -> (Head<'k>, Vec<Expr<'k>>) {
        let max = scores.iter().fold(self.max, |max, score| max.max(*score));
        let factor = (self.max - max).exp2();
        let weights: Vec<_> = scores.iter().map(|score| (*score - max).exp2()).collect();
        let added = weights.iter().copied().reduce(|sum, weight| sum + weight);
        let weight = match added {
            Some(added) => self.weight.fma(factor, added),
            None => self.weight,
        };
        let sums = self.sums.iter().map(|sum| *sum * factor).collect();
        (Head { max, weight, sums }, weights)
    }

    /// Adds a value with the weight of its key.
    fn add(&mut self, value: &[Expr<'k>], weight: Expr<'k>) {
        let sums = self.sums.iter().zip(value);
        self.sums = sums.map(|(sum, v)| v.fma(weight, *sum)).collect();
    }
}

/// One softmax over the keys of several, in their order.
fn merged<'k>(parts: &[Head<'k>]) -> Head<'k> {
    let first = &parts[0];
    let max = parts[1..].iter().fold(first.max, |max, part| max.max(part.max));
    let zero = max.builder().f32(0.0);
    let mut whole =
        Head { max, weight: zero, sums: first.sums.iter().map(|_| zero.splat(MERGED)).collect() };
    for part in parts {
        let factor = (part.max - max).exp2();
        whole.weight = part.weight.fma(factor, whole.weight);
        let sums = part.sums.iter().zip(&whole.sums);
        whole.sums = sums.map(|(part, sum)| part.fma(factor, *sum)).collect();
    }
    whole
}

/// Neighbours in twos.
fn pairs(read: Expr<'_>) -> impl Iterator<Item = Expr<'_>> {
    (0..READ).step_by(2).map(move |first| read.part(first, 2))
}

/// `Σ a·b` of a lane's channels: those at even places and those at odd places, then both.
fn dot<'k>(a: &[Expr<'k>], b: &[Expr<'k>]) -> Expr<'k> {
    let zero = a[0].builder().f32(0.0).splat(2);
    let sums = a.iter().zip(b).fold(zero, |sums, (a, b)| b.fma(*a, sums));
    sums.element(0) + sums.element(1)
}

/// What a read gave where the key is seen, elsewhere what changes no sum, whatever bits the cache has there.
fn if_seen<'k>(seen: Expr<'k>, read: Expr<'k>) -> Expr<'k> {
    let words = read.bitcast(Type::Vector(Scalar::I32, READ / 2));
    let nothing = read.builder().i32(NEGATIVE_ZEROS.cast_signed()).splat(READ / 2);
    seen.select(words, nothing).bitcast(read.ty())
}
