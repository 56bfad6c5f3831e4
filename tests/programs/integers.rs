//! Integer division as LLVM expands it, and conversions between formats.

use half::{bf16, f16};
use isa::Target;

use crate::bench::{
    ALL_LEVELS, Arg, BOTH, Bench, Program, assert_equal, random_floats, random_words,
};
use crate::elementwise::{BLOCK, GROUPS, N, guarded, put};
use crate::ir::{kernel, v};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "divide_32",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| divide(target, "divide_32", "i32"),
        check: check_divide_32,
    },
    Program {
        name: "divide_64",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| divide(target, "divide_64", "i64"),
        check: check_divide_64,
    },
    Program {
        name: "conversions",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: conversions,
        check: check_conversions,
    },
];

const DIVISIONS: [&str; 4] = ["udiv", "urem", "sdiv", "srem"];

fn divide(target: Target, name: &str, ty: &str) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %other, ptr addrspace(1) %out, i32 %n";
    kernel(target, name, params, BLOCK, |ir| {
        guarded(ir, |ir, i| {
            let x = ir.load(1, ty, "%in", i);
            let y = ir.load(1, ty, "%other", i);
            for (k, op) in DIVISIONS.iter().enumerate() {
                let z = v!(ir, "{op} {ty} {x}, {y}");
                put(ir, ty, &z, k, i);
            }
            for (k, op) in DIVISIONS.iter().enumerate() {
                let z = v!(ir, "{op} {ty} {x}, 1000003");
                put(ir, ty, &z, k + 4, i);
            }
        });
    })
}

/// Edge values first, then random ones of every magnitude.
fn operands(seed: u64) -> Vec<u64> {
    let edges = [0, 1, 2, 3, 7, u64::MAX, u64::MAX - 1, 1 << 31, 1 << 32, (1 << 32) - 1, 1 << 63];
    let words = random_words(seed, 3 * N);
    let random =
        words.chunks(3).map(|w| ((u64::from(w[0]) << 32) | u64::from(w[1])) >> (w[2] % 64));
    let mut all: Vec<u64> = random.collect();
    for (i, x) in edges.iter().enumerate() {
        for (j, y) in edges.iter().enumerate() {
            all[i * edges.len() + j] = if seed == 1 { *x } else { *y };
        }
    }
    all
}

macro_rules! check_divide {
    ($name:ident, $unsigned:ty, $signed:ty) => {
        fn $name(bench: &mut Bench) {
            let x: Vec<$unsigned> = operands(1).iter().map(|x| *x as $unsigned).collect();
            let mut y: Vec<$unsigned> = operands(2).iter().map(|y| *y as $unsigned).collect();
            for (x, y) in x.iter().zip(&mut y) {
                let overflows = *x == <$signed>::MIN as $unsigned && *y == <$unsigned>::MAX;
                // Neither has a meaning in LLVM IR.
                if *y == 0 || overflows {
                    *y = 5;
                }
            }
            let (px, py) = (bench.input(&x), bench.input(&y));
            let out = bench.output::<$unsigned>(8 * N);
            bench.launch(GROUPS, BLOCK, &[px, py, out, Arg::U32(N as u32)]);
            let got: Vec<$unsigned> = bench.read(out);
            let four = |x: $unsigned, y: $unsigned| {
                let (sx, sy) = (x as $signed, y as $signed);
                [x / y, x % y, (sx / sy) as $unsigned, (sx % sy) as $unsigned]
            };
            let mut expected = vec![0; 8 * N];
            for i in 0..N {
                let both = [four(x[i], y[i]), four(x[i], 1_000_003)].concat();
                for (k, value) in both.into_iter().enumerate() {
                    expected[k * N + i] = value;
                }
            }
            assert_equal("quotients", &got, &expected);
        }
    };
}

check_divide!(check_divide_32, u32, i32);
check_divide!(check_divide_64, u64, i64);

/// Conversions from f32, results widened to i64: the text, and what it gives.
type Conversion = (&'static str, fn(f32) -> i64);

const CONVERSIONS: &[Conversion] = &[
    ("call i32 @llvm.fptosi.sat.i32.f32(float X) to i32", |x| (x as i32).into()),
    ("call i32 @llvm.fptoui.sat.i32.f32(float X) to i32", |x| (x as u32 as i32).into()),
    ("call i64 @llvm.fptosi.sat.i64.f32(float X) to i64", |x| x as i64),
    ("call i64 @llvm.fptoui.sat.i64.f32(float X) to i64", |x| x as u64 as i64),
    ("call i16 @llvm.fptosi.sat.i16.f32(float X) to i16", |x| (x as i16).into()),
    ("call i8 @llvm.fptoui.sat.i8.f32(float X) to i8", |x| (x as u8 as i8).into()),
    ("fptrunc float X to half", |x| (f16::from_f32(x).to_bits() as i16).into()),
    ("fptrunc float X to bfloat", |x| (bf16::from_f32(x).to_bits() as i16).into()),
    ("fpext float X to double", |x| f64::from(x).to_bits() as i64),
];

fn conversions(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n";
    kernel(target, "conversions", params, BLOCK, |ir| {
        guarded(ir, |ir, i| {
            let x = ir.load(1, "float", "%in", i);
            for (k, (text, _)) in CONVERSIONS.iter().enumerate() {
                let (text, ty) = text.rsplit_once(" to ").unwrap();
                let text = text.replace('X', &x);
                let converted = match text.starts_with("call") {
                    true => ir.value(&text),
                    false => v!(ir, "{text} to {ty}"),
                };
                let (bits, int) = match ty {
                    "half" | "bfloat" => (v!(ir, "bitcast {ty} {converted} to i16"), "i16"),
                    "double" => (v!(ir, "bitcast double {converted} to i64"), "i64"),
                    int => (converted, int),
                };
                let wide = match int {
                    "i64" => bits,
                    int => v!(ir, "sext {int} {bits} to i64"),
                };
                put(ir, "i64", &wide, k, i);
            }
            // And back: from 32 and 64 bits to f32, shown as bits.
            let bits = v!(ir, "bitcast float {x} to i32");
            let wide = v!(ir, "sext i32 {bits} to i64");
            let wide = v!(ir, "mul i64 {wide}, 1234567891");
            for (j, (op, ty, value)) in [
                ("sitofp", "i32", &bits),
                ("uitofp", "i32", &bits),
                ("sitofp", "i64", &wide),
                ("uitofp", "i64", &wide),
            ]
            .into_iter()
            .enumerate()
            {
                let single = v!(ir, "{op} {ty} {value} to float");
                let word = v!(ir, "bitcast float {single} to i32");
                let word = v!(ir, "zext i32 {word} to i64");
                put(ir, "i64", &word, CONVERSIONS.len() + 2 * j, i);
                let double = v!(ir, "{op} {ty} {value} to double");
                let word = v!(ir, "bitcast double {double} to i64");
                put(ir, "i64", &word, CONVERSIONS.len() + 2 * j + 1, i);
            }
        });
    })
}

fn check_conversions(bench: &mut Bench) {
    let mut x: Vec<f32> = random_words(5, N)
        .into_iter()
        .map(f32::from_bits)
        .map(|x| if x.is_nan() { 0.0 } else { x })
        .collect();
    x[..300].copy_from_slice(&random_floats(6, 300, -70000.0, 70000.0));
    x[300..310].copy_from_slice(&[
        65504.0,
        65519.9,
        65520.0,
        5.96e-8,
        2.98e-8,
        2.9802322e-8,
        -0.0,
        1e-45,
        3.4e38,
        -3.4e38,
    ]);
    let out = bench.output::<i64>(N * (CONVERSIONS.len() + 8));
    let input = bench.input(&x);
    bench.launch(GROUPS, BLOCK, &[input, out, Arg::U32(N as u32)]);
    let got: Vec<i64> = bench.read(out);
    for (i, x) in x.iter().enumerate() {
        let mut expected: Vec<i64> = CONVERSIONS.iter().map(|(_, convert)| convert(*x)).collect();
        let bits = x.to_bits();
        let (narrow, wide) = (bits as i32, i64::from(bits as i32).wrapping_mul(1_234_567_891));
        let both =
            |single: f32, double: f64| [i64::from(single.to_bits()), double.to_bits() as i64];
        expected.extend(both(narrow as f32, narrow as f64));
        expected.extend(both(bits as f32, f64::from(bits)));
        expected.extend(both(wide as f32, wide as f64));
        expected.extend(both(wide as u64 as f32, wide as u64 as f64));
        for (k, expected) in expected.iter().enumerate() {
            let got = got[k * N + i];
            assert_eq!(
                got, *expected,
                "conversion {k} of {x:e}: got {got:#x}, expected {expected:#x}"
            );
        }
    }
}
