//! JSON Schemas of spec and problem files, for editors and validators. They follow from the field tables that the reader
//! uses, so a field is in both or in neither.

use serde_json::{Map, Value as Json, json};

use crate::choice::{Choice, choice};
use crate::dispatch::request::{self, Stage};
use crate::field::{Field, FieldKind, HEADER_FIELDS, Presence, Value};
use crate::spec::KernelKind;

choice! {
    /// The kinds of files that have a schema.
    pub enum FileKind {
        /// A file of [`crate::Spec`].
        Spec = "spec",
        /// A file of a problem to dispatch.
        Problem = "problem",
    }
}

impl FileKind {
    /// The schema of files of this kind: one branch a kernel, or a stage.
    pub fn schema(self) -> Json {
        let branches: Vec<Json> = match self {
            FileKind::Spec => KernelKind::ALL.iter().map(|kernel| of_kernel(*kernel)).collect(),
            FileKind::Problem => Stage::ALL.iter().map(|stage| of_stage(*stage)).collect(),
        };
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": format!("wavesmith {self} file"),
            "type": "object",
            "oneOf": branches,
        })
    }

    /// The schema as text, with a newline at its end.
    pub fn schema_text(self) -> String {
        format!("{:#}\n", self.schema())
    }
}

fn of_kernel(kernel: KernelKind) -> Json {
    let fields: Vec<&Field> = HEADER_FIELDS.iter().chain(kernel.fields()).collect();
    branch(&fields, "kernel", kernel.name())
}

fn of_stage(stage: Stage) -> Json {
    let fields: Vec<&Field> = request::HEADER.iter().chain(request::fields()).collect();
    branch(&fields, "stage", stage.name())
}

/// Files in which `key` has this value.
fn branch(fields: &[&Field], key: &str, value: &str) -> Json {
    let mut properties: Map<String, Json> =
        fields.iter().map(|field| (field.key.to_owned(), property(field))).collect();
    properties[key]["enum"] = json!([value]);
    let required = fields.iter().filter(|field| field.presence == Presence::Required);
    let companions: Vec<Json> =
        fields.iter().filter_map(|field| companion(field, fields)).collect();
    let mut schema = json!({
        "title": value,
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
