//! Chunked prefill: what its kernels share.

mod block;
pub mod fused;
mod gates;
mod layout;
mod operand;
pub mod probe;
mod products;
pub mod scan;
mod solve;
mod status;
mod sub_chunks;
mod sums;
mod sweep;
mod tensors;
pub mod tile;

use dsl::ir::Scalar;
use dsl::{Expr, KernelBuilder, View};
use specs::chunk::ChunkCommon;
use specs::lds_map::LdsMap;
use specs::{Dtype, Element};

use probe::Altered;

pub(crate) use operand::{Operand, add_products};

/// One row a chunk of the launch, four i32: first token, valid rows (1 to C), and, for whoever reads the table, the
/// sequence; then the batch. In token-major tensors the first token is counted through the whole batch, in others in
/// the chunk's own.
pub const CHUNK_ROW: u32 = 4;

/// Added to the sum of a row's squares before its inverse length is taken.
pub(crate) const L2_NORM_EPSILON: f32 = 1e-6;

/// The buffers of an LDS map, declared in a kernel in the map's order.
pub(crate) struct Lds<'k> {
    views: Vec<(&'static str, View<'k>)>,
}

impl<'k> Lds<'k> {
    /// Declares every buffer: each with bytes of its own, or all as parts of one where the map lays them over each other;
    /// behind them what a probe adds.
    #[track_caller]
    pub(crate) fn declare(k: &'k KernelBuilder, map: &LdsMap, altered: Altered) -> Lds<'k> {
        let overlay = (!map.handovers().is_empty()).then(|| {
            let words = (map.total_bytes() as u32).div_ceil(4);
            k.lds("overlay", Scalar::I32, &[words])
        });
        let view = |placed: &specs::lds_map::PlacedBuffer| {
            let buffer = &placed.buffer;
            let (elem, dims) = (element(buffer.element), [buffer.rows, buffer.pitch]);
            match &overlay {
                Some(bytes) => bytes.carved(placed.offset as u32, elem, &dims),
                None => k.lds(buffer.name, elem, &dims),
            }
        };
        let views = map.buffers().iter().map(|placed| (placed.buffer.name, view(placed))).collect();
        if let Some(total) = altered.lds_bytes {
            probe::ballast(k, map.total_bytes(), total);
        }
        Lds { views }
    }

    /// Names of the buffers, in the map's order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.views.iter().map(|(name, _)| *name)
    }

    /// The buffer of that name, `[rows, pitch]`, when the map has it.
    pub(crate) fn find(&self, name: &str) -> Option<View<'k>> {
        self.views.iter().find(|(known, _)| *known == name).map(|(_, view)| view.clone())
    }

    /// The buffer of that name, which the map must have.
    pub(crate) fn view(&self, name: &str) -> View<'k> {
        self.find(name).expect("a kernel asks only for buffers of its own map")
    }

    /// A matrix operand: the buffer of that name, with its low half where the map has one.
    pub(crate) fn operand(&self, name: &str) -> Operand<'k> {
        Operand { high: self.view(name), low: self.find(&format!("{name}_low")) }
    }
}

/// Where the stage tensors of one chunk of one value head are.
#[derive(Clone)]
pub(crate) struct Stage<'k> {
    /// `[C, C]`.
    pub a: Operand<'k>,
    /// `[C, K]`.
    pub gk: Operand<'k>,
    /// `[C, K]`.
    pub gq: Operand<'k>,
    /// `[C, C]`.
    pub aqk: Operand<'k>,
    /// `[K, C]`.
    pub kt: Operand<'k>,
    /// `[1, K]`, or `[1, 1]` where a head has one gate.
    pub dec: View<'k>,
}

impl<'k> Stage<'k> {
    /// Those in 16 bits, by name.
    fn operands(&self) -> [(&'static str, &Operand<'k>); 5] {
        [("a", &self.a), ("gk", &self.gk), ("gq", &self.gq), ("aqk", &self.aqk), ("kt", &self.kt)]
    }
}

/// Rows and columns of the stage tensor of that name.
pub(crate) fn stage_shape(common: &ChunkCommon, name: &str) -> [u32; 2] {
    let (chunk, head_k) = (common.chunk, common.head_k);
    match name.strip_suffix("_low").unwrap_or(name) {
        "gk" | "gq" => [chunk, head_k],
        "kt" => [head_k, chunk],
        "dec" => [1, if common.per_channel_gate() { head_k } else { 1 }],
        _ => [chunk, chunk],
    }
}

pub(crate) fn element(element: Element) -> Scalar {
    match element {
        Element::F32 => Scalar::F32,
        Element::Bf16 => Scalar::Bf16,
        Element::F16 => Scalar::F16,
        Element::I32 => Scalar::I32,
    }
}

pub(crate) fn dtype(dtype: Dtype) -> Scalar {
    element(Element::from(dtype))
}

/// The rows of a chunk: which of them exist.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'k> {
    /// The first token.
    pub first: Expr<'k>,
    /// Rows that exist, at least one.
    pub valid: Expr<'k>,
    pub batch: Expr<'k>,
}

impl<'k> Rows<'k> {
    /// Of one row of the chunk table.
    #[track_caller]
    pub(crate) fn of(table: &View<'k>, chunk: Expr<'k>) -> Rows<'k> {
        let [first, valid, batch] = [0, 1, 3].map(|field: u32| table.load((chunk, field)));
        Rows { first, valid, batch }
    }

    /// `load` of a row that exists, and zeros in place of its result in a row that does not: what lies behind the last
    /// row may be anything, NaN too.
    #[track_caller]
    pub(crate) fn or_zeros(
        self,
        row: Expr<'k>,
        load: impl FnOnce(Expr<'k>) -> Expr<'k>,
    ) -> Expr<'k> {
        let value = load(row.min_u(self.valid - 1));
        self.keep(row, value)
    }

    /// `value` in a row that exists, zeros in one that does not.
    #[track_caller]
    pub(crate) fn keep(self, row: Expr<'k>, value: Expr<'k>) -> Expr<'k> {
        let zeros = value.builder().constant(value.ty(), 0);
        row.lt_u(self.valid).select(value, zeros)
    }
}
