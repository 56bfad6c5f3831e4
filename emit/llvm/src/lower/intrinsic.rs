//! Calls of LLVM intrinsics: those of the lowering itself and those that a kernel names.

use dsl::ir::{Type, Value};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue};

use super::{Lowering, malformed};
use crate::error::CompileError;

/// `memory(none)`, as LLVM encodes it.
const NO_MEMORY_EFFECTS: u64 = 0;

impl<'ctx> Lowering<'ctx, '_> {
    /// Calls an intrinsic that returns a value; `overloads` are the types in its mangled name.
    pub(super) fn call(
        &self,
        name: &str,
        overloads: &[BasicTypeEnum<'ctx>],
        args: &[BasicValueEnum<'ctx>],
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let function = self.declaration(name, overloads)?;
        self.call_function(function, name, args)
    }

    /// The declaration of an intrinsic that this LLVM must have.
    pub(super) fn declaration(
        &self,
        name: &str,
        overloads: &[BasicTypeEnum<'ctx>],
    ) -> Result<FunctionValue<'ctx>, CompileError> {
        let function = find(name)?.get_declaration(self.module, overloads);
        function.ok_or_else(|| malformed(format!("{name} cannot be declared for these types")))
    }

    /// An intrinsic that the kernel names. It is declared as spelled, with the types of its use; the
    /// module's verifier then compares them with LLVM's own, so a wrong type is an error, not a guess.
    /// A name that LLVM does not know would pass the verifier and code generation as a plain function.
    pub(super) fn named_intrinsic(
        &mut self,
        name: &str,
        args: &[Value],
        result: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        find(name)?;
        let args: Vec<_> = args.iter().map(|arg| self.value(*arg)).collect::<Result<_, _>>()?;
        let function = self.module.get_function(name).unwrap_or_else(|| {
            let types: Vec<BasicMetadataTypeEnum> =
                args.iter().map(|arg| arg.get_type().into()).collect();
            self.module.add_function(name, self.basic_type(result).fn_type(&types, false), None)
        });
        self.named_intrinsics.insert(name.to_owned(), function);
        self.call_function(function, name, &args)
    }

    /// LLVM states what an intrinsic touches only when it is declared rightly, hence after the verifier.
    pub(super) fn refuse_side_effects(&self) -> Result<(), CompileError> {
        let offender =
            self.named_intrinsics.iter().find(|(_, function)| !is_without_side_effects(**function));
        match offender {
            Some((name, _)) => {
                Err(malformed(format!("{name} touches memory or has other side effects")))
            }
            None => Ok(()),
        }
    }

    fn call_function(
        &self,
        function: FunctionValue<'ctx>,
        name: &str,
        args: &[BasicValueEnum<'ctx>],
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|arg| (*arg).into()).collect();
        let call = self.builder.build_call(function, &args, "")?;
        call.try_as_basic_value()
            .basic()
            .ok_or_else(|| malformed(format!("{name} returns nothing")))
    }
}

fn find(name: &str) -> Result<Intrinsic, CompileError> {
    Intrinsic::find(name).ok_or_else(|| CompileError::UnknownIntrinsic { symbol: name.to_owned() })
}

fn is_without_side_effects(function: FunctionValue<'_>) -> bool {
    let memory = Attribute::get_named_enum_kind_id("memory");
    let effects = function.get_enum_attribute(AttributeLoc::Function, memory);
    effects.is_some_and(|effects| effects.get_enum_value() == NO_MEMORY_EFFECTS)
}
