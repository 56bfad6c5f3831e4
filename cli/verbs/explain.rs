//! `explain`: where a kernel's registers and time go, by the lines of its source.

use std::path::PathBuf;

use clap::ValueEnum;
use emit::gcn::{self, Options};
use specs::Spec;

use crate::error::{CliError, Outcome};
use crate::explain::{self, Explained, Registers, Schedule, View, svg};
use crate::{files, pipeline, report};

/// Arguments of `explain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Spec file, or a problem file, whose kernels dispatch chooses
    #[arg(value_name = "SPEC|PROBLEM")]
    file: PathBuf,
    /// What of its kernel
    #[arg(value_enum)]
    view: Which,
    /// A part of the name of the kernel that is meant, where a problem has several
    #[arg(long, value_name = "PART")]
    kernel: Option<String>,
    /// A size of a problem file's problem, as for `dispatch`; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    problem: Vec<String>,
    /// Write a picture to this file (`.svg`)
    #[arg(short, long, value_name = "FILE.svg")]
    output: Option<PathBuf>,
    /// Lines of source, values and instructions to list, the heaviest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
}

/// What to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Live registers over the code, by line of source, and what holds them where most are alive
    Registers,
    /// Waits and modelled stalls, by line of source, and the instructions that are held back
    Schedule,
}

/// Compiles the kernel by the GCN back end and says what its code holds and waits for.
///
/// # Errors
/// Specs that cannot be read or break rules, what the back end says, a picture that cannot be written.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    refuse_other_pictures(args)?;
    let spec = the_spec(args)?;
    let kernel = pipeline::kernel(&spec)?;
    let profile = gcn::profiled(&kernel, &Options::default())?;
    let explained = match args.view {
        Which::Registers => explain::registers(&kernel.name, kernel.target, &profile),
        Which::Schedule => explain::schedule(&kernel.name, kernel.target, &profile),
    };
    if let Some(path) = &args.output {
        files::write(path, svg::draw(&explained).as_bytes())?;
    }
    match json {
        true => report::json(&explained)?,
        false => report::text(&text(&explained, args.top))?,
    }
    Ok(Outcome::Right)
}

/// The spec of the file, or the one that is meant of the problem's.
fn the_spec(args: &Args) -> Result<Spec, CliError> {
    let specs = if pipeline::is_problem_file(&args.file) {
        pipeline::dispatch(&args.file, &args.problem)?.choice.job.specs()
    } else if args.problem.is_empty() {
        vec![pipeline::legal_spec(&args.file)?]
    } else {
        return Err(CliError::Usage("--problem goes with a problem file".to_owned()));
    };
    let is_meant =
        |spec: &&Spec| args.kernel.as_ref().is_none_or(|part| spec.name().contains(part.as_str()));
    match specs.iter().filter(is_meant).collect::<Vec<_>>()[..] {
        [spec] => Ok(*spec),
        ref several => {
            let names: Vec<String> = specs.iter().map(Spec::name).collect();
            Err(CliError::Usage(format!(
                "--kernel {} means {} kernels of {}: give a part of one name of {}",
                args.kernel.as_deref().unwrap_or("(absent)"),
                several.len(),
                args.file.display(),
                names.join(", ")
            )))
        }
    }
}

fn refuse_other_pictures(args: &Args) -> Result<(), CliError> {
    let Some(path) = &args.output else { return Ok(()) };
    match path.extension().is_some_and(|extension| extension == "svg") {
        true => Ok(()),
        false => Err(CliError::Usage(format!(
            "-o {}: pictures are SVG files; name one with the ending .svg",
            path.display()
        ))),
    }
}

fn text(explained: &Explained, top: usize) -> String {
    let head = format!("{} ({})\n", explained.kernel, explained.target);
    head + &match &explained.view {
        View::Registers(view) => registers(view, top),
        View::Schedule(view) => schedule(view, top),
    }
}

fn row<const N: usize>(cells: [String; N]) -> Vec<String> {
    cells.to_vec()
}

fn registers(view: &Registers, top: usize) -> String {
    let most = view.most;
    let mut out = format!(
        "most alive at one instruction: {} VGPRs, {} SGPRs, {} AGPRs\n\n",
        most.vgprs, most.sgprs, most.agprs
    );
    let mut runs: Vec<_> = view.runs.iter().collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.most.vgprs + run.most.agprs));
    let mut rows =
        vec![
            row(["source", "first", "instructions", "VGPRs", "SGPRs", "AGPRs"].map(str::to_owned)),
        ];
    rows.extend(runs.iter().take(top).map(|run| {
        let numbers = [run.first, run.instructions].map(|number| number.to_string());
        let counts = [run.most.vgprs, run.most.sgprs, run.most.agprs];
        let counts = counts.map(|count| count.to_string());
        [vec![run.phase.clone()], numbers.to_vec(), counts.to_vec()].concat()
    }));
    out.push_str(&report::columns(&rows));
    out.push_str("\nalive where most VGPRs are:\n");
    let rows = view.at_most_vgprs.iter().take(top).map(|alive| {
        let name = alive.value.clone().unwrap_or_else(|| "made by the back end".to_owned());
        row([
            format!("{name} {}", alive.phase).trim_end().to_owned(),
            format!("{} VGPRs", alive.vgprs),
        ])
    });
    out.push_str(&report::columns(&rows.collect::<Vec<_>>()));
    out
}

fn schedule(view: &Schedule, top: usize) -> String {
    let mut out = format!(
        "{} instructions, {} waits for memory, {} slots of no-ops, {} slots stalled (modelled)\n\n",
        view.instructions, view.waits, view.idle_slots, view.stall_slots
    );
    let mut rows = vec![row(
        ["source", "instructions", "waits", "no-op slots", "stall slots"].map(str::to_owned)
    )];
    rows.extend(view.phases.iter().take(top).map(|phase| {
        row([
            phase.phase.clone(),
            phase.instructions.to_string(),
            phase.waits.to_string(),
            phase.idle_slots.to_string(),
            phase.stall_slots.to_string(),
        ])
    }));
    out.push_str(&report::columns(&rows));
    out.push_str("\nheld back, modelled:\n");
    let rows = view.stalls.iter().take(top).map(|stall| {
        let place = format!("{:#06x} {}", stall.offset, stall.instruction);
        row([place, format!("{} slots", stall.stall_slots), stall.phase.clone()])
    });
    out.push_str(&report::table(&rows.collect::<Vec<_>>()));
    out
}
