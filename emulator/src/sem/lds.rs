//! LDS: loads, stores, and the lane moves that use its crossbar.
//!
//! Addresses are bytes from the start of the workgroup's allocation. LDS operations of a wave take
//! effect in their order.

use isa::table::Lds;

use crate::checks::undefined;
use crate::exec::{Exec, Outcome};
use crate::lanes::simd::{self, Fused, Loops};
use crate::operand::{Dest, Source, Span};
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Exact};
use crate::sem::access::{Extend, Space};
use crate::sem::rows::Memory;
use crate::taint::Bits;
use crate::wave::{ROW_LANES, ROWS, Row, scalar};

#[rustfmt::skip]
pub(crate) fn meaning(op: Lds) -> Meaning {
    match op {
        // Loads.
        Lds::DsLoadU8 => Exact(|x, i| x.lds_load::<1>(i, Extend::Zero)),
        Lds::DsLoadI8 => Exact(|x, i| x.lds_load::<1>(i, Extend::Sign)),
        Lds::DsLoadU16 => Exact(|x, i| x.lds_load::<2>(i, Extend::Zero)),
        Lds::DsLoadI16 => Exact(|x, i| x.lds_load::<2>(i, Extend::Sign)),
        Lds::DsLoadU8D16 => Exact(|x, i| x.lds_load::<1>(i, Extend::HalfZero(0))),
        Lds::DsLoadU8D16Hi => Exact(|x, i| x.lds_load::<1>(i, Extend::HalfZero(16))),
        Lds::DsLoadI8D16 => Exact(|x, i| x.lds_load::<1>(i, Extend::HalfSign(0))),
        Lds::DsLoadI8D16Hi => Exact(|x, i| x.lds_load::<1>(i, Extend::HalfSign(16))),
        Lds::DsLoadU16D16 => Exact(|x, i| x.lds_load::<2>(i, Extend::HalfZero(0))),
        Lds::DsLoadU16D16Hi => Exact(|x, i| x.lds_load::<2>(i, Extend::HalfZero(16))),
        Lds::DsLoadB32 => Exact(|x, i| x.lds_load::<4>(i, Extend::Words)),
        Lds::DsLoadB64 => Exact(|x, i| x.lds_load::<8>(i, Extend::Words)),
        Lds::DsLoadB96 => Exact(|x, i| x.lds_load::<12>(i, Extend::Words)),
        Lds::DsLoadB128 => Exact(|x, i| x.lds_load::<16>(i, Extend::Words)),
        Lds::DsLoad2addrB32 => Exact(|x, i| x.lds_load_pair::<4>(i, 4)),
        Lds::DsLoad2addrStride64B32 => Exact(|x, i| x.lds_load_pair::<4>(i, 256)),
        Lds::DsLoad2addrB64 => Exact(|x, i| x.lds_load_pair::<8>(i, 8)),
        Lds::DsLoad2addrStride64B64 => Exact(|x, i| x.lds_load_pair::<8>(i, 512)),
        Lds::DsReadB64TrB16 => Exact(|x, i| x.lds_load_transposed::<4>(i)),
        Lds::DsReadB64TrB8 => Exact(|x, i| x.lds_load_transposed::<8>(i)),

        // Stores.
        Lds::DsStoreB8 => Exact(|x, i| x.lds_store::<1>(i, 0)),
        Lds::DsStoreB8D16Hi => Exact(|x, i| x.lds_store::<1>(i, 16)),
        Lds::DsStoreB16 => Exact(|x, i| x.lds_store::<2>(i, 0)),
        Lds::DsStoreB16D16Hi => Exact(|x, i| x.lds_store::<2>(i, 16)),
        Lds::DsStoreB32 => Exact(|x, i| x.lds_store::<4>(i, 0)),
        Lds::DsStoreB64 => Exact(|x, i| x.lds_store::<8>(i, 0)),
        Lds::DsStoreB96 => Exact(|x, i| x.lds_store::<12>(i, 0)),
        Lds::DsStoreB128 => Exact(|x, i| x.lds_store::<16>(i, 0)),
        Lds::DsStore2addrB32 => Exact(|x, i| x.lds_store_pair::<4>(i, 4)),
        Lds::DsStore2addrStride64B32 => Exact(|x, i| x.lds_store_pair::<4>(i, 256)),
        Lds::DsStore2addrB64 => Exact(|x, i| x.lds_store_pair::<8>(i, 8)),
        Lds::DsStore2addrStride64B64 => Exact(|x, i| x.lds_store_pair::<8>(i, 512)),

        // Lane moves.
        Lds::DsPermuteB32 => Exact(|x, i| x.permute(i)),
        Lds::DsBpermuteB32 => Exact(|x, i| x.backward_permute(i)),
        Lds::DsAppend => Exact(|x, i| x.count_active(i, u32::wrapping_add)),
        Lds::DsConsume => Exact(|x, i| x.count_active(i, u32::wrapping_sub)),
        Lds::DsSwizzleB32 => Exact(|x, i| x.swizzle(i)),
    }
}

/// The lane that a lane reads in `ds_swizzle_b32`.
///
/// Source: RDNA3 ISA manual, `DS_SWIZZLE_B32`: quads (bit 15 set), otherwise and-, or-, xor-masks within
/// 32 lanes; rotation (bits 15:13 = 110) within 32 lanes, direction in bit 10.
fn swizzled_lane(pattern: u32, lane: usize) -> Option<usize> {
    let (group, place) = (lane & !31, (lane & 31) as u32);
    let from = match pattern >> 13 {
        0b111 => return None,
        0b110 => {
            let (mask, by) = (pattern & 31, pattern >> 5 & 31);
            let moved = if pattern >> 10 & 1 == 1 { place.wrapping_sub(by) } else { place + by };
            place & mask | moved & !mask & 31
        }
        0b100 | 0b101 => place & !3 | pattern >> (2 * (place & 3)) & 3,
        _ => (place & pattern & 31 | pattern >> 5 & 31) ^ (pattern >> 10 & 31),
    };
    Some(group + from as usize)
}

impl Exec<'_> {
    /// The address of a lane, with a byte offset; addresses wrap at 32 bits.
    #[inline]
    pub(crate) fn lds_address(&self, inst: &Prepared, lane: usize, offset: u32) -> Space {
        let base = match inst.src[0] {
            Source::Vector(register) => self.wave.vectors.lane(register, lane),
            uniform => (self.uniform(uniform) & 0xffff_ffff) as u32,
        };
        Space::Lds(base.wrapping_add(offset))
    }

    fn lds_load<const N: usize>(&mut self, inst: &Prepared, extend: Extend) -> Outcome {
        let offset = inst.inst.mods.offset.cast_unsigned();
        if extend == Extend::Words {
            return self.load_rows::<N>(inst, Memory::Lds, |exec, row| {
                exec.lds_addresses(inst, offset, row)
            });
        }
        self.vector_load::<N>(inst, extend, |exec, lane| exec.lds_address(inst, lane, offset))
    }

    fn lds_store<const N: usize>(&mut self, inst: &Prepared, shift: u32) -> Outcome {
        let offset = inst.inst.mods.offset.cast_unsigned();
        if N.is_multiple_of(4) {
            return self.store_rows::<N>(inst, 1, Memory::Lds, |exec, row| {
                exec.lds_addresses(inst, offset, row)
            });
        }
        self.vector_store::<N>(inst, 1, shift, |exec, lane| exec.lds_address(inst, lane, offset))
    }

    /// Byte offsets of a two-address instruction whose offsets count in `unit` bytes.
    fn pair_offsets(inst: &Prepared, unit: u32) -> [u32; 2] {
        [inst.inst.mods.offset.cast_unsigned() * unit, u32::from(inst.inst.mods.offset1) * unit]
    }

    fn lds_load_pair<const N: usize>(&mut self, inst: &Prepared, unit: u32) -> Outcome {
        let offsets = Self::pair_offsets(inst, unit);
        self.vector_loads::<N, 2>(inst, Extend::Words, |exec, lane| {
            offsets.map(|offset| exec.lds_address(inst, lane, offset))
        })
    }

    fn lds_store_pair<const N: usize>(&mut self, inst: &Prepared, unit: u32) -> Outcome {
        for (k, offset) in Self::pair_offsets(inst, unit).into_iter().enumerate() {
            self.store_part::<N>(inst, 1 + k, 0, |exec, lane| {
                exec.lds_address(inst, lane, offset)
            })?;
        }
        self.issue(inst, Span::default());
        Ok(())
    }

    /// Blocks of 16 lanes read N elements of 64 / N bits each, a row-major N × 16 matrix, and lane `c` of the block
    /// gets column `c`: its element `r` comes from lane `(16 / N)·r + c / N`, element `c % N`.
    ///
    /// Source: Triton's kernels for gfx950, which give NumPy's results with this map (`tests/third_party`:
    /// of 16 bits in the products of halves, of 8 bits in those of bytes).
    fn lds_load_transposed<const N: usize>(&mut self, inst: &Prepared) -> Outcome {
        self.lds_load::<8>(inst, Extend::Words)?;
        let Dest::Vector(register) = inst.dst[0] else { return Ok(()) };
        let (bits, mask) = (64 / N, u64::MAX >> (64 - 64 / N));
        let element = |exec: &Self, lane: usize, r: usize| {
            let (block, c) = (lane & !15, lane & 15);
            let (from, shift) = (block + 16 / N * r + c / N, bits * (c % N));
            let word = exec.wave.vectors.lane_bits(register + (shift / 32) as u16, from);
            let shift = shift % 32;
            Bits { value: word.value >> shift & mask, undefined: word.undefined >> shift & mask }
        };
        for row in 0..self.wave.n_rows() {
            let columns: [Bits; ROW_LANES] = std::array::from_fn(|lane| {
                let mut column = Bits::default();
                for r in 0..N {
                    let element = element(self, row * ROW_LANES + lane, r);
                    column.value |= element.value << (bits * r);
                    column.undefined |= element.undefined << (bits * r);
                }
                column
            });
            self.put_columns(register, row, &columns);
            if columns.iter().any(|column| column.undefined != 0) {
                self.note_loaded(inst);
            }
        }
        Ok(())
    }

    /// Writes a row of 64-bit values to a pair of registers.
    fn put_columns(&mut self, register: u16, row: usize, columns: &[Bits; ROW_LANES]) {
        let lanes = self.wave.active_row(row);
        for word in 0..2_u16 {
            let part = |bits: u64| (bits >> (32 * word)) as u32;
            let values = columns.map(|column| part(column.value));
            let undefined = columns.map(|column| part(column.undefined));
            let vectors = &mut self.wave.vectors;
            vectors.write_row(register + word, row, lanes, u32::MAX, &values);
            if undefined.iter().any(|bits| *bits != 0) {
                vectors.taint_row(register + word, row, lanes, u32::MAX, &undefined);
            }
        }
    }

    /// Adds or takes the number of active lanes at M0 + offset, once for the wave; every active lane gets
    /// the word before it.
    ///
    /// Source: CDNA3 and RDNA3 ISA manuals, DS_APPEND and DS_CONSUME; LLVM 22 puts the whole address in M0.
    fn count_active(&mut self, inst: &Prepared, update: fn(u32, u32) -> u32) -> Outcome {
        let Some(lane) = (0..self.wave.width).find(|lane| self.wave.active >> lane & 1 == 1) else {
            self.issue(inst, Span::default());
            return Ok(());
        };
        if self.wave.scalars.undefined(scalar::M0) != 0 {
            undefined::address(self, inst, None, &[scalar::M0.into()]);
        }
        let base = self.wave.scalars.get(scalar::M0) & 0xffff;
        let space = Space::Lds(base.wrapping_add_signed(inst.inst.mods.offset));
        let (bytes, written) = self.load_bytes::<4>(inst, lane as usize, space)?;
        let old = u32::from_le_bytes(bytes);
        let new = update(old, self.wave.active.count_ones());
        self.store_bytes(inst, lane as usize, space, new.to_le_bytes(), written)?;
        let undefined = super::access::undefined_mask(written);
        self.put_lanes(inst, &vec![([old; ROW_LANES], [undefined; ROW_LANES]); self.wave.n_rows()]);
        Ok(())
    }

    /// A lane as an address counts it: bytes, four a lane, modulo the wave.
    fn addressed_lane(&self, inst: &Prepared, lane: usize) -> usize {
        let Space::Lds(address) =
            self.lds_address(inst, lane, inst.inst.mods.offset.cast_unsigned())
        else {
            return 0;
        };
        (address / 4) as usize % self.wave.width as usize
    }

    /// Each lane reads the data of the lane that its address names; inactive lanes give zero.
    fn backward_permute(&mut self, inst: &Prepared) -> Outcome {
        let offset = inst.inst.mods.offset.cast_unsigned();
        let n_rows = self.wave.n_rows();
        if let [Source::Vector(address), Source::Vector(data)] = [inst.src[0], inst.src[1]]
            && !self.is_any_undefined(inst)
        {
            let vectors = &self.wave.vectors;
            // Of wave32 the second row counts for nothing.
            let rows = [0, n_rows - 1];
            let permute = Permute {
                addresses: rows.map(|row| vectors.row(address, row)),
                offset,
                data: rows.map(|row| vectors.row(data, row)),
                active: rows.map(|row| self.wave.active_row(row)),
                n_lanes: self.wave.width,
            };
            let out = simd::run(vectors.width(), permute);
            for (row, out) in out.iter().enumerate().take(n_rows) {
                self.put(inst, row, out, None);
            }
            self.issue_result(inst);
            return Ok(());
        }
        let rows = [0, n_rows - 1].map(|row| self.lds_addresses(inst, offset, row));
        let width = self.wave.width as usize;
        self.gather_lanes(inst, 1, |_, lane| {
            // The width is a power of two.
            Some((rows[lane / ROW_LANES][lane % ROW_LANES] / 4) as usize & (width - 1))
        })
    }

    fn swizzle(&mut self, inst: &Prepared) -> Outcome {
        let pattern = inst.inst.mods.offset.cast_unsigned() & 0xffff;
        if swizzled_lane(pattern, 0).is_none() {
            return self.refuse(inst, "the FFT pattern");
        }
        self.gather_lanes(inst, 0, |_, lane| swizzled_lane(pattern, lane))
    }

    /// Each active lane gets source `k` of another lane; inactive lanes give zero.
    fn gather_lanes(
        &mut self,
        inst: &Prepared,
        k: usize,
        from: impl Fn(&Self, usize) -> Option<usize>,
    ) -> Outcome {
        if k == 1 {
            self.check_address(inst);
        }
        let active = self.wave.active;
        if let (Source::Vector(data), false) = (inst.src[k], self.is_any_undefined(inst)) {
            let mut rows = [[0; ROW_LANES]; 2];
            for lane in 0..self.wave.width as usize {
                if let Some(source) = from(self, lane).filter(|source| active >> source & 1 == 1) {
                    rows[lane / ROW_LANES][lane % ROW_LANES] = self.wave.vectors.lane(data, source);
                }
            }
            let rows = rows.map(|values| (values, [0; ROW_LANES]));
            self.put_lanes(inst, &rows[..self.wave.n_rows()]);
            return Ok(());
        }
        let fetch = |exec: &Self, lane: usize| match from(exec, lane) {
            Some(source) if active >> source & 1 == 1 => {
                exec.lane_source(inst.src[k], source as u32)
            }
            _ => Bits::default(),
        };
        let rows: Vec<(Row, Row)> = (0..self.wave.n_rows())
            .map(|row| {
                let bits: [Bits; ROW_LANES] =
                    std::array::from_fn(|lane| fetch(self, row * ROW_LANES + lane));
                (bits.map(|bits| bits.value as u32), bits.map(|bits| bits.undefined as u32))
            })
            .collect();
        self.put_lanes(inst, &rows);
        Ok(())
    }

    /// Each active lane sends its data to the lane that its address names; the highest sender wins, lanes
    /// without a sender get zero.
    fn permute(&mut self, inst: &Prepared) -> Outcome {
        self.check_address(inst);
        let mut rows = vec![([0; ROW_LANES], [0; ROW_LANES]); self.wave.n_rows()];
        for lane in (0..self.wave.width as usize).filter(|lane| self.wave.active >> lane & 1 == 1) {
            let to = self.addressed_lane(inst, lane);
            let bits = self.lane_source(inst.src[1], lane as u32);
            let (values, undefined) = &mut rows[to / ROW_LANES];
            values[to % ROW_LANES] = bits.value as u32;
            undefined[to % ROW_LANES] = bits.undefined as u32;
        }
        self.put_lanes(inst, &rows);
        Ok(())
    }

    fn put_lanes(&mut self, inst: &Prepared, rows: &[(Row, Row)]) {
        if let Dest::Vector(register) = inst.dst[0] {
            for (row, (values, undefined)) in rows.iter().enumerate() {
                let lanes = self.wave.active_row(row);
                self.wave.vectors.write_row(register, row, lanes, u32::MAX, values);
                if undefined.iter().any(|bits| *bits != 0) {
                    self.wave.vectors.taint_row(register, row, lanes, u32::MAX, undefined);
                    self.note_undefined(inst);
                }
            }
        }
        self.issue_result(inst);
    }
}

/// Each lane gets the data of the lane that its address names.
struct Permute<'r> {
    addresses: [&'r Row; ROWS],
    offset: u32,
    data: [&'r Row; ROWS],
    active: [u32; ROWS],
    /// Lanes of the wave, a power of two.
    n_lanes: u32,
}

impl Loops for Permute<'_> {
    type Output = [Row; ROWS];

    #[inline(always)]
    fn run(self, fused: Fused) -> [Row; ROWS] {
        let mut data = [*self.data[0], *self.data[1]];
        for (data, active) in data.iter_mut().zip(self.active) {
            if active == u32::MAX {
                continue;
            }
            for (lane, data) in data.iter_mut().enumerate() {
                *data = if active >> lane & 1 == 1 { *data } else { 0 };
            }
        }
        let last = self.n_lanes - 1;
        let numbers = |row: usize| {
            let mut numbers = *self.addresses[row];
            for number in &mut numbers {
                *number = (number.wrapping_add(self.offset) / 4) & last;
            }
            numbers
        };
        [simd::pick(fused, &data, &numbers(0)), simd::pick(fused, &data, &numbers(1))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzle_patterns() {
        // xor 1 within 32 lanes: and 0x1f, or 0, xor 1.
        let xor1 = 1 << 10 | 0x1f;
        assert_eq!([0, 1, 33].map(|lane| swizzled_lane(xor1, lane)), [Some(1), Some(0), Some(32)]);
        // Broadcast lane 5 of each 32: and 0, or 5.
        assert_eq!([0, 40].map(|lane| swizzled_lane(5 << 5, lane)), [Some(5), Some(37)]);
        // Quads reversed: 3, 2, 1, 0.
        assert_eq!([4, 5, 7].map(|lane| swizzled_lane(0x801b, lane)), [Some(7), Some(6), Some(4)]);
        // Rotation by one lane: up, then down.
        assert_eq!([0, 31].map(|lane| swizzled_lane(0xc020, lane)), [Some(1), Some(0)]);
        assert_eq!([0, 31].map(|lane| swizzled_lane(0xc420, lane)), [Some(31), Some(30)]);
        assert_eq!(swizzled_lane(0xe000, 0), None);
    }
}
