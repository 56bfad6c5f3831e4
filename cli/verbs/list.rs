//! `list`: what there is.

use isa::Target;
use serde::Serialize;
use specs::registry::{FAMILIES, LIBRARY};

use crate::error::{CliError, Outcome};
use crate::report;

/// Arguments of `list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this family
    #[arg(long)]
    family: Option<String>,
    /// Only this target
    #[arg(long)]
    target: Option<String>,
}

/// One library spec.
#[derive(Serialize)]
struct Row {
    file: String,
    family: &'static str,
    kernel: String,
    target: &'static str,
    variant: String,
    purpose: String,
}

/// Lists families, targets and the library's specs.
///
/// # Errors
/// An unknown family or target.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    refuse_unknown(args)?;
    let rows = rows(args)?;
    if json {
        let targets: Vec<_> = Target::ALL.iter().map(|target| target.name()).collect();
        report::json(
            &serde_json::json!({ "families": FAMILIES, "targets": targets, "specs": rows }),
        )?;
    } else {
        report::text(&text(&rows))?;
    }
    Ok(Outcome::Right)
}

fn refuse_unknown(args: &Args) -> Result<(), CliError> {
    if let Some(target) = &args.target {
        target.parse::<Target>()?;
    }
    let known: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
    match &args.family {
        Some(family) if !known.contains(&family.as_str()) => Err(CliError::Usage(format!(
            "unknown family '{family}': the families are {}",
            known.join(", ")
        ))),
        _ => Ok(()),
    }
}

fn rows(args: &Args) -> Result<Vec<Row>, CliError> {
    let mut rows = Vec::new();
    for entry in LIBRARY {
        let spec = entry.spec()?;
        let wanted =
            |filter: &Option<String>, value: &str| filter.as_ref().is_none_or(|want| want == value);
        if wanted(&args.family, spec.family()) && wanted(&args.target, spec.target().name()) {
            rows.push(Row {
                file: format!("specs/library/{}", entry.file),
                family: spec.family(),
                kernel: spec.kernel().to_string(),
                target: spec.target().name(),
                variant: spec.name(),
                purpose: entry.purpose(),
            });
        }
    }
    Ok(rows)
}

fn text(rows: &[Row]) -> String {
    let mut table =
        vec![["family", "kernel", "target", "spec", "purpose"].map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| {
        vec![
            row.family.to_owned(),
            row.kernel.clone(),
            row.target.to_owned(),
            row.file.clone(),
            row.purpose.clone(),
        ]
    }));
    report::table(&table)
}
