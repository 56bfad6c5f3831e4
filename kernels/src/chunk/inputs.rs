//! What a tile is made from: queries, keys, gates and steps of one value head.

use dsl::ir::Scalar;
use dsl::{Expr, KernelBuilder, View};
use specs::{HeadMap, KdaTileSpec};

use super::gates::ChunkGates;
use super::{Rows, dtype};

/// The rows of one value head.
#[derive(Clone)]
pub(crate) struct Inputs<'k> {
    /// `[tokens, K]` of its key head; `[C, K]` of a chunk.
    pub q: View<'k>,
    pub key: View<'k>,
    pub gates: ChunkGates<'k>,
    /// `[tokens]`, `[C]`.
    pub beta: View<'k>,
    pub scale: Expr<'k>,
}

impl<'k> Inputs<'k> {
    /// Declares the parameters.
    #[track_caller]
    pub(crate) fn declare(k: &'k KernelBuilder, spec: &KdaTileSpec, head: Expr<'k>) -> Inputs<'k> {
        let (common, part) = (&spec.common, &spec.tile);
        let heads = common.value_heads;
        let key_head = match part.head_map {
            HeadMap::Grouped => head.div_u(heads / part.key_heads),
            HeadMap::Tiled => head.rem_u(part.key_heads),
        };
        let keys = [None, Some(part.key_heads), Some(common.head_k)];
        let rows = |name| k.input(name, dtype(common.dtype), &keys).pick(1, key_head);
        let (q, key) = (rows("q"), rows("k"));
        let beta = k.input("beta", dtype(part.beta_dtype), &[None, Some(heads)]).pick(1, head);
        let scale = k.scalar("scale", Scalar::F32);
        Inputs { q, key, gates: ChunkGates::declare(k, spec, head), beta, scale }
    }

    /// Those of a chunk of `chunk` rows.
    #[track_caller]
    pub(crate) fn of_chunk(&self, rows: Rows<'k>, chunk: u32) -> Inputs<'k> {
        let matrix = |view: &View<'k>| view.window((rows.first, 0)).first_rows(chunk);
        Inputs {
            q: matrix(&self.q),
            key: matrix(&self.key),
            gates: self.gates.of_chunk(matrix),
            beta: self.beta.window(rows.first).first_rows(chunk),
            scale: self.scale,
        }
    }
}
