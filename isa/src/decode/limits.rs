//! What one instruction may read at once: scalar values, and vector registers of one bank.

use std::collections::BTreeSet;

use super::DecodeProblem;
use crate::format::Encoding;
use crate::format::Field;
use crate::inst::Inst;
use crate::inst::MAX_OPERANDS;
use crate::reg::Operand;
use crate::reg::SpecialReg;
use crate::table::Effect;
use crate::table::Op;
use crate::table::Ty;
use crate::target::Target;

/// Refuses what reads more than the hardware can deliver.
pub(super) fn check(inst: &Inst, target: Target) -> Result<(), DecodeProblem> {
    check_scalar_reads(inst, target)?;
    check_banks(inst)?;
    check_overlap(inst, target)?;
    check_dot_halves(inst, target)?;
    check_jump(inst, target)?;
    check_buffer_offset(inst)
}

/// The address of a jump is in registers.
///
/// Source: LLVM 22, register class of S_SETPC_B64.
fn check_jump(inst: &Inst, target: Target) -> Result<(), DecodeProblem> {
    const REGISTER_CODES: u32 = 128;
    let row = inst.row();
    let is_jump = row.has(Effect::Branch) && row.operands.iter().all(|spec| !spec.is_dst);
    let address = row.position(Field::Ssrc0).filter(|_| is_jump);
    match address.and_then(|at| inst.operands[at].scalar_code(target)) {
        Some(REGISTER_CODES..) => Err(DecodeProblem::ConstantAddress),
        _ => Ok(()),
    }
}

/// The operations of an instruction with their operands: one, or the two of a dual-issue pair.
fn halves(inst: &Inst) -> impl Iterator<Item = (Op, [Operand; MAX_OPERANDS])> {
    let y = inst.dual.map(|y| (y.op, y.operands));
    std::iter::once((inst.op, inst.operands)).chain(y)
}

/// Scalar registers and the literal share the constant bus.
///
/// Sources: ISA manuals, "constant bus"; what counts as one read follows LLVM 22's assembler: a register
/// once however often it is named, VCC also where it is not named, a literal once a width.
fn check_scalar_reads(inst: &Inst, target: Target) -> Result<(), DecodeProblem> {
    let is_vector = matches!(
        inst.encoding,
        Encoding::Vop1
            | Encoding::Vop2
            | Encoding::Vopc
            | Encoding::Vop3
            | Encoding::Vop3Sd
            | Encoding::Vop3p
            | Encoding::Vopd
    );
    if !is_vector {
        return Ok(());
    }
    let mut reads = BTreeSet::new();
    for (op, operands) in halves(inst) {
        let row = op.row();
        for (spec, operand) in row.operands.iter().zip(operands).filter(|(spec, _)| !spec.is_dst) {
            reads.extend(scalar_read(operand, spec.ty, target));
        }
        if row.has(Effect::ReadsVcc) {
            reads.extend(scalar_read(SpecialReg::VccLo.into(), Ty::Mask, target));
        }
    }
    let got = reads.len() as u32;
    let limit = match inst.row().has(Effect::OneScalar) {
        true => 1,
        false => target.limits().constant_bus_reads,
    };
    if got > limit { Err(DecodeProblem::ScalarReads { got, limit }) } else { Ok(()) }
}

/// What an operand takes from the constant bus: its code and its width in registers.
fn scalar_read(operand: Operand, ty: Ty, target: Target) -> Option<(u32, u32)> {
    let is_read = match operand {
        Operand::Special(reg) => reg != SpecialReg::Null,
        Operand::Sgpr(_) | Operand::Literal(_) => true,
        _ => false,
    };
    let code = operand.scalar_code(target).filter(|_| is_read)?;
    Some((code, ty.bits(target).div_ceil(32)))
}

/// The halves of a dual-issue pair read the vector registers of source `i` from different banks: sources 0
/// and 1 have four, source 2 (the accumulator, or the factor behind a constant) has two.
///
/// Source: RDNA3 ISA manual, "VOPD"; LLVM 22, `VOPD_VGPR_BANK_MASKS`.
fn check_banks(inst: &Inst) -> Result<(), DecodeProblem> {
    const BANKS: [u8; 3] = [4, 4, 2];
    let Some(y) = inst.dual else { return Ok(()) };
    let (of_x, of_y) = (vector_sources(inst.op, &inst.operands), vector_sources(y.op, &y.operands));
    for (index, banks) in BANKS.into_iter().enumerate() {
        if let (Some(x), Some(y)) = (of_x[index], of_y[index])
            && x % banks == y % banks
        {
            return Err(DecodeProblem::SameBank { index, x, y });
        }
    }
    Ok(())
}

/// The vector registers of sources 0, 1 and 2.
fn vector_sources(op: Op, operands: &[Operand]) -> [Option<u8>; 3] {
    let row = op.row();
    let mut sources = [None; 3];
    let named = row.operands.iter().zip(operands).filter(|(spec, _)| !spec.is_dst);
    for (source, (_, operand)) in sources.iter_mut().zip(named) {
        *source = vgpr(*operand);
    }
    if row.has(Effect::ReadsDst) {
        sources[2] = vgpr(operands[0]);
    }
    sources
}

fn vgpr(operand: Operand) -> Option<u8> {
    match operand {
        Operand::Vgpr(number) => Some(number),
        _ => None,
    }
}

/// A result of more than four registers is the addend or does not touch it.
///
/// Source: LLVM 22's assembler, which does not ask it of f8f6f4 rows; no other witness for those is known.
fn check_overlap(inst: &Inst, target: Target) -> Result<(), DecodeProblem> {
    const MAX_FREE_REGISTERS: u32 = 4;
    let is_matrix = matches!(inst.encoding, Encoding::Vop3pMai | Encoding::Vop3pMx);
    let addend = inst.row().position(Field::Src2).filter(|_| is_matrix);
    let registers = inst.registers(0, target);
    let Some(addend) = addend.filter(|_| registers > MAX_FREE_REGISTERS) else { return Ok(()) };
    let distance = match (inst.operands[0], inst.operands[addend]) {
        (Operand::Vgpr(result), Operand::Vgpr(addend)) => result.abs_diff(addend),
        (Operand::Acc(result), Operand::Acc(addend)) => result.abs_diff(addend),
        _ => 0,
    };
    let is_sparse = inst.row().has(Effect::ReadsDst);
    let is_mx = inst.row().operands.iter().any(|spec| spec.ty == Ty::MxA);
    if distance > 0 && u32::from(distance) < registers && !is_sparse && !is_mx {
        return Err(DecodeProblem::PartialOverlap { registers });
    }
    Ok(())
}

/// The dot products of gfx950 take the halves in their order.
///
/// Source: LLVM 22's assembler (`validateOpSel`).
fn check_dot_halves(inst: &Inst, target: Target) -> Result<(), DecodeProblem> {
    let specs = inst.row().operands;
    let is_pair = |ty: Ty| matches!(ty, Ty::F16x2 | Ty::Bf16x2 | Ty::I16x2);
    let takes_pairs = specs.iter().any(|spec| !spec.is_dst && is_pair(spec.ty));
    let is_dot = takes_pairs && specs.first().is_some_and(|spec| !is_pair(spec.ty));
    if target != Target::Gfx950 || inst.encoding != Encoding::Vop3p || !is_dot {
        return Ok(());
    }
    for (field, value, must_be) in
        [(Field::OpSel, inst.mods.op_sel, 0), (Field::OpSelHi, inst.mods.op_sel_hi, 7)]
    {
        if value != must_be {
            return Err(DecodeProblem::Reserved { field: Some(field), value: value.into() });
        }
    }
    Ok(())
}

/// Scalar loads through a buffer resource take no negative offset.
///
/// Sources: CDNA3 and RDNA3 ISA manuals, "SMEM"; LLVM 22's assembler.
fn check_buffer_offset(inst: &Inst) -> Result<(), DecodeProblem> {
    let has_resource =
        inst.row().operands.iter().any(|spec| spec.field == Field::Sbase && spec.ty == Ty::B128);
    if has_resource && inst.mods.offset < 0 {
        let value = inst.mods.offset as u32;
        return Err(DecodeProblem::Reserved { field: Some(Field::Offset), value });
    }
    Ok(())
}
