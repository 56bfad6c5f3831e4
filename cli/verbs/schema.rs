//! `schema`: the JSON Schema of spec or problem files, for editors and validators.

use clap::ValueEnum;
use specs::schema::FileKind;

use crate::error::{CliError, Outcome};
use crate::report;

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  wavesmith schema spec > spec.schema.json")]
pub struct Args {
    /// Which files
    #[arg(value_enum)]
    of: Of,
}

/// The kinds of files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// Spec files: one kernel each
    Spec,
    /// Problem files: what `dispatch` finds kernels for
    Problem,
}

/// Prints the schema; with `--json` too, for it is a JSON document.
///
/// # Errors
/// Stdout is gone.
pub fn run(args: &Args) -> Result<Outcome, CliError> {
    let kind = match args.of {
        Of::Spec => FileKind::Spec,
        Of::Problem => FileKind::Problem,
    };
    report::text(&kind.schema_text())?;
    Ok(Outcome::Right)
}
