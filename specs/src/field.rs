//! Fields of spec files as data: what a key means, what it accepts, when it is present and how it
//! enters a variant's name. One row here serves the reader, the name, the hash and the JSON Schema.

use std::collections::BTreeMap;
use std::fmt;

use isa::Target;

use crate::choice::Choice;
use crate::spec::KernelKind;

/// The schema number of the spec files that this version reads.
pub const SCHEMA: u32 = 1;

/// Waves in a workgroup of a spec file that does not say.
pub const DEFAULT_WAVES: u32 = 4;

/// One key of a spec file.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// What it means, for editors and messages.
    pub meaning: &'static str,
    /// What it accepts.
    pub kind: FieldKind,
    /// When it is present.
    pub presence: Presence,
    /// How its value enters the variant's name.
    pub in_name: InName,
}

/// What a field accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A whole number from 0 to 2³² − 1; rules narrow it.
    Count,
    /// A slot index: a 32-bit signed whole number.
    SlotIndex,
    /// A number, held as f32.
    Number,
    /// `true` or `false`.
    Flag,
    /// Only this number.
    Constant(u32),
    /// One of these names.
    Choice(&'static [&'static str]),
}

/// When a field is present.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Presence {
    /// Always: it is part of the model or the shape, and no value would be a safe guess.
    Required,
    /// When it deviates from this value.
    Default(Value),
    /// When the file has it; absent, the field has no value.
    Optional,
    /// When it deviates from what the target has.
    TargetDefault,
    /// Only when another field has one of these values; then required unless it has a default.
    With {
        /// The other field.
        key: &'static str,
        /// The values that bring this field into play.
        values: &'static [&'static str],
        /// What an absent key means then.
        default: Option<Value>,
    },
}

/// How a field's value enters the variant's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InName {
    /// As no token of its own: the family leads the name, the target is kept beside it.
    Never,
    /// The value itself.
    Value,
    /// The value behind this prefix.
    Prefixed(&'static str),
    /// This word when the flag is set.
    Word(&'static str),
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Count(u32),
    /// A slot index.
    SlotIndex(i32),
    /// A number.
    Number(f32),
    /// A truth value.
    Flag(bool),
    /// A name.
    Name(&'static str),
}

impl fmt::Display for Value {
    /// The canonical text: what the hash covers, and what TOML reads back as the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Count(count) => write!(f, "{count}"),
            Value::SlotIndex(index) => write!(f, "{index}"),
            Value::Number(number) => write!(f, "{number:?}"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Name(name) => write!(f, "\"{name}\""),
        }
    }
}

/// Fields by key with their values: a spec as data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(BTreeMap<&'static str, Value>);

impl Settings {
    /// Sets a field; an earlier value is replaced.
    pub fn insert(&mut self, key: &'static str, value: Value) {
        self.0.insert(key, value);
    }

    /// The value of a field.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.0.get(key).copied()
    }

    /// Every field in the order of keys.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value)> {
        self.0.iter().map(|(key, value)| (*key, *value))
    }

    /// A whole number, unless the field is absent or something else.
    pub fn count(&self, key: &str) -> Option<u32> {
        match self.get(key)? {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    /// A slot index, unless the field is absent or something else.
    pub fn slot_index(&self, key: &str) -> Option<i32> {
        match self.get(key)? {
            Value::SlotIndex(index) => Some(index),
            _ => None,
        }
    }

    /// A number, unless the field is absent or something else.
    pub fn number(&self, key: &str) -> Option<f32> {
        match self.get(key)? {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// A truth value, unless the field is absent or something else.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// A name, unless the field is absent or something else.
    pub fn name(&self, key: &str) -> Option<&'static str> {
        match self.get(key)? {
            Value::Name(name) => Some(name),
            _ => None,
        }
    }

    /// A named value, unless the field is absent or something else.
    pub fn choice<T: Choice>(&self, key: &str) -> Option<T> {
        self.name(key).and_then(T::from_name)
    }

    /// The field `target`, unless it is absent.
    pub fn target(&self) -> Option<Target> {
        self.name("target")?.parse().ok()
    }
}

impl FromIterator<(&'static str, Value)> for Settings {
    fn from_iter<I: IntoIterator<Item = (&'static str, Value)>>(settings: I) -> Settings {
        Settings(settings.into_iter().collect())
    }
}

impl Field {
    /// The value that a spec file for `target` may leave out.
    pub fn default_value(&self, target: Target) -> Option<Value> {
        match self.presence {
            Presence::TargetDefault => Some(Value::Count(target.wave_width())),
            _ => self.fixed_default(),
        }
    }

    /// The value that any spec file may leave out.
    pub fn fixed_default(&self) -> Option<Value> {
        match self.presence {
            Presence::Required | Presence::Optional | Presence::TargetDefault => None,
            Presence::Default(value) => Some(value),
            Presence::With { default, .. } => default,
        }
    }

    /// What the field accepts, for messages.
    pub fn expectation(&self) -> String {
        match self.kind {
            FieldKind::Count => format!("a whole number from 0 to {}", u32::MAX),
            FieldKind::SlotIndex => format!("a whole number from {} to {}", i32::MIN, i32::MAX),
            FieldKind::Number => "a number".to_owned(),
            FieldKind::Flag => "true or false".to_owned(),
            FieldKind::Constant(number) => format!("{number}"),
            FieldKind::Choice(names) => one_of(names),
        }
    }
}

/// A table without the rows of some keys, and then `more` rows.
pub(crate) const fn without<const N: usize>(
    table: &[Field],
    keys: &[&str],
    more: &[Field],
) -> [Field; N] {
    let mut fields = [table[0]; N];
    let (mut row, mut next) = (0, 0);
    while row < table.len() + more.len() {
        let field = if row < table.len() { table[row] } else { more[row - table.len()] };
        if row >= table.len() || !contains(keys, field.key) {
            fields[next] = field;
            next += 1;
        }
        row += 1;
    }
    assert!(next == N, "every key to leave out is in the table");
    fields
}

const fn contains(keys: &[&str], key: &str) -> bool {
    let mut index = 0;
    while index < keys.len() {
        if same(keys[index].as_bytes(), key.as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// "one of \"a\", \"b\"" for messages.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [only] => format!("\"{only}\""),
        _ => format!("one of \"{}\"", names.join("\", \"")),
    }
}

/// The spelling of every target.
const TARGET_NAMES: [&str; Target::ALL.len()] = {
    let mut names = [""; Target::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Target::ALL[index].name();
        index += 1;
    }
    names
};

/// The row of `target`, shared by all kernels.
pub(crate) const fn target_field() -> Field {
    Field {
        key: "target",
        meaning: "the GPU that the kernel is built for: an exact chip, never a family",
        kind: FieldKind::Choice(&TARGET_NAMES),
        presence: Presence::Required,
        in_name: InName::Never,
    }
}

/// The row of `waves`, shared by all kernels.
pub(crate) const fn waves_field() -> Field {
    Field {
        key: "waves",
        meaning: "waves in a workgroup: 1, 2, 4 or 8",
        kind: FieldKind::Count,
        presence: Presence::Default(Value::Count(DEFAULT_WAVES)),
        in_name: InName::Prefixed("waves"),
    }
}

/// The row of `wave_width`, shared by all kernels.
pub(crate) const fn wave_width_field() -> Field {
    Field {
        key: "wave_width",
        meaning: "lanes of a wave; the target's width is the only legal one",
        kind: FieldKind::Count,
        presence: Presence::TargetDefault,
        in_name: InName::Prefixed("ww"),
    }
}

/// The keys that every spec file starts with.
pub const HEADER_FIELDS: &[Field] = &[
    Field {
        key: "schema",
        meaning: "number of the file format",
        kind: FieldKind::Constant(SCHEMA),
        presence: Presence::Required,
        in_name: InName::Never,
    },
    Field {
        key: "kind",
        meaning: "what the file describes",
        kind: FieldKind::Choice(&["spec"]),
        presence: Presence::Required,
        in_name: InName::Never,
    },
    Field {
        key: "kernel",
        meaning: "which kernel this is a spec of",
        kind: FieldKind::Choice(KernelKind::NAMES),
        presence: Presence::Required,
        in_name: InName::Never,
    },
];
