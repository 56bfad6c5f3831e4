//! Where the rows of tokens lie in memory.

use dsl::ir::{Access, Scalar};
use dsl::{Expr, KernelBuilder, View};
use specs::chunk::{ChunkCommon, TokenLayout};

use super::Rows;

/// Elements of which strides of rows are multiples, so that 16-byte accesses stay aligned.
const STRIDE_MULTIPLE: i32 = 8;

/// The tensors with a row a token and head, in the order of the rows of `strides`.
#[derive(Clone, Copy)]
pub(crate) enum Tensor {
    Q,
    K,
    V,
    G,
    Beta,
    O,
}

/// How rows of tokens follow each other in a kernel's tensors.
pub(crate) enum Places<'k> {
    /// [B, T, H, D], tokens counted through the batch.
    TokenMajor,
    /// [B, H, T, D] with so many tokens.
    HeadMajor { tokens: Expr<'k> },
    /// As `[6, 3]` strides say: of batch, token and head, in elements.
    Strided { strides: View<'k> },
}

/// The rows of one head in one tensor.
#[derive(Clone)]
pub(crate) struct HeadRows<'k> {
    /// `[tokens, D]`, or `[batch, head, tokens, D]`.
    view: View<'k>,
    /// The head, where it is not fixed yet.
    head: Option<Expr<'k>>,
}

impl<'k> Places<'k> {
    /// Declares what the layout needs: nothing, `tokens`, or `strides`.
    #[track_caller]
    pub(crate) fn declare(k: &'k KernelBuilder, common: &ChunkCommon) -> Places<'k> {
        match common.layout {
            TokenLayout::TokenMajor => Places::TokenMajor,
            TokenLayout::HeadMajor => Places::HeadMajor { tokens: k.scalar("tokens", Scalar::I32) },
            TokenLayout::Strided => {
                let rows = Tensor::O as u32 + 1;
                let strides = k.input("strides", Scalar::I32, &[Some(rows), Some(3)]);
                Places::Strided { strides }
            }
        }
    }

    /// Declares a tensor of `heads` heads with rows of `width`, of which the kernel wants one head.
    #[track_caller]
    pub(crate) fn tensor(
        &self,
        k: &'k KernelBuilder,
        (tensor, name): (Tensor, &str),
        (elem, access): (Scalar, Access),
        (heads, head): (u32, Expr<'k>),
        width: u32,
    ) -> HeadRows<'k> {
        let of = |[batch, token, head_stride]: [Option<Expr<'k>>; 3]| HeadRows {
            view: k.strided(
                name,
                elem,
                access,
                &[(None, batch), (None, head_stride), (None, token), (Some(width), None)],
            ),
            head: Some(head),
        };
        match self {
            Places::TokenMajor => {
                let dims = [None, Some(heads), Some(width)];
                HeadRows { view: k.buffer(name, elem, access, &dims).pick(1, head), head: None }
            }
            Places::HeadMajor { tokens } => {
                let of_head = *tokens * width as i32;
                of([Some(of_head * heads as i32), None, Some(of_head)])
            }
            Places::Strided { strides } => {
                let row = strides.at(tensor as u32);
                let stride = |axis: u32| {
                    let stride = row.load(axis);
                    Some(if width == 1 { stride } else { stride & -STRIDE_MULTIPLE })
                };
                of([stride(0), stride(1), stride(2)])
            }
        }
    }
}

impl<'k> HeadRows<'k> {
    /// The rows of a chunk, `[C, D]`.
    #[track_caller]
    pub(crate) fn of_chunk(&self, rows: Rows<'k>, chunk: u32) -> View<'k> {
        let tokens = match self.head {
            None => self.view.clone(),
            Some(head) => self.view.at((rows.batch, head)),
        };
        tokens.window((rows.first, 0)).first_rows(chunk)
    }
}
