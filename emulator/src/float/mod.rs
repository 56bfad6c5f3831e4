//! Floating point that gives the same bits on every host.
//!
//! Values travel as bits. Sums and products use the host's IEEE binary32 and binary64 operations, which
//! Rust defines exactly; what Rust leaves open is written out here: which NaN comes out
//! ([`canonical`]), fused multiply-add (`fma32`, from binary64 operations with rounding to odd), narrowing
//! conversions (`narrow`) and the transcendentals (`transcendental`, through the portable `libm` crate).
//! The host's own mathematics library is never called.
//!
//! Rounding is to nearest, ties to even; `directed` has what other modes are executed for.
//! An operation that produces NaN returns its first NaN operand made quiet, or `0x7fc00000` when no
//! operand was NaN (RDNA3 and CDNA3 ISA manuals: NaN operands are quieted, invalid operations return
//! the positive quiet NaN).

mod convert;
pub(crate) mod directed;
mod division;
mod f16;
mod f32;
mod f64;
mod fp8;
mod preop;
#[cfg(test)]
mod tests;
mod transcendental;

use directed::Rounding;

pub(crate) use convert::*;
pub(crate) use division::*;
pub(crate) use f16::*;
pub(crate) use f32::*;
pub(crate) use f64::*;
pub(crate) use fp8::{E4M3, E5M2, Fp8};
pub(crate) use preop::trig_preop;
pub(crate) use transcendental::*;

/// Sign bit of a binary32.
pub(crate) const SIGN32: u32 = 0x8000_0000;
const QUIET32: u32 = 0x0040_0000;
const INF32: u32 = 0x7f80_0000;
const CANONICAL_NAN32: u32 = 0x7fc0_0000;

const QUIET64: u64 = 0x0008_0000_0000_0000;
const CANONICAL_NAN64: u64 = 0x7ff8_0000_0000_0000;

/// The part of the MODE register that arithmetic looks at.
///
/// Source: AMDGPUUsage, `compute_pgm_rsrc1`; encoding of the denormal fields: 0 flush sources and
/// results, 1 flush results, 2 flush sources, 3 keep. Flushing keeps the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatMode {
    /// binary32 subnormal sources count as zero.
    pub flush_sources32: bool,
    /// binary32 subnormal results become zero.
    pub flush_results32: bool,
    /// Either of these.
    pub flushes32: bool,
    /// binary16 and binary64 subnormal sources count as zero.
    pub flush_sources16: bool,
    /// binary16 and binary64 subnormal results become zero.
    pub flush_results16: bool,
    /// Signalling NaN operands of minimum and maximum are quieted and win.
    pub ieee: bool,
    /// CLAMP turns NaN into zero.
    pub dx10_clamp: bool,
    /// Overflowing conversions to binary16 give the largest finite number.
    pub fp16_overflow: bool,
    /// How binary32 results are rounded.
    pub round32: Rounding,
    /// How binary16 and binary64 results are rounded.
    pub round16: Rounding,
}

impl FloatMode {
    /// Whether some results are not rounded to nearest.
    #[inline]
    pub(crate) fn is_directed(&self) -> bool {
        [self.round32, self.round16] != [Rounding::NearestEven; 2]
    }

    /// From MODE bits: round 3:0, denormals 7:4 (low pair binary32), DX10_CLAMP 8, IEEE 9, FP16_OVFL 23.
    pub(crate) fn from_bits(mode: u32) -> FloatMode {
        let keep = |bit: u32| mode >> bit & 1 == 1;
        FloatMode {
            flush_sources32: !keep(4),
            flush_results32: !keep(5),
            flushes32: !keep(4) | !keep(5),
            flush_sources16: !keep(6),
            flush_results16: !keep(7),
            dx10_clamp: keep(8),
            ieee: keep(9),
            fp16_overflow: keep(23),
            round32: Rounding::from_bits(mode),
            round16: Rounding::from_bits(mode >> 2),
        }
    }
}

#[inline]
pub(crate) fn is_nan32(bits: u32) -> bool {
    bits & !SIGN32 > INF32
}

#[inline]
fn is_signalling32(bits: u32) -> bool {
    is_nan32(bits) && bits & QUIET32 == 0
}

#[inline]
fn quiet32(bits: u32) -> u32 {
    bits | QUIET32
}

/// Zero of the same sign instead of a binary32 subnormal.
#[inline]
pub(crate) fn flush32(bits: u32) -> u32 {
    if bits & INF32 == 0 { bits & SIGN32 } else { bits }
}

/// Zero of the same sign instead of a binary16 subnormal.
pub(crate) fn flush16(bits: u32) -> u32 {
    if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits }
}

/// Zero of the same sign instead of a binary64 subnormal.
pub(crate) fn flush64(bits: u64) -> u64 {
    if bits & 0x7ff0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits }
}

/// The bits of a result, with the NaN that the operands call for. Free of branches, so that loops over
/// lanes become vector code.
#[inline]
pub(crate) fn canonical<const N: usize>(result: f32, operands: [u32; N]) -> u32 {
    let pick = |nan, bits| if is_nan32(bits) { quiet32(bits) } else { nan };
    let nan = operands.into_iter().rev().fold(CANONICAL_NAN32, pick);
    if result.is_nan() { nan } else { result.to_bits() }
}

/// As [`canonical`], for binary64.
#[inline]
fn canonical64<const N: usize>(result: f64, operands: [u64; N]) -> u64 {
    let pick = |nan, bits| if f64::from_bits(bits).is_nan() { bits | QUIET64 } else { nan };
    let nan = operands.into_iter().rev().fold(CANONICAL_NAN64, pick);
    if result.is_nan() { nan } else { result.to_bits() }
}
