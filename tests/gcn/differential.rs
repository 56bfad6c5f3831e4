//! Random programs three ways: by the interpreter of kernel IR, and their code by each back end on the emulator.

use std::cell::RefCell;

use dsl::interpret::{Argument, run};
use dsl::ir::{Access, Kernel, ParamKind, Scalar};
use emit::gcn::{self, Cause, Options};
use isa::Target;
use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use runtime::{Arg, Buffer, BufferAccess, BufferRequest, Device, EmulatedDevice, Fill, LaunchDims};

use super::program::{GROUPS, INPUTS, MATRICES, RESULTS, program};
use super::random::Random;

const GRID: [u32; 3] = [GROUPS, 1, 1];

/// What every buffer holds after the program.
type Results = Vec<(String, Vec<u8>)>;

/// Which programs are compared.
#[derive(Clone, Copy)]
pub struct Search {
    /// Fixes them.
    pub seed: u64,
    pub programs: u32,
    /// Longest stream of choices.
    pub most_choices: usize,
    /// One in so many goes through LLVM too, where there is LLVM.
    pub llvm_every: u64,
}

/// How many programs were alike.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub compared: u32,
    pub by_llvm: u32,
    /// Programs that need more registers than there are.
    pub refused: u32,
}

impl Search {
    /// Compares programs of random choices; of the first that differs, the smallest that still does.
    pub fn run(self, target: Target) -> Result<Counts, String> {
        let config = Config {
            cases: self.programs,
            rng_seed: RngSeed::Fixed(self.seed),
            failure_persistence: None,
            ..Config::default()
        };
        let counts = RefCell::new(Counts::default());
        let streams = (vec(any::<u8>(), 0..self.most_choices), any::<u64>());
        let result = TestRunner::new(config).run(&streams, |(choices, seed)| {
            let by_llvm = cfg!(feature = "llvm") && seed.is_multiple_of(self.llvm_every);
            let is_compiled = compare(&program(target, &choices), seed, by_llvm)?;
            let mut counts = counts.borrow_mut();
            counts.compared += u32::from(is_compiled);
            counts.by_llvm += u32::from(by_llvm);
            counts.refused += u32::from(!is_compiled);
            Ok(())
        });
        match result {
            Ok(()) => Ok(counts.into_inner()),
            Err(TestError::Abort(reason)) => Err(reason.to_string()),
            Err(TestError::Fail(reason, (choices, seed))) => {
                let text = dsl::print(&program(target, &choices));
                Err(format!("{reason}; inputs {seed} of\n{text}"))
            }
        }
    }
}

/// Compares a program's results; `false` if it needs more registers than there are.
#[cfg_attr(not(feature = "llvm"), allow(unused_variables, reason = "there is no LLVM to ask"))]
fn compare(kernel: &Kernel, seed: u64, by_llvm: bool) -> Result<bool, TestCaseError> {
    let arguments = arguments(kernel, seed);
    let wanted = interpreted(kernel, &arguments);
    let agrees = |name: &str, code_object: &[u8]| {
        let difference = emulated(kernel, code_object, &arguments)
            .and_then(|got| difference(&wanted, &got).map_or(Ok(()), Err));
        difference.map_err(|difference| TestCaseError::fail(format!("{name}: {difference}")))
    };
    #[cfg(feature = "llvm")]
    if by_llvm {
        let made = emit::llvm::compile(kernel, &emit::llvm::Options::default());
        agrees("llvm", &made.map_err(|error| TestCaseError::fail(error.to_string()))?.code_object)?;
    }
    match gcn::compile(kernel, &Options { check: true, ..Options::default() }) {
        Ok(artefacts) => agrees("gcn", &artefacts.code_object).map(|()| true),
        Err(error) if matches!(error.cause, Cause::Registers { .. }) => Ok(false),
        Err(error) => Err(TestCaseError::fail(error.to_string())),
    }
}

/// Inputs of a program: numbers of many magnitudes, words, whole numbers from 0 to 3, zeros where it writes.
fn arguments(kernel: &Kernel, seed: u64) -> Vec<Argument> {
    let mut words = Random::new(seed, "arguments");
    let mut next = move || words.bits() >> 32;
    let number = |random: u64| {
        let scale = [1.0, 1e-3, 64.0, 3e4][random as usize % 4];
        ((random >> 8) as f32 / 8_388_608.0 - 1.0) * scale
    };
    let threads = GROUPS * kernel.workgroup_size * RESULTS;
    let mut argument = |name: &str, kind: ParamKind| match (name, kind) {
        ("numbers", _) => buffer((0..INPUTS).map(|_| number(next()).to_bits().to_le_bytes())),
        ("words", _) => buffer((0..INPUTS).map(|i| {
            // Small ones, of both signs, and any.
            let word = next() as u32;
            [word % 9, (word % 9).wrapping_neg(), word][i as usize % 3].to_le_bytes()
        })),
        ("matrices", ParamKind::Buffer { elem, .. }) => {
            let elements = (0..MATRICES.iter().product()).map(|_: u32| whole(elem, next() % 4));
            buffer(elements)
        }
        ("flags", _) => Argument::Buffer(vec![0; 4 * INPUTS as usize]),
        ("factor", _) => Argument::Scalar(number(next()).to_bits().into()),
        ("count", _) => Argument::Scalar(next() % 40),
        _ => Argument::Buffer(vec![0; 4 * threads as usize]),
    };
    kernel.params.iter().map(|param| argument(&param.name, param.kind)).collect()
}

fn buffer<const N: usize>(elements: impl Iterator<Item = [u8; N]>) -> Argument {
    Argument::Buffer(elements.flatten().collect())
}

fn whole(elem: Scalar, number: u64) -> [u8; 2] {
    let number = number as f32;
    match elem {
        Scalar::F16 => half::f16::from_f32(number).to_le_bytes(),
        _ => half::bf16::from_f32(number).to_le_bytes(),
    }
}

/// By the interpreter.
fn interpreted(kernel: &Kernel, arguments: &[Argument]) -> Results {
    let mut arguments = arguments.to_vec();
    run(kernel, GRID, &mut arguments).unwrap_or_else(|fault| panic!("{fault}"));
    let buffers = kernel.params.iter().zip(arguments).filter_map(|(param, argument)| {
        let Argument::Buffer(bytes) = argument else { return None };
        Some((param.name.clone(), canonical(&param.name, bytes)))
    });
    buffers.collect()
}

/// By a code object on the emulator; what the emulator finds is an error.
fn emulated(
    kernel: &Kernel,
    code_object: &[u8],
    arguments: &[Argument],
) -> Result<Results, String> {
    let mut device = EmulatedDevice::new(kernel.target, emulator::Options::default());
    let module = device.load(code_object).unwrap();
    let mut buffers: Vec<(String, Buffer)> = Vec::new();
    let mut args = Vec::new();
    for (param, argument) in kernel.params.iter().zip(arguments) {
        args.push(match (argument, param.kind) {
            (Argument::Buffer(bytes), kind) => {
                let buffer = allocated(&mut device, &param.name, kind, bytes);
                let arg = Arg::Buffer(buffer.whole());
                buffers.push((param.name.clone(), buffer));
                arg
            }
            (Argument::Scalar(bits), ParamKind::Scalar(Scalar::F32)) => {
                Arg::F32(f32::from_bits(*bits as u32))
            }
            (Argument::Scalar(bits), _) => Arg::I32(*bits as i32),
        });
    }
    let dims = LaunchDims { grid: GRID, workgroup: [kernel.workgroup_size, 1, 1] };
    let function = module.kernel(&kernel.name).unwrap();
    let report = device.launch(&function, dims, &args).map_err(|error| error.to_string())?;
    let findings = report.emulated.unwrap().findings;
    if let Some(finding) = findings.first() {
        return Err(finding.to_string());
    }
    let read = |(name, buffer): (String, Buffer)| {
        let bytes = device.read(&buffer.whole()).unwrap();
        let bytes = canonical(&name, bytes);
        (name, bytes)
    };
    Ok(buffers.into_iter().map(read).collect())
}

fn allocated(device: &mut EmulatedDevice, label: &str, kind: ParamKind, bytes: &[u8]) -> Buffer {
    let access = match kind {
        ParamKind::Buffer { access: Access::ReadOnly, .. } => BufferAccess::ReadOnly,
        _ => BufferAccess::ReadWrite,
    };
    let size_bytes = bytes.len() as u64;
    let request = BufferRequest { label, size_bytes, access, fill: Fill::POISON };
    let buffer = device.allocate(request).unwrap();
    device.write(&buffer, 0, bytes).unwrap();
    buffer
}

/// NaNs are one NaN: no one promises their payload.
fn canonical(name: &str, mut bytes: Vec<u8>) -> Vec<u8> {
    if ["out_numbers", "kept"].contains(&name) {
        for word in bytes.chunks_exact_mut(4) {
            let number = f32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if number.is_nan() {
                word.copy_from_slice(&f32::NAN.to_le_bytes());
            }
        }
    }
    bytes
}

/// The first place where two results differ, in words.
fn difference(wanted: &Results, got: &Results) -> Option<String> {
    for ((name, wanted), (_, got)) in wanted.iter().zip(got) {
        let mut words = wanted.chunks(4).zip(got.chunks(4)).enumerate();
        if let Some((at, (wanted, got))) = words.find(|(_, (wanted, got))| wanted != got) {
            return Some(format!("{name}[{at}]: {got:02x?}, the interpreter has {wanted:02x?}"));
        }
    }
    (wanted.len() != got.len()).then(|| "other buffers".to_owned())
}
