//! Products of row-major matrices, and the formats of their elements.

use isa::fragment::Shape;
use isa::table::Element;

use crate::float::{SIGN32, f16_to_f32, fma32};

/// D = A · B + D, block by block: `step` takes an element of A, one of B and the sum so far, for each k in
/// ascending order.
pub(super) fn multiply<T: Copy, U: Copy>(
    shape: Shape,
    a: &[T],
    b: &[T],
    d: &mut [U],
    step: impl Fn(T, T, U) -> U,
) {
    match shape.n {
        32 => multiply_rows::<T, U, 32>(shape, a, b, d, step),
        16 => multiply_rows::<T, U, 16>(shape, a, b, d, step),
        _ => multiply_rows::<T, U, 4>(shape, a, b, d, step),
    }
}

/// Rows of D have `N` elements: loops of fixed length become vector code.
fn multiply_rows<T: Copy, U: Copy, const N: usize>(
    shape: Shape,
    a: &[T],
    b: &[T],
    d: &mut [U],
    step: impl Fn(T, T, U) -> U,
) {
    let (m, depth) = (shape.m as usize, shape.k as usize);
    let (rows_of_d, _) = d.as_chunks_mut::<N>();
    let (rows_of_b, _) = b.as_chunks::<N>();
    for (row, (result, factors)) in rows_of_d.iter_mut().zip(a.chunks_exact(depth)).enumerate() {
        let mut sums = *result;
        for (factor, others) in factors.iter().zip(&rows_of_b[row / m * depth..]) {
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum = step(*factor, *other, *sum);
            }
        }
        *result = sums;
    }
}

/// As [`multiply`] with fused multiply-add in binary32. Where every product is exact in binary32, a
/// product and a sum give the same bits faster; NaN results are worked out by the slow way, which keeps
/// their payloads.
pub(super) fn multiply_f32(
    shape: Shape,
    element: Element,
    a: &[u32],
    b: &[u32],
    c: &[u32],
) -> Vec<u32> {
    let is_exact = |factor: &[u32]| are_products_exact(element, factor.iter().copied());
    if is_exact(a) && is_exact(b) {
        let floats = |bits: &[u32]| bits.iter().map(|bits| f32::from_bits(*bits)).collect();
        let (a, b, mut d): (Vec<f32>, Vec<f32>, Vec<f32>) = (floats(a), floats(b), floats(c));
        multiply(shape, &a, &b, &mut d, |a, b, sum| a * b + sum);
        if !d.iter().any(|sum| sum.is_nan()) {
            return d.into_iter().map(f32::to_bits).collect();
        }
    }
    let mut d = c.to_vec();
    multiply(shape, a, b, &mut d, fma32);
    d
}

/// Whether the product of any two of these values (and of their like) is a binary32: always for formats
/// of 16 bits and fewer but bfloat16, which has binary32's range; for it, when no exponent is extreme.
pub(super) fn are_products_exact(element: Element, mut values: impl Iterator<Item = u32>) -> bool {
    // Exponents of ±60 leave products 2^±120, whose 16 significant bits are far from both limits.
    let is_moderate = |bits: u32| {
        let exponent = bits >> 23 & 0xff;
        bits & !SIGN32 == 0 || exponent == 255 || (67..=187).contains(&exponent)
    };
    match element {
        Element::F16 | Element::Fp8 | Element::Bf8 => true,
        Element::Bf16 => values.all(is_moderate),
        _ => false,
    }
}

/// A float of up to 32 bits as binary32 bits, exact.
///
/// Source: OCP 8-bit Floating Point Specification for the 8-bit formats: E5M2 is the high byte of a
/// binary16; E4M3 has bias 7, no infinities, and NaN with all bits but the sign set.
#[inline]
pub(super) fn widen(element: Element, bits: u32) -> u32 {
    match element {
        Element::F16 => f16_to_f32_fast(bits),
        Element::Bf16 => bits << 16,
        Element::Bf8 => f16_to_f32_fast(bits << 8),
        Element::Fp8 => e4m3_to_f32(bits),
        _ => bits,
    }
}

/// As [`f16_to_f32`]: a shift into place and an exact product that mends exponent and subnormals.
#[inline]
fn f16_to_f32_fast(bits: u32) -> u32 {
    const TWO_TO_112: f32 = f32::from_bits((127 + 112) << 23);
    if bits & 0x7c00 == 0x7c00 {
        return f16_to_f32(bits);
    }
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * TWO_TO_112;
    magnitude.to_bits() | (bits & 0x8000) << 16
}

#[inline]
fn e4m3_to_f32(bits: u32) -> u32 {
    let sign = (bits & 0x80) << 24;
    let (exponent, fraction) = (bits >> 3 & 15, bits & 7);
    let magnitude = match (exponent, fraction) {
        (15, 7) => 0x7fc0_0000,
        (0, _) => (fraction as f32 / 512.0).to_bits(),
        _ => (exponent + 120) << 23 | fraction << 20,
    };
    sign | magnitude
}

/// The low `width` bits as a number.
pub(super) fn integer(bits: u64, width: u32, is_signed: bool) -> i64 {
    let unused = 64 - width;
    let high = bits << unused;
    if is_signed { high.cast_signed() >> unused } else { (high >> unused).cast_signed() }
}
