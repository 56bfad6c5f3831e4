//! `lint`: the rules about waits and wait states on the text of kernels, without running them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use codeobj::{CodeObject, MAX_IMAGE_BYTES};
use emit::llvm::Options;
use emulator::lint::{KernelLint, lint};
use isa::Target;
use serde::Serialize;

use crate::backend::Backend;
use crate::error::{CliError, Outcome};
use crate::{files, pipeline, report};

/// Arguments of `lint`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Code objects, assembly texts, spec files (`.toml`)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Target of assembly texts that do not name it in `.amdgcn_target`
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Back end that makes the code of spec files
    #[arg(long, value_enum, default_value_t = Backend::default())]
    backend: Backend,
}

/// What was found in one file.
#[derive(Serialize)]
struct Linted {
    file: String,
    target: &'static str,
    kernels: Vec<KernelLint>,
}

/// What was found in all.
#[derive(Serialize)]
struct Document<'l> {
    /// No rule is broken, and all bytes that were reached are instructions.
    passed: bool,
    /// Every way could be followed.
    complete: bool,
    files: &'l [Linted],
}

/// Applies the static rules to every kernel of every file.
///
/// # Errors
/// What cannot be read, compiled or assembled.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let target = args.target.as_deref().map(str::parse::<Target>).transpose()?;
    let linted: Vec<Linted> = args
        .files
        .iter()
        .map(|file| linted(file, target, args.backend))
        .collect::<Result<_, _>>()?;
    let kernels = || linted.iter().flat_map(|linted| &linted.kernels);
    // Nothing looked at is nothing proved.
    let has_kernels = linted.iter().all(|linted| !linted.kernels.is_empty());
    let passed = has_kernels && kernels().all(KernelLint::passed);
    if json {
        let complete = has_kernels && kernels().all(|kernel| kernel.not_analysed.is_empty());
        report::json(&Document { passed, complete, files: &linted })?;
    } else {
        report::text(&linted.iter().map(text).collect::<String>())?;
    }
    Ok(Outcome::right_if(passed))
}

fn linted(file: &Path, target: Option<Target>, backend: Backend) -> Result<Linted, CliError> {
    let name = file.display().to_string();
    let bytes = code_object(file, target, backend)?;
    let object = CodeObject::parse(&bytes)
        .map_err(|source| CliError::CodeObject { file: name.clone(), source })?;
    Ok(Linted { file: name, target: object.target.name(), kernels: lint(&object) })
}

/// The code object that a file is, or that is made from it.
fn code_object(file: &Path, target: Option<Target>, backend: Backend) -> Result<Vec<u8>, CliError> {
    if file.extension().is_some_and(|extension| extension == "toml") {
        return backend.code_object(&pipeline::legal_spec(file)?);
    }
    let bytes = files::read(file, "a code object or assembly text", MAX_IMAGE_BYTES)?;
    if bytes.starts_with(b"\x7fELF") {
        return Ok(bytes);
    }
    let name = file.display().to_string();
    let text = files::text(file, bytes)?;
    let target = match target {
        Some(target) => target,
        None => named_target(&text).ok_or_else(|| CliError::Usage(no_target(&name)))??,
    };
    emit::llvm::assemble(target, &text, &Options::default())
        .map_err(|cause| CliError::Assembly { file: name, cause })
}

/// The processor in `.amdgcn_target "amdgcn-amd-amdhsa--gfx950:xnack-"`.
fn named_target(text: &str) -> Option<Result<Target, CliError>> {
    let directive =
        text.lines().find_map(|line| line.trim_start().strip_prefix(".amdgcn_target"))?;
    let triple = directive.trim().trim_matches('"');
    let processor = triple.rsplit('-').next()?.split(':').next()?;
    Some(processor.parse().map_err(CliError::Target))
}

fn no_target(file: &str) -> String {
    format!(
        "{file} is no code object and names no target: as assembly text it needs a line \
         .amdgcn_target \"amdgcn-amd-amdhsa--gfx950\", or --target"
    )
}

fn text(linted: &Linted) -> String {
    let mut out = format!("{}: {}\n", linted.file, linted.target);
    if linted.kernels.is_empty() {
        out.push_str("  no kernel to look at: assembly text makes one with .amdhsa_kernel\n");
    }
    for kernel in &linted.kernels {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {}", summary(kernel));
        for finding in &kernel.findings {
            let _ = writeln!(out, "{}: {}", finding.rule, finding.what);
            let _ = writeln!(out, "  at {} in '{}'", finding.site, kernel.kernel);
            let _ = writeln!(out, "  with {}", finding.producer);
            let _ = writeln!(out, "  remedy: {}", finding.remedy);
        }
        for gap in &kernel.not_analysed {
            let _ = writeln!(out, "  at {}: {}", gap.site, gap.what);
        }
    }
    out
}

fn summary(kernel: &KernelLint) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let mut parts =
        vec![count(kernel.instructions, "instruction"), count(kernel.findings.len(), "finding")];
    if !kernel.not_analysed.is_empty() {
        parts.push(format!("{} not analysed", count(kernel.not_analysed.len(), "place")));
    }
    format!("{}: {}", kernel.kernel, parts.join(", "))
}
