//! Random programs: the interpreter of kernel IR, this back end and LLVM agree in every bit.

use dsl::ir::Kernel;
use emit::gcn::{self, Cause, Options};
use isa::Target;

use super::author::program;
use super::differential::{agrees, arguments, interpreted};
use super::random::Random;

/// Programs a target; `benches/random_programs.rs` makes more.
const PROGRAMS: u64 = 150;
/// One in so many goes through LLVM too.
#[cfg(feature = "llvm")]
const BY_LLVM: u64 = 15;
/// Programs that may need more registers than there are: a test of refusals would test nothing.
const MOST_REFUSED: u64 = PROGRAMS / 20;

/// Longest stream of choices.
const MOST_CHOICES: u32 = 260;

#[test]
fn random_programs_do_what_the_interpreter_does() {
    for target in Target::ALL {
        let mut refused = 0;
        for number in 0..PROGRAMS {
            let mut random = Random::new(number, target.name());
            let count = random.below(MOST_CHOICES);
            let choices: Vec<u8> = (0..count).map(|_| random.bits() as u8).collect();
            let kernel = program(target, &choices);
            refused += u64::from(!is_compared(&kernel, number));
        }
        assert!(refused <= MOST_REFUSED, "{target}: {refused} programs need more registers");
    }
}

/// Compares a program's results; `false` if it needs more registers than there are.
fn is_compared(kernel: &Kernel, number: u64) -> bool {
    let arguments = arguments(kernel, number);
    let wanted = interpreted(kernel, &arguments);
    let compared = |code_object: &[u8], by: &str| {
        if let Err(difference) = agrees(kernel, code_object, &arguments, &wanted) {
            panic!("program {number} by {by}: {difference}\n{}", dsl::print(kernel));
        }
    };
    #[cfg(feature = "llvm")]
    if number.is_multiple_of(BY_LLVM) {
        let options = emit::llvm::Options::default();
        compared(&emit::llvm::compile(kernel, &options).unwrap().code_object, "LLVM");
    }
    let options = Options { check: true, ..Options::default() };
    match gcn::compile(kernel, &options) {
        Ok(artefacts) => compared(&artefacts.code_object, "this back end"),
        Err(error) if matches!(error.cause, Cause::Registers { .. }) => return false,
        Err(error) => panic!("program {number}: {error}\n{}", dsl::print(kernel)),
    }
    true
}
