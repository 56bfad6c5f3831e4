//! Softmax, layer norm and RMS norm of rows, a workgroup a row; attention with an online softmax.

use half::bf16;
use isa::Target;

use crate::bench::{ALL_LEVELS, Arg, BOTH, Bench, Program, random_floats};
use crate::ir::{Ir, kernel, v};

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "softmax",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: softmax,
        check: check_softmax,
    },
    Program {
        name: "layer_norm",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: layer_norm,
        check: check_layer_norm,
    },
    Program {
        name: "rms_norm_bf16",
        targets: BOTH,
        levels: ALL_LEVELS,
        source: rms_norm,
        check: check_rms_norm,
    },
];

const BLOCK: u32 = 256;
const ROWS: usize = 3;
/// Not a multiple of the workgroup; rows are further apart, with NaN between them.
const COLUMNS: usize = 700;
const PITCH: usize = 709;
const UNIT: f64 = 1.0 / (1 << 24) as f64;

fn n_waves(target: Target) -> u32 {
    BLOCK / target.wave_width()
}

/// A loop over the row's elements of this work-item; the body gets the element's number in the buffer and
/// in the row.
fn along_row(
    ir: &mut Ir,
    carried: &[(&str, &str)],
    body: impl FnOnce(&mut Ir, &str, &str, &[String]) -> Vec<String>,
) -> Vec<String> {
    let (row, item) = (ir.group(), ir.item());
    let start = v!(ir, "mul i32 {row}, %pitch");
    ir.each([&item, "%columns", &BLOCK.to_string()], carried, |ir, column, values| {
        let at = v!(ir, "add i32 {start}, {column}");
        body(ir, &at, column, values)
    })
}

fn max(a: &str, b: &str) -> String {
    format!("call float @llvm.maxnum.f32(float {a}, float {b})")
}

fn sum(a: &str, b: &str) -> String {
    format!("fadd float {a}, {b}")
}

const ROW_PARAMS: &str = "ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %columns, i32 %pitch";

fn softmax(target: Target) -> String {
    kernel(target, "softmax", ROW_PARAMS, BLOCK, |ir| {
        let scratch = ir.lds("scratch", "float", n_waves(target));
        let top = along_row(ir, &[("float", "0xFFF0000000000000")], |ir, at, _, top| {
            let x = ir.load(1, "float", "%in", at);
            vec![ir.value(&max(&x, &top[0]))]
        });
        let top = ir.group_reduce("float", &top[0], &scratch, n_waves(target), &max);
        let total = along_row(ir, &[("float", "0.0")], |ir, at, _, total| {
            let x = ir.load(1, "float", "%in", at);
            let shifted = v!(ir, "fsub float {x}, {top}");
            let e = v!(ir, "call float @llvm.exp.f32(float {shifted})");
            ir.store(1, "float", &e, "%out", at);
            vec![ir.value(&sum(&total[0], &e))]
        });
        let total = ir.group_reduce("float", &total[0], &scratch, n_waves(target), &sum);
        along_row(ir, &[], |ir, at, _, _| {
            let e = ir.load(1, "float", "%out", at);
            let y = v!(ir, "fdiv float {e}, {total}");
            ir.store(1, "float", &y, "%out", at);
            vec![]
        });
    })
}

/// Rows with NaN between them.
fn padded(seed: u64, low: f32, high: f32) -> Vec<f32> {
    let values = random_floats(seed, ROWS * COLUMNS, low, high);
    values
        .chunks(COLUMNS)
        .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(f32::NAN, PITCH - COLUMNS)))
        .collect()
}

/// Each element of each row within the row's relative limit and `absolute`, and nothing between the rows.
fn compare(
    got: &[f64],
    x: &[f32],
    row_of: impl Fn(&[f64]) -> Vec<f64>,
    limit: impl Fn(f64) -> f64,
) {
    for (row, (got, x)) in got.chunks(PITCH).zip(x.chunks(PITCH)).enumerate() {
        let wide: Vec<f64> = x[..COLUMNS].iter().map(|x| f64::from(*x)).collect();
        for (column, expected) in row_of(&wide).into_iter().enumerate() {
            let got = got[column];
            assert!(
                (got - expected).abs() <= limit(expected),
                "row {row}, column {column}: got {got:e}, expected {expected:e}"
            );
        }
        assert!(got[COLUMNS..].iter().all(|x| x.is_nan()), "row {row} is written behind its end");
    }
}

fn check_softmax(bench: &mut Bench) {
    let x = padded(11, -20.0, 20.0);
    let (input, out) = (bench.input(&x), bench.output::<f32>(x.len()));
    let sizes = [COLUMNS, PITCH].map(|size| Arg::U32(size as u32));
    bench.launch(ROWS as u32, BLOCK, &[input, out, sizes[0], sizes[1]]);
    let got: Vec<f64> = bench.read::<f32>(out).into_iter().map(f64::from).collect();
    let exact = |row: &[f64]| {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = row.iter().map(|x| (x - top).exp()).sum();
        row.iter().map(|x| (x - top).exp() / total).collect::<Vec<_>>()
    };
    // The difference is rounded (at most 40 in magnitude, so half of 2⁻¹⁸), exp is within 3 units, its sum
    // has three additions a work-item and eleven between them, the quotient is rounded; twice, as numerator
    // and denominator have these errors. Below 2⁻¹²⁶ no relative accuracy is left.
    let relative = 2.0 * (2.0_f64.powi(-19) + (2.0 * 3.0 + 14.0 + 1.0) * UNIT);
    compare(&got, &x, exact, |expected| relative * expected + 2.0_f64.powi(-126));
}

fn layer_norm(target: Target) -> String {
    let params = "ptr addrspace(1) %in, ptr addrspace(1) %gain, ptr addrspace(1) %bias, \
                  ptr addrspace(1) %out, i32 %columns, i32 %pitch";
    kernel(target, "layer_norm", params, BLOCK, |ir| {
        let scratch = ir.lds("scratch", "float", n_waves(target));
        let total = along_row(ir, &[("float", "0.0")], |ir, at, _, total| {
            let x = ir.load(1, "float", "%in", at);
            vec![ir.value(&sum(&total[0], &x))]
        });
        let total = ir.group_reduce("float", &total[0], &scratch, n_waves(target), &sum);
        let count = v!(ir, "uitofp i32 %columns to float");
        let mean = v!(ir, "fdiv float {total}, {count}");
        let squares = along_row(ir, &[("float", "0.0")], |ir, at, _, total| {
            let x = ir.load(1, "float", "%in", at);
            let d = v!(ir, "fsub float {x}, {mean}");
            let total = &total[0];
            vec![v!(ir, "call float @llvm.fma.f32(float {d}, float {d}, float {total})")]
        });
        let squares = ir.group_reduce("float", &squares[0], &scratch, n_waves(target), &sum);
        let variance = v!(ir, "fdiv float {squares}, {count}");
        let variance = v!(ir, "fadd float {variance}, 0x3EE4F8B580000000");
        let deviation = v!(ir, "call float @llvm.sqrt.f32(float {variance})");
        along_row(ir, &[], |ir, at, column, _| {
            let x = ir.load(1, "float", "%in", at);
            let gain = ir.load(1, "float", "%gain", column);
            let bias = ir.load(1, "float", "%bias", column);
            let d = v!(ir, "fsub float {x}, {mean}");
            let y = v!(ir, "fdiv float {d}, {deviation}");
            let y = v!(ir, "call float @llvm.fma.f32(float {y}, float {gain}, float {bias})");
            ir.store(1, "float", &y, "%out", at);
            vec![]
        });
    })
}

fn check_layer_norm(bench: &mut Bench) {
    let x = padded(12, -3.0, 5.0);
    let (gain, bias) =
        (random_floats(13, COLUMNS, 0.5, 1.5), random_floats(14, COLUMNS, -1.0, 1.0));
    let pointers = [bench.input(&x), bench.input(&gain), bench.input(&bias)];
    let out = bench.output::<f32>(x.len());
    let sizes = [COLUMNS, PITCH].map(|size| Arg::U32(size as u32));
    let [px, pg, pb] = pointers;
    bench.launch(ROWS as u32, BLOCK, &[px, pg, pb, out, sizes[0], sizes[1]]);
    let got: Vec<f64> = bench.read::<f32>(out).into_iter().map(f64::from).collect();
    let exact = |row: &[f64]| {
        let count = row.len() as f64;
        let mean = row.iter().sum::<f64>() / count;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let deviation = (variance + f64::from(1e-5_f32)).sqrt();
        let normal = row.iter().zip(gain.iter().zip(&bias));
        normal
            .map(|(x, (gain, bias))| (x - mean) / deviation * f64::from(*gain) + f64::from(*bias))
            .collect::<Vec<_>>()
    };
    // |x| ≤ 5 and a deviation over 2: y ≤ 4.5 in magnitude before the bias. Sums of 14 additions, of values
    // whose magnitudes average under 5, and half a dozen further roundings.
    compare(&got, &x, exact, |_| (14.0 * 5.0 + 6.0 * 4.5) * 2.0 * UNIT);
}

fn rms_norm(target: Target) -> String {
    kernel(target, "rms_norm_bf16", ROW_PARAMS, BLOCK, |ir| {
        let scratch = ir.lds("scratch", "float", n_waves(target));
        let squares = along_row(ir, &[("float", "0.0")], |ir, at, _, total| {
            let x = ir.load(1, "bfloat", "%in", at);
            let x = v!(ir, "fpext bfloat {x} to float");
            let square = v!(ir, "fmul float {x}, {x}");
            vec![ir.value(&sum(&total[0], &square))]
        });
        let squares = ir.group_reduce("float", &squares[0], &scratch, n_waves(target), &sum);
        let count = v!(ir, "uitofp i32 %columns to float");
        let mean = v!(ir, "fdiv float {squares}, {count}");
        let scale = v!(ir, "call float @llvm.amdgcn.rsq.f32(float {mean})");
        along_row(ir, &[], |ir, at, _, _| {
            let x = ir.load(1, "bfloat", "%in", at);
            let x = v!(ir, "fpext bfloat {x} to float");
            let y = v!(ir, "fmul float {x}, {scale}");
            let y = v!(ir, "fptrunc float {y} to bfloat");
            ir.store(1, "bfloat", &y, "%out", at);
            vec![]
        });
    })
}

fn check_rms_norm(bench: &mut Bench) {
    let x: Vec<bf16> = padded(15, -2.0, 2.0).into_iter().map(bf16::from_f32).collect();
    let (input, out) = (bench.input(&x), bench.output::<bf16>(x.len()));
    let sizes = [COLUMNS, PITCH].map(|size| Arg::U32(size as u32));
    bench.launch(ROWS as u32, BLOCK, &[input, out, sizes[0], sizes[1]]);
    let got: Vec<f64> = bench.read::<bf16>(out).into_iter().map(f64::from).collect();
    let x: Vec<f32> = x.into_iter().map(f32::from).collect();
    let exact = |row: &[f64]| {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
        row.iter().map(|x| x / mean.sqrt()).collect::<Vec<_>>()
    };
    // One rounding to bf16, which has 8 digits, and some 20 to f32.
    compare(&got, &x, exact, |expected| expected.abs() * (2.0_f64.powi(-8) + 20.0 * UNIT));
}
