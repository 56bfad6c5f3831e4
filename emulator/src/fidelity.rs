//! How far the result of an instruction can be trusted.
//!
//! Each instruction's meaning (`sem`) states its fidelity: the bits that hardware documents, bits within
//! a stated bound of the mathematical result, or no meaning at all. [`fidelity`] answers for any
//! operation; a [`Report`](crate::Report) lists the approximate ones that were executed.

use isa::{Op, Target};
use serde::Serialize;

use crate::numerics::Numerics;
use crate::sem::{self, Meaning};

/// How far a result can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// The bits are what the ISA manuals and IEEE 754 define.
    Exact,
    /// Hardware's bits are not documented; the emulator's are within this of hardware's.
    Approximate(Bound),
    /// The emulator refuses it.
    Unsupported,
}

/// How close an approximate result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Correctly rounded here (`v_div_fmas_f64` rounds twice where it scales back to a subnormal); hardware is within
    /// one unit in the last place of the exact result.
    OneUlp,
    /// Within one unit in the last place here; the hardware's binary64 estimates are good to 2²⁹ units, which code
    /// that needs more refines (RDNA3 and CDNA3 ISA manuals, V_RCP_F64, V_RSQ_F64, V_SQRT_F64).
    Estimate,
    /// MODE as it is; the emulator's own clock, and zero for where a wave runs.
    WaveState,
    /// Exactly rounded sum here; hardware rounds partial sums in an undocumented order.
    PartialSums,
    /// One fused multiply-add a product in ascending k here (mode fma-sequential); hardware's order and
    /// intermediate precision are not documented.
    SequentialFma,
    /// The fused dot product of CDNA3 here (mode cdna3-fdpa), compared bitwise with an MI300X by others; that
    /// gfx950 does the same is a hypothesis.
    Cdna3Fdpa,
    /// The two-product adder of RDNA3 here (mode rdna3-candidate), measured by others on gfx1100 and gfx1151;
    /// no document of the vendor confirms it.
    Rdna3Candidate,
    /// Lanes act in ascending order and subnormals are kept here; hardware documents neither.
    AtomicOrder,
    /// The documented value here, NaN quiet and positive or as its operand; hardware documents no bits of
    /// NaN.
    NanPayload,
    /// A count that grows here; hardware counts cycles of a clock.
    Clock,
    /// Close in value here; hardware's absolute error is about 2⁻²⁰ of a full turn's range.
    Trigonometric,
}

/// An approximate instruction that was executed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Approximation {
    /// Mnemonic of the target.
    pub mnemonic: String,
    /// How close its results are.
    pub bound: Bound,
}

/// How far the emulator's result of an operation can be trusted in a mode of numerics.
pub fn fidelity(op: Op, numerics: Numerics) -> Fidelity {
    match sem::meaning(op) {
        Meaning::Exact(_) => Fidelity::Exact,
        Meaning::Approximate(bound, _) => Fidelity::Approximate(in_mode(op, bound, numerics)),
        Meaning::Unsupported(_) => Fidelity::Unsupported,
    }
}

/// The bound of an operation whose arithmetic the mode chooses; every other one keeps its own.
fn in_mode(op: Op, bound: Bound, numerics: Numerics) -> Bound {
    match numerics {
        Numerics::Cdna3Fdpa if sem::has_narrow_factors(op) => Bound::Cdna3Fdpa,
        Numerics::Rdna3Candidate if sem::has_narrow_factors(op) || bound == Bound::PartialSums => {
            Bound::Rdna3Candidate
        }
        _ => bound,
    }
}

/// The entry of a report for an operation, if it is approximate.
pub(crate) fn approximation(op: Op, target: Target, numerics: Numerics) -> Option<Approximation> {
    let Fidelity::Approximate(bound) = fidelity(op, numerics) else { return None };
    let mnemonic = op.row().form(target).map_or("", |form| form.mnemonic).to_owned();
    Some(Approximation { mnemonic, bound })
}
