//! Spec files: TOML to [`Spec`], with every reason why a file cannot be read.
//!
//! A file that reads may still break rules: see [`crate::rule`]. Reading refuses what has no meaning
//! (syntax, unknown keys, kernels, targets or names, missing keys, keys that have no meaning beside
//! others, wrong types); rules refuse what has a meaning and cannot be right.

mod problem;
mod reader;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use problem::{FileProblem, Place, ProblemKind, UnreadableSpec};

use crate::choice::Choice;
use crate::field::HEADER_FIELDS;
use crate::spec::{KernelKind, Spec};
use reader::{Reader, Refusal};

/// Largest spec file in bytes: far beyond any spec, far below what would burden a reader.
pub const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Reads a spec file.
///
/// # Errors
/// Everything that keeps the file from being read, not only the first thing.
pub fn read_spec(path: &Path) -> Result<Spec, UnreadableSpec> {
    read_with(path, parse_spec)
}

/// What a file says that it describes, as far as it can be read: `spec` or `problem`, which a stage without a kind is
/// too. For verbs that take either; the reader of the one that is meant says what is wrong.
pub fn kind_of_file(path: &Path) -> Option<String> {
    let text = read_text(path).ok()?;
    let table = toml::de::DeTable::parse(&text).ok()?;
    let table = table.get_ref();
    match table.get("kind") {
        Some(kind) => kind.get_ref().as_str().map(str::to_owned),
        None => table.contains_key("stage").then(|| "problem".to_owned()),
    }
}

/// Reads a file's text and what `parse` makes of it.
pub(crate) fn read_with<T>(
    path: &Path,
    parse: impl FnOnce(&str, &str) -> Result<T, UnreadableSpec>,
) -> Result<T, UnreadableSpec> {
    let file = path.display().to_string();
    match read_text(path) {
        Ok(text) => parse(&file, &text),
        Err(problem) => Err(UnreadableSpec { file, problems: vec![*problem] }),
    }
}

/// Reads a spec from a file's text; `file` names it in errors.
///
/// # Errors
/// Everything that keeps the text from being read, not only the first thing.
pub fn parse_spec(file: &str, text: &str) -> Result<Spec, UnreadableSpec> {
    parse_with(file, text, read_any)
}

/// Reads what `read` makes of a file's text, unless there is any problem.
pub(crate) fn parse_with<T>(
    file: &str,
    text: &str,
    read: impl FnOnce(&mut Reader) -> Option<T>,
) -> Result<T, UnreadableSpec> {
    let unreadable = |problems| UnreadableSpec { file: file.to_owned(), problems };
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(unreadable(vec![FileProblem::too_large(text.len() as u64, MAX_FILE_BYTES)]));
    }
    let mut reader = Reader::parse(text).map_err(|problem| unreadable(vec![*problem]))?;
    let spec = read(&mut reader);
    let problems = reader.into_problems();
    match spec {
        Some(spec) if problems.is_empty() => Ok(spec),
        _ => Err(unreadable(problems)),
    }
}

/// Whether a path is a pipe with a place in a folder, which might never end or never begin; those that a shell
/// opens for a command have none.
#[cfg(unix)]
pub fn is_named_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let is_pipe = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    is_pipe && std::fs::canonicalize(path).is_ok()
}

/// Whether a path is a pipe with a place in a folder; here there are none.
#[cfg(not(unix))]
pub fn is_named_pipe(_: &Path) -> bool {
    false
}

fn read_text(path: &Path) -> Result<String, Refusal> {
    if is_named_pipe(path) {
        let pipe = std::io::Error::other("it is a named pipe, write it to a file first");
        return Err(Box::new(FileProblem::input_output(&pipe)));
    }
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| Box::new(FileProblem::input_output(&error)))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Box::new(FileProblem::too_large(bytes.len() as u64, MAX_FILE_BYTES)));
    }
    String::from_utf8(bytes)
        .map_err(|error| Box::new(FileProblem::not_text(error.utf8_error().valid_up_to())))
}

/// Reads the header, then the kernel's own fields. A file of another schema or kind says nothing about
/// the rest, so reading stops there; without a kernel, keys of any kernel are known.
fn read_any(reader: &mut Reader) -> Option<Spec> {
    let (about_the_file, kernel) = HEADER_FIELDS.split_at(2);
    reader.read(about_the_file);
    reader.settings().count("schema")?;
    reader.settings().name("kind")?;
    reader.read(kernel);
    match reader.settings().choice("kernel") {
        Some(kernel) => read_kernel(reader, kernel),
        None => {
            let any = KernelKind::ALL.iter().map(|kernel| kernel.fields());
            let any: Vec<_> = any.chain([HEADER_FIELDS]).collect();
            reader.refuse_unknown_keys(&any);
            None
        }
    }
}

fn read_kernel(reader: &mut Reader, kernel: KernelKind) -> Option<Spec> {
    reader.read(kernel.fields());
    reader.refuse_unknown_keys(&[HEADER_FIELDS, kernel.fields()]);
    Spec::from_settings(kernel, reader.settings())
}
