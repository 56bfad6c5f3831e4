//! The rows applied to a sequence of instructions.

use super::profile::Produced;
use super::{
    Consumer, DRAINING_TRANS, DRAINING_VALU, Earlier, Later, MatrixUse, Producer, Profile, Remedy,
    after_matrix, remedy,
};
use crate::slots::Slots;
use crate::table::Op;
use crate::target::Target;

/// What lies between two instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passed {
    /// Wait states.
    pub states: u32,
    /// Vector instructions.
    pub valu: u32,
    /// … without `v_nop`.
    pub valu_but_nop: u32,
    /// Transcendentals among them.
    pub trans: u32,
}

impl Passed {
    fn add(&mut self, other: Passed) {
        self.states = self.states.saturating_add(other.states);
        self.valu = self.valu.saturating_add(other.valu);
        self.valu_but_nop = self.valu_but_nop.saturating_add(other.valu_but_nop);
        self.trans = self.trans.saturating_add(other.trans);
    }

    /// The least of two ways to a place.
    fn least(self, other: Passed) -> Passed {
        Passed {
            states: self.states.min(other.states),
            valu: self.valu.min(other.valu),
            valu_but_nop: self.valu_but_nop.min(other.valu_but_nop),
            trans: self.trans.min(other.trans),
        }
    }

    /// Whether this suffices.
    fn meets(self, remedy: Remedy) -> bool {
        match remedy {
            Remedy::States(states) => self.states >= states,
            Remedy::ValuBetween => self.valu >= 1,
            Remedy::ValuButNopBetween => self.valu_but_nop >= 1,
            Remedy::WaitDepctr(_) => self.valu >= DRAINING_VALU || self.trans >= DRAINING_TRANS,
        }
    }
}

/// An earlier instruction that is still dangerous to some later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// What the caller calls the instruction, its address.
    site: u64,
    op: Op,
    produced: Produced,
    /// Registers that no later MFMA has written.
    live: Slots,
    passed: Passed,
}

/// A later instruction came too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// The earlier instruction.
    pub site: u64,
    /// What it did.
    pub earlier: Earlier,
    /// What the later instruction does.
    pub later: Later,
    /// The first register that both touch, see [`slots`](crate::slots).
    pub register: u16,
    /// What lies between them.
    pub passed: Passed,
    /// What has to.
    pub needed: Remedy,
}

/// The instructions before some point that later ones may come too early for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    target: Target,
    entries: Vec<Entry>,
}

impl History {
    /// Nothing came before.
    pub fn new(target: Target) -> History {
        History { target, entries: Vec::new() }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Whether nothing that came before can matter any more.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Earlier instructions that can still matter.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// What an instruction comes too early for, if it is the next one.
    pub fn missing<'h>(&'h self, profile: &'h Profile) -> impl Iterator<Item = Missing> + 'h {
        let entries = self.entries.iter();
        let endangering = entries.filter(|entry| entry.produced.kinds.meets(profile.kinds));
        endangering.flat_map(move |entry| {
            let uses = profile.used.iter();
            uses.filter_map(move |(later, slots)| {
                self.missing_between(entry, profile, *later, *slots)
            })
        })
    }

    #[inline]
    fn missing_between(
        &self,
        entry: &Entry,
        profile: &Profile,
        later: Later,
        slots: Slots,
    ) -> Option<Missing> {
        let register = entry.live.common(slots)?;
        let earlier = entry.produced.earlier;
        let needed = match (earlier, later) {
            (Earlier::Row(producer), Later::Row(consumer)) => {
                let is_chained = producer == Producer::Dot && entry.op == profile.op;
                let consumer = match consumer {
                    Consumer::DotAddend if !is_chained => Consumer::ValuRead,
                    Consumer::ValuOverwrite if is_chained => return None,
                    other => other,
                };
                remedy(self.target, producer, consumer)?
            }
            (Earlier::Addend(timing), Later::Matrix(MatrixUse::OverwriteAddend)) => {
                Remedy::States(after_matrix(timing, MatrixUse::OverwriteAddend))
            }
            (Earlier::Result(_), Later::Matrix(MatrixUse::OverwriteAddend)) => return None,
            (Earlier::Result(timing), Later::Matrix(MatrixUse::AccumulateOverlap(_)))
                if entry.produced.slots == slots =>
            {
                Remedy::States(after_matrix(timing, MatrixUse::AccumulateSame))
            }
            (Earlier::Result(timing), Later::Matrix(later)) => {
                Remedy::States(after_matrix(timing, later))
            }
            _ => return None,
        };
        let is_missing = !entry.passed.meets(needed);
        let (site, passed) = (entry.site, entry.passed);
        is_missing.then_some(Missing { site, earlier, later, register, passed, needed })
    }

    /// An instruction issues; `site` is what [`Missing::site`] will call it.
    #[inline]
    pub fn issue(&mut self, site: u64, profile: &Profile) {
        if !self.entries.is_empty() {
            self.age(profile);
        }
        if !profile.produced.is_empty() {
            self.remember(site, profile);
        }
    }

    /// An instruction issues that is remembered elsewhere.
    pub fn pass(&mut self, profile: &Profile) {
        self.age(profile);
        for produced in &profile.produced {
            if let Earlier::Result(_) = produced.earlier {
                self.replace_results(produced.slots);
            }
        }
    }

    /// Adds what a later sequence leaves, all of which has passed here too.
    pub fn append(&mut self, later: &History) {
        self.entries.extend_from_slice(&later.entries);
    }

    fn age(&mut self, profile: &Profile) {
        if profile.is_call {
            self.entries.clear();
        }
        self.entries.retain_mut(|entry| {
            let strictest = entry.produced.strictest;
            entry.passed.add(profile.passed);
            let is_drained = profile.is_drain && matches!(strictest, Remedy::WaitDepctr(_));
            !is_drained && !entry.passed.meets(strictest)
        });
    }

    /// What an instruction writes that [`History::issue`] has seen, where only running it tells.
    pub fn remember(&mut self, site: u64, profile: &Profile) {
        for produced in &profile.produced {
            if let Earlier::Result(_) = produced.earlier {
                self.replace_results(produced.slots);
            }
            self.entries.push(Entry {
                site,
                op: profile.op,
                produced: *produced,
                live: produced.slots,
                passed: Passed::default(),
            });
        }
    }

    /// An MFMA waits for those whose D it writes.
    fn replace_results(&mut self, slots: Slots) {
        self.entries.retain_mut(|entry| {
            if let Earlier::Result(_) = entry.produced.earlier {
                entry.live = entry.live.without(slots);
            }
            entry.live.count != 0
        });
    }

    /// Adds what another way to the same place leaves; says whether that changed anything.
    pub fn join(&mut self, other: &History) -> bool {
        let mut has_changed = false;
        for entry in &other.entries {
            let same = self.entries.iter_mut().find(|known| {
                let same = (known.site, known.produced, known.live);
                same == (entry.site, entry.produced, entry.live)
            });
            match same {
                Some(known) => {
                    let least = known.passed.least(entry.passed);
                    has_changed |= least != known.passed;
                    known.passed = least;
                }
                None => {
                    self.entries.push(*entry);
                    has_changed = true;
                }
            }
        }
        has_changed
    }
}
