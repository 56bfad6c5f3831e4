//! Every lane move on each target that has it, with lanes off, against its definition lane by lane.
//!
//! Sources: RDNA3 and CDNA3 ISA manuals, the instructions' descriptions; for the swaps of gfx950 LLVM's
//! description of `llvm.amdgcn.permlane16.swap` and `permlane32.swap`. Undefined bits move as values do.

use isa::format::Encoding;
use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::reg::SpecialReg;
use isa::table::{Effect, Lane};
use isa::{Op, Operand, Target};

use super::{Attempt, Lab};
use crate::finding::Rule;
use crate::wave::{FIRST_ACC, Wave, scalar};

/// A register's bits, and which of them are undefined.
type Word = (u32, u32);

/// Vector registers that are looked at.
const N_VECTORS: u8 = 40;
/// Operands: two vector registers, a mask of lanes to count, a scalar result, and a pair of lane selects.
const A: u8 = 20;
const B: u8 = 24;
const COUNTED: u8 = 28;
const RESULT: u8 = 8;
const SELECTS: u8 = 30;
/// A scalar register whose value selects lane 37 of 64, 5 of 32.
const LANE: u8 = 34;

/// The registers of a wave: by number and lane, and the scalar ones with M0 and EXEC.
#[derive(Clone, Debug, PartialEq)]
struct State {
    vectors: Vec<Vec<Word>>,
    accumulators: Vec<Vec<Word>>,
    scalars: Vec<Word>,
}

impl State {
    /// Every lane of every register differs; lane 5 of A and lane 21 of B have undefined bits.
    fn new(target: Target, m0: u32) -> State {
        let lanes = |first: u32, register: u32| -> Vec<Word> {
            (0..target.wave_width()).map(|lane| (first + 1000 * register + lane, 0)).collect()
        };
        let registers =
            |first: u32| (0..N_VECTORS.into()).map(|register| lanes(first, register)).collect();
        let (mut vectors, accumulators): (Vec<Vec<Word>>, _) = (registers(0), registers(1 << 20));
        vectors[usize::from(A)][5].1 = 0x10;
        vectors[usize::from(B)][21].1 = 0x8000_0000;
        for (lane, word) in vectors[usize::from(COUNTED)].iter_mut().enumerate() {
            word.0 = 0x9e37_79b9_u32.rotate_left(lane as u32);
        }
        let mut scalars: Vec<Word> = (0..128).map(|register| (0x7000 + register, 0)).collect();
        scalars[usize::from(LANE)].0 = 0x1_0025;
        // Lanes 0 to 15 of a row read 3, 3, 0, 1, 15, 14, 4, 5, 0, 0, 8, 9, 7, 6, 5, 15.
        scalars[usize::from(SELECTS)].0 = 0x54ef_1033;
        scalars[usize::from(SELECTS) + 1].0 = 0xf567_9800;
        scalars[usize::from(scalar::M0)].0 = m0;
        State { vectors, accumulators, scalars }
    }

    fn write(&self, wave: &mut Wave) {
        for (first, registers) in [(0, &self.vectors), (FIRST_ACC, &self.accumulators)] {
            for (register, lanes) in (first..).zip(registers) {
                for (lane, (value, undefined)) in lanes.iter().enumerate() {
                    wave.vectors.write_lane(register, lane, u32::MAX, *value, *undefined);
                }
            }
        }
        for (register, (value, undefined)) in (0..scalar::EXEC).zip(&self.scalars) {
            wave.scalars.set(register, *value, *undefined);
        }
    }

    fn read(wave: &Wave) -> State {
        let word = |register: u16, lane: usize| {
            let bits = wave.vectors.lane_bits(register, lane);
            (bits.value as u32, bits.undefined as u32)
        };
        let lanes =
            |register: u16| (0..wave.width as usize).map(|lane| word(register, lane)).collect();
        let registers = |first: u16| (first..first + u16::from(N_VECTORS)).map(lanes).collect();
        let scalars = 0..128;
        State {
            vectors: registers(0),
            accumulators: registers(FIRST_ACC),
            scalars: scalars
                .map(|number| (wave.scalars.get(number), wave.scalars.undefined(number)))
                .collect(),
        }
    }

    /// What a scalar operand holds.
    fn scalar(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Sgpr(register) => self.scalars[usize::from(register)].0,
            Operand::Special(SpecialReg::M0) => self.scalars[usize::from(scalar::M0)].0,
            Operand::Int(value) => value.cast_unsigned(),
            Operand::Literal(bits) => bits,
            other => panic!("{other:?}"),
        }
    }

    fn vector(&mut self, operand: Operand) -> &mut Vec<Word> {
        match operand {
            Operand::Vgpr(register) => &mut self.vectors[usize::from(register)],
            Operand::Acc(register) => &mut self.accumulators[usize::from(register)],
            other => panic!("{other:?}"),
        }
    }
}

/// One instruction and the lanes that it runs on.
struct Case {
    operands: Vec<Operand>,
    m0: u32,
    /// FI and BOUND_CTRL of permutations.
    op_sel: u8,
    exec: u64,
}

/// The lane that a select names, modulo the width of the wave.
fn selected(before: &State, operand: Operand) -> usize {
    before.scalar(operand) as usize % before.vectors[0].len()
}

/// What a lane gets that reads lane `from`: nothing where that lane is off, unless FI fetches it or
/// BOUND_CTRL makes it zero.
fn fetched(case: &Case, lanes: &[Word], from: usize) -> Option<Word> {
    let (fetches, zeroes) = (case.op_sel & 1 == 1, case.op_sel & 2 == 2);
    match case.exec >> from & 1 == 1 || fetches {
        true => Some(lanes[from]),
        false => zeroes.then_some((0, 0)),
    }
}

/// The definition of each operation.
fn expected(op: Lane, before: &State, case: &Case) -> State {
    let mut after = before.clone();
    let n_lanes = before.vectors[0].len();
    let operand = |at: usize| case.operands[at];
    let is_on = |lane: usize| case.exec >> lane & 1 == 1;
    let lanes_on = || (0..n_lanes).filter(|lane| is_on(*lane));
    let source = |at: usize| before.clone().vector(operand(at)).clone();
    let move_between = |after: &mut State, to: u8, from: u8| {
        lanes_on().for_each(|lane| {
            after.vectors[usize::from(to)][lane] = before.vectors[usize::from(from)][lane];
        });
    };
    match op {
        // In a wave32 there is no other half.
        Lane::VNop | Lane::VPermlane64B32 => {}
        Lane::VMovreldB32 => move_between(&mut after, A + case.m0 as u8, B),
        Lane::VMovrelsB32 => move_between(&mut after, A, B + case.m0 as u8),
        Lane::VMovrelsdB32 => move_between(&mut after, A + case.m0 as u8, B + case.m0 as u8),
        Lane::VMovrelsd2B32 => {
            move_between(&mut after, A + (case.m0 >> 16) as u8, B + (case.m0 & 0x3ff) as u8);
        }
        // With no lane on, lane 0.
        Lane::VReadfirstlaneB32 => {
            after.scalars[usize::from(RESULT)] = source(1)[lanes_on().next().unwrap_or(0)];
        }
        // Lanes that are off are read and written too.
        Lane::VReadlaneB32 => {
            after.scalars[usize::from(RESULT)] = source(1)[selected(before, operand(2))];
        }
        Lane::VWritelaneB32 => {
            let lane = selected(before, operand(2));
            after.vector(operand(0))[lane] = (before.scalar(operand(1)), 0);
        }
        Lane::VMbcntLoU32B32 | Lane::VMbcntHiU32B32 => {
            let first = if op == Lane::VMbcntLoU32B32 { 0 } else { 32 };
            for lane in lanes_on() {
                let is_set = |below: &usize| *below < 32 && source(1)[lane].0 >> below & 1 == 1;
                let count = (first..lane).map(|below| below - first).filter(is_set).count();
                after.vector(operand(0))[lane] = (source(2)[lane].0 + count as u32, 0);
            }
        }
        Lane::VSwapB32 => {
            for lane in lanes_on() {
                (after.vector(operand(0))[lane], after.vector(operand(1))[lane]) =
                    (source(1)[lane], source(0)[lane]);
            }
        }
        Lane::VPermlane16SwapB32 | Lane::VPermlane32SwapB32 => {
            let distance = if op == Lane::VPermlane16SwapB32 { 16 } else { 32 };
            // Odd rows (the upper half) of the first against even rows (the lower half) of the second.
            for upper in (0..n_lanes).filter(|lane| lane / distance % 2 == 1) {
                let lower = upper - distance;
                let (to_first, to_second) =
                    (fetched(case, &source(1), lower), fetched(case, &source(0), upper));
                for (at, lane, word) in [(0, upper, to_first), (1, lower, to_second)] {
                    if let Some(word) = word.filter(|_| is_on(lane)) {
                        after.vector(operand(at))[lane] = word;
                    }
                }
            }
        }
        Lane::VPermlane16B32 | Lane::VPermlanex16B32 => {
            let selects = [operand(2), operand(3)].map(|operand| before.scalar(operand));
            for lane in lanes_on() {
                let (row, in_row) = (lane / 16, lane % 16);
                let row = if op == Lane::VPermlanex16B32 { 1 - row } else { row };
                let select = selects[in_row / 8] >> (in_row % 8 * 4) & 15;
                if let Some(word) = fetched(case, &source(1), row * 16 + select as usize) {
                    after.vector(operand(0))[lane] = word;
                }
            }
        }
        Lane::VAccvgprReadB32 | Lane::VAccvgprWriteB32 | Lane::VAccvgprMovB32 => {
            lanes_on().for_each(|lane| after.vector(operand(0))[lane] = source(1)[lane]);
        }
    }
    after
}

const EXECS: [u64; 6] = [u64::MAX, 0, 1, 1 << 13, 0xffff_0000_0f0f_3ff7, 0x5555_5555_5555_5555];

/// Operands, with M0, of each operation.
fn operands(op: Lane) -> Vec<(Vec<Operand>, u32)> {
    let plain = |operands: &[Operand]| vec![(operands.to_vec(), 0)];
    let (a, b) = (Operand::Vgpr(A), Operand::Vgpr(B));
    let result = Operand::Sgpr(RESULT);
    // A lane as a constant, of each half, in a register, and in M0.
    let selects = [Operand::Int(5), Operand::Int(63), Operand::Sgpr(LANE), SpecialReg::M0.into()];
    match op {
        Lane::VNop => plain(&[]),
        Lane::VMovreldB32 | Lane::VMovrelsB32 | Lane::VMovrelsdB32 => {
            [0, 3].map(|m0| (vec![a, b], m0)).to_vec()
        }
        Lane::VMovrelsd2B32 => [0, 7, 5 << 16, 2 << 16 | 9].map(|m0| (vec![a, b], m0)).to_vec(),
        Lane::VReadfirstlaneB32 => plain(&[result, a]),
        Lane::VReadlaneB32 => selects.map(|select| (vec![result, a, select], 0x2e)).to_vec(),
        Lane::VWritelaneB32 => {
            let values = [Operand::Int(-7), Operand::Sgpr(RESULT), SpecialReg::M0.into()];
            let pairs =
                values.iter().flat_map(|value| selects.map(|select| vec![a, *value, select]));
            // One scalar register an instruction.
            let is_scalar = |operand: &Operand| !matches!(operand, Operand::Int(_));
            let legal = pairs.filter(|operands| {
                let scalars: Vec<_> =
                    operands[1..].iter().filter(|operand| is_scalar(operand)).collect();
                scalars.len() < 2 || scalars[0] == scalars[1]
            });
            legal.map(|operands| (operands, 0x33)).collect()
        }
        Lane::VMbcntLoU32B32 | Lane::VMbcntHiU32B32 => {
            plain(&[a, Operand::Vgpr(COUNTED), Operand::Vgpr(COUNTED - 1)])
        }
        Lane::VSwapB32 | Lane::VPermlane16SwapB32 | Lane::VPermlane32SwapB32 => plain(&[a, b]),
        Lane::VPermlane16B32 | Lane::VPermlanex16B32 => vec![
            (vec![b, a, Operand::Sgpr(SELECTS), Operand::Sgpr(SELECTS + 1)], 0),
            (vec![a, a, Operand::Sgpr(SELECTS), Operand::Int(-1)], 0),
            (vec![b, a, Operand::Literal(0x7654_3210), Operand::Literal(0x7654_3210)], 0),
        ],
        Lane::VPermlane64B32 => plain(&[b, a]),
        Lane::VAccvgprReadB32 => plain(&[b, Operand::Acc(A)]),
        Lane::VAccvgprWriteB32 => plain(&[Operand::Acc(B), a]),
        Lane::VAccvgprMovB32 => plain(&[Operand::Acc(B), Operand::Acc(A)]),
    }
}

fn cases(op: Lane) -> Vec<Case> {
    let n_flags = if Op::Lane(op).row().has(Effect::LaneFlags) { 4 } else { 1 };
    let with = |(operands, m0): (Vec<Operand>, u32)| {
        let flags = (0..n_flags).flat_map(|op_sel| EXECS.map(|exec| (op_sel, exec)));
        let case = |(op_sel, exec)| Case { operands: operands.clone(), m0, op_sel, exec };
        flags.map(case).collect::<Vec<Case>>()
    };
    operands(op).into_iter().flat_map(with).collect()
}

/// Lane moves of a target: all of them. The completeness test asks this.
pub(super) fn moves(target: Target) -> impl Iterator<Item = Lane> {
    Lane::ROWS.iter().filter(move |row| row.form(target).is_some()).map(|row| match row.op {
        Op::Lane(op) => op,
        other => panic!("{other:?}"),
    })
}

/// The instruction as its bytes say.
fn inst(target: Target, op: Lane, operands: &[Operand], op_sel: u8) -> Inst {
    let shortest = Op::Lane(op).row().form(target).expect("the target has it").encoding;
    // Flags have no place in VOP1.
    let encoding = if op_sel == 0 { shortest } else { Encoding::Vop3 };
    let mut all = [Operand::None; MAX_OPERANDS];
    all[..operands.len()].copy_from_slice(operands);
    let mods = Modifiers { op_sel, ..Modifiers::default() };
    let literal = operands.iter().any(|operand| matches!(operand, Operand::Literal(_)));
    let short = if encoding == Encoding::Vop1 { 4 } else { 8 };
    let size_bytes = short + if literal { 4 } else { 0 };
    let inst = Inst { op: Op::Lane(op), encoding, size_bytes, operands: all, mods, dual: None };
    isa::encode(target, &inst).unwrap_or_else(|error| panic!("{inst:?}: {error}"));
    inst
}

#[test]
fn every_lane_move_moves_what_its_definition_says() {
    for target in Target::ALL {
        let all = u64::MAX >> (64 - target.wave_width());
        for op in moves(target) {
            for case in cases(op) {
                let case = Case { exec: case.exec & all, ..case };
                let inst = inst(target, op, &case.operands, case.op_sel);
                let before = State::new(target, case.m0);
                let lab = Lab { inst, ..Lab::on(target, inst.op) };
                let attempt = lab.attempt(case.exec, |wave| before.write(wave));
                let context =
                    format!("{target} {inst:?}, EXEC {:#x}, M0 {:#x}", case.exec, case.m0);
                let Attempt { wave, outcome, rules } = attempt;
                assert_eq!((outcome, rules), (Ok(()), Vec::new()), "{context}");
                let mut want = expected(op, &before, &case);
                for (at, half) in
                    [case.exec as u32, (case.exec >> 32) as u32].into_iter().enumerate()
                {
                    want.scalars[usize::from(scalar::EXEC) + at] = (half, 0);
                }
                if target == Target::Gfx1100 {
                    // Plain storage, which the laboratory fills.
                    want.scalars[usize::from(scalar::EXEC_HI)] = (u32::MAX, 0);
                }
                assert!(
                    State::read(&wave) == want,
                    "{context}:\n{:?}\n{want:?}",
                    State::read(&wave)
                );
            }
        }
    }
}

#[test]
fn undefined_lane_selects_are_findings() {
    let selecting =
        [Lane::VReadlaneB32, Lane::VWritelaneB32, Lane::VPermlane16B32, Lane::VPermlanex16B32];
    for target in Target::ALL {
        for op in moves(target).filter(|op| selecting.contains(op)) {
            let value = if op == Lane::VWritelaneB32 { Operand::Int(1) } else { Operand::Vgpr(A) };
            let result =
                if op == Lane::VReadlaneB32 { Operand::Sgpr(RESULT) } else { Operand::Vgpr(B) };
            let mut operands = vec![result, value, Operand::Sgpr(LANE)];
            if op == Lane::VPermlane16B32 || op == Lane::VPermlanex16B32 {
                operands.push(Operand::Int(0));
            }
            let inst = inst(target, op, &operands, 0);
            let lab = Lab { inst, ..Lab::on(target, inst.op) };
            let rules = |undefined: u32| {
                let attempt = lab.attempt(u64::MAX, |wave| {
                    State::new(target, 0).write(wave);
                    wave.scalars.set(LANE, 0, undefined);
                });
                attempt.rules
            };
            assert_eq!(rules(0x10), [Rule::UndefinedAddress], "{target} {op:?}");
            // Bits of a lane's number beyond the wave's width do not count.
            let is_whole = op == Lane::VPermlane16B32 || op == Lane::VPermlanex16B32;
            let want: &[Rule] = if is_whole { &[Rule::UndefinedAddress] } else { &[] };
            assert_eq!(rules(0x100), want, "{target} {op:?}");
        }
    }
}
