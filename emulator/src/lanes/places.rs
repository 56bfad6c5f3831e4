//! Where the operands of an instruction lie, row by row, and what becomes of a row of results.

use super::Fused;
use crate::float::{SIGN32, canonical, is_nan32};
use crate::prepare::{Places, Prepared};
use crate::wave::{HIGH_SPREAD, ROW_LANES, Row, VectorFile};

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
}

/// The rows of lanes that an instruction works on.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub places: Places,
    pub n_rows: usize,
    /// Active lanes of the wave.
    active: u64,
}

impl Lanes {
    #[inline(always)]
    pub(super) fn of(vectors: &VectorFile, inst: &Prepared, active: u64) -> Lanes {
        Lanes { places: inst.places, n_rows: vectors.rows_per_register(), active }
    }

    #[inline(always)]
    pub(super) fn spread_of(vectors: &mut VectorFile, inst: &Prepared, active: u64) -> Lanes {
        let lanes = Lanes::of(vectors, inst, active);
        if inst.places.spread != 0 {
            lanes.spread(vectors);
        }
        lanes
    }

    #[inline(always)]
    pub(super) fn spread(&self, vectors: &mut VectorFile) {
        let values = vectors.uniforms;
        for (k, value) in values.into_iter().enumerate() {
            if self.places.spread >> k & 1 == 1 {
                *vectors.row_mut(self.places.sources[k], 0) = [value as u32; ROW_LANES];
            }
        }
    }

    /// Spreads the high words of wide sources.
    #[inline(always)]
    pub(super) fn spread_high(&self, vectors: &mut VectorFile) {
        let values = vectors.uniforms;
        for (k, value) in values.into_iter().enumerate() {
            if self.places.spread >> k & 1 == 1 {
                *vectors.row_mut(self.high(k), 0) = [(value >> 32) as u32; ROW_LANES];
            }
        }
    }

    /// The register of the high word of a source.
    #[inline(always)]
    pub(super) fn high(&self, k: usize) -> u16 {
        let is_set = |bits: u8| bits >> k & 1 == 1;
        let distance = match (is_set(self.places.spread), is_set(self.places.uniform)) {
            (true, _) => HIGH_SPREAD,
            (false, true) => 0,
            (false, false) => 1,
        };
        self.places.sources[k] + distance
    }

    /// Copies of the rows of the sources: a loop over copies needs no look at whether they overlap its results.
    #[inline(always)]
    pub(super) fn sources(&self, vectors: &VectorFile, row: usize) -> [Row; 3] {
        self.words(vectors, row, 0)
    }

    /// As [`Lanes::sources`], the high words of those whose bit is set.
    #[inline(always)]
    pub(super) fn words(&self, vectors: &VectorFile, row: usize, high: u8) -> [Row; 3] {
        let word = |k: usize| {
            let is_uniform = self.places.uniform >> k & 1 == 1;
            let register = if high >> k & 1 == 1 { self.high(k) } else { self.places.sources[k] };
            vectors.row(register, if is_uniform { 0 } else { row })
        };
        // Written out, the copies stay in registers.
        [*word(0), *word(1), *word(2)]
    }

    #[inline(always)]
    pub(super) fn put(&self, vectors: &mut VectorFile, row: usize, out: &Row) {
        self.put_word(vectors, 0, row, out);
    }

    #[inline(always)]
    pub(super) fn put_word(&self, vectors: &mut VectorFile, word: u16, row: usize, out: &Row) {
        let lanes = (self.active >> (row * ROW_LANES)) as u32;
        let result = vectors.row_mut(self.places.result + word, row);
        if lanes == u32::MAX {
            *result = *out;
            return;
        }
        for lane in 0..ROW_LANES {
            let mask = ((lanes << (31 - lane)).cast_signed() >> 31).cast_unsigned();
            result[lane] = result[lane] & !mask | out[lane] & mask;
        }
    }
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
pub(super) fn arithmetic_row<const SIGNED: bool>(
    fused: Fused,
    signs: &Signs,
    [a, b, c]: [&Row; 3],
    out: &mut Row,
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) -> bool {
    let mut nans = 0;
    for (at, out) in out.iter_mut().enumerate() {
        let bits = [a[at], b[at], c[at]];
        let bits = if SIGNED { signs.apply(bits) } else { bits };
        let [a, b, c] = bits.map(f32::from_bits);
        *out = f(fused, a, b, c).to_bits();
        nans |= u32::from(is_nan32(*out));
    }
    nans != 0
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

/// Works a row with NaNs out again, so that the usual rows need not be kept for it.
#[cold]
#[inline(never)]
pub(super) fn put_canonical(
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    row: usize,
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) {
    let lanes = Lanes::of(vectors, inst, active);
    let [a, b, c] = lanes.sources(vectors, row);
    let out = canonical_row(&Signs::of(inst), [&a, &b, &c], f);
    lanes.put(vectors, row, &out);
}

/// As [`put_canonical`], both words.
#[cold]
#[inline(never)]
pub(super) fn put_canonical_pair(
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    row: usize,
    words: [Choice; 2],
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) {
    let lanes = Lanes::of(vectors, inst, active);
    let out = words.map(|choice| {
        let [a, b, c] = lanes.words(vectors, row, choice.high);
        canonical_row(&choice.signs(), [&a, &b, &c], &f)
    });
    lanes.put_word(vectors, 0, row, &out[0]);
    lanes.put_word(vectors, 1, row, &out[1]);
}

/// Works a row with NaNs out again.
#[cold]
#[inline(never)]
pub(super) fn put_everything(
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    row: usize,
    of_everything: impl Fn(u32, u32, u32) -> u32,
) {
    let (lanes, signs) = (Lanes::of(vectors, inst, active), Signs::of(inst));
    let [a, b, c] = lanes.sources(vectors, row);
    let out = std::array::from_fn(|at| {
        let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
        of_everything(a, b, c)
    });
    lanes.put(vectors, row, &out);
}
