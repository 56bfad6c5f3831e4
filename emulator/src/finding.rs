//! Findings: what a kernel did that real hardware may answer with anything.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Distinct findings that are kept; more are only counted.
const LIMIT: usize = 1000;

/// The rule that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A register was read or overwritten while a load into it was pending.
    UseBeforeWait,
    /// Dependent instructions issued closer to each other than the target allows.
    MissingWaitStates,
    /// An address has undefined bits.
    UndefinedAddress,
    /// A branch depends on undefined bits.
    UndefinedBranch,
    /// EXEC was written with undefined bits.
    UndefinedExec,
    /// Undefined bits were stored to global memory or LDS.
    UndefinedStore,
    /// An address is not a multiple of what the access demands.
    Misaligned,
    /// A matrix operation ran with lanes switched off in EXEC.
    PartialExec,
    /// The two copies of A or B of a WMMA differ.
    LaneDuplication,
    /// Waves of a workgroup access a byte of LDS, one of them writing it, without a barrier between them.
    LdsRace,
    /// Waves access a byte of global memory, one of them writing it, with nothing that orders them.
    GlobalRace,
    /// A barrier was to order accesses of two waves, but the earlier one had not been waited for.
    UnfinishedAtBarrier,
    /// Global data of another wave was read without invalidating the caches that it may be old in.
    StaleCache,
    /// An atomic releases an access to global memory that its wave had not waited for.
    UnfinishedRelease,
    /// An atomic releases a store that may still be in a cache which other workgroups do not share.
    NotWrittenBack,
    /// The atomic that orders accesses of two waves had not returned when the later wave relied on it.
    UnfinishedAcquire,
    /// Conflicting LDS accesses of one wave without a wait between them (conservative mode only).
    LdsOrder,
    /// Waves of a workgroup executed unequal numbers of barriers.
    BarrierDivergence,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::UseBeforeWait => "use before wait",
            Rule::MissingWaitStates => "missing wait states",
            Rule::UndefinedAddress => "undefined address",
            Rule::UndefinedBranch => "undefined branch",
            Rule::UndefinedExec => "undefined EXEC",
            Rule::UndefinedStore => "undefined store",
            Rule::Misaligned => "misaligned access",
            Rule::PartialExec => "partial EXEC",
            Rule::LaneDuplication => "lane duplication",
            Rule::LdsRace => "LDS race",
            Rule::GlobalRace => "global race",
            Rule::UnfinishedAtBarrier => "unfinished at barrier",
            Rule::StaleCache => "stale cache",
            Rule::UnfinishedRelease => "unfinished release",
            Rule::NotWrittenBack => "not written back",
            Rule::UnfinishedAcquire => "unfinished acquire",
            Rule::LdsOrder => "LDS order",
            Rule::BarrierDivergence => "barrier divergence",
        })
    }
}

/// An instruction of a code object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Address in the code object's image, as disassemblers print it.
    pub address: u64,
    /// The instruction, disassembled.
    pub instruction: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: {}", self.address, self.instruction)
    }
}

/// Where in a launch something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Workgroup id in x, y, z.
    pub workgroup: [u32; 3],
    /// Number of the wave in its workgroup.
    pub wave: u32,
    /// Lane of the wave, where one can be named.
    pub lane: Option<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "workgroup ({x}, {y}, {z}), wave {}", self.wave)?;
        match self.lane {
            Some(lane) => write!(f, ", lane {lane}"),
            None => Ok(()),
        }
    }
}

/// One thing that is wrong with a kernel. The run went on, but its result is not to be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was broken.
    pub rule: Rule,
    /// The kernel.
    pub kernel: String,
    /// The instruction that broke it.
    pub site: Site,
    /// The instruction that it conflicts with, where there is one.
    pub producer: Option<Site>,
    /// Where it happened first.
    pub place: Place,
    /// What happened, in a sentence.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
    /// How often it happened, this rule at these sites.
    pub times: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} ({} ×)", self.rule, self.what, self.times)?;
        writeln!(f, "  at {} in '{}', {}", self.site, self.kernel, self.place)?;
        if let Some(producer) = &self.producer {
            writeln!(f, "  with {producer}")?;
        }
        write!(f, "  remedy: {}", self.remedy)
    }
}

/// Findings of a run, in the order of their first appearance, each pair of sites once a rule.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    /// From rule, site and producer to the place in the list.
    known: BTreeMap<(Rule, u64, Option<u64>), usize>,
    n_dropped: u64,
}

impl Findings {
    /// Counts a finding; `describe` is only asked for the first one of its kind.
    pub(crate) fn add(
        &mut self,
        rule: Rule,
        site: u64,
        producer: Option<u64>,
        describe: impl FnOnce() -> Finding,
    ) {
        if let Some(at) = self.known.get(&(rule, site, producer)) {
            self.list[*at].times += 1;
        } else if self.list.len() < LIMIT {
            self.known.insert((rule, site, producer), self.list.len());
            self.list.push(describe());
        } else {
            self.n_dropped += 1;
        }
    }

    /// Everything found, and how many further findings were only counted.
    pub(crate) fn into_parts(self) -> (Vec<Finding>, u64) {
        (self.list, self.n_dropped)
    }
}
