//! Which tokens the chunks of a problem are, and where rows lie: the tables that prefill kernels read.
//!
//! A sequence without tokens has no chunk but a row among the sequences, so that its state passes through. A chunk
//! finds its sequence in the table; no kernel counts ranks.

use super::{ChunkCommon, TokenLayout};

/// Numbers in a row of the table of chunks: first token, valid rows (1 to C), sequence, and batch. Tokens are counted
/// through the batch, whose number is then 0, or within each of its rows, see [`ChunkTables::of`].
pub const CHUNK_ROW: u32 = 4;

/// The rows of the table of strides, one a tensor: the distances from batch row to batch row, from token to token and
/// from head to head, in elements. A row of g is also one of g_raw. Rows of tensors that a kernel does not take are not
/// read.
pub const STRIDE_ROWS: [&str; 6] = ["q", "k", "v", "g", "beta", "o"];

/// Numbers in a row of the table of sequences: first chunk, chunks.
pub const SEQUENCE_ROW: u32 = 2;

/// The tables of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkTables {
    /// A row a chunk, in the order of sequences and time.
    pub chunks: Vec<[i32; CHUNK_ROW as usize]>,
    /// A row a sequence.
    pub sequences: Vec<[i32; SEQUENCE_ROW as usize]>,
}

impl ChunkTables {
    /// The tables of sequences of these lengths for kernels that share this: tokens are counted within each batch row
    /// where its rows are apart, that is unless they are packed or token-major without gaps.
    pub fn of(common: &ChunkCommon, lengths: &[u32]) -> ChunkTables {
        let mut tables = ChunkTables::new(lengths, common.chunk);
        if common.layout == TokenLayout::TokenMajor || common.varlen {
            return tables;
        }
        let tokens = lengths.first().copied().unwrap_or(0).cast_signed();
        for [first, _, sequence, batch] in &mut tables.chunks {
            (*first, *batch) = (*first - *sequence * tokens, *sequence);
        }
        tables
    }

    /// The tables of sequences of these lengths, one behind the other, in chunks of `chunk` tokens. The sum of the
    /// lengths is below 2³¹, which [`crate::Spec::check_problem`] sees to.
    pub fn new(lengths: &[u32], chunk: u32) -> ChunkTables {
        let chunk = chunk.max(1);
        let (mut chunks, mut sequences) = (Vec::new(), Vec::with_capacity(lengths.len()));
        let mut start = 0u32;
        for (sequence, &length) in lengths.iter().enumerate() {
            let first = chunks.len();
            for token in (0..length).step_by(chunk as usize) {
                let rows = (length - token).min(chunk);
                chunks.push([start + token, rows, sequence as u32, 0].map(u32::cast_signed));
            }
            sequences.push([first as i32, (chunks.len() - first) as i32]);
            start = start.saturating_add(length);
        }
        ChunkTables { chunks, sequences }
    }

    /// The tables as a kernel's arguments `chunks` and `sequences` hold them.
    pub fn bytes(&self) -> [(&'static str, Vec<u8>); 2] {
        let bytes = |numbers: &[i32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        [
            ("chunks", bytes(self.chunks.as_flattened())),
            ("sequences", bytes(self.sequences.as_flattened())),
        ]
    }
}

/// Chunks that sequences of these lengths have.
pub fn chunk_count(lengths: &[u32], chunk: u32) -> u64 {
    lengths.iter().map(|length| u64::from(length.div_ceil(chunk.max(1)))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_sequences_have_a_row_and_no_chunk() {
        let tables = ChunkTables::new(&[0, 33, 0, 0, 16, 0], 16);
        let want = [[0, 16, 1, 0], [16, 16, 1, 0], [32, 1, 1, 0], [33, 16, 4, 0]];
        assert_eq!(tables.chunks, want);
        assert_eq!(tables.sequences, [[0, 0], [0, 3], [3, 0], [3, 0], [3, 1], [4, 0]]);
        assert_eq!(chunk_count(&[0, 33, 0, 0, 16, 0], 16), 4);
        assert_eq!(tables.bytes()[0].1.len(), 64);
    }

    #[test]
    fn no_tokens_are_no_chunks() {
        assert_eq!(ChunkTables::new(&[0], 32).chunks.len(), 0);
        assert_eq!((chunk_count(&[], 32), chunk_count(&[u32::MAX; 2], 0)), (0, 2 * 0xffff_ffff));
    }
}
