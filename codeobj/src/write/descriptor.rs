//! The descriptor's 64 bytes: the inverse of [`KernelDescriptor::decode`].

use isa::Target;

use super::WriteError;
use crate::descriptor::{DESCRIPTOR_BYTES, KernelDescriptor, at};

/// The bytes of a descriptor whose code starts `entry_byte_offset` bytes after it.
pub fn encode(
    target: Target,
    descriptor: &KernelDescriptor,
    entry_byte_offset: i64,
) -> Result<[u8; DESCRIPTOR_BYTES as usize], WriteError> {
    let mut bytes = [0; DESCRIPTOR_BYTES as usize];
    let mut put = |offset: usize, field: &[u8]| {
        bytes[offset..offset + field.len()].copy_from_slice(field);
    };
    put(0, &descriptor.group_segment_bytes.to_le_bytes());
    put(4, &descriptor.private_segment_bytes.to_le_bytes());
    put(8, &descriptor.kernarg_bytes.to_le_bytes());
    put(16, &entry_byte_offset.to_le_bytes());
    put(at::RSRC3, &rsrc3(target, descriptor)?.to_le_bytes());
    put(at::RSRC1, &rsrc1(target, descriptor)?.to_le_bytes());
    put(at::RSRC2, &rsrc2(descriptor)?.to_le_bytes());
    put(at::PROPERTIES, &properties(descriptor).to_le_bytes());
    put(at::PRELOAD, &preload(descriptor)?.to_le_bytes());
    Ok(bytes)
}

/// A value at a bit position, if it has no more than `width` bits.
fn field(name: &'static str, value: u32, width: u32, low: u32) -> Result<u32, WriteError> {
    if u64::from(value) >> width == 0 {
        return Ok(value << low);
    }
    let rule = format!("below {}", 1u64 << width);
    Err(WriteError::Field { field: name, got: value.into(), rule })
}

/// `count` in steps of `granule`, less one: the way in which register counts are stored.
fn granules(name: &'static str, count: u32, granule: u32, width: u32) -> Result<u32, WriteError> {
    if count == 0 || !count.is_multiple_of(granule) {
        let rule = format!("a positive multiple of {granule}");
        return Err(WriteError::Field { field: name, got: count.into(), rule });
    }
    field(name, count / granule - 1, width, 0)
}

fn bit(value: bool, position: u32) -> u32 {
    u32::from(value) << position
}

fn rsrc1(target: Target, descriptor: &KernelDescriptor) -> Result<u32, WriteError> {
    let limits = target.limits();
    let vgprs = granules("vgprs", descriptor.vgprs, limits.vgpr_encoding_granule, 6)?;
    let sgprs = match descriptor.sgprs {
        Some(count) => granules("sgprs", count, limits.sgpr_encoding_granule, 3)? * 2,
        None => 0,
    };
    Ok(vgprs
        | sgprs << 6
        | (descriptor.round_mode_f32 as u32) << 12
        | (descriptor.round_mode_f16_f64 as u32) << 14
        | (descriptor.denorm_mode_f32 as u32) << 16
        | (descriptor.denorm_mode_f16_f64 as u32) << 18
        | bit(descriptor.dx10_clamp, 21)
        | bit(descriptor.ieee_mode, 23)
        | bit(descriptor.fp16_overflow, 26)
        | bit(descriptor.wgp_mode, 29)
        | bit(descriptor.mem_ordered, 30)
        | bit(descriptor.forward_progress, 31))
}

fn rsrc2(descriptor: &KernelDescriptor) -> Result<u32, WriteError> {
    let ids = descriptor.workgroup_ids;
    let traps = descriptor.exceptions;
    let dimensions = descriptor.work_item_id_dimensions.wrapping_sub(1);
    Ok(bit(descriptor.private_segment, 0)
        | field("user_sgpr_count", descriptor.user_sgpr_count, 5, 1)?
        | bit(ids.x, 7)
        | bit(ids.y, 8)
        | bit(ids.z, 9)
        | bit(descriptor.workgroup_info, 10)
        | field("work_item_id_dimensions", dimensions, 2, 11)?
        | bit(traps.invalid, 24)
        | bit(traps.denormal_source, 25)
        | bit(traps.division_by_zero, 26)
        | bit(traps.overflow, 27)
        | bit(traps.underflow, 28)
        | bit(traps.inexact, 29)
        | bit(traps.integer_division_by_zero, 30))
}

fn rsrc3(target: Target, descriptor: &KernelDescriptor) -> Result<u32, WriteError> {
    match target {
        Target::Gfx950 => {
            let granule = target.limits().accum_offset_granule;
            let first_acc = granules("arch_vgprs", descriptor.arch_vgprs, granule, 6)?;
            Ok(first_acc | bit(descriptor.tg_split, 16))
        }
        Target::Gfx1100 => {
            let prefetch = descriptor.instruction_prefetch_bytes.div_ceil(128);
            Ok(field("shared_vgpr_blocks", descriptor.shared_vgpr_blocks, 4, 0)?
                | field("instruction_prefetch_bytes", prefetch, 6, 4)?
                | bit(descriptor.image_op, 31))
        }
    }
}

fn properties(descriptor: &KernelDescriptor) -> u16 {
    let user = descriptor.user_sgprs;
    let bits = bit(user.private_segment_buffer, 0)
        | bit(user.dispatch_ptr, 1)
        | bit(user.queue_ptr, 2)
        | bit(user.kernarg_segment_ptr, 3)
        | bit(user.dispatch_id, 4)
        | bit(user.flat_scratch_init, 5)
        | bit(user.private_segment_size, 6)
        | bit(descriptor.wave_width == 32, 10)
        | bit(descriptor.dynamic_stack, 11);
    bits as u16
}

fn preload(descriptor: &KernelDescriptor) -> Result<u16, WriteError> {
    let preload = descriptor.kernarg_preload;
    let bits = field("kernarg_preload.length_dwords", preload.length_dwords, 7, 0)?
        | field("kernarg_preload.offset_dwords", preload.offset_dwords, 9, 7)?;
    Ok(bits as u16)
}
