//! `dispatch`: which kernels solve a problem, their launches, and why the others lost.

use std::path::PathBuf;

use serde::Serialize;
use specs::dispatch::{Choice, Rejection, lines};
use specs::{Launch, LaunchPlan, Problem, Role};

use crate::error::{CliError, Outcome};
use crate::pipeline::{self, Dispatched};
use crate::report;

/// Arguments of `dispatch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Problem file
    #[arg(value_name = "PROBLEM")]
    problem_file: PathBuf,
    /// A size beside the file's: batch and tokens, or lengths=33,0,100 with varlen, and scale; may be given
    /// several times
    #[arg(long, value_name = "KEY=VALUE")]
    problem: Vec<String>,
}

/// The chosen plan, and why the others lost.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    candidate: &'static str,
    abi_version: u32,
    key: String,
    evidence: &'static str,
    value_splits: &'a str,
    problem: &'a Problem,
    launches: &'a [Launch],
    workspace_bytes: u64,
    workspace: Vec<Workspace<'a>>,
    rejected: &'a [Rejection],
}

/// A tensor that only the plan's launches use.
#[derive(Debug, Serialize)]
struct Workspace<'a> {
    name: &'a str,
    element: String,
    dims: &'a [u64],
    bytes: u64,
}

impl<'a> Report<'a> {
    fn new(choice: &'a Choice, problem: &'a Problem, plan: &'a LaunchPlan) -> Report<'a> {
        let workspace = plan.tensors.iter().filter(|tensor| tensor.role == Role::Workspace);
        Report {
            candidate: choice.candidate.name,
            abi_version: choice.candidate.abi_version,
            key: choice.key(),
            evidence: choice.candidate.evidence,
            value_splits: &choice.splits,
            problem,
            launches: &plan.launches,
            workspace_bytes: plan.workspace_bytes(),
            workspace: workspace
                .map(|tensor| Workspace {
                    name: &tensor.name,
                    element: tensor.element.to_string(),
                    dims: &tensor.dims,
                    bytes: tensor.size_bytes(),
                })
                .collect(),
            rejected: &choice.rejected,
        }
    }
}

/// Chooses and plans; runs nothing.
///
/// # Errors
/// A problem file that cannot be read or makes no sense, or a problem that no candidate solves.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let Dispatched { choice, problem } = pipeline::dispatch(&args.problem_file, &args.problem)?;
    let plan = choice.job.plan(&problem)?;
    let report = Report::new(&choice, &problem, &plan);
    if json {
        report::json(&report)?;
    } else {
        report::text(&text(&report))?;
    }
    Ok(Outcome::Right)
}

fn text(report: &Report<'_>) -> String {
    let Report { candidate, abi_version, key, evidence, value_splits, .. } = report;
    let mut out = format!(
        "{candidate}, ABI version {abi_version}, key {key}\n  {value_splits}\n  {evidence}\n"
    );
    for (index, launch) in report.launches.iter().enumerate() {
        let [x, y, z] = launch.grid;
        out.push_str(&format!(
            "launch {}: {}\n  grid {x} × {y} × {z} workgroups of {} work-items\n",
            index + 1,
            launch.kernel,
            launch.workgroup[0]
        ));
        let names: Vec<_> = launch.args.iter().map(|arg| arg.argument.as_str()).collect();
        out.push_str(&format!("  arguments {}\n", names.join(", ")));
    }
    out.push_str(&format!("workspace {} bytes\n", report::grouped(report.workspace_bytes)));
    let rows = report.workspace.iter().map(|tensor| {
        let dims: Vec<_> = tensor.dims.iter().map(u64::to_string).collect();
        let shape = format!("{} [{}]", tensor.element, dims.join(", "));
        vec![format!("  {}", tensor.name), shape, report::grouped(tensor.bytes)]
    });
    out.push_str(&report::table(&rows.collect::<Vec<_>>()));
    out.push_str("the others\n");
    out.extend(lines(report.rejected).into_iter().map(|line| format!("  {line}\n")));
    out
}
