//! The machine: memory, loaded code objects, dispatches.

use codeobj::{CodeObject, Kernel, RelocationKind, Segment};
use isa::Target;

use crate::fault::{Fault, LaunchError};
use crate::launch::{self, Launch, LoadedKernel};
use crate::memory::{Access, BufferId, Memory, MemoryError};
use crate::numerics::Numerics;
use crate::program::Program;
use crate::report::Report;
use crate::trace::Tracer;
use crate::workgroup::Workgroup;

/// Which accesses count as misaligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// What HSA's unaligned access mode forbids: only scalar loads have to be aligned.
    Hsa,
    /// What the aligned access mode forbids too: 32 bits and wider need multiples of 4 in global memory;
    /// 64 bits need 8, 96 and 128 bits need 16 in LDS.
    Natural,
}

/// Whether LDS operations of one wave are trusted to take effect in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LdsOrder {
    /// As the architecture documents: in the order of issue, across lanes too.
    Architectural,
    /// Not without a wait: a conflicting earlier access of the same wave must have been waited for.
    Conservative,
}

/// How loops over lanes run on the host. The results have equal bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostVectors {
    /// With AVX2, FMA and F16C where the host has all of them.
    Detect,
    /// With what every host has.
    Plain,
}

/// Limits and modes of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Wave instructions that one dispatch may execute.
    pub instruction_limit: u64,
    /// Workgroups that may be under way at once; at least 1. More than one are only where a workgroup runs
    /// long, as it does when it waits for another one.
    pub resident_workgroups: u32,
    /// Bytes that all buffers together may have, code objects and scratch included.
    pub memory_limit_bytes: u64,
    /// Which accesses count as misaligned.
    pub alignment: Alignment,
    /// Watch for what the hardware would answer with anything: undefined values, missing waits and wait
    /// states, races, unequal barriers. Without it registers and memory start as defined zeros, race checks
    /// are off too, and a report says [`checks: false`](crate::Report::checks): faults, misalignment and
    /// what matrix operations ask of their wave are still told, but no findings mean nothing.
    pub checks: bool,
    /// Watch for races between waves and between workgroups, and for unequal numbers of barriers. Costs
    /// time and, per byte of memory that a dispatch touches, 6 bytes (24 where it is accessed bytewise).
    pub race_checks: bool,
    /// What race checks take for ordered within a wave.
    pub lds_order: LdsOrder,
    /// How matrix and dot-product instructions round; a dispatch refuses a mode that the target does not have.
    pub numerics: Numerics,
    /// Count each wave, bytes by memory and modelled LDS clocks: [`Stats::detail`](crate::Stats). Costs time.
    pub stats: bool,
    /// How loops over lanes run on the host.
    pub host_vectors: HostVectors,
}

impl Options {
    /// Whether races and unequal barriers are watched for.
    pub(crate) fn watches_races(&self) -> bool {
        self.checks && self.race_checks
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            instruction_limit: 1 << 32,
            resident_workgroups: 64,
            memory_limit_bytes: 1 << 33,
            alignment: Alignment::Hsa,
            checks: true,
            race_checks: true,
            lds_order: LdsOrder::Architectural,
            numerics: Numerics::default(),
            stats: false,
            host_vectors: HostVectors::Detect,
        }
    }
}

/// A code object in the memory of a [`Machine`]; valid for the machine that loaded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedObject {
    index: usize,
    bias: u64,
}

impl LoadedObject {
    /// The address of a symbol whose address in the image is known.
    pub fn address_of(&self, image_address: u64) -> u64 {
        self.bias.wrapping_add(image_address)
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Dispatch<'d> {
    /// The object that has the kernel.
    pub object: LoadedObject,
    /// Name of the kernel.
    pub kernel: &'d str,
    /// Workgroups in x, y, z.
    pub workgroups: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub workgroup_size: [u32; 3],
    /// The kernel-argument segment: explicit arguments at the offsets of the metadata. Hidden arguments
    /// that lie behind these bytes and follow from the launch are filled in; the rest is undefined.
    pub kernarg: &'d [u8],
    /// LDS of a workgroup beyond what the descriptor asks for, in bytes.
    pub dynamic_lds_bytes: u32,
}

#[derive(Debug)]
struct Object {
    program: Program,
    object: CodeObject,
    segments: Vec<BufferId>,
}

/// What is known of an object by its number.
#[derive(Debug)]
enum Place {
    Loaded(Box<Object>),
    /// Its kernels' names, for whoever still asks for one.
    Unloaded(Vec<String>),
}

/// An emulated device: one target, its memory, the code loaded into it.
#[derive(Debug)]
pub struct Machine {
    target: Target,
    options: Options,
    memory: Memory,
    objects: Vec<Place>,
    /// A workgroup that has ended, whose memory the next launch may use.
    spare: Option<Workgroup>,
}

impl Machine {
    /// A machine without buffers and code.
    pub fn new(target: Target, options: Options) -> Machine {
        let memory = Memory::new(options.memory_limit_bytes);
        Machine { target, options, memory, objects: Vec::new(), spare: None }
    }

    /// The target.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Global memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Global memory.
    pub fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Loads a code object: maps its segments, applies its relocations.
    ///
    /// # Errors
    /// [`LaunchError::WrongTarget`], or [`LaunchError::Memory`] when its image does not fit.
    pub fn load(&mut self, object: &CodeObject) -> Result<LoadedObject, LaunchError> {
        if object.target != self.target {
            return Err(LaunchError::WrongTarget { got: object.target, expected: self.target });
        }
        let (bias, segments) = self.map(object)?;
        if let Err(error) = self.relocate(object, bias) {
            self.release(&segments)?;
            return Err(error.into());
        }
        let executable = object.segments.iter().filter(|segment| segment.flags.execute);
        let code = executable.map(|segment| (bias + segment.address, segment.bytes.clone()));
        let program = Program::new(self.target, bias, code);
        let object = Object { program, object: object.clone(), segments };
        self.objects.push(Place::Loaded(Box::new(object)));
        Ok(LoadedObject { index: self.objects.len() - 1, bias })
    }

    /// Unloads a code object and frees its memory, whose addresses are never handed out again.
    ///
    /// # Errors
    /// [`LaunchError::Unloaded`] when that was done before, [`LaunchError::NotLoaded`] of another machine's.
    pub fn unload(&mut self, loaded: LoadedObject) -> Result<(), LaunchError> {
        let Object { object, segments, .. } = find(&self.objects, loaded)?;
        let kernels = object.kernels.iter().map(|kernel| kernel.name.clone()).collect();
        let segments = segments.clone();
        self.objects[loaded.index] = Place::Unloaded(kernels);
        Ok(self.release(&segments)?)
    }

    fn release(&mut self, buffers: &[BufferId]) -> Result<(), MemoryError> {
        buffers.iter().try_for_each(|buffer| self.memory.free(*buffer))
    }

    /// Maps the segments, each a buffer of its own; returns what to add to addresses of the image, and the buffers.
    fn map(&mut self, object: &CodeObject) -> Result<(u64, Vec<BufferId>), MemoryError> {
        let access = |segment: &Segment| {
            if segment.flags.write { Access::ReadWrite } else { Access::ReadOnly }
        };
        let first = object.segments.first().map_or(0, |segment| segment.address);
        let parts = object.segments.iter().map(|segment| {
            let label = format!("code object segment at {:#x}", segment.address);
            (label, segment.address - first, segment.memory_size, access(segment))
        });
        let (base, ids) = self.memory.allocate_image(parts.collect())?;
        for (segment, id) in object.segments.iter().zip(&ids) {
            self.memory.write(*id, 0, &segment.bytes)?;
            let n_zeros = segment.memory_size - segment.bytes.len() as u64;
            self.memory.fill_zero(*id, segment.bytes.len() as u64, n_zeros)?;
        }
        Ok((base.wrapping_sub(first), ids))
    }

    fn relocate(&mut self, object: &CodeObject, bias: u64) -> Result<(), MemoryError> {
        for relocation in &object.relocations {
            let bytes = bias.wrapping_add(relocation.target).to_le_bytes();
            let stored = match relocation.kind {
                RelocationKind::Abs32Lo => &bytes[..4],
                RelocationKind::Abs32Hi => &bytes[4..],
                RelocationKind::Abs64 | RelocationKind::Relative64 => &bytes[..],
            };
            self.memory.patch(bias.wrapping_add(relocation.address), stored)?;
        }
        Ok(())
    }

    /// Whether a dispatch could start, apart from the memory that its arguments take.
    ///
    /// # Errors
    /// As [`Machine::dispatch`] before anything runs.
    pub fn check(&self, dispatch: &Dispatch<'_>) -> Result<(), LaunchError> {
        let kernel = find(&self.objects, dispatch.object)?.object.kernel(dispatch.kernel)?;
        launch::check(kernel, self.target, &self.options, dispatch).map(|_| ())
    }

    /// Runs a kernel to its end. Workgroups start in ascending order of their ids, x fastest, and run one
    /// after the other, except that those which run long share the machine in turns, up to
    /// [`Options::resident_workgroups`]: so workgroups that wait for each other make progress.
    ///
    /// # Errors
    /// [`Fault::Launch`] when it cannot start, [`Fault::Execution`] when a wave does something without
    /// meaning; memory then holds what was stored before.
    pub fn dispatch(&mut self, dispatch: &Dispatch<'_>) -> Result<Report, Fault> {
        self.run(dispatch, &mut None)
    }

    /// As [`Machine::dispatch`], showing every instruction to `tracer`.
    ///
    /// # Errors
    /// As [`Machine::dispatch`].
    pub fn dispatch_traced(
        &mut self,
        dispatch: &Dispatch<'_>,
        tracer: &mut dyn Tracer,
    ) -> Result<Report, Fault> {
        self.run(dispatch, &mut Some(tracer))
    }

    fn run(
        &mut self,
        dispatch: &Dispatch<'_>,
        tracer: &mut Option<&mut dyn Tracer>,
    ) -> Result<Report, Fault> {
        let object = find(&self.objects, dispatch.object)?;
        let kernel: &Kernel = object.object.kernel(dispatch.kernel).map_err(LaunchError::from)?;
        let loaded = LoadedKernel { kernel, program: &object.program, bias: dispatch.object.bias };
        let launch = Launch::prepare(&mut self.memory, &self.options, loaded, dispatch)?;
        let result = launch.run(&mut self.memory, &mut self.spare, tracer);
        launch.release(&mut self.memory)?;
        result
    }
}

fn find(objects: &[Place], loaded: LoadedObject) -> Result<&Object, LaunchError> {
    match objects.get(loaded.index) {
        Some(Place::Loaded(object)) => Ok(object),
        Some(Place::Unloaded(kernels)) => {
            Err(LaunchError::Unloaded { number: loaded.index, kernels: kernels.clone() })
        }
        None => Err(LaunchError::NotLoaded),
    }
}
