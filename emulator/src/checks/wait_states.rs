//! Wait states that software leaves between dependent instructions, on the executed sequence of a wave.
//!
//! The rows and what they ask are `isa::wait_states`. Loops need no care here: what counts is what was
//! executed between the two instructions.

use std::cmp::Reverse;

use isa::wait_states::{
    Consumer, DRAINING_TRANS, DRAINING_VALU, Earlier, History, Later, MatrixUse, Missing, Producer,
    Remedy,
};
use isa::{Target, slots};

use crate::exec::Exec;
use crate::finding::Rule;
use crate::prepare::Prepared;

/// Reports what the instruction comes too early for, and remembers it.
#[inline]
pub(crate) fn check(exec: &mut Exec<'_>, inst: &Prepared) {
    if !exec.wave.history.is_empty() && exec.wave.history.missing(&inst.profile).next().is_some() {
        report(exec, inst);
    }
    exec.wave.history.issue(inst.pc, &inst.profile);
}

/// As [`check`], of an instruction that is not remembered because what its block leaves is known.
pub(crate) fn check_passing(exec: &mut Exec<'_>, inst: &Prepared) {
    if exec.wave.history.missing(&inst.profile).next().is_some() {
        report(exec, inst);
    }
    exec.wave.history.pass(&inst.profile);
}

/// What a sequence of instructions leaves for later ones, if none of them comes too early for another one and all
/// tell their registers beforehand.
pub(crate) fn left_by(steps: &[Prepared], target: Target) -> Option<History> {
    let mut history = History::new(target);
    for step in steps {
        if step.finds_registers || history.missing(&step.profile).next().is_some() {
            return None;
        }
        history.issue(step.pc, &step.profile);
    }
    Some(history)
}

/// As [`check`], for the instruction that another one, issued already, turns out to be.
pub(crate) fn check_issued(exec: &mut Exec<'_>, inst: &Prepared) {
    if exec.wave.history.missing(&inst.profile).next().is_some() {
        report(exec, inst);
    }
    exec.wave.history.remember(inst.pc, &inst.profile);
}

/// What an instruction comes too early for: of each earlier instruction, the row that asks most.
pub(crate) fn missing(history: &History, inst: &Prepared) -> Vec<Missing> {
    let mut list: Vec<Missing> = history.missing(&inst.profile).collect();
    list.sort_by_key(|missing| (missing.site, Reverse(missing.needed)));
    list.dedup_by_key(|missing| missing.site);
    list
}

#[cold]
fn report(exec: &mut Exec<'_>, inst: &Prepared) {
    for missing in missing(&exec.wave.history, inst) {
        exec.report(inst, Rule::MissingWaitStates, Some(missing.site), None, || describe(&missing));
    }
}

/// What is wrong with a pair of instructions, and the remedy.
pub(crate) fn describe(missing: &Missing) -> (String, String) {
    let register = slots::name(missing.register);
    let (later, earlier) = (later(missing.later), earlier(missing.earlier));
    let (needed, remedy) = match missing.needed {
        Remedy::States(states) => {
            let got = missing.passed.states;
            let nop = states.saturating_sub(got).saturating_sub(1);
            (
                format!("{} after {earlier}; {states} are needed", count(got, "wait state")),
                format!("s_nop {nop} between the two, or as many instructions more"),
            )
        }
        Remedy::ValuBetween => (
            format!("right after {earlier}; a vector instruction has to lie between"),
            "v_nop, or a vector instruction that does not depend on them, between the two"
                .to_owned(),
        ),
        Remedy::ValuButNopBetween => (
            format!(
                "right after {earlier}; a vector instruction other than v_nop has to lie between"
            ),
            "v_mov_b32 of a register to itself, or another vector instruction, between the two"
                .to_owned(),
        ),
        Remedy::WaitDepctr(imm) => (
            format!(
                "{} after {earlier}, whose result may not be there",
                count(missing.passed.valu, "vector instruction")
            ),
            format!(
                "s_waitcnt_depctr {imm:#06x} (VA_VDST 0) between the two, or {DRAINING_VALU} vector \
                 instructions, or {DRAINING_TRANS} transcendentals"
            ),
        ),
    };
    (format!("{register} is {later} {needed}"), remedy)
}

fn count(n: u32, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn earlier(earlier: Earlier) -> &'static str {
    match earlier {
        Earlier::Result(_) => "a matrix operation that writes it",
        Earlier::Addend(_) => "a matrix operation that reads it as C",
        Earlier::Row(producer) => match producer {
            Producer::ValuVgpr | Producer::ValuSgpr => "a vector instruction that writes it",
            Producer::Trans => "a transcendental that writes it",
            Producer::ValuPartialVgpr => "a vector instruction that writes part of it",
            Producer::AccvgprWrite => "v_accvgpr_write_b32",
            Producer::Dot => "a dot product that writes it",
            Producer::DivScaleVcc => "v_div_scale",
            Producer::ValuExec => "a vector compare that writes it",
            Producer::SaluExec | Producer::SaluM0 => "a scalar instruction that writes it",
            Producer::Setreg => "s_setreg",
            Producer::WideStore | Producer::NarrowStore => "a store of it",
            Producer::Wmma => "a matrix operation that writes it",
        },
    }
}

fn later(later: Later) -> &'static str {
    match later {
        Later::Matrix(MatrixUse::ReadResult) => "read",
        Later::Matrix(MatrixUse::StoreResult) => "read by a memory instruction",
        Later::Matrix(MatrixUse::AccumulateSame | MatrixUse::AccumulateOverlap(_)) => "read as C",
        Later::Matrix(_) => "overwritten",
        Later::Row(consumer) => match consumer {
            Consumer::ValuRead | Consumer::TransRead | Consumer::DotAddend => "read",
            Consumer::MatrixFactor | Consumer::WmmaFactor => "read as A or B",
            Consumer::MatrixAddend | Consumer::WmmaAddend => "read as C",
            Consumer::ReadLane => "read across lanes",
            Consumer::Dpp => "read by a DPP instruction",
            Consumer::PermlaneSwap => "swapped",
            Consumer::VmemAddress => "read as an address",
            Consumer::LaneSelect => "read as a lane select",
            Consumer::LaneExec
            | Consumer::SwapExec
            | Consumer::PermlaneExec
            | Consumer::MatrixExec
            | Consumer::VmemExec => "in force",
            Consumer::ValuConstant => "read as a scalar",
            Consumer::DivFmas => "read by v_div_fmas",
            Consumer::ValuOverwrite | Consumer::MatrixOverwrite | Consumer::MemoryOverwrite => {
                "overwritten"
            }
            Consumer::MemoryRead => "read by a memory instruction",
            Consumer::Getreg => "read by s_getreg",
            Consumer::Setreg => "written again",
            Consumer::LoadToLds => "read by a load to LDS",
            Consumer::Sendmsg => "read by s_sendmsg",
            Consumer::MoveRelative => "read by a move of the register that it names",
        },
    }
}
