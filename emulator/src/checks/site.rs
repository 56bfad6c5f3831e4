//! What the race checks need to know of a memory instruction.

use isa::Op;

use super::waits::Order;
use crate::operand::{Dest, Source};
use crate::prepare::Prepared;

/// A memory instruction of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteInfo {
    pub pc: u64,
    pub order: Order,
    pub is_atomic: bool,
    /// … between workgroups too.
    pub is_atomic_for_device: bool,
    /// An atomic store, or one that looks like it (gfx1100).
    pub is_flag_store: bool,
    /// Reads and writes in one step, unlike atomic loads and stores.
    pub is_read_modify_write: bool,
    /// An atomic that gives a value: its wave comes after those that ran atomics before.
    pub is_acquiring: bool,
}

impl SiteInfo {
    pub(super) fn of(inst: &Prepared, is_gfx950: bool) -> SiteInfo {
        let is_atomic_row =
            matches!(inst.inst.op, Op::LdsAtomic(_) | Op::FlatAtomic(_) | Op::BufferAtomic(_));
        let cache = inst.inst.mods.cache;
        let is_atomic = is_atomic_row || cache.sc0 || cache.sc1 || cache.glc;
        let gives_value = inst.dst[0] != Dest::None;
        let looks_atomic = is_atomic || !is_gfx950 && stores_up_to_64_bits(inst);
        SiteInfo {
            pc: inst.pc,
            order: inst.order(),
            is_atomic,
            is_atomic_for_device: is_atomic_row || cache.sc1 || cache.glc,
            is_flag_store: looks_atomic && !is_atomic_row && !gives_value,
            is_read_modify_write: is_atomic_row,
            is_acquiring: is_atomic && gives_value,
        }
    }

    /// Whether two accesses of one place are atomics, or may be, that do not race with each other.
    pub(super) fn synchronises_with(self, after: SiteInfo, is_here: bool, is_global: bool) -> bool {
        let is_atomic =
            |site: SiteInfo| if is_here { site.is_atomic } else { site.is_atomic_for_device };
        match (is_atomic(self), is_atomic(after)) {
            (true, true) => true,
            (true, false) => {
                is_global && after.is_flag_store && !after.is_atomic && self.is_acquiring
            }
            (false, true) => {
                is_global && self.is_flag_store && !self.is_atomic && after.is_acquiring
            }
            (false, false) => false,
        }
    }
}

/// A store that an atomic one of gfx1100 cannot be told from.
fn stores_up_to_64_bits(inst: &Prepared) -> bool {
    let address: Vec<usize> = inst.addresses().collect();
    let mut data = (0..inst.src.len())
        .filter(|k| matches!(inst.src[*k], Source::Vector(_)) && !address.contains(k));
    inst.dst[0] == Dest::None && data.all(|k| inst.bits[k] <= 64)
}
