//! The path from a spec file to a code object: rules, kernel IR, back end.

use std::path::Path;

use dsl::ir::Kernel;
use emit::llvm::{Artefacts, Options};
use specs::Spec;

use crate::error::CliError;

/// A spec that could be read and breaks no rule.
///
/// # Errors
/// What cannot be read, or every broken rule.
pub fn legal_spec(path: &Path) -> Result<Spec, CliError> {
    let spec = specs::read_spec(path)?;
    let violations = spec.check();
    if violations.is_empty() {
        return Ok(spec);
    }
    Err(CliError::BrokenRules { file: path.display().to_string(), violations })
}

/// The kernel IR of a legal spec.
///
/// # Errors
/// [`CliError::Kernel`] when the IR breaks a check of the builder or verifier.
pub fn kernel(spec: &Spec) -> Result<Kernel, CliError> {
    Ok(kernels::build(spec)?)
}

/// All artefacts of a legal spec.
///
/// # Errors
/// As [`kernel`], or what the LLVM back end says.
pub fn compile(spec: &Spec) -> Result<Artefacts, CliError> {
    Ok(emit::llvm::compile(&kernel(spec)?, &Options::default())?)
}
