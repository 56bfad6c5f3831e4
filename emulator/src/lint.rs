//! The rules about waits and wait states on the text of a kernel, without running it.
//!
//! [`lint`] follows every way through the code of each kernel from its entry. Where ways meet it keeps what
//! is worst of each: every operation that may be outstanding on one of them, and the fewest instructions
//! since. The rules are those of execution (`checks::waits`, `checks::wait_states`), in the same words.
//!
//! | rule | on the text |
//! |---|---|
//! | missing wait states | as executed |
//! | use before wait | as executed, except that a load with no lane active counts as one |
//! | unfinished at barrier | an LDS store or atomic that may be outstanding at a barrier |
//!
//! A way that cannot be followed is named ([`Gap`]): a jump through a register, a call (the code after it is
//! followed as if nothing came before), bytes that are no instruction, a branch out of the code.
//!
//! What it misses: which lanes run, which ways can happen together, everything about addresses and values.

mod flow;

use codeobj::{CodeObject, Kernel};
use serde::Serialize;

use crate::finding::{Rule, Site};
use crate::program::Program;
use flow::Flow;

/// Bytes that a kernel with preloaded arguments is entered behind (AMDGPUUsage, "Preloaded Kernel
/// Arguments"); firmware that does not preload enters at the start.
const PRELOAD_PROLOGUE_BYTES: u64 = 256;

/// One thing that is wrong with the text of a kernel, on some way through it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// What was broken.
    pub rule: Rule,
    /// The instruction that breaks it.
    pub site: Site,
    /// The instruction that it conflicts with.
    pub producer: Site,
    /// What happens, in a sentence.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

/// Why a way through the code was not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// The bytes are no instruction of the target, or a form that no register file has.
    NoInstruction,
    /// The way leads out of the executable code.
    LeavesCode,
    /// A jump through a register.
    IndirectJump,
    /// A call through a register: the callee is not followed.
    Call,
    /// The kernel runs with a wave width whose rules are not known here.
    WaveWidth,
    /// The kernel has too many ways for the limit on work.
    TooLarge,
}

/// A place from which the code was not analysed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Why.
    pub kind: GapKind,
    /// The instruction, or the place where one was expected.
    pub site: Site,
    /// Why, in a sentence.
    pub what: String,
}

/// What was found in one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelLint {
    /// The kernel.
    pub kernel: String,
    /// Instructions that some way reaches.
    pub instructions: usize,
    /// In the order of addresses.
    pub findings: Vec<LintFinding>,
    /// Places from which nothing was analysed, in the order of addresses.
    pub not_analysed: Vec<Gap>,
}

impl KernelLint {
    /// Whether no rule is broken and all bytes that were reached are instructions. Jumps and calls
    /// through registers are no fault of the code; what they lead to is not known.
    pub fn passed(&self) -> bool {
        let is_harmless = |gap: &Gap| matches!(gap.kind, GapKind::IndirectJump | GapKind::Call);
        self.findings.is_empty() && self.not_analysed.iter().all(is_harmless)
    }
}

/// Applies the static rules to every kernel of a code object.
pub fn lint(object: &CodeObject) -> Vec<KernelLint> {
    let executable = object.segments.iter().filter(|segment| segment.flags.execute);
    let code = executable.map(|segment| (segment.address, segment.bytes.clone()));
    let program = Program::new(object.target, 0, code);
    object.kernels.iter().map(|kernel| lint_kernel(&program, kernel)).collect()
}

fn lint_kernel(program: &Program, kernel: &Kernel) -> KernelLint {
    let mut entries = vec![kernel.entry_address];
    if kernel.descriptor.kernarg_preload.length_dwords != 0 {
        entries.push(kernel.entry_address.saturating_add(PRELOAD_PROLOGUE_BYTES));
    }
    let flow = Flow::discover(program, &entries);
    let (instructions, mut gaps) = (flow.instructions(), flow.gaps());
    let (used, known) = (kernel.descriptor.wave_width, program.target().wave_width());
    if used != known {
        gaps.push(Gap {
            kind: GapKind::WaveWidth,
            site: program.site(kernel.entry_address),
            what: format!(
                "waves of {used} lanes; only the rules of {known} lanes are known, which this was analysed by"
            ),
        });
    }
    let findings = match flow.settle(&entries) {
        Some(settled) => settled.findings(),
        None => {
            gaps.push(Gap {
                kind: GapKind::TooLarge,
                site: program.site(kernel.entry_address),
                what: "the kernel has too many ways; nothing of it was analysed".to_owned(),
            });
            Vec::new()
        }
    };
    KernelLint { kernel: kernel.name.clone(), instructions, findings, not_analysed: gaps }
}
