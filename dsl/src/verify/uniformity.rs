//! Which values may claim to be the same in all lanes of a wave.

use crate::ir::{Op, Special, Stmt, Uniformity, Value};

use super::{Rule, Verifier};

impl Verifier<'_> {
    pub(super) fn uniformity(&mut self, stmt: &Stmt) {
        match &stmt.op {
            Op::ReadFirstLane(_) => self.check_uniform(stmt.results[0]),
            Op::LaneXor { .. } | Op::Matrix { .. } | Op::Intrinsic { .. } => {
                self.check_varying(stmt.results[0])
            }
            Op::Special(Special::ThreadId | Special::LaneId) => self.check_varying(stmt.results[0]),
            Op::For { carried, inits, body, .. } => {
                for position in 0..carried.len() {
                    self.check_sources(
                        carried[position],
                        &[inits[position], body.yields[position]],
                    );
                    self.check_sources(stmt.results[position], &[carried[position]]);
                }
            }
            Op::If { cond, then, otherwise } => {
                for (position, result) in stmt.results.iter().enumerate() {
                    self.check_sources(
                        *result,
                        &[*cond, then.yields[position], otherwise.yields[position]],
                    );
                }
            }
            op => {
                let sources = op.operands();
                stmt.results.iter().for_each(|result| self.check_sources(*result, &sources));
            }
        }
    }

    fn check_uniform(&mut self, value: Value) {
        let got = self.info(value).uniformity;
        self.demand(
            got == Uniformity::Uniform,
            Rule::Uniformity,
            format_args!("%{} {got:?}", value.0),
            "Uniform",
        );
    }

    fn check_varying(&mut self, value: Value) {
        let got = self.info(value).uniformity;
        self.demand(
            got == Uniformity::Varying,
            Rule::Uniformity,
            format_args!("%{} {got:?}", value.0),
            "Varying",
        );
    }

    /// A uniform value comes only from uniform ones.
    fn check_sources(&mut self, value: Value, sources: &[Value]) {
        if self.info(value).uniformity == Uniformity::Varying {
            return;
        }
        if let Some(source) =
            sources.iter().find(|source| self.info(**source).uniformity == Uniformity::Varying)
        {
            self.refuse(
                Rule::Uniformity,
                format!("%{} Uniform, which depends on %{}", value.0, source.0),
                "Varying",
            );
        }
    }
}
