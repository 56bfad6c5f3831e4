//! The code object: bytes, descriptor, metadata.

use codeobj::write::{NewKernel, write};
use codeobj::{
    AddressSpace, DenormMode, FloatExceptions, KernargPreload, KernelArg, KernelDescriptor,
    KernelMetadata, RoundMode, UserSgprs, ValueKind, WorkgroupIds,
};
use dsl::ir::{Access, Kernel, Param, ParamKind};
use isa::{Target, encode};

use super::allocate::Allocation;
use super::error::Cause;
use super::finish::Placed;
use super::select::{USER_SGPRS, argument_bytes, argument_layout};

/// Bytes of padding after the last instruction, which instruction prefetch may read (AMDGPUUsage, "Instruction
/// Prefetch"; LLVM 22 pads alike).
const PADDING_BYTES: usize = 256;

/// The machine code of instructions.
///
/// # Errors
/// [`Cause::Encode`] for an instruction that the target cannot express.
pub fn encode_all(target: Target, code: &[Placed]) -> Result<Vec<u8>, Cause> {
    let mut bytes = Vec::new();
    for placed in code {
        bytes.extend(encode(target, &placed.inst)?.to_vec());
    }
    Ok(bytes)
}

/// The code object of a kernel.
///
/// # Errors
/// [`Cause::Write`] when a field does not hold its value.
pub fn object(
    kernel: &Kernel,
    code: &[u8],
    allocation: &Allocation,
    ids: [bool; 3],
) -> Result<Vec<u8>, Cause> {
    let registers = Registers::of(kernel.target, allocation);
    let new = NewKernel {
        target: kernel.target,
        code,
        descriptor: descriptor(kernel, &registers, ids),
        metadata: metadata(kernel, &registers),
    };
    Ok(write(&new)?)
}

/// The padding of a target: what its prefetcher may run over.
pub fn padding() -> usize {
    PADDING_BYTES
}

/// Register counts as descriptor and metadata give them.
pub struct Registers {
    /// VGPRs used, at least 1, without accumulation registers.
    pub arch_vgprs: u32,
    /// Accumulation registers used.
    pub agprs: u32,
    /// Both, with what lies between them.
    pub vgprs: u32,
    /// SGPRs used, VCC and other special ones included.
    pub sgprs: u32,
}

impl Registers {
    /// The counts of an allocation.
    pub fn of(target: Target, allocation: &Allocation) -> Registers {
        // gfx950 counts VCC, FLAT_SCRATCH and XNACK_MASK with the SGPRs (LLVM 22, `getNumExtraSGPRs`).
        let special = match target {
            Target::Gfx950 => 6,
            Target::Gfx1100 => 2,
        };
        let (arch_vgprs, agprs) = (allocation.vgprs.max(1), allocation.agprs);
        let first_acc = arch_vgprs.next_multiple_of(target.limits().accum_offset_granule.max(1));
        let vgprs = if agprs == 0 { arch_vgprs } else { first_acc + agprs };
        Registers { arch_vgprs, agprs, vgprs, sgprs: allocation.sgprs + special }
    }
}

/// What the hardware needs to know to start a wave.
pub fn descriptor(kernel: &Kernel, registers: &Registers, ids: [bool; 3]) -> KernelDescriptor {
    let target = kernel.target;
    let limits = target.limits();
    let is_gfx1100 = target == Target::Gfx1100;
    let vgprs = registers.vgprs.next_multiple_of(limits.vgpr_encoding_granule);
    let first_acc = registers.arch_vgprs.next_multiple_of(limits.accum_offset_granule.max(1));
    KernelDescriptor {
        group_segment_bytes: kernel.lds_layout().1,
        private_segment_bytes: 0,
        kernarg_bytes: argument_layout(kernel).1,
        entry_byte_offset: 0,
        vgprs,
        arch_vgprs: if is_gfx1100 { vgprs } else { first_acc },
        sgprs: (!is_gfx1100).then(|| {
            registers
                .sgprs
                .next_multiple_of(limits.sgpr_encoding_granule)
                .min(limits.sgprs_per_wave)
        }),
        round_mode_f32: RoundMode::NearestEven,
        round_mode_f16_f64: RoundMode::NearestEven,
        denorm_mode_f32: DenormMode::Keep,
        denorm_mode_f16_f64: DenormMode::Keep,
        dx10_clamp: true,
        ieee_mode: true,
        fp16_overflow: false,
        wgp_mode: is_gfx1100,
        mem_ordered: is_gfx1100,
        forward_progress: is_gfx1100,
        private_segment: false,
        user_sgpr_count: USER_SGPRS,
        workgroup_ids: WorkgroupIds { x: ids[0], y: ids[1], z: ids[2] },
        workgroup_info: false,
        work_item_id_dimensions: 1,
        exceptions: FloatExceptions {
            invalid: false,
            denormal_source: false,
            division_by_zero: false,
            overflow: false,
            underflow: false,
            inexact: false,
            integer_division_by_zero: false,
        },
        tg_split: false,
        shared_vgpr_blocks: 0,
        instruction_prefetch_bytes: 0,
        image_op: false,
        user_sgprs: UserSgprs {
            private_segment_buffer: false,
            dispatch_ptr: false,
            queue_ptr: false,
            kernarg_segment_ptr: true,
            dispatch_id: false,
            flat_scratch_init: false,
            private_segment_size: false,
        },
        wave_width: target.wave_width(),
        dynamic_stack: false,
        kernarg_preload: KernargPreload { length_dwords: 0, offset_dwords: 0 },
    }
}

/// What loader and launch need to know.
pub fn metadata(kernel: &Kernel, registers: &Registers) -> KernelMetadata {
    let (offsets, size) = argument_layout(kernel);
    let is_gfx1100 = kernel.target == Target::Gfx1100;
    KernelMetadata {
        name: kernel.name.clone(),
        symbol: format!("{}.kd", kernel.name),
        kernarg_segment_size: size,
        kernarg_segment_align: 8,
        group_segment_fixed_size: kernel.lds_layout().1,
        private_segment_fixed_size: 0,
        wavefront_size: kernel.target.wave_width(),
        sgpr_count: registers.sgprs,
        vgpr_count: registers.vgprs,
        agpr_count: (!is_gfx1100).then_some(registers.agprs),
        sgpr_spill_count: 0,
        vgpr_spill_count: 0,
        max_flat_workgroup_size: kernel.workgroup_size,
        reqd_workgroup_size: Some([kernel.workgroup_size, 1, 1]),
        workgroup_size_hint: None,
        uniform_work_group_size: true,
        uses_dynamic_stack: false,
        workgroup_processor_mode: is_gfx1100.then_some(true),
        kind: "normal".to_owned(),
        args: kernel.params.iter().zip(offsets).map(|(p, offset)| argument(p, offset)).collect(),
        unknown_keys: Vec::new(),
    }
}

fn argument(param: &Param, offset: u32) -> KernelArg {
    let access = match param.kind {
        ParamKind::Buffer { access, .. } => Some(match access {
            Access::ReadOnly => codeobj::Access::ReadOnly,
            Access::WriteOnly => codeobj::Access::WriteOnly,
            Access::ReadWrite => codeobj::Access::ReadWrite,
        }),
        ParamKind::Scalar(_) => None,
    };
    let is_buffer = access.is_some();
    KernelArg {
        name: Some(param.name.clone()),
        type_name: None,
        offset,
        size: argument_bytes(param.kind),
        value_kind: if is_buffer { ValueKind::GlobalBuffer } else { ValueKind::ByValue },
        address_space: is_buffer.then_some(AddressSpace::Global),
        access: None,
        actual_access: access,
        pointee_align: None,
        is_const: access == Some(codeobj::Access::ReadOnly),
        is_restrict: is_buffer,
        is_volatile: false,
        is_pipe: false,
    }
}
