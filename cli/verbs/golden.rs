//! `golden`: hashes and properties of every artefact: check, bless, diff.

use std::path::{Path, PathBuf};

use ::emit::{gcn, llvm};
use clap::Subcommand;
use specs::Spec;

use crate::error::{CliError, Outcome};
use crate::golden::{
    self, ArtefactSource, Blessed, Blessing, Entry, GcnRecord, LlvmRecord, Report, SourceError,
    Status, Suite,
};
use crate::{pipeline, report};

/// Arguments of `golden`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    /// Repository whose specs/library and golden folders are meant
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    dir: PathBuf,
}

/// What to do with goldens.
#[derive(Debug, Subcommand)]
enum Action {
    /// Compare every variant's artefacts with their records
    Check {
        /// Records of another LLVM version are failures instead of being only shown
        #[arg(long)]
        require_comparable: bool,
    },
    /// Record every variant's artefacts as they are now; refused in CI
    Bless {
        /// What changed and why that is right; kept in the fixture
        #[arg(long)]
        why: String,
    },
    /// As check, with the lines of kernel IR that changed
    Diff,
}

/// Compares or rewrites goldens.
///
/// # Errors
/// Fixtures or specs that cannot be read, artefacts that cannot be made.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let suite = Suite::in_repository(&args.dir)?;
    match &args.action {
        Action::Check { require_comparable } => {
            tell(&golden::check(&suite, &Pipeline, *require_comparable)?, &args.dir, json)
        }
        Action::Diff => tell(&golden::diff(&suite, &Pipeline)?, &args.dir, json),
        Action::Bless { why } => {
            let in_ci = std::env::var_os("CI").is_some();
            let blessed = golden::bless(&suite, &Pipeline, &Blessing::today(why, in_ci)?)?;
            tell_blessed(&blessed, json)?;
            Ok(Outcome::Right)
        }
    }
}

/// The project's own path from spec to artefacts.
struct Pipeline;

impl ArtefactSource for Pipeline {
    fn kernel_ir(&self, spec: &Spec) -> Result<String, SourceError> {
        let kernel =
            pipeline::kernel(spec).map_err(|error| SourceError::Failed(error.to_string()))?;
        Ok(dsl::text::print(&kernel))
    }

    fn gcn(&self, spec: &Spec) -> Result<Option<GcnRecord>, SourceError> {
        let artefacts = match pipeline::compile_gcn(spec) {
            Ok(artefacts) => artefacts,
            Err(CliError::Gcn(error)) if matches!(error.cause, gcn::Cause::Registers { .. }) => {
                return Ok(None);
            }
            Err(error) => return Err(SourceError::Failed(error.to_string())),
        };
        GcnRecord::of(&artefacts.assembly, &artefacts.code_object, &spec.name()).map(Some)
    }

    fn llvm(&self, spec: &Spec) -> Result<LlvmRecord, SourceError> {
        let artefacts = pipeline::compile(spec).map_err(|error| match &error {
            CliError::Emit(llvm::EmitError { cause, .. }) if cause.is_unavailable() => {
                SourceError::Unavailable(error.to_string())
            }
            _ => SourceError::Failed(error.to_string()),
        })?;
        let (version, ir) = (&artefacts.llvm.version, &artefacts.llvm_ir);
        LlvmRecord::of(version, ir, &artefacts.code_object, &spec.name())
    }
}

fn tell(report: &Report, dir: &Path, json: bool) -> Result<Outcome, CliError> {
    if json {
        report::json(report)?;
    } else {
        report::text(&text(report, dir))?;
    }
    let counts = &report.counts;
    if report.passed && counts.matching == 0 && counts.not_comparable > 0 {
        return Err(CliError::NothingCompared { not_comparable: counts.not_comparable });
    }
    Ok(Outcome::right_if(report.passed))
}

fn tell_blessed(blessed: &Blessed, json: bool) -> Result<(), CliError> {
    if json {
        return report::json(blessed);
    }
    let mut out: String = blessed.before.entries.iter().map(entry_text).collect();
    let files = |word: &str, paths: &[PathBuf]| -> String {
        paths.iter().map(|path| format!("{word} {}\n", path.display())).collect()
    };
    out.push_str(&files("wrote", &blessed.written));
    out.push_str(&files("removed", &blessed.removed));
    let (written, removed) = (blessed.written.len(), blessed.removed.len());
    out.push_str(&format!("{written} fixtures written, {removed} removed\n"));
    report::text(&out)
}

fn text(report: &Report, dir: &Path) -> String {
    let mut out: String = report.entries.iter().map(entry_text).collect();
    let counts = &report.counts;
    out.push_str(&format!(
        "{} match, {} changed, {} missing, {} extra, {} stale, {} failed, {} not comparable\n",
        counts.matching,
        counts.changed,
        counts.missing,
        counts.extra,
        counts.stale,
        counts.failed,
        counts.not_comparable
    ));
    if !report.passed && counts.failed == 0 {
        let dir = dir.display();
        out.push_str(&format!(
            "if every change is meant: wavesmith golden bless --dir {dir} --why \"the reason\"\n"
        ));
    }
    out
}

/// Nothing for a match; everything else says what, where and how much.
fn entry_text(entry: &Entry) -> String {
    let target = entry.target.unwrap_or("no target");
    let head = format!("{}/{} {target}", entry.family, entry.variant);
    match &entry.status {
        Status::Match => String::new(),
        Status::Changed { moved, kernel_ir } => {
            let rows = moved.iter().map(|moved| {
                let side =
                    |side: &Option<String>| side.clone().unwrap_or_else(|| "none".to_owned());
                vec![
                    format!("  {}", moved.what),
                    side(&moved.old),
                    "→".to_owned(),
                    side(&moved.new),
                ]
            });
            let rows = report::table(&rows.collect::<Vec<_>>());
            format!("changed: {head}\n{rows}{}", kernel_ir.as_deref().unwrap_or_default())
        }
        Status::NotComparable { reason } => format!("not comparable: {head}: {reason}\n"),
        Status::Missing => format!("missing: {head}: no record\n"),
        Status::Extra => format!("extra: {head}: no spec asks for it\n"),
        Status::Stale { recorded_spec_sha256 } => {
            format!("stale: {head}: recorded for the spec {recorded_spec_sha256}\n")
        }
        Status::Failed { reason } => format!("failed: {head}: {reason}\n"),
    }
}
