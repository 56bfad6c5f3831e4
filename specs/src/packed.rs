//! Problems of packed sequences: tokens of all sequences are one axis, sequences one behind the other, and
//! `cu_seqlens` says where each ends.

use serde::Serialize;

use crate::plan::MAX_GRID_YZ;
use crate::problem::{Parameters, ProblemFault, within};

/// Most tokens of all sequences: `cu_seqlens` holds them as signed 32-bit numbers.
const MAX_TOKENS: u32 = i32::MAX.unsigned_abs();

/// What one launch of a conv chunk chooses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConvChunkProblem {
    /// Tokens of every sequence, 0 and more; at least one sequence.
    pub lengths: Vec<u32>,
}

/// Ends of packed sequences of these lengths, from 0 to all tokens: what `cu_seqlens` holds. The sum is below 2³¹,
/// which [`crate::Spec::check_problem`] sees to.
pub fn sequence_ends(lengths: &[u32]) -> Vec<i32> {
    let ends = lengths.iter().scan(0u32, |end, length| {
        *end = end.saturating_add(*length);
        Some(end.cast_signed())
    });
    [0].into_iter().chain(ends).collect()
}

/// Lengths that texts describe; faults stay with them. Without `lengths`: `batch` sequences of `tokens` tokens each,
/// by default so many.
pub(crate) fn read_lengths(
    texts: &mut Parameters<'_>,
    (default_batch, default_tokens): (u32, u32),
) -> Vec<u32> {
    read_per_sequence(texts, "lengths", ("tokens", default_tokens, MAX_TOKENS), default_batch)
}

/// A number for each sequence: those of `list`, or without it `batch` times that of `each`, which has a default and
/// is said to have a limit.
pub(crate) fn read_per_sequence(
    texts: &mut Parameters<'_>,
    list: &str,
    (each, default_each, most): (&str, u32, u32),
    default_batch: u32,
) -> Vec<u32> {
    let listed = texts.counts(list);
    for key in ["batch", each] {
        if listed.is_some() && texts.has(key) {
            texts.refuse(
                key,
                &format!("it beside {list}"),
                "one of them".to_owned(),
                format!("leave {key} out: {list} says every sequence's tokens"),
            );
        }
    }
    let batch = texts.count_from("batch", 1, MAX_GRID_YZ, 4).unwrap_or(default_batch);
    let number = texts.count_from(each, 0, most, 4).unwrap_or(default_each);
    // A batch that is refused takes no memory.
    texts.faults.extend(within("batch", batch, MAX_GRID_YZ));
    let equal = || vec![number; batch.min(MAX_GRID_YZ) as usize];
    listed.unwrap_or_else(equal)
}

/// Everything about lengths that is out of its limits.
pub(crate) fn length_faults(lengths: &[u32]) -> Vec<ProblemFault> {
    let sequences = u32::try_from(lengths.len()).unwrap_or(u32::MAX);
    let tokens: u64 = lengths.iter().copied().map(u64::from).sum();
    let too_many = (tokens > u64::from(MAX_TOKENS)).then(|| ProblemFault {
        parameter: "tokens".to_owned(),
        got: tokens.to_string(),
        expected: format!("at most {MAX_TOKENS} tokens in all sequences"),
        remedy: "take fewer tokens a launch".to_owned(),
        unreadable: false,
    });
    within("batch", sequences, MAX_GRID_YZ).into_iter().chain(too_many).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_sequences_end_where_they_start() {
        assert_eq!(sequence_ends(&[0, 33, 0, 0, 16, 0]), [0, 0, 33, 33, 33, 49, 49]);
        assert_eq!(sequence_ends(&[0]), [0, 0]);
    }
}
