//! `qualify`: the hardware lane.

use std::path::PathBuf;

use isa::Target;

use crate::backend::{Backend, Toolchain};
use crate::error::{CliError, Outcome};
use crate::qualify::calibration::{Answer, Calibration};
use crate::qualify::numeric::NotCompiled;
use crate::qualify::{self, Qualification};
use crate::{files, report};

/// Arguments of `qualify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of the HIP device
    #[arg(long, default_value_t = 0)]
    device: i32,
    /// Refuse a device of any other target
    #[arg(long)]
    target: Option<Target>,
    /// Back end that makes the code of the library specs
    #[arg(long, value_enum, default_value_t = Backend::default())]
    backend: Backend,
    /// Only library specs whose file name contains this
    #[arg(long, value_name = "PART")]
    kernels: Option<String>,
    /// Write the report as JSON to a file, too
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Asks a device everything.
///
/// # Errors
/// No library, no device or one of another target; a kernel that cannot be compiled; a device that fails.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let mut device = qualify::open(args.device, args.target)?;
    if let Some(path) = &args.output {
        files::check_writable(path)?;
    }
    let qualification = qualify::run(&mut device, args.backend, args.kernels.as_deref())?;
    if let Some(path) = &args.output {
        let mut text = serde_json::to_string_pretty(&qualification).map_err(CliError::Json)?;
        text.push('\n');
        files::write(path, text.as_bytes())?;
    }
    match json {
        true => report::json(&qualification)?,
        false => report::text(&text(&qualification))?,
    }
    Ok(Outcome::right_if(qualification.passed))
}

fn text(qualification: &Qualification) -> String {
    let Qualification { evidence, passed, identity, numeric, calibration, .. } = qualification;
    let Toolchain { backend, llvm, linker, sources } = &qualification.toolchain;
    let warning = match &identity.emulated {
        Some(words) => format!("EMULATED: this says nothing about a GPU ({words})\n"),
        None => String::new(),
    };
    let mut out = format!(
        "{warning}device {} ({}), HIP {}, driver {}, {}\nback end {backend}, sources {sources}, LLVM {}, {}\n",
        identity.device,
        identity.target_id,
        identity.hip_version,
        identity.driver_version.as_deref().unwrap_or("unknown"),
        identity.library,
        llvm.as_deref().unwrap_or("none"),
        linker.as_deref().unwrap_or("no linker"),
    );
    for case in numeric {
        let word = if case.passed { "pass" } else { "FAIL" };
        let unlike = match case.bits_unlike_emulator.as_slice() {
            [] => "the emulator's bits".to_owned(),
            outputs => format!("other bits than the emulator's in {}", outputs.join(", ")),
        };
        out.push_str(&format!("{word}: {}, {unlike}\n", case.spec));
    }
    for NotCompiled { spec, why } in &qualification.not_compiled {
        out.push_str(&format!("not compiled: {spec}: {why}\n"));
    }
    calibration.iter().for_each(|asked| out.push_str(&answer(asked)));
    let verdict = if *passed { "passed" } else { "FAILED" };
    out.push_str(&format!(
        "{verdict} ({evidence}): {} kernels, {} not compiled, {} questions\n",
        numeric.len(),
        qualification.not_compiled.len(),
        calibration.len()
    ));
    out
}

fn answer(asked: &Calibration) -> String {
    let words = match &asked.answer {
        Answer::Agrees { measured } => format!("agrees: {measured}"),
        Answer::Differs { measured, expected } => {
            format!("DIFFERS: {measured}; expected {expected}")
        }
        Answer::NotMeasured { why } => format!("not measured: {why}"),
    };
    format!("{}: {}\n  {words}\n", asked.name, asked.question)
}
