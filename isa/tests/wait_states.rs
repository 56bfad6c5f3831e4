//! Wait states against LLVM 22's hazard recogniser, line by line.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use isa::Target;
use isa::fragment::Shape;
use isa::table::Matrix;
use isa::table::Op;
use isa::table::Row;
use isa::wait_states::Consumer;
use isa::wait_states::MatrixTiming;
use isa::wait_states::MatrixUse;
use isa::wait_states::Producer;
use isa::wait_states::Remedy;
use isa::wait_states::after_matrix;
use isa::wait_states::remedy;
use isa::wait_states::rows;
use wavesmith_isa as isa;

/// A line of the witness: producer, consumer, states, what was inserted besides.
struct Line {
    producer: &'static str,
    consumer: &'static str,
    states: u32,
    inserted: &'static str,
}

fn witness(target: Target) -> Vec<Line> {
    let file = include_str!("vectors/wait_states_llvm22.txt");
    let section = format!("===== {}", target.name());
    let mut producer = "";
    let mut lines = Vec::new();
    let inside = file.lines().skip_while(|line| *line != section).skip(1);
    for line in inside.take_while(|line| !line.starts_with("=====")) {
        if let Some(name) = line.strip_suffix(':') {
            producer = name;
        } else if !line.trim().is_empty() {
            let (rest, inserted) = line.split_once('[').map_or((line, ""), |(rest, tail)| {
                (rest, tail.trim_end_matches(']').trim_matches('\''))
            });
            let (consumer, states) = rest.trim().rsplit_once(' ').expect("consumer and count");
            let states = states.parse().unwrap_or_else(|_| panic!("'{line}'"));
            lines.push(Line { producer, consumer: consumer.trim(), states, inserted });
        }
    }
    lines
}

fn matrix(row: &Row) -> Matrix {
    let Op::Matrix(op) = row.op else { panic!("{:?}", row.op) };
    op
}

/// The operation that the witness calls "f16 4x4x4 (2p)" or "f64 16x16x4 (DGEMM)".
fn operation(name: &str) -> Option<Matrix> {
    let (element, extents) = name.split_once(' ')?;
    let (extents, _) = extents.split_once(' ')?;
    let result = if element == "f64" { "f64" } else { "f32" };
    // Blocks of the smallest shapes go without saying.
    let blocks = match (extents, element) {
        ("4x4x4", "f64") => "_4b",
        ("4x4x4" | "4x4x1", _) => "_16b",
        _ => "",
    };
    let mnemonic = format!("v_mfma_{result}_{extents}{blocks}_{element}");
    let mut found =
        Matrix::ROWS.iter().filter(|row| row.gfx950.is_some_and(|form| form.mnemonic == mnemonic));
    found.next().map(matrix)
}

fn registers(op: Matrix) -> u32 {
    op.row().operands[0].ty.bits(Target::Gfx950) / 32
}

/// What a consumer of the witness does with the registers of `producer`.
fn matrix_use(producer: Matrix, consumer: &str) -> MatrixUse {
    let Some(next) = consumer.strip_prefix("-> ") else {
        return match consumer {
            "VALU read D (RAW)" | "same MFMA SrcA=D" => MatrixUse::ReadResult,
            "VALU write D (WAW)" | "global_load into D (WAW)" => MatrixUse::WriteResult,
            "global_store data=D" | "ds_write data=D" => MatrixUse::StoreResult,
            "VALU write SrcC!=D (WAR)" => MatrixUse::OverwriteAddend,
            "VALU write SrcA (WAR)" => MatrixUse::OverwriteFactor,
            "same MFMA SrcC=D exact" => MatrixUse::AccumulateSame,
            other => panic!("'{other}'"),
        };
    };
    if next.ends_with("SrcA=D") {
        return MatrixUse::ReadResult;
    }
    let name = next.strip_suffix(" SrcC overlaps D").expect("an overlap");
    let next = operation(name).unwrap_or_else(|| panic!("'{name}'"));
    // Both tuples start at one register: of equal length they are the same.
    if registers(next) == registers(producer) {
        return MatrixUse::AccumulateSame;
    }
    MatrixUse::AccumulateOverlap(MatrixTiming::of(next).expect("dense"))
}

#[test]
fn matrix_results_of_gfx950() {
    let mut n_checked = 0;
    for line in witness(Target::Gfx950) {
        let Some(producer) = operation(line.producer) else { continue };
        let timing = MatrixTiming::of(producer).expect("dense");
        let states = after_matrix(timing, matrix_use(producer, line.consumer));
        assert_eq!(states, line.states, "{} then {}", line.producer, line.consumer);
        n_checked += 1;
    }
    assert_eq!(n_checked, 11 * 29, "eleven producers with 9 plain and 20 matrix consumers");
}

/// Every dense MFMA, stored right after.
#[test]
fn stores_of_every_matrix_result() {
    let file = include_str!("vectors/matrix_passes_llvm22.txt");
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let witness: BTreeMap<&str, u32> = lines
        .map(|line| line.split_once(' ').expect("mnemonic and count"))
        .map(|(mnemonic, states)| (mnemonic, states.parse().expect("a count")))
        .collect();
    let dense = Matrix::ROWS.iter().filter(|row| Shape::of(matrix(row)).is_some());
    let ours: BTreeMap<&str, u32> = dense
        .filter_map(|row| {
            let timing = MatrixTiming::of(matrix(row))?;
            Some((row.gfx950?.mnemonic, after_matrix(timing, MatrixUse::StoreResult)))
        })
        .collect();
    assert_eq!(ours, witness);
}

/// The row that a line of the witness is about; `None` for lines about matrix results.
fn pair(line: &Line) -> Option<(Producer, Consumer)> {
    Some(match (line.producer, line.consumer) {
        ("VALU write VGPR", "MFMA SrcA read") => (Producer::ValuVgpr, Consumer::MatrixFactor),
        ("VALU write VGPR", "MFMA SrcC read") => (Producer::ValuVgpr, Consumer::MatrixAddend),
        ("v_accvgpr_write", _) => (Producer::AccvgprWrite, Consumer::MatrixAddend),
        ("trans (v_exp) write", "VALU read") => (Producer::Trans, Consumer::ValuRead),
        ("trans (v_exp) write", "trans read") => (Producer::Trans, Consumer::TransRead),
        ("v_cvt_f16 sdwa/opsel dst write", _) => (Producer::ValuPartialVgpr, Consumer::ValuRead),
        ("VALU write VGPR", "v_readlane/readfirstlane of it") => {
            (Producer::ValuVgpr, Consumer::ReadLane)
        }
        ("VALU write VGPR", "DPP read") => (Producer::ValuVgpr, Consumer::Dpp),
        ("VALU write VGPR", "v_permlane32_swap") => (Producer::ValuVgpr, Consumer::PermlaneSwap),
        ("VALU write SGPR (readfirstlane)", _) => (Producer::ValuSgpr, Consumer::VmemAddress),
        ("VALU write SGPR", "v_readlane lane select") => (Producer::ValuSgpr, Consumer::LaneSelect),
        ("VALU write SGPR/VCC" | "v_cmp write VCC", _) => {
            (Producer::ValuSgpr, Consumer::ValuConstant)
        }
        ("v_div_scale write VCC", _) => (Producer::DivScaleVcc, Consumer::DivFmas),
        ("VALU (v_cmpx) write EXEC", _) => (Producer::ValuExec, Consumer::Dpp),
        ("SALU write EXEC", _) => (Producer::SaluExec, Consumer::Dpp),
        ("global_store_dwordx4 data", _) => (Producer::WideStore, Consumer::ValuOverwrite),
        ("global_store_dwordx2 data", _) => (Producer::NarrowStore, Consumer::ValuOverwrite),
        ("s_setreg", _) => (Producer::Setreg, Consumer::Getreg),
        ("SALU write M0", _) => (Producer::SaluM0, Consumer::LoadToLds),
        ("WMMA D", "WMMA SrcA=D") => (Producer::Wmma, Consumer::WmmaFactor),
        ("WMMA D", "WMMA SrcC=D") => (Producer::Wmma, Consumer::WmmaAddend),
        _ => return None,
    })
}

/// What the recogniser did, as a remedy.
fn inserted(line: &Line) -> Remedy {
    match line.inserted {
        "" => Remedy::States(line.states),
        "V_NOP_e32" => Remedy::ValuBetween,
        wait => {
            let imm = wait.strip_prefix("S_WAITCNT_DEPCTR ").and_then(|imm| imm.parse().ok());
            Remedy::WaitDepctr(imm.unwrap_or_else(|| panic!("'{wait}'")))
        }
    }
}

#[test]
fn every_row_has_a_witness_and_agrees_with_it() {
    for target in Target::ALL {
        let mut seen = BTreeSet::new();
        for line in witness(target) {
            let Some((producer, consumer)) = pair(&line) else { continue };
            let got = remedy(target, producer, consumer);
            let is_interlocked = got.is_none() && inserted(&line) == Remedy::States(0);
            assert!(
                is_interlocked || got == Some(inserted(&line)),
                "{target}: {} then {}: {got:?}",
                line.producer,
                line.consumer
            );
            seen.insert((producer, consumer));
        }
        for row in rows(target) {
            assert!(seen.contains(&(row.producer, row.consumer)), "{target}: no witness: {row:?}");
        }
    }
}

/// Everything that the recogniser inserts on a target is in a row.
#[test]
fn no_line_of_the_witness_is_left_out() {
    for target in Target::ALL {
        for line in witness(target) {
            let is_matrix = operation(line.producer).is_some() || line.producer == "v_mfma 4p";
            let is_nothing = inserted(&line) == Remedy::States(0);
            assert!(
                is_matrix || is_nothing || pair(&line).is_some(),
                "{target}: {} then {}",
                line.producer,
                line.consumer
            );
        }
    }
}
