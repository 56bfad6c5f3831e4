//! Packed arithmetic, mixed precision, dot products.

use super::{Lab, Vector, vectors};
use isa::table::Packed;
use isa::{Op, Target};

#[rustfmt::skip]
pub(super) const VECTORS: &[Vector] = vectors! { Packed;
    VPkAddF16: [0x4000_3c00, 0x3c00_4000] = 0x4200_4200;
    VPkMulF16: [0x4200_3c00, 0x4000_4000] = 0x4600_4000;
    VPkMinF16: [0x4000_3c00, 0x3c00_4000] = 0x3c00_3c00;
    VPkMaxF16: [0x4000_3c00, 0x3c00_4000] = 0x4000_4000;
    VPkFmaF16: [0x4000_4000, 0x4200_3c00, 0x3c00_3c00] = 0x4700_4200;
    VPkFmacF16: [0x4000_4000, 0x4200_3c00, 0x3c00_3c00] = 0x4700_4200;
    VPkMinimum3F16: [0x4000_3c00, 0x3c00_7e00, 0x4200_3c00] = 0x3c00_7e00;
    VPkMaximum3F16: [0x4000_3c00, 0x3c00_4000, 0x4200_3c00] = 0x4200_4000;
    VPkMadI16: [0xffff_0002, 0x0005_0003, 0x0001_0001] = 0xfffc_0007;
    VPkMadU16: [0xffff_0002, 0x0002_0003, 0x0001_0001] = 0xffff_0007;
    VPkAddI16: [0x7fff_0001, 0x0001_0002] = 0x8000_0003;
    VPkSubI16: [0x8000_0001, 0x0001_0002] = 0x7fff_ffff;
    VPkAddU16: [0xffff_0001, 0x0002_0002] = 0x0001_0003;
    VPkSubU16: [0x0001_0003, 0x0002_0001] = 0xffff_0002;
    VPkMulLoU16: [0x0101_0003, 0x0101_0004] = 0x0201_000c;
    VPkLshlrevB16: [0x0004_0001, 0x1001_0001] = 0x0010_0002;
    VPkLshrrevB16: [0x0004_0001, 0x8000_8000] = 0x0800_4000;
    VPkAshrrevI16: [0x0004_0001, 0x8000_8000] = 0xf800_c000;
    VPkMaxI16: [0xffff_0005, 0x0001_0004] = 0x0001_0005;
    VPkMinI16: [0xffff_0005, 0x0001_0004] = 0xffff_0004;
    VPkMaxU16: [0xffff_0005, 0x0001_0004] = 0xffff_0005;
    VPkMinU16: [0xffff_0005, 0x0001_0004] = 0x0001_0004;
    VPkFmaF32: [0x4000_0000_3f80_0000, 0x4040_0000_4000_0000, 0x3f80_0000_3f80_0000] = 0x40e0_0000_4040_0000;
    VPkMulF32: [0x4000_0000_3f80_0000, 0x4040_0000_4000_0000] = 0x40c0_0000_4000_0000;
    VPkAddF32: [0x4000_0000_3f80_0000, 0x4040_0000_4000_0000] = 0x40a0_0000_4040_0000;
    // OP_SEL zero: the low words of both sources.
    VPkMovB32: [0x1111_1111_2222_2222, 0x3333_3333_4444_4444] = 0x4444_4444_2222_2222;
    // The laboratory sets OP_SEL_HI: sources are binary16, low halves.
    VFmaMixF32: [0x4000, 0x4200, 0x3c00] = 0x40e0_0000;
    VFmaMixloF16: [0x4000, 0x4200, 0x3c00, 0x5555_0000] = 0x5555_4700;
    VFmaMixhiF16: [0x4000, 0x4200, 0x3c00, 0x0000_5555] = 0x4700_5555;
    VDot2F32F16: [0x4000_3c00, 0x4200_4000, 0x3f80_0000] = 0x4110_0000;
    VDot2F32Bf16: [0x4000_3f80, 0x4040_4000, 0x3f80_0000] = 0x4110_0000;
    VDot2accF32F16: [0x4000_3c00, 0x4200_4000, 0x3f80_0000] = 0x4110_0000;
    VDot2cF32Bf16: [0x4000_3f80, 0x4040_4000, 0x3f80_0000] = 0x4110_0000;
    VDot4U32U8: [0x0102_03ff, 0x0102_0302, 5] = 0x211;
    VDot4I32I8: [0x0102_03ff, 0x0102_0302, 5] = 0x11;
    VDot4cI32I8: [0x01ff_0280, 0x0101_0101, 10] = 0xffff_ff8c;
    VDot8U32U4: [0xf000_0001, 0xf000_0002, 3] = 230;
    VDot8I32I4: [0xf000_0001, 0x1000_0002, 3] = 4;
    VDot8cI32I4: [0xf000_0001, 0x1000_0002, 3] = 4;
    // Without NEG both sources are unsigned.
    VDot8I32Iu4: [0xf000_0001, 0x1000_0002, 3] = 20;
    VDot2I32I16: [0xffff_0002, 0x0003_0005, 1] = 8;
    VDot2U32U16: [0xffff_0002, 0x0003_0005, 1] = 0x3_0008;
    VDot2cI32I16: [0xffff_0002, 0x0003_0005, 1] = 8;
    VDot4I32Iu8: [0x0102_03ff, 0x0102_0302, 5] = 0x211;
};

#[test]
fn halves_are_chosen_and_negated_apart() {
    let mut lab = Lab::new(Op::Packed(Packed::VPkAddF16));
    // Low result: high half of source 0, negated, plus low half of source 1; high result: low, high.
    lab.inst.mods.op_sel = 0b01;
    lab.inst.mods.op_sel_hi = 0b10;
    lab.inst.mods.neg = 0b01;
    // −2 + 2 = 0; 1 + 3 = 4.
    assert_eq!(lab.run(&[0x4000_3c00, 0x4200_4000]).value, 0x4400_0000);
    lab.inst.mods.neg_hi = 0b10;
    // 1 − 3 = −2.
    assert_eq!(lab.run(&[0x4000_3c00, 0x4200_4000]).value, 0xc000_0000);
}

#[test]
fn words_are_chosen_apart() {
    let mut lab = Lab::new(Op::Packed(Packed::VPkMulF32));
    lab.inst.mods.op_sel = 0b01;
    lab.inst.mods.op_sel_hi = 0b10;
    // Low: 2 · 2; high: 1 · 3.
    assert_eq!(
        lab.run(&[0x4000_0000_3f80_0000, 0x4040_0000_4000_0000]).value,
        0x4040_0000_4080_0000
    );
}

#[test]
fn mixed_sources_are_binary32_or_either_half() {
    for target in Target::ALL {
        let mut lab = Lab::on(target, Op::Packed(Packed::VFmaMixF32));
        // Source 0 binary32, source 1 the high half, source 2 the low half negated.
        lab.inst.mods.op_sel_hi = 0b110;
        lab.inst.mods.op_sel = 0b010;
        lab.inst.mods.neg = 0b100;
        assert_eq!(lab.run(&[0x4000_0000, 0x4200_0000, 0x3c00]).value, 0x40a0_0000);
    }
}

#[test]
fn only_the_halves_that_take_part_make_a_mixed_result_undefined() {
    for target in Target::ALL {
        let mut lab = Lab::on(target, Op::Packed(Packed::VFmaMixF32));
        lab.inst.mods.op_sel_hi = 0b111;
        lab.undefined = [0xffff_0000, 0xffff_0000, 0xffff_0000, 0];
        assert_eq!(lab.run(&[0x3c00, 0x3c00, 0x3c00]).undefined, 0);
        lab.inst.mods.op_sel = 0b010;
        assert_eq!(lab.run(&[0x3c00, 0x3c00, 0x3c00]).undefined, 0xffff_ffff);
        lab.inst.mods = isa::inst::Modifiers::default();
        assert_eq!(lab.run(&[0x3c00, 0x3c00, 0x3c00]).undefined, 0xffff_ffff);
    }
}

#[test]
fn signs_of_byte_products() {
    let mut lab = Lab::new(Op::Packed(Packed::VDot4I32Iu8));
    lab.inst.mods.neg = 0b01;
    // −1 · 255 + 0.
    assert_eq!(lab.run(&[0xff, 0xff, 0]).value, 0xffff_ff01);
    lab.inst.mods.neg = 0b11;
    assert_eq!(lab.run(&[0xff, 0xff, 0]).value, 1);
}

#[test]
fn halves_of_a_packed_result_are_undefined_apart() {
    let mut lab = Lab::new(Op::Packed(Packed::VPkAddF16));
    lab.undefined = [0xffff_0000, 0, 0, 0];
    assert_eq!(lab.run(&[0x3c00, 0x3c00]).undefined, 0xffff_0000);
}
