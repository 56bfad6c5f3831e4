//! Every form of chunked prefill through the path that users take: layouts of rows, status words, accuracy forms.

use std::path::{Path, PathBuf};
use std::process::Command;

use dsl::ir::{Access, Param, ParamKind, Scalar};
use serde_json::Value;
use specs::{Argument, ArgumentKind, Element, LIBRARY, ScalarType, Spec};
use wavesmith::pipeline;

/// The text of a library spec with some keys set otherwise; an empty value takes the key out.
fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    let is_changed =
        |line: &&str| !changes.iter().any(|(key, _)| line.split(" = ").next() == Some(*key));
    let mut lines: Vec<String> = text.lines().filter(is_changed).map(str::to_owned).collect();
    let set = changes.iter().filter(|(_, value)| !value.is_empty());
    lines.extend(set.map(|(key, value)| format!("{key} = {value}")));
    lines.join("\n") + "\n"
}

fn library(file: &str) -> &'static str {
    LIBRARY.iter().find(|entry| entry.file == file).expect("a library spec").text
}

type Changes = &'static [(&'static str, &'static str)];

const LAYOUTS: [&str; 3] = ["\"token_major\"", "\"head_major\"", "\"strided\""];
const ACCURACIES: [Changes; 4] = [
    &[("accuracy", "\"bf16\""), ("value_bound", ""), ("checked", "false")],
    &[("accuracy", "\"bf16\""), ("value_bound", ""), ("checked", "true")],
    &[("accuracy", "\"bf16_split\""), ("value_bound", ""), ("checked", "true")],
    &[("accuracy", "\"f16\""), ("value_bound", "100.0"), ("checked", "true")],
];
const GATES: [Changes; 3] = [
    &[],
    &[
        ("gate", "\"softplus\""),
        ("dt_bias", "false"),
        ("gate_lower_bound_nats", ""),
        ("decay", "\"sub_chunks\""),
    ],
    &[("gate", "\"softplus\""), ("dt_bias", "true"), ("gate_lower_bound_nats", "")],
];

/// Kernels declare their arguments themselves; users, plans and bundles have them from the signature.
#[test]
fn kernels_take_the_arguments_of_their_signatures() {
    let mut legal = 0;
    for entry in LIBRARY.iter().filter(|entry| entry.file.contains("_chunk_")) {
        for layout in LAYOUTS {
            for (accuracy, gate) in
                ACCURACIES.iter().flat_map(|a| GATES.iter().map(move |g| (a, g)))
            {
                let layout = [("layout", layout), ("min_groups_per_cu", "1")];
                let text = changed(entry.text, &[&layout[..], accuracy, gate].concat());
                // A scan has no gate, and some forms do not fit: whether they do is the rules' business.
                let Ok(spec) = specs::parse_spec(entry.file, &text) else { continue };
                if !matches!(spec, Spec::Chunk(_)) || !spec.check().is_empty() {
                    continue;
                }
                let kernel = pipeline::kernel(&spec).expect("legal specs have kernels");
                let want: Vec<_> = spec.signature().arguments.iter().map(signature_row).collect();
                let got: Vec<_> = kernel.params.iter().map(param_row).collect();
                assert_eq!(got, want, "{}", spec.name());
                legal += 1;
            }
        }
    }
    assert!(legal >= 250, "{legal} legal specs");
}

/// 64 KiB of LDS, 512 work-items and 256 vector registers: the library's kernels of gfx1100 stay within them, and take no
/// scratch memory. A scalar may live in a lane of a vector register.
#[test]
fn prefill_of_gfx1100_spills_nothing() {
    let mut kernels = 0;
    for entry in LIBRARY {
        let spec = entry.spec().expect("the library reads");
        let Spec::Chunk(chunk) = &spec else { continue };
        if spec.target() != specs::Target::Gfx1100 {
            continue;
        }
        let kernel = pipeline::kernel(&spec).expect("legal specs have kernels");
        let artefacts =
            emit::llvm::compile(&kernel, &emit::llvm::Options::default()).expect("it compiles");
        let object = codeobj::CodeObject::parse(&artefacts.code_object).expect("our own object");
        let read = object.kernel(&kernel.name).expect("its kernel");
        let (metadata, descriptor) = (&read.metadata, &read.descriptor);
        let spilled = (metadata.vgpr_spill_count, descriptor.private_segment_bytes);
        assert_eq!(spilled, (0, 0), "{}", entry.file);
        let lds = u64::from(descriptor.group_segment_bytes);
        assert_eq!(lds, chunk.lds_map().total_bytes(), "{}", entry.file);
        assert!(lds <= 65_536 && kernel.workgroup_size <= 512, "{}", entry.file);
        kernels += 1;
    }
    assert!(kernels >= 18, "{kernels} kernels");
}

type Row = (String, Option<Scalar>, Option<Access>);

fn param_row(param: &Param) -> Row {
    match &param.kind {
        ParamKind::Buffer { elem, access, .. } => (param.name.clone(), Some(*elem), Some(*access)),
        ParamKind::Scalar(scalar) => (param.name.clone(), Some(*scalar), None),
    }
}

fn signature_row(argument: &Argument) -> Row {
    let (elem, access) = match &argument.kind {
        ArgumentKind::Scalar(ScalarType::F32) => (Scalar::F32, None),
        ArgumentKind::Scalar(ScalarType::I32) => (Scalar::I32, None),
        ArgumentKind::Buffer(buffer) => {
            let elem = match buffer.element {
                Element::F32 => Scalar::F32,
                Element::Bf16 => Scalar::Bf16,
                Element::F16 => Scalar::F16,
                Element::I32 => Scalar::I32,
            };
            let access = match buffer.access {
                specs::Access::ReadOnly => Access::ReadOnly,
                specs::Access::WriteOnly => Access::WriteOnly,
                specs::Access::ReadWrite => Access::ReadWrite,
            };
            (elem, Some(access))
        }
    };
    (argument.name.to_owned(), Some(elem), access)
}

/// A folder with spec files.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("a folder"))
    }

    /// A library spec with keys set otherwise.
    fn spec(&self, file: &str, changes: &[(&str, &str)]) -> String {
        let path = self.0.path().join(format!("{}_{file}", changes.len()));
        std::fs::write(&path, changed(library(file), changes)).expect("a folder for tests");
        path.display().to_string()
    }
}

/// The report of a call that ends with this code, as one JSON document.
#[track_caller]
fn ends(args: &[&str], code: i32) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_wavesmith"))
        .args(args)
        .arg("--json")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the binary runs");
    let err = String::from_utf8_lossy(&output.stderr);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(!err.contains("panicked"), "{args:?}: {err}");
    assert_eq!(output.status.code(), Some(code), "{args:?}: {err}{out}");
    serde_json::from_slice(&output.stdout).expect("stdout is one JSON document")
}

const TILE: &str = "kda_chunk_tile_bf16_gfx950.toml";
const SCAN: &str = "kda_chunk_scan_bf16_gfx950.toml";
const FUSED: &str = "gdn_chunk_fused_bf16_gfx950.toml";

/// Rows in another order, a batch and packed, give what the plain order gives, bit for bit.
#[test]
fn every_layout_runs_and_gives_the_same_bits() {
    let files = Files::new();
    let hashes = |report: &Value| ["o", "ht"].map(|name| report["outputs"][name]["sha256"].clone());
    for (varlen, backend) in
        [("false", "gcn"), ("true", "gcn"), ("false", "llvm"), ("true", "llvm")]
    {
        let sizes = if varlen == "true" { "lengths=33,0,5" } else { "tokens=35" };
        let batch = if varlen == "true" { sizes } else { "batch=2" };
        let of = |layout: &'static str, more: &[&str]| {
            let keys = [
                ("layout", layout),
                ("varlen", varlen),
                ("value_heads", "2"),
                ("key_heads", "1"),
                ("min_groups_per_cu", "1"),
            ];
            let split =
                [files.spec(TILE, &keys), files.spec(SCAN, &[&keys[..3], &keys[4..]].concat())];
            let fused = files.spec(FUSED, &keys);
            let mut sizes = vec!["--problem", sizes];
            if batch != sizes[1] {
                sizes.extend(["--problem", batch]);
            }
            let sizes = [&sizes, more, &["--backend", backend]].concat();
            let split = ends(&[&["run", &split[0], &split[1]], &sizes[..]].concat(), 0);
            [split, ends(&[&["run", &fused], &sizes[..]].concat(), 0)]
        };
        let want =
            of("\"token_major\"", &[]).map(|report| report["outputs"]["ht"]["sha256"].clone());
        let head_major = of("\"head_major\"", &[]);
        assert_eq!(head_major.each_ref().map(|report| hashes(report)[1].clone()), want);
        for gap in ["row_gap=8", "row_gap=0", "row_gap=24"] {
            let strided = of("\"strided\"", &["--problem", gap]);
            assert_eq!(strided.each_ref().map(|report| hashes(report)[1].clone()), want, "{gap}");
        }
    }
}

#[test]
fn gaps_are_judged_by_name() {
    let files = Files::new();
    let strided = files.spec(FUSED, &[("layout", "\"strided\"")]);
    let message = |args: &[&str], code| ends(args, code)["error"]["message"].to_string();
    let gap = |gap: &str, code| message(&["run", &strided, "--problem", gap], code);
    assert!(gap("row_gap=4", 1).contains("row_gap=0"));
    assert!(gap("row_gap=65544", 1).contains("at most 65536"));
    assert!(gap("row_gap=-8", 2).contains("'-8'"));
    let plain = files.spec(FUSED, &[]);
    let said = message(&["run", &plain, "--problem", "row_gap=8"], 2);
    assert!(said.contains("an unknown parameter"), "{said}");
}

/// Files hold token-major rows, whatever the kernels' layout is.
#[test]
fn files_of_tensors_are_laid_out() {
    let files = Files::new();
    let data = |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let inputs = data("reference/kda_varlen.safetensors").display().to_string();
    let spec = |kernel: &str, layout: &str| {
        let text = std::fs::read_to_string(data(&format!("specs/kda_varlen_{kernel}_gfx950.toml")));
        let path = files.0.path().join(format!("{kernel}.toml"));
        let text = changed(&text.expect("a spec"), &[("layout", layout)]);
        std::fs::write(&path, text).expect("a folder for tests");
        path.display().to_string()
    };
    for layout in ["\"head_major\"", "\"strided\""] {
        let [tile, scan] = ["tile", "scan"].map(|kernel| spec(kernel, layout));
        let report = ends(&["run", &tile, &scan, "--inputs", &inputs], 0);
        for name in ["o", "ht"] {
            assert_eq!(report["expected"][name]["passed"], true, "{layout} {name}");
        }
    }
}

/// A checked kernel's word is in the report; trouble fails the run by name, in a split and in a fused kernel.
#[test]
fn the_status_word_is_read_and_judged() {
    let files = Files::new();
    let keys = |bound: &'static str| {
        [
            ("accuracy", "\"f16\""),
            ("value_bound", bound),
            ("checked", "true"),
            ("value_heads", "2"),
            ("min_groups_per_cu", "1"),
        ]
    };
    let tile_keys = |bound| [&keys(bound)[..], &[("key_heads", "1")]].concat();
    for (bound, code, reported) in
        [("1000.0", 0, serde_json::json!([])), ("0.5", 1, serde_json::json!(["VALUE_BOUND"]))]
    {
        let split = [files.spec(TILE, &tile_keys(bound)), files.spec(SCAN, &keys(bound))];
        let fused = files.spec(FUSED, &tile_keys(bound));
        let jobs = [&split[..], &[fused]];
        for (specs, backend) in jobs.iter().flat_map(|job| ["gcn", "llvm"].map(|by| (job, by))) {
            let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
            let options = ["--problem", "tokens=33", "--backend", backend];
            let report = ends(&[&["run"], &specs[..], &options].concat(), code);
            assert_eq!(report["status"]["reported"], reported, "{specs:?}");
            let word = if code == 0 { "0x00000000" } else { "0x00000010" };
            assert_eq!(report["status"]["word"], word);
            assert!(report["outputs"].get("status").is_none());
            assert_eq!(report["outputs"]["o"]["passed"], true);
        }
    }
    // Without `checked` there is no word to report.
    let plain = ends(&["run", &files.spec(FUSED, &[]), "--problem", "tokens=1"], 0);
    assert!(plain.get("status").is_none());
}

/// Bundled kernels carry the new arguments.
#[test]
fn bundles_name_tokens_strides_and_status() {
    let files = Files::new();
    let keys = |layout: &'static str| {
        [("layout", layout), ("checked", "true"), ("min_groups_per_cu", "1")]
    };
    for (layout, argument, c, rust) in [
        ("\"head_major\"", "tokens", "int32_t tokens", "pub tokens: i32"),
        ("\"strided\"", "strides", "const void *strides", "pub strides: u64"),
    ] {
        let spec = files.spec(FUSED, &keys(layout));
        let folder = files.0.path().join(argument);
        let bundle = folder.display().to_string();
        ends(&["bundle", &spec, "-o", &bundle], 0);
        ends(&["bundle", "verify", &bundle], 0);
        let read =
            |name: &str| std::fs::read_to_string(Path::new(&bundle).join(name)).expect("a file");
        let manifest: Value = serde_json::from_str(&read("manifest.json")).expect("a document");
        let arguments = manifest["kernels"][0]["arguments"].as_array().expect("arguments");
        let find = |name: &str| arguments.iter().find(|a| a["name"] == name).expect("the argument");
        assert_eq!(find("status")["role"], "status");
        assert_eq!(find("status")["access"], "read_write");
        let kind = if argument == "tokens" { "i32" } else { "pointer" };
        assert_eq!(find(argument)["kind"], kind);
        assert!(read("wavesmith_bundle.h").contains(c));
        assert!(read("wavesmith_bundle.rs").contains(rust));
    }
}
