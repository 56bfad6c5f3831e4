//! Why a spec file cannot be read.

use std::fmt;
use std::io;

use serde::Serialize;

use crate::choice::choice;
use crate::field::Field;
use crate::suggest::{nearest, shown};

/// A file that cannot be read as a spec, with every reason found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnreadableSpec {
    /// The file, as it was named by whoever asked.
    pub file: String,
    /// At least one reason, in the order of the file; absent keys last.
    pub problems: Vec<FileProblem>,
}

/// One reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileProblem {
    /// What kind of reason it is.
    pub kind: ProblemKind,
    /// Where it is; absent for what is missing and for files that could not be opened.
    pub place: Option<Place>,
    /// The key it is about.
    pub key: Option<String>,
    /// What was found.
    pub got: String,
    /// What was expected.
    pub expected: String,
    /// What to do.
    pub remedy: String,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
}

choice! {
    /// Kinds of reasons why a file cannot be read.
    pub enum ProblemKind {
        /// The file could not be opened or read.
        Io = "io",
        /// The file is larger than any spec.
        TooLarge = "too_large",
        /// The file is not UTF-8 text.
        NotText = "not_text",
        /// The text is not TOML.
        Syntax = "syntax",
        /// A key that the kernel does not have.
        UnknownKey = "unknown_key",
        /// A required key is absent.
        MissingKey = "missing_key",
        /// A key that has no meaning beside the value of another key.
        InapplicableKey = "inapplicable_key",
        /// A value of another type.
        WrongType = "wrong_type",
        /// A number that the field cannot hold.
        OutOfRange = "out_of_range",
        /// A name that is not among the field's names.
        UnknownValue = "unknown_value",
        /// A target that this project does not know.
        UnknownTarget = "unknown_target",
        /// A schema number that this version does not read.
        UnknownSchema = "unknown_schema",
    }
}

impl ProblemKind {
    /// Words for messages.
    fn words(self) -> &'static str {
        match self {
            ProblemKind::Io => "the file cannot be read",
            ProblemKind::TooLarge => "the file is too large",
            ProblemKind::NotText => "the file is not text",
            ProblemKind::Syntax => "this is not TOML",
            ProblemKind::UnknownKey => "unknown key",
            ProblemKind::MissingKey => "missing key",
            ProblemKind::InapplicableKey => "key without meaning here",
            ProblemKind::WrongType => "wrong type",
            ProblemKind::OutOfRange => "number out of range",
            ProblemKind::UnknownValue => "unknown value",
            ProblemKind::UnknownTarget => "unknown target",
            ProblemKind::UnknownSchema => "unknown schema",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        if let Some(key) = &self.key {
            write!(f, " `{key}`")?;
        }
        write!(f, ": got {}, expected {}; {}", self.got, self.expected, self.remedy)
    }
}

impl fmt::Display for UnreadableSpec {
    /// One line a problem, `file:line:column: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{}", self.file.escape_debug())?;
            if let Some(place) = problem.place {
                write!(f, ":{place}")?;
            }
            write!(f, ": {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnreadableSpec {}

impl FileProblem {
    pub(super) fn input_output(error: &io::Error) -> FileProblem {
        FileProblem {
            kind: ProblemKind::Io,
            place: None,
            key: None,
            got: error.to_string(),
            expected: "a readable spec file".to_owned(),
            remedy:
                "check the path and its permissions; `wavesmith list` names the library's specs"
                    .to_owned(),
        }
    }

    pub(super) fn too_large(got_bytes: u64, limit_bytes: u64) -> FileProblem {
        FileProblem {
            kind: ProblemKind::TooLarge,
            place: None,
            key: None,
            got: format!("{got_bytes} bytes or more"),
            expected: format!("at most {limit_bytes} bytes"),
            remedy: "this is probably not a spec file".to_owned(),
        }
    }

    pub(super) fn not_text(valid_bytes: usize) -> FileProblem {
        FileProblem {
            kind: ProblemKind::NotText,
            place: None,
            key: None,
            got: format!("a byte at offset {valid_bytes} that is not UTF-8"),
            expected: "UTF-8 text".to_owned(),
            remedy: "save the file as UTF-8".to_owned(),
        }
    }

    pub(super) fn syntax(place: Option<Place>, message: &str) -> FileProblem {
        FileProblem {
            kind: ProblemKind::Syntax,
            place,
            key: None,
            got: shown(message),
            expected: "TOML: one `key = value` a line".to_owned(),
            remedy: "correct the syntax at this place".to_owned(),
        }
    }

    pub(super) fn unknown_key(place: Place, key: &str, known: &[&'static str]) -> FileProblem {
        let remedy = match nearest(key, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "remove it".to_owned(),
        };
        FileProblem {
            kind: ProblemKind::UnknownKey,
            place: Some(place),
            key: Some(shown(key)),
            got: "a key that this kernel does not have".to_owned(),
            expected: known.join(", "),
            remedy,
        }
    }

    pub(super) fn missing_key(field: &Field) -> FileProblem {
        FileProblem {
            kind: ProblemKind::MissingKey,
            place: None,
            key: Some(field.key.to_owned()),
            got: "nothing".to_owned(),
            expected: field.expectation(),
            remedy: format!("add `{} = …` ({})", field.key, field.meaning),
        }
    }

    pub(super) fn inapplicable_key(
        place: Place,
        field: &Field,
        other: &str,
        needed: &str,
        got: &str,
    ) -> FileProblem {
        FileProblem {
            kind: ProblemKind::InapplicableKey,
            place: Some(place),
            key: Some(field.key.to_owned()),
            got: format!("`{other} = \"{got}\"`"),
            expected: format!("`{other} = \"{needed}\"` beside this key"),
            remedy: format!("remove `{}` or set `{other}` to \"{needed}\"", field.key),
        }
    }

    pub(super) fn wrong_type(place: Place, field: &Field, got: &str) -> FileProblem {
        FileProblem {
            kind: ProblemKind::WrongType,
            place: Some(place),
            key: Some(field.key.to_owned()),
            got: got.to_owned(),
            expected: field.expectation(),
            remedy: field.meaning.to_owned(),
        }
    }

    pub(super) fn out_of_range(place: Place, field: &Field, got: &str) -> FileProblem {
        FileProblem {
            kind: ProblemKind::OutOfRange,
            place: Some(place),
            key: Some(field.key.to_owned()),
            got: shown(got),
            expected: field.expectation(),
            remedy: field.meaning.to_owned(),
        }
    }

    pub(super) fn unknown_schema(place: Place, field: &Field, got: &str) -> FileProblem {
        FileProblem {
            kind: ProblemKind::UnknownSchema,
            place: Some(place),
            key: Some(field.key.to_owned()),
            got: shown(got),
            expected: field.expectation(),
            remedy: "use a version of wavesmith that reads this schema".to_owned(),
        }
    }

    pub(super) fn unknown_value(
        place: Place,
        field: &Field,
        got: &str,
        names: &[&'static str],
    ) -> FileProblem {
        let remedy = match (field.key, got, nearest(got, names.iter().copied())) {
            ("kind", "problem", _) => {
                "this is a problem file, for check, dispatch and run".to_owned()
            }
            ("kind", "spec", _) => "this is a spec file; dispatch takes problem files".to_owned(),
            (_, _, Some(meant)) => format!("did you mean \"{meant}\"?"),
            (_, _, None) => field.meaning.to_owned(),
        };
        FileProblem {
            kind: ProblemKind::UnknownValue,
            place: Some(place),
            key: Some(field.key.to_owned()),
            got: format!("\"{}\"", shown(got)),
            expected: field.expectation(),
            remedy,
        }
    }

    /// No nearest target is offered: a chip of the same family runs other code.
    pub(super) fn unknown_target(place: Place, field: &Field, got: &str) -> FileProblem {
        FileProblem {
            kind: ProblemKind::UnknownTarget,
            place: Some(place),
            key: Some(field.key.to_owned()),
            got: format!("\"{}\"", shown(got)),
            expected: field.expectation(),
            remedy: "only these exact chips are supported: code and limits differ within a family"
                .to_owned(),
        }
    }
}
