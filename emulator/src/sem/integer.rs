//! Integer arithmetic that several families share.

/// Sign of the low `width` bits (1 to 32) extended.
pub(crate) fn sign_extend(value: u32, width: u32) -> u32 {
    let unused = 32 - width;
    ((value << unused).cast_signed() >> unused).cast_unsigned()
}

/// As a signed number.
pub(crate) fn signed(value: u32) -> i32 {
    value.cast_signed()
}

/// Sum and carry.
pub(crate) fn add_carry(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = u64::from(a) + u64::from(b) + u64::from(carry);
    ((sum & 0xffff_ffff) as u32, sum >> 32 != 0)
}

/// Difference and borrow.
pub(crate) fn sub_borrow(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let difference = i64::from(a) - i64::from(b) - i64::from(borrow);
    ((difference & 0xffff_ffff) as u32, difference < 0)
}

/// Signed sum and overflow.
pub(crate) fn add_overflow(a: u32, b: u32) -> (u32, bool) {
    let (sum, overflow) = signed(a).overflowing_add(signed(b));
    (sum.cast_unsigned(), overflow)
}

/// Signed difference and overflow.
pub(crate) fn sub_overflow(a: u32, b: u32) -> (u32, bool) {
    let (difference, overflow) = signed(a).overflowing_sub(signed(b));
    (difference.cast_unsigned(), overflow)
}

/// High word of the unsigned product.
pub(crate) fn mul_high(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// High word of the signed product.
pub(crate) fn mul_high_signed(a: u32, b: u32) -> u32 {
    ((i64::from(signed(a)) * i64::from(signed(b))) >> 32) as u32
}

/// Smaller of signed numbers.
pub(crate) fn min_signed(a: u32, b: u32) -> u32 {
    signed(a).min(signed(b)).cast_unsigned()
}

/// Larger of signed numbers.
pub(crate) fn max_signed(a: u32, b: u32) -> u32 {
    signed(a).max(signed(b)).cast_unsigned()
}

/// The middle of three signed numbers.
pub(crate) fn median_signed(a: u32, b: u32, c: u32) -> u32 {
    max_signed(min_signed(a, b), min_signed(max_signed(a, b), c))
}

/// The middle of three unsigned numbers.
pub(crate) fn median(a: u32, b: u32, c: u32) -> u32 {
    a.min(b).max(a.max(b).min(c))
}

/// `width` (0 to 31) bits from `offset` on.
pub(crate) fn extract(value: u32, offset: u32, width: u32) -> u32 {
    value >> (offset & 31) & ((1 << (width & 31)) - 1)
}

/// As [`extract`], sign-extended; zero bits give zero.
pub(crate) fn extract_signed(value: u32, offset: u32, width: u32) -> u32 {
    match width & 31 {
        0 => 0,
        width => sign_extend(extract(value, offset, width), width),
    }
}

/// Leading zeros, or all ones for zero.
pub(crate) fn leading_zeros(value: u32) -> u32 {
    if value == 0 { u32::MAX } else { value.leading_zeros() }
}

/// Trailing zeros, or all ones for zero.
pub(crate) fn trailing_zeros(value: u32) -> u32 {
    if value == 0 { u32::MAX } else { value.trailing_zeros() }
}

/// Bits from the top that equal the sign, or all ones when all do.
pub(crate) fn leading_signs(value: u32) -> u32 {
    leading_zeros(if signed(value) < 0 { !value } else { value })
}

/// Four bytes of `{high, low}` picked by selectors: 0–7 a byte, 8–11 the sign of an odd byte, 12 zero,
/// above ones.
///
/// Source: RDNA3 ISA manual, `V_PERM_B32`.
pub(crate) fn permute_bytes(high: u32, low: u32, selectors: u32) -> u32 {
    let bytes = (u64::from(high) << 32 | u64::from(low)).to_le_bytes();
    let pick = |selector: u8| match selector {
        0..=7 => bytes[usize::from(selector)],
        8..=11 => {
            if bytes[usize::from(selector - 8) * 2 + 1] & 0x80 != 0 {
                0xff
            } else {
                0
            }
        }
        12 => 0,
        _ => 0xff,
    };
    u32::from_le_bytes(selectors.to_le_bytes().map(pick))
}

/// A function of three bits, applied bit by bit. Bit `4a + 2b + c` of the table is the result.
pub(crate) fn truth_table(table: u8, a: u32, b: u32, c: u32) -> u32 {
    let term = |index: u8| {
        let choose = |bits: u32, place: u8| if index >> place & 1 == 1 { bits } else { !bits };
        if table >> index & 1 == 1 { choose(a, 2) & choose(b, 1) & choose(c, 0) } else { 0 }
    };
    (0..8).fold(0, |bits, index| bits | term(index))
}

/// 24-bit unsigned part.
pub(crate) fn low24(value: u32) -> u32 {
    value & 0x00ff_ffff
}

/// 24-bit signed part.
pub(crate) fn signed24(value: u32) -> i64 {
    signed(sign_extend(value, 24)).into()
}
