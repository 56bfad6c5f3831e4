//! A workgroup: its waves take turns, in a fixed order, and meet at barriers.
//!
//! Each wave runs for a slice of instructions or until it waits or ends; then the next one runs. A barrier
//! opens when every wave that has not ended is at it (ended waves do not count, as on hardware).

use crate::checks::barriers;
use crate::checks::races::Races;
use crate::exec::Exec;
use crate::fault::{Cause, ExecutionFault};
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

/// The state of one workgroup, used for one after the other.
pub(crate) struct Workgroup {
    waves: Vec<Wave>,
    scratch: Vec<Scratch>,
    lds: Lds,
}

/// What watches over a dispatch.
pub(crate) struct Watch<'d> {
    pub findings: &'d mut Findings,
    pub races: &'d mut Races,
}

/// Why a workgroup stopped.
pub(crate) struct Stopped {
    cause: Cause,
    place: Place,
    pc: Option<u64>,
}

impl Stopped {
    pub(crate) fn into_fault(self, launch: &Launch<'_>, report: Report) -> ExecutionFault {
        ExecutionFault {
            cause: self.cause,
            kernel: launch.kernel.name.clone(),
            site: self.pc.map(|pc| launch.program.site(pc)),
            place: self.place,
            report,
        }
    }
}

fn new_wave(launch: &Launch<'_>) -> Wave {
    let mut wave = Wave::new(launch.target);
    if launch.options.host_vectors == HostVectors::Plain {
        wave.vectors.set_width(Width::PLAIN);
    }
    wave
}

impl Workgroup {
    pub(crate) fn new(launch: &Launch<'_>) -> Workgroup {
        let width = launch.target.wave_width();
        let n_waves = launch.work_items().div_ceil(width);
        let scratch_bytes = crate::launch::scratch_bytes(&launch.kernel.descriptor);
        Workgroup {
            waves: (0..n_waves).map(|_| new_wave(launch)).collect(),
            scratch: (0..n_waves).map(|_| Scratch::new(scratch_bytes, width)).collect(),
            lds: Lds::new(launch.lds_bytes),
        }
    }

    /// Runs one workgroup to its end; `left` is what remains of the instruction limit.
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a dispatch that outlive a workgroup are borrowed apart"
    )]
    pub(crate) fn run(
        &mut self,
        launch: &Launch<'_>,
        id: [u32; 3],
        memory: &mut Memory,
        watch: &mut Watch<'_>,
        counts: &mut Counts,
        left: &mut u64,
        tracer: &mut Option<&mut dyn Tracer>,
    ) -> Result<(), Stopped> {
        self.start(launch, id, counts);
        watch.races.start_workgroup(id);
        loop {
            for (wave, scratch) in self.waves.iter_mut().zip(&mut self.scratch) {
                let place = Place { workgroup: id, wave: wave.id, lane: None };
                counts.start_slice();
                let mut exec = Exec {
                    wave,
                    memory,
                    lds: &mut self.lds,
                    scratch,
                    findings: watch.findings,
                    races: watch.races,
                    counts,
                    options: launch.options,
                    program: launch.program,
                    target: launch.target,
                    kernel: &launch.kernel.name,
                    workgroup: id,
                    cursor: Cursor::default(),
                };
                let slice = SLICE.min(*left);
                let ran = exec.run(slice, tracer);
                let pc = Some(exec.wave.pc);
                counts.end_slice(id, place.wave);
                let unused = ran.map_err(|cause| Stopped { cause: *cause, place, pc })?;
                *left -= slice - unused;
                if *left == 0 {
                    let limit = launch.options.instruction_limit;
                    return Err(Stopped { cause: Cause::InstructionLimit { limit }, place, pc });
                }
            }
            if self.has_ended(launch, id, watch)? {
                counts.end_workgroup(id);
                return Ok(());
            }
        }
    }

    fn start(&mut self, launch: &Launch<'_>, id: [u32; 3], counts: &mut Counts) {
        self.lds.reset();
        for (number, (wave, scratch)) in (0..).zip(self.waves.iter_mut().zip(&mut self.scratch)) {
            scratch.reset();
            launch.start_wave(wave, number, id);
        }
        counts.start_workgroup(id, self.waves.len() as u32);
    }

    /// Opens a barrier that all waves have reached; says whether all have ended.
    fn has_ended(
        &mut self,
        launch: &Launch<'_>,
        id: [u32; 3],
        watch: &mut Watch<'_>,
    ) -> Result<bool, Stopped> {
        let n_with =
            |status: Status| self.waves.iter().filter(|wave| wave.status == status).count() as u32;
        let (running, waiting, halted) =
            (n_with(Status::Running), n_with(Status::AtBarrier), n_with(Status::Halted));
        if running != 0 {
            return Ok(false);
        }
        if halted != 0 {
            let place = Place { workgroup: id, wave: 0, lane: None };
            let cause = Cause::Deadlock { waiting, waves: self.waves.len() as u32 };
            return Err(Stopped { cause, place, pc: None });
        }
        if launch.options.race_checks {
            watch.races.open_barrier(&self.waves);
            watch.races.settle(watch.findings);
            barriers::check(launch, id, &self.waves, watch.findings);
        }
        for wave in self.waves.iter_mut().filter(|wave| wave.status == Status::AtBarrier) {
            wave.status = Status::Running;
        }
        Ok(waiting == 0)
    }
}
