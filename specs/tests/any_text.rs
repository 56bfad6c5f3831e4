//! No text makes the reader panic, whatever a file holds.

use proptest::prelude::*;
use wavesmith_specs::dispatch::{choose, parse_request};
use wavesmith_specs::field::{Settings, Value};
use wavesmith_specs::{Choice, KernelKind, LIBRARY, PlanError, Problem, Spec, parse_spec};

/// Every problem file of the repository.
const PROBLEMS: [&str; 2] = [
    include_str!("../problems/gdn_prefill_gfx950.toml"),
    include_str!("../problems/kda_prefill_gfx950.toml"),
];

/// Every spec file of the library.
fn library() -> Vec<&'static str> {
    LIBRARY.iter().map(|entry| entry.text).collect()
}

/// Reads the text and, when it is readable, uses all that follows from it.
fn exercise(text: &str) {
    match parse_spec("any.toml", text) {
        Ok(spec) => exercise_spec(&spec),
        Err(error) => assert!(!error.problems.is_empty() && !error.to_string().is_empty()),
    }
}

fn exercise_spec(spec: &Spec) {
    let violations = spec.check();
    assert!(violations.iter().all(|violation| !violation.to_string().is_empty()));
    assert!(spec.name().len() <= 168, "{}", spec.name());
    let _ = (spec.spec_hash(), spec.facts());
    let problem = spec.problem::<&str>(&[]).expect("defaults are within their limits");
    match spec.plan(&problem) {
        // Rows of very many heads reach the limit of a tensor within the default tokens.
        Err(PlanError::TensorTooLarge { .. }) => assert!(matches!(spec, Spec::Chunk(_))),
        plan => assert_eq!(plan.is_err(), !violations.is_empty()),
    }
}

/// Reads the text as a problem file and, when it is readable, uses all that follows from it: a refusal with words, or
/// kernels that break no rule and a plan.
fn exercise_problem(text: &str) {
    let request = match parse_request("any.toml", text) {
        Ok(request) => request,
        Err(error) => {
            assert!(!error.problems.is_empty() && !error.to_string().is_empty());
            return;
        }
    };
    let violations = request.check();
    if !violations.is_empty() {
        assert!(violations.iter().all(|violation| !violation.hint.is_empty()));
        return;
    }
    let problem = request.problem::<&str>(&[]).expect("a file's own sizes are judged by rules");
    let choice = match choose(&request, &problem) {
        Ok(choice) => choice,
        Err(refusal) => {
            assert!(refusal.rejected.iter().all(|rejection| !rejection.reasons.is_empty()));
            return;
        }
    };
    assert_eq!(choice.job.check(), []);
    assert!(!choice.key().is_empty());
    match choice.job.plan(&Problem::Prefill(problem)) {
        Ok(_) | Err(PlanError::TensorTooLarge { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

/// One of the files with some bytes replaced, removed or doubled.
fn mutated(texts: Vec<&'static str>) -> impl Strategy<Value = String> {
    let edits =
        proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..12);
    (0..texts.len(), edits).prop_map(move |(file, edits)| {
        let mut bytes = texts[file].as_bytes().to_vec();
        for (index, byte, edit) in edits {
            let at = index.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => bytes.insert(at, b"=\"\n[]0-.#"[usize::from(byte) % 9]),
                _ => drop(bytes.remove(at)),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// One of the files whose value of one line is another TOML value.
fn revalued(texts: Vec<&'static str>) -> impl Strategy<Value = String> {
    let value = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}").to_lowercase()),
        "[a-z_0-9]{0,12}".prop_map(|name| format!("\"{name}\"")),
        Just("true".to_owned()),
        Just("[[{}]]".to_owned()),
        Just("{ a.b = 1 }".to_owned()),
        Just("inf".to_owned()),
        Just("0".to_owned()),
        Just("4294967295".to_owned()),
    ];
    (0..texts.len(), any::<prop::sample::Index>(), value).prop_map(move |(file, index, value)| {
        let mut lines: Vec<String> = texts[file].lines().map(str::to_owned).collect();
        let at = index.index(lines.len());
        if let Some((key, _)) = lines[at].clone().split_once('=') {
            lines[at] = format!("{key}= {value}");
        }
        lines.join("\n")
    })
}

/// Any decode step or conv step, legal or not.
fn any_settings() -> impl Strategy<Value = Spec> {
    let count = prop_oneof![0..40u32, any::<u32>(), Just(64), Just(128), Just(1024)];
    let values = proptest::collection::vec(
        (count, any::<prop::sample::Index>(), any::<f32>(), any::<i32>()),
        40,
    );
    (0..KernelKind::ALL.len(), values).prop_map(|(kernel, values)| {
        let kernel = KernelKind::ALL[kernel];
        let fields = kernel.fields().iter().zip(&values);
        let settings: Settings =
            fields.map(|(field, choices)| (field.key, pick(field.kind, choices))).collect();
        Spec::from_settings(kernel, &settings).expect("every field is there")
    })
}

fn pick(
    kind: wavesmith_specs::field::FieldKind,
    choices: &(u32, prop::sample::Index, f32, i32),
) -> Value {
    use wavesmith_specs::field::FieldKind;
    match kind {
        FieldKind::Count | FieldKind::Constant(_) => Value::Count(choices.0),
        FieldKind::SlotIndex => Value::SlotIndex(choices.3),
        FieldKind::Number => Value::Number(choices.2),
        FieldKind::Flag => Value::Flag(choices.0.is_multiple_of(2)),
        FieldKind::Choice(names) => Value::Name(names[choices.1.index(names.len())]),
    }
}

/// Equal up to the bits of a NaN bound.
fn same(a: &Spec, b: &Spec) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        exercise(&text);
    }

    #[test]
    fn toml_like_text_is_read_or_refused(text in "([a-z_]{1,8} ?= ?[\\[\\]{}\"0-9a-z.,_-]{0,12}\n){0,12}") {
        exercise(&text);
        exercise_problem(&text);
    }

    #[test]
    fn mutated_files_are_read_or_refused(text in mutated(library())) {
        exercise(&text);
    }

    #[test]
    fn revalued_files_are_read_or_refused(text in revalued(library())) {
        exercise(&text);
    }

    #[test]
    fn mutated_problems_are_solved_or_refused(text in mutated(PROBLEMS.to_vec())) {
        exercise_problem(&text);
    }

    #[test]
    fn revalued_problems_are_solved_or_refused(text in revalued(PROBLEMS.to_vec())) {
        exercise_problem(&text);
    }

    #[test]
    fn any_spec_is_checked_and_named(spec in any_settings()) {
        exercise_spec(&spec);
    }

    #[test]
    fn different_specs_have_different_names(a in any_settings(), b in any_settings()) {
        if !same(&a, &b) {
            prop_assert_ne!(a.spec_hash(), b.spec_hash());
            prop_assert_ne!((a.target(), a.name()), (b.target(), b.name()));
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    for text in
        ["a = ".to_owned() + &"[".repeat(60_000), "a.".repeat(30_000) + "b = 1", "[".repeat(60_000)]
    {
        assert!(parse_spec("deep.toml", &text).is_err());
        assert!(parse_request("deep.toml", &text).is_err());
    }
}
