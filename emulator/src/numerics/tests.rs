//! The models against their descriptions, written a second time in binary64 (where every intermediate value
//! is exact), against hand-worked sums, and against published measurements.

use super::*;

/// The numbers 1, 2, 3, … of a fixed sequence (splitmix64).
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// About a standard normal: a sum of twelve uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.below(1 << 32) as f64 / (1_u64 << 32) as f64).sum::<f64>() - 6.0
    }
}

/// Field widths of a format and what its largest exponent field means, as the standards have them.
#[derive(Clone, Copy)]
struct Fields {
    exponent_bits: u32,
    fraction_bits: u32,
    format: Format,
}

fn formats() -> [Fields; 4] {
    let fields = |exponent_bits, fraction_bits, element| Fields {
        exponent_bits,
        fraction_bits,
        format: Format::of(element).expect("narrow"),
    };
    use isa::table::Element::*;
    [fields(5, 10, F16), fields(8, 7, Bf16), fields(5, 2, Bf8), fields(4, 3, Fp8)]
}

impl Fields {
    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// A finite number with an exponent field near `around`.
    fn draw(self, sequence: &mut Sequence, around: i32, spread: u64) -> u32 {
        let top = (1 << self.exponent_bits) - 2;
        let field = around + sequence.below(spread) as i32 - spread as i32 / 2;
        let field = field.clamp(0, top) as u32;
        let fraction = sequence.below(1 << self.fraction_bits) as u32;
        let sign = sequence.below(2) as u32;
        (sign << self.exponent_bits | field) << self.fraction_bits | fraction
    }

    /// The value, and the exponent that its field stands for.
    fn value(self, bits: u32) -> (f64, i32) {
        let field = bits >> self.fraction_bits & ((1 << self.exponent_bits) - 1);
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        let exponent = field.max(1) as i32 - self.bias();
        let hidden = if field == 0 { 0.0 } else { 1.0 };
        let unit = 2_f64.powi(-(self.fraction_bits as i32));
        let magnitude = (hidden + f64::from(fraction) * unit) * 2_f64.powi(exponent);
        let is_negative = bits >> (self.exponent_bits + self.fraction_bits) & 1 == 1;
        (if is_negative { -magnitude } else { magnitude }, exponent)
    }
}

/// The exponent of C as MMA-Sim counts it.
fn exponent_of_c(c: f32) -> i32 {
    if c == 0.0 { -126 } else { f64::from(c).abs().log2().floor().max(-126.0) as i32 }
}

/// `value` on a grid of 2^unit, towards −∞ or zero.
fn on_grid(value: f64, unit: i32, round: fn(f64) -> f64) -> f64 {
    round(value * 2_f64.powi(-unit)) * 2_f64.powi(unit)
}

/// The group sum of the paper's description, for finite factors without huge products.
fn paper_group(fields: [Fields; 2], pairs: &[[u32; 2]], c: f32) -> f32 {
    let products: Vec<(f64, i32)> = pairs
        .iter()
        .map(|pair| {
            let part = |k: usize| {
                let (value, exponent) = fields[k].value(pair[k]);
                (value, if value == 0.0 { -126 } else { exponent })
            };
            let ((a, ea), (b, eb)) = (part(0), part(1));
            (a * b, ea + eb)
        })
        .collect();
    let truncated = |which: &[(f64, i32)]| {
        let top = which.iter().map(|(_, exponent)| *exponent).max().expect("not empty");
        (which.iter().map(|(value, _)| on_grid(*value, top - 24, f64::trunc)).sum::<f64>(), top)
    };
    let ec = exponent_of_c(c);
    let (sum, top, keeps_c) = if fields[0].exponent_bits + fields[0].fraction_bits == 7 {
        let every_second = |first: usize| {
            truncated(&products.iter().skip(first).step_by(2).copied().collect::<Vec<_>>())
        };
        let ((s0, e0), (s1, e1)) = (every_second(0), every_second(1));
        let top = e0.max(e1);
        let join = |part: f64| on_grid(part, top - 24, f64::floor);
        (join(s0) + join(s1), top, ec >= top.max(ec) - 25)
    } else {
        let (sum, top) = truncated(&products);
        (sum, top, true)
    };
    let top = top.max(ec);
    let c = if keeps_c { on_grid(c.into(), top - 24, f64::floor) } else { 0.0 };
    let total = on_grid(sum, top - 31, f64::floor) + c;
    // A sum of zero is +0.
    (total + 0.0) as f32
}

#[test]
fn fused_sums_follow_the_paper_for_every_pair_of_formats() {
    let mut sequence = Sequence(1);
    let [f16, bf16, bf8, fp8] = formats();
    let pairs = [[f16, f16], [bf16, bf16], [bf8, bf8], [fp8, fp8], [bf8, fp8], [fp8, bf8]];
    for round in 0..60_000_u64 {
        let fields = pairs[(round % 6) as usize];
        let k = [4, 8, 16, 32][(round / 6 % 4) as usize];
        let spread = [2, 8, 40, 60][sequence.below(4) as usize];
        let around = fields.map(|f| match sequence.below(3) {
            0 => 1,
            _ => f.bias() + sequence.below(6) as i32 - 3,
        });
        let pairs: Vec<[u32; 2]> = (0..k)
            .map(|_| [0, 1].map(|k| fields[k].draw(&mut sequence, around[k], spread)))
            .collect();
        let product_exponent = around[0] + around[1] - fields[0].bias() - fields[1].bias();
        let c_field = (product_exponent + 127 + sequence.below(90) as i32 - 45).clamp(0, 230);
        let c = (c_field as u32) << 23 | (sequence.below(1 << 23) as u32);
        let c = if sequence.below(8) == 0 { 0 } else { c ^ (sequence.below(2) as u32) << 31 };
        let group = if k < 16 || fields[0].fraction_bits > 3 { 8 } else { 16 };
        let group = if fields[0].exponent_bits + fields[0].fraction_bits == 7 { 16 } else { group };
        let want =
            pairs.chunks(group).fold(f32::from_bits(c), |c, pairs| paper_group(fields, pairs, c));
        let got = fused_sum(fields.map(|f| f.format), &pairs, c);
        assert_eq!(got, want.to_bits(), "round {round}: {pairs:x?} + {c:#x}: {want}");
    }
}

fn f16(value: f64) -> u32 {
    half::f16::from_f64(value).to_bits().into()
}

fn bf16(value: f64) -> u32 {
    half::bf16::from_f64(value).to_bits().into()
}

const F16: [Format; 2] = [Format::F16; 2];

/// `C + Σ a·b` of one group or more, f16.
fn fused(pairs: &[(f64, f64)], c: f32) -> f32 {
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| [f16(*a), f16(*b)]).collect();
    f32::from_bits(fused_sum(F16, &pairs, c.to_bits()))
}

#[test]
fn fused_sums_worked_out_by_hand() {
    // Ones beside 2^24: a chain of binary32 sums loses both, the fused sum keeps them.
    assert_eq!(fused(&[(1.0, 1.0), (1.0, 1.0)], 16_777_216.0), 16_777_218.0);
    // C keeps 24 fraction bits below the larger exponent and is rounded down: −2^−30 beside 1 is −2^−24,
    // and 1 − 2^−24 is a binary32; +2^−30 is nothing.
    assert_eq!(fused(&[(1.0, 1.0)], -(2_f32.powi(-30))), 1.0 - 2_f32.powi(-24));
    assert_eq!(fused(&[(1.0, 1.0)], 2_f32.powi(-30)), 1.0);
    // Products are cut off towards zero at 24 fraction bits: ±2^−26 beside 1 is nothing, 2^−24 stays.
    let tiny = 2_f64.powi(-13);
    assert_eq!(fused(&[(1.0, 1.0), (-tiny, tiny)], 0.0), 1.0);
    assert_eq!(fused(&[(1.0, 1.0), (2.0 * -tiny, 2.0 * tiny)], 0.0), 1.0 - 2_f32.powi(-24));
    // The next group of eight sees the rounded sum of the first.
    let mut pairs = [(0.0, 0.0); 16];
    (pairs[0], pairs[8]) = ((4096.0, 4096.0), (1.0, 1.0));
    assert_eq!(fused(&pairs, 1.0), 16_777_216.0, "2^24 + 1 rounds to even twice");
    (pairs[8], pairs[1]) = ((0.0, 0.0), (1.0, 1.0));
    assert_eq!(fused(&pairs, 1.0), 16_777_218.0, "all in one group");
    // Subnormals are kept, in and out.
    assert_eq!(fused(&[(2_f64.powi(-24), 1.0)], 0.0), 2_f32.powi(-24));
    assert_eq!(fused(&[(0.0, 1.0)], f32::from_bits(1)), f32::from_bits(1));
    // Nothing is +0, whatever the signs were.
    assert_eq!(fused(&[(-0.0, 1.0)], -0.0).to_bits(), 0);
}

#[test]
fn fused_sums_of_specials() {
    const INF: f64 = f64::INFINITY;
    assert_eq!(fused(&[(INF, 1.0), (65504.0, -65504.0)], 1.0), f32::INFINITY);
    assert_eq!(fused(&[(INF, -1.0)], 1.0), f32::NEG_INFINITY);
    assert_eq!(fused(&[(1.0, 1.0)], f32::NEG_INFINITY), f32::NEG_INFINITY);
    for (pairs, c) in [
        (vec![(INF, 0.0)], 0.0),
        (vec![(0.0, INF)], 0.0),
        (vec![(INF, 1.0), (INF, -1.0)], 0.0),
        (vec![(INF, 1.0)], f32::NEG_INFINITY),
        (vec![(f64::NAN, 1.0)], 0.0),
        (vec![(1.0, 1.0)], f32::NAN),
    ] {
        assert_eq!(fused(&pairs, c).to_bits(), 0x7fc0_0000, "{pairs:?} {c}");
    }
    // bf16 products of 2^128 are infinite each, even where the sum would be finite.
    let big = |pairs: &[(f64, f64)], c: f32| {
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| [bf16(*a), bf16(*b)]).collect();
        f32::from_bits(fused_sum([Format::BF16; 2], &pairs, c.to_bits()))
    };
    let (half, two) = (2_f64.powi(127), 2.0);
    assert_eq!(big(&[(half, two)], f32::MIN), f32::INFINITY);
    assert_eq!(big(&[(half, -two)], 0.0), f32::NEG_INFINITY);
    assert!(big(&[(half, two), (half, -two)], 0.0).is_nan());
    assert_eq!(big(&[(half, 1.0), (half, 1.0)], 0.0), f32::INFINITY, "the sum overflows");
    assert_eq!(big(&[(half, 1.0), (half, 1.0)], -(2_f32.powi(127))), 2_f32.powi(127));
}

#[test]
fn fused_sums_of_normal_numbers_differ_from_a_chain_in_about_half() {
    // The paper's authors' model differs in 147 of 256 elements of one random 16×16×16 product.
    let mut sequence = Sequence(7);
    let mut differing = 0;
    for _ in 0..2560 {
        let pairs: Vec<[u32; 2]> =
            (0..16).map(|_| [0, 1].map(|_| f16(sequence.normal()))).collect();
        let value = |bits: u32| half::f16::from_bits(bits as u16).to_f32();
        let chain = pairs.iter().fold(0_f32, |sum, [a, b]| value(*a).mul_add(value(*b), sum));
        differing += usize::from(fused_sum(F16, &pairs, 0) != chain.to_bits());
    }
    assert!((1200..1800).contains(&differing), "{differing} of 2560");
}

/// One step as issue 12056 describes it, on values: the sign of C is the frame, a term lies on the grid, one
/// that opposes the frame lands one unit further from zero. `None` where nothing takes part.
fn issue_step(fields: Fields, pairs: [[u32; 2]; 2], c: f64, floor: Option<i32>) -> Option<f64> {
    let flushes = fields.exponent_bits == 8;
    let frame = if c.is_sign_negative() { -1.0 } else { 1.0 };
    let terms: Vec<(f64, Option<i32>)> = pairs
        .iter()
        .map(|pair| {
            let part = |k: usize| {
                let (value, exponent) = fields.value(pair[k]);
                let is_flushed = flushes && value.abs() < 2_f64.powi(-126);
                (if is_flushed { 0.0_f64.copysign(value) } else { value }, exponent)
            };
            let ((a, ea), (b, eb)) = (part(0), part(1));
            let product = a * b;
            (product, (product != 0.0).then_some(ea + eb))
        })
        .chain([(c, None)])
        .collect();
    let leading = |value: f64| (value != 0.0).then(|| value.abs().log2().floor() as i32);
    let top = terms.iter().filter_map(|(value, _)| leading(*value)).chain(floor).max();
    if terms.iter().all(|(value, _)| *value == 0.0) {
        return None;
    }
    let nominal = terms.iter().filter_map(|(_, nominal)| *nominal).max();
    let unit = nominal.map(|e| e - 24).into_iter().chain(top.map(|e| e - 26)).max().unwrap();
    let ulp = 2_f64.powi(unit);
    let sum: f64 = terms
        .iter()
        .map(|(value, _)| {
            let units = (value.abs() / ulp).floor();
            if value.is_sign_negative() == (frame < 0.0) { units } else { -units - 1.0 }
        })
        .sum();
    Some(frame * sum * ulp)
}

/// To binary32 with its 24 bits at any exponent, then +0 below the normal numbers.
fn round_flushing(value: f64) -> f32 {
    if value == 0.0 {
        return 0.0;
    }
    let exponent = value.abs().log2().floor() as i32;
    let rounded = f64::from((value * 2_f64.powi(-exponent)) as f32) * 2_f64.powi(exponent);
    if rounded.abs() < 2_f64.powi(-126) { 0.0 } else { rounded as f32 }
}

#[test]
fn two_product_steps_follow_the_issue_for_both_formats_and_every_result() {
    let mut sequence = Sequence(2);
    let [f16, bf16, ..] = formats();
    for round in 0..80_000_u64 {
        let fields = if round % 2 == 0 { f16 } else { bf16 };
        let spread = [2, 8, 24, 60][sequence.below(4) as usize];
        let around = [0, 1].map(|_| match sequence.below(4) {
            0 => 1,
            _ => fields.bias() + sequence.below(6) as i32 - 3,
        });
        let pairs = [0, 1].map(|_| [0, 1].map(|k| fields.draw(&mut sequence, around[k], spread)));
        let product_exponent = around[0] + around[1] - 2 * fields.bias();
        let c_field = (product_exponent + 127 + sequence.below(70) as i32 - 35).clamp(0, 250);
        let c = (c_field as u32) << 23 | sequence.next() as u32 & 0x807f_ffff;
        let c = if sequence.below(8) == 0 { c & 0x8000_0000 } else { c };
        let step = |c: f64, floor| issue_step(fields, pairs, c, floor);

        let flushed = |bits: u32| {
            let value = f64::from(f32::from_bits(bits));
            if value.abs() < 2_f64.powi(-126) { 0.0_f64.copysign(value) } else { value }
        };
        let want = step(flushed(c), None).map_or(0.0, round_flushing);
        let got = dot2(fields.format, Dot2::F32, pairs, c);
        assert_eq!(got, want.to_bits(), "round {round}: {pairs:x?} + {c:#x}");

        if fields.exponent_bits == 8 {
            let want = step(flushed(c & 0xffff_0000), None).map_or(0.0, round_flushing);
            let got = dot2(fields.format, Dot2::Bf16, pairs, c >> 16);
            assert_eq!(got, want.to_bits() >> 16, "round {round}: {pairs:x?} + {c:#x}");
        } else {
            let c = half::f16::from_f32(f32::from_bits(c));
            let c = if c.is_finite() { c } else { half::f16::ONE };
            let want = step(c.to_f64(), Some(-14)).map_or(half::f16::ZERO, |sum| {
                let exponent = (sum.abs().log2().floor() as i32).max(-14);
                half::f16::from_f64(on_grid(sum, exponent - 10, f64::round_ties_even) + 0.0)
            });
            let saturated = if want.is_infinite() { half::f16::MAX.copysign(want) } else { want };
            for (saturates, want) in [(false, want), (true, saturated)] {
                let got = dot2(fields.format, Dot2::F16 { saturates }, pairs, c.to_bits().into());
                assert_eq!(got, u32::from(want.to_bits()), "round {round}: {pairs:x?} + {c}");
            }
        }
    }
}

/// A chain of steps over f16 factors with C = 0, as WMMA runs it.
fn chain(products: &[(f64, f64)]) -> f32 {
    let mut pairs = products.iter().map(|(a, b)| [f16(*a), f16(*b)]).collect::<Vec<_>>();
    pairs.resize(16, [0, 0]);
    let (steps, _) = pairs.as_chunks::<2>();
    f32::from_bits(steps.iter().fold(0, |c, pairs| dot2(Format::F16, Dot2::F32, *pairs, c)))
}

#[test]
fn two_product_steps_agree_with_published_measurements() {
    // Public measurements of v_wmma_f32_16x16x16_f16 on gfx1151 (an exact sum, and what came out of it).
    let (three, big) = (3.0, 32.0);
    assert_eq!(chain(&[(three, three), (-three, three)]), -(2_f32.powi(-22)));
    assert_eq!(chain(&[(1.0, 1.0), (-1.0, 1.0)]), -(2_f32.powi(-24)));
    assert_eq!(chain(&[(big, big), (-big, big)]), -(2_f32.powi(-14)));
    assert_eq!(chain(&[(2.0, 2.0), (-1.0, 1.0)]), 2.999_999_8);
    assert_eq!(
        chain(&[(three, three), (-three, three), (three, three), (-three, three)]),
        0.0,
        "the errors of the two steps cancel"
    );
    assert_eq!(chain(&[(-1.0, 1.0), (-1.0, 1.0)]), -2.0);
    // Captures of v_dot2_f32_{f16,bf16} on gfx1100 in pull request 12120.
    let ones = [[0x3c00, 0x3c00]; 2];
    let at = |format, pairs, c| dot2(format, Dot2::F32, pairs, c);
    assert_eq!(at(Format::F16, ones, 0xc000_0000), 0x3400_0000, "1 + 1 − 2 is two units");
    assert_eq!(at(Format::F16, [[0x3c00, 0], [0x3c00, 0x3c00]], 0x8000_0000), 0x3f80_0001);
    assert_eq!(at(Format::F16, [[1, 1], [0, 0x3c00]], 0), 0x2780_0000, "f16 keeps subnormals");
    assert_eq!(at(Format::BF16, [[1, 0x4980], [0, 0x3f80]], 0), 0, "bf16 does not");
    assert_eq!(at(Format::BF16, [[0x80, 0x3f00], [0x80, 0x3f00]], 0), 0x0080_0000);
    assert_eq!(at(Format::F16, ones, 0x7f81_2345), 0x7fc1_2345);
    assert_eq!(at(Format::F16, [[0x7e01, 0x3c00], [0x7c00, 0]], 0x7fc1_2345), 0xffc0_0a3d);
    assert_eq!(at(Format::F16, [[0x7c00, 0], [0x3c00, 0x3c00]], 0x7fc1_2345), 0xffc0_0000);
    assert_eq!(at(Format::F16, [[0x7c00, 0x3c00], [0xfc00, 0x3c00]], 0), 0xffc0_0000);
    assert_eq!(at(Format::F16, [[0xfc00, 0x3c00], [0x8000, 0x401]], 0x0080_0000), 0xff80_0000);
}

#[test]
fn special_values_of_narrow_results() {
    let ones = [[0x3c00, 0x3c00]; 2];
    let f16 = |pairs, c| dot2(Format::F16, Dot2::F16 { saturates: true }, pairs, c);
    assert_eq!(f16(ones, 0x7c00), 0x7c00, "an infinity stays one");
    assert_eq!(f16([[0xfc00, 0x3c00], ones[0]], 0), 0xfc00);
    assert_eq!(f16(ones, 0x7d01) & 0x7e00, 0x7e00);
    assert_eq!(f16([[0x7e00, 0], ones[0]], 0), 0xfe3d);
    let bf16 = |pairs, c| dot2(Format::BF16, Dot2::Bf16, pairs, c);
    assert_eq!(bf16([[0x7fc0, 0], [0, 0]], 0), 0xfffd);
    assert_eq!(bf16([[0x7f80, 0], [0, 0]], 0), 0xffc0);
}

#[test]
fn modes_have_names_and_targets() {
    for target in [Target::Gfx950, Target::Gfx1100] {
        for mode in Numerics::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
            let is_valid = Numerics::of_target(target).contains(&mode);
            assert_eq!(mode.check(target).is_ok(), is_valid, "{mode} on {target}");
        }
        assert_eq!(Numerics::of_target(target)[0], Numerics::default());
    }
    let refused = Numerics::Cdna3Fdpa.check(Target::Gfx1100).unwrap_err().to_string();
    assert!(refused.contains("gfx1100") && refused.contains("rdna3-candidate"), "{refused}");
    let unknown = "ieee".parse::<Numerics>().unwrap_err().to_string();
    assert!(unknown.contains("'ieee'") && unknown.contains("cdna3-fdpa"), "{unknown}");
}
