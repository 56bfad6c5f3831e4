//! Types and constants.

use dsl::ir::{Scalar, Type, Value};
use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::types::{BasicType, BasicTypeEnum, IntType, VectorType};
use inkwell::values::{BasicValueEnum, VectorValue};

use super::{Lowering, malformed};
use crate::error::CompileError;
use crate::module::GLOBAL;

/// The LLVM type of a kernel IR type.
pub fn basic_type(context: &Context, ty: Type) -> BasicTypeEnum<'_> {
    match ty {
        Type::Scalar(scalar) => scalar_type(context, scalar),
        Type::Vector(scalar, lanes) => match scalar_type(context, scalar) {
            BasicTypeEnum::FloatType(float) => {
                float.vec_type(u32::from(lanes)).as_basic_type_enum()
            }
            _ => bits_type(context, scalar).vec_type(u32::from(lanes)).as_basic_type_enum(),
        },
        Type::Pointer => context.ptr_type(AddressSpace::from(GLOBAL)).into(),
    }
}

fn scalar_type(context: &Context, scalar: Scalar) -> BasicTypeEnum<'_> {
    match scalar {
        Scalar::F16 => context.f16_type().into(),
        Scalar::Bf16 => context.bf16_type().into(),
        Scalar::F32 => context.f32_type().into(),
        Scalar::I1 | Scalar::I16 | Scalar::I32 | Scalar::I64 => bits_type(context, scalar).into(),
    }
}

/// The integer type that holds a scalar's bits.
fn bits_type(context: &Context, scalar: Scalar) -> IntType<'_> {
    match scalar {
        Scalar::I1 => context.bool_type(),
        Scalar::I16 | Scalar::F16 | Scalar::Bf16 => context.i16_type(),
        Scalar::I32 | Scalar::F32 => context.i32_type(),
        Scalar::I64 => context.i64_type(),
    }
}

impl<'ctx> Lowering<'ctx, '_> {
    pub(super) fn basic_type(&self, ty: Type) -> BasicTypeEnum<'ctx> {
        basic_type(self.context, ty)
    }

    /// A constant from its bits; every bit of a float arrives, NaN payloads included.
    pub(super) fn constant(
        &self,
        ty: Type,
        bits: u64,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let scalar = ty.scalar().ok_or_else(|| malformed("a constant pointer".to_owned()))?;
        let pattern = bits_type(self.context, scalar).const_int(bits, false);
        let element =
            self.builder.build_bit_cast(pattern, scalar_type(self.context, scalar), "")?;
        Ok(match ty {
            Type::Vector(_, lanes) => {
                VectorType::const_vector(&vec![element; usize::from(lanes)]).into()
            }
            Type::Scalar(_) | Type::Pointer => element,
        })
    }

    pub(super) fn pack(
        &self,
        elements: &[Value],
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let elements: Vec<_> =
            elements.iter().map(|element| self.value(*element)).collect::<Result<_, _>>()?;
        self.assemble(&elements, ty)
    }

    pub(super) fn extract(
        &self,
        vector: Value,
        index: u8,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        self.element(self.vector(vector)?, index)
    }

    /// A scalar function applied to every element of a vector, or to a scalar.
    pub(super) fn per_element(
        &self,
        value: BasicValueEnum<'ctx>,
        ty: Type,
        apply: impl Fn(BasicValueEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, CompileError>,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let BasicValueEnum::VectorValue(vector) = value else { return apply(value) };
        let results: Vec<_> = (0..ty.lanes())
            .map(|index| apply(self.element(vector, index)?))
            .collect::<Result<_, _>>()?;
        self.assemble(&results, ty)
    }

    fn element(
        &self,
        vector: VectorValue<'ctx>,
        index: u8,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let index = self.context.i32_type().const_int(u64::from(index), false);
        Ok(self.builder.build_extract_element(vector, index, "")?)
    }

    fn assemble(
        &self,
        elements: &[BasicValueEnum<'ctx>],
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let BasicTypeEnum::VectorType(vector_type) = self.basic_type(ty) else {
            return Err(malformed(format!("a vector of type {ty}")));
        };
        let mut vector = vector_type.get_poison();
        for (index, element) in (0u64..).zip(elements) {
            let index = self.context.i32_type().const_int(index, false);
            vector = self.builder.build_insert_element(vector, *element, index, "")?;
        }
        Ok(vector.into())
    }
}
