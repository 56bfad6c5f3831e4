//! Problems of attention: how much of the cache every sequence has filled.

use serde::Serialize;

use super::AttentionSpec;
use crate::attention_chunk::AttentionChunkSpec;
use crate::packed::{length_faults, read_lengths, read_per_sequence};
use crate::plan::MAX_GRID_YZ;
use crate::problem::{Parameters, ProblemFault, not_finite, within};

/// Names of the parameters of a problem.
pub(crate) const PARAMETERS: &[&str] =
    &["batch", "blocks", "context", "contexts", "max_blocks", "scale"];

/// Names of the parameters of a problem of many queries a sequence.
pub(crate) const CHUNK_PARAMETERS: &[&str] =
    &["batch", "blocks", "context", "contexts", "lengths", "max_blocks", "scale", "tokens"];

/// Tokens of a context unless said otherwise: several blocks of every size, and a tail.
const DEFAULT_CONTEXT: u32 = 100;

/// New tokens of a sequence unless said otherwise, and tokens before them.
const DEFAULT_TOKENS: u32 = 40;
const DEFAULT_EARLIER_TOKENS: u32 = DEFAULT_CONTEXT - DEFAULT_TOKENS;

/// Blocks of the cache beyond those that contexts fill, so that a default problem leaves some of them untouched.
const SPARE_BLOCKS: u32 = 2;

/// Largest index of a block and longest context: both are signed 32-bit numbers.
const MAX_INDEX: u32 = i32::MAX.unsigned_abs();

/// What one launch of an attention kernel chooses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttentionProblem {
    /// Queries of every sequence, one of each of its last tokens, 0 and more; absent where each has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Vec<u32>>,
    /// Tokens of every sequence's context, those of its queries among them, 0 and more; at least one sequence.
    pub contexts: Vec<u32>,
    /// Blocks of the cache; sequences may share blocks.
    pub blocks: u32,
    /// Entries that each sequence has in the block table: as many as the longest context fills, or more.
    pub max_blocks: u32,
    /// The factor on q; finite.
    pub scale: f32,
}

/// The problem that texts describe, of one query a sequence; faults stay with them. Without `contexts`: `batch` contexts
/// of `context` tokens.
pub(crate) fn read(spec: &AttentionSpec, texts: &mut Parameters<'_>) -> AttentionProblem {
    let each = ("context", DEFAULT_CONTEXT, MAX_INDEX);
    let contexts = read_per_sequence(texts, "contexts", each, 1);
    with_contexts(spec, texts, contexts)
}

/// The problem that texts describe, of many queries a sequence; faults stay with them. Without `contexts` and `context`
/// every sequence has [`DEFAULT_EARLIER_TOKENS`] before its queries.
pub(crate) fn read_chunk(spec: &AttentionSpec, texts: &mut Parameters<'_>) -> AttentionProblem {
    let lengths = read_lengths(texts, (1, DEFAULT_TOKENS));
    let listed = texts.counts("contexts");
    if listed.is_some() && texts.has("context") {
        let remedy = "leave context out: contexts says every sequence's tokens".to_owned();
        texts.refuse("context", "it beside contexts", "one of them".to_owned(), remedy);
    }
    let same = texts.count_from("context", 0, MAX_INDEX, 100);
    let default = |length: &u32| same.unwrap_or(length.saturating_add(DEFAULT_EARLIER_TOKENS));
    let contexts = listed.unwrap_or_else(|| lengths.iter().map(default).collect());
    AttentionProblem { lengths: Some(lengths), ..with_contexts(spec, texts, contexts) }
}

fn with_contexts(
    spec: &AttentionSpec,
    texts: &mut Parameters<'_>,
    contexts: Vec<u32>,
) -> AttentionProblem {
    let filled = contexts.iter().map(|context| spec.blocks_of(*context));
    let all = filled.clone().fold(SPARE_BLOCKS, u32::saturating_add);
    let most = filled.max().unwrap_or(0).max(1);
    AttentionProblem {
        lengths: None,
        blocks: texts.count("blocks").unwrap_or(all.min(MAX_INDEX)),
        max_blocks: texts.count("max_blocks").unwrap_or(most),
        scale: texts.number("scale").unwrap_or_else(|| spec.default_scale()),
        contexts,
    }
}

/// Everything that is out of its limits.
pub(crate) fn faults(spec: &AttentionSpec, problem: &AttentionProblem) -> Vec<ProblemFault> {
    let AttentionProblem { lengths: _, contexts, blocks, max_blocks, scale } = problem;
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

/// Everything that is out of its limits in a problem of many queries a sequence.
pub(crate) fn chunk_faults(
    spec: &AttentionChunkSpec,
    problem: &AttentionProblem,
) -> Vec<ProblemFault> {
    let Some(lengths) = &problem.lengths else {
        return vec![missing_lengths()];
    };
    let mut faults = faults(&spec.step, problem);
    faults.extend(length_faults(lengths));
    faults.extend(too_many_queries(spec, lengths));
    faults.extend(other_sequences(lengths.len(), problem.contexts.len()));
    let pairs = lengths.iter().zip(&problem.contexts).enumerate();
    let short = pairs.filter(|(_, (length, context))| length > context);
    faults.extend(short.map(|(row, (length, context))| shorter_context(row, *length, *context)));
    faults
}

fn missing_lengths() -> ProblemFault {
    ProblemFault {
        parameter: "lengths".to_owned(),
        got: "nothing".to_owned(),
        expected: "the queries of every sequence".to_owned(),
        remedy: "make the problem from the spec that it is for".to_owned(),
        unreadable: false,
    }
}

/// A fault when the longest sequence has more workgroups than a grid has in z.
fn too_many_queries(spec: &AttentionChunkSpec, lengths: &[u32]) -> Option<ProblemFault> {
    let segments = spec.segments(lengths);
    (segments > MAX_GRID_YZ).then(|| ProblemFault {
        parameter: "lengths".to_owned(),
        got: format!("a sequence of {segments} times {} queries", spec.queries_per_workgroup),
        expected: format!("at most {MAX_GRID_YZ} workgroups a sequence"),
        remedy: "take a spec with more queries_per_workgroup, or fewer tokens a launch".to_owned(),
        unreadable: false,
    })
}

fn other_sequences(lengths: usize, contexts: usize) -> Option<ProblemFault> {
    (lengths != contexts).then(|| ProblemFault {
        parameter: "contexts".to_owned(),
        got: format!("contexts of {contexts} sequences"),
        expected: format!("contexts of {lengths}: so many sequences have lengths"),
        remedy: "give lengths and contexts of the same sequences".to_owned(),
        unreadable: false,
    })
}

fn shorter_context(row: usize, length: u32, context: u32) -> ProblemFault {
    ProblemFault {
        parameter: "contexts".to_owned(),
        got: format!("a context of {context} tokens in sequence {row}, which has {length} queries"),
        expected: format!("{length} or more: the tokens of the queries are part of the context"),
        remedy: "count the new tokens in the context".to_owned(),
        unreadable: false,
    }
}
