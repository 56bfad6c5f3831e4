//! What a dispatch did: counts, findings, fidelity.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::fidelity::Approximation;
use crate::finding::Finding;

/// Kinds of instructions that counts tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Scalar arithmetic.
    Salu,
    /// Vector arithmetic, transcendental and matrix instructions apart; a dual-issue pair counts once.
    Valu,
    /// Transcendental unit.
    Transcendental,
    /// Matrix unit.
    Matrix,
    /// Scalar loads.
    Smem,
    /// Global, flat and buffer memory.
    Vmem,
    /// Scratch memory.
    Scratch,
    /// LDS.
    Lds,
    /// Branches, taken or not, calls and ends.
    Branch,
    /// Workgroup barriers.
    Barrier,
    /// Waits on counters.
    Wait,
    /// Everything else: no-ops, hints, messages, state.
    Other,
}

impl Class {
    /// Every class, in the order of listings.
    pub const ALL: [Class; 12] = [
        Class::Salu,
        Class::Valu,
        Class::Transcendental,
        Class::Matrix,
        Class::Smem,
        Class::Vmem,
        Class::Scratch,
        Class::Lds,
        Class::Branch,
        Class::Barrier,
        Class::Wait,
        Class::Other,
    ];
}

/// Counts of a dispatch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Workgroups that ran.
    pub workgroups: u64,
    /// Waves that ran.
    pub waves: u64,
    /// Wave instructions by class; classes that did not occur are absent.
    pub instructions: BTreeMap<Class, u64>,
}

/// The outcome of a dispatch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What is wrong with the kernel, in the order of first appearance. The result is trustworthy only
    /// when this is empty.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed, when there were very many.
    pub findings_dropped: u64,
    /// Instructions executed, each once a wave.
    pub wave_instructions: u64,
    /// Counts by class.
    pub stats: Stats,
    /// Executed instructions whose results are not bit-exact, with their bounds; all others are exact.
    pub approximations: Vec<Approximation>,
}

/// Counters that the execution loop increments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    by_class: [u64; Class::ALL.len()],
}

impl Counts {
    #[inline]
    pub(crate) fn add(&mut self, class: Class) {
        self.by_class[class as usize] += 1;
    }

    pub(crate) fn total(&self) -> u64 {
        self.by_class.iter().sum()
    }

    pub(crate) fn by_class(&self) -> BTreeMap<Class, u64> {
        let counted = Class::ALL.into_iter().zip(self.by_class);
        counted.filter(|(_, count)| *count != 0).collect()
    }
}
