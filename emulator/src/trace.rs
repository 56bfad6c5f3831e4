//! Watching instructions as they execute.

use std::fmt;

use crate::finding::{Place, Site};

/// One executed instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who executes it.
    pub place: Place,
    /// The instruction.
    pub site: Site,
    /// Active lanes, one bit each.
    pub exec: u64,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} exec {:#x} {}", self.place, self.exec, self.site)
    }
}

/// Receives every instruction just before it executes, in the order of execution.
pub trait Tracer {
    /// An instruction is about to execute.
    fn step(&mut self, step: Step);
}

impl<F: FnMut(Step)> Tracer for F {
    fn step(&mut self, step: Step) {
        self(step);
    }
}
