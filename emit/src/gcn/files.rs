//! Which virtual registers may lie in accumulation registers.
//!
//! gfx950 has two vector files of 256 registers. Matrix operations, loads and stores reach both (CDNA3 ISA manual,
//! "AccVGPRs"); all other vector instructions reach the first one alone.

use isa::table::{Field, Lane};
use isa::{Op, Operand, Target};

use super::mir::{Class, Function, Inst, Kind, Part, Slot};

/// Numbers of an allocation from here on are accumulation registers.
pub const FIRST_ACC: u32 = 256;

/// The operand of a vector register with a number of an allocation.
pub fn vector_operand(number: u32) -> Operand {
    match number.checked_sub(FIRST_ACC) {
        Some(number) => Operand::Acc(number as u8),
        None => Operand::Vgpr(number as u8),
    }
}

/// For every virtual register whether all instructions take it in either file.
pub fn may_be_acc(function: &Function) -> Vec<bool> {
    let has_acc = function.target == Target::Gfx950;
    let is_free = |info: &super::mir::RegInfo| info.class == Class::Vector && info.fixed.is_none();
    let mut free: Vec<bool> = function.regs.iter().map(|info| has_acc && is_free(info)).collect();
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        for (index, part) in inst.parts() {
            free[part.reg.0 as usize] &= takes_acc(function, inst, index);
        }
    }
    free
}

/// Whether an instruction takes an operand in either file.
fn takes_acc(function: &Function, inst: &Inst, index: usize) -> bool {
    match inst.kind {
        Kind::Undef => true,
        Kind::Copy => inst.keeps.is_none() && reaches_acc(function, inst.slots[1]),
        Kind::Machine(Op::Matrix(_)) => true,
        Kind::Machine(Op::Flat(_)) => is_data(inst, index),
        // The two data of a store must lie in one file.
        Kind::Machine(Op::Lds(op)) => {
            let row = Op::Lds(op).row();
            let data = row.operands.iter().filter(|spec| spec.field != Field::Addr).count();
            is_data(inst, index) && data == 1
        }
        Kind::Machine(_) => false,
    }
}

/// Whether one move takes a source to accumulation registers: VGPRs and inline constants.
pub fn reaches_acc(function: &Function, from: Slot) -> bool {
    match from {
        Slot::Part(Part { reg, .. }) => function.info(reg).class == Class::Vector,
        Slot::Fixed(constant) => matches!(constant, Operand::Int(_) | Operand::Float(_)),
        _ => false,
    }
}

fn is_data(inst: &Inst, index: usize) -> bool {
    let spec = inst.op().and_then(|op| op.row().operands.get(index));
    spec.is_some_and(|spec| {
        matches!(spec.field, Field::Vdst | Field::Data | Field::Data0)
            && spec.ty.bits(Target::Gfx950) >= 32
    })
}

/// The move of one register between the files; none if both lie in the first.
pub fn move_op(to: Operand, from: Operand) -> Option<Op> {
    match (to, from) {
        (Operand::Acc(_), Operand::Acc(_)) => Some(Op::Lane(Lane::VAccvgprMovB32)),
        (Operand::Acc(_), _) => Some(Op::Lane(Lane::VAccvgprWriteB32)),
        (_, Operand::Acc(_)) => Some(Op::Lane(Lane::VAccvgprReadB32)),
        _ => None,
    }
}
