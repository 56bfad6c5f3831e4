//! `emulate`: any code object on the emulator.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use emulator::{Fault, Numerics, Options};

use crate::emulate::launch::{Bench, Objects, Plan};
use crate::emulate::report::{FaultTold, LaunchTold, Told};
use crate::emulate::request::{self, Groups};
use crate::emulate::save::{self, Save};
use crate::emulate::stats::Totals;
use crate::emulate::trace::Trace;
use crate::emulate::value::{self, GRAMMAR};
use crate::error::{CliError, Outcome};
use crate::harness::conditions::Conditions;
use crate::report;

/// Arguments of `emulate`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = GRAMMAR,
    override_usage = "wavesmith emulate FILE.hsaco --kernel NAME --grid X,Y,Z --block X,Y,Z [--arg NAME=VALUE]… \
                      [--then …] [OPTIONS]\n       wavesmith emulate [FILE.hsaco] --launches FILE.toml [OPTIONS]"
)]
pub struct Args {
    /// Code object; it says which target is emulated
    #[arg(value_name = "FILE.hsaco")]
    file: Option<PathBuf>,
    #[command(flatten)]
    groups: Groups,
    /// The launches from a file, in place of the flags from --kernel to --then
    #[arg(long, value_name = "FILE.toml")]
    launches: Option<PathBuf>,
    /// Write the buffer of an argument after the last launch, unless there was a fault: .npy, .safetensors, or
    /// its bytes as .bin
    #[arg(long, value_name = "NAME=FILE")]
    save: Vec<String>,
    /// Wave instructions after which a launch is stopped with a fault
    #[arg(long, value_name = "N", default_value_t = Options::default().instruction_limit)]
    instruction_limit: u64,
    /// Bytes that all buffers together may have, code objects and scratch included
    #[arg(long, value_name = "BYTES", default_value_t = Options::default().memory_limit_bytes)]
    memory_limit: u64,
    /// Workgroups that may be under way at once, where they run long or wait for each other
    #[arg(long, value_name = "N", default_value_t = Options::default().resident_workgroups,
        value_parser = clap::value_parser!(u32).range(1..))]
    resident_workgroups: u32,
    /// Only compute: watch neither for undefined values nor for waits, wait states and races
    #[arg(long, conflicts_with_all = ["no_race_checks", "lds_order"])]
    no_checks: bool,
    /// Do not watch for races between waves and between workgroups; every other check stays on
    #[arg(long)]
    no_race_checks: bool,
    /// What race checks take for ordered among the LDS accesses of one wave
    #[arg(long, value_enum, default_value_t = LdsOrder::Architectural, conflicts_with = "no_race_checks")]
    lds_order: LdsOrder,
    /// Which accesses count as misaligned
    #[arg(long, value_enum, default_value_t = Alignment::Hsa)]
    alignment: Alignment,
    /// How matrix and dot-product instructions round: fma-sequential, cdna3-fdpa (gfx950) or
    /// rdna3-candidate (gfx1100)
    #[arg(long, value_name = "NAME", default_value_t = Numerics::default())]
    numerics: Numerics,
    /// One line an executed instruction, on stderr or into a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    trace: Option<Option<PathBuf>>,
    /// Lines of the trace; further instructions are counted only
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    trace_limit: u64,
    /// Count instructions by class and wave, bytes by memory, and modelled LDS clocks with conflicts apart
    #[arg(long)]
    stats: bool,
    /// Print the kernel's instructions by how far their results can be trusted
    #[arg(long)]
    fidelity: bool,
}

/// Order of one wave's LDS accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LdsOrder {
    /// The order of issue, as the architecture documents
    Architectural,
    /// None without a wait
    Conservative,
}

/// Rules of alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Alignment {
    /// HSA's unaligned access mode: only scalar loads have to be aligned
    Hsa,
    /// The aligned access mode: vector memory and LDS too
    Natural,
}

impl Args {
    fn options(&self) -> Options {
        Options {
            instruction_limit: self.instruction_limit,
            checks: !self.no_checks,
            race_checks: !self.no_race_checks,
            stats: self.stats,
            resident_workgroups: self.resident_workgroups,
            memory_limit_bytes: self.memory_limit,
            lds_order: match self.lds_order {
                LdsOrder::Architectural => emulator::LdsOrder::Architectural,
                LdsOrder::Conservative => emulator::LdsOrder::Conservative,
            },
            alignment: match self.alignment {
                Alignment::Hsa => emulator::Alignment::Hsa,
                Alignment::Natural => emulator::Alignment::Natural,
            },
            numerics: self.numerics,
            ..Options::default()
        }
    }
}

/// Runs the launches and reports on them.
///
/// # Errors
/// A file that cannot be read, a place where none can be written, or a launch that does not fit its kernel.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let started = Instant::now();
    let requests = request::requests(&args.groups, args.launches.as_deref())?;
    let objects = Objects::read(&requests, args.file.as_deref())?;
    let plan = Plan::new(&requests, &objects)?;
    let trace_file = args.trace.as_ref().and_then(Option::as_deref);
    let values = requests.iter().flat_map(|request| &request.args);
    let files = values.filter_map(|(_, value)| value::file_of(value));
    let inputs: Vec<PathBuf> =
        objects.paths().map(Path::to_owned).chain(files).chain(args.launches.clone()).collect();
    let saves = save::parse(&args.save, trace_file, &inputs, &plan)?;
    let mut told = execute(args, &plan, &saves)?;
    told.seconds = started.elapsed().as_secs_f64();
    if json {
        report::json(&told)?;
    } else {
        report::text(&told.text(args.stats, args.fidelity))?;
    }
    if !told.unwritten.is_empty() {
        report::note(&format!("error: {} files of results not written", told.unwritten.len()));
    }
    Ok(match told.passed {
        false => Outcome::Wrong,
        true if told.unwritten.is_empty() => Outcome::Right,
        true => Outcome::Unwritten,
    })
}

fn execute(args: &Args, plan: &Plan<'_>, saves: &[Save]) -> Result<Told, CliError> {
    let mut bench = Bench::new(plan, args.options())?;
    for (launch, planned) in plan.launches.iter().enumerate() {
        let refused = |error| CliError::from(error).in_launch(launch, plan.launches.len());
        bench.check(launch, planned).map_err(refused)?;
    }
    let mut trace = args.trace.clone().map(|path| Trace::new(path, args.trace_limit));
    let ran = run_all(&mut bench, plan, &mut trace);
    let (launches, fault) = ran?;
    let untraced = trace.and_then(|trace| trace.finish().err());
    let mut unwritten: Vec<String> = untraced.iter().map(ToString::to_string).collect();
    let findings: Vec<_> = launches.iter().flat_map(|told| told.findings.clone()).collect();
    let buffers = match fault {
        Some(_) => BTreeMap::new(),
        None => {
            let buffers = bench.buffers().map_err(emulator::LaunchError::from)?;
            save::write(&buffers, saves, &mut unwritten)
        }
    };
    Ok(Told {
        passed: fault.is_none() && findings.is_empty(),
        target: plan.target().name(),
        conditions: Conditions::of(&args.options()),
        fault,
        findings,
        findings_dropped: launches.iter().map(|told| told.findings_dropped).sum(),
        wave_instructions: launches.iter().map(|told| told.wave_instructions).sum(),
        totals: Totals::of(launches.iter().map(|told| &told.stats)),
        launches_not_run: plan.launches.len() - launches.len(),
        launches,
        buffers,
        unwritten,
        seconds: 0.0,
    })
}

/// Runs one launch after the other, up to the first fault.
fn run_all(
    bench: &mut Bench,
    plan: &Plan<'_>,
    trace: &mut Option<Trace>,
) -> Result<(Vec<LaunchTold>, Option<FaultTold>), CliError> {
    let mut told = Vec::new();
    for (launch, planned) in plan.launches.iter().enumerate() {
        if let Some(trace) = trace.as_mut().filter(|_| plan.launches.len() > 1) {
            trace.title(&format!("launch {}: {}", launch + 1, planned.kernel.name));
        }
        match bench.run(launch, planned, trace.as_mut()) {
            Ok(report) => told.push(LaunchTold::new(plan, launch, report)),
            Err(Fault::Execution(fault)) => {
                told.push(LaunchTold::new(plan, launch, fault.report.clone()));
                return Ok((told, Some(FaultTold::new(launch, &fault))));
            }
            Err(Fault::Launch(refused)) => {
                return Err(CliError::from(refused).in_launch(launch, plan.launches.len()));
            }
        }
    }
    Ok((told, None))
}
