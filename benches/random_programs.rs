//! Random programs farther than `tests/gcn/` goes: by the interpreter of kernel IR, and as code of both back ends on the
//! emulator, in every bit; the allocation of each is checked. Takes minutes. The first argument is another number of
//! programs, the second another seed; LLVM compiles every eighth of them. Fails on the first difference and
//! shows the smallest program that it could make of it.

#[path = "../tests/gcn/author.rs"]
mod author;
#[path = "../tests/gcn/differential.rs"]
mod differential;
#[path = "../tests/instances/random.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod random;

use std::process::ExitCode;
use std::time::Instant;

use emit::gcn::{self, Cause, Options};
use isa::Target;

/// Programs a target unless said otherwise.
const PROGRAMS: u64 = 4_000;
/// Longest stream of choices.
const MOST_CHOICES: u32 = 400;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let (programs, seed) = (numbers.next().unwrap_or(PROGRAMS), numbers.next().unwrap_or(1));
    let (started, mut compared, mut with_llvm, mut refused) = (Instant::now(), 0, 0, 0);
    for number in 0..programs {
        let choices = choices(seed, number);
        for target in Target::ALL {
            match compared_with(target, &choices, number, number.is_multiple_of(8)) {
                Ok(Compared::All) => (compared, with_llvm) = (compared + 1, with_llvm + 1),
                Ok(Compared::Gcn) => compared += 1,
                Ok(Compared::Refused) => refused += 1,
                Err(_) => {
                    println!("program {number} of seed {seed} on {target}");
                    show_smallest(target, choices, number);
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{compared} programs alike, {with_llvm} of them by LLVM too, {refused} need more registers, {seconds:.0} s"
    );
    ExitCode::SUCCESS
}

enum Compared {
    All,
    Gcn,
    Refused,
}

fn compared_with(
    target: Target,
    choices: &[u8],
    seed: u64,
    llvm: bool,
) -> Result<Compared, String> {
    let kernel = author::program(target, choices);
    let arguments = differential::arguments(&kernel, seed);
    let wanted = differential::interpreted(&kernel, &arguments);
    let agrees = |name: &str, code_object: &[u8]| {
        let result = differential::agrees(&kernel, code_object, &arguments, &wanted);
        result.map_err(|difference| format!("{name}: {difference}"))
    };
    match gcn::compile(&kernel, &Options { check: true, ..Options::default() }) {
        Ok(artefacts) => agrees("gcn", &artefacts.code_object)?,
        Err(error) if matches!(error.cause, Cause::Registers { .. }) => {
            return Ok(Compared::Refused);
        }
        Err(error) => return Err(error.to_string()),
    }
    if !llvm {
        return Ok(Compared::Gcn);
    }
    let options = emit::llvm::Options::default();
    let artefacts = emit::llvm::compile(&kernel, &options).map_err(|error| error.to_string())?;
    agrees("llvm", &artefacts.code_object)?;
    Ok(Compared::All)
}

/// Leaves out choices as long as the program still fails, and prints what is left.
fn show_smallest(target: Target, mut choices: Vec<u8>, seed: u64) {
    let fails = |choices: &[u8]| compared_with(target, choices, seed, seed.is_multiple_of(8)).err();
    let mut length = choices.len();
    while length > 0 {
        let mut start = 0;
        while start < choices.len() {
            let mut fewer = choices.clone();
            fewer.drain(start..(start + length).min(choices.len()));
            match fails(&fewer) {
                Some(_) => choices = fewer,
                None => start += length,
            }
        }
        length /= 2;
    }
    println!("{}", fails(&choices).unwrap_or_default());
    println!("{}", dsl::print(&author::program(target, &choices)));
}

fn choices(seed: u64, number: u64) -> Vec<u8> {
    let mut random = random::Random::new(seed, &format!("program {number}"));
    let count = random.below(MOST_CHOICES);
    (0..count).map(|_| random.bits() as u8).collect()
}
