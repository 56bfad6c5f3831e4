//! One random program three ways: by the interpreter of kernel IR, and its code by each back end on the emulator.

use dsl::interpret::{Argument, run};
use dsl::ir::{Access, Kernel, ParamKind, Scalar};
use runtime::{Arg, Buffer, BufferAccess, BufferRequest, Device, EmulatedDevice, Fill, LaunchDims};

use super::author::{GROUPS, INPUTS, MATRICES, RESULTS};
use super::random::Random;

const GRID: [u32; 3] = [GROUPS, 1, 1];

/// What every buffer holds after the program.
pub type Results = Vec<(String, Vec<u8>)>;

/// Inputs of a program: numbers of many magnitudes, words, whole numbers from 0 to 3, zeros where it writes.
pub fn arguments(kernel: &Kernel, seed: u64) -> Vec<Argument> {
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
pub fn interpreted(kernel: &Kernel, arguments: &[Argument]) -> Results {
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
    if name == "out_numbers" {
        for word in bytes.chunks_exact_mut(4) {
            let number = f32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if number.is_nan() {
                word.copy_from_slice(&f32::NAN.to_le_bytes());
            }
        }
    }
    bytes
}

/// Whether a code object does what the interpreter does; if not, what it does.
pub fn agrees(
    kernel: &Kernel,
    code_object: &[u8],
    arguments: &[Argument],
    wanted: &Results,
) -> Result<(), String> {
    let got = emulated(kernel, code_object, arguments)?;
    difference(wanted, &got).map_or(Ok(()), Err)
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
