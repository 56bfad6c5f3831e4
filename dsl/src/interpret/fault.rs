//! What a kernel does that has no meaning.

use std::fmt;

use crate::ir::{Kernel, ParamKind};

use super::Argument;

/// Why execution ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The statement's text, and where its author wrote it.
    pub statement: String,
    /// Workgroup and work-item, where one is to blame.
    pub work_item: Option<([u32; 3], u32)>,
    /// What it did.
    pub cause: Cause,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.statement)?;
        if let Some(([x, y, z], item)) = self.work_item {
            write!(f, "work-item {item} of workgroup {x},{y},{z}: ")?;
        }
        write!(f, "{}", self.cause)
    }
}

impl std::error::Error for Fault {}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The arguments are not those of the kernel.
    #[error("argument {position} is {got}, the kernel takes {expected}")]
    Argument {
        /// Its position, from 0.
        position: usize,
        /// What was given.
        got: &'static str,
        /// What the kernel has there.
        expected: String,
    },
    /// An access that is not inside its buffer.
    #[error("bytes {at} to {end} of a buffer of {size} bytes", end = at + i64::from(*bytes))]
    OutOfBounds {
        /// First byte.
        at: i64,
        /// Bytes of the access.
        bytes: u32,
        /// Bytes of the buffer.
        size: u64,
    },
    /// An access that breaks its promise.
    #[error("byte {at} is no multiple of the promised {align_bytes}")]
    Misaligned {
        /// First byte.
        at: i64,
        /// What was promised.
        align_bytes: u32,
    },
    /// A load of LDS that nothing wrote.
    #[error("byte {at} of the LDS buffer was never written")]
    Unwritten {
        /// The byte.
        at: i64,
    },
    /// A lane that is switched off where all must be active.
    #[error("is inactive where every lane must be active")]
    Inactive,
    /// A value that differs between lanes of a wave.
    #[error("%{value} is called uniform and differs from the first active lane's")]
    NotUniform {
        /// Its number.
        value: u32,
    },
    /// A matrix operation whose result depends on the order of its sums.
    #[error("element {row}, {column} depends on the order of sums, which is the hardware's")]
    OrderMatters {
        /// Row of the result.
        row: u32,
        /// Column of the result.
        column: u32,
    },
    /// Copies of an operand that must agree do not.
    #[error("the copies of element {row}, {column} of a factor differ")]
    CopiesDiffer {
        /// Row of the factor.
        row: u32,
        /// Column of the factor.
        column: u32,
    },
    /// An operation that only hardware knows.
    #[error("has no meaning without the hardware")]
    Unknown,
    /// The kernel runs for too long.
    #[error("more than {limit} statements were executed")]
    TooLong {
        /// The limit.
        limit: u64,
    },
}

/// What is wrong with a launch's arguments.
pub(super) fn wrong_arguments(kernel: &Kernel, arguments: &[Argument]) -> Option<Cause> {
    (0..kernel.params.len().max(arguments.len())).find_map(|position| {
        let got = match arguments.get(position) {
            Some(Argument::Buffer(_)) => "a buffer",
            Some(Argument::Scalar(_)) => "a scalar",
            None => "missing",
        };
        let param = kernel.params.get(position);
        let expected = match param.map(|param| param.kind) {
            Some(ParamKind::Buffer { .. }) => "a buffer",
            Some(ParamKind::Scalar(_)) => "a scalar",
            None => "nothing",
        };
        let name = param.map(|param| format!(" ('{}')", param.name)).unwrap_or_default();
        let expected_text = format!("{expected}{name}");
        (got != expected).then_some(Cause::Argument { position, got, expected: expected_text })
    })
}
