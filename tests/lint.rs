//! `lint` from outside: exit codes, documents, and silence on everything that this project emits.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn wavesmith(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavesmith"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args);
    command
}

fn lint(args: &[&str]) -> Output {
    wavesmith(&[&["lint"], args].concat()).output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn fixture(name: &str) -> String {
    format!("emulator/tests/fixtures/{name}")
}

/// The template kernel with instructions in place of its first no-ops.
fn text_with(folder: &Path, name: &str, target: &str, instructions: &str) -> PathBuf {
    let template =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture(&format!("template.{target}.s")));
    let text = std::fs::read_to_string(template).expect("committed");
    let text = text.replacen("template:\n", &format!("template:\n{instructions}\n"), 1);
    let path = folder.join(name);
    std::fs::write(&path, text).expect("writable");
    path
}

#[cfg(feature = "llvm")]
#[test]
fn every_library_spec_by_llvm_is_clean() {
    assert_library_is_clean("llvm");
}

#[test]
fn every_library_spec_by_the_gcn_back_end_is_clean() {
    assert_library_is_clean("gcn");
}

fn assert_library_is_clean(backend: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/library");
    let specs: Vec<String> = std::fs::read_dir(folder)
        .expect("committed")
        .map(|entry| entry.expect("readable").path().display().to_string())
        .collect();
    let mut args = vec!["--json", "--backend", backend];
    args.extend(specs.iter().map(String::as_str));
    let output = lint(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).expect("one document");
    assert_eq!(document["passed"], true);
    assert_eq!(document["complete"], true);
    let files = document["files"].as_array().expect("a list");
    assert_eq!(files.len(), specs.len());
    for file in files {
        assert!(file["kernels"][0]["instructions"].as_u64() > Some(20), "{file}");
    }
}

#[test]
fn a_planted_fault_in_assembly_text_is_found_with_both_sites() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = [
        (
            "gfx950",
            "v_mov_b32 v5, 0\ns_mov_b32 s9, 0\nv_mov_b32_dpp v6, v5 quad_perm:[1,0,3,2]",
            "s_nop 0",
        ),
        ("gfx1100", "v_exp_f32 v5, v0\nv_add_f32 v6, 1.0, v5", "s_waitcnt_depctr 0x0f9f"),
    ];
    for (target, instructions, remedy) in cases {
        let path = text_with(folder.path(), &format!("{target}.s"), target, instructions);
        let output = lint(&[path.to_str().expect("UTF-8")]);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        for part in ["missing wait states: v5 is read", "\n  at 0x", "\n  with 0x", remedy] {
            assert!(text.contains(part), "'{part}' is missing in: {text}");
        }
        let output = lint(&["--json", path.to_str().expect("UTF-8")]);
        let document: Value = serde_json::from_str(&stdout(&output)).expect("one document");
        assert_eq!(document["passed"], false);
        let finding = &document["files"][0]["kernels"][0]["findings"][0];
        assert_eq!(finding["rule"], "missing_wait_states");
        for site in ["site", "producer"] {
            assert!(finding[site]["instruction"].is_string(), "{finding}");
        }
    }
}

/// Ways that meet: the worst of both counts.
#[test]
fn a_fault_on_one_way_of_two_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let code = |wait: &str| {
        format!(
            "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n\
             s_cmp_eq_u32 s4, 0\ns_cbranch_scc1 .Lskip\n\
             ds_write_b32 v0, v0\nglobal_load_dword v1, v0, s[4:5]\n{wait}\n\
             .Lskip:\nv_add_u32 v2, 1, v1\ns_barrier"
        )
    };
    let run = |name: &str, wait: &str| {
        let path = text_with(folder.path(), name, "gfx950", &code(wait));
        let output = lint(&["--json", path.to_str().expect("UTF-8")]);
        let document: Value = serde_json::from_str(&stdout(&output)).expect("one document");
        let findings = document["files"][0]["kernels"][0]["findings"].as_array().cloned();
        let rules = findings.expect("a list").into_iter().map(|found| found["rule"].clone());
        (output.status.code(), rules.collect::<Vec<_>>())
    };
    let (code, rules) = run("faulty.s", "");
    assert_eq!(
        (code, rules),
        (Some(1), vec!["use_before_wait".into(), "unfinished_at_barrier".into()])
    );
    assert_eq!(run("clean.s", "s_waitcnt vmcnt(0) lgkmcnt(0)"), (Some(0), vec![]));
}

#[test]
fn what_is_not_analysed_is_listed() {
    let output = lint(&[&fixture("scratch.gfx950.hsaco")]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("a call through a register: not analysed"), "{output:?}");
    let output = lint(&["--json", &fixture("scratch.gfx950.hsaco")]);
    let document: Value = serde_json::from_str(&stdout(&output)).expect("one document");
    assert_eq!((&document["passed"], &document["complete"]), (&true.into(), &false.into()));
}

#[test]
fn a_file_without_a_kernel_is_not_passed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("function.s").display().to_string();
    std::fs::write(&path, "function:\n  s_endpgm\n").expect("writable");
    let output = lint(&["--json", "--target", "gfx950", &path]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let document: Value = serde_json::from_str(&stdout(&output)).expect("one document");
    assert_eq!((&document["passed"], &document["complete"]), (&false.into(), &false.into()));
    let output = lint(&["--target", "gfx950", &path]);
    assert!(stdout(&output).contains("no kernel to look at"), "{output:?}");
}

#[test]
fn a_wave_width_without_rules_is_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture("template.gfx1100.s")),
    );
    let text = text.expect("committed");
    let wide = text
        .replace(".amdhsa_wavefront_size32 1", ".amdhsa_wavefront_size32 0")
        .replace(".wavefront_size: 32", ".wavefront_size: 64");
    assert_ne!(wide, text, "the template states its wave width");
    let path = folder.path().join("wide.s");
    std::fs::write(&path, wide).expect("writable");
    let output = lint(&[&path.display().to_string()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout(&output).contains("waves of 64 lanes"), "{output:?}");
}

#[test]
fn unreadable_input_and_a_missing_worker_have_codes_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("words.s"), "neither fish nor fowl\n").expect("writable");
    std::fs::write(path("cut.hsaco"), b"\x7fELF and no more").expect("writable");
    let bad = text_with(folder.path(), "bad.s", "gfx950", "v_no_such_thing v0");
    for (file, words) in [
        (path("words.s"), "names no target"),
        (path("cut.hsaco"), "not a loadable code object"),
        (path("absent.hsaco"), "cannot read"),
        (bad.display().to_string(), "9:1: invalid instruction"),
    ] {
        let output = lint(&[&file]);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{file}: {complaint}");
        assert!(complaint.contains(words), "{file}: {complaint}");
    }
    let text = fixture("template.gfx950.s");
    let output = wavesmith(&["lint", &text])
        .env("WAVESMITH_LLVM_WORKER", path("nothing"))
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}
