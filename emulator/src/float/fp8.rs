//! The 8-bit floats of the OCP specification (OFP8 1.0): E4M3 without infinities, E5M2 with them.

use super::{CANONICAL_NAN32, INF32, SIGN32};

/// An 8-bit format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fp8 {
    mantissa_bits: i32,
    bias: i32,
    /// Bits of the largest finite magnitude.
    max: u32,
    /// Bits of infinity, or of NaN where there is none.
    overflow: u32,
}

/// 4 exponent bits, 3 mantissa bits; largest 448.
pub(crate) const E4M3: Fp8 = Fp8 { mantissa_bits: 3, bias: 7, max: 0x7e, overflow: 0x7f };
/// 5 exponent bits, 2 mantissa bits; largest 57344.
pub(crate) const E5M2: Fp8 = Fp8 { mantissa_bits: 2, bias: 15, max: 0x7b, overflow: 0x7c };

const NAN: u32 = 0x7f;

impl Fp8 {
    /// The magnitude of finite bits, exactly.
    fn magnitude(self, bits: u32) -> f64 {
        let (exponent, mantissa) =
            (bits >> self.mantissa_bits, bits & ((1 << self.mantissa_bits) - 1));
        let implied = if exponent == 0 { 0 } else { 1 << self.mantissa_bits };
        let scale = (exponent as i32).max(1) - self.bias - self.mantissa_bits;
        libm::scalbn(f64::from(mantissa + implied), scale)
    }

    /// To binary32, which has every value of both formats.
    pub(crate) fn widen(self, bits: u32) -> u32 {
        let (sign, bits) = ((bits & 0x80) << 24, bits & 0x7f);
        match bits {
            bits if bits <= self.max => sign | (self.magnitude(bits) as f32).to_bits(),
            bits if bits == self.overflow && self.overflow != NAN => sign | INF32,
            _ => sign | CANONICAL_NAN32,
        }
    }

    /// From binary32, to nearest even; beyond the largest value infinity, or NaN where there is none.
    pub(crate) fn round(self, value: u32) -> u32 {
        let (sign, bits) = ((value & SIGN32) >> 24, value & !SIGN32);
        if bits > INF32 {
            return sign | NAN;
        }
        if bits == INF32 {
            return sign | self.overflow;
        }
        let magnitude = f64::from(f32::from_bits(bits));
        let exponent = libm::ilogb(magnitude).max(1 - self.bias);
        let steps = libm::roundeven(libm::scalbn(magnitude, self.mantissa_bits - exponent)) as u32;
        // Steps of the binade above its first one; a full binade carries into the exponent by itself.
        let binade = (exponent - (1 - self.bias)) as u32;
        let rounded = (binade << self.mantissa_bits) + steps;
        sign | if rounded > self.max { self.overflow } else { rounded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the specification's tables.
    #[test]
    fn named_values() {
        let values = [
            (E4M3, 0x7e, 448.0),
            (E4M3, 0x08, 1.0 / 64.0),
            (E4M3, 0x01, 1.0 / 512.0),
            (E4M3, 0xb8, -1.0),
            (E5M2, 0x7b, 57344.0),
            (E5M2, 0x04, 1.0 / 16384.0),
            (E5M2, 0x01, 1.0 / 65536.0),
            (E5M2, 0xbc, -1.0),
        ];
        for (format, bits, value) in values {
            assert_eq!(f32::from_bits(format.widen(bits)), value);
            assert_eq!(format.round((value).to_bits()), bits);
        }
        assert_eq!((E5M2.widen(0xfc), E4M3.widen(0x7f)), (0xff80_0000, 0x7fc0_0000));
        assert_eq!(
            (E4M3.round(INF32), E5M2.round(INF32), E5M2.round(0x7f80_0001)),
            (0x7f, 0x7c, 0x7f)
        );
    }

    #[test]
    fn every_value_returns_and_ties_go_to_even() {
        for format in [E4M3, E5M2] {
            for bits in 0..=format.max {
                assert_eq!(format.round(format.widen(bits)), bits);
                if bits == format.max {
                    continue;
                }
                let (low, high) = (format.magnitude(bits), format.magnitude(bits + 1));
                let middle = ((low + high) / 2.0) as f32;
                assert_eq!(format.round(middle.to_bits()), bits + (bits & 1), "tie above {low}");
                assert_eq!(format.round(middle.to_bits() + 1), bits + 1);
            }
            // Half a step above the largest value is the first that overflows (its mantissa is odd or, for
            // E4M3, the next code is NaN's).
            let step = format.magnitude(format.max) - format.magnitude(format.max - 1);
            let edge = (format.magnitude(format.max) + step / 2.0) as f32;
            assert_eq!(format.round(edge.to_bits() - 1), format.max);
        }
        // 464 ties between 448 (even) and what would be 480; 61440 between 57344 (odd) and infinity.
        assert_eq!((E4M3.round(464_f32.to_bits()), E5M2.round(61440_f32.to_bits())), (0x7e, 0x7c));
    }
}
