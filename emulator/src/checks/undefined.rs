//! Undefined values where they decide something: an address, a branch, EXEC, a stored value.
//!
//! Undefined bits may travel freely through registers and scratch (compilers spill and select them);
//! they are reported where they have an effect that hardware makes visible. Tracking is exact to the
//! bit in registers and to the byte in memory (rules: `taint`).

use crate::exec::Exec;
use crate::finding::Rule;
use crate::prepare::Prepared;

const REMEDY: &str = "initialise the register or memory it comes from, or mask the lane";

/// An address has undefined bits in some lane.
#[cold]
pub(crate) fn address(exec: &mut Exec<'_>, inst: &Prepared, lane: Option<u32>) {
    exec.report(inst, Rule::UndefinedAddress, None, lane, || {
        ("the address has undefined bits".to_owned(), REMEDY.to_owned())
    });
}

/// A branch condition or target is undefined.
#[cold]
pub(crate) fn branch(exec: &mut Exec<'_>, inst: &Prepared, condition: &str) {
    exec.report(inst, Rule::UndefinedBranch, None, None, || {
        (format!("the branch depends on undefined bits of {condition}"), REMEDY.to_owned())
    });
}

/// EXEC receives undefined bits.
#[cold]
pub(crate) fn exec_mask(exec: &mut Exec<'_>, inst: &Prepared, undefined: u64) {
    let lane = undefined.trailing_zeros();
    exec.report(inst, Rule::UndefinedExec, None, Some(lane), || {
        (format!("EXEC is written with undefined bits {undefined:#x}"), REMEDY.to_owned())
    });
}

/// A stored value has undefined bits in some lane.
#[cold]
pub(crate) fn store(exec: &mut Exec<'_>, inst: &Prepared, lane: u32) {
    exec.report(inst, Rule::UndefinedStore, None, Some(lane), || {
        ("the stored value has undefined bits".to_owned(), REMEDY.to_owned())
    });
}
