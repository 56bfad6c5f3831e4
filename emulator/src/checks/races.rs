//! Accesses of different waves to the same byte, at least one of them a write, that nothing orders.
//!
//! Inside a workgroup only a barrier orders, and only what was complete when its wave reached it:
//!
//! | data | what must be waited for before the barrier | what the reader does after it |
//! |---|---|---|
//! | LDS | every access, by its counter | – |
//! | global, gfx950; gfx1100 in CU mode | nothing: one CU keeps the order | – |
//! | global, gfx1100 in WGP mode | loads (VMCNT) and stores (VSCNT) | `buffer_gl0_inv` |
//!
//! Between workgroups of a dispatch nothing orders but atomics. Atomics do not race with each other, nor
//! do loads and stores that bypass the caches of their CU (`sc0`, `sc1`, `glc`), which is how compilers
//! write atomic loads.
//!
//! [`LdsOrder::Conservative`](crate::LdsOrder::Conservative) also asks for a wait between conflicting
//! LDS accesses of one wave.
//!
//! Stores to LDS of what it holds already conflict with nothing: compilers keep copies of a tile in several waves
//! and store it from each. What differs from them still conflicts with them.
//!
//! A plain load that only atomics disturb is excused by a compare-and-swap of its wave (`exchange.rs`).
//!
//! What this misses: conflicts between lanes of one wave; of several atomics on a byte, and of more than
//! two readers of it, those before the last; whether an order made by atomics covers the data (a wave
//! that ran a returning atomic or an atomic load is taken to come after all earlier waves and workgroups that
//! ran one, and hands that on to its workgroup at the next barrier);
//! cache operations between workgroups; scalar loads; a wave's memory instructions beyond the first 2^24
//! and a kernel's beyond the first 8191. Waves run in one order, so a conflict on a path that this order
//! does not take goes unseen. Atomic stores of gfx1100 have no bit that tells them from plain ones and
//! count as plain.
//!
//! Sources: AMDGPUUsage (LLVM 22), memory model tables of GFX942 and GFX10–GFX11, kernel descriptor
//! (`ENABLE_WGP_MODE`); CDNA3 and RDNA3 ISA manuals, `S_BARRIER`.

use std::collections::{BTreeMap, BTreeSet};

use isa::{Op, Target};

use super::exchange::{self, Pending, Unproven};
use super::shadow::{Cell, Shadow, Stamp};
use super::waits::{ORDERS, Order};
use crate::exec::Exec;
use crate::finding::{Findings, Rule};
use crate::launch::Launch;
use crate::machine::{LdsOrder, Options};
use crate::operand::Dest;
use crate::prepare::Prepared;
use crate::sem::access::Space;
use crate::wave::Wave;

/// Waves that a workgroup can have.
const MAX_WAVES: usize = 32;

/// By wave and kind of order: accesses with lower numbers.
type Frontier = [[u32; ORDERS]; MAX_WAVES];

/// A memory instruction of the kernel.
#[derive(Clone, Copy, Debug)]
struct SiteInfo {
    pc: u64,
    order: Order,
    is_atomic: bool,
    /// Reads and writes in one step, unlike atomic loads and stores.
    is_read_modify_write: bool,
    /// An atomic that gives a value: its wave comes after those that ran atomics before.
    is_acquiring: bool,
}

fn is_atomic(inst: &Prepared) -> bool {
    matches!(inst.inst.op, Op::LdsAtomic(_) | Op::FlatAtomic(_) | Op::BufferAtomic(_))
}

/// What an instruction does to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// A store to LDS of what is there already.
    Rewrite,
}

/// What an earlier access and this one break.
#[derive(Clone, Copy, Debug)]
struct Conflict {
    earlier: Stamp,
    address: u64,
    kind: Kind,
    is_earlier_write: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// No barrier between them.
    NoBarrier,
    /// A barrier, but the earlier one was not known to be complete at it.
    NotWaitedFor,
    /// Ordered, but the reader's cache may hold the old value.
    NotInvalidated,
    /// Of different workgroups.
    Workgroups,
    /// Of one wave, in the conservative mode.
    SameWave,
}

/// The state of the checks for one dispatch; by default they are off.
#[derive(Debug, Default)]
pub(crate) struct Races {
    is_on: bool,
    is_conservative: bool,
    /// Barriers order global accesses that were waited for, and caches are invalidated (WGP mode).
    needs_waits: bool,
    grid: [u32; 3],
    global: Shadow,
    sites: Vec<SiteInfo>,
    places: BTreeMap<u64, usize>,
    /// The instruction of the last access, and its stamp.
    current: Option<(u64, Stamp)>,
    /// Workgroups that ran an atomic on global memory.
    released_workgroups: BTreeSet<u32>,
    /// The workgroup whose turn it is.
    group: GroupRaces,
}

/// What the checks know of one workgroup.
#[derive(Debug, Default)]
pub(crate) struct GroupRaces {
    number: u32,
    lds: Shadow,
    /// Complete when the last barrier opened.
    complete: Frontier,
    /// Issued when the last barrier opened.
    issued: Frontier,
    /// By reader: what its loads are sure to see.
    visible: Vec<Frontier>,
    /// Waves that ran an atomic, and one whose result orders: a returning one, or an atomic load.
    released: u32,
    acquired: u32,
    /// A wave had acquired before the last barrier: what it is ordered behind, all waves now are.
    has_handed_on: bool,
    /// Loads that a compare-and-swap may still prove harmless.
    unproven: Unproven,
}

impl Races {
    pub(crate) fn new(launch: &Launch<'_>, options: &Options) -> Races {
        let descriptor = &launch.kernel.descriptor;
        let is_conservative = options.lds_order == LdsOrder::Conservative;
        let width = launch.target.wave_width();
        let is_alone = launch.work_items() <= width && launch.workgroups == [1; 3];
        Races {
            is_on: options.watches_races() && (!is_alone || is_conservative),
            is_conservative,
            needs_waits: launch.target == Target::Gfx1100 && descriptor.wgp_mode,
            grid: launch.workgroups,
            ..Races::default()
        }
    }

    /// Whether accesses have to be shown to [`check`].
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// What is known of a workgroup that starts.
    pub(crate) fn start_workgroup(&self, [x, y, z]: [u32; 3]) -> GroupRaces {
        let [nx, ny, _] = self.grid;
        let number = (u64::from(z) * u64::from(ny) + u64::from(y)) * u64::from(nx) + u64::from(x);
        let n_readers = if self.is_on { MAX_WAVES } else { 0 };
        GroupRaces {
            number: (number % u64::from(Stamp::WORKGROUPS)) as u32,
            visible: vec![[[0; ORDERS]; MAX_WAVES]; n_readers],
            ..GroupRaces::default()
        }
    }

    /// Another workgroup gets its turn: exchanges what is known of both.
    pub(crate) fn swap_workgroup(&mut self, other: &mut GroupRaces) {
        self.current = None;
        std::mem::swap(&mut self.group, other);
    }

    /// A barrier opens.
    pub(crate) fn open_barrier(&mut self, waves: &[Wave]) {
        self.group.has_handed_on |= self.group.acquired != 0;
        for (wave, (complete, issued)) in
            waves.iter().zip(self.group.complete.iter_mut().zip(&mut self.group.issued))
        {
            *complete = wave.scoreboard.complete();
            *issued = [wave.scoreboard.issued(); ORDERS];
        }
    }

    /// A wave invalidates the cache of its CU.
    pub(crate) fn invalidate(&mut self, wave: u32) {
        if let Some(visible) = self.group.visible.get_mut(wave as usize) {
            *visible = self.group.complete;
        }
    }

    /// The number of a site, entered when it is new; `None` when there are too many.
    fn site(&mut self, inst: &Prepared) -> Option<usize> {
        if let Some(place) = self.places.get(&inst.pc) {
            return Some(*place);
        }
        let place = self.sites.len() + 1;
        if place > Stamp::MAX_SITES {
            return None;
        }
        let is_atomic_row = is_atomic(inst);
        let cache = inst.inst.mods.cache;
        let is_atomic = is_atomic_row || cache.sc0 || cache.sc1 || cache.glc;
        self.sites.push(SiteInfo {
            pc: inst.pc,
            order: inst.order(),
            is_atomic,
            is_read_modify_write: is_atomic_row,
            is_acquiring: is_atomic && inst.dst[0] != Dest::None,
        });
        self.places.insert(inst.pc, place);
        Some(place)
    }

    fn info(&self, stamp: Stamp) -> SiteInfo {
        self.sites[stamp.site() - 1]
    }

    /// The stamp of the instruction that a wave is at.
    fn stamp(&mut self, inst: &Prepared, wave: &Wave, is_global: bool) -> Option<Stamp> {
        let serial = wave.scoreboard.issued();
        if let Some((pc, stamp)) = self.current
            && pc == inst.pc
            && stamp.serial() == serial
            && stamp.wave() == wave.id
        {
            return Some(stamp);
        }
        if serial > Stamp::MAX_SERIAL {
            return None;
        }
        let site = self.site(inst)?;
        let stamp = Stamp::new(self.group.number, wave.id, site, serial);
        self.current = Some((inst.pc, stamp));
        if self.info(stamp).is_atomic {
            self.note_atomic(stamp, is_global);
        }
        Some(stamp)
    }

    fn note_atomic(&mut self, stamp: Stamp, is_global: bool) {
        let bit = 1 << stamp.wave();
        self.group.released |= bit;
        let info = self.info(stamp);
        if info.is_acquiring {
            self.group.acquired |= bit;
        }
        // An atomic load releases nothing.
        let is_load = info.is_acquiring && !info.is_read_modify_write;
        if is_global && !is_load {
            self.released_workgroups.insert(stamp.workgroup());
        }
    }

    /// Remembers an access and says what it breaks.
    fn access(
        &mut self,
        inst: &Prepared,
        wave: &Wave,
        space: Space,
        n_bytes: u64,
        access: Access,
    ) -> Option<Conflict> {
        let (address, is_global) = match space {
            Space::Global(address) => (address, true),
            Space::Lds(address) => (address.into(), false),
            Space::Scratch(_) | Space::OutOfRange => return None,
        };
        let stamp = self.stamp(inst, wave, is_global)?;
        let mut shadow =
            std::mem::take(if is_global { &mut self.global } else { &mut self.group.lds });
        let mut found = None;
        let is_write = access != Access::Read;
        shadow.visit(address, n_bytes, |at, cell| {
            if found.is_none() && access != Access::Rewrite {
                let judge = |earlier: Stamp, is_earlier_write: bool| {
                    let kind = self.judge(earlier, stamp, wave, is_global, is_write)?;
                    Some(Conflict { earlier, address: at, kind, is_earlier_write })
                };
                found = conflict(cell, is_write, judge);
            }
            match access {
                Access::Read => cell.read(stamp),
                Access::Write => cell.write(stamp),
                Access::Rewrite => cell.writer = stamp,
            }
        });
        *(if is_global { &mut self.global } else { &mut self.group.lds }) = shadow;
        if exchange::is_compare_and_swap(inst) {
            self.group.unproven.prove(wave.id, is_global, address..address + n_bytes);
        }
        found
    }

    /// Whether something orders an earlier access before this one.
    #[inline]
    fn judge(
        &self,
        earlier: Stamp,
        now: Stamp,
        wave: &Wave,
        is_global: bool,
        is_write: bool,
    ) -> Option<Kind> {
        if earlier.is_none() || earlier == now {
            return None;
        }
        if earlier.is_same_wave(now) {
            let is_pending = self.is_conservative
                && !is_global
                && earlier.serial()
                    >= wave.scoreboard.complete()[self.info(earlier).order as usize];
            return is_pending.then_some(Kind::SameWave);
        }
        let (before, after) = (self.info(earlier), self.info(now));
        if before.is_atomic && after.is_atomic {
            return None;
        }
        let has_acquired = self.group.acquired >> now.wave() & 1 == 1;
        if earlier.workgroup() != now.workgroup() {
            // LDS is another one by then.
            let is_ordered = (has_acquired || self.group.has_handed_on)
                && self.released_workgroups.contains(&earlier.workgroup());
            return (is_global && !is_ordered).then_some(Kind::Workgroups);
        }
        if has_acquired && self.group.released >> earlier.wave() & 1 == 1 {
            return None;
        }
        let is_before = |frontier: &Frontier| {
            earlier.serial() < frontier[earlier.wave() as usize][before.order as usize]
        };
        let needs_waits = !is_global || self.needs_waits;
        let reads_through_cache = is_global && needs_waits && !is_write && !after.is_atomic;
        if !is_before(&self.group.issued) {
            Some(Kind::NoBarrier)
        } else if needs_waits && !is_before(&self.group.complete) {
            Some(Kind::NotWaitedFor)
        } else if reads_through_cache && !is_before(&self.group.visible[now.wave() as usize]) {
            Some(Kind::NotInvalidated)
        } else {
            None
        }
    }

    /// The wave of this workgroup whose plain load is one side of a conflict that an atomic is the other
    /// side of.
    fn load_among_atomics(&self, conflict: &Conflict, now: Stamp, is_write: bool) -> Option<u32> {
        let (before, after) = (self.info(conflict.earlier), self.info(now));
        match (conflict.is_earlier_write, is_write) {
            (true, false) => before.is_read_modify_write.then_some(now.wave()),
            (false, true) => {
                let is_here = conflict.earlier.workgroup() == now.workgroup();
                (after.is_read_modify_write && is_here).then_some(conflict.earlier.wave())
            }
            _ => None,
        }
    }

    /// All waves have reached a barrier or ended: what could excuse a load has happened.
    pub(crate) fn settle(&mut self, findings: &mut Findings) {
        self.group.unproven.settle(findings);
    }

    /// Workgroup ids of a number.
    fn workgroup_of(&self, stamp: Stamp) -> [u32; 3] {
        let [nx, ny, _] = self.grid;
        let number = stamp.workgroup();
        let slice = nx.saturating_mul(ny);
        [number % nx, number / nx % ny, number / slice]
    }
}

/// The first conflict of a cell with an access.
#[inline]
fn conflict(
    cell: &Cell,
    is_write: bool,
    judge: impl Fn(Stamp, bool) -> Option<Conflict>,
) -> Option<Conflict> {
    let with_writer = judge(cell.writer, true);
    if !is_write || with_writer.is_some() {
        return with_writer;
    }
    judge(cell.reader, false).or_else(|| judge(cell.other_reader, false))
}

/// Checks one lane's access, which has happened.
#[inline]
pub(crate) fn check(
    exec: &mut Exec<'_>,
    inst: &Prepared,
    lane: usize,
    space: Space,
    n_bytes: usize,
    access: Access,
) {
    if !exec.races.is_on {
        return;
    }
    let found = exec.races.access(inst, exec.wave, space, n_bytes as u64, access);
    let is_write = access != Access::Read;
    if let Some(conflict) = found {
        let is_global = matches!(space, Space::Global(_));
        report(exec, inst, lane as u32, conflict, is_global, is_write, n_bytes);
    }
}

#[cold]
fn report(
    exec: &mut Exec<'_>,
    inst: &Prepared,
    lane: u32,
    conflict: Conflict,
    is_global: bool,
    is_write: bool,
    n_bytes: usize,
) {
    let earlier = exec.races.info(conflict.earlier);
    let [x, y, z] = exec.races.workgroup_of(conflict.earlier);
    let remedy = remedy(conflict.kind, is_global, earlier.order);
    let rule = match conflict.kind {
        Kind::SameWave => Rule::LdsOrder,
        Kind::NotWaitedFor => Rule::UnfinishedAtBarrier,
        Kind::NotInvalidated => Rule::StaleCache,
        _ if is_global => Rule::GlobalRace,
        _ => Rule::LdsRace,
    };
    let describe = || {
        let memory = if is_global { "global memory" } else { "LDS" };
        let now = if is_write { "written" } else { "read" };
        let before = if conflict.is_earlier_write { "write" } else { "read" };
        let (address, wave) = (conflict.address, conflict.earlier.wave());
        let because = because(conflict.kind);
        let what = format!(
            "{memory} at {address:#x} is {now} after a {before} by wave {wave} of workgroup ({x}, {y}, {z}), {because}"
        );
        (what, remedy.to_owned())
    };
    let now = exec.races.current.map(|(_, stamp)| stamp);
    let load = now.and_then(|now| exec.races.load_among_atomics(&conflict, now, is_write));
    match load {
        Some(wave) if n_bytes as u64 <= exchange::MAX_BYTES => {
            let (site, producer) = (inst.pc, earlier.pc);
            let finding = exec.finding(inst, rule, Some(producer), Some(lane), describe());
            let pending = Pending { rule, site, producer, finding };
            exec.races.group.unproven.add(wave, is_global, conflict.address, pending);
        }
        _ => exec.report(inst, rule, Some(earlier.pc), Some(lane), describe),
    }
}

fn because(kind: Kind) -> &'static str {
    match kind {
        Kind::NoBarrier => "with no barrier between them",
        Kind::NotWaitedFor => "which its wave had not waited for when the barrier opened",
        Kind::NotInvalidated => "and the cache of this wave's CU may hold older data",
        Kind::Workgroups => "and nothing orders workgroups",
        Kind::SameWave => "which nothing proves complete (conservative LDS order)",
    }
}

/// The remedy for LDS accesses that are unfinished at a barrier.
pub(crate) const WAIT_FOR_LDS: &str = "put s_waitcnt lgkmcnt(0) before the barrier";

fn remedy(kind: Kind, is_global: bool, order: Order) -> &'static str {
    match (kind, order) {
        (Kind::NoBarrier, _) if is_global => {
            "put a workgroup-scope release, s_barrier and acquire between them"
        }
        (Kind::NoBarrier, _) => "put s_waitcnt lgkmcnt(0) and s_barrier between them",
        (Kind::NotWaitedFor, Order::Lds) => WAIT_FOR_LDS,
        (Kind::NotWaitedFor, Order::VectorStore) => {
            "put s_waitcnt_vscnt null, 0x0 before the barrier"
        }
        (Kind::NotWaitedFor, Order::Vector) => "put s_waitcnt vmcnt(0) before the barrier",
        (Kind::NotWaitedFor, Order::Unordered) => {
            "put s_waitcnt vmcnt(0) lgkmcnt(0) before the barrier"
        }
        (Kind::NotInvalidated, _) => "put buffer_gl0_inv between the barrier and the load",
        (Kind::Workgroups, _) => {
            "give workgroups data of their own, use atomics, or split the kernel in two"
        }
        (Kind::SameWave, _) => "put s_waitcnt lgkmcnt(0) between them",
    }
}
