//! Faults: what ends a run.

use serde::Serialize;

use crate::finding::{Place, Site};
use crate::memory::MemoryError;
use crate::report::Report;

/// Why a dispatch has no result.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The dispatch cannot start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A wave did something that has no meaning.
    #[error("{0}")]
    Execution(Box<ExecutionFault>),
}

/// What happened, where, and what was found before it.
#[derive(Debug)]
pub struct ExecutionFault {
    /// What happened.
    pub cause: Cause,
    /// The kernel.
    pub kernel: String,
    /// The instruction; `None` where there is none.
    pub site: Option<Site>,
    /// Where in the launch.
    pub place: Place,
    /// Where the waves that have not ended are, after the limit of instructions and after a deadlock; the first 64
    /// of the workgroups under way.
    pub waves: Vec<WaveState>,
    /// Findings and counts up to here.
    pub report: Report,
}

impl std::fmt::Display for ExecutionFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n  in '{}', {}", self.cause, self.kernel, self.place)?;
        if let Some(site) = &self.site {
            write!(f, "\n  at {site}")?;
        }
        self.waves.iter().try_for_each(|wave| write!(f, "\n  {wave}"))
    }
}

/// What a wave does that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It can go on.
    Running,
    /// It waits at a barrier.
    AtBarrier,
    /// It halted itself.
    Halted,
}

/// Where a wave is that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaveState {
    /// The wave.
    pub place: Place,
    /// What it does.
    pub activity: Activity,
    /// The instruction that it would execute next.
    pub next: Site,
}

impl std::fmt::Display for WaveState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let activity = match self.activity {
            Activity::Running => "is before",
            Activity::AtBarrier => "waits at the barrier before",
            Activity::Halted => "is halted before",
        };
        write!(f, "{} {activity} {}", self.place, self.next)
    }
}

/// What ended a run. Numbers are named with their units.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
pub enum Cause {
    /// A lane accessed bytes of global memory that belong to no buffer, or stored to a read-only one.
    #[error("{}{error}", lane_prefix(*.lane))]
    Memory {
        /// The lane; `None` for scalar accesses.
        lane: Option<u32>,
        /// What was wrong.
        error: MemoryError,
    },
    /// A lane accessed LDS outside the workgroup's allocation.
    #[error(
        "lane {lane}: {bytes} B at LDS address {address:#x}, but the workgroup has {limit_bytes} B of LDS"
    )]
    LdsOutOfBounds {
        /// The lane.
        lane: u32,
        /// First byte of the access.
        address: u32,
        /// Bytes accessed.
        bytes: u32,
        /// LDS of the workgroup.
        limit_bytes: u32,
    },
    /// A lane accessed scratch outside its allocation.
    #[error(
        "lane {lane}: {bytes} B at scratch address {address:#x}, but a work-item has {limit_bytes} B of scratch"
    )]
    ScratchOutOfBounds {
        /// The lane.
        lane: u32,
        /// First byte of the access.
        address: u32,
        /// Bytes accessed.
        bytes: u32,
        /// Scratch of a work-item.
        limit_bytes: u32,
    },
    /// An instruction that the tables know and the emulator does not execute.
    #[error("{op} is not executed by this emulator: {why}")]
    Unsupported {
        /// The mnemonic.
        op: String,
        /// What about it.
        why: String,
    },
    /// Bytes that no table row matches.
    #[error("no instruction: bytes {bytes}: {error}; nearest: {nearest}")]
    UnknownInstruction {
        /// The bytes at the program counter, in hexadecimal.
        bytes: String,
        /// What the decoder says.
        error: String,
        /// The instruction of the tables that the bytes resemble most.
        nearest: String,
    },
    /// The program counter left the code.
    #[error(
        "program counter {address:#x} is not in executable code; does the kernel end with s_endpgm?"
    )]
    OutsideCode {
        /// Where the program counter points, as an address of the image where it is one.
        address: u64,
    },
    /// A register that the descriptor does not allocate.
    #[error("register {register} is used, but the descriptor allocates {allocated}")]
    RegisterNotAllocated {
        /// The register.
        register: String,
        /// Registers of that kind that a wave has.
        allocated: u16,
    },
    /// The dispatch executed as many instructions as it may.
    #[error(
        "limit of {limit} wave instructions reached: an endless loop, or raise the instruction limit"
    )]
    InstructionLimit {
        /// The limit.
        limit: u64,
    },
    /// The kernel asked for the trap handler: usually a failed assertion.
    #[error("s_trap {id}: the kernel gave up")]
    Trap {
        /// The trap's number.
        id: u16,
    },
    /// No wave of the workgroup can go on.
    #[error("deadlock: {}", deadlock(*waiting, *halted, *waves))]
    Deadlock {
        /// Waves at a barrier.
        waiting: u32,
        /// Halted waves, which nothing resumes.
        halted: u32,
        /// Waves of the workgroup.
        waves: u32,
    },
}

fn deadlock(waiting: u32, halted: u32, waves: u32) -> String {
    match (waiting, halted) {
        (0, _) if halted == waves => format!("all {waves} waves are halted"),
        (0, _) => format!("the remaining {halted} of {waves} waves are halted"),
        _ => format!(
            "{waiting} of {waves} waves wait at a barrier that {halted} others, halted, never reach"
        ),
    }
}

fn lane_prefix(lane: Option<u32>) -> String {
    lane.map_or_else(String::new, |lane| format!("lane {lane}: "))
}

/// Why a dispatch cannot start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The code object was built for another processor.
    #[error("code object is for {got}, the machine is {expected}")]
    WrongTarget {
        /// Target of the object.
        got: isa::Target,
        /// Target of the machine.
        expected: isa::Target,
    },
    /// No such kernel.
    #[error(transparent)]
    UnknownKernel(#[from] codeobj::UnknownKernel),
    /// The loaded object belongs to another machine.
    #[error("code object was not loaded by this machine")]
    NotLoaded,
    /// The object was unloaded before.
    #[error(
        "code object {number} ({}) was unloaded: load it again, and launch what that gives",
        kernel_words(.kernels)
    )]
    Unloaded {
        /// Which of the machine's objects it was, counted from 0 in the order of loading.
        number: usize,
        /// Names of its kernels.
        kernels: Vec<String>,
    },
    /// A grid or workgroup size that cannot be launched.
    #[error("{what} is {got}, limit {limit} {unit}: {remedy}")]
    Limit {
        /// What is out of range.
        what: &'static str,
        /// The value.
        got: u64,
        /// The largest legal value.
        limit: u64,
        /// Unit of both.
        unit: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The workgroup size differs from the one the kernel demands.
    #[error(
        "workgroup size {got:?}, but the kernel was compiled for {required:?} (.reqd_workgroup_size)"
    )]
    WorkgroupSize {
        /// Size asked for.
        got: [u32; 3],
        /// Size that the kernel demands.
        required: [u32; 3],
    },
    /// The kernel's descriptor asks for something the emulator does not do.
    #[error("kernel descriptor: {what} is not emulated; {remedy}")]
    Descriptor {
        /// What it asks for.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The machine's mode of numerics is none of its target's.
    #[error(transparent)]
    Numerics(#[from] crate::numerics::WrongNumerics),
    /// Memory for code, arguments or packets could not be allocated.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

fn kernel_words(kernels: &[String]) -> String {
    match kernels {
        [] => "without kernels".to_owned(),
        [kernel] => format!("kernel '{kernel}'"),
        several => format!("kernels {}", several.join(", ")),
    }
}
