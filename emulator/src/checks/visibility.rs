//! Whether an order that atomics make covers the data: waits, write-backs and invalidations of a release
//! and an acquire.
//!
//! A flag is a place that atomics write. Whoever writes one releases what its wave had finished by then; whoever
//! gets a value from one has seen that release, and has acquired it once its caches are invalidated.
//!
//! | target | a release needs | an acquire needs |
//! |---|---|---|
//! | gfx950, between workgroups | stores: `buffer_wbl2 sc1`, complete; loads: complete (VMCNT) | the flag's value returned (VMCNT), then `buffer_inv sc1` |
//! | gfx950, inside one | nothing: one CU keeps the order | – |
//! | gfx1100, between workgroups | stores (VSCNT) and loads (VMCNT) complete | the flag's value returned (VMCNT), then `buffer_gl1_inv` and `buffer_gl0_inv` |
//! | gfx1100, inside one in WGP mode | the same | the same, without `buffer_gl1_inv` |
//! | gfx1100, inside one in CU mode | nothing | – |
//!
//! A wave's release also covers what the other waves of its workgroup had done before their last barrier, and
//! what it acquired from others. A barrier hands an acquire on.
//!
//! Time is a count of releases. An acquire is taken to see every release up to the one that its flag shows, also
//! those to other flags; so what it sees is too much rather than too little. Orders through atomics on
//! LDS are taken to cover everything. Memory outside of the device (system scope) is treated as the device's.
//!
//! Sources: AMDGPUUsage (LLVM 22), memory model of GFX942 and of GFX10–GFX11.

use std::collections::BTreeMap;

use super::conflict::Kind;
use super::shadow::Stamp;
use super::sync::{Covered, GroupSync, View};
use super::waits::{ORDERS, Order};

/// Releases of one wave that are kept apart; of more, neighbours are merged.
const MAX_EVENTS: usize = 1 << 14;
/// Bytes of a page of flags.
const PAGE_BYTES: u64 = 4096;

/// A wave writes a flag.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Number of the instruction in its wave.
    serial: u32,
    /// Address of the instruction.
    pc: u64,
    clock: u32,
    /// Up to which clock the wave had seen releases.
    seen: u32,
    covered: Covered,
}

/// What releases of a workgroup said of each of its waves, joined up to a clock.
#[derive(Clone, Debug)]
struct GroupEvent {
    clock: u32,
    waves: Vec<Covered>,
}

/// Releases of a workgroup, in the order of their clocks.
#[derive(Debug, Default)]
struct GroupReleases {
    by_wave: Vec<Vec<Event>>,
    of_group: Vec<GroupEvent>,
}

/// All releases of a dispatch.
#[derive(Debug, Default)]
pub(super) struct Releases {
    clock: u32,
    groups: BTreeMap<u32, GroupReleases>,
    /// By page and word: the clock of the last release to it.
    flags: BTreeMap<u64, Box<[u32]>>,
}

/// An access that others may come after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Earlier {
    pub stamp: Stamp,
    pub order: Order,
    /// A plain store, whose data stay in the cache.
    pub is_cached_write: bool,
}

/// The last event up to a clock.
fn last_at(events: &[Event], clock: u32) -> Option<&Event> {
    let n = events.partition_point(|event| event.clock <= clock);
    events[..n].last()
}

impl Releases {
    /// A wave writes a flag, of which this is complete.
    pub(super) fn release(
        &mut self,
        sync: &mut GroupSync,
        now: Stamp,
        pc: u64,
        complete: [u32; ORDERS],
        shares_cache: bool,
    ) {
        let known = sync.release(now, &complete, self, shares_cache);
        let Some((seen, written_back, others)) = known else { return };
        let serial = now.serial();
        let covered = Covered { issued: serial, complete, written_back };
        self.clock = self.clock.saturating_add(1);
        let group = self.groups.entry(now.workgroup()).or_default();
        group.by_wave.resize(sync.n_waves(), Vec::new());
        group.add_group_event(self.clock, others);
        let events = &mut group.by_wave[now.wave() as usize];
        events.push(Event { serial, pc, clock: self.clock, seen, covered });
        if events.len() > MAX_EVENTS {
            merge(events);
        }
    }

    /// How many accesses a wave had issued at its last release up to a clock.
    pub(super) fn issued_before(&self, group: u32, wave: u32, clock: u32) -> Option<u32> {
        let events = self.groups.get(&group)?.by_wave.get(wave as usize)?;
        last_at(events, clock).map(|event| event.covered.issued)
    }

    /// The clock that whoever reads what this access wrote gets to know.
    pub(super) fn clock_of(&self, writer: Stamp) -> u32 {
        let Some(group) = self.groups.get(&writer.workgroup()) else { return 0 };
        let Some(events) = group.by_wave.get(writer.wave() as usize) else { return 0 };
        let n = events.partition_point(|event| event.serial <= writer.serial());
        events[..n].last().map_or(0, |event| event.clock.max(event.seen))
    }

    /// The clock of the flag at an address.
    pub(super) fn flag(&self, address: u64) -> u32 {
        let page = self.flags.get(&(address / PAGE_BYTES));
        page.map_or(0, |words| words[(address % PAGE_BYTES / 4) as usize])
    }

    /// Sets the clock of the flag at an address.
    pub(super) fn set_flag(&mut self, address: u64, clock: u32) {
        let words = self.flags.entry(address / PAGE_BYTES);
        let words = words.or_insert_with(|| vec![0; (PAGE_BYTES / 4) as usize].into());
        words[(address % PAGE_BYTES / 4) as usize] = clock;
    }

    /// Where the wave of an access released it, as far as a wave with this view knows.
    pub(super) fn releasing(&self, earlier: Stamp, view: View) -> Option<u64> {
        let events = self.groups.get(&earlier.workgroup())?.by_wave.get(earlier.wave() as usize)?;
        let event = last_at(events, view.asked)?;
        (event.serial > earlier.serial()).then_some(event.pc)
    }

    /// Whether an access of another workgroup is ordered before one of a wave with this view; `sees_through`
    /// says that the latter writes or passes the caches by.
    pub(super) fn judge(
        &self,
        earlier: Earlier,
        view: View,
        sees_through: bool,
        is_gfx950: bool,
    ) -> Option<Kind> {
        let stamp = earlier.stamp;
        let needs_write_back = is_gfx950 && earlier.is_cached_write;
        let is_covered = |clock: u32| {
            self.any(stamp, clock, |covered| {
                stamp.serial() < covered.complete[earlier.order as usize]
                    && (!needs_write_back || stamp.serial() < covered.written_back)
            })
        };
        if is_covered(view.device) {
            return None;
        }
        if !is_covered(view.asked) {
            return Some(self.missing_in_release(earlier, view, needs_write_back));
        }
        if !is_covered(view.seen) || is_covered(view.early.min(view.seen)) && !sees_through {
            return Some(Kind::AcquiredTooEarly);
        }
        (!sees_through).then_some(Kind::NotInvalidatedForDevice)
    }

    /// As [`Releases::judge`], for waves of one workgroup.
    pub(super) fn judge_in_group(
        &self,
        earlier: Earlier,
        view: View,
        sees_through: bool,
        shares_cache: bool,
    ) -> Option<Kind> {
        let stamp = earlier.stamp;
        let is_covered = |clock: u32| {
            self.any_own(stamp, clock, |covered| {
                let frontier = if shares_cache {
                    covered.issued
                } else {
                    covered.complete[earlier.order as usize]
                };
                stamp.serial() < frontier
            })
        };
        let known = if shares_cache { view.asked } else { view.group };
        if is_covered(known) {
            return None;
        }
        if !is_covered(view.asked) {
            let is_released =
                self.any_own(stamp, view.asked, |covered| stamp.serial() < covered.issued);
            return Some(if is_released { Kind::ReleasedTooEarly } else { Kind::NoBarrier });
        }
        if !is_covered(view.seen) || is_covered(view.early.min(view.seen)) && !sees_through {
            return Some(Kind::AcquiredTooEarly);
        }
        (!sees_through).then_some(Kind::NotInvalidated)
    }

    fn missing_in_release(&self, earlier: Earlier, view: View, needs_write_back: bool) -> Kind {
        let serial = earlier.stamp.serial();
        let tells = |test: &dyn Fn(&Covered) -> bool| self.any(earlier.stamp, view.asked, test);
        if !tells(&|covered| serial < covered.issued) {
            return Kind::Workgroups;
        }
        let is_complete = |covered: &Covered| serial < covered.complete[earlier.order as usize];
        if needs_write_back && tells(&is_complete) {
            Kind::NotWrittenBack
        } else {
            Kind::ReleasedTooEarly
        }
    }

    /// Whether some release up to a clock says this of the wave of an access.
    fn any(&self, stamp: Stamp, clock: u32, test: impl Fn(&Covered) -> bool) -> bool {
        let Some(group) = self.groups.get(&stamp.workgroup()) else { return false };
        let n = group.of_group.partition_point(|event| event.clock <= clock);
        let of_group = group.of_group[..n].last();
        of_group.and_then(|event| event.waves.get(stamp.wave() as usize)).is_some_and(&test)
            || self.any_own(stamp, clock, test)
    }

    /// Whether some release of the wave of an access itself, up to a clock, says this.
    fn any_own(&self, stamp: Stamp, clock: u32, test: impl Fn(&Covered) -> bool) -> bool {
        let group = self.groups.get(&stamp.workgroup());
        let events = group.and_then(|group| group.by_wave.get(stamp.wave() as usize));
        events.and_then(|events| last_at(events, clock)).is_some_and(|event| test(&event.covered))
    }
}

impl GroupReleases {
    /// Whether a release says more of the waves of its workgroup than those before.
    fn tells_of(&self, waves: &[Covered]) -> bool {
        let Some(last) = self.of_group.last() else { return !waves.is_empty() };
        last.waves.iter().zip(waves).any(|(known, new)| {
            let mut joined = *known;
            joined.join(new);
            joined != *known
        })
    }

    fn add_group_event(&mut self, clock: u32, mut waves: Vec<Covered>) {
        if !self.tells_of(&waves) {
            return;
        }
        if let Some(last) = self.of_group.last() {
            for (new, known) in waves.iter_mut().zip(&last.waves) {
                new.join(known);
            }
        }
        self.of_group.push(GroupEvent { clock, waves });
    }
}

/// Merges each two neighbours, so that they are taken to say all that the later one does, at the earlier
/// one's time.
fn merge(events: &mut Vec<Event>) {
    let merged = events.chunks(2).map(|pair| {
        let (first, last) = (pair[0], pair[pair.len() - 1]);
        Event { serial: first.serial, clock: first.clock, ..last }
    });
    *events = merged.collect();
}
