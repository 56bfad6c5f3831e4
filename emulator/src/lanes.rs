//! Lane-by-lane execution of vector arithmetic.
//!
//! A meaning hands a function of one lane to one of the methods here, which run it over rows of 32 lanes:
//! read sources (constants and scalars spread out, NEG and ABS applied, subnormals flushed as MODE says),
//! compute all lanes, finish (OMOD, CLAMP, flush), write the active ones. Undefined bits follow by the
//! rule that comes with the function, and cost nothing while there are none.

mod float;
mod full;
mod int;
mod loops;
mod mask;
mod places;
mod result;
mod run;
pub(crate) mod simd;
mod source;

pub(crate) use places::Choice;
pub(crate) use simd::{Fused, Wide, Width, truncate};

use crate::wave::{ROW_LANES, Row};

const ZERO: Row = [0; ROW_LANES];

/// Undefined bits of a row's results: low words, high words.
pub(crate) type Shadow = Option<Box<[Row; 2]>>;

#[inline]
fn map1(a: &Row, f: impl Fn(u32) -> u32) -> Row {
    let mut out = ZERO;
    for (out, a) in out.iter_mut().zip(a) {
        *out = f(*a);
    }
    out
}

#[inline]
fn map3(a: &Row, b: &Row, c: &Row, f: impl Fn(u32, u32, u32) -> u32) -> Row {
    let mut out = ZERO;
    for lane in 0..ROW_LANES {
        out[lane] = f(a[lane], b[lane], c[lane]);
    }
    out
}

#[inline]
fn join(low: &Row, high: &Row) -> [u64; ROW_LANES] {
    std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
}

fn split(wide: &[u64; ROW_LANES]) -> (Row, Row) {
    (std::array::from_fn(|lane| low(wide[lane])), std::array::from_fn(|lane| low(wide[lane] >> 32)))
}

fn low(bits: u64) -> u32 {
    (bits & 0xffff_ffff) as u32
}

/// Which bits of a register a 16-bit result covers, and where it lies in them.
#[derive(Clone, Copy)]
struct Placement {
    mask: u32,
    shift: u32,
}

impl Placement {
    fn half(shift: u32) -> Placement {
        Placement { mask: 0xffff << shift, shift }
    }
}
