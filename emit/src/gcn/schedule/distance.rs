//! How far apart two dependent instructions should stand.

use isa::latency::result_slots;
use isa::table::{Field, Lane};
use isa::wait_states::{Consumer, Producer, Remedy, rows};
use isa::{Op, Target};

use crate::gcn::mir::{Class, Inst, Kind};

/// Slots from an instruction to one that reads a register of a class that it writes; none is a special register.
pub fn distance(earlier: &Inst, later: &Inst, class: Option<Class>, target: Target) -> u32 {
    let latency = match earlier.kind {
        Kind::Machine(op) => result_slots(op, target),
        Kind::Copy => 1,
        Kind::Undef => return 0,
    };
    latency.max(1 + wait_states(earlier, later, class, target))
}

/// Wait states that would have to be filled.
fn wait_states(earlier: &Inst, later: &Inst, class: Option<Class>, target: Target) -> u32 {
    if !is_vector_arithmetic(earlier) {
        return 0;
    }
    let is_vector = class == Some(Class::Vector);
    let producer = if is_vector { Producer::ValuVgpr } else { Producer::ValuSgpr };
    let consumer = match later.op() {
        Some(Op::Matrix(_)) => Consumer::MatrixFactor,
        Some(Op::Flat(_) | Op::FlatAtomic(_)) => Consumer::VmemAddress,
        Some(Op::Lane(Lane::VPermlane16SwapB32 | Lane::VPermlane32SwapB32)) => {
            Consumer::PermlaneSwap
        }
        Some(Op::Lane(_)) if is_vector => Consumer::ReadLane,
        _ if later.mods.dpp.is_some() => Consumer::Dpp,
        _ if is_vector_arithmetic(later) => Consumer::ValuConstant,
        _ => return 0,
    };
    let row = rows(target).iter().find(|row| row.producer == producer && row.consumer == consumer);
    match row.map(|row| row.remedy) {
        Some(Remedy::States(states)) => states,
        _ => 0,
    }
}

fn is_vector_arithmetic(inst: &Inst) -> bool {
    let is_vector = |field| matches!(field, Field::Src0 | Field::Vsrc0);
    let Some(op) = inst.op() else { return false };
    !matches!(op, Op::Matrix(_)) && op.row().operands.iter().any(|spec| is_vector(spec.field))
}
