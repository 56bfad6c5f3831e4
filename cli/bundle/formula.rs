//! Grids as formulas of the problem: of the batch, of the chunks of all sequences, of the segments of the longest one.

use serde::{Deserialize, Serialize};
use specs::chunk::tables::chunk_count;
use specs::{Problem, Spec};

use crate::bundle::BundleError;
use crate::error::CliError;

/// What a grid grows with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Chunks of all sequences: the sum of ⌈tokens / chunk⌉.
    Chunks,
    /// Sequences.
    Batch,
    /// Segments of the longest sequence: ⌈tokens / segment⌉, at least one.
    Segments,
}

impl Unit {
    /// Every unit, in the order in which calls take their counts.
    pub const ALL: [Unit; 3] = [Unit::Chunks, Unit::Batch, Unit::Segments];

    /// The name of the parameter for it in C and Rust, which no tensor has.
    pub fn parameter(self) -> &'static str {
        match self {
            Unit::Chunks => "n_chunks",
            Unit::Batch => "batch",
            Unit::Segments => "n_segments",
        }
    }

    /// Tokens that one has at most, of units of tokens.
    pub fn tokens(self, spec: &Spec) -> Option<u32> {
        match (self, spec) {
            (Unit::Chunks, Spec::Chunk(chunk)) => Some(chunk.common().chunk),
            (Unit::Segments, Spec::ConvChunk(conv)) => Some(conv.segment),
            (Unit::Segments, Spec::AttentionChunk(spec)) => Some(spec.queries_per_workgroup),
            _ => None,
        }
    }

    /// How many a problem has; `None` where its kernel knows no such unit.
    fn count(self, spec: &Spec, problem: &Problem) -> Option<u64> {
        match (self, spec, problem) {
            (Unit::Batch, ..) => Some(problem.batch().into()),
            (Unit::Chunks, Spec::Chunk(chunk), Problem::Prefill(problem)) => {
                Some(chunk_count(&problem.lengths, chunk.common().chunk))
            }
            (Unit::Segments, Spec::ConvChunk(conv), _) => {
                problem.lengths().map(|lengths| conv.segments(lengths).into())
            }
            (Unit::Segments, Spec::AttentionChunk(spec), _) => {
                problem.lengths().map(|lengths| spec.segments(lengths).into())
            }
            _ => None,
        }
    }
}

/// Workgroups along one axis: `per_unit` for each of what it grows with, and `fixed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formula {
    /// What it grows with; `None` for as many however large the problem.
    pub unit: Option<Unit>,
    /// Workgroups for each.
    pub per_unit: u32,
    /// Workgroups however many.
    pub fixed: u32,
}

/// A problem's counts, by [`Unit::ALL`], and its grid.
struct Probe {
    what: String,
    counts: [Option<u64>; 3],
    grid: [u32; 3],
}

impl Probe {
    fn count(&self, unit: Unit) -> Option<u64> {
        self.counts[Unit::ALL.iter().position(|known| *known == unit)?]
    }

    fn new(spec: &Spec, assignments: &[&str]) -> Result<Probe, CliError> {
        let problem = spec.problem(assignments)?;
        let grid = spec.plan(&problem)?.launches.first().map_or([0; 3], |launch| launch.grid);
        let counts = Unit::ALL.map(|unit| unit.count(spec, &problem));
        Ok(Probe { what: assignments.join(" "), counts, grid })
    }

    /// Problems that differ in all that a grid could grow with.
    fn of(spec: &Spec) -> Result<Vec<Probe>, CliError> {
        let takes = |key| spec.problem_parameters().contains(&key);
        let mut probes = Vec::new();
        for batch in ["batch=1", "batch=2", "batch=3", "batch=7", "batch=16", "batch=31"] {
            probes.push(Probe::new(spec, &[batch])?);
            for tokens in ["tokens=1", "tokens=333", "tokens=2049"] {
                if takes("tokens") {
                    probes.push(Probe::new(spec, &[batch, tokens])?);
                }
            }
        }
        if takes("lengths") {
            probes.push(Probe::new(spec, &["lengths=1,777,0,4000"])?);
        }
        Ok(probes)
    }
}

impl Formula {
    /// Workgroups for so many.
    pub fn at(self, count: u64) -> u64 {
        u64::from(self.per_unit).saturating_mul(count).saturating_add(self.fixed.into())
    }

    /// The formula through two points of an axis whose counts differ, or the constant where there is only one.
    fn through(unit: Unit, points: &[(u64, u32)]) -> Option<Formula> {
        let (first_count, first) = *points.first()?;
        let (count, workgroups) = points.iter().find(|(count, _)| *count > first_count)?;
        let per_unit =
            u64::from(workgroups.checked_sub(first)?).checked_div(count - first_count)?;
        let fixed = u64::from(first).checked_sub(per_unit * first_count)?;
        let narrow = |value: u64| u32::try_from(value).ok();
        Some(Formula { unit: Some(unit), per_unit: narrow(per_unit)?, fixed: narrow(fixed)? })
    }

    /// The first formula of an axis that holds for every probe: a constant, or one of a unit.
    fn of_axis(probes: &[Probe], axis: usize) -> Option<Formula> {
        let constant = |probe: &Probe| Formula { unit: None, per_unit: 0, fixed: probe.grid[axis] };
        let of_unit = |unit: Unit| {
            let point = |probe: &Probe| Some((probe.count(unit)?, probe.grid[axis]));
            let mut points = probes.iter().map(point).collect::<Option<Vec<_>>>()?;
            points.sort_unstable();
            Formula::through(unit, &points)
        };
        let units = Unit::ALL.into_iter().filter_map(of_unit);
        let mut candidates = probes.first().map(constant).into_iter().chain(units);
        candidates.find(|formula| probes.iter().all(|probe| formula.holds(probe, axis)))
    }

    fn holds(self, probe: &Probe, axis: usize) -> bool {
        let count = self.unit.map_or(Some(0), |unit| probe.count(unit));
        count.is_some_and(|count| self.at(count) == u64::from(probe.grid[axis]))
    }

    /// As people, C and Rust write it.
    pub fn text(self, suffix: &str) -> String {
        let unit = self.unit.map_or("", Unit::parameter);
        match self {
            Formula { unit: None, fixed, .. } => format!("{fixed}{suffix}"),
            Formula { per_unit: 1, fixed: 0, .. } => unit.to_owned(),
            Formula { per_unit, fixed: 0, .. } => format!("{unit} * {per_unit}{suffix}"),
            Formula { per_unit, fixed, .. } => {
                format!("{unit} * {per_unit}{suffix} + {fixed}{suffix}")
            }
        }
    }
}

/// The grid of a spec's kernel, in x, y, z.
///
/// # Errors
/// [`BundleError::Grid`] where it is not such formulas, or a problem that cannot be made.
pub fn of(spec: &Spec) -> Result<[Formula; 3], CliError> {
    let probes = Probe::of(spec)?;
    let mut formulas = [Formula { unit: None, per_unit: 0, fixed: 1 }; 3];
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        formulas[axis] = Formula::of_axis(&probes, axis).ok_or_else(|| {
            let seen = probes.iter().map(|probe| format!("{}: {}", probe.what, probe.grid[axis]));
            let grids = seen.collect::<Vec<_>>().join("; ");
            BundleError::Grid { name: spec.name(), axis: name, grids }
        })?;
    }
    Ok(formulas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_read_as_they_compute() {
        let formula = Formula::through(Unit::Batch, &[(1, 7), (1, 7), (2, 11)]).unwrap();
        assert_eq!((formula.at(1), formula.at(10)), (7, 43));
        assert_eq!(formula.text("u"), "batch * 4u + 3u");
        assert_eq!(Formula { unit: None, per_unit: 0, fixed: 5 }.text(""), "5");
        assert_eq!(Formula::through(Unit::Batch, &[(1, 1), (2, 2)]).unwrap().text(""), "batch");
        let chunks = Formula::through(Unit::Chunks, &[(7, 112), (14, 224)]).unwrap();
        assert_eq!(chunks.text(""), "n_chunks * 16");
        assert_eq!(Formula::through(Unit::Batch, &[(3, 4), (3, 4)]), None);
        assert_eq!(Formula::through(Unit::Batch, &[(1, 4), (2, 3)]), None);
    }

    #[test]
    fn every_library_spec_has_formulas() {
        for entry in specs::registry::LIBRARY {
            let spec = entry.spec().unwrap();
            let formulas = of(&spec).unwrap_or_else(|error| panic!("{}: {error}", entry.file));
            assert!(formulas.iter().all(|formula| formula.at(1) >= 1), "{}", entry.file);
            let units: Vec<_> = formulas.iter().filter_map(|formula| formula.unit).collect();
            let expected: &[Unit] = match &spec {
                Spec::ConvChunk(_) | Spec::AttentionChunk(_) => &[Unit::Batch, Unit::Segments],
                Spec::Chunk(chunk) if chunk.scan().is_none() => &[Unit::Chunks],
                _ => &[Unit::Batch],
            };
            assert_eq!(units, expected, "{}", entry.file);
        }
    }
}
