//! The order in which the workgroups of a dispatch run.
//!
//! Workgroups start in ascending order of their ids, x fastest, and each runs alone until it ends, or until
//! it has had its first turn of [`FIRST_TURN`] wave instructions. Then it stays resident and the next one starts
//! its own first turn, up to [`Options::resident_workgroups`]. From then on the resident ones take turns of
//! [`TURN`] instructions in the order of their start; whenever one ends, the next one starts.
//!
//! So what is short runs one after the other; and of workgroups that wait for each other, all make progress as
//! long as no more than the resident ones wait for one that has not started. On hardware that number
//! depends on the device and the kernel's demands; a kernel that waits for a later workgroup is right only
//! where its host makes sure that all are resident. The order depends on nothing but the dispatch and the
//! options.

use crate::checks::races::{GroupRaces, Races};
use crate::fault::{ExecutionFault, WaveState};
use crate::finding::Findings;
use crate::launch::Launch;
use crate::memory::Memory;
use crate::report::{Counts, Report};
use crate::trace::Tracer;
use crate::workgroup::{Shared, Stopped, Workgroup};

/// Wave instructions that a workgroup runs alone before another one starts beside it.
const FIRST_TURN: u64 = 1 << 18;
/// Wave instructions of a resident workgroup's later turns.
const TURN: u64 = 1 << 16;
/// Waves that a fault lists.
const MAX_LISTED: usize = 64;

/// A workgroup that has started, and what the race checks know of it.
struct Resident {
    workgroup: Workgroup,
    races: GroupRaces,
}

/// The workgroups of a dispatch on their way.
pub(crate) struct Schedule<'l, 'm> {
    launch: &'l Launch<'m>,
    resident: Vec<Resident>,
    /// Ended ones, whose memory is used again.
    spare: Vec<Workgroup>,
}

impl<'l, 'm> Schedule<'l, 'm> {
    /// With a workgroup whose memory may be used again.
    pub(crate) fn new(launch: &'l Launch<'m>, spare: Option<Workgroup>) -> Schedule<'l, 'm> {
        let spare = spare.filter(|workgroup| workgroup.fits(launch)).into_iter().collect();
        Schedule { launch, resident: Vec::new(), spare }
    }

    /// A workgroup that has ended, for a later launch.
    pub(crate) fn into_spare(mut self) -> Option<Workgroup> {
        self.spare.pop()
    }

    /// Runs all workgroups to their ends.
    pub(crate) fn run(
        &mut self,
        memory: &mut Memory,
        tracer: &mut Option<&mut dyn Tracer>,
    ) -> Result<Report, Box<ExecutionFault>> {
        let launch = self.launch;
        let options = launch.options;
        let mut shared = Shared {
            memory,
            findings: Findings::default(),
            races: Races::new(launch, options),
            counts: Counts::new(options, launch.target),
            left: options.instruction_limit,
            tracer,
        };
        let ran = self.run_all(&mut shared);
        let stopped = ran.err().map(|stopped| (stopped, self.unfinished()));
        if stopped.is_some() {
            self.settle(&mut shared);
        }
        let Shared { findings, counts, .. } = shared;
        let report = counts.into_report(findings, launch.target, options);
        match stopped {
            None => Ok(report),
            Some((stopped, waves)) => Err(Box::new(stopped.into_fault(launch, report, waves))),
        }
    }

    fn run_all(&mut self, shared: &mut Shared<'_, '_>) -> Result<(), Stopped> {
        let limit = self.launch.options.resident_workgroups.max(1) as usize;
        let [nx, ny, nz] = self.launch.workgroups;
        let mut ids =
            (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
        loop {
            while self.resident.len() < limit
                && let Some(id) = ids.next()
            {
                self.start(id, shared);
                self.turn(self.resident.len() - 1, FIRST_TURN, shared)?;
            }
            if self.resident.is_empty() {
                return Ok(());
            }
            let mut at = 0;
            while at < self.resident.len() {
                if !self.turn(at, TURN, shared)? {
                    at += 1;
                }
            }
        }
    }

    fn start(&mut self, id: [u32; 3], shared: &mut Shared<'_, '_>) {
        let spare = self.spare.pop();
        let mut workgroup = spare.unwrap_or_else(|| Workgroup::new(self.launch));
        workgroup.start(self.launch, id, &mut shared.counts);
        let races = shared.races.start_workgroup(id);
        self.resident.push(Resident { workgroup, races });
    }

    /// Runs a resident workgroup for a turn; says whether it has ended and left.
    fn turn(
        &mut self,
        at: usize,
        budget: u64,
        shared: &mut Shared<'_, '_>,
    ) -> Result<bool, Stopped> {
        let Resident { workgroup, races } = &mut self.resident[at];
        shared.races.swap_workgroup(races);
        let ran = workgroup.turn(self.launch, budget, shared);
        shared.races.swap_workgroup(races);
        let has_ended = ran?;
        if has_ended {
            self.spare.push(self.resident.remove(at).workgroup);
        }
        Ok(has_ended)
    }

    /// Reports what the race checks still held back.
    fn settle(&mut self, shared: &mut Shared<'_, '_>) {
        for Resident { races, .. } in &mut self.resident {
            shared.races.swap_workgroup(races);
            shared.races.settle(&mut shared.findings);
        }
    }

    /// Where each wave is that has not ended.
    fn unfinished(&self) -> Vec<WaveState> {
        let waves =
            self.resident.iter().flat_map(|resident| resident.workgroup.unfinished(self.launch));
        waves.take(MAX_LISTED).collect()
    }
}
