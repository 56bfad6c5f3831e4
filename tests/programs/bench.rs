//! Compiling a program, running it with every check on, reading what it wrote.

use codeobj::CodeObject;
use emulator::{BufferId, Dispatch, LoadedObject, Machine, Numerics, Options};
use isa::Target;

/// A program: where it runs, its source, and what it must compute.
pub struct Program {
    /// Name of the kernel in the module.
    pub name: &'static str,
    pub targets: &'static [Target],
    /// Optimisation levels at which it is compiled.
    pub levels: &'static [u8],
    pub source: fn(Target) -> String,
    /// Launches it and compares with the host's result.
    pub check: fn(&mut Bench),
}

pub const BOTH: &[Target] = &Target::ALL;
pub const GFX950: &[Target] = &[Target::Gfx950];
pub const GFX1100: &[Target] = &[Target::Gfx1100];
pub const ALL_LEVELS: &[u8] = &[0, 2, 3];

/// Every 16-bit half is a NaN of f16 and of bf16, every wider float is one too.
pub const POISON: [u8; 2] = [0xff, 0x7f];

/// Runs all programs of a family in the default mode of numerics and shows every failure, not only the first.
pub fn run_family(programs: &[Program]) {
    run_all(programs, |numerics, _| numerics == Numerics::default());
}

/// As [`run_family`], and in every other mode of the target what the last level makes of each program.
pub fn run_family_in_modes(programs: &[Program]) {
    run_all(programs, |numerics, is_last| numerics == Numerics::default() || is_last);
}

fn run_all(programs: &[Program], is_wanted: impl Fn(Numerics, bool) -> bool) {
    let mut failures = Vec::new();
    for program in programs {
        for target in program.targets {
            let ir = (program.source)(*target);
            let modes = Numerics::of_target(*target).iter();
            let runs = modes.flat_map(|mode| program.levels.iter().map(move |level| (mode, level)));
            for (mode, level) in runs {
                if !is_wanted(*mode, Some(level) == program.levels.last()) {
                    continue;
                }
                let run = || run(program, *target, *level, *mode, &ir);
                if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                    let words = panic
                        .downcast_ref::<String>()
                        .cloned()
                        .or(panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
                    let words = words.unwrap_or_default();
                    failures.push(format!(
                        "{} {target} -O{level} {}: {words}",
                        program.name,
                        mode.name()
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn run(program: &Program, target: Target, level: u8, numerics: Numerics, ir: &str) {
    let options = emit::llvm::Options {
        worker: Some(env!("CARGO_BIN_EXE_wavesmith-llvm").into()),
        ..emit::llvm::Options::default()
    };
    let artefacts = emit::llvm::compile_module(program.name, ir, target, level, &options)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut bench = Bench::new(program.name, target, numerics, &artefacts.code_object);
    (program.check)(&mut bench);
    assert!(bench.launches > 0, "the program was not launched");
}

/// A kernel argument.
#[derive(Clone, Copy)]
pub enum Arg {
    Buffer(BufferId),
    U32(u32),
}

/// A machine with one program loaded.
pub struct Bench {
    pub target: Target,
    /// How matrix and dot-product instructions round.
    pub numerics: Numerics,
    pub dynamic_lds_bytes: u32,
    machine: Machine,
    object: LoadedObject,
    kernel: &'static str,
    launches: u32,
}

impl Bench {
    fn new(kernel: &'static str, target: Target, numerics: Numerics, code_object: &[u8]) -> Bench {
        let options = Options { instruction_limit: 20_000_000, numerics, ..Options::default() };
        let mut machine = Machine::new(target, options);
        let object = CodeObject::parse(code_object).expect("LLVM's object is read");
        let object = machine.load(&object).expect("loads");
        Bench { target, numerics, dynamic_lds_bytes: 0, machine, object, kernel, launches: 0 }
    }

    /// A buffer with these values.
    pub fn input<T: Plain>(&mut self, values: &[T]) -> Arg {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        Arg::Buffer(self.machine.memory_mut().allocate_with("input", &bytes).expect("fits"))
    }

    /// A buffer of `count` elements, every float in it a NaN.
    pub fn output<T: Plain>(&mut self, count: usize) -> Arg {
        let bytes = POISON.repeat(count * size_of::<T>() / 2);
        Arg::Buffer(self.machine.memory_mut().allocate_with("output", &bytes).expect("fits"))
    }

    /// Launches the kernel once; a fault or a finding fails the test.
    pub fn launch(&mut self, groups: u32, block: u32, args: &[Arg]) {
        self.launch_3d([groups, 1, 1], [block, 1, 1], args);
    }

    pub fn launch_3d(&mut self, workgroups: [u32; 3], workgroup_size: [u32; 3], args: &[Arg]) {
        let kernarg = self.kernarg(args);
        let dispatch = Dispatch {
            object: self.object,
            kernel: self.kernel,
            workgroups,
            workgroup_size,
            kernarg: &kernarg,
            dynamic_lds_bytes: self.dynamic_lds_bytes,
        };
        self.launches += 1;
        let report = self.machine.dispatch(&dispatch).unwrap_or_else(|fault| panic!("{fault}"));
        if let Some(finding) = report.findings.first() {
            panic!("{} findings, the first: {finding}", report.findings.len());
        }
    }

    /// Arguments at their natural alignment.
    fn kernarg(&self, args: &[Arg]) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        for arg in args {
            let value = match arg {
                Arg::Buffer(id) => self.machine.memory().address(*id).expect("live").bytes(),
                Arg::U32(value) => value.bytes(),
            };
            bytes.resize(bytes.len().next_multiple_of(value.len()), 0);
            bytes.extend(value);
        }
        bytes
    }

    /// What is in a buffer now.
    pub fn read<T: Plain>(&self, buffer: Arg) -> Vec<T> {
        let Arg::Buffer(id) = buffer else { panic!("not a buffer") };
        let bytes = self.machine.memory().read(id).expect("live");
        bytes.chunks(size_of::<T>()).map(T::from_bytes).collect()
    }
}

/// Values of buffers, little-endian.
pub trait Plain: Copy {
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($ty:ty)*) => {$(
        impl Plain for $ty {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                <$ty>::from_le_bytes(bytes.try_into().expect("one element"))
            }
        }
    )*};
}

plain!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 half::f16 half::bf16);

/// Seeded 32-bit words (a linear congruential generator, high halves).
pub fn random_words(seed: u64, n: usize) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    (0..n).map(|_| next()).collect()
}

/// Seeded numbers, evenly spread over `low..high`.
pub fn random_floats(seed: u64, n: usize, low: f32, high: f32) -> Vec<f32> {
    let unit = |word: u32| (word >> 8) as f32 / (1 << 24) as f32;
    random_words(seed, n).into_iter().map(|word| low + (high - low) * unit(word)).collect()
}

/// Integers must be equal.
pub fn assert_equal<T: PartialEq + std::fmt::Debug>(what: &str, got: &[T], expected: &[T]) {
    assert_eq!(got.len(), expected.len(), "{what}: lengths");
    let wrong = (0..got.len()).filter(|i| got[*i] != expected[*i]).collect::<Vec<_>>();
    if let Some(at) = wrong.first() {
        panic!(
            "{what}: {} of {} differ, first at {at}: got {:x?}, expected {:x?}",
            wrong.len(),
            got.len(),
            got[*at],
            expected[*at]
        );
    }
}
