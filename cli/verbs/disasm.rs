//! `disasm`: the code of a code object.

use std::fmt::Write;
use std::path::PathBuf;

use codeobj::{CodeObject, Kernel};
use serde::Serialize;

use crate::code_object_file;
use crate::error::{CliError, Outcome};
use crate::report;

/// Arguments of `disasm`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Code object
    #[arg(value_name = "FILE.hsaco")]
    file: PathBuf,
    /// Only this kernel
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
}

/// The listing of one kernel.
#[derive(Serialize)]
struct Listing {
    kernel: String,
    lines: Vec<Line>,
}

/// One instruction, or bytes that are none.
#[derive(Serialize)]
struct Line {
    address: u64,
    bytes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undecodable: Option<String>,
}

/// Lists every kernel's code up to its `st_size`.
///
/// # Errors
/// A file that is no code object, or has no such kernel.
pub fn run(args: &Args, json: bool) -> Result<Outcome, CliError> {
    let (_, object) = code_object_file::read(&args.file)?;
    let kernels: Vec<&Kernel> = match &args.kernel {
        Some(name) => vec![object.kernel(name)?],
        None => object.kernels.iter().collect(),
    };
    let listings: Vec<_> = kernels.into_iter().map(|kernel| listing(&object, kernel)).collect();
    if json {
        report::json(&listings)?;
    } else {
        report::text(&listings.iter().map(text).collect::<String>())?;
    }
    let lines = listings.iter().flat_map(|listing| &listing.lines);
    let unknown: Vec<_> = lines.filter(|line| line.undecodable.is_some()).collect();
    if let [first, ..] = unknown.as_slice() {
        let (count, address) = (unknown.len(), first.address);
        report::note(&format!("{count} words are no instructions, the first at {address:#x}"));
    }
    Ok(Outcome::right_if(unknown.is_empty()))
}

fn listing(object: &CodeObject, kernel: &Kernel) -> Listing {
    let code = object.code(kernel).unwrap_or_default();
    let mut lines = Vec::new();
    let mut offset = 0;
    while offset < code.len() {
        let (line, size) = line(object, kernel.entry_address, code, offset);
        lines.push(line);
        offset += size;
    }
    Listing { kernel: kernel.name.clone(), lines }
}

/// The line at an offset, and how many bytes it takes: a word where nothing decodes.
fn line(object: &CodeObject, entry: u64, code: &[u8], offset: usize) -> (Line, usize) {
    let address = entry + offset as u64;
    let rest = &code[offset..];
    let (size, text, undecodable) = match isa::decode(object.target, rest) {
        Ok(inst) => {
            let text = isa::disassemble(object.target, &inst);
            (usize::from(inst.size_bytes), Some(text), None)
        }
        Err(error) => (rest.len().min(4), None, Some(error.to_string())),
    };
    let bytes = rest[..size].iter().map(|byte| format!("{byte:02x}")).collect();
    (Line { address, bytes, text, undecodable }, size)
}

fn text(listing: &Listing) -> String {
    let mut out = format!("{}:\n", listing.kernel);
    for line in &listing.lines {
        let words = match (&line.text, &line.undecodable) {
            (Some(text), _) => text.clone(),
            (None, Some(why)) => format!("; not an instruction: {why}"),
            (None, None) => String::new(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {:06x}  {:<24}  {words}", line.address, line.bytes);
    }
    out
}
