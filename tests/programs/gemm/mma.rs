//! The matrix instructions, and how LLVM's intrinsics take their operands.

/// How elements of A and B are stored.
#[derive(Clone, Copy, PartialEq)]
pub enum Element {
    F16,
    Bf16,
    F32,
    F64,
    /// OCP E4M3 and E5M2.
    Fp8,
    Bf8,
    I8,
}

impl Element {
    /// The integer type of as many bits.
    pub fn int(self) -> &'static str {
        match self {
            Element::Fp8 | Element::Bf8 | Element::I8 => "i8",
            Element::F16 | Element::Bf16 => "i16",
            Element::F32 => "i32",
            Element::F64 => "i64",
        }
    }

    pub fn bytes(self) -> u32 {
        match self.int() {
            "i8" => 1,
            "i16" => 2,
            "i32" => 4,
            _ => 8,
        }
    }
}

/// Where an element of the result is.
#[derive(Clone, Copy, PartialEq)]
pub enum Layout {
    /// Rows in groups of four: `8 * (i / 4) + 4 * (lane / m) + i % 4`.
    Mfma,
    /// Rows a lane group apart: `groups * i + lane / m`.
    Interleaved,
}

/// A matrix instruction and how to call it.
#[derive(Clone, Copy)]
pub struct Mma {
    /// The call with `A`, `B`, `C` for the operands, each with its type.
    pub call: &'static str,
    pub element: Element,
    /// Rows and columns of the result.
    pub m: u32,
    /// Elements of k of one instruction, and of one lane.
    pub k: u32,
    pub per_lane: u32,
    /// Type of the operand of a lane, and of its results.
    pub operand: &'static str,
    pub accumulator: &'static str,
    /// Type of a result, how many a lane has, every which element of the accumulator holds one.
    pub result: &'static str,
    pub results: u32,
    pub stride: u32,
    pub layout: Layout,
}

pub const MFMA_F16_16: Mma = Mma {
    call: "call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.f16(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::F16,
    m: 16,
    k: 32,
    per_lane: 8,
    operand: "<8 x half>",
    accumulator: "<4 x float>",
    result: "float",
    results: 4,
    stride: 1,
    layout: Layout::Mfma,
};

pub const MFMA_F16_32: Mma = Mma {
    call: "call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(A, B, C, i32 0, i32 0, i32 0)",
    m: 32,
    k: 16,
    accumulator: "<16 x float>",
    results: 16,
    ..MFMA_F16_16
};

pub const MFMA_F16_32X8: Mma = Mma {
    call: "call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(A, B, C, i32 0, i32 0, i32 0)",
    k: 8,
    per_lane: 4,
    operand: "<4 x half>",
    ..MFMA_F16_32
};

pub const MFMA_BF16_16: Mma = Mma {
    call: "call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.bf16(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::Bf16,
    operand: "<8 x bfloat>",
    ..MFMA_F16_16
};

pub const MFMA_BF16_32: Mma = Mma {
    call: "call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::Bf16,
    operand: "<8 x bfloat>",
    ..MFMA_F16_32
};

pub const MFMA_F32_16: Mma = Mma {
    call: "call <4 x float> @llvm.amdgcn.mfma.f32.16x16x4f32(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::F32,
    k: 4,
    per_lane: 1,
    operand: "float",
    ..MFMA_F16_16
};

pub const MFMA_F32_32: Mma = Mma {
    call: "call <16 x float> @llvm.amdgcn.mfma.f32.32x32x2f32(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::F32,
    k: 2,
    per_lane: 1,
    operand: "float",
    ..MFMA_F16_32
};

pub const MFMA_F64: Mma = Mma {
    call: "call <4 x double> @llvm.amdgcn.mfma.f64.16x16x4f64(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::F64,
    k: 4,
    per_lane: 1,
    operand: "double",
    accumulator: "<4 x double>",
    result: "double",
    layout: Layout::Interleaved,
    ..MFMA_F16_16
};

pub const MFMA_FP8_16: Mma = Mma {
    call: "call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::Fp8,
    operand: "i64",
    ..MFMA_F16_16
};

pub const MFMA_FP8_32: Mma = Mma {
    call: "call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.fp8.fp8(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::Fp8,
    operand: "i64",
    ..MFMA_F16_32
};

pub const MFMA_BF8_16: Mma = Mma {
    call: "call <4 x float> @llvm.amdgcn.mfma.f32.16x16x32.bf8.bf8(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::Bf8,
    operand: "i64",
    ..MFMA_F16_16
};

pub const MFMA_I8_16: Mma = Mma {
    call: "call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x64.i8(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::I8,
    k: 64,
    per_lane: 16,
    operand: "<4 x i32>",
    accumulator: "<4 x i32>",
    result: "i32",
    ..MFMA_F16_16
};

pub const MFMA_I8_32: Mma = Mma {
    call: "call <16 x i32> @llvm.amdgcn.mfma.i32.32x32x32.i8(A, B, C, i32 0, i32 0, i32 0)",
    element: Element::I8,
    k: 32,
    per_lane: 16,
    operand: "<4 x i32>",
    accumulator: "<16 x i32>",
    result: "i32",
    ..MFMA_F16_32
};

pub const WMMA_F16: Mma = Mma {
    call: "call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(A, B, C)",
    element: Element::F16,
    m: 16,
    k: 16,
    per_lane: 16,
    operand: "<16 x half>",
    accumulator: "<8 x float>",
    result: "float",
    results: 8,
    stride: 1,
    layout: Layout::Interleaved,
};

pub const WMMA_BF16: Mma = Mma {
    call: "call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v16i16(A, B, C)",
    element: Element::Bf16,
    operand: "<16 x i16>",
    ..WMMA_F16
};

/// Results of 16 bits, in the high halves of the registers.
pub const WMMA_F16_F16: Mma = Mma {
    call: "call <16 x half> @llvm.amdgcn.wmma.f16.16x16x16.f16.v16f16.v16f16(A, B, C, i1 true)",
    accumulator: "<16 x half>",
    result: "half",
    stride: 2,
    ..WMMA_F16
};

pub const WMMA_IU8: Mma = Mma {
    call: "call <8 x i32> @llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v4i32(i1 true, A, i1 true, B, C, i1 false)",
    element: Element::I8,
    operand: "<4 x i32>",
    accumulator: "<8 x i32>",
    result: "i32",
    ..WMMA_F16
};

/// No matrix instruction: one element of the result a lane, a fused multiply-add a step of k. Of the lanes
/// of a 16x16 tile each has as many rows as fit.
pub const VECTOR_F32: Mma = Mma {
    call: "",
    element: Element::F32,
    m: 16,
    k: 4,
    per_lane: 4,
    operand: "<4 x float>",
    accumulator: "",
    result: "float",
    results: 0,
    stride: 1,
    layout: Layout::Interleaved,
};
