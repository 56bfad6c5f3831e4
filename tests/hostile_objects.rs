//! Damaged code objects: 10,000 seeded mutations of real ones, read and, where they still read,
//! executed under an instruction limit. None may panic, hang or be anything but a typed error or a
//! finished run.

use std::path::Path;
use std::time::{Duration, Instant};

use emulator::Options;
use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use oracle::tensors::Tensors;
use runtime::{Device, EmulatedDevice, run_plan};
use specs::{LaunchPlan, Spec};
use wavesmith::pipeline;

const MUTATIONS: u64 = 10_000;
/// Far above what the intact kernels execute, far below what would take long.
const INSTRUCTION_LIMIT: u64 = 50_000;

/// A small problem and the code object that solves it.
struct Victim {
    spec: Spec,
    code_object: Vec<u8>,
    plan: LaunchPlan,
    inputs: Tensors,
}

impl Victim {
    fn new(file: &str) -> Victim {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/specs").join(file);
        let spec = pipeline::legal_spec(&path).unwrap();
        let code_object = pipeline::compile(&spec).unwrap().code_object;
        let problem = spec.problem(&["batch=1"]).unwrap();
        let sample = Sample { gates: GateRange::Mixed, seed: 1 };
        let inputs = Case::generate(&spec, &problem, &sample).unwrap().tensors().unwrap();
        let plan = spec.plan(&problem).unwrap();
        Victim { spec, code_object, plan, inputs }
    }

    fn run(&self, code_object: &[u8]) -> Result<(), String> {
        let options = Options { instruction_limit: INSTRUCTION_LIMIT, ..Options::default() };
        let mut device = EmulatedDevice::new(self.spec.target(), options);
        let module = device.load(code_object).map_err(|error| error.to_string())?;
        let outcome = run_plan(&mut device, &[module], &self.plan, &self.inputs);
        outcome.map(|_| ()).map_err(|error| error.to_string())
    }
}

/// The xorshift64* generator (Vigna, "An experimental exploration of Marsaglia's xorshift
/// generators, scrambled", 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let scrambled = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        (scrambled >> 33) as usize % bound
    }

    /// Truncation, flipped bits anywhere, or flipped bits in the part that `within` names.
    fn mutate(&mut self, original: &[u8], within: std::ops::Range<usize>) -> Vec<u8> {
        let mut bytes = original.to_vec();
        match self.below(10) {
            0 => bytes.truncate(self.below(original.len())),
            1 => {
                let at = self.below(bytes.len());
                bytes[at] = [0x00, 0xff, 0x7f, 0x80][self.below(4)];
            }
            kind => {
                for _ in 0..=self.below(4) {
                    let anywhere = kind < 4;
                    let at = match anywhere {
                        true => self.below(bytes.len()),
                        false => within.start + self.below(within.len()),
                    };
                    bytes[at] ^= 1 << self.below(8);
                }
            }
        }
        bytes
    }
}

/// The file range of the code, which most mutations should hit.
fn code_range(code_object: &[u8]) -> std::ops::Range<usize> {
    let object = codeobj::CodeObject::parse(code_object).unwrap();
    let code = object.code(&object.kernels[0]).unwrap();
    let found = code_object.windows(code.len()).position(|window| window == code);
    let start = found.expect("the code is in the file");
    start..start + code.len()
}

#[test]
fn mutated_code_objects_end_in_an_error_or_a_result() {
    let victims = ["small_gfx950.toml", "small_gfx1100.toml"].map(Victim::new);
    let started = Instant::now();
    let (mut refused, mut ran) = (0, 0);
    for victim in &victims {
        assert_eq!(victim.run(&victim.code_object), Ok(()), "the intact object runs");
        let code = code_range(&victim.code_object);
        let mut random = Random(0x5eed);
        for _ in 0..MUTATIONS / victims.len() as u64 {
            match victim.run(&random.mutate(&victim.code_object, code.clone())) {
                Ok(()) => ran += 1,
                Err(message) => {
                    assert!(!message.is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > MUTATIONS / 10, "only {refused} of {MUTATIONS} mutations were refused");
    assert!(ran > MUTATIONS / 100, "only {ran} of {MUTATIONS} mutations ran to the end");
    assert!(started.elapsed() < Duration::from_secs(600), "an instruction limit does not hold");
}
