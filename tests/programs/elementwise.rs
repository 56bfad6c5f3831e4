//! Elementwise functions as LLVM expands them, in each float format.
//!
//! Limits are those of the OpenCL C specification ("Relative Error as ULPs") where LLVM's expansion serves
//! OpenCL; operations that IEEE 754 defines must be correctly rounded, which half a unit says.

use half::{bf16, f16};
use isa::Target;

use crate::bench::{ALL_LEVELS, Arg, BOTH, Bench, Plain, Program, random_floats, random_words};
use crate::ir::{Ir, kernel, v};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "unary_f32",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| unary(target, "unary_f32", UNARY_F32),
        check: |bench| check_unary(bench, UNARY_F32),
    },
    Program {
        name: "binary_f32",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| binary(target, "binary_f32", "float", "f32", BINARY),
        check: |bench| check_binary::<f32>(bench, BINARY),
    },
    Program {
        name: "binary_f64",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| binary(target, "binary_f64", "double", "f64", BINARY),
        check: |bench| check_binary::<f64>(bench, BINARY),
    },
    Program {
        name: "binary_f16",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| binary(target, "binary_f16", "half", "f16", BINARY),
        check: |bench| check_binary::<f16>(bench, BINARY),
    },
    Program {
        name: "binary_bf16",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: |target| binary(target, "binary_bf16", "bfloat", "bf16", BINARY_NARROW),
        check: |bench| check_binary::<bf16>(bench, BINARY_NARROW),
    },
    Program { name: "mixed", targets: BOTH, levels: &[2], source: mixed, check: check_mixed },
    Program { name: "gelu", targets: BOTH, levels: ALL_LEVELS, source: gelu, check: check_gelu },
];

/// Elements of each test; not a multiple of the workgroup.
pub const N: usize = 700;
pub const BLOCK: u32 = 128;
pub const GROUPS: u32 = 6;

/// A function of one f32: instruction text with `X` for the operand, the exact function, units in the last place, absolute limit beside them.
type Unary = (&'static str, fn(f64) -> f64, f64, f64);

/// Absolute limits: sin and cos multiply by the rounded 1/2π, then the instruction adds 2⁻²⁰ of a turn.
const TURN: f64 = 2e-5;

const UNARY_F32: &[Unary] = &[
    ("call float @llvm.exp.f32(float X)", f64::exp, 3.0, 0.0),
    ("call float @llvm.exp2.f32(float X)", f64::exp2, 3.0, 0.0),
    ("call float @llvm.exp10.f32(float X)", exp10, 3.0, 0.0),
    ("call float @llvm.log.f32(float X)", f64::ln, 3.0, 0.0),
    ("call float @llvm.log2.f32(float X)", f64::log2, 3.0, 0.0),
    ("call float @llvm.log10.f32(float X)", f64::log10, 3.0, 0.0),
    ("call float @llvm.sin.f32(float X)", f64::sin, 0.0, TURN),
    ("call float @llvm.cos.f32(float X)", f64::cos, 0.0, TURN),
    ("call float @llvm.sqrt.f32(float X)", f64::sqrt, 0.5, 0.0),
    ("call float @llvm.floor.f32(float X)", f64::floor, 0.0, 0.0),
    ("call float @llvm.ceil.f32(float X)", f64::ceil, 0.0, 0.0),
    ("call float @llvm.trunc.f32(float X)", f64::trunc, 0.0, 0.0),
    ("call float @llvm.roundeven.f32(float X)", f64::round_ties_even, 0.0, 0.0),
    ("call float @llvm.round.f32(float X)", f64::round, 0.0, 0.0),
    ("call float @llvm.fabs.f32(float X)", f64::abs, 0.0, 0.0),
    ("fneg float X", |x| -x, 0.0, 0.0),
    ("fdiv float 1.0, X", |x| 1.0 / x, 0.5, 0.0),
    ("fdiv fast float 1.0, X", |x| 1.0 / x, 1.0, 0.0),
    ("call fast float @llvm.exp.f32(float X)", f64::exp, 64.0, 0.0),
    ("call fast float @llvm.sqrt.f32(float X)", f64::sqrt, 1.0, 0.0),
];

fn exp10(x: f64) -> f64 {
    10.0_f64.powf(x)
}

/// Runs the body in work-items below `n`, with their number.
pub fn guarded(ir: &mut Ir, body: impl FnOnce(&mut Ir, &str)) {
    let (group, item) = (ir.group(), ir.item());
    let base = v!(ir, "mul i32 {group}, {BLOCK}");
    let i = v!(ir, "add i32 {base}, {item}");
    let inside = v!(ir, "icmp ult i32 {i}, %n");
    ir.when(&inside, |ir| body(ir, &i));
}

/// Result `k` of element `i` stands at `k * n + i`.
pub fn put(ir: &mut Ir, ty: &str, value: &str, k: usize, i: &str) {
    let row = v!(ir, "mul i32 %n, {k}");
    let at = v!(ir, "add i32 {row}, {i}");
    ir.store(1, ty, value, "%out", &at);
}

fn unary(target: Target, name: &str, functions: &[Unary]) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n";
    kernel(target, name, params, BLOCK, |ir| {
        guarded(ir, |ir, i| {
            let x = ir.load(1, "float", "%in", i);
            for (k, (text, ..)) in functions.iter().enumerate() {
                let y = ir.value(&text.replace('X', &x));
                put(ir, "float", &y, k, i);
            }
        });
    })
}

/// One unit in the last place of binary32 at a value.
fn ulp_f32(value: f64) -> f64 {
    let exponent = value.abs().log2().floor().clamp(-126.0, 127.0);
    (exponent - 23.0).exp2()
}

fn check_unary(bench: &mut Bench, functions: &[Unary]) {
    let mut x = random_floats(1, N, 1e-3, 20.0);
    // Negative numbers, subnormals, ties and large arguments: what a function is not defined for is NaN.
    for (at, special) in
        [-0.5, -2.5, 2.5, 0.5, 1.0, 1.0000001, 0.9999999, 1e-40, 3e-39, -7.25, 87.5, -103.0, 250.0]
            .into_iter()
            .enumerate()
    {
        x[at * 7] = special;
    }
    let (input, out) = (bench.input(&x), bench.output::<f32>(N * functions.len() + 1));
    let n = Arg::U32(N as u32);
    bench.launch(GROUPS, BLOCK, &[input, out, n]);
    let got: Vec<f32> = bench.read(out);
    assert!(got[N * functions.len()].is_nan(), "written behind the end");
    for (k, (text, function, ulps, absolute)) in functions.iter().enumerate() {
        for (i, x) in x.iter().enumerate() {
            let expected = function(f64::from(*x));
            let is_fast = text.contains("fast");
            let has_no_promise =
                is_fast && (expected.abs() < 1e-30 || x.abs() < 1e-30 || *x < -80.0);
            if !has_no_promise {
                let limit = ulps * ulp_f32(expected) + absolute * f64::from(x.abs()).max(1.0);
                assert_one(text, f64::from(*x), f64::from(got[k * N + i]), expected, limit);
            }
        }
    }
}

fn assert_one(text: &str, x: f64, got: f64, expected: f64, limit: f64) {
    let overflows =
        expected.abs() > f64::from(f32::MAX) && got == expected.signum() * f64::INFINITY;
    let same = got.is_nan() && expected.is_nan() || got == expected || overflows;
    assert!(
        same || (got - expected).abs() <= limit,
        "{text} of {x:e}: got {got:e}, expected {expected:e}, limit {limit:e}"
    );
}

/// A function of two floats: instruction text with operands `X` and `Y`, the format `T` and its suffix
/// `S`; the exact function. All are correctly rounded.
type Binary = (&'static str, fn(f64, f64) -> f64);

const BINARY: &[Binary] = &[
    ("fadd T X, Y", |x, y| x + y),
    ("fsub T X, Y", |x, y| x - y),
    ("fmul T X, Y", |x, y| x * y),
    ("fdiv T X, Y", |x, y| x / y),
    ("call T @llvm.minnum.S(T X, T Y)", f64::min),
    ("call T @llvm.maxnum.S(T X, T Y)", f64::max),
    ("call T @llvm.copysign.S(T X, T Y)", f64::copysign),
    ("call T @llvm.fma.S(T X, T X, T Y)", |x, y| x.mul_add(x, y)),
    ("call T @llvm.sqrt.S(T X)", |x, _| x.sqrt()),
    ("call T @llvm.floor.S(T Y)", |_, y| y.floor()),
    ("call T @llvm.rint.S(T Y)", |_, y| y.round_ties_even()),
];

const BINARY_NARROW: &[Binary] = &[
    ("fadd T X, Y", |x, y| x + y),
    ("fsub T X, Y", |x, y| x - y),
    ("fmul T X, Y", |x, y| x * y),
    ("fdiv T X, Y", |x, y| x / y),
    ("call T @llvm.copysign.S(T X, T Y)", f64::copysign),
    ("fneg T Y", |_, y| -y),
    ("call T @llvm.fabs.S(T Y)", |_, y| y.abs()),
];

fn binary(target: Target, name: &str, ty: &str, suffix: &str, functions: &[Binary]) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %other, ptr addrspace(1) %out, i32 %n";
    kernel(target, name, params, BLOCK, |ir| {
        guarded(ir, |ir, i| {
            let x = ir.load(1, ty, "%in", i);
            let y = ir.load(1, ty, "%other", i);
            for (k, (text, _)) in functions.iter().enumerate() {
                let text = text
                    .replace("@llvm", "@LLVM")
                    .replace('X', &x)
                    .replace('Y', &y)
                    .replace(".S(", &format!(".{suffix}("))
                    .replace("T ", &format!("{ty} "))
                    .replace("@LLVM", "@llvm");
                let z = ir.value(&text);
                put(ir, ty, &z, k, i);
            }
        });
    })
}

/// A float format: its values are exact in f64, and f64 results are rounded to it once more.
trait Format: Plain {
    fn wide(self) -> f64;
    /// Rounds an f64 that holds the exact result, or one rounded with more than twice the digits.
    fn round(value: f64) -> Self;
}

impl Format for f32 {
    fn wide(self) -> f64 {
        self.into()
    }
    fn round(value: f64) -> f32 {
        value as f32
    }
}
impl Format for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn round(value: f64) -> f64 {
        value
    }
}
impl Format for f16 {
    fn wide(self) -> f64 {
        self.into()
    }
    fn round(value: f64) -> f16 {
        f16::from_f64(value)
    }
}
impl Format for bf16 {
    fn wide(self) -> f64 {
        self.into()
    }
    fn round(value: f64) -> bf16 {
        bf16::from_f64(value)
    }
}

/// Double rounding from f64 is innocuous for sums, products, quotients and roots of formats with at most
/// 25 digits (Figueroa); a fused sum is made of numbers whose exact sum f64 holds.
fn check_binary<T: Format>(bench: &mut Bench, functions: &[Binary]) {
    let values = |seed| -> Vec<T> {
        let spread = random_floats(seed, N, -8.0, 8.0);
        let scale = random_words(seed + 100, N);
        let scaled = spread.iter().zip(scale);
        scaled
            .map(|(value, word)| {
                let exponent = i32::try_from(word % 9).unwrap() - 4;
                T::round((f64::from(*value) * 64.0).round() / 64.0 * f64::from(exponent).exp2())
            })
            .collect()
    };
    let (x, y) = (values(3), values(4));
    let (px, py) = (bench.input(&x), bench.input(&y));
    let out = bench.output::<T>(N * functions.len());
    bench.launch(GROUPS, BLOCK, &[px, py, out, Arg::U32(N as u32)]);
    let got: Vec<T> = bench.read(out);
    for (k, (text, function)) in functions.iter().enumerate() {
        for i in 0..N {
            let (x, y) = (x[i].wide(), y[i].wide());
            let expected = T::round(function(x, y)).wide();
            assert_one(text, x, got[k * N + i].wide(), expected, 0.0);
        }
    }
}

/// gelu(x) = x/2 · (1 + erf(x/√2)), erf by formula 7.1.26 of Abramowitz and Stegun, whose error is at most
/// 1.5e-7; exp with a sign, a reciprocal and a select.
const ERF: [f32; 5] = [0.254_829_6, -0.284_496_72, 1.421_413_8, -1.453_152, 1.061_405_4];

fn float(value: f32) -> String {
    format!("0x{:016X}", f64::from(value).to_bits())
}

fn gelu(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n";
    kernel(target, "gelu", params, BLOCK, |ir| {
        guarded(ir, |ir, i| {
            let x = ir.load(1, "float", "%in", i);
            let z = v!(ir, "fmul float {x}, {}", float(std::f32::consts::FRAC_1_SQRT_2));
            let z = v!(ir, "call float @llvm.fabs.f32(float {z})");
            let scaled = v!(
                ir,
                "call float @llvm.fma.f32(float {z}, float {}, float 1.0)",
                float(0.327_591_1)
            );
            let t = v!(ir, "fdiv float 1.0, {scaled}");
            let mut sum = float(ERF[4]);
            for coefficient in ERF[..4].iter().rev() {
                let c = float(*coefficient);
                sum = v!(ir, "call float @llvm.fma.f32(float {sum}, float {t}, float {c})");
            }
            let sum = v!(ir, "fmul float {sum}, {t}");
            let square = v!(ir, "fmul float {z}, {z}");
            let square = v!(ir, "fneg float {square}");
            let tail = v!(ir, "call float @llvm.exp.f32(float {square})");
            let tail = v!(ir, "fmul float {sum}, {tail}");
            let erf = v!(ir, "fsub float 1.0, {tail}");
            let erf = v!(ir, "call float @llvm.copysign.f32(float {erf}, float {x})");
            let one = v!(ir, "fadd float {erf}, 1.0");
            let half = v!(ir, "fmul float {x}, 0.5");
            let y = v!(ir, "fmul float {half}, {one}");
            ir.store(1, "float", &y, "%out", i);
        });
    })
}

/// erf by its Maclaurin series in f64; with |z| ≤ 4 the terms stay below 10^6 and cancel to 1e-10.
fn erf(z: f64) -> f64 {
    let (mut term, mut sum) = (z, z);
    for k in 1..200 {
        let k = f64::from(k);
        term *= -z * z / k;
        sum += term / (2.0 * k + 1.0);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn check_gelu(bench: &mut Bench) {
    let x = random_floats(9, N, -5.0, 5.0);
    let (input, out) = (bench.input(&x), bench.output::<f32>(N));
    bench.launch(GROUPS, BLOCK, &[input, out, Arg::U32(N as u32)]);
    for (x, got) in x.iter().zip(bench.read::<f32>(out)) {
        let x = f64::from(*x);
        let expected = x / 2.0 * (1.0 + erf(x / std::f64::consts::SQRT_2));
        // The formula's error, and ten roundings of numbers of at most 1.5 in the bracket.
        let limit = x.abs() / 2.0 * (1.5e-7 + 10.0 * 1.5 * 2.0_f64.powi(-24));
        assert_one("gelu", x, got.into(), expected, limit);
    }
}

/// Mixed multiply-adds with inline constants, which are binary16 where OP_SEL_HI says so: the text, and
/// what it computes of an f16 and an f32.
type Mixed = (&'static str, fn(f64, f64) -> f64);

const MIXED: &[Mixed] = &[
    ("v_fma_mix_f32 $0, $1, 1.0, $2 op_sel_hi:[1,1,0]", |x, y| x + y),
    ("v_fma_mix_f32 $0, $1, 2.0, $2 op_sel_hi:[1,0,0]", |x, y| x * 2.0 + y),
    ("v_fma_mix_f32 $0, $2, 0.5, -$1 op_sel_hi:[0,1,1]", |x, y| y * 0.5 - x),
    ("v_fma_mix_f32 $0, $1, $2, -4.0 op_sel_hi:[1,0,1]", |x, y| x * y - 4.0),
];

fn mixed(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %other, ptr addrspace(1) %out, i32 %n";
    kernel(target, "mixed", params, BLOCK, |ir| {
        guarded(ir, |ir, i| {
            let x = ir.load(1, "half", "%in", i);
            let bits = v!(ir, "bitcast half {x} to i16");
            let word = v!(ir, "zext i16 {bits} to i32");
            let y = ir.load(1, "float", "%other", i);
            for (k, (text, _)) in MIXED.iter().enumerate() {
                let z = v!(ir, "call float asm \"{text}\", \"=v,v,v\"(i32 {word}, float {y})");
                put(ir, "float", &z, k, i);
            }
        });
    })
}

fn check_mixed(bench: &mut Bench) {
    let x: Vec<f16> = random_floats(7, N, -4.0, 4.0).into_iter().map(f16::from_f32).collect();
    // Twelve digits: products with those of f16 and the sums are exact in f64, and rounded once.
    let y: Vec<f32> =
        random_floats(8, N, -4.0, 4.0).into_iter().map(|y| (y * 512.0).round() / 512.0).collect();
    let (px, py) = (bench.input(&x), bench.input(&y));
    let out = bench.output::<f32>(N * MIXED.len());
    bench.launch(GROUPS, BLOCK, &[px, py, out, Arg::U32(N as u32)]);
    let got: Vec<f32> = bench.read(out);
    for (k, (text, function)) in MIXED.iter().enumerate() {
        for i in 0..N {
            let expected = function(x[i].into(), y[i].into()) as f32;
            assert_one(text, x[i].into(), got[k * N + i].into(), expected.into(), 0.0);
        }
    }
}
