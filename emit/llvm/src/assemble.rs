//! Assembly text to machine code, by LLVM's integrated assembler.
//!
//! The text travels as the inline assembly of an empty module: LLVM's C interface has no other way to its
//! assembler. So positions in LLVM's complaints are those of the text, and the end of `.text` is followed
//! by padding that the text did not ask for.

use std::collections::BTreeMap;
use std::fmt::Write;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::FileType;
use isa::Target;

use crate::binding::Diagnostics;
use crate::codegen;
use crate::error::CompileError;
use crate::link;
use crate::module::empty_module;
use crate::protocol::{AssembledLine, Diagnostic};

/// The section in which the sizes of lines are collected, each as 32 bits.
const SIZES: &str = ".wavesmith.sizes";

/// A label stands before every line, so line `i` of the text is row `2 i + 1` of what LLVM reads, from 0.
const ROWS_A_LINE: u32 = 2;

/// A whole file to a linked code object.
pub fn code_object(target: Target, text: &str) -> Result<Vec<u8>, CompileError> {
    link::link(&object(target, text)?)
}

/// Every line by itself to its bytes or to the first complaint about it.
///
/// Lines that LLVM refuses are taken out and the rest is assembled again, so that one bad line of thousands
/// costs only itself. A complaint that names no line of the text fails the whole text.
pub fn lines(target: Target, text: &str) -> Result<Vec<AssembledLine>, CompileError> {
    let lines: Vec<&str> = text.lines().collect();
    let mut refused: BTreeMap<usize, Diagnostic> = BTreeMap::new();
    loop {
        match object(target, &measured(&lines, &refused)) {
            Ok(object) => return cut(&object, lines.len(), refused),
            Err(CompileError::Assembly(diagnostics)) => {
                let known = refused.len();
                for diagnostic in &diagnostics {
                    refuse(&mut refused, lines.len(), diagnostic);
                }
                if refused.len() == known {
                    return Err(CompileError::Assembly(diagnostics));
                }
            }
            Err(other) => return Err(other),
        }
    }
}

/// The lines with what tells their sizes: a label before each, and the distances of the labels.
fn measured(lines: &[&str], refused: &BTreeMap<usize, Diagnostic>) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = if refused.contains_key(&index) { "" } else { line };
        // Writing to a string cannot fail.
        writeln!(text, ".Lwavesmith_line_{index}:\n{line}").ok();
    }
    writeln!(text, ".Lwavesmith_line_{}:\n.section {SIZES}", lines.len()).ok();
    for index in 0..lines.len() {
        writeln!(text, ".4byte .Lwavesmith_line_{}-.Lwavesmith_line_{index}", index + 1).ok();
    }
    text
}

/// Notes a complaint for its line, if it names one that has none yet.
fn refuse(refused: &mut BTreeMap<usize, Diagnostic>, lines: usize, complaint: &Diagnostic) {
    let index = (complaint.line / ROWS_A_LINE).checked_sub(1).map(|index| index as usize);
    if let Some(index) = index.filter(|index| *index < lines) {
        let line = index as u32 + 1;
        refused.entry(index).or_insert_with(|| Diagnostic { line, ..complaint.clone() });
    }
}

/// The bytes of every line out of the object.
fn cut(
    object: &[u8],
    lines: usize,
    mut refused: BTreeMap<usize, Diagnostic>,
) -> Result<Vec<AssembledLine>, CompileError> {
    let sizes = section(object, SIZES)?;
    let code = section(object, ".text")?;
    let mut rest = &code[..];
    let mut cut_off = |size: usize| {
        let (line, behind) = rest.split_at_checked(size)?;
        rest = behind;
        Some(line.to_vec())
    };
    let (sizes, _) = sizes.as_chunks::<4>();
    if sizes.len() != lines {
        return Err(garbled());
    }
    let cut_line = |(index, size): (usize, &[u8; 4])| {
        let bytes = cut_off(u32::from_le_bytes(*size) as usize).ok_or_else(garbled)?;
        Ok(refused.remove(&index).map_or(Ok(bytes), Err))
    };
    sizes.iter().enumerate().map(cut_line).collect()
}

fn garbled() -> CompileError {
    CompileError::Llvm("the sizes of the lines do not add up".to_owned())
}

/// The contents of a section of an object.
fn section(object: &[u8], name: &str) -> Result<Vec<u8>, CompileError> {
    let unreadable = || CompileError::Llvm(format!("the object has no section {name}"));
    let buffer = MemoryBuffer::create_from_memory_range_copy(object, "object");
    let file = buffer.create_binary_file(None).map_err(|_| unreadable())?;
    let mut sections = file.get_sections().ok_or_else(unreadable)?;
    while let Some(section) = sections.next_section() {
        if section.get_name().is_some_and(|found| found.to_bytes() == name.as_bytes()) {
            return Ok(section.get_contents().to_vec());
        }
    }
    Err(unreadable())
}

/// A relocatable object of the text, or all of LLVM's complaints.
fn object(target: Target, text: &str) -> Result<Vec<u8>, CompileError> {
    let context = Context::create();
    let diagnostics = Diagnostics::attach(&context);
    let machine = codegen::target_machine(target, OptimizationLevel::None)?;
    let module = empty_module(&context, "assembly", &machine);
    module.set_inline_assembly(text);
    let buffer = machine
        .write_to_memory_buffer(&module, FileType::Object)
        .map_err(|error| CompileError::Llvm(error.to_string()))?;
    match diagnostics.errors() {
        errors if errors.is_empty() => Ok(buffer.as_slice().to_vec()),
        errors => {
            Err(CompileError::Assembly(errors.iter().map(|error| diagnostic(error)).collect()))
        }
    }
}

/// LLVM's complaint: `<inline asm>:LINE:COLUMN: error: MESSAGE`, then the line and a caret below it.
fn diagnostic(complaint: &str) -> Diagnostic {
    let first = complaint.lines().next().unwrap_or_default();
    let placed = || {
        let mut parts = first.split_once("<inline asm>:")?.1.splitn(3, ':');
        let (line, column) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let message = parts.next()?.trim();
        let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
        Some(Diagnostic { line, column, message })
    };
    placed().unwrap_or_else(|| Diagnostic { line: 0, column: 0, message: first.to_owned() })
}
