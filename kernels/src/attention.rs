//! Paged decode attention: one query a sequence against keys and values that lie in blocks of a cache.
//!
//! A workgroup takes some query heads of one key head of one sequence; its waves share the sequence's blocks. Lanes
//! share the keys of a block: a group of neighbours holds a key's channels, the groups of a wave hold different keys.
//! Every group keeps a softmax of its own over its keys, and they are merged once at the end, groups through lanes,
//! waves through LDS. The contract, with the order of all float operations, is `docs/kernels/attention.md`.

use dsl::builder::{BuildError, Carried};
use dsl::ir::{Kernel, Scalar, Type};
use dsl::math::LOG2_E;
use dsl::{Expr, KernelBuilder, LaneGroups, View};
use specs::attention::CHANNELS_PER_READ;
use specs::{AttentionSpec, CacheLayout};

use crate::arguments::Arguments;

/// Reads of 16 bytes that a lane has in flight at once.
const READS_AT_ONCE: usize = 8;

/// Channels of one read.
const READ: u8 = CHANNELS_PER_READ as u8;

/// Channels of an output that a work-item merges at once.
const MERGED: u8 = 4;

/// The kernel of a legal spec.
pub fn build(name: &str, spec: &AttentionSpec) -> Result<Kernel, Vec<BuildError>> {
    let k = KernelBuilder::new(name, spec.target, spec.workgroup_size());
    let args = Arguments::declare(&k, &spec.signature());
    let first_head = k.workgroup_id_x() * spec.heads_per_workgroup;
    let sequence = k.workgroup_id_z();
    let query = Query {
        q: args.view("q").at(sequence).window((first_head, 0)),
        o: args.view("o").at(sequence).window((first_head, 0)),
        table: args.view("block_table").at(sequence),
        context: args.view(AttentionSpec::CONTEXTS).load(sequence),
        key_head: first_head.div_u(spec.group()),
    };
    let share = Share::new(&k, spec, &args, &query);
    let heads = share.attend(&query);
    let heads = heads.iter().map(|head| share.merge_groups(head)).collect::<Vec<_>>();
    match spec.waves {
        1 => share.store(&query, &heads),
        _ => share.merge_waves(&query, &heads),
    }
    k.finish()
}

/// The query heads of a workgroup, in memory.
struct Query<'k> {
    /// From the first head on: [heads, D].
    q: View<'k>,
    o: View<'k>,
    /// The sequence's blocks.
    table: View<'k>,
    /// Tokens that the query sees.
    context: Expr<'k>,
    key_head: Expr<'k>,
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
    /// Lanes that hold one key together.
    lanes: LaneGroups<'k>,
    /// The group's index in its wave: which of the keys of a step it holds.
    group: Expr<'k>,
    /// The lane's first channel.
    channel: Expr<'k>,
    /// [blocks, …], as the spec lays them out.
    keys: View<'k>,
    values: View<'k>,
    /// For each head the lane's channels of q · scale · log2 e, in pairs.
    q: Vec<Vec<Expr<'k>>>,
}

impl<'k, 's> Share<'k, 's> {
    fn new(
        k: &'k KernelBuilder,
        spec: &'s AttentionSpec,
        args: &Arguments<'k>,
        query: &Query<'k>,
    ) -> Self {
        let lanes = k.lane_groups(spec.key_lanes());
        let channel = lanes.lane() * CHANNELS_PER_READ;
        let mut share = Share {
            k,
            spec,
            lanes,
            group: k.lane_id().shr_u(spec.key_lanes().trailing_zeros()),
            channel,
            keys: args.view("k_cache").clone(),
            values: args.view("v_cache").clone(),
            q: Vec::new(),
        };
        let factor = args.scalar("scale") * LOG2_E;
        let rows = query.q.window((0, channel));
        for head in 0..spec.heads_per_workgroup {
            let runs = share.reads().map(|first| rows.load_vector((head, first), READ) * factor);
            share.q.push(runs.flat_map(pairs).collect());
        }
        share
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

    /// The heads' softmax over the keys of the lane's group in the blocks of its wave.
    fn attend(&self, query: &Query<'k>) -> Vec<Head<'k>> {
        let size = self.spec.block_size;
        let blocks = (query.context + (size - 1)).shr_u(size.trailing_zeros());
        let none = self.q.iter().map(|_| self.nothing()).collect::<Vec<_>>();
        self.k.for_range(self.k.wave_id(), blocks, self.spec.waves, none, |index, heads| {
            let block = query.table.load(index);
            let left = query.context - index * size;
            self.take_block((block, query.key_head), left, &heads)
        })
    }

    /// Takes a block in, of which `left` keys and more exist from its start on.
    fn take_block(
        &self,
        place: (Expr<'k>, Expr<'k>),
        left: Expr<'k>,
        heads: &[Head<'k>],
    ) -> Vec<Head<'k>> {
        let steps: Vec<u32> = (0..self.spec.steps_per_block()).collect();
        let exists = |step: u32| (self.group + step * self.spec.keys_at_once()).lt(left);
        let mut scores = vec![Vec::new(); heads.len()];
        self.for_each_row(&self.rows(&self.keys, place), &steps, |step, row| {
            let key: Vec<_> = row.into_iter().flat_map(|read| pairs(read.widen())).collect();
            for (q, scores) in self.q.iter().zip(&mut scores) {
                let score = self.lanes.sum(dot(q, &key));
                scores.push(exists(step).select(score, f32::NEG_INFINITY));
            }
        });
        let taken = heads.iter().zip(&scores).map(|(head, scores)| head.rescaled(scores));
        let (mut heads, weights): (Vec<_>, Vec<_>) = taken.unzip();
        self.for_each_row(&self.rows(&self.values, place), &steps, |step, row| {
            let value: Vec<_> =
                row.into_iter().map(|read| or_zero(exists(step), read).widen()).collect();
            for (head, weights) in heads.iter_mut().zip(&weights) {
                let sums = head.sums.iter().zip(&value);
                head.sums = sums.map(|(sum, v)| v.fma(weights[step as usize], *sum)).collect();
            }
        });
        heads
    }

    /// A block's rows of one head, from the lane's first key and channel on: [keys, D].
    fn rows(&self, cache: &View<'k>, (block, key_head): (Expr<'k>, Expr<'k>)) -> View<'k> {
        let block = cache.at(block);
        let rows = match self.spec.cache_layout {
            CacheLayout::TokenFirst => block.pick(1, key_head),
            CacheLayout::HeadFirst => block.at(key_head),
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

    /// Stores what the only wave has.
    fn store(&self, query: &Query<'k>, heads: &[Head<'k>]) {
        let o = query.o.window((0, self.channel));
        self.k.if_(self.group.eq(0), || {
            for (row, head) in (0..).zip(heads) {
                let reads = self.reads().zip(&head.sums);
                reads.for_each(|(first, sum)| {
                    o.store((row, first), query.output(*sum, head.weight));
                });
            }
        });
    }

    /// Merges the waves through LDS and stores.
    fn merge_waves(&self, query: &Query<'k>, heads: &[Head<'k>]) {
        let AttentionSpec { waves, head_dim, heads_per_workgroup: rows, .. } = *self.spec;
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
        self.k.tile_vectors(rows, head_dim, MERGED).for_each(|row, channel| {
            let of_wave = |wave: u32| {
                let [max, weight] = [0, 1].map(|what| softmax.load((wave, row, what)));
                let sums = vec![sums.load_vector((wave, row, channel), MERGED)];
                Head { max, weight, sums }
            };
            let head = merged(&(0..waves).map(of_wave).collect::<Vec<_>>());
            query.o.store((row, channel), query.output(head.sums[0], head.weight));
        });
    }
}

impl<'k> Query<'k> {
    /// Normalised sums; zeros of a sequence without a context.
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

/// What a read gave where the key exists, zeros elsewhere, whatever bits the cache has there.
fn or_zero<'k>(exists: Expr<'k>, read: Expr<'k>) -> Expr<'k> {
    let words = read.bitcast(Type::Vector(Scalar::I32, READ / 2));
    exists.select(words, 0).bitcast(read.ty())
}
