//! The text form: every valid kernel survives it, and no text at all breaks the parser or the verifier.

use isa::Target;
use proptest::collection::vec;
use proptest::prelude::*;
use wavesmith_dsl::ir::Kernel;
use wavesmith_dsl::text::{parse, print, print_with_locations};
use wavesmith_dsl::verify::verify;

// The programs are shared with tests to which the crate has that name.
extern crate wavesmith_dsl as dsl;

#[allow(dead_code, reason = "tests that run the programs use all of it")]
mod random;

/// The program of a stream of choices, of which the first is the target.
fn kernel(choices: &[u8]) -> Kernel {
    let (first, rest) = choices.split_first().unwrap_or((&0, &[]));
    random::program(Target::ALL[usize::from(*first) % 2], rest)
}

/// A change to a text.
#[derive(Clone, Debug)]
enum Edit {
    /// A character replaced at a place.
    Replace(prop::sample::Index, char),
    /// A word replaced by another word of the same text.
    Word(prop::sample::Index, prop::sample::Index),
    /// A line removed.
    Remove(prop::sample::Index),
    /// A line repeated somewhere else.
    Copy(prop::sample::Index, prop::sample::Index),
    /// The rest cut off.
    Cut(prop::sample::Index),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let place = any::<prop::sample::Index>;
    let edit = prop_oneof![
        3 => (place(), "[-%0-9a-z:,={}+; \n\u{e9}]").prop_map(|(at, text)| Edit::Replace(at, text.chars().next().unwrap_or('x'))),
        3 => (place(), place()).prop_map(|(at, from)| Edit::Word(at, from)),
        1 => place().prop_map(Edit::Remove),
        1 => (place(), place()).prop_map(|(from, to)| Edit::Copy(from, to)),
        1 => place().prop_map(Edit::Cut),
    ];
    vec(edit, 1..6)
}

fn edited(text: &str, edit: &Edit) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    match edit {
        _ if text.is_empty() => return String::new(),
        Edit::Replace(at, by) => {
            let mut characters: Vec<char> = text.chars().collect();
            let at = at.index(characters.len());
            characters[at] = *by;
            return characters.into_iter().collect();
        }
        Edit::Word(at, from) => {
            let words: Vec<&str> = text.split(' ').collect();
            let (at, by) = (at.index(words.len()), *from.get(&words));
            let swapped =
                words.iter().enumerate().map(|(index, word)| if index == at { by } else { word });
            return swapped.collect::<Vec<_>>().join(" ");
        }
        Edit::Remove(at) => drop(lines.remove(at.index(lines.len()))),
        Edit::Copy(from, to) => lines.insert(to.index(lines.len()), *from.get(&lines)),
        Edit::Cut(at) => lines.truncate(at.index(lines.len())),
    }
    lines.join("\n")
}

proptest! {
    #[test]
    fn valid_kernels_survive_the_text_form(choices in vec(any::<u8>(), 0..300)) {
        let kernel = kernel(&choices);
        let text = print(&kernel);
        let back = parse(&text).unwrap();
        prop_assert_eq!(&back, &kernel);
        prop_assert_eq!(print(&back), text);
        prop_assert_eq!(verify(&back), Ok(()));
        prop_assert_eq!(&parse(&print_with_locations(&kernel)).unwrap(), &kernel);
    }

    #[test]
    fn damaged_text_is_refused_or_means_something(choices in vec(any::<u8>(), 0..200), edits in edits()) {
        let text = edits.iter().fold(print(&kernel(&choices)), |text, edit| edited(&text, edit));
        if let Ok(kernel) = parse(&text) {
            // What the verifier accepts is canonical up to comments, spaces and the spelling of numbers.
            if verify(&kernel).is_ok() {
                prop_assert_eq!(parse(&print(&kernel)).unwrap(), kernel);
            }
        }
    }

    #[test]
    fn noise_is_refused(text in "\\PC{0,200}") {
        prop_assert!(parse(&text).is_err());
    }
}

#[test]
fn random_kernels_nest_and_vary() {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let texts = (0..20).map(|_| {
        let choices: Vec<u8> = (0..300).map(|_| next()).collect();
        print(&kernel(&choices))
    });
    let text: String = texts.collect();
    for part in [
        "for ",
        "} else {",
        "barrier",
        "lane_xor",
        "carry",
        " uniform = load",
        " varying = load",
        "    if",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}
