//! What the client and the worker say to each other: one JSON line, then raw bytes.
//!
//! This file is compiled into both crates (the client includes it by path), because the client must not
//! link libLLVM and the wire format must have one home. A frame is
//! `{"protocol":1,"body_bytes":N,"content":…}`, a newline, and exactly N bytes of body; nothing follows.

use std::io::{self, BufRead, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the frames. Both sides refuse any other.
pub const PROTOCOL: u32 = 1;

/// Longest header line in bytes.
pub const MAX_HEADER_BYTES: u64 = 1 << 20;

/// Longest body in bytes.
pub const MAX_BODY_BYTES: u64 = 256 << 20;

/// What the client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Which LLVM and which linker the worker has. The body is empty.
    Describe,
    /// All artefacts of one kernel. The body is the kernel's text form.
    Compile,
    /// All artefacts of an LLVM module that somebody else wrote. The body is LLVM IR text.
    CompileModule {
        /// Name of the target.
        target: String,
        /// Optimisation level, 0 to 3, as compilers number them.
        level: u8,
    },
    /// Machine code of assembly text. The body is the text.
    Assemble {
        /// Name of the target.
        target: String,
        /// What to make of the text.
        output: Assembly,
    },
    /// Assembly text of machine code. The body is the code.
    Disassemble {
        /// Name of the target.
        target: String,
        /// Without a number, the body is one stream of instructions. With one, it is a sequence of slots
        /// of so many bytes, and the instruction at the start of each is read by itself.
        slot_bytes: Option<u32>,
    },
}

/// What becomes of assembly text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assembly {
    /// The text is a whole file, directives included; it becomes a linked code object.
    CodeObject,
    /// Every line is one instruction (or a label, a comment, nothing) and becomes its bytes.
    Lines,
}

/// What became of one line of assembly text: its bytes, or LLVM's complaint about it.
pub type AssembledLine = Result<Vec<u8>, Diagnostic>;

/// One complaint of LLVM's assembler. Line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Diagnostic {
    /// Line of the text; 0 if LLVM names no place.
    pub line: u32,
    /// Column in the line; 0 if LLVM names no place.
    pub column: u32,
    /// LLVM's words.
    pub message: String,
}

/// One instruction as LLVM's disassembler sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisassembledLine {
    /// Bytes that it takes; 4 where no instruction was recognised, or what was left if that was less.
    pub size_bytes: u32,
    /// Its text without leading white space; nothing where LLVM recognises no instruction.
    pub text: Option<String>,
}

/// What the worker answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Request::Describe`]; the body is empty.
    Described(Toolchain),
    /// To [`Request::Compile`] and [`Request::CompileModule`]; the body is the three artefacts in the order of their lengths.
    Compiled {
        /// The LLVM that made them.
        llvm: LlvmIdentity,
        /// Length of the LLVM IR text before any optimisation.
        llvm_ir_bytes: u64,
        /// Length of the assembly text after optimisation.
        assembly_bytes: u64,
        /// Length of the linked code object.
        code_object_bytes: u64,
    },
    /// To [`Request::Assemble`] with [`Assembly::CodeObject`]; the body is the code object.
    AssembledObject,
    /// To [`Request::Assemble`] with [`Assembly::Lines`]; the body is a JSON list of [`AssembledLine`], one
    /// a line of the text.
    AssembledLines,
    /// To [`Request::Disassemble`]; the body is a JSON list of [`DisassembledLine`].
    Disassembled,
    /// The request failed; the body is empty.
    Failed(Failure),
}

/// What identifies an LLVM for the comparison of artefacts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlvmIdentity {
    /// Exact version, such as `22.1.2`.
    pub version: String,
    /// Data layout of `amdgcn-amd-amdhsa` as this LLVM states it.
    pub data_layout: String,
}

/// The worker's tools, for a report on the installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// The LLVM.
    pub llvm: LlvmIdentity,
    /// File of the libLLVM that is loaded.
    pub libllvm: String,
    /// File of the linker.
    pub lld: String,
    /// First line that the linker prints about its version, or why it did not.
    pub lld_version: Result<String, String>,
}

/// Why the worker could not compile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The kernel's text, IR or LLVM module is not acceptable.
    #[error("rejected: {message}")]
    Rejected {
        /// What was found, with its place where one is known.
        message: String,
    },
    /// The assembler refuses the text.
    #[error("{}", list(diagnostics))]
    Assembly {
        /// Its complaints in the order of LLVM; at least one.
        diagnostics: Vec<Diagnostic>,
    },
    /// The kernel calls an intrinsic that this LLVM does not have.
    #[error(
        "unknown intrinsic '{symbol}': this LLVM has no intrinsic of that name, check its spelling"
    )]
    UnknownIntrinsic {
        /// The name as written in the kernel.
        symbol: String,
    },
    /// The linker found symbols that nothing defines.
    #[error("undefined symbols: {}", symbols.join(", "))]
    LinkUndefined {
        /// Their names, in the linker's order.
        symbols: Vec<String>,
    },
    /// The linker is missing, does not run or reports something else.
    #[error("linking failed: {message}")]
    LinkFailed {
        /// What the linker or the system said.
        message: String,
    },
    /// LLVM gave up with a fatal error, as for an intrinsic that the target cannot select.
    #[error("LLVM gave up: {message}")]
    Fatal {
        /// LLVM's words.
        message: String,
    },
    /// The request itself could not be read.
    #[error("the request is malformed: {message}")]
    BadRequest {
        /// What was wrong with the frame.
        message: String,
    },
}

fn list(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A frame that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The pipe failed.
    #[error("the pipe failed: {0}")]
    Pipe(#[from] io::Error),
    /// No newline within the limit, or the stream ended before one.
    #[error("no complete header line within {limit} bytes (got {got} bytes)")]
    NoHeader {
        /// Bytes seen.
        got: usize,
        /// Most bytes a header may have.
        limit: u64,
    },
    /// The header is not the JSON that belongs here.
    #[error("the header is not understood: {0}")]
    Header(#[from] serde_json::Error),
    /// The other side speaks another version.
    #[error(
        "protocol version {got}, this program speaks {PROTOCOL}: rebuild both with cargo build --release"
    )]
    Version {
        /// Version in the header.
        got: u32,
    },
    /// The announced body is longer than is ever accepted.
    #[error("a body of {got} bytes is over the limit of {MAX_BODY_BYTES} bytes")]
    BodyTooLong {
        /// Bytes announced.
        got: u64,
    },
    /// The stream ended early.
    #[error("the body ended after {got} of {announced} bytes")]
    Truncated {
        /// Bytes received.
        got: u64,
        /// Bytes announced.
        announced: u64,
    },
    /// Something follows the frame.
    #[error("bytes follow the frame")]
    TrailingBytes,
}

/// The header line: everything but the content is the same in both directions.
#[derive(Serialize, Deserialize)]
struct Header<T> {
    protocol: u32,
    body_bytes: u64,
    content: T,
}

/// The version alone, read first so that a header of another version is named as such.
#[derive(Deserialize)]
struct HeaderVersion {
    protocol: u32,
}

/// Writes one frame: the header line, then the parts of the body one after the other.
pub fn write_frame<T: Serialize>(
    mut to: impl Write,
    content: T,
    parts: &[&[u8]],
) -> Result<(), FrameError> {
    let body_bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
    if body_bytes > MAX_BODY_BYTES {
        return Err(FrameError::BodyTooLong { got: body_bytes });
    }
    serde_json::to_writer(&mut to, &Header { protocol: PROTOCOL, body_bytes, content })?;
    to.write_all(b"\n")?;
    for part in parts {
        to.write_all(part)?;
    }
    to.flush()?;
    Ok(())
}

/// Reads the one frame that the stream holds.
pub fn read_frame<T: DeserializeOwned>(mut from: impl BufRead) -> Result<(T, Vec<u8>), FrameError> {
    let line = read_header_line(&mut from)?;
    let HeaderVersion { protocol } = serde_json::from_slice(&line)?;
    if protocol != PROTOCOL {
        return Err(FrameError::Version { got: protocol });
    }
    let header: Header<T> = serde_json::from_slice(&line)?;
    let body = read_body(&mut from, header.body_bytes)?;
    Ok((header.content, body))
}

fn read_header_line(from: &mut impl BufRead) -> Result<Vec<u8>, FrameError> {
    let mut line = Vec::new();
    from.take(MAX_HEADER_BYTES).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(line),
        _ => Err(FrameError::NoHeader { got: line.len(), limit: MAX_HEADER_BYTES }),
    }
}

/// Grows with the bytes that really come: an announced length alone reserves nothing.
fn read_body(from: &mut impl BufRead, announced: u64) -> Result<Vec<u8>, FrameError> {
    if announced > MAX_BODY_BYTES {
        return Err(FrameError::BodyTooLong { got: announced });
    }
    let mut body = Vec::new();
    let got = from.take(announced).read_to_end(&mut body)? as u64;
    if got < announced {
        return Err(FrameError::Truncated { got, announced });
    }
    match from.fill_buf()? {
        [] => Ok(body),
        _ => Err(FrameError::TrailingBytes),
    }
}
