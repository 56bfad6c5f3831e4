//! What one run is of: a kernel, or a tile and a scan kernel that prefill together.

use isa::Target;

use crate::chunk::tables::ChunkTables;
use crate::chunk::{ChunkCommon, ChunkSpec, Split, TokenLayout};
use crate::plan::{LaunchPlan, PlanError};
use crate::problem::{InvalidProblem, Problem};
use crate::rule::Violation;
use crate::signature::{Access, Argument, Signature};
use crate::spec::Spec;

/// Kernels that solve one problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Job {
    /// One kernel.
    One(Spec),
    /// A tile kernel, then a scan kernel.
    Split(Split),
}

impl From<&Spec> for Job {
    fn from(spec: &Spec) -> Job {
        Job::One(*spec)
    }
}

impl Job {
    /// The job of spec files in the order of their launches, or why they are none together.
    ///
    /// # Errors
    /// Words.
    pub fn of(specs: &[Spec]) -> Result<Job, String> {
        match specs {
            [one] => Ok(Job::One(*one)),
            [Spec::Chunk(ChunkSpec::Tile(tile)), Spec::Chunk(ChunkSpec::Scan(scan))] => {
                Ok(Job::Split(Split { tile: *tile, scan: *scan }))
            }
            several => {
                let kernels: Vec<_> =
                    several.iter().map(|spec| spec.kernel().to_string()).collect();
                Err(format!(
                    "specs of {} are no job together: give one spec, or a chunk_tile and then a chunk_scan",
                    kernels.join(", ")
                ))
            }
        }
    }

    /// The specs, in the order of their launches.
    pub fn specs(&self) -> Vec<Spec> {
        match self {
            Job::One(spec) => vec![*spec],
            Job::Split(split) => split.specs().to_vec(),
        }
    }

    /// The spec that says what a problem is: the only one, or the scan's.
    pub fn lead(&self) -> Spec {
        match self {
            Job::One(spec) => *spec,
            Job::Split(split) => Spec::Chunk(ChunkSpec::Scan(split.scan)),
        }
    }

    /// The GPU that the kernels are built for.
    pub fn target(&self) -> Target {
        self.lead().target()
    }

    /// The variants' names, in the order of their launches.
    pub fn name(&self) -> String {
        self.specs().iter().map(Spec::name).collect::<Vec<_>>().join(" + ")
    }

    /// Every broken rule.
    pub fn check(&self) -> Vec<Violation> {
        match self {
            Job::One(spec) => spec.check(),
            Job::Split(split) => split.check(),
        }
    }

    /// See [`Spec::problem`].
    ///
    /// # Errors
    /// Everything that is wrong with the texts and their values.
    pub fn problem<T: AsRef<str>>(&self, assignments: &[T]) -> Result<Problem, InvalidProblem> {
        self.lead().problem(assignments)
    }

    /// See [`Spec::plan`] and [`Split::plan`].
    ///
    /// # Errors
    /// Rules that are broken, a problem out of its limits, a tensor that is too large.
    pub fn plan(&self, problem: &Problem) -> Result<LaunchPlan, PlanError> {
        match self {
            Job::One(spec) => spec.plan(problem),
            Job::Split(split) => split.plan(problem),
        }
    }

    /// What the job as a whole takes and gives: the arguments of its kernels without what one writes for another,
    /// each once.
    pub fn signature(&self) -> Signature {
        match self {
            Job::One(spec) => spec.signature(),
            Job::Split(split) => {
                let [tile, scan] = split.specs().map(|spec| spec.signature().arguments);
                let is_made = |argument: &&Argument| {
                    argument.buffer().is_some_and(|buffer| buffer.access == Access::WriteOnly)
                };
                let of_tile = |name| tile.iter().any(|argument| argument.name == name);
                let inputs = tile.iter().filter(|argument| !is_made(argument));
                let rest = scan.iter().filter(|argument| !of_tile(argument.name));
                Signature { arguments: inputs.chain(rest).cloned().collect() }
            }
        }
    }

    /// The same job over token-major rows, which is how files hold them.
    pub fn with_token_major_rows(&self) -> Job {
        let mut job = *self;
        let commons: [Option<&mut ChunkCommon>; 2] = match &mut job {
            Job::One(Spec::Chunk(spec)) => [Some(spec.common_mut()), None],
            Job::One(_) => [None, None],
            Job::Split(split) => [Some(&mut split.tile.common), Some(&mut split.scan.common)],
        };
        for common in commons.into_iter().flatten() {
            common.layout = TokenLayout::TokenMajor;
        }
        job
    }

    /// The tables of a problem, of prefill jobs.
    pub fn tables(&self, problem: &Problem) -> Option<ChunkTables> {
        match (self.lead(), problem) {
            (Spec::Chunk(spec), Problem::Prefill(problem)) => {
                Some(ChunkTables::of(spec.common(), &problem.lengths))
            }
            _ => None,
        }
    }
}
