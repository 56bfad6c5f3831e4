//! The kernel language: [IR](ir), [builder], [verifier](mod@verify), [text form](text) and [interpreter](interpret).

pub mod builder;
pub mod interpret;
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
