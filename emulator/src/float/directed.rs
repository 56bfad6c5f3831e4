//! Sums, products and narrowing conversions in the rounding modes other than to nearest: exact in 128 bits with a
//! sticky bit, rounded once.
//!
//! Only finite numbers come here; with an infinity or a NaN nothing is rounded.

/// How results are rounded (MODE.round; AMDGPUUsage, `FLOAT_ROUND_MODE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    NearestEven,
    Up,
    Down,
    TowardZero,
}

impl Rounding {
    /// From two bits of MODE.
    pub(crate) fn from_bits(bits: u32) -> Rounding {
        match bits & 3 {
            0 => Rounding::NearestEven,
            1 => Rounding::Up,
            2 => Rounding::Down,
            _ => Rounding::TowardZero,
        }
    }

    /// Whether a magnitude with this sign is rounded away from zero, given what lies behind its last digit.
    fn is_away(self, is_negative: bool, is_odd: bool, rest: Rest) -> bool {
        match self {
            Rounding::NearestEven => rest == Rest::More || rest == Rest::Half && is_odd,
            Rounding::Up => !is_negative && rest != Rest::Nothing,
            Rounding::Down => is_negative && rest != Rest::Nothing,
            Rounding::TowardZero => false,
        }
    }
}

/// What lies behind the last digit, in units of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    Less,
    Half,
    More,
}

/// A binary format of IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Digits of a significand, the hidden one included.
    digits: u32,
    /// Exponent of the last digit of subnormal numbers.
    last: i32,
    /// Bits of the exponent.
    exponent_bits: u32,
}

pub(crate) const F16: Format = Format { digits: 11, last: -24, exponent_bits: 5 };
pub(crate) const F32: Format = Format { digits: 24, last: -149, exponent_bits: 8 };
pub(crate) const F64: Format = Format { digits: 53, last: -1074, exponent_bits: 11 };

/// A finite number: significand · 2^exponent; with `is_sticky` its magnitude is larger by less than one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    is_negative: bool,
    significand: u128,
    exponent: i32,
    is_sticky: bool,
}

/// Where the first digit of a normalised significand is: sums of two stay in 128 bits, and a difference that
/// lost digits has far more than any format keeps.
const TOP: u32 = 125;

impl Number {
    /// A whole number.
    pub(crate) fn whole(is_negative: bool, magnitude: u64) -> Number {
        Number { is_negative, significand: magnitude.into(), exponent: 0, is_sticky: false }
    }

    /// The number of these bits, if it is finite.
    pub(crate) fn of(format: Format, bits: u64) -> Option<Number> {
        let fraction_bits = format.digits - 1;
        let (fraction, field) = (
            bits & ((1 << fraction_bits) - 1),
            bits >> fraction_bits & ((1 << format.exponent_bits) - 1),
        );
        let is_normal = field != 0;
        let significand = u128::from(fraction) | u128::from(is_normal) << fraction_bits;
        let exponent = format.last + (field as i32 - 1).max(0);
        let is_negative = bits >> (fraction_bits + format.exponent_bits) & 1 == 1;
        let is_finite = field != (1 << format.exponent_bits) - 1;
        is_finite.then_some(Number { is_negative, significand, exponent, is_sticky: false })
    }

    fn normalised(self) -> Number {
        let shift = self.significand.leading_zeros().saturating_sub(127 - TOP);
        Number {
            significand: self.significand << shift,
            exponent: self.exponent - shift as i32,
            ..self
        }
    }

    pub(crate) fn negated(self) -> Number {
        Number { is_negative: !self.is_negative, ..self }
    }

    /// Times a power of two.
    pub(crate) fn scaled(self, by: i32) -> Number {
        Number { exponent: self.exponent + by.clamp(-5000, 5000), ..self }
    }

    /// The product of two exact numbers of at most 53 digits.
    pub(crate) fn times(self, other: Number) -> Number {
        Number {
            is_negative: self.is_negative != other.is_negative,
            significand: self.significand * other.significand,
            exponent: self.exponent + other.exponent,
            is_sticky: false,
        }
    }

    /// The sum of two exact numbers; a zero that two others cancel to has the sign that the mode asks for.
    pub(crate) fn plus(self, other: Number, rounding: Rounding) -> Number {
        if self.significand == 0 && other.significand == 0 {
            let is_negative = match self.is_negative == other.is_negative {
                true => self.is_negative,
                false => rounding == Rounding::Down,
            };
            return Number { is_negative, ..self };
        }
        if self.significand == 0 || other.significand == 0 {
            return if self.significand == 0 { other } else { self };
        }
        let (a, b) = (self.normalised(), other.normalised());
        let is_a_larger = (a.exponent, a.significand) >= (b.exponent, b.significand);
        let (large, small) = if is_a_larger { (a, b) } else { (b, a) };
        let distance = (large.exponent - small.exponent).unsigned_abs();
        let shifted = small.significand.checked_shr(distance).unwrap_or(0);
        let is_sticky = shifted.checked_shl(distance).unwrap_or(0) != small.significand;
        if large.is_negative == small.is_negative {
            return Number { significand: large.significand + shifted, is_sticky, ..large };
        }
        let significand = large.significand - shifted - u128::from(is_sticky);
        if significand == 0 && !is_sticky {
            return Number { is_negative: rounding == Rounding::Down, significand, ..large };
        }
        Number { significand, is_sticky, ..large }
    }

    /// The bits in a format, rounded.
    pub(crate) fn round(self, format: Format, rounding: Rounding) -> u64 {
        let sign = u64::from(self.is_negative) << (format.digits - 1 + format.exponent_bits);
        if self.significand == 0 {
            return sign;
        }
        let top = 127 - self.significand.leading_zeros() as i32;
        let last = (self.exponent + top - (format.digits as i32 - 1)).max(format.last);
        let (kept, rest) = self.split(last - self.exponent);
        let is_away = rounding.is_away(self.is_negative, kept & 1 == 1, rest);
        let kept = kept + u64::from(is_away);
        // The hidden digit of a normal number counts its exponent up, a carry out of the significand too.
        let bits = (((last - format.last) as u64) << (format.digits - 1)) + kept;
        let infinity = ((1 << format.exponent_bits) - 1) << (format.digits - 1);
        if bits < infinity {
            return sign | bits;
        }
        let is_infinite = match rounding {
            Rounding::NearestEven => true,
            Rounding::Up => !self.is_negative,
            Rounding::Down => self.is_negative,
            Rounding::TowardZero => false,
        };
        sign | if is_infinite { infinity } else { infinity - 1 }
    }

    /// The digits from a place on, and what lies behind them.
    fn split(self, place: i32) -> (u64, Rest) {
        if place <= 0 {
            let rest = if self.is_sticky { Rest::Less } else { Rest::Nothing };
            return ((self.significand << place.unsigned_abs()) as u64, rest);
        }
        let place = place.unsigned_abs();
        let kept = self.significand.checked_shr(place).unwrap_or(0);
        let behind = self.significand ^ kept.checked_shl(place).unwrap_or(0);
        let half = 1_u128.checked_shl(place - 1).unwrap_or(0);
        let rest = match behind {
            0 if !self.is_sticky => Rest::Nothing,
            _ if half == 0 || behind < half => Rest::Less,
            _ if behind == half && !self.is_sticky => Rest::Half,
            _ => Rest::More,
        };
        (kept as u64, rest)
    }
}

#[cfg(test)]
mod tests;
