//! What a dispatch did: counts, findings, fidelity.

use std::collections::{BTreeMap, BTreeSet};

use isa::{Op, Target};
use serde::Serialize;

use crate::fidelity::{self, Approximation};
use crate::finding::{Finding, Findings};
use crate::machine::Options;
use crate::numerics::Numerics;
use crate::prepare::Prepared;
use crate::stats::{self, ByClass, Detail, Stats, WaveLog};
use crate::traffic::Collector;

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

    /// Its name in listings, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Salu => "salu",
            Class::Valu => "valu",
            Class::Transcendental => "transcendental",
            Class::Matrix => "matrix",
            Class::Smem => "smem",
            Class::Vmem => "vmem",
            Class::Scratch => "scratch",
            Class::Lds => "lds",
            Class::Branch => "branch",
            Class::Barrier => "barrier",
            Class::Wait => "wait",
            Class::Other => "other",
        }
    }
}

/// The outcome of a dispatch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether [`Options::checks`] were on. Without them an empty list of findings means nothing.
    pub checks: bool,
    /// What is wrong with the kernel, in the order of first appearance. The result is trustworthy only
    /// when this is empty and [`Report::checks`] is set.
    pub findings: Vec<Finding>,
    /// Findings beyond those listed, when there were very many.
    pub findings_dropped: u64,
    /// Instructions executed, each once a wave.
    pub wave_instructions: u64,
    /// Counts by class.
    pub stats: Stats,
    /// Executed instructions whose results are not bit-exact, with their bounds; all others are exact.
    pub approximations: Vec<Approximation>,
    /// The mode that matrix and dot-product instructions ran in.
    pub numerics: Numerics,
}

/// Counters that the execution loop increments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    by_class: ByClass,
    /// Only where asked for.
    pub waves_apart: Option<Box<WaveLog>>,
    /// Only where asked for.
    pub traffic: Option<Box<Collector>>,
    /// Only where asked for: by address of a wait, operations that it proved complete.
    waits: Option<BTreeMap<u64, u64>>,
    /// Each once; they are few.
    approximate: Vec<Op>,
    workgroups: u64,
    waves: u64,
}

impl Counts {
    pub(crate) fn new(options: &Options, target: Target) -> Counts {
        Counts {
            waves_apart: options.stats.then(Box::default),
            traffic: options.stats.then(|| Box::new(Collector::new(target))),
            waits: options.stats.then(BTreeMap::default),
            ..Counts::default()
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, class: Class, count: u64) {
        self.by_class[class as usize] += count;
    }

    /// An instruction is about to execute.
    #[inline]
    pub(crate) fn add_step(&mut self, inst: &Prepared) {
        self.add(inst.class, 1);
        if inst.is_approximate {
            inst.approximate().for_each(|op| self.add_approximate(op));
        }
    }

    /// Remembers an approximate operation.
    pub(crate) fn add_approximate(&mut self, op: Op) {
        if !self.approximate.contains(&op) {
            self.approximate.push(op);
        }
    }

    pub(crate) fn start_workgroup(&mut self, id: [u32; 3], n_waves: u32) {
        self.workgroups += 1;
        self.waves += u64::from(n_waves);
        if let Some(log) = &mut self.waves_apart {
            log.start_workgroup(id, n_waves);
        }
    }

    pub(crate) fn end_workgroup(&mut self, id: [u32; 3]) {
        if let Some(log) = &mut self.waves_apart {
            log.end_workgroup(id);
        }
    }

    /// A wait was executed.
    pub(crate) fn add_wait(&mut self, address: u64, n_proved: usize) {
        if let Some(waits) = &mut self.waits {
            *waits.entry(address).or_default() += n_proved as u64;
        }
    }

    /// A wave gets its turn.
    pub(crate) fn start_slice(&mut self) {
        if let Some(log) = &mut self.waves_apart {
            log.start_slice(&self.by_class);
        }
    }

    /// The turn of a wave is over.
    pub(crate) fn end_slice(&mut self, workgroup: [u32; 3], wave: u32) {
        if let Some(log) = &mut self.waves_apart {
            log.end_slice(workgroup, wave, &self.by_class);
        }
    }

    /// The report of what was counted and found.
    pub(crate) fn into_report(
        self,
        findings: Findings,
        target: Target,
        options: &Options,
    ) -> Report {
        let numerics = options.numerics;
        let (findings, findings_dropped) = findings.into_parts();
        let traffic = self.traffic.map(|collector| collector.traffic());
        let detail = self
            .waves_apart
            .zip(traffic)
            .zip(self.waits)
            .map(|((log, traffic), waits)| Detail { waves: log.into_stats(), traffic, waits });
        let approximations: BTreeSet<Approximation> = self
            .approximate
            .into_iter()
            .filter_map(|op| fidelity::approximation(op, target, numerics))
            .collect();
        Report {
            checks: options.checks,
            findings,
            findings_dropped,
            wave_instructions: self.by_class.iter().sum(),
            stats: Stats {
                workgroups: self.workgroups,
                waves: self.waves,
                instructions: stats::by_class(&self.by_class),
                detail,
            },
            approximations: approximations.into_iter().collect(),
            numerics,
        }
    }
}
