//! `check`: every broken rule of specs, or the facts that follow from legal ones.

use std::path::{Path, PathBuf};

use serde::Serialize;
use specs::dispatch::{PrefillRequest, Refusal, choose, read_request};
use specs::spec_file::FileProblem;
use specs::{DerivedFacts, LdsMap, Problem, UnreadableSpec, Violation};

use crate::error::{CliError, Outcome};
use crate::{pipeline, report};

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Spec files, or problem files
    #[arg(required = true, value_name = "SPEC|PROBLEM")]
    specs: Vec<PathBuf>,
}

/// What there is to say of one spec.
#[derive(Serialize)]
struct Checked {
    file: String,
    legal: bool,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<FileProblem>,
    /// The same in words, with file, line and column.
    #[serde(skip)]
    unreadable_text: String,
    violations: Vec<Violation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<DerivedFacts>,
    /// What dispatch makes of a problem file.
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatch: Option<Solved>,
}

/// Whether a problem has a candidate.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Solved {
    /// The one that is taken.
    By(&'static str),
    /// None, and why.
    Refused(Refusal),
    /// One, but the problem's tensors are beyond its limits.
    Unplanned(String),
}

impl Checked {
    /// Nothing known but the name.
    fn of(path: &Path) -> Checked {
        Checked {
            file: path.display().to_string(),
            legal: false,
            unreadable: Vec::new(),
            unreadable_text: String::new(),
            violations: Vec::new(),
            facts: None,
            dispatch: None,
        }
    }

    fn unreadable(path: &Path, error: UnreadableSpec) -> Checked {
        let unreadable_text = error.to_string();
        Checked { unreadable_text, unreadable: error.problems, ..Checked::of(path) }
    }
}

/// Checks every spec; one that cannot be read does not hide the others.
///
/// # Errors
/// [`CliError::Unread`] after all results, when some spec could not be read.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let checked: Vec<_> = args.specs.iter().map(|path| check(path)).collect();
    if json {
        report::json(&checked)?;
    } else {
        report::text(&checked.iter().map(text).collect::<String>())?;
    }
    let unread = checked.iter().filter(|checked| !checked.unreadable.is_empty()).count();
    if unread > 0 {
        return Err(CliError::Unread { unread, of: checked.len() });
    }
    Ok(Outcome::right_if(checked.iter().all(|checked| checked.legal)))
}

fn check(path: &Path) -> Checked {
    if pipeline::is_problem_file(path) {
        return match read_request(path) {
            Ok(request) => check_request(path, &request),
            Err(error) => Checked::unreadable(path, error),
        };
    }
    match specs::read_spec(path) {
        Ok(spec) => {
            let violations = spec.check();
            let legal = violations.is_empty();
            let facts = legal.then(|| spec.facts());
            Checked { legal, violations, facts, ..Checked::of(path) }
        }
        Err(error) => Checked::unreadable(path, error),
    }
}

/// A problem is right when it makes sense and some candidate solves it.
fn check_request(path: &Path, request: &PrefillRequest) -> Checked {
    let violations = request.check();
    if !violations.is_empty() {
        return Checked { violations, ..Checked::of(path) };
    }
    let solved = match request.problem::<&str>(&[]) {
        Ok(problem) => match choose(request, &problem) {
            Ok(choice) => match choice.job.plan(&Problem::Prefill(problem)) {
                Ok(_) => Solved::By(choice.candidate.name),
                Err(error) => Solved::Unplanned(error.to_string()),
            },
            Err(refusal) => Solved::Refused(refusal),
        },
        Err(error) => Solved::Unplanned(error.to_string()),
    };
    let legal = matches!(solved, Solved::By(_));
    Checked { legal, dispatch: Some(solved), ..Checked::of(path) }
}

fn text(checked: &Checked) -> String {
    if !checked.unreadable.is_empty() {
        return format!("{}\n", checked.unreadable_text);
    }
    match &checked.dispatch {
        Some(Solved::By(candidate)) => {
            let file = &checked.file;
            return format!(
                "{file}: a problem that {candidate} solves; `wavesmith dispatch {file}` shows its plan\n"
            );
        }
        Some(Solved::Refused(refusal)) => {
            return format!("{}: no candidate solves this problem\n{refusal}\n", checked.file);
        }
        Some(Solved::Unplanned(why)) => return format!("{}: {why}\n", checked.file),
        None => {}
    }
    let Some(facts) = &checked.facts else {
        let lines = checked.violations.iter().map(|violation| format!("  {violation}\n"));
        let count = checked.violations.len();
        let rules = if count == 1 { "rule" } else { "rules" };
        return format!("{}: breaks {count} {rules}\n{}", checked.file, lines.collect::<String>());
    };
    let [x, y, z] = facts.grid_of_one_sequence;
    let row = |name: &str, value: String| vec![format!("  {name}"), value];
    let mut rows = vec![
        row("variant", facts.name.clone()),
        row("target", facts.target.to_owned()),
        row(
            "workgroup",
            format!(
                "{} work-items: {} waves of {} lanes",
                facts.workgroup_size, facts.waves, facts.wave_width
            ),
        ),
    ];
    if let Some(columns) = facts.columns_per_workgroup {
        rows.push(row("columns a workgroup", columns.to_string()));
    }
    let of = if facts.lds_map.is_some() { "grid of one chunk" } else { "grid of one sequence" };
    rows.push(row(of, format!("{x} × {y} × {z} workgroups")));
    rows.push(row("LDS a workgroup", lds_text(facts)));
    if let Some(registers) = facts.state_registers_per_lane {
        rows.push(row("state a lane", format!("{registers} VGPRs")));
    }
    let traffic = [
        ("traffic a sequence", Some(facts.row_traffic_bytes)),
        ("traffic a token", facts.token_traffic_bytes),
        ("traffic a chunk", facts.chunk_traffic_bytes),
    ];
    let known = traffic.into_iter().filter_map(|(name, bytes)| Some((name, bytes?)));
    rows.extend(known.map(|(name, bytes)| row(name, format!("{bytes} bytes at least"))));
    rows.push(row("kernarg segment", format!("{} bytes", facts.kernarg_bytes)));
    let arguments = facts.arguments.iter().map(|argument| format!("    {argument}\n"));
    format!(
        "{}: legal\n{}{}  arguments\n{}",
        checked.file,
        report::table(&rows),
        facts.lds_map.as_ref().map(lds_map_text).unwrap_or_default(),
        arguments.collect::<String>()
    )
}

fn lds_text(facts: &DerivedFacts) -> String {
    let bytes = report::grouped(facts.lds_bytes);
    match facts.groups_per_cu_by_lds {
        Some(groups) => format!("{bytes} bytes, {groups} a CU by whole granules"),
        None => format!("{bytes} bytes"),
    }
}

/// The map: a line a buffer, in the order of places.
fn lds_map_text(map: &LdsMap) -> String {
    let mut rows = vec![
        ["  LDS map", "at", "bytes", "rows × pitch", "live", "holds"].map(str::to_owned).to_vec(),
    ];
    let mut placed: Vec<_> = map.buffers().iter().collect();
    placed.sort_by_key(|placed| placed.offset);
    rows.extend(placed.iter().map(|placed| {
        let buffer = &placed.buffer;
        vec![
            format!("    {}", buffer.name),
            report::grouped(placed.offset),
            report::grouped(buffer.bytes()),
            format!("{} × {} {}", buffer.rows, buffer.pitch, buffer.element),
            format!("{} to {}", buffer.live.first, buffer.live.last),
            buffer.holds.to_owned(),
        ]
    }));
    for (first, then) in map.handovers() {
        rows.push(vec![format!("    {} takes bytes of {}", then.buffer.name, first.buffer.name)]);
    }
    report::table(&rows)
}
