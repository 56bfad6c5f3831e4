//! An independent check of the allocation: wherever an instruction reads a register, that register holds what the
//! virtual code says it should.
//!
//! The check follows, along every path, which virtual registers each numbered register is known to hold, and knows
//! nothing of liveness, bundles or orders. Reading is allowed only if all paths agree.

use std::collections::BTreeSet;

use super::allocate::Allocation;
use super::error::Cause;
use super::mir::{Class, Function, Inst, Kind, Part, Slot};

/// A single virtual register: tuple and index.
type Unit = (u32, u8);
/// What a numbered register is known to hold; `None` where no path has come yet.
type Held = Vec<BTreeSet<Unit>>;

/// Checks all instructions.
///
/// # Errors
/// [`Cause::Internal`] with the instruction and the register.
pub fn check(function: &Function, allocation: &Allocation) -> Result<(), Cause> {
    let checker = Checker { function, allocation };
    let mut entries: Vec<Option<Held>> = vec![None; function.blocks.len()];
    entries[0] = Some(checker.inputs());
    let mut work = vec![0];
    while let Some(block) = work.pop() {
        let Some(mut held) = entries[block].clone() else { continue };
        function.blocks[block].insts.iter().for_each(|inst| checker.step(inst, &mut held));
        for next in function.successors(block) {
            let joined = match &entries[next] {
                Some(known) => known.iter().zip(&held).map(|(a, b)| a & b).collect(),
                None => held.clone(),
            };
            if entries[next].as_ref() != Some(&joined) {
                entries[next] = Some(joined);
                work.push(next);
            }
        }
    }
    for (block, entry) in function.blocks.iter().zip(entries) {
        let Some(mut held) = entry else { continue };
        for inst in &block.insts {
            checker.reads(inst, &held)?;
            checker.ties(inst)?;
            checker.step(inst, &mut held);
        }
    }
    Ok(())
}

struct Checker<'f> {
    function: &'f Function,
    allocation: &'f Allocation,
}

impl Checker<'_> {
    /// The place of a single register in the two files side by side.
    fn place(&self, unit: Unit) -> usize {
        let reg = super::mir::Reg(unit.0);
        let number = self.allocation.number(Part::new(reg, unit.1, 1)) as usize;
        match self.function.info(reg).class {
            Class::Scalar => number,
            Class::Vector => 128 + number,
        }
    }

    fn units(part: Part) -> impl Iterator<Item = Unit> {
        part.units().map(move |index| (part.reg.0, index))
    }

    fn inputs(&self) -> Held {
        let mut held = vec![BTreeSet::new(); 128 + 512];
        for (index, info) in self.function.regs.iter().enumerate() {
            for unit in (0..info.count).filter(|_| info.fixed.is_some()) {
                held[self.place((index as u32, unit))].insert((index as u32, unit));
            }
        }
        held
    }

    fn reads(&self, inst: &Inst, held: &Held) -> Result<(), Cause> {
        // What a copy keeps are other lanes, which nothing in its own arm can have written.
        let kept = inst.keeps.and(inst.defs().next());
        let read = inst.uses().filter(|part| Some(*part) != kept).flat_map(Self::units);
        for unit in read {
            let place = self.place(unit);
            if !held[place].contains(&unit) {
                let problem = format!(
                    "{inst:?} reads register {} of %r{} at {place}, which holds {:?}",
                    unit.1, unit.0, held[place]
                );
                return Err(Cause::Internal { problem });
            }
        }
        Ok(())
    }

    /// Alignment, limits, and results that must not share registers with sources.
    fn ties(&self, inst: &Inst) -> Result<(), Cause> {
        let fail = |what: &str| Err(Cause::Internal { problem: format!("{inst:?} {what}") });
        for (_, part) in inst.parts().filter(|_| inst.op().is_some()) {
            let number = self.allocation.number(part);
            let operand = match self.function.info(part.reg).class {
                Class::Scalar => isa::Operand::Sgpr(number as u8),
                Class::Vector => super::files::vector_operand(number),
            };
            if !operand.fits_tuple(part.count.into(), self.function.target) {
                return fail("has a misaligned tuple");
            }
        }
        let written: BTreeSet<usize> =
            inst.defs().flat_map(Self::units).map(|unit| self.place(unit)).collect();
        let own: Vec<Part> = inst.defs().collect();
        let shares = inst.early
            && inst
                .uses()
                .filter(|part| !own.contains(part))
                .flat_map(Self::units)
                .any(|unit| written.contains(&self.place(unit)));
        if shares { fail("overwrites its sources") } else { Ok(()) }
    }

    fn step(&self, inst: &Inst, held: &mut Held) {
        let sources: Vec<BTreeSet<Unit>> = match (inst.kind, inst.slots[1]) {
            (Kind::Copy, Slot::Part(from)) => {
                let from = (0..from.count).map(|index| (from.reg.0, from.first + index));
                from.map(|unit| held[self.place(unit)].clone()).collect()
            }
            _ => Vec::new(),
        };
        let written: Vec<Unit> = inst.defs().flat_map(Self::units).collect();
        for set in held.iter_mut() {
            set.retain(|unit| !written.contains(unit));
        }
        for (index, unit) in written.into_iter().enumerate() {
            let place = self.place(unit);
            let mut holds = sources.get(index).cloned().unwrap_or_default();
            holds.retain(|other| *other != unit);
            holds.insert(unit);
            // A mark that a register holds nothing leaves what is there.
            if inst.kind == Kind::Undef {
                held[place].insert(unit);
            } else {
                held[place] = holds;
            }
        }
    }
}
