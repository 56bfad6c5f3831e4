//! Integers, moves and bits in 32 and 64 bits.

use super::{Lab, Vector, vectors};
use isa::Op;
use isa::table::Int;

const ONES: u64 = 0xffff_ffff;
const MIN: u64 = 0x8000_0000;
const MAX: u64 = 0x7fff_ffff;
const WIDE: u64 = u64::MAX;

#[rustfmt::skip]
pub(super) const VECTORS: &[Vector] = vectors! { Int;
    VMovB32: [0x7f80_0001] = 0x7f80_0001;
    VMovB64: [0x1234_5678_9abc_def0] = 0x1234_5678_9abc_def0;
    VCndmaskB32: [5, 7, 0] = 5, [5, 7, WIDE] = 7;
    VNotB32: [0xff] = 0xffff_ff00;
    VBfrevB32: [0x1234_5678] = 0x1e6a_2c48;
    VClzI32U32: [1] = 31, [0] = 0xffff_ffff;
    VCtzI32B32: [8] = 3, [0] = 0xffff_ffff;
    VClsI32: [0x0000_ffff] = 16, [ONES] = 0xffff_ffff, [0xffff_0000] = 16;
    VAndB32: [0xc, 0xa] = 8;
    VOrB32: [0xc, 0xa] = 0xe;
    VXorB32: [0xc, 0xa] = 6;
    VXnorB32: [0xc, 0xa] = 0xffff_fff9;
    VLshlrevB32: [4, 1] = 16, [33, 1] = 2;
    VLshrrevB32: [4, MIN] = 0x0800_0000, [32, 5] = 5;
    VAshrrevI32: [4, MIN] = 0xf800_0000;
    VLshlrevB64: [40, 1] = 0x100_0000_0000, [64, 1] = 1;
    VLshrrevB64: [40, WIDE] = 0xff_ffff;
    VAshrrevI64: [40, 0x8000_0000_0000_0000] = 0xffff_ffff_ff80_0000;
    VBfeU32: [0x1234_5678, 4, 8] = 0x67, [ONES, 0, 0] = 0, [ONES, 32, 4] = 0xf;
    VBfeI32: [0x80, 0, 8] = 0xffff_ff80, [0x7f, 0, 8] = 0x7f, [ONES, 3, 0] = 0;
    VBfiB32: [0xff00, 0x1234, 0x5678] = 0x1278;
    VBfmB32: [4, 8] = 0xf00;
    VBcntU32B32: [0xff, 3] = 11;
    VAlignbitB32: [0x1234_5678, 0x9abc_def0, 16] = 0x5678_9abc, [1, 2, 0] = 2, [1, 2, 32] = 2;
    VAlignbyteB32: [0x1234_5678, 0x9abc_def0, 1] = 0x789a_bcde, [1, 2, 4] = 2;
    // Selectors: bytes 0–3 of source 1, 4–7 of source 0, 8–11 signs of odd bytes, 12 zero, above ones.
    VPermB32: [0x7766_5544, 0x3322_1100, 0x0706_0100] = 0x7766_1100, [0x8000_0000, 0, 0x0d0c_0b0a] = 0xff00_ff00;
    VAndOrB32: [0xc, 0xa, 1] = 9;
    VOr3B32: [1, 2, 4] = 7;
    VXor3B32: [1, 3, 7] = 5;
    // The truth table of the laboratory's instruction is zero; modifiers are tested below.
    VBitop3B32: [1, 2, 3] = 0;
    VAddNcU32: [ONES, 2] = 1;
    VSubNcU32: [1, 2] = 0xffff_ffff;
    VSubrevNcU32: [1, 3] = 2;
    VAddNcI32: [MAX, 1] = 0x8000_0000;
    VSubNcI32: [MIN, 1] = 0x7fff_ffff;
    VAddCoU32: [ONES, 2] = 0x1_0000_0001, [1, 2] = 3;
    VSubCoU32: [1, 2] = 0x1_ffff_ffff, [2, 1] = 1;
    VSubrevCoU32: [2, 1] = 0x1_ffff_ffff;
    VAddCoCiU32: [1, 2, WIDE] = 4, [ONES, 0, WIDE] = 0x1_0000_0000, [1, 2, 0] = 3;
    VSubCoCiU32: [5, 2, WIDE] = 2, [2, 2, WIDE] = 0x1_ffff_ffff;
    VSubrevCoCiU32: [2, 5, WIDE] = 2;
    VAdd3U32: [ONES, 1, 5] = 5;
    VLshlAddU32: [3, 4, 5] = 53;
    VAddLshlU32: [3, 4, 5] = 224;
    VLshlOrB32: [3, 4, 5] = 0x35;
    VXadU32: [0xf, 0x3, 4] = 16;
    VLshlAddU64: [0x1_0000_0001, 3, 0x10] = 0x8_0000_0018;
    VMulLoU32: [0x10001, 0x10001] = 0x2_0001;
    VMulHiU32: [ONES, ONES] = 0xffff_fffe;
    VMulHiI32: [ONES, 5] = 0xffff_ffff, [MIN, MIN] = 0x4000_0000;
    VMulI32I24: [0x01ff_ffff, 5] = 0xffff_fffb, [0x7f_ffff, 2] = 0xff_fffe;
    VMulHiI32I24: [0xff_ffff, 5] = 0xffff_ffff, [0x7f_ffff, 0x7f_ffff] = 0x3fff;
    VMulU32U24: [0x01ff_ffff, 2] = 0x01ff_fffe;
    VMulHiU32U24: [0xff_ffff, 0xff_ffff] = 0xffff;
    VMadI32I24: [0xff_ffff, 5, 1] = 0xffff_fffc;
    VMadU32U24: [0x0100_0003, 2, 1] = 7;
    VMadU32U16: [0x1_ffff, 2, 1] = 0x1_ffff;
    VMadI32I16: [0xffff, 2, 1] = 0xffff_ffff;
    VMadU64U32: [ONES, ONES, 1] = 0xffff_fffe_0000_0002;
    VMadI64I32: [ONES, 5, 1] = 0xffff_ffff_ffff_fffc;
    VMinI32: [ONES, 1] = 0xffff_ffff;
    VMinU32: [ONES, 1] = 1;
    VMaxI32: [ONES, 1] = 1;
    VMaxU32: [ONES, 1] = 0xffff_ffff;
    VMin3I32: [5, ONES, 1] = 0xffff_ffff;
    VMin3U32: [5, ONES, 1] = 1;
    VMax3I32: [5, ONES, 1] = 5;
    VMax3U32: [5, ONES, 1] = 0xffff_ffff;
    VMed3I32: [5, ONES, 1] = 1;
    VMed3U32: [5, ONES, 1] = 5;
    VMaxminI32: [5, ONES, 1] = 1;
    VMinmaxI32: [5, ONES, 1] = 1;
    VMaxminU32: [5, ONES, 1] = 1;
    VMinmaxU32: [5, ONES, 1] = 5;
    VSadU32: [5, 9, 100] = 104;
    VSadU8: [0x01ff_0080, 0x0200_0081, 5] = 0x106;
    VSadHiU8: [0x01ff_0080, 0x0200_0081, 5] = 0x0101_0005;
    VSadU16: [0x0001_ffff, 0x0003_0000, 1] = 0x1_0002;
    VMsadU8: [0x01ff_0080, 0x0200_0081, 5] = 7;
    VLerpU8: [0x0301_ff00, 0x0402_ff01, 0x0100_0001] = 0x0401_ff01;
    VAshrPkI8I32: [0x1000, 0xffff_0000, 4] = 0x807f, [0x7f, 0xffff_ff80, 32] = 0x807f;
    VAshrPkU8I32: [0x1000, 0xffff_0000, 4] = 0x00ff;
};

#[test]
fn truth_tables() {
    let run = |table: u8, sources: [u64; 3]| {
        let mut lab = Lab::new(Op::Int(Int::VBitop3B32));
        lab.inst.mods.truth_table = table;
        lab.run(&sources).value
    };
    let (a, b, c) = (0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc);
    assert_eq!(run(0xf0, [a, b, c]), a);
    assert_eq!(run(0xcc, [a, b, c]), b);
    assert_eq!(run(0xaa, [a, b, c]), c);
    assert_eq!(run(0x96, [a, b, c]), a ^ b ^ c);
    assert_eq!(run(0x80, [a, b, c]), a & b & c);
    assert_eq!(run(0xca, [a, b, c]), a & b | !a & c & 0xffff_ffff);
}

#[test]
fn clamping_saturates() {
    let run = |op: Int, sources: &[u64]| {
        let mut lab = Lab::new(Op::Int(op));
        lab.inst.mods.clamp = true;
        lab.run(sources).value
    };
    assert_eq!(run(Int::VAddNcU32, &[ONES, 2]), ONES);
    assert_eq!(run(Int::VSubNcU32, &[1, 2]), 0);
    assert_eq!(run(Int::VAddNcI32, &[MAX, 1]), MAX);
    assert_eq!(run(Int::VSubNcI32, &[MIN, 1]), MIN);
    assert_eq!(run(Int::VMadU32U24, &[0xff_ffff, 0xff_ffff, 1]), ONES);
    assert_eq!(run(Int::VMulI32I24, &[0x7f_ffff, 0x7f_ffff]), MAX);
    assert_eq!(run(Int::VAddCoU32, &[ONES, 2]), 0x1_ffff_ffff);
    assert_eq!(run(Int::VSadU32, &[0, ONES, 5]), ONES);
}

#[test]
fn negation_flips_the_sign_bit_of_a_select() {
    let mut lab = Lab::new(Op::Int(Int::VCndmaskB32));
    lab.inst.mods.neg = 1;
    lab.inst.mods.abs = 2;
    assert_eq!(lab.run(&[0x3f80_0000, 0xbf80_0000, 0]).value, 0xbf80_0000);
    assert_eq!(lab.run(&[0x3f80_0000, 0xbf80_0000, WIDE]).value, 0x3f80_0000);
}

#[test]
fn undefined_bits_move_with_the_bits() {
    let mut lab = Lab::new(Op::Int(Int::VLshlrevB32));
    lab.undefined = [0, 0xffff_0000, 0, 0];
    assert_eq!(lab.run(&[16, 0xdead_1234]).undefined, 0);
    let mut lab = Lab::new(Op::Int(Int::VPermB32));
    lab.undefined = [0xff00_0000, 0, 0, 0];
    assert_eq!(lab.run(&[0, 0, 0x0c07_0c00]).undefined, 0x00ff_0000);
}
