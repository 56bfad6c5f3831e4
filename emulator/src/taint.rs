//! How undefined bits travel through an operation.
//!
//! Every register bit, and every byte of memory, is either defined or not. A rule says which bits of a
//! result are undefined, given the operands' values and undefined bits. Rules are exact or pessimistic,
//! never optimistic: `x & 0` is defined whatever `x` is, a float sum with one undefined bit is not
//! defined at all. Rules run only when an operand has an undefined bit.

/// A value and which of its bits are undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    /// The bits; those that are undefined hold whatever was there.
    pub value: u64,
    /// One where the bit is undefined.
    pub undefined: u64,
}

/// From operands (in the order of the row; absent ones are zero and defined) to the undefined bits of
/// the result, of which the width of the result is kept.
pub(crate) type Rule = fn([Bits; 3]) -> u64;

impl Bits {
    /// A defined value.
    pub(crate) fn defined(value: u64) -> Bits {
        Bits { value, undefined: 0 }
    }

    fn all_or_nothing(undefined: u64) -> u64 {
        if undefined == 0 { 0 } else { u64::MAX }
    }

    /// A bit is zero for certain, whatever the undefined bits are.
    fn is_surely(self, bit: bool) -> u64 {
        !self.undefined & if bit { self.value } else { !self.value }
    }

    fn and(self, other: Bits) -> Bits {
        let undefined =
            (self.undefined | other.undefined) & !self.is_surely(false) & !other.is_surely(false);
        Bits { value: self.value & other.value, undefined }
    }

    fn or(self, other: Bits) -> Bits {
        let undefined =
            (self.undefined | other.undefined) & !self.is_surely(true) & !other.is_surely(true);
        Bits { value: self.value | other.value, undefined }
    }

    fn xor(self, other: Bits) -> Bits {
        Bits { value: self.value ^ other.value, undefined: self.undefined | other.undefined }
    }

    fn not(self) -> Bits {
        Bits { value: !self.value, undefined: self.undefined }
    }

    /// Shifted by a defined amount; an undefined amount (in the bits that count) undefines everything.
    fn shifted(self, amount: Bits, width: u32, shift: impl Fn(u64, u32) -> u64) -> Bits {
        let counted = u64::from(width - 1);
        let by = (amount.value & counted) as u32;
        let undefined =
            if amount.undefined & counted == 0 { shift(self.undefined, by) } else { u64::MAX };
        Bits { value: shift(self.value, by), undefined }
    }
}

/// Any undefined bit undefines the whole result: floats, comparisons, multiplications of high parts.
pub(crate) fn any([a, b, c]: [Bits; 3]) -> u64 {
    Bits::all_or_nothing(a.undefined | b.undefined | c.undefined)
}

/// Each bit depends on the bits of equal place: moves, exclusive or, complement.
pub(crate) fn each([a, b, c]: [Bits; 3]) -> u64 {
    a.undefined | b.undefined | c.undefined
}

/// Carries go upwards only: sums, differences, low products.
pub(crate) fn upwards(operands: [Bits; 3]) -> u64 {
    let undefined = each(operands);
    undefined | undefined.wrapping_neg()
}

/// `a & b`.
pub(crate) fn and([a, b, _]: [Bits; 3]) -> u64 {
    a.and(b).undefined
}

/// `a | b`.
pub(crate) fn or([a, b, _]: [Bits; 3]) -> u64 {
    a.or(b).undefined
}

/// `a & !b`.
pub(crate) fn and_not([a, b, _]: [Bits; 3]) -> u64 {
    a.and(b.not()).undefined
}

/// `a | !b`.
pub(crate) fn or_not([a, b, _]: [Bits; 3]) -> u64 {
    a.or(b.not()).undefined
}

/// `(a & b) | c`.
pub(crate) fn and_or([a, b, c]: [Bits; 3]) -> u64 {
    a.and(b).or(c).undefined
}

/// `a | b | c`.
pub(crate) fn or3([a, b, c]: [Bits; 3]) -> u64 {
    a.or(b).or(c).undefined
}

/// `(a & b) | (!a & c)`.
pub(crate) fn insert([a, b, c]: [Bits; 3]) -> u64 {
    let chosen = a.and(b).or(a.not().and(c)).undefined;
    // Where the selecting bit is undefined, both sources agreeing still define the result.
    let agree = !(b.value ^ c.value) & !b.undefined & !c.undefined;
    chosen & !agree
}

/// `a << b`, 32 bits.
pub(crate) fn shift_left32([a, b, _]: [Bits; 3]) -> u64 {
    a.shifted(b, 32, |value, by| value << by).undefined
}

/// `b << a`, 32 bits.
pub(crate) fn shift_left_reversed32([a, b, _]: [Bits; 3]) -> u64 {
    shift_left32([b, a, Bits::default()])
}

/// `a >> b`, 32 bits, zeros shifted in.
pub(crate) fn shift_right32([a, b, _]: [Bits; 3]) -> u64 {
    a.shifted(b, 32, |value, by| (value & 0xffff_ffff) >> by).undefined
}

/// `b >> a`, 32 bits, zeros shifted in.
pub(crate) fn shift_right_reversed32([a, b, _]: [Bits; 3]) -> u64 {
    shift_right32([b, a, Bits::default()])
}

/// `a >> b`, 32 bits, sign shifted in.
pub(crate) fn shift_right_signed32([a, b, _]: [Bits; 3]) -> u64 {
    let sign_extended = |value: u64| i64::from((value as u32).cast_signed());
    a.shifted(b, 32, |value, by| (sign_extended(value) >> by).cast_unsigned()).undefined
}

/// `b >> a`, 32 bits, sign shifted in.
pub(crate) fn shift_right_signed_reversed32([a, b, _]: [Bits; 3]) -> u64 {
    shift_right_signed32([b, a, Bits::default()])
}

/// `a << b`, 64 bits.
pub(crate) fn shift_left64([a, b, _]: [Bits; 3]) -> u64 {
    a.shifted(b, 64, |value, by| value << by).undefined
}

/// `b << a`, 64 bits.
pub(crate) fn shift_left_reversed64([a, b, _]: [Bits; 3]) -> u64 {
    shift_left64([b, a, Bits::default()])
}

/// `a >> b`, 64 bits, zeros shifted in.
pub(crate) fn shift_right64([a, b, _]: [Bits; 3]) -> u64 {
    a.shifted(b, 64, |value, by| value >> by).undefined
}

/// `b >> a`, 64 bits, zeros shifted in.
pub(crate) fn shift_right_reversed64([a, b, _]: [Bits; 3]) -> u64 {
    shift_right64([b, a, Bits::default()])
}

/// `a >> b`, 64 bits, sign shifted in.
pub(crate) fn shift_right_signed64([a, b, _]: [Bits; 3]) -> u64 {
    a.shifted(b, 64, |value, by| (value.cast_signed() >> by).cast_unsigned()).undefined
}

/// `b >> a`, 64 bits, sign shifted in.
pub(crate) fn shift_right_signed_reversed64([a, b, _]: [Bits; 3]) -> u64 {
    shift_right_signed64([b, a, Bits::default()])
}

/// `(a << b) | c`.
pub(crate) fn shift_or([a, b, c]: [Bits; 3]) -> u64 {
    a.shifted(b, 32, |value, by| value << by).or(c).undefined
}

/// `(a << b) + c`, 32 bits.
pub(crate) fn shift_add([a, b, c]: [Bits; 3]) -> u64 {
    upwards([a.shifted(b, 32, |value, by| value << by), c, Bits::default()])
}

/// `(a << b) + c`, 64 bits; the shift is 0 to 7.
pub(crate) fn shift_add64([a, b, c]: [Bits; 3]) -> u64 {
    upwards([a.shifted(b, 8, |value, by| value << by), c, Bits::default()])
}

/// `(a ^ b) + c`.
pub(crate) fn xor_add([a, b, c]: [Bits; 3]) -> u64 {
    upwards([a.xor(b), c, Bits::default()])
}

/// The low word of `(a:b) >> (c % 32)`.
pub(crate) fn align_bit([a, b, c]: [Bits; 3]) -> u64 {
    funnel(a, b, Bits { value: c.value & 31, undefined: c.undefined & 31 })
}

/// The low word of `(a:b) >> 8·(c % 4)`.
pub(crate) fn align_byte([a, b, c]: [Bits; 3]) -> u64 {
    funnel(a, b, Bits { value: (c.value & 3) * 8, undefined: c.undefined & 3 })
}

fn funnel(high: Bits, low: Bits, amount: Bits) -> u64 {
    let undefined = high.undefined << 32 | low.undefined & 0xffff_ffff;
    if amount.undefined == 0 { undefined >> amount.value } else { u64::MAX }
}

/// `c` bits of `a` from bit `b` on; `c` and `b` count modulo 32.
pub(crate) fn extract([a, b, c]: [Bits; 3]) -> u64 {
    if (b.undefined | c.undefined) & 31 != 0 {
        return u64::MAX;
    }
    let field = (1 << (c.value & 31)) - 1;
    let undefined = (a.undefined & 0xffff_ffff) >> (b.value & 31) & field;
    // A sign extension may copy the top bit upwards.
    if undefined == 0 { 0 } else { undefined | u64::MAX << (c.value & 31) }
}

/// Four bytes picked from `a:b` (as `{a, b}`, `b` lowest) by the bytes of `c`.
pub(crate) fn permute_bytes([a, b, c]: [Bits; 3]) -> u64 {
    let bytes = (a.undefined << 32 | b.undefined & 0xffff_ffff).to_le_bytes();
    let one = |place: u32| {
        let selector = c.value >> (8 * place) & 0xff;
        let picked = match selector {
            _ if c.undefined >> (8 * place) & 0xff != 0 => 0xff,
            0..=7 => bytes[selector as usize],
            // A byte full of the sign of an odd byte.
            8..=11 if bytes[(selector as usize - 8) * 2 + 1] & 0x80 != 0 => 0xff,
            _ => 0,
        };
        u64::from(picked) << (8 * place)
    };
    (0..4).map(one).sum()
}

/// Two halves, each wholly undefined when one of its sources' bits is: packed conversions of a and b.
pub(crate) fn pack_halves([a, b, _]: [Bits; 3]) -> u64 {
    Bits::all_or_nothing(a.undefined) & 0xffff | Bits::all_or_nothing(b.undefined) << 16
}

/// Bits in reverse order.
pub(crate) fn reverse32([a, _, _]: [Bits; 3]) -> u64 {
    u64::from((a.undefined as u32).reverse_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undefined(value: u64, undefined: u64) -> Bits {
        Bits { value, undefined }
    }

    /// A rule is sound when no choice of the undefined bits changes a bit that it calls defined.
    fn assert_sound(rule: Rule, value: impl Fn(u32, u32, u32) -> u32, operands: [Bits; 3]) {
        let claimed = !rule(operands) as u32;
        let choices = [0, u32::MAX, 0x5555_5555, 0xaaaa_aaaa, 0x1234_5678];
        let choose = |bits: Bits, choice: u32| {
            bits.value as u32 & !(bits.undefined as u32) | choice & bits.undefined as u32
        };
        let mut results = Vec::new();
        for a in choices {
            for b in choices {
                for c in choices {
                    let [a, b, c] =
                        [(0, a), (1, b), (2, c)].map(|(k, choice)| choose(operands[k], choice));
                    results.push(value(a, b, c));
                }
            }
        }
        for result in &results {
            assert_eq!(result & claimed, results[0] & claimed, "{operands:x?}");
        }
    }

    #[test]
    fn rules_never_call_a_changing_bit_defined() {
        type Case = (Rule, fn(u32, u32, u32) -> u32);
        let cases: [Case; 12] = [
            (and, |a, b, _| a & b),
            (or, |a, b, _| a | b),
            (and_not, |a, b, _| a & !b),
            (and_or, |a, b, c| a & b | c),
            (insert, |a, b, c| a & b | !a & c),
            (upwards, |a, b, c| a.wrapping_add(b).wrapping_add(c)),
            (shift_left32, |a, b, _| a << (b & 31)),
            (shift_right32, |a, b, _| a >> (b & 31)),
            (shift_or, |a, b, c| a << (b & 31) | c),
            (xor_add, |a, b, c| (a ^ b).wrapping_add(c)),
            (align_bit, |a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32),
            (shift_add, |a, b, c| (a << (b & 31)).wrapping_add(c)),
        ];
        let samples = [
            undefined(0, 0),
            undefined(5, 0),
            undefined(0xffff_0000, 0x0000_ff00),
            undefined(0x8000_0001, 0x8000_0000),
            undefined(3, 0x10),
            undefined(0, 0xffff_ffff),
        ];
        for (rule, value) in cases {
            for a in samples {
                for b in samples {
                    for c in samples {
                        assert_sound(rule, value, [a, b, c]);
                    }
                }
            }
        }
    }

    #[test]
    fn masking_defines() {
        assert_eq!(and([undefined(0, 0xffff_ffff), undefined(0xff, 0), Bits::default()]), 0xff);
        assert_eq!(
            shift_left32([undefined(0, 0xffff_0000), Bits::defined(16), Bits::default()]) as u32,
            0
        );
    }

    #[test]
    fn a_byte_permutation_moves_only_the_bytes_it_picks() {
        let a = undefined(0, 0xff00_0000);
        assert_eq!(permute_bytes([a, Bits::default(), Bits::defined(0x0c0c_0704)]), 0x0000_ff00);
    }
}
