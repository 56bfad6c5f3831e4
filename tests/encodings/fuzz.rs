//! Random bytes, read by LLVM and by our decoder: what one takes the other must take, with one text.
//!
//! LLVM's disassembler ignores bits that an instruction does not use; ours refuses them. So where only
//! LLVM reads an instruction, its text is assembled again: only if that gives the same bytes are they an
//! instruction that the tables lack.

use std::collections::BTreeSet;

use isa::decode::DecodeError;
use isa::format::{Encoding, Layout, layout, layouts};
use isa::table::{Op, dual};
use isa::{Target, decode, disassemble};

use crate::instances::Random;
use crate::instances_of_rows;
use crate::witness::{Divergence, Kind, Witness};

/// What came of the comparison.
pub struct Outcome {
    /// Pieces of code compared.
    pub cases: usize,
    /// Where LLVM differs.
    pub divergences: Vec<Divergence>,
    /// Pieces that both take.
    pub both_accept: usize,
    /// Pieces that both refuse.
    pub both_refuse: usize,
    /// Pieces that LLVM takes with bits that its own assembler does not write.
    pub ignored_bits: usize,
    /// Pieces in which LLVM reads an instruction that is in no row.
    pub no_row: usize,
}

impl Outcome {
    /// The counts in words.
    pub fn summary(&self) -> String {
        format!(
            "{} pieces: {} accepted by both, {} refused by both, {} with bits that LLVM ignores, {} of no row",
            self.cases, self.both_accept, self.both_refuse, self.ignored_bits, self.no_row
        )
    }
}

/// Compares `count` pieces of random bytes, and as many instances with one or two bits changed.
pub fn check(witness: &Witness, seed: u64, count: usize) -> Outcome {
    let target = witness.target;
    let mut random = Random::new(seed, "bytes");
    let mut pieces: Vec<_> = (0..count).map(|_| sparse(target, &mut random)).collect();
    let instances = instances_of_rows::bytes(target, seed);
    pieces.extend((0..count).map(|_| flipped(random.pick(&instances).clone(), &mut random)));
    pieces.retain(|piece| !crashes_llvm(target, piece));
    compare(witness, &pieces)
}

/// LLVM's disassembler crashes on many malformed matrix instructions (scalar fragments, formats that do not
/// fit their registers), so it is not asked about those that the tables refuse.
fn crashes_llvm(target: Target, piece: &[u8]) -> bool {
    let mut words = [0; 16];
    words[..piece.len()].copy_from_slice(piece);
    let words = u128::from_le_bytes(words);
    let matches = |layout: &Layout| words & layout.prefix_mask == layout.prefix;
    let is_scaled = layout(target, Encoding::Vop3pMx).is_some_and(matches);
    // The packed operations of the same format have other opcodes.
    let is_matrix = layout(target, Encoding::Vop3pMai).is_some_and(|layout| {
        matches(layout) && matches!(layout.opcode.get(words), 0x2d | 0x2e | 0x34..)
    });
    (is_scaled || is_matrix) && decode(target, piece).is_err()
}

/// Few random bits around the identifying bits of a format and a random opcode.
fn sparse(target: Target, random: &mut Random) -> Vec<u8> {
    let layout = *random.pick(&layouts(target).iter().collect::<Vec<_>>());
    let bits = |random: &mut Random| u128::from(random.bits()) << 64 | u128::from(random.bits());
    let (fields, sparse) = (bits(random), bits(random));
    let inside = !layout.prefix_mask & !layout.opcode.mask();
    let words = layout.prefix | layout.opcode.put(random.bits() as u32) | fields & sparse & inside;
    words.to_le_bytes().to_vec()
}

fn flipped(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..=random.below(2) {
        let bit = random.below(8 * bytes.len() as u32) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    bytes.resize(16, 0);
    bytes
}

fn compare(witness: &Witness, pieces: &[Vec<u8>]) -> Outcome {
    let target = witness.target;
    let mut outcome = Outcome {
        cases: pieces.len(),
        divergences: Vec::new(),
        both_accept: 0,
        both_refuse: 0,
        ignored_bits: 0,
        no_row: 0,
    };
    let mut only_llvm = Vec::new();
    for (piece, read) in pieces.iter().zip(witness.disassemble(pieces)) {
        let size = read.size_bytes as usize;
        match (decode(target, piece), read.text) {
            (Ok(inst), llvm) => {
                let ours = disassemble(target, &inst);
                outcome.both_accept += usize::from(llvm.as_ref() == Some(&ours));
                let bytes = piece[..usize::from(inst.size_bytes)].to_vec();
                let divergence =
                    |kind, llvm| Divergence { target, bytes, ours: ours.clone(), llvm, kind };
                match llvm {
                    None => outcome
                        .divergences
                        .push(divergence(Kind::OnlyWeAccept, "no instruction".to_owned())),
                    Some(text) if text != ours => {
                        outcome.divergences.push(divergence(Kind::Text, text));
                    }
                    Some(_) if size != usize::from(inst.size_bytes) => {
                        outcome.divergences.push(divergence(Kind::Size, format!("{size} bytes")))
                    }
                    Some(_) => {}
                }
            }
            (Err(error), Some(text)) => only_llvm.push((piece[..size].to_vec(), error, text)),
            (Err(_), None) => outcome.both_refuse += 1,
        }
    }
    judge_only_llvm(witness, only_llvm, &mut outcome);
    outcome
}

/// Sorts what only LLVM reads.
fn judge_only_llvm(
    witness: &Witness,
    pieces: Vec<(Vec<u8>, DecodeError, String)>,
    outcome: &mut Outcome,
) {
    let target = witness.target;
    let known = mnemonics(target);
    let lines: Vec<_> = pieces.iter().map(|(_, _, text)| text.clone()).collect();
    for ((bytes, error, text), again) in pieces.into_iter().zip(witness.assemble(&lines)) {
        if again.as_ref() != Ok(&bytes) {
            outcome.ignored_bits += 1;
        } else if !text.split(" :: ").all(|half| known.contains(base(half))) {
            outcome.no_row += 1;
        } else {
            let kind = Kind::OnlyLlvmAccepts;
            let ours = error.to_string();
            outcome.divergences.push(Divergence { target, bytes, ours, llvm: text, kind });
        }
    }
}

/// The mnemonic of a text without form suffix.
fn base(text: &str) -> &str {
    let mnemonic = text.split_whitespace().next().unwrap_or_default();
    let suffixes = ["_e64_dpp", "_dpp", "_sdwa", "_e32", "_e64"];
    suffixes.iter().find_map(|suffix| mnemonic.strip_suffix(suffix)).unwrap_or(mnemonic)
}

/// Every mnemonic of the target's rows.
fn mnemonics(target: Target) -> BTreeSet<String> {
    let mut known: BTreeSet<String> =
        dual::ROWS.iter().map(|row| row.mnemonic.to_owned()).collect();
    for form in Op::rows().filter_map(|row| row.form(target)) {
        known.insert(form.mnemonic.to_owned());
        known.extend(
            ["flat_", "global_", "scratch_"].map(|segment| format!("{segment}{}", form.mnemonic)),
        );
    }
    known
}
