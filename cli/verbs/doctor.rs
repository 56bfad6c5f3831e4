//! `doctor`: what is there, what is missing, and what that costs.

use std::path::PathBuf;

use emit::llvm::{self, Options};
use isa::Target;
use runtime::hip::{Found, Search};
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
    hip: Hip,
    /// What is missing, each with what it costs.
    missing: Vec<Missing>,
    /// Missing too, but asked for by no verb's defaults.
    optional: Vec<Missing>,
}

/// The HIP library and how it was found.
#[derive(Serialize)]
struct Hip {
    library: Option<PathBuf>,
    version: Option<String>,
    /// What the emulated library says of itself; absent for a real one.
    #[serde(skip_serializing_if = "Option::is_none")]
    emulated: Option<String>,
    devices: Vec<String>,
    /// Every place that was looked at, in order, with what came of it.
    search: Vec<String>,
}

/// Something that is not there.
#[derive(Serialize)]
struct Missing {
    what: &'static str,
    why: String,
    cost: &'static str,
}

/// Looks at the installation; [`Outcome::Missing`] where something is not there that the verbs need by default. A HIP
/// library and its devices are not: the emulator is the default device.
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
    Ok(if health.missing.is_empty() { Outcome::Right } else { Outcome::Missing })
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
        hip: Hip {
            library: None,
            version: None,
            emulated: None,
            devices: Vec::new(),
            search: Vec::new(),
        },
        emulator: "built in, for every target; nothing it reports was measured on a GPU",
        missing: Vec::new(),
        optional: Vec::new(),
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
                Err(why) => health.optional.push(Missing {
                    what: "linker",
                    why,
                    cost: "--backend llvm and golden cannot make code objects by LLVM",
                }),
            }
        }
        Err(cause) => health.optional.push(Missing {
            what: "LLVM worker",
            why: cause.to_string(),
            cost: "--backend llvm, lint of assembly text, qualify and golden bless do not work, golden check compares what the GCN \
                   back end makes and no more; everything else works",
        }),
    }
    examine_hip(&mut health);
    health
}

/// Looks for the HIP library and its devices.
fn examine_hip(health: &mut Health) {
    const COST: &str = "run --device hip and qualify have nothing to run on; everything else works";
    let mut miss = |what, why| health.optional.push(Missing { what, why, cost: COST });
    let Search { tried, library } = Search::run();
    health.hip.search = tried.iter().map(ToString::to_string).collect();
    let Some(library) = library else {
        let why = "no HIP library could be opened; the search is shown above".to_owned();
        return miss("HIP library", why);
    };
    let Found { path, version, emulated, devices } = library.describe();
    health.hip.library = Some(path);
    health.hip.version = Some(version.to_string());
    health.hip.emulated = emulated;
    match devices {
        Ok(count) => {
            let described = (0..count).map(|number| {
                let name = library.device_name(number).unwrap_or_else(|error| error.to_string());
                let id = library.device_target_id(number).unwrap_or_else(|error| error.to_string());
                format!("{number}: {name}, {id}")
            });
            health.hip.devices = described.collect();
        }
        Err(why) => miss("HIP device", why),
    }
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
        row("HIP library", hip_text(&health.hip)),
    ];
    let mut out = report::table(&rows);
    for attempt in &health.hip.search {
        out.push_str(&format!("HIP search: {attempt}\n"));
    }
    for device in &health.hip.devices {
        out.push_str(&format!("HIP device: {device}\n"));
    }
    for missing in health.missing.iter().chain(&health.optional) {
        out.push_str(&format!(
            "missing: {}: {}\n  cost: {}\n",
            missing.what, missing.why, missing.cost
        ));
    }
    out
}

/// The library's path and version, and whether it is the emulated one.
fn hip_text(hip: &Hip) -> Option<String> {
    let (path, version) = (hip.library.as_ref()?.display(), hip.version.as_ref()?);
    Some(match &hip.emulated {
        Some(identity) => format!("EMULATED, no GPU: {path}, HIP {version} ({identity})"),
        None => format!("{path}, HIP {version}"),
    })
}
