//! Why the GCN back end has no code object to give.

use isa::Target;
use isa::encode::EncodeError;

/// A kernel that could not be compiled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("kernel '{kernel}': {cause}")]
pub struct GcnError {
    /// The kernel, as its author or its spec names it.
    pub kernel: String,
    /// What happened.
    pub cause: Cause,
}

/// What keeps a kernel from becoming code.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Cause {
    /// The target, or this back end, has no instructions for an operation.
    #[error("{operation} at {phase} has no instructions on {target}: {remedy}")]
    Unsupported {
        /// The operation, as the text form writes it.
        operation: String,
        /// Where it was asked for.
        phase: String,
        /// The target.
        target: Target,
        /// What to do instead.
        remedy: &'static str,
    },
    /// More registers are alive at one place than there are.
    #[error(
        "{needed} {file} are needed where {value} is made at {phase}, and {target} has {limit}: \
         keep fewer values alive there, or take smaller tiles"
    )]
    Registers {
        /// `VGPRs` or `SGPRs`.
        file: &'static str,
        /// Registers that would be needed.
        needed: u32,
        /// Registers that there are.
        limit: u32,
        /// The value that found no place, such as `%12`, or `a temporary` of the back end's own.
        value: String,
        /// Where it was asked for.
        phase: String,
        /// The target.
        target: Target,
    },
    /// More VGPRs are alive at one place than the author's budget has.
    #[error(
        "{needed} VGPRs are needed where {value} is made at {phase}, and the budget max_vgprs is {budget}: \
         keep fewer values alive there, or raise the budget"
    )]
    Budget {
        /// VGPRs that would be needed.
        needed: u32,
        /// VGPRs that the kernel may take.
        budget: u32,
        /// The value that found no place, such as `%12`, or `a temporary` of the back end's own.
        value: String,
        /// Where it was asked for.
        phase: String,
    },
    /// The workgroup's LDS is larger than the target's.
    #[error(
        "LDS of {got} bytes ('{buffer}' ends there): the limit on {target} is {limit} bytes a workgroup"
    )]
    Lds {
        /// Bytes asked for.
        got: u32,
        /// The buffer that goes past the limit.
        buffer: String,
        /// Bytes that a workgroup may have.
        limit: u32,
        /// The target.
        target: Target,
    },
    /// The kernel IR breaks its own rules.
    #[error("the kernel is malformed: {problem}")]
    Malformed {
        /// What is wrong.
        problem: String,
    },
    /// A check of this back end's own work failed.
    #[error("a fault of the GCN back end, please report it: {problem}")]
    Internal {
        /// What was found.
        problem: String,
    },
    /// An instruction that the encoder refuses.
    #[error("a fault of the GCN back end, please report it: {0}")]
    Encode(#[from] EncodeError),
    /// The code object cannot be written.
    #[error(transparent)]
    Write(#[from] codeobj::write::WriteError),
}
