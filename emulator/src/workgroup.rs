//! A workgroup: its waves take turns, in a fixed order, and meet at barriers.
//!
//! Each wave runs for a slice of instructions or until it waits or ends; then the next one runs. A barrier
//! opens when every wave that has not ended is at it (ended waves do not count, as on hardware).

use crate::checks::barriers;
use crate::checks::races::Races;
use crate::exec::Exec;
use crate::fault::{Activity, Cause, ExecutionFault, WaveState};
use crate::finding::{Findings, Place};
use crate::lanes::Width;
use crate::launch::Launch;
use crate::lds::Lds;
use crate::machine::HostVectors;
use crate::memory::{Cursor, Memory};
use crate::report::{Counts, Report};
use crate::scratch::Scratch;
use crate::trace::Tracer;
use crate::wave::{Status, Wave};

/// Instructions that a wave runs before the next one gets its turn.
const SLICE: u64 = 1024;

/// What a workgroup needs memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needs {
    n_vectors: [u16; 2],
    n_waves: u32,
    lds_bytes: u32,
    scratch_bytes: u32,
}

impl Needs {
    fn of(launch: &Launch<'_>) -> Needs {
        Needs {
            n_vectors: launch.n_vectors(),
            n_waves: launch.work_items().div_ceil(launch.target.wave_width()),
            lds_bytes: launch.lds_bytes,
            scratch_bytes: crate::launch::scratch_bytes(&launch.kernel.descriptor),
        }
    }
}

/// The state of one workgroup, used for one after the other.
#[derive(Debug)]
pub(crate) struct Workgroup {
    needs: Needs,
    id: [u32; 3],
    waves: Vec<Wave>,
    scratch: Vec<Scratch>,
    lds: Lds,
}

/// What the workgroups of a dispatch share.
pub(crate) struct Shared<'d, 't> {
    pub memory: &'d mut Memory,
    pub findings: Findings,
    pub races: Races,
    pub counts: Counts,
    /// What remains of the instruction limit.
    pub left: u64,
    pub tracer: &'d mut Option<&'t mut dyn Tracer>,
}

/// Why a workgroup stopped.
pub(crate) struct Stopped {
    cause: Cause,
    place: Place,
    pc: Option<u64>,
}

impl Stopped {
    /// The fault, with `waves` where it is one of the whole dispatch.
    pub(crate) fn into_fault(
        self,
        launch: &Launch<'_>,
        report: Report,
        waves: Vec<WaveState>,
    ) -> ExecutionFault {
        let is_of_all =
            matches!(self.cause, Cause::InstructionLimit { .. } | Cause::Deadlock { .. });
        ExecutionFault {
            cause: self.cause,
            kernel: launch.kernel.name.clone(),
            site: self.pc.map(|pc| launch.program.site(pc)),
            place: self.place,
            waves: if is_of_all { waves } else { Vec::new() },
            report,
        }
    }
}

fn new_wave(launch: &Launch<'_>) -> Wave {
    let mut wave = Wave::new(launch.target, launch.n_vectors());
    wave.tracks_undefined = launch.options.checks;
    if launch.options.host_vectors == HostVectors::Plain {
        wave.vectors.set_width(Width::PLAIN);
    }
    wave
}

impl Workgroup {
    pub(crate) fn new(launch: &Launch<'_>) -> Workgroup {
        let (needs, width) = (Needs::of(launch), launch.target.wave_width());
        let Needs { n_waves, lds_bytes, scratch_bytes, .. } = needs;
        Workgroup {
            needs,
            id: [0; 3],
            waves: (0..n_waves).map(|_| new_wave(launch)).collect(),
            scratch: (0..n_waves).map(|_| Scratch::new(scratch_bytes, width)).collect(),
            lds: Lds::new(lds_bytes),
        }
    }

    /// Whether it can be used for a launch of the same machine.
    pub(crate) fn fits(&self, launch: &Launch<'_>) -> bool {
        self.needs == Needs::of(launch)
    }

    /// Sets up all waves.
    pub(crate) fn start(&mut self, launch: &Launch<'_>, id: [u32; 3], counts: &mut Counts) {
        self.id = id;
        self.lds.reset();
        for (number, (wave, scratch)) in (0..).zip(self.waves.iter_mut().zip(&mut self.scratch)) {
            scratch.reset();
            launch.start_wave(wave, number, id);
        }
        counts.start_workgroup(id, self.waves.len() as u32);
    }

    /// Runs the waves in slices until all have ended or `budget` instructions are used up; says whether
    /// all have ended.
    pub(crate) fn turn(
        &mut self,
        launch: &Launch<'_>,
        budget: u64,
        shared: &mut Shared<'_, '_>,
    ) -> Result<bool, Stopped> {
        let until = shared.left.saturating_sub(budget);
        loop {
            for number in 0..self.waves.len() {
                self.slice(launch, number, shared)?;
            }
            if self.has_ended(launch, shared)? {
                shared.counts.end_workgroup(self.id);
                return Ok(true);
            }
            if shared.left <= until {
                return Ok(false);
            }
        }
    }

    /// Runs one wave until it waits or ends, at most [`SLICE`] instructions.
    fn slice(
        &mut self,
        launch: &Launch<'_>,
        number: usize,
        shared: &mut Shared<'_, '_>,
    ) -> Result<(), Stopped> {
        let wave = &mut self.waves[number];
        let place = Place { workgroup: self.id, wave: wave.id, lane: None };
        shared.counts.start_slice();
        let mut exec = Exec {
            wave,
            memory: shared.memory,
            lds: &mut self.lds,
            scratch: &mut self.scratch[number],
            findings: &mut shared.findings,
            races: &mut shared.races,
            counts: &mut shared.counts,
            options: launch.options,
            program: launch.program,
            target: launch.target,
            kernel: &launch.kernel.name,
            workgroup: self.id,
            cursor: Cursor::default(),
        };
        let slice = SLICE.min(shared.left);
        let ran = exec.run(slice, shared.tracer);
        let has_ended = exec.wave.status == Status::Ended;
        let pc = Some(exec.wave.pc).filter(|_| !has_ended);
        shared.counts.end_slice(self.id, place.wave);
        let unused = ran.map_err(|cause| Stopped { cause: *cause, place, pc })?;
        shared.left -= slice - unused;
        if shared.left == 0 {
            let limit = launch.options.instruction_limit;
            return Err(Stopped { cause: Cause::InstructionLimit { limit }, place, pc });
        }
        Ok(())
    }

    /// Where each wave is that has not ended.
    pub(crate) fn unfinished<'w>(
        &'w self,
        launch: &'w Launch<'_>,
    ) -> impl Iterator<Item = WaveState> + 'w {
        let waves = self.waves.iter().filter(|wave| wave.status != Status::Ended);
        waves.map(|wave| WaveState {
            place: Place { workgroup: self.id, wave: wave.id, lane: None },
            activity: match wave.status {
                Status::AtBarrier => Activity::AtBarrier,
                Status::Halted => Activity::Halted,
                Status::Running | Status::Ended => Activity::Running,
            },
            next: launch.program.site(wave.pc),
        })
    }

    /// Opens a barrier that all waves have reached; says whether all have ended.
    fn has_ended(
        &mut self,
        launch: &Launch<'_>,
        shared: &mut Shared<'_, '_>,
    ) -> Result<bool, Stopped> {
        let n_with =
            |status: Status| self.waves.iter().filter(|wave| wave.status == status).count() as u32;
        let (running, waiting, halted) =
            (n_with(Status::Running), n_with(Status::AtBarrier), n_with(Status::Halted));
        if running != 0 {
            return Ok(false);
        }
        if halted != 0 {
            let place = Place { workgroup: self.id, wave: 0, lane: None };
            let cause = Cause::Deadlock { waiting, halted, waves: self.waves.len() as u32 };
            return Err(Stopped { cause, place, pc: None });
        }
        if launch.options.watches_races() {
            shared.races.open_barrier(&self.waves);
            shared.races.settle(&mut shared.findings);
            barriers::check(launch, self.id, &self.waves, &mut shared.findings);
        }
        for wave in self.waves.iter_mut().filter(|wave| wave.status == Status::AtBarrier) {
            wave.status = Status::Running;
        }
        Ok(waiting == 0)
    }
}
