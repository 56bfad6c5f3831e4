//! One dispatch: arguments and packets in memory, waves set up as the descriptor says, workgroups run.
//!
//! Source of register order and packet layout: AMDGPUUsage (LLVM 22), "Initial Kernel Execution State" and
//! "Kernel Dispatch"; HSA runtime specification, `hsa_kernel_dispatch_packet_t`.

use codeobj::{HiddenArg, Kernel, KernelDescriptor, ValueKind};
use isa::Target;

use crate::fault::{Fault, LaunchError};
use crate::machine::{Dispatch, Options};
use crate::memory::{Access, BufferId, Memory, MemoryError};
use crate::program::Program;
use crate::report::Report;
use crate::schedule::Schedule;
use crate::sem::control::initial_mode;
use crate::trace::Tracer;
use crate::wave::{ROW_LANES, ROWS, Wave, scalar};
use crate::workgroup::Workgroup;

/// A kernel of a loaded object.
#[derive(Clone, Copy)]
pub(crate) struct LoadedKernel<'m> {
    pub kernel: &'m Kernel,
    pub program: &'m Program,
    /// What to add to addresses of the image.
    pub bias: u64,
}

/// Bytes that a preloading kernel's entry skips (AMDGPUUsage, "Preloaded Kernel Arguments").
const PRELOAD_PROLOGUE_BYTES: u64 = 256;

/// A dispatch that was found legal, with its arguments in memory.
pub(crate) struct Launch<'m> {
    pub options: &'m Options,
    pub program: &'m Program,
    pub target: Target,
    pub kernel: &'m Kernel,
    pub workgroups: [u32; 3],
    pub workgroup_size: [u32; 3],
    pub lds_bytes: u32,
    entry: u64,
    kernarg: BufferId,
    packet: BufferId,
    /// What the user SGPRs start with, in order; `None` stays undefined.
    user_sgprs: Vec<Option<u32>>,
}

impl<'m> Launch<'m> {
    pub(crate) fn prepare(
        memory: &mut Memory,
        options: &'m Options,
        loaded: LoadedKernel<'m>,
        dispatch: &Dispatch<'_>,
    ) -> Result<Launch<'m>, LaunchError> {
        let LoadedKernel { kernel, program, bias } = loaded;
        let target = program.target();
        let lds_bytes = check(kernel, target, options, dispatch)?;
        let kernarg = allocate_kernarg(memory, kernel, dispatch)?;
        let packet = allocate_packet(memory, kernel, dispatch, lds_bytes, bias, kernarg)?;
        let preload = kernel.descriptor.kernarg_preload;
        let prologue = if preload.length_dwords == 0 { 0 } else { PRELOAD_PROLOGUE_BYTES };
        let user_sgprs = user_sgprs(memory, kernel, kernarg, packet)?;
        Ok(Launch {
            options,
            program,
            target,
            kernel,
            workgroups: dispatch.workgroups,
            workgroup_size: dispatch.workgroup_size,
            lds_bytes,
            entry: bias.wrapping_add(kernel.entry_address).wrapping_add(prologue),
            kernarg,
            packet,
            user_sgprs,
        })
    }

    /// Runs all workgroups; `spare` is one of an earlier launch, whose memory may be used again.
    pub(crate) fn run(
        &self,
        memory: &mut Memory,
        spare: &mut Option<Workgroup>,
        tracer: &mut Option<&mut dyn Tracer>,
    ) -> Result<Report, Fault> {
        let mut schedule = Schedule::new(self, spare.take());
        let result = schedule.run(memory, tracer).map_err(Fault::Execution);
        *spare = schedule.into_spare();
        result
    }

    /// Gives back what the launch allocated.
    pub(crate) fn release(self, memory: &mut Memory) -> Result<(), LaunchError> {
        memory.free(self.kernarg)?;
        memory.free(self.packet)?;
        Ok(())
    }

    /// Work-items of a workgroup.
    pub(crate) fn work_items(&self) -> u32 {
        self.workgroup_size.iter().product()
    }

    /// Vector registers of a wave: architectural, accumulation.
    pub(crate) fn n_vectors(&self) -> [u16; 2] {
        vector_registers(&self.kernel.descriptor, self.target)
    }

    /// Sets up a wave of a workgroup; everything that the hardware does not initialise is undefined.
    pub(crate) fn start_wave(&self, wave: &mut Wave, number: u32, workgroup: [u32; 3]) {
        let descriptor = &self.kernel.descriptor;
        wave.reset(number, self.entry, initial_mode(descriptor));
        for (register, value) in (0..).zip(&self.user_sgprs) {
            if let Some(value) = value {
                wave.scalars.set(register, *value, 0);
            }
        }
        self.set_workgroup_ids(wave, workgroup);
        self.set_work_item_ids(wave, number);
    }

    fn set_workgroup_ids(&self, wave: &mut Wave, workgroup: [u32; 3]) {
        let descriptor = &self.kernel.descriptor;
        let ids = descriptor.workgroup_ids;
        let enabled =
            [ids.x, ids.y, ids.z].into_iter().zip(workgroup).filter(|(enabled, _)| *enabled);
        let first = u8::try_from(descriptor.user_sgpr_count).expect("at most 16");
        for (register, (_, id)) in (first..).zip(enabled) {
            wave.scalars.set(register, id, 0);
        }
    }

    /// EXEC and the packed ids in v0: x in bits 9:0, y in 19:10, z in 29:20.
    fn set_work_item_ids(&self, wave: &mut Wave, number: u32) {
        let first = number * wave.width;
        let n_lanes = self.work_items().saturating_sub(first).min(wave.width);
        let exec = if n_lanes == 64 { u64::MAX } else { (1 << n_lanes) - 1 };
        wave.set_mask(scalar::EXEC, exec, 0);
        let [size_x, size_y, _] = self.workgroup_size;
        let dimensions = self.kernel.descriptor.work_item_id_dimensions;
        let (mut x, mut y) = (first % size_x, first / size_x % size_y);
        let mut z = first / size_x / size_y;
        let mut ids = [[0; ROW_LANES]; ROWS];
        for id in ids.as_flattened_mut().iter_mut().take(n_lanes as usize) {
            *id = x
                | if dimensions > 1 { y << 10 } else { 0 }
                | if dimensions > 2 { z << 20 } else { 0 };
            x += 1;
            if x == size_x {
                (x, y) = (0, y + 1);
            }
            if y == size_y {
                (y, z) = (0, z + 1);
            }
        }
        for (row, ids) in ids.iter().enumerate().take(wave.n_rows()) {
            let lanes = (exec >> (row * ROW_LANES)) as u32;
            wave.vectors.write_row(0, row, lanes, u32::MAX, ids);
        }
    }
}

fn vector_registers(descriptor: &KernelDescriptor, target: Target) -> [u16; 2] {
    let narrow = |count: u32| u16::try_from(count.min(256)).expect("at most 256");
    match target {
        Target::Gfx1100 => [narrow(descriptor.vgprs), 0],
        Target::Gfx950 => {
            let arch = descriptor.arch_vgprs.min(descriptor.vgprs);
            [narrow(arch), narrow(descriptor.vgprs - arch)]
        }
    }
}

/// Whether a launch fits its kernel and the machine; gives the LDS of a workgroup in bytes.
pub(crate) fn check(
    kernel: &Kernel,
    target: Target,
    options: &Options,
    dispatch: &Dispatch<'_>,
) -> Result<u32, LaunchError> {
    options.numerics.check(target)?;
    check_descriptor(&kernel.descriptor, target)?;
    check_size(kernel, target, dispatch)?;
    check_scratch(kernel, options, target, dispatch)?;
    lds_bytes(kernel, target, dispatch)
}

fn check_descriptor(descriptor: &KernelDescriptor, target: Target) -> Result<(), LaunchError> {
    let refuse = |what, remedy| Err(LaunchError::Descriptor { what, remedy });
    let exceptions = descriptor.exceptions;
    let traps = exceptions.invalid
        || exceptions.denormal_source
        || exceptions.division_by_zero
        || exceptions.overflow
        || exceptions.underflow
        || exceptions.inexact
        || exceptions.integer_division_by_zero;
    if descriptor.wave_width != target.wave_width() {
        return refuse(
            "a wave width other than the target's usual one",
            "compile for wave32 on gfx1100",
        );
    }
    if descriptor.user_sgprs.private_segment_buffer || descriptor.user_sgprs.flat_scratch_init {
        return refuse("a scratch buffer resource", "compile for architected flat scratch");
    }
    if descriptor.tg_split {
        return refuse("tg_split", "compile without it");
    }
    if traps {
        return refuse("a trapping float exception", "compile without exceptions");
    }
    Ok(())
}

fn check_size(kernel: &Kernel, target: Target, dispatch: &Dispatch<'_>) -> Result<(), LaunchError> {
    let limit = u64::from(
        kernel.metadata.max_flat_workgroup_size.min(target.limits().workgroup_work_items),
    );
    let product = |sizes: [u32; 3]| sizes.iter().map(|size| u128::from(*size)).product::<u128>();
    let work_items = product(dispatch.workgroup_size);
    if work_items == 0 || work_items > limit.into() {
        return Err(LaunchError::Limit {
            what: "workgroup size",
            got: u64::try_from(work_items).unwrap_or(u64::MAX),
            limit,
            unit: "work-items",
            remedy: "a workgroup has at least one work-item, and at most the kernel's .max_flat_workgroup_size",
        });
    }
    if let Some(required) = kernel.metadata.reqd_workgroup_size
        && required != dispatch.workgroup_size
    {
        return Err(LaunchError::WorkgroupSize { got: dispatch.workgroup_size, required });
    }
    let grid = dispatch
        .workgroups
        .iter()
        .zip(dispatch.workgroup_size)
        .map(|(n, size)| u64::from(*n) * u64::from(size));
    let largest = grid.max().unwrap_or(0);
    if product(dispatch.workgroups) == 0 || largest > u32::MAX.into() {
        return Err(LaunchError::Limit {
            what: "grid",
            got: largest,
            limit: u32::MAX.into(),
            unit: "work-items a dimension",
            remedy: "launch at least one workgroup in each dimension, and fewer than 2^32 work-items",
        });
    }
    Ok(())
}

fn lds_bytes(kernel: &Kernel, target: Target, dispatch: &Dispatch<'_>) -> Result<u32, LaunchError> {
    let got =
        u64::from(kernel.descriptor.group_segment_bytes) + u64::from(dispatch.dynamic_lds_bytes);
    let limit = target.limits().lds_bytes_per_workgroup;
    match u32::try_from(got) {
        Ok(bytes) if bytes <= limit => Ok(bytes),
        _ => Err(LaunchError::Limit {
            what: "LDS of a workgroup",
            got,
            limit: limit.into(),
            unit: "bytes",
            remedy: "use less static or dynamic LDS",
        }),
    }
}

/// Scratch of a work-item: what the descriptor declares, and where calls need a stack of unknown depth what
/// the HIP runtime adds by default (`hipLimitStackSize`).
pub(crate) fn scratch_bytes(descriptor: &KernelDescriptor) -> u32 {
    const DYNAMIC_STACK_BYTES: u32 = 1024;
    let stack = if descriptor.dynamic_stack { DYNAMIC_STACK_BYTES } else { 0 };
    descriptor.private_segment_bytes.saturating_add(stack)
}

fn check_scratch(
    kernel: &Kernel,
    options: &Options,
    target: Target,
    dispatch: &Dispatch<'_>,
) -> Result<(), LaunchError> {
    let work_items: u32 = dispatch.workgroup_size.iter().product();
    let lanes = work_items.next_multiple_of(target.wave_width());
    let got = u64::from(scratch_bytes(&kernel.descriptor)) * u64::from(lanes);
    if got > options.memory_limit_bytes {
        return Err(LaunchError::Limit {
            what: "scratch of a workgroup",
            got,
            limit: options.memory_limit_bytes,
            unit: "bytes",
            remedy: "raise the memory limit or use less scratch",
        });
    }
    Ok(())
}

/// The kernel-argument segment: the caller's bytes, then what the launch knows of hidden arguments.
fn allocate_kernarg(
    memory: &mut Memory,
    kernel: &Kernel,
    dispatch: &Dispatch<'_>,
) -> Result<BufferId, LaunchError> {
    let given = dispatch.kernarg.len() as u64;
    let size = u64::from(kernel.metadata.kernarg_segment_size);
    if given > size {
        return Err(LaunchError::Limit {
            what: "kernel arguments",
            got: given,
            limit: size,
            unit: "bytes",
            remedy: "pass no more than the kernel's .kernarg_segment_size",
        });
    }
    let id = memory.allocate("kernel arguments", size, Access::ReadOnly)?;
    memory.write(id, 0, dispatch.kernarg)?;
    for arg in &kernel.metadata.args {
        let ValueKind::Hidden(hidden) = arg.value_kind else { continue };
        let value = hidden_value(hidden, dispatch).map(|value| value.to_le_bytes());
        let size = usize::try_from(arg.size).unwrap_or(usize::MAX);
        if let Some(bytes) = value.as_ref().and_then(|bytes| bytes.get(..size))
            && u64::from(arg.offset) >= given
        {
            memory.write(id, arg.offset.into(), bytes)?;
        }
    }
    Ok(id)
}

/// The value of a hidden argument that follows from the launch.
fn hidden_value(hidden: HiddenArg, dispatch: &Dispatch<'_>) -> Option<u64> {
    let [nx, ny, nz] = dispatch.workgroups;
    let [sx, sy, sz] = dispatch.workgroup_size;
    let dimensions = if nz * sz > 1 {
        3
    } else if ny * sy > 1 {
        2
    } else {
        1
    };
    Some(match hidden {
        HiddenArg::BlockCountX => nx.into(),
        HiddenArg::BlockCountY => ny.into(),
        HiddenArg::BlockCountZ => nz.into(),
        HiddenArg::GroupSizeX => sx.into(),
        HiddenArg::GroupSizeY => sy.into(),
        HiddenArg::GroupSizeZ => sz.into(),
        HiddenArg::RemainderX | HiddenArg::RemainderY | HiddenArg::RemainderZ => 0,
        HiddenArg::GlobalOffsetX | HiddenArg::GlobalOffsetY | HiddenArg::GlobalOffsetZ => 0,
        HiddenArg::GridDims => dimensions,
        _ => return None,
    })
}

/// The AQL packet of the dispatch, as kernels find it through the dispatch pointer.
fn allocate_packet(
    memory: &mut Memory,
    kernel: &Kernel,
    dispatch: &Dispatch<'_>,
    lds_bytes: u32,
    bias: u64,
    kernarg: BufferId,
) -> Result<BufferId, LaunchError> {
    /// HSA_PACKET_TYPE_KERNEL_DISPATCH.
    const KERNEL_DISPATCH: u16 = 2;
    let mut packet = Vec::with_capacity(64);
    packet.extend(KERNEL_DISPATCH.to_le_bytes());
    packet.extend(3_u16.to_le_bytes());
    for size in dispatch.workgroup_size {
        packet.extend(u16::try_from(size).unwrap_or(u16::MAX).to_le_bytes());
    }
    packet.extend([0; 2]);
    for (count, size) in dispatch.workgroups.iter().zip(dispatch.workgroup_size) {
        packet.extend((count * size).to_le_bytes());
    }
    packet.extend(scratch_bytes(&kernel.descriptor).to_le_bytes());
    packet.extend(lds_bytes.to_le_bytes());
    packet.extend(bias.wrapping_add(kernel.descriptor_address).to_le_bytes());
    packet.extend(memory.address(kernarg)?.to_le_bytes());
    packet.extend([0; 16]);
    let id = memory.allocate("dispatch packet", packet.len() as u64, Access::ReadOnly)?;
    memory.write(id, 0, &packet)?;
    Ok(id)
}

/// What the user SGPRs start with. No queue exists: its address stays undefined.
fn user_sgprs(
    memory: &Memory,
    kernel: &Kernel,
    kernarg: BufferId,
    packet: BufferId,
) -> Result<Vec<Option<u32>>, MemoryError> {
    let descriptor = &kernel.descriptor;
    let mut sgprs = Vec::new();
    let low = |bits: u64| Some((bits & 0xffff_ffff) as u32);
    let enabled = descriptor.user_sgprs;
    if enabled.dispatch_ptr {
        let address = memory.address(packet)?;
        sgprs.extend([low(address), low(address >> 32)]);
    }
    if enabled.queue_ptr {
        sgprs.extend([None; 2]);
    }
    if enabled.kernarg_segment_ptr {
        let address = memory.address(kernarg)?;
        sgprs.extend([low(address), low(address >> 32)]);
    }
    if enabled.dispatch_id {
        sgprs.extend([Some(0); 2]);
    }
    if enabled.private_segment_size {
        sgprs.push(Some(scratch_bytes(descriptor)));
    }
    let preload = descriptor.kernarg_preload;
    for dword in 0..preload.length_dwords {
        sgprs.push(memory.written_word(kernarg, u64::from(preload.offset_dwords + dword) * 4)?);
    }
    sgprs.truncate(descriptor.user_sgpr_count as usize);
    Ok(sgprs)
}
