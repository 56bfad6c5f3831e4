//! What kind of instruction it is: for counts, for waits, for where it may stand in a block.

use isa::format::Encoding;
use isa::inst::Inst;
use isa::table::{Counter as RowCounter, Effect};
use isa::{Op, Target};

use super::Details;
use crate::checks::waits::{Counter, Queue};
use crate::operand::Span;
use crate::report::Class;
use crate::sem;
use crate::wave::scalar;

/// Whether executing it does nothing: no-ops, hints, and waits that no counter here has.
pub(super) fn is_idle(op: Op) -> bool {
    matches!(op, Op::Control(op) if sem::control::is_idle(op))
}

/// Whether the next instruction may run under another EXEC, lie elsewhere, or have to wait for its turn.
pub(super) fn ends_block(prepared: &Details, op: Op) -> bool {
    let exec = Span { first: scalar::EXEC.into(), count: 2, is_destination: true };
    let writes_exec = op.row().has(Effect::WritesExec)
        || prepared.spans().any(|span| span.is_destination && span.overlaps(exec));
    writes_exec || matches!(op, Op::Control(op) if !sem::control::stays_in_line(op))
}

pub(super) fn class(inst: &Inst, op: Op) -> Class {
    let row = op.row();
    if row.has(Effect::Trans) {
        return Class::Transcendental;
    }
    if matches!(op, Op::Matrix(_)) {
        return Class::Matrix;
    }
    match inst.encoding {
        Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc | Encoding::Sopk | Encoding::Sopp => {
            control_class(op)
        }
        Encoding::Smem => Class::Smem,
        Encoding::Ds => Class::Lds,
        Encoding::Scratch => Class::Scratch,
        Encoding::Flat | Encoding::Global | Encoding::Mubuf => Class::Vmem,
        _ => Class::Valu,
    }
}

fn control_class(op: Op) -> Class {
    let row = op.row();
    if row.has(Effect::Branch) || row.has(Effect::Terminator) {
        return Class::Branch;
    }
    if row.has(Effect::Barrier) {
        return Class::Barrier;
    }
    match op {
        Op::Control(control) if sem::control::is_wait(control) => Class::Wait,
        Op::Control(_) => Class::Other,
        _ => Class::Salu,
    }
}

pub(super) fn queue(inst: &Inst, op: Op) -> Option<Queue> {
    let row = op.row();
    let counts = row.effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::CountsLoad | Effect::CountsStore | Effect::CountsLgkm | Effect::Atomic
        )
    });
    if !counts {
        return None;
    }
    Some(match inst.encoding {
        Encoding::Ds => Queue::Lds,
        Encoding::Global | Encoding::Scratch | Encoding::Mubuf => Queue::Vector,
        _ => Queue::Unordered,
    })
}

/// The counters that an instruction increments, in the scoreboard's terms.
pub(super) fn counters(inst: &Inst, target: Target) -> ([Counter; 2], usize) {
    let mut counters = ([Counter::Vector; 2], 0);
    for counter in inst.counters(target).take(2) {
        counters.0[counters.1] = match counter {
            RowCounter::Vm => Counter::Vector,
            RowCounter::Vs => Counter::VectorStore,
            RowCounter::Lgkm => Counter::Lgkm,
            RowCounter::Exp => continue,
        };
        counters.1 += 1;
    }
    counters
}
