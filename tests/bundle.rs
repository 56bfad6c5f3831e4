//! Bundles: equal bytes each time, checked against every change, loaded by programs in C and Rust; and the cache.

mod hip_library;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use hip_library::{emulated_library, headers};
use oracle::Case;
use oracle::inputs::{GateRange, Sample};
use serde_json::Value;
use wavesmith::bundle::manifest::Manifest;

const SPECS: [&str; 2] =
    ["tests/data/specs/gdn_t1_gfx950.toml", "tests/data/specs/gdn_t1_gfx1100.toml"];

fn wavesmith(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wavesmith"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("WAVESMITH_CACHE");
    command
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let complaints = String::from_utf8_lossy(&output.stderr);
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{:?}\n{words}\n{complaints}", output.status);
    words
}

fn make(specs: &[&str], to: &Path) {
    let to = to.to_str().unwrap();
    succeeds(&wavesmith(&["bundle", "-o", to]).args(specs).output().unwrap());
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())
    };
    entries.map(read).collect()
}

fn verify(folder: &Path) -> Output {
    wavesmith(&["bundle", "verify", folder.to_str().unwrap()]).output().unwrap()
}

fn manifest(folder: &Path) -> Manifest {
    serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn a_bundle_is_the_same_each_time_and_every_change_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    make(&SPECS, &first);
    make(&[SPECS[1], SPECS[0]], &second);
    assert_eq!(contents(&first), contents(&second));
    succeeds(&verify(&first));
    let manifest = manifest(&first);
    assert_eq!(manifest.kernels.len(), 2);
    for kernel in &manifest.kernels {
        let emulated = kernel.evidence.emulated.as_ref().unwrap();
        assert!(emulated.outputs.values().all(|output| output.rmse_ratio <= output.limit));
        assert_eq!(kernel.evidence.hardware, None);
    }
    for name in contents(&first).keys() {
        let file = second.join(name);
        let right = fs::read(&file).unwrap();
        let mut changed = right.clone();
        let at = changed.len() / 2;
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        let code = verify(&second).status.code();
        assert!(code == Some(1) || name == "manifest.json" && code == Some(2), "{name}: {code:?}");
        fs::remove_file(&file).unwrap();
        assert_ne!(verify(&second).status.code(), Some(0), "{name} is missing");
        fs::write(&file, right).unwrap();
    }
    succeeds(&verify(&second));
    fs::write(second.join("stranger"), "").unwrap();
    assert_eq!(verify(&second).status.code(), Some(1));
}

/// Whether a document keeps a schema; the keywords are those that `manifest.schema.json` uses.
fn check_schema(schema: &Value, value: &Value, path: &str) {
    let keyword = |name: &str| schema.get(name);
    if let Some(expected) = keyword("const") {
        assert_eq!(value, expected, "{path}");
    }
    if let Some(choices) = keyword("enum").and_then(Value::as_array) {
        assert!(choices.contains(value), "{path}: {value}");
    }
    if let Some(expected) = keyword("type") {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let legal =
            expected.as_array().map_or_else(|| vec![expected], |kinds| kinds.iter().collect());
        let fits = |legal: &&Value| *legal == kind || *legal == "number" && kind == "integer";
        assert!(legal.iter().any(fits), "{path}: {kind} is not {expected}");
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check_schema(&schema["items"], item, &format!("{path}[{index}]"));
    }
    let Some(object) = value.as_object() else { return };
    for name in keyword("required").and_then(Value::as_array).into_iter().flatten() {
        assert!(object.contains_key(name.as_str().unwrap()), "{path}: {name} is missing");
    }
    for (name, member) in object {
        let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        match known {
            Some(Value::Bool(false)) => panic!("{path}: {name} is not in the schema"),
            Some(known) => check_schema(known, member, &format!("{path}.{name}")),
            None => {}
        }
    }
}

#[test]
fn the_manifest_keeps_its_schema_and_prefill_counts_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    let (tile, to) = ("specs/library/gdn_chunk_tile_gfx950.toml", bundle.to_str().unwrap());
    succeeds(&wavesmith(&["bundle", SPECS[1], tile, "-o", to, "--no-emulate"]).output().unwrap());
    succeeds(&verify(&bundle));
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(bundle.join(name)).unwrap()).unwrap()
    };
    check_schema(&read("manifest.schema.json"), &read("manifest.json"), "manifest");
    let kernels = manifest(&bundle).kernels;
    let units: Vec<&str> = kernels.iter().map(|kernel| kernel.launch.unit.name()).collect();
    assert!(units.contains(&"chunks") && units.contains(&"batch"), "{units:?}");
    assert!(kernels.iter().all(|kernel| kernel.evidence.emulated.is_none()));
    let header = fs::read_to_string(bundle.join("wavesmith_bundle.h")).unwrap();
    assert!(header.contains("hipStream_t stream, uint32_t chunks"), "{header}");
}

#[test]
fn what_is_no_bundle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(verify(folder.path()).status.code(), Some(2));
    fs::write(folder.path().join("manifest.json"), r#"{"schema": 2}"#).unwrap();
    let output = verify(folder.path());
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("schema is 2") && words.contains("reads 1"), "{words}");
    let to = folder.path().join("twice");
    let twice =
        wavesmith(&["bundle", SPECS[0], SPECS[0], "-o", to.to_str().unwrap()]).output().unwrap();
    assert_eq!(twice.status.code(), Some(2));
    assert!(!to.exists());
    assert_eq!(wavesmith(&["bundle", SPECS[0]]).output().unwrap().status.code(), Some(2));
}

/// A case of the bundled kernel, its inputs and poisoned outputs in files.
struct Exchange {
    case: Case,
    folder: tempfile::TempDir,
}

const BATCH: u32 = 3;

impl Exchange {
    fn new(spec: &specs::Spec) -> Exchange {
        let problem = spec.problem(&[format!("batch={BATCH}")]).unwrap();
        let sample = Sample { gates: GateRange::Mixed, seed: 11 };
        let case = Case::generate(spec, &problem, &sample).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let inputs = case.tensors().unwrap();
        for tensor in spec.plan(&problem).unwrap().tensors {
            let poison = vec![0xff; usize::try_from(tensor.size_bytes()).unwrap()];
            let bytes = inputs.get(&tensor.name).unwrap_or(&poison);
            fs::write(folder.path().join(format!("{}.in", tensor.name)), bytes).unwrap();
        }
        Exchange { case, folder }
    }

    /// Judges what a program wrote, by float64.
    fn judge(&self, who: &str) {
        let read = |name: &str| fs::read(self.folder.path().join(format!("{name}.out"))).unwrap();
        let outputs = ["o", "next_state"].map(|name| (name.to_owned(), read(name)));
        for (name, verdict) in self.case.judge(&outputs.into_iter().collect()).unwrap() {
            assert!(verdict.passed, "{who}: {name}: {verdict:?}");
        }
    }
}

#[test]
fn programs_in_c_and_rust_get_the_oracles_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    make(&SPECS, &bundle);
    let library = folder.path().join("libamdhip64.so");
    fs::copy(emulated_library(), &library).unwrap();
    for (path, entry) in SPECS.iter().zip(["gfx950", "gfx1100"]) {
        let spec = specs::read_spec(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let kernels = manifest(&bundle).kernels;
        let kernel = kernels.iter().find(|kernel| kernel.target == entry).unwrap();
        let scale = format!(
            "{:?}",
            match spec.problem(&[] as &[&str]).unwrap() {
                specs::Problem::DecodeStep(problem) => problem.scale,
                problem => panic!("{problem:?}"),
            }
        );
        let exchange = Exchange::new(&spec);
        let place = exchange.folder.path().to_str().unwrap().to_owned();
        let run = |program: &Path, args: &[&str]| {
            let run = Command::new(program)
                .args(args)
                .args([&place, &BATCH.to_string(), &scale])
                .env("WAVESMITH_HIP_TARGET", entry)
                .output()
                .unwrap();
            succeeds(&run);
            assert_eq!(String::from_utf8_lossy(&run.stderr), "", "findings of {entry}");
            exchange.judge(entry);
        };
        run(&rust_client(folder.path(), &bundle, &kernel.identifier), &[]);
        for include in headers() {
            let program = c_client(
                folder.path(),
                &bundle,
                &kernel.identifier,
                &kernel.code_object.file,
                &include,
            );
            run(&program, &[bundle.to_str().unwrap()]);
        }
    }
}

fn client_source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/third_party").join(name)
}

fn c_client(
    folder: &Path,
    bundle: &Path,
    identifier: &str,
    file: &str,
    include: &Path,
) -> std::path::PathBuf {
    let program = folder.join("c_client");
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror=incompatible-pointer-types", "-std=gnu11", "-o"])
        .arg(&program)
        .arg(client_source("bundle_client.c"))
        .args([&format!("-DKERNEL={identifier}"), &format!("-DFILE_NAME=\"{file}\"")])
        .arg("-I")
        .arg(bundle)
        .arg("-I")
        .arg(include)
        .args(["-L", folder.to_str().unwrap(), "-l:libamdhip64.so"])
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .unwrap();
    succeeds(&compiled);
    program
}

fn rust_client(folder: &Path, bundle: &Path, identifier: &str) -> std::path::PathBuf {
    let program = folder.join("rust_client");
    let source = folder.join("client.rs");
    let text = fs::read_to_string(client_source("bundle_client.rs")).unwrap();
    fs::write(&source, text.replace("bundle::gdn as", &format!("bundle::{identifier} as")))
        .unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(rustc)
        .args(["--edition=2024", "-o"])
        .arg(&program)
        .arg(source)
        .env("BUNDLE_MODULE", bundle.join("wavesmith_bundle.rs"))
        .arg(format!("-Clink-arg=-Wl,-rpath,{}", folder.display()))
        .arg(format!("-Clink-arg={}", folder.join("libamdhip64.so").display()))
        .output()
        .unwrap();
    succeeds(&compiled);
    program
}

#[test]
fn eight_processes_share_a_cache_and_a_killed_writer_leaves_nothing_bad() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let run = || {
        let mut command = wavesmith(&["run", SPECS[1], "--json"]);
        command.env("WAVESMITH_CACHE", &cache).stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..8).map(|_| run()).collect();
    for run in runs {
        succeeds(&run.wait_with_output().unwrap());
    }
    let entries = entries(&cache);
    assert_eq!(entries.len(), 1, "{entries:?}");
    let whole = fs::read(&entries[0]).unwrap();
    // What a writer that is killed can leave: its own file under another name, never the entry.
    fs::write(entries[0].with_file_name(".tmpKILLED"), &whole[..whole.len() / 2]).unwrap();
    let quiet = run().wait_with_output().unwrap();
    succeeds(&quiet);
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
    // What a failing disk can: damage is told, and the entry built anew.
    fs::write(&entries[0], &whole[..whole.len() / 2]).unwrap();
    let damaged = run().wait_with_output().unwrap();
    succeeds(&damaged);
    assert!(String::from_utf8_lossy(&damaged.stderr).contains("damaged and built anew"));
    assert_eq!(fs::read(&entries[0]).unwrap(), whole);
    // A writer that really is killed, at several points of its way.
    for delay in [1, 5, 20, 60, 150] {
        fs::remove_file(&entries[0]).unwrap();
        let mut victim = run();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        victim.kill().unwrap();
        victim.wait().unwrap();
        if let Ok(left) = fs::read(&entries[0]) {
            assert_eq!(left, whole, "killed after {delay} ms");
        }
        succeeds(&run().wait_with_output().unwrap());
        assert_eq!(fs::read(&entries[0]).unwrap(), whole);
    }
}

/// Entries of a cache, without what writers left under other names.
fn entries(cache: &Path) -> Vec<std::path::PathBuf> {
    let folders = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = files.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with(".tmp")).collect()
}
