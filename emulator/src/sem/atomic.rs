//! Atomics on LDS, and on memory by address and through buffer resources.
//!
//! Lanes act in ascending order, each on what the one before it left. Hardware's order among lanes is
//! not documented: integer results do not depend on it, but returned values and float sums may.

#[cfg(test)]
pub(super) mod tests;
mod update;

use isa::Target;
use isa::table::{BufferAtomic, FlatAtomic, LdsAtomic};

use crate::checks::{alignment, undefined};
use crate::exec::{Exec, Outcome};
use crate::fidelity::Bound::AtomicOrder;
use crate::operand::{Dest, Source, Span};
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Approximate, Exact};
use crate::sem::access::{Space, undefined_mask};
use crate::taint::Bits;
use update::*;

pub(crate) fn on_lds(op: LdsAtomic) -> Meaning {
    match op {
        LdsAtomic::DsAddU32 | LdsAtomic::DsAddRtnU32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(add)))
        }
        LdsAtomic::DsAddU64 | LdsAtomic::DsAddRtnU64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(add)))
        }
        LdsAtomic::DsSubU32 | LdsAtomic::DsSubRtnU32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(sub)))
        }
        LdsAtomic::DsSubU64 | LdsAtomic::DsSubRtnU64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(sub)))
        }
        LdsAtomic::DsRsubU32 | LdsAtomic::DsRsubRtnU32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(reverse_sub)))
        }
        LdsAtomic::DsRsubU64 | LdsAtomic::DsRsubRtnU64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(reverse_sub)))
        }
        LdsAtomic::DsIncU32 | LdsAtomic::DsIncRtnU32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(increment)))
        }
        LdsAtomic::DsIncU64 | LdsAtomic::DsIncRtnU64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(increment)))
        }
        LdsAtomic::DsDecU32 | LdsAtomic::DsDecRtnU32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(decrement)))
        }
        LdsAtomic::DsDecU64 | LdsAtomic::DsDecRtnU64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(decrement)))
        }
        LdsAtomic::DsMinI32 | LdsAtomic::DsMinRtnI32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(min_i32)))
        }
        LdsAtomic::DsMinI64 | LdsAtomic::DsMinRtnI64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(min_i64)))
        }
        LdsAtomic::DsMaxI32 | LdsAtomic::DsMaxRtnI32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(max_i32)))
        }
        LdsAtomic::DsMaxI64 | LdsAtomic::DsMaxRtnI64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(max_i64)))
        }
        LdsAtomic::DsMinU32 | LdsAtomic::DsMinRtnU32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(min_unsigned)))
        }
        LdsAtomic::DsMinU64 | LdsAtomic::DsMinRtnU64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(min_unsigned)))
        }
        LdsAtomic::DsMaxU32 | LdsAtomic::DsMaxRtnU32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(max_unsigned)))
        }
        LdsAtomic::DsMaxU64 | LdsAtomic::DsMaxRtnU64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(max_unsigned)))
        }
        LdsAtomic::DsAndB32 | LdsAtomic::DsAndRtnB32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(and)))
        }
        LdsAtomic::DsAndB64 | LdsAtomic::DsAndRtnB64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(and)))
        }
        LdsAtomic::DsOrB32 | LdsAtomic::DsOrRtnB32 => Exact(|x, i| x.lds_atomic::<4>(i, Some(or))),
        LdsAtomic::DsOrB64 | LdsAtomic::DsOrRtnB64 => Exact(|x, i| x.lds_atomic::<8>(i, Some(or))),
        LdsAtomic::DsXorB32 | LdsAtomic::DsXorRtnB32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(xor)))
        }
        LdsAtomic::DsXorB64 | LdsAtomic::DsXorRtnB64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(xor)))
        }
        LdsAtomic::DsMskorB32 | LdsAtomic::DsMskorRtnB32 => {
            Exact(|x, i| x.lds_atomic::<4>(i, Some(masked_or)))
        }
        LdsAtomic::DsMskorB64 | LdsAtomic::DsMskorRtnB64 => {
            Exact(|x, i| x.lds_atomic::<8>(i, Some(masked_or)))
        }
        LdsAtomic::DsCmpstoreB32 | LdsAtomic::DsCmpstoreRtnB32 => {
            Exact(|x, i| x.lds_atomic_compare::<4>(i))
        }
        LdsAtomic::DsCmpstoreB64 | LdsAtomic::DsCmpstoreRtnB64 => {
            Exact(|x, i| x.lds_atomic_compare::<8>(i))
        }
        LdsAtomic::DsMinF32 | LdsAtomic::DsMinRtnF32 => {
            Approximate(AtomicOrder, |x, i| x.lds_atomic::<4>(i, Some(min_f32)))
        }
        LdsAtomic::DsMinF64 | LdsAtomic::DsMinRtnF64 => {
            Approximate(AtomicOrder, |x, i| x.lds_atomic::<8>(i, Some(min_f64)))
        }
        LdsAtomic::DsMaxF32 | LdsAtomic::DsMaxRtnF32 => {
            Approximate(AtomicOrder, |x, i| x.lds_atomic::<4>(i, Some(max_f32)))
        }
        LdsAtomic::DsMaxF64 | LdsAtomic::DsMaxRtnF64 => {
            Approximate(AtomicOrder, |x, i| x.lds_atomic::<8>(i, Some(max_f64)))
        }
        LdsAtomic::DsAddF32 | LdsAtomic::DsAddRtnF32 => {
            Approximate(AtomicOrder, |x, i| x.lds_atomic::<4>(i, Some(add_f32)))
        }
        LdsAtomic::DsAddF64 | LdsAtomic::DsAddRtnF64 => {
            Approximate(AtomicOrder, |x, i| x.lds_atomic::<8>(i, Some(add_f64)))
        }
        LdsAtomic::DsPkAddF16 | LdsAtomic::DsPkAddRtnF16 => {
            Approximate(AtomicOrder, |x, i| x.lds_atomic::<4>(i, Some(add_pairs_f16)))
        }
        LdsAtomic::DsPkAddBf16 | LdsAtomic::DsPkAddRtnBf16 => {
            Approximate(AtomicOrder, |x, i| x.lds_atomic::<4>(i, Some(add_pairs_bf16)))
        }
        LdsAtomic::DsStorexchgRtnB32 => Exact(|x, i| x.lds_atomic::<4>(i, None)),
        LdsAtomic::DsStorexchgRtnB64 => Exact(|x, i| x.lds_atomic::<8>(i, None)),
    }
}

pub(crate) fn by_address(op: FlatAtomic) -> Meaning {
    match op {
        FlatAtomic::AtomicSwapB32 => Exact(|x, i| x.flat_atomic::<4>(i, None)),
        FlatAtomic::AtomicSwapB64 => Exact(|x, i| x.flat_atomic::<8>(i, None)),
        FlatAtomic::AtomicCmpswapB32 => Exact(|x, i| x.flat_atomic_compare::<4>(i)),
        FlatAtomic::AtomicCmpswapB64 => Exact(|x, i| x.flat_atomic_compare::<8>(i)),
        FlatAtomic::AtomicAddU32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(add))),
        FlatAtomic::AtomicAddU64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(add))),
        FlatAtomic::AtomicSubU32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(sub))),
        FlatAtomic::AtomicSubU64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(sub))),
        FlatAtomic::AtomicCsubU32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(clamped_sub))),
        FlatAtomic::AtomicMinI32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(min_i32))),
        FlatAtomic::AtomicMinI64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(min_i64))),
        FlatAtomic::AtomicMinU32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(min_unsigned))),
        FlatAtomic::AtomicMinU64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(min_unsigned))),
        FlatAtomic::AtomicMaxI32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(max_i32))),
        FlatAtomic::AtomicMaxI64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(max_i64))),
        FlatAtomic::AtomicMaxU32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(max_unsigned))),
        FlatAtomic::AtomicMaxU64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(max_unsigned))),
        FlatAtomic::AtomicAndB32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(and))),
        FlatAtomic::AtomicAndB64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(and))),
        FlatAtomic::AtomicOrB32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(or))),
        FlatAtomic::AtomicOrB64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(or))),
        FlatAtomic::AtomicXorB32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(xor))),
        FlatAtomic::AtomicXorB64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(xor))),
        FlatAtomic::AtomicIncU32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(increment))),
        FlatAtomic::AtomicIncU64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(increment))),
        FlatAtomic::AtomicDecU32 => Exact(|x, i| x.flat_atomic::<4>(i, Some(decrement))),
        FlatAtomic::AtomicDecU64 => Exact(|x, i| x.flat_atomic::<8>(i, Some(decrement))),
        FlatAtomic::AtomicAddF32 => {
            Approximate(AtomicOrder, |x, i| x.flat_atomic::<4>(i, Some(add_f32)))
        }
        FlatAtomic::AtomicMinF32 => {
            Approximate(AtomicOrder, |x, i| x.flat_atomic::<4>(i, Some(min_f32)))
        }
        FlatAtomic::AtomicMaxF32 => {
            Approximate(AtomicOrder, |x, i| x.flat_atomic::<4>(i, Some(max_f32)))
        }
        FlatAtomic::AtomicAddF64 => {
            Approximate(AtomicOrder, |x, i| x.flat_atomic::<8>(i, Some(add_f64)))
        }
        FlatAtomic::AtomicMinF64 => {
            Approximate(AtomicOrder, |x, i| x.flat_atomic::<8>(i, Some(min_f64)))
        }
        FlatAtomic::AtomicMaxF64 => {
            Approximate(AtomicOrder, |x, i| x.flat_atomic::<8>(i, Some(max_f64)))
        }
        FlatAtomic::AtomicPkAddF16 => {
            Approximate(AtomicOrder, |x, i| x.flat_atomic::<4>(i, Some(add_pairs_f16)))
        }
        FlatAtomic::AtomicPkAddBf16 => {
            Approximate(AtomicOrder, |x, i| x.flat_atomic::<4>(i, Some(add_pairs_bf16)))
        }
    }
}

pub(crate) fn through_buffer(op: BufferAtomic) -> Meaning {
    match op {
        BufferAtomic::BufferAtomicSwapB32 => Exact(|x, i| x.buffer_atomic::<4>(i, None)),
        BufferAtomic::BufferAtomicSwapB64 => Exact(|x, i| x.buffer_atomic::<8>(i, None)),
        BufferAtomic::BufferAtomicCmpswapB32 => Exact(|x, i| x.buffer_atomic_compare::<4>(i)),
        BufferAtomic::BufferAtomicCmpswapB64 => Exact(|x, i| x.buffer_atomic_compare::<8>(i)),
        BufferAtomic::BufferAtomicAddU32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(add))),
        BufferAtomic::BufferAtomicAddU64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(add))),
        BufferAtomic::BufferAtomicSubU32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(sub))),
        BufferAtomic::BufferAtomicSubU64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(sub))),
        BufferAtomic::BufferAtomicCsubU32 => {
            Exact(|x, i| x.buffer_atomic::<4>(i, Some(clamped_sub)))
        }
        BufferAtomic::BufferAtomicMinI32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(min_i32))),
        BufferAtomic::BufferAtomicMinI64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(min_i64))),
        BufferAtomic::BufferAtomicMinU32 => {
            Exact(|x, i| x.buffer_atomic::<4>(i, Some(min_unsigned)))
        }
        BufferAtomic::BufferAtomicMinU64 => {
            Exact(|x, i| x.buffer_atomic::<8>(i, Some(min_unsigned)))
        }
        BufferAtomic::BufferAtomicMaxI32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(max_i32))),
        BufferAtomic::BufferAtomicMaxI64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(max_i64))),
        BufferAtomic::BufferAtomicMaxU32 => {
            Exact(|x, i| x.buffer_atomic::<4>(i, Some(max_unsigned)))
        }
        BufferAtomic::BufferAtomicMaxU64 => {
            Exact(|x, i| x.buffer_atomic::<8>(i, Some(max_unsigned)))
        }
        BufferAtomic::BufferAtomicAndB32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(and))),
        BufferAtomic::BufferAtomicAndB64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(and))),
        BufferAtomic::BufferAtomicOrB32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(or))),
        BufferAtomic::BufferAtomicOrB64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(or))),
        BufferAtomic::BufferAtomicXorB32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(xor))),
        BufferAtomic::BufferAtomicXorB64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(xor))),
        BufferAtomic::BufferAtomicIncU32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(increment))),
        BufferAtomic::BufferAtomicIncU64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(increment))),
        BufferAtomic::BufferAtomicDecU32 => Exact(|x, i| x.buffer_atomic::<4>(i, Some(decrement))),
        BufferAtomic::BufferAtomicDecU64 => Exact(|x, i| x.buffer_atomic::<8>(i, Some(decrement))),
        BufferAtomic::BufferAtomicAddF32 => {
            Approximate(AtomicOrder, |x, i| x.buffer_atomic::<4>(i, Some(add_f32)))
        }
        BufferAtomic::BufferAtomicMinF32 => {
            Approximate(AtomicOrder, |x, i| x.buffer_atomic::<4>(i, Some(min_f32)))
        }
        BufferAtomic::BufferAtomicMaxF32 => {
            Approximate(AtomicOrder, |x, i| x.buffer_atomic::<4>(i, Some(max_f32)))
        }
        BufferAtomic::BufferAtomicAddF64 => {
            Approximate(AtomicOrder, |x, i| x.buffer_atomic::<8>(i, Some(add_f64)))
        }
        BufferAtomic::BufferAtomicMinF64 => {
            Approximate(AtomicOrder, |x, i| x.buffer_atomic::<8>(i, Some(min_f64)))
        }
        BufferAtomic::BufferAtomicMaxF64 => {
            Approximate(AtomicOrder, |x, i| x.buffer_atomic::<8>(i, Some(max_f64)))
        }
        BufferAtomic::BufferAtomicPkAddF16 => {
            Approximate(AtomicOrder, |x, i| x.buffer_atomic::<4>(i, Some(add_pairs_f16)))
        }
        BufferAtomic::BufferAtomicPkAddBf16 => {
            Approximate(AtomicOrder, |x, i| x.buffer_atomic::<4>(i, Some(add_pairs_bf16)))
        }
    }
}

impl Exec<'_> {
    fn lds_atomic<const N: usize>(&mut self, inst: &Prepared, update: Option<Update>) -> Outcome {
        let offset = inst.inst.mods.offset.cast_unsigned();
        let data = |exec: &Self, lane| {
            [exec.atomic_data::<N>(inst, 1, 0, lane), exec.atomic_data::<N>(inst, 2, 0, lane)]
        };
        self.atomic::<N>(inst, update, data, |exec, lane| exec.lds_address(inst, lane, offset))
    }

    /// gfx950 compares with the first operand, gfx1100 with the second (CDNA3 ISA manual, `DS_CMPST_B32`;
    /// RDNA3 ISA manual, `DS_CMPSTORE_B32`).
    fn lds_atomic_compare<const N: usize>(&mut self, inst: &Prepared) -> Outcome {
        let update: Update = match self.target {
            Target::Gfx950 => |mode, old, [compare, new]| compare_swap(mode, old, [new, compare]),
            Target::Gfx1100 => compare_swap,
        };
        self.lds_atomic::<N>(inst, Some(update))
    }

    fn flat_atomic<const N: usize>(&mut self, inst: &Prepared, update: Option<Update>) -> Outcome {
        let data = |exec: &Self, lane| [exec.atomic_data::<N>(inst, 1, 0, lane), Bits::default()];
        self.atomic::<N>(inst, update, data, |exec, lane| exec.flat_address(inst, lane, 2))
    }

    fn flat_atomic_compare<const N: usize>(&mut self, inst: &Prepared) -> Outcome {
        let second = (N / 4) as u16;
        let data = |exec: &Self, lane| {
            [exec.atomic_data::<N>(inst, 1, 0, lane), exec.atomic_data::<N>(inst, 1, second, lane)]
        };
        self.atomic::<N>(inst, Some(compare_swap), data, |exec, lane| {
            exec.flat_address(inst, lane, 2)
        })
    }

    fn buffer_atomic<const N: usize>(
        &mut self,
        inst: &Prepared,
        update: Option<Update>,
    ) -> Outcome {
        let buffer = self.buffer(inst, 1, N)?;
        let data = |exec: &Self, lane| [exec.atomic_data::<N>(inst, 0, 0, lane), Bits::default()];
        self.atomic::<N>(inst, update, data, |exec, lane| {
            exec.buffer_address::<N>(&buffer, lane, 0)
        })
    }

    fn buffer_atomic_compare<const N: usize>(&mut self, inst: &Prepared) -> Outcome {
        let buffer = self.buffer(inst, 1, N)?;
        let second = (N / 4) as u16;
        let data = |exec: &Self, lane| {
            [exec.atomic_data::<N>(inst, 0, 0, lane), exec.atomic_data::<N>(inst, 0, second, lane)]
        };
        self.atomic::<N>(inst, Some(compare_swap), data, |exec, lane| {
            exec.buffer_address::<N>(&buffer, lane, 0)
        })
    }

    /// `N` bytes of a data operand, from this register of it on; absent operands are zero.
    fn atomic_data<const N: usize>(
        &self,
        inst: &Prepared,
        k: usize,
        from: u16,
        lane: usize,
    ) -> Bits {
        let Source::Vector(first) = inst.src[k] else { return Bits::default() };
        let word = |word: u16| self.wave.vectors.lane_bits(first + from + word, lane);
        let low = word(0);
        if N == 4 {
            return low;
        }
        let high = word(1);
        Bits {
            value: low.value | high.value << 32,
            undefined: low.undefined | high.undefined << 32,
        }
    }

    /// Reads, updates (without `update`: replaces) and writes `N` bytes a lane; returns the old ones where there is a destination.
    fn atomic<const N: usize>(
        &mut self,
        inst: &Prepared,
        update: Option<Update>,
        data: impl Fn(&Self, usize) -> [Bits; 2],
        address: impl Fn(&Self, usize) -> Space,
    ) -> Outcome {
        self.check_address(inst);
        let active = self.wave.active;
        for lane in (0..self.wave.width as usize).filter(|lane| active >> lane & 1 == 1) {
            let space = address(self, lane);
            self.check_atomic(inst, lane, space, N)?;
            let operands = data(self, lane);
            let (bytes, written) = self.load_bytes::<N>(inst, lane, space)?;
            let is_defined = operands.iter().all(|bits| bits.undefined == 0);
            if !is_defined && space != Space::OutOfRange {
                let registers =
                    [undefined::slots_of(inst, 0), undefined::slots_of(inst, 1)].concat();
                undefined::store(self, inst, lane as u32, &registers);
            }
            let mut old = [0; 8];
            old[..N].copy_from_slice(&bytes);
            let old = u64::from_le_bytes(old);
            let values = operands.map(|bits| bits.value);
            let new = update.map_or(values[0], |update| update(self.wave.mode, old, values));
            let mut stored = [0; N];
            stored.copy_from_slice(&new.to_le_bytes()[..N]);
            let all = (1 << N) - 1;
            let defines = is_defined && (update.is_none() || written & all == all);
            self.store_bytes(inst, lane, space, stored, if defines { all } else { 0 })?;
            self.put_old::<N>(inst, lane, old, written);
        }
        let is_empty = self.wave.active == 0;
        self.issue(inst, if is_empty { Span::default() } else { inst.result_span() });
        Ok(())
    }

    fn put_old<const N: usize>(&mut self, inst: &Prepared, lane: usize, old: u64, written: u32) {
        let Dest::Vector(first) = inst.dst[0] else { return };
        for word in 0..N / 4 {
            let undefined = undefined_mask(written >> (4 * word) & 0xf);
            let value = (old >> (32 * word)) as u32;
            let register = first + word as u16;
            self.wave.vectors.write_lane(register, lane, u32::MAX, value, undefined);
            if undefined != 0 {
                self.note_loaded(inst);
            }
        }
    }

    /// Atomics need natural alignment in every mode, and there are none on scratch.
    ///
    /// Source: AMDGPUUsage, "unaligned access mode" (atomics are excluded); CDNA3 ISA manual, "FLAT".
    fn check_atomic(
        &mut self,
        inst: &Prepared,
        lane: usize,
        space: Space,
        n_bytes: usize,
    ) -> Outcome {
        let address = match space {
            Space::Global(address) => address,
            Space::Lds(address) => address.into(),
            Space::Scratch(_) => return self.refuse(inst, "atomics on scratch"),
            Space::OutOfRange => return Ok(()),
        };
        alignment::check_atomic(self, inst, lane as u32, address, n_bytes as u64);
        Ok(())
    }
}
