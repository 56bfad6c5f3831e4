//! Tensors for attention kernels.

use specs::{AttentionProblem, AttentionSpec, packed};

use super::{Generator, Sample};
use crate::Stored;
use crate::attention::{Case, Inputs, Order, Shape};

/// How much larger queries of every third and of every other third head are, so that softmaxes are flat, usual and
/// peaked.
const SHARPNESS: [f64; 3] = [1.0, 3.0, 0.25];

/// Tensors for an attention kernel: keys and values N(0, 1), queries too but larger or smaller by head; blocks in no
/// order, and shared where the cache has too few. Slots that no context reaches hold NaN, entries of the table that
/// none reads hold the least number.
pub fn attention(spec: &AttentionSpec, problem: &AttentionProblem, sample: &Sample) -> Case {
    let shape = Shape::of(spec, problem);
    let make = Generator { seed: sample.seed, dtype: spec.dtype };
    let (block_table, filled) = make.block_table(&shape, spec, problem);
    let cache = |name| make.cache(name, &shape, &filled);
    let contexts = problem.contexts.iter().map(|context| context.cast_signed()).collect();
    let inputs = Inputs {
        q: make.queries(&shape),
        k_cache: cache("k_cache"),
        v_cache: cache("v_cache"),
        block_table,
        contexts,
        ends: problem.lengths.as_deref().map(packed::sequence_ends),
        scale: problem.scale,
    };
    Case { shape, inputs, order: Order::of(spec) }
}

impl Generator {
    fn queries(&self, shape: &Shape) -> Stored {
        let mut random = self.random("q");
        let sharpness = |at: usize| SHARPNESS[at / shape.head_dim % SHARPNESS.len()];
        Stored::round(self.dtype, (0..shape.query_len()).map(|at| random.normal() * sharpness(at)))
    }

    /// The table, and for each block how many of its slots some context reaches.
    fn block_table(
        &self,
        shape: &Shape,
        spec: &AttentionSpec,
        problem: &AttentionProblem,
    ) -> (Vec<i32>, Vec<usize>) {
        let mut random = self.random("block_table");
        let mut order: Vec<usize> = (0..shape.blocks).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        let mut next = order.iter().copied().cycle();
        let mut table = vec![i32::MIN; shape.batch * shape.max_blocks];
        let mut filled = vec![0; shape.blocks];
        for (row, &context) in table.chunks_mut(shape.max_blocks).zip(&problem.contexts) {
            let mut left = context as usize;
            for entry in row.iter_mut().take(spec.blocks_of(context) as usize) {
                let Some(block) = next.next() else { break };
                *entry = block as i32;
                filled[block] = filled[block].max(left.min(shape.block_size));
                left = left.saturating_sub(shape.block_size);
            }
        }
        (table, filled)
    }

    fn cache(&self, name: &str, shape: &Shape, filled: &[usize]) -> Stored {
        let mut random = self.random(name);
        let mut values = vec![f64::NAN; shape.cache_len()];
        for (block, &filled) in filled.iter().enumerate() {
            for slot in 0..filled {
                for head in 0..shape.key_heads {
                    let row = shape.cache_row(block, slot, head);
                    values[row..row + shape.head_dim].fill_with(|| random.normal());
                }
            }
        }
        Stored::round(self.dtype, values)
    }
}
