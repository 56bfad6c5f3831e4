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
    let mut exits: Vec<Option<Held>> = vec![None; function.blocks.len()];
    for (block, entry) in entries.into_iter().enumerate() {
        let Some(mut held) = entry else { continue };
        for inst in &function.blocks[block].insts {
            checker.reads(inst, &held)?;
            checker.ties(inst)?;
            checker.step(inst, &mut held);
        }
        exits[block] = Some(held);
    }
    let insts = function.blocks.iter().flat_map(|block| &block.insts);
    insts.into_iter().try_for_each(|inst| checker.keeps(inst, &exits))
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

    /// What an instruction of one arm keeps, the lanes of the other arm wrote: at the end of that arm it was still there.
    fn keeps(&self, inst: &Inst, exits: &[Option<Held>]) -> Result<(), Cause> {
        let last =
            inst.keeps.and_then(|start| exits.get((start as usize).checked_sub(1)?)?.as_ref());
        let Some(held) = last else { return Ok(()) };
        match inst.defs().flat_map(Self::units).find(|unit| !held[self.place(*unit)].contains(unit))
        {
            None => Ok(()),
            Some(unit) => Err(Cause::Internal {
                problem: format!("{inst:?} keeps %r{}, which its other arm overwrote", unit.0),
            }),
        }
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

#[cfg(test)]
mod tests {
    use dsl::ir::{Kernel, Type};
    use dsl::{KernelBuilder, Scalar};
    use isa::{Operand, Target};

    use super::*;
    use crate::gcn::liveness::{Liveness, overlap};
    use crate::gcn::mir::{Block, Reg};
    use crate::gcn::{Allocated, Options, allocated};

    /// A loop that carries a sum of matrices and a vector, with arms that lanes choose, and what they write.
    fn kernel(target: Target) -> Kernel {
        let k = KernelBuilder::new("checked", target, target.wave_width());
        let depth = if target == Target::Gfx950 { 32 } else { 16 };
        let factor = k.input("factor", Scalar::Bf16, &[Some(16), Some(depth)]);
        let x = k.input("x", Scalar::F32, &[Some(1024)]);
        let y = k.output("y", Scalar::F32, &[Some(1024)]);
        let (atom, lane) = (k.matrix_atom(Scalar::Bf16, 16, depth), k.lane_id());
        let start = (atom.zeros(), vec![x.load_vector(lane << 2, 4)]);
        let (sum, wide) = k.for_range(0, 4, 1, start, |index, (sum, wide)| {
            let sum = atom.multiply_add(atom.left(&factor), atom.right(&factor), sum);
            let near = lane.lt(index);
            let arms = k.if_else(
                near,
                || [wide[0] * x.load(lane), x.load_vector(lane << 2, 4)],
                || [wide[0] + x.load(lane + 64), wide[0]],
            );
            (sum, vec![arms[0] + arms[1]])
        });
        y.store(lane, wide[0].element(1) + sum.vector().element(0));
        y.store(lane + 64, wide[0].element(2).bitcast(Type::I32).signed_to_f32());
        k.finish().expect("a valid kernel")
    }

    fn allocated_kernel(target: Target) -> Allocated {
        let options = Options { check: true, ..Options::default() };
        allocated(&kernel(target), &options).expect("a kernel that fits")
    }

    /// Registers that no copy and no mark writes: what they hold no other register holds.
    fn unique(function: &Function) -> Vec<Reg> {
        let insts = || function.blocks.iter().flat_map(|block| &block.insts);
        let is_unique = |reg: &Reg| {
            let mut writers = insts().filter(|inst| inst.defs().any(|part| part.reg == *reg));
            writers.all(|inst| inst.op().is_some())
        };
        (0..function.regs.len() as u32).map(Reg).filter(is_unique).collect()
    }

    #[test]
    fn a_register_given_to_two_live_values_is_found() {
        for target in Target::ALL {
            let Allocated { function, mut allocation, .. } = allocated_kernel(target);
            let liveness = Liveness::of(&function);
            let unique = unique(&function);
            let (mut planted, mut missed) = (0, Vec::new());
            for (index, a) in unique.iter().enumerate() {
                for b in &unique[index + 1..] {
                    let first =
                        |reg: &Reg| &liveness.ranges[liveness.starts[reg.0 as usize] as usize];
                    let same_file = function.info(*a).class == function.info(*b).class;
                    if !same_file || !overlap(first(a), first(b)) {
                        continue;
                    }
                    let number = allocation.numbers[b.0 as usize];
                    allocation.numbers[b.0 as usize] = allocation.numbers[a.0 as usize];
                    planted += 1;
                    if check(&function, &allocation).is_ok() {
                        missed.push((*a, *b));
                    }
                    allocation.numbers[b.0 as usize] = number;
                }
            }
            assert!(planted > 50, "{target}: {planted} planted");
            assert_eq!(missed, [], "{target}: of {planted}");
            assert_eq!(check(&function, &allocation), Ok(()), "{target}");
        }
    }

    #[test]
    fn a_tuple_at_an_odd_register_is_found() {
        let Allocated { function, mut allocation, .. } = allocated_kernel(Target::Gfx950);
        let is_pair =
            |index: &usize| function.regs[*index].count == 2 && function.regs[*index].align == 2;
        let pairs: Vec<usize> = (0..function.regs.len()).filter(is_pair).collect();
        let insts = || function.blocks.iter().flat_map(|block| &block.insts);
        let used = |index: &&usize| {
            let by_machine = |inst: &&Inst| inst.op().is_some();
            insts()
                .filter(by_machine)
                .flat_map(Inst::parts)
                .any(|(_, part)| part.reg.0 as usize == **index && part.count == 2)
        };
        let pair = *pairs.iter().find(used).expect("a pair of registers");
        allocation.numbers[pair] += 101;
        assert!(check(&function, &allocation).is_err());
    }

    /// Lanes of the first arm write a result, and then something else over it; the other arm's lanes keep "it".
    #[test]
    fn an_arm_that_loses_its_result_is_found() {
        let mut function =
            Function { target: Target::Gfx950, regs: Vec::new(), blocks: Vec::new() };
        let [a, v, w] = [(); 3].map(|()| function.reg(Class::Vector, 1, None));
        let one = Slot::Fixed(Operand::Imm(1));
        let copy = |to, from| Inst::new(Kind::Copy, &[Slot::Part(Part::new(to, 0, 1)), from], 0);
        let from = |reg| Slot::Part(Part::new(reg, 0, 1));
        let kept = Inst { keeps: Some(2), ..copy(v, one) };
        let blocks = [
            vec![copy(a, one)],
            vec![copy(v, from(a)), copy(w, one)],
            vec![kept],
            vec![copy(a, from(v))],
        ];
        function.blocks = blocks.map(|insts| Block { insts, depth: 0 }).to_vec();
        let with = |w: u32| Allocation { numbers: vec![0, 1, w], ..Allocation::default() };
        assert_eq!(check(&function, &with(2)), Ok(()));
        assert!(check(&function, &with(1)).is_err());
    }
}
