//! The static rules: silent on what compilers emit, and finding what was planted.

use std::path::Path;

use codeobj::CodeObject;
use isa::Target;
use wavesmith_emulator::Rule;
use wavesmith_emulator::lint::{GapKind, KernelLint, lint};

use crate::faults::{assembled, race_free_cases, version};
use crate::states;

fn lint_words(target: Target, words: &[u32]) -> KernelLint {
    lint(&assembled(target, words)).remove(0)
}

#[test]
fn code_of_compilers_is_clean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut n_objects = 0;
    for entry in std::fs::read_dir(folder).expect("committed") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "hsaco") {
            continue;
        }
        let object = CodeObject::parse(&std::fs::read(&path).expect("readable")).expect("valid");
        for kernel in lint(&object) {
            assert!(kernel.findings.is_empty(), "{}: {:#?}", path.display(), kernel.findings);
            // Calls go through a register; one fixture has some.
            let is_call = kernel.not_analysed.iter().all(|gap| gap.kind == GapKind::Call);
            assert!(is_call, "{}: {:#?}", path.display(), kernel.not_analysed);
            assert!(kernel.instructions > 5, "{}", path.display());
        }
        n_objects += 1;
    }
    assert!(n_objects >= 30, "{n_objects}");
}

/// Every planted fault that shows in the text, and every twin.
#[test]
fn planted_waits_are_found_on_the_text_and_twins_are_clean() {
    for target in Target::ALL {
        let mut n_found = 0;
        for case in race_free_cases(target) {
            let repaired = lint_words(target, &version(target, case, '+'));
            assert!(repaired.findings.is_empty(), "{target} {}: {repaired:#?}", case.name);
            // Which registers M0 selects, the text does not say.
            let is_moved = case.name.starts_with("moved_register");
            if case.rule() == Some(Rule::UseBeforeWait) && !is_moved {
                let faulty = lint_words(target, &version(target, case, '-'));
                let rules: Vec<Rule> = faulty.findings.iter().map(|found| found.rule).collect();
                assert_eq!(rules, [Rule::UseBeforeWait], "{target} {}", case.name);
                n_found += 1;
            }
        }
        assert!(n_found >= 8, "{target}: {n_found}");
    }
}

#[test]
fn planted_wait_states_are_found_on_the_text() {
    for target in Target::ALL {
        let mut n_found = 0;
        states::for_each_separation(target, |pair, words, is_enough| {
            let found = lint_words(target, words);
            let sites: Vec<_> = found
                .findings
                .iter()
                .map(|found| {
                    let instructions = (&found.producer.instruction, &found.site.instruction);
                    (found.rule, instructions.0.as_str(), instructions.1.as_str())
                })
                .collect();
            let planted = (Rule::MissingWaitStates, pair.earlier.1, pair.later.1);
            let expected = if is_enough { vec![] } else { vec![planted] };
            assert_eq!(sites, expected, "{target} {}", pair.name);
            n_found += sites.len();
        });
        assert!(n_found > 20, "{target}: {n_found}");
    }
}

#[test]
fn what_cannot_be_followed_is_named() {
    let gaps = |target, words: &[u32]| {
        let gaps = lint_words(target, words).not_analysed;
        gaps.into_iter().map(|gap| (gap.kind, gap.what)).collect::<Vec<_>>()
    };
    // s_setpc_b64 s[0:1]
    for (target, word) in [(Target::Gfx950, 0xbe80_1d00), (Target::Gfx1100, 0xbe80_4800)] {
        let found = gaps(target, &[word]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, GapKind::IndirectJump);
    }
    // s_swappc_b64 s[30:31], s[0:1]: the code behind it is followed.
    for (target, word) in [(Target::Gfx950, 0xbe9e_1e00), (Target::Gfx1100, 0xbe9e_4900)] {
        let found = lint_words(target, &[word]);
        assert_eq!(found.not_analysed[0].kind, GapKind::Call);
        assert!(found.instructions > 50, "{}", found.instructions);
    }
    // s_branch far away, and a word that is no instruction.
    for (target, word) in [(Target::Gfx950, 0xbf82_7d00), (Target::Gfx1100, 0xbfa0_7d00)] {
        assert_eq!(gaps(target, &[word])[0].0, GapKind::LeavesCode);
        let found = gaps(target, &[0xffff_ffff, 0xffff_ffff]);
        assert_eq!(found[0].0, GapKind::NoInstruction);
        assert!(found[0].1.contains("ff ff ff ff"), "{found:?}");
    }
}
