//! What a dispatch moves: bytes by memory, lines of global memory, and modelled clocks of LDS.
//!
//! Every byte access of a lane is noted while its instruction runs and added up when the instruction has
//! issued. Nothing of this runs unless [`Options::stats`](crate::Options::stats) asks for it.
//!
//! LDS clocks follow the rules of [`isa::banks`]: they are modelled, and those by rules that are not
//! published are counted apart. An instruction with two addresses a lane makes two passes. A load to LDS writes
//! the whole width of a lane at once. Lane moves (`ds_permute` and the like) use no bank; they are assumed
//! to take the clocks of a 4-byte read.

use isa::banks::{self, Direction};
use isa::format::Encoding;
use isa::table::Lds;
use isa::{Op, Target};
use serde::Serialize;

use crate::exec::Exec;
use crate::prepare::Prepared;
use crate::report::Class;
use crate::sem::access::Space;

/// Lanes of the widest wave.
const LANES: usize = 64;

/// Bytes of the two granules that global accesses are counted in.
const LINES: [u64; 2] = [64, 128];

/// Global accesses of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GlobalTraffic {
    /// Wave instructions.
    pub instructions: u64,
    /// Bytes that lanes asked for; lanes on one address count each.
    pub bytes: u64,
    /// Different aligned 64-byte lines, counted anew for each instruction.
    pub lines_64: u64,
    /// Different aligned 128-byte lines, counted anew for each instruction.
    pub lines_128: u64,
}

/// LDS accesses of one kind, with modelled clocks of the CU's LDS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LdsTraffic {
    /// Wave instructions.
    pub instructions: u64,
    /// Bytes that lanes asked for.
    pub bytes: u64,
    /// Clocks without conflicts.
    pub clocks: u64,
    /// Clocks that bank conflicts add.
    pub conflict_clocks: u64,
    /// Clocks of both kinds that follow from assumed rules, not from published ones.
    pub assumed_clocks: u64,
}

/// Accesses of one kind to a memory that has neither lines nor banks here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlainTraffic {
    /// Wave instructions.
    pub instructions: u64,
    /// Bytes that lanes asked for; of a scalar load, once a wave.
    pub bytes: u64,
}

/// What a dispatch moved. An instruction counts at each memory that its lanes access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Loads from global memory, those to LDS included.
    pub global_loads: GlobalTraffic,
    /// Stores to global memory.
    pub global_stores: GlobalTraffic,
    /// Atomics on global memory.
    pub global_atomics: GlobalTraffic,
    /// Loads by scalar instructions.
    pub scalar_loads: PlainTraffic,
    /// Loads from scratch.
    pub scratch_loads: PlainTraffic,
    /// Stores to scratch.
    pub scratch_stores: PlainTraffic,
    /// Reads of LDS.
    pub lds_reads: LdsTraffic,
    /// Writes to LDS, those by loads to LDS included.
    pub lds_writes: LdsTraffic,
    /// Atomics on LDS.
    pub lds_atomics: LdsTraffic,
    /// Moves between lanes that occupy LDS without accessing it.
    pub lds_lane_moves: LdsTraffic,
}

impl std::ops::AddAssign for GlobalTraffic {
    fn add_assign(&mut self, other: GlobalTraffic) {
        self.instructions += other.instructions;
        self.bytes += other.bytes;
        self.lines_64 += other.lines_64;
        self.lines_128 += other.lines_128;
    }
}

impl std::ops::AddAssign for LdsTraffic {
    fn add_assign(&mut self, other: LdsTraffic) {
        self.instructions += other.instructions;
        self.bytes += other.bytes;
        self.clocks += other.clocks;
        self.conflict_clocks += other.conflict_clocks;
        self.assumed_clocks += other.assumed_clocks;
    }
}

impl std::ops::AddAssign for PlainTraffic {
    fn add_assign(&mut self, other: PlainTraffic) {
        self.instructions += other.instructions;
        self.bytes += other.bytes;
    }
}

impl std::ops::AddAssign for Traffic {
    fn add_assign(&mut self, other: Traffic) {
        self.global_loads += other.global_loads;
        self.global_stores += other.global_stores;
        self.global_atomics += other.global_atomics;
        self.scalar_loads += other.scalar_loads;
        self.scratch_loads += other.scratch_loads;
        self.scratch_stores += other.scratch_stores;
        self.lds_reads += other.lds_reads;
        self.lds_writes += other.lds_writes;
        self.lds_atomics += other.lds_atomics;
        self.lds_lane_moves += other.lds_lane_moves;
    }
}

/// One access of one lane.
#[derive(Clone, Copy, Debug)]
struct Touch {
    lane: usize,
    space: Space,
    bytes: u32,
    is_write: bool,
}

/// Adds up a dispatch.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    target: Target,
    pending: Vec<Touch>,
    traffic: Traffic,
}

/// Notes one lane's access, where somebody counts.
#[inline]
pub(crate) fn note(
    exec: &mut Exec<'_>,
    inst: &Prepared,
    lane: usize,
    space: Space,
    n_bytes: usize,
    is_write: bool,
) {
    if let Some(collector) = &mut exec.counts.traffic {
        collector.note(inst, Touch { lane, space, bytes: n_bytes as u32, is_write });
    }
}

/// Adds up an instruction that has issued, where somebody counts.
#[inline]
pub(crate) fn issued(exec: &mut Exec<'_>, inst: &Prepared) {
    if let Some(collector) = &mut exec.counts.traffic {
        collector.finish(inst, exec.wave.active);
    }
}

/// Counts a scalar load, where somebody counts.
#[inline]
pub(crate) fn scalar_load(exec: &mut Exec<'_>, n_bytes: u32) {
    if let Some(collector) = &mut exec.counts.traffic {
        collector.traffic.scalar_loads.add(n_bytes.into());
    }
}

fn is_load_to_lds(inst: &Prepared) -> bool {
    inst.class == Class::Vmem && inst.inst.encoding != Encoding::Flat
}

fn is_atomic(inst: &Prepared) -> bool {
    matches!(inst.inst.op, Op::LdsAtomic(_) | Op::FlatAtomic(_) | Op::BufferAtomic(_))
}

fn is_lane_move(inst: &Prepared) -> bool {
    matches!(inst.inst.op, Op::Lds(Lds::DsPermuteB32 | Lds::DsBpermuteB32 | Lds::DsSwizzleB32))
}

impl Collector {
    pub(crate) fn new(target: Target) -> Collector {
        Collector { target, pending: Vec::new(), traffic: Traffic::default() }
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn note(&mut self, inst: &Prepared, touch: Touch) {
        // A load to LDS stores word by word, between its loads, what the hardware writes at once.
        if let Space::Lds(to) = touch.space
            && is_load_to_lds(inst)
            && let Some(last) = self.pending.iter_mut().rev().find(|last| last.is_write)
            && let Space::Lds(from) = last.space
            && last.lane == touch.lane
            && from.wrapping_add(last.bytes) == to
        {
            last.bytes += touch.bytes;
        } else {
            self.pending.push(touch);
        }
    }

    fn finish(&mut self, inst: &Prepared, active: u64) {
        let touches = std::mem::take(&mut self.pending);
        if is_lane_move(inst) {
            self.lane_move(active);
        }
        let of = |space: fn(Space) -> bool, is_write: bool| {
            let wanted = move |touch: &&Touch| space(touch.space) && touch.is_write == is_write;
            touches.iter().filter(wanted).copied().collect::<Vec<Touch>>()
        };
        let [global, lds, scratch]: [fn(Space) -> bool; 3] = [
            |space| matches!(space, Space::Global(_)),
            |space| matches!(space, Space::Lds(_)),
            |space| matches!(space, Space::Scratch(_)),
        ];
        let traffic = &mut self.traffic;
        if is_atomic(inst) {
            // Each lane reads and writes the same bytes.
            traffic.global_atomics.add(&of(global, true));
            traffic.lds_atomics.add(self.target, Direction::Atomic, &of(lds, true));
        } else {
            traffic.global_loads.add(&of(global, false));
            traffic.global_stores.add(&of(global, true));
            traffic.lds_reads.add(self.target, Direction::Read, &of(lds, false));
            traffic.lds_writes.add(self.target, Direction::Write, &of(lds, true));
            traffic.scratch_loads.add_lanes(&of(scratch, false));
            traffic.scratch_stores.add_lanes(&of(scratch, true));
        }
        self.pending = touches;
        self.pending.clear();
    }

    fn lane_move(&mut self, active: u64) {
        let lanes: Vec<Option<u32>> =
            (0..LANES as u32).map(|lane| (active >> lane & 1 == 1).then_some(4 * lane)).collect();
        let clocks = banks::clocks(self.target, Direction::Read, 4, &lanes);
        let moves = &mut self.traffic.lds_lane_moves;
        moves.instructions += 1;
        moves.bytes += 4 * u64::from(active.count_ones());
        moves.clocks += u64::from(clocks.free);
        moves.assumed_clocks += u64::from(clocks.free);
    }
}

impl GlobalTraffic {
    fn add(&mut self, touches: &[Touch]) {
        if touches.is_empty() {
            return;
        }
        self.instructions += 1;
        self.bytes += touches.iter().map(|touch| u64::from(touch.bytes)).sum::<u64>();
        let [lines_64, lines_128] = LINES.map(|line| n_lines(touches, line));
        self.lines_64 += lines_64;
        self.lines_128 += lines_128;
    }
}

fn n_lines(touches: &[Touch], line_bytes: u64) -> u64 {
    let spans = touches.iter().filter_map(|touch| match touch.space {
        Space::Global(address) => Some((address, address + u64::from(touch.bytes) - 1)),
        Space::Lds(_) | Space::Scratch(_) | Space::OutOfRange => None,
    });
    let mut lines: Vec<u64> =
        spans.flat_map(|(first, last)| first / line_bytes..=last / line_bytes).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.len() as u64
}

impl PlainTraffic {
    fn add(&mut self, n_bytes: u64) {
        self.instructions += 1;
        self.bytes += n_bytes;
    }

    fn add_lanes(&mut self, touches: &[Touch]) {
        if !touches.is_empty() {
            self.add(touches.iter().map(|touch| u64::from(touch.bytes)).sum());
        }
    }
}

impl LdsTraffic {
    /// The n-th access of each lane is part of the n-th pass.
    fn add(&mut self, target: Target, direction: Direction, touches: &[Touch]) {
        if touches.is_empty() {
            return;
        }
        self.instructions += 1;
        self.bytes += touches.iter().map(|touch| u64::from(touch.bytes)).sum::<u64>();
        let mut rest = touches.to_vec();
        while let Some(first) = rest.first() {
            let bytes = first.bytes;
            let mut pass = [None; LANES];
            rest.retain(|touch| {
                let (Space::Lds(address), None) = (touch.space, pass[touch.lane]) else {
                    return true;
                };
                pass[touch.lane] = Some(address);
                false
            });
            let clocks = banks::clocks(target, direction, bytes, &pass);
            self.clocks += u64::from(clocks.free);
            self.conflict_clocks += u64::from(clocks.conflict);
            if clocks.is_assumed {
                self.assumed_clocks += u64::from(clocks.free + clocks.conflict);
            }
        }
    }
}
