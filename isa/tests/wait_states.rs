//! Wait states against LLVM 22's hazard recogniser, line by line.

use std::collections::BTreeSet;

use isa::Inst;
use isa::Operand;
use isa::Target;
use isa::fragment::Shape;
use isa::inst::Modifiers;
use isa::table::Flat;
use isa::table::Int;
use isa::table::Lane;
use isa::table::Lds;
use isa::table::Matrix;
use isa::table::Op;
use isa::table::Row;
use isa::table::Salu;
use isa::wait_states;
use isa::wait_states::Consumer;
use isa::wait_states::DRAINING_TRANS;
use isa::wait_states::DRAINING_VALU;
use isa::wait_states::History;
use isa::wait_states::MatrixTiming;
use isa::wait_states::MatrixUse;
use isa::wait_states::Producer;
use isa::wait_states::Profile;
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
        if line.starts_with('#') {
            continue;
        }
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
        if line.consumer.contains(" after ") {
            continue;
        }
        let timing = MatrixTiming::of(producer).expect("dense");
        let states = after_matrix(timing, matrix_use(producer, line.consumer));
        assert_eq!(states, line.states, "{} then {}", line.producer, line.consumer);
        n_checked += 1;
    }
    assert_eq!(n_checked, 11 * 29, "eleven producers with 9 plain and 20 matrix consumers");
}

/// The matrix operation that the witness calls "v_mfma_f32_16x16x128_f8f6f4[4,0]", with that CBSZ and BLGP.
fn instruction(name: &str) -> Inst {
    let (mnemonic, formats) = name.split_once('[').unwrap_or((name, "0,0]"));
    let mut formats = formats.trim_end_matches(']').split(',').map(|text| text.parse().unwrap());
    let has_name = |row: &&Row| row.gfx950.is_some_and(|form| form.mnemonic == mnemonic);
    let row = Matrix::ROWS.iter().find(has_name).unwrap_or_else(|| panic!("'{name}'"));
    let mut mods = Modifiers::default();
    (mods.cbsz, mods.blgp) = (formats.next().unwrap(), formats.next().unwrap());
    let encoding = row.gfx950.expect("just found").encoding;
    Inst { op: row.op, encoding, size_bytes: 8, operands: [Operand::None; 6], mods, dual: None }
}

/// Every dense MFMA, each shape of the sparse ones, and f8f6f4 by format, stored right after.
#[test]
fn stores_of_every_matrix_result() {
    let file = include_str!("vectors/matrix_passes_llvm22.txt");
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let mut dense = BTreeSet::new();
    for (name, states) in lines.map(|line| line.split_once(' ').expect("mnemonic and count")) {
        let inst = instruction(name);
        let timing = MatrixTiming::of_inst(&inst).unwrap_or_else(|| panic!("{name}"));
        let ours = after_matrix(timing, MatrixUse::StoreResult);
        assert_eq!(ours, states.parse().expect("a count"), "{name}");
        dense.insert(inst.op);
    }
    for row in Matrix::ROWS.iter().filter(|row| row.gfx950.is_some()) {
        let is_dense = Shape::of(matrix(row)).is_some();
        assert!(!is_dense || dense.contains(&row.op), "no witness: {:?}", row.op);
    }
}

/// The row that a line of the witness is about; `None` for lines about matrix results.
fn pair(line: &Line) -> Option<(Producer, Consumer)> {
    Some(match (line.producer, line.consumer) {
        ("VALU write VGPR", "MFMA SrcA read") => (Producer::ValuVgpr, Consumer::MatrixFactor),
        ("VALU write VGPR", "MFMA SrcC read") => (Producer::ValuVgpr, Consumer::MatrixAddend),
        ("v_accvgpr_write", _) => (Producer::AccvgprWrite, Consumer::MatrixAddend),
        ("v_mad_f16 op_sel:[0,0,0,1] dst write", "trans read") => {
            (Producer::ValuPartialVgpr, Consumer::TransRead)
        }
        ("v_mad_f16 op_sel:[0,0,0,1] dst write", _) => {
            (Producer::ValuPartialVgpr, Consumer::ValuOverwrite)
        }
        ("v_dot2_f32_f16 write VGPR", "trans read") => (Producer::Dot, Consumer::TransRead),
        ("v_dot2_f32_f16 write VGPR", "VALU overwrites") => {
            (Producer::Dot, Consumer::ValuOverwrite)
        }
        ("v_dot2_f32_f16 write VGPR", "same v_dot SrcC") => (Producer::Dot, Consumer::DotAddend),
        ("v_dot2_f32_f16 write VGPR", "global_store data") => (Producer::Dot, Consumer::MemoryRead),
        ("v_dot2_f32_f16 write VGPR", "global_load into it") => {
            (Producer::Dot, Consumer::MemoryOverwrite)
        }
        ("v_dot2_f32_f16 write VGPR", "MFMA SrcA read") => (Producer::Dot, Consumer::MatrixFactor),
        ("v_dot2_f32_f16 write VGPR", _) => (Producer::Dot, Consumer::ValuRead),
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
        ("v_cmp write VCC", "v_div_fmas") => (Producer::ValuSgpr, Consumer::DivFmas),
        // What the recogniser takes a spill for.
        ("v_writelane of an SGPR, implicit-def of its pair", _) => {
            (Producer::ValuSgpr, Consumer::ValuConstant)
        }
        ("VALU write SGPR/VCC" | "v_cmp write VCC", _) => {
            (Producer::ValuSgpr, Consumer::ValuConstant)
        }
        ("v_div_scale write VCC", _) => (Producer::DivScaleVcc, Consumer::DivFmas),
        ("VALU (v_cmpx) write EXEC", "DPP") => (Producer::ValuExec, Consumer::Dpp),
        ("VALU (v_cmpx) write EXEC", "v_permlane32_swap") => {
            (Producer::ValuExec, Consumer::SwapExec)
        }
        ("VALU (v_cmpx) write EXEC", "MFMA") => (Producer::ValuExec, Consumer::MatrixExec),
        ("VALU (v_cmpx) write EXEC", "global_load") => (Producer::ValuExec, Consumer::VmemExec),
        ("VALU (v_cmpx) write EXEC", "v_readlane/v_readfirstlane/v_writelane") => {
            (Producer::ValuExec, Consumer::LaneExec)
        }
        ("VALU (v_cmpx) write EXEC", "v_permlane16" | "v_permlanex16") => {
            (Producer::ValuExec, Consumer::PermlaneExec)
        }
        ("SALU write EXEC", _) => (Producer::SaluExec, Consumer::Dpp),
        ("global_store_dwordx4 data", "MFMA overwrites data (WAR)") => {
            (Producer::WideStore, Consumer::MatrixOverwrite)
        }
        ("global_store_dwordx4 data", _) => (Producer::WideStore, Consumer::ValuOverwrite),
        ("global_store_dwordx2 data", _) => (Producer::NarrowStore, Consumer::ValuOverwrite),
        ("s_setreg", "s_setreg same reg") => (Producer::Setreg, Consumer::Setreg),
        ("s_setreg", "s_getreg same reg" | "s_getreg") => (Producer::Setreg, Consumer::Getreg),
        ("SALU write M0", "s_sendmsg") => (Producer::SaluM0, Consumer::Sendmsg),
        ("SALU write M0", "s_movrels/s_movreld b32/b64") => {
            (Producer::SaluM0, Consumer::MoveRelative)
        }
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
        "V_MOV_B32_e32" => Remedy::ValuButNopBetween,
        wait => {
            let imm = wait.strip_prefix("S_WAITCNT_DEPCTR ").and_then(|imm| imm.parse().ok());
            Remedy::WaitDepctr(imm.unwrap_or_else(|| panic!("'{wait}'")))
        }
    }
}

/// The first disagreement between rows and the witness.
fn check_rows(target: Target, rows: &[wait_states::Row]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for line in witness(target) {
        let Some((producer, consumer)) = pair(&line) else { continue };
        let row = rows.iter().find(|row| (row.producer, row.consumer) == (producer, consumer));
        let got = row.map(|row| row.remedy);
        let is_interlocked = got.is_none() && inserted(&line) == Remedy::States(0);
        if !is_interlocked && got != Some(inserted(&line)) {
            return Err(format!("{} then {}: {got:?}", line.producer, line.consumer));
        }
        seen.insert((producer, consumer));
    }
    let unseen = rows.iter().find(|row| !seen.contains(&(row.producer, row.consumer)));
    unseen.map_or(Ok(()), |row| Err(format!("no witness: {row:?}")))
}

#[test]
fn every_row_has_a_witness_and_agrees_with_it() {
    for target in Target::ALL {
        check_rows(target, rows(target)).unwrap_or_else(|words| panic!("{target}: {words}"));
        for row in rows(target) {
            assert_eq!(remedy(target, row.producer, row.consumer), Some(row.remedy));
        }
    }
}

/// Every row with one error: another remedy, or the row gone.
#[test]
fn a_planted_error_in_a_row_is_reported() {
    for target in Target::ALL {
        for at in 0..rows(target).len() {
            let mut wrong = rows(target).to_vec();
            wrong[at].remedy = match wrong[at].remedy {
                Remedy::States(states) => Remedy::States(states + 1),
                Remedy::ValuBetween | Remedy::ValuButNopBetween | Remedy::WaitDepctr(_) => {
                    Remedy::States(1)
                }
            };
            let words = check_rows(target, &wrong).expect_err("the remedy is wrong");
            assert!(words.contains(" then "), "{words}");
            let row = wrong.remove(at);
            let is_needed = rows(target)[at].remedy != Remedy::States(0);
            assert_eq!(check_rows(target, &wrong).is_err(), is_needed, "{target}: {row:?}");
        }
    }
}

/// Everything that the recogniser inserts on a target is in a row.
#[test]
fn no_line_of_the_witness_is_left_out() {
    for target in Target::ALL {
        for line in witness(target).iter().filter(|line| !line.consumer.contains(" after ")) {
            let is_matrix = operation(line.producer).is_some() || line.producer == "v_mfma 4p";
            let is_nothing = inserted(line) == Remedy::States(0);
            assert!(
                is_matrix || is_nothing || pair(line).is_some(),
                "{target}: {} then {}",
                line.producer,
                line.consumer
            );
        }
    }
}

/// What has to lie between a transcendental of gfx1100 and its reader, when nothing waits.
#[test]
fn other_instructions_after_a_transcendental() {
    let mut n_checked = 0;
    for line in witness(Target::Gfx1100) {
        let Some(between) = line.consumer.strip_prefix("VALU read after ") else { continue };
        let needs_wait = match between.split_once(' ') {
            Some((n, "VALU")) => n.parse::<u32>().unwrap() < DRAINING_VALU,
            Some((n, "trans")) => n.parse::<u32>().unwrap() < DRAINING_TRANS,
            Some((_, "SALU")) => true,
            _ => between == "s_load",
        };
        let expected = if needs_wait { Remedy::WaitDepctr(0x0f9f) } else { Remedy::States(0) };
        assert_eq!(inserted(&line), expected, "after {between}");
        n_checked += 1;
    }
    assert_eq!(n_checked, 8);
}

/// First registers of D, C, A, B of a producer, and of what a consumer writes.
const D: u8 = 0;
const C: u8 = 32;
const A: u8 = 64;
const B: u8 = 80;
const ELSEWHERE: u8 = 128;

fn inst(op: Op, operands: &[Operand]) -> Inst {
    let encoding = op.row().gfx950.expect("an instruction of gfx950").encoding;
    let mut all = [Operand::None; 6];
    all[..operands.len()].copy_from_slice(operands);
    Inst { op, encoding, size_bytes: 8, operands: all, mods: Modifiers::default(), dual: None }
}

fn mfma(op: Matrix, [d, a, b, c]: [u8; 4]) -> Inst {
    inst(Op::Matrix(op), &[d, a, b, c].map(Operand::Vgpr))
}

/// The later instruction of a line about the result of an MFMA.
fn later(producer: Matrix, consumer: &str) -> Inst {
    let (other, d, c) = (Operand::Vgpr(ELSEWHERE), Operand::Vgpr(D), Operand::Vgpr(C));
    let move_to = |to, from| inst(Op::Int(Int::VMovB32), &[to, from]);
    let address = [Operand::Vgpr(200), Operand::Sgpr(4)];
    let (name, use_) = match consumer.strip_prefix("-> ") {
        Some(rest) => rest.split_at(rest.find(" Src").expect("a source")),
        None => ("", consumer.strip_prefix("same MFMA").unwrap_or(consumer)),
    };
    let next = if name.is_empty() { producer } else { operation(name).expect("an MFMA") };
    match use_ {
        "VALU read D (RAW)" => move_to(other, d),
        "VALU write D (WAW)" => move_to(d, Operand::Int(0)),
        "VALU write SrcC!=D (WAR)" => move_to(c, Operand::Int(0)),
        "VALU write SrcA (WAR)" => move_to(Operand::Vgpr(A), Operand::Int(0)),
        "global_store data=D" => inst(Op::Flat(Flat::StoreB32), &[address[0], d, address[1]]),
        "ds_write data=D" => inst(Op::Lds(Lds::DsStoreB32), &[address[0], d]),
        "global_load into D (WAW)" => inst(Op::Flat(Flat::LoadB32), &[d, address[0], address[1]]),
        " SrcC=D exact" | " SrcC overlaps D" => mfma(next, [ELSEWHERE, 200, 210, D]),
        " SrcA=D" => mfma(next, [ELSEWHERE, D, 210, 160]),
        other => panic!("'{other}'"),
    }
}

/// Whether `later` comes too early after `earlier` and `n` instructions that have nothing to do with them.
fn is_too_early(earlier: &Inst, n: u32, later: &Inst) -> bool {
    let profile = |inst: &Inst| Profile::of(inst, Target::Gfx950);
    let mut history = History::new(Target::Gfx950);
    history.issue(0, &profile(earlier));
    let unrelated = inst(Op::Salu(Salu::SMovB32), &[Operand::Sgpr(20), Operand::Int(0)]);
    for site in 0..n {
        history.issue(1 + u64::from(site), &profile(&unrelated));
    }
    history.missing(&profile(later)).any(|missing| missing.site == 0)
}

/// Every line about an MFMA: one wait state too few is found, and just enough is not, with unrelated
/// instructions in between.
#[test]
fn a_sequence_needs_what_its_pairs_need() {
    for line in witness(Target::Gfx950) {
        let Some(producer) = operation(line.producer) else { continue };
        if line.consumer.contains(" after ") {
            continue;
        }
        let earlier = mfma(producer, [D, A, B, C]);
        let later = later(producer, line.consumer);
        let (at, names) = (line.states, (line.producer, line.consumer));
        assert!(at == 0 || is_too_early(&earlier, at - 1, &later), "{names:?}: {}", at - 1);
        assert!(!is_too_early(&earlier, at, &later), "{names:?}: {at}");
    }
}

/// What a spill's instructions do asks for nothing, as the recogniser says without LLVM's bookkeeping.
#[test]
fn lanes_of_one_register_are_written_one_after_the_other() {
    let spill = |from: u8, lane: i32| {
        let operands = [Operand::Vgpr(255), Operand::Sgpr(from), Operand::Int(lane)];
        inst(Op::Lane(Lane::VWritelaneB32), &operands)
    };
    let of_spills = |line: &Line| line.producer == "v_writelane of an SGPR";
    let lines = witness(Target::Gfx950);
    let line = lines.iter().find(|line| of_spills(line)).expect("a witness");
    assert_eq!(line.states, 0, "{}", line.consumer);
    assert!(!is_too_early(&spill(4, 0), 0, &spill(5, 1)));
}

/// A sequence leaves what its first part leaves, passed by the rest, and what the rest leaves by itself.
#[test]
fn a_sequence_may_be_taken_in_parts() {
    let unrelated = inst(Op::Salu(Salu::SMovB32), &[Operand::Sgpr(20), Operand::Int(0)]);
    let steps = [
        mfma(Matrix::VMfmaF3232x32x16F16, [D, A, B, C]),
        unrelated,
        inst(Op::Int(Int::VMovB32), &[Operand::Vgpr(A), Operand::Int(0)]),
        mfma(Matrix::VMfmaF3232x32x16F16, [D, A, B, D]),
        unrelated,
    ];
    let profiles = steps.map(|step| Profile::of(&step, Target::Gfx950));
    let run = |profiles: &[Profile]| {
        let mut history = History::new(Target::Gfx950);
        profiles.iter().for_each(|profile| history.issue(7, profile));
        history
    };
    let whole = run(&profiles);
    assert!(!whole.is_empty());
    for at in 0..=profiles.len() {
        let (first, rest) = profiles.split_at(at);
        let mut history = run(first);
        rest.iter().for_each(|profile| history.pass(profile));
        history.append(&run(rest));
        assert_eq!(history, whole, "parted at {at}");
    }
}

/// Unrelated instructions between an MFMA and a use of its result are worth one wait state each, as far as
/// the recogniser looks back.
#[test]
fn other_instructions_after_a_matrix_operation() {
    /// Wait states that the recogniser looks back over; rows that need more are not seen behind them.
    const LOOK_BACK: u32 = 19;
    let mut n_checked = 0;
    for line in witness(Target::Gfx950) {
        let Some((consumer, between)) = line.consumer.split_once(" after ") else { continue };
        let producer = operation(line.producer).expect("an MFMA");
        let timing = MatrixTiming::of(producer).expect("dense");
        let needed = after_matrix(timing, matrix_use(producer, consumer));
        let (n, kind) = between.split_once(' ').expect("count and kind");
        let n: u32 = n.parse().expect("a count");
        let expected = if n >= LOOK_BACK { 0 } else { needed.saturating_sub(n) };
        assert_eq!(line.states, expected, "{} {consumer} after {n} {kind}", line.producer);
        n_checked += 1;
    }
    assert_eq!(n_checked, 11 * 4 * 6);
}
