//! Spec files that cannot be read: kind, place, key, got, expected, remedy.

use wavesmith_specs::{
    FileProblem, LIBRARY, Place, ProblemKind, UnreadableSpec, parse_spec, read_spec,
};

const DECODE: &str = r#"schema = 1
kind = "spec"
kernel = "decode_step"
family = "gdn"
target = "gfx1100"
gate = "log_decay"
key_heads = 2
value_heads = 4
head_k = 64
head_v = 96
dtype = "bf16"
head_map = "grouped"
state_layout = "k_first"
"#;

const CONV: &str = r#"schema = 1
kind = "spec"
kernel = "conv_step"
target = "gfx950"
channels = 100
width = 4
dtype = "f32"
"#;

fn refusal(text: &str) -> UnreadableSpec {
    parse_spec("some/file.toml", text).expect_err("must not be readable")
}

/// The only problem of a text.
#[track_caller]
fn only(text: &str) -> FileProblem {
    let mut refusal = refusal(text);
    assert_eq!(refusal.problems.len(), 1, "{refusal}");
    refusal.problems.remove(0)
}

/// Asserts kind, key, place and words of the only problem.
#[track_caller]
fn refused(text: &str, kind: ProblemKind, key: &str, line: usize, words: &[&str]) {
    let problem = only(text);
    assert_eq!(problem.kind, kind, "{problem}");
    assert_eq!(problem.key.as_deref(), Some(key), "{problem}");
    assert_eq!(problem.place.map_or(0, |place| place.line), line, "{problem}");
    let message = problem.to_string();
    for word in words {
        assert!(message.contains(word), "'{word}' is missing in: {message}");
    }
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from));
    text.replace(from, to)
}

#[test]
fn the_bases_are_readable() {
    for text in [DECODE, CONV] {
        assert_eq!(parse_spec("base.toml", text).expect("readable").check(), []);
    }
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest() {
    let text = format!("{DECODE}wave_widht = 32\n");
    refused(&text, ProblemKind::UnknownKey, "wave_widht", 14, &["did you mean `wave_width`?"]);
    let text = format!("{CONV}  chanels = 4\n");
    refused(&text, ProblemKind::UnknownKey, "chanels", 8, &["did you mean `channels`?"]);
    assert_eq!(only(&text).place, Some(Place { line: 8, column: 3 }));
}

#[test]
fn an_unknown_key_far_from_all_lists_what_there_is() {
    let text = format!("{DECODE}zzz = 1\n");
    refused(&text, ProblemKind::UnknownKey, "zzz", 14, &["remove it", "head_map", "schema"]);
}

#[test]
fn a_key_of_another_kernel_is_unknown() {
    let text = format!("{CONV}key_heads = 4\n");
    refused(&text, ProblemKind::UnknownKey, "key_heads", 8, &["channels"]);
}

#[test]
fn a_missing_gate_is_said_plainly() {
    let text = replaced(DECODE, "gate = \"log_decay\"\n", "");
    let words = ["missing key `gate`", "log_decay", "softplus", "bounded_sigmoid", "no default"];
    refused(&text, ProblemKind::MissingKey, "gate", 0, &words);
}

#[test]
fn every_required_key_is_missed() {
    for text in [DECODE, CONV] {
        for line in text.lines() {
            let key = line.split(' ').next().expect("a key");
            refused(
                &text.replace(&format!("{line}\n"), ""),
                ProblemKind::MissingKey,
                key,
                0,
                &["add `"],
            );
        }
    }
}

#[test]
fn companions_of_a_choice_are_required_with_it() {
    let text = replaced(DECODE, "family = \"gdn\"", "family = \"kda\"");
    let text = replaced(&text, "\"log_decay\"", "\"bounded_sigmoid\"");
    refused(&text, ProblemKind::MissingKey, "gate_lower_bound_nats", 0, &["nats"]);
    let text = format!("{DECODE}state_contract = \"pool_in_place\"\n");
    refused(&text, ProblemKind::MissingKey, "pool_sentinel", 0, &["slot index"]);
}

#[test]
fn companions_of_another_choice_are_refused() {
    let text = format!("{DECODE}gate_lower_bound_nats = -5.0\n");
    let words = [
        "got `gate = \"log_decay\"`",
        "gate = \"bounded_sigmoid\"",
        "remove `gate_lower_bound_nats`",
    ];
    refused(&text, ProblemKind::InapplicableKey, "gate_lower_bound_nats", 14, &words);
    let text = format!("{DECODE}pool_sentinel = -1\n");
    refused(
        &text,
        ProblemKind::InapplicableKey,
        "pool_sentinel",
        14,
        &["state_contract = \"pool_in_place\""],
    );
    let text = format!("{DECODE}reduction = \"serial\"\nk_lanes = 8\n");
    refused(&text, ProblemKind::InapplicableKey, "k_lanes", 15, &["reduction = \"lane_tree\""]);
}

#[test]
fn unknown_targets_list_the_known_ones_and_suggest_none() {
    for target in ["gfx1030", "gfx1101", "gfx9999", "gfx942", "GFX950", ""] {
        let text = replaced(DECODE, "gfx1100", target);
        refused(
            &text,
            ProblemKind::UnknownTarget,
            "target",
            5,
            &["gfx950", "gfx1100", "exact chips"],
        );
        assert!(!only(&text).to_string().contains("did you mean"));
    }
}

#[test]
fn unknown_names_suggest_the_nearest() {
    for (from, to, key, line, hint) in [
        ("\"decode_step\"", "\"decode_stp\"", "kernel", 3, "\"decode_step\""),
        ("\"gdn\"", "\"gda\"", "family", 4, "\"gdn\""),
        ("\"log_decay\"", "\"logdecay\"", "gate", 6, "\"log_decay\""),
        ("\"bf16\"", "\"bf61\"", "dtype", 11, "\"bf16\""),
        ("\"grouped\"", "\"group\"", "head_map", 12, "\"grouped\""),
        ("\"k_first\"", "\"kfirst\"", "state_layout", 13, "\"k_first\""),
    ] {
        let text = replaced(DECODE, from, to);
        refused(&text, ProblemKind::UnknownValue, key, line, &["did you mean", hint]);
    }
}

#[test]
fn other_kinds_and_schemas_stop_the_reading() {
    let text = replaced(DECODE, "\"spec\"", "\"problem\"");
    refused(&text, ProblemKind::UnknownValue, "kind", 2, &["got \"problem\"", "\"spec\""]);
    let text = format!("{}made_up = 4\n", replaced(DECODE, "schema = 1", "schema = 2"));
    refused(&text, ProblemKind::UnknownSchema, "schema", 1, &["got 2", "expected 1", "version"]);
}

#[test]
fn wrong_types_say_both() {
    for (from, to, key, line, got, expected) in [
        ("head_k = 64", "head_k = \"64\"", "head_k", 9, "a text", "a whole number"),
        ("head_k = 64", "head_k = 64.0", "head_k", 9, "a number with a fraction", "a whole number"),
        ("head_k = 64", "head_k = [64]", "head_k", 9, "an array", "a whole number"),
        ("head_k = 64", "head_k = { a = 1 }", "head_k", 9, "a table", "a whole number"),
        ("head_k = 64", "head_k = 1979-05-27", "head_k", 9, "a date", "a whole number"),
        ("dtype = \"bf16\"", "dtype = 16", "dtype", 11, "a whole number", "\"bf16\""),
        ("schema = 1", "schema = \"1\"", "schema", 1, "a text", "1"),
        ("kind = \"spec\"", "kind = true", "kind", 2, "a truth value", "\"spec\""),
    ] {
        let words = [format!("got {got}"), format!("expected {expected}")];
        refused(&replaced(DECODE, from, to), ProblemKind::WrongType, key, line, &[&words[0]]);
        assert!(only(&replaced(DECODE, from, to)).to_string().contains(expected), "{expected}");
    }
    let text = format!("{CONV}bias = \"yes\"\n");
    refused(&text, ProblemKind::WrongType, "bias", 8, &["got a text", "expected true or false"]);
}

#[test]
fn numbers_beyond_the_field_are_refused() {
    for number in ["-1", "4294967296", "99999999999999999999999", "0xfffffffff"] {
        let text = replaced(DECODE, "head_k = 64", &format!("head_k = {number}"));
        refused(&text, ProblemKind::OutOfRange, "head_k", 9, &["0 to 4294967295", number]);
    }
    let text = format!("{DECODE}state_contract = \"pool_in_place\"\npool_sentinel = 2147483648\n");
    refused(&text, ProblemKind::OutOfRange, "pool_sentinel", 15, &["-2147483648 to 2147483647"]);
}

#[test]
fn whole_numbers_are_read_in_every_notation() {
    for number in ["0x40", "0b100_0000", "0o100", "6_4", "+64"] {
        let text = replaced(DECODE, "head_k = 64", &format!("head_k = {number}"));
        assert_eq!(parse_spec("x", &text).expect(number), parse_spec("x", DECODE).expect("base"));
    }
}

#[test]
fn a_bound_may_be_a_whole_number() {
    let text = replaced(DECODE, "family = \"gdn\"", "family = \"kda\"");
    let text = replaced(&text, "\"log_decay\"", "\"bounded_sigmoid\"\ngate_lower_bound_nats = -5");
    let with_fraction = replaced(&text, "= -5", "= -5.0");
    assert_eq!(
        parse_spec("x", &text).expect("readable"),
        parse_spec("x", &with_fraction).expect("readable")
    );
}

#[test]
fn syntax_errors_have_a_place() {
    for (text, line) in
        [("schema = 1\nkind = \n", 2), ("a = 1\na = 2\n", 2), ("[x", 1), ("\u{0}", 1)]
    {
        let problem = only(text);
        assert_eq!(problem.kind, ProblemKind::Syntax);
        assert_eq!(problem.place.expect("a place").line, line, "{problem}");
    }
}

#[test]
fn everything_wrong_is_reported_in_the_order_of_the_file() {
    let text = replaced(DECODE, "head_k = 64", "head_q = 64");
    let text = replaced(&text, "\"gfx1100\"", "\"gfx1101\"");
    let refusal = refusal(&replaced(&text, "\"bf16\"", "16"));
    let kinds: Vec<_> = refusal.problems.iter().map(|problem| problem.kind).collect();
    let expected = [
        ProblemKind::UnknownTarget,
        ProblemKind::UnknownKey,
        ProblemKind::WrongType,
        ProblemKind::MissingKey,
    ];
    assert_eq!(kinds, expected);
    let lines: Vec<String> = refusal.to_string().lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("some/file.toml:5:10: unknown target `target`"), "{}", lines[0]);
    assert!(lines[3].starts_with("some/file.toml: missing key `head_k`"), "{}", lines[3]);
}

#[test]
fn without_a_kernel_the_keys_of_any_kernel_are_known() {
    let text = replaced(CONV, "kernel = \"conv_step\"", "kernal = \"conv_step\"");
    let kinds: Vec<_> =
        refusal(&text).problems.into_iter().map(|problem| (problem.kind, problem.key)).collect();
    let expected = [
        (ProblemKind::UnknownKey, Some("kernal".to_owned())),
        (ProblemKind::MissingKey, Some("kernel".to_owned())),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn strange_text_is_escaped_in_messages() {
    let text = replaced(DECODE, "\"gdn\"", "\"\\u001b[31m\"");
    assert!(only(&text).to_string().contains("\\u{1b}[31m"));
    let text = format!("{DECODE}\"\\u001b[2J\" = 1\n");
    assert!(!refusal(&text).to_string().contains('\u{1b}'));
}

#[test]
fn large_files_are_refused_unread() {
    let text = format!("{DECODE}{}", "# padding\n".repeat(10_000));
    assert_eq!(only(&text).kind, ProblemKind::TooLarge);
}

#[test]
fn files_that_cannot_be_opened_or_are_no_text() {
    let missing = read_spec(std::path::Path::new("no/such/file.toml")).expect_err("no such file");
    assert_eq!(missing.problems[0].kind, ProblemKind::Io);
    let folder = read_spec(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).expect_err("a folder");
    assert_eq!(folder.problems[0].kind, ProblemKind::Io);
    let path = std::env::temp_dir().join(format!("wavesmith_not_text_{}.toml", std::process::id()));
    std::fs::write(&path, b"schema = 1\n\xff").expect("a temporary file");
    let binary = read_spec(&path);
    std::fs::remove_file(&path).expect("the temporary file");
    let problem = &binary.expect_err("no text").problems[0];
    assert_eq!(problem.kind, ProblemKind::NotText);
    assert!(problem.got.contains("offset 11"), "{problem}");
}

#[test]
fn comments_and_order_change_nothing() {
    let entry = LIBRARY
        .iter()
        .find(|entry| entry.file == "gdn_decode_gfx950.toml")
        .expect("a library file");
    let mut lines: Vec<&str> = entry.text.lines().filter(|line| !line.starts_with('#')).collect();
    lines.reverse();
    let spec = parse_spec("reversed", &lines.join("\n")).expect("readable");
    assert_eq!(spec, entry.spec().expect("readable"));
}
