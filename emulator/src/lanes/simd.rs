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
use crate::float::{canonical, fma_to_odd, is_nan32};
use crate::wave::{AlignedRow, ROW_LANES, Row};

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

/// Where a 32-bit source lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Its first row among those of the wave.
    pub first: usize,
    /// Rows from one row of lanes to the next: zero for scalars and constants.
    pub step: usize,
    /// What is spread over the row before anything else happens, where [`Operands::spread`] says so.
    pub value: u32,
    /// Bits that ABS keeps.
    pub keep: u32,
    /// Bits that NEG flips.
    pub flip: u32,
}

/// Where the operands of an instruction lie, and the lanes it works on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    /// First row of the result.
    pub result: usize,
    /// Absent sources are rows of zeros.
    pub sources: [Place; 3],
    /// Sources, one bit each, whose value has to be spread.
    pub spread: u8,
    pub n_rows: usize,
    /// Active lanes of the wave.
    pub active: u64,
    /// Some source has NEG or ABS.
    pub has_signs: bool,
}

impl Operands {
    #[inline(always)]
    fn lanes(&self, row: usize) -> u32 {
        (self.active >> (row * ROW_LANES)) as u32
    }

    #[inline(always)]
    fn spread(&self, file: &mut [AlignedRow]) {
        if self.spread == 0 {
            return;
        }
        for (k, source) in self.sources.iter().enumerate() {
            if self.spread >> k & 1 == 1 {
                file[source.first].0 = [source.value; ROW_LANES];
            }
        }
    }

    #[inline(always)]
    fn sources<'f>(&self, file: &'f [AlignedRow], row: usize) -> [&'f Row; 3] {
        self.sources.map(|source| &file[source.first + row * source.step].0)
    }

    /// The sources of a lane, signs applied where `SIGNED`.
    #[inline(always)]
    fn lane<const SIGNED: bool>(&self, rows: [&Row; 3], lane: usize) -> [u32; 3] {
        let bits = rows.map(|row| row[lane]);
        if !SIGNED {
            return bits;
        }
        let [a, b, c] = &self.sources;
        [bits[0] & a.keep ^ a.flip, bits[1] & b.keep ^ b.flip, bits[2] & c.keep ^ c.flip]
    }

    #[inline(always)]
    fn put(&self, file: &mut [AlignedRow], row: usize, out: &Row) {
        let lanes = self.lanes(row);
        let result = &mut file[self.result + row].0;
        if lanes == u32::MAX {
            *result = *out;
            return;
        }
        for lane in 0..ROW_LANES {
            result[lane] = if lanes >> lane & 1 == 1 { out[lane] } else { result[lane] };
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

/// Every row: all lanes of the sources through `compute`, then the active ones written.
macro_rules! each_row {
    ($file:ident, $at:ident, |$sources:ident, $out:ident| $compute:block) => {
        $at.spread($file);
        for row in 0..$at.n_rows {
            let $sources = $at.sources($file, row);
            let mut $out = ZERO;
            $compute
            $at.put($file, row, &$out);
        }
    };
}

#[inline(always)]
fn map_lanes<F: Fn(u32, u32, u32) -> u32>(_: Fused, file: &mut [AlignedRow], at: &Operands, f: F) {
    each_row!(file, at, |sources, out| {
        for (lane, out) in out.iter_mut().enumerate() {
            let [a, b, c] = at.lane::<false>(sources, lane);
            *out = f(a, b, c);
        }
    });
}

both_widths!(
    /// A function of 32-bit sources without signs.
    map, map_wide, map_lanes,
    <F: Fn(u32, u32, u32) -> u32>(file: &mut [AlignedRow], at: &Operands, f: F)
);

#[inline(always)]
fn map_signed_lanes<F: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    file: &mut [AlignedRow],
    at: &Operands,
    f: F,
) {
    each_row!(file, at, |sources, out| {
        for (lane, out) in out.iter_mut().enumerate() {
            let [a, b, c] = at.lane::<true>(sources, lane);
            *out = f(a, b, c);
        }
    });
}

both_widths!(
    /// A function of 32-bit sources with NEG and ABS as on binary32.
    map_signed, map_signed_wide, map_signed_lanes,
    <F: Fn(u32, u32, u32) -> u32>(file: &mut [AlignedRow], at: &Operands, f: F)
);

#[inline(always)]
fn arithmetic_rows<const SIGNED: bool>(
    fused: Fused,
    file: &mut [AlignedRow],
    at: &Operands,
    f: impl Fn(Fused, f32, f32, f32) -> f32,
) {
    each_row!(file, at, |sources, out| {
        let mut nans = 0;
        for (lane, out) in out.iter_mut().enumerate() {
            let [a, b, c] = at.lane::<SIGNED>(sources, lane).map(f32::from_bits);
            let result = f(fused, a, b, c);
            *out = result.to_bits();
            nans |= u32::from(result.is_nan());
        }
        if nans != 0 {
            choose_nans(at, sources, &mut out);
        }
    });
}

/// Makes NaN results the ones that the sources call for.
#[cold]
fn choose_nans(at: &Operands, sources: [&Row; 3], out: &mut Row) {
    for (lane, out) in out.iter_mut().enumerate() {
        *out = canonical(f32::from_bits(*out), at.lane::<true>(sources, lane));
    }
}

#[inline(always)]
fn arithmetic_lanes<F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    file: &mut [AlignedRow],
    at: &Operands,
    f: F,
) {
    if at.has_signs {
        arithmetic_rows::<true>(fused, file, at, f);
    } else {
        arithmetic_rows::<false>(fused, file, at, f);
    }
}

both_widths!(
    /// A binary32 operation of the host on sources with signs. A NaN result becomes the one that the
    /// sources, in their order, call for.
    arithmetic, arithmetic_wide, arithmetic_lanes,
    <F: Fn(Fused, f32, f32, f32) -> f32>(file: &mut [AlignedRow], at: &Operands, f: F)
);

#[inline(always)]
fn numbers_lanes<F: Fn(u32, u32, u32) -> u32, G: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    file: &mut [AlignedRow],
    at: &Operands,
    of_numbers: F,
    of_nans: G,
) {
    each_row!(file, at, |sources, out| {
        let mut nans = 0;
        for (lane, out) in out.iter_mut().enumerate() {
            let [a, b, c] = at.lane::<true>(sources, lane);
            *out = of_numbers(a, b, c);
            nans |= u32::from(is_nan32(a)) | u32::from(is_nan32(b)) | u32::from(is_nan32(c));
        }
        if nans != 0 {
            for (lane, out) in out.iter_mut().enumerate() {
                let [a, b, c] = at.lane::<true>(sources, lane);
                *out = of_nans(a, b, c);
            }
        }
    });
}

both_widths!(
    /// A function of binary32 sources with signs, given twice: for numbers, and for everything.
    numbers, numbers_wide, numbers_lanes,
    <F: Fn(u32, u32, u32) -> u32, G: Fn(u32, u32, u32) -> u32>
    (file: &mut [AlignedRow], at: &Operands, of_numbers: F, of_everything: G)
);

#[inline(always)]
fn select_lanes<F: Fn(u32, u32, bool) -> u32>(
    _: Fused,
    file: &mut [AlignedRow],
    at: &Operands,
    mask: u64,
    f: F,
) {
    at.spread(file);
    for row in 0..at.n_rows {
        let sources = at.sources(file, row);
        let bits = (mask >> (row * ROW_LANES)) as u32;
        let mut out = ZERO;
        for (lane, out) in out.iter_mut().enumerate() {
            let [a, b, _] = at.lane::<true>(sources, lane);
            *out = f(a, b, bits & 1 << lane != 0);
        }
        at.put(file, row, &out);
    }
}

both_widths!(
    /// A function of two sources with signs and of a bit a lane.
    select, select_wide, select_lanes,
    <F: Fn(u32, u32, bool) -> u32>(file: &mut [AlignedRow], at: &Operands, mask: u64, f: F)
);

#[inline(always)]
fn test_lanes<F: Fn(u32, u32) -> bool>(
    _: Fused,
    file: &mut [AlignedRow],
    at: &Operands,
    f: F,
) -> u64 {
    at.spread(file);
    let mut result = 0;
    for row in 0..at.n_rows {
        let sources = at.sources(file, row);
        let mut bits = 0;
        for lane in 0..ROW_LANES {
            let [a, b, _] = at.lane::<true>(sources, lane);
            bits |= u32::from(f(a, b)) << lane;
        }
        result |= u64::from(bits) << (row * ROW_LANES);
    }
    result
}

both_widths!(
    /// One bit a lane from two sources with signs; lanes that are not active count too.
    test, test_wide, test_lanes,
    <F: Fn(u32, u32) -> bool>(file: &mut [AlignedRow], at: &Operands, f: F) -> u64
);
