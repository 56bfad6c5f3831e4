//! Where each single register is alive.
//!
//! Instruction `p` reads at `2p` and writes at `2p + 1`; a register is alive from a write to the last read of it, in
//! half-open ranges of these places. An instruction whose results may not share registers with its sources writes at
//! `2p` already.

use super::mir::{Function, Inst, Kind, Reg};

/// Ranges of places in ascending order.
pub type Ranges = Vec<(u32, u32)>;

/// Liveness of a function.
pub struct Liveness {
    /// First register of each tuple in the numbering of all single registers.
    pub starts: Vec<u32>,
    /// Ranges of every single register.
    pub ranges: Vec<Ranges>,
    /// First instruction of every block, in one numbering.
    pub firsts: Vec<u32>,
    /// What is alive at the start of the first block: inputs, and registers read before they are written.
    pub at_entry: Vec<u32>,
    /// What is alive at the start of every block.
    live_in: Vec<Set>,
}

/// A set of single registers.
#[derive(Clone, PartialEq, Eq)]
pub struct Set(Vec<u64>);

impl Set {
    /// An empty set of members below a number.
    pub fn new(count: u32) -> Set {
        Set(vec![0; (count as usize).div_ceil(64)])
    }

    /// Whether it has a member.
    pub fn contains(&self, unit: u32) -> bool {
        self.0[unit as usize / 64] >> (unit % 64) & 1 == 1
    }

    /// Adds a member.
    pub fn insert(&mut self, unit: u32) {
        self.0[unit as usize / 64] |= 1 << (unit % 64);
    }

    /// Takes one away.
    pub fn remove(&mut self, unit: u32) {
        self.0[unit as usize / 64] &= !(1 << (unit % 64));
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word as u32 * 64 + bit)
        })
    }
}

impl Liveness {
    /// Computes it.
    pub fn of(function: &Function) -> Liveness {
        let (starts, count) = function.units();
        let live_in = block_sets(function, &starts, count);
        let mut firsts = Vec::new();
        let mut at = 0;
        for block in &function.blocks {
            firsts.push(at);
            at += block.insts.len() as u32;
        }
        let mut liveness = Liveness {
            starts,
            ranges: vec![Vec::new(); count as usize],
            firsts,
            at_entry: live_in.first().map(|set| set.iter().collect()).unwrap_or_default(),
            live_in: Vec::new(),
        };
        let mut open = vec![u32::MAX; count as usize];
        for block in (0..function.blocks.len()).rev() {
            liveness.block(function, block, &live_in, &mut open);
        }
        liveness.live_in = live_in;
        for ranges in &mut liveness.ranges {
            ranges.reverse();
            join_neighbours(ranges);
        }
        liveness
    }

    /// Registers and their parts that are alive at the start of a block.
    pub fn at_start_of(&self, block: usize) -> impl Iterator<Item = (Reg, u8)> + '_ {
        self.live_in[block].iter().map(|unit| {
            let reg = self.starts.partition_point(|start| *start <= unit) - 1;
            (Reg(reg as u32), (unit - self.starts[reg]) as u8)
        })
    }

    /// Adds the ranges of a block, last ones first. `open` has the end of every range whose start is not reached yet, and is
    /// left as it was found: without any.
    fn block(&mut self, function: &Function, block: usize, live_in: &[Set], open: &mut [u32]) {
        let insts = &function.blocks[block].insts;
        let first = self.firsts[block];
        let end = 2 * (first + insts.len() as u32);
        let mut alive = Set::new(self.ranges.len() as u32);
        for successor in function.successors(block) {
            for unit in live_in[successor].iter() {
                alive.insert(unit);
                open[unit as usize] = end;
            }
        }
        for (index, inst) in insts.iter().enumerate().rev() {
            let at = 2 * (first + index as u32);
            let written = if inst.early { at } else { at + 1 };
            for unit in units(inst.defs(), &self.starts) {
                let until = std::mem::replace(&mut open[unit as usize], u32::MAX);
                alive.remove(unit);
                if inst.kind == Kind::Undef && until == u32::MAX {
                    continue;
                }
                let until = if until == u32::MAX { at + 2 } else { until };
                self.ranges[unit as usize].push((written, until.max(written + 1)));
            }
            for unit in units(inst.uses(), &self.starts) {
                if open[unit as usize] == u32::MAX {
                    open[unit as usize] = at + 1;
                    alive.insert(unit);
                }
            }
        }
        for unit in alive.iter() {
            let until = std::mem::replace(&mut open[unit as usize], u32::MAX);
            self.ranges[unit as usize].push((2 * first, until));
        }
    }
}

/// The single registers of operands.
pub fn units<'a>(
    parts: impl Iterator<Item = super::mir::Part> + 'a,
    starts: &'a [u32],
) -> impl Iterator<Item = u32> + 'a {
    parts.flat_map(move |part| {
        let start = starts[part.reg.0 as usize];
        part.units().map(move |unit| start + u32::from(unit))
    })
}

/// What is alive at the start of every block.
fn block_sets(function: &Function, starts: &[u32], count: u32) -> Vec<Set> {
    let gen_kill: Vec<(Set, Set)> =
        function.blocks.iter().map(|block| summary(&block.insts, starts, count)).collect();
    let mut live_in = vec![Set::new(count); function.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..function.blocks.len()).rev() {
            let mut out = Set::new(count);
            for successor in function.successors(block) {
                out.0.iter_mut().zip(&live_in[successor].0).for_each(|(to, from)| *to |= from);
            }
            let (read, written) = &gen_kill[block];
            for (word, bits) in out.0.iter_mut().enumerate() {
                *bits = *bits & !written.0[word] | read.0[word];
            }
            changed |= out != live_in[block];
            live_in[block] = out;
        }
    }
    live_in
}

/// Registers read before they are written, and registers written.
fn summary(insts: &[Inst], starts: &[u32], count: u32) -> (Set, Set) {
    let (mut read, mut written) = (Set::new(count), Set::new(count));
    for inst in insts.iter().rev() {
        for unit in units(inst.defs(), starts) {
            written.insert(unit);
            read.remove(unit);
        }
        for unit in units(inst.uses(), starts) {
            read.insert(unit);
        }
    }
    (read, written)
}

fn join_neighbours(ranges: &mut Ranges) {
    ranges.sort_unstable();
    ranges.dedup_by(|later, earlier| {
        let touches = later.0 <= earlier.1;
        if touches {
            earlier.1 = earlier.1.max(later.1);
        }
        touches
    });
}

/// Whether two registers are alive at one place. The ranges of the one that has fewer are looked up in those of the other.
pub fn overlap(a: &Ranges, b: &Ranges) -> bool {
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut rest = &many[..];
    few.iter().any(|(from, to)| {
        rest = &rest[rest.partition_point(|range| range.1 <= *from)..];
        rest.first().is_some_and(|range| range.0 < *to)
    })
}

/// Adds the ranges of another register.
pub fn unite(ranges: &mut Ranges, others: &Ranges) {
    let Some((first, _)) = others.first() else { return };
    let is_behind = ranges.last().is_none_or(|last| last.1 < *first);
    ranges.extend(others);
    if !is_behind {
        join_neighbours(ranges);
    }
}
