//! Registers and waits of a kernel's code, summed by the lines of its author, for `explain`.

pub mod svg;

use std::collections::BTreeMap;

use emit::gcn::profile::{Line, Place, Profile};
use isa::Target;
use serde::Serialize;

/// A kernel's registers and waits.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The kernel.
    pub kernel: String,
    /// Its target.
    pub target: &'static str,
    /// What of it.
    #[serde(flatten)]
    pub view: View,
}

/// One of the views.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "view", rename_all = "snake_case")]
pub enum View {
    /// Live registers over the code.
    Registers(Registers),
    /// Waits and modelled stalls over the code.
    Schedule(Schedule),
}

/// Live registers.
#[derive(Clone, Debug, Serialize)]
pub struct Registers {
    /// Most that are alive at one instruction, by file.
    pub most: Counts,
    /// Runs of instructions that one line of source asked for, in the order of the code.
    pub runs: Vec<RegisterRun>,
    /// What is alive where most VGPRs are, the largest first.
    pub at_most_vgprs: Vec<Alive>,
    /// Live registers at every instruction.
    pub places: Vec<Counts>,
}

/// Registers by file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// VGPRs.
    pub vgprs: u32,
    /// SGPRs, special ones apart.
    pub sgprs: u32,
    /// Accumulation registers.
    pub agprs: u32,
}

/// Instructions of one line of source that follow each other.
#[derive(Clone, Debug, Serialize)]
pub struct RegisterRun {
    /// The line of source.
    pub phase: String,
    /// Index of its first instruction among [`Registers::places`].
    pub first: usize,
    /// Instructions.
    pub instructions: usize,
    /// Most that are alive at one of them, by file.
    #[serde(flatten)]
    pub most: Counts,
}

/// A value that holds VGPRs.
#[derive(Clone, Debug, Serialize)]
pub struct Alive {
    /// Its name in the kernel as the back end simplified it; none for what the back end made for itself.
    pub value: Option<String>,
    /// The line of source that made it.
    pub phase: String,
    /// VGPRs.
    pub vgprs: u32,
}

/// Waits and stalls. Slots are issue slots of one SIMD: 4 cycles on gfx950, 1 on gfx1100. All stalls are modelled.
#[derive(Clone, Debug, Serialize)]
pub struct Schedule {
    /// Instructions.
    pub instructions: usize,
    /// Waits for memory.
    pub waits: usize,
    /// Slots that no-ops take.
    pub idle_slots: u32,
    /// Slots for which results are waited for, modelled.
    pub stall_slots: u32,
    /// The same by line of source, most stalls first.
    pub phases: Vec<PhaseSchedule>,
    /// Instructions that are held back, most first.
    pub stalls: Vec<Stall>,
    /// Stall of every instruction, in slots.
    pub slots: Vec<u32>,
}

/// Waits and stalls of the instructions of one line of source.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PhaseSchedule {
    /// The line of source.
    pub phase: String,
    /// Instructions.
    pub instructions: usize,
    /// Waits for memory.
    pub waits: usize,
    /// Slots that no-ops take.
    pub idle_slots: u32,
    /// Slots for which results are waited for, modelled.
    pub stall_slots: u32,
}

/// An instruction that is held back.
#[derive(Clone, Debug, Serialize)]
pub struct Stall {
    /// Byte offset from the kernel's entry.
    pub offset: u32,
    /// The instruction.
    pub instruction: String,
    /// The line of source that asked for it.
    pub phase: String,
    /// Slots, modelled.
    pub stall_slots: u32,
}

/// Live registers of a profile.
pub fn registers(kernel: &str, target: Target, profile: &Profile) -> Explained {
    let places: Vec<Counts> = profile.places.iter().map(Counts::of).collect();
    let mut runs: Vec<RegisterRun> = Vec::new();
    for (at, (place, counts)) in profile.places.iter().zip(&places).enumerate() {
        let phase = phase(profile, place.stmt);
        match runs.last_mut().filter(|run| run.phase == phase) {
            Some(run) => {
                run.instructions += 1;
                run.most = run.most.max(*counts);
            }
            None => runs.push(RegisterRun { phase, first: at, instructions: 1, most: *counts }),
        }
    }
    let alive = |alive: &emit::gcn::profile::Alive| Alive {
        value: alive.value.map(|value| format!("%{value}")),
        phase: alive.phase.clone(),
        vgprs: alive.vgprs,
    };
    let most = places.iter().fold(Counts::default(), |most, place| most.max(*place));
    let at_most_vgprs = profile.at_peak.iter().map(alive).collect();
    let view = View::Registers(Registers { most, runs, at_most_vgprs, places });
    Explained { kernel: kernel.to_owned(), target: target.name(), view }
}

/// Waits and stalls of a profile.
pub fn schedule(kernel: &str, target: Target, profile: &Profile) -> Explained {
    let mut by_phase: BTreeMap<String, PhaseSchedule> = BTreeMap::new();
    for line in &profile.lines {
        let name = phase(profile, line.stmt);
        let sum = by_phase.entry(name.clone()).or_default();
        sum.phase = name;
        sum.instructions += 1;
        sum.waits += usize::from(line.is_wait);
        sum.idle_slots += line.idle_slots;
        sum.stall_slots += line.stall_slots;
    }
    let mut phases: Vec<PhaseSchedule> = by_phase.into_values().collect();
    phases.sort_by_key(|phase| std::cmp::Reverse(phase.stall_slots + phase.idle_slots));
    let stall = |line: &Line| Stall {
        offset: line.offset,
        instruction: line.text.clone(),
        phase: phase(profile, line.stmt),
        stall_slots: line.stall_slots,
    };
    let held = profile.lines.iter().filter(|line| line.stall_slots > 0);
    let mut stalls: Vec<Stall> = held.map(stall).collect();
    stalls.sort_by_key(|stall| std::cmp::Reverse(stall.stall_slots));
    let view = View::Schedule(Schedule {
        instructions: profile.lines.len(),
        waits: profile.lines.iter().filter(|line| line.is_wait).count(),
        idle_slots: profile.lines.iter().map(|line| line.idle_slots).sum(),
        stall_slots: profile.lines.iter().map(|line| line.stall_slots).sum(),
        phases,
        stalls,
        slots: profile.lines.iter().map(|line| line.stall_slots).collect(),
    });
    Explained { kernel: kernel.to_owned(), target: target.name(), view }
}

fn phase(profile: &Profile, stmt: u32) -> String {
    let found = profile.phases.get(stmt as usize);
    found.map_or("unknown".to_owned(), |phase| phase.text.clone())
}

impl Counts {
    fn of(place: &Place) -> Counts {
        Counts { vgprs: place.vgprs, sgprs: place.sgprs, agprs: place.agprs }
    }

    fn max(self, other: Counts) -> Counts {
        Counts {
            vgprs: self.vgprs.max(other.vgprs),
            sgprs: self.sgprs.max(other.sgprs),
            agprs: self.agprs.max(other.agprs),
        }
    }
}
