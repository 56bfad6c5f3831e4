//! The matrix product of `examples/` on the emulator against float64: several workgroups and waves, a loop over stages,
//! outputs prefilled with NaN, more columns than rows.

#[path = "../examples/gemm.rs"]
#[expect(dead_code, reason = "the example's main is for `cargo run --example`")]
mod example;

use dsl::Scalar;
use emit::llvm::Options;
use isa::Target;
use oracle::{Stored, measure};
use runtime::{Arg, BufferAccess, BufferRequest, Device, EmulatedDevice, Fill, LaunchDims};
use specs::{Dtype, Element};

const ROWS: u32 = 2 * example::TILE;
const COLUMNS: u32 = 3 * example::TILE;
const DEPTH: u32 = 3 * example::STEP;

/// Deterministic values of both signs in (−2, 2), of many magnitudes.
fn values(dtype: Dtype, len: u32, salt: usize) -> Stored {
    let value = |i: usize| {
        let mixed = (i * 2_654_435_761 + salt * 40_503) % 65_521;
        (mixed as f64 / 16_380.25 - 1.9) * if i.is_multiple_of(7) { 1e-3 } else { 1.0 }
    };
    Stored::round(dtype, (0..len as usize).map(value))
}

/// `A · Bᵀ`.
fn reference(a: &Stored, b: &Stored) -> Vec<f64> {
    let (a, b) = (a.to_f64(), b.to_f64());
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum();
    let rows = a.chunks(DEPTH as usize);
    rows.flat_map(|row| b.chunks(DEPTH as usize).map(move |column| dot(row, column))).collect()
}

/// D on the emulator.
fn run(target: Target, elem: Scalar, a: &Stored, b: &Stored) -> Stored {
    let kernel = example::gemm(target, elem, COLUMNS, DEPTH).expect("the example builds");
    let artefacts = emit::llvm::compile(&kernel, &Options::default()).expect("it compiles");
    let mut device = EmulatedDevice::new(target, emulator::Options::default());
    let module = device.load(&artefacts.code_object).expect("it loads");
    let mut buffer = |label, bytes: Option<&[u8]>, size_bytes| {
        let access = if bytes.is_some() { BufferAccess::ReadOnly } else { BufferAccess::ReadWrite };
        let request = BufferRequest { label, size_bytes, access, fill: Fill::POISON };
        let buffer = device.allocate(request).expect("memory");
        if let Some(bytes) = bytes {
            device.write(&buffer, 0, bytes).expect("a fitting write");
        }
        buffer
    };
    let (a_bytes, b_bytes) = (a.to_le_bytes(), b.to_le_bytes());
    let a_buffer = buffer("a", Some(&a_bytes), a_bytes.len() as u64);
    let b_buffer = buffer("b", Some(&b_bytes), b_bytes.len() as u64);
    let d_bytes = u64::from(ROWS * COLUMNS) * Element::from(Dtype::F32).size_bytes();
    let d_buffer = buffer("d", None, d_bytes);
    let args = [&a_buffer, &b_buffer, &d_buffer].map(|buffer| Arg::Buffer(buffer.whole()));
    let grid = [COLUMNS / example::TILE, ROWS / example::TILE, 1];
    let dims = LaunchDims { grid, workgroup: [example::WAVES * target.wave_width(), 1, 1] };
    let kernel = module.kernel("gemm").expect("the kernel is there");
    let report = device.launch(&kernel, dims, &args).expect("it runs").emulated.expect("emulated");
    assert_eq!(report.findings, [], "{target} {elem:?}");
    let bytes = device.read(&d_buffer.whole()).expect("d is there");
    Stored::from_le_bytes("d", Dtype::F32, &bytes).expect("whole elements")
}

#[test]
fn the_product_is_right_on_both_targets() {
    for target in Target::ALL {
        for (elem, dtype) in [(Scalar::Bf16, Dtype::Bf16), (Scalar::F16, Dtype::F16)] {
            let a = values(dtype, ROWS * DEPTH, 1);
            let b = values(dtype, COLUMNS * DEPTH, 2);
            let d = run(target, elem, &a, &b);
            // Products are exact; a sum of DEPTH terms in f32 errs like a random walk of its roundings.
            let limit = |_| f64::from(DEPTH).sqrt() * f64::from(f32::EPSILON) / 2.0;
            let verdict = measure::judge(&d, &reference(&a, &b), limit);
            assert!(verdict.passed, "{target} {dtype}: {verdict:?}");
        }
    }
}
