//! What atomics make of an old value.

use crate::float::{self, FloatMode};

/// The new value, of the old one and up to two data operands; its low bytes are stored.
pub(super) type Update = fn(FloatMode, u64, [u64; 2]) -> u64;

/// The first operand if the old value is the second one.
pub(super) fn compare_swap(_: FloatMode, old: u64, [new, compare]: [u64; 2]) -> u64 {
    if old == compare { new } else { old }
}

pub(super) fn add(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old.wrapping_add(data)
}

pub(super) fn sub(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old.wrapping_sub(data)
}

/// The difference, or zero where it would be negative (RDNA3 ISA manual, `GLOBAL_ATOMIC_CSUB_U32`).
pub(super) fn clamped_sub(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old.saturating_sub(data)
}

pub(super) fn reverse_sub(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    data.wrapping_sub(old)
}

/// Counts up, from the limit on to zero.
pub(super) fn increment(_: FloatMode, old: u64, [limit, _]: [u64; 2]) -> u64 {
    if old >= limit { 0 } else { old + 1 }
}

/// Counts down, from zero and from above the limit to the limit.
pub(super) fn decrement(_: FloatMode, old: u64, [limit, _]: [u64; 2]) -> u64 {
    if old == 0 || old > limit { limit } else { old - 1 }
}

pub(super) fn min_unsigned(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old.min(data)
}

pub(super) fn max_unsigned(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old.max(data)
}

pub(super) fn min_i32(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    if (old as u32).cast_signed() <= (data as u32).cast_signed() { old } else { data }
}

pub(super) fn max_i32(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    if (old as u32).cast_signed() >= (data as u32).cast_signed() { old } else { data }
}

pub(super) fn min_i64(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old.cast_signed().min(data.cast_signed()).cast_unsigned()
}

pub(super) fn max_i64(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old.cast_signed().max(data.cast_signed()).cast_unsigned()
}

pub(super) fn and(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old & data
}

pub(super) fn or(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old | data
}

pub(super) fn xor(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    old ^ data
}

/// Bits of the first operand are cleared, then those of the second set.
pub(super) fn masked_or(_: FloatMode, old: u64, [mask, bits]: [u64; 2]) -> u64 {
    old & !mask | bits
}

pub(super) fn add_f32(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    float::add32(old as u32, data as u32).into()
}

pub(super) fn min_f32(mode: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    float::min32(mode, old as u32, data as u32).into()
}

pub(super) fn max_f32(mode: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    float::max32(mode, old as u32, data as u32).into()
}

pub(super) fn add_f64(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    float::add64(old, data)
}

pub(super) fn min_f64(mode: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    float::min64(mode, old, data)
}

pub(super) fn max_f64(mode: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    float::max64(mode, old, data)
}

pub(super) fn add_pairs_f16(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    let sum =
        |shift: u32| float::add16((old >> shift & 0xffff) as u32, (data >> shift & 0xffff) as u32);
    u64::from(sum(0) & 0xffff | sum(16) << 16)
}

/// bfloat16 sums, rounded once: a binary32 sum of two of them is exact enough to be rounded again.
pub(super) fn add_pairs_bf16(_: FloatMode, old: u64, [data, _]: [u64; 2]) -> u64 {
    let high = |bits: u64, shift: u32| ((bits >> shift & 0xffff) as u32) << 16;
    let sum = |shift: u32| float::f32_to_bf16(float::add32(high(old, shift), high(data, shift)));
    u64::from(sum(0) & 0xffff | sum(16) << 16)
}
