//! The JSON Schema for editors follows from the field tables.
//!
//! `WAVESMITH_WRITE_SCHEMA=1 cargo test -p wavesmith-specs --test schema` writes it anew.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};
use wavesmith_specs::field::{Field, FieldKind, HEADER_FIELDS, Presence, Value};
use wavesmith_specs::{Choice, KernelKind, LIBRARY};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/spec.schema.json")
}

fn schema() -> Json {
    let kernels: Vec<Json> = KernelKind::ALL.iter().map(|kernel| kernel_schema(*kernel)).collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wavesmith spec file",
        "type": "object",
        "oneOf": kernels,
    })
}

fn kernel_schema(kernel: KernelKind) -> Json {
    let fields: Vec<&Field> = HEADER_FIELDS.iter().chain(kernel.fields()).collect();
    let mut properties: Map<String, Json> =
        fields.iter().map(|field| (field.key.to_owned(), property(field))).collect();
    properties["kernel"]["enum"] = json!([kernel.name()]);
    let required = fields.iter().filter(|field| field.presence == Presence::Required);
    let companions: Vec<Json> =
        fields.iter().filter_map(|field| companion(field, &fields)).collect();
    let mut schema = json!({
        "title": kernel.name(),
        "properties": properties,
        "required": required.map(|field| field.key).collect::<Vec<_>>(),
        "additionalProperties": false,
    });
    // JSON Schema wants no empty list here.
    if !companions.is_empty() {
        schema["allOf"] = json!(companions);
    }
    schema
}

fn property(field: &Field) -> Json {
    let mut property = match field.kind {
        FieldKind::Count => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        FieldKind::SlotIndex => {
            json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX })
        }
        FieldKind::Number => json!({ "type": "number" }),
        FieldKind::Flag => json!({ "type": "boolean" }),
        FieldKind::Constant(number) => json!({ "const": number }),
        FieldKind::Choice(names) => json!({ "enum": names }),
    };
    property["description"] = json!(field.meaning);
    if let Some(default) = field.fixed_default() {
        property["default"] = match default {
            Value::Count(count) => json!(count),
            Value::SlotIndex(index) => json!(index),
            Value::Number(number) => json!(number),
            Value::Flag(flag) => json!(flag),
            Value::Name(name) => json!(name),
        };
    }
    property
}

/// A field that goes with a value of another: required or allowed with it, refused without it.
fn companion(field: &Field, fields: &[&Field]) -> Option<Json> {
    let Presence::With { key, values, default } = field.presence else { return None };
    let needed = match values {
        [only] => json!({ "const": only }),
        _ => json!({ "enum": values }),
    };
    let mut with = json!({ "properties": { key: needed } });
    let other = fields.iter().find(|other| other.key == key)?;
    let is_default = |value: &&'static str| other.fixed_default() == Some(Value::Name(value));
    if !values.iter().any(is_default) {
        with["required"] = json!([key]);
    }
    let then = if default.is_some() { json!({}) } else { json!({ "required": [field.key] }) };
    let mut absent = Map::new();
    absent.insert(field.key.to_owned(), json!(false));
    Some(json!({ "if": with, "then": then, "else": { "properties": absent } }))
}

#[test]
fn the_schema_file_is_in_step() {
    let text = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
    if std::env::var_os("WAVESMITH_WRITE_SCHEMA").is_some() {
        std::fs::write(path(), &text).expect("the schema's folder");
    }
    let stored = std::fs::read_to_string(path()).expect("the schema file");
    assert!(
        stored == text,
        "stale: WAVESMITH_WRITE_SCHEMA=1 cargo test -p wavesmith-specs --test schema"
    );
}

#[test]
fn every_key_of_the_library_is_in_the_schema() {
    let schema = schema();
    for entry in LIBRARY {
        let kernel = entry.spec().expect("readable").kernel().name();
        let branch = schema["oneOf"]
            .as_array()
            .expect("branches")
            .iter()
            .find(|branch| branch["title"] == kernel);
        let properties = &branch.expect("a branch")["properties"];
        for line in entry.text.lines().filter(|line| !line.starts_with('#')) {
            let key = line.split(' ').next().expect("a key");
            assert!(!properties[key].is_null(), "{key} of {}", entry.file);
        }
    }
}
