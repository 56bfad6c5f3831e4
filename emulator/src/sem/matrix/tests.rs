//! Whole matrices through single instructions, against plain triple loops.
//!
//! Positions are worked out here a second time, from the tables of the ISA manuals ("lane l holds row
//! l % 32, …"), not from `isa::fragment`. Expected values are exact: sums of small integers, which no order
//! of additions rounds, or a chain of `f64` operations that is exact by construction.

mod bench;
mod edges;

use isa::fragment::Shape;
use isa::reg::InlineFloat;
use isa::table::{Element, Matrix, Op};
use isa::{Operand, Target};

use crate::fault::Cause;
use crate::finding::Rule;
use crate::lanes::simd::Width;
use crate::numerics::Numerics;
use crate::sem::{self, Meaning};
use crate::wave::{Row, scalar};
pub(in crate::sem) use bench::dense;
use bench::{A, B, Bench, C, D, decode, encode, modes, small};

#[test]
fn every_dense_operation_multiplies_whole_matrices() {
    for (op, numerics) in dense().flat_map(|op| modes(op).into_iter().map(move |mode| (op, mode))) {
        let mut bench = Bench { numerics, ..Bench::new(op) };
        let (ea, eb, ed) = (bench.element(1), bench.element(2), bench.element(0));
        let unsigned = matches!(ea, Element::Iu8 | Element::Iu4);
        bench.inst.mods.neg = if unsigned { 3 } else { 0 };
        let (a, b) = (|b, i, k| small(1, b, i, k), |b, k, j| small(2, b, k, j));
        let c = |b, i, j| 5 * small(3, b, i, j);
        bench.fill(|x, y, z| encode(ea, a(x, y, z)), |x, y, z| encode(eb, b(x, y, z)));
        bench.fill_c(|x, y, z| encode(ed, c(x, y, z)));
        assert_eq!(bench.run().map(|findings| findings.len()), Ok(0), "{op:?}");
        for (block, i, j) in bench.results() {
            let products = (0..bench.shape.k as usize).map(|k| a(block, i, k) * b(block, k, j));
            let want = c(block, i, j) + products.sum::<i32>();
            let got = bench.result(block, i, j);
            let place = format!("{op:?}, {numerics}: block {block}, row {i}, column {j}");
            if numerics == Numerics::Rdna3Candidate && ed != Element::I32 {
                // Opposing terms weigh a unit more: eight steps of at most two units of 2^-19 in f32
                // (sums below 2^7), and of one unit of a rounded result below 2^7 otherwise.
                let bound = match ed {
                    Element::F16 => 8.0 * 0.0625,
                    Element::Bf16 => 8.0 * 0.5,
                    _ => 16.0 * 2_f64.powi(-19),
                };
                let error = (decode(ed, got) - f64::from(want)).abs();
                assert!(error <= bound, "{place}: want {want}, off by {error}");
            } else {
                assert_eq!(got, encode(ed, want), "{place}: want {want}");
            }
        }
    }
}

#[test]
fn fused_groups_of_mfma_and_binary32_chains() {
    let run = |op, numerics| {
        let mut bench = Bench { numerics, ..Bench::new(op) };
        let (first, second) = (bench.element(1), bench.element(2));
        bench.fill(
            |_, _, k| encode(first, i32::from(k < 2)),
            |_, k, _| encode(second, i32::from(k < 2)),
        );
        bench.fill_c(|_, _, _| 16_777_216_f32.to_bits().into());
        assert!(bench.run().is_ok());
        f32::from_bits(bench.result(0, 2, 1) as u32)
    };
    let narrow = [Element::F16, Element::Bf16, Element::Fp8, Element::Bf8];
    for op in dense().filter(|op| Bench::new(*op).target == Target::Gfx950) {
        let bench = Bench::new(op);
        if bench.element(0) != Element::F32 || bench.shape.k < 2 {
            continue;
        }
        // 2^24 + 1 + 1: one fused sum, or two sums that round to even.
        let is_fused = narrow.contains(&bench.element(1));
        let want = if is_fused { 16_777_218.0 } else { 16_777_216.0 };
        assert_eq!(run(op, Numerics::Cdna3Fdpa), want, "{op:?}");
        assert_eq!(run(op, Numerics::FmaSequential), 16_777_216.0, "{op:?}");
    }
}

#[test]
fn wmma_takes_eight_steps_as_captured_on_gfx1100() {
    // The first row of a 16×16 result of v_wmma_f32_16x16x16_{f16,bf16} on a Radeon Pro W7900, from the
    // captures in ROCm/rocm-systems pull request 12120, with the integers that went in.
    const ROW: [u32; 16] = [
        0xbfff_ffc0,
        0xc277_fffe,
        0xc1a0_0002,
        0xc2c2_0000,
        0xc217_ffff,
        0x42f6_0000,
        0xc2f8_0000,
        0x4258_0000,
        0x4234_0000,
        0xc2a6_0000,
        0x42aa_0000,
        0xc2bc_0000,
        0xc2ce_0000,
        0x41bf_fffd,
        0xc210_0000,
        0x4294_0001,
    ];
    let centred = |value: usize, factor: usize, modulus: usize| {
        (value * factor % modulus) as i32 - (modulus / 2) as i32
    };
    for op in [Matrix::VWmmaF3216x16x16F16, Matrix::VWmmaF3216x16x16Bf16] {
        let mut bench = Bench { numerics: Numerics::Rdna3Candidate, ..Bench::new(op) };
        let element = bench.element(1);
        bench.fill(
            |_, i, k| encode(element, centred(i * 16 + k, 7, 17)),
            |_, k, j| encode(element, centred(k * 16 + j, 11, 17)),
        );
        bench.fill_c(|_, i, j| encode(Element::F32, centred(i * 16 + j, 13, 129)));
        assert!(bench.run().is_ok());
        let row: Vec<u32> = (0..16).map(|j| bench.result(0, 0, j) as u32).collect();
        assert_eq!(row, ROW, "{op:?}");
    }
}

#[test]
fn sums_run_over_ascending_k_and_round_once_a_product() {
    let mut bench = Bench::new(Matrix::VMfmaF3216x16x16F16);
    // 2^24 + 1 rounds to 2^24 (ties to even), so that ones vanish while the sum is there.
    let row = |k: usize| [4096.0, 1.0, 1.0, -4096.0, 1.0].get(k).copied().unwrap_or(0.0);
    let column = |k: usize| if k == 0 || k == 3 { 4096.0 } else { 1.0 };
    let bits = |value: f32| u64::from(half::f16::from_f32(value).to_bits());
    bench.fill(|_, _, k| bits(row(k)), |_, k, _| bits(column(k)));
    bench.fill_c(|_, _, _| 0);
    assert!(bench.run().is_ok());
    assert_eq!(f32::from_bits(bench.result(0, 3, 5) as u32), 1.0);
}

#[test]
fn subnormals_infinities_and_nans() {
    let run = |a: u32, b: u32, c: u32| {
        let mut bench = Bench::new(Matrix::VMfmaF3216x16x16Bf16);
        let first = |k: usize, bits: u32| if k == 0 { u64::from(bits) } else { 0 };
        bench.fill(|_, _, k| first(k, a), |_, k, _| first(k, b));
        bench.fill_c(|_, _, _| c.into());
        assert!(bench.run().is_ok());
        bench.result(0, 9, 2) as u32
    };
    // The smallest bfloat16 subnormal times 1, and 1.125 · 2^-148, which rounds to 2^-148.
    assert_eq!(run(0x0001, 0x3f80, 0), 0x0001_0000);
    assert_eq!(run(0x0090, 0x3480, 0), 2);
    // 2^127 · 2 − 2^127 is finite only when the product is not rounded.
    assert_eq!(run(0x7f00, 0x4000, 0xff00_0000), 0x7f00_0000);
    assert_eq!(run(0x7f80, 0x3f80, 0x3f80_0000), 0x7f80_0000);
    // 0 · ∞, ∞ − ∞ and a NaN operand.
    assert_eq!(run(0x7f80, 0x0000, 0), 0x7fc0_0000);
    assert_eq!(run(0x7f80, 0x3f80, 0xff80_0000), 0x7fc0_0000);
    assert_eq!(run(0x3f80, 0x3f80, 0x7f81_2345), 0x7fc1_2345);
    assert_eq!(run(0x0000, 0x0000, 0x8000_0000), 0);
}

#[test]
fn eight_bit_floats_decode_as_the_ocp_formats() {
    for bits in 0..=255_u32 {
        let value = |exponent_bits: u32, bias: i32| {
            let fraction_bits = 7 - exponent_bits;
            let (exponent, fraction) =
                ((bits & 0x7f) >> fraction_bits, bits & ((1 << fraction_bits) - 1));
            let unit = f64::from(fraction) / f64::from(1 << fraction_bits);
            let magnitude = match exponent {
                0 => unit * 2_f64.powi(1 - bias),
                _ => (1.0 + unit) * 2_f64.powi(exponent as i32 - bias),
            };
            if bits & 0x80 != 0 { -magnitude } else { magnitude }
        };
        let widen = |element| f32::from_bits(super::arithmetic::widen(element, bits));
        let (fp8, bf8) = (widen(Element::Fp8), widen(Element::Bf8));
        match bits & 0x7f {
            0x7f => assert!(fp8.is_nan() && bf8.is_nan()),
            magnitude => {
                assert_eq!(f64::from(fp8), value(4, 7), "{bits:#x}");
                match magnitude {
                    0x7c => assert!(bf8.is_infinite()),
                    0x7d.. => assert!(bf8.is_nan()),
                    _ => assert_eq!(f64::from(bf8), value(5, 15), "{bits:#x}"),
                }
            }
        }
    }
}

#[test]
fn binary64_negates_by_blgp_and_is_fused() {
    let mut bench = Bench::new(Matrix::VMfmaF6416x16x4F64);
    bench.inst.mods.blgp = 0b101;
    let tiny = 1.0 + f64::EPSILON;
    let first = |k: usize, value: f64| if k == 0 { value.to_bits() } else { 0 };
    bench.fill(|_, _, k| first(k, tiny), |_, k, _| first(k, tiny));
    bench.fill_c(|_, _, _| (-1.0_f64).to_bits());
    assert!(bench.run().is_ok());
    // −(1 + ε)² + 1 = −2ε − ε², of which a rounded product would lose ε².
    let want = -2.0 * f64::EPSILON - f64::EPSILON * f64::EPSILON;
    assert_eq!(f64::from_bits(bench.result(0, 7, 11)), want);
}

#[test]
fn integers_wrap_or_clamp() {
    let run = |clamp: bool, neg: u8| {
        let mut bench = Bench::new(Matrix::VWmmaI3216x16x16Iu8);
        bench.inst.mods.clamp = clamp;
        bench.inst.mods.neg = neg;
        bench.fill(|_, _, _| 0xff, |_, _, _| 0xff);
        bench.fill_c(|_, _, _| i32::MAX as u64);
        assert!(bench.run().is_ok());
        (bench.result(0, 1, 1) as u32).cast_signed()
    };
    assert_eq!(run(false, 0), i32::MAX.wrapping_add(16 * 255 * 255));
    assert_eq!(run(true, 0), i32::MAX);
    assert_eq!(run(true, 1), i32::MAX - 16 * 255);
    assert_eq!(run(true, 3), i32::MAX, "16 more than the maximum");
}

#[test]
fn wmma_keeps_the_other_half_and_takes_signs() {
    for (op, ones) in
        [(Matrix::VWmmaF1616x16x16F16, 0x3c00_u64), (Matrix::VWmmaBf1616x16x16Bf16, 0x3f80)]
    {
        let mut bench = Bench::new(op);
        bench.inst.mods.op_sel = 4;
        // Even elements of A negated, C = −|C|.
        (bench.inst.mods.neg, bench.inst.mods.neg_hi) = (0b101, 0b100);
        let element = bench.element(0);
        bench.fill(|_, i, k| if k == i / 4 { ones } else { 0 }, |_, _, _| ones);
        bench.fill_c(|_, _, _| encode(element, 2));
        assert!(bench.run().is_ok());
        assert_eq!(bench.result(0, 0, 3), encode(element, -3), "{op:?}: k = 0 is negated");
        assert_eq!(bench.result(0, 4, 3), encode(element, -1), "{op:?}: k = 1 is not");
        let low = bench.wave.vectors.lane(D.into(), 3) & 0xffff;
        assert_eq!(low, 0x5555, "{op:?}: the half that OP_SEL does not choose");
    }
}

#[test]
fn inline_constants_stand_for_every_element_of_c() {
    for op in dense().filter(|op| !matches!(op, Matrix::VMfmaF644x4x44bF64)) {
        let mut bench = Bench::new(op);
        let element = bench.element(0);
        bench.inst.operands[3] = Operand::Float(InlineFloat::Two);
        bench.fill(|_, _, _| 0, |_, _, _| 0);
        assert!(bench.run().is_ok());
        let two = if element == Element::I32 { 0x4000_0000 } else { encode(element, 2) };
        assert_eq!(bench.result(0, 1, 2), two, "{op:?}");
    }
}

#[test]
fn undefined_bits_reach_exactly_the_elements_that_depend_on_them() {
    let mut bench = Bench::new(Matrix::VMfmaF3232x32x42bF16);
    bench.fill(|_, _, _| 0, |_, _, _| 0);
    bench.fill_c(|_, _, _| 0);
    let (lane, number) = bench.factor_place(1, 6, 3);
    bench.wave.vectors.write_lane(
        u16::from(A) + number as u16 / 2,
        lane,
        0xffff_0000,
        0,
        0x10_0000,
    );
    assert!(bench.run().is_ok());
    for (block, i, j) in bench.results() {
        let (lane, number) = bench.result_place(block, i, j);
        let undefined = bench.wave.vectors.lane_bits(u16::from(D) + number as u16, lane).undefined;
        let want = if (block, i) == (1, 6) { 0xffff_ffff } else { 0 };
        assert_eq!(undefined, want, "block {block}, row {i}, column {j}");
    }
}

#[test]
fn partial_exec_and_unequal_copies_are_findings() {
    let rules = |bench: &mut Bench| {
        let findings = bench.run().expect("runs");
        findings.iter().map(|finding| finding.rule).collect::<Vec<Rule>>()
    };
    let mut bench = Bench::new(Matrix::VMfmaF324x4x416bF16);
    bench.fill(|_, _, _| 0x3c00, |_, _, _| 0x3c00);
    bench.fill_c(|_, _, _| 0);
    bench.wave.set_mask(scalar::EXEC, u64::MAX - 2, 0);
    bench.wave.active = bench.wave.exec();
    assert_eq!(rules(&mut bench), [Rule::PartialExec]);
    let (lane, _) = bench.result_place(0, 0, 1);
    assert_eq!((lane, bench.result(0, 0, 1)), (1, u64::from(4_f32.to_bits())), "EXEC is ignored");

    let mut bench = Bench::new(Matrix::VWmmaF3216x16x16F16);
    bench.fill(|_, _, _| 0, |_, _, _| 0);
    bench.fill_c(|_, _, _| 0);
    assert_eq!(rules(&mut bench), []);
    bench.write(B + 3, 20, u32::MAX, 1);
    assert_eq!(rules(&mut bench), [Rule::LaneDuplication]);
}

#[test]
fn what_has_no_witness_is_refused() {
    for row in Matrix::ROWS {
        let Op::Matrix(op) = row.op else { panic!("{:?}", row.op) };
        let is_refused = matches!(sem::meaning(row.op), Meaning::Unsupported(_));
        assert_eq!(is_refused, Shape::of(op).is_none(), "{op:?}");
    }
    let mut bench = Bench::new(Matrix::VMfmaF3232x32x42bF16);
    bench.inst.mods.cbsz = 1;
    assert!(matches!(bench.run().map_err(|cause| *cause), Err(Cause::Unsupported { .. })));
}

#[test]
fn every_binary16_widens_as_the_plain_conversion_does() {
    for bits in 0..=0xffff_u32 {
        let widened = super::arithmetic::widen(Element::F16, bits);
        assert_eq!(widened, crate::float::f16_to_f32(bits), "{bits:#x}");
    }
}

/// Raw words of a kind: 0 plain numbers, 1 any exponent, 2 any bits.
fn word(state: &mut u64, element: Element, kind: u64) -> u32 {
    let mut next = || {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as u32
    };
    let (bits, other) = (next() << 1 | next() & 1, next());
    let numbers = match element {
        Element::F16 => 0xbfff_bfff,
        Element::Bf16 => 0xbfff_bfff,
        Element::F32 => 0xbfff_ffff,
        _ => 0xbfbf_bfbf,
    };
    // Exponents around one.
    let plain = match element {
        Element::F16 => bits & 0x8fff_8fff | 0x3000_3000,
        Element::Bf16 => bits & 0x83ff_83ff | 0x3e00_3e00,
        Element::F32 => bits & 0x83ff_ffff | 0x3e00_0000,
        _ => bits & 0x9f9f_9f9f | 0x2020_2020,
    };
    match (kind, other % 8) {
        (_, 0) => 0,
        (0, _) => plain,
        (1, _) => bits & numbers,
        _ => bits,
    }
}

#[test]
fn the_fast_way_gives_the_bits_of_the_general_one_on_any_host() {
    let mut state = 1;
    for op in dense() {
        let of_row = Bench::new(op);
        if super::plan(Op::Matrix(op)).is_none_or(|plan| plan.tiles.is_none()) {
            let has_fast_way = of_row.element(0) == Element::F32 && of_row.shape.m >= 16;
            assert!(!has_fast_way, "{op:?}");
            continue;
        }
        for (kind, numerics) in
            (0..3).flat_map(|kind| modes(op).into_iter().map(move |m| (kind, m)))
        {
            let (in_place, inline) = (kind == 1, kind == 2 && state % 3 == 0);
            let fill = |bench: &mut Bench, mut state: u64| {
                for (first, registers, position) in [(A, 16, 1), (B, 16, 2), (C, 32, 3)] {
                    let element = bench.element(position);
                    for register in first..first + registers {
                        for lane in 0..bench.lanes() {
                            let copy =
                                bench.target == Target::Gfx1100 && lane > 15 && position != 3;
                            let bits = if copy {
                                bench.wave.vectors.lane(register.into(), lane - 16)
                            } else {
                                word(&mut state, element, kind)
                            };
                            bench.write(register, lane, u32::MAX, bits);
                        }
                    }
                }
                if in_place {
                    bench.inst.operands[0] = Operand::Vgpr(C);
                }
                if inline {
                    bench.inst.operands[3] = Operand::Float(InlineFloat::Two);
                }
                state
            };
            let results = |bench: &Bench| -> Vec<Row> {
                let first = if in_place { C } else { D };
                let rows = bench.wave.n_rows();
                let registers = u16::from(first)..u16::from(first) + 32;
                registers
                    .flat_map(|register| (0..rows).map(move |row| (register, row)))
                    .map(|(register, row)| *bench.wave.vectors.row(register, row))
                    .collect()
            };
            let mut general = Bench { numerics, ..Bench::new(op) };
            let end = fill(&mut general, state);
            // An undefined bit: that way is the general one.
            let bits = general.wave.vectors.lane(A.into(), 0);
            general.wave.vectors.write_lane(A.into(), 0, 1, bits, 1);
            assert!(general.run().is_ok());
            for width in [Width::PLAIN, Width::detect()] {
                let mut fast = Bench { numerics, ..Bench::new(op) };
                fill(&mut fast, state);
                fast.wave.vectors.set_width(width);
                assert!(fast.run().is_ok());
                let place = format!("{op:?}, {numerics}, kind {kind}, {width:?}");
                assert_eq!(results(&fast), results(&general), "{place}");
            }
            state = end;
        }
    }
}
