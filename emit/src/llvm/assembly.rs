//! LLVM's assembler and disassembler, through the worker: an outside opinion on machine code.

use isa::Target;
use serde::de::DeserializeOwned;

use super::protocol::{AssembledLine, Assembly, DisassembledLine, Reply, Request};
use super::{Cause, Options, broken, locate, process, unexpected};

/// A whole assembly file, directives included (`.amdgcn_target`, `.amdhsa_kernel`, `.amdgpu_metadata`), as
/// a linked code object.
///
/// # Errors
/// [`Failure::Assembly`](super::Failure::Assembly) with line, column and words of everything that LLVM
/// refuses; other [`Cause`]s where the worker or the linker fails.
pub fn assemble(target: Target, text: &str, options: &Options) -> Result<Vec<u8>, Cause> {
    let worker = locate::worker(options)?;
    let request =
        Request::Assemble { target: target.name().to_owned(), output: Assembly::CodeObject };
    match process::exchange(&worker, request, text.as_bytes().to_vec(), options.time_limit)? {
        (Reply::AssembledObject, code_object) => Ok(code_object),
        (reply, _) => Err(unexpected(&worker, reply)),
    }
}

/// Every line of a list of instructions by itself: its bytes, or LLVM's complaint. A line that LLVM refuses
/// does not touch the others. The concatenation of the bytes is the `.text` of the list.
///
/// # Errors
/// [`Failure::Assembly`](super::Failure::Assembly) where a complaint belongs to no single line, as when a
/// line leaves the section; other [`Cause`]s where the worker fails.
pub fn assemble_lines(
    target: Target,
    text: &str,
    options: &Options,
) -> Result<Vec<AssembledLine>, Cause> {
    let request = Request::Assemble { target: target.name().to_owned(), output: Assembly::Lines };
    listed(request, text.as_bytes().to_vec(), &Reply::AssembledLines, options)
}

/// The instructions of a stream of machine code, to its end.
///
/// # Errors
/// Any [`Cause`]: the worker fails. Bytes that are no instruction are no error but a line without text.
pub fn disassemble(
    target: Target,
    code: &[u8],
    options: &Options,
) -> Result<Vec<DisassembledLine>, Cause> {
    let request = Request::Disassemble { target: target.name().to_owned(), slot_bytes: None };
    listed(request, code.to_vec(), &Reply::Disassembled, options)
}

/// Pieces of machine code of `N` bytes, every one read by itself: the instruction at its start, one line a
/// piece. What a piece does not need for that is ignored.
///
/// # Errors
/// Any [`Cause`]: the worker fails, or all pieces together are longer than a request may be.
pub fn disassemble_each<const N: usize>(
    target: Target,
    pieces: &[[u8; N]],
    options: &Options,
) -> Result<Vec<DisassembledLine>, Cause> {
    let request =
        Request::Disassemble { target: target.name().to_owned(), slot_bytes: Some(N as u32) };
    listed(request, pieces.concat(), &Reply::Disassembled, options)
}

/// A request that is answered by a JSON list.
fn listed<T: DeserializeOwned>(
    request: Request,
    body: Vec<u8>,
    expected: &Reply,
    options: &Options,
) -> Result<Vec<T>, Cause> {
    let worker = locate::worker(options)?;
    match process::exchange(&worker, request, body, options.time_limit)? {
        (reply, list) if reply == *expected => serde_json::from_slice(&list)
            .map_err(|error| broken(&worker, &format!("its list is not understood: {error}"))),
        (reply, _) => Err(unexpected(&worker, reply)),
    }
}
