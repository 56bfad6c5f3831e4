//! `run --device hip`, through the emulated HIP library: the bits of the emulated device, by the path a GPU would take.

mod hip_library;

use std::process::{Command, Output};

use hip_library::emulated_library;
use serde_json::Value;

/// A job a kernel and target; prefill is a tile and a scan kernel, with a workspace between them.
const JOBS: [(&[&str], &str); 8] = [
    (&["tests/data/specs/gdn_t1_gfx950.toml"], "gfx950"),
    (&["tests/data/specs/gdn_t1_gfx1100.toml"], "gfx1100"),
    (&["specs/library/conv_step_gfx950.toml"], "gfx950"),
    (&["specs/library/conv_step_width8_gfx1100.toml"], "gfx1100"),
    (
        &["specs/library/gdn_chunk_tile_gfx950.toml", "specs/library/gdn_chunk_scan_gfx950.toml"],
        "gfx950",
    ),
    (&["specs/library/kda_chunk_fused_strided_gfx950.toml"], "gfx950"),
    (&["specs/library/gdn_chunk_fused_head_major_gfx950.toml"], "gfx950"),
    (&["specs/library/gdn_chunk_tile_f16_gfx950.toml"], "gfx950"),
];

fn wavesmith(args: &[&str], target: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("WAVESMITH_HIP", emulated_library())
        .env("WAVESMITH_HIP_TARGET", target)
        .output()
        .unwrap()
}

fn run(specs: &[&str], target: &str, [device, backend]: [&str; 2]) -> Value {
    let args = [&["run"], specs, &["--device", device, "--backend", backend, "--json"]].concat();
    let output = wavesmith(&args, target);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{specs:?} on {device}: {complaints}");
    assert_eq!(complaints, "", "{specs:?} on {device}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn bits(report: &Value) -> Vec<(String, String)> {
    let outputs = report["outputs"].as_object().unwrap();
    let bits = |(name, output): (&String, &Value)| {
        (name.clone(), output["sha256"].as_str().unwrap().to_owned())
    };
    outputs.iter().map(bits).collect()
}

#[test]
fn both_devices_give_the_same_bits() {
    let jobs = JOBS.iter().flat_map(|job| ["gcn", "llvm"].map(|backend| (*job, backend)));
    for ((specs, target), backend) in jobs {
        let on = |device| run(specs, target, [device, backend]);
        let (emulated, hip) = (on("emulated"), on("hip"));
        assert_eq!(bits(&emulated), bits(&hip), "{specs:?}");
        assert_eq!(emulated["status"], hip["status"], "{specs:?}");
        assert!(!bits(&hip).is_empty() && hip["passed"] == true && hip["compared"] == true);
        let device = hip["device"].as_str().unwrap();
        assert!(device.starts_with("hip-emulated: emulated"), "{device}");
    }
}

#[test]
fn qualify_says_emulated_and_refuses_another_target() {
    for (target, specs) in
        [("gfx950", "conv_step_width8_gfx950"), ("gfx1100", "conv_step_width8_gfx1100")]
    {
        let asked =
            wavesmith(&["qualify", "--target", target, "--kernels", specs, "--json"], target);
        let complaints = String::from_utf8_lossy(&asked.stderr);
        let report: Value =
            serde_json::from_slice(&asked.stdout).unwrap_or_else(|e| panic!("{e}: {complaints}"));
        assert_eq!(asked.status.code(), Some(0), "{report:#}\n{complaints}");
        assert_eq!((&report["evidence"], &report["passed"]), (&"emulated".into(), &true.into()));
        assert!(report["identity"]["emulated"].as_str().unwrap().contains("not on a GPU"));
        assert_eq!(report["numeric"].as_array().unwrap().len(), 1);
        let answers: Vec<(&str, &str)> = report["calibration"]
            .as_array()
            .unwrap()
            .iter()
            .map(|asked| (asked["name"].as_str().unwrap(), asked["answer"].as_str().unwrap()))
            .collect();
        let expected = [
            ("fragments", "agrees"),
            ("matrix_rounding", "agrees"),
            ("lds_order", "agrees"),
            ("lds_banks", "not_measured"),
            ("hazard_thresholds", "agrees"),
        ];
        assert_eq!(answers, expected, "{report:#}");
        // The kernels that read LDS at several distances ran all the same; what they read is no time.
        let banks = report["calibration"][3]["why"].as_str().unwrap();
        assert!(banks.contains("ran to their end") && banks.contains("keeps no time"));
        assert_eq!(report["toolchain"]["backend"], "gcn");
    }
    let text = wavesmith(&["qualify", "--kernels", "conv_step_width8"], "gfx1100");
    let words = String::from_utf8_lossy(&text.stdout);
    assert!(words.starts_with("EMULATED") && words.contains("passed (emulated)"), "{words}");
    let wrong = wavesmith(&["qualify", "--target", "gfx950"], "gfx1100");
    assert_eq!(wrong.status.code(), Some(3));
    let words = String::from_utf8_lossy(&wrong.stderr);
    assert!(words.contains("gfx950") && words.contains("gfx1100"), "{words}");
}

#[test]
fn what_is_missing_ends_with_3() {
    let spec = JOBS[1].0[0];
    let of_another_target = wavesmith(&["run", spec, "--device", "hip"], "gfx950");
    assert_eq!(of_another_target.status.code(), Some(3));
    let words = String::from_utf8_lossy(&of_another_target.stderr);
    assert!(words.contains("gfx950") && words.contains("gfx1100"), "{words}");
    let no_device = wavesmith(&["run", spec, "--device", "hip"], "");
    assert_eq!(no_device.status.code(), Some(3));
    let no_library = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(["run", spec, "--device", "hip"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("WAVESMITH_HIP", "no/such/library")
        .output()
        .unwrap();
    assert_eq!(no_library.status.code(), Some(3));
    let words = String::from_utf8_lossy(&no_library.stderr);
    assert!(words.contains("no/such/library") && words.contains("remedy"), "{words}");
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.so");
    let whole = std::fs::read(emulated_library()).unwrap();
    // Within what is loaded: behind it may lie as much again for a debugger, which no loader misses.
    std::fs::write(&cut, &whole[..1 << 16]).unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    for place in [folder.path(), &cut, &text, std::path::Path::new("/dev/null")] {
        for verb in [&["run", spec, "--device", "hip"][..], &["qualify"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
                .args(verb)
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .env("WAVESMITH_HIP", place)
                .output()
                .unwrap();
            let words = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{}: {words}", place.display());
            assert!(words.contains("remedy") && !words.contains("panicked"), "{words}");
        }
    }
}

/// The places that `doctor` says it looked at, with these variables.
fn searched(variables: &[(&str, &str)]) -> Vec<String> {
    let doctor = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(["doctor", "--json"])
        .env_remove("WAVESMITH_HIP")
        .env_remove("HIP_PATH")
        .env_remove("ROCM_PATH")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let health: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let search = health["hip"]["search"].as_array().unwrap().clone();
    search.iter().map(|place| place.as_str().unwrap().to_owned()).collect()
}

#[test]
fn doctor_prints_the_search_order() {
    let nowhere = [("HIP_PATH", "/nowhere/hip"), ("ROCM_PATH", "/nowhere/rocm")];
    let order = [
        "/nowhere/hip/lib/libamdhip64.so (HIP_PATH)",
        "/nowhere/rocm/lib/libamdhip64.so (ROCM_PATH)",
        "libamdhip64.so.7 (dynamic loader)",
        "libamdhip64.so.6 (dynamic loader)",
        "libamdhip64.so.5 (dynamic loader)",
        "libamdhip64.so (dynamic loader)",
    ];
    // The search ends where a library is found, which may be any of the loader's.
    let found = searched(&nowhere);
    assert!(found.len() >= 3, "{found:?}");
    for (place, expected) in found.iter().zip(order) {
        assert!(place.starts_with(expected) && place.len() > expected.len() + 2, "{place}");
    }
    let chosen = searched(&[nowhere[0], ("WAVESMITH_HIP", "/nowhere/chosen.so")]);
    let [only] = &chosen[..] else { panic!("{chosen:?}") };
    assert!(only.starts_with("/nowhere/chosen.so (WAVESMITH_HIP): "), "{only}");
}

#[test]
fn no_line_of_the_support_matrix_has_hardware_evidence() {
    let matrix = include_str!("../SUPPORT_MATRIX.md");
    let lines: Vec<&str> = matrix.lines().map(str::trim_end).collect();
    let is_rule = |line: &str| line.starts_with("|---");
    let mut rows = 0;
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with('|') && !is_rule(pair[0])) {
        let last = if is_rule(pair[1]) { "| hardware |" } else { "| none |" };
        assert!(pair[0].ends_with(last), "{}", pair[0]);
        rows += usize::from(!is_rule(pair[1]));
    }
    assert!(rows >= 10, "{rows} rows");
}

#[test]
fn qualify_names_a_part_that_no_spec_has() {
    let asked = wavesmith(&["qualify", "--kernels", "no_such_kernel"], "gfx1100");
    assert_eq!(asked.status.code(), Some(2));
    let words = String::from_utf8_lossy(&asked.stderr);
    assert!(words.contains("no library spec of gfx1100 has 'no_such_kernel'"), "{words}");
}

#[test]
fn qualify_takes_code_objects_of_the_gcn_back_end_and_lists_what_it_refuses() {
    let args = ["qualify", "--kernels", "gdn_recurrent", "--json"];
    let asked = wavesmith(&args, "gfx1100");
    let report: Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(report["toolchain"]["backend"], "gcn");
    assert_eq!(report["toolchain"]["llvm"], Value::Null);
    let [numeric, refused] =
        ["numeric", "not_compiled"].map(|lane| report[lane].as_array().unwrap().clone());
    assert!(numeric.iter().all(|case| case["passed"] == true), "{report:#}");
    assert_eq!(numeric.len() + refused.len(), 3, "{report:#}");
    for spec in &refused {
        let why = spec["why"].as_str().unwrap();
        assert!(why.contains("GPRs are needed"), "{why}");
    }
    let text = wavesmith(&args[..args.len() - 1], "gfx1100");
    let words = String::from_utf8_lossy(&text.stdout);
    assert!(words.contains(&format!("{} not compiled", refused.len())), "{words}");
}
