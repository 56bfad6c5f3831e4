//! Mutation proof: a kernel whose waits, barriers, cache operations and no-ops are each taken away or weakened, and whose
//! rows of LDS are moved together or apart, one at a time. The emulator must catch every such mutant, by a fault, a
//! finding, other numbers or more bank conflicts, or it must be shown that what was changed did nothing.
//!
//! [`change::mutants`] makes the mutants of any code object; [`prove`] runs them with a closure that knows
//! the launch, and sorts them; what no run told apart, the static rules may. What makes a mutant redundant is
//! measured: the emulator counts what each wait proved complete ([`emulator::Detail::waits`]).

pub mod change;
pub mod spec;

use std::collections::BTreeMap;
use std::fmt;

use codeobj::CodeObject;
use emulator::{Report, Traffic};

pub use spec::prove_spec;

pub use change::{Change, Mutant, MutationError, mutants};

/// What one run of a code object gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// A report a launch, with [`emulator::Options::stats`] on.
    pub reports: Vec<Report>,
    /// Every byte that the launches were to write.
    pub outputs: Vec<u8>,
}

impl Run {
    /// Address of a wait → operations that it proved complete.
    fn waits(&self) -> BTreeMap<u64, u64> {
        let details = self.reports.iter().filter_map(|report| report.stats.detail.as_ref());
        let mut waits = BTreeMap::new();
        for (address, n_proved) in details.flat_map(|detail| &detail.waits) {
            *waits.entry(*address).or_default() += n_proved;
        }
        waits
    }

    /// Clocks of LDS that bank conflicts add, modelled.
    fn conflict_clocks(&self) -> u64 {
        let details = self.reports.iter().filter_map(|report| report.stats.detail.as_ref());
        let of = |traffic: &Traffic| {
            [traffic.lds_reads, traffic.lds_writes, traffic.lds_atomics]
                .iter()
                .map(|lds| lds.conflict_clocks)
                .sum::<u64>()
        };
        details.map(|detail| of(&detail.traffic)).sum()
    }

    fn has_one_wave_a_workgroup(&self) -> bool {
        self.reports.iter().all(|report| report.stats.waves == report.stats.workgroups)
    }
}

/// How a mutant was caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The run stopped.
    Fault,
    /// A check found something, this rule first.
    Finding(emulator::Rule),
    /// Other bytes came out.
    Numbers,
    /// The same bytes came out, and lanes of an access met in banks of LDS more often: clocks more, modelled.
    Conflicts(u64),
    /// The static rules (`emulator::lint`) find more than in the kernel, on a way that no run took.
    Lint,
}

/// Why a mutant does what the kernel does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// In no execution did the wait prove more than the weaker one does.
    NothingOutstanding,
    /// What it proved, later waits of the wave proved before anything depended on it. Their addresses.
    Covered(Vec<u64>),
    /// What it proved stayed outstanding until the wave ended: so many operations, of which nothing used
    /// the registers and no other wave touched the bytes.
    Unused(u64),
    /// A barrier or a cache operation, and no workgroup has a second wave.
    OneWave,
    /// Rows of LDS hold the same at another pitch, with so many clocks of bank conflicts as before or fewer, modelled.
    NoConflict,
    /// A no-op that LLVM puts there without a rule of the hardware; why it does.
    WithoutRule(&'static str),
}

impl fmt::Display for Redundancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Redundancy::NothingOutstanding => f.write_str("nothing outstanding"),
            Redundancy::Covered(waits) => {
                let waits: Vec<String> = waits.iter().map(|wait| format!("{wait:#x}")).collect();
                write!(f, "covered by the wait at {} before any use", waits.join(", "))
            }
            Redundancy::Unused(n) => {
                write!(f, "{n} operations outstanding at the end, which nothing depended on")
            }
            Redundancy::OneWave => f.write_str("one wave a workgroup"),
            Redundancy::NoConflict => f.write_str("rows stay apart, without more bank conflicts"),
            Redundancy::WithoutRule(why) => f.write_str(why),
        }
    }
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The emulator tells it from the kernel.
    Caught(Evidence),
    /// It is no worse than the kernel, for a measured reason.
    Redundant(Redundancy),
    /// Neither.
    Survived,
}

/// All mutants of a kernel, each with its name and verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// In the order of [`mutants`].
    pub verdicts: Vec<(String, Verdict)>,
}

impl Proof {
    /// Mutants that were caught.
    pub fn caught(&self) -> usize {
        self.verdicts.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Caught(_))).count()
    }

    /// Names and reasons of the redundant ones.
    pub fn redundant(&self) -> impl Iterator<Item = (&str, &Redundancy)> {
        self.verdicts.iter().filter_map(|(name, verdict)| match verdict {
            Verdict::Redundant(reason) => Some((name.as_str(), reason)),
            _ => None,
        })
    }

    /// Names of those that nothing explains.
    pub fn survivors(&self) -> impl Iterator<Item = &str> {
        let survived = self.verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Survived);
        survived.map(|(name, _)| name.as_str())
    }
}

/// Runs every mutant. `run` executes a code object as the kernel is meant to be launched, with every check
/// on; an error of it counts as a fault.
///
/// # Errors
/// The object cannot be mutated, or the kernel itself does not run clean.
pub fn prove(
    code_object: &[u8],
    kernel: &str,
    mut run: impl FnMut(&[u8]) -> Result<Run, String>,
) -> Result<Proof, MutationError> {
    let original = run(code_object).map_err(MutationError::Original)?;
    if let Some(finding) = original.reports.iter().find_map(|report| report.findings.first()) {
        return Err(MutationError::Original(finding.to_string()));
    }
    let n_lint = n_lint_findings(code_object);
    let verdicts = mutants(code_object, kernel)?.into_iter().map(|mutant| {
        let verdict = judge((&original, n_lint), &mutant, run(&mutant.code_object));
        (mutant.name, verdict)
    });
    Ok(Proof { verdicts: verdicts.collect() })
}

fn judge(
    (original, n_lint): (&Run, usize),
    mutant: &Mutant,
    outcome: Result<Run, String>,
) -> Verdict {
    let Ok(changed) = outcome else { return Verdict::Caught(Evidence::Fault) };
    if let Some(finding) = changed.reports.iter().find_map(|report| report.findings.first()) {
        return Verdict::Caught(Evidence::Finding(finding.rule));
    }
    if changed.outputs != original.outputs {
        return Verdict::Caught(Evidence::Numbers);
    }
    if n_lint_findings(&mutant.code_object) > n_lint {
        return Verdict::Caught(Evidence::Lint);
    }
    let more_clocks = changed.conflict_clocks().saturating_sub(original.conflict_clocks());
    let redundancy = match mutant.change {
        Change::Pitch { .. } if more_clocks > 0 => {
            return Verdict::Caught(Evidence::Conflicts(more_clocks));
        }
        Change::Pitch { .. } => Some(Redundancy::NoConflict),
        Change::Wait { .. } => Some(compare_waits(original, &changed, mutant.address)),
        Change::Barrier | Change::Cache => {
            original.has_one_wave_a_workgroup().then_some(Redundancy::OneWave)
        }
        // The rules of wait states ask for it, or nothing does.
        Change::Dependency { .. } => None,
        Change::Nop { .. } => no_ops_without_rule(mutant).map(Redundancy::WithoutRule),
    };
    redundancy.map_or(Verdict::Survived, Verdict::Redundant)
}

/// Findings of the static rules in a code object, none in one that cannot be read.
fn n_lint_findings(code_object: &[u8]) -> usize {
    let kernels = CodeObject::parse(code_object).map(|object| emulator::lint::lint(&object));
    kernels.iter().flatten().map(|kernel| kernel.findings.len()).sum()
}

/// No-ops of LLVM 22 that the tables of wait states (`isa::wait_states`) do not ask for, by what stands around
/// them. They count as redundant only where the wait-state check found nothing either.
fn no_ops_without_rule(mutant: &Mutant) -> Option<&'static str> {
    let [before, after] = mutant.neighbours.each_ref().map(String::as_str);
    let is_load = |mnemonic: &str| mnemonic.contains("_load_");
    let has_op_sel_hi = before.starts_with("v_pk_") || before.starts_with("v_fma_mix_");
    if has_op_sel_hi && after.starts_with("v_") {
        return Some(
            "LLVM takes OP_SEL_HI of a packed or mixed operation for the OP_SEL bit of a 16-bit destination",
        );
    }
    if mutant.splits_spill {
        return Some(
            "LLVM takes the first lane of a spill for a write of all its SGPRs, which the next lane reads",
        );
    }
    if mutant.aligns {
        return Some("puts the first instruction of a loop at the start of a line of 64 bytes");
    }
    if is_load(before) && is_load(after) {
        return Some(
            "ends a clause whose loads write each other's addresses, for replay under XNACK",
        );
    }
    if ["v_rcp_f32", "v_cvt_f16_f32", "v_cvt_pk_f16_f32"].iter().any(|op| after.starts_with(op)) {
        return Some("LLVM does not look into the empty assembly that fences the operand");
    }
    if after == "s_sendmsg" {
        return Some(
            "LLVM's rule for gfx11 before DEALLOC_VGPRS; what it guards is undocumented and not modelled",
        );
    }
    None
}

/// Where the mutant proved what the kernel proved at `address`.
fn compare_waits(original: &Run, changed: &Run, address: u64) -> Redundancy {
    let (before, after) = (original.waits(), changed.waits());
    let proved = |waits: &BTreeMap<u64, u64>, at: u64| waits.get(&at).copied().unwrap_or(0);
    if proved(&before, address) == proved(&after, address) {
        return Redundancy::NothingOutstanding;
    }
    let total = |waits: &BTreeMap<u64, u64>| waits.values().sum::<u64>();
    match total(&before).saturating_sub(total(&after)) {
        0 => {
            let gains = after.iter().filter(|(at, n)| **n > proved(&before, **at));
            Redundancy::Covered(gains.map(|(at, _)| *at).collect())
        }
        left => Redundancy::Unused(left),
    }
}
