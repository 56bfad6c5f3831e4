//! Every compare of every target, on every pair of edge values: to VCC, to scalar registers and to EXEC.
//!
//! What is expected is stated without arithmetic on the values: each has a *rank*, its place on the number line
//! of its type, and each test the orderings for which it holds. Sources: RDNA3 and CDNA3 ISA manuals, V_CMP and
//! V_CMP_CLASS; IEEE 754 for the order (−0 equals +0, NaN is unordered).

use std::cmp::Ordering;

use isa::format::Encoding;
use isa::inst::{Inst, MAX_OPERANDS, Modifiers, Sdwa, SdwaSel, SdwaUnused};
use isa::reg::{InlineFloat, SpecialReg};
use isa::table::{Compare, CompareType, Test};
use isa::{Op, Operand, Target};

use super::{Attempt, COMPILER_MODE, Lab};
use crate::finding::Rule;
use crate::wave::{Wave, scalar};

/// For which orderings each test holds: less, equal, greater, unordered.
#[rustfmt::skip]
const HOLDS: [(Test, [u8; 4]); 16] = [
    (Test::False, [0, 0, 0, 0]), (Test::Lt,  [1, 0, 0, 0]), (Test::Eq,  [0, 1, 0, 0]), (Test::Le,   [1, 1, 0, 0]),
    (Test::Gt,    [0, 0, 1, 0]), (Test::Lg,  [1, 0, 1, 0]), (Test::Ge,  [0, 1, 1, 0]), (Test::O,    [1, 1, 1, 0]),
    (Test::U,     [0, 0, 0, 1]), (Test::Nge, [1, 0, 0, 1]), (Test::Nlg, [0, 1, 0, 1]), (Test::Ngt,  [1, 1, 0, 1]),
    (Test::Nle,   [0, 0, 1, 1]), (Test::Neq, [1, 0, 1, 1]), (Test::Nlt, [0, 1, 1, 1]), (Test::True, [1, 1, 1, 1]),
];

/// An edge value: its bits, its rank (`None`: NaN) and, of a float, its class.
#[derive(Clone, Copy, Debug)]
struct Edge {
    bits: u64,
    rank: Option<i8>,
    class: u8,
}

/// Floats of both signs: rank and class of the positive one. Ranks 1 and 2 are subnormal.
const FLOATS: [(i8, u8); 8] = [(0, 6), (1, 7), (2, 7), (3, 8), (4, 8), (5, 8), (6, 8), (7, 9)];

/// Zero, the subnormals at both ends, the smallest normal number, 1, the next one, the largest one, infinity.
const F16: [u64; 8] = [0, 1, 0x3ff, 0x400, 0x3c00, 0x3c01, 0x7bff, 0x7c00];
const F32: [u64; 8] =
    [0, 1, 0x7f_ffff, 0x80_0000, 0x3f80_0000, 0x3f80_0001, 0x7f7f_ffff, 0x7f80_0000];
const F64: [u64; 8] = [
    0,
    1,
    0xf_ffff_ffff_ffff,
    0x10_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
];
/// NaN with the lowest bit alone, with the bit below the quiet one, quiet, and with every bit.
const NAN16: [u64; 4] = [0x7c01, 0x7d00, 0x7e00, 0x7fff];
const NAN32: [u64; 4] = [0x7f80_0001, 0x7fa0_0000, 0x7fc0_0000, 0x7fff_ffff];
const NAN64: [u64; 4] =
    [0x7ff0_0000_0000_0001, 0x7ff4_0000_0000_0000, 0x7ff8_0000_0000_0000, 0x7fff_ffff_ffff_ffff];
/// In the order of unsigned numbers; as signed ones, the upper half of each list comes before the lower.
const INT16: [u64; 8] = [0, 1, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff];
const INT32: [u64; 8] =
    [0, 1, 0xffff, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_0000, 0xffff_ffff];
const INT64: [u64; 8] = [
    0,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_ffff_ffff,
    0xffff_ffff_0000_0000,
    0xffff_ffff_ffff_ffff,
];

fn edges(ty: CompareType) -> Vec<Edge> {
    match ty {
        CompareType::F16 => floats(F16, NAN16, 15),
        CompareType::F32 => floats(F32, NAN32, 31),
        CompareType::F64 => floats(F64, NAN64, 63),
        CompareType::I16 | CompareType::U16 => integers(INT16, ty == CompareType::I16),
        CompareType::I32 | CompareType::U32 => integers(INT32, ty == CompareType::I32),
        CompareType::I64 | CompareType::U64 => integers(INT64, ty == CompareType::I64),
    }
}

fn floats(numbers: [u64; 8], nans: [u64; 4], sign: u32) -> Vec<Edge> {
    let of_number = |(bits, (rank, class)): (u64, (i8, u8))| {
        [
            Edge { bits, rank: Some(rank), class },
            mirrored(Edge { bits, rank: Some(rank), class }, sign),
        ]
    };
    let of_nan = |(at, bits): (usize, u64)| {
        let nan = Edge { bits, rank: None, class: u8::from(at > 1) };
        [nan, mirrored(nan, sign)]
    };
    let numbers = numbers.into_iter().zip(FLOATS).flat_map(of_number);
    numbers.chain(nans.into_iter().enumerate().flat_map(of_nan)).collect()
}

/// The number with the other sign. Classes 2 to 9 lie as on the number line.
fn mirrored(edge: Edge, sign: u32) -> Edge {
    let class = if edge.rank.is_none() { edge.class } else { 11 - edge.class };
    Edge { bits: edge.bits ^ 1 << sign, rank: edge.rank.map(|rank| -rank), class }
}

fn integers(numbers: [u64; 8], is_signed: bool) -> Vec<Edge> {
    let rank = |at: i8| if is_signed && at > 3 { at - 8 } else { at };
    numbers
        .into_iter()
        .zip(0..)
        .map(|(bits, at)| Edge { bits, rank: Some(rank(at)), class: 0 })
        .collect()
}

fn width(ty: CompareType) -> u32 {
    match ty {
        CompareType::F16 | CompareType::I16 | CompareType::U16 => 16,
        CompareType::F32 | CompareType::I32 | CompareType::U32 => 32,
        CompareType::F64 | CompareType::I64 | CompareType::U64 => 64,
    }
}

fn holds(test: Test, [a, b]: [Option<i8>; 2]) -> bool {
    let order = match (a, b) {
        (Some(a), Some(b)) => match a.cmp(&b) {
            Ordering::Less => 0,
            Ordering::Equal => 1,
            Ordering::Greater => 2,
        },
        _ => 3,
    };
    let (_, orders) = HOLDS.iter().find(|(known, _)| *known == test).expect("a test on an order");
    orders[order] == 1
}

/// Rank of a float whose subnormals count as zero.
fn flushed(rank: Option<i8>) -> Option<i8> {
    rank.map(|rank| if rank.abs() <= 2 { 0 } else { rank })
}

/// Compares of a target: all of them. The completeness test asks this.
pub(super) fn compares(target: Target) -> impl Iterator<Item = Compare> {
    Compare::rows().filter(move |row| row.form(target).is_some()).map(|row| match row.op {
        Op::Compare(compare) => compare,
        other => panic!("{other:?}"),
    })
}

/// Where a compare's sources lie and its result goes.
#[derive(Clone, Copy, Debug)]
struct Form {
    encoding: Encoding,
    /// Of 16-bit sources, the upper halves: by OP_SEL, on gfx950 by SDWA.
    is_upper: [bool; 2],
}

const A: u8 = 20;
const B: u8 = 24;
/// Where the VOP3 form writes; SDWA names scalar registers too.
const RESULT: u8 = 8;
/// Lanes that are active.
const ACTIVE: u64 = 0xf7ff_fffe_7fff_ffbd;
/// In registers before.
const OLD: u32 = 0x5a5a_a5a5;

impl Form {
    fn all(target: Target, ty: CompareType) -> Vec<Form> {
        let both = [Encoding::Vopc, Encoding::Vop3];
        let halves: &[[bool; 2]] = match width(ty) {
            16 => &[[false, false], [true, false], [false, true], [true, true]],
            _ => &[[false, false]],
        };
        let forms = both.into_iter().flat_map(|encoding| {
            halves.iter().map(move |is_upper| Form { encoding, is_upper: *is_upper })
        });
        // The VOP3 form of gfx950 has no halves.
        forms
            .filter(|form| {
                let is_plain = form.is_upper == [false; 2];
                is_plain || target == Target::Gfx1100 || form.encoding == Encoding::Vopc
            })
            .collect()
    }

    fn is_sdwa(self, target: Target) -> bool {
        target == Target::Gfx950 && self.is_upper != [false; 2]
    }

    /// The scalar register of the result; `None` where only EXEC is written.
    fn result(self, target: Target, compare: Compare) -> Option<u8> {
        match self.encoding {
            _ if compare.writes_exec && target == Target::Gfx1100 => None,
            Encoding::Vopc if !self.is_sdwa(target) => Some(scalar::VCC),
            _ => Some(RESULT),
        }
    }

    fn inst(self, target: Target, compare: Compare) -> Inst {
        let mut operands = [Operand::None; MAX_OPERANDS];
        let result = match self.result(target, compare) {
            None => Operand::Special(SpecialReg::ExecLo),
            Some(scalar::VCC) => Operand::Special(SpecialReg::VccLo),
            Some(register) => Operand::Sgpr(register),
        };
        operands[..3].copy_from_slice(&[result, Operand::Vgpr(A), Operand::Vgpr(B)]);
        let mut mods = Modifiers::default();
        let selected =
            self.is_upper.map(|upper| if upper { SdwaSel::Word1 } else { SdwaSel::Word0 });
        if self.is_sdwa(target) {
            let [src0_sel, src1_sel] = selected;
            let (dst_sel, dst_unused) = (SdwaSel::Dword, SdwaUnused::Pad);
            mods.sdwa = Some(Sdwa { dst_sel, dst_unused, src0_sel, src1_sel, sext: 0 });
        } else {
            mods.op_sel = u8::from(self.is_upper[0]) | u8::from(self.is_upper[1]) << 1;
        }
        let is_short = self.encoding == Encoding::Vopc && mods.sdwa.is_none();
        let size_bytes = if is_short { 4 } else { 8 };
        let op = Op::Compare(compare);
        Inst { op, encoding: self.encoding, size_bytes, operands, mods, dual: None }
    }
}

/// Source bits of each lane, as registers hold them: 16-bit ones beside a half that must not matter.
fn put(wave: &mut Wave, ty: CompareType, is_upper: [bool; 2], lanes: &[[u64; 2]]) {
    for (lane, sources) in lanes.iter().enumerate().take(wave.width as usize) {
        for ((first, bits), is_upper) in [A, B].into_iter().zip(sources).zip(is_upper) {
            let (low, high) = (*bits as u32, (bits >> 32) as u32);
            let low = match (width(ty), is_upper) {
                (16, false) => low | 0x7c01_0000,
                (16, true) => low << 16 | 0x7c01,
                _ => low,
            };
            for (word, value) in [low, high].into_iter().enumerate() {
                wave.vectors.write_lane(u16::from(first) + word as u16, lane, u32::MAX, value, 0);
            }
        }
    }
}

fn run(lab: &Lab, ty: CompareType, is_upper: [bool; 2], lanes: &[[u64; 2]]) -> Attempt {
    isa::encode(lab.target, &lab.inst).unwrap_or_else(|error| panic!("{:?}: {error}", lab.inst));
    lab.attempt(ACTIVE, |wave| {
        put(wave, ty, is_upper, lanes);
        for register in [RESULT, RESULT + 1, scalar::VCC, scalar::VCC + 1] {
            wave.scalars.set(register, OLD, 0);
        }
    })
}

/// The result's lanes; checks that nothing but the result was written.
fn result(lab: &Lab, compare: Compare, place: Option<u8>, attempt: &Attempt) -> u64 {
    let Attempt { wave, outcome, rules } = attempt;
    let context = || format!("{} {:?}", lab.target, lab.inst);
    assert_eq!((outcome, rules.as_slice()), (&Ok(()), [].as_slice()), "{}", context());
    let active = ACTIVE & u64::MAX >> (64 - wave.width);
    for register in [RESULT, scalar::VCC].into_iter().filter(|register| Some(*register) != place) {
        let kept = [register, register + 1].map(|register| wave.scalars.get(register));
        assert_eq!(kept, [OLD; 2], "{}: s{register}", context());
    }
    if let Some(register) = place.filter(|_| wave.width == 32) {
        assert_eq!(wave.scalars.get(register + 1), OLD, "{}: 32 bits a mask", context());
    }
    if !compare.writes_exec {
        assert_eq!(wave.exec(), active, "{}: EXEC", context());
    }
    match place {
        None => wave.exec(),
        Some(register) => {
            let written = wave.mask(register);
            assert!(!compare.writes_exec || wave.exec() == written, "{}: EXEC", context());
            written
        }
    }
}

/// Runs a compare on all pairs, as many at a time as lanes are active; lanes that are not get pairs too.
fn check(
    lab: &Lab,
    compare: Compare,
    form: Form,
    pairs: &[[Edge; 2]],
    want: impl Fn([Edge; 2]) -> bool,
) {
    let active: Vec<usize> =
        (0..lab.target.wave_width() as usize).filter(|lane| ACTIVE >> lane & 1 == 1).collect();
    for chunk in pairs.chunks(active.len()) {
        let mut lanes = vec![chunk[0].map(|edge| edge.bits); lab.target.wave_width() as usize];
        for (lane, pair) in active.iter().zip(chunk) {
            lanes[*lane] = pair.map(|edge| edge.bits);
        }
        let attempt = run(lab, compare.ty, form.is_upper, &lanes);
        let got = result(lab, compare, form.result(lab.target, compare), &attempt);
        assert_eq!(got & !ACTIVE, 0, "{} {compare:?}: lanes that are off", lab.target);
        for (lane, pair) in active.iter().zip(chunk) {
            let place =
                || format!("{} {compare:?} {form:?} {:?}: {pair:x?}", lab.target, lab.inst.mods);
            assert_eq!(got >> lane & 1 == 1, want(*pair), "{}", place());
        }
    }
}

fn pairs<T: Copy>(
    first: &[Edge],
    second: &[T],
    pair: impl Fn(Edge, T) -> [Edge; 2],
) -> Vec<[Edge; 2]> {
    first.iter().flat_map(|a| second.iter().map(|b| pair(*a, *b))).collect()
}

/// All ordered pairs of a type's edge values.
fn all_pairs(ty: CompareType) -> Vec<[Edge; 2]> {
    let edges = edges(ty);
    pairs(&edges, &edges, |a, b| [a, b])
}

#[test]
fn every_compare_holds_for_exactly_its_orderings() {
    for target in Target::ALL {
        for compare in compares(target).filter(|compare| compare.test != Test::Class) {
            let pairs = all_pairs(compare.ty);
            for form in Form::all(target, compare.ty) {
                let inst = form.inst(target, compare);
                for keeps in [true, false] {
                    let mode = if keeps { COMPILER_MODE } else { COMPILER_MODE & !0xf0 };
                    let lab = Lab { mode, inst, ..Lab::on(target, inst.op) };
                    check(&lab, compare, form, &pairs, |pair| {
                        let ranks = pair.map(|edge| edge.rank);
                        let flushes = !keeps && compare.ty.is_float();
                        holds(compare.test, if flushes { ranks.map(flushed) } else { ranks })
                    });
                }
            }
        }
    }
}

#[test]
fn every_class_test_tells_every_class() {
    // Each class alone, all others, none, all, and bits that are no class.
    let masks: Vec<u64> =
        (0..10).flat_map(|bit| [1 << bit, 0x3ff ^ 1 << bit]).chain([0, 0x3ff, 0xfc00]).collect();
    let mask = |bits: u64| Edge { bits, rank: None, class: 0 };
    for target in Target::ALL {
        for compare in compares(target).filter(|compare| compare.test == Test::Class) {
            let pairs = pairs(&edges(compare.ty), &masks, |number, bits| [number, mask(bits)]);
            for form in Form::all(target, compare.ty) {
                let inst = form.inst(target, compare);
                // Subnormals are told apart whatever MODE flushes.
                for mode in [COMPILER_MODE, COMPILER_MODE & !0xf0] {
                    let lab = Lab { mode, inst, ..Lab::on(target, inst.op) };
                    check(&lab, compare, form, &pairs, |[number, mask]| {
                        mask.bits >> number.class & 1 == 1
                    });
                }
            }
        }
    }
}

#[test]
fn compares_apply_abs_before_neg() {
    for target in Target::ALL {
        for compare in compares(target).filter(|compare| compare.ty.is_float()) {
            let form = Form { encoding: Encoding::Vop3, is_upper: [false; 2] };
            let mut inst = form.inst(target, compare);
            // −|a| against |b|; the mask of a class test has no sign.
            let is_class = compare.test == Test::Class;
            (inst.mods.neg, inst.mods.abs) = (0b01, if is_class { 0b01 } else { 0b11 });
            let lab = Lab { inst, ..Lab::on(target, inst.op) };
            let sign = width(compare.ty) - 1;
            let positive =
                |edge: Edge| if edge.bits >> sign & 1 == 1 { mirrored(edge, sign) } else { edge };
            let masks: Vec<u64> = (0..10).map(|bit| 1 << bit).collect();
            if is_class {
                let pairs = pairs(&edges(compare.ty), &masks, |a, bits| {
                    [a, Edge { bits, rank: None, class: 0 }]
                });
                check(&lab, compare, form, &pairs, |[a, mask]| {
                    mask.bits >> mirrored(positive(a), sign).class & 1 == 1
                });
                continue;
            }
            check(&lab, compare, form, &all_pairs(compare.ty), |[a, b]| {
                holds(compare.test, [mirrored(positive(a), sign).rank, positive(b).rank])
            });
        }
    }
}

/// A scalar register pair and an inline constant stand for every lane.
#[test]
fn compares_take_scalar_sources() {
    const SCALARS: u8 = 30;
    for target in Target::ALL {
        for compare in compares(target).filter(|compare| compare.test != Test::Class) {
            let edges = edges(compare.ty);
            let one = if compare.ty.is_float() { 4 } else { 1 };
            let form = Form { encoding: Encoding::Vopc, is_upper: [false; 2] };
            let number = |bits: u64, rank| Edge { bits, rank: Some(rank), class: 0 };
            let constant = match compare.ty.is_float() {
                true => (Operand::Float(InlineFloat::One), number(0, one)),
                false => (Operand::Int(0), number(0, 0)),
            };
            let scalars = edges.iter().map(|edge| (Operand::Sgpr(SCALARS), *edge));
            for (operand, first) in scalars.chain([constant]) {
                let mut inst = form.inst(target, compare);
                inst.operands[1] = operand;
                let lab = Lab { inst, ..Lab::on(target, inst.op) };
                isa::encode(target, &inst).unwrap_or_else(|error| panic!("{inst:?}: {error}"));
                let n_lanes = target.wave_width() as usize;
                let second = |lane: usize| edges[lane % edges.len()];
                let lanes: Vec<[u64; 2]> =
                    (0..n_lanes).map(|lane| [0, second(lane).bits]).collect();
                let attempt = lab.attempt(ACTIVE, |wave| {
                    put(wave, compare.ty, form.is_upper, &lanes);
                    wave.scalars.set(SCALARS, first.bits as u32, 0);
                    wave.scalars.set(SCALARS + 1, (first.bits >> 32) as u32, 0);
                    for register in [RESULT, RESULT + 1, scalar::VCC, scalar::VCC + 1] {
                        wave.scalars.set(register, OLD, 0);
                    }
                });
                let got = result(&lab, compare, form.result(target, compare), &attempt);
                let holds = |lane: usize| holds(compare.test, [first.rank, second(lane).rank]);
                let want =
                    (0..n_lanes).map(|lane| u64::from(holds(lane)) << lane).sum::<u64>() & ACTIVE;
                assert_eq!(got, want, "{target} {compare:?} {operand:?} {first:x?}");
            }
        }
    }
}

#[test]
fn undefined_sources_make_their_lanes_undefined() {
    // Lane and the register with an undefined bit, of lanes 0 to 3, of which the last one is off; the other half
    // of a 16-bit source is not read.
    let cases = [(0, A, 0), (2, B, 15), (6, A, 0), (3, A, 31), (4, B, 31)];
    for target in Target::ALL {
        for compare in
            compares(target).filter(|compare| ![Test::False, Test::True].contains(&compare.test))
        {
            let form = Form { encoding: Encoding::Vopc, is_upper: [false; 2] };
            let inst = form.inst(target, compare);
            let lab = Lab { inst, ..Lab::on(target, inst.op) };
            let attempt = lab.attempt(ACTIVE, |wave| {
                put(wave, compare.ty, form.is_upper, &[[0; 2]; 64]);
                for (lane, register, bit) in cases {
                    wave.vectors.write_lane(register.into(), lane, 1 << bit, 0, 1 << bit);
                }
            });
            // Of a class test the mask may be wider than the number.
            let reads =
                |k: usize| if inst.row().operands[k + 1].ty.bits(target) > 16 { 0b1 } else { 0 };
            let want = 0b101 | reads(0) << 3 | reads(1) << 4;
            let context = format!("{target} {compare:?}");
            assert_eq!(attempt.outcome, Ok(()), "{context}");
            if compare.writes_exec {
                assert_eq!(attempt.rules, [Rule::UndefinedExec], "{context}");
                assert_eq!(attempt.wave.mask_undefined(scalar::EXEC), 0, "{context}");
            } else {
                assert_eq!(attempt.rules, [], "{context}");
            }
            if let Some(register) = form.result(target, compare) {
                assert_eq!(attempt.wave.mask_undefined(register), want, "{context}");
            }
        }
    }
}

/// The opcode of a test counts the orderings where it holds: bit 0 less, 1 equal, 2 greater, 3 unordered.
#[test]
fn opcodes_are_the_truth_tables() {
    for target in Target::ALL {
        for compare in compares(target).filter(|compare| compare.test != Test::Class) {
            let form = Op::Compare(compare).row().form(target).expect("the target has it");
            let n_bits = if compare.ty.is_float() { 4 } else { 3 };
            let (_, orders) =
                HOLDS.iter().find(|(test, _)| *test == compare.test).expect("an order");
            let want: u16 = (0..n_bits).map(|at| u16::from(orders[at]) << at).sum();
            assert_eq!(form.opcode & ((1 << n_bits) - 1), want, "{target} {}", form.mnemonic);
        }
    }
}
