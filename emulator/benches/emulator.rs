//! Speed of the emulator: millions of wave instructions a second on one core, per kernel and target.
//!
//! `cargo bench -p wavesmith-emulator [-- WORD…]`, words of the first three columns of a line. Wall time of this machine, printed for people: the fastest of
//! several runs, and ratios of runs of the same process. Nothing here is a measurement of a GPU.

use std::path::Path;
use std::time::{Duration, Instant};

use codeobj::CodeObject;
use isa::Target;
use wavesmith_emulator::{Class, Dispatch, HostVectors, Machine, Options, Report};

/// Dispatches of each setting; the fastest counts.
const REPEATS: usize = 40;

/// A kernel with the buffers it works on.
struct Scenario {
    name: &'static str,
    workgroups: [u32; 3],
    /// Words of the buffers that it gets pointers to, the result last.
    buffers: fn() -> Vec<Vec<u32>>,
    /// What follows the pointers.
    sizes: &'static [u32],
}

/// Rows of the softmax: work-items of all workgroups.
const SOFTMAX_WORKGROUPS: u32 = 8;
/// m, n and k of the GEMM.
const GEMM_SIZE: u32 = 128;

const SCENARIOS: [Scenario; 2] = [
    Scenario {
        name: "softmax",
        workgroups: [SOFTMAX_WORKGROUPS, 1, 1],
        buffers: || {
            let n = SOFTMAX_WORKGROUPS * 256 * 32;
            let value = |i: u32| ((i.wrapping_mul(2_654_435_761) >> 16) as f32 / 4096.0).to_bits();
            vec![(0..n).map(value).collect(), vec![0; n as usize]]
        },
        sizes: &[],
    },
    Scenario {
        name: "gemm",
        workgroups: [GEMM_SIZE / 128, GEMM_SIZE / 128, 1],
        buffers: || {
            let n = GEMM_SIZE * GEMM_SIZE;
            // Pairs of binary16 numbers between 1 and 2.
            let pair = |i: u32| i.wrapping_mul(2_654_435_761) & 0x03ff_03ff | 0x3c00_3c00;
            let factor: Vec<u32> = (0..n / 2).map(pair).collect();
            vec![factor.clone(), factor, vec![0; n as usize]]
        },
        sizes: &[GEMM_SIZE, GEMM_SIZE],
    },
];

/// Times dispatches of one scenario after a first one, which decodes the code; the result comes back too.
fn run(scenario: &Scenario, target: Target, options: &Options) -> (Duration, Report, Vec<u8>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("tests/fixtures/{}.{target}.hsaco", scenario.name));
    let bytes = std::fs::read(path).expect("the fixture is in the repository");
    let object = CodeObject::parse(&bytes).expect("the fixture is a code object");
    let mut machine = Machine::new(target, options.clone());
    let loaded = machine.load(&object).expect("the fixture loads");
    let mut kernarg = Vec::new();
    let mut result = None;
    for words in (scenario.buffers)() {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let id = machine.memory_mut().allocate_with("buffer", &bytes).expect("memory");
        kernarg.extend(machine.memory().address(id).expect("live").to_le_bytes());
        result = Some(id);
    }
    scenario.sizes.iter().for_each(|size| kernarg.extend(size.to_le_bytes()));
    let dispatch = Dispatch {
        object: loaded,
        kernel: scenario.name,
        workgroups: scenario.workgroups,
        workgroup_size: [256, 1, 1],
        kernarg: &kernarg,
        dynamic_lds_bytes: 0,
    };
    let mut report = machine.dispatch(&dispatch).expect("the kernel runs");
    let mut fastest = Duration::MAX;
    for _ in 0..REPEATS {
        let started = Instant::now();
        report = machine.dispatch(&dispatch).expect("the kernel runs");
        fastest = fastest.min(started.elapsed());
    }
    assert!(report.findings.is_empty(), "{}: {:?}", scenario.name, report.findings);
    let result = machine.memory().read(result.expect("buffers")).expect("live").to_vec();
    (fastest, report, result)
}

/// Millions of rows of lanes a second that a bare loop multiplies and adds, in vectors that any host has: what this
/// machine can do at the moment, to compare the rates below with.
fn bare_loop(lanes: usize) -> f64 {
    const N: u32 = 1 << 14;
    let file: Vec<Vec<f32>> = (0..16).map(|k| vec![1.0 + k as f32 / 16.0; lanes]).collect();
    let mut sums = vec![vec![0.0_f32; lanes]; 16];
    let mut fastest = Duration::MAX;
    for _ in 0..REPEATS {
        let started = Instant::now();
        for step in 0..N as usize {
            let (a, b) = (&file[step % 16][..lanes], &file[(step + 5) % 16][..lanes]);
            for ((sum, a), b) in sums[(step + 11) % 16][..lanes].iter_mut().zip(a).zip(b) {
                *sum = a * b + *sum * 0.5;
            }
        }
        fastest = fastest.min(started.elapsed());
        std::hint::black_box(&mut sums);
    }
    rate(N.into(), fastest)
}

/// Millions a second.
fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64() / 1e6
}

fn main() {
    let all = Options::default();
    let none = Options { checks: false, ..all.clone() };
    let settings = [
        ("all checks", all.clone()),
        ("no race checks", Options { race_checks: false, ..all }),
        ("plain vectors", Options { host_vectors: HostVectors::Plain, ..none.clone() }),
        ("no checks", none),
    ];
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let bare = [bare_loop(64), bare_loop(32)];
    println!("fastest of {REPEATS}, one core; millions a second");
    println!("a bare loop over rows of 64 and 32 lanes: {:.0} and {:.0}", bare[0], bare[1]);
    println!(
        "{:<8} {:<8} {:<16} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "kernel", "target", "setting", "VALU", "of bare", "matrix", "all", "ms", "time"
    );
    for scenario in &SCENARIOS {
        for target in Target::ALL {
            let mut last: Option<(Duration, Vec<u8>)> = None;
            for (name, options) in settings.iter().rev() {
                let line = format!("{:<8} {:<8} {name:<16}", scenario.name, target.to_string());
                if !words.iter().all(|word| line.contains(word)) {
                    continue;
                }
                let (time, report, result) = run(scenario, target, options);
                let (base, expected) = last.get_or_insert((time, result.clone()));
                assert!(*expected == result, "{}: results differ", scenario.name);
                let counts = &report.stats.instructions;
                let count = |class| counts.get(&class).copied().unwrap_or(0);
                let valu = rate(count(Class::Valu) + count(Class::Transcendental), time);
                println!(
                    "{line} {valu:>9.2} {:>9.3} {:>9.2} {:>9.2} {:>9.2} {:>6.2}x",
                    valu / bare[usize::from(target.wave_width() == 32)],
                    rate(count(Class::Matrix), time),
                    rate(report.wave_instructions, time),
                    time.as_secs_f64() * 1e3,
                    time.as_secs_f64() / base.as_secs_f64(),
                );
            }
        }
    }
}
