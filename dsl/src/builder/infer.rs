//! Uniformity, inferred once the kernel is whole: everything is uniform that does not depend on the lane.

use crate::dataflow::{Role, dependents};
use crate::ir::{Kernel, Op, Special, Uniformity};

/// Marks every value of the kernel.
pub(super) fn uniformity(kernel: &mut Kernel) {
    let varying = dependents(kernel, |op| match op {
        Op::Special(Special::ThreadId | Special::LaneId) => Role::Source,
        Op::LaneXor { .. } | Op::Matrix { .. } | Op::Intrinsic { .. } => Role::Source,
        Op::ReadFirstLane(_) => Role::Stop,
        _ => Role::Through,
    });
    for (info, varying) in kernel.values.iter_mut().zip(varying) {
        info.uniformity = if varying { Uniformity::Varying } else { Uniformity::Uniform };
    }
}
