//! Whole programs, compiled by LLVM 22 from the IR beside them, against host computation.

use crate::bench::{Args, Bench, random_floats, random_words};
use isa::Target;

fn as_f32(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Equal bits, or both NaN.
fn assert_same(target: Target, what: &str, got: u32, expected: f32) {
    let is_same = got == expected.to_bits() || as_f32(got).is_nan() && expected.is_nan();
    assert!(
        is_same,
        "{target} {what}: got {got:#010x} ({}), expected {:#010x} ({expected})",
        as_f32(got),
        expected.to_bits()
    );
}

#[test]
fn vector_add_stops_at_its_tail() {
    for target in Target::ALL {
        let mut bench = Bench::new("vector_add", target);
        let n = 730;
        let (a, b) = (random_floats(1, n), random_floats(2, n));
        let (pa, pb) = (bench.words("a", &a), bench.words("b", &b));
        let out = bench.poisoned("out", n);
        let args = Args::default()
            .pointer(&bench.machine, pa)
            .pointer(&bench.machine, pb)
            .pointer(&bench.machine, out);
        let report = bench.run([8, 1, 1], [100, 1, 1], args.u32(n as u32));
        for (i, got) in bench.read(out).into_iter().enumerate() {
            assert_same(target, "sum", got, as_f32(a[i]) + as_f32(b[i]));
        }
        assert_eq!(report.stats.workgroups, 8);
        assert_eq!(report.stats.waves, 8 * 100_u64.div_ceil(u64::from(target.wave_width())));
    }
}

#[test]
fn reduction_through_lds_and_barriers() {
    for target in Target::ALL {
        let mut bench = Bench::new("reduce", target);
        let values: Vec<u32> = random_words(3, 3 * 256)
            .into_iter()
            .map(|word| ((word >> 8) as f32).to_bits())
            .collect();
        let input = bench.words("in", &values);
        let out = bench.poisoned("out", 3);
        let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
        bench.run([3, 1, 1], [256, 1, 1], args);
        for (group, got) in bench.read(out).into_iter().enumerate() {
            let mut tile: Vec<f32> =
                values[group * 256..][..256].iter().map(|bits| as_f32(*bits)).collect();
            for half in [128, 64, 32, 16, 8, 4, 2, 1] {
                for i in 0..half {
                    tile[i] += tile[i + half];
                }
            }
            assert_same(target, "sum", got, tile[0]);
        }
    }
}

#[test]
fn divergent_loops_and_branches() {
    for target in Target::ALL {
        let mut bench = Bench::new("collatz", target);
        let starts: Vec<u32> = (0..192).map(|i| i * i * 7 % 9973).collect();
        let input = bench.words("in", &starts);
        let out = bench.poisoned("out", 192);
        let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
        bench.run([1, 1, 1], [192, 1, 1], args);
        for (i, got) in bench.read(out).into_iter().enumerate() {
            let (mut n, mut steps) = (starts[i], 0);
            while n > 1 {
                n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
                steps += 1;
            }
            assert_eq!(got, steps, "{target} start {}", starts[i]);
        }
    }
}

#[test]
fn float_arithmetic() {
    for target in Target::ALL {
        let mut bench = Bench::new("math", target);
        for seed in 0..40 {
            let inputs = random_floats(100 + seed, 3 * 64);
            let input = bench.words("in", &inputs);
            let out = bench.poisoned("out", 12 * 64);
            let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
            let report = bench.run([1, 1, 1], [64, 1, 1], args);
            assert!(report.approximations.iter().any(|used| used.mnemonic.contains("exp")));
            let results = bench.read(out);
            for item in 0..64 {
                let [x, y, z] = [0, 1, 2].map(|k| as_f32(inputs[3 * item + k]));
                check_math(target, [x, y, z], &results[12 * item..][..12]);
            }
        }
    }
}

fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

/// minNum: the number when one operand is NaN, −0 below +0.
fn min_num(x: f32, y: f32) -> f32 {
    if x.is_nan() || y.is_nan() {
        x.min(y)
    } else if x < y || x == y && x.is_sign_negative() {
        x
    } else {
        y
    }
}

fn max_num(x: f32, y: f32) -> f32 {
    if x.is_nan() || y.is_nan() {
        x.max(y)
    } else if x > y || x == y && x.is_sign_positive() {
        x
    } else {
        y
    }
}

fn check_math(target: Target, [x, y, z]: [f32; 3], got: &[u32]) {
    let through = |f: fn(f64) -> f64, value: f32| flushed(f(f64::from(flushed(value))) as f32);
    let expected = [
        ("x / y", x / y),
        ("fma", x.mul_add(y, z)),
        ("min", min_num(x, y)),
        ("max", max_num(x, y)),
        ("exp2", through(libm::exp2, x)),
        ("log2", through(libm::log2, x)),
        ("rcp", through(|v| 1.0 / v, x)),
        ("sqrt", x.sqrt()),
        ("round", x.round_ties_even()),
        ("-y·|z| − x", -y * z.abs() - x),
        ("⌊x⌋/8", x.floor() / 8.0),
        ("select", if (x < y) ^ (y != z) { x } else { z }),
    ];
    for ((what, expected), got) in expected.into_iter().zip(got) {
        assert_same(target, &format!("{what} of ({x:e}, {y:e}, {z:e})"), *got, expected);
    }
}

#[test]
fn narrow_types_and_conversions() {
    for target in Target::ALL {
        let mut bench = Bench::new("convert", target);
        for seed in 0..20 {
            let inputs = random_floats(500 + seed, 64);
            let input = bench.words("in", &inputs);
            let [half, bfloat] = ["half", "bfloat"].map(|label| bench.poisoned(label, 32));
            let (back, ints) = (bench.poisoned("back", 64), bench.poisoned("ints", 256));
            let args = [input, half, bfloat, back, ints]
                .into_iter()
                .fold(Args::default(), |args, id| args.pointer(&bench.machine, id));
            bench.run([1, 1, 1], [64, 1, 1], args);
            let halves = |words: Vec<u32>| -> Vec<u16> {
                words.iter().flat_map(|word| [*word as u16, (word >> 16) as u16]).collect()
            };
            let (half, bfloat) = (halves(bench.read(half)), halves(bench.read(bfloat)));
            let (back, ints) = (bench.read(back), bench.read(ints));
            for i in 0..64 {
                let x = as_f32(inputs[i]);
                let (h, b) = (half::f16::from_f32(x), half::bf16::from_f32(x));
                let same =
                    |got: u16, expected: u16, nan: bool| got == expected || nan && x.is_nan();
                assert!(
                    same(half[i], h.to_bits(), half::f16::from_bits(half[i]).is_nan()),
                    "{target} half of {x:e}: {:#x}",
                    half[i]
                );
                assert!(
                    same(bfloat[i], b.to_bits(), half::bf16::from_bits(bfloat[i]).is_nan()),
                    "{target} bfloat of {x:e}: {:#x}",
                    bfloat[i]
                );
                assert_same(target, "sum", back[i], h.to_f32() + b.to_f32());
                let [s, u] = [x as i32, (x as u32).cast_signed()];
                assert_eq!(
                    [ints[4 * i], ints[4 * i + 1]],
                    [s.cast_unsigned(), u.cast_unsigned()],
                    "{target} integers of {x:e}"
                );
                assert_eq!(ints[4 * i + 2] & 0xff, s.cast_unsigned() & 0xff);
                assert_eq!(ints[4 * i + 2] >> 16, u.cast_unsigned() & 0xffff);
                assert_same(
                    target,
                    "bytes",
                    ints[4 * i + 3],
                    f32::from(s as i8) + f32::from(u as u16),
                );
            }
        }
    }
}

#[test]
fn integer_arithmetic() {
    for target in Target::ALL {
        let mut bench = Bench::new("integers", target);
        for seed in 0..20 {
            let mut inputs = random_words(700 + seed, 4 * 64);
            // Edge values: zero, one, all ones, signs.
            inputs[..16].copy_from_slice(&[
                0,
                0,
                0,
                0,
                1,
                0,
                u32::MAX,
                u32::MAX,
                0,
                1 << 31,
                u32::MAX,
                u32::MAX,
                5,
                0,
                3,
                0,
            ]);
            let input = bench.words("in", &inputs);
            let out = bench.poisoned("out", 16 * 64);
            let scale = 0x1234_5678_9abc_def0_u64;
            let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
            bench.run([1, 1, 1], [64, 1, 1], args.bytes(scale.to_le_bytes()));
            let wide = |words: &[u32], i: usize| {
                u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 32
            };
            let results = bench.read(out);
            for item in 0..64 {
                let (x, y) = (wide(&inputs, 2 * item), wide(&inputs, 2 * item + 1));
                for (k, expected) in expected_integers(x, y, scale).into_iter().enumerate() {
                    assert_eq!(
                        wide(&results, 8 * item + k),
                        expected,
                        "{target} result {k} of ({x:#x}, {y:#x})"
                    );
                }
            }
        }
    }
}

fn expected_integers(x: u64, y: u64, scale: u64) -> [u64; 8] {
    let (xl, yl) = (x as u32, y as u32);
    let amount = y & 63;
    let divisor = yl | 1;
    let remainder = xl.cast_signed().wrapping_rem(divisor.cast_signed()).cast_unsigned();
    let rotated = (u64::from(xl) << 32 | u64::from(yl)) << 13 >> 32;
    let pick = if x.cast_signed() < y.cast_signed() {
        xl.cast_signed().min(yl.cast_signed()).cast_unsigned()
    } else {
        xl.max(yl)
    };
    [
        x.wrapping_mul(y),
        x.wrapping_add(scale).wrapping_sub(y),
        (x << amount) ^ (x.cast_signed() >> amount).cast_unsigned() | x >> amount,
        u64::from(remainder) << 32 | u64::from(xl / divisor),
        u64::from(x.leading_zeros()) * 10_000
            + u64::from(y.count_ones()) * 100
            + u64::from(x.trailing_zeros()),
        u64::from(xl.swap_bytes().wrapping_add(yl.reverse_bits()) ^ rotated as u32),
        u64::from(pick) << 32 | u64::from(xl.saturating_add(yl)),
        x / (y | 1),
    ]
}

#[test]
fn lanes_exchange_values() {
    for target in Target::ALL {
        let width = target.wave_width() as usize;
        let mut bench = Bench::new("lanes", target);
        let x = random_words(9, width);
        let input = bench.words("in", &x);
        let out = bench.poisoned("out", 10 * width);
        let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
        bench.run([1, 1, 1], [width as u32, 1, 1], args);
        let results = bench.read(out);
        for lane in 0..width {
            let expected = match target {
                Target::Gfx950 => lanes_of_gfx950(&x, lane),
                Target::Gfx1100 => lanes_of_gfx1100(&x, lane),
            };
            assert_eq!(results[10 * lane..][..10], expected, "{target} lane {lane}");
        }
    }
}

fn lanes_of_gfx950(x: &[u32], lane: usize) -> [u32; 10] {
    let (row, place) = (lane & !15, lane & 15);
    let id = lane as u32;
    let bcast = if lane & 16 != 0 { x[row - 1] } else { 5 };
    let swap =
        if lane < 32 { x[lane].wrapping_sub(x[lane + 32]) } else { (id - 32).wrapping_sub(id) };
    [
        id,
        if place == 0 { 7 } else { x[lane - 1] },
        x[lane ^ 1],
        bcast,
        if lane < 32 { 6 } else { x[31] },
        x[row + 15 - place].wrapping_add(x[lane]),
        x[63 - lane],
        x[lane ^ 16],
        x[0] ^ x[37],
        swap,
    ]
}

fn lanes_of_gfx1100(x: &[u32], lane: usize) -> [u32; 10] {
    let (row, place) = (lane & !15, lane & 15);
    let reversed_selects = [0xf, 0xe, 0xd, 0xc, 0xb, 0xa, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    [
        lane as u32,
        if place == 0 { 7 } else { x[lane - 1] },
        x[lane ^ 1],
        x[row + 5],
        x[lane ^ 8].wrapping_add(x[lane]),
        x[(row ^ 16) + reversed_selects[place]],
        x[31 - lane],
        x[lane ^ 16],
        x[0] ^ x[21],
        x[lane ^ 7],
    ]
}

#[test]
fn three_dimensional_grids() {
    for target in Target::ALL {
        let mut bench = Bench::new("grid", target);
        let (groups, size) = ([3, 2, 2], [5, 4, 3]);
        let (n_groups, n_items) = (12, 60);
        let out = bench.poisoned("out", n_groups * n_items);
        let args = Args::default().pointer(&bench.machine, out);
        bench.run(groups, size, args);
        let expected: Vec<u32> = (0..n_groups)
            .flat_map(|group| (0..n_items).map(move |item| (group << 16 | item) as u32))
            .collect();
        assert_eq!(bench.read(out), expected, "{target}");
    }
}

#[test]
fn scratch_calls_and_flat_pointers() {
    for target in Target::ALL {
        let mut bench = Bench::new("scratch", target);
        let x = random_words(11, 64);
        let input = bench.words("in", &x);
        let out = bench.poisoned("out", 64);
        let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
        let report = bench.run([1, 1, 1], [64, 1, 1], args);
        let expected: Vec<u32> =
            x.iter().map(|x| (x & 15).wrapping_mul(*x).wrapping_add(2)).collect();
        assert_eq!(bench.read(out), expected, "{target}");
        assert!(report.stats.instructions.contains_key(&wavesmith_emulator::Class::Scratch));
    }
}

#[test]
fn lds_in_all_widths() {
    for target in Target::ALL {
        let mut bench = Bench::new("lds_wide", target);
        let x = random_words(13, 256);
        let input = bench.words("in", &x);
        let out = bench.poisoned("out", 256);
        let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
        bench.run([1, 1, 1], [64, 1, 1], args);
        let results = bench.read(out);
        for item in 0..64 {
            let word = |c: usize| x[(item / 4 + 16 * c) * 4 + item % 4];
            let byte = i32::from(x[4 * (item ^ 1)] as i8).cast_unsigned();
            let expected = [word(0), word(1), word(2), word(3).wrapping_add(byte)];
            assert_eq!(results[4 * item..][..4], expected, "{target} item {item}");
        }
    }
}

#[test]
fn halves_and_doubles() {
    for target in Target::ALL {
        let mut bench = Bench::new("halves", target);
        for seed in 0..40 {
            let inputs = random_words(900 + seed, 3 * 64);
            let input = bench.words("in", &inputs);
            let out = bench.poisoned("out", 6 * 64);
            let args = Args::default().pointer(&bench.machine, input).pointer(&bench.machine, out);
            bench.run([1, 1, 1], [64, 1, 1], args);
            let results = bench.read(out);
            for item in 0..64 {
                check_halves(target, &inputs[3 * item..][..3], &results[6 * item..][..6]);
            }
        }
    }
}

/// The binary16 nearest to a binary64 (exact sums and products of binary16 fit one).
fn nearest_half(value: f64) -> u32 {
    half::f16::from_f64(value).to_bits().into()
}

fn assert_half(target: Target, what: &str, got: u32, expected: u32) {
    let is_nan = |bits: u32| bits & 0x7fff > 0x7c00;
    assert!(
        got & 0xffff == expected || is_nan(got & 0xffff) && is_nan(expected),
        "{target} {what}: got {:#x}, expected {expected:#x}",
        got & 0xffff
    );
}

fn check_halves(target: Target, inputs: &[u32], got: &[u32]) {
    let value =
        |k: usize, high: u32| half::f16::from_bits((inputs[k] >> (16 * high)) as u16).to_f64();
    for high in [0, 1] {
        let part = |word: u32| word >> (16 * high);
        let (a, b) = (value(0, high), value(1, high));
        assert_half(target, "sum", part(got[0]), nearest_half_exactly(a + b));
        // A product of binary16 plus a third is exact in 128-bit fixed point; binary64 may round twice.
        if let Some(expected) = fused_half(a, b, value(2, high)) {
            assert_half(target, "fma", part(got[1]), expected);
        }
    }
    let (a, b, c) = (value(0, 0), value(1, 1), value(2, 1));
    let product = half::f16::from_bits(nearest_half_exactly(a * b) as u16).to_f64();
    let difference = half::f16::from_bits(nearest_half_exactly(product - c) as u16).to_f64();
    assert_half(target, "difference", got[2], nearest_half_exactly(difference));
    assert_half(target, "maximum", got[2] >> 16, nearest_half_exactly(difference.max(c)));
    assert_same(target, "mixed", got[3], (a as f32).mul_add(b as f32, c as f32));
    let quotient = a / b;
    let expected = quotient.mul_add(b, a);
    let result = f64::from_bits(u64::from(got[4]) | u64::from(got[5]) << 32);
    assert!(
        result == expected || result.is_nan() && expected.is_nan(),
        "{target} double of ({a}, {b}): {result:e}, expected {expected:e}"
    );
}

/// Rounding through integers of 2⁻⁴⁸: exact for everything that binary16 products and sums can be.
fn nearest_half_exactly(value: f64) -> u32 {
    if !value.is_finite() || value == 0.0 {
        return nearest_half(value);
    }
    let sign = if value < 0.0 { 0x8000 } else { 0 };
    round_fixed((value.abs() * 2.0_f64.powi(48)) as u128, sign)
}

/// `a · b + c` in units of 2⁻⁴⁸, rounded once; `None` for specials and for zero results.
fn fused_half(a: f64, b: f64, c: f64) -> Option<u32> {
    if ![a, b, c].iter().all(|value| value.is_finite()) {
        return None;
    }
    let fixed = |value: f64| (value * 2.0_f64.powi(48)) as i128;
    let sum = (a * 16_777_216.0) as i128 * (b * 16_777_216.0) as i128 + fixed(c);
    let sign = if sum < 0 { 0x8000 } else { 0 };
    (sum != 0).then(|| round_fixed(sum.unsigned_abs(), sign))
}

/// A magnitude in units of 2⁻⁴⁸ to binary16, to nearest even.
fn round_fixed(magnitude: u128, sign: u32) -> u32 {
    let top = 127 - magnitude.leading_zeros().min(127);
    // One unit in the last place: 2⁻²⁴ at least.
    let unit = (top.saturating_sub(10)).max(24);
    let (steps, rest, half) =
        (magnitude >> unit, magnitude & ((1 << unit) - 1), 1_u128 << (unit - 1));
    let rounded = steps + u128::from(rest > half || rest == half && steps & 1 == 1);
    let bits = rounded as u32 + (unit - 24) * 1024;
    sign | bits.min(0x7c00)
}

#[test]
fn preloaded_arguments() {
    for target in Target::ALL {
        let mut bench = Bench::new("preload", target);
        let out = bench.poisoned("out", 64);
        let args = Args::default().pointer(&bench.machine, out).u32(3).u32(1000);
        bench.run([1, 1, 1], [64, 1, 1], args);
        assert_eq!(
            bench.read(out),
            (0..64).map(|i| 3 * i + 1000).collect::<Vec<u32>>(),
            "{target}"
        );
    }
}
