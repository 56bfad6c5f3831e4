//! MODE and output modifiers: what applies to many operations at once.

use super::{COMPILER_MODE, Lab};
use isa::Op;
use isa::inst::OutputScale;
use isa::table::{Convert, Float, Half};

const SUBNORMAL: u64 = 0x0040_0000;

fn with_mode(op: Op, mode: u32) -> Lab {
    Lab { mode, ..Lab::new(op) }
}

#[test]
fn subnormals_are_flushed_as_the_mode_says() {
    let add = Op::Float(Float::VAddF32);
    let results = |mode: u32| {
        let lab = with_mode(add, mode);
        // A subnormal source with a normal result, and normal sources with a subnormal result.
        [lab.run(&[SUBNORMAL, 0x0080_0000]).value, lab.run(&[0x0080_0000, 0x80c0_0000]).value]
    };
    let cases = [
        (3, [0x00c0_0000, 0x8040_0000]),
        (0, [0x0080_0000, 0x8000_0000]),
        (1, [0x00c0_0000, 0x8000_0000]),
        (2, [0x0080_0000, 0x8040_0000]),
    ];
    for (denorm, expected) in cases {
        assert_eq!(results(COMPILER_MODE & !0x30 | denorm << 4), expected, "mode {denorm}");
    }
}

#[test]
fn the_two_denormal_fields_are_separate() {
    let flush16 = COMPILER_MODE & !0xc0;
    assert_eq!(with_mode(Op::Half(Half::VAddF16), flush16).run(&[1, 0]).value, 0);
    assert_eq!(with_mode(Op::Float(Float::VAddF32), flush16).run(&[1, 0]).value, 1);
    assert_eq!(with_mode(Op::Float(Float::VAddF64), flush16).run(&[1, 0]).value, 0);
    let flush32 = COMPILER_MODE & !0x30;
    assert_eq!(with_mode(Op::Half(Half::VAddF16), flush32).run(&[1, 0]).value, 1);
}

#[test]
fn output_multipliers_need_flushed_results_and_no_ieee_mode() {
    let scaled = |mode: u32| {
        let mut lab = with_mode(Op::Float(Float::VAddF32), mode);
        lab.inst.mods.omod = OutputScale::Mul4;
        lab.run(&[0x3f80_0000, 0]).value
    };
    let graphics = COMPILER_MODE & !0x230;
    assert_eq!(scaled(graphics), 0x4080_0000);
    assert_eq!(scaled(COMPILER_MODE), 0x3f80_0000);
    assert_eq!(scaled(COMPILER_MODE & !0x200), 0x3f80_0000);
}

#[test]
fn clamping_floats() {
    let clamped = |mode: u32, value: u64| {
        let mut lab = with_mode(Op::Float(Float::VAddF32), mode);
        lab.inst.mods.clamp = true;
        lab.run(&[value, 0]).value
    };
    assert_eq!(clamped(COMPILER_MODE, 0x4000_0000), 0x3f80_0000);
    assert_eq!(clamped(COMPILER_MODE, 0xc000_0000), 0);
    assert_eq!(clamped(COMPILER_MODE, 0x3f00_0000), 0x3f00_0000);
    assert_eq!(clamped(COMPILER_MODE, 0x7fc0_0000), 0);
    assert_eq!(clamped(COMPILER_MODE & !0x100, 0x7fc0_0000), 0x7fc0_0000);
}

#[test]
fn source_modifiers_apply_abs_before_neg() {
    let mut lab = Lab::new(Op::Float(Float::VFmaF32));
    lab.inst.mods.abs = 0b001;
    lab.inst.mods.neg = 0b101;
    // −|−2| · 3 + −1.
    assert_eq!(lab.run(&[0xc000_0000, 0x4040_0000, 0x3f80_0000]).value, 0xc0e0_0000);
}

#[test]
fn minimum_without_ieee_mode_drops_signalling_nans() {
    let lab = with_mode(Op::Float(Float::VMinF32), COMPILER_MODE & !0x200);
    assert_eq!(lab.run(&[0x7f80_0001, 0x3f80_0000]).value, 0x3f80_0000);
}

#[test]
fn division_steps_with_an_undefined_flag_are_undefined() {
    let mut lab = Lab::new(Op::Float(Float::VDivFmasF32));
    // VCC is whatever a wave starts with.
    assert_eq!(lab.run(&[0x4000_0000, 0x4040_0000, 0x3f80_0000]).undefined, 0xffff_ffff);
    lab.inst.op = Op::Float(Float::VFmaF32);
    assert_eq!(lab.run(&[0x4000_0000, 0x4040_0000, 0x3f80_0000]).undefined, 0);
}

/// Results upwards, downwards and towards zero, worked out by hand: half a unit or less behind the last digit.
#[test]
fn directed_results_of_each_operation() {
    const ONE: u64 = 0x3f80_0000;
    const TINY: u64 = 0x3080_0000;
    const ONE64: u64 = 0x3ff0_0000_0000_0000;
    let cases: &[(Op, &[u64], [u64; 3])] = &[
        (Op::Float(Float::VAddF32), &[ONE, TINY], [ONE + 1, ONE, ONE]),
        (Op::Float(Float::VSubF32), &[ONE, TINY], [ONE, ONE - 1, ONE - 1]),
        (
            Op::Float(Float::VSubrevF32),
            &[ONE, TINY],
            [1 << 31 | (ONE - 1), 1 << 31 | ONE, 1 << 31 | (ONE - 1)],
        ),
        (Op::Float(Float::VMulF32), &[ONE + 1, ONE + 1], [ONE + 3, ONE + 2, ONE + 2]),
        (Op::Float(Float::VFmaF32), &[ONE, ONE, TINY], [ONE + 1, ONE, ONE]),
        (Op::Float(Float::VLdexpF32), &[3, 0xffff_ffff], [2, 1, 1]),
        (Op::Float(Float::VAddF64), &[ONE64, 0x3c00_0000_0000_0000], [ONE64 + 1, ONE64, ONE64]),
        (Op::Float(Float::VMulF64), &[ONE64 + 1, ONE64 + 1], [ONE64 + 3, ONE64 + 2, ONE64 + 2]),
        (
            Op::Float(Float::VFmaF64),
            &[ONE64, ONE64, 0x3c00_0000_0000_0000],
            [ONE64 + 1, ONE64, ONE64],
        ),
        (Op::Half(Half::VAddF16), &[0x3c00, 0x1000], [0x3c01, 0x3c00, 0x3c00]),
        (Op::Half(Half::VMulF16), &[0x3c01, 0x3c01], [0x3c03, 0x3c02, 0x3c02]),
        (Op::Half(Half::VFmaF16), &[0x3c00, 0x3c00, 0x1000], [0x3c01, 0x3c00, 0x3c00]),
        (Op::Convert(Convert::VCvtF16F32), &[ONE + 1], [0x3c01, 0x3c00, 0x3c00]),
        (Op::Convert(Convert::VCvtF16F32), &[0x477f_f000], [0x7c00, 0x7bff, 0x7bff]),
        (Op::Convert(Convert::VCvtF32F64), &[ONE64 + 1], [ONE + 1, ONE, ONE]),
        (Op::Convert(Convert::VCvtF32I32), &[0xfe00_0001], [0xcbff_ffff, 0xcc00_0000, 0xcbff_ffff]),
        (Op::Convert(Convert::VCvtF32U32), &[0x0200_0001], [0x4c00_0001, 0x4c00_0000, 0x4c00_0000]),
    ];
    for (op, sources, want) in cases {
        for (field, want) in (1..).zip(want) {
            let got = with_mode(*op, COMPILER_MODE & !0xf | (field * 5)).run(sources).value;
            assert_eq!(got, *want, "{op:?} {sources:x?} in mode {field}");
        }
    }
}

/// One field is for binary32, the other for binary16 and binary64.
#[test]
fn the_two_rounding_fields_are_separate() {
    let (single, double) = (Op::Float(Float::VAddF32), Op::Float(Float::VAddF64));
    let single_of =
        |mode| with_mode(single, COMPILER_MODE & !0xf | mode).run(&[0x3f80_0000, 1]).value;
    let double_of = |mode| {
        with_mode(double, COMPILER_MODE & !0xf | mode).run(&[0x3ff0_0000_0000_0000, 1]).value
    };
    assert_eq!((single_of(1), single_of(4)), (0x3f80_0001, 0x3f80_0000));
    assert_eq!((double_of(1), double_of(4)), (0x3ff0_0000_0000_0000, 0x3ff0_0000_0000_0001));
}
