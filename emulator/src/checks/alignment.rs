//! Addresses that are not multiples of what their access demands.
//!
//! | access | global, flat, scratch | LDS |
//! |---|---|---|
//! | 8 bits | any | any |
//! | 16 bits | 2 | 2 |
//! | 32 bits | 4 | 4 |
//! | 64 bits | 4 | 8 (two-address forms: 4 for each 32-bit half, 8 for each 64-bit half) |
//! | 96, 128 bits | 4 | 16 |
//!
//! Scalar loads demand 4 and ignore the low two bits. These are the rules of the aligned access mode;
//! AMDGPUUsage allows HSA kernels to run with unaligned access enabled, which
//! [`Alignment::Unaligned`](crate::Alignment::Unaligned) models. The emulator executes misaligned accesses
//! bytewise either way.

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

/// Reports an address that is not a multiple of `demanded`.
#[inline]
pub(crate) fn check(exec: &mut Exec<'_>, inst: &Prepared, lane: Option<u32>, address: u64, demanded: u64) {
    if address & (demanded - 1) != 0 && exec.options.alignment == Alignment::Aligned {
        report(exec, inst, lane, address, demanded);
    }
}

#[cold]
fn report(exec: &mut Exec<'_>, inst: &Prepared, lane: Option<u32>, address: u64, demanded: u64) {
    exec.report(inst, Rule::Misaligned, None, lane, || {
        let what = format!("address {address:#x} is not a multiple of {demanded}");
        (what, format!("align the data to {demanded} B, or use narrower accesses"))
    });
}
