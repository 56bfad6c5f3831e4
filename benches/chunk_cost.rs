//! What chunked prefill costs, 64 tokens of one head, K = V = 128: counted on the emulator, LDS clocks modelled
//! (`isa::banks`), everything printed beside the limits and beside what other projects' kernels cost (static counts of
//! their code objects, modelled clocks). Nothing here is a measurement of a GPU.

#[path = "../tests/chunk_prefill/case.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod case;
#[path = "../tests/chunk_prefill/launch.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod launch;

use std::process::ExitCode;

use case::{Case, KDA};
use emulator::{Class, Stats};
use oracle::inputs::GatePattern;
use specs::Family;
use specs::chunk::Accuracy;

/// What a row of the table counts.
struct Cost {
    instructions: u64,
    valu: u64,
    /// CU clocks: 16 clocks of a SIMD each, of four.
    transcendental: u64,
    lds: u64,
    conflict_free: u64,
    barriers: u64,
    bytes: u64,
}

impl Cost {
    /// Of launches that belong together; `state_bytes` are left out.
    fn of(launches: &[Stats], state_bytes: u64) -> Cost {
        let count = |class| -> u64 {
            launches.iter().filter_map(|stats| stats.instructions.get(&class)).sum()
        };
        let traffic: Vec<_> =
            launches.iter().map(|stats| stats.detail.as_ref().expect("counted").traffic).collect();
        let lds = |of: fn(&emulator::LdsTraffic) -> u64| -> u64 {
            let parts = traffic
                .iter()
                .map(|t| [&t.lds_reads, &t.lds_writes, &t.lds_atomics, &t.lds_lane_moves].map(of));
            parts.flatten().sum()
        };
        // Arguments and chunk tables, which scalar loads fetch, are no tensors.
        let bytes: u64 = traffic.iter().map(|t| t.global_loads.bytes + t.global_stores.bytes).sum();
        let (clean, conflicts) = (lds(|t| t.clocks), lds(|t| t.conflict_clocks));
        // Every wave of a workgroup meets the others as often.
        let barriers = launches.iter().map(|stats| {
            let waves = stats.waves / stats.workgroups.max(1);
            stats.instructions.get(&Class::Barrier).copied().unwrap_or(0) / waves.max(1)
        });
        Cost {
            instructions: launches.iter().flat_map(|stats| stats.instructions.values()).sum(),
            valu: count(Class::Valu),
            transcendental: 4 * count(Class::Transcendental),
            lds: clean + conflicts,
            conflict_free: clean,
            barriers: barriers.sum(),
            bytes: bytes - state_bytes,
        }
    }
}

/// Limits of the plain form with given gates in chunks of 32, split and fused.
const LIMITS: [(&str, u64); 2] = [("split", 216_000), ("fused", 99_000)];

fn main() -> ExitCode {
    println!(
        "64 tokens of one head, K = V = 128, one value split, one sequence; bytes without states, arguments and tables"
    );
    println!(
        "{:<34}{:>8}{:>8}{:>8}{:>8}{:>9}{:>9}{:>10}",
        "kernels", "instr", "VALU", "trans", "LDS", "conflict", "barriers", "HBM bytes"
    );
    let mut held = true;
    let f16 = Accuracy::F16 { value_bound: 1000.0 };
    for family in [Family::Kda, Family::Gdn] {
        for accuracy in [Accuracy::Bf16, Accuracy::Bf16Split, f16] {
            for (chunk, atom_m) in [(32, 32), (32, 16), (16, 16)] {
                let checked = accuracy == f16;
                let form = Case { family, accuracy, chunk, atom_m, checked, ..KDA };
                let case = Case { value_heads: 1, head_v: 128, counted: true, ..form };
                held &= row(&case);
            }
        }
    }
    let long = Case { sub_chunks: true, chunk: 64, atom_m: 32, counted: true, ..KDA };
    row(&Case { value_heads: 1, head_v: 128, ..long });
    println!(
        "limits: 11000 instr, 5500 VALU, 1300 trans, 5000 LDS, 1.10 conflict, 24 barriers, 216000 and 99000 bytes"
    );
    println!(
        "others: FLA 27.8k instr, 17.6k VALU, 5.1k trans, 18.3k LDS (9.9k), 99 barriers, ~619 KB;"
    );
    println!(
        "        AITER flash_kda 22.4k, 13.4k, 3.6k, 11.4k (8.8k), 158, ~194 KB; sglang 17.0k, 9.2k, 4.2k, -, 6, ~202 KB"
    );
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One form, split and fused; whether what has limits keeps them.
fn row(case: &Case) -> bool {
    let problem = case.problem(&[0, 64], GatePattern::Random(-0.5), (0.0, 1.0));
    let state = problem.initial_state.as_ref().map_or(0, Vec::len) as u64 * 8;
    let mut runs = vec![("split", launch::run(case, &problem).stats)];
    if case.chunk < 64 {
        runs.push(("fused", launch::run_fused(case, &problem).stats));
    }
    let mut held = true;
    for ((kind, stats), (_, bytes)) in runs.iter().zip(LIMITS) {
        let cost = Cost::of(stats, state);
        let conflict = cost.lds as f64 / cost.conflict_free.max(1) as f64;
        let accuracy = case.accuracy.kind();
        let form = if case.sub_chunks { "sub_chunks" } else { "" };
        println!(
            "{:<34}{:>8}{:>8}{:>8}{:>8}{:>9.2}{:>9}{:>10}",
            format!("{kind} {} {accuracy} C={} m={} {form}", case.family, case.chunk, case.atom_m),
            cost.instructions,
            cost.valu,
            cost.transcendental,
            cost.lds,
            conflict,
            cost.barriers,
            cost.bytes
        );
        let is_limited = case.family == Family::Kda
            && case.accuracy == Accuracy::Bf16
            && (case.chunk, case.atom_m) == (32, 32);
        let within = cost.instructions <= 11_000
            && cost.valu <= 5_500
            && cost.transcendental <= 1_300
            && cost.lds <= 5_000
            && conflict <= 1.1
            && cost.barriers <= 24
            && cost.bytes <= bytes;
        held &= within || !is_limited;
    }
    held
}
