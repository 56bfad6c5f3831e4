//! Accuracy of the transcendental instructions as the emulator executes them, and the time it takes to check.
//!
//! `cargo bench -p wavesmith-emulator --bench transcendental`: every 1021st of the 2³² inputs, on both
//! targets; with `-- --all` every one. Words behind it, parts of a mnemonic or a target, leave the others out. Each input
//! goes through a kernel of the real instruction; the reference is binary64 arithmetic of the host's
//! library, which the emulator never calls: its own comes from polynomials and the `libm` crate. Angles are
//! reduced exactly before the reference multiplies by 2π. This measures the emulator against mathematics;
//! nothing here is a measurement of a GPU, whose results may differ by the bounds of `--fidelity`.

use std::f64::consts::TAU;
use std::time::Instant;

use codeobj::CodeObject;
use isa::Target;
use wavesmith_emulator::{BufferId, Dispatch, LoadedObject, Machine, Options};

/// Between the inputs of a sample: a prime, so that all low bits occur.
const STRIDE: u64 = 1021;
/// Work-items of a workgroup.
const ITEMS: u32 = 128;
/// Inputs of one launch.
const BATCH: usize = 1 << 18;
const SMALLEST_NORMAL: f64 = f32::MIN_POSITIVE as f64;

/// An instruction: its words on gfx950 and gfx1100, and what it approximates.
struct Function {
    mnemonic: &'static str,
    words: [u32; 2],
    reference: fn(f64) -> f64,
}

const FUNCTIONS: [Function; 7] = [
    Function { mnemonic: "v_exp_f32", words: [0x7e02_4101, 0x7e02_4b01], reference: f64::exp2 },
    Function { mnemonic: "v_log_f32", words: [0x7e02_4301, 0x7e02_4f01], reference: f64::log2 },
    Function { mnemonic: "v_rcp_f32", words: [0x7e02_4501, 0x7e02_5501], reference: f64::recip },
    Function { mnemonic: "v_rsq_f32", words: [0x7e02_4901, 0x7e02_5d01], reference: rsq },
    Function { mnemonic: "v_sqrt_f32", words: [0x7e02_4f01, 0x7e02_6701], reference: f64::sqrt },
    Function { mnemonic: "v_sin_f32", words: [0x7e02_5301, 0x7e02_6b01], reference: sin_turns },
    Function { mnemonic: "v_cos_f32", words: [0x7e02_5501, 0x7e02_6d01], reference: cos_turns },
];

fn rsq(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// sin 2πx; beyond 256 turns, where the manuals end its domain, 0.
fn sin_turns(x: f64) -> f64 {
    if x.is_infinite() || x.is_nan() {
        return f64::NAN;
    }
    if x.abs() > 256.0 {
        return 0.0;
    }
    // −½ to ½ turns, then −¼ to ¼: both steps are exact.
    let turns = x - x.round();
    let quarter = if turns.abs() > 0.25 { 0.5_f64.copysign(turns) - turns } else { turns };
    (quarter * TAU).sin()
}

/// cos 2πx; beyond 256 turns 1.
fn cos_turns(x: f64) -> f64 {
    if x.is_infinite() || x.is_nan() {
        return f64::NAN;
    }
    if x.abs() > 256.0 {
        return 1.0;
    }
    let turns = (x - x.round()).abs();
    // The sine of the distance to a quarter turn, which is exact.
    ((0.25 - turns) * TAU).sin()
}

/// The template of the tests with a kernel that runs one instruction on every word of a buffer. Words as LLVM
/// encodes them: load the two pointers, v0 = 4 · (128 · workgroup + item), load, wait, compute, store.
fn kernel(target: Target, instruction: u32) -> CodeObject {
    let path = format!("{}/tests/fixtures/template.{target}.hsaco", env!("CARGO_MANIFEST_DIR"));
    let mut bytes = std::fs::read(path).expect("the template is in the repository");
    let object = CodeObject::parse(&bytes).expect("the template is a code object");
    let entry = object.kernels[0].entry_address;
    let segment = object.segments.iter().find(|segment| segment.contains(entry, 4));
    let segment = segment.expect("the kernel is loaded");
    let first = (segment.file_offset + entry - segment.address) as usize;
    #[rustfmt::skip]
    let (before, after): (&[u32], &[u32]) = match target {
        Target::Gfx950 => (
            &[0xc00a_0100, 0, 0x2600_00ff, 0x3ff, 0x2400_0082, 0x8e02_8902, 0x6800_0002, 0xbf8c_c07f, 0xdc50_8000, 0x0104_0000, 0xbf8c_0f70],
            &[0xbf80_0004, 0xdc70_8000, 0x0006_0100, 0xbf81_0000],
        ),
        Target::Gfx1100 => (
            &[0xf408_0100, 0xf800_0000, 0x3600_00ff, 0x3ff, 0x3000_0082, 0x8402_8902, 0x4a00_0002, 0xbf89_fc07, 0xdc52_0000, 0x0104_0000, 0xbf89_03f7],
            &[0xbf80_0004, 0xdc6a_0000, 0x0006_0100, 0xbfb0_0000],
        ),
    };
    let words = before.iter().chain([&instruction]).chain(after);
    for (at, word) in (first..).step_by(4).zip(words) {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    CodeObject::parse(&bytes).expect("only code changed")
}

/// The emulator with the kernel of an instruction, and two buffers of a batch.
struct Emulated {
    machine: Machine,
    object: LoadedObject,
    input: BufferId,
    output: BufferId,
    kernarg: Vec<u8>,
}

impl Emulated {
    fn new(target: Target, instruction: u32) -> Emulated {
        let mut machine = Machine::new(target, Options { checks: false, ..Options::default() });
        let object = machine.load(&kernel(target, instruction)).expect("the template loads");
        let memory = machine.memory_mut();
        let [input, output] = ["input", "output"].map(|label| {
            memory.allocate_with(label, &vec![0xff; 4 * BATCH]).expect("memory for a batch")
        });
        let address = |id| memory.address(id).expect("live").to_le_bytes();
        let kernarg = [address(input), address(output)].concat();
        Emulated { machine, object, input, output, kernarg }
    }

    /// Results of a batch of inputs.
    fn compute(&mut self, inputs: &[u32]) -> &[[u8; 4]] {
        let bytes: Vec<u8> = inputs.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.machine.memory_mut().write(self.input, 0, &bytes).expect("a batch fits");
        let dispatch = Dispatch {
            object: self.object,
            kernel: "template",
            workgroups: [(BATCH as u32).div_ceil(ITEMS), 1, 1],
            workgroup_size: [ITEMS, 1, 1],
            kernarg: &self.kernarg,
            dynamic_lds_bytes: 0,
        };
        self.machine.dispatch(&dispatch).expect("the kernel runs");
        self.machine.memory().read(self.output).expect("live").as_chunks::<4>().0
    }
}

/// What came of one instruction.
#[derive(Default)]
struct Outcome {
    inputs: u64,
    /// Results that are not the rounded reference.
    differing: u64,
    /// The largest error in units in the last place of the reference, and its input.
    largest: (f64, u32),
    /// NaN, infinity or zero where the reference has something else, or the reverse, and the last such input.
    wrong_kind: (u64, u32),
}

impl Outcome {
    fn note(&mut self, input: u32, result: u32, reference: fn(f64) -> f64) {
        self.inputs += 1;
        let exact = reference(f64::from(flush(f32::from_bits(input))));
        let (rounded, got) = (flush(exact as f32), f32::from_bits(result));
        let are_nan = rounded.is_nan() && got.is_nan();
        self.differing += u64::from(rounded != got && !are_nan);
        let are_numbers = rounded.is_finite() && got.is_finite();
        let is_same_kind =
            are_nan || rounded == got || are_numbers && (rounded == 0.0) == (got == 0.0);
        if !is_same_kind {
            self.wrong_kind = (self.wrong_kind.0 + 1, input);
        } else if rounded.is_finite() && rounded != 0.0 {
            let exponent = exact.abs().max(SMALLEST_NORMAL).to_bits() >> 52;
            let unit = f64::from_bits((exponent - 23) << 52);
            let error = (f64::from(got) - exact).abs() / unit;
            if error > self.largest.0 {
                self.largest = (error, input);
            }
        }
    }
}

/// Zero of the same sign instead of a subnormal.
fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let stride = if words.iter().any(|word| word == "--all") { 1 } else { STRIDE };
    println!("every {stride}. of 2^32 inputs, against binary64 of the host's library");
    println!(
        "{:<12} {:<8} {:>11} {:>11} {:>12} {:>11} {:>11} {:>9}",
        "instruction",
        "target",
        "inputs",
        "differing",
        "largest ulp",
        "its input",
        "wrong kind",
        "s"
    );
    for function in &FUNCTIONS {
        for (target, word) in [Target::Gfx950, Target::Gfx1100].into_iter().zip(function.words) {
            let name = format!("{} {target}", function.mnemonic);
            if !words.iter().all(|word| word.starts_with("--") || name.contains(word.as_str())) {
                continue;
            }
            let started = Instant::now();
            let mut emulated = Emulated::new(target, word);
            let mut outcome = Outcome::default();
            let mut next = 0_u64;
            while next <= u64::from(u32::MAX) {
                let inputs: Vec<u32> = (0..BATCH as u64)
                    .map(|k| (next + k * stride).min(u32::MAX.into()) as u32)
                    .collect();
                let results = emulated.compute(&inputs);
                for (k, (input, result)) in inputs.iter().zip(results).enumerate() {
                    if next + k as u64 * stride <= u64::from(u32::MAX) {
                        outcome.note(*input, u32::from_le_bytes(*result), function.reference);
                    }
                }
                next += BATCH as u64 * stride;
            }
            let Outcome { inputs, differing, largest, wrong_kind } = outcome;
            println!(
                "{:<12} {:<8} {inputs:>11} {differing:>11} {:>12.4} {:>#11x} {:>11} {:>9.1}",
                function.mnemonic,
                target.to_string(),
                largest.0,
                largest.1,
                wrong_kind.0,
                started.elapsed().as_secs_f64()
            );
            if wrong_kind.0 != 0 {
                println!("  of a wrong kind: the last input is {:#x}", wrong_kind.1);
            }
        }
    }
}
