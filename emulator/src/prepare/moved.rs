//! Instructions whose registers are known only when they run.

use isa::{Inst, Target};

use super::{Handler, Prepared, kind, prepare_half};
use crate::fault::Cause;

/// An instruction between `s_set_gpr_idx_on` and `_off`, whose registers M0 may move: another handler, and no
/// registers known beforehand.
pub(crate) fn prepare_moved(
    pc: u64,
    inst: Inst,
    target: Target,
    run: Handler,
) -> Result<Prepared, Cause> {
    let class = kind::class(&inst, inst.op);
    let mut details = prepare_half(pc, inst, inst.op, &inst.operands, target)?;
    details.finds_registers = true;
    details.n_spans = 0;
    details.n_vectors = [0; 2];
    details.profile = details.profile.without_registers();
    Ok(details.ready(run, class))
}
