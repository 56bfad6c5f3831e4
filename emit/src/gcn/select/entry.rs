//! What a wave finds in its registers when it starts, and the kernel's arguments.
//!
//! Source: AMDGPUUsage (LLVM 22), "Initial Kernel Execution State": user SGPRs first, here the address of the kernel
//! arguments alone, then the workgroup ids that were asked for; the work-item id in VGPR 0.

use dsl::ir::{Kernel, ParamKind, Special};
use isa::Op;
use isa::table::Smem;

use super::Selector;
use super::values::{Loc, Word};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Function, Inst, Kind, Part, Reg, Slot};
use crate::gcn::plan::Plan;

/// User SGPRs: the address of the kernel arguments.
pub const USER_SGPRS: u32 = 2;

/// Registers that the hardware fills.
pub struct Inputs {
    kernarg: Reg,
    /// In the order x, y, z; that of x always arrives.
    ids: [Option<Reg>; 3],
    /// The work-item's index in x.
    pub thread_id: Reg,
}

impl Inputs {
    /// The inputs that a kernel needs.
    pub fn declare(function: &mut Function, plan: &Plan) -> Inputs {
        let mut fixed = |class, count, number| {
            let reg = function.reg(class, count, None);
            function.regs[reg.0 as usize].fixed = Some(number);
            reg
        };
        let kernarg = fixed(Class::Scalar, 2, 0);
        let thread_id = fixed(Class::Vector, 1, 0);
        let mut next = USER_SGPRS as u8;
        let wanted = [true, plan.reads(Special::WorkgroupIdY), plan.reads(Special::WorkgroupIdZ)];
        let ids = wanted.map(|wanted| {
            wanted.then(|| {
                next += 1;
                fixed(Class::Scalar, 1, next - 1)
            })
        });
        Inputs { kernarg, ids, thread_id }
    }

    /// The register of a workgroup id that was asked for.
    pub fn workgroup_id(&self, special: Special) -> Option<Reg> {
        match special {
            Special::WorkgroupIdX => self.ids[0],
            Special::WorkgroupIdY => self.ids[1],
            Special::WorkgroupIdZ => self.ids[2],
            _ => None,
        }
    }

    /// Which workgroup ids must arrive.
    pub fn workgroup_ids(&self) -> [bool; 3] {
        self.ids.map(|id| id.is_some())
    }
}

/// Size of an argument in bytes, which is its alignment.
pub fn argument_bytes(kind: ParamKind) -> u32 {
    match kind {
        ParamKind::Buffer { .. } => 8,
        ParamKind::Scalar(scalar) => scalar.size_bytes(),
    }
}

/// Byte offset of every argument, and the size of all.
pub fn argument_layout(kernel: &Kernel) -> (Vec<u32>, u32) {
    let mut end = 0u32;
    let offsets = kernel.params.iter().map(|param| {
        let size = argument_bytes(param.kind);
        let start = end.next_multiple_of(size.max(1));
        end = start + size;
        start
    });
    let offsets = offsets.collect();
    (offsets, end)
}

impl<'k> Selector<'k> {
    /// Loads the arguments that are used by as few loads as cover them.
    pub(super) fn load_arguments(&mut self) -> Result<(), Cause> {
        let (offsets, _) = argument_layout(self.kernel);
        let params: Vec<_> = self.kernel.params.iter().zip(offsets).collect();
        let used: Vec<_> =
            params.into_iter().filter(|(param, _)| self.plan.uses(param.value) > 0).collect();
        let (Some(first), Some(last)) = (used.first(), used.last()) else { return Ok(()) };
        let (start, end) = (first.1 / 4, (last.1 + argument_bytes(last.0.kind)).div_ceil(4));
        let words = self.load_run(start, end);
        for (param, offset) in used {
            let at = (offset / 4 - start) as usize;
            let count = argument_bytes(param.kind).div_ceil(4) as usize;
            self.define(param.value, Loc::of(words[at..at + count].iter().copied()));
        }
        Ok(())
    }

    fn load_run(&mut self, start: u32, end: u32) -> Vec<Word> {
        let kernarg = self.inputs.kernarg;
        let base = Slot::Part(Part::new(kernarg, 0, 2));
        let mut words = Vec::new();
        let mut at = start;
        while at < end {
            let (op, count) = widest_load(end - at);
            let reg = self.new_reg(Class::Scalar, count as u8);
            let to = Slot::Part(Part::new(reg, 0, count as u8));
            let mut inst =
                Inst::new(Kind::Machine(Op::Smem(op)), &[to, base, Slot::None], self.stmt());
            inst.mods.offset = (at * 4) as i32;
            inst.early = true;
            self.emit(inst);
            words.extend((0..count as u8).map(|index| Word::Reg(reg, index)));
            at += count;
        }
        words
    }
}

/// The widest scalar load of at most so many words, and its width.
pub fn widest_load(words: u32) -> (Smem, u32) {
    match words {
        16.. => (Smem::SLoadB512, 16),
        8.. => (Smem::SLoadB256, 8),
        4.. => (Smem::SLoadB128, 4),
        2.. => (Smem::SLoadB64, 2),
        _ => (Smem::SLoadB32, 1),
    }
}
