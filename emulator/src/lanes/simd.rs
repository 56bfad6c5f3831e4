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
use super::places::{
    Choice, Lanes, Signs, arithmetic_row, put_canonical, put_canonical_pair, put_everything,
};
use crate::float::{fma_to_odd, is_nan32};
use crate::prepare::Prepared;
use crate::wave::{ROW_LANES, Row, VectorFile};

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

/// The integer part of a number; outside the integers the nearest of them, zero of NaN. Unlike a cast, it becomes
/// vector code.
#[inline(always)]
pub(crate) fn truncate(value: f32) -> i32 {
    const LIMIT: f32 = (1_u32 << 31) as f32;
    if value >= LIMIT {
        i32::MAX
    } else if value >= -LIMIT {
        // SAFETY: between the limits, NaN excluded by the comparison.
        unsafe { value.to_int_unchecked() }
    } else if value.is_nan() {
        0
    } else {
        i32::MIN
    }
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
    ($vectors:ident, $inst:ident, $active:ident, |$row:ident, $a:ident, $b:ident, $c:ident, $out:ident| $compute:block) => {
        let lanes = Lanes::spread_of($vectors, $inst, $active);
        for $row in 0..lanes.n_rows {
            let [$a, $b, $c] = lanes.sources($vectors, $row);
            let mut $out = ZERO;
            $compute
            lanes.put($vectors, $row, &$out);
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
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        for (at, out) in out.iter_mut().enumerate() {
            *out = f(a[at], b[at], c[at]);
        }
    });
}

both_widths!(
    /// A function of 32-bit sources without signs.
    map, map_wide, map_lanes,
    <F: Fn(u32, u32, u32) -> u32>(vectors: &mut VectorFile, inst: &Prepared, active: u64, f: F)
);

#[inline(always)]
fn map_numbered_lanes<F: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) {
    each_row!(vectors, inst, active, |row, a, b, _c, out| {
        let first = (row * ROW_LANES) as u32;
        for (at, out) in out.iter_mut().enumerate() {
            *out = f(first + at as u32, a[at], b[at]);
        }
    });
}

both_widths!(
    /// A function of the number of the lane and two 32-bit sources without signs.
    map_numbered, map_numbered_wide, map_numbered_lanes,
    <F: Fn(u32, u32, u32) -> u32>(vectors: &mut VectorFile, inst: &Prepared, active: u64, f: F)
);

#[inline(always)]
fn map_signed_lanes<F: Fn(u32, u32, u32) -> u32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) {
    if !inst.has_signs {
        return map_lanes(fused, vectors, inst, active, f);
    }
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
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
fn arithmetic_rows<const SIGNED: bool, F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) {
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        if arithmetic_row::<SIGNED>(fused, &signs, [&a, &b, &c], &mut out, &f) {
            put_canonical(vectors, inst, active, row, &f);
            continue;
        }
    });
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
        arithmetic_rows::<true, F>(fused, vectors, inst, active, f);
    } else {
        arithmetic_rows::<false, F>(fused, vectors, inst, active, f);
    }
}

both_widths!(
    /// A binary32 operation of the host on sources with signs. A NaN result becomes the one that the
    /// sources, in their order, call for.
    arithmetic, arithmetic_wide, arithmetic_lanes,
    <F: Fn(Fused, f32, f32, f32) -> f32>(vectors: &mut VectorFile, inst: &Prepared, active: u64, f: F)
);

#[inline(always)]
fn pairs_lanes<F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    words: [Choice; 2],
    f: F,
) {
    let lanes = Lanes::spread_of(vectors, inst, active);
    if inst.places.spread != 0 {
        lanes.spread_high(vectors);
    }
    let [low, high] = words.map(Choice::signs);
    for row in 0..lanes.n_rows {
        let (mut low_out, mut high_out) = (ZERO, ZERO);
        let [a, b, c] = lanes.words(vectors, row, words[0].high);
        let mut has_nans = arithmetic_row::<true>(fused, &low, [&a, &b, &c], &mut low_out, &f);
        let [a, b, c] = lanes.words(vectors, row, words[1].high);
        has_nans |= arithmetic_row::<true>(fused, &high, [&a, &b, &c], &mut high_out, &f);
        if has_nans {
            put_canonical_pair(vectors, inst, active, row, words, &f);
            continue;
        }
        lanes.put_word(vectors, 0, row, &low_out);
        lanes.put_word(vectors, 1, row, &high_out);
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
    of_everything: G,
) {
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        let mut nans = 0;
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
            *out = of_numbers(a, b, c);
            nans |= u32::from(is_nan32(a)) | u32::from(is_nan32(b)) | u32::from(is_nan32(c));
        }
        if nans != 0 {
            put_everything(vectors, inst, active, row, &of_everything);
            continue;
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
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        let bits = (mask >> (row * ROW_LANES)) as u32;
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, _] = signs.apply([a[at], b[at], c[at]]);
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
fn test_lanes<F: Fn(u32, u32, u32) -> bool>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) -> u64 {
    let signs = Signs::of(inst);
    let lanes = Lanes::spread_of(vectors, inst, 0);
    let mut result = 0;
    for row in 0..lanes.n_rows {
        let [a, b, c] = lanes.sources(vectors, row);
        let mut holds = ZERO;
        for (at, holds) in holds.iter_mut().enumerate() {
            let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
            *holds = if f(a, b, c) { u32::MAX } else { 0 };
        }
        result |= u64::from(gather(fused, &holds)) << (row * ROW_LANES);
    }
    result
}

both_widths!(
    /// One bit a lane from sources with signs; lanes that are not active count too.
    test, test_wide, test_lanes,
    <F: Fn(u32, u32, u32) -> bool>(vectors: &mut VectorFile, inst: &Prepared, f: F) -> u64
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
