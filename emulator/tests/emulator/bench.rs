//! Running the committed code objects: both targets, zero findings.

use std::path::Path;

use codeobj::CodeObject;
use isa::Target;
use wavesmith_emulator::{BufferId, Dispatch, LoadedObject, Machine, Numerics, Options, Report};

/// Reads and parses `tests/fixtures/{name}.{target}.hsaco`.
pub fn fixture(name: &str, target: Target) -> CodeObject {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.{target}.hsaco"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    CodeObject::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Kernel arguments at natural alignment.
#[derive(Default)]
pub struct Args(pub Vec<u8>);

impl Args {
    pub fn bytes<const N: usize>(mut self, bytes: [u8; N]) -> Args {
        self.0.resize(self.0.len().next_multiple_of(N), 0);
        self.0.extend(bytes);
        self
    }

    pub fn pointer(self, machine: &Machine, buffer: BufferId) -> Args {
        let address = machine.memory().address(buffer).expect("a live buffer");
        self.bytes(address.to_le_bytes())
    }

    pub fn u32(self, value: u32) -> Args {
        self.bytes(value.to_le_bytes())
    }
}

/// A machine with one fixture loaded.
pub struct Bench {
    pub machine: Machine,
    object: LoadedObject,
    kernel: String,
}

impl Bench {
    pub fn new(name: &str, target: Target) -> Bench {
        Bench::in_mode(name, target, Numerics::default())
    }

    /// One bench a mode of numerics of the target: what must hold in the worst of them.
    pub fn in_every_mode(name: &str, target: Target) -> impl Iterator<Item = Bench> {
        Numerics::of_target(target).iter().map(move |mode| Bench::in_mode(name, target, *mode))
    }

    fn in_mode(name: &str, target: Target, numerics: Numerics) -> Bench {
        let options = Options { instruction_limit: 50_000_000, numerics, ..Options::default() };
        let mut machine = Machine::new(target, options);
        let object = machine.load(&fixture(name, target)).expect("loads");
        Bench { machine, object, kernel: name.to_owned() }
    }

    /// A buffer of words, written.
    pub fn words(&mut self, label: &str, words: &[u32]) -> BufferId {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.machine.memory_mut().allocate_with(label, &bytes).expect("fits")
    }

    /// A buffer of words, full of NaN.
    pub fn poisoned(&mut self, label: &str, n_words: usize) -> BufferId {
        self.words(label, &vec![0x7fc0_dead; n_words])
    }

    /// Runs the kernel; faults and findings fail the test.
    pub fn run(&mut self, workgroups: [u32; 3], workgroup_size: [u32; 3], args: Args) -> Report {
        let dispatch = Dispatch {
            object: self.object,
            kernel: &self.kernel,
            workgroups,
            workgroup_size,
            kernarg: &args.0,
            dynamic_lds_bytes: 0,
        };
        let report = self
            .machine
            .dispatch(&dispatch)
            .unwrap_or_else(|fault| panic!("{}: {fault}", self.machine.target()));
        for finding in &report.findings {
            println!("{finding}");
        }
        assert!(
            report.findings.is_empty(),
            "{} on {}: findings",
            self.kernel,
            self.machine.target()
        );
        report
    }

    pub fn read(&self, buffer: BufferId) -> Vec<u32> {
        let bytes = self.machine.memory().read(buffer).expect("a live buffer");
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }
}

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

/// Seeded binary32 numbers: every class, NaN included, one in eight an edge value.
pub fn random_floats(seed: u64, n: usize) -> Vec<u32> {
    const EDGES: [u32; 16] = [
        0,
        0x8000_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x7f7f_ffff,
        0xff7f_ffff,
        0x4b00_0000,
        0x3eff_ffff,
    ];
    let words = random_words(seed, 2 * n);
    words
        .chunks(2)
        .map(|pair| if pair[1] & 7 == 0 { EDGES[(pair[0] % 16) as usize] } else { pair[0] })
        .collect()
}
