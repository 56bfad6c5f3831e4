//! Attention to a paged cache in float64: contract, reference and limit of its output.
//!
//! ```text
//! s[j] = scale · Σ_d q[t, h, d] · K_j[d]        for the tokens j < seen[t], hkv = h / (HQ / HKV)
//! o[t, h] = Σ_j softmax(s)[j] · V_j             zeros where nothing is seen
//! K_j = row j mod block_size of block block_table[b, j / block_size], of head hkv, b the sequence of query t
//! seen[t] = context_len[t]                      one query a sequence
//! seen[t] = context_len[b] − cu_seqlens[b + 1] + t + 1     packed queries: those of the last tokens of each sequence
//! ```

use specs::signature::SEQUENCE_ENDS;
use specs::{AttentionProblem, AttentionSpec, CacheLayout, packed};

use crate::error::expect_len;
use crate::measure::{Verdict, judge, narrow_limit};
use crate::tensors::{Take, Tensors, put};
use crate::{OracleError, Stored, twin};

/// Dimensions of one problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sequences, B.
    pub batch: usize,
    /// Rows of q and o: one a sequence, or all queries.
    pub rows: usize,
    /// Heads of q and o, HQ.
    pub query_heads: usize,
    /// Heads of keys and values, HKV.
    pub key_heads: usize,
    /// Channels of a head, D.
    pub head_dim: usize,
    /// Tokens of a block.
    pub block_size: usize,
    /// Orientation of a block.
    pub cache_layout: CacheLayout,
    /// Blocks of the cache.
    pub blocks: usize,
    /// Entries of a row of the block table.
    pub max_blocks: usize,
}

/// Tensors of one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// [rows, HQ, D].
    pub q: Stored,
    /// Where each sequence's queries start and end; absent where each has one.
    pub ends: Option<Vec<i32>>,
    /// Keys: [blocks, block_size, HKV, D] or [blocks, HKV, block_size, D].
    pub k_cache: Stored,
    /// Values, in the layout of the keys.
    pub v_cache: Stored,
    /// [B, max_blocks]; what no context reads may be anything.
    pub block_table: Vec<i32>,
    /// `[B]`.
    pub contexts: Vec<i32>,
    /// The factor on q.
    pub scale: f32,
}

/// Who sums what in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Lanes that share a key.
    pub key_lanes: usize,
    /// Keys that a wave takes at once.
    pub keys_at_once: usize,
    /// Waves that share the blocks of a sequence.
    pub waves: usize,
}

impl Shape {
    /// The dimensions of a spec's problem.
    pub fn of(spec: &AttentionSpec, problem: &AttentionProblem) -> Shape {
        Shape {
            batch: problem.contexts.len(),
            rows: problem.lengths.as_ref().map_or(problem.contexts.len(), |lengths| {
                lengths.iter().map(|length| *length as usize).sum()
            }),
            query_heads: spec.query_heads as usize,
            key_heads: spec.key_heads as usize,
            head_dim: spec.head_dim as usize,
            block_size: spec.block_size as usize,
            cache_layout: spec.cache_layout,
            blocks: problem.blocks as usize,
            max_blocks: problem.max_blocks as usize,
        }
    }

    /// Elements of q and o.
    pub fn query_len(&self) -> usize {
        self.rows * self.query_heads * self.head_dim
    }

    /// Elements of one cache.
    pub fn cache_len(&self) -> usize {
        self.blocks * self.block_size * self.key_heads * self.head_dim
    }

    /// The key head that a query head reads.
    pub fn key_head(&self, query_head: usize) -> usize {
        query_head / (self.query_heads / self.key_heads)
    }

    /// Where the row of `slot` of `block` starts in a cache.
    pub fn cache_row(&self, block: usize, slot: usize, key_head: usize) -> usize {
        let row = match self.cache_layout {
            CacheLayout::TokenFirst => (block * self.block_size + slot) * self.key_heads + key_head,
            CacheLayout::HeadFirst => (block * self.key_heads + key_head) * self.block_size + slot,
        };
        row * self.head_dim
    }
}

impl Inputs {
    /// Refuses tensors that do not describe one problem of this shape.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor, dimension, context or block that is wrong.
    pub fn check(&self, shape: &Shape) -> Result<(), OracleError> {
        let multiple = shape.key_heads > 0 && shape.query_heads.is_multiple_of(shape.key_heads);
        if !multiple {
            let (field, got) = ("query_heads", shape.query_heads);
            return Err(OracleError::Dimension { field, got, limit: "a multiple of key_heads" });
        }
        expect_len("q", self.q.len(), shape.query_len())?;
        expect_len("k_cache", self.k_cache.len(), shape.cache_len())?;
        expect_len("v_cache", self.v_cache.len(), shape.cache_len())?;
        expect_len("block_table", self.block_table.len(), shape.batch * shape.max_blocks)?;
        expect_len(AttentionSpec::CONTEXTS, self.contexts.len(), shape.batch)?;
        let most = shape.max_blocks * shape.block_size;
        for (row, &got) in self.contexts.iter().enumerate() {
            if usize::try_from(got).map_or(true, |context| context > most) {
                return Err(OracleError::Context { row, got, most });
            }
            self.check_blocks(shape, row)?;
        }
        self.check_ends(shape)
    }

    /// Whether the queries' ends are those of these rows, and each sequence's context has them in it.
    fn check_ends(&self, shape: &Shape) -> Result<(), OracleError> {
        let Some(ends) = &self.ends else {
            return expect_len("q", shape.rows, shape.batch);
        };
        expect_len(SEQUENCE_ENDS, ends.len(), shape.batch + 1)?;
        let last = ends.last().map_or(0, |end| usize::try_from(*end).unwrap_or(0));
        expect_len("q", shape.rows, last)?;
        for (row, ends) in ends.windows(2).enumerate() {
            let (got, queries) = (self.contexts[row], ends[1].saturating_sub(ends[0]));
            if queries < 0 || got < queries {
                return Err(OracleError::Queries { row, got, queries });
            }
        }
        Ok(())
    }

    /// The sequence of a row of q, and the tokens that it sees, of checked inputs.
    pub(crate) fn sees(&self, row: usize) -> (usize, usize) {
        let Some(ends) = &self.ends else {
            return (row, self.context(row));
        };
        let end = |sequence: usize| usize::try_from(ends[sequence + 1]).unwrap_or(0);
        let sequence = (0..self.contexts.len()).find(|sequence| row < end(*sequence)).unwrap_or(0);
        (sequence, self.context(sequence) + row + 1 - end(sequence))
    }

    fn check_blocks(&self, shape: &Shape, row: usize) -> Result<(), OracleError> {
        let read = self.context(row).div_ceil(shape.block_size);
        for (entry, &got) in self.entries(shape, row).iter().take(read).enumerate() {
            if usize::try_from(got).map_or(true, |block| block >= shape.blocks) {
                return Err(OracleError::Block { row, entry, got, blocks: shape.blocks });
            }
        }
        Ok(())
    }

    fn entries(&self, shape: &Shape, row: usize) -> &[i32] {
        &self.block_table[row * shape.max_blocks..(row + 1) * shape.max_blocks]
    }

    /// Tokens of a sequence's context.
    pub(crate) fn context(&self, row: usize) -> usize {
        usize::try_from(self.contexts[row]).unwrap_or(0)
    }

    /// Where token `token` of a sequence starts in the caches, of checked inputs.
    pub(crate) fn row(&self, shape: &Shape, row: usize, token: usize, key_head: usize) -> usize {
        let entry = self.entries(shape, row)[token / shape.block_size];
        let block = usize::try_from(entry).unwrap_or(0);
        shape.cache_row(block, token % shape.block_size, key_head)
    }
}

/// One problem of one attention kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Dimensions.
    pub shape: Shape,
    /// Tensors.
    pub inputs: Inputs,
    /// The order of the kernel's sums.
    pub order: Order,
}

impl Order {
    /// The order of a spec's kernel.
    pub fn of(spec: &AttentionSpec) -> Order {
        Order {
            key_lanes: spec.key_lanes() as usize,
            keys_at_once: spec.keys_at_once() as usize,
            waves: spec.waves as usize,
        }
    }
}

impl Case {
    /// The problem whose input tensors are these, under the names of the kernel's arguments.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor that is missing, has the wrong length or a wrong context or block.
    pub fn from_tensors(
        spec: &AttentionSpec,
        problem: &AttentionProblem,
        tensors: &Tensors,
    ) -> Result<Case, OracleError> {
        let take = Take::new(tensors);
        let inputs = Inputs {
            q: take.floats("q", spec.dtype)?,
            k_cache: take.floats("k_cache", spec.dtype)?,
            v_cache: take.floats("v_cache", spec.dtype)?,
            block_table: take.i32s("block_table")?,
            contexts: take.i32s(AttentionSpec::CONTEXTS)?,
            ends: problem.lengths.as_deref().map(packed::sequence_ends),
            scale: problem.scale,
        };
        let shape = Shape::of(spec, problem);
        inputs.check(&shape)?;
        Ok(Case { shape, inputs, order: Order::of(spec) })
    }

    /// The input tensors under the names of the kernel's arguments.
    pub fn tensors(&self) -> Tensors {
        let Inputs { q, ends, k_cache, v_cache, block_table, contexts, scale: _ } = &self.inputs;
        let mut tensors = Tensors::new();
        put(&mut tensors, "q", q.to_le_bytes());
        put(&mut tensors, "k_cache", k_cache.to_le_bytes());
        put(&mut tensors, "v_cache", v_cache.to_le_bytes());
        let bytes = |numbers: &[i32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        put(&mut tensors, "block_table", bytes(block_table));
        put(&mut tensors, AttentionSpec::CONTEXTS, bytes(contexts));
        if let Some(ends) = ends {
            put(&mut tensors, SEQUENCE_ENDS, bytes(ends));
        }
        tensors
    }

    /// The float64 output, [rows, HQ, D].
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem.
    pub fn reference(&self) -> Result<Vec<f64>, OracleError> {
        let Case { shape, inputs, .. } = self;
        inputs.check(shape)?;
        let heads = (0..shape.rows).flat_map(|row| (0..shape.query_heads).map(move |h| (row, h)));
        Ok(heads.flat_map(|(row, h)| self.head(row, h)).collect())
    }

    fn head(&self, row: usize, h: usize) -> Vec<f64> {
        let Case { shape, inputs, .. } = self;
        let (d, (b, context)) = (shape.head_dim, inputs.sees(row));
        if context == 0 {
            return vec![0.0; d];
        }
        let q = (row * shape.query_heads + h) * d;
        let rows: Vec<_> =
            (0..context).map(|token| inputs.row(shape, b, token, shape.key_head(h))).collect();
        let score = |row: &usize| {
            let terms = (0..d).map(|i| inputs.q.f64_at(q + i) * inputs.k_cache.f64_at(row + i));
            f64::from(inputs.scale) * terms.sum::<f64>()
        };
        let scores: Vec<f64> = rows.iter().map(score).collect();
        // A score that is NaN makes every weight NaN, whatever the largest of the others is.
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| libm::exp(score - largest)).collect();
        let total: f64 = weights.iter().sum();
        let channel = |i: usize| {
            let terms =
                rows.iter().zip(&weights).map(|(row, w)| w * inputs.v_cache.f64_at(row + i));
            terms.sum::<f64>() / total
        };
        (0..d).map(channel).collect()
    }

    /// What the kernel must write, bit for bit, under the names of its arguments.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem of this kernel.
    pub fn twin(&self) -> Result<Tensors, OracleError> {
        let mut tensors = Tensors::new();
        let o = twin::attention::run(&self.shape, &self.inputs, self.order)?;
        put(&mut tensors, "o", o.to_le_bytes());
        Ok(tensors)
    }

    /// Judges what a kernel wrote.
    ///
    /// # Errors
    /// [`OracleError`] when the output is missing or has no whole elements, or the case is no problem.
    pub fn judge(&self, outputs: &Tensors) -> Result<Vec<(&'static str, Verdict)>, OracleError> {
        Ok(vec![("o", self.judge_against(outputs, &self.reference()?)?)])
    }

    /// Judges the output against a reference from elsewhere, by the same limit: the floor of its type, since scores,
    /// weights and sums are f32 and their roundings lie far below it.
    ///
    /// # Errors
    /// [`OracleError`] when the output is missing or has no whole elements.
    pub fn judge_against(
        &self,
        outputs: &Tensors,
        reference: &[f64],
    ) -> Result<Verdict, OracleError> {
        let o = Take::new(outputs).floats("o", self.inputs.q.dtype())?;
        Ok(judge(&o, reference, narrow_limit))
    }
}
