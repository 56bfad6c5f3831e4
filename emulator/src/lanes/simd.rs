//! Vector code as wide as the host's vectors.
//!
//! Every loop (of `loops`, and each [`Loops`]) is compiled twice: for any host, and for x86-64 hosts that turn out to
//! have AVX2, FMA and F16C. Both give the same bits. Integer and single float operations are exact either way; a fused
//! multiply-add is one instruction in the one and [`fma_to_odd`](crate::float::fma_to_odd) in the other.

#![expect(
    unsafe_code,
    reason = "calling a function compiled for features that the host was found to have"
)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256;

use std::cell::Cell;

use super::full::{
    arithmetic_rows, map_numbered_rows, map_row_rows, map_rows, map_signed_rows, numbers_rows,
    pairs_rows, select_rows, test_rows,
};
use super::loops::{
    arithmetic_lanes, map_lanes, map_numbered_lanes, map_row_lanes, map_signed_lanes,
    numbers_lanes, pairs_lanes, select_lanes,
};
use super::places::Choice;
use crate::exec::Outcome;
use crate::float::fma_to_odd;
use crate::prepare::{Places, Prepared};
use crate::wave::{AlignedRow, ROW_LANES, ROWS, Row, VectorFile};

/// How wide the host's vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    /// The host has AVX2, FMA and F16C. Only [`Width::detect`] says so.
    is_wide: bool,
}

impl Width {
    /// Vectors that any host has.
    pub(crate) const PLAIN: Width = Width { is_wide: false };

    /// What this host has.
    pub(crate) fn detect() -> Width {
        #[cfg(target_arch = "x86_64")]
        let is_wide = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        #[cfg(not(target_arch = "x86_64"))]
        let is_wide = false;
        Width { is_wide }
    }
}

/// Proof that the host has what wide vectors need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wide(());

impl Width {
    /// Wide vectors, where the host has them and they are wanted.
    #[inline(always)]
    pub(crate) fn wide(self) -> Option<Wide> {
        self.is_wide.then_some(Wide(()))
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

/// Compiles a computation for both widths: a function that takes the width first.
macro_rules! both_widths {
    ($(#[$doc:meta])* $name:ident, $wide:ident, $plain:ident, $lanes:ident,
     <$($f:ident: $bound:path),+>($($arg:ident: $ty:ty),+) $(-> $out:ty)?) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn $wide<$($f: $bound),+>($($arg: $ty),+) $(-> $out)? {
            $lanes(Fused::Instruction, $($arg),+)
        }

        /// Apart, so that what calls the wide one stays short.
        #[inline(never)]
        fn $plain<$($f: $bound),+>($($arg: $ty),+) $(-> $out)? {
            $lanes(Fused::Software, $($arg),+)
        }

        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<$($f: $bound),+>(width: Width, $($arg: $ty),+) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            if width.is_wide {
                // SAFETY: a width is only wide where `Width::detect` has seen these features.
                return unsafe { $wide($($arg),+) };
            }
            let _ = width;
            $plain($($arg),+)
        }
    };
}

/// Compiles a loop over the rows of an instruction's result for both widths, and the one for instructions on all lanes
/// for wide vectors.
macro_rules! loops_over_rows {
    ($(#[$doc:meta])* $name:ident, $wide:ident, $plain:ident, $lanes:ident; $all:ident, $wide_all:ident, $rows:ident,
     <$($f:ident: $bound:path),+>($($arg:ident: $ty:ty),+)) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn $wide_all<$($f: $bound),+>(file: &mut VectorFile, inst: &Prepared, $($arg: $ty),+) -> Outcome {
            $rows(Fused::Instruction, file, inst, $($arg),+)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn $wide<$($f: $bound),+>(file: &mut VectorFile, inst: &Prepared, active: u64, $($arg: $ty),+) -> Outcome {
            $lanes(Fused::Instruction, file, inst, active, $($arg),+)
        }

        /// Apart, so that what calls the wide one stays short.
        #[inline(never)]
        fn $plain<$($f: $bound),+>(file: &mut VectorFile, inst: &Prepared, active: u64, $($arg: $ty),+) -> Outcome {
            $lanes(Fused::Software, file, inst, active, $($arg),+)
        }

        /// On all lanes; undefined bits of the result stay.
        #[inline(always)]
        pub(crate) fn $all<$($f: $bound),+>(_: Wide, file: &mut VectorFile, inst: &Prepared, $($arg: $ty),+) -> Outcome {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: there is a `Wide` only where `Width::detect` has seen these features.
            return unsafe { $wide_all(file, inst, $($arg),+) };
            #[cfg(not(target_arch = "x86_64"))]
            $rows(Fused::Software, file, inst, $($arg),+)
        }

        $(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name<$($f: $bound),+>(
            width: Width,
            file: &mut VectorFile,
            inst: &Prepared,
            active: u64,
            $($arg: $ty),+
        ) -> Outcome {
            let Some(wide) = width.wide() else {
                return $plain(file, inst, active, $($arg),+);
            };
            if active == file.all_lanes() {
                $all(wide, file, inst, $($arg),+)?;
                file.define_all(inst.places.result);
                return Ok(());
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: there is a `Wide` only where `Width::detect` has seen these features.
            return unsafe { $wide(file, inst, active, $($arg),+) };
            #[cfg(not(target_arch = "x86_64"))]
            $plain(file, inst, active, $($arg),+)
        }
    };
}

/// The rows of result and sources, where they lie in a file.
#[inline(always)]
pub(super) fn rows_of<'f>(
    file: &'f [[Cell<AlignedRow>; ROWS]],
    places: &Places,
) -> [&'f [Cell<AlignedRow>; ROWS]; 4] {
    assert!((places.last() as usize) < size_of_val(file), "a register that the wave has");
    // SAFETY: these are bytes from the start of the file to registers of it, none of which lies behind the last one, and
    // that is inside; all are multiples of the size of a register.
    places.bytes().map(|bytes| unsafe { &*file.as_ptr().byte_add(bytes as usize) })
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

/// A function of a row of lanes. It must be inlined into the loops, or it is not compiled for wide vectors; a closure may
/// be too large for that.
pub(crate) trait RowFunction {
    /// Results of all lanes, with this fused multiply-add.
    fn of_row(&self, fused: Fused, row: &Row) -> Row;
}

#[inline(always)]
fn run_loops<L: Loops>(fused: Fused, loops: L) -> L::Output {
    loops.run(fused)
}

both_widths!(
    /// A computation of its own loops.
    run, run_wide, run_plain, run_loops,
    <L: Loops>(loops: L) -> L::Output
);

loops_over_rows!(
    /// A function of 32-bit sources without signs.
    map, map_wide, map_plain, map_lanes; map_all, map_wide_all, map_rows,
    <F: Fn(u32, u32, u32) -> u32>(f: F)
);

loops_over_rows!(
    /// A function of the number of the lane and two 32-bit sources without signs.
    map_numbered, map_numbered_wide, map_numbered_plain, map_numbered_lanes; map_numbered_all, map_numbered_wide_all, map_numbered_rows,
    <F: Fn(u32, u32, u32) -> u32>(f: F)
);

loops_over_rows!(
    /// A function of 32-bit sources with NEG and ABS as on binary32.
    map_signed, map_signed_wide, map_signed_plain, map_signed_lanes; map_signed_all, map_signed_wide_all, map_signed_rows,
    <F: Fn(u32, u32, u32) -> u32>(f: F)
);

loops_over_rows!(
    /// A function of whole rows of the first source, with NEG and ABS as on binary32.
    map_row, map_row_wide, map_row_plain, map_row_lanes; map_row_all, map_row_wide_all, map_row_rows,
    <F: RowFunction>(f: F)
);

loops_over_rows!(
    /// A binary32 operation of the host on sources with signs. A NaN result becomes the one that the
    /// sources, in their order, call for.
    arithmetic, arithmetic_wide, arithmetic_plain, arithmetic_lanes; arithmetic_all, arithmetic_wide_all, arithmetic_rows,
    <F: Fn(Fused, f32, f32, f32) -> f32>(f: F)
);

loops_over_rows!(
    /// A binary32 operation of the host for each word of a packed result.
    pairs, pairs_wide, pairs_plain, pairs_lanes; pairs_all, pairs_wide_all, pairs_rows,
    <F: Fn(Fused, f32, f32, f32) -> f32>(words: [Choice; 2], f: F)
);

loops_over_rows!(
    /// A function of binary32 sources with signs, given twice: for numbers, and for everything.
    numbers, numbers_wide, numbers_plain, numbers_lanes; numbers_all, numbers_wide_all, numbers_rows,
    <F: Fn(u32, u32, u32) -> u32, G: Fn(u32, u32, u32) -> u32>(of_numbers: F, of_everything: G)
);

loops_over_rows!(
    /// A function of two sources with signs and of a bit a lane.
    select, select_wide, select_plain, select_lanes; select_all, select_wide_all, select_rows,
    <F: Fn(u32, u32, bool) -> u32>(mask: u64, f: F)
);

both_widths!(
    /// One bit a lane from sources with signs; lanes that are not active count too.
    test, test_wide, test_plain, test_rows,
    <F: Fn(u32, u32, u32) -> bool>(vectors: &mut VectorFile, inst: &Prepared, f: F) -> u64
);

/// The highest bit of each lane.
#[inline(always)]
pub(super) fn gather(fused: Fused, row: &Row) -> u32 {
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

/// The low and the high halves of words as binary16, widened; signalling NaNs come out quiet. `None` where the loop is not
/// one of wide vectors.
#[inline(always)]
pub(crate) fn widen_halves(fused: Fused, words: &[u32; 8]) -> Option<[[f32; 8]; 2]> {
    #[cfg(target_arch = "x86_64")]
    if fused == Fused::Instruction {
        use std::arch::x86_64::{
            _mm256_castsi256_si128, _mm256_cvtph_ps, _mm256_extracti128_si256, _mm256_loadu_si256,
            _mm256_permute4x64_epi64, _mm256_set_epi64x, _mm256_shuffle_epi8, _mm256_storeu_ps,
        };
        /// Of four words the low halves, then the high ones.
        const APART: [i64; 2] = [0x0d0c_0908_0504_0100, 0x0f0e_0b0a_0706_0302];
        let mut out = [[0.0; 8]; 2];
        // SAFETY: loops with this fused multiply-add are compiled for AVX2 and F16C; 32 bytes each are read and written.
        unsafe {
            let order = _mm256_set_epi64x(APART[1], APART[0], APART[1], APART[0]);
            let apart = _mm256_shuffle_epi8(_mm256_loadu_si256(words.as_ptr().cast()), order);
            let sorted = _mm256_permute4x64_epi64::<0b11_01_10_00>(apart);
            let low = _mm256_cvtph_ps(_mm256_castsi256_si128(sorted));
            let high = _mm256_cvtph_ps(_mm256_extracti128_si256::<1>(sorted));
            _mm256_storeu_ps(out[0].as_mut_ptr(), low);
            _mm256_storeu_ps(out[1].as_mut_ptr(), high);
        }
        return Some(out);
    }
    let _ = (fused, words);
    None
}

/// Of all lanes of a wave the word that each number names, modulo 64.
#[inline(always)]
pub(crate) fn pick(fused: Fused, words: &[Row; ROWS], numbers: &Row) -> Row {
    let words = words.as_flattened();
    let mut out = [0; ROW_LANES];
    #[cfg(target_arch = "x86_64")]
    if fused == Fused::Instruction {
        use std::arch::x86_64::{
            _mm256_and_si256, _mm256_i32gather_epi32, _mm256_loadu_si256, _mm256_set1_epi32,
            _mm256_storeu_si256,
        };
        const LAST: i32 = (ROWS * ROW_LANES - 1) as i32;
        for (out, numbers) in out.as_chunks_mut::<8>().0.iter_mut().zip(numbers.as_chunks::<8>().0)
        {
            // SAFETY: loops with this fused multiply-add are compiled for AVX2; eight words are read and written, and of
            // the words those whose numbers, cut to six bits, are below 64.
            unsafe {
                let numbers = _mm256_loadu_si256(numbers.as_ptr().cast());
                let inside = _mm256_and_si256(numbers, _mm256_set1_epi32(LAST));
                let picked = _mm256_i32gather_epi32::<4>(words.as_ptr().cast(), inside);
                _mm256_storeu_si256(out.as_mut_ptr().cast(), picked);
            }
        }
        return out;
    }
    let _ = fused;
    for (out, number) in out.iter_mut().zip(numbers) {
        *out = words[*number as usize % (ROWS * ROW_LANES)];
    }
    out
}

/// Whether `n_bytes` bytes at each address are among these, the first of which has the address `first`.
#[inline(always)]
pub(crate) fn are_inside(bytes: &[u8], first: u64, at: &[u64; ROW_LANES], n_bytes: usize) -> bool {
    let Some(last) = bytes.len().checked_sub(n_bytes) else { return false };
    let mut is_any_outside = false;
    for address in at {
        is_any_outside |= address.wrapping_sub(first) > last as u64;
    }
    !is_any_outside
}

/// Word `l` of four rows of eight lanes to lane `l`, and back: two lanes of four words in each vector.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed(rows: [__m256; 4]) -> [__m256; 4] {
    use std::arch::x86_64::{
        _mm256_castpd_ps, _mm256_castps_pd, _mm256_unpackhi_pd, _mm256_unpackhi_ps,
        _mm256_unpacklo_pd, _mm256_unpacklo_ps,
    };
    let [a, b, c, d] = rows;
    // SAFETY: only loops compiled for AVX2 and FMA call this.
    unsafe {
        let low = [_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d)].map(|v| _mm256_castps_pd(v));
        let high =
            [_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d)].map(|v| _mm256_castps_pd(v));
        [
            _mm256_castpd_ps(_mm256_unpacklo_pd(low[0], low[1])),
            _mm256_castpd_ps(_mm256_unpackhi_pd(low[0], low[1])),
            _mm256_castpd_ps(_mm256_unpacklo_pd(high[0], high[1])),
            _mm256_castpd_ps(_mm256_unpackhi_pd(high[0], high[1])),
        ]
    }
}

/// Sixteen bytes at each address, word `k` of a lane to row `k`. `None` where the loop is not one of wide vectors;
/// `false`, with nothing done, where [`are_inside`] says so.
#[inline(always)]
pub(crate) fn load_quads(
    fused: Fused,
    bytes: &[u8],
    first: u64,
    at: &[u64; ROW_LANES],
    rows: [&mut Row; 4],
) -> Option<bool> {
    #[cfg(target_arch = "x86_64")]
    if fused == Fused::Instruction {
        use std::arch::x86_64::{_mm256_loadu2_m128, _mm256_storeu_ps};
        if !are_inside(bytes, first, at, 16) {
            return Some(false);
        }
        for (group, at) in at.as_chunks::<8>().0.iter().enumerate() {
            let place =
                |lane: usize| bytes.as_ptr().wrapping_add((at[lane] - first) as usize).cast();
            // SAFETY: loops with this fused multiply-add are compiled for AVX2, and all places are inside.
            let load = |lane: usize| unsafe { _mm256_loadu2_m128(place(lane + 4), place(lane)) };
            let words = transposed([load(0), load(1), load(2), load(3)]);
            for (k, words) in words.into_iter().enumerate() {
                let to = rows[k].as_chunks_mut::<8>().0[group].as_mut_ptr();
                // SAFETY: as above; eight words are written to eight words.
                unsafe { _mm256_storeu_ps(to.cast(), words) };
            }
        }
        return Some(true);
    }
    let _ = (fused, bytes, first, at, rows);
    None
}

/// Word `k` of a lane from row `k` to sixteen bytes at its address, lane after lane; otherwise as [`load_quads`].
#[inline(always)]
pub(crate) fn store_quads(
    fused: Fused,
    bytes: &mut [u8],
    first: u64,
    at: &[u64; ROW_LANES],
    rows: [&Row; 4],
) -> Option<bool> {
    #[cfg(target_arch = "x86_64")]
    if fused == Fused::Instruction {
        use std::arch::x86_64::{
            _mm_storeu_ps, _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_loadu_ps,
        };
        if !are_inside(bytes, first, at, 16) {
            return Some(false);
        }
        let bytes = bytes.as_mut_ptr();
        for (group, at) in at.as_chunks::<8>().0.iter().enumerate() {
            let row = |k: usize| rows[k].as_chunks::<8>().0[group].as_ptr().cast();
            // SAFETY: loops with this fused multiply-add are compiled for AVX2; eight words are read of eight.
            let load = |k: usize| unsafe { _mm256_loadu_ps(row(k)) };
            let quads = transposed([load(0), load(1), load(2), load(3)]);
            for (lane, address) in at.iter().enumerate() {
                let place = bytes.wrapping_add((address - first) as usize).cast();
                let pair = quads[lane % 4];
                // SAFETY: as above, and all places are inside.
                unsafe {
                    let high = _mm256_extractf128_ps::<1>(pair);
                    let quad = if lane < 4 { _mm256_castps256_ps128(pair) } else { high };
                    _mm_storeu_ps(place, quad);
                }
            }
        }
        return Some(true);
    }
    let _ = (fused, bytes, first, at, rows);
    None
}
