//! Matrix operations.

use dsl::ir::{Type, Value};
use inkwell::types::BasicType;
use inkwell::values::BasicValueEnum;
use isa::table::Matrix;

use super::{Lowering, malformed};
use crate::error::CompileError;

/// How LLVM's intrinsic of an operation takes its operands.
#[derive(Clone, Copy)]
enum Form {
    /// MFMA: factors as they are, then CBSZ, ABID and BLGP.
    Mfma,
    /// MFMA that is older than LLVM's bf16: factors as vectors of i16.
    MfmaOnBits,
    /// WMMA: factors as they are; result and factors are in the mangled name.
    Wmma,
    /// WMMA that is older than LLVM's bf16.
    WmmaOnBits,
}

/// The intrinsic of an operation (LLVM 22, `IntrinsicsAMDGPU`); `None` for those that kernels may not use.
#[rustfmt::skip]
fn intrinsic(op: Matrix) -> Option<(&'static str, Form)> {
    Some(match op {
        Matrix::VMfmaF3216x16x4F32 => ("llvm.amdgcn.mfma.f32.16x16x4f32", Form::Mfma),
        Matrix::VMfmaF3232x32x2F32 => ("llvm.amdgcn.mfma.f32.32x32x2f32", Form::Mfma),
        Matrix::VMfmaF3216x16x16F16 => ("llvm.amdgcn.mfma.f32.16x16x16f16", Form::Mfma),
        Matrix::VMfmaF3232x32x8F16 => ("llvm.amdgcn.mfma.f32.32x32x8f16", Form::Mfma),
        Matrix::VMfmaF3216x16x32F16 => ("llvm.amdgcn.mfma.f32.16x16x32.f16", Form::Mfma),
        Matrix::VMfmaF3232x32x16F16 => ("llvm.amdgcn.mfma.f32.32x32x16.f16", Form::Mfma),
        Matrix::VMfmaF3216x16x16Bf16 => ("llvm.amdgcn.mfma.f32.16x16x16bf16.1k", Form::MfmaOnBits),
        Matrix::VMfmaF3232x32x8Bf16 => ("llvm.amdgcn.mfma.f32.32x32x8bf16.1k", Form::MfmaOnBits),
        Matrix::VMfmaF3216x16x32Bf16 => ("llvm.amdgcn.mfma.f32.16x16x32.bf16", Form::Mfma),
        Matrix::VMfmaF3232x32x16Bf16 => ("llvm.amdgcn.mfma.f32.32x32x16.bf16", Form::Mfma),
        Matrix::VWmmaF3216x16x16F16 => ("llvm.amdgcn.wmma.f32.16x16x16.f16", Form::Wmma),
        Matrix::VWmmaF3216x16x16Bf16 => ("llvm.amdgcn.wmma.f32.16x16x16.bf16", Form::WmmaOnBits),
        _ => return None,
    })
}

impl<'ctx> Lowering<'ctx, '_> {
    /// Operands `[a, b, c]`.
    pub(super) fn matrix(
        &self,
        op: Matrix,
        [a, b, c]: [Value; 3],
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let Some((name, form)) = intrinsic(op) else {
            return Err(malformed(format!("{op:?} has no intrinsic")));
        };
        let (mut a, mut b, c) = (self.value(a)?, self.value(b)?, self.value(c)?);
        if matches!(form, Form::MfmaOnBits | Form::WmmaOnBits) {
            (a, b) = (self.halves(a)?, self.halves(b)?);
        }
        match form {
            Form::Mfma | Form::MfmaOnBits => {
                let zero = self.context.i32_type().const_zero().into();
                self.call(name, &[], &[a, b, c, zero, zero, zero])
            }
            Form::Wmma | Form::WmmaOnBits => {
                self.call(name, &[self.basic_type(ty), a.get_type()], &[a, b, c])
            }
        }
    }

    /// A vector of 16-bit floats as integers of the same bits.
    fn halves(&self, value: BasicValueEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let lanes = value.get_type().into_vector_type().get_size();
        let bits = self.context.i16_type().vec_type(lanes).as_basic_type_enum();
        Ok(self.builder.build_bit_cast(value, bits, "")?)
    }
}
