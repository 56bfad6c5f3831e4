//! The lane pattern of DS_SWIZZLE_B32, which its offset field holds.
//!
//! Sources: CDNA3 and RDNA3 ISA manuals, "DS_SWIZZLE_B32"; LLVM 22's names of the patterns.

use std::fmt;

use crate::format::Bits;

/// Which lane each lane reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Lane `4q + i` reads lane `4q + sel[i]`.
    QuadPerm([u8; 4]),
    /// In groups of 32 lanes, lane `i` reads lane `((i & and) | or) ^ xor`.
    BitMask {
        /// Bits of the lane number that are kept.
        and: u8,
        /// Bits that are then set.
        or: u8,
        /// Bits that are then flipped.
        xor: u8,
    },
    /// In groups of 32 lanes, rotation.
    Rotate {
        /// Towards lower lane numbers when false, higher when true.
        is_right: bool,
        /// By how many lanes.
        lanes: u8,
    },
    /// The lane exchange of a fast Fourier transform step, by its 5-bit number.
    Fft(u8),
}

const QUAD_PERM: u16 = 0x8000;
const ROTATE: u16 = 0xc000;
const FFT: u16 = 0xe000;

impl Swizzle {
    /// The pattern in an offset; `None` for offsets that LLVM has no name for.
    pub fn from_offset(offset: u16) -> Option<Swizzle> {
        let field = |high, low| Bits::new(high, low).get(offset.into()) as u8;
        match offset {
            _ if offset & 0x8000 == 0 => {
                Some(Swizzle::BitMask { and: field(4, 0), or: field(9, 5), xor: field(14, 10) })
            }
            _ if offset & 0xff00 == QUAD_PERM => {
                Some(Swizzle::QuadPerm([field(1, 0), field(3, 2), field(5, 4), field(7, 6)]))
            }
            _ if offset & 0xe000 == ROTATE => {
                Some(Swizzle::Rotate { is_right: field(10, 10) == 1, lanes: field(9, 5) })
            }
            _ if offset & 0xe000 == FFT => Some(Swizzle::Fft(field(4, 0))),
            _ => None,
        }
    }

    /// The lane that `lane` reads in a bit-mask pattern.
    pub fn bit_mask_source(and: u8, or: u8, xor: u8, lane: u32) -> u32 {
        let kept = lane & u32::from(and);
        lane & !0x1f | ((kept | u32::from(or)) ^ u32::from(xor)) & 0x1f
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Swizzle::QuadPerm([a, b, c, d]) => write!(f, "swizzle(QUAD_PERM,{a},{b},{c},{d})"),
            Swizzle::Rotate { is_right, lanes } => {
                write!(f, "swizzle(ROTATE,{},{lanes})", u8::from(is_right))
            }
            Swizzle::Fft(number) => write!(f, "swizzle(FFT,{number})"),
            Swizzle::BitMask { and, or, xor } => bit_mask(f, and, or, xor),
        }
    }
}

/// The shortest of LLVM's names for a bit-mask pattern.
fn bit_mask(f: &mut fmt::Formatter<'_>, and: u8, or: u8, xor: u8) -> fmt::Result {
    let keeps_all = and == 0x1f && or == 0;
    let group = 0x20 - and;
    match xor {
        _ if keeps_all && xor.is_power_of_two() => write!(f, "swizzle(SWAP,{xor})"),
        _ if keeps_all && xor != 0 && (xor + 1).is_power_of_two() => {
            write!(f, "swizzle(REVERSE,{})", xor + 1)
        }
        0 if group > 1 && group.is_power_of_two() && or < group => {
            write!(f, "swizzle(BROADCAST,{group},{or})")
        }
        _ => {
            let letter = |bit: u32| match (fate(and, or, xor, bit, 0), fate(and, or, xor, bit, 1)) {
                (0, 0) => '0',
                (1, 1) => '1',
                (0, _) => 'p',
                _ => 'i',
            };
            let letters: String = (0..5).rev().map(letter).collect();
            write!(f, "swizzle(BITMASK_PERM,\"{letters}\")")
        }
    }
}

/// What a bit of the lane number becomes.
fn fate(and: u8, or: u8, xor: u8, bit: u32, value: u32) -> u32 {
    Swizzle::bit_mask_source(and, or, xor, value << bit) >> bit & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_patterns() {
        let cases = [
            (0x0010, "swizzle(BROADCAST,16,0)"),
            (0x041f, "swizzle(SWAP,1)"),
            (0x0c1f, "swizzle(REVERSE,4)"),
            (0x0024, "swizzle(BITMASK_PERM,\"00p01\")"),
            (0x330c, "swizzle(BITMASK_PERM,\"10i00\")"),
            (0x80e4, "swizzle(QUAD_PERM,0,1,2,3)"),
            (0xc280, "swizzle(ROTATE,0,20)"),
            (0xe01e, "swizzle(FFT,30)"),
        ];
        for (offset, text) in cases {
            assert_eq!(
                Swizzle::from_offset(offset).map(|pattern| pattern.to_string()).as_deref(),
                Some(text)
            );
        }
        assert_eq!(Swizzle::from_offset(0x8100), None);
    }

    #[test]
    fn bit_masks_stay_inside_groups_of_32_lanes() {
        assert_eq!(Swizzle::bit_mask_source(0x1f, 0, 0x1f, 33), 62);
        assert_eq!(Swizzle::bit_mask_source(0x00, 3, 0, 63), 35);
    }
}
