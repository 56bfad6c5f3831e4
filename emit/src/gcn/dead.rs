//! Removes instructions whose results nobody reads.

use isa::table::Effect;

use super::mir::{Function, Inst};

/// Removes them, and what only they needed.
pub fn remove(function: &mut Function) {
    let mut uses = vec![0u32; function.regs.len()];
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        count(inst, |reg| uses[reg] += 1);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in &mut function.blocks {
            let mut kept = Vec::with_capacity(block.insts.len());
            let mut wants_scc = false;
            for inst in block.insts.drain(..).rev() {
                let makes_scc = inst.has(Effect::WritesScc) && wants_scc;
                if makes_scc || is_needed(&inst, &uses) {
                    wants_scc &= !inst.has(Effect::WritesScc);
                    wants_scc |= inst.has(Effect::ReadsScc);
                    kept.push(inst);
                } else {
                    count(&inst, |reg| uses[reg] -= 1);
                    changed = true;
                }
            }
            kept.reverse();
            block.insts = kept;
        }
    }
}

/// Registers that an instruction reads for others' sake: not what it only keeps or adds to.
fn count(inst: &Inst, mut visit: impl FnMut(usize)) {
    let own: Vec<_> = inst.defs().map(|part| part.reg).collect();
    inst.uses().filter(|part| !own.contains(&part.reg)).for_each(|part| visit(part.reg.0 as usize));
}

fn is_needed(inst: &Inst, uses: &[u32]) -> bool {
    inst.has_side_effects() || inst.defs().any(|part| uses[part.reg.0 as usize] > 0)
}
