//! Random programs: the interpreter of kernel IR, this back end and LLVM agree in every bit.

use isa::Target;

use super::differential::Search;

/// `benches/random_programs.rs` makes more, and longer ones.
const SEARCH: Search = Search { seed: 1, programs: 150, most_choices: 260, llvm_every: 15 };

#[test]
fn random_programs_do_what_the_interpreter_does() {
    for target in Target::ALL {
        let counts = SEARCH.run(target).unwrap_or_else(|reason| panic!("{target}: {reason}"));
        // A test of refusals would test nothing.
        assert!(counts.refused <= SEARCH.programs / 20, "{target}: {} refused", counts.refused);
        assert!(counts.by_llvm > 0 || !cfg!(feature = "llvm"), "{target}: none by LLVM");
    }
}
