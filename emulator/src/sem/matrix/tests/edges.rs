//! Every dense operation on edge values, and under each of its modifiers.
//!
//! One product a sum, so that IEEE 754 says the result whatever the order of a longer one: NaN, infinities,
//! zeros of both signs, subnormals, the largest numbers.

use isa::Target;
use isa::fragment::Shape;
use isa::table::{Element, Matrix};

use super::bench::{Bench, decode, dense, encode, modes};
use crate::fault::Cause;
use crate::numerics::Numerics;

/// Bits, and the number that they mean.
type Edge = (u64, f64);

/// +0, −0, 1, −1, the smallest subnormal, the largest number, NaN and, where the format has them, infinities.
fn edges(element: Element) -> Vec<Edge> {
    let (max, subnormal, nan, infinity) = match element {
        Element::F64 => {
            let max = (0x7fef_ffff_ffff_ffff, f64::MAX);
            (max, f64::from_bits(1), 0x7ff8_0000_0000_0001, Some(0x7ff0_0000_0000_0000))
        }
        Element::F32 => {
            let max = (0x7f7f_ffff, f32::MAX.into());
            (max, 2_f64.powi(-149), 0x7fc0_0001, Some(0x7f80_0000))
        }
        Element::F16 => ((0x7bff, 65504.0), 2_f64.powi(-24), 0x7e01, Some(0x7c00)),
        Element::Bf16 => {
            let max = (0x7f7f, f32::from_bits(0x7f7f_0000).into());
            (max, 2_f64.powi(-133), 0x7fc1, Some(0x7f80))
        }
        Element::Fp8 => ((0x7e, 448.0), 2_f64.powi(-9), 0x7f, None),
        Element::Bf8 => ((0x7b, 57344.0), 2_f64.powi(-16), 0x7d, Some(0x7c)),
        other => panic!("{other:?} is no float"),
    };
    let one = encode(element, 1);
    let sign = 1 << (element.bits() - 1);
    let numbers = [
        (0, 0.0),
        (sign, -0.0),
        (one, 1.0),
        (one | sign, -1.0),
        (1, subnormal),
        max,
        (nan, f64::NAN),
    ];
    let infinities = infinity
        .into_iter()
        .flat_map(|bits| [(bits, f64::INFINITY), (bits | sign, f64::NEG_INFINITY)]);
    numbers.into_iter().chain(infinities).collect()
}

/// a · b + c in the format of D, rounded once to binary32 on the way to a narrower one.
fn fused(element: Element, a: f64, b: f64, c: f64) -> u64 {
    // Products of two binary32 are exact in binary64, and no sum of edge values lies half way.
    let wide = if element == Element::F64 { a.mul_add(b, c) } else { a * b + c };
    let single = wide as f32;
    match element {
        Element::F64 => wide.to_bits(),
        Element::F16 => half::f16::from_f32(single).to_bits().into(),
        Element::Bf16 => half::bf16::from_f32(single).to_bits().into(),
        _ => single.to_bits().into(),
    }
}

fn value(element: Element, bits: u64) -> f64 {
    if element == Element::F64 { f64::from_bits(bits) } else { decode(element, bits) }
}

fn floats() -> impl Iterator<Item = Matrix> {
    dense().filter(|op| Bench::new(*op).element(0) != Element::I32)
}

/// What a mode promises of one product: everything in `fma-sequential`; which results are NaN or infinite in
/// all; `cdna3-fdpa` the exact product where nothing is added, but for the sign of zero.
fn agrees(numerics: Numerics, element: Element, got: u64, want: u64, adds_zero: bool) -> bool {
    let (got_value, want_value) = (value(element, got), value(element, want));
    if want_value.is_nan() || got_value.is_nan() {
        return want_value.is_nan() && got_value.is_nan();
    }
    match numerics {
        Numerics::FmaSequential => got == want,
        Numerics::Cdna3Fdpa if adds_zero => got_value == want_value,
        _ if want_value.is_infinite() => got_value == want_value,
        _ => got_value.is_finite(),
    }
}

/// As a factor of a mode: `rdna3-candidate` takes subnormal bfloat16 for zeros, which makes NaN with infinities.
fn factor(numerics: Numerics, element: Element, edge: Edge) -> Edge {
    let is_subnormal = element == Element::Bf16 && edge.0 == 1;
    if numerics == Numerics::Rdna3Candidate && is_subnormal { (edge.0, 0.0) } else { edge }
}

fn check_edges(op: Matrix, numerics: Numerics, c: Edge) {
    let mut bench = Bench { numerics, ..Bench::new(op) };
    let (first, second) = (edges(bench.element(1)), edges(bench.element(2)));
    let Shape { m, k: depth, .. } = bench.shape;
    let a = |block: usize, i: usize| first[(block * m as usize + i) % first.len()];
    let b = |block: usize, j: usize| second[(block * 3 + j) % second.len()];
    bench.fill(
        |block, i, k| if k == 0 { a(block, i).0 } else { 0 },
        |block, k, j| if k == 0 { b(block, j).0 } else { 0 },
    );
    bench.fill_c(|_, _, _| c.0);
    assert_eq!(bench.run().map(|findings| findings.len()), Ok(0), "{op:?}");
    let element = bench.element(0);
    for (block, i, j) in bench.results() {
        let a = factor(numerics, bench.element(1), a(block, i));
        let b = factor(numerics, bench.element(2), b(block, j));
        // Products of +0 behind the first turn −0 into +0.
        let rest = if depth > 1 { 0.0 } else { -0.0 };
        let sum = fused(element, a.1, b.1, c.1);
        let is_negative_zero = value(element, sum) == 0.0 && value(element, sum).is_sign_negative();
        let want = if is_negative_zero { fused(element, 1.0, rest, rest) } else { sum };
        let got = bench.result(block, i, j);
        let place = || {
            format!("{op:?}, {numerics}: {a:x?} · {b:x?} + {c:x?}: got {got:#x}, want {want:#x}")
        };
        assert!(agrees(numerics, element, got, want, c.1 == 0.0), "{}", place());
    }
}

#[test]
fn every_float_product_of_edge_values() {
    for op in floats() {
        for numerics in modes(op) {
            edges(Bench::new(op).element(0)).into_iter().for_each(|c| check_edges(op, numerics, c));
        }
    }
}

#[test]
fn sums_of_negative_zeros_stay_negative() {
    for op in floats() {
        let mut bench = Bench::new(op);
        let [a, b, d] = [1, 2, 0].map(|position| bench.element(position));
        let sign = |element: Element| 1_u64 << (element.bits() - 1);
        for (c, want) in [(sign(d), sign(d)), (0, 0)] {
            bench.fill(|_, _, _| sign(a), |_, _, _| encode(b, 1));
            bench.fill_c(|_, _, _| c);
            assert!(bench.run().is_ok());
            let all: Vec<u64> = bench
                .results()
                .into_iter()
                .map(|(block, i, j)| bench.result(block, i, j))
                .collect();
            assert!(all.iter().all(|got| *got == want), "{op:?}: C = {c:#x}");
        }
    }
}

/// The ends of an integer format, as bits and numbers.
fn ends(element: Element, is_signed: bool) -> [(u64, i64); 2] {
    let bits = element.bits();
    match is_signed {
        true => {
            [(1 << (bits - 1), -(1 << (bits - 1))), ((1 << (bits - 1)) - 1, (1 << (bits - 1)) - 1)]
        }
        false => [(0, 0), ((1 << bits) - 1, (1 << bits) - 1)],
    }
}

/// What an integer sum becomes in 32 bits.
fn wrapped(sum: i64, clamps: bool) -> u64 {
    let limited = if clamps { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
    limited.cast_unsigned() & 0xffff_ffff
}

#[test]
fn every_integer_product_of_extremes() {
    for op in dense().filter(|op| Bench::new(*op).element(0) == Element::I32) {
        let element = Bench::new(op).element(1);
        let is_wmma = matches!(element, Element::Iu8 | Element::Iu4);
        // NEG chooses signed factors of WMMA, which also clamps; MFMA has neither.
        let modifiers: Vec<(u8, bool)> = match is_wmma {
            true => (0..4).flat_map(|neg| [(neg, false), (neg, true)]).collect(),
            false => vec![(0, false)],
        };
        for (neg, clamp) in modifiers {
            let is_signed = |k: u8| !is_wmma || neg >> k & 1 == 1;
            let (first, second) = (ends(element, is_signed(0)), ends(element, is_signed(1)));
            for c in [i32::MIN, -1, i32::MAX] {
                let mut bench = Bench::new(op);
                (bench.inst.mods.neg, bench.inst.mods.clamp) = (neg, clamp);
                let (a, b) = (|i: usize| first[i / 2 % 2], |j: usize| second[j % 2]);
                bench.fill(|_, i, _| a(i).0, |_, _, j| b(j).0);
                bench.fill_c(|_, _, _| u64::from(c.cast_unsigned()));
                assert!(bench.run().is_ok());
                let depth = i64::from(bench.shape.k);
                for (block, i, j) in bench.results() {
                    let want = wrapped(depth * a(i).1 * b(j).1 + i64::from(c), clamp);
                    let place =
                        format!("{op:?} NEG {neg:#b} CLAMP {clamp}: {c} + {:?} · {:?}", a(i), b(j));
                    assert_eq!(bench.result(block, i, j), want, "{place}");
                }
            }
        }
    }
}

/// NEG of A and B is for even k, NEG_HI for odd k; of C, NEG_HI takes the absolute value and NEG negates.
#[test]
fn every_wmma_applies_its_signs() {
    for op in floats().filter(|op| Bench::new(*op).target == Target::Gfx1100) {
        let halves: &[u8] = if Bench::new(op).element(0) == Element::F32 { &[0] } else { &[0, 4] };
        for (signs, op_sel) in
            (0..64_u8).flat_map(|signs| halves.iter().map(move |half| (signs, *half)))
        {
            let (neg, neg_hi) = (signs & 7, signs >> 3);
            let mut bench = Bench::new(op);
            (bench.inst.mods.neg, bench.inst.mods.neg_hi) = (neg, neg_hi);
            bench.inst.mods.op_sel = op_sel;
            let [ea, eb, ed] = [1, 2, 0].map(|position| bench.element(position));
            let (a, b) = (
                |i: usize, k: usize| (i + k) as i32 % 3 - 1,
                |k: usize, j: usize| (2 * k + j) as i32 % 4 - 2,
            );
            let c = |i: usize, j: usize| (i + 2 * j) as i32 % 5 - 2;
            bench.fill(|_, i, k| encode(ea, a(i, k)), |_, k, j| encode(eb, b(k, j)));
            bench.fill_c(|_, i, j| encode(ed, c(i, j)));
            assert!(bench.run().is_ok());
            let sign = |source: u8, k: usize| {
                let bits = [neg, neg_hi][k % 2];
                if bits >> source & 1 == 1 { -1 } else { 1 }
            };
            for (_, i, j) in bench.results() {
                let products = (0..16).map(|k| sign(0, k) * a(i, k) * sign(1, k) * b(k, j));
                let magnitude = if neg_hi & 4 != 0 { c(i, j).abs() } else { c(i, j) };
                let addend = if neg & 4 != 0 { -magnitude } else { magnitude };
                let want = f64::from(addend + products.sum::<i32>());
                let got = value(ed, bench.result(0, i, j));
                assert_eq!(
                    got, want,
                    "{op:?} NEG {neg:#b} NEG_HI {neg_hi:#b} OP_SEL {op_sel}: {i}, {j}"
                );
            }
        }
    }
}

#[test]
fn every_binary64_product_negates_by_blgp() {
    for op in floats().filter(|op| Bench::new(*op).element(0) == Element::F64) {
        for blgp in 0..8 {
            let mut bench = Bench::new(op);
            bench.inst.mods.blgp = blgp;
            let number = |value: usize| encode(Element::F64, value as i32 + 1);
            bench.fill(|_, i, k| number(i + k), |_, k, j| number(2 * k + j));
            bench.fill_c(|_, i, j| number(i * j));
            assert!(bench.run().is_ok());
            let sign = |source: u8| if blgp >> source & 1 == 1 { -1.0 } else { 1.0 };
            for (block, i, j) in bench.results() {
                let products =
                    (0..bench.shape.k as usize).map(|k| ((i + k + 1) * (2 * k + j + 1)) as f64);
                let want = sign(0) * sign(1) * products.sum::<f64>() + sign(2) * (i * j + 1) as f64;
                assert_eq!(
                    f64::from_bits(bench.result(block, i, j)),
                    want,
                    "{op:?} BLGP {blgp:#b}"
                );
            }
        }
    }
}

/// Broadcasts of A's blocks and permutations of B's lanes are refused by name, in every operation.
#[test]
fn every_mfma_refuses_broadcasts() {
    for op in dense().filter(|op| Bench::new(*op).target == Target::Gfx950) {
        let is_binary64 = Bench::new(op).element(0) == Element::F64;
        let blgp = if is_binary64 { 0..1 } else { 1..8 };
        let broadcasts = [(1, 0, 0), (4, 0, 0), (0, 1, 0), (0, 15, 0)];
        let permutations = blgp.filter(|blgp| *blgp != 0).map(|blgp| (0, 0, blgp));
        for (cbsz, abid, blgp) in broadcasts.into_iter().chain(permutations) {
            let mut bench = Bench::new(op);
            let mods = &mut bench.inst.mods;
            (mods.cbsz, mods.abid, mods.blgp) = (cbsz, abid, blgp);
            let before = bench.wave.vectors.lane(0, 0);
            let Err(Cause::Unsupported { why, .. }) = bench.run().map_err(|cause| *cause) else {
                panic!("{op:?}: not refused")
            };
            assert_eq!(why, "CBSZ, ABID and BLGP broadcasts have no witness", "{op:?}");
            assert_eq!(bench.wave.vectors.lane(0, 0), before, "{op:?}: nothing is written");
        }
    }
}
