//! Where lanes of a wave, and waves of a workgroup, are together.
//!
//! A condition is *divergent* for a barrier when it depends on the wave or lane: on wave, thread or lane ids, on lane
//! exchanges or intrinsics, through operands, addresses, conditions and loop bounds. Memory that waves change is
//! not followed.

use crate::dataflow::{Role, dependents};
use crate::ir::{Block, Kernel, Op, Special, Stmt, Uniformity, Value};

use super::{Rule, Verifier, named_blocks};

/// What surrounds a statement.
#[derive(Clone, Copy)]
struct Around {
    /// A condition that varies inside a wave.
    varying: bool,
    /// A condition or trip count that may differ between waves.
    divergent: bool,
}

impl<'k> Verifier<'k> {
    pub(super) fn convergence(&mut self) {
        let divergent = divergent_values(self.kernel);
        self.converge(
            "body",
            &self.kernel.body,
            Around { varying: false, divergent: false },
            &divergent,
        );
    }

    fn converge(
        &mut self,
        name: &'static str,
        block: &'k Block,
        around: Around,
        divergent: &[bool],
    ) {
        for (index, stmt) in block.stmts.iter().enumerate() {
            self.trail.enter(name, index, stmt);
            self.convergent(stmt, around);
            let inside = self.inside(&stmt.op, around, divergent);
            for (name, block) in named_blocks(&stmt.op) {
                self.converge(name, block, inside, divergent);
            }
            self.trail.leave();
        }
    }

    fn convergent(&mut self, stmt: &Stmt, around: Around) {
        match stmt.op {
            Op::LaneXor { .. } => self.demand(
                !around.varying,
                Rule::Convergence,
                "a lane exchange under a varying condition",
                "all lanes active",
            ),
            Op::Matrix { .. } => self.demand(
                !around.varying,
                Rule::Convergence,
                "a matrix operation under a varying condition",
                "all lanes active",
            ),
            Op::Barrier => self.demand(
                !around.varying && !around.divergent,
                Rule::Convergence,
                "a barrier under a condition or in a loop that may differ between waves",
                "a place that all waves of the workgroup reach together",
            ),
            _ => {}
        }
    }

    fn inside(&self, op: &Op, around: Around, divergent: &[bool]) -> Around {
        let depends = |value: &Value| divergent[value.0 as usize];
        match op {
            Op::If { cond, .. } => Around {
                varying: around.varying || self.info(*cond).uniformity == Uniformity::Varying,
                divergent: around.divergent || depends(cond),
            },
            Op::For { lower, upper, .. } => {
                Around { divergent: around.divergent || depends(lower) || depends(upper), ..around }
            }
            _ => around,
        }
    }
}

/// For each value whether it may differ between lanes or waves of a workgroup.
fn divergent_values(kernel: &Kernel) -> Vec<bool> {
    dependents(kernel, |op| match op {
        Op::Special(Special::WaveId | Special::ThreadId | Special::LaneId) => Role::Source,
        Op::LaneXor { .. } | Op::Matrix { .. } | Op::Intrinsic { .. } => Role::Source,
        _ => Role::Through,
    })
}
