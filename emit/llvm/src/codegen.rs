//! Optimisation and emission: from a module to assembly text and an object.

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::support::LLVMString;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine,
    TargetTriple,
};
use isa::Target;

use crate::binding::{Diagnostics, llvm_version};
use crate::error::CompileError;
use crate::protocol::LlvmIdentity;

/// The triple of all code objects.
pub const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// The machine of a target with default features: XNACK and SRAM-ECC of any setting, wave32 on gfx1100.
pub fn target_machine(
    target: Target,
    level: OptimizationLevel,
) -> Result<TargetMachine, CompileError> {
    LlvmTarget::initialize_amd_gpu(&InitializationConfig::default());
    let triple = TargetTriple::create(TRIPLE);
    let machine =
        LlvmTarget::from_triple(&triple).map_err(|error| words(&error))?.create_target_machine(
            &triple,
            target.name(),
            "",
            level,
            RelocMode::PIC,
            CodeModel::Default,
        );
    let machine =
        machine.ok_or_else(|| CompileError::Llvm(format!("no target machine for {target}")))?;
    machine.set_asm_verbosity(true);
    Ok(machine)
}

/// The version and data layout that identify this LLVM.
pub fn identity(machine: &TargetMachine) -> LlvmIdentity {
    let layout = machine.get_target_data().get_data_layout();
    LlvmIdentity {
        version: llvm_version(),
        data_layout: layout.as_str().to_string_lossy().into_owned(),
    }
}

/// Refuses a module that breaks LLVM's own rules.
pub fn verify(module: &Module<'_>) -> Result<(), CompileError> {
    module.verify().map_err(|error| words(&error))
}

/// LLVM's standard pipeline at `-O3`, without the vectorisers: code stays as wide as its author wrote it.
pub fn optimise(module: &Module<'_>, machine: &TargetMachine) -> Result<(), CompileError> {
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(false);
    options.set_loop_slp_vectorization(false);
    module.run_passes("default<O3>", machine, options).map_err(|error| words(&error))
}

/// LLVM's standard pipeline of a level, unchanged: what other compilers' users get.
pub fn optimise_at(
    module: &Module<'_>,
    machine: &TargetMachine,
    level: u8,
) -> Result<(), CompileError> {
    let passes = format!("default<O{level}>");
    module.run_passes(&passes, machine, PassBuilderOptions::create()).map_err(|error| words(&error))
}

/// Assembly or object. Emission changes the module, so it works on a copy; LLVM reports most errors only
/// to the diagnostics, and what it returns beside them is garbage.
pub fn emit(
    module: &Module<'_>,
    machine: &TargetMachine,
    diagnostics: &Diagnostics<'_>,
    file_type: FileType,
) -> Result<Vec<u8>, CompileError> {
    let copy = module.clone();
    let buffer = machine.write_to_memory_buffer(&copy, file_type).map_err(|error| words(&error))?;
    match diagnostics.errors() {
        errors if errors.is_empty() => Ok(buffer.as_slice().to_vec()),
        errors => Err(CompileError::Llvm(errors.join("; "))),
    }
}

/// LLVM's message as it is; the string's `Display` would escape it.
pub(crate) fn words(error: &LLVMString) -> CompileError {
    CompileError::Llvm(error.to_string())
}
