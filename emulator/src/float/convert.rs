//! Conversions between number formats, each rounding once.

use crate::lanes::truncate;

use super::{FloatMode, canonical, fma_to_odd, is_nan32, quiet32};

/// The value of a binary16 in the low half of a word; NaN payloads do not survive.
pub(crate) fn f16_to_f64(bits: u32) -> f64 {
    let magnitude = bits & 0x7fff;
    let sign = u64::from(bits & 0x8000) << 48;
    let value = match magnitude >> 10 {
        0 => f64::from(magnitude) * (1.0 / 16_777_216.0),
        31 if magnitude == 0x7c00 => f64::INFINITY,
        31 => f64::NAN,
        _ => f64::from_bits((u64::from(magnitude) << 42) + ((1023 - 15) << 52)),
    };
    f64::from_bits(value.to_bits() | sign)
}

/// binary64 to binary16, to nearest even, in the low half of a word. Not for NaN.
pub(crate) fn narrow_f16(value: f64) -> u32 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude >= 65_520.0 {
        return sign | 0x7c00;
    }
    // One unit in the last place of the result: 2^-24 for subnormals, otherwise 2^(exponent - 10).
    let exponent = (magnitude.to_bits() >> 52).cast_signed() - 1023;
    let unit_exponent = (exponent - 10).max(-24);
    let unit = f64::from_bits((1023 + unit_exponent).cast_unsigned() << 52);
    let steps = libm::roundeven(magnitude / unit);
    let bits = if unit_exponent == -24 {
        steps
    } else {
        steps + f64::from(i32::try_from(unit_exponent + 24).expect("between 1 and 30")) * 1024.0
    };
    sign | bits as u32
}

/// binary16 to binary32, exact; signalling NaN becomes quiet.
pub(crate) fn f16_to_f32(bits: u32) -> u32 {
    if bits & 0x7fff > 0x7c00 {
        return (bits & 0x8000) << 16 | 0x7fc0_0000 | (bits & 0x3ff) << 13;
    }
    (f16_to_f64(bits) as f32).to_bits()
}

/// binary32 to binary16, to nearest even. FP16_OVFL turns overflow of a finite number into 65504.
pub(crate) fn f32_to_f16(mode: FloatMode, bits: u32) -> u32 {
    if is_nan32(bits) {
        return bits >> 16 & 0x8000 | 0x7e00 | bits >> 13 & 0x3ff;
    }
    let result = narrow_f16(f64::from(f32::from_bits(bits)));
    let overflowed = result & 0x7fff == 0x7c00 && f32::from_bits(bits).is_finite();
    if overflowed && mode.fp16_overflow { result & 0x8000 | 0x7bff } else { result }
}

/// binary32 to binary16, towards zero (`v_cvt_pkrtz`).
pub(crate) fn f32_to_f16_towards_zero(bits: u32) -> u32 {
    if is_nan32(bits) {
        return bits >> 16 & 0x8000 | 0x7e00 | bits >> 13 & 0x3ff;
    }
    let value = f64::from(f32::from_bits(bits));
    let nearest = narrow_f16(value);
    if value.is_infinite() || f16_to_f64(nearest).abs() <= value.abs() {
        return nearest;
    }
    nearest - 1
}

/// binary32 to bfloat16, to nearest even whatever MODE says.
///
/// Source: CDNA4 ISA manual, `V_CVT_PK_BF16_F32`.
pub(crate) fn f32_to_bf16(bits: u32) -> u32 {
    if is_nan32(bits) {
        return quiet32(bits) >> 16;
    }
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

/// binary64 to binary32.
pub(crate) fn f64_to_f32(bits: u64) -> u32 {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        let payload = (bits >> 29 & 0x007f_ffff) as u32;
        return (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | payload;
    }
    (value as f32).to_bits()
}

/// binary32 to binary64, exact; signalling NaN becomes quiet.
pub(crate) fn f32_to_f64(bits: u32) -> u64 {
    if is_nan32(bits) {
        return u64::from(bits & 0x8000_0000) << 32
            | 0x7ff8_0000_0000_0000
            | u64::from(bits & 0x007f_ffff) << 29;
    }
    f64::from(f32::from_bits(bits)).to_bits()
}

/// Unsigned integer to binary32.
pub(crate) fn u32_to_f32(value: u32) -> u32 {
    (value as f32).to_bits()
}

/// Signed integer to binary32.
pub(crate) fn i32_to_f32(value: u32) -> u32 {
    (value.cast_signed() as f32).to_bits()
}

/// binary32 to unsigned integer: towards zero, saturating, NaN to zero.
///
/// Source: RDNA3 ISA manual, `V_CVT_U32_F32`.
pub(crate) fn f32_to_u32(bits: u32) -> u32 {
    const HALF: f32 = (1_u32 << 31) as f32;
    let value = f32::from_bits(bits);
    if value >= 2.0 * HALF {
        u32::MAX
    } else if value >= HALF {
        truncate(value - HALF).cast_unsigned() | 1 << 31
    } else {
        truncate(value).max(0).cast_unsigned()
    }
}

/// binary32 to signed integer: towards zero, saturating, NaN to zero.
///
/// Source: RDNA3 ISA manual, `V_CVT_I32_F32`.
pub(crate) fn f32_to_i32(bits: u32) -> u32 {
    truncate(f32::from_bits(bits)).cast_unsigned()
}

/// The result of `v_fma_mixlo_f16` and `v_fma_mixhi_f16`: one rounding to binary16.
pub(crate) fn fma_mix16(mode: FloatMode, a: u32, b: u32, c: u32) -> u32 {
    let wide = |bits: u32| f64::from(f32::from_bits(bits));
    let exact = fma_to_odd(wide(a), wide(b), wide(c));
    if exact.is_nan() {
        return f32_to_f16(mode, canonical(f32::NAN, [a, b, c]));
    }
    let result = narrow_f16(exact);
    let overflowed = result & 0x7fff == 0x7c00 && exact.is_finite();
    if overflowed && mode.fp16_overflow { result & 0x8000 | 0x7bff } else { result }
}

/// The same number; signalling NaN becomes quiet.
pub(crate) fn quieted32(bits: u32) -> u32 {
    if is_nan32(bits) { quiet32(bits) } else { bits }
}
