//! Machine code to assembly text, by LLVM's disassembler.

use inkwell::OptimizationLevel;
use isa::Target;

use crate::binding::Disassembler;
use crate::codegen;
use crate::error::CompileError;
use crate::protocol::DisassembledLine;

/// Bytes that an unknown instruction takes: the unit in which instructions are aligned.
const UNKNOWN_BYTES: usize = 4;

/// The instructions of a stream, to its end.
pub fn stream(target: Target, code: &[u8]) -> Result<Vec<DisassembledLine>, CompileError> {
    let mut disassembler = disassembler(target)?;
    let (mut lines, mut rest) = (Vec::new(), code);
    while !rest.is_empty() {
        let line = first(&mut disassembler, rest);
        rest = &rest[line.size_bytes as usize..];
        lines.push(line);
    }
    Ok(lines)
}

/// The instruction at the start of each slot of `slot_bytes`; what follows it in the slot is not read as
/// another. The last slot may be short.
pub fn slots(
    target: Target,
    code: &[u8],
    slot_bytes: u32,
) -> Result<Vec<DisassembledLine>, CompileError> {
    if slot_bytes == 0 {
        return Err(CompileError::Malformed("a slot of 0 bytes holds no instruction".to_owned()));
    }
    let mut disassembler = disassembler(target)?;
    Ok(code.chunks(slot_bytes as usize).map(|slot| first(&mut disassembler, slot)).collect())
}

fn disassembler(target: Target) -> Result<Disassembler, CompileError> {
    // The machine is not used; making it initialises LLVM's part for the target.
    codegen::target_machine(target, OptimizationLevel::None)?;
    Disassembler::new(codegen::TRIPLE, target.name())
        .ok_or_else(|| CompileError::Llvm(format!("no disassembler for {target}")))
}

fn first(disassembler: &mut Disassembler, code: &[u8]) -> DisassembledLine {
    match disassembler.instruction(code) {
        Some((size, text)) => DisassembledLine { size_bytes: size as u32, text: Some(text) },
        None => DisassembledLine { size_bytes: UNKNOWN_BYTES.min(code.len()) as u32, text: None },
    }
}
