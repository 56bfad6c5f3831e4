//! LLVM's opinion, and what it is compared with.

use std::cell::Cell;
use std::fmt;

use emit::llvm::protocol::{AssembledLine, DisassembledLine};
use emit::llvm::{Cause, Diagnostic, Options, assemble_lines, disassemble_each};
use isa::Target;
use isa::decode::MAX_SIZE_BYTES;

/// LLVM as a witness for one target.
pub struct Witness {
    /// The target.
    pub target: Target,
    options: Options,
    /// Pieces of code that crashed LLVM's disassembler.
    pub crashes: Cell<usize>,
}

impl Witness {
    /// The worker that was built with this test.
    pub fn new(target: Target) -> Witness {
        let worker = Some(env!("CARGO_BIN_EXE_wavesmith-llvm").into());
        Witness { target, options: Options { worker, ..Options::default() }, crashes: Cell::new(0) }
    }

    /// What LLVM reads in each piece of code.
    pub fn disassemble(&self, pieces: &[Vec<u8>]) -> Vec<DisassembledLine> {
        let slots: Vec<[u8; MAX_SIZE_BYTES]> = pieces
            .iter()
            .map(|piece| {
                let mut slot = [0; MAX_SIZE_BYTES];
                slot[..piece.len()].copy_from_slice(piece);
                slot
            })
            .collect();
        self.disassemble_slots(&slots)
    }

    /// LLVM crashes on some bytes: the piece on which it does is found by halving and has no text.
    fn disassemble_slots(&self, slots: &[[u8; MAX_SIZE_BYTES]]) -> Vec<DisassembledLine> {
        match disassemble_each(self.target, slots, &self.options) {
            Ok(lines) => lines,
            Err(Cause::Crashed { .. }) if slots.len() == 1 => {
                self.crashes.set(self.crashes.get() + 1);
                vec![DisassembledLine { size_bytes: 4, text: None }]
            }
            Err(Cause::Crashed { .. }) => {
                let (first, second) = slots.split_at(slots.len() / 2);
                [self.disassemble_slots(first), self.disassemble_slots(second)].concat()
            }
            Err(cause) => panic!("{}: {cause}", self.target),
        }
    }

    /// What LLVM makes of each line; one on which it crashes is found by halving.
    pub fn assemble(&self, lines: &[String]) -> Vec<AssembledLine> {
        match assemble_lines(self.target, &lines.join("\n"), &self.options) {
            Ok(lines) => lines,
            Err(Cause::Crashed { .. }) if lines.len() == 1 => {
                self.crashes.set(self.crashes.get() + 1);
                let message = "LLVM crashed".to_owned();
                vec![Err(Diagnostic { line: 1, column: 1, message })]
            }
            Err(Cause::Crashed { .. }) => {
                let (first, second) = lines.split_at(lines.len() / 2);
                [self.assemble(first), self.assemble(second)].concat()
            }
            Err(cause) => panic!("{}: {cause}", self.target),
        }
    }
}

/// One case in which LLVM and the tables differ.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The target.
    pub target: Target,
    /// The bytes in question.
    pub bytes: Vec<u8>,
    /// What the tables say: a text, or why the bytes are no instruction.
    pub ours: String,
    /// What LLVM says of the same.
    pub llvm: String,
    /// Which comparison failed.
    pub kind: Kind,
}

/// A comparison between the tables and LLVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The texts of the same bytes.
    Text,
    /// The sizes of the same bytes.
    Size,
    /// LLVM's bytes of the text.
    Bytes,
    /// The tables take what LLVM refuses.
    OnlyWeAccept,
    /// LLVM takes, and writes again, what the tables refuse.
    OnlyLlvmAccepts,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: String = self.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        write!(
            f,
            "{} {:?} {bytes}\n     ours: {}\n     LLVM: {}",
            self.target, self.kind, self.ours, self.llvm
        )
    }
}
