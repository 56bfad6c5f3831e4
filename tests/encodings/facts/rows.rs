//! Rows and layouts against LLVM's texts of random instances.
//!
//! The check does not use our encoder or disassembler on what it checks: it reads the registers that LLVM
//! prints and looks for their numbers in the bits that the row and the layout name.

use isa::format::{Bits, Encoding, Field, Layout, layout};
use isa::table::{OperandSpec, Row, Ty};
use isa::{Target, encode};

use super::{Checked, must_report};
use crate::instances::{Extension, Random, instance, shapes};
use crate::witness::Witness;

const SEED: u64 = 0x5eed_0002;
const SAMPLES: usize = 4;

/// One instance of a row, as LLVM reads it.
struct Sample {
    encoding: Encoding,
    words: u128,
    text: String,
}

/// Instances of a row in every encoding, without DPP and SDWA.
fn samples(witness: &Witness, row: &Row) -> Vec<Sample> {
    let mut random = Random::new(SEED, &format!("{:?}", row.op));
    let mut encodings = Vec::new();
    let mut pieces = Vec::new();
    for shape in
        shapes(row, witness.target).into_iter().filter(|(_, kind)| *kind == Extension::Plain)
    {
        let found = (0..SAMPLES).map_while(|_| instance(witness.target, row, shape, &mut random));
        for inst in found {
            encodings.push(inst.encoding);
            pieces.push(encode(witness.target, &inst).expect("the generator asked").to_vec());
        }
    }
    let texts = witness.disassemble(&pieces).into_iter().map(|line| line.text.unwrap_or_default());
    let whole = pieces.into_iter().map(|mut piece| {
        piece.resize(16, 0);
        u128::from_le_bytes(piece.try_into().expect("16 bytes"))
    });
    let all = encodings.into_iter().zip(whole).zip(texts);
    all.map(|((encoding, words), text)| Sample { encoding, words, text }).collect()
}

/// A register in LLVM's text: its class, its number, how many follow from it.
fn register(token: &str) -> Option<(char, u32, u32)> {
    let plain = token.trim_matches(|c| "-|".contains(c));
    let plain = plain.strip_suffix(".l").or(plain.strip_suffix(".h")).unwrap_or(plain);
    let class = plain.chars().next().filter(|class| "vsa".contains(*class))?;
    let rest = &plain[1..];
    if let Some(range) = rest.strip_prefix('[').and_then(|range| range.strip_suffix(']')) {
        let (first, last) = range.split_once(':')?;
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        return Some((class, first, last + 1 - first));
    }
    Some((class, rest.parse().ok()?, 1))
}

/// The operands of a text; the last may be followed by modifiers.
fn operands(text: &str) -> Vec<&str> {
    let Some((_, rest)) = text.split_once(' ') else { return Vec::new() };
    rest.split(", ").map(|operand| operand.split(' ').next().unwrap_or_default()).collect()
}

/// Where a field of a row lies in a layout, as the documentation of [`Field`] says.
fn place(layout: &Layout, field: Field) -> Option<Bits> {
    let stands_for = match field {
        Field::Sdst => Field::Vdst,
        Field::Vsrc0 | Field::Ssrc0 => Field::Src0,
        Field::Ssrc1 => Field::Src1,
        Field::Ssrc2 => Field::Src2,
        other => other,
    };
    layout.field(field).or_else(|| layout.field(stands_for))
}

/// What the bits of a field must hold for a register.
fn code(spec: OperandSpec, bits: Bits, (class, number, _): (char, u32, u32)) -> u32 {
    match (spec.field, class) {
        (Field::Sbase, _) => number / 2,
        (Field::Srsrc, _) => number / 4,
        (_, 'v' | 'a') if bits.width == 9 => 256 + number,
        _ => number,
    }
}

/// Opcode, mnemonic, operand order, operand widths and places of one row.
fn check_row(target: Target, row: &Row, samples: &[Sample]) -> Checked {
    let form = row.form(target).ok_or("no form")?;
    // LLVM does not read narrow f8f6f4 fragments at the end of the register file.
    let is_read = |sample: &&Sample| !sample.text.is_empty() && !sample.text.contains("_ld_scale_");
    let own = samples.iter().filter(|sample| sample.encoding == form.encoding).filter(is_read);
    let mut n_checked = 0;
    for sample in own {
        let layout = layout(target, sample.encoding).ok_or("no layout")?;
        let opcode = layout.opcode.get(sample.words);
        if opcode != u32::from(form.opcode) {
            return Err(format!("opcode {:#x}, LLVM's {opcode:#x}: {}", form.opcode, sample.text));
        }
        let mnemonic = sample.text.split(' ').next().unwrap_or_default();
        if !mnemonic.contains(form.mnemonic) {
            return Err(format!("mnemonic {}, LLVM's {mnemonic}", form.mnemonic));
        }
        n_checked += 1;
        check_operands(target, row, layout, sample)?;
    }
    if n_checked == 0 { Err(format!("no sample of {}", form.mnemonic)) } else { Ok(()) }
}

/// Whether the text has one operand a row: none is hidden or left out.
fn is_complete(row: &Row, text: &str) -> bool {
    operands(text).len() == row.operands.len()
}

fn check_operands(target: Target, row: &Row, layout: &Layout, sample: &Sample) -> Checked {
    if !is_complete(row, &sample.text) {
        return Ok(());
    }
    for (spec, token) in row.operands.iter().zip(operands(&sample.text)) {
        let Some(found) = register(token) else { continue };
        let is_fixed = !matches!(spec.ty, Ty::VAddr | Ty::SAddr | Ty::BAddr | Ty::MxA | Ty::MxB);
        let registers = spec.ty.bits(target).div_ceil(32);
        if is_fixed && registers != found.2 {
            return Err(format!("{:?} has {registers} registers: {}", spec.field, sample.text));
        }
        // The offset register of scalar loads has three places; tests/encodings compares whole bytes.
        let is_placed = layout.encoding != Encoding::Smem || spec.field != Field::Soffset;
        let Some(bits) = place(layout, spec.field).filter(|_| is_placed) else { continue };
        let half = if spec.ty.is_16_bit() && bits.width >= 8 { 0x80 } else { 0 };
        let (got, wanted) = (bits.get(sample.words), code(*spec, bits, found));
        if got & !half != wanted & !half {
            return Err(format!("{:?} holds {got}, not {wanted}: {}", spec.field, sample.text));
        }
    }
    Ok(())
}

/// One-bit modifiers and the word that LLVM prints for each.
const FLAGS: [(Field, &str); 10] = [
    (Field::Clamp, "clamp"),
    (Field::Glc, "glc"),
    (Field::Slc, "slc"),
    (Field::Dlc, "dlc"),
    (Field::Sc0, "sc0"),
    (Field::Sc1, "sc1"),
    (Field::Nt, "nt"),
    (Field::Offen, "offen"),
    (Field::Idxen, "idxen"),
    (Field::LdsBit, "lds"),
];

/// The modifier bits of a layout: set exactly where LLVM prints the word.
fn check_layout(layout: &Layout, samples: &[Sample]) -> Checked {
    for sample in samples.iter().filter(|sample| sample.encoding == layout.encoding) {
        for (field, word) in FLAGS {
            let Some(bits) = layout.field(field) else { continue };
            let (is_set, is_said) =
                (bits.get(sample.words) == 1, sample.text.split(' ').any(|said| said == word));
            if is_set != is_said {
                return Err(format!("{word} at bit {} is {is_set}: {}", bits.low, sample.text));
            }
        }
    }
    Ok(())
}

fn check_all(target: Target) {
    let witness = Witness::new(target);
    let mut all = Vec::new();
    for row in isa::table::Op::rows().filter(|row| row.form(target).is_some()) {
        let samples = samples(&witness, row);
        check_row(target, row, &samples).unwrap_or_else(|words| panic!("{:?}: {words}", row.op));
        all.extend(samples);
    }
    for layout in isa::format::layouts(target) {
        check_layout(layout, &all).unwrap_or_else(|words| panic!("{:?}: {words}", layout.encoding));
    }
}

#[test]
fn rows_and_layouts_of_gfx950_agree_with_llvm() {
    check_all(Target::Gfx950);
}

#[test]
fn rows_and_layouts_of_gfx1100_agree_with_llvm() {
    check_all(Target::Gfx1100);
}

/// A copy of a row with other operands.
fn with_operands(row: &Row, change: impl Fn(&mut Vec<OperandSpec>)) -> Row {
    let mut operands = row.operands.to_vec();
    change(&mut operands);
    Row { operands: operands.leak(), ..*row }
}

#[test]
fn a_planted_error_in_a_row_is_reported() {
    for target in Target::ALL {
        let witness = Witness::new(target);
        let row = isa::table::Op::Float(isa::table::Float::VAddF32).row();
        let samples = samples(&witness, row);
        check_row(target, row, &samples).expect("the row is right");
        let mut opcode = *row;
        let form = if target == Target::Gfx950 { &mut opcode.gfx950 } else { &mut opcode.gfx1100 };
        form.as_mut().expect("both targets have it").opcode ^= 1;
        must_report("opcode", check_row(target, &opcode, &samples), "opcode");
        let order = with_operands(row, |operands| operands.swap(1, 2));
        must_report("operand order", check_row(target, &order, &samples), "holds");
        let width = with_operands(row, |operands| operands[2].ty = Ty::F64);
        must_report("operand type", check_row(target, &width, &samples), "registers");
        let mut mnemonic = *row;
        let form =
            if target == Target::Gfx950 { &mut mnemonic.gfx950 } else { &mut mnemonic.gfx1100 };
        form.as_mut().expect("both targets have it").mnemonic = "v_sub_f32";
        must_report("mnemonic", check_row(target, &mnemonic, &samples), "mnemonic");
    }
}

#[test]
fn a_planted_error_in_a_layout_is_reported() {
    for target in Target::ALL {
        let witness = Witness::new(target);
        let floats = isa::table::Float::ROWS.iter().filter(|row| row.form(target).is_some());
        let samples: Vec<_> = floats.take(8).flat_map(|row| samples(&witness, row)).collect();
        let right = layout(target, Encoding::Vop3).expect("both targets have it");
        check_layout(right, &samples).expect("the layout is right");
        let mut fields = right.fields.to_vec();
        for (field, bits) in &mut fields {
            if *field == Field::Clamp {
                bits.low -= 1;
            }
        }
        let wrong = Layout { fields: fields.leak(), ..*right };
        must_report("modifier bit", check_layout(&wrong, &samples), "clamp");
    }
}
