//! Waits for memory: as late as possible, and for as little as the counters can say.
//!
//! Each counter has a list of operations that may still be under way, with the number of younger ones of the same
//! counter. A register that one of them will write may be neither read nor written before a wait that lets at most so
//! many younger ones be outstanding. Where paths meet, the lists are joined and the smaller numbers count.
//!
//! Scalar loads return out of order, so only a count of zero means anything while one is outstanding. Data of stores
//! are read when the store issues (LLVM 22 waits for neither either), and no operation of this back end reads what an
//! earlier store of the same wave wrote to global memory. LDS operations of a wave stay in order among themselves;
//! those of different waves do not, so all are waited for before a barrier.

use std::collections::BTreeMap;

use isa::slots::Slots;
use isa::table::{Control, Counter, Effect};
use isa::waits::WaitCounts;
use isa::{Op, Operand, Target};

use super::error::Cause;
use super::finish::{Code, Placed, machine};
use super::layout::successors;

/// Instructions within which loads count as issued together.
const TOGETHER: u32 = 16;
/// Ages beyond this one are told apart no more.
const OLD: u32 = 128;

/// An operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    /// What it will write.
    slots: Option<Slots>,
    /// Younger operations of the same counter, at least.
    younger: u32,
    /// Instructions since it was issued, at most.
    age: u32,
    /// Scalar memory.
    is_scalar: bool,
}

/// Operations under way, by counter and by the instruction that started them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    vector: BTreeMap<u32, Pending>,
    local: BTreeMap<u32, Pending>,
}

/// The counts that must be waited for.
#[derive(Clone, Copy, Debug, Default)]
struct Needed {
    vector: Option<u32>,
    local: Option<u32>,
}

/// Inserts waits.
///
/// # Errors
/// [`Cause::Internal`] if a wait cannot be made.
pub fn insert(target: Target, code: &mut Code) -> Result<(), Cause> {
    let entries = entry_states(target, code);
    let mut site = 0;
    for (block, mut state) in code.iter_mut().zip(entries) {
        let mut out = Vec::with_capacity(block.len() + block.len() / 4);
        for placed in block.drain(..) {
            let needed = state.needed(target, &placed.inst);
            if let Some(counts) = needed.counts(target) {
                let mut operands = [Operand::None; isa::inst::MAX_OPERANDS];
                operands[0] = Operand::Imm(counts.to_imm(target));
                let op = Op::Control(Control::SWaitcnt);
                let inst = machine(target, op, operands, Default::default())?;
                out.push(Placed { inst, target: None, stmt: placed.stmt });
            }
            state.step(target, &placed.inst, needed, site);
            site += 1;
            out.push(placed);
        }
        *block = out;
    }
    Ok(())
}

/// What is under way at the start of every block.
fn entry_states(target: Target, code: &Code) -> Vec<State> {
    let mut entries: Vec<Option<State>> = vec![None; code.len()];
    let sites: Vec<u32> = code
        .iter()
        .scan(0, |at, block| {
            let first = *at;
            *at += block.len() as u32;
            Some(first)
        })
        .collect();
    let mut work = vec![0];
    if let Some(first) = entries.first_mut() {
        *first = Some(State::default());
    }
    while let Some(block) = work.pop() {
        let Some(mut state) = entries[block].clone() else { continue };
        for (placed, site) in code[block].iter().zip(sites[block]..) {
            let needed = state.needed(target, &placed.inst);
            state.step(target, &placed.inst, needed, site);
        }
        for next in successors(code, block) {
            let joined = match &entries[next] {
                Some(known) => known.joined(&state),
                None => state.clone(),
            };
            if entries[next].as_ref() != Some(&joined) {
                entries[next] = Some(joined);
                work.push(next);
            }
        }
    }
    entries.into_iter().map(Option::unwrap_or_default).collect()
}

impl State {
    fn joined(&self, other: &State) -> State {
        State { vector: join(&self.vector, &other.vector), local: join(&self.local, &other.local) }
    }

    fn needed(&self, target: Target, inst: &isa::Inst) -> Needed {
        let mut needed = Needed::default();
        let want = |slot: &mut Option<u32>, count: u32| {
            *slot = Some(slot.map_or(count, |known| known.min(count)));
        };
        if matches!(inst.op, Op::Control(Control::SBarrier)) && !self.local.is_empty() {
            want(&mut needed.local, 0);
        }
        let is_mixed = self.local.values().any(|pending| pending.is_scalar);
        for touched in registers(inst, target) {
            let meets =
                |pending: &&Pending| pending.slots.is_some_and(|slots| slots.overlaps(touched));
            if let Some(count) = together(&self.vector, meets) {
                want(&mut needed.vector, count);
            }
            if let Some(count) = together(&self.local, meets) {
                want(&mut needed.local, if is_mixed { 0 } else { count });
            }
        }
        needed
    }

    /// The state after waiting and after an instruction.
    fn step(&mut self, target: Target, inst: &isa::Inst, needed: Needed, site: u32) {
        if let Some(count) = needed.vector {
            self.vector.retain(|_, pending| pending.younger < count);
        }
        if let Some(count) = needed.local {
            self.local.retain(|_, pending| pending.younger < count);
        }
        for pending in self.vector.values_mut().chain(self.local.values_mut()) {
            pending.age = (pending.age + 1).min(OLD);
        }
        for counter in inst.counters(target) {
            let list = match counter {
                Counter::Vm => &mut self.vector,
                Counter::Lgkm => &mut self.local,
                Counter::Vs | Counter::Exp => continue,
            };
            list.values_mut().for_each(|pending| pending.younger += 1);
            // What is far beyond the counter's depth has long arrived when a new one can be counted.
            list.retain(|_, pending| pending.younger < 64);
            let pending = Pending {
                slots: result(inst, target),
                younger: 0,
                age: 0,
                is_scalar: is_scalar(inst),
            };
            list.insert(site, pending);
        }
    }
}

/// How many operations may be outstanding once those that meet, and loads issued together with them, are done.
fn together(list: &BTreeMap<u32, Pending>, meets: impl Fn(&&Pending) -> bool) -> Option<u32> {
    let met = list.values().filter(meets).min_by_key(|pending| (pending.younger, pending.age))?;
    let with = |pending: &&Pending| {
        pending.slots.is_some()
            && pending.age < OLD
            && pending.younger <= met.younger
            && pending.age + TOGETHER >= met.age
    };
    list.values().filter(with).map(|pending| pending.younger).min().or(Some(met.younger))
}

fn join(a: &BTreeMap<u32, Pending>, b: &BTreeMap<u32, Pending>) -> BTreeMap<u32, Pending> {
    let mut joined = a.clone();
    for (site, pending) in b {
        let known = joined.entry(*site).or_insert(*pending);
        known.younger = known.younger.min(pending.younger);
        known.age = known.age.max(pending.age);
    }
    joined
}

fn is_scalar(inst: &isa::Inst) -> bool {
    matches!(inst.op, Op::Smem(_))
}

/// The registers that a memory operation writes when it is done.
fn result(inst: &isa::Inst, target: Target) -> Option<Slots> {
    let index = inst.row().operands.iter().position(|spec| spec.is_dst)?;
    Slots::of(inst.operands[index], inst.registers(index, target))
}

/// All registers that an instruction reads or writes.
fn registers(inst: &isa::Inst, target: Target) -> impl Iterator<Item = Slots> {
    let inst = *inst;
    let operands = (0..inst.row().operands.len())
        .filter_map(move |index| Slots::of(inst.operands[index], inst.registers(index, target)));
    let vcc = inst.row().has(Effect::ReadsVcc).then(|| Slots::vcc(target.wave_width()));
    operands.chain(vcc)
}

impl Needed {
    fn counts(self, target: Target) -> Option<WaitCounts> {
        if self.vector.is_none() && self.local.is_none() {
            return None;
        }
        let mut counts = WaitCounts::none(target);
        counts.vm = self.vector.map_or(counts.vm, |count| count.min(counts.vm));
        counts.lgkm = self.local.map_or(counts.lgkm, |count| count.min(counts.lgkm));
        Some(counts)
    }
}
