//! `emit`: an artefact of a spec.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::backend::Backend;
use crate::error::{CliError, Outcome};
use crate::{files, pipeline, report};

/// Arguments of `emit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Spec file
    #[arg(value_name = "SPEC")]
    spec: PathBuf,
    /// Which artefact
    #[arg(long, value_enum)]
    format: Format,
    /// Back end that makes asm and hsaco [default: gcn]
    #[arg(long, value_enum)]
    backend: Option<Backend>,
    /// Append the source line of every statement (only with --format ir)
    #[arg(long)]
    locations: bool,
    /// Where to write it; `-` is stdout, which only takes text
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
}

/// The artefacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Kernel IR, the text that both golden and worker see
    Ir,
    /// LLVM IR before any optimisation
    LlvmIr,
    /// Assembly after optimisation
    Asm,
    /// HSA code object
    Hsaco,
}

/// Writes the artefact.
///
/// # Errors
/// Specs that cannot be read or break rules, and whatever the back end says.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    refuse_senseless(args, json)?;
    let spec = pipeline::legal_spec(&args.spec)?;
    let bytes = match args.format {
        Format::Ir => {
            let kernel = pipeline::kernel(&spec)?;
            let print =
                if args.locations { dsl::text::print_with_locations } else { dsl::text::print };
            print(&kernel).into_bytes()
        }
        Format::LlvmIr => pipeline::compile(&spec)?.llvm_ir.into_bytes(),
        Format::Asm => args.backend.unwrap_or_default().assembly(&spec)?.into_bytes(),
        Format::Hsaco => args.backend.unwrap_or_default().code_object(&spec)?,
    };
    if args.output.as_os_str() == "-" {
        report::bytes(&bytes)?;
        return Ok(Outcome::Right);
    }
    refuse_own_input(args)?;
    files::write(&args.output, &bytes)?;
    let file = args.output.display().to_string();
    if json {
        let sha256 = crate::harness::sha256(&bytes);
        report::json(&serde_json::json!({
            "kernel": spec.name(), "target": spec.target().name(), "file": file,
            "bytes": bytes.len(), "sha256": sha256,
        }))?;
    } else {
        report::text(&format!("{file}: {} bytes, {}\n", bytes.len(), spec.name()))?;
    }
    Ok(Outcome::Right)
}

/// The spec must not be overwritten by what is made from it.
fn refuse_own_input(args: &Args) -> Result<(), CliError> {
    let same =
        |a: &Path, b: &Path| a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
    match same(&args.spec, &args.output) {
        true => Err(CliError::Usage(format!("-o {} is the spec itself", args.output.display()))),
        false => Ok(()),
    }
}

fn refuse_senseless(args: &Args, json: bool) -> Result<(), CliError> {
    let to_stdout = args.output.as_os_str() == "-";
    let refusal = if args.locations && args.format != Format::Ir {
        "--locations goes with --format ir only: the other artefacts carry no source lines"
    } else if args.format == Format::LlvmIr && args.backend == Some(Backend::Gcn) {
        "--backend gcn makes no LLVM IR: leave it out, or ask for ir, asm or hsaco"
    } else if to_stdout && args.format == Format::Hsaco {
        "a code object is not text: name a file with -o PATH"
    } else if to_stdout && json {
        "--json and -o - both want stdout: name a file with -o PATH"
    } else {
        return Ok(());
    };
    Err(CliError::Usage(refusal.to_owned()))
}
