//! Problems of attention: how much of the cache every sequence has filled.

use serde::Serialize;

use super::AttentionSpec;
use crate::packed::read_per_sequence;
use crate::plan::MAX_GRID_YZ;
use crate::problem::{Parameters, ProblemFault, not_finite, within};

/// Names of the parameters of a problem.
pub(crate) const PARAMETERS: &[&str] =
    &["batch", "blocks", "context", "contexts", "max_blocks", "scale"];

/// Tokens of a context unless said otherwise: several blocks of every size, and a tail.
const DEFAULT_CONTEXT: u32 = 100;

/// Blocks of the cache beyond those that contexts fill, so that a default problem leaves some of them untouched.
const SPARE_BLOCKS: u32 = 2;

/// Largest index of a block and longest context: both are signed 32-bit numbers.
const MAX_INDEX: u32 = i32::MAX.unsigned_abs();

/// What one launch of an attention kernel chooses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttentionProblem {
    /// Tokens of every sequence's context, 0 and more; at least one sequence.
    pub contexts: Vec<u32>,
    /// Blocks of the cache; sequences may share blocks.
    pub blocks: u32,
    /// Entries that each sequence has in the block table: as many as the longest context fills, or more.
    pub max_blocks: u32,
    /// The factor on q; finite.
    pub scale: f32,
}

/// The problem that texts describe; faults stay with them. Without `contexts`: `batch` contexts of `context` tokens.
pub(crate) fn read(spec: &AttentionSpec, texts: &mut Parameters<'_>) -> AttentionProblem {
    let each = ("context", DEFAULT_CONTEXT, MAX_INDEX);
    let contexts = read_per_sequence(texts, "contexts", each, 1);
    let filled = contexts.iter().map(|context| spec.blocks_of(*context));
    let all = filled.clone().fold(SPARE_BLOCKS, u32::saturating_add);
    let most = filled.max().unwrap_or(0).max(1);
    AttentionProblem {
        blocks: texts.count("blocks").unwrap_or(all.min(MAX_INDEX)),
        max_blocks: texts.count("max_blocks").unwrap_or(most),
        scale: texts.number("scale").unwrap_or_else(|| spec.default_scale()),
        contexts,
    }
}

/// Everything that is out of its limits.
pub(crate) fn faults(spec: &AttentionSpec, problem: &AttentionProblem) -> Vec<ProblemFault> {
    let AttentionProblem { contexts, blocks, max_blocks, scale } = problem;
    let sequences = u32::try_from(contexts.len()).unwrap_or(u32::MAX);
    let longest = contexts.iter().copied().max().unwrap_or(0);
    let mut faults: Vec<_> = within("batch", sequences, MAX_GRID_YZ).into_iter().collect();
    faults.extend(within("blocks", *blocks, MAX_INDEX));
    let most = (MAX_INDEX / spec.block_size.max(1)).max(1);
    faults.extend(within("max_blocks", *max_blocks, most));
    let needed = spec.blocks_of(longest);
    if faults.is_empty() && needed > *max_blocks {
        faults.push(ProblemFault {
            parameter: "max_blocks".to_owned(),
            got: max_blocks.to_string(),
            expected: format!("{needed} or more: a context of {longest} tokens fills so many"),
            remedy: "give the table more entries, or take shorter contexts".to_owned(),
            unreadable: false,
        });
    }
    faults.extend(not_finite("scale", *scale, spec.default_scale()));
    faults
}
