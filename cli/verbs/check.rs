//! `check`: every broken rule of specs, or the facts that follow from legal ones.

use std::path::{Path, PathBuf};

use serde::Serialize;
use specs::{DerivedFacts, Violation};

use crate::error::{CliError, Outcome};
use crate::report;

/// Arguments of `check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Spec files
    #[arg(required = true, value_name = "SPEC")]
    specs: Vec<PathBuf>,
}

/// What there is to say of one spec.
#[derive(Serialize)]
struct Checked {
    file: String,
    legal: bool,
    violations: Vec<Violation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<DerivedFacts>,
}

/// Checks every spec.
///
/// # Errors
/// A spec that cannot be read.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let checked = args.specs.iter().map(|path| check(path)).collect::<Result<Vec<_>, _>>()?;
    if json {
        report::json(&checked)?;
    } else {
        report::text(&checked.iter().map(text).collect::<String>())?;
    }
    Ok(Outcome::right_if(checked.iter().all(|checked| checked.legal)))
}

fn check(path: &Path) -> Result<Checked, CliError> {
    let spec = specs::read_spec(path)?;
    let violations = spec.check();
    let legal = violations.is_empty();
    let facts = legal.then(|| spec.facts());
    Ok(Checked { file: path.display().to_string(), legal, violations, facts })
}

fn text(checked: &Checked) -> String {
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
        row("columns a workgroup", facts.columns_per_workgroup.to_string()),
        row("grid of one sequence", format!("{x} × {y} × {z} workgroups")),
        row("LDS a workgroup", format!("{} bytes", facts.lds_bytes)),
    ];
    if let Some(registers) = facts.state_registers_per_lane {
        rows.push(row("state a lane", format!("{registers} VGPRs")));
    }
    rows.push(row("traffic a sequence", format!("{} bytes at least", facts.row_traffic_bytes)));
    rows.push(row("kernarg segment", format!("{} bytes", facts.kernarg_bytes)));
    let arguments = facts.arguments.iter().map(|argument| format!("    {argument}\n"));
    format!(
        "{}: legal\n{}  arguments\n{}",
        checked.file,
        report::table(&rows),
        arguments.collect::<String>()
    )
}
