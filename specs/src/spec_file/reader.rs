//! One TOML table read by field tables, collecting every problem with its place.

use toml::de::{DeInteger, DeTable, DeValue};

use super::problem::{FileProblem, Place};
use crate::field::{Field, FieldKind, Presence, Settings, Value};

/// One problem, boxed: the common case is none.
pub(super) type Refusal = Box<FileProblem>;

/// A table being read.
pub(crate) struct Reader<'t> {
    text: &'t str,
    table: DeTable<'t>,
    settings: Settings,
    problems: Vec<FileProblem>,
}

impl<'t> Reader<'t> {
    /// Parses the text; nothing is read yet.
    pub fn parse(text: &'t str) -> Result<Reader<'t>, Refusal> {
        let table = DeTable::parse(text).map_err(|error| {
            let start = error.span().map(|span| place(text, span.start));
            Box::new(FileProblem::syntax(start, error.message()))
        })?;
        Ok(Reader {
            text,
            table: table.into_inner(),
            settings: Settings::default(),
            problems: Vec::new(),
        })
    }

    /// Reads every field of a table; problems are kept, what could be read is in [`Reader::settings`].
    pub fn read(&mut self, fields: &'static [Field]) {
        for field in fields {
            if let Some(value) = self.read_field(field) {
                self.settings.insert(field.key, value);
            }
        }
    }

    /// What has been read.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Records every key that is in none of these tables.
    pub fn refuse_unknown_keys(&mut self, fields: &[&'static [Field]]) {
        let known: Vec<&'static str> =
            fields.iter().copied().flatten().map(|field| field.key).collect();
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let place = place(self.text, key.span().start);
            self.problems.push(FileProblem::unknown_key(place, key.get_ref(), &known));
        }
    }

    /// Everything found, in the order of the file, absent keys last.
    pub fn into_problems(mut self) -> Vec<FileProblem> {
        self.problems.sort_by_key(|problem| (problem.place.is_none(), problem.place));
        self.problems
    }

    fn read_field(&mut self, field: &'static Field) -> Option<Value> {
        if let Presence::With { key, values: needed, .. } = field.presence {
            let got = self.settings.name(key)?;
            if !needed.contains(&got) {
                self.refuse_inapplicable(field, key, needed, got);
                return None;
            }
        }
        let read = match self.table.get(field.key) {
            Some(value) => convert(field, place(self.text, value.span().start), value.get_ref()),
            None => return self.absent(field),
        };
        read.map_err(|problem| self.problems.push(*problem)).ok()
    }

    /// The value of an absent key. Without a readable target its wave width is unknown, which the
    /// target's own problem explains.
    fn absent(&mut self, field: &'static Field) -> Option<Value> {
        if field.presence == Presence::TargetDefault {
            return field.default_value(self.settings.target()?);
        }
        let default = field.fixed_default();
        if default.is_none() && field.presence != Presence::Optional {
            self.problems.push(FileProblem::missing_key(field));
        }
        default
    }

    fn refuse_inapplicable(&mut self, field: &Field, other: &str, needed: &[&str], got: &str) {
        if let Some((key, _)) = self.table.get_key_value(field.key) {
            let place = place(self.text, key.span().start);
            let needed = needed.join("\" or \"");
            self.problems.push(FileProblem::inapplicable_key(place, field, other, &needed, got));
        }
    }
}

/// A TOML value as what the field holds.
fn convert(field: &Field, place: Place, value: &DeValue) -> Result<Value, Refusal> {
    match (field.kind, value) {
        (FieldKind::Count, DeValue::Integer(integer)) => {
            whole(field, place, integer).map(Value::Count)
        }
        (FieldKind::SlotIndex, DeValue::Integer(integer)) => {
            whole(field, place, integer).map(Value::SlotIndex)
        }
        (FieldKind::Constant(only), DeValue::Integer(integer)) if is(integer, only) => {
            Ok(Value::Count(only))
        }
        (FieldKind::Constant(_), DeValue::Integer(integer)) => {
            Err(Box::new(FileProblem::unknown_schema(place, field, &integer.to_string())))
        }
        (FieldKind::Number, DeValue::Float(float)) => number(field, place, float.as_str()),
        (FieldKind::Number, DeValue::Integer(integer)) if integer.radix() == 10 => {
            number(field, place, integer.as_str())
        }
        (FieldKind::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
        (FieldKind::Choice(names), DeValue::String(text)) => name(field, place, text, names),
        _ => Err(Box::new(FileProblem::wrong_type(place, field, type_words(value)))),
    }
}

fn is(integer: &DeInteger, wanted: u32) -> bool {
    u32::from_str_radix(integer.as_str(), integer.radix()) == Ok(wanted)
}

fn whole<T: TryFrom<i64>>(field: &Field, place: Place, integer: &DeInteger) -> Result<T, Refusal> {
    let wide = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
    let whole = wide.and_then(|wide| T::try_from(wide).ok());
    whole.ok_or_else(|| Box::new(FileProblem::out_of_range(place, field, &integer.to_string())))
}

/// Rounded once, from decimal text to f32; finite text stays finite.
fn number(field: &Field, place: Place, text: &str) -> Result<Value, Refusal> {
    let is_infinite = |number: f32| number.is_infinite() && !text.contains("inf");
    match text.parse() {
        Ok(number) if is_infinite(number) => {
            Err(Box::new(FileProblem::out_of_range(place, field, &format!("{text}, beyond f32"))))
        }
        Ok(number) => Ok(Value::Number(number)),
        Err(_) => {
            let got = "a number that f32 cannot read";
            Err(Box::new(FileProblem::wrong_type(place, field, got)))
        }
    }
}

fn name(
    field: &Field,
    place: Place,
    text: &str,
    names: &'static [&'static str],
) -> Result<Value, Refusal> {
    match names.iter().copied().find(|name| *name == text) {
        Some(name) => Ok(Value::Name(name)),
        None if field.key == "target" => {
            Err(Box::new(FileProblem::unknown_target(place, field, text)))
        }
        None => Err(Box::new(FileProblem::unknown_value(place, field, text, names))),
    }
}

fn type_words(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// Line and column of a byte offset.
fn place(text: &str, offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Place {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}
