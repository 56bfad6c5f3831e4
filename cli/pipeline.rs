//! The path from a spec file to a code object: rules, kernel IR, back end.

use std::path::{Path, PathBuf};

use dsl::ir::Kernel;
use emit::gcn;
use emit::llvm::{Artefacts, Options};
use specs::dispatch::Choice;
use specs::{Job, Problem, Spec};

use crate::emitted;
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

/// A job whose specs could be read and break no rule, alone and together.
///
/// # Errors
/// What cannot be read, specs that are no job together, or every broken rule.
pub fn legal_job(paths: &[PathBuf]) -> Result<Job, CliError> {
    let specs = paths.iter().map(|path| specs::read_spec(path)).collect::<Result<Vec<_>, _>>()?;
    let job = Job::of(&specs).map_err(CliError::Usage)?;
    let violations = job.check();
    if violations.is_empty() {
        return Ok(job);
    }
    let files: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    Err(CliError::BrokenRules { file: files.join(" with "), violations })
}

/// What dispatch made of a problem file.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatched {
    /// The winner and its kernels.
    pub choice: Choice,
    /// The problem, its sequences as the file and the texts say.
    pub problem: Problem,
}

/// The kernels that solve the problem of a file, with these sizes beside its own.
///
/// # Errors
/// A file that cannot be read, a problem that makes no sense, or one that no candidate solves.
pub fn dispatch(path: &Path, sizes: &[String]) -> Result<Dispatched, CliError> {
    let request = specs::dispatch::read_request(path)?;
    let file = path.display().to_string();
    let violations = request.check();
    if !violations.is_empty() {
        return Err(CliError::BrokenRules { file, violations });
    }
    let problem = request.problem(sizes)?;
    let choice = specs::dispatch::choose(&request, &problem)
        .map_err(|refusal| CliError::NoCandidate { file, refusal: Box::new(refusal) })?;
    let problem = Problem::Prefill(problem);
    choice.job.lead().check_problem(&problem)?;
    Ok(Dispatched { choice, problem })
}

/// Whether a file is a problem file.
pub fn is_problem_file(path: &Path) -> bool {
    specs::spec_file::kind_of_file(path).as_deref() == Some("problem")
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
/// As [`kernel`], what the LLVM back end says, or a code object that is not what the spec promises.
pub fn compile(spec: &Spec) -> Result<Artefacts, CliError> {
    let artefacts = emit::llvm::compile(&kernel(spec)?, &Options::default())?;
    emitted::check(spec, &artefacts.code_object)?;
    Ok(artefacts)
}

/// Assembly and code object of a legal spec by the GCN back end.
///
/// # Errors
/// As [`kernel`], what the GCN back end says, or a code object that is not what the spec promises.
pub fn compile_gcn(spec: &Spec) -> Result<gcn::Artefacts, CliError> {
    let artefacts = gcn::compile(&kernel(spec)?, &gcn::Options::default())?;
    emitted::check(spec, &artefacts.code_object)?;
    Ok(artefacts)
}

/// The code object of [`compile_gcn`] without the text.
///
/// # Errors
/// As [`compile_gcn`].
pub fn code_object_by_gcn(spec: &Spec) -> Result<Vec<u8>, CliError> {
    let code_object = gcn::code_object(&kernel(spec)?, &gcn::Options::default())?;
    emitted::check(spec, &code_object)?;
    Ok(code_object)
}
