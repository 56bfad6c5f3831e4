//! The JSON Schemas for editors follow from the field tables, and accept what the reader accepts.
//!
//! `WAVESMITH_WRITE_SCHEMA=1 cargo test -p wavesmith-specs --test schema` writes their files anew.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use wavesmith_specs::dispatch::parse_request;
use wavesmith_specs::schema::FileKind;
use wavesmith_specs::{Choice, LIBRARY, parse_spec};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Whether the reader takes a document as a file of this kind.
fn reads(kind: FileKind, document: &Json) -> bool {
    let text = toml::to_string(document).expect("TOML has no null, and these documents neither");
    match kind {
        FileKind::Spec => parse_spec("a spec", &text).is_ok(),
        FileKind::Problem => parse_request("a problem", &text).is_ok(),
    }
}

/// Every file of the library, and of the problems.
fn files(kind: FileKind) -> Vec<(String, Json)> {
    let json = |text: &str| toml::from_str::<Json>(text).expect("TOML");
    match kind {
        FileKind::Spec => {
            LIBRARY.iter().map(|entry| (entry.file.to_owned(), json(entry.text))).collect()
        }
        FileKind::Problem => {
            let entries = std::fs::read_dir(folder("problems")).expect("the problems' folder");
            let paths = entries.map(|entry| entry.expect("an entry").path());
            let read = |path: PathBuf| {
                let text = std::fs::read_to_string(&path).expect("a readable file");
                (path.display().to_string(), json(&text))
            };
            paths.map(read).collect()
        }
    }
}

#[test]
fn the_schema_files_are_in_step() {
    for kind in FileKind::ALL {
        let (path, text) = (folder(&format!("schema/{kind}.schema.json")), kind.schema_text());
        if std::env::var_os("WAVESMITH_WRITE_SCHEMA").is_some() {
            std::fs::write(&path, &text).expect("the schema's folder");
        }
        let stored = std::fs::read_to_string(&path).expect("the schema file");
        assert!(
            stored == text,
            "stale: WAVESMITH_WRITE_SCHEMA=1 cargo test -p wavesmith-specs --test schema"
        );
    }
}

#[test]
fn every_file_keeps_its_schema() {
    for kind in FileKind::ALL {
        let validator = jsonschema::validator_for(&kind.schema()).expect("a schema");
        assert!(!files(*kind).is_empty());
        for (file, document) in files(*kind) {
            let errors: Vec<_> =
                validator.iter_errors(&document).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{file}: {errors:?}");
            assert!(reads(*kind, &document), "{file}");
        }
    }
}

/// Every key of every file taken away, given each of these values or joined by a stranger: what the reader refuses, the
/// schema refuses, and nothing else.
#[test]
fn schema_and_reader_refuse_the_same() {
    let values =
        [json!(0), json!(-1), json!(4_294_967_296_u64), json!(0.5), json!(true), json!("gfx9")];
    let names = ["kda", "gdn", "f16", "softplus", "bounded_sigmoid", "log_decay_per_head", "pool"];
    let values = values.into_iter().chain(names.map(|name| json!(name)));
    let values: Vec<_> = values.collect();
    let (mut refused, mut accepted) = (0, 0);
    for kind in FileKind::ALL {
        let validator = jsonschema::validator_for(&kind.schema()).expect("a schema");
        let mut agree = |file: &str, changed: &Json| {
            let (reads, valid) = (reads(*kind, changed), validator.is_valid(changed));
            assert_eq!(reads, valid, "{file}: the reader says {reads}: {changed}");
            *if valid { &mut accepted } else { &mut refused } += 1;
        };
        for (file, document) in files(*kind) {
            let keys: Vec<_> = document.as_object().expect("a table").keys().cloned().collect();
            for key in &keys {
                let mut without = document.clone();
                without.as_object_mut().expect("a table").remove(key);
                agree(&file, &without);
                for value in &values {
                    let mut changed = document.clone();
                    changed[key] = value.clone();
                    agree(&file, &changed);
                }
            }
            let mut more = document.clone();
            more["stranger"] = json!(1);
            agree(&file, &more);
        }
    }
    assert!(refused > 1000 && accepted > 100, "{refused} refused, {accepted} accepted");
}
