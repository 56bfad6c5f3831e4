//! Conversions and bit casts.

use dsl::ir::{Conversion, Scalar, Type, Value};
use inkwell::FloatPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, InstructionOpcode, IntValue, VectorValue};
use isa::Target;

use super::{Lowering, malformed};
use crate::error::CompileError;

impl<'ctx> Lowering<'ctx, '_> {
    pub(super) fn convert(
        &self,
        conversion: Conversion,
        value: Value,
        to: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let from = self.type_of(value)?;
        let value = self.value(value)?;
        let opcode = match conversion {
            Conversion::FExtend => InstructionOpcode::FPExt,
            Conversion::I32ToF32 => InstructionOpcode::SIToFP,
            Conversion::U32ToF32 => InstructionOpcode::UIToFP,
            Conversion::SignExtend => InstructionOpcode::SExt,
            Conversion::ZeroExtend => InstructionOpcode::ZExt,
            Conversion::Truncate => InstructionOpcode::Trunc,
            Conversion::F32ToI32 => {
                return self.call(
                    "llvm.fptosi.sat",
                    &[self.basic_type(to), self.basic_type(from)],
                    &[value],
                );
            }
            Conversion::FTruncate => return self.narrow(value, from, to),
        };
        Ok(self.builder.build_cast(opcode, value, self.basic_type(to), "")?)
    }

    /// f32 → f16 or bf16.
    fn narrow(
        &self,
        value: BasicValueEnum<'ctx>,
        from: Type,
        to: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let value = match (to.scalar(), self.kernel.target) {
            (Some(Scalar::Bf16), Target::Gfx1100) => {
                return self.narrow_to_bf16_by_integers(value, to);
            }
            // No instruction computes in bf16 and then rounds, so there is nothing to fuse.
            (Some(Scalar::Bf16), Target::Gfx950) => value,
            // LLVM turns a product narrowed to f16 into `v_fma_mixlo_f16`, which rounds once instead of
            // twice and loses a −0.
            _ => self.opaque(value, from)?,
        };
        Ok(self.builder.build_cast(InstructionOpcode::FPTrunc, value, self.basic_type(to), "")?)
    }

    /// gfx1100 has no conversion to bf16. Nearest even by integers: add half of what is dropped, less one
    /// when the kept part is even, and cut; a NaN is made quiet and cut instead, as the sum could carry it
    /// to infinity or zero. This sequence is the meaning of the conversion on this target in every back end:
    /// `is_nan ? bits | 0x0040_0000 : bits + 0x7fff + ((bits >> 16) & 1)`, then the upper 16 bits.
    fn narrow_to_bf16_by_integers(
        &self,
        value: BasicValueEnum<'ctx>,
        to: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let wide = to.with_scalar(Scalar::I32);
        let constant = |bits| self.constant(wide, bits);
        let apply = |opcode, left, right| self.builder.build_binop(opcode, left, right, "");
        let bits = self.builder.build_bit_cast(value, self.basic_type(wide), "")?;
        let upper = apply(InstructionOpcode::LShr, bits, constant(16)?)?;
        let is_odd = apply(InstructionOpcode::And, upper, constant(1)?)?;
        let half = apply(InstructionOpcode::Add, bits, constant(0x7fff)?)?;
        let rounded = apply(InstructionOpcode::Add, half, is_odd)?;
        let quiet = apply(InstructionOpcode::Or, bits, constant(0x0040_0000)?)?;
        let chosen = self.select_where_nan(value, quiet, rounded)?;
        let kept = apply(InstructionOpcode::LShr, chosen, constant(16)?)?;
        let narrow = self.basic_type(to.with_scalar(Scalar::I16));
        let kept = self.builder.build_cast(InstructionOpcode::Trunc, kept, narrow, "")?;
        Ok(self.builder.build_bit_cast(kept, self.basic_type(to), "")?)
    }

    fn select_where_nan(
        &self,
        value: BasicValueEnum<'ctx>,
        yes: BasicValueEnum<'ctx>,
        no: BasicValueEnum<'ctx>,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        match value {
            BasicValueEnum::FloatValue(float) => {
                let is_nan: IntValue =
                    self.builder.build_float_compare(FloatPredicate::UNO, float, float, "")?;
                Ok(self.builder.build_select(is_nan, yes, no, "")?)
            }
            BasicValueEnum::VectorValue(vector) => {
                let is_nan: VectorValue =
                    self.builder.build_float_compare(FloatPredicate::UNO, vector, vector, "")?;
                Ok(self.builder.build_select(is_nan, yes, no, "")?)
            }
            _ => Err(malformed("the narrowing of something that is not a float".to_owned())),
        }
    }

    pub(super) fn bitcast(
        &self,
        value: Value,
        to: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let to = self.basic_type(to);
        match (self.value(value)?, to) {
            (BasicValueEnum::PointerValue(pointer), BasicTypeEnum::IntType(int)) => {
                Ok(self.builder.build_ptr_to_int(pointer, int, "")?.into())
            }
            (BasicValueEnum::IntValue(int), BasicTypeEnum::PointerType(pointer)) => {
                Ok(self.builder.build_int_to_ptr(int, pointer, "")?.into())
            }
            (value, to) => Ok(self.builder.build_bit_cast(value, to, "")?),
        }
    }
}
