//! Float32 host twins: the exact order of float operations that docs/kernels/ promises for a kernel,
//! so that a kernel's bits can be compared and not only its accuracy.

pub mod attention;
pub mod conv_step;
pub mod decode_step;
mod delta;
mod gate;
mod instruction;
pub mod prefill;
pub mod recurrent;

use specs::Dtype;

use crate::Stored;

/// Rounds float32 results to the type that a kernel stores.
fn narrow(dtype: Dtype, values: Vec<f32>) -> Stored {
    match dtype {
        Dtype::F32 => Stored::F32(values),
        Dtype::Bf16 => Stored::Bf16(values.into_iter().map(half::bf16::from_f32).collect()),
        Dtype::F16 => Stored::F16(values.into_iter().map(half::f16::from_f32).collect()),
    }
}
