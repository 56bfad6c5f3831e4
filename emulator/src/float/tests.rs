//! Floating point against independent implementations: the host's fused multiply-add and division, the
//! `half` crate.

use half::{bf16, f16};
use proptest::prelude::*;

use super::*;
use crate::lanes::Fused;
use crate::lanes::simd::RowFunction;
use crate::wave::ROW_LANES;

const KEEP: FloatMode = FloatMode {
    flush_sources32: false,
    flush_results32: false,
    flushes32: false,
    flush_sources16: false,
    flush_results16: false,
    ieee: true,
    dx10_clamp: true,
    fp16_overflow: false,
    round32: Rounding::NearestEven,
    round16: Rounding::NearestEven,
};

/// Numbers of every class and exponent, close to each other often enough to cancel.
fn bits32() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => any::<u32>(),
        2 => (any::<u32>(), 0..8_u32).prop_map(|(bits, e)| bits & 0x807f_ffff | (124 + e) << 23),
        1 => any::<u32>().prop_map(|bits| bits & 0x807f_ffff),
        1 => prop::sample::select(vec![0, 1 << 31, INF32, INF32 | SIGN32, 0x7f7f_ffff, 1, 0x0080_0000]),
    ]
}

fn same32(got: u32, expected: f32) -> bool {
    got == expected.to_bits() || is_nan32(got) && expected.is_nan()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn fused_multiply_add_rounds_once(a in bits32(), b in bits32(), c in bits32()) {
        let expected = f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c));
        prop_assert!(same32(fma32(a, b, c), expected), "{a:#x} {b:#x} {c:#x}: {:#x}", fma32(a, b, c));
    }

    #[test]
    fn fused_multiply_add_of_cancelling_products(a in bits32(), b in bits32(), ulps in -2..3_i32) {
        let product = f32::from_bits(a) * f32::from_bits(b);
        let c = (-product).to_bits().wrapping_add_signed(ulps);
        let expected = f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c));
        prop_assert!(same32(fma32(a, b, c), expected), "{a:#x} {b:#x} {c:#x}: {:#x}", fma32(a, b, c));
    }

    /// The sequence that compilers emit for a division, on the primitives here.
    #[test]
    fn the_division_steps_give_correctly_rounded_quotients(n in bits32(), d in bits32()) {
        let expected = f32::from_bits(n) / f32::from_bits(d);
        prop_assert!(same32(divide32(n, d), expected), "{n:#x} / {d:#x}: {:#x}", divide32(n, d));
    }

    #[test]
    fn narrowing_to_binary16(bits in bits32()) {
        let expected = f16::from_f32(f32::from_bits(bits));
        let got = f32_to_f16(KEEP, bits);
        prop_assert!(got == expected.to_bits().into() || expected.is_nan() && got & 0x7fff > 0x7c00, "{bits:#x}: {got:#x}");
    }

    #[test]
    fn narrowing_to_bfloat16(bits in bits32()) {
        let expected = bf16::from_f32(f32::from_bits(bits));
        let got = f32_to_bf16(bits);
        prop_assert!(got == expected.to_bits().into() || expected.is_nan() && got & 0x7fff > 0x7f80, "{bits:#x}: {got:#x}");
    }

    #[test]
    fn truncating_to_binary16_never_grows(bits in bits32()) {
        let value = f64::from(f32::from_bits(bits));
        prop_assume!(value.is_finite());
        let got = f32_to_f16_towards_zero(bits);
        let narrowed = f16_to_f64(got);
        prop_assert!(narrowed.abs() <= value.abs(), "{bits:#x}: {got:#x}");
        let next = f16_to_f64(got + 1);
        prop_assert!(next.abs() > value.abs(), "{bits:#x}: {got:#x} is not the nearest towards zero");
    }

    #[test]
    fn minimum_and_maximum_are_one_of_their_operands(a in bits32(), b in bits32()) {
        prop_assume!(!is_nan32(a) && !is_nan32(b));
        let (least, most) = (min32(KEEP, a, b), max32(KEEP, a, b));
        prop_assert!([least, most] == [a, b] || [least, most] == [b, a]);
        prop_assert!(f32::from_bits(least) <= f32::from_bits(most));
    }
}

/// v_rcp, two refinements, v_div_fmas, v_div_fixup: LLVM's expansion of an IEEE division.
fn divide32(numerator: u32, denominator: u32) -> u32 {
    const ONE: u32 = 0x3f80_0000;
    let negated = |bits: u32| bits ^ SIGN32;
    let (d, _) = div_scale32(denominator, denominator, numerator);
    let (n, scaled) = div_scale32(numerator, denominator, numerator);
    let estimate = rcp32(d);
    let error = fma32(negated(d), estimate, ONE);
    let reciprocal = fma32(error, estimate, estimate);
    let quotient = mul32(n, reciprocal);
    let remainder = fma32(negated(d), quotient, n);
    let better = fma32(remainder, reciprocal, quotient);
    let last = fma32(negated(d), better, n);
    div_fixup32(div_fmas32(last, reciprocal, better, scaled), denominator, numerator)
}

#[test]
fn every_binary16_survives_widening_and_narrowing() {
    for bits in 0..=0xffff_u32 {
        let wide = f16_to_f32(bits);
        let expected = f16::from_bits(bits as u16).to_f32();
        assert!(same32(wide, expected), "{bits:#x}: {wide:#x}");
        if !expected.is_nan() {
            assert_eq!(f32_to_f16(KEEP, wide), bits);
            assert_eq!(narrow_f16(f16_to_f64(bits)), bits);
        }
    }
}

#[test]
fn overflow_to_binary16_saturates_when_the_mode_says_so() {
    let saturating = FloatMode { fp16_overflow: true, ..KEEP };
    let bits = |value: f32| value.to_bits();
    assert_eq!(f32_to_f16(saturating, bits(1e6)), 0x7bff);
    assert_eq!(f32_to_f16(saturating, bits(-1e6)), 0xfbff);
    assert_eq!(f32_to_f16(saturating, bits(f32::INFINITY)), 0x7c00);
    assert_eq!(fma_mix16(saturating, bits(1e4), bits(10.0), 0), 0x7bff);
}

/// Every 4093rd of all binary32 numbers, the ends of the classes among them.
fn sample32() -> impl Iterator<Item = u32> {
    let ends = [0, 1, 0x007f_ffff, 0x0080_0000, 0x7f7f_ffff, INF32, INF32 + 1, 0x7fff_ffff];
    let ends = ends.into_iter().flat_map(|bits| [bits, bits | SIGN32]);
    (0..=u32::MAX).step_by(4093).chain(ends)
}

#[test]
fn rounding_to_integers_agrees_with_another_implementation() {
    type Pair = (fn(Fused, f32) -> f32, fn(f32) -> f32);
    let pairs: [Pair; 4] = [
        (nearest_even, libm::roundevenf),
        (floor, libm::floorf),
        (ceil, libm::ceilf),
        (trunc, libm::truncf),
    ];
    // Halves and their neighbours beside the sample of everything.
    let halves = (0..4096_u32).map(|n| (n as f32 / 2.0).to_bits());
    let near = halves.flat_map(|bits| [bits.wrapping_sub(1), bits, bits + 1]);
    for bits in near.flat_map(|bits| [bits, bits ^ SIGN32]).chain(sample32()) {
        for (got, expected) in pairs {
            let expected = expected(f32::from_bits(bits));
            for fused in [Fused::Instruction, Fused::Software] {
                let got = got(fused, f32::from_bits(bits));
                assert!(same32(got.to_bits(), expected), "{bits:#010x}: {got}, not {expected}");
            }
        }
    }
}

#[test]
fn the_smaller_and_the_larger_of_two_numbers_order_zeros() {
    let ends = [0, 1, 0x0080_0000, 0x3f80_0000, 0x7f7f_ffff, INF32];
    let numbers: Vec<u32> = ends.into_iter().flat_map(|bits| [bits, bits | SIGN32]).collect();
    for (a, b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))) {
        assert_eq!(less32(a, b), min32(KEEP, a, b), "{a:#x} {b:#x}");
        assert_eq!(more32(a, b), max32(KEEP, a, b), "{a:#x} {b:#x}");
    }
}

#[test]
fn scaling_by_one_product_is_scaling_or_no_number() {
    for bits in sample32() {
        for by in [-1000, -301, -300, -200, -127, -126, -5, 0, 7, 127, 128, i32::MIN, i32::MAX] {
            let got = ldexp_lanes(Fused::Instruction, f32::from_bits(bits), by);
            let expected = f32::from_bits(ldexp32(bits, by));
            let is_usual = (-126..128).contains(&by);
            assert!(
                same32(got.to_bits(), expected) || got.is_nan() && !is_usual,
                "{bits:#010x} by {by}: {got}, not {expected}"
            );
        }
    }
}

/// Inputs whose exponential differs from the rounded one of another binary64 implementation.
fn wrong_exponentials(inputs: impl Iterator<Item = u32>) -> Vec<u32> {
    let expected = |bits: u32| {
        let power = libm::exp2(f64::from(f32::from_bits(flush32(bits)))) as f32;
        f32::from_bits(flush32(power.to_bits()))
    };
    let inputs: Vec<u32> = inputs.collect();
    let mut wrong = Vec::new();
    for row in inputs.chunks(ROW_LANES) {
        let mut lanes = [0; ROW_LANES];
        lanes[..row.len()].copy_from_slice(row);
        let powers = [Fused::Instruction, Fused::Software].map(|fused| Exp2.of_row(fused, &lanes));
        let is_wrong =
            |lane: usize| powers.iter().any(|powers| !same32(powers[lane], expected(lanes[lane])));
        wrong.extend((0..row.len()).filter(|lane| is_wrong(*lane)).map(|lane| lanes[lane]));
    }
    wrong
}

#[test]
fn the_exponential_agrees_with_another_implementation() {
    assert_eq!(wrong_exponentials(sample32()), []);
}

#[test]
#[ignore = "takes minutes; run it after a change of the exponential"]
fn the_exponential_agrees_with_another_implementation_everywhere() {
    for first in (0..=u32::MAX).step_by(1 << 20) {
        assert_eq!(wrong_exponentials(first..=first + ((1 << 20) - 1)), []);
    }
}

#[test]
fn angles_that_are_no_numbers_have_no_sine() {
    for (angle, nan) in
        [(0x7f80_0001, 0x7fc0_0001), (0xffc1_2345, 0xffc1_2345), (INF32, 0x7fc0_0000)]
    {
        assert_eq!((sin32(angle), cos32(angle)), (nan, nan), "{angle:#x}");
    }
}
