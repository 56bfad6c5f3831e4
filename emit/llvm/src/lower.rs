//! Kernel IR to LLVM IR: one file a concern, one meaning an operation.
//!
//! Nothing carries fast-math flags, so LLVM may neither contract nor reassociate. Where it would still
//! change a result without them, the lowering hides the value from it and says why.

mod arithmetic;
mod control;
mod convert;
mod intrinsic;
mod lanes;
mod matrix;
mod memory;
mod opaque;
pub mod types;

use std::collections::BTreeMap;

use dsl::ir::{Block, Kernel, Op, Stmt, Type, Value};
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{
    BasicValue, BasicValueEnum, FloatValue, FunctionValue, IntValue, PointerValue, VectorValue,
};

use crate::codegen;
use crate::error::CompileError;
use crate::module::declare_kernel;
use memory::LdsSegment;

/// The state of lowering one kernel.
pub struct Lowering<'ctx, 'k> {
    context: &'ctx Context,
    module: &'k Module<'ctx>,
    builder: Builder<'ctx>,
    function: FunctionValue<'ctx>,
    kernel: &'k Kernel,
    lds: Option<LdsSegment<'ctx>>,
    /// What each value of the kernel has become, indexed by its number.
    values: Vec<Option<BasicValueEnum<'ctx>>>,
    /// The intrinsics that the kernel names.
    named_intrinsics: BTreeMap<String, FunctionValue<'ctx>>,
}

/// Adds the kernel's function, with its body, to a module made for its target. The module then satisfies
/// LLVM's verifier.
pub fn lower_kernel<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    kernel: &Kernel,
) -> Result<(), CompileError> {
    let function = declare_kernel(context, module, kernel);
    let mut lowering = Lowering {
        context,
        module,
        builder: context.create_builder(),
        function,
        kernel,
        lds: LdsSegment::declare(context, module, kernel)?,
        values: vec![None; kernel.values.len()],
        named_intrinsics: BTreeMap::new(),
    };
    let entry = context.append_basic_block(function, "entry");
    lowering.builder.position_at_end(entry);
    for (param, argument) in kernel.params.iter().zip(function.get_param_iter()) {
        lowering.define(param.value, argument)?;
    }
    lowering.block(&kernel.body)?;
    lowering.builder.build_return(None)?;
    codegen::verify(module)?;
    lowering.refuse_side_effects()
}

impl<'ctx> Lowering<'ctx, '_> {
    fn block(&mut self, block: &Block) -> Result<(), CompileError> {
        block.stmts.iter().try_for_each(|stmt| self.statement(stmt))
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<(), CompileError> {
        match &stmt.op {
            Op::Store(address, value) => self.store(address, *value),
            Op::AtomicOr(address, value) => self.atomic_or(address, *value),
            Op::Barrier => self.barrier(),
            Op::For { .. } => self.counted_loop(stmt),
            Op::If { cond, then, otherwise } => {
                self.conditional(&stmt.results, *cond, then, otherwise)
            }
            op => {
                let [result] = stmt.results[..] else {
                    return Err(malformed(format!(
                        "{} results for an operation of one",
                        stmt.results.len()
                    )));
                };
                let value = self.expression(op, self.type_of(result)?)?;
                self.define(result, value)
            }
        }
    }

    /// The operations with one result, of type `ty`, and no control flow.
    fn expression(&mut self, op: &Op, ty: Type) -> Result<BasicValueEnum<'ctx>, CompileError> {
        match op {
            Op::Const { ty, bits } => self.constant(*ty, *bits),
            Op::Special(special) => self.special(*special),
            Op::Unary(op, value) => self.unary(*op, *value, ty),
            Op::Binary(op, left, right) => self.binary(*op, *left, *right, ty),
            Op::Fma(a, b, c) => {
                let operands = [self.value(*a)?, self.value(*b)?, self.value(*c)?];
                self.call("llvm.fma", &[self.basic_type(ty)], &operands)
            }
            Op::Cmp(op, left, right) => self.compare(*op, *left, *right),
            Op::Select(cond, yes, no) => {
                let (cond, yes, no) = (self.int(*cond)?, self.value(*yes)?, self.value(*no)?);
                Ok(self.builder.build_select(cond, yes, no, "")?)
            }
            Op::Convert(conversion, value) => self.convert(*conversion, *value, ty),
            Op::Bitcast(value) => self.bitcast(*value, ty),
            Op::Pack(elements) => self.pack(elements, ty),
            Op::Extract(vector, index) => self.extract(*vector, *index),
            Op::LaneXor { value, mask } => self.lane_xor(*value, *mask),
            Op::ReadFirstLane(value) => self.read_first_lane(*value),
            Op::Matrix { op, a, b, c } => self.matrix(*op, [*a, *b, *c], ty),
            Op::PtrAdd(pointer, offset) => self.pointer_add(*pointer, *offset),
            Op::Load(address) => self.load(address, ty),
            Op::Intrinsic { name, args } => self.named_intrinsic(name, args, ty),
            Op::Store(..) | Op::AtomicOr(..) | Op::Barrier | Op::For { .. } | Op::If { .. } => {
                Err(malformed("an effect where a value is expected".to_owned()))
            }
        }
    }

    /// Records what a value has become, and names it as the kernel's text form does.
    fn define(&mut self, value: Value, llvm: BasicValueEnum<'ctx>) -> Result<(), CompileError> {
        let is_unnamed = llvm.get_name().is_empty();
        if is_unnamed && llvm.as_instruction_value().is_some() {
            llvm.set_name(&format!("v{}", value.0));
        }
        let slot = self.values.get_mut(value.0 as usize);
        *slot.ok_or_else(|| malformed(format!("%{} has no type", value.0)))? = Some(llvm);
        Ok(())
    }

    fn value(&self, value: Value) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let known = self.values.get(value.0 as usize).copied().flatten();
        known.ok_or_else(|| malformed(format!("%{} is used before its definition", value.0)))
    }

    fn type_of(&self, value: Value) -> Result<Type, CompileError> {
        let info = self.kernel.values.get(value.0 as usize);
        Ok(info.ok_or_else(|| malformed(format!("%{} has no type", value.0)))?.ty)
    }

    fn int(&self, value: Value) -> Result<IntValue<'ctx>, CompileError> {
        as_int(self.value(value)?).ok_or_else(|| wrong_type(value, "an integer"))
    }

    fn float(&self, value: Value) -> Result<FloatValue<'ctx>, CompileError> {
        match self.value(value)? {
            BasicValueEnum::FloatValue(float) => Ok(float),
            _ => Err(wrong_type(value, "a float")),
        }
    }

    fn vector(&self, value: Value) -> Result<VectorValue<'ctx>, CompileError> {
        match self.value(value)? {
            BasicValueEnum::VectorValue(vector) => Ok(vector),
            _ => Err(wrong_type(value, "a vector")),
        }
    }

    fn pointer(&self, value: Value) -> Result<PointerValue<'ctx>, CompileError> {
        match self.value(value)? {
            BasicValueEnum::PointerValue(pointer) => Ok(pointer),
            _ => Err(wrong_type(value, "a pointer")),
        }
    }
}

/// An integer scalar, if it is one.
fn as_int(value: BasicValueEnum<'_>) -> Option<IntValue<'_>> {
    match value {
        BasicValueEnum::IntValue(int) => Some(int),
        _ => None,
    }
}

fn malformed(problem: String) -> CompileError {
    CompileError::Malformed(problem)
}

fn wrong_type(value: Value, wanted: &str) -> CompileError {
    malformed(format!("%{} is not {wanted}", value.0))
}
