//! Loops over rows of lanes, as wide as the host's vectors.
//!
//! Every loop is compiled twice: for any host, and for x86-64 hosts that turn out to have AVX2 and FMA.
//! Both give the same bits. Integer and single float operations are exact either way; a fused
//! multiply-add is one instruction in the one and [`fma_to_odd`](crate::float::fma_to_odd) in the other.

#![expect(
    unsafe_code,
    reason = "calling a function compiled for features that the host was found to have"
)]

use super::ZERO;
use crate::float::{SIGN32, canonical, fma_to_odd, is_nan32};
use crate::prepare::{Places, Prepared};
use crate::wave::{HIGH_SPREAD, ROW_LANES, Row, VectorFile};

/// How wide the host's vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    /// The host has AVX2 and FMA. Only [`Width::detect`] says so.
    is_wide: bool,
}

impl Width {
    /// Vectors that any host has.
    pub(crate) const PLAIN: Width = Width { is_wide: false };

    /// What this host has.
    pub(crate) fn detect() -> Width {
        #[cfg(target_arch = "x86_64")]
        let is_wide = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        #[cfg(not(target_arch = "x86_64"))]
        let is_wide = false;
        Width { is_wide }
    }
}

/// What a fused multiply-add is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fused {
    /// The host's instruction.
    Instruction,
    /// binary64 arithmetic.
    Software,
}

impl Fused {
    /// `a · b + c`, rounded once; which NaN comes out is open.
    #[inline(always)]
    pub(crate) fn multiply_add(self, a: f32, b: f32, c: f32) -> f32 {
        match self {
            Fused::Instruction => a.mul_add(b, c),
            Fused::Software => fma_to_odd(a.into(), b.into(), c.into()) as f32,
        }
    }
}

/// The signs that NEG and ABS give the first three sources as binary32.
#[derive(Clone, Copy)]
struct Signs {
    keep: [u32; 3],
    flip: [u32; 3],
}

impl Signs {
    #[inline(always)]
    fn of(inst: &Prepared) -> Signs {
        let sign = |is_set: bool| if is_set { SIGN32 } else { 0 };
        Signs {
            keep: std::array::from_fn(|k| !sign(inst.abs[k])),
            flip: std::array::from_fn(|k| sign(inst.neg[k])),
        }
    }

    #[inline(always)]
    fn apply(&self, bits: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|k| bits[k] & self.keep[k] ^ self.flip[k])
    }
}

/// The rows of lanes that an instruction works on.
#[derive(Clone, Copy)]
struct Lanes {
    places: Places,
    n_rows: usize,
    /// Active lanes of the wave.
    active: u64,
}

impl Lanes {
    #[inline(always)]
    fn of(vectors: &mut VectorFile, inst: &Prepared, active: u64) -> Lanes {
        let lanes = Lanes { places: inst.places, n_rows: vectors.rows_per_register(), active };
        if inst.places.spread != 0 {
            lanes.spread(vectors);
        }
        lanes
    }

    #[inline(always)]
    fn spread(&self, vectors: &mut VectorFile) {
        let values = vectors.uniforms;
        for (k, value) in values.into_iter().enumerate() {
            if self.places.spread >> k & 1 == 1 {
                *vectors.row_mut(self.places.sources[k], 0) = [value as u32; ROW_LANES];
            }
        }
    }

    /// Spreads the high words of wide sources.
    #[inline(always)]
    fn spread_high(&self, vectors: &mut VectorFile) {
        let values = vectors.uniforms;
        for (k, value) in values.into_iter().enumerate() {
            if self.places.spread >> k & 1 == 1 {
                *vectors.row_mut(self.high(k), 0) = [(value >> 32) as u32; ROW_LANES];
            }
        }
    }

    /// The register of the high word of a source.
    #[inline(always)]
    fn high(&self, k: usize) -> u16 {
        let is_set = |bits: u8| bits >> k & 1 == 1;
        let distance = match (is_set(self.places.spread), is_set(self.places.uniform)) {
            (true, _) => HIGH_SPREAD,
            (false, true) => 0,
            (false, false) => 1,
        };
        self.places.sources[k] + distance
    }

    #[inline(always)]
    fn sources<'f>(&self, vectors: &'f VectorFile, row: usize) -> [&'f Row; 3] {
        std::array::from_fn(|k| {
            let is_uniform = self.places.uniform >> k & 1 == 1;
            vectors.row(self.places.sources[k], if is_uniform { 0 } else { row })
        })
    }

    /// As [`Lanes::sources`], the high words of those whose bit is set.
    #[inline(always)]
    fn words<'f>(&self, vectors: &'f VectorFile, row: usize, high: u8) -> [&'f Row; 3] {
        std::array::from_fn(|k| {
            let is_uniform = self.places.uniform >> k & 1 == 1;
            let register = if high >> k & 1 == 1 { self.high(k) } else { self.places.sources[k] };
            vectors.row(register, if is_uniform { 0 } else { row })
        })
    }

    #[inline(always)]
    fn put(&self, vectors: &mut VectorFile, row: usize, out: &Row) {
        self.put_word(vectors, 0, row, out);
    }

    #[inline(always)]
    fn put_word(&self, vectors: &mut VectorFile, word: u16, row: usize, out: &Row) {
        let lanes = (self.active >> (row * ROW_LANES)) as u32;
        let result = vectors.row_mut(self.places.result + word, row);
        if lanes == u32::MAX {
            *result = *out;
            return;
        }
        for lane in 0..ROW_LANES {
            result[lane] = if lanes >> lane & 1 == 1 { out[lane] } else { result[lane] };
        }
    }
}

#[inline(always)]
fn lane(rows: [&Row; 3], lane: usize) -> [u32; 3] {
    rows.map(|row| row[lane])
}

/// Compiles a loop for both widths: a function that takes the width first.
macro_rules! both_widths {
    ($(#[$doc:meta])* $name:ident, $wide:ident, $lanes:ident,
     <$($f:ident: $bound:path),+>($($arg:ident: $ty:ty),+) $(-> $out:ty)?) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $wide<$($f: $bound),+>($($arg: $ty),+) $(-> $out)? {
            $lanes(Fused::Instruction, $($arg),+)
        }

        $(#[$doc])*
        pub(crate) fn $name<$($f: $bound),+>(width: Width, $($arg: $ty),+) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            if width.is_wide {
                // SAFETY: a width is only wide where `Width::detect` has seen both features.
                return unsafe { $wide($($arg),+) };
            }
            let _ = width;
            $lanes(Fused::Software, $($arg),+)
        }
    };
}

/// The integer part of a number between −2^30 and 2^30; what is outside counts as the nearer of these.
#[inline(always)]
pub(crate) fn cut(value: f32) -> i32 {
    const LIMIT: f32 = (1 << 30) as f32;
    let low = if value > -LIMIT { value } else { -LIMIT };
    let inside = if low < LIMIT { low } else { LIMIT };
    // SAFETY: between the limits, NaN excluded by the first comparison.
    unsafe { inside.to_int_unchecked() }
}

/// A computation whose loops are compiled for both widths; it must be inlined into [`run`].
pub(crate) trait Loops {
    /// What it gives.
    type Output;
    /// Runs it with this fused multiply-add.
    fn run(self, fused: Fused) -> Self::Output;
}

#[inline(always)]
fn run_loops<L: Loops>(fused: Fused, loops: L) -> L::Output {
    loops.run(fused)
}

both_widths!(
    /// A computation of its own loops.
    run, run_wide, run_loops,
    <L: Loops>(loops: L) -> L::Output
);

/// Every row: all lanes of the sources through `compute`, then the active ones written, as defined.
macro_rules! each_row {
    ($vectors:ident, $inst:ident, $active:ident, |$sources:ident, $out:ident| $compute:block) => {
        let lanes = Lanes::of($vectors, $inst, $active);
        for row in 0..lanes.n_rows {
            let $sources = lanes.sources($vectors, row);
            let mut $out = ZERO;
            $compute
            lanes.put($vectors, row, &$out);
        }
        $vectors.define(lanes.places.result, $active);
    };
}

#[inline(always)]
fn map_lanes<F: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) {
    each_row!(vectors, inst, active, |sources, out| {
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = lane(sources, at);
            *out = f(a, b, c);
        }
    });
}

both_widths!(
    /// A function of 32-bit sources without signs.
    map, map_wide, map_lanes,
    <F: Fn(u32, u32, u32) -> u32>(vectors: &mut VectorFile, inst: &Prepared, active: u64, f: F)
);

#[inline(always)]
fn map_signed_lanes<F: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) {
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |sources, out| {
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply(lane(sources, at));
            *out = f(a, b, c);
        }
    });
}

both_widths!(
    /// A function of 32-bit sources with NEG and ABS as on binary32.
    map_signed, map_signed_wide, map_signed_lanes,
    <F: Fn(u32, u32, u32) -> u32>(vectors: &mut VectorFile, inst: &Prepared, active: u64, f: F)
);

#[inline(always)]
fn arithmetic_rows<const SIGNED: bool>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) {
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |sources, out| {
        arithmetic_row::<SIGNED>(fused, &signs, sources, &mut out, &f);
    });
}

#[inline(always)]
fn arithmetic_row<const SIGNED: bool>(
    fused: Fused,
    signs: &Signs,
    sources: [&Row; 3],
    out: &mut Row,
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) {
    let mut nans = 0;
    for (at, out) in out.iter_mut().enumerate() {
        let bits = lane(sources, at);
        let bits = if SIGNED { signs.apply(bits) } else { bits };
        let [a, b, c] = bits.map(f32::from_bits);
        let result = f(fused, a, b, c);
        *out = result.to_bits();
        nans |= u32::from(result.is_nan());
    }
    if nans != 0 {
        choose_nans(signs, sources, out);
    }
}

/// Makes NaN results the ones that the sources call for.
#[cold]
#[inline(never)]
fn choose_nans(signs: &Signs, sources: [&Row; 3], out: &mut Row) {
    for (at, out) in out.iter_mut().enumerate() {
        *out = canonical(f32::from_bits(*out), signs.apply(lane(sources, at)));
    }
}

#[inline(always)]
fn arithmetic_lanes<F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) {
    if inst.has_signs {
        arithmetic_rows::<true>(fused, vectors, inst, active, f);
    } else {
        arithmetic_rows::<false>(fused, vectors, inst, active, f);
    }
}

both_widths!(
    /// A binary32 operation of the host on sources with signs. A NaN result becomes the one that the
    /// sources, in their order, call for.
    arithmetic, arithmetic_wide, arithmetic_lanes,
    <F: Fn(Fused, f32, f32, f32) -> f32>(vectors: &mut VectorFile, inst: &Prepared, active: u64, f: F)
);

/// Which sources of a word of a result take their high word, and which are negated, one bit a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub high: u8,
    pub neg: u8,
}

#[inline(always)]
fn pairs_lanes<F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    words: [Choice; 2],
    f: F,
) {
    let lanes = Lanes::of(vectors, inst, active);
    if inst.places.spread != 0 {
        lanes.spread_high(vectors);
    }
    let signs = words.map(|choice| Signs {
        keep: [u32::MAX; 3],
        flip: std::array::from_fn(|k| u32::from(choice.neg >> k & 1) << 31),
    });
    for row in 0..lanes.n_rows {
        let mut out = [ZERO; 2];
        for word in 0..2 {
            let sources = lanes.words(vectors, row, words[word].high);
            arithmetic_row::<true>(fused, &signs[word], sources, &mut out[word], &f);
        }
        lanes.put_word(vectors, 0, row, &out[0]);
        lanes.put_word(vectors, 1, row, &out[1]);
    }
    vectors.define(lanes.places.result, active);
    vectors.define(lanes.places.result + 1, active);
}

both_widths!(
    /// A binary32 operation of the host for each word of a packed result.
    pairs, pairs_wide, pairs_lanes,
    <F: Fn(Fused, f32, f32, f32) -> f32>
    (vectors: &mut VectorFile, inst: &Prepared, active: u64, words: [Choice; 2], f: F)
);

#[inline(always)]
fn numbers_lanes<F: Fn(u32, u32, u32) -> u32, G: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    of_numbers: F,
    of_nans: G,
) {
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |sources, out| {
        let mut nans = 0;
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply(lane(sources, at));
            *out = of_numbers(a, b, c);
            nans |= u32::from(is_nan32(a)) | u32::from(is_nan32(b)) | u32::from(is_nan32(c));
        }
        if nans != 0 {
            for (at, out) in out.iter_mut().enumerate() {
                let [a, b, c] = signs.apply(lane(sources, at));
                *out = of_nans(a, b, c);
            }
        }
    });
}

both_widths!(
    /// A function of binary32 sources with signs, given twice: for numbers, and for everything.
    numbers, numbers_wide, numbers_lanes,
    <F: Fn(u32, u32, u32) -> u32, G: Fn(u32, u32, u32) -> u32>
    (vectors: &mut VectorFile, inst: &Prepared, active: u64, of_numbers: F, of_everything: G)
);

#[inline(always)]
fn select_lanes<F: Fn(u32, u32, bool) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    mask: u64,
    f: F,
) {
    let signs = Signs::of(inst);
    let mut masks = mask;
    each_row!(vectors, inst, active, |sources, out| {
        let bits = masks as u32;
        masks >>= ROW_LANES;
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, _] = signs.apply(lane(sources, at));
            *out = f(a, b, bits & 1 << at != 0);
        }
    });
}

both_widths!(
    /// A function of two sources with signs and of a bit a lane.
    select, select_wide, select_lanes,
    <F: Fn(u32, u32, bool) -> u32>
    (vectors: &mut VectorFile, inst: &Prepared, active: u64, mask: u64, f: F)
);

#[inline(always)]
fn test_lanes<F: Fn(u32, u32) -> bool>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) -> u64 {
    let signs = Signs::of(inst);
    let lanes = Lanes::of(vectors, inst, 0);
    let mut result = 0;
    for row in 0..lanes.n_rows {
        let sources = lanes.sources(vectors, row);
        let mut holds = ZERO;
        for (at, holds) in holds.iter_mut().enumerate() {
            let [a, b, _] = signs.apply(lane(sources, at));
            *holds = if f(a, b) { u32::MAX } else { 0 };
        }
        result |= u64::from(gather(fused, &holds)) << (row * ROW_LANES);
    }
    result
}

both_widths!(
    /// One bit a lane from two sources with signs; lanes that are not active count too.
    test, test_wide, test_lanes,
    <F: Fn(u32, u32) -> bool>(vectors: &mut VectorFile, inst: &Prepared, f: F) -> u64
);

/// The highest bit of each lane.
#[inline(always)]
fn gather(fused: Fused, row: &Row) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if fused == Fused::Instruction {
        use std::arch::x86_64::{_mm256_castsi256_ps, _mm256_loadu_si256, _mm256_movemask_ps};
        return row.as_chunks::<8>().0.iter().rev().fold(0, |bits, lanes| {
            // SAFETY: only loops compiled for AVX2 and FMA have this fused multiply-add; 32 bytes are read.
            let high = unsafe {
                _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_loadu_si256(lanes.as_ptr().cast())))
            };
            bits << 8 | high.cast_unsigned()
        });
    }
    let _ = fused;
    row.iter().rev().fold(0, |bits, lane| bits << 1 | lane >> 31)
}
