//! Bits of 2/π for the reduction of large arguments of sine and cosine.

/// The first 1201 fraction bits of 2/π, the first one in the highest bit of the first word; 15 bits of zero
/// fill the last word. Computed from Machin's formula in integers; agrees with the table of Payne and
/// Hanek's reduction in published mathematics libraries (first words `a2f9836e 4e441529 fc2757d1`).
#[rustfmt::skip]
const TWO_OVER_PI: [u32; 38] = [
    0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041,
    0xfe51_63ab, 0xdebb_c561, 0xb724_6e3a, 0x424d_d2e0, 0x0649_2eea, 0x09d1_921c,
    0xfe1d_eb1c, 0xb129_a73e, 0xe882_35f5, 0x2ebb_4484, 0xe99c_7026, 0xb45f_7e41,
    0x3991_d639, 0x8353_39f4, 0x9c84_5f8b, 0xbdf9_283b, 0x1ff8_97ff, 0xde05_980f,
    0xef2f_118b, 0x5a0a_6d1f, 0x6d36_7ecf, 0x27cb_09b7, 0x4f46_3f66, 0x9e5f_ea2d,
    0x7527_bac7, 0xebe5_f17b, 0x3d07_39f7, 0x8a52_92ea, 0x6bfb_5fb1, 0x1f8d_5d08,
    0x5603_3046, 0xfc7b_0000,
];

const FRACTION_BITS: u32 = 53;

/// Segment `segment` of 2/π, 53 bits of it, for the argument `bits` (RDNA3 ISA manual, V_TRIG_PREOP_F64): the
/// segments of an argument whose exponent is beyond 2⁵⁴ begin as many bits later, and results of the
/// largest arguments are scaled up by 2¹²⁸.
pub(crate) fn trig_preop(bits: u64, segment: u32) -> u64 {
    let exponent = (bits >> 52 & 0x7ff) as u32;
    let first = (segment & 31) * FRACTION_BITS + exponent.saturating_sub(1077);
    let bit = |at: u32| {
        TWO_OVER_PI.get((at / 32) as usize).map_or(0, |word| u64::from(word >> (31 - at % 32) & 1))
    };
    let fraction = (first..first + FRACTION_BITS).fold(0, |bits, at| bits << 1 | bit(at));
    let rescale = if exponent >= 1968 { 128 } else { 0 };
    let scale = rescale - (FRACTION_BITS + first) as i32;
    libm::scalbn(fraction as f64, scale).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_add_up_to_two_over_pi() {
        let segment = |argument: f64, k: u32| f64::from_bits(trig_preop(argument.to_bits(), k));
        // The first segment is 2/π truncated to 53 bits; the second is what it lacks.
        assert_eq!(segment(1.0, 0).to_bits(), 0x3fe4_5f30_6dc9_c882);
        assert!(segment(1.0, 1) < 2_f64.powi(-53) && segment(1.0, 1) > 0.0);
        // 2⁵⁵ has biased exponent 1078: one bit later, so that the leading one is gone.
        assert_eq!(segment(2_f64.powi(54), 0), segment(1.0, 0));
        assert!((segment(2_f64.powi(55), 0) - (segment(1.0, 0) - 0.5)).abs() < 2_f64.powi(-52));
        // Scaled up at biased exponent 1968, that is 2⁹⁴⁵.
        assert!(segment(2_f64.powi(945), 0) > segment(2_f64.powi(944), 0) * 2_f64.powi(100));
        assert_eq!(segment(1.0, 31), 0.0, "behind the table");
    }
}
