//! LLVM 22's encodings and texts: every line decodes to its text and encodes back to its bytes, and every
//! row has a line on each target that has it.

use std::collections::BTreeSet;

use isa::Target;
use isa::decode;
use isa::disassemble;
use isa::encode;
use isa::table::Op;
use wavesmith_isa as isa;

struct Vector {
    line: usize,
    bytes: Vec<u8>,
    text: &'static str,
}

fn vectors(target: Target) -> Vec<Vector> {
    let file = match target {
        Target::Gfx950 => include_str!("vectors/gfx950.txt"),
        Target::Gfx1100 => include_str!("vectors/gfx1100.txt"),
    };
    let lines = file.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    lines.map(|(index, line)| parse(index + 1, line)).collect()
}

fn parse(line: usize, content: &'static str) -> Vector {
    let (hex, text) =
        content.split_once(" ; ").unwrap_or_else(|| panic!("line {line}: no ' ; ' in '{content}'"));
    let digits = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes = (0..hex.len())
        .step_by(2)
        .map(|at| digits(at).unwrap_or_else(|| panic!("line {line}: bad hex")));
    Vector { line, bytes: bytes.collect(), text }
}

/// What differs from LLVM in one line, if anything does.
fn difference(target: Target, vector: &Vector) -> Option<String> {
    let inst = match decode(target, &vector.bytes) {
        Ok(inst) => inst,
        Err(error) => return Some(format!("wanted {}, got {error}", vector.text)),
    };
    let text = disassemble(target, &inst);
    let encoded = encode(target, &inst).map(isa::encode::Encoded::to_vec);
    if usize::from(inst.size_bytes) != vector.bytes.len() {
        return Some(format!(
            "{text}: size {} bytes, wanted {}",
            inst.size_bytes,
            vector.bytes.len()
        ));
    }
    if text != vector.text {
        return Some(format!("text '{text}', wanted '{}'", vector.text));
    }
    match encoded {
        Ok(bytes) if bytes == vector.bytes => None,
        other => Some(format!("{text}: encoded to {other:02x?}, wanted {:02x?}", vector.bytes)),
    }
}

fn check(target: Target) {
    let vectors = vectors(target);
    let differences: Vec<String> = vectors
        .iter()
        .filter_map(|vector| Some(format!("line {}: {}", vector.line, difference(target, vector)?)))
        .collect();
    let shown = differences.iter().take(60).cloned().collect::<Vec<String>>().join("\n");
    assert!(
        differences.is_empty(),
        "{target}: {} of {} lines differ\n{shown}",
        differences.len(),
        vectors.len()
    );
}

#[test]
fn gfx950_agrees_with_llvm() {
    check(Target::Gfx950);
}

#[test]
fn gfx1100_agrees_with_llvm() {
    check(Target::Gfx1100);
}

#[test]
fn every_row_has_a_vector_on_each_of_its_targets() {
    for target in Target::ALL {
        let mut seen = BTreeSet::new();
        for vector in vectors(target) {
            let inst = decode(target, &vector.bytes)
                .unwrap_or_else(|error| panic!("line {}: {error}", vector.line));
            seen.insert(inst.op);
            seen.extend(inst.dual.map(|dual| dual.op));
        }
        let rows = Op::rows().filter(|row| row.form(target).is_some());
        let missing: Vec<Op> = rows.map(|row| row.op).filter(|op| !seen.contains(op)).collect();
        assert!(missing.is_empty(), "{target}: rows without a vector: {missing:?}");
    }
}
