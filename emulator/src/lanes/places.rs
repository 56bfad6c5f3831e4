//! Where the operands of an instruction lie, row by row, and what becomes of a row of results.

use std::cell::Cell;

use super::simd::{Fused, rows_of};
use crate::float::{SIGN32, canonical};
use crate::prepare::{Places, Prepared};
use crate::wave::{AlignedRow, ROW_LANES, ROWS, Row, VectorFile, VectorRows};

/// Of sources with signs, one bit each: any of them, and only the third.
pub(super) const ALL_SIGNED: u8 = 0b111;
pub(super) const LAST_SIGNED: u8 = 0b100;

/// The signs that NEG and ABS give the first three sources as binary32.
#[derive(Clone, Copy)]
pub(super) struct Signs {
    keep: [u32; 3],
    flip: [u32; 3],
}

impl Signs {
    #[inline(always)]
    pub(super) fn of(inst: &Prepared) -> Signs {
        let sign = |bit: usize| u32::from(inst.places.signs >> bit & 1) * SIGN32;
        Signs { keep: [!sign(0), !sign(1), !sign(2)], flip: [sign(4), sign(5), sign(6)] }
    }

    #[inline(always)]
    pub(super) fn apply(&self, bits: [u32; 3]) -> [u32; 3] {
        let [a, b, c] = bits;
        let ([x, y, z], [l, m, n]) = (self.keep, self.flip);
        [a & x ^ l, b & y ^ m, c & z ^ n]
    }

    /// Of a row of the first source.
    #[inline(always)]
    pub(super) fn apply_to_row(&self, mut row: Row) -> Row {
        for bits in &mut row {
            *bits = *bits & self.keep[0] ^ self.flip[0];
        }
        row
    }

    /// Of the sources that `SIGNED` names; the other ones have none.
    #[inline(always)]
    pub(super) fn apply_to<const SIGNED: u8>(&self, bits: [u32; 3]) -> [u32; 3] {
        let signed = self.apply(bits);
        let choose = |k: usize| if SIGNED >> k & 1 == 1 { signed[k] } else { bits[k] };
        [choose(0), choose(1), choose(2)]
    }
}

/// The rows of an instruction that works on all lanes.
pub(super) struct FullLanes<'f> {
    result: &'f [Cell<AlignedRow>; ROWS],
    sources: [&'f [Cell<AlignedRow>; ROWS]; 3],
    pub n_rows: usize,
}

impl<'f> FullLanes<'f> {
    #[inline(always)]
    pub(super) fn of(vectors: &'f VectorRows<'_>, places: &Places) -> FullLanes<'f> {
        let [result, a, b, c] = rows_of(vectors.all(), places);
        FullLanes { result, sources: [a, b, c], n_rows: vectors.n_rows }
    }

    /// Copies of the rows of the sources: a loop over copies needs no look at whether they overlap its results.
    #[inline(always)]
    pub(super) fn sources(&self, row: usize) -> [Row; 3] {
        let copy = |k: usize| self.sources[k][row % ROWS].get().0;
        // Written out, the copies stay in registers.
        [copy(0), copy(1), copy(2)]
    }

    #[inline(always)]
    pub(super) fn put(&self, row: usize, out: Row) {
        self.result[row % ROWS].set(AlignedRow(out));
    }
}

/// The rows of lanes that an instruction works on.
pub(super) struct Lanes<'f> {
    sources: [&'f [Cell<AlignedRow>; ROWS]; 3],
    result: &'f [Cell<AlignedRow>; ROWS],
    pub n_rows: usize,
    /// Active lanes of the wave.
    active: u64,
    /// All lanes are active.
    is_full: bool,
}

impl<'f> Lanes<'f> {
    /// Of a word of the result and the words of the sources, high ones where their bit is set.
    #[inline(always)]
    pub(super) fn of_words(
        vectors: &'f VectorRows<'_>,
        places: &Places,
        active: u64,
        word: u16,
        high: u8,
    ) -> Lanes<'f> {
        let source = |k: usize| {
            let is_high = high >> k & 1 == 1;
            vectors.rows(places.source(k, is_high))
        };
        let result = vectors.rows(places.result + word);
        let sources = [source(0), source(1), source(2)];
        let is_full = active & vectors.all_lanes == vectors.all_lanes;
        Lanes { sources, result, n_rows: vectors.n_rows, active, is_full }
    }

    #[inline(always)]
    pub(super) fn of(vectors: &'f VectorRows<'_>, places: &Places, active: u64) -> Lanes<'f> {
        Lanes::of_words(vectors, places, active, 0, 0)
    }

    /// Copies of the rows of the sources: a loop over copies needs no look at whether they overlap its results.
    #[inline(always)]
    pub(super) fn sources(&self, row: usize) -> [Row; 3] {
        let copy = |k: usize| self.sources[k][row % ROWS].get().0;
        // Written out, the copies stay in registers.
        [copy(0), copy(1), copy(2)]
    }

    #[inline(always)]
    pub(super) fn put(&self, row: usize, out: &Row) {
        let result = &self.result[row % ROWS];
        if self.is_full {
            result.set(AlignedRow(*out));
            return;
        }
        // A copy: what is handed over by reference cannot stay in registers.
        let out = *out;
        put_some(result, (self.active >> (row * ROW_LANES)) as u32, &out);
    }
}

/// Writes some lanes of a row.
#[inline(never)]
fn put_some(result: &Cell<AlignedRow>, lanes: u32, out: &Row) {
    let mut merged = result.get();
    for (lane, (merged, out)) in merged.0.iter_mut().zip(out).enumerate() {
        let mask = ((lanes << (31 - lane)).cast_signed() >> 31).cast_unsigned();
        *merged = *merged & !mask | out & mask;
    }
    result.set(merged);
}

/// Which sources of a word of a result take their high word, and which are negated, one bit a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub high: u8,
    pub neg: u8,
}

impl Choice {
    #[inline(always)]
    pub(super) fn signs(self) -> Signs {
        let flip = std::array::from_fn(|k| u32::from(self.neg >> k & 1) << 31);
        Signs { keep: [u32::MAX; 3], flip }
    }
}

/// A row of results, and whether one of them is NaN.
#[inline(always)]
pub(super) fn arithmetic_row<const SIGNED: u8>(
    fused: Fused,
    signs: &Signs,
    [a, b, c]: [&Row; 3],
    out: &mut Row,
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) -> bool {
    let mut has_nans = false;
    for (at, out) in out.iter_mut().enumerate() {
        let bits = signs.apply_to::<SIGNED>([a[at], b[at], c[at]]);
        let [a, b, c] = bits.map(f32::from_bits);
        let result = f(fused, a, b, c);
        has_nans |= result.is_nan();
        *out = result.to_bits();
    }
    has_nans
}

/// A row of results, NaNs the ones that the sources call for.
#[inline(always)]
pub(super) fn canonical_row(
    signs: &Signs,
    [a, b, c]: [&Row; 3],
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) -> Row {
    std::array::from_fn(|at| {
        let bits = signs.apply([a[at], b[at], c[at]]);
        let [a, b, c] = bits.map(f32::from_bits);
        canonical(f(Fused::Software, a, b, c), bits)
    })
}

/// Works rows with NaNs out again, one bit a row, so that the usual rows need not be kept for it.
#[cold]
#[inline(never)]
pub(super) fn put_canonical(
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    rows: u32,
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) {
    let vectors = vectors.cells();
    let (lanes, signs) = (Lanes::of(&vectors, &inst.places, active), Signs::of(inst));
    for row in set_bits(rows) {
        let [a, b, c] = lanes.sources(row);
        lanes.put(row, &canonical_row(&signs, [&a, &b, &c], &f));
    }
}

/// As [`put_canonical`], both words.
#[cold]
#[inline(never)]
pub(super) fn put_canonical_pair(
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    rows: u32,
    words: [Choice; 2],
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) {
    let vectors = vectors.cells();
    let word = |k: u16| {
        let high = words[usize::from(k)].high;
        Lanes::of_words(&vectors, &inst.places, active, k, high)
    };
    let lanes = [word(0), word(1)];
    for row in set_bits(rows) {
        let out = [0, 1].map(|k| {
            let [a, b, c] = lanes[k].sources(row);
            canonical_row(&words[k].signs(), [&a, &b, &c], &f)
        });
        lanes[0].put(row, &out[0]);
        lanes[1].put(row, &out[1]);
    }
}

/// Works rows with NaNs out again, one bit a row.
#[cold]
#[inline(never)]
pub(super) fn put_everything(
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    rows: u32,
    of_everything: impl Fn(u32, u32, u32) -> u32,
) {
    let vectors = vectors.cells();
    let (lanes, signs) = (Lanes::of(&vectors, &inst.places, active), Signs::of(inst));
    for row in set_bits(rows) {
        let [a, b, c] = lanes.sources(row);
        let out = std::array::from_fn(|at| {
            let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
            of_everything(a, b, c)
        });
        lanes.put(row, &out);
    }
}

fn set_bits(rows: u32) -> impl Iterator<Item = usize> {
    (0..2).filter(move |row| rows >> row & 1 == 1)
}
