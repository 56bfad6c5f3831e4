//! Undefined values where they decide something: an address, a branch, EXEC, a stored value.
//!
//! Undefined bits may travel freely through registers and scratch (compilers spill and select them);
//! they are reported where they have an effect that hardware makes visible, with the register and the
//! instruction that made it undefined (`origins`). Tracking is exact to the bit in registers and to the
//! byte in memory (rules: `taint`).

use crate::exec::Exec;
use crate::finding::Rule;
use crate::operand::Source;
use crate::prepare::Prepared;

const REMEDY: &str = "initialise the register or memory it comes from, or mask the lane";

/// The slots of a source's registers.
pub(crate) fn slots_of(inst: &Prepared, k: usize) -> Vec<u16> {
    let first = match inst.src[k] {
        Source::Vector(register) => isa::slots::VGPRS + register,
        Source::Scalar(register) => register.into(),
        _ => return Vec::new(),
    };
    (first..first + u16::from(inst.bits[k].div_ceil(32))).collect()
}

fn report(
    exec: &mut Exec<'_>,
    inst: &Prepared,
    rule: Rule,
    lane: Option<u32>,
    what: String,
    among: &[u16],
) {
    let (origin, producer) = exec.explain_undefined(inst, among);
    exec.report(inst, rule, producer, lane, || (format!("{what}{origin}"), REMEDY.to_owned()));
}

/// An address has undefined bits in some lane; `among` are the registers that may have them.
#[cold]
pub(crate) fn address(exec: &mut Exec<'_>, inst: &Prepared, lane: Option<u32>, among: &[u16]) {
    let what = "the address has undefined bits".to_owned();
    report(exec, inst, Rule::UndefinedAddress, lane, what, among);
}

/// The number of a register depends on undefined bits.
#[cold]
pub(crate) fn index(exec: &mut Exec<'_>, inst: &Prepared, register: u16) {
    let what = "the register that an index selects depends on undefined bits".to_owned();
    report(exec, inst, Rule::UndefinedAddress, None, what, &[register]);
}

/// A branch condition or target is undefined.
#[cold]
pub(crate) fn branch(exec: &mut Exec<'_>, inst: &Prepared, condition: &str, among: &[u16]) {
    let what = format!("the branch depends on undefined bits of {condition}");
    report(exec, inst, Rule::UndefinedBranch, None, what, among);
}

/// EXEC receives undefined bits.
#[cold]
pub(crate) fn exec_mask(exec: &mut Exec<'_>, inst: &Prepared, undefined: u64) {
    let lane = undefined.trailing_zeros();
    let what = format!("EXEC is written with undefined bits {undefined:#x}");
    report(exec, inst, Rule::UndefinedExec, Some(lane), what, &[]);
}

/// A stored value has undefined bits in some lane.
#[cold]
pub(crate) fn store(exec: &mut Exec<'_>, inst: &Prepared, lane: u32, among: &[u16]) {
    let what = "the stored value has undefined bits".to_owned();
    report(exec, inst, Rule::UndefinedStore, Some(lane), what, among);
}
