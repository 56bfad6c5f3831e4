//! Addresses that are not multiples of what their access demands.
//!
//! HSA runs kernels with unaligned access enabled (LLVM 22 compiles `amdhsa` code for
//! `+unaligned-access-mode` and merges narrow accesses accordingly), so by default vector memory and LDS
//! take any address and only two kinds of access demand something: scalar loads multiples of 4, since
//! hardware ignores the low two bits and loads other bytes than were asked for, and atomics multiples of
//! their width.
//!
//! [`Alignment::Natural`](crate::Alignment::Natural) reports what the aligned access mode would forbid:
//!
//! | access | global, flat, scratch | LDS |
//! |---|---|---|
//! | 16 bits | 2 | 2 |
//! | 32 bits | 4 | 4 |
//! | 64 bits | 4 | 8 (each half of a two-address access: 4 for 32 bits, 8 for 64) |
//! | 96, 128 bits | 4 | 16 |
//!
//! Misaligned vector accesses are executed bytewise either way.

use crate::exec::Exec;
use crate::finding::Rule;
use crate::machine::Alignment;
use crate::prepare::Prepared;

/// What a global, flat or scratch access of that many bytes must be a multiple of.
pub(crate) const fn global(bytes: usize) -> u64 {
    match bytes {
        1 => 1,
        2 => 2,
        _ => 4,
    }
}

/// What an LDS access of that many bytes must be a multiple of.
pub(crate) const fn lds(bytes: usize) -> u64 {
    match bytes {
        1 => 1,
        2 => 2,
        4 => 4,
        8 => 8,
        _ => 16,
    }
}

/// Checks the address of a vector access.
#[inline]
pub(crate) fn check_vector(
    exec: &mut Exec<'_>,
    inst: &Prepared,
    lane: u32,
    address: u64,
    demanded: u64,
) {
    if address & (demanded - 1) != 0 && exec.options.alignment == Alignment::Natural {
        report(exec, inst, Some(lane), address, demanded);
    }
}

/// Checks the address of an atomic, in every mode.
pub(crate) fn check_atomic(
    exec: &mut Exec<'_>,
    inst: &Prepared,
    lane: u32,
    address: u64,
    demanded: u64,
) {
    if address & (demanded - 1) != 0 {
        report(exec, inst, Some(lane), address, demanded);
    }
}

/// Checks the address of a scalar access, in every mode.
pub(crate) fn check_scalar(exec: &mut Exec<'_>, inst: &Prepared, address: u64) {
    if address & 3 != 0 {
        report(exec, inst, None, address, 4);
    }
}

#[cold]
fn report(exec: &mut Exec<'_>, inst: &Prepared, lane: Option<u32>, address: u64, demanded: u64) {
    exec.report(inst, Rule::Misaligned, None, lane, || {
        let what = format!("address {address:#x} is not a multiple of {demanded}");
        (what, format!("align the data to {demanded} B, or use narrower accesses"))
    });
}
