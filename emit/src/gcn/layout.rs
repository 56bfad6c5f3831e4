//! Where every block lies, and what its branches say.
//!
//! A branch reaches 32,768 words either way. One that must reach further becomes a jump through a register: the
//! condition is turned round to skip it, and VCC, which no other instruction of this back end holds a value in across
//! a branch, takes the address.

use isa::reg::SpecialReg;
use isa::table::{Control, Salu};
use isa::{Op, Operand, Target};

use super::error::Cause;
use super::finish::{Code, Placed, machine};

/// Blocks that control may go to from the end of a block.
pub fn successors(code: &Code, block: usize) -> Vec<usize> {
    let insts = &code[block];
    let mut successors: Vec<usize> =
        insts.iter().filter_map(|placed| placed.target).map(|to| to as usize).collect();
    let falls_through =
        !insts.last().is_some_and(|placed| placed.inst.row().has(isa::table::Effect::Terminator));
    if falls_through && block + 1 < code.len() {
        successors.push(block + 1);
    }
    successors
}

/// Removes branches to where control goes anyway. Before wait states are counted: a branch is one.
pub fn remove_idle_branches(code: &mut Code) {
    for block in (0..code.len()).rev() {
        while let Some(to) = code[block].last().and_then(|placed| placed.target) {
            let to = to as usize;
            if to <= block || code[block + 1..to].iter().any(|between| !between.is_empty()) {
                break;
            }
            code[block].pop();
        }
    }
}

/// How a branch is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The instruction itself.
    Short,
    /// Through a register.
    Long,
}

/// Bytes of a jump through a register: `s_getpc_b64`, `s_add_u32` and `s_addc_u32` with literals, `s_setpc_b64`.
const JUMP_BYTES: u32 = 4 + 8 + 8 + 4;

/// Sets all branches; gives the instructions in order.
///
/// # Errors
/// [`Cause::Internal`] if an instruction cannot be made.
pub fn lay_out(target: Target, code: &Code, reach_words: i64) -> Result<Vec<Placed>, Cause> {
    let mut reaches: Vec<Vec<Reach>> =
        code.iter().map(|block| block.iter().map(|_| Reach::Short).collect()).collect();
    loop {
        let starts = starts(code, &reaches);
        let mut changed = false;
        for (block, insts) in code.iter().enumerate() {
            let mut at = starts[block];
            for (index, placed) in insts.iter().enumerate() {
                let size = size(placed, reaches[block][index]);
                if let Some(to) = placed.target {
                    let distance = i64::from(starts[to as usize]) - i64::from(at) - 4;
                    let wanted = if (distance / 4).abs() >= reach_words {
                        Reach::Long
                    } else {
                        reaches[block][index]
                    };
                    changed |= wanted != reaches[block][index];
                    reaches[block][index] = wanted;
                }
                at += size;
            }
        }
        if !changed {
            return write(target, code, &reaches, &starts);
        }
    }
}

fn size(placed: &Placed, reach: Reach) -> u32 {
    match reach {
        Reach::Short => placed.inst.size_bytes.into(),
        Reach::Long if inverse(placed.inst.op).is_some() => 4 + JUMP_BYTES,
        Reach::Long => JUMP_BYTES,
    }
}

/// Byte offset of every block.
fn starts(code: &Code, reaches: &[Vec<Reach>]) -> Vec<u32> {
    let mut at = 0;
    let mut starts = Vec::with_capacity(code.len());
    for (insts, reaches) in code.iter().zip(reaches) {
        starts.push(at);
        at += insts.iter().zip(reaches).map(|(placed, reach)| size(placed, *reach)).sum::<u32>();
    }
    starts
}

fn write(
    target: Target,
    code: &Code,
    reaches: &[Vec<Reach>],
    starts: &[u32],
) -> Result<Vec<Placed>, Cause> {
    let mut out = Vec::new();
    for (block, insts) in code.iter().enumerate() {
        let mut at = starts[block];
        for (placed, reach) in insts.iter().zip(&reaches[block]) {
            let end = at + size(placed, *reach);
            match (placed.target, reach) {
                (None, _) => out.push(*placed),
                (Some(to), Reach::Short) => {
                    let words = (i64::from(starts[to as usize]) - i64::from(end)) / 4;
                    let mut branch = *placed;
                    branch.inst.operands[0] = Operand::Imm(words as i16 as u16);
                    out.push(branch);
                }
                (Some(to), Reach::Long) => {
                    jump(target, placed, (at, starts[to as usize]), &mut out)?;
                }
            }
            at = end;
        }
    }
    Ok(out)
}

/// The branch that is taken when this one is not.
fn inverse(op: Op) -> Option<Control> {
    match op {
        Op::Control(Control::SCbranchScc0) => Some(Control::SCbranchScc1),
        Op::Control(Control::SCbranchScc1) => Some(Control::SCbranchScc0),
        Op::Control(Control::SCbranchExecz) => Some(Control::SCbranchExecnz),
        Op::Control(Control::SCbranchExecnz) => Some(Control::SCbranchExecz),
        Op::Control(Control::SCbranchVccz) => Some(Control::SCbranchVccnz),
        Op::Control(Control::SCbranchVccnz) => Some(Control::SCbranchVccz),
        _ => None,
    }
}

fn jump(
    target: Target,
    placed: &Placed,
    (mut at, to): (u32, u32),
    out: &mut Vec<Placed>,
) -> Result<(), Cause> {
    let mut push = |op: Op, operands: &[Operand]| {
        let mut all = [Operand::None; isa::inst::MAX_OPERANDS];
        all[..operands.len()].copy_from_slice(operands);
        let inst = machine(target, op, all, Default::default())?;
        out.push(Placed { inst, target: None, stmt: placed.stmt });
        Ok::<(), Cause>(())
    };
    if let Some(inverse) = inverse(placed.inst.op) {
        push(Op::Control(inverse), &[Operand::Imm((JUMP_BYTES / 4) as u16)])?;
        at += 4;
    }
    // The program counter that is read is that of the instruction after.
    let distance = i64::from(to) - i64::from(at + 4);
    let [low, high] = [distance as u32, (distance >> 32) as u32].map(Operand::Literal);
    let [vcc_lo, vcc_hi] = [SpecialReg::VccLo, SpecialReg::VccHi].map(Operand::Special);
    push(Op::Control(Control::SGetpcB64), &[vcc_lo])?;
    push(Op::Salu(Salu::SAddU32), &[vcc_lo, vcc_lo, low])?;
    push(Op::Salu(Salu::SAddcU32), &[vcc_hi, vcc_hi, high])?;
    push(Op::Control(Control::SSetpcB64), &[vcc_lo])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(op: Control, to: Option<u32>) -> Placed {
        let mut operands = [Operand::None; isa::inst::MAX_OPERANDS];
        operands[0] = Operand::Imm(0);
        let inst = machine(Target::Gfx950, Op::Control(op), operands, Default::default());
        Placed { inst: inst.expect("a control instruction"), target: to, stmt: 0 }
    }

    #[test]
    fn a_branch_stays_only_where_something_lies_between() {
        let nop = || placed(Control::SNop, None);
        let branch = |to| placed(Control::SBranch, Some(to));
        let skip = |to| placed(Control::SCbranchExecz, Some(to));
        // The second block becomes empty, so that the first has nothing to skip either.
        let mut code = vec![vec![nop(), skip(2)], vec![branch(2)], vec![nop()]];
        remove_idle_branches(&mut code);
        assert_eq!(code.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 1]);
        let mut code = vec![vec![skip(2)], vec![nop()], vec![branch(0)]];
        remove_idle_branches(&mut code);
        assert_eq!(code.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
    }
}
