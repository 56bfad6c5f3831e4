//! `doctor`: what is there, what is missing, and what that costs.

use std::path::PathBuf;

use emit::llvm::{self, Options};
use isa::Target;
use serde::Serialize;

use crate::error::{CliError, Outcome};
use crate::report;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// The installation.
#[derive(Serialize)]
struct Health {
    version: &'static str,
    targets: Vec<&'static str>,
    llvm_worker: Option<PathBuf>,
    llvm_version: Option<String>,
    llvm_library: Option<String>,
    data_layout: Option<String>,
    linker: Option<String>,
    linker_version: Option<String>,
    emulator: &'static str,
    /// What is missing, each with what it costs.
    missing: Vec<Missing>,
}

/// Something that is not there.
#[derive(Serialize)]
struct Missing {
    what: &'static str,
    why: String,
    cost: &'static str,
}

/// Looks at the installation. Something missing is a report, not an error.
///
/// # Errors
/// Stdout is gone.
pub fn run(_: &Args, json: bool) -> Result<Outcome, CliError> {
    let health = examine();
    if json {
        report::json(&health)?;
    } else {
        report::text(&text(&health))?;
    }
    Ok(Outcome::Right)
}

fn examine() -> Health {
    let mut health = Health {
        version: env!("CARGO_PKG_VERSION"),
        targets: Target::ALL.iter().map(|target| target.name()).collect(),
        llvm_worker: None,
        llvm_version: None,
        llvm_library: None,
        data_layout: None,
        linker: None,
        linker_version: None,
        emulator: "built in, for every target; nothing it reports was measured on a GPU",
        missing: Vec::new(),
    };
    match llvm::describe(&Options::default()) {
        Ok(found) => {
            health.llvm_worker = Some(found.worker);
            health.llvm_version = Some(found.toolchain.llvm.version);
            health.llvm_library = Some(found.toolchain.libllvm);
            health.data_layout = Some(found.toolchain.llvm.data_layout);
            health.linker = Some(found.toolchain.lld);
            match found.toolchain.lld_version {
                Ok(version) => health.linker_version = Some(version),
                Err(why) => health.missing.push(Missing {
                    what: "linker",
                    why,
                    cost: "the LLVM back end cannot make code objects",
                }),
            }
        }
        Err(cause) => health.missing.push(Missing {
            what: "LLVM worker",
            why: cause.to_string(),
            cost: "run, emit (except --format ir) and golden have no back end; check, list, inspect and \
                   disasm work",
        }),
    }
    health
}

fn text(health: &Health) -> String {
    let row = |name: &str, value: Option<String>| {
        vec![name.to_owned(), value.unwrap_or_else(|| "missing".to_owned())]
    };
    let worker = health.llvm_worker.as_ref().map(|path| path.display().to_string());
    let rows = [
        row("wavesmith", Some(health.version.to_owned())),
        row("targets", Some(health.targets.join(", "))),
        row("LLVM worker", worker),
        row("LLVM version", health.llvm_version.clone()),
        row("LLVM library", health.llvm_library.clone()),
        row("data layout", health.data_layout.clone()),
        row("linker", health.linker.clone()),
        row("linker version", health.linker_version.clone()),
        row("emulator", Some(health.emulator.to_owned())),
    ];
    let mut out = report::table(&rows);
    for missing in &health.missing {
        out.push_str(&format!(
            "missing: {}: {}\n  cost: {}\n",
            missing.what, missing.why, missing.cost
        ));
    }
    out
}
