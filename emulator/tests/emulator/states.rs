//! Planted faults of wait states: each row of `isa::wait_states`, with too little between the two
//! instructions, with just enough, and with other instructions in between.

mod gfx1100;
mod gfx950;

use isa::Target;
use wavesmith_emulator::{Finding, Options, Rule};

use crate::faults::{self, Line, Setup};

/// What has to lie between a pair.
#[derive(Clone, Copy)]
pub enum Needs {
    /// So many wait states.
    States(u32),
    /// What does not suffice, and what does.
    Shown { too_little: &'static [&'static [Line]], enough: &'static [&'static [Line]] },
}

/// A dependent pair of instructions.
pub struct Pair {
    pub name: &'static str,
    needs: Needs,
    /// What it needs beyond the common beginning.
    set_up: &'static [Line],
    pub earlier: Line,
    pub later: Line,
}

fn pairs(target: Target) -> (&'static [Line], &'static [Pair]) {
    match target {
        Target::Gfx950 => (gfx950::SET_UP, gfx950::PAIRS),
        Target::Gfx1100 => (gfx1100::SET_UP, gfx1100::PAIRS),
    }
}

fn nops(states: u32) -> Line {
    const S_NOP: u32 = 0xbf80_0000;
    const WORDS: [[u32; 1]; 16] = {
        let mut words = [[S_NOP]; 16];
        let mut n = 0;
        while n < 16 {
            words[n as usize][0] |= n;
            n += 1;
        }
        words
    };
    (' ', ".nop", &WORDS[states as usize - 1])
}

/// Runs of instructions that leave `states` wait states: unrelated ones, and `s_nop`.
fn fillings(states: u32) -> Vec<Vec<Line>> {
    let unrelated = vec![gfx950::UNRELATED; states as usize];
    let mut nop = Vec::new();
    let mut left = states;
    while left > 0 {
        nop.push(nops(left.min(16)));
        left -= left.min(16);
    }
    vec![unrelated, nop]
}

/// The runs between a pair that do not suffice, and those that do.
fn separations(pair: &Pair) -> [Vec<Vec<Line>>; 2] {
    match pair.needs {
        Needs::States(0) => [Vec::new(), fillings(0)],
        Needs::States(states) => {
            let too_little = fillings(states - 1).into_iter().chain(fillings(states / 2));
            [too_little.collect(), fillings(states)]
        }
        Needs::Shown { too_little, enough } => {
            let owned = |list: &[&[Line]]| list.iter().map(|lines| lines.to_vec()).collect();
            [owned(too_little), owned(enough)]
        }
    }
}

fn code(target: Target, pair: &Pair, between: &[Line]) -> Vec<u32> {
    let (set_up, _) = pairs(target);
    let parts = [set_up, pair.set_up, &[pair.earlier], between, &[pair.later]];
    parts.into_iter().flatten().flat_map(|(.., words)| words.iter().copied()).collect()
}

/// Shows every pair with everything that is put between it, and whether that is enough.
pub fn for_each_separation(target: Target, mut visit: impl FnMut(&Pair, &[u32], bool)) {
    for pair in pairs(target).1 {
        for (runs, is_enough) in separations(pair).into_iter().zip([false, true]) {
            for between in runs {
                visit(pair, &code(target, pair, &between), is_enough);
            }
        }
    }
}

fn findings(target: Target, pair: &Pair, between: &[Line]) -> Vec<Finding> {
    let words = code(target, pair, between);
    let options = Options { instruction_limit: 100_000, race_checks: false, ..Options::default() };
    let setup = Setup { options, n_workgroups: 1 };
    let report = faults::run(target, &words, &setup)
        .unwrap_or_else(|fault| panic!("{target} {}: {fault}", pair.name));
    report.findings
}

#[test]
fn too_little_between_a_pair_is_reported_with_both_sites() {
    for target in Target::ALL {
        for pair in pairs(target).1 {
            let [too_little, _] = separations(pair);
            for between in too_little {
                let list = findings(target, pair, &between);
                assert_eq!(list.len(), 1, "{target} {} {between:x?}: {list:#?}", pair.name);
                let finding = &list[0];
                let producer = finding.producer.as_ref().expect("the earlier instruction");
                assert_eq!(
                    (
                        finding.rule,
                        finding.site.instruction.as_str(),
                        producer.instruction.as_str()
                    ),
                    (Rule::MissingWaitStates, pair.later.1, pair.earlier.1),
                    "{target} {}",
                    pair.name
                );
            }
        }
    }
}

#[test]
fn enough_between_a_pair_is_clean() {
    for target in Target::ALL {
        for pair in pairs(target).1 {
            let [_, enough] = separations(pair);
            assert!(!enough.is_empty(), "{target} {}", pair.name);
            for between in enough {
                let list = findings(target, pair, &between);
                assert!(list.is_empty(), "{target} {} {between:x?}: {list:#?}", pair.name);
            }
        }
    }
}

#[test]
fn a_finding_says_how_much_is_there_and_how_much_is_needed() {
    let text = |target: Target, name: &str, between: &[Line]| {
        let pair = pairs(target).1.iter().find(|pair| pair.name == name).expect("a pair");
        findings(target, pair, between)[0].to_string()
    };
    let found = text(Target::Gfx950, "matrix_result_then_read", &[gfx950::UNRELATED; 3]);
    for part in ["v17 is read 3 wait states after", "12 are needed", "remedy: s_nop 8 between"] {
        assert!(found.contains(part), "'{part}' is missing in: {found}");
    }
    let found = text(Target::Gfx1100, "trans_then_valu_read", &[]);
    assert!(found.contains("s_waitcnt_depctr 0x0f9f"), "{found}");
}

#[test]
fn the_text_of_every_line_is_what_its_words_say() {
    for target in Target::ALL {
        let (set_up, pairs) = pairs(target);
        let of_pairs = pairs.iter().flat_map(|pair| {
            let between = separations(pair).into_iter().flatten().flatten();
            [pair.earlier, pair.later].into_iter().chain(pair.set_up.to_vec()).chain(between)
        });
        for line in set_up.iter().copied().chain(of_pairs) {
            faults::check_text(target, &line);
        }
    }
}
