//! Values that LLVM must take as they are.

use dsl::ir::Type;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::BasicType;
use inkwell::values::BasicValueEnum;

use super::arithmetic::scalar_of;
use super::{Lowering, malformed};
use crate::error::CompileError;

impl<'ctx> Lowering<'ctx, '_> {
    /// The same value, through which no rewrite of LLVM can look: it neither fuses nor narrows what made
    /// the value into what uses it, nor folds its uses. No instruction is emitted.
    ///
    /// It is an empty piece of assembly whose vector register comes out as it went in.
    /// `llvm.arithmetic.fence` would say the same, but LLVM 22 fails on it ("illegal VGPR to SGPR copy")
    /// when the value is the same in all lanes.
    pub(super) fn opaque(
        &self,
        value: BasicValueEnum<'ctx>,
        ty: Type,
    ) -> Result<BasicValueEnum<'ctx>, CompileError> {
        let scalar = self.basic_type(scalar_of(ty)?);
        let signature = scalar.fn_type(&[scalar.into()], false);
        let (code, registers) = (String::new(), "=v,0".to_owned());
        let nothing =
            self.context.create_inline_asm(signature, code, registers, false, false, None, false);
        self.per_element(value, ty, |element| {
            let call =
                self.builder.build_indirect_call(signature, nothing, &[element.into()], "")?;
            for name in ["memory", "nounwind", "willreturn"] {
                let kind = Attribute::get_named_enum_kind_id(name);
                call.add_attribute(
                    AttributeLoc::Function,
                    self.context.create_enum_attribute(kind, 0),
                );
            }
            call.try_as_basic_value()
                .basic()
                .ok_or_else(|| malformed("assembly without a result".to_owned()))
        })
    }
}
