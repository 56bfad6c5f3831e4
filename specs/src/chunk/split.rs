//! A tile and a scan kernel as one prefill: two launches, the stage tensors between them.

use super::{ChunkSpec, KdaChunkScanSpec, KdaTileSpec};
use crate::plan::{LaunchPlan, PlanError};
use crate::problem::Problem;
use crate::rule::Violation;
use crate::rules;
use crate::spec::Spec;

/// A tile and a scan kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Makes the stage tensors.
    pub tile: KdaTileSpec,
    /// Carries the state through them.
    pub scan: KdaChunkScanSpec,
}

impl Split {
    /// Every broken rule of the two and of their being a pair.
    pub fn check(&self) -> Vec<Violation> {
        let pair = rules::CHUNK_SPLIT.iter().flat_map(|rule| rule.check(self));
        self.tile.check().into_iter().chain(self.scan.check()).chain(pair).collect()
    }

    /// The two specs, in the order of their launches.
    pub fn specs(&self) -> [Spec; 2] {
        [ChunkSpec::Tile(self.tile), ChunkSpec::Scan(self.scan)].map(Spec::Chunk)
    }

    /// The tensors and launches of a problem; stage tensors are the workspace. Without any token there is only the
    /// launch that passes states on.
    ///
    /// # Errors
    /// A pair that breaks rules, a problem out of its limits, a tensor that is too large.
    pub fn plan(&self, problem: &Problem) -> Result<LaunchPlan, PlanError> {
        let violations = self.check();
        if !violations.is_empty() {
            return Err(PlanError::BreaksRules(violations));
        }
        let [tile, scan] = self.specs();
        scan.check_problem(problem)?;
        Ok(tile.plan_checked(problem)?.then(scan.plan_checked(problem)?))
    }
}
