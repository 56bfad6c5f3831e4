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
//! Between workgroups of a dispatch nothing orders but atomics, with their waits, write-backs and invalidations
//! (`visibility.rs`). Atomics do not race with each other, nor do loads and stores that bypass caches, which is
//! how compilers write atomic loads and stores: between workgroups those with `sc1` or `glc`, inside of one also
//! those with `sc0`. Atomic stores of gfx1100 have no bit that tells them from plain ones: a store of up to 64
//! bits does not race there with an atomic that gives a value or an atomic load, and it releases.
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
//! two readers of it, those before the last; scalar loads; a wave's memory instructions beyond the first 2^24
//! and a kernel's beyond the first 8191. Waves run in one order, so a conflict on a path that this order
//! does not take goes unseen. An order through atomics on LDS is taken to cover everything.
//!
//! Sources: AMDGPUUsage (LLVM 22), memory model tables of GFX942 and GFX10–GFX11, kernel descriptor
//! (`ENABLE_WGP_MODE`); CDNA3 and RDNA3 ISA manuals, `S_BARRIER`.

mod rows;

use std::collections::BTreeMap;

use isa::Target;

pub(crate) use self::rows::{RowAccess, check_row};
use super::conflict::{Conflict, Kind};
use super::exchange::{self, Pending, Unproven};
use super::shadow::{Cell, Shadow, Stamp};
use super::site::SiteInfo;
use super::sync::{Caches, Covered, GroupSync, View};
use super::visibility::{Earlier, Releases};
use super::waits::ORDERS;
use crate::exec::Exec;
use crate::finding::Findings;
use crate::launch::Launch;
use crate::machine::{LdsOrder, Options};
use crate::prepare::Prepared;
use crate::sem::access::Space;
use crate::wave::Wave;

/// Waves that a workgroup can have.
const MAX_WAVES: usize = 32;

/// By wave and kind of order: accesses with lower numbers.
type Frontier = [[u32; ORDERS]; MAX_WAVES];

/// What an instruction does to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// A store to LDS of what is there already.
    Rewrite,
}

/// The state of the checks for one dispatch; by default they are off.
#[derive(Debug, Default)]
pub(crate) struct Races {
    is_on: bool,
    is_conservative: bool,
    /// Barriers order global accesses that were waited for, and caches are invalidated (WGP mode).
    needs_waits: bool,
    grid: [u32; 3],
    /// Waves of a workgroup.
    n_waves: usize,
    global: Shadow,
    sites: Vec<SiteInfo>,
    places: BTreeMap<u64, usize>,
    /// The instruction of the last access, and its stamp.
    current: Option<(u64, Stamp)>,
    releases: Releases,
    /// What the wave of the last access knows of releases.
    view: View,
    /// Barriers and atomics order the waves of a workgroup without more: they are on one CU.
    shares_cache: bool,
    is_gfx950: bool,
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
    /// Waves that ran an atomic on LDS, and one whose result orders.
    released: u32,
    acquired: u32,
    sync: GroupSync,
    /// Loads that a compare-and-swap may still prove harmless.
    unproven: Unproven,
}

impl Races {
    pub(crate) fn new(launch: &Launch<'_>, options: &Options) -> Races {
        let descriptor = &launch.kernel.descriptor;
        let is_conservative = options.lds_order == LdsOrder::Conservative;
        let width = launch.target.wave_width();
        let is_alone = launch.work_items() <= width && launch.workgroups == [1; 3];
        let needs_waits = launch.target == Target::Gfx1100 && descriptor.wgp_mode;
        Races {
            is_on: options.watches_races() && (!is_alone || is_conservative),
            is_conservative,
            needs_waits,
            shares_cache: !needs_waits,
            is_gfx950: launch.target == Target::Gfx950,
            grid: launch.workgroups,
            n_waves: launch.work_items().div_ceil(width) as usize,
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
        let n_readers = if self.is_on { self.n_waves } else { 0 };
        GroupRaces {
            number: (number % u64::from(Stamp::WORKGROUPS)) as u32,
            visible: vec![[[0; ORDERS]; MAX_WAVES]; n_readers],
            sync: GroupSync::new(n_readers),
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
        let known = waves.iter().map(|wave| Covered {
            issued: wave.scoreboard.issued(),
            complete: wave.scoreboard.complete(),
            written_back: 0,
        });
        self.group.sync.open_barrier(known.collect(), self.shares_cache);
        for (wave, (complete, issued)) in
            waves.iter().zip(self.group.complete.iter_mut().zip(&mut self.group.issued))
        {
            *complete = wave.scoreboard.complete();
            *issued = [wave.scoreboard.issued(); ORDERS];
        }
    }

    /// A wave invalidates caches.
    pub(crate) fn invalidate(&mut self, wave: &Wave, caches: Caches) {
        if !self.is_on {
            return;
        }
        self.group.sync.invalidate(wave.id, &wave.scoreboard.complete(), caches);
        if caches != Caches::Far
            && let Some(visible) = self.group.visible.get_mut(wave.id as usize)
        {
            *visible = self.group.complete;
        }
    }

    /// A wave starts to write back its XCD's L2.
    pub(crate) fn write_back(&mut self, wave: &Wave) {
        if self.is_on {
            let group = &mut self.group;
            let others = group.sync.stored_by_others(wave.id, &self.releases, group.number);
            group.sync.write_back(wave.id, wave.scoreboard.issued(), others);
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
        self.sites.push(SiteInfo::of(inst, self.is_gfx950));
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
        if is_global {
            self.note_global(stamp, wave);
        } else if self.info(stamp).is_atomic {
            self.note_lds_atomic(stamp);
        }
        Some(stamp)
    }

    fn note_global(&mut self, stamp: Stamp, wave: &Wave) {
        let info = self.info(stamp);
        let sync = &mut self.group.sync;
        self.view = sync.view(wave.id, || wave.scoreboard.complete());
        if info.is_flag_store || info.is_read_modify_write {
            let complete = wave.scoreboard.complete();
            self.releases.release(sync, stamp, info.pc, complete, self.shares_cache);
        }
    }

    fn note_lds_atomic(&mut self, stamp: Stamp) {
        self.group.released |= 1 << stamp.wave();
        if self.info(stamp).is_acquiring {
            self.group.acquired |= 1 << stamp.wave();
            self.group.sync.learn(stamp.wave(), self.group.released, self.shares_cache);
        }
    }

    /// An atomic reads or writes a flag, which `writer` wrote last.
    fn touch_flag(&mut self, now: Stamp, address: u64, writer: Stamp, is_write: bool) {
        let info = self.info(now);
        let mut clock = self.releases.flag(address);
        if !writer.is_none() && !self.info(writer).is_atomic {
            clock = clock.max(self.releases.clock_of(writer));
        }
        if !is_write && info.is_acquiring {
            self.group.sync.ask(now, info.order, clock);
        }
        if is_write {
            let chain = if info.is_read_modify_write { clock } else { 0 };
            self.releases.set_flag(address, chain.max(self.releases.clock_of(now)));
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
        let mut writer = Stamp::default();
        let is_write = access != Access::Read;
        shadow.visit(address, n_bytes, |at, cell| {
            writer = cell.writer;
            if found.is_none() && access != Access::Rewrite {
                let judge = |earlier: Stamp, is_earlier_write: bool| {
                    let kind =
                        self.judge(earlier, is_earlier_write, stamp, wave, is_global, is_write)?;
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
        if is_global && self.info(stamp).is_atomic {
            self.touch_flag(stamp, address, writer, is_write);
        }
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
        is_earlier_write: bool,
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
        let is_here = earlier.workgroup() == now.workgroup();
        if before.synchronises_with(after, is_here, is_global) {
            return None;
        }
        let is_cached_write = is_earlier_write && !before.is_atomic;
        let first = Earlier { stamp: earlier, order: before.order, is_cached_write };
        let sees_through = is_write || after.is_atomic;
        if !is_here {
            // LDS is another one by then.
            let judge = || self.releases.judge(first, self.view, sees_through, self.is_gfx950);
            return if is_global { judge() } else { None };
        }
        if self.group.acquired >> now.wave() & 1 == 1
            && self.group.released >> earlier.wave() & 1 == 1
        {
            return None;
        }
        let by_barrier = self.judge_barrier(earlier, now, is_global, sees_through)?;
        let (releases, shares_cache) = (&self.releases, self.shares_cache);
        match releases.judge_in_group(first, self.view, sees_through, shares_cache) {
            None => None,
            Some(by_atomic) if by_barrier == Kind::NoBarrier && is_global => Some(by_atomic),
            Some(_) => Some(by_barrier),
        }
    }

    /// Whether a barrier orders accesses of two waves of a workgroup.
    fn judge_barrier(
        &self,
        earlier: Stamp,
        now: Stamp,
        is_global: bool,
        sees_through: bool,
    ) -> Option<Kind> {
        let order = self.info(earlier).order as usize;
        let is_before =
            |frontier: &Frontier| earlier.serial() < frontier[earlier.wave() as usize][order];
        let needs_waits = !is_global || self.needs_waits;
        let reads_through_cache = is_global && needs_waits && !sees_through;
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
    let remedy = conflict.kind.remedy(exec.target, is_global, earlier.order);
    let rule = conflict.kind.rule(is_global);
    let release = exec.races.releases.releasing(conflict.earlier, exec.races.view);
    let release = release.map(|pc| exec.program.site(pc).address);
    let describe = || {
        let memory = if is_global { "global memory" } else { "LDS" };
        let now = if is_write { "written" } else { "read" };
        let before = if conflict.is_earlier_write { "write" } else { "read" };
        let (address, wave) = (conflict.address, conflict.earlier.wave());
        let because = conflict.kind.because(release);
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
