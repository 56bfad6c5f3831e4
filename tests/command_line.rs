//! The commands as a user calls them: what they print, what they refuse and how, exit codes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const SPEC: &str = "specs/library/gdn_decode_gfx1100.toml";
const PROBLEM: &str = "specs/problems/gdn_prefill_gfx950.toml";

fn wavesmith(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("stderr is text")
}

fn json(args: &[&str]) -> Value {
    let output = wavesmith(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}{}", stdout(&output), stderr(&output));
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON document")
}

/// Exit code and stderr of a call that must fail without a panic.
#[track_caller]
fn refused(args: &[&str], code: i32, words: &[&str]) {
    let output = wavesmith(args);
    let message = stderr(&output) + &stdout(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
    for word in words {
        assert!(message.contains(word), "{args:?}: no '{word}' in: {message}");
    }
}

/// The library spec with some lines replaced (or removed, for an empty replacement).
fn changed_spec(folder: &Path, changes: &[(&str, &str)]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(root.join(SPEC)).unwrap();
    for (line, replacement) in changes {
        assert!(text.contains(line), "no '{line}' in the library spec");
        text = text.replace(line, replacement);
    }
    let path = folder.join("changed.toml");
    std::fs::write(&path, text).unwrap();
    path
}

#[track_caller]
fn changed_spec_is_refused(verb: &str, changes: &[(&str, &str)], code: i32, words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = changed_spec(folder.path(), changes);
    refused(&[verb, path.to_str().unwrap()], code, words);
}

#[test]
fn list_shows_the_library() {
    let listed = json(&["list", "--family", "kda", "--target", "gfx950"]);
    let specs = listed["specs"].as_array().unwrap();
    assert!(!specs.is_empty());
    for spec in specs {
        assert_eq!(spec["family"], "kda");
        assert_eq!(spec["target"], "gfx950");
        assert!(
            Path::new(env!("CARGO_MANIFEST_DIR")).join(spec["file"].as_str().unwrap()).exists()
        );
    }
    refused(&["list", "--family", "mamba"], 2, &["unknown family 'mamba'", "gdn, kda, conv"]);
    refused(&["list", "--target", "gfx90a"], 2, &["unknown target 'gfx90a'", "gfx950, gfx1100"]);
}

#[test]
fn schemas_are_those_of_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/schema");
    for kind in ["spec", "problem"] {
        let stored = std::fs::read(root.join(format!("{kind}.schema.json"))).unwrap();
        for args in [&["schema", kind][..], &["schema", kind, "--json"]] {
            let output = wavesmith(args);
            assert!(output.status.success() && output.stdout == stored, "{kind}");
        }
    }
    refused(&["schema", "specs"], 2, &["specs", "spec", "problem"]);
}

#[test]
fn check_reports_facts_or_every_broken_rule() {
    let facts = json(&["check", SPEC]);
    assert_eq!(facts[0]["legal"], true);
    assert_eq!(facts[0]["facts"]["workgroup_size"], 128);
    let changes = [("value_heads = 32", "value_heads = 31"), ("head_v = 128", "head_v = 2048")];
    changed_spec_is_refused(
        "check",
        &changes,
        1,
        &["breaks 2 rules", "value_heads", "31", "2048", "1024"],
    );
}

#[test]
fn unreadable_specs_exit_with_2() {
    let key = ("head_k = 128", "head_kk = 128");
    changed_spec_is_refused("check", &[key], 2, &[":10:1", "head_kk", "did you mean `head_k`"]);
    for unknown in ["gfx1030", "gfx1101", "gfx9999"] {
        let target = ("target = \"gfx1100\"", format!("target = \"{unknown}\""));
        let changes = [(target.0, target.1.as_str())];
        changed_spec_is_refused("check", &changes, 2, &[unknown, "gfx950", "gfx1100"]);
    }
    changed_spec_is_refused("check", &[("gate = \"softplus\"\n", "")], 2, &["gate", "missing"]);
    changed_spec_is_refused("check", &[("schema = 1", "schema = ")], 2, &[":2:"]);
    refused(
        &["check", "no/such/file.toml", SPEC],
        2,
        &["no/such/file.toml", "gdn_decode_gfx1100.toml: legal"],
    );
    refused(&["check", "no/such/file.toml"], 2, &["no/such/file.toml"]);
    refused(&["check"], 2, &["SPEC"]);
    refused(&["frobnicate"], 2, &["frobnicate"]);
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_no_spec() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("spec.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&["check", pipe.to_str().unwrap()], 2, &["spec.toml", "is a named pipe"]);
}

/// A result that nobody gets is no success, and no failed check either.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_stdout_is_told_by_every_verb() {
    let object = "emulator/tests/fixtures/reduce.gfx950.hsaco";
    let emulate = [
        "emulate",
        object,
        "--kernel",
        "reduce",
        "--grid",
        "1",
        "--block",
        "256",
        "--arg",
        "in=iota:f32:256",
        "--arg",
        "out=nan:f32:1",
    ];
    let calls: [&[&str]; 14] = [
        &["list"],
        &["list", "--json"],
        &["check", SPEC],
        &["check", "no/such/file.toml"],
        &["dispatch", PROBLEM],
        &["emulate", "--help"],
        &emulate,
        &["lint", object],
        &["lint", object, "--json"],
        &["inspect", object],
        &["disasm", object],
        &["doctor"],
        &["--help"],
        &["--version"],
    ];
    for call in calls {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
            .args(call)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{call:?}: {}", stderr(&output));
        let words = "cannot write to stdout: No space left on device";
        assert!(stderr(&output).contains(words), "{call:?}: {}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let output = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(["run", SPEC, "--problem"])
        .arg(OsStr::from_bytes(b"batch=\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("argument 4, 'batch="), "{}", stderr(&output));
}

#[test]
fn illegal_specs_exit_with_1() {
    let heads = [("value_heads = 32", "value_heads = 17")];
    changed_spec_is_refused("check", &heads, 1, &["value_heads", "17", "16"]);
    changed_spec_is_refused("run", &heads, 1, &["value_heads", "17", "16"]);
    let columns = [("head_v = 128", "head_v = 2048")];
    changed_spec_is_refused("check", &columns, 1, &["head_v", "2048", "1024"]);
    let wave = [("schema = 1", "schema = 1\nwave_width = 64")];
    changed_spec_is_refused("check", &wave, 1, &["wave_width", "64", "32"]);
}

#[test]
fn problems_are_checked() {
    refused(&["run", SPEC, "--problem", "bacth=2"], 2, &["bacth", "batch"]);
    refused(&["run", SPEC, "--problem", "batch=two"], 2, &["batch", "two"]);
    refused(&["run", SPEC, "--problem", "batch=0"], 1, &["batch", "0"]);
    refused(&["run", SPEC, "--device", "cuda"], 2, &["hip", "emulated"]);
    refused(&["run", SPEC, "--numerics", "ieee"], 2, &["'ieee'", "fma-sequential"]);
    let modes = ["cdna3-fdpa", "gfx1100", "fma-sequential", "rdna3-candidate"];
    refused(&["run", SPEC, "--numerics", "cdna3-fdpa"], 2, &modes);
}

#[cfg(feature = "llvm")]
mod with_llvm {
    use isa::Target;

    use super::*;

    #[test]
    fn the_readme_command_passes_and_says_so() {
        let output = wavesmith(&["run", SPEC]);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
        for word in ["rmse_ratio", "limit", "next_state", "pass", "0 findings"] {
            assert!(text.contains(word), "no '{word}' in: {text}");
        }
    }

    #[test]
    fn run_json_has_what_scripts_need() {
        let run = json(&["run", SPEC, "--problem", "batch=2"]);
        assert_eq!(run["passed"], true);
        assert_eq!(run["target"], "gfx1100");
        assert_eq!(run["backend"], "gcn");
        assert_eq!(run["problem"]["batch"], 2);
        assert_eq!(run["numerics"], "fma-sequential");
        for key in ["kernel", "device", "seconds"] {
            assert!(!run[key].is_null(), "no {key}");
        }
        assert!(run["wave_instructions"].as_u64().unwrap() > 0);
        assert_eq!(run["findings"].as_array().unwrap().len(), 0);
        for output in ["o", "next_state"] {
            for key in ["rmse_ratio", "floor", "max_abs", "limit"] {
                assert!(run["outputs"][output][key].is_f64(), "{output} has no {key}");
            }
            assert_eq!(run["outputs"][output]["sha256"].as_str().unwrap().len(), 64);
        }
    }

    #[test]
    fn the_reference_file_is_met_in_both_layouts_on_both_targets() {
        for spec in ["gdn_t1", "gdn_t1_v_first"] {
            for target in Target::ALL {
                let spec = format!("tests/data/specs/{spec}_{target}.toml");
                let inputs = "tests/data/reference/gdn_t1.safetensors";
                let run = json(&["run", &spec, "--inputs", inputs]);
                assert_eq!(run["problem"]["batch"], 2);
                let of = |output: &str, key: &str| run["expected"][output][key].as_f64().unwrap();
                assert!(of("o", "rmse_ratio") <= 1.05 * of("o", "floor"), "{spec}: {run}");
                assert!(of("next_state", "rmse_ratio") <= 3e-7, "{spec}: {run}");
            }
        }
    }

    #[test]
    fn input_files_must_be_problems_of_the_spec() {
        let inputs = "tests/data/reference/gdn_t1.safetensors";
        refused(&["run", SPEC, "--inputs", inputs], 2, &["gdn_t1.safetensors"]);
        let spec = "tests/data/specs/gdn_t1_gfx1100.toml";
        refused(
            &["run", spec, "--inputs", "README.md"],
            2,
            &["README.md", "not a safetensors file"],
        );
        refused(
            &["run", spec, "--inputs", inputs, "--problem", "batch=3"],
            2,
            &["batch=3", "batch=2"],
        );
        let many = "tests/data/reference/gdn_t31.safetensors";
        refused(&["run", spec, "--inputs", many], 2, &["31 tokens"]);
    }

    #[test]
    fn emitting_twice_gives_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for format in ["ir", "llvm-ir", "asm", "hsaco"] {
            let bytes = ["one", "two"].map(|name| {
                let path = folder.path().join(format!("{name}.{format}"));
                let path = path.to_str().unwrap();
                let emitted = json(&["emit", SPEC, "--format", format, "-o", path]);
                assert_eq!(emitted["file"], path);
                std::fs::read(path).unwrap()
            });
            assert!(!bytes[0].is_empty());
            assert!(bytes[0] == bytes[1], "{format} differs from one call to the next");
        }
    }

    #[test]
    fn emitted_objects_can_be_inspected_and_disassembled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.hsaco");
        let path = path.to_str().unwrap();
        json(&["emit", SPEC, "--format", "hsaco", "-o", path]);
        let inspected = json(&["inspect", path]);
        assert_eq!(inspected["target"], "gfx1100");
        let text = stdout(&wavesmith(&["inspect", path]));
        for word in ["gfx1100", "next_state", "VGPRs", "kernarg"] {
            assert!(text.contains(word), "no '{word}' in: {text}");
        }
        let listing = stdout(&wavesmith(&["disasm", path]));
        assert!(listing.contains("s_endpgm"), "{listing}");
        assert!(listing.contains("global_load_b128"), "{listing}");
        refused(&["disasm", path, "--kernel", "gdn"], 2, &["no kernel 'gdn'", "gdn_decode"]);
        refused(
            &["inspect", "README.md"],
            2,
            &["README.md", "not a loadable code object", "ELF magic"],
        );
    }

    #[test]
    fn emit_refuses_what_makes_no_sense() {
        refused(&["emit", SPEC, "--format", "hsaco", "-o", "-"], 2, &["-o PATH"]);
        refused(&["emit", SPEC, "--format", "asm", "--locations", "-o", "-"], 2, &["--locations"]);
        refused(&["emit", SPEC, "--format", "elf", "-o", "x"], 2, &["elf", "hsaco"]);
        refused(&["emit", SPEC, "--format", "ir", "-o", "README.md/x"], 2, &["README.md/x"]);
    }

    #[test]
    fn duplicate_live_slots_are_refused_before_anything_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pool.safetensors");
        write_pool_inputs(&file, &[1, 1]);
        let spec = changed_spec(folder.path(), POOL_CHANGES);
        let args = ["run", spec.to_str().unwrap(), "--inputs", file.to_str().unwrap()];
        refused(&args, 1, &["slots[1] is 1", "slots[0]", "distinct"]);
        write_pool_inputs(&file, &[1, 7]);
        refused(&args, 1, &["slots[1] is 7", "0 to 3", "sentinel is -1"]);
    }

    const POOL_CHANGES: &[(&str, &str)] = &[
        ("gate = \"softplus\"", "gate = \"log_decay\""),
        ("key_heads = 16", "key_heads = 1"),
        ("value_heads = 32", "value_heads = 1"),
        ("head_k = 128", "head_k = 32"),
        ("head_v = 128", "head_v = 4"),
        ("dtype = \"bf16\"", "dtype = \"f32\""),
        ("schema = 1", "schema = 1\nstate_contract = \"pool_in_place\"\npool_sentinel = -1"),
    ];

    fn write_pool_inputs(path: &Path, slots: &[i32; 2]) {
        use safetensors::{Dtype, tensor::TensorView};
        let zeros = vec![0u8; 3 * 32 * 4 * 4];
        let slots: Vec<u8> = slots.iter().flat_map(|slot| slot.to_le_bytes()).collect();
        let f32s = |shape: &[usize]| {
            let bytes = 4 * shape.iter().product::<usize>();
            TensorView::new(Dtype::F32, shape.to_vec(), &zeros[..bytes]).unwrap()
        };
        let tensors = [
            ("q", f32s(&[2, 1, 32])),
            ("k", f32s(&[2, 1, 32])),
            ("v", f32s(&[2, 1, 4])),
            ("g", f32s(&[2, 1])),
            ("beta", f32s(&[2, 1])),
            ("pool", f32s(&[3, 1, 32, 4])),
            ("slots", TensorView::new(Dtype::I32, vec![2], &slots).unwrap()),
        ];
        safetensors::serialize_to_file(tensors, None, path).unwrap();
    }

    #[test]
    fn a_file_that_would_not_be_compared_is_no_pass() {
        use safetensors::SafeTensors;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("changed.safetensors");
        let bytes = std::fs::read("tests/data/reference/gdn_t1.safetensors").unwrap();
        let original = SafeTensors::deserialize(&bytes).unwrap();
        let write = |rename: &dyn Fn(&str) -> String| {
            let tensors = original.tensors().into_iter().map(|(name, view)| (rename(&name), view));
            safetensors::serialize_to_file(tensors, None, &file).unwrap();
        };
        let spec = "tests/data/specs/gdn_t1_gfx1100.toml";
        let args = ["run", spec, "--inputs", file.to_str().unwrap()];
        write(&|name| name.replace("expected.o", "expected.out"));
        refused(&args, 2, &["expected.out", "next_state, o"]);
        write(&|name| name.replace("beta", "betta"));
        refused(&args, 2, &["'beta' is missing"]);
        refused(&["run", spec, "--problem", "scale=1e-40"], 1, &["nothing to measure"]);
        refused(&["run", SPEC, "--problem", "batch=65535"], 1, &["bytes", "reduce batch"]);
        refused(&["run", spec, "--instruction-limit", "100"], 1, &["100"]);
    }

    #[test]
    fn emitting_spares_what_is_not_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let spec = changed_spec(folder.path(), &[]);
        let spec = spec.to_str().unwrap();
        refused(&["emit", spec, "--format", "ir", "-o", spec], 2, &["is the spec itself"]);
        refused(&["emit", spec, "--format", "ir", "-o", "/dev/full"], 2, &["/dev/full"]);
        let missing = folder.path().join("none/ir.txt");
        refused(
            &["emit", spec, "--format", "ir", "-o", missing.to_str().unwrap()],
            2,
            &["none/ir.txt"],
        );
    }

    #[test]
    fn goldens_that_nobody_compared_are_not_right() {
        let output = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
            .args(["golden", "check"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("WAVESMITH_LLVM_WORKER", "no/such/worker")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
        let all = format!("{} not comparable", specs::LIBRARY.len());
        assert!(stdout(&output).contains(&all), "{}", stdout(&output));
    }

    #[test]
    fn doctor_names_llvm_and_what_its_absence_costs() {
        let health = json(&["doctor"]);
        assert!(health["llvm_version"].as_str().unwrap().starts_with("22.1"));
        let output = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
            .args(["doctor"])
            .env("WAVESMITH_LLVM_WORKER", "no/such/worker")
            .output()
            .unwrap();
        assert!(stdout(&output).contains("cost: --backend llvm"), "{}", stdout(&output));
        // No verb's default needs it.
        assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
        let run = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
            .args(["run", SPEC, "--backend", "llvm"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("WAVESMITH_LLVM_WORKER", "no/such/worker")
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(3), "{}", stderr(&run));
        assert!(stderr(&run).contains("cargo build --release"), "{}", stderr(&run));
    }
}
