//! The arrows and budgets of ARCHITECTURE.md, enforced.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Room → rooms that it may use outside its tests. The picture in ARCHITECTURE.md shows the same.
const ARROWS: &[(&str, &[&str])] = &[
    ("isa", &[]),
    ("codeobj", &["isa"]),
    ("specs", &["isa"]),
    ("dsl", &["isa"]),
    ("kernels", &["dsl", "specs", "isa"]),
    ("emit", &["dsl", "codeobj", "isa"]),
    ("emit/llvm", &["dsl", "isa"]),
    ("emulator", &["isa", "codeobj"]),
    ("oracle", &["specs"]),
    ("hip-abi", &[]),
    ("hip-emulated", &["codeobj", "emulator", "hip-abi", "isa"]),
    ("runtime", &["codeobj", "emulator", "hip-abi", "specs", "isa"]),
];

/// The only files that may hold `unsafe`, each with the reason.
const UNSAFE_FILES: &[(&str, &str)] = &[
    ("emit/llvm/src/binding.rs", "calls into LLVM's C interface that inkwell does not offer"),
    (
        "emulator/src/lanes/simd.rs",
        "calls of functions compiled for features that the host was found to have",
    ),
    ("hip-emulated/src/ffi/context.rs", HIP_FOR_C),
    ("hip-emulated/src/ffi/device.rs", HIP_FOR_C),
    ("hip-emulated/src/ffi/graph.rs", HIP_FOR_C),
    ("hip-emulated/src/ffi/identity.rs", HIP_FOR_C),
    ("hip-emulated/src/ffi/memory.rs", HIP_FOR_C),
    ("hip-emulated/src/ffi/mod.rs", HIP_FOR_C),
    ("hip-emulated/src/ffi/module.rs", HIP_FOR_C),
    ("hip-emulated/src/ffi/stream.rs", HIP_FOR_C),
    ("runtime/src/hip/binding.rs", "functions of the HIP library by name"),
    ("runtime/src/hip/handles.rs", "calls of the HIP library, and who owns what it hands out"),
    ("runtime/src/hip/streams.rs", "calls of the HIP library, and who owns what it hands out"),
    ("tests/third_party/bundle_exchange.rs", "programs of engines, with their own binding of HIP"),
    ("runtime/tests/hip/engine.rs", "an engine's own stream, which this runtime borrows"),
];

/// Why the emulated HIP library has its functions for C.
const HIP_FOR_C: &str = "functions that C programs call with pointers of theirs";

/// Lines a source file may have; tables of rows and meanings are exempt.
const MAX_FILE_LINES: usize = 500;
/// Folders of tables: one line a row, one arm a meaning.
const TABLES: &[&str] = &["isa/src/table/", "emulator/src/sem/"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn dependencies(manifest: &toml::Table, section: &str) -> BTreeSet<String> {
    let table = manifest.get(section).and_then(toml::Value::as_table);
    table.into_iter().flat_map(|table| table.keys().cloned()).collect()
}

/// Dependency key of each room in the workspace manifest, by folder.
fn rooms() -> BTreeMap<String, String> {
    let workspace = manifest("");
    let dependencies = workspace["workspace"]["dependencies"].as_table().unwrap();
    let paths = dependencies.iter().filter_map(|(key, value)| {
        let path = value.get("path")?.as_str()?;
        Some((path.to_owned(), key.clone()))
    });
    paths.collect()
}

fn sources() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

#[test]
fn rooms_use_only_what_their_arrows_allow() {
    let rooms = rooms();
    for (folder, allowed) in ARROWS {
        let used = dependencies(&manifest(folder), "dependencies");
        let rooms_used = rooms.values().filter(|key| used.contains(*key));
        let forbidden: Vec<_> = rooms_used.filter(|key| !allowed.contains(&key.as_str())).collect();
        assert!(forbidden.is_empty(), "{folder} uses {forbidden:?}, allowed: {allowed:?}");
    }
}

#[test]
fn every_room_has_its_arrows_written_down() {
    let known: BTreeSet<_> = ARROWS.iter().map(|(folder, _)| (*folder).to_owned()).collect();
    let present: BTreeSet<_> = rooms().into_keys().collect();
    assert_eq!(known, present);
}

#[test]
fn only_the_worker_binary_can_link_llvm() {
    let users: Vec<_> = ARROWS
        .iter()
        .filter(|(folder, _)| {
            let used = dependencies(&manifest(folder), "dependencies");
            used.contains("inkwell") || used.contains("llvm-sys") || used.contains("emit-llvm")
        })
        .map(|(folder, _)| *folder)
        .collect();
    assert_eq!(users, ["emit/llvm"]);
    for file in sources().iter().map(|path| relative(path)).filter(|file| file.starts_with("cli/"))
    {
        let text = fs::read_to_string(root().join(&file)).unwrap();
        let names_it = text.contains("emit_llvm");
        assert_eq!(names_it, file == "cli/llvm_worker.rs", "{file} and the crate emit_llvm");
    }
}

#[test]
fn unsafe_stands_only_in_the_binding_files() {
    let keyword = ["uns", "afe"].concat();
    let allowed: BTreeSet<_> = UNSAFE_FILES.iter().map(|(file, _)| *file).collect();
    let offenders: Vec<_> = sources()
        .iter()
        .filter(|path| {
            let text = fs::read_to_string(path).unwrap();
            text.lines().any(|line| {
                let code = line.split("//").next().unwrap_or_default();
                code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == keyword)
            })
        })
        .map(|path| relative(path))
        .filter(|file| !allowed.contains(file.as_str()))
        .collect();
    assert!(offenders.is_empty(), "{offenders:?}");
}

#[test]
fn source_files_stay_short() {
    let long: Vec<_> = sources()
        .iter()
        .filter(|path| !TABLES.iter().any(|folder| relative(path).starts_with(folder)))
        .map(|path| (relative(path), fs::read_to_string(path).unwrap().lines().count()))
        .filter(|(_, lines)| *lines > MAX_FILE_LINES)
        .collect();
    assert!(long.is_empty(), "over {MAX_FILE_LINES} lines: {long:?}");
}

#[test]
fn lint_exceptions_have_reasons() {
    let silent: Vec<_> = sources()
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let attributes = text.match_indices("[allow(").chain(text.match_indices("[expect("));
            let silent = attributes.filter(|(at, _)| {
                let end = text[*at..].find(")]").map_or(text.len(), |len| at + len);
                !text[*at..end].contains("reason")
            });
            silent
                .map(|(at, _)| format!("{}:{}", relative(path), text[..at].lines().count()))
                .collect::<Vec<_>>()
        })
        .filter(|place| !place.starts_with("tests/architecture.rs"))
        .collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn paths_that_the_documents_show_exist() {
    let documents =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CASE_STUDY.md", "SUPPORT_MATRIX.md"];
    let mut missing = Vec::new();
    for document in documents {
        let text =
            fs::read_to_string(root().join(document)).unwrap_or_else(|e| panic!("{document}: {e}"));
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_path = quoted.contains('/')
                && !quoted.contains([' ', '<', '*', '{', '$', ':', '(', '|'])
                && !quoted.starts_with(['/', '-', '~'])
                && !quoted.starts_with("target/");
            if is_path && !root().join(quoted).exists() {
                missing.push(format!("{document}: {quoted}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
