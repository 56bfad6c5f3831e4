//! `bundle`: what an engine ships of some kernels, and `bundle verify`, which checks it.

use std::path::PathBuf;

use serde_json::json;

use crate::backend::Backend;
use crate::bundle::{self, Source, verify};
use crate::error::{CliError, Outcome};
use crate::{pipeline, report};

/// Arguments of `bundle`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Spec files
    #[arg(value_name = "SPEC", required = true)]
    specs: Vec<PathBuf>,
    /// Directory to write, made if it does not exist
    #[arg(short, long, value_name = "DIR", required = true)]
    output: Option<PathBuf>,
    /// Back end that makes the code
    #[arg(long, value_enum, default_value_t = Backend::default())]
    backend: Backend,
    /// Do not run each kernel on the emulator first; the manifest then has no evidence of that
    #[arg(long)]
    no_emulate: bool,
}

/// Other things to do with bundles.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Check that every file is what the manifest says, and the manifest what its code objects say
    Verify {
        /// The bundle's directory
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Makes or checks a bundle.
///
/// # Errors
/// Specs that cannot be read or break rules, kernels that fail, files that cannot be read or written.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    match (&args.action, &args.output) {
        (Some(Action::Verify { directory }), _) => check(directory, json),
        (None, Some(output)) => make(args, output, json),
        (None, None) => Err(CliError::Usage("name a directory with -o DIR".to_owned())),
    }
}

fn make(args: &Args, output: &std::path::Path, json: bool) -> Result<Outcome, CliError> {
    let mut sources = Vec::new();
    for path in &args.specs {
        let spec = pipeline::legal_spec(path)?;
        sources.push(Source { file: path.display().to_string(), spec });
    }
    let files = bundle::make(&sources, args.backend, !args.no_emulate)?;
    bundle::write(output, &files)?;
    let manifest = crate::harness::sha256(&files[bundle::MANIFEST]);
    if json {
        let names: Vec<&String> = files.keys().collect();
        let directory = output.display().to_string();
        report::json(&json!({
            "directory": directory, "kernels": sources.len(), "files": names, "manifest_sha256": manifest,
        }))?;
    } else {
        let n_files = files.len();
        report::text(&format!(
            "{}: {} kernels, {n_files} files, manifest {manifest}\n",
            output.display(),
            sources.len()
        ))?;
    }
    Ok(Outcome::Right)
}

fn check(directory: &std::path::Path, json: bool) -> Result<Outcome, CliError> {
    let verify::Verified { manifest, discrepancies } = verify::verify(directory)?;
    let right = discrepancies.is_empty();
    if json {
        report::json(&json!({
            "passed": right, "kernels": manifest.kernels.len(), "files": manifest.files.len(),
            "discrepancies": discrepancies,
        }))?;
    } else {
        let mut text: String =
            discrepancies.iter().map(|found| format!("{}: {}\n", found.file, found.what)).collect();
        text.push_str(&format!(
            "{}: {} kernels, {} files, {} discrepancies\n",
            if right { "passed" } else { "FAILED" },
            manifest.kernels.len(),
            manifest.files.len(),
            discrepancies.len()
        ));
        report::text(&text)?;
    }
    Ok(Outcome::right_if(right))
}
