//! Matrices of each element format, with poison between their rows.

use half::{bf16, f16};

use super::mma::Element;
use crate::bench::{Plain, random_words};

/// A small number of each format, exactly; its bytes and its value.
fn sample(element: Element, word: u32) -> (Vec<u8>, f64) {
    let small = f64::from((word >> 8) as i32 % 4096) / 1024.0;
    match element {
        Element::F16 => (f16::from_f64(small).bytes(), f16::from_f64(small).into()),
        Element::Bf16 => (bf16::from_f64(small).bytes(), bf16::from_f64(small).into()),
        Element::F32 => ((small as f32 / 3.0).bytes(), f64::from(small as f32 / 3.0)),
        Element::F64 => ((small / 3.0).bytes(), small / 3.0),
        Element::I8 => (vec![(word >> 24) as u8], ((word >> 24) as i8).into()),
        // Every finite number; exponents of E4M3 are biased by 7, those of E5M2 by 15.
        Element::Fp8 => {
            let byte = if word >> 24 & 0x7f == 0x7f { 0 } else { (word >> 24) as u8 };
            (vec![byte], small_float(byte, 3, 7))
        }
        Element::Bf8 => {
            let byte = if word >> 24 & 0x7c >= 0x60 { 0x35 } else { (word >> 24) as u8 };
            (vec![byte], small_float(byte, 2, 15))
        }
    }
}

/// The value of a float of 8 bits that is finite.
fn small_float(byte: u8, fraction_bits: i32, bias: i32) -> f64 {
    let sign = if byte & 0x80 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) =
        (i32::from(byte & 0x7f) >> fraction_bits, i32::from(byte) & ((1 << fraction_bits) - 1));
    let fraction = f64::from(fraction) / f64::from(1 << fraction_bits);
    match exponent {
        0 => sign * fraction * f64::from(1 - bias).exp2(),
        _ => sign * (1.0 + fraction) * f64::from(exponent - bias).exp2(),
    }
}

/// A matrix with `pitch - columns` elements of NaN (or the most negative integer) behind each row.
pub fn matrix(
    element: Element,
    [rows, columns, pitch]: [usize; 3],
    seed: u64,
) -> (Vec<u8>, Vec<f64>) {
    let poison: &[u8] = match element {
        Element::F16 => &[0xff, 0x7f],
        Element::Bf16 => &[0xff, 0x7f],
        Element::F32 => &[0, 0, 0xc0, 0x7f],
        Element::F64 => &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
        Element::Fp8 | Element::Bf8 => &[0x7f],
        Element::I8 => &[0x80],
    };
    let words = random_words(seed, rows * columns);
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    for row in words.chunks(columns) {
        for word in row {
            let (stored, value) = sample(element, *word);
            bytes.extend(stored);
            values.push(value);
        }
        bytes.extend(poison.repeat(pitch - columns));
    }
    (bytes, values)
}
