//! Operands of matrix products, rounded as an accuracy form says, and their accumulation.

use half::{bf16, f16};

/// What an operand is rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// One bf16.
    Bf16,
    /// A high and a low bf16.
    Bf16Pair,
    /// One f16.
    F16,
    /// A high and a low f16.
    F16Pair,
}

/// A matrix of rounded values, the summed axis fastest.
pub(super) struct Operand {
    /// High halves, or the values.
    high: Vec<f32>,
    /// Low halves of pairs.
    low: Option<Vec<f32>>,
}

impl Operand {
    pub(super) fn new(rounding: Rounding, values: impl IntoIterator<Item = f32>) -> Operand {
        let values = values.into_iter();
        let bf16 = |x: f32| bf16::from_f32(x).to_f32();
        let f16 = |x: f32| f16::from_f32(x).to_f32();
        match rounding {
            Rounding::Bf16 => Operand { high: values.map(bf16).collect(), low: None },
            Rounding::F16 => Operand { high: values.map(f16).collect(), low: None },
            Rounding::F16Pair => {
                let (high, low) = values.map(|x| (f16(x), f16(x - f16(x)))).unzip();
                Operand { high, low: Some(low) }
            }
            Rounding::Bf16Pair => {
                let (high, low) = values.map(|x| (bf16(x), bf16(x - bf16(x)))).unzip();
                Operand { high, low: Some(low) }
            }
        }
    }
}

/// `C + A·Bᵀ` for `c` of rows × columns, `a` rows × k, `b` columns × k: low by high, then high by low,
/// then high by high, each over the summed axis in ascending order.
pub(super) fn accumulate(c: &mut [f32], a: &Operand, b: &Operand, k: usize) {
    if let Some(low) = &a.low {
        add(c, low, &b.high, k);
    }
    if let Some(low) = &b.low {
        add(c, &a.high, low, k);
    }
    add(c, &a.high, &b.high, k);
}

fn add(c: &mut [f32], a: &[f32], b: &[f32], k: usize) {
    if k == 0 {
        return;
    }
    let columns = b.len() / k;
    for (row, a) in a.chunks(k).enumerate() {
        for (column, b) in b.chunks(k).enumerate() {
            let sum = &mut c[row * columns + column];
            *sum = a.iter().zip(b).fold(*sum, |sum, (a, b)| a.mul_add(*b, sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_sixteen_bits() {
        let x = 1.0 + 2f32.powi(-12);
        let one = |rounding| Operand::new(rounding, [x]);
        assert_eq!(one(Rounding::Bf16).high, [1.0]);
        assert_eq!(one(Rounding::F16).high, [1.0]);
        let pair = one(Rounding::Bf16Pair);
        assert_eq!((pair.high[0], pair.low.as_deref()), (1.0, Some(&[2f32.powi(-12)][..])));
    }

    #[test]
    fn products_of_pairs_leave_out_low_by_low() {
        let x = 1.0 + 2f32.powi(-9);
        let pair = || Operand::new(Rounding::Bf16Pair, [x]);
        let mut c = [0.0];
        accumulate(&mut c, &pair(), &pair(), 1);
        assert_eq!(c, [1.0 + 2f32.powi(-8)]);
        let mut c = [0.5];
        accumulate(&mut c, &pair(), &Operand::new(Rounding::Bf16, [2.0]), 1);
        assert_eq!(c, [2.5 + 2f32.powi(-8)]);
    }

    #[test]
    fn rows_meet_rows() {
        let whole = |values: [f32; 4]| Operand::new(Rounding::Bf16, values);
        let mut c = [0.0; 4];
        accumulate(&mut c, &whole([1.0, 2.0, 3.0, 4.0]), &whole([5.0, 6.0, 7.0, 8.0]), 2);
        assert_eq!(c, [17.0, 23.0, 39.0, 53.0]);
    }
}
