//! What a bundle holds: the same bytes each time, a manifest that keeps its schema, generated files that compile.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use wavesmith::bundle::formula::Unit;

use crate::hip_library::headers;
use crate::{PAIR, SPECS, contents, make, manifest, succeeds, verify, wavesmith};

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
    for name in schema.as_object().into_iter().flatten().map(|(name, _)| name.as_str()) {
        assert!(KEYWORDS.contains(&name), "{path}: keyword {name} is not looked at");
    }
    if let (Some(pattern), Some(text)) = (keyword("pattern"), value.as_str()) {
        assert!(keeps_pattern(pattern.as_str().unwrap(), text), "{path}: {text}");
    }
    if let (Some(minimum), Some(number)) = (keyword("minimum"), value.as_i64()) {
        assert!(number >= minimum.as_i64().unwrap(), "{path}: {number}");
    }
    if let Some(items) = value.as_array() {
        let (least, most) = (keyword("minItems"), keyword("maxItems"));
        assert!(least.is_none_or(|least| items.len() as u64 >= least.as_u64().unwrap()), "{path}");
        assert!(most.is_none_or(|most| items.len() as u64 <= most.as_u64().unwrap()), "{path}");
    }
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

/// Keywords of a schema that say nothing about a document, or that [`check_schema`] looks at.
const KEYWORDS: [&str; 14] = [
    "$schema",
    "title",
    "const",
    "enum",
    "type",
    "properties",
    "required",
    "items",
    "pattern",
    "minimum",
    "minItems",
    "maxItems",
    "additionalProperties",
    "description",
];

/// Whether a text is what a pattern of the schema says; there are three kinds of patterns.
fn keeps_pattern(pattern: &str, text: &str) -> bool {
    let hexadecimal = |text: &str| text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    match pattern {
        "^[0-9a-f]{64}$" => text.len() == 64 && hexadecimal(text),
        "^[0-9a-f]{16}$" => text.len() == 16 && hexadecimal(text),
        "^[a-z0-9_]+$" => {
            !text.is_empty() && text.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
        }
        "^[a-z_]+$" => !text.is_empty() && text.chars().all(|c| matches!(c, 'a'..='z' | '_')),
        _ => panic!("unknown pattern {pattern}"),
    }
}

/// A kernel of every kind, some of which belong together.
const KINDS: [&str; 9] = [
    "specs/library/gdn_decode_pool_gfx1100.toml",
    "specs/library/conv_step_bias_gfx950.toml",
    "specs/library/conv_chunk_gfx950.toml",
    "specs/library/conv_chunk_width1_gfx1100.toml",
    "specs/library/kda_recurrent_gfx1100.toml",
    "specs/library/attention_chunk_d256_gfx1100.toml",
    "specs/library/gdn_chunk_fused_gfx950.toml",
    PAIR[0],
    PAIR[1],
];

#[test]
fn kernels_of_every_kind_keep_the_schema_and_their_calls_compile() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    let to = bundle.to_str().unwrap();
    succeeds(&wavesmith(&["bundle", "-o", to, "--no-emulate"]).args(KINDS).output().unwrap());
    succeeds(&verify(&bundle));
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(bundle.join(name)).unwrap()).unwrap()
    };
    check_schema(&read("manifest.schema.json"), &read("manifest.json"), "manifest");
    let manifest = manifest(&bundle);
    for kernel in &manifest.kernels {
        let units: Vec<Unit> = kernel.launch.counts.iter().map(|count| count.unit).collect();
        let expected: &[Unit] = match kernel.spec["kernel"].as_str() {
            "conv_chunk" | "attention_chunk" => &[Unit::Batch, Unit::Segments],
            "chunk_tile" => &[Unit::Chunks],
            _ => &[Unit::Batch],
        };
        assert_eq!(units, expected, "{}", kernel.identifier);
        assert!(kernel.evidence.emulated.is_none());
        assert_eq!(
            (kernel.toolchain.backend.as_str(), kernel.toolchain.sources.len()),
            ("gcn", 16)
        );
    }
    let [plan] = &manifest.plans[..] else { panic!("{:?}", manifest.plans) };
    assert_eq!(plan.kernels.len(), 2);
    assert!(plan.kernels[0].contains("tile") && plan.kernels[1].contains("scan"), "{plan:?}");
    check_c(folder.path(), &bundle);
    check_rust(&bundle);
}

/// What the header needs of HIP's, and nothing else.
const HIP_HEADER: &str = "\
#include <stddef.h>
typedef enum { hipSuccess = 0, hipErrorInvalidValue = 1 } hipError_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
hipError_t hipModuleGetFunction(hipFunction_t *, hipModule_t, const char *);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 hipStream_t, void **, void **);
";

/// Compiles the header strictly against the little it needs, and against every public header there is.
fn check_c(folder: &Path, bundle: &Path) {
    let stub = folder.join("stub");
    fs::create_dir_all(stub.join("hip")).unwrap();
    fs::write(stub.join("hip/hip_runtime_api.h"), HIP_HEADER).unwrap();
    let program = folder.join("uses.c");
    fs::write(
        &program,
        "#define __HIP_PLATFORM_AMD__ 1\n#include \"wavesmith_bundle.h\"\nint nothing;\n",
    )
    .unwrap();
    let strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"];
    let compile = |include: &Path, options: &[&str]| {
        let mut command = Command::new("cc");
        command.args(options).arg("-fsyntax-only").arg("-I").arg(bundle).arg("-I").arg(include);
        succeeds(&command.arg(&program).output().unwrap());
    };
    compile(&stub, &strict);
    headers().iter().for_each(|include| compile(include, &["-std=gnu11"]));
}

/// Compiles the module without warnings.
fn check_rust(bundle: &Path) {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args([
        "--edition=2024",
        "--crate-type=lib",
        "--emit=metadata",
        "-Dwarnings",
        "--out-dir",
    ]);
    let module = bundle.join("wavesmith_bundle.rs");
    succeeds(&command.arg(bundle.parent().unwrap()).arg(module).output().unwrap());
}

#[test]
fn the_gcn_back_end_is_told_from_llvm() {
    let folder = tempfile::tempdir().unwrap();
    let [gcn, again, llvm] = ["gcn", "again", "llvm"].map(|name| folder.path().join(name));
    for (to, backend) in [(&gcn, "gcn"), (&again, "gcn"), (&llvm, "llvm")] {
        let to = to.to_str().unwrap();
        let mut command = wavesmith(&["bundle", "-o", to, "--backend", backend]);
        if backend == "gcn" {
            // It needs no worker.
            command.env("WAVESMITH_LLVM_WORKER", "/nowhere/wavesmith-llvm");
        }
        succeeds(&command.args(SPECS).output().unwrap());
    }
    assert_eq!(contents(&gcn), contents(&again));
    succeeds(&verify(&gcn));
    let kernels = |bundle: &Path| manifest(bundle).kernels;
    for (by_gcn, by_llvm) in kernels(&gcn).iter().zip(kernels(&llvm)) {
        assert_eq!(by_gcn.identifier, by_llvm.identifier);
        assert_eq!(by_gcn.ir_sha256, by_llvm.ir_sha256);
        assert_ne!(by_gcn.code_object.sha256, by_llvm.code_object.sha256);
        assert_eq!((by_gcn.toolchain.backend.as_str(), &by_gcn.toolchain.llvm), ("gcn", &None));
        assert_eq!(by_llvm.toolchain.backend, "llvm");
        assert!(by_llvm.toolchain.llvm.is_some() && by_llvm.toolchain.linker.is_some());
        assert!(by_gcn.evidence.emulated.is_some(), "the float64 comparison was made");
    }
}

#[test]
fn what_is_no_bundle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(verify(folder.path()).status.code(), Some(2));
    fs::write(folder.path().join("manifest.json"), r#"{"schema": 1}"#).unwrap();
    let output = verify(folder.path());
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("schema is 1") && words.contains("reads 2"), "{words}");
    let to = folder.path().join("twice");
    let twice =
        wavesmith(&["bundle", SPECS[0], SPECS[0], "-o", to.to_str().unwrap()]).output().unwrap();
    assert_eq!(twice.status.code(), Some(2));
    assert!(!to.exists());
    assert_eq!(wavesmith(&["bundle", SPECS[0]]).output().unwrap().status.code(), Some(2));
}
