//! The RMS norm of `examples/` on the emulator against float64: several waves with a reduction through
//! LDS, row lengths with tails, outputs prefilled with NaN.

#[path = "../examples/rms_norm.rs"]
#[expect(dead_code, reason = "the example's main is for `cargo run --example`")]
mod example;

use dsl::Scalar;
use emit::llvm::Options;
use isa::Target;
use oracle::{Stored, measure};
use runtime::{Arg, BufferAccess, BufferRequest, Device, EmulatedDevice, Fill, LaunchDims};
use specs::{Dtype, Element};

const ROWS: usize = 3;
const EPSILON: f32 = 1e-5;

/// Deterministic values of both signs in (−2, 2), of many magnitudes.
fn values(dtype: Dtype, len: usize, salt: usize) -> Stored {
    let value = |i: usize| {
        let mixed = (i * 2_654_435_761 + salt * 40_503) % 65_521;
        (mixed as f64 / 16_380.25 - 2.0) * if i.is_multiple_of(7) { 1e-3 } else { 1.0 }
    };
    Stored::round(dtype, (0..len).map(value))
}

fn reference(x: &Stored, weight: &Stored, length: usize) -> Vec<f64> {
    let (x, weight) = (x.to_f64(), weight.to_f64());
    let row = |row: &[f64]| {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / length as f64;
        let factor = 1.0 / (mean + f64::from(EPSILON)).sqrt();
        row.iter().zip(&weight).map(|(x, w)| x * factor * w).collect::<Vec<_>>()
    };
    x.chunks(length).flat_map(row).collect()
}

/// The example's outputs on the emulator.
fn run(target: Target, elem: Scalar, x: &Stored, weight: &Stored, length: usize) -> Stored {
    let kernel = example::rms_norm(target, elem, length as u32).expect("the example builds");
    let artefacts = emit::llvm::compile(&kernel, &Options::default()).expect("it compiles");
    let mut device = EmulatedDevice::new(target, emulator::Options::default());
    let module = device.load(&artefacts.code_object).expect("it loads");
    let y_bytes = (x.len() as u64) * Element::from(x.dtype()).size_bytes();
    let mut buffer = |label, bytes: Option<&[u8]>, size_bytes| {
        let access = if bytes.is_some() { BufferAccess::ReadOnly } else { BufferAccess::ReadWrite };
        let request = BufferRequest { label, size_bytes, access, fill: Fill::POISON };
        let buffer = device.allocate(request).expect("memory");
        if let Some(bytes) = bytes {
            device.write(&buffer, 0, bytes).expect("a fitting write");
        }
        buffer
    };
    let (x_bytes, weight_bytes) = (x.to_le_bytes(), weight.to_le_bytes());
    let x_buffer = buffer("x", Some(&x_bytes), x_bytes.len() as u64);
    let weight_buffer = buffer("weight", Some(&weight_bytes), weight_bytes.len() as u64);
    let y_buffer = buffer("y", None, y_bytes);
    let buffers = [&x_buffer, &weight_buffer, &y_buffer].map(|buffer| Arg::Buffer(buffer.whole()));
    let args: Vec<_> = buffers.into_iter().chain([Arg::F32(EPSILON)]).collect();
    let threads = example::WAVES * target.wave_width();
    let dims = LaunchDims { grid: [ROWS as u32, 1, 1], workgroup: [threads, 1, 1] };
    let kernel = module.kernel("rms_norm").expect("the kernel is there");
    let report = device.launch(&kernel, dims, &args).expect("it runs").emulated.expect("emulated");
    assert_eq!(report.findings, [], "{target} {elem:?} {length}");
    let bytes = device.read(&y_buffer.whole()).expect("y is there");
    Stored::from_le_bytes("y", x.dtype(), &bytes).expect("whole elements")
}

#[test]
fn rms_norm_is_right_on_both_targets() {
    let types = [(Scalar::F32, Dtype::F32), (Scalar::Bf16, Dtype::Bf16), (Scalar::F16, Dtype::F16)];
    for target in Target::ALL {
        for (elem, dtype) in types {
            for length in [1, 7, 128, 1000, 5121] {
                let x = values(dtype, ROWS * length, 1);
                let weight = values(dtype, length, 2);
                let y = run(target, elem, &x, &weight, length);
                let limit = |floor: f64| if dtype == Dtype::F32 { 2e-7 } else { 1.05 * floor };
                let verdict = measure::judge(&y, &reference(&x, &weight, length), limit);
                assert!(verdict.passed, "{target} {dtype} {length}: {verdict:?}");
            }
        }
    }
}

#[test]
fn the_kernel_takes_at_most_25_lines() {
    let source = include_str!("../examples/rms_norm.rs");
    let start = source.find("pub fn rms_norm").expect("the kernel is there");
    let end = source[start..].find("\n}\n").expect("it ends") + start;
    let lines = source[start..end].lines().count() + 1;
    assert!(lines <= 25, "{lines} lines");
}
