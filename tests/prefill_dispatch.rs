//! From problem files to launches: what is chosen, what is refused and why, what plans hold.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use specs::dispatch::{CANDIDATES, PrefillRequest, choose, parse_request};
use specs::{Family, Problem, Role, Spec};

const KDA: &str = include_str!("../specs/problems/kda_prefill_gfx950.toml");
const GDN: &str = include_str!("../specs/problems/gdn_prefill_gfx950.toml");

fn request(text: &str) -> PrefillRequest {
    let request = parse_request("a.toml", text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(request.check(), []);
    request
}

/// A problem file with some keys set otherwise; an empty value takes the key out.
fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    let is_changed =
        |line: &&str| !changes.iter().any(|(key, _)| line.split(" = ").next() == Some(*key));
    let mut lines: Vec<String> = text.lines().filter(is_changed).map(str::to_owned).collect();
    let set = changes.iter().filter(|(_, value)| !value.is_empty());
    lines.extend(set.map(|(key, value)| format!("{key} = {value}")));
    lines.join("\n") + "\n"
}

fn chosen(text: &str, sizes: &[&str]) -> Result<(String, u32), String> {
    let request = request(text);
    let problem = request.problem(sizes).unwrap_or_else(|error| panic!("{error}"));
    let choice = choose(&request, &problem).map_err(|refusal| refusal.to_string())?;
    let Spec::Chunk(lead) = choice.job.lead() else { panic!("no prefill") };
    Ok((choice.candidate.name.to_owned(), lead.scan().expect("a scan").value_splits))
}

#[track_caller]
fn takes(text: &str, sizes: &[&str], candidate: &str, value_splits: u32) {
    let want = Ok((candidate.to_owned(), value_splits));
    assert_eq!(chosen(text, sizes), want, "{sizes:?}");
}

#[track_caller]
fn refuses(text: &str, words: &[&str]) {
    let refusal = chosen(text, &[]).expect_err("a refusal");
    for word in words {
        assert!(refusal.contains(word), "'{word}' is missing in: {refusal}");
    }
}

/// A workgroup has at most one wave a SIMD; more of them a value head take as long each.
#[test]
fn the_default_is_split_and_range_safe() {
    takes(KDA, &[], "kda_split", 1);
    takes(GDN, &[], "gdn_split", 1);
    takes(KDA, &["batch=32"], "kda_split", 1);
    takes(KDA, &["batch=1", "tokens=0"], "kda_split", 1);
    // Atoms of 16 rows would have eight waves over 128 columns.
    takes(&changed(KDA, &[("chunk", "16")]), &[], "kda_split_c16", 2);
    takes(&changed(KDA, &[("value_splits", "8")]), &[], "kda_split", 8);
}

#[test]
fn a_value_bound_gets_halves() {
    let bound = ("value_bound", "1000.0");
    takes(&changed(KDA, &[bound]), &[], "kda_split_f16", 1);
    takes(&changed(GDN, &[bound]), &[], "gdn_split_f16", 1);
    let fused = ("path", "\"fused\"");
    takes(&changed(KDA, &[bound, fused]), &[], "kda_fused_f16", 1);
    takes(&changed(KDA, &[bound, ("accuracy", "\"bf16_split\"")]), &[], "kda_split", 1);
    takes(&changed(KDA, &[bound, ("accuracy", "\"f16\"")]), &[], "kda_split_f16", 1);
    let unbound = request(KDA);
    let problem = unbound.problem::<&str>(&[]).expect("its sizes");
    let choice = choose(&unbound, &problem).expect("a candidate");
    let lost = choice.rejected.iter().find(|lost| lost.candidate == "kda_split_f16");
    let why = lost.expect("it is listed").to_string();
    assert!(why.contains("value_bound: got none, takes a bound"), "{why}");
}

#[test]
fn what_is_no_default_must_be_asked_for() {
    takes(&changed(KDA, &[("path", "\"fused\"")]), &[], "kda_fused", 1);
    takes(&changed(KDA, &[("accuracy", "\"bf16\"")]), &[], "kda_split_bf16", 1);
    let both = [("accuracy", "\"bf16\""), ("path", "\"fused\"")];
    takes(&changed(KDA, &both), &[], "kda_fused_bf16", 1);
    takes(&changed(GDN, &[("path", "\"fused\"")]), &[], "gdn_fused", 1);
    takes(&changed(KDA, &[("chunk", "64")]), &[], "kda_split_c64", 1);
    takes(&changed(GDN, &[("chunk", "64")]), &[], "gdn_split_c64", 1);
    let contrary = changed(KDA, &[("chunk", "64"), ("path", "\"fused\"")]);
    let words = ["chunk: got 64, takes 32", "path: got fused, takes split", "no chunk asked for"];
    refuses(&contrary, &words);
}

/// A sequence gets the same kernels whatever batch it is in.
#[test]
fn batch_invariance_pins_the_kernels() {
    for text in [KDA, GDN] {
        let pinned = request(&changed(text, &[("batch_invariant", "true")]));
        let choice = |batch: &str| {
            let problem = pinned.problem(&[batch]).expect("a problem");
            choose(&pinned, &problem).expect("a candidate")
        };
        assert_eq!(choice("batch=1").job, choice("batch=64").job);
        assert!(choice("batch=1").splits.contains("pinned by batch_invariant"));
    }
}

/// Two rows of 32 where columns and chunk allow them: a tenth to a quarter fewer instructions.
#[test]
fn atoms_are_those_that_cost_least() {
    let atoms = |changes: &[(&str, &str)]| {
        let request = request(&changed(KDA, changes));
        let problem = request.problem::<&str>(&[]).expect("its sizes");
        let specs = choose(&request, &problem).expect("a candidate").job.specs();
        let [Spec::Chunk(tile), Spec::Chunk(scan)] = specs[..] else { panic!("a split job") };
        (tile.tile().expect("tiles").tile_atom_m, scan.scan().expect("a scan").scan_atom_m)
    };
    assert_eq!(atoms(&[]), (32, 32));
    assert_eq!(atoms(&[("value_splits", "4")]), (32, 32));
    assert_eq!(atoms(&[("value_splits", "8")]), (32, 16));
    assert_eq!(atoms(&[("chunk", "16")]), (16, 16));
}

#[test]
fn gates_beyond_a_range_take_shorter_chunks_then_sub_chunks() {
    takes(&changed(KDA, &[("gate_lower_bound_nats", "-9.0")]), &[], "kda_split_c16", 2);
    let far = changed(KDA, &[("gate_lower_bound_nats", "-20.0")]);
    takes(&far, &[], "kda_split_sub_chunks", 1);
    takes(&changed(&far, &[("path", "\"fused\"")]), &[], "kda_fused_sub_chunks", 1);
    let unbounded = changed(KDA, &[("gate_lower_bound_nats", "")]);
    takes(&unbounded, &[], "kda_split_sub_chunks", 1);
    let softplus = changed(KDA, &[("gate", "\"softplus\""), ("gate_lower_bound_nats", "")]);
    takes(&softplus, &[], "kda_split_sub_chunks", 1);
    let short = [("gate_lower_bound_nats", "-20.0"), ("chunk", "16")];
    refuses(
        &changed(KDA, &short),
        &[
            "gate_range",
            "-20.0",
            "kda_split_c16",
            "gate_lower_bound_nats = -5.0",
            "no chunk asked for",
        ],
    );
}

/// Every candidate of the family is listed with what is against it, those with the same reasons in one line.
#[test]
fn other_targets_are_refused_by_every_candidate() {
    let refusal = chosen(&changed(KDA, &[("target", "\"gfx1100\"")]), &[]).expect_err("a refusal");
    assert!(refusal.contains("what would work: target = \"gfx950\""), "{refusal}");
    let lines: Vec<_> = refusal.lines().filter(|line| line.contains(": ")).collect();
    let of_family = CANDIDATES.iter().filter(|candidate| candidate.families == [Family::Kda]);
    let names: Vec<_> = of_family.map(|candidate| candidate.name).collect();
    assert!(lines.len() < names.len(), "{refusal}");
    for name in names {
        let is_of = |line: &&&str| {
            let (listed, _) = line.split_once(": ").unwrap_or_default();
            listed.trim().split(", ").any(|listed| listed == name)
        };
        let line = lines.iter().find(is_of).unwrap_or_else(|| panic!("no {name}: {refusal}"));
        assert!(line.contains("target: got gfx1100, takes gfx950"), "{line}");
    }
    let short = changed(KDA, &[("chunk", "64"), ("path", "\"fused\"")]);
    let here = chosen(&short, &[]).expect_err("a refusal");
    assert!(!here.contains("gfx1100") && !here.contains("gdn_"), "{here}");
}

/// Whatever K and V are, in every form, on either path.
#[test]
fn every_shape_has_a_candidate() {
    let sizes = ["64", "128"];
    let forms = [("value_bound", "9.0"), ("accuracy", "\"bf16\""), ("accuracy", "\"auto\"")];
    let ranges = [("chunk", ""), ("chunk", "16"), ("chunk", "64"), ("gate", "\"softplus\"")];
    let mut solved = 0;
    for at in 0..2 * 2 * 2 * 3 * 4 * 2 {
        let (text, k, v) = ([GDN, KDA][at % 2], sizes[at / 2 % 2], sizes[at / 4 % 2]);
        let (form, range) = (forms[at / 8 % 3], ranges[at / 24 % 4]);
        let path = [("path", "\"split\""), ("path", "\"fused\"")][at / 96];
        // A softplus gate has no bound.
        let bound = match (text == KDA, range.0) {
            (true, "chunk") => ("gate_lower_bound_nats", "-5.0"),
            _ => ("gate_lower_bound_nats", ""),
        };
        let given = ("beta", "\"given\"");
        let changes = [("head_k", k), ("head_v", v), form, range, path, bound, given];
        let chosen = chosen(&changed(text, &changes), &[]);
        let amplified = [text == GDN, k == "64", range.1 == "64"];
        let is_amplified = amplified.into_iter().filter(|amplified| *amplified).count() > 1;
        let large_steps = form.1 == "\"bf16\"" && is_amplified;
        let is_none = range.1 == "64" && path.1 == "\"fused\"" || large_steps;
        assert_eq!(chosen.is_err(), is_none, "{changes:?}: {chosen:?}");
        solved += usize::from(chosen.is_ok());
    }
    assert_eq!(solved, 192 - 24 - 18);
}

/// Plain bf16 of one gate a head is not given step sizes that put its state beyond its limit.
#[test]
fn plain_takes_large_steps_only_where_it_is_right() {
    let given = changed(GDN, &[("beta", "\"given\"")]);
    let plain = [("accuracy", "\"bf16\""), ("head_k", "64")];
    let words = ["beta: got given", "3.6e-3", "what would work: accuracy = \"auto\""];
    refuses(&changed(&given, &plain), &words);
    refuses(&changed(GDN, &[plain[0], plain[1], ("beta", "\"twice_sigmoid\"")]), &["beta"]);
    let sigmoid = ("beta", "\"sigmoid\"");
    takes(&changed(GDN, &[plain[0], plain[1], sigmoid]), &[], "gdn_split_bf16", 1);
    takes(&changed(&given, &plain[..1]), &[], "gdn_split_bf16", 1);
    takes(&changed(KDA, &plain), &[], "kda_split_bf16", 1);
    let long = ("chunk", "64");
    refuses(&changed(KDA, &[plain[0], plain[1], long]), &["beta: got given", "3.6e-3"]);
    refuses(&changed(&given, &[plain[0], long]), &["beta: got given", "3.6e-3"]);
    takes(&changed(KDA, &[plain[0], long]), &[], "kda_split_c64_bf16", 1);
}

#[test]
fn every_layout_has_a_candidate() {
    for (layout, arguments) in [("\"head_major\"", "tokens"), ("\"strided\"", "strides")] {
        for text in [KDA, GDN] {
            let request = request(&changed(text, &[("layout", layout), ("checked", "true")]));
            let problem = request.problem::<&str>(&[]).expect("its sizes");
            let choice = choose(&request, &problem).unwrap_or_else(|refusal| panic!("{refusal}"));
            let plan = choice.job.plan(&Problem::Prefill(problem)).expect("a plan");
            for launch in &plan.launches {
                let names: Vec<_> = launch.args.iter().map(|arg| arg.argument.as_str()).collect();
                assert!(names.contains(&arguments) && names.contains(&"status"), "{names:?}");
            }
        }
    }
}

/// What no kernel could make right is refused before candidates are asked, by field.
#[test]
fn promises_are_judged_by_name() {
    let cases = [
        ("gate_lower_bound_nats", "nan", "NaN"),
        ("gate_lower_bound_nats", "-inf", "-inf"),
        ("gate_lower_bound_nats", "0.5", "0.5"),
        ("value_bound", "nan", "NaN"),
        ("value_bound", "0.0", "0.0"),
        ("value_bound", "-3", "-3.0"),
        ("value_bound", "65505.0", "65505.0"),
        ("value_bound", "inf", "inf"),
        ("batch", "0", "0"),
        ("batch", "65536", "65536"),
        ("tokens", "4294967295", "4294967295"),
        ("key_heads", "3", "8"),
        ("value_heads", "0", "0"),
        ("head_k", "96", "96"),
        ("head_v", "200", "200"),
        ("dtype", "\"f32\"", "f32"),
        ("gate", "\"log_decay_per_head\"", "log_decay_per_head"),
        ("accuracy", "\"f16\"", "none"),
        ("chunk", "48", "48"),
        ("chunk", "0", "chunk = 16"),
        ("value_splits", "3", "1 or 2 or 4 or 8"),
    ];
    for (key, value, got) in cases {
        let text = changed(KDA, &[(key, value)]);
        let request = parse_request("a.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let violations: Vec<_> = request.check().iter().map(ToString::to_string).collect();
        assert!(
            violations.iter().any(|line| line.contains(got)),
            "{key} = {value}: {violations:?}"
        );
    }
    let hinted = changed(KDA, &[("value_bound", "-1")]);
    let hint = parse_request("a.toml", &hinted).expect("readable").check()[0].hint.clone();
    assert!(hint.contains("bf16_split"), "{hint}");
}

#[test]
fn unreadable_problem_files_are_refused() {
    for (key, value, words) in [
        ("tokens", "-1", "tokens"),
        ("tokens", "4294967296", "tokens"),
        ("path", "\"fusd\"", "did you mean \"fused\""),
        ("key_headz", "8", "did you mean `key_heads`"),
        ("stage", "\"decode\"", "stage"),
        ("kind", "\"spec\"", "kind"),
        ("kernel", "\"chunk_tile\"", "unknown key `kernel`"),
        ("tokens", "1.5", "a number with a fraction"),
        ("tokens", "99999999999999999999", "99999999999999999999"),
        ("batch", "\"2\"", "a text"),
        ("batch", "nan", "a number with a fraction"),
        ("chunk", "-16", "-16"),
        ("family", "[\"kda\"]", "an array"),
        ("family", "2020-01-01", "a date or time"),
        ("gate_lower_bound_nats", "\"-5\"", "a text"),
        ("value_bound", "true", "a truth value"),
        ("batch_invariant", "\"true\"", "a text"),
        ("dt_bias", "true", "key without meaning here `dt_bias`"),
        ("lengths", "[33, 0]", "unknown key `lengths`"),
        ("scale", "0.1", "unknown key `scale`"),
        ("schema", "2", "unknown schema"),
        ("target", "\"gfx942\"", "only these exact chips"),
        ("stage", "", "missing key `stage`"),
        ("schema", "", "missing key `schema`"),
    ] {
        let error = parse_request("a.toml", &changed(KDA, &[(key, value)])).expect_err(key);
        assert!(error.to_string().contains(words), "{key}: {error}");
    }
}

/// Every candidate wins for some problem, and then its kernels are built and its plan holds together.
#[test]
fn every_candidate_is_reachable_and_has_kernels() {
    let ranges: [&[(&str, &str)]; 4] = [
        &[],
        &[("chunk", "16")],
        &[("gate", "\"softplus\""), ("gate_lower_bound_nats", "")],
        &[("chunk", "64")],
    ];
    let paths: [&[(&str, &str)]; 2] = [&[], &[("path", "\"fused\"")]];
    let forms: [&[(&str, &str)]; 3] =
        [&[], &[("value_bound", "100.0")], &[("accuracy", "\"bf16\""), ("beta", "\"sigmoid\"")]];
    let mut names = Vec::new();
    for text in [KDA, GDN] {
        let asked = (0..24).map(|at| (ranges[at / 6], paths[at / 3 % 2], forms[at % 3]));
        for (range, path, form) in asked {
            let request = request(&changed(text, &[range, path, form].concat()));
            let problem = request.problem(&["batch=3", "tokens=70"]).expect("a problem");
            let Ok(choice) = choose(&request, &problem) else {
                assert_eq!((range, path.len()), (ranges[3], 1), "only fused chunks of 64 are none");
                continue;
            };
            for spec in choice.job.specs() {
                kernels::build(&spec).unwrap_or_else(|error| panic!("{error}"));
            }
            let plan = choice.job.plan(&Problem::Prefill(problem)).expect("a plan");
            let is_split = choice.job.specs().len() == 2;
            assert_eq!(plan.launches.len(), choice.job.specs().len());
            assert_eq!(plan.workspace_bytes() > 0, is_split);
            assert!(plan.tensors.iter().all(|tensor| tensor.role != Role::Workspace || is_split));
            names.push(choice.candidate.name);
        }
    }
    for candidate in CANDIDATES {
        assert!(names.contains(&candidate.name), "{} never wins: {names:?}", candidate.name);
    }
}

fn wavesmith(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the binary runs")
}

#[track_caller]
fn ends(args: &[&str], code: i32, words: &[&str]) -> String {
    let output = wavesmith(args);
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let message = format!("{out}{err}");
    assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
    for word in words {
        assert!(message.contains(word), "{args:?}: no '{word}' in: {message}");
    }
    out.into_owned()
}

fn written(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("problem.toml");
    std::fs::write(&path, text).expect("a folder for tests");
    path
}

#[test]
fn the_verbs_take_problem_files() {
    let kda = "specs/problems/kda_prefill_gfx950.toml";
    ends(&["check", kda], 0, &["a problem that kda_split solves"]);
    ends(&["dispatch", kda], 0, &["launch 2", "workspace", "the others"]);
    let document: Value =
        serde_json::from_str(&ends(&["dispatch", kda, "--json"], 0, &[])).expect("one document");
    assert_eq!(document["launches"][0]["grid"], serde_json::json!([4, 8, 1]));
    assert_eq!(document["workspace_bytes"], 1_851_392);
    let run = ends(&["run", kda, "--problem", "tokens=33", "--json"], 0, &[]);
    let run: Value = serde_json::from_str(&run).expect("one document");
    assert_eq!((&run["passed"], &run["outputs"]["ht"]["passed"]), (&true.into(), &true.into()));
    let spec = "specs/library/kda_chunk_tile_gfx950.toml";
    ends(&["dispatch", spec], 2, &["kind", "problem"]);
    ends(&["emit", kda, "--format", "ir", "-o", "-"], 2, &["kind", "spec"]);
    ends(&["run", kda, spec], 2, &["kind"]);
    ends(&["dispatch", kda, "--problem", "tokens=-1"], 2, &["'-1'", "0 to 2147483647"]);
    ends(&["dispatch", kda, "--problem", "batch=0"], 1, &["1 to 65535"]);
    ends(&["dispatch", kda, "--problem", "tokens=2147483647"], 1, &["limit of 2147483648 bytes"]);
    ends(&["dispatch", "no/such.toml"], 2, &["no/such.toml"]);
    for (size, code, words) in [
        ("tokens=nan", 2, "'nan'"),
        ("scale=nan", 1, "a finite number"),
        ("scale=1e39", 1, "a finite number"),
        ("lengths=3", 2, "an unknown parameter"),
        ("row_gap=8", 2, "an unknown parameter"),
        ("tokens", 2, "no '='"),
    ] {
        ends(&["dispatch", kda, "--problem", size], code, &[words]);
        ends(&["run", kda, "--problem", size], code, &[words]);
    }
    let gdn = "specs/problems/gdn_prefill_gfx950.toml";
    for (size, code, words) in [
        ("lengths=", 2, "'' in its list"),
        ("lengths=3,-1", 2, "'-1' in its list"),
        ("lengths=2147483647,1", 1, "at most 2147483647 tokens"),
    ] {
        ends(&["dispatch", gdn, "--problem", size], code, &[words]);
        ends(&["run", gdn, "--problem", size], code, &[words]);
    }
    let both = ["dispatch", gdn, "--problem", "lengths=1,2", "--problem", "tokens=3"];
    ends(&both, 2, &["it beside lengths"]);
}

#[test]
fn refusals_have_their_exit_codes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |changes: &[(&str, &str)]| {
        written(folder.path(), &changed(KDA, changes)).display().to_string()
    };
    let contrary = file(&[("chunk", "64"), ("path", "\"fused\"")]);
    for verb in ["check", "dispatch", "run"] {
        ends(&[verb, &contrary], 1, &["no candidate solves", "what would work"]);
    }
    // A problem with a candidate whose tensors are too large is not right either.
    let large = file(&[("value_heads", "65535"), ("key_heads", "1"), ("batch", "65535")]);
    for verb in ["check", "dispatch", "run"] {
        ends(&[verb, &large], 1, &["limit of 2147483648 bytes", "reduce batch or tokens"]);
    }
    let unnamed = file(&[("kind", "")]);
    for verb in ["check", "dispatch", "run"] {
        ends(&[verb, &unnamed], 2, &["missing key `kind`", "expected \"problem\""]);
    }
    let nan = file(&[("gate_lower_bound_nats", "nan")]);
    for verb in ["check", "dispatch", "run"] {
        ends(&[verb, &nan], 1, &["gate_lower_bound_nats: got NaN"]);
    }
    let broken = file(&[("tokens", "\"many\"")]);
    for verb in ["check", "dispatch", "run"] {
        ends(&[verb, &broken], 2, &["tokens", "a text"]);
    }
}
