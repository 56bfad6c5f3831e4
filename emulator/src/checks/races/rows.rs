//! The race checks of a row of lanes at once: what they ask of one lane's plain access, asked with less work. The
//! findings are those of the lanes one by one.

use std::cell::Cell as Known;

use super::{Access, Conflict, Races, report};
use crate::checks::shadow::{Cell, OTHER_READER, READER, Shadow, Stamp, WRITER};
use crate::exec::Exec;
use crate::lanes::simd::{self, Fused, Loops};
use crate::prepare::Prepared;
use crate::wave::{ROW_LANES, Wave};

/// What the active lanes of a row access in global memory or LDS, the same number of bytes each.
#[derive(Clone, Copy)]
pub(crate) struct RowAccess<'a> {
    pub at: &'a [u64; ROW_LANES],
    pub lanes: u32,
    pub n_bytes: u64,
    pub is_global: bool,
    pub is_write: bool,
    /// Lanes that store to LDS what is there already.
    pub rewrites: u32,
}

impl RowAccess<'_> {
    fn active(&self) -> impl Iterator<Item = usize> + use<> {
        let lanes = self.lanes;
        (0..ROW_LANES).filter(move |lane| lanes >> lane & 1 == 1)
    }

    fn kind(&self, lane: usize) -> Access {
        match (self.is_write, self.rewrites >> lane & 1) {
            (false, _) => Access::Read,
            (true, 0) => Access::Write,
            (true, _) => Access::Rewrite,
        }
    }

    /// Whether all lanes do the same to bytes that follow each other.
    fn is_one_range(&self) -> bool {
        let mut gaps = 0;
        for lane in 1..ROW_LANES {
            gaps |= self.at[lane].wrapping_sub(self.at[lane - 1]) ^ self.n_bytes;
        }
        gaps == 0 && self.lanes == u32::MAX && (self.rewrites == 0 || self.rewrites == u32::MAX)
    }
}

/// Checks a row of accesses, which have happened; the first lane has this number in the wave. `None` where the
/// lanes have to be shown to [`super::check`] one by one.
pub(crate) fn check_row(
    exec: &mut Exec<'_>,
    inst: &Prepared,
    first_lane: usize,
    row: RowAccess<'_>,
) -> Option<()> {
    let found = exec.races.access_row(inst, exec.wave, row)?;
    for (lane, conflict) in found {
        let (lane, n_bytes) = ((first_lane + lane) as u32, row.n_bytes as usize);
        report(exec, inst, lane, conflict, row.is_global, row.is_write, n_bytes);
    }
    Some(())
}

impl Races {
    /// Remembers a row of accesses; gives what they break, by lane.
    fn access_row(
        &mut self,
        inst: &Prepared,
        wave: &Wave,
        row: RowAccess<'_>,
    ) -> Option<Vec<(usize, Conflict)>> {
        let Some(stamp) = self.stamp(inst, wave, row.is_global) else { return Some(Vec::new()) };
        if self.info(stamp).is_atomic {
            return None;
        }
        let mut shadow =
            std::mem::take(if row.is_global { &mut self.global } else { &mut self.group.lds });
        let found = self.visit_row(&mut shadow, stamp, wave, row);
        *(if row.is_global { &mut self.global } else { &mut self.group.lds }) = shadow;
        Some(found)
    }

    fn visit_row(
        &self,
        shadow: &mut Shadow,
        stamp: Stamp,
        wave: &Wave,
        row: RowAccess<'_>,
    ) -> Vec<(usize, Conflict)> {
        let judge = Judge { races: self, stamp, wave, row, known: Default::default() };
        let mut found: Vec<(usize, Conflict)> = Vec::new();
        let mut note = |lane: usize, conflict: Conflict| {
            if found.last().is_none_or(|(last, _)| *last != lane) {
                found.push((lane, conflict));
            }
        };
        if row.is_one_range() {
            let start = row.at[0];
            let lane = |conflict: &Conflict| ((conflict.address - start) / row.n_bytes) as usize;
            let n_bytes = row.n_bytes * ROW_LANES as u64;
            judge.visit(shadow, start, n_bytes, row.kind(0), |conflict| {
                note(lane(&conflict), conflict);
            });
            return found;
        }
        let width = wave.vectors.width();
        let is_done = match (row.lanes, row.n_bytes) {
            (u32::MAX, 4) => {
                simd::run(width, Words::<1> { judge: &judge, shadow, note: &mut note })
            }
            (u32::MAX, 8) => {
                simd::run(width, Words::<2> { judge: &judge, shadow, note: &mut note })
            }
            (u32::MAX, 16) => {
                simd::run(width, Words::<4> { judge: &judge, shadow, note: &mut note })
            }
            _ => None,
        };
        if is_done.is_none() {
            for lane in row.active() {
                judge.visit(shadow, row.at[lane], row.n_bytes, row.kind(lane), |conflict| {
                    note(lane, conflict);
                });
            }
        }
        found
    }
}

/// All lanes of a row, each on `N` words; `None`, with nothing done, where these are far from each other.
struct Words<'w, const N: usize> {
    judge: &'w Judge<'w>,
    shadow: &'w mut Shadow,
    note: &'w mut dyn FnMut(usize, Conflict),
}

impl<const N: usize> Loops for Words<'_, N> {
    type Output = Option<()>;

    #[inline(always)]
    fn run(self, _: Fused) -> Option<()> {
        let Words { judge, shadow, note } = self;
        let row = &judge.row;
        let pages = shadow.pages_of_lanes(row.at, row.n_bytes)?;
        for (lane, start) in row.at.iter().enumerate() {
            let access = row.kind(lane);
            if let Some(old) = shadow.alike::<N>(&pages, *start) {
                let mut new = old;
                if judge.is_in_order(&mut new, access, *start) {
                    shadow.replace_alike::<N>(&pages, *start, old, new);
                    continue;
                }
            }
            judge.visit_cells(shadow, *start, row.n_bytes, access, |conflict| {
                note(lane, conflict);
            });
        }
        Some(())
    }
}

/// Judges what a row touches. Neighbouring cells were mostly touched by the same instruction, which is judged once.
struct Judge<'r> {
    races: &'r Races,
    stamp: Stamp,
    wave: &'r Wave,
    row: RowAccess<'r>,
    /// The last writer, reader and other reader that were found to be in order.
    known: [Known<Stamp>; 3],
}

impl Judge<'_> {
    /// Visits bytes that one lane accesses, or several with the same access.
    #[inline(always)]
    fn visit(
        &self,
        shadow: &mut Shadow,
        start: u64,
        n_bytes: u64,
        access: Access,
        note: impl FnMut(Conflict),
    ) {
        if shadow.visit_alike(start, n_bytes, |cell| self.is_in_order(cell, access, start)) {
            return;
        }
        let known = [WRITER, READER, OTHER_READER].map(|role| self.known[role].get());
        let is_done = match access {
            Access::Read => shadow.read_alone(start, n_bytes, self.stamp, known[WRITER]),
            Access::Write => shadow.write_alone(start, n_bytes, self.stamp, known),
            Access::Rewrite => None,
        };
        if is_done.is_none() {
            self.visit_cells(shadow, start, n_bytes, access, note);
        }
    }

    /// As [`Judge::visit`], cell by cell.
    #[inline(never)]
    fn visit_cells(
        &self,
        shadow: &mut Shadow,
        start: u64,
        n_bytes: u64,
        access: Access,
        mut note: impl FnMut(Conflict),
    ) {
        match access {
            Access::Read => shadow.visit(start, n_bytes, |at, cell| {
                if let Some(conflict) = self.judge(cell.writer, WRITER, at) {
                    note(conflict);
                }
                cell.read(self.stamp);
            }),
            Access::Write => shadow.visit(start, n_bytes, |at, cell| {
                let conflict = self
                    .judge(cell.writer, WRITER, at)
                    .or_else(|| self.judge(cell.reader, READER, at))
                    .or_else(|| self.judge(cell.other_reader, OTHER_READER, at));
                if let Some(conflict) = conflict {
                    note(conflict);
                }
                cell.write(self.stamp);
            }),
            Access::Rewrite => shadow.visit(start, n_bytes, |_, cell| cell.writer = self.stamp),
        }
    }

    /// Does to a cell what the access does, where that breaks nothing.
    #[inline(always)]
    fn is_in_order(&self, cell: &mut Cell, access: Access, address: u64) -> bool {
        match access {
            Access::Read => {
                let is_in_order = self.judge(cell.writer, WRITER, address).is_none();
                cell.read(self.stamp);
                is_in_order
            }
            Access::Write => {
                let is_in_order = self.judge(cell.writer, WRITER, address).is_none()
                    && self.judge(cell.reader, READER, address).is_none()
                    && self.judge(cell.other_reader, OTHER_READER, address).is_none();
                cell.write(self.stamp);
                is_in_order
            }
            Access::Rewrite => {
                cell.writer = self.stamp;
                true
            }
        }
    }

    #[inline(always)]
    fn judge(&self, earlier: Stamp, role: usize, address: u64) -> Option<Conflict> {
        if earlier.is_none() || earlier == self.known[role].get() {
            return None;
        }
        self.judge_new(earlier, role, address)
    }

    #[inline(never)]
    fn judge_new(&self, earlier: Stamp, role: usize, address: u64) -> Option<Conflict> {
        let (is_earlier_write, row) = (role == WRITER, &self.row);
        let (now, wave) = (self.stamp, self.wave);
        let kind =
            self.races.judge(earlier, is_earlier_write, now, wave, row.is_global, row.is_write);
        if kind.is_none() {
            self.known[role].set(earlier);
        }
        Some(Conflict { earlier, address, kind: kind?, is_earlier_write })
    }
}
