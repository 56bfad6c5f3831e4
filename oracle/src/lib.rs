//! What kernels are compared with: float64 references straight from the mathematics, float32 twins
//! with a kernel's own order of operations, input generators and error measures.
//!
//! * [`Case`]: one problem of any kernel, from its spec to the verdicts.
//! * [`decode_step`], [`conv_step`]: contracts, float64 references and limits of the two step kernels;
//!   [`recurrent`], [`conv_chunk`]: of the kernels that take such steps for many tokens; [`attention`]: of the kernels
//!   that read a paged cache.
//! * [`delta_rule`]: the token-serial recurrence that the gated delta-rule kernels share.
//! * [`prefill`]: problems of many tokens, with one reference token by token and another chunk by chunk.
//! * [`twin`]: float32 results in a kernel's own order of operations; of the step kernels bit for bit what
//!   they compute, of prefill a model of where it rounds.
//! * [`inputs`]: seeded tensors, the same on every host.
//! * [`tensors`]: tensors as bytes under the names of kernel arguments.
//! * [`measure`]: `rmse_ratio`, the floor of a type, verdicts.
//!
//! Nothing here shares code with the kernels or the emulator, and nothing uses the host's
//! mathematical library. A float64 reference does not see every float32 rounding or fused operation;
//! the twins exist for those.

pub mod attention;
mod case;
pub mod conv_chunk;
pub mod conv_step;
pub mod decode_step;
pub mod delta_rule;
mod error;
mod gate;
pub mod inputs;
pub mod measure;
pub mod prefill;
pub mod recurrent;
mod shape;
mod stored;
pub mod tensors;
pub mod twin;

pub use case::Case;
pub use error::OracleError;
pub use gate::{GateInput, RawGate};
pub use shape::DeltaShape;
pub use stored::Stored;
