//! Speed of matrix instructions: millions a second on one core, per shape and mode of numerics.
//!
//! `cargo bench -p wavesmith-emulator --bench matrix`, with part of "instruction mode" behind `--` for some of
//! them. One wave runs the instruction in a loop; the loop's own
//! three scalar instructions an eight of them are in the time. Wall time of this machine, printed for
//! people: the fastest of many runs. Nothing here is a measurement of a GPU.

use std::time::{Duration, Instant};

use codeobj::CodeObject;
use isa::fragment::Shape;
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::table::{Matrix, Op};
use isa::{Operand, Target};
use wavesmith_emulator::{Dispatch, HostVectors, Machine, Numerics, Options};

/// Each setting runs again and again for this long; the fastest run counts.
const BUDGET: Duration = Duration::from_millis(300);
/// Matrix instructions in the loop.
const IN_LOOP: usize = 8;
/// Rounds of the loop in one run.
const ROUNDS: u32 = 256;

const GFX950: [Matrix; 6] = [
    Matrix::VMfmaF3232x32x16F16,
    Matrix::VMfmaF3232x32x16Bf16,
    Matrix::VMfmaF3216x16x32F16,
    Matrix::VMfmaF3216x16x32Bf16,
    Matrix::VMfmaF3232x32x16Fp8Fp8,
    Matrix::VMfmaF3232x32x2F32,
];
const GFX1100: [Matrix; 2] = [Matrix::VWmmaF3216x16x16F16, Matrix::VWmmaF3216x16x16Bf16];

/// The template of the tests with a loop of one matrix instruction: D and C in v[0:15], A from v16, B from
/// v24.
fn looping(target: Target, op: Matrix) -> CodeObject {
    let path = format!("{}/tests/fixtures/template.{target}.hsaco", env!("CARGO_MANIFEST_DIR"));
    let mut bytes = std::fs::read(path).expect("the template is in the repository");
    let object = CodeObject::parse(&bytes).expect("the template is a code object");
    let kernel = &object.kernels[0];
    let code: Vec<u8> = program(target, op).iter().flat_map(|word| word.to_le_bytes()).collect();
    let segment = object.segments.iter().find(|segment| segment.contains(kernel.entry_address, 4));
    let segment = segment.expect("the kernel is loaded");
    let first = (segment.file_offset + kernel.entry_address - segment.address) as usize;
    assert!(code.len() <= 256, "the template has 64 words");
    bytes[first..][..code.len()].copy_from_slice(&code);
    CodeObject::parse(&bytes).expect("only code changed")
}

/// Words as LLVM encodes them, but for the matrix instruction.
fn program(target: Target, op: Matrix) -> Vec<u32> {
    let mut words: Vec<u32> = (0..16).map(|register| 0x7e00_0280 | register << 17).collect();
    for register in 16..32 {
        // v_mov_b32 with a literal: two binary16 numbers near one. Every second register copies one.
        match register % 2 {
            0 => words.extend([0x7e00_02ff | register << 17, 0x3c00_3c00 + register * 0x2_0005]),
            _ => words.push(0x7e00_0300 | register << 17 | (register - 1)),
        }
    }
    words.push(0xb004_0000 | ROUNDS); // s_movk_i32 s4, ROUNDS
    let before = words.len();
    (0..IN_LOOP).for_each(|_| words.extend(encoded(target, op)));
    words.extend([0x8084_8104, 0xbf07_8004]); // s_sub_u32 s4, s4, 1; s_cmp_lg_u32 s4, 0
    let back = (before as i64 - words.len() as i64 - 1) as u16;
    let (branch, end) = match target {
        Target::Gfx950 => (0xbf85_0000, 0xbf81_0000),
        Target::Gfx1100 => (0xbfa2_0000, 0xbfb0_0000),
    };
    words.extend([branch | u32::from(back), end]); // s_cbranch_scc1; s_endpgm
    words
}

fn encoded(target: Target, op: Matrix) -> Vec<u32> {
    let mut operands = [Operand::None; MAX_OPERANDS];
    operands[..4].copy_from_slice(&[0, 16, 24, 0].map(Operand::Vgpr));
    let inst = Inst {
        op: Op::Matrix(op),
        encoding: op.row().form(target).expect("an instruction of the target").encoding,
        size_bytes: 8,
        operands,
        mods: Modifiers::default(),
        dual: None,
    };
    let bytes = isa::encode(target, &inst).expect("the operands fit").to_vec();
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn run(object: &CodeObject, options: &Options) -> Duration {
    let target = object.target;
    let mut machine = Machine::new(target, options.clone());
    let loaded = machine.load(object).expect("the template loads");
    let dispatch = Dispatch {
        object: loaded,
        kernel: "template",
        workgroups: [1, 1, 1],
        workgroup_size: [target.wave_width(), 1, 1],
        kernarg: &[0; 16],
        dynamic_lds_bytes: 0,
    };
    let started = Instant::now();
    let report = machine.dispatch(&dispatch).expect("the loop ends");
    let time = started.elapsed();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    time
}

fn fastest(object: &CodeObject, options: &Options) -> Duration {
    let started = Instant::now();
    let mut fastest = run(object, options);
    while started.elapsed() < BUDGET {
        fastest = fastest.min(run(object, options));
    }
    fastest
}

fn main() {
    let only = std::env::args().nth(1).filter(|word| !word.starts_with("--"));
    println!("fastest run, one core, no checks; millions a second");
    println!(
        "{:<28} {:<16} {:<8} {:>12} {:>14}",
        "instruction", "numerics", "vectors", "instructions", "multiply-adds"
    );
    for target in Target::ALL {
        let ops: &[Matrix] = match target {
            Target::Gfx950 => &GFX950,
            Target::Gfx1100 => &GFX1100,
        };
        for (op, numerics) in ops
            .iter()
            .flat_map(|op| Numerics::of_target(target).iter().map(move |mode| (*op, *mode)))
        {
            let name = op.row().form(target).expect("of the target").mnemonic;
            if only
                .as_ref()
                .is_some_and(|only| !format!("{name} {numerics}").contains(only.as_str()))
            {
                continue;
            }
            for host_vectors in [HostVectors::Detect, HostVectors::Plain] {
                let object = looping(target, op);
                let options =
                    Options { checks: false, numerics, host_vectors, ..Options::default() };
                let time = fastest(&object, &options);
                let rate = f64::from(ROUNDS) * IN_LOOP as f64 / time.as_secs_f64() / 1e6;
                let Shape { m, n, k, blocks } = Shape::of(op).expect("dense");
                println!(
                    "{:<28} {:<16} {:<8} {:>12.3} {:>14.0}",
                    name,
                    numerics.name(),
                    format!("{host_vectors:?}").to_lowercase(),
                    rate,
                    rate * f64::from(m * n * k * blocks),
                );
            }
        }
    }
}
