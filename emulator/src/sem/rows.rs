//! Loads and stores of whole rows of lanes in global memory or LDS.
//!
//! Where all lanes of a row lie in one buffer, it is looked up once and its bounds are checked for all together. What this
//! does not cover (bytes never written, undefined data, faults) goes lane by lane, as in `access`, which
//! defines what happens.

use crate::checks::races::{self, Access, RowAccess};
use crate::exec::{Exec, Outcome};
use crate::lanes::simd::{self, Fused, Loops, are_inside};
use crate::machine::Alignment;
use crate::operand::{Dest, Source, Span};
use crate::prepare::Prepared;
use crate::sem::access::{Extend, Space};
use crate::traffic;
use crate::wave::{AlignedRow, ROW_LANES, ROWS, Row};

/// Addresses of a row's lanes.
pub(crate) type Addresses = [u64; ROW_LANES];

/// The memory that all lanes access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Global,
    Lds,
}

impl Memory {
    fn space(self, address: u64) -> Space {
        match self {
            Memory::Global => Space::Global(address),
            Memory::Lds => Space::Lds((address & 0xffff_ffff) as u32),
        }
    }
}

/// Whether all active lanes access `N` of these bytes.
struct Inside<'a, const N: usize> {
    at: &'a Addresses,
    lanes: u32,
    /// Address of the first of the bytes.
    first: u64,
    bytes: &'a [u8],
}

impl<const N: usize> Loops for Inside<'_, N> {
    type Output = bool;

    #[inline(always)]
    fn run(self, _: Fused) -> bool {
        // Lanes that are off access the first bytes.
        let mut at = *self.at;
        for (lane, address) in at.iter_mut().enumerate() {
            *address = if self.lanes >> lane & 1 == 1 { *address } else { self.first };
        }
        are_inside(self.bytes, self.first, &at, N)
    }
}

/// Loads of `N` bytes by all lanes to rows of registers. `false`, with nothing done, where a lane does not hit the
/// bytes.
struct Load<'a, const N: usize> {
    bytes: &'a [u8],
    /// Address of the first of the bytes.
    first: u64,
    at: &'a Addresses,
    /// From the row of the first register on.
    rows: &'a mut [AlignedRow],
}

impl<const N: usize> Loops for Load<'_, N> {
    type Output = bool;

    #[inline(always)]
    fn run(self, fused: Fused) -> bool {
        let Load { bytes, first, at, rows } = self;
        if N == 16
            && let Ok(quad) = rows.get_disjoint_mut([0, ROWS, 2 * ROWS, 3 * ROWS])
            && let Some(is_done) =
                simd::load_quads(fused, bytes, first, at, quad.map(|row| &mut row.0))
        {
            return is_done;
        }
        if !are_inside(bytes, first, at, N) {
            return false;
        }
        let mut values: [Row; 4] = [[0; ROW_LANES]; 4];
        for (lane, address) in at.iter().enumerate() {
            let offset = (address - first) as usize;
            let words = bytes[offset..offset + N].as_chunks::<4>().0;
            for (values, word) in values.iter_mut().zip(words) {
                values[lane] = u32::from_le_bytes(*word);
            }
        }
        for (word, values) in values.iter().enumerate().take(N / 4) {
            rows[word * ROWS].0 = *values;
        }
        true
    }
}

/// Stores of `N` bytes by all lanes. `false`, with nothing done, where a lane does not hit the bytes.
struct Store<'a, const N: usize> {
    bytes: &'a mut [u8],
    /// Address of the first of the bytes.
    first: u64,
    at: &'a Addresses,
    values: [&'a Row; 4],
}

impl<const N: usize> Loops for Store<'_, N> {
    type Output = bool;

    #[inline(always)]
    fn run(self, fused: Fused) -> bool {
        let Store { bytes, first, at, values } = self;
        if N == 16
            && let Some(is_done) = simd::store_quads(fused, bytes, first, at, values)
        {
            return is_done;
        }
        if !are_inside(bytes, first, at, N) {
            return false;
        }
        for (lane, address) in at.iter().enumerate() {
            let offset = (address - first) as usize;
            let words = bytes[offset..offset + N].as_chunks_mut::<4>().0;
            for (values, word) in values.iter().zip(words) {
                *word = values[lane].to_le_bytes();
            }
        }
        true
    }
}

/// The addresses of a row: a base, and of each lane a low word and perhaps a high one.
struct Sums<'a> {
    base: u64,
    low: &'a Row,
    high: Option<&'a Row>,
}

impl Loops for Sums<'_> {
    type Output = Addresses;

    #[inline(always)]
    fn run(self, _: Fused) -> Addresses {
        let mut sums = self.low.map(|low| self.base.wrapping_add(low.into()));
        if let Some(high) = self.high {
            for (sum, high) in sums.iter_mut().zip(high) {
                *sum = sum.wrapping_add(u64::from(*high) << 32);
            }
        }
        sums
    }
}

impl Exec<'_> {
    /// Addresses in global memory: a vector and a scalar part, and the offset of the instruction.
    pub(crate) fn global_addresses(&self, inst: &Prepared, scalar: usize, row: usize) -> Addresses {
        let base = match inst.src[scalar] {
            Source::None => 0,
            uniform if inst.bits[scalar] <= 32 => self.uniform(uniform) & 0xffff_ffff,
            uniform => self.uniform(uniform),
        };
        let base = base.wrapping_add_signed(inst.inst.mods.offset.into());
        let Source::Vector(register) = inst.src[0] else {
            return [base.wrapping_add(self.uniform(inst.src[0])); ROW_LANES];
        };
        let vectors = &self.wave.vectors;
        let high = (inst.bits[0] > 32).then(|| vectors.row(register + 1, row));
        simd::run(vectors.width(), Sums { base, low: vectors.row(register, row), high })
    }

    /// Addresses in LDS, which wrap at 32 bits.
    pub(crate) fn lds_addresses(&self, inst: &Prepared, offset: u32, row: usize) -> Addresses {
        match inst.src[0] {
            Source::Vector(register) => {
                let base = self.wave.vectors.row(register, row);
                base.map(|base| base.wrapping_add(offset).into())
            }
            uniform => {
                let base = (self.uniform(uniform) & 0xffff_ffff) as u32;
                [base.wrapping_add(offset).into(); ROW_LANES]
            }
        }
    }

    /// Loads `N` bytes a lane, whole words, to the first destination.
    pub(crate) fn load_rows<const N: usize>(
        &mut self,
        inst: &Prepared,
        memory: Memory,
        addresses: impl Fn(&Self, usize) -> Addresses,
    ) -> Outcome {
        self.check_address(inst);
        for row in self.rows() {
            let at = addresses(self, row);
            if self.load_row::<N>(inst, row, memory, &at).is_some() {
                self.note_row::<N>(inst, row, memory, &at, None);
            } else {
                self.load_lanes::<N, 1>(inst, row, Extend::Words, |_, lane| {
                    [memory.space(at[lane % ROW_LANES])]
                })?;
            }
        }
        self.issue_result(inst);
        Ok(())
    }

    /// Stores `N` bytes a lane, whole words, from source `k`.
    pub(crate) fn store_rows<const N: usize>(
        &mut self,
        inst: &Prepared,
        k: usize,
        memory: Memory,
        addresses: impl Fn(&Self, usize) -> Addresses,
    ) -> Outcome {
        self.check_address(inst);
        for row in self.rows() {
            let at = addresses(self, row);
            if let Some(rewrites) = self.store_row::<N>(inst, k, row, memory, &at) {
                self.note_row::<N>(inst, row, memory, &at, Some(rewrites));
            } else {
                self.store_lanes::<N>(inst, k, (0, 0), row, |_, lane| {
                    memory.space(at[lane % ROW_LANES])
                })?;
            }
        }
        self.issue(inst, Span::default());
        Ok(())
    }

    /// `None` when it has done nothing and the lanes have to be taken one by one.
    fn load_row<const N: usize>(
        &mut self,
        inst: &Prepared,
        row: usize,
        memory: Memory,
        at: &Addresses,
    ) -> Option<()> {
        let Dest::Vector(register) = inst.dst[0] else { return None };
        let (lanes, is_watched) = (self.wave.active_row(row), self.options.checks);
        let (low, high) = self.first_access::<N>(at, lanes)?;
        let (bytes, written, first) = match memory {
            Memory::Global => self.memory.window(&mut self.cursor, low, high)?,
            Memory::Lds => self.lds.window(high)?,
        };
        let vectors = &mut self.wave.vectors;
        let is_written = || {
            simd::run(vectors.width(), Inside::<N> { at, lanes, first, bytes })
                && at.iter().all(|at| written.are_all((at - first) as usize, N))
        };
        if lanes == u32::MAX && (!is_watched || written.is_complete() || is_written()) {
            let (width, rows) = (vectors.width(), vectors.rows_from(register, row));
            simd::run(width, Load::<N> { bytes, first, at, rows }).then_some(())?;
            for word in 0..N / 4 {
                vectors.define(register + word as u16, u64::from(lanes) << (row * ROW_LANES));
            }
            return Some(());
        }
        simd::run(vectors.width(), Inside::<N> { at, lanes, first, bytes }).then_some(())?;
        let mut values: [Row; 4] = [[0; ROW_LANES]; 4];
        for lane in (0..ROW_LANES).filter(|lane| lanes >> lane & 1 == 1) {
            let offset = (at[lane] - first) as usize;
            if is_watched && !written.are_all(offset, N) {
                return None;
            }
            let words = bytes[offset..offset + N].as_chunks::<4>().0;
            for (values, word) in values.iter_mut().zip(words) {
                values[lane] = u32::from_le_bytes(*word);
            }
        }
        for (register, values) in (register..).zip(&values[..N / 4]) {
            vectors.write_row(register, row, lanes, u32::MAX, values);
        }
        Some(())
    }

    /// The lanes that stored to LDS what it held, which only race checks ask; `None` when it has done nothing and the
    /// lanes have to be taken one by one.
    fn store_row<const N: usize>(
        &mut self,
        inst: &Prepared,
        k: usize,
        row: usize,
        memory: Memory,
        at: &Addresses,
    ) -> Option<u32> {
        let Source::Vector(data) = inst.src[k] else { return None };
        let registers = || data..data + N as u16 / 4;
        if registers().any(|register| self.wave.vectors.is_tainted(register, row)) {
            return None;
        }
        let lanes = self.wave.active_row(row);
        let is_compared = memory == Memory::Lds && self.races.is_on();
        let (low, high) = self.first_access::<N>(at, lanes)?;
        let (bytes, written, first) = match memory {
            Memory::Global => self.memory.window_mut(&mut self.cursor, low, high)?,
            Memory::Lds => self.lds.window_mut(high)?,
        };
        let mut values: [&Row; 4] = [&[0; ROW_LANES]; 4];
        for (values, register) in values.iter_mut().zip(registers()) {
            *values = self.wave.vectors.row(register, row);
        }
        let (is_complete, width) = (written.is_complete(), self.wave.vectors.width());
        if is_complete && lanes == u32::MAX && !is_compared {
            return simd::run(width, Store::<N> { bytes, first, at, values }).then_some(0);
        }
        simd::run(width, Inside::<N> { at, lanes, first, bytes }).then_some(())?;
        let mut rewrites = 0;
        if is_compared {
            for lane in (0..ROW_LANES).filter(|lane| lanes >> lane & 1 == 1) {
                let offset = (at[lane] - first) as usize;
                let words = bytes[offset..offset + N].as_chunks::<4>().0;
                let mut pairs = words.iter().zip(values);
                let is_same = pairs.all(|(word, values)| *word == values[lane].to_le_bytes())
                    && written.are_all(offset, N);
                rewrites |= u32::from(is_same) << lane;
            }
        }
        if is_complete && lanes == u32::MAX {
            return simd::run(width, Store::<N> { bytes, first, at, values }).then_some(rewrites);
        }
        for lane in (0..ROW_LANES).filter(|lane| lanes >> lane & 1 == 1) {
            let offset = (at[lane] - first) as usize;
            let words = bytes[offset..offset + N].as_chunks_mut::<4>().0;
            for (values, word) in values.iter().zip(words) {
                *word = values[lane].to_le_bytes();
            }
            if !is_complete {
                written.set(offset, N, u32::MAX);
            }
        }
        Some(rewrites)
    }

    /// The bytes that the first active lane accesses, where lanes may be anywhere.
    fn first_access<const N: usize>(&self, at: &Addresses, lanes: u32) -> Option<(u64, u64)> {
        if self.options.alignment != Alignment::Hsa {
            return None;
        }
        let low = at[lanes.trailing_zeros() as usize % ROW_LANES];
        Some((low, low.checked_add(N as u64)?))
    }

    /// Shows accesses to what watches and counts them; of stores, with the lanes that changed nothing.
    #[inline]
    fn note_row<const N: usize>(
        &mut self,
        inst: &Prepared,
        row: usize,
        memory: Memory,
        at: &Addresses,
        stored: Option<u32>,
    ) {
        if self.races.is_on() {
            self.check_row::<N>(inst, row, memory, at, stored);
        }
        if self.counts.traffic.is_some() {
            for lane in self.lanes(row) {
                let space = memory.space(at[lane % ROW_LANES]);
                traffic::note(self, inst, lane, space, N, stored.is_some());
            }
        }
    }

    fn check_row<const N: usize>(
        &mut self,
        inst: &Prepared,
        row: usize,
        memory: Memory,
        at: &Addresses,
        stored: Option<u32>,
    ) {
        let rewrites = stored.unwrap_or(0);
        let access = RowAccess {
            at,
            lanes: self.wave.active_row(row),
            n_bytes: N as u64,
            is_global: memory == Memory::Global,
            is_write: stored.is_some(),
            rewrites,
        };
        if races::check_row(self, inst, row * ROW_LANES, access).is_some() {
            return;
        }
        for lane in self.lanes(row) {
            let at_lane = lane % ROW_LANES;
            let access = match stored {
                None => Access::Read,
                Some(rewrites) if rewrites >> at_lane & 1 == 1 => Access::Rewrite,
                Some(_) => Access::Write,
            };
            races::check(self, inst, lane, memory.space(at[at_lane]), N, access);
        }
    }
}
