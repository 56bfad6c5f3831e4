//! Why a call fails: HIP's code, and the words that HIP has no place for.

use std::fmt;
use std::io::Write;

use hip_abi::Code;

/// A call that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// What the caller gets.
    pub code: Code,
    /// What stderr gets; empty where the code says all.
    pub words: String,
}

/// What calls give.
pub(crate) type Done<T> = Result<T, Failure>;

impl Failure {
    pub(crate) fn new(code: Code, words: impl fmt::Display) -> Failure {
        Failure { code, words: words.to_string() }
    }
}

/// Writes a line to stderr. A program whose stderr is closed or full goes on without.
pub(crate) fn say(words: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "hip-emulated: {words}");
}

/// A failure as a result.
pub(crate) fn fail<T>(code: Code, words: impl fmt::Display) -> Done<T> {
    Err(Failure::new(code, words))
}
