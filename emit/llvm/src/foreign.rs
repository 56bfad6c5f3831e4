//! LLVM IR that somebody else wrote: read, checked, compiled.

use std::str::FromStr;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use isa::Target;

use crate::binding::Diagnostics;
use crate::codegen::{self, words};
use crate::error::CompileError;
use crate::worker::{self, Artefacts};

/// All artefacts of a module for `amdgcn-amd-amdhsa`. A module that names no triple or data layout gets
/// the target's; one that names others is refused.
pub fn compile_module(ir: &[u8], target: &str, level: u8) -> Result<Artefacts, CompileError> {
    let target =
        Target::from_str(target).map_err(|error| CompileError::Malformed(error.to_string()))?;
    let machine = codegen::target_machine(target, optimisation_level(level)?)?;
    let context = Context::create();
    let diagnostics = Diagnostics::attach(&context);
    let module = read(&context, ir)?;
    frame(&module, &machine)?;
    codegen::verify(&module)?;
    let llvm_ir = module.print_to_string().to_string();
    codegen::optimise_at(&module, &machine, level)?;
    worker::artefacts(&module, &machine, &diagnostics, llvm_ir)
}

fn optimisation_level(level: u8) -> Result<OptimizationLevel, CompileError> {
    match level {
        0 => Ok(OptimizationLevel::None),
        1 => Ok(OptimizationLevel::Less),
        2 => Ok(OptimizationLevel::Default),
        3 => Ok(OptimizationLevel::Aggressive),
        _ => Err(CompileError::Malformed(format!("optimisation level {level}, highest is 3"))),
    }
}

fn read<'ctx>(context: &'ctx Context, ir: &[u8]) -> Result<Module<'ctx>, CompileError> {
    // LLVM's reader takes bitcode too, and trusts it more than text.
    if ir.starts_with(b"BC") || ir.contains(&0) {
        return Err(CompileError::Malformed("the module is not LLVM IR text".into()));
    }
    let buffer = MemoryBuffer::create_from_memory_range_copy(ir, "module.ll");
    context.create_module_from_ir(buffer).map_err(|error| words(&error))
}

/// Gives the module the machine's triple and data layout where it has none.
fn frame(module: &Module<'_>, machine: &TargetMachine) -> Result<(), CompileError> {
    let (triple, layout) = (machine.get_triple(), machine.get_target_data().get_data_layout());
    let named = module.get_triple();
    let named = named.as_str().to_string_lossy();
    let expected = triple.as_str().to_string_lossy();
    if !named.is_empty() && named != expected {
        return Err(CompileError::Malformed(format!(
            "the module is for '{named}', this worker compiles for '{expected}'"
        )));
    }
    let given = module.get_data_layout().as_str().to_owned();
    if !given.is_empty() && given.as_c_str() != layout.as_str() {
        return Err(CompileError::Malformed(format!(
            "the module's data layout is {given:?}, the target's is {:?}: leave it out",
            layout.as_str()
        )));
    }
    module.set_triple(&triple);
    module.set_data_layout(&layout);
    Ok(())
}
