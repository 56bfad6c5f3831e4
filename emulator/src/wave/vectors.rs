//! The vector registers of a wave, and which of their bits are undefined.
//!
//! They are stored as rows of 32 lanes: a wave32 register fills one row of two, a wave64 register both. Loops over a
//! row have a fixed length and no lane ever meets another one in them.

use std::cell::Cell;

use isa::Target;

use crate::lanes::Width;
use crate::prepare::Places;
use crate::taint::Bits;

/// Lanes in a row.
pub(crate) const ROW_LANES: usize = 32;

/// One value a lane.
pub(crate) type Row = [u32; ROW_LANES];

/// A row as registers store it: no vector of the host crosses a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct AlignedRow(pub Row);

/// First number of the accumulation registers, behind the architectural ones.
pub(crate) const FIRST_ACC: u16 = 256;
/// Registers that only the emulator uses, to stage sources and results.
const N_STAGE: u16 = 12 + 2 * N_SPREAD;
/// Staging registers that scalar sources are spread over.
pub(crate) const N_SPREAD: u16 = 16;
/// First number of these: they lie in front of all others.
pub(crate) const FIRST_STAGE: u16 = 0_u16.wrapping_sub(N_STAGE);
/// Takes results that nobody reads.
pub(crate) const SCRAP_STAGE: u16 = FIRST_STAGE + 7;
/// A staging register that is always zero.
pub(crate) const ZERO_STAGE: u16 = FIRST_STAGE + 11;
/// First of [`N_SPREAD`] staging registers that scalar sources of an instruction are spread over.
pub(crate) const SPREAD_STAGE: u16 = FIRST_STAGE + 12;
/// First of as many that scalar sources are spread over before a block of instructions.
pub(crate) const AHEAD_STAGE: u16 = SPREAD_STAGE + N_SPREAD;
/// Rows of a register in its file.
pub(crate) const ROWS: usize = 2;
/// Bytes of a register in its file.
pub(crate) const REGISTER_BYTES: usize = ROWS * size_of::<AlignedRow>();
/// All vector registers that a wave can have.
const N_VECTOR: usize = (N_STAGE + 2 * FIRST_ACC) as usize;
/// Room for a byte each: a remainder by it needs no comparison.
const N_TAINTED: usize = N_VECTOR.next_power_of_two();

/// The number of a register in a file that starts with the staging ones.
#[inline]
pub(crate) fn place(register: u16) -> usize {
    register.wrapping_add(N_STAGE).into()
}

/// The vector registers of a wave.
#[derive(Debug)]
pub(crate) struct VectorFile {
    /// Rows of a register that have lanes.
    n_rows: usize,
    /// One bit for each lane.
    all_lanes: u64,
    /// How the loops over rows are compiled.
    width: Width,
    values: Vec<AlignedRow>,
    /// The word that fills each register from [`SPREAD_STAGE`] on; no word where none does yet.
    spread: [u64; 2 * N_SPREAD as usize],
    /// One where a bit is undefined; meaningful only where `tainted` says so.
    undefined: Vec<Row>,
    /// By register, one bit a row: some bit of some lane is undefined.
    tainted: [u8; N_TAINTED],
}

/// The rows of a wave's vector registers, to be read and written in any order.
pub(crate) struct VectorRows<'f> {
    cells: &'f [[Cell<AlignedRow>; ROWS]],
    pub n_rows: usize,
    pub all_lanes: u64,
}

impl VectorRows<'_> {
    /// The rows of all registers.
    #[inline(always)]
    pub(crate) fn all(&self) -> &[[Cell<AlignedRow>; ROWS]] {
        self.cells
    }

    /// The rows of a register.
    #[inline(always)]
    pub(crate) fn rows(&self, register: u16) -> &[Cell<AlignedRow>; ROWS] {
        &self.cells[place(register)]
    }
}

impl VectorFile {
    /// With room for so many architectural and accumulation registers.
    pub(super) fn new(target: Target, [arch, acc]: [u16; 2]) -> VectorFile {
        let last = if acc == 0 { arch } else { FIRST_ACC + acc };
        let n_rows = usize::from(N_STAGE + last) * ROWS;
        VectorFile {
            n_rows: target.wave_width() as usize / ROW_LANES,
            all_lanes: u64::MAX >> (64 - target.wave_width()),
            width: Width::detect(),
            values: vec![AlignedRow([0; ROW_LANES]); n_rows],
            spread: [u64::MAX; 2 * N_SPREAD as usize],
            undefined: vec![[0; ROW_LANES]; n_rows],
            tainted: [0; N_TAINTED],
        }
    }

    /// Makes every bit of some registers zero, and undefined where asked for.
    pub(super) fn reset(&mut self, first: u16, count: u16, is_undefined: bool) {
        let registers = place(first)..place(first) + usize::from(count);
        for rows in &mut self.values.as_chunks_mut::<ROWS>().0[registers.clone()] {
            rows[..self.n_rows].fill(AlignedRow([0; ROW_LANES]));
        }
        if !is_undefined {
            return;
        }
        for rows in &mut self.undefined.as_chunks_mut::<ROWS>().0[registers] {
            rows[..self.n_rows].fill([u32::MAX; ROW_LANES]);
        }
        let all_rows = (1 << self.n_rows) - 1;
        self.tainted[place(first)..][..usize::from(count)].fill(all_rows);
    }

    /// The number of a row of lanes among all.
    #[inline]
    pub(crate) fn index(&self, register: u16, row: usize) -> usize {
        place(register) * ROWS + row
    }

    /// The values of a row of lanes.
    #[inline]
    pub(crate) fn row(&self, register: u16, row: usize) -> &Row {
        &self.values[self.index(register, row)].0
    }

    /// All rows from one of a register on.
    #[inline]
    pub(crate) fn rows_from(&mut self, register: u16, row: usize) -> &mut [AlignedRow] {
        let index = self.index(register, row);
        &mut self.values[index..]
    }

    /// Rows of a register that have lanes.
    #[inline]
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Makes every lane of a staging register from [`SPREAD_STAGE`] on this word: mostly it is, from an earlier
    /// instruction.
    #[inline]
    pub(crate) fn spread(&mut self, slot: u8, word: u32) {
        let slot = usize::from(slot) % self.spread.len();
        if self.spread[slot] != u64::from(word) {
            self.spread[slot] = word.into();
            self.fill(SPREAD_STAGE + slot as u16, word);
        }
    }

    #[inline(never)]
    fn fill(&mut self, register: u16, word: u32) {
        for row in 0..self.n_rows {
            let index = self.index(register, row);
            self.values[index] = AlignedRow([word; ROW_LANES]);
        }
    }

    /// One bit for each lane.
    #[inline]
    pub(crate) fn all_lanes(&self) -> u64 {
        self.all_lanes
    }

    /// How the loops over rows are compiled.
    #[inline]
    pub(crate) fn width(&self) -> Width {
        self.width
    }

    /// Whether some bit of a row of lanes is undefined.
    #[inline]
    pub(crate) fn is_tainted(&self, register: u16, row: usize) -> bool {
        self.tainted[place(register)] >> row & 1 == 1
    }

    /// Whether some bit of some register of a tuple is undefined.
    #[inline]
    pub(crate) fn is_tuple_tainted(&self, first: u16, count: u16) -> bool {
        let rows = &self.tainted[place(first)..][..count.into()];
        rows.iter().fold(0, |all, rows| all | rows) != 0
    }

    /// Whether some bit of some register of these is undefined.
    #[inline]
    pub(crate) fn is_any_tainted(&self, registers: &[u16]) -> bool {
        let rows = registers.iter().fold(0, |rows, at| rows | self.tainted[place(*at)]);
        rows != 0
    }

    /// Whether some bit of the first three sources of an instruction is undefined.
    #[inline]
    pub(crate) fn are_sources_tainted(&self, places: &Places) -> bool {
        let is_tainted = |bytes: u32| self.tainted[bytes as usize / REGISTER_BYTES % N_TAINTED];
        let [_, a, b, c] = places.bytes().map(is_tainted);
        a | b | c != 0
    }

    /// The undefined bits of a row of lanes.
    pub(crate) fn undefined_row(&self, register: u16, row: usize) -> Row {
        let is_tainted = self.is_tainted(register, row);
        if is_tainted { self.undefined[self.index(register, row)] } else { [0; ROW_LANES] }
    }

    /// The rows as cells: results may lie where sources do.
    #[inline]
    pub(crate) fn cells(&mut self) -> VectorRows<'_> {
        VectorRows {
            cells: Cell::from_mut(&mut self.values[..]).as_slice_of_cells().as_chunks().0,
            n_rows: self.n_rows,
            all_lanes: self.all_lanes,
        }
    }

    /// All rows, and how loops over them are compiled.
    #[inline]
    pub(crate) fn rows_mut(&mut self) -> (Width, &mut [AlignedRow]) {
        (self.width, &mut self.values)
    }

    /// Chooses how loops over rows are compiled.
    pub(crate) fn set_width(&mut self, width: Width) {
        self.width = width;
    }

    /// Says that lanes of a register were written with defined bits.
    #[inline]
    pub(crate) fn define(&mut self, register: u16, active: u64) {
        if self.tainted[place(register)] == 0 {
            return;
        }
        if active == self.all_lanes {
            self.tainted[place(register)] = 0;
        } else {
            self.define_lanes(register, active);
        }
    }

    /// Says that all lanes of a register were written with defined bits.
    #[inline]
    pub(crate) fn define_all(&mut self, register: u16) {
        self.tainted[place(register)] = 0;
    }

    #[cold]
    fn define_lanes(&mut self, register: u16, active: u64) {
        for row in 0..self.n_rows {
            let lanes = (active >> (row * ROW_LANES)) as u32;
            if lanes == u32::MAX {
                self.mark(register, row, false);
            } else if lanes != 0 && self.is_tainted(register, row) {
                self.set_undefined(register, row, lanes, u32::MAX, &[0; ROW_LANES]);
            }
        }
    }

    /// Writes the bits `mask` of the lanes of `lanes`, defined. [`VectorFile::taint_row`] says otherwise
    /// afterwards.
    #[inline]
    pub(crate) fn write_row(
        &mut self,
        register: u16,
        row: usize,
        lanes: u32,
        mask: u32,
        values: &Row,
    ) {
        let index = self.index(register, row);
        let old = &mut self.values[index].0;
        if lanes == u32::MAX && mask == u32::MAX {
            *old = *values;
            self.mark(register, row, false);
            return;
        }
        for (lane, (old, new)) in old.iter_mut().zip(values).enumerate() {
            let mask = if lanes >> lane & 1 == 1 { mask } else { 0 };
            *old = *old & !mask | new & mask;
        }
        if self.is_tainted(register, row) {
            self.set_undefined(register, row, lanes, mask, &[0; ROW_LANES]);
        }
    }

    /// Says which bits of what was just written are undefined.
    pub(crate) fn taint_row(
        &mut self,
        register: u16,
        row: usize,
        lanes: u32,
        mask: u32,
        undefined: &Row,
    ) {
        let index = self.index(register, row);
        if !self.is_tainted(register, row) {
            self.undefined[index] = [0; ROW_LANES];
        }
        self.set_undefined(register, row, lanes, mask, undefined);
    }

    fn set_undefined(&mut self, register: u16, row: usize, lanes: u32, mask: u32, undefined: &Row) {
        let index = self.index(register, row);
        let old = &mut self.undefined[index];
        for (lane, (old, new)) in old.iter_mut().zip(undefined).enumerate() {
            let mask = if lanes >> lane & 1 == 1 { mask } else { 0 };
            *old = *old & !mask | new & mask;
        }
        let is_tainted = old.iter().any(|bits| *bits != 0);
        self.mark(register, row, is_tainted);
    }

    fn mark(&mut self, register: u16, row: usize, is_tainted: bool) {
        let rows = &mut self.tainted[place(register)];
        *rows = *rows & !(1 << row) | u8::from(is_tainted) << row;
    }

    /// The value of one lane of the whole wave.
    #[inline]
    pub(crate) fn lane(&self, register: u16, lane: usize) -> u32 {
        self.row(register, lane / ROW_LANES)[lane % ROW_LANES]
    }

    /// Value and undefined bits of one lane of the whole wave.
    pub(crate) fn lane_bits(&self, register: u16, lane: usize) -> Bits {
        let (row, at) = (lane / ROW_LANES, lane % ROW_LANES);
        let index = self.index(register, row);
        let is_tainted = self.is_tainted(register, row);
        let undefined = if is_tainted { self.undefined[index][at] } else { 0 };
        Bits { value: self.values[index].0[at].into(), undefined: undefined.into() }
    }

    /// Writes the bits `mask` of one lane of the whole wave.
    #[inline]
    pub(crate) fn write_lane(
        &mut self,
        register: u16,
        lane: usize,
        mask: u32,
        value: u32,
        undefined: u32,
    ) {
        let (row, at) = (lane / ROW_LANES, lane % ROW_LANES);
        let index = self.index(register, row);
        let old = &mut self.values[index].0[at];
        *old = *old & !mask | value & mask;
        let is_tainted = self.is_tainted(register, row);
        if !is_tainted && undefined & mask == 0 {
            return;
        }
        if !is_tainted {
            self.undefined[index] = [0; ROW_LANES];
        }
        let old = &mut self.undefined[index][at];
        *old = *old & !mask | undefined & mask;
        let is_tainted = self.undefined[index].iter().any(|bits| *bits != 0);
        self.mark(register, row, is_tainted);
    }
}
