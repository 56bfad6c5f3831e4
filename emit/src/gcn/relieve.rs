//! Makes room where a kernel needs more registers than a file has, without memory.
//!
//! What lives long and is used seldom leaves its registers: a constant is made again wherever it is read, a scalar that
//! only vector arithmetic reads goes to a VGPR, where that reads it as well, and on gfx950 a vector value goes to
//! accumulation registers, from where it is copied before each use. Everything else keeps its place. A kernel that
//! cannot be relieved is refused.

use std::collections::HashMap;

use isa::table::{Field, Ty};
use isa::{Op, Operand, Target};

use super::Phases;
use super::allocate::{self, Allocation, Shortage};
use super::coalesce::{self, Bundles};
use super::error::Cause;
use super::files;
use super::liveness::{Liveness, Ranges};
use super::mir::{Class, Function, Inst, Kind, Part, Reg, Slot};

/// How often values are moved before a kernel is refused.
const ROUNDS: u32 = 24;
/// Instructions for which a copy made for one use serves later ones.
const SERVES: usize = 12;
/// How many times more often a loop runs than what surrounds it, for choosing what to move.
const PER_LOOP: u64 = 8;

/// Allocates all registers, after making room where that is needed.
///
/// # Errors
/// [`Cause::Registers`] when a class has too few.
pub fn allocate(
    function: &mut Function,
    phases: &Phases,
    max_vgprs: Option<u32>,
) -> Result<Allocation, Cause> {
    let mut round = 0;
    loop {
        let liveness = Liveness::of(function);
        let bundles = coalesce::coalesce(function, &liveness);
        let shortage = match allocate::allocate(function, &bundles, max_vgprs) {
            Ok(allocation) => return Ok(allocation),
            Err(shortage) => shortage,
        };
        let leaving = leaving(function, &liveness, &bundles, (shortage, round));
        if leaving.is_empty() || round == ROUNDS {
            return Err(shortage.cause(function, &liveness, phases));
        }
        leave(function, leaving);
        round += 1;
    }
}

/// How a value leaves its registers.
#[derive(Clone, Copy)]
enum Way {
    /// The constant is made again for each use.
    Again(Operand),
    /// It is parked in this register, and copied for each use.
    Park(Reg),
    /// It is copied to this register, which is used instead.
    Stand(Reg),
}

/// A value that may leave.
struct Candidate {
    reg: Reg,
    /// The constant that it is.
    constant: Option<Operand>,
    /// Registers that become free where most are needed.
    frees: u64,
    /// Moves, each as often as it runs.
    moves: u64,
}

/// The values that leave, cheapest first, until enough registers are free.
fn leaving(
    function: &mut Function,
    liveness: &Liveness,
    bundles: &Bundles,
    (shortage, round): (Shortage, u32),
) -> Vec<(Reg, Way)> {
    let (at, alive) = fullest(function, bundles, shortage.class);
    let mut wanted = u64::from(alive.saturating_sub(shortage.limit) + 2 + 2 * round);
    let mut candidates = candidates(function, liveness, (shortage.class, at));
    candidates.sort_by_key(|candidate| (candidate.moves * 1024 / candidate.frees, candidate.reg));
    let mut leaving = Vec::new();
    for candidate in candidates {
        if wanted == 0 {
            break;
        }
        let way = match candidate.constant {
            Some(constant) => Way::Again(constant),
            None => {
                let info = function.info(candidate.reg);
                let home = function.reg(Class::Vector, info.count, info.value);
                let is_vector = info.class == Class::Vector;
                function.regs[home.0 as usize].parked = is_vector;
                if is_vector { Way::Park(home) } else { Way::Stand(home) }
            }
        };
        wanted = wanted.saturating_sub(candidate.frees);
        leaving.push((candidate.reg, way));
    }
    leaving
}

/// The place where most registers of a class are alive that cannot be accumulation registers, and how many.
fn fullest(function: &Function, bundles: &Bundles, class: Class) -> (u32, u32) {
    let free = files::may_be_acc(function);
    let mut changes: HashMap<u32, i32> = HashMap::new();
    for bundle in bundles.bundles.iter().flatten().filter(|bundle| bundle.class == class) {
        if bundle.members.iter().all(|member| free[member.0 as usize]) {
            continue;
        }
        for (from, to) in bundle.ranges.iter().flatten() {
            *changes.entry(*from).or_default() += 1;
            *changes.entry(*to).or_default() -= 1;
        }
    }
    let mut changes: Vec<(u32, i32)> = changes.into_iter().collect();
    changes.sort_unstable();
    let mut alive = 0;
    let mut most = (0, 0);
    for (at, change) in changes {
        alive += change;
        if alive > most.1 {
            most = (at, alive);
        }
    }
    (most.0, most.1 as u32)
}

/// Values that are alive at a place and may leave.
fn candidates(
    function: &Function,
    liveness: &Liveness,
    (class, at): (Class, u32),
) -> Vec<Candidate> {
    let may_park = class == Class::Vector && function.target == Target::Gfx950;
    let free = files::may_be_acc(function);
    let usage = Usage::of(function, at / 2);
    let mut candidates = Vec::new();
    for (index, info) in function.regs.iter().enumerate() {
        let usage = &usage[index];
        let may_leave = info.class == class
            && info.fixed.is_none()
            && !info.parked
            && !info.brief
            && !free[index]
            && !usage.is_bound;
        let constant = usage.constant.filter(|_| usage.defs == 1);
        let may_stand = class == Class::Scalar && usage.is_vector_source;
        if !may_leave || !(may_park || may_stand || constant.is_some()) {
            continue;
        }
        let start = liveness.starts[index] as usize;
        let units = &liveness.ranges[start..start + usize::from(info.count)];
        let frees = units.iter().filter(|ranges| covers(ranges, at)).count() as u64;
        let moves = match constant {
            Some(_) => usage.reads,
            None if may_stand => usage.writes,
            None => usage.reads + usage.writes,
        };
        if frees > 0 {
            candidates.push(Candidate { reg: Reg(index as u32), constant, frees, moves });
        }
    }
    candidates
}

fn covers(ranges: &Ranges, at: u32) -> bool {
    ranges.iter().any(|(from, to)| (*from..*to).contains(&at))
}

/// How a register is used.
#[derive(Clone, Copy, Default)]
struct Usage {
    /// Registers read and written, each as often as it happens.
    reads: u64,
    writes: u64,
    defs: u32,
    /// What its last definition copies.
    constant: Option<Operand>,
    /// Only instructions that would take a VGPR as well read it, one register at a time.
    is_vector_source: bool,
    /// It cannot leave: lanes of it are kept, or it is used at the fullest place itself.
    is_bound: bool,
}

impl Usage {
    fn of(function: &Function, fullest: u32) -> Vec<Usage> {
        let fresh = Usage { is_vector_source: true, ..Usage::default() };
        let mut all = vec![fresh; function.regs.len()];
        let mut at = 0;
        for block in &function.blocks {
            let times = PER_LOOP.pow(block.depth.min(4));
            for inst in &block.insts {
                for (index, part) in inst.parts() {
                    let usage = &mut all[part.reg.0 as usize];
                    usage.is_vector_source &=
                        inst.is_dst(index) || takes_vgpr(function, inst, index);
                }
                for part in inst.uses() {
                    let usage = &mut all[part.reg.0 as usize];
                    usage.reads += times * u64::from(part.live.count_ones());
                    usage.is_bound |= inst.keeps.is_some() || at == fullest;
                }
                for part in inst.defs() {
                    let usage = &mut all[part.reg.0 as usize];
                    usage.writes += times * u64::from(part.live.count_ones());
                    usage.defs += 1;
                    usage.is_bound |= inst.keeps.is_some() || at == fullest;
                    usage.constant = match (inst.kind, inst.slots[1]) {
                        (Kind::Copy, Slot::Fixed(constant)) => Some(constant),
                        _ => None,
                    };
                }
                at += 1;
            }
        }
        all
    }
}

/// Whether a VGPR could be in the place of one SGPR that an instruction reads.
fn takes_vgpr(function: &Function, inst: &Inst, index: usize) -> bool {
    let Slot::Part(part) = inst.slots[index] else { return false };
    match inst.kind {
        Kind::Copy => match inst.slots[0] {
            Slot::Part(to) => function.info(to.reg).class == Class::Vector,
            _ => false,
        },
        Kind::Undef => false,
        Kind::Machine(op) => {
            let is_arithmetic = matches!(
                op,
                Op::Float(_) | Op::Int(_) | Op::Half(_) | Op::Convert(_) | Op::Packed(_)
            );
            let spec = op.row().operands.get(index);
            let is_source = spec.is_some_and(|spec| {
                spec.ty != Ty::Mask && matches!(spec.field, Field::Src0 | Field::Src1 | Field::Src2)
            });
            is_arithmetic && is_source && part.count == 1
        }
    }
}

/// Rewrites all instructions that use values that leave.
fn leave(function: &mut Function, leaving: Vec<(Reg, Way)>) {
    let ways: HashMap<Reg, Way> = leaving.into_iter().collect();
    for (reg, way) in &ways {
        if let Way::Stand(_) = way {
            function.regs[reg.0 as usize].brief = true;
        }
    }
    for block in 0..function.blocks.len() {
        let insts = std::mem::take(&mut function.blocks[block].insts);
        let mut rewriting =
            Rewriting { function, ways: &ways, recent: Vec::new(), out: Vec::new() };
        insts.into_iter().for_each(|inst| rewriting.inst(inst));
        let out = rewriting.out;
        function.blocks[block].insts = out;
    }
}

/// A copy that was made for one use.
struct Recent {
    of: Reg,
    copy: Reg,
    units: u32,
    at: usize,
}

struct Rewriting<'f> {
    function: &'f mut Function,
    ways: &'f HashMap<Reg, Way>,
    recent: Vec<Recent>,
    out: Vec<Inst>,
}

impl Rewriting<'_> {
    fn inst(&mut self, mut inst: Inst) {
        if self.is_made_again(&inst) {
            return;
        }
        self.stand_in(&mut inst);
        if inst.kind == Kind::Copy && self.copy(&mut inst) {
            self.out.push(inst);
            return;
        }
        let uses: Vec<Part> = inst.uses().collect();
        let defs: Vec<Part> = inst.defs().collect();
        let mut replaced: Vec<(Reg, Reg)> = Vec::new();
        for part in uses.iter().chain(&defs) {
            let is_known = replaced.iter().any(|(reg, _)| *reg == part.reg);
            let stays = matches!(self.ways.get(&part.reg), None | Some(Way::Stand(_)));
            if stays || is_known {
                continue;
            }
            let read = uses.iter().filter(|other| other.reg == part.reg);
            let read = read.fold(0, |units, part| units | units_of(*part));
            let is_written = defs.iter().any(|other| other.reg == part.reg);
            let copy = self.fetch(part.reg, read, is_written, inst.stmt);
            replaced.push((part.reg, copy));
        }
        for slot in &mut inst.slots {
            if let Slot::Part(part) = slot
                && let Some((_, copy)) = replaced.iter().find(|(reg, _)| *reg == part.reg)
            {
                part.reg = *copy;
            }
        }
        self.out.push(inst);
        for part in defs {
            if let Some(Way::Stand(home)) = self.ways.get(&part.reg) {
                self.moves((*home, part.reg), units_of(part), inst.stmt);
            }
            let copy = replaced.iter().find(|(reg, _)| *reg == part.reg);
            if let (Some(Way::Park(home)), Some((_, copy))) = (self.ways.get(&part.reg), copy) {
                self.recent.retain(|recent| recent.of != part.reg);
                self.moves((*home, *copy), units_of(part), inst.stmt);
            }
        }
    }

    /// Reads what stands in for values that have left.
    fn stand_in(&self, inst: &mut Inst) {
        for index in 0..inst.slots.len() {
            let is_dst = inst.is_dst(index);
            if let Slot::Part(part) = &mut inst.slots[index]
                && let (Some(Way::Stand(home)), false) = (self.ways.get(&part.reg), is_dst)
            {
                part.reg = *home;
            }
        }
    }

    /// Whether an instruction only makes a constant that is made again for each use.
    fn is_made_again(&self, inst: &Inst) -> bool {
        let is_again = |part: Part| matches!(self.ways.get(&part.reg), Some(Way::Again(_)));
        inst.defs().any(is_again)
    }

    /// Lets a copy go to where its sides have left for; false if neither has or one move does not do it.
    fn copy(&mut self, inst: &mut Inst) -> bool {
        let [mut to, mut from, ..] = inst.slots;
        let mut has_left = false;
        if let Slot::Part(part) = from {
            match self.ways.get(&part.reg) {
                Some(Way::Park(home)) => from = Slot::Part(Part { reg: *home, ..part }),
                Some(Way::Again(constant)) => from = Slot::Fixed(*constant),
                Some(Way::Stand(_)) | None => {}
            }
            has_left = from != inst.slots[1];
        }
        if let Slot::Part(part) = to
            && let Some(Way::Park(home)) = self.ways.get(&part.reg)
        {
            if !files::reaches_acc(self.function, from) {
                return false;
            }
            self.recent.retain(|recent| recent.of != part.reg);
            to = Slot::Part(Part { reg: *home, ..part });
            has_left = true;
        }
        (inst.slots[0], inst.slots[1]) = (to, from);
        has_left
    }

    /// The registers of a value for one instruction.
    fn fetch(&mut self, reg: Reg, units: u32, is_written: bool, stmt: u32) -> Reg {
        let now = self.out.len();
        self.recent.retain(|recent| recent.at + SERVES > now);
        let known =
            self.recent.iter().find(|recent| recent.of == reg && recent.units & units == units);
        if let (Some(known), false) = (known, is_written) {
            return known.copy;
        }
        let info = self.function.info(reg);
        let copy = self.function.reg(info.class, info.count, info.value);
        let new = &mut self.function.regs[copy.0 as usize];
        (new.align, new.brief) = (info.align, true);
        match self.ways.get(&reg) {
            Some(Way::Park(home)) => self.moves((copy, *home), units, stmt),
            Some(Way::Again(constant)) => {
                for (first, count) in runs(units) {
                    let slots = [Slot::Part(Part::new(copy, first, count)), Slot::Fixed(*constant)];
                    self.out.push(Inst::new(Kind::Copy, &slots, stmt));
                }
            }
            Some(Way::Stand(_)) | None => {}
        }
        if !is_written {
            self.recent.push(Recent { of: reg, copy, units, at: now });
        }
        copy
    }

    fn moves(&mut self, (to, from): (Reg, Reg), units: u32, stmt: u32) {
        for (first, count) in runs(units) {
            let slots = [to, from].map(|reg| Slot::Part(Part::new(reg, first, count)));
            self.out.push(Inst::new(Kind::Copy, &slots, stmt));
        }
    }
}

fn units_of(part: Part) -> u32 {
    part.units().fold(0, |units, unit| units | 1 << unit)
}

/// Runs of set bits: first and number.
fn runs(units: u32) -> Vec<(u8, u8)> {
    let mut runs = Vec::new();
    let mut at = 0u8;
    while at < 32 {
        if units >> at & 1 == 0 {
            at += 1;
            continue;
        }
        let count = (!(units >> at)).trailing_zeros().min(u32::from(32 - at)) as u8;
        runs.push((at, count));
        at += count;
    }
    runs
}
