//! A variant's name and hash.
//!
//! The name is the kernel's symbol and the key of its goldens: `<family>_decode_step` or `conv_step`, then
//! one token a field in the order of the kernel's field table; a name that gets longer than symbols and files may be ends
//! in a hash of what is left out of it. Fields at their default are left out of name and hash,
//! so a new field with a default moves neither. Every other field that changes code is in both. The
//! target is in the hash but not in the name: the same variant exists for every target, and golden
//! records and code objects carry the target beside the name.

use isa::Target;
use sha2::{Digest, Sha256};

use crate::choice::Choice;
use crate::field::{Field, InName, Settings, Value};
use crate::spec::Spec;

/// Longest name, in bytes. Kernel IR takes 200, of which a probe's name needs some behind it.
const LONGEST: usize = 168;

impl Spec {
    /// The fields that deviate from a default or have none, in the order of the kernel's field table.
    pub fn deviations(&self) -> Vec<(&'static Field, Value)> {
        deviations(self.kernel().fields(), &self.settings(), self.target())
    }

    /// The variant's name, which is also the kernel's symbol: `[a-z0-9_]+`, at most 168 bytes.
    pub fn name(&self) -> String {
        shortened(joined(self.operation(), &self.deviations()))
    }

    /// Family and kernel, the family once where the kernel is named after it.
    fn operation(&self) -> String {
        let kernel = self.kernel().name();
        if kernel.starts_with(self.family()) {
            kernel.to_owned()
        } else {
            format!("{}_{kernel}", self.family())
        }
    }

    /// SHA-256 over `kernel` and the deviating fields, one `key=value` line each, sorted; 64 hexadecimal
    /// digits.
    pub fn spec_hash(&self) -> String {
        hash(self.kernel().name(), &self.deviations())
    }
}

/// The fields of a table that deviate from a default or have none.
pub(crate) fn deviations(
    fields: &'static [Field],
    settings: &Settings,
    target: Target,
) -> Vec<(&'static Field, Value)> {
    let in_play = fields.iter().filter_map(|field| Some((field, settings.get(field.key)?)));
    in_play.filter(|(field, value)| field.default_value(target) != Some(*value)).collect()
}

/// An operation with the tokens of its deviating fields.
pub(crate) fn joined(operation: String, deviations: &[(&'static Field, Value)]) -> String {
    let tokens = deviations.iter().filter_map(|(field, value)| token(field.in_name, *value));
    [operation].into_iter().chain(tokens).collect::<Vec<_>>().join("_")
}

/// A name of at most [`LONGEST`] bytes; a longer one keeps its first tokens and ends in 16 digits of its SHA-256.
fn shortened(name: String) -> String {
    const DIGITS: usize = 16;
    if name.len() <= LONGEST {
        return name;
    }
    let start = &name[..LONGEST - DIGITS];
    let whole_tokens = start.rfind('_').unwrap_or(start.len() - 1);
    let digest = digits(&Sha256::digest(name.as_bytes()));
    format!("{}_{}", &start[..whole_tokens], &digest[..DIGITS])
}

/// SHA-256 over the kernel's name and its deviating fields.
pub(crate) fn hash(kernel: &str, deviations: &[(&'static Field, Value)]) -> String {
    let mut lines = vec![format!("kernel=\"{kernel}\"\n")];
    lines.extend(deviations.iter().map(|(field, value)| format!("{}={value}\n", field.key)));
    lines.sort();
    digits(&Sha256::digest(lines.concat().as_bytes()))
}

fn digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a value shows in the name, if it does.
fn token(in_name: InName, value: Value) -> Option<String> {
    match in_name {
        InName::Never => None,
        InName::Value => Some(symbol_text(value)),
        InName::Prefixed(prefix) => Some(format!("{prefix}{}", symbol_text(value))),
        InName::Word(word) => Some(word.to_owned()),
    }
}

/// A value in characters that are legal in a symbol: `m` for minus, `p` for the point.
fn symbol_text(value: Value) -> String {
    let text = match value {
        Value::Count(count) => count.to_string(),
        Value::SlotIndex(index) => index.to_string(),
        Value::Number(number) => number_text(number),
        Value::Flag(flag) => flag.to_string(),
        Value::Name(name) => name.to_owned(),
    };
    text.replace('-', "m").replace('.', "p").to_lowercase()
}

/// Text that reads back as the same f32: plain while short, else scientific.
fn number_text(number: f32) -> String {
    const LONGEST_PLAIN: usize = 8;
    let plain = number.to_string();
    if plain.len() <= LONGEST_PLAIN { plain } else { format!("{number:e}") }
}
