//! Element types of tensors.

use crate::choice::choice;

choice! {
    /// The float type of a kernel's inputs and outputs; arithmetic is f32 whatever this is.
    pub enum Dtype {
        /// IEEE single.
        F32 = "f32",
        /// bfloat16.
        Bf16 = "bf16",
        /// IEEE half.
        F16 = "f16",
    }
}

choice! {
    /// The element type of a tensor that a kernel reads or writes.
    pub enum Element {
        /// IEEE single.
        F32 = "f32",
        /// bfloat16.
        Bf16 = "bf16",
        /// IEEE half.
        F16 = "f16",
        /// 32-bit two's complement integer.
        I32 = "i32",
    }
}

impl Element {
    /// Size of one element in bytes.
    pub const fn size_bytes(self) -> u64 {
        match self {
            Element::F32 | Element::I32 => 4,
            Element::Bf16 | Element::F16 => 2,
        }
    }
}

impl From<Dtype> for Element {
    fn from(dtype: Dtype) -> Element {
        match dtype {
            Dtype::F32 => Element::F32,
            Dtype::Bf16 => Element::Bf16,
            Dtype::F16 => Element::F16,
        }
    }
}
