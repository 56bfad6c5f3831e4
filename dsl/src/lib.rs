//! The kernel language: [IR](ir), [builder], [verifier](mod@verify) and [text form](text).

pub mod builder;
pub mod ir;
pub mod math;
pub mod text;
pub mod verify;

mod dataflow;
mod types;
mod walk;

pub use builder::{
    Accumulator, Atom, BuildError, Expr, Factor, Held, KernelBuilder, LaneGroups, Mask,
    RowElements, SplitFactor, View, WaveBlocks, WaveTile,
};
pub use ir::{Kernel, Scalar};
pub use text::{parse, print};
pub use verify::verify;
