//! The values of tensors in files, exactly, and their transposition.

use half::{bf16, f16};
use safetensors::{Dtype, tensor::TensorView};
use specs::Element;

/// Every value of a tensor of whole numbers.
pub(super) fn whole_numbers(view: &TensorView<'_>) -> Option<Vec<i64>> {
    let data = view.data();
    Some(match view.dtype() {
        Dtype::I64 => {
            data.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect()
        }
        Dtype::I32 => {
            data.as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes).into()).collect()
        }
        _ => return None,
    })
}

/// Every value of a float tensor, exactly.
pub(super) fn floats(view: &TensorView<'_>) -> Option<Vec<f64>> {
    let data = view.data();
    let halves = || data.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
    Some(match view.dtype() {
        Dtype::F64 => {
            data.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
        }
        Dtype::F32 => {
            data.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes).into()).collect()
        }
        Dtype::BF16 => halves().map(|bits| bf16::from_bits(bits).to_f64()).collect(),
        Dtype::F16 => halves().map(|bits| f16::from_bits(bits).to_f64()).collect(),
        _ => return None,
    })
}

/// Turns every [K, V] matrix into [V, K]; an element is `unit` items.
pub(super) fn transpose<T: Copy>(items: &[T], unit: usize, k: usize, v: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(items.len());
    for matrix in items.chunks_exact(k * v * unit) {
        for column in 0..v {
            for row in 0..k {
                let at = (row * v + column) * unit;
                out.extend_from_slice(&matrix[at..at + unit]);
            }
        }
    }
    out
}

/// Little-endian i32 numbers between commas.
pub(super) fn listed(bytes: &[u8]) -> String {
    let (numbers, _) = bytes.as_chunks::<4>();
    let words: Vec<_> = numbers.iter().map(|x| i32::from_le_bytes(*x).to_string()).collect();
    words.join(",")
}

/// The type of an element in files.
pub(super) fn dtype(element: Element) -> Dtype {
    match element {
        Element::F32 => Dtype::F32,
        Element::Bf16 => Dtype::BF16,
        Element::F16 => Dtype::F16,
        Element::I32 => Dtype::I32,
    }
}

#[cfg(test)]
mod tests {
    use super::transpose;

    #[test]
    fn matrices_are_transposed_each_by_itself() {
        let two = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16];
        assert_eq!(transpose(&two, 1, 2, 3), [1, 4, 2, 5, 3, 6, 11, 14, 12, 15, 13, 16]);
        assert_eq!(transpose(&[1, 2, 3, 4], 2, 1, 2), [1, 2, 3, 4]);
    }
}
