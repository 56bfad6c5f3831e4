//! Bundles: equal bytes each time, checked against every change, loaded by programs in C and Rust; and the cache.

mod cache;
mod clients;
mod contents;
#[path = "../hip_library/mod.rs"]
mod hip_library;
mod hostile;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use wavesmith::bundle::manifest::Manifest;

/// A small decode step for each target.
const SPECS: [&str; 2] =
    ["tests/data/specs/gdn_t1_gfx950.toml", "tests/data/specs/gdn_t1_gfx1100.toml"];

/// A tile and a scan kernel that prefill together, small.
const PAIR: [&str; 2] = [
    "tests/data/specs/kda_varlen_tile_gfx950.toml",
    "tests/data/specs/kda_varlen_scan_gfx950.toml",
];

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
