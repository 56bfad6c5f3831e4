//! Arguments, dispatch to the verbs, and exit codes.

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::error::{CliError, Outcome};
use crate::report;
use crate::verbs;

/// Checked kernel generator for AMD GPUs: spec file to verified code object, without a GPU.
///
/// Exit codes: 0 done and right; 1 a rule, check, comparison or golden failed, or the emulator found
/// a fault; 2 wrong usage, unreadable input or unwritable output; 3 something needed is unavailable.
#[derive(Debug, Parser)]
#[command(name = "wavesmith", version, propagate_version = true, max_term_width = 100)]
struct CommandLine {
    /// Print one JSON document on stdout; messages go to stderr.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

/// The verbs, one file each.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Families, kernels, targets and the specs of the library
    List(verbs::list::Args),
    /// Every rule that a spec breaks, or the facts derived from it
    Check(verbs::check::Args),
    /// The kernels that solve a problem file, their launches, and why the others lost
    Dispatch(verbs::dispatch::Args),
    /// An artefact: kernel IR, LLVM IR, assembly text or code object
    Emit(verbs::emit::Args),
    /// Emit, load, launch, and compare with the float64 reference
    Run(verbs::run::Args),
    /// Run any code object on the emulator
    Emulate(verbs::emulate::Args),
    /// Waits and wait states that a code object lacks, found without running it
    Lint(verbs::lint::Args),
    /// What a loader will see of a code object
    Inspect(verbs::inspect::Args),
    /// The code of a code object
    Disasm(verbs::disasm::Args),
    /// Where a kernel's registers and time go, by the lines of its source
    Explain(verbs::explain::Args),
    /// Ablations of prefill kernels, each with the proof that the rest is still there
    Probe(verbs::probe::Args),
    /// Code objects, manifest and launch code for an engine to ship; `bundle verify` checks one
    Bundle(verbs::bundle::Args),
    /// The hardware lane: every library spec and calibration questions on a HIP device
    Qualify(verbs::qualify::Args),
    /// The JSON Schema of spec or problem files
    Schema(verbs::schema::Args),
    /// Hashes and properties of every artefact: check, bless, diff
    Golden(verbs::golden::Args),
    /// The toolchain, LLVM and devices: what is there, what is missing and what that costs
    Doctor(verbs::doctor::Args),
}

/// Says which argument is no text: clap names none.
fn not_text() -> ExitCode {
    const USAGE: u8 = 2;
    let arguments = std::env::args_os().enumerate();
    for (place, argument) in arguments.filter(|(_, argument)| argument.to_str().is_none()) {
        let shown = argument.to_string_lossy();
        report::note(&format!(
            "error: argument {place}, '{shown}', is not UTF-8 text; \
             spell it in UTF-8"
        ));
    }
    ExitCode::from(USAGE)
}

/// Help and version go to stdout, everything else that clap says to stderr.
fn shown(said: &clap::Error) -> ExitCode {
    if said.use_stderr() {
        said.exit();
    }
    match said.print().and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let error = CliError::Stdout(error);
            report::error(&error, false);
            ExitCode::from(error.exit_code())
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Runs the verb that the process was called with.
pub fn main() -> ExitCode {
    let command_line = match CommandLine::try_parse() {
        Ok(command_line) => command_line,
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => return not_text(),
        Err(said) => return shown(&said),
    };
    let json = command_line.json;
    let result = run(command_line);
    let code = match &result {
        Ok(Outcome::Right) => 0,
        Ok(Outcome::Wrong) => 1,
        Ok(Outcome::Unwritten) => 2,
        Ok(Outcome::Missing) => 3,
        Err(error) => {
            report::error(error, json);
            error.exit_code()
        }
    };
    ExitCode::from(code)
}

fn run(command_line: CommandLine) -> Result<Outcome, CliError> {
    let json = command_line.json;
    match command_line.verb {
        Verb::List(args) => verbs::list::run(&args, json),
        Verb::Check(args) => verbs::check::run(&args, json),
        Verb::Dispatch(args) => verbs::dispatch::run(&args, json),
        Verb::Emit(args) => verbs::emit::run(&args, json),
        Verb::Run(args) => verbs::run::run(&args, json),
        Verb::Emulate(args) => verbs::emulate::run(&args, json),
        Verb::Lint(args) => verbs::lint::run(&args, json),
        Verb::Inspect(args) => verbs::inspect::run(&args, json),
        Verb::Disasm(args) => verbs::disasm::run(&args, json),
        Verb::Explain(args) => verbs::explain::run(&args, json),
        Verb::Probe(args) => verbs::probe::run(&args, json),
        Verb::Bundle(args) => verbs::bundle::run(&args, json),
        Verb::Qualify(args) => verbs::qualify::run(&args, json),
        Verb::Schema(args) => verbs::schema::run(&args),
        Verb::Golden(args) => verbs::golden::run(&args, json),
        Verb::Doctor(args) => verbs::doctor::run(&args, json),
    }
}
