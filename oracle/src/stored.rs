//! Tensors as a kernel sees them in memory: widening is exact, narrowing rounds to nearest even once.

use half::{bf16, f16};
use specs::{Dtype, Element};

use crate::OracleError;

/// A tensor in row-major order, in the type it is stored in.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// IEEE single.
    F32(Vec<f32>),
    /// bfloat16.
    Bf16(Vec<bf16>),
    /// IEEE half.
    F16(Vec<f16>),
}

impl Stored {
    /// The values rounded once to `dtype` (nearest, ties to even).
    pub fn round(dtype: Dtype, values: impl IntoIterator<Item = f64>) -> Stored {
        let values = values.into_iter();
        match dtype {
            Dtype::F32 => Stored::F32(values.map(|x| x as f32).collect()),
            Dtype::Bf16 => Stored::Bf16(values.map(|x| bf16::from_f32(to_odd(x))).collect()),
            Dtype::F16 => Stored::F16(values.map(|x| f16::from_f32(to_odd(x))).collect()),
        }
    }

    /// `len` quiet NaNs: an output that a kernel must write whole, or padding that it must not use.
    pub fn poison(dtype: Dtype, len: usize) -> Stored {
        match dtype {
            Dtype::F32 => Stored::F32(vec![f32::NAN; len]),
            Dtype::Bf16 => Stored::Bf16(vec![bf16::NAN; len]),
            Dtype::F16 => Stored::F16(vec![f16::NAN; len]),
        }
    }

    /// The tensor whose little-endian bytes these are; `tensor` is its name in errors.
    ///
    /// # Errors
    /// [`OracleError::Bytes`] when the bytes are not a whole number of elements.
    pub fn from_le_bytes(
        tensor: &'static str,
        dtype: Dtype,
        bytes: &[u8],
    ) -> Result<Stored, OracleError> {
        let unit = Element::from(dtype).size_bytes() as usize;
        if !bytes.len().is_multiple_of(unit) {
            return Err(OracleError::Bytes { tensor, got: bytes.len(), unit });
        }
        let halves = || bytes.as_chunks::<2>().0.iter().map(|&b| u16::from_le_bytes(b));
        Ok(match dtype {
            Dtype::F32 => Stored::F32(
                bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect(),
            ),
            Dtype::Bf16 => Stored::Bf16(halves().map(bf16::from_bits).collect()),
            Dtype::F16 => Stored::F16(halves().map(f16::from_bits).collect()),
        })
    }

    /// The tensor's bytes, little-endian.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        match self {
            Stored::F32(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Stored::Bf16(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Stored::F16(values) => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        match self {
            Stored::F32(_) => Dtype::F32,
            Stored::Bf16(_) => Dtype::Bf16,
            Stored::F16(_) => Dtype::F16,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Stored::F32(values) => values.len(),
            Stored::Bf16(values) => values.len(),
            Stored::F16(values) => values.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `index`, exactly, as f32.
    pub fn f32_at(&self, index: usize) -> f32 {
        match self {
            Stored::F32(values) => values[index],
            Stored::Bf16(values) => values[index].to_f32(),
            Stored::F16(values) => values[index].to_f32(),
        }
    }

    /// Element `index`, exactly, as f64.
    pub fn f64_at(&self, index: usize) -> f64 {
        f64::from(self.f32_at(index))
    }

    /// All elements, exactly, as f64.
    pub fn to_f64(&self) -> Vec<f64> {
        (0..self.len()).map(|index| self.f64_at(index)).collect()
    }
}

/// Rounds to f32 so that a second rounding, to 22 significant bits or fewer, gives what one rounding of `x` gives:
/// an inexact result takes the neighbour whose last bit is set (Boldo and Melquiond, "Emulation of
/// FMA and correctly rounded sums", 2008).
fn to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let inexact = f64::from(nearest) != x && nearest.is_finite();
    if !inexact || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    match x.abs() > f64::from(nearest).abs() {
        true => f32::from_bits(nearest.to_bits() + 1),
        false => f32::from_bits(nearest.to_bits() - 1),
    }
}

#[cfg(test)]
mod tests {
    use specs::Choice;

    use super::*;

    #[test]
    fn narrowing_rounds_once() {
        // Just above the midpoint of two bf16 values by less than half an f32 ulp: via a nearest f32
        // it would look like a tie and go to the even neighbour below.
        let x = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        let up = 1.0 + 2f64.powi(-7);
        assert_eq!(Stored::round(Dtype::Bf16, [x, -x]).to_f64(), [up, -up]);
        let tie = 1.0 + 2f64.powi(-8);
        assert_eq!(Stored::round(Dtype::Bf16, [tie, tie - 1e-12]).to_f64(), [1.0, 1.0]);
        let half_up = 1.0 + 2f64.powi(-10);
        let just_above = 1.0 + 2f64.powi(-11) + 2f64.powi(-45);
        assert_eq!(Stored::round(Dtype::F16, [just_above]).to_f64(), [half_up]);
    }

    #[test]
    fn narrowing_at_the_edges() {
        // 2^-25 is the midpoint of zero and the least f16 subnormal; the f32 below 2^-149 is zero.
        let values =
            [2f64.powi(-25), 2f64.powi(-25) * 1.000_000_001, -1e-300, 65_519.999, 65_520.0];
        let got = Stored::round(Dtype::F16, values).to_f64();
        assert_eq!(got, [0.0, 2f64.powi(-24), -0.0, 65_504.0, f64::INFINITY]);
        assert!(got[2].is_sign_negative());
        assert!(Stored::round(Dtype::Bf16, [f64::NAN]).f64_at(0).is_nan());
    }

    #[test]
    fn bytes_round_trip_and_refuse_fractions() {
        for &dtype in Dtype::ALL {
            let tensor = Stored::round(dtype, [1.5, -0.0, 3e-5]);
            let bytes = tensor.to_le_bytes();
            let unit = Element::from(dtype).size_bytes() as usize;
            assert_eq!(bytes.len(), 3 * unit);
            assert_eq!(Stored::from_le_bytes("x", dtype, &bytes), Ok(tensor));
            let refused = Stored::from_le_bytes("x", dtype, &bytes[1..]);
            let want = OracleError::Bytes { tensor: "x", got: bytes.len() - 1, unit };
            assert_eq!(refused, Err(want));
        }
    }
}
