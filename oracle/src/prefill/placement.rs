//! Where kernels have the rows of tokens: problems are token-major without gaps and are moved there, outputs back.

use std::borrow::Cow;

use specs::PrefillProblem;
use specs::chunk::TokenLayout;

use super::layout::moved;
use super::{Kernels, Layouts, Problem, RowLayout};
use crate::error::expect_len;
use crate::{DeltaShape, OracleError, Stored};

/// The rows of a problem in the order that kernels take them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    layout: TokenLayout,
    /// Elements behind every row.
    gap: usize,
    /// The problem's dimensions: packed sequences are one batch row, a batch of equal ones has as many.
    shape: DeltaShape,
}

/// Outputs back in token-major rows.
pub(super) struct Gathered {
    pub o: Stored,
    /// The first element between rows that something was written to.
    pub between: Option<usize>,
}

impl Placement {
    /// Of a problem of these kernels.
    pub fn of(kernels: &Kernels, problem: &PrefillProblem) -> Placement {
        let size = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
        let tokens = size(problem.row_tokens(kernels.common.varlen));
        let batch = if kernels.common.varlen { 1 } else { problem.lengths.len() };
        Placement {
            layout: kernels.common.layout,
            gap: problem.row_gap.unwrap_or(0) as usize,
            shape: DeltaShape { batch, tokens, ..kernels.shape(problem) },
        }
    }

    fn layouts(&self) -> Layouts {
        match self.layout {
            TokenLayout::TokenMajor => Layouts::token_major(&self.shape),
            TokenLayout::HeadMajor => Layouts::head_major(&self.shape),
            TokenLayout::Strided => Layouts::gapped(&self.shape, self.gap),
        }
    }

    /// The problem with its rows there, NaN between them.
    pub(super) fn of_problem<'a>(&self, problem: &'a Problem) -> Cow<'a, Problem> {
        if self.layout == TokenLayout::TokenMajor {
            return Cow::Borrowed(problem);
        }
        // The same memory: sequences of equal lengths lie one behind the other.
        let batched = Problem {
            shape: self.shape,
            cu_seqlens: None,
            layouts: Layouts::token_major(&self.shape),
            ..problem.clone()
        };
        Cow::Owned(batched.relaid(self.layouts()))
    }

    /// The table of strides, where the kernels take one.
    pub(super) fn strides(&self) -> Option<Vec<u8>> {
        let Layouts { q, k, v, gate, beta, o } = self.layouts();
        let row = |of: RowLayout| [of.batch, of.token, of.head];
        let rows = [q, k, v, gate, beta, o].into_iter().flat_map(row);
        // A plan's tensors of tokens are smaller than 2 GiB.
        let number = |stride: usize| i32::try_from(stride).unwrap_or(i32::MAX).to_le_bytes();
        (self.layout == TokenLayout::Strided).then(|| rows.flat_map(number).collect())
    }

    /// o as kernels wrote it, back in token-major rows.
    ///
    /// # Errors
    /// [`OracleError`] when it has another length.
    pub(super) fn gathered(&self, o: Stored) -> Result<Gathered, OracleError> {
        if self.layout == TokenLayout::TokenMajor {
            return Ok(Gathered { o, between: None });
        }
        let (from, shape) = (self.layouts().o, &self.shape);
        let (heads, channels) = (shape.value_heads, shape.head_v);
        expect_len("o", o.len(), shape.batch * from.batch)?;
        let mut is_row = vec![false; o.len()];
        for row in from.rows(shape.batch, shape.tokens, heads) {
            is_row[row..row + channels].fill(true);
        }
        let between = (0..o.len()).find(|&index| !is_row[index] && !o.f32_at(index).is_nan());
        let to = Layouts::token_major(shape).o;
        Ok(Gathered { o: moved(shape, &o, from, to, heads, channels), between })
    }
}
