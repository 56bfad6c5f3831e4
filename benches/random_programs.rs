//! Random programs farther than `tests/gcn/` goes: by the interpreter of kernel IR, and as code of both back ends on the
//! emulator, in every bit; the allocation of each is checked. Takes minutes. The first argument is another number of
//! programs, the second another seed; LLVM compiles every eighth of them. Fails on the first difference and
//! shows the smallest program that could be made of it.

#[path = "../tests/gcn/differential.rs"]
mod differential;
#[path = "../dsl/tests/random/mod.rs"]
mod program;
#[path = "../tests/instances/random.rs"]
#[allow(dead_code, reason = "other tests use all of it")]
mod random;

use std::process::ExitCode;
use std::time::Instant;

use differential::{Counts, Search};
use isa::Target;

/// Programs a target unless said otherwise.
const PROGRAMS: u32 = 4_000;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u32>().ok());
    let programs = numbers.next().unwrap_or(PROGRAMS);
    let seed = numbers.next().unwrap_or(1).into();
    let search = Search { seed, programs, most_choices: 400, llvm_every: 8 };
    for target in Target::ALL {
        let started = Instant::now();
        match search.run(target) {
            Ok(Counts { compared, by_llvm, refused }) => println!(
                "{target}: {compared} programs alike, {by_llvm} of them by LLVM too, {refused} need more registers, {:.0} s",
                started.elapsed().as_secs_f64()
            ),
            Err(reason) => {
                println!("{target}: {reason}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
