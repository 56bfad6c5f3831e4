//! Unary and binary operations and comparisons.

use dsl::ir::{BinOp, CmpOp, Scalar, Type, UnOp, Value};
use inkwell::values::{BasicValueEnum, InstructionOpcode};
use inkwell::{FloatPredicate, IntPredicate};

use super::{Lowering, as_int, malformed};
use crate::error::CompileError;

/// How a binary operation is spelled in LLVM IR.
enum Spelling {
    /// One instruction.
    Instruction(InstructionOpcode),
    /// One intrinsic, overloaded by the operand type.
    Intrinsic(&'static str),
    /// One shift, whose amount is reduced to the width first.
    Shift(InstructionOpcode),
    /// One division by a constant, which must not be zero.
    ByConstant(InstructionOpcode),
    /// The upper half of a widened product.
    HighProduct,
}

fn spelling(op: BinOp) -> Spelling {
    use InstructionOpcode as I;
    match op {
        BinOp::FAdd => Spelling::Instruction(I::FAdd),
        BinOp::FSub => Spelling::Instruction(I::FSub),
        BinOp::FMul => Spelling::Instruction(I::FMul),
        // Unlike `minnum`, these order the zeros.
        BinOp::FMin => Spelling::Intrinsic("llvm.minimumnum"),
        BinOp::FMax => Spelling::Intrinsic("llvm.maximumnum"),
        BinOp::Add => Spelling::Instruction(I::Add),
        BinOp::Sub => Spelling::Instruction(I::Sub),
        BinOp::Mul => Spelling::Instruction(I::Mul),
        BinOp::MulHighU => Spelling::HighProduct,
        BinOp::DivU => Spelling::ByConstant(I::UDiv),
        BinOp::RemU => Spelling::ByConstant(I::URem),
        BinOp::And => Spelling::Instruction(I::And),
        BinOp::Or => Spelling::Instruction(I::Or),
        BinOp::Xor => Spelling::Instruction(I::Xor),
        BinOp::Shl => Spelling::Shift(I::Shl),
        BinOp::ShrU => Spelling::Shift(I::LShr),
        BinOp::ShrS => Spelling::Shift(I::AShr),
        BinOp::MinS => Spelling::Intrinsic("llvm.smin"),
        BinOp::MaxS => Spelling::Intrinsic("llvm.smax"),
        BinOp::MinU => Spelling::Intrinsic("llvm.umin"),
        BinOp::MaxU => Spelling::Intrinsic("llvm.umax"),
    }
}

impl<'ctx> Lowering<'ctx, '_> {
    pub(super) fn unary(
        &self,
        op: UnOp,
        value: Value,
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let value = self.value(value)?;
        match op {
            UnOp::FNeg => self.negate(value),
            UnOp::FAbs => self.call("llvm.fabs", &[self.basic_type(ty)], &[value]),
            UnOp::RoundEven => self.call("llvm.roundeven", &[self.basic_type(ty)], &[value]),
            UnOp::Exp2 => self.target_function("llvm.amdgcn.exp2", value, ty),
            UnOp::Log2 => self.target_function("llvm.amdgcn.log", value, ty),
            // LLVM would fold the reciprocal of a constant with a division, which rounds otherwise.
            UnOp::Rcp => self.target_function("llvm.amdgcn.rcp", self.opaque(value, ty)?, ty),
            UnOp::Rsq => self.target_function("llvm.amdgcn.rsq", value, ty),
            UnOp::Sqrt => self.target_function("llvm.amdgcn.sqrt", value, ty),
            UnOp::Not => {
                let ones = self.constant(ty, u64::MAX)?;
                Ok(self.builder.build_binop(InstructionOpcode::Xor, value, ones, "")?)
            }
        }
    }

    fn negate(&self, value: BasicValueEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, CompileError> {
        match value {
            BasicValueEnum::FloatValue(float) => {
                Ok(self.builder.build_float_neg(float, "")?.into())
            }
            BasicValueEnum::VectorValue(vector) => {
                Ok(self.builder.build_float_neg(vector, "")?.into())
            }
            _ => Err(malformed("the negation of something that is not a float".to_owned())),
        }
    }

    /// One of the target's transcendental instructions, which exist for scalars only.
    fn target_function(
        &self,
        name: &str,
        value: BasicValueEnum<'ctx>,
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let scalar = self.basic_type(scalar_of(ty)?);
        self.per_element(value, ty, |element| self.call(name, &[scalar], &[element]))
    }

    pub(super) fn binary(
        &self,
        op: BinOp,
        left: Value,
        right: Value,
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        match spelling(op) {
            Spelling::Instruction(opcode) => {
                Ok(self.builder.build_binop(opcode, left, right, "")?)
            }
            Spelling::Intrinsic(name) => self.call(name, &[self.basic_type(ty)], &[left, right]),
            Spelling::Shift(opcode) => {
                let amount = self.modulo_width(right, ty)?;
                Ok(self.builder.build_binop(opcode, left, amount, "")?)
            }
            Spelling::ByConstant(opcode) => {
                if !self.is_nonzero_constant(right)? {
                    return Err(malformed(
                        "a division by something other than a nonzero constant".to_owned(),
                    ));
                }
                Ok(self.builder.build_binop(opcode, left, right, "")?)
            }
            Spelling::HighProduct => self.high_product(left, right, ty),
        }
    }

    fn modulo_width(
        &self,
        amount: BasicValueEnum<'ctx>,
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let width_bits = u64::from(scalar_of(ty)?.size_bytes()) * 8;
        let mask = self.constant(ty, width_bits.saturating_sub(1))?;
        Ok(self.builder.build_binop(InstructionOpcode::And, amount, mask, "")?)
    }

    fn is_nonzero_constant(&self, value: BasicValueEnum<'ctx>) -> Result<bool, CompileError> {
        let first = match value {
            BasicValueEnum::VectorValue(vector) if vector.is_const() => {
                let zero = self.context.i32_type().const_zero();
                self.builder.build_extract_element(vector, zero, "")?
            }
            scalar => scalar,
        };
        let bits = as_int(first).and_then(|int| int.get_zero_extended_constant());
        Ok(bits.is_some_and(|bits| bits != 0))
    }

    fn high_product(
        &self,
        left: BasicValueEnum<'ctx>,
        right: BasicValueEnum<'ctx>,
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let wide = ty.with_scalar(Scalar::I64);
        let widen = |value| {
            self.builder.build_cast(InstructionOpcode::ZExt, value, self.basic_type(wide), "")
        };
        let product =
            self.builder.build_binop(InstructionOpcode::Mul, widen(left)?, widen(right)?, "")?;
        let high = self.builder.build_binop(
            InstructionOpcode::LShr,
            product,
            self.constant(wide, 32)?,
            "",
        )?;
        Ok(self.builder.build_cast(InstructionOpcode::Trunc, high, self.basic_type(ty), "")?)
    }

    pub(super) fn compare(
        &self,
        op: CmpOp,
        left: Value,
        right: Value,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let bit = match predicate(op) {
            Predicate::Int(predicate) => {
                self.builder.build_int_compare(predicate, self.int(left)?, self.int(right)?, "")?
            }
            Predicate::Float(predicate) => self.builder.build_float_compare(
                predicate,
                self.float(left)?,
                self.float(right)?,
                "",
            )?,
        };
        Ok(bit.into())
    }
}

/// What a comparison tests.
enum Predicate {
    Int(IntPredicate),
    Float(FloatPredicate),
}

fn predicate(op: CmpOp) -> Predicate {
    match op {
        CmpOp::Eq => Predicate::Int(IntPredicate::EQ),
        CmpOp::Ne => Predicate::Int(IntPredicate::NE),
        CmpOp::LtS => Predicate::Int(IntPredicate::SLT),
        CmpOp::LeS => Predicate::Int(IntPredicate::SLE),
        CmpOp::LtU => Predicate::Int(IntPredicate::ULT),
        CmpOp::LeU => Predicate::Int(IntPredicate::ULE),
        CmpOp::FEq => Predicate::Float(FloatPredicate::OEQ),
        CmpOp::FNe => Predicate::Float(FloatPredicate::UNE),
        CmpOp::FLt => Predicate::Float(FloatPredicate::OLT),
        CmpOp::FLe => Predicate::Float(FloatPredicate::OLE),
    }
}

/// The type of one element.
pub(super) fn scalar_of(ty: Type) -> Result<Type, CompileError> {
    ty.scalar().map(Type::Scalar).ok_or_else(|| malformed("arithmetic on a pointer".to_owned()))
}
