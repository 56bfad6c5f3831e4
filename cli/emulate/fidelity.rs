//! How far the instructions of a kernel can be trusted on the emulator.

use std::collections::{BTreeMap, BTreeSet};

use codeobj::{CodeObject, Kernel};
use emulator::Numerics;
use emulator::fidelity::{Approximation, Bound, Fidelity, fidelity};
use isa::{Op, Target};
use serde::Serialize;

/// The instructions of a kernel's code by how far their results can be trusted, by mnemonic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// The bits are what manuals and IEEE 754 define.
    pub exact: BTreeSet<String>,
    /// The bits are within a bound of hardware's.
    pub approximate: BTreeMap<String, Approximate>,
    /// The emulator refuses them.
    pub unsupported: BTreeSet<String>,
    /// Dwords that are no instruction of the target's tables.
    pub undecodable_dwords: u64,
}

/// An approximate instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approximate {
    /// How close its results are.
    pub bound: Bound,
    /// Whether the run executed it.
    pub executed: bool,
}

/// Sorts the instructions of a kernel's code, up to its symbol's size, and those that a run executed.
pub fn trust(
    object: &CodeObject,
    kernel: &Kernel,
    executed: &[Approximation],
    numerics: Numerics,
) -> Trust {
    let mut trust = Trust::default();
    let mut rest = object.code(kernel).unwrap_or_default();
    while !rest.is_empty() {
        let size = match isa::decode(object.target, rest) {
            Ok(inst) => {
                let text = isa::disassemble(object.target, &inst);
                let ops = std::iter::once(inst.op).chain(inst.dual.map(|dual| dual.op));
                for op in ops {
                    let mnemonic = mnemonic(op, object.target, &text);
                    trust.add(mnemonic, fidelity(op, numerics));
                }
                usize::from(inst.size_bytes)
            }
            Err(_) => {
                trust.undecodable_dwords += 1;
                4
            }
        };
        rest = rest.get(size..).unwrap_or_default();
    }
    executed.iter().for_each(|approximation| trust.add_executed(approximation));
    trust
}

/// The full mnemonic: rows of memory instructions leave out the segment, which the text has.
fn mnemonic(op: Op, target: Target, text: &str) -> String {
    let row = op.row().form(target).map_or("", |form| form.mnemonic);
    let shown = text.split_whitespace().next().unwrap_or_default();
    if shown.ends_with(row) { shown.to_owned() } else { row.to_owned() }
}

impl Trust {
    fn add(&mut self, mnemonic: String, fidelity: Fidelity) {
        match fidelity {
            Fidelity::Exact => {
                self.exact.insert(mnemonic);
            }
            Fidelity::Approximate(bound) => {
                self.approximate.insert(mnemonic, Approximate { bound, executed: false });
            }
            Fidelity::Unsupported => {
                self.unsupported.insert(mnemonic);
            }
        }
    }

    /// Marks an instruction as executed; it may be one of a called function.
    fn add_executed(&mut self, Approximation { mnemonic, bound }: &Approximation) {
        let segment = format!("_{mnemonic}");
        let mut known = false;
        for (name, approximate) in &mut self.approximate {
            if name == mnemonic || name.ends_with(&segment) {
                approximate.executed = true;
                known = true;
            }
        }
        if !known {
            let entry = Approximate { bound: *bound, executed: true };
            self.approximate.insert(mnemonic.clone(), entry);
        }
    }
}
