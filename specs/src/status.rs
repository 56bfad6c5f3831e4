//! The status word: one sticky u32 in global memory in which kernels report numerical trouble.
//!
//! Bits are only ever set, by atomic OR, from any lane of any launch that is given the word. The contract
//! (what sets a bit, what the word cannot see, what a caller owes) is in `docs/status_word.md`.

use std::fmt;

use serde::Serialize;

use crate::choice::choice;

choice! {
    /// One condition that a kernel reports. Bit numbers are part of the ABI and never change.
    pub enum StatusBit {
        /// Bit 0: an input element was subnormal.
        InputSubnormal = "INPUT_SUBNORMAL",
        /// Bit 1: an input element was an infinity or NaN.
        InputNonfinite = "INPUT_NONFINITE",
        /// Bit 2: checked arithmetic on acceptable inputs gave a subnormal.
        ArithmeticSubnormal = "ARITHMETIC_SUBNORMAL",
        /// Bit 3: checked arithmetic on acceptable inputs gave an infinity or NaN.
        ArithmeticNonfinite = "ARITHMETIC_NONFINITE",
        /// Bit 4: a value that the problem promised to be below a bound was not.
        ValueBound = "VALUE_BOUND",
        /// Bit 5: rows of keys or queries, or values, are too small for the operands of the form.
        OperandRange = "OPERAND_RANGE",
    }
}

impl StatusBit {
    /// The bit's number, from the least significant.
    pub const fn number(self) -> u32 {
        match self {
            StatusBit::InputSubnormal => 0,
            StatusBit::InputNonfinite => 1,
            StatusBit::ArithmeticSubnormal => 2,
            StatusBit::ArithmeticNonfinite => 3,
            StatusBit::ValueBound => 4,
            StatusBit::OperandRange => 5,
        }
    }

    /// The word in which only this bit is set.
    pub const fn mask(self) -> u32 {
        1 << self.number()
    }
}

/// A status word as it was read back. Anything but [`StatusWord::CLEAN`] invalidates the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StatusWord(u32);

/// A status word with bits that have no meaning: memory was overwritten, or the kernel is newer than this
/// reader. The run is invalid either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[error(
    "status word 0x{bits:08x} has unknown bits 0x{unknown:08x}: known are bits 0 to 5 (0x{:08x}); \
     the word was overwritten or the kernel is newer: discard the run",
    StatusWord::KNOWN
)]
pub struct UnknownStatusBits {
    /// The word that was read.
    pub bits: u32,
    /// Those of its bits that have no meaning.
    pub unknown: u32,
}

impl StatusWord {
    /// Nothing was reported.
    pub const CLEAN: StatusWord = StatusWord(0);

    /// Every bit that has a meaning.
    pub const KNOWN: u32 = StatusBit::InputSubnormal.mask()
        | StatusBit::InputNonfinite.mask()
        | StatusBit::ArithmeticSubnormal.mask()
        | StatusBit::ArithmeticNonfinite.mask()
        | StatusBit::ValueBound.mask()
        | StatusBit::OperandRange.mask();

    /// The word with these bits.
    ///
    /// # Errors
    /// Bits that have no meaning.
    pub fn from_bits(bits: u32) -> Result<StatusWord, UnknownStatusBits> {
        let unknown = bits & !StatusWord::KNOWN;
        if unknown == 0 { Ok(StatusWord(bits)) } else { Err(UnknownStatusBits { bits, unknown }) }
    }

    /// The word's bits.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether nothing was reported.
    pub fn is_clean(self) -> bool {
        self == StatusWord::CLEAN
    }

    /// Whether a condition was reported.
    pub fn contains(self, bit: StatusBit) -> bool {
        self.0 & bit.mask() != 0
    }

    /// Every condition that was reported, in the order of bits.
    pub fn reported(self) -> impl Iterator<Item = StatusBit> {
        use crate::choice::Choice;
        StatusBit::ALL.iter().copied().filter(move |bit| self.contains(*bit))
    }
}

impl From<StatusBit> for StatusWord {
    fn from(bit: StatusBit) -> StatusWord {
        StatusWord(bit.mask())
    }
}

impl std::ops::BitOr for StatusWord {
    type Output = StatusWord;

    /// The word after both reported.
    fn bitor(self, other: StatusWord) -> StatusWord {
        StatusWord(self.0 | other.0)
    }
}

impl fmt::Display for StatusWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("clean");
        }
        let names: Vec<String> = self.reported().map(|bit| bit.to_string()).collect();
        f.write_str(&names.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Choice;

    #[test]
    fn bit_numbers_are_the_abi() {
        let numbers: Vec<u32> = StatusBit::ALL.iter().map(|bit| bit.number()).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
        assert_eq!(StatusWord::KNOWN, 0b11_1111);
    }

    #[test]
    fn every_known_word_is_read_and_shown() {
        for bits in 0..=StatusWord::KNOWN {
            let word = StatusWord::from_bits(bits).expect("known bits");
            assert_eq!(word.bits(), bits);
            assert_eq!(word.reported().count(), bits.count_ones() as usize);
            assert_eq!(word.is_clean(), bits == 0);
        }
        let word =
            StatusWord::from(StatusBit::InputNonfinite) | StatusBit::ArithmeticNonfinite.into();
        assert_eq!(word.to_string(), "INPUT_NONFINITE | ARITHMETIC_NONFINITE");
        assert_eq!(StatusWord::CLEAN.to_string(), "clean");
    }

    #[test]
    fn unknown_bits_are_an_error_that_shows_them() {
        for bit in 6..32 {
            let error = StatusWord::from_bits(1 << bit | 1).expect_err("unknown bit");
            assert_eq!(error, UnknownStatusBits { bits: 1 << bit | 1, unknown: 1 << bit });
        }
        let text = StatusWord::from_bits(0x8000_0002).expect_err("unknown bit").to_string();
        assert!(
            text.contains("0x80000002")
                && text.contains("0x80000000")
                && text.contains("0x0000003f"),
            "{text}"
        );
    }
}
