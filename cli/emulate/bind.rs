//! Values given on the command line, bound to the explicit arguments of a kernel.

use codeobj::{Kernel, KernelArg, KernelMetadata, ValueKind};

use crate::emulate::value::Value;

/// An explicit argument and what it is given.
#[derive(Clone, Debug)]
pub struct Supplied {
    /// Its name, or its position where it has none.
    pub key: String,
    /// What the metadata says about it.
    pub arg: KernelArg,
    /// What it is given.
    pub value: Value,
    /// The value as it was written.
    pub text: String,
}

/// A value for an argument, as given.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Name or position of the argument.
    pub key: String,
    /// The value as it was written.
    pub text: String,
    /// The value.
    pub value: Value,
}

/// Values that do not fit a kernel, with everything that does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments do not fit '{kernel}':{}\nexpected:{}", lines(.problems), lines(.expected))]
pub struct ArgumentsError {
    /// The kernel.
    pub kernel: String,
    /// What does not fit; never empty.
    pub problems: Vec<ArgumentProblem>,
    /// Every argument that the kernel takes.
    pub expected: Vec<String>,
}

/// One thing about the values that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant names its fields, with their units")]
pub enum ArgumentProblem {
    #[error("the kernel has no argument '{got}'")]
    Unknown { got: String },
    #[error("argument '{key}' is missing")]
    Missing { key: String },
    #[error("argument '{key}' is given {times} times")]
    Repeated { key: String, times: usize },
    #[error("argument '{key}': '{got}' is a value of {bytes} bytes, the kernel takes a buffer")]
    NotABuffer { key: String, got: String, bytes: usize },
    #[error("argument '{key}': '{got}' is a pointer, the kernel takes {bytes} bytes by value")]
    NotAValue { key: String, got: String, bytes: u32 },
    #[error("argument '{key}': '{got}' has {bytes} bytes, the kernel takes {expected}")]
    Size { key: String, got: String, bytes: usize, expected: u32 },
    #[error("argument '{key}' is a {kind}, which cannot be given")]
    Kind { key: String, kind: &'static str },
}

fn lines<T: std::fmt::Display>(items: &[T]) -> String {
    if items.is_empty() {
        return " no arguments".to_owned();
    }
    items.iter().map(|item| format!("\n  {item}")).collect()
}

/// What the explicit arguments are called: their names, or their positions where the compiler kept no
/// name of their own.
pub fn keys(metadata: &KernelMetadata) -> Vec<String> {
    let names: Vec<_> = metadata.explicit_args().map(|arg| arg.name.as_deref()).collect();
    let key = |(index, name): (usize, &Option<&str>)| match name {
        Some(own) if names.iter().filter(|other| *other == name).count() == 1 => (*own).to_owned(),
        _ => index.to_string(),
    };
    names.iter().enumerate().map(key).collect()
}

/// Gives every explicit argument its value.
///
/// # Errors
/// [`ArgumentsError`] lists everything that is missing, superfluous or of another kind or size.
pub fn bind(kernel: &Kernel, given: &[Assignment]) -> Result<Vec<Supplied>, ArgumentsError> {
    let keys = keys(&kernel.metadata);
    let mut problems: Vec<ArgumentProblem> = given
        .iter()
        .filter(|assignment| !keys.contains(&assignment.key))
        .map(|assignment| ArgumentProblem::Unknown { got: assignment.key.clone() })
        .collect();
    let mut bound = Vec::new();
    for (key, arg) in keys.iter().zip(kernel.metadata.explicit_args()) {
        match value_of(key, given) {
            Ok(Assignment { text, value, .. }) => {
                problems.extend(misfit(key, arg, text, value));
                let (key, arg) = (key.clone(), arg.clone());
                bound.push(Supplied { key, arg, value: value.clone(), text: text.clone() });
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() {
        return Ok(bound);
    }
    let args = keys.iter().zip(kernel.metadata.explicit_args());
    let expected = args.map(|(key, arg)| describe(key, arg)).collect();
    Err(ArgumentsError { kernel: kernel.name.clone(), problems, expected })
}

fn describe(key: &str, arg: &KernelArg) -> String {
    format!("{key}: {}, {} bytes at offset {}", arg.value_kind.word(), arg.size, arg.offset)
}

fn value_of<'g>(key: &str, given: &'g [Assignment]) -> Result<&'g Assignment, ArgumentProblem> {
    let found: Vec<_> = given.iter().filter(|assignment| assignment.key == key).collect();
    match found.as_slice() {
        [assignment] => Ok(assignment),
        [] => Err(ArgumentProblem::Missing { key: key.to_owned() }),
        more => Err(ArgumentProblem::Repeated { key: key.to_owned(), times: more.len() }),
    }
}

fn misfit(key: &str, arg: &KernelArg, text: &str, value: &Value) -> Option<ArgumentProblem> {
    let (key, got) = (key.to_owned(), text.to_owned());
    match (arg.value_kind, value) {
        (ValueKind::GlobalBuffer, Value::Scalar(bytes)) => {
            Some(ArgumentProblem::NotABuffer { key, got, bytes: bytes.len() })
        }
        (ValueKind::GlobalBuffer, Value::Buffer(_) | Value::Same(_) | Value::Null) => None,
        (ValueKind::ByValue, Value::Scalar(bytes)) => {
            let (bytes, expected) = (bytes.len(), arg.size);
            (bytes as u64 != u64::from(expected)).then_some(ArgumentProblem::Size {
                key,
                got,
                bytes,
                expected,
            })
        }
        (ValueKind::ByValue, _) => Some(ArgumentProblem::NotAValue { key, got, bytes: arg.size }),
        (kind, _) => Some(ArgumentProblem::Kind { key, kind: kind.word() }),
    }
}
