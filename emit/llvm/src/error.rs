//! Why a kernel cannot become a module or a code object, and how the worker reports it.

use inkwell::builder::BuilderError;

use crate::protocol::{Diagnostic, Failure};

/// A step between the kernel's text and its code object failed.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The text form does not parse, or the IR breaks a rule of the verifier.
    #[error("{0}")]
    Kernel(String),
    /// The IR says something that has no meaning in LLVM IR.
    #[error("{0}")]
    Malformed(String),
    /// An intrinsic that this LLVM does not have.
    #[error("unknown intrinsic '{symbol}'")]
    UnknownIntrinsic {
        /// The name as written.
        symbol: String,
    },
    /// LLVM's own complaint: verifier, code generation.
    #[error("LLVM: {0}")]
    Llvm(String),
    /// The assembler's complaints about a text.
    #[error("the assembler refuses {} places", .0.len())]
    Assembly(Vec<Diagnostic>),
    /// The builder of LLVM IR was misused.
    #[error("LLVM IR builder: {0}")]
    Builder(#[from] BuilderError),
    /// The linker found symbols that nothing defines.
    #[error("undefined symbols: {}", .0.join(", "))]
    LinkUndefined(Vec<String>),
    /// The linker is missing, does not run or reports something else.
    #[error("{0}")]
    LinkFailed(String),
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Failure {
        match error {
            CompileError::UnknownIntrinsic { symbol } => Failure::UnknownIntrinsic { symbol },
            CompileError::Assembly(diagnostics) => Failure::Assembly { diagnostics },
            CompileError::LinkUndefined(symbols) => Failure::LinkUndefined { symbols },
            CompileError::LinkFailed(message) => Failure::LinkFailed { message },
            other => Failure::Rejected { message: other.to_string() },
        }
    }
}
