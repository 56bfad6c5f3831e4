//! Damaged code objects: any bytes end in a report, a finding or a typed error, never in a panic.

use std::collections::BTreeMap;

use codeobj::CodeObject;
use isa::Target;
use wavesmith_emulator::{Cause, Dispatch, Fault, Machine, Options};

use crate::bench::random_words;

const FIXTURES: [&str; 7] =
    ["collatz", "convert", "halves", "integers", "lanes", "reduce", "scratch"];
const SEEDS: u64 = 10_000;

/// What became of a damaged object.
fn outcome(target: Target, bytes: &[u8]) -> &'static str {
    let Ok(object) = CodeObject::parse(bytes) else { return "refused by the reader" };
    let options =
        Options { instruction_limit: 3_000, memory_limit_bytes: 1 << 26, ..Options::default() };
    let mut machine = Machine::new(target, options);
    let Ok(loaded) = machine.load(&object) else { return "refused by the loader" };
    let buffer = machine.memory_mut().allocate_with("buffer", &[3; 4096]).expect("fits");
    let address = machine.memory().address(buffer).expect("live").to_le_bytes();
    let kernel = &object.kernels[0];
    let n_bytes = (kernel.metadata.kernarg_segment_size as usize).min(40);
    let kernarg: Vec<u8> = address.iter().copied().cycle().take(n_bytes).collect();
    let size = kernel.metadata.reqd_workgroup_size.unwrap_or([
        kernel.metadata.max_flat_workgroup_size,
        1,
        1,
    ]);
    let dispatch = Dispatch {
        object: loaded,
        kernel: &kernel.name,
        workgroups: [1, 1, 1],
        workgroup_size: size,
        kernarg: &kernarg,
        dynamic_lds_bytes: 0,
    };
    match machine.dispatch(&dispatch) {
        Ok(report) if report.findings.is_empty() => "ran",
        Ok(_) => "ran with findings",
        Err(Fault::Launch(_)) => "refused at launch",
        Err(Fault::Execution(fault)) => match fault.cause {
            Cause::InstructionLimit { .. } => "stopped at the limit",
            _ => "stopped by a fault",
        },
    }
}

/// Flips up to four bytes, half of the time in the code.
fn damage(bytes: &mut [u8], code: std::ops::Range<usize>, seed: u64) {
    let random = random_words(seed, 13);
    let range = if random[0] & 1 == 0 { code } else { 0..bytes.len() };
    for pair in random[1..].chunks(3).take(1 + (random[0] >> 8) as usize % 4) {
        let at = range.start + pair[0] as usize % range.len();
        bytes[at] ^= if pair[1] & 1 == 0 { 1 << (pair[2] % 8) } else { pair[2] as u8 };
    }
}

#[test]
fn ten_thousand_damaged_objects_end_in_typed_results() {
    let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..SEEDS {
        let target = Target::ALL[(seed % 2) as usize];
        let name = FIXTURES[(seed / 2) as usize % FIXTURES.len()];
        let path = format!("{}/tests/fixtures/{name}.{target}.hsaco", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = std::fs::read(path).expect("committed");
        let object = CodeObject::parse(&bytes).expect("valid");
        let kernel = &object.kernels[0];
        let segment = object
            .segments
            .iter()
            .find(|segment| segment.contains(kernel.entry_address, 1))
            .expect("loaded");
        let start = (segment.file_offset + kernel.entry_address - segment.address) as usize;
        damage(&mut bytes, start..start + kernel.code_size as usize, seed);
        *outcomes.entry(outcome(target, &bytes)).or_default() += 1;
    }
    println!("{outcomes:?}");
    for reached in [
        "refused by the reader",
        "ran",
        "ran with findings",
        "stopped at the limit",
        "stopped by a fault",
    ] {
        assert!(outcomes.contains_key(reached), "no mutation was '{reached}': {outcomes:?}");
    }
}
