//! Chunked prefill through the path that users take: library specs, their plans and kernels, the verbs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use safetensors::{Dtype, tensor::TensorView};
use serde_json::Value;
use wavesmith::{emitted, pipeline};

fn wavesmith(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the binary runs")
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}{err}")
}

fn json(args: &[&str]) -> Value {
    let output = wavesmith(&[args, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output));
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON document")
}

/// A call must end with this code and these words, without a panic.
#[track_caller]
fn ends(args: &[&str], code: i32, words: &[&str]) {
    let output = wavesmith(args);
    let message = text(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
    for word in words {
        assert!(message.contains(word), "{args:?}: no '{word}' in: {message}");
    }
}

fn library(name: &str) -> String {
    format!("specs/library/{name}_gfx950.toml")
}

/// The kernel of one spec under the name of another: its LDS is not what the other one's map says.
#[test]
fn a_broken_promise_is_found_in_the_object() {
    let spec = |name| pipeline::legal_spec(Path::new(&library(name))).expect("legal");
    let (two, wide) = (spec("kda_chunk_scan_c16"), spec("kda_chunk_scan_bf16"));
    let artefacts = pipeline::compile(&two).expect("its own object keeps its promises");
    assert_eq!(emitted::check(&two, &artefacts.code_object), Ok(()));
    let mut kernel = pipeline::kernel(&two).expect("a kernel");
    kernel.name = wide.name();
    let artefacts =
        emit::llvm::compile(&kernel, &emit::llvm::Options::default()).expect("an object");
    let broken =
        emitted::check(&wide, &artefacts.code_object).expect_err("another map").to_string();
    let maps = [&two, &wide].map(|spec| spec.lds_map().expect("a map").total_bytes().to_string());
    assert!(maps.iter().all(|bytes| broken.contains(bytes)), "{broken} {maps:?}");
}

/// What every output of a run must show.
#[track_caller]
fn passed(report: &Value, outputs: &[&str]) {
    assert_eq!((&report["passed"], &report["findings"]), (&true.into(), &Value::Array(vec![])));
    let all = report["outputs"].as_object().expect("outputs");
    for name in outputs {
        assert_eq!(all[*name]["passed"], true, "{name}: {}", all[*name]);
    }
    let named = outputs.iter().map(|name| (*name).to_owned());
    let halves = outputs.iter().map(|name| format!("{name}_low"));
    let known: Vec<String> = named.chain(halves).collect();
    assert!(all.keys().all(|name| known.contains(name)), "{:?}", all.keys());
}

const STAGES: [&str; 6] = ["a", "aqk", "dec", "gk", "gq", "kt"];

#[test]
fn kernels_run_alone_and_together() {
    let small = ["--problem", "tokens=33"];
    let tile = json(&[&["run", &library("kda_chunk_tile_raw")], small.as_slice()].concat());
    passed(&tile, &STAGES);
    let scan = json(&[&["run", &library("kda_chunk_scan_varlen")], small.as_slice()].concat());
    passed(&scan, &["o", "ht"]);
    let fused = json(&[&["run", &library("kda_chunk_fused_raw")], small.as_slice()].concat());
    passed(&fused, &["o", "ht"]);
}

/// Empty sequences at every place, one of one token and one with a tail, as one split run.
#[test]
fn packed_sequences_run_split() {
    let (tile, scan) = (library("kda_chunk_tile_raw"), library("kda_chunk_scan_varlen"));
    let report = json(&["run", &tile, &scan, "--problem", "lengths=0,1,0,33,0", "--gates", "weak"]);
    passed(&report, &[STAGES.as_slice(), &["o", "ht"]].concat());
    let launches = report["launches"].as_array().expect("launches");
    assert_eq!(launches.len(), 2);
    assert_eq!(report["problem"]["lengths"], serde_json::json!([0, 1, 0, 33, 0]));
    // No token at all: states pass through, and no tile is made.
    let empty = json(&["run", &tile, &scan, "--problem", "lengths=0,0"]);
    passed(&empty, &[STAGES.as_slice(), &["o", "ht"]].concat());
    assert_eq!(empty["launches"].as_array().expect("launches").len(), 1);
    assert_eq!(empty["outputs"]["ht"]["rmse_ratio"], 0.0);
}

#[test]
fn jobs_that_are_none_are_refused() {
    let (tile, scan) = (library("kda_chunk_tile_raw"), library("kda_chunk_scan_varlen"));
    ends(&["run", &scan, &tile], 2, &["chunk_scan, chunk_tile", "then a chunk_scan"]);
    let other = library("kda_chunk_scan");
    ends(
        &["run", &tile, &other],
        1,
        &["split_pair", "value_heads", "8 in the scan", "4, as the tile"],
    );
    ends(&["run", &tile], 0, &["passed"]);
    ends(&["run", &tile, "--problem", "tokens=0"], 1, &["tokens", "got 0", "scan kernel"]);
}

#[test]
fn lengths_are_judged_by_name() {
    let (tile, scan) = (library("kda_chunk_tile"), library("kda_chunk_scan"));
    let run = |assignment: &str, code: i32, words: &[&str]| {
        ends(&["run", &tile, &scan, "--problem", assignment], code, words);
    };
    run("tokens=-1", 2, &["tokens", "'-1'", "0 to 2147483647"]);
    run("tokens=4294967295", 1, &["tokens", "4294967295", "at most 2147483647"]);
    run("tokens=2147483647", 1, &["limit of 2147483648 bytes", "reduce batch or tokens"]);
    run("tokens=99999999999999999999", 2, &["tokens", "whole number"]);
    run("batch=0", 1, &["batch", "1 to 65535"]);
    run("batch=65536", 1, &["batch", "65536", "1 to 65535"]);
    run("lengths=3,4", 2, &["unknown parameter", "batch, scale, tokens"]);
    run("scale=nan", 1, &["scale", "finite"]);
    let (tile, scan) = (library("kda_chunk_tile_raw"), library("kda_chunk_scan_varlen"));
    ends(&["run", &tile, &scan, "--problem", "lengths=3,x"], 2, &["lengths", "'x'", "33,0,100"]);
    let both = ["run", &tile, &scan, "--problem", "lengths=3", "--problem", "tokens=3"];
    ends(&both, 2, &["tokens", "lengths says"]);
    ends(&["run", &tile, &scan, "--problem", "lengths="], 2, &["lengths", "''"]);
}

#[test]
fn check_shows_the_map_by_buffer() {
    let file = library("kda_chunk_fused_bf16");
    ends(&["check", &file], 0, &["93,312 bytes, 1 a CU", "LDS map", "step sizes", "sweep to scan"]);
    let facts = json(&["check", &file]);
    let map = facts[0]["facts"]["lds_map"]["buffers"].as_array().expect("buffers");
    assert!(map.iter().any(|buffer| buffer["name"] == "kt" && buffer["offset"] == 83_072));
    assert_eq!(facts[0]["facts"]["lds_bytes"], 93_312);
}

fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/reference/{name}.safetensors"))
}

fn data_spec(name: &str) -> String {
    format!("tests/data/specs/{name}_gfx950.toml")
}

/// Another project's float64 results, beside the references of this one.
#[test]
fn files_of_token_sequences_are_run_and_compared() {
    let file = |name: &str| reference(name).display().to_string();
    let both = |report: &Value| {
        for name in ["o", "ht"] {
            assert_eq!(report["expected"][name]["passed"], true, "{}", report["expected"][name]);
        }
    };
    let [tile, scan] = ["kda_varlen_tile", "kda_varlen_scan"].map(data_spec);
    let packed = json(&["run", &tile, &scan, "--inputs", &file("kda_varlen")]);
    passed(&packed, &[STAGES.as_slice(), &["o", "ht"]].concat());
    assert_eq!(packed["problem"]["lengths"], serde_json::json!([31, 69, 1, 63]));
    both(&packed);
    let raw = json(&["run", &data_spec("kda_chain_fused"), "--inputs", &file("kda_chain_lb")]);
    passed(&raw, &["o", "ht"]);
    assert_eq!(raw["uncompared"], serde_json::json!(["expected.g"]));
    both(&raw);
    let gva = json(&["run", &data_spec("gdn_t64_gva_fused"), "--inputs", &file("gdn_t64_gva")]);
    passed(&gva, &["o", "ht"]);
    both(&gva);
    let packed = file("kda_varlen");
    ends(
        &["run", &data_spec("kda_chain_fused"), "--inputs", &packed],
        2,
        &["cu_seqlens", "varlen"],
    );
    ends(&["run", &scan, "--inputs", &packed], 2, &["gk", "is missing"]);
    let said = ["run", &tile, &scan, "--inputs", &packed, "--problem", "lengths=164"];
    ends(&said, 2, &["lengths=164", "31,69,1,63"]);
}

/// With heads of one, [5, 1] of a beta could be five tokens or five sequences; q says which.
#[test]
fn tokens_without_a_batch_axis_are_one_sequence() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let spec = std::fs::read_to_string(library("kda_chunk_fused")).expect("a spec");
    let one_head = spec.replace("heads = 8", "heads = 1") + "initial_state = false\n";
    std::fs::write(path("spec.toml"), one_head).expect("a file");
    let bf16 = |value: f32| half::bf16::from_f32(value).to_le_bytes();
    let rows: Vec<u8> =
        (0..640).flat_map(|i: i32| bf16((i * 37 % 64 - 32) as f32 / 256.0)).collect();
    let gates = (-0.1f32).to_le_bytes().repeat(640);
    let beta = bf16(0.5).repeat(5);
    for batch in [[].as_slice(), &[1]] {
        let view = |name, dtype, dims: &[usize], bytes| {
            let shape = [batch, dims].concat();
            (name, TensorView::new(dtype, shape, bytes).expect("a tensor of that size"))
        };
        let views = [
            view("q", Dtype::BF16, &[5, 1, 128], &rows),
            view("k", Dtype::BF16, &[5, 1, 128], &rows),
            view("v", Dtype::BF16, &[5, 1, 128], &rows),
            view("g", Dtype::F32, &[5, 1, 128], &gates),
            view("beta", Dtype::BF16, &[5, 1], &beta),
        ];
        safetensors::serialize_to_file(views, None, &folder.path().join("inputs")).expect("a file");
        let sizes = ["--problem", "batch=1", "--problem", "tokens=5"];
        let run = ["run", &path("spec.toml"), "--inputs", &path("inputs")];
        let report = json(&[run.as_slice(), &sizes].concat());
        assert_eq!(report["problem"]["lengths"], serde_json::json!([5]));
        passed(&report, &["o", "ht"]);
    }
}

/// The file with elements of a tensor replaced.
fn spoilt(folder: &Path, name: &str, tensor: &str, change: impl Fn(&mut [u8])) -> String {
    let bytes = std::fs::read(reference(name)).expect("a reference case");
    let (start, header) = safetensors::SafeTensors::read_metadata(&bytes).expect("a header");
    let info = header.info(tensor).expect("a tensor of the case");
    let mut changed = bytes.clone();
    // Eight bytes of length lie before the header.
    let (from, to) = info.data_offsets;
    change(&mut changed[8 + start + from..8 + start + to]);
    let path = folder.join("spoilt.safetensors");
    std::fs::write(&path, changed).expect("a folder for tests");
    path.display().to_string()
}

#[test]
fn inputs_that_break_the_contract_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let [tile, scan] = ["kda_varlen_tile", "kda_varlen_scan"].map(data_spec);
    let f32_at = |bytes: &mut [u8], index: usize, value: f32| {
        bytes[4 * index..4 * index + 4].copy_from_slice(&value.to_le_bytes());
    };
    let refuses = |file: &str, words: &[&str]| {
        ends(&["run", &tile, &scan, "--inputs", file], 2, words);
    };
    let of = |tensor: &str, index: usize, value: f32| {
        spoilt(folder.path(), "kda_varlen", tensor, |bytes| f32_at(bytes, index, value))
    };
    refuses(&of("g", 7, f32::NAN), &["log decay 7 is NaN"]);
    refuses(&of("g", 7, 0.5), &["log decay 7 is 0.5", "at most 0"]);
    refuses(&of("g", 9, -6.0), &["log decay 9 is -6", "gate_lower_bound_nats = -5"]);
    refuses(&of("h0", 3, f32::INFINITY), &["'h0'", "is inf", "finite"]);
    let nan = half::bf16::NAN.to_le_bytes();
    let v = spoilt(folder.path(), "kda_varlen", "v", |bytes| bytes[4..6].copy_from_slice(&nan));
    refuses(&v, &["'v', element 2 is NaN"]);
    let ends_of = |ends: [i64; 5]| {
        spoilt(folder.path(), "kda_varlen", "cu_seqlens", |bytes| {
            bytes.copy_from_slice(&ends.map(i64::to_le_bytes).concat());
        })
    };
    refuses(&ends_of([0, 31, 30, 101, 164]), &["cu_seqlens", "31 and then 30"]);
    refuses(&ends_of([1, 31, 100, 101, 164]), &["cu_seqlens", "takes 0"]);
    refuses(&ends_of([0, 31, 100, 101, 163]), &["cu_seqlens", "ends at 163", "164 tokens"]);
}

/// Outputs so small that bf16 holds them coarsely must not pass by their own coarseness.
#[test]
fn badly_scaled_inputs_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let scaled = |bytes: &mut [u8]| {
        for value in bytes.as_chunks_mut::<2>().0 {
            let tiny = half::bf16::from_le_bytes(*value).to_f32() * 2f32.powi(-128);
            *value = half::bf16::from_f32(tiny).to_le_bytes();
        }
    };
    let zeros = |bytes: &mut [u8]| bytes.fill(0);
    let first = spoilt(folder.path(), "gdn_t64_gva", "v", scaled);
    let bytes = std::fs::read(&first).expect("the file");
    let copy = folder.path().join("first.safetensors");
    std::fs::write(&copy, &bytes).expect("a copy");
    let (start, header) = safetensors::SafeTensors::read_metadata(&bytes).expect("a header");
    let (from, to) = header.info("h0").expect("a state").data_offsets;
    let mut both = bytes.clone();
    zeros(&mut both[8 + start + from..8 + start + to]);
    std::fs::write(&copy, both).expect("the file");
    let copy = copy.display().to_string();
    ends(
        &["run", &data_spec("gdn_t64_gva_fused"), "--inputs", &copy],
        1,
        &["FAIL", "above its limit"],
    );
}
