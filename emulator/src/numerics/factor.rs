//! The factors of products: 16-bit and 8-bit floats taken apart.

use isa::table::Element;

/// A narrow float format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Bits of the exponent field.
    exponent_bits: u32,
    /// Bits of the fraction field.
    pub(super) fraction_bits: u32,
    /// With all exponent bits set there are infinities and NaNs; otherwise (E4M3) only all bits set is NaN.
    is_ieee: bool,
}

/// A finite factor: `significand · 2^(exponent − fraction_bits)`, the significand with its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor {
    pub significand: i32,
    pub exponent: i32,
}

impl Format {
    pub(crate) const F16: Format = Format { exponent_bits: 5, fraction_bits: 10, is_ieee: true };
    pub(crate) const BF16: Format = Format { exponent_bits: 8, fraction_bits: 7, is_ieee: true };
    const E5M2: Format = Format { exponent_bits: 5, fraction_bits: 2, is_ieee: true };
    const E4M3: Format = Format { exponent_bits: 4, fraction_bits: 3, is_ieee: false };

    /// The format of an element of a matrix, if it is a float of at most 16 bits.
    pub(crate) fn of(element: Element) -> Option<Format> {
        match element {
            Element::F16 => Some(Format::F16),
            Element::Bf16 => Some(Format::BF16),
            Element::Bf8 => Some(Format::E5M2),
            Element::Fp8 => Some(Format::E4M3),
            _ => None,
        }
    }

    /// Whether it has at most eight bits.
    pub(crate) fn is_eight_bit(self) -> bool {
        self.exponent_bits + self.fraction_bits < 8
    }

    fn magnitude(self, bits: u32) -> u32 {
        bits & ((1 << (self.exponent_bits + self.fraction_bits)) - 1)
    }

    pub(super) fn is_negative(self, bits: u32) -> bool {
        bits >> (self.exponent_bits + self.fraction_bits) & 1 == 1
    }

    /// Exponent bits all set, fraction zero.
    fn infinity(self) -> u32 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    pub(super) fn is_nan(self, bits: u32) -> bool {
        let largest_number = if self.is_ieee { self.infinity() } else { self.infinity() + 6 };
        self.magnitude(bits) > largest_number
    }

    pub(super) fn is_infinite(self, bits: u32) -> bool {
        self.is_ieee && self.magnitude(bits) == self.infinity()
    }

    /// Takes a finite number apart. Subnormals have the exponent of the smallest normal number, and so does
    /// zero.
    pub(super) fn factor(self, bits: u32) -> Factor {
        let magnitude = self.magnitude(bits);
        let field = magnitude >> self.fraction_bits;
        let hidden = if field == 0 { 0 } else { 1 << self.fraction_bits };
        let significand = (magnitude & ((1 << self.fraction_bits) - 1) | hidden).cast_signed();
        let bias = (1 << (self.exponent_bits - 1)) - 1;
        Factor {
            significand: if self.is_negative(bits) { -significand } else { significand },
            exponent: field.max(1).cast_signed() - bias,
        }
    }
}
