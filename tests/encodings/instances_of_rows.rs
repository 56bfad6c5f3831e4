//! Every row in every shape: encoded by us, read by LLVM, and our text assembled by LLVM.

use std::collections::BTreeSet;

use emit::llvm::protocol::{AssembledLine, DisassembledLine};
use isa::table::{Op, dual};
use isa::{Inst, Target, decode, disassemble, encode};

use crate::instances::{Random, dual_instance, instance, shapes};
use crate::witness::{Divergence, Kind, Witness};

/// What came of the comparison.
pub struct Outcome {
    /// Instances compared.
    pub cases: usize,
    /// Where LLVM differs.
    pub divergences: Vec<Divergence>,
    /// Rows of the target without an instance on which LLVM agrees in everything.
    pub unwitnessed: Vec<String>,
}

struct Case {
    name: String,
    bytes: Vec<u8>,
    text: String,
}

/// Compares `per_shape` instances of every shape of every row.
pub fn check(witness: &Witness, seed: u64, per_shape: usize) -> Outcome {
    let cases = cases(witness.target, seed, per_shape);
    let read =
        witness.disassemble(&cases.iter().map(|case| case.bytes.clone()).collect::<Vec<_>>());
    let written = witness.assemble(&cases.iter().map(|case| case.text.clone()).collect::<Vec<_>>());
    assert_eq!((read.len(), written.len()), (cases.len(), cases.len()));
    let mut divergences = Vec::new();
    let mut confirmed = BTreeSet::new();
    for ((case, read), written) in cases.iter().zip(&read).zip(&written) {
        let found = differences(witness.target, case, read, written);
        if found.is_empty() {
            confirmed.insert(case.name.clone());
        }
        divergences.extend(found);
    }
    let unwitnessed = names(witness.target).filter(|name| !confirmed.contains(name)).collect();
    Outcome { cases: cases.len(), divergences, unwitnessed }
}

/// Rows, and halves of dual issue, that a target has.
fn names(target: Target) -> impl Iterator<Item = String> {
    let rows = Op::rows().filter(move |row| row.form(target).is_some());
    let halves = dual::ROWS.iter().filter(move |_| target == Target::Gfx1100);
    rows.map(|row| format!("{:?}", row.op)).chain(halves.map(|half| half.mnemonic.to_owned()))
}

fn cases(target: Target, seed: u64, per_shape: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for row in Op::rows().filter(|row| row.form(target).is_some()) {
        let name = format!("{:?}", row.op);
        let mut random = Random::new(seed, &name);
        for shape in shapes(row, target) {
            // A shape that yields nothing at first does not exist.
            let all = (0..per_shape).map_while(|_| instance(target, row, shape, &mut random));
            cases.extend(all.map(|inst| case(target, name.clone(), &inst)));
        }
    }
    if target == Target::Gfx1100 {
        cases.extend(dual_cases(target, seed, per_shape));
    }
    cases
}

/// Every operation of dual issue as Y, with every one that may be X.
fn dual_cases(target: Target, seed: u64, per_pair: usize) -> Vec<Case> {
    let mut random = Random::new(seed, "dual");
    let mut cases = Vec::new();
    for y in &dual::ROWS {
        for x in dual::ROWS.iter().filter(|x| x.in_x) {
            let pairs = (0..per_pair).filter_map(|_| dual_instance(target, x, y, &mut random));
            cases.extend(pairs.map(|inst| case(target, y.mnemonic.to_owned(), &inst)));
        }
    }
    cases
}

/// The instance by its bytes; decoding them must give it back.
fn case(target: Target, name: String, inst: &Inst) -> Case {
    let bytes = encode(target, inst).unwrap_or_else(|error| panic!("{name}: {error}")).to_vec();
    assert_eq!(decode(target, &bytes).as_ref(), Ok(inst), "{name}: the round trip");
    Case { name, bytes, text: disassemble(target, inst) }
}

fn differences(
    target: Target,
    case: &Case,
    read: &DisassembledLine,
    written: &AssembledLine,
) -> Vec<Divergence> {
    let divergence = |kind, llvm: String| Divergence {
        target,
        bytes: case.bytes.clone(),
        ours: case.text.clone(),
        llvm,
        kind,
    };
    let mut found = Vec::new();
    match &read.text {
        None => found.push(divergence(Kind::OnlyWeAccept, "no instruction".to_owned())),
        Some(text) if *text != case.text => found.push(divergence(Kind::Text, text.clone())),
        Some(_) if read.size_bytes as usize != case.bytes.len() => {
            found.push(divergence(Kind::Size, format!("{} bytes", read.size_bytes)));
        }
        Some(_) => {}
    }
    match written {
        Ok(bytes) if *bytes == case.bytes => {}
        Ok(bytes) => found.push(divergence(Kind::Bytes, format!("{bytes:02x?}"))),
        Err(complaint) => found.push(divergence(Kind::Bytes, complaint.to_string())),
    }
    found
}

/// Bytes of random instances of every row, for whoever wants to change them.
pub fn bytes(target: Target, seed: u64) -> Vec<Vec<u8>> {
    cases(target, seed, 2).into_iter().map(|case| case.bytes).collect()
}
