//! Conversions and changes of type.

use half::{bf16, f16};

use crate::ir::{Conversion, Scalar, Type};

use super::arithmetic::mask;

pub(super) fn convert(conversion: Conversion, from: Scalar, to: Scalar, a: u64) -> u64 {
    let bits = match conversion {
        Conversion::FExtend if from == Scalar::F16 => {
            f16::from_bits(a as u16).to_f32().to_bits().into()
        }
        Conversion::FExtend => bf16::from_bits(a as u16).to_f32().to_bits().into(),
        Conversion::FTruncate if to == Scalar::F16 => {
            f16::from_f32(f32::from_bits(a as u32)).to_bits().into()
        }
        Conversion::FTruncate => bf16::from_f32(f32::from_bits(a as u32)).to_bits().into(),
        Conversion::I32ToF32 => (a as u32 as i32 as f32).to_bits().into(),
        Conversion::U32ToF32 => (a as u32 as f32).to_bits().into(),
        Conversion::F32ToI32 => u64::from(f32::from_bits(a as u32) as i32 as u32),
        Conversion::SignExtend => i64::from(a as u32 as i32) as u64,
        Conversion::ZeroExtend | Conversion::Truncate => a,
    };
    bits & mask(to)
}

/// The same bytes cut into elements of another type; an `i1` is a byte of its own.
pub(super) fn bitcast(bits: &[u64], from: Type, to: Type) -> Vec<u64> {
    let width = |ty: Type| ty.scalar().map_or(8, |scalar| scalar.size_bytes().max(1)) as usize;
    let bytes: Vec<u8> =
        bits.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width(from))).collect();
    bytes.chunks(width(to)).map(from_bytes).collect()
}

/// The number of at most eight little-endian bytes.
pub(super) fn from_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_integers_with_saturation() {
        let of = |x: f32| {
            convert(Conversion::F32ToI32, Scalar::F32, Scalar::I32, x.to_bits().into()) as u32
                as i32
        };
        assert_eq!([of(-2.9), of(3e9), of(-3e9), of(f32::NAN)], [-2, i32::MAX, i32::MIN, 0]);
    }

    #[test]
    fn vectors_become_words() {
        let halves = Type::Vector(Scalar::F16, 4);
        let words = bitcast(&[1, 2, 3, 4], halves, Type::Vector(Scalar::I32, 2));
        assert_eq!(words, [0x2_0001, 0x4_0003]);
        assert_eq!(bitcast(&words, Type::Vector(Scalar::I32, 2), halves), [1, 2, 3, 4]);
    }
}
