//! The operations of a kernel that are not plain IEEE arithmetic, as correctly rounded functions.
//!
//! Hardware documents exp2, log2 and rcp only as approximate (1 ulp); the twins take the correctly
//! rounded value, found in float64 and rounded once. Like `v_exp_f32`, `v_log_f32` and `v_rcp_f32`,
//! they take subnormal arguments as zeros and give zeros for subnormal results, both of the same sign
//! (RDNA3 and CDNA3 ISA manuals).

/// log2 e, as kernels hold it.
pub(crate) const LOG2E: f32 = core::f32::consts::LOG2_E;
/// ln 2, as kernels hold it.
pub(crate) const LN2: f32 = core::f32::consts::LN_2;

/// 2ˣ.
pub(crate) fn exp2(x: f32) -> f32 {
    flush(libm::exp2(f64::from(flush(x))) as f32)
}

/// log2 x.
pub(crate) fn log2(x: f32) -> f32 {
    flush(libm::log2(f64::from(flush(x))) as f32)
}

/// 1 / x.
pub(crate) fn rcp(x: f32) -> f32 {
    flush((1.0 / f64::from(flush(x))) as f32)
}

/// 1 / √x.
pub(crate) fn rsq(x: f32) -> f32 {
    flush((1.0 / libm::sqrt(f64::from(flush(x)))) as f32)
}

/// IEEE 754-2008 maxNum, +0 above −0.
pub(crate) fn max_num(a: f32, b: f32) -> f32 {
    if b.is_nan() || a > b || a == b && a.is_sign_positive() { a } else { b }
}

/// A zero of the same sign instead of a subnormal.
fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_kernels() {
        assert_eq!((LOG2E.to_bits(), LN2.to_bits()), (0x3FB8_AA3B, 0x3F31_7218));
    }

    #[test]
    fn subnormals_are_flushed_with_their_sign() {
        let least = f32::MIN_POSITIVE;
        let subnormal = least / 4.0;
        assert_eq!(exp2(-126.0), least);
        assert_eq!(exp2(-126.5).to_bits(), 0);
        assert_eq!(exp2(subnormal), 1.0);
        assert_eq!(log2(subnormal), f32::NEG_INFINITY);
        assert_eq!(rcp(-subnormal), f32::NEG_INFINITY);
        assert_eq!(rcp(-3e38).to_bits(), (-0f32).to_bits());
        assert_eq!((rcp(f32::INFINITY), rcp(4.0)), (0.0, 0.25));
        assert_eq!((exp2(200.0), exp2(f32::NEG_INFINITY)), (f32::INFINITY, 0.0));
        assert!(log2(-1.0).is_nan() && exp2(f32::NAN).is_nan());
    }

    #[test]
    fn maximum_orders_zeros_and_drops_nan() {
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert!(max_num(a, b).is_sign_positive());
        }
        for (a, b) in [(f32::NAN, 2.0), (2.0, f32::NAN)] {
            assert_eq!(max_num(a, b), 2.0);
        }
        assert_eq!(max_num(-1.0, 3.0), 3.0);
    }
}
