//! Against whole numbers of 4,608 bits: a result is right if its neighbours say so, whatever computed it.

use super::{F16, F32, F64, Format, Number, Rounding};

/// Units of 2^-2200, two's complement.
const WORDS: usize = 72;
const UNIT: i32 = -2200;

type Wide = [u64; WORDS];

/// significand · 2^exponent.
fn wide(is_negative: bool, significand: u128, exponent: i32) -> Wide {
    let mut value = [0; WORDS];
    let shift = usize::try_from(exponent - UNIT).expect("not below the unit");
    for bit in (0..128).filter(|bit| significand >> bit & 1 == 1) {
        value[(shift + bit) / 64] |= 1 << ((shift + bit) % 64);
    }
    if is_negative { negate(value) } else { value }
}

fn negate(value: Wide) -> Wide {
    add(value.map(|word| !word), {
        let mut one = [0; WORDS];
        one[0] = 1;
        one
    })
}

fn add(a: Wide, b: Wide) -> Wide {
    let mut carry = 0_u128;
    std::array::from_fn(|at| {
        let sum = u128::from(a[at]) + u128::from(b[at]) + carry;
        carry = sum >> 64;
        sum as u64
    })
}

/// Order of two numbers.
fn key(value: Wide) -> (i64, Vec<u64>) {
    let words: Vec<u64> = value.iter().rev().copied().collect();
    (words[0].cast_signed(), words[1..].to_vec())
}

/// The fields of a finite number, taken apart without the code under test.
fn parts(format: Format, bits: u64) -> Option<(bool, u128, i32)> {
    let (fraction_bits, exponent_bits) = (format.digits - 1, format.exponent_bits);
    let bias = (1_i32 << (exponent_bits - 1)) - 1;
    let field = (bits >> fraction_bits) % (1 << exponent_bits);
    if field + 1 == 1 << exponent_bits {
        return None;
    }
    let fraction = u128::from(bits % (1 << fraction_bits));
    let is_negative = bits >> (fraction_bits + exponent_bits) == 1;
    let (significand, exponent) = match field {
        0 => (fraction, 1 - bias),
        _ => (fraction + (1 << fraction_bits), field as i32 - bias),
    };
    Some((is_negative, significand, exponent - fraction_bits as i32))
}

/// Finite numbers of a format in ascending order: its largest ones stand for the infinities.
fn value(format: Format, bits: u64) -> Option<Wide> {
    parts(format, bits)
        .map(|(is_negative, significand, exponent)| wide(is_negative, significand, exponent))
}

/// The next number of a format upwards, as bits; zeros are one number.
fn above(format: Format, bits: u64) -> u64 {
    let sign = 1_u64 << (format.digits - 1 + format.exponent_bits);
    match bits {
        _ if bits == sign => 1,
        _ if bits & sign != 0 => bits - 1,
        _ => bits + 1,
    }
}

fn below(format: Format, bits: u64) -> u64 {
    let sign = 1_u64 << (format.digits - 1 + format.exponent_bits);
    above(format, bits ^ sign) ^ sign
}

/// Asserts that bits are the exact value rounded in a direction.
fn check(format: Format, rounding: Rounding, exact: Wide, got: u64, what: &str) {
    let is_negative = key(exact).0 < 0;
    let is_down = match rounding {
        Rounding::Down => true,
        Rounding::Up => false,
        _ => !is_negative,
    };
    // An infinity is what lies beyond the largest number.
    let Some(result) = value(format, got) else {
        let largest = if is_down { above(format, got) } else { below(format, got) };
        let limit = value(format, largest).expect("finite");
        let is_beyond = if is_down { key(exact) < key(limit) } else { key(exact) > key(limit) };
        assert!(is_beyond, "{what}: {got:#x} {rounding:?}");
        return;
    };
    let (inside, neighbour) = match is_down {
        true => (key(result) <= key(exact), above(format, got)),
        false => (key(result) >= key(exact), below(format, got)),
    };
    assert!(inside, "{what}: {got:#x} {rounding:?} is on the wrong side");
    let is_next = value(format, neighbour).is_none_or(|next| match is_down {
        true => key(next) > key(exact),
        false => key(next) < key(exact),
    });
    assert!(is_next, "{what}: {got:#x} {rounding:?} is not the nearest on its side");
}

const DIRECTED: [Rounding; 3] = [Rounding::Up, Rounding::Down, Rounding::TowardZero];

/// Edges and seeded bits of a format.
fn samples(format: Format) -> Vec<u64> {
    let width = format.digits + format.exponent_bits;
    let sign = 1_u64 << (width - 1);
    let infinity = ((1_u64 << format.exponent_bits) - 1) << (format.digits - 1);
    let one = ((1_u64 << (format.exponent_bits - 1)) - 1) << (format.digits - 1);
    let edges = [0, 1, 2, 1 << (format.digits - 1), one, one + 1, one - 1, infinity - 1];
    let mut state = 0x1234_5678_9abc_def1_u64;
    let random = std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state ^ (state >> 29)) >> (64 - width)
    });
    let random = random.filter(|bits| parts(format, *bits).is_some()).take(24);
    edges.into_iter().flat_map(|edge| [edge, edge | sign]).chain(random).collect()
}

#[test]
fn sums_of_products_are_rounded_in_their_direction() {
    for format in [F16, F32, F64] {
        let samples = samples(format);
        let number = |bits| Number::of(format, bits).expect("finite");
        for (at, a) in samples.iter().enumerate() {
            for (other, b) in samples.iter().enumerate() {
                let c = samples[(7 * at + 3 * other) % samples.len()];
                let [x, y, z] = [*a, *b, c].map(|bits| parts(format, bits).expect("finite"));
                let product = wide(x.0 != y.0, x.1 * y.1, x.2 + y.2);
                let exact = add(product, wide(z.0, z.1, z.2));
                for rounding in DIRECTED {
                    let got = number(*a).times(number(*b)).plus(number(c), rounding);
                    let got = got.round(format, rounding);
                    check(format, rounding, exact, got, &format!("{a:#x} * {b:#x} + {c:#x}"));
                }
            }
        }
    }
}

#[test]
fn conversions_and_powers_of_two_are_rounded_in_their_direction() {
    for (from, to) in [(F32, F16), (F64, F32)] {
        for bits in samples(from) {
            let (is_negative, significand, exponent) = parts(from, bits).expect("finite");
            for rounding in DIRECTED {
                for by in [0, -20, 13] {
                    let exact = wide(is_negative, significand, exponent + by);
                    let got =
                        Number::of(from, bits).expect("finite").scaled(by).round(to, rounding);
                    check(to, rounding, exact, got, &format!("{bits:#x} * 2^{by}"));
                }
            }
        }
    }
}

/// To nearest, the host's own arithmetic is another opinion.
#[test]
fn to_nearest_agrees_with_the_host() {
    for a in samples(F64) {
        for b in samples(F64) {
            let [x, y] = [a, b].map(f64::from_bits);
            let [m, n] = [a, b].map(|bits| Number::of(F64, bits).expect("finite"));
            let nearest = Rounding::NearestEven;
            assert_eq!(m.times(n).round(F64, nearest), (x * y).to_bits(), "{x:e} * {y:e}");
            assert_eq!(m.plus(n, nearest).round(F64, nearest), (x + y).to_bits(), "{x:e} + {y:e}");
        }
    }
}

/// x − x and −0 + 0 are −0 downwards only.
#[test]
fn zeros_have_the_sign_of_the_mode() {
    let one = Number::of(F32, 0x3f80_0000).expect("finite");
    let zero = Number::of(F32, 0).expect("finite");
    for (rounding, sign) in [(Rounding::Up, 0), (Rounding::Down, 1), (Rounding::TowardZero, 0)] {
        for sum in [one.plus(one.negated(), rounding), zero.plus(zero.negated(), rounding)] {
            assert_eq!(sum.round(F32, rounding), sign << 31, "{rounding:?}");
        }
        let minus = zero.negated().plus(zero.negated(), rounding);
        assert_eq!(minus.round(F32, rounding), 1 << 31);
    }
}
