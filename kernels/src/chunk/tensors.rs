//! Stage tensors on their way from global memory to LDS.

use dsl::builder::TileVectors;
use dsl::{Expr, KernelBuilder, View};
use specs::KdaChunkScanSpec;

use super::{Lds, Operand, Stage, stage_shape};

/// The stage tensors of the value head.
pub(crate) struct Tensors<'k>(Vec<Tensor<'k>>);

/// A stage tensor: `[chunks, rows, columns]` in global memory, and its buffer in LDS.
struct Tensor<'k> {
    global: View<'k>,
    lds: View<'k>,
    vectors: TileVectors<'k>,
}

impl<'k> Tensors<'k> {
    /// Declares one parameter for every buffer of the map.
    #[track_caller]
    pub(crate) fn declare(
        k: &'k KernelBuilder,
        spec: &KdaChunkScanSpec,
        lds: &Lds<'k>,
        stage: &Stage<'k>,
    ) -> Tensors<'k> {
        let tensor = |name| Tensor::declare(k, spec, name, stage.part(name)?).into();
        Tensors(lds.names().filter_map(tensor).collect())
    }

    /// The work-item's share of a chunk's stage tensors.
    pub(crate) fn fetch(&self, chunk: Expr<'k>) -> Vec<Expr<'k>> {
        let share = |tensor: &Tensor<'k>| tensor.vectors.load(&tensor.global.at(chunk));
        self.0.iter().flat_map(share).collect()
    }

    /// Stores what [`Tensors::fetch`] gave to LDS.
    pub(crate) fn put(&self, vectors: &[Expr<'k>]) {
        let mut rest = vectors;
        for tensor in &self.0 {
            let (mine, others) = rest.split_at(tensor.vectors.count());
            tensor.vectors.store(&tensor.lds, mine);
            rest = others;
        }
    }
}

impl<'k> Stage<'k> {
    /// The part of that name.
    fn part(&self, name: &str) -> Option<View<'k>> {
        let (whole, is_low) = match name.strip_suffix("_low") {
            Some(whole) => (whole, true),
            None => (name, false),
        };
        let of = |operand: &Operand<'k>| {
            if is_low { operand.low.clone() } else { Some(operand.high.clone()) }
        };
        match self.operands().into_iter().find(|(name, _)| *name == whole) {
            Some((_, operand)) => of(operand),
            None => (whole == "dec").then(|| self.dec.clone()),
        }
    }
}

impl<'k> Tensor<'k> {
    fn declare(
        k: &'k KernelBuilder,
        spec: &KdaChunkScanSpec,
        name: &str,
        lds: View<'k>,
    ) -> Tensor<'k> {
        let [rows, columns] = stage_shape(&spec.common, name);
        let shape = [None, Some(spec.common.value_heads), Some(rows), Some(columns)];
        let global = k.input(name, lds.elem(), &shape).pick(1, k.workgroup_id_y());
        let lanes = (16 / lds.elem().size_bytes()).min(columns) as u8;
        Tensor { global, lds, vectors: k.tile_vectors(rows, columns, lanes) }
    }
}
