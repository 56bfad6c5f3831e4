//! What a kernel's code holds and waits for, place by place: for people who look for registers or time.
//!
//! Registers are counted before copies between equal registers are dropped, waits and stalls in the finished code. Stalls
//! are a *model*: one wave alone, every instruction once from top to bottom, with the latencies of [`isa::latency`].

use std::collections::{BTreeMap, VecDeque};

use isa::latency::result_slots;
use isa::slots::Slots;
use isa::table::{Control, Counter};
use isa::waits::WaitCounts;
use isa::{Op, Operand, Target, disassemble};

use super::allocate::Allocation;
use super::files::FIRST_ACC;
use super::finish::Placed;
use super::liveness::Liveness;
use super::mir::{Class, Function, Part, Reg};
use super::{Phase, Phases};

/// What the author's statements hold and wait for.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Statements, by the numbers at places and lines.
    pub phases: Phases,
    /// Registers that are alive, instruction by instruction.
    pub places: Vec<Place>,
    /// Values alive where most VGPRs are, the largest first.
    pub at_peak: Vec<Alive>,
    /// The finished code.
    pub lines: Vec<Line>,
}

/// Registers that are alive around an instruction: what it reads and writes, and what others will read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The statement.
    pub stmt: u32,
    /// Live VGPRs.
    pub vgprs: u32,
    /// Live SGPRs, special ones apart.
    pub sgprs: u32,
    /// Live accumulation registers.
    pub agprs: u32,
}

/// A value that is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alive {
    /// Its number in the simplified kernel; none for what the back end made for itself.
    pub value: Option<u32>,
    /// Where its author wrote it; empty for what the back end made for itself.
    pub phase: String,
    /// VGPRs of it that are alive.
    pub vgprs: u32,
}

/// An instruction of the finished code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Byte offset from the kernel's entry.
    pub offset: u32,
    /// The statement.
    pub stmt: u32,
    /// Its text.
    pub text: String,
    /// Issue slots for which the model holds it back.
    pub stall_slots: u32,
    /// Whether it is a wait for memory.
    pub is_wait: bool,
    /// Whether it only lets time pass: issue slots that it takes for that.
    pub idle_slots: u32,
}

/// Looks at the code of a kernel.
pub(super) fn profile(
    function: &Function,
    allocation: &Allocation,
    phases: &Phases,
    code: &[Placed],
) -> Profile {
    let liveness = Liveness::of(function);
    let (places, peak) = places(function, &liveness, allocation);
    let at_peak = alive(function, &liveness, phases, peak);
    Profile { phases: phases.clone(), places, at_peak, lines: lines(function.target, code) }
}

/// The file of each single register, and its ranges.
fn units<'f>(
    function: &'f Function,
    liveness: &'f Liveness,
) -> impl Iterator<Item = (Reg, u8, &'f [(u32, u32)])> {
    let regs = function.regs.iter().zip(&liveness.starts).zip(0..);
    regs.flat_map(move |((info, start), reg)| {
        (0..info.count).map(move |unit| {
            let ranges = &liveness.ranges[*start as usize + usize::from(unit)];
            (Reg(reg), unit, ranges.as_slice())
        })
    })
}

/// Live registers at every instruction, each number once, and the place where most VGPRs are alive.
fn places(function: &Function, liveness: &Liveness, allocation: &Allocation) -> (Vec<Place>, u32) {
    let stmts: Vec<u32> =
        function.blocks.iter().flat_map(|block| &block.insts).map(|inst| inst.stmt).collect();
    let mut places: Vec<Place> =
        stmts.iter().map(|stmt| Place { stmt: *stmt, ..Place::default() }).collect();
    // Several virtual registers with the same contents may share a number.
    let mut taken: BTreeMap<(Class, u32), Vec<(u32, u32)>> = BTreeMap::new();
    for (reg, unit, ranges) in units(function, liveness) {
        let number = allocation.number(Part::new(reg, unit, 1));
        let of_number = taken.entry((function.info(reg).class, number)).or_default();
        of_number.extend_from_slice(ranges);
    }
    for ((class, number), mut ranges) in taken {
        ranges.sort_unstable();
        let mut done = 0;
        for (from, to) in ranges {
            // An instruction is two halves of a range: it reads, then writes.
            let (first, end) = (from / 2, to.div_ceil(2));
            for place in places.iter_mut().take(end as usize).skip(first.max(done) as usize) {
                match class {
                    Class::Scalar => place.sgprs += 1,
                    Class::Vector if number >= FIRST_ACC => place.agprs += 1,
                    Class::Vector => place.vgprs += 1,
                }
            }
            done = done.max(end);
        }
    }
    let peak = (0..).zip(&places).max_by_key(|(_, place)| place.vgprs).map_or(0, |(at, _)| at);
    (places, peak)
}

/// What is alive at a place, in VGPRs.
fn alive(function: &Function, liveness: &Liveness, phases: &Phases, place: u32) -> Vec<Alive> {
    let mut counts: BTreeMap<Option<u32>, u32> = BTreeMap::new();
    for (reg, _, ranges) in units(function, liveness) {
        let info = function.info(reg);
        let is_alive = ranges.iter().any(|(from, to)| from / 2 <= place && place < to.div_ceil(2));
        if is_alive && info.class == Class::Vector {
            *counts.entry(info.value.map(|value| value.0)).or_default() += 1;
        }
    }
    let phase = |number: Option<u32>| {
        let of = |phase: &&Phase| phase.value.is_some_and(|value| Some(value.0) == number);
        phases.iter().find(of).map(|phase| phase.text.clone()).unwrap_or_default()
    };
    let mut alive: Vec<Alive> = counts
        .into_iter()
        .map(|(value, vgprs)| Alive { value, phase: phase(value), vgprs })
        .collect();
    alive.sort_by_key(|alive| std::cmp::Reverse(alive.vgprs));
    alive
}

/// The clock of one wave.
#[derive(Default)]
struct Clock {
    now: u32,
    /// When the results of instructions that nobody must wait for are there.
    ready: Vec<(Slots, u32)>,
    /// When operations of each counter are done, in the order in which they began.
    vector: VecDeque<u32>,
    local: VecDeque<u32>,
}

fn lines(target: Target, code: &[Placed]) -> Vec<Line> {
    let mut clock = Clock::default();
    let mut offset = 0;
    let line = |placed: &Placed| {
        let inst = &placed.inst;
        let is_wait = matches!(inst.op, Op::Control(Control::SWaitcnt));
        let idle_slots = match (inst.op, inst.operands[0]) {
            (Op::Control(Control::SNop), Operand::Imm(count)) => u32::from(count) + 1,
            _ => 0,
        };
        let stall_slots = clock.issue(target, inst, is_wait, idle_slots.max(1));
        let text = disassemble(target, inst);
        let at = offset;
        offset += u32::from(inst.size_bytes);
        Line { offset: at, stmt: placed.stmt, text, stall_slots, is_wait, idle_slots }
    };
    code.iter().map(line).collect()
}

impl Clock {
    /// Issues an instruction; for how many slots it was held back.
    fn issue(&mut self, target: Target, inst: &isa::Inst, is_wait: bool, takes: u32) -> u32 {
        let operands = 0..inst.row().operands.len();
        let slots: Vec<(bool, Slots)> = operands
            .filter_map(|index| {
                let slots = Slots::of(inst.operands[index], inst.registers(index, target))?;
                Some((inst.row().operands[index].is_dst, slots))
            })
            .collect();
        let touched = |at: &Slots| slots.iter().any(|(_, slots)| slots.overlaps(*at));
        let pending = self.ready.iter().filter(|(at, _)| touched(at)).map(|(_, when)| *when);
        let mut begin = pending.fold(self.now, u32::max);
        if is_wait {
            begin = begin.max(self.waited(target, inst));
        }
        let stall = begin - self.now;
        self.now = begin + takes;
        self.ready.retain(|(_, when)| *when > begin);
        self.begin(target, inst, &slots, begin + result_slots(inst.op, target));
        stall
    }

    /// When everything is done that a wait asks for.
    fn waited(&mut self, target: Target, inst: &isa::Inst) -> u32 {
        let Operand::Imm(imm) = inst.operands[0] else { return 0 };
        let counts = WaitCounts::from_imm(target, imm);
        let mut done = 0;
        for (list, count) in [(&mut self.vector, counts.vm), (&mut self.local, counts.lgkm)] {
            while list.len() > count as usize {
                done = done.max(list.pop_front().unwrap_or(0));
            }
        }
        done
    }

    fn begin(&mut self, target: Target, inst: &isa::Inst, slots: &[(bool, Slots)], done: u32) {
        let mut counted = false;
        for counter in inst.counters(target) {
            counted = true;
            match counter {
                Counter::Vm => self.vector.push_back(done),
                Counter::Lgkm => self.local.push_back(done),
                // The back end waits for no store.
                Counter::Vs | Counter::Exp => {}
            }
        }
        if !counted {
            let results = slots.iter().filter(|(is_dst, _)| *is_dst);
            self.ready.extend(results.map(|(_, slots)| (*slots, done)));
        }
    }
}
