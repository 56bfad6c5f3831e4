//! Machine code over the rows of the instruction tables, with virtual registers.
//!
//! A function is a list of blocks in the order in which they will lie in memory; a block falls through to the next
//! one or ends in a branch. A virtual register is a tuple of 32-bit registers of one class; operands name parts of
//! it, and liveness is a matter of its single registers. Code is not in SSA form: a register may be written several
//! times, whole or in part.

use dsl::ir::Value;
use isa::inst::{MAX_OPERANDS, Modifiers};
use isa::reg::SpecialReg;
use isa::table::{Control, Effect, OperandSpec};
use isa::{Op, Operand, Target};

/// A virtual register, an index into [`Function::regs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// Which file a register lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// SGPRs.
    Scalar,
    /// VGPRs.
    Vector,
}

/// Facts of a virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegInfo {
    /// Its file.
    pub class: Class,
    /// Registers of the tuple.
    pub count: u8,
    /// What its number must be a multiple of.
    pub align: u8,
    /// The number that the hardware gives it before the first instruction.
    pub fixed: Option<u8>,
    /// The kernel's value that it was made for.
    pub value: Option<Value>,
    /// It was made to hold in accumulation registers what other registers had no room for.
    pub parked: bool,
    /// It holds for a few instructions what is kept elsewhere.
    pub brief: bool,
}

/// A run of registers of a tuple, as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// The tuple.
    pub reg: Reg,
    /// First register of the run.
    pub first: u8,
    /// Registers that the operand encodes.
    pub count: u8,
    /// Those of them that the instruction really reads or writes, one bit each.
    pub live: u32,
}

impl Part {
    /// A run that is read or written in full.
    pub fn new(reg: Reg, first: u8, count: u8) -> Part {
        Part { reg, first, count, live: ((1u64 << count) - 1) as u32 }
    }

    /// The registers that are really used, as indices into the tuple.
    pub fn units(self) -> impl Iterator<Item = u8> {
        (0..self.count).filter(move |i| self.live >> i & 1 == 1).map(move |i| self.first + i)
    }
}

/// An operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// Absent.
    #[default]
    None,
    /// Virtual registers.
    Part(Part),
    /// A constant or a special register.
    Fixed(Operand),
    /// A block, as the target of a branch.
    Block(u32),
}

/// What an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A row of the tables.
    Machine(Op),
    /// Moves slot 1 to slot 0, register by register; none if both become the same.
    Copy,
    /// From here on the registers of slot 0 hold nothing in particular. No instruction.
    Undef,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// What it is.
    pub kind: Kind,
    /// Operands in the order of the row.
    pub slots: [Slot; MAX_OPERANDS],
    /// Modifiers.
    pub mods: Modifiers,
    /// Results are written while sources are still read, so they may not share registers.
    pub early: bool,
    /// It writes the lanes of one arm and keeps what the other arm, which ends where this block starts, wrote.
    pub keeps: Option<u32>,
    /// Number of the kernel's statement that asked for it.
    pub stmt: u32,
}

impl Inst {
    /// An instruction with operands and nothing else.
    pub fn new(kind: Kind, operands: &[Slot], stmt: u32) -> Inst {
        let mut slots = [Slot::None; MAX_OPERANDS];
        slots[..operands.len()].copy_from_slice(operands);
        Inst { kind, slots, mods: Modifiers::default(), early: false, keeps: None, stmt }
    }

    /// The operation, unless it is a copy or a mark.
    pub fn op(&self) -> Option<Op> {
        match self.kind {
            Kind::Machine(op) => Some(op),
            Kind::Copy | Kind::Undef => None,
        }
    }

    fn specs(&self) -> &'static [OperandSpec] {
        self.op().map_or(&[], |op| op.row().operands)
    }

    /// Whether the operand at an index is written.
    pub fn is_dst(&self, index: usize) -> bool {
        match self.kind {
            Kind::Machine(_) => self.specs().get(index).is_some_and(|spec| spec.is_dst),
            Kind::Copy | Kind::Undef => index == 0,
        }
    }

    /// Whether the row has an effect.
    pub fn has(&self, effect: Effect) -> bool {
        self.op().is_some_and(|op| op.row().has(effect))
    }

    /// Registers that it writes.
    pub fn defs(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts().filter(|(index, _)| self.is_dst(*index)).map(|(_, part)| part)
    }

    /// Registers that it reads.
    pub fn uses(&self) -> impl Iterator<Item = Part> + '_ {
        let reads_dst = self.keeps.is_some() || self.has(Effect::ReadsDst);
        self.parts()
            .filter(move |(index, _)| !self.is_dst(*index) || reads_dst && self.kind != Kind::Undef)
            .map(|(_, part)| part)
    }

    /// Virtual operands with their index.
    pub fn parts(&self) -> impl Iterator<Item = (usize, Part)> + '_ {
        self.slots.iter().enumerate().filter_map(|(index, slot)| match slot {
            Slot::Part(part) => Some((index, *part)),
            _ => None,
        })
    }

    /// The block that it may branch to.
    pub fn target(&self) -> Option<u32> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Block(block) => Some(*block),
            _ => None,
        })
    }

    fn touches(&self, register: impl Fn(SpecialReg) -> bool, dst: bool) -> bool {
        self.slots.iter().enumerate().any(|(index, slot)| match slot {
            Slot::Fixed(Operand::Special(special)) => {
                register(*special) && self.is_dst(index) == dst
            }
            _ => false,
        })
    }

    /// Whether it writes EXEC.
    pub fn writes_exec(&self) -> bool {
        self.has(Effect::WritesExec) || self.touches(is_exec, true)
    }

    /// Whether it reads EXEC as data.
    pub fn reads_exec(&self) -> bool {
        self.has(Effect::ReadsExec) || self.touches(is_exec, false)
    }

    /// Whether it does more than to write its results.
    pub fn has_side_effects(&self) -> bool {
        match self.kind {
            Kind::Machine(Op::Control(_)) => true,
            Kind::Machine(_) => {
                let has_results = self.defs().next().is_some() || self.has(Effect::WritesScc);
                !has_results || self.has(Effect::Atomic) || self.writes_exec()
            }
            Kind::Copy | Kind::Undef => false,
        }
    }

    /// Whether control never reaches the next instruction.
    pub fn is_terminator(&self) -> bool {
        self.has(Effect::Terminator)
    }
}

fn is_exec(register: SpecialReg) -> bool {
    matches!(register, SpecialReg::ExecLo | SpecialReg::ExecHi)
}

/// A straight run of instructions.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its instructions.
    pub insts: Vec<Inst>,
    /// How many loops it lies in.
    pub depth: u32,
}

/// A kernel as machine code.
#[derive(Clone, Debug)]
pub struct Function {
    /// The target.
    pub target: Target,
    /// Facts of the virtual registers.
    pub regs: Vec<RegInfo>,
    /// The blocks, in the order of the code.
    pub blocks: Vec<Block>,
}

impl Function {
    /// A new virtual register.
    pub fn reg(&mut self, class: Class, count: u8, value: Option<Value>) -> Reg {
        let align = natural_alignment(self.target, class, count);
        let (parked, brief) = (false, false);
        self.regs.push(RegInfo { class, count, align, fixed: None, value, parked, brief });
        Reg(self.regs.len() as u32 - 1)
    }

    /// Facts of a register.
    pub fn info(&self, reg: Reg) -> RegInfo {
        self.regs[reg.0 as usize]
    }

    /// All of a register.
    pub fn whole(&self, reg: Reg) -> Part {
        Part::new(reg, 0, self.info(reg).count)
    }

    /// Blocks that control may go to from the end of a block.
    pub fn successors(&self, block: usize) -> Vec<usize> {
        let insts = &self.blocks[block].insts;
        let mut successors: Vec<usize> =
            insts.iter().filter_map(|inst| inst.target()).map(|to| to as usize).collect();
        let falls_through = !insts.last().is_some_and(Inst::is_terminator);
        if falls_through && block + 1 < self.blocks.len() {
            successors.push(block + 1);
        }
        successors
    }

    /// First register of each tuple in a numbering of all single registers, and their number.
    pub fn units(&self) -> (Vec<u32>, u32) {
        let mut end = 0;
        let starts = self.regs.iter().map(|info| {
            let start = end;
            end += u32::from(info.count);
            start
        });
        (starts.collect(), end)
    }
}

/// What the first register of a tuple must be a multiple of (see [`Operand::fits_tuple`]).
pub fn natural_alignment(target: Target, class: Class, count: u8) -> u8 {
    match (class, target) {
        (Class::Scalar, _) => count.min(4).next_power_of_two(),
        (Class::Vector, Target::Gfx950) if count > 1 => 2,
        (Class::Vector, _) => 1,
    }
}

/// Whether an instruction may only be the last of a block.
pub fn ends_block(inst: &Inst) -> bool {
    inst.target().is_some() || matches!(inst.op(), Some(Op::Control(Control::SEndpgm)))
}
