//! Grids as formulas of the problem: of the batch, or of the chunks of all sequences.

use serde::{Deserialize, Serialize};
use specs::chunk::tables::chunk_count;
use specs::{Problem, Spec};

use crate::bundle::BundleError;
use crate::error::CliError;

/// What a grid grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Sequences.
    Batch,
    /// Chunks of all sequences: the sum of ⌈tokens / chunk⌉.
    Chunks,
}

impl Unit {
    /// What the grid of a spec's kernel grows with.
    pub fn of(spec: &Spec) -> Unit {
        match spec {
            Spec::Chunk(chunk) if chunk.scan().is_none() => Unit::Chunks,
            _ => Unit::Batch,
        }
    }

    /// Its name in manifests, C and Rust.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Batch => "batch",
            Unit::Chunks => "chunks",
        }
    }

    /// How many a problem has.
    fn count(self, spec: &Spec, problem: &Problem) -> u64 {
        match (self, spec, problem) {
            (Unit::Chunks, Spec::Chunk(chunk), Problem::Prefill(problem)) => {
                chunk_count(&problem.lengths, chunk.common().chunk)
            }
            _ => problem.batch().into(),
        }
    }
}

/// Workgroups along one axis: `per_unit` for each of what the grid grows with, and `fixed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formula {
    /// Workgroups for each.
    pub per_unit: u32,
    /// Workgroups however many.
    pub fixed: u32,
}

/// Batches at which a formula is compared with the launch plan, beyond those it is made from.
const WITNESSES: [u32; 4] = [3, 7, 16, 31];

impl Formula {
    /// Workgroups for so many.
    pub fn at(self, count: u64) -> u64 {
        u64::from(self.per_unit) * count + u64::from(self.fixed)
    }

    /// The formula through two grids, each with its count.
    fn through(first: (u64, u32), second: (u64, u32)) -> Formula {
        let more = u64::from(second.1.saturating_sub(first.1));
        let per_unit = more.checked_div(second.0.saturating_sub(first.0)).unwrap_or(0);
        let fixed = u64::from(first.1).saturating_sub(per_unit * first.0);
        let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Formula { per_unit: narrow(per_unit), fixed: narrow(fixed) }
    }

    /// As people, C and Rust write it.
    pub fn text(self, unit: Unit, suffix: &str) -> String {
        let unit = unit.name();
        match self {
            Formula { per_unit: 0, fixed } => format!("{fixed}{suffix}"),
            Formula { per_unit: 1, fixed: 0 } => unit.to_owned(),
            Formula { per_unit, fixed: 0 } => format!("{unit} * {per_unit}{suffix}"),
            Formula { per_unit, fixed } => format!("{unit} * {per_unit}{suffix} + {fixed}{suffix}"),
        }
    }
}

/// The grid of a spec's kernel, in x, y, z.
///
/// # Errors
/// [`BundleError::Grid`] where it is not such a formula, or a problem that cannot be made.
pub fn of(spec: &Spec) -> Result<[Formula; 3], CliError> {
    let ((n_one, one), (n_two, two)) = (grid(spec, 1)?, grid(spec, 2)?);
    let through = |axis: usize| Formula::through((n_one, one[axis]), (n_two, two[axis]));
    let formulas = std::array::from_fn(through);
    for batch in WITNESSES {
        let (count, got) = grid(spec, batch)?;
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let formula: Formula = formulas[axis];
            let (got, expected) = (got[axis], formula.at(count));
            if u64::from(got) != expected {
                let (name, axis, formula) = (spec.name(), name, formula.text(Unit::of(spec), ""));
                return Err(BundleError::Grid { name, axis, batch, got, expected, formula }.into());
            }
        }
    }
    Ok(formulas)
}

/// How much of what the grid grows with a problem of this batch has, and its grid.
fn grid(spec: &Spec, batch: u32) -> Result<(u64, [u32; 3]), CliError> {
    let problem = spec.problem(&[format!("batch={batch}")])?;
    let plan = spec.plan(&problem)?;
    let grid = plan.launches.first().map_or([0; 3], |launch| launch.grid);
    Ok((Unit::of(spec).count(spec, &problem), grid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_read_as_they_compute() {
        let formula = Formula::through((1, 7), (2, 11));
        assert_eq!((formula.at(1), formula.at(10)), (7, 43));
        assert_eq!(formula.text(Unit::Batch, "u"), "batch * 4u + 3u");
        assert_eq!(Formula::through((1, 5), (2, 5)).text(Unit::Batch, ""), "5");
        assert_eq!(Formula::through((1, 1), (2, 2)).text(Unit::Batch, ""), "batch");
        assert_eq!(Formula::through((7, 112), (14, 224)).text(Unit::Chunks, ""), "chunks * 16");
    }

    #[test]
    fn every_library_spec_has_formulas() {
        for entry in specs::registry::LIBRARY {
            let spec = entry.spec().unwrap();
            let formulas = of(&spec).unwrap_or_else(|error| panic!("{}: {error}", entry.file));
            assert!(formulas.iter().all(|formula| formula.at(1) >= 1), "{}", entry.file);
        }
    }
}
