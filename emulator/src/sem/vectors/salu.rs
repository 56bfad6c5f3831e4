//! Scalar arithmetic.

use super::{Lab, Vector, vectors};
use isa::Op;
use isa::table::Salu;

const MIN: u64 = 0x8000_0000;
const MAX: u64 = 0x7fff_ffff;
const ONES: u64 = 0xffff_ffff;
const WIDE: u64 = u64::MAX;

#[rustfmt::skip]
pub(super) const VECTORS: &[Vector] = vectors! { Salu;
    SMovB32: [5] = 5;
    SMovB64: [0x1_0000_0002] = 0x1_0000_0002;
    SCmovB32: [5, 7] = 7;
    SCmovB64: [5, 0x7_0000_0000] = 0x7_0000_0000;
    SCmovkI32: [5, 7] = 7;
    SMovkI32: [0xfffe] = 0xffff_fffe, [0x7fff] = 0x7fff;
    SCselectB32: [5, 7] = 7;
    SCselectB64: [5, 0x7_0000_0000] = 0x7_0000_0000;
    SAddU32: [1, 2] = 3 scc 0, [ONES, 1] = 0 scc 1;
    SSubU32: [3, 2] = 1 scc 0, [2, 3] = 0xffff_ffff scc 1;
    SAddI32: [MAX, 1] = 0x8000_0000 scc 1, [ONES, 1] = 0 scc 0;
    SSubI32: [MIN, 1] = 0x7fff_ffff scc 1, [1, 2] = 0xffff_ffff scc 0;
    SAddcU32: [ONES, 0] = 0xffff_ffff scc 0, [ONES, 1] = 0 scc 1;
    SSubbU32: [0, 1] = 0xffff_ffff scc 1, [1, 1] = 0 scc 0;
    SAddkI32: [0xffff, 5] = 4 scc 0, [1, MAX] = 0x8000_0000 scc 1;
    SMulkI32: [0xfffe, 3] = 0xffff_fffa;
    SMulI32: [0x10001, 0x10001] = 0x2_0001, [ONES, 5] = 0xffff_fffb;
    SMulHiU32: [ONES, ONES] = 0xffff_fffe, [0x10000, 0x10000] = 1;
    SMulHiI32: [ONES, ONES] = 0, [MIN, 2] = 0xffff_ffff;
    SAbsdiffI32: [3, 10] = 7 scc 1, [4, 4] = 0 scc 0;
    SAbsI32: [ONES] = 1 scc 1, [0] = 0 scc 0, [MIN] = 0x8000_0000 scc 1;
    SLshl1AddU32: [3, 1] = 7 scc 0, [MIN, 5] = 5 scc 1;
    SLshl2AddU32: [3, 1] = 13 scc 0, [0x4000_0000, 0] = 0 scc 1;
    SLshl3AddU32: [3, 1] = 25 scc 0;
    SLshl4AddU32: [3, 1] = 49 scc 0, [0x0fff_ffff, 16] = 0 scc 1;
    SMinI32: [ONES, 1] = 0xffff_ffff scc 1, [1, ONES] = 0xffff_ffff scc 0, [2, 2] = 2 scc 0;
    SMinU32: [ONES, 1] = 1 scc 0, [1, ONES] = 1 scc 1;
    SMaxI32: [ONES, 1] = 1 scc 0, [1, ONES] = 1 scc 1;
    SMaxU32: [ONES, 1] = 0xffff_ffff scc 1, [1, ONES] = 0xffff_ffff scc 0;
    SAndB32: [0xc, 0xa] = 8 scc 1, [4, 8] = 0 scc 0;
    SAndB64: [0xc_0000_000c, 0xa_0000_0000] = 0x8_0000_0000 scc 1;
    SOrB32: [0xc, 0xa] = 0xe scc 1, [0, 0] = 0 scc 0;
    SOrB64: [0xc_0000_0000, 0xa] = 0xc_0000_000a scc 1;
    SXorB32: [0xc, 0xa] = 6 scc 1, [7, 7] = 0 scc 0;
    SXorB64: [WIDE, 0xff] = 0xffff_ffff_ffff_ff00 scc 1;
    SNandB32: [0xc, 0xa] = 0xffff_fff7 scc 1, [ONES, ONES] = 0 scc 0;
    SNandB64: [WIDE, WIDE] = 0 scc 0;
    SNorB32: [0xc, 0xa] = 0xffff_fff1 scc 1;
    SNorB64: [WIDE, 0] = 0 scc 0;
    SXnorB32: [0xc, 0xa] = 0xffff_fff9 scc 1;
    SXnorB64: [0, 1] = 0xffff_ffff_ffff_fffe scc 1;
    SAndNot1B32: [0xc, 0xa] = 4 scc 1, [8, 0xa] = 0 scc 0;
    SAndNot1B64: [WIDE, 0xff] = 0xffff_ffff_ffff_ff00 scc 1;
    SOrNot1B32: [0, 0xa] = 0xffff_fff5 scc 1, [0, ONES] = 0 scc 0;
    SOrNot1B64: [1, WIDE] = 1 scc 1;
    SNotB32: [0] = 0xffff_ffff scc 1, [ONES] = 0 scc 0;
    SNotB64: [0xff] = 0xffff_ffff_ffff_ff00 scc 1;
    SLshlB32: [1, 31] = 0x8000_0000 scc 1, [1, 32] = 1 scc 1, [MIN, 1] = 0 scc 0;
    SLshlB64: [1, 63] = 0x8000_0000_0000_0000 scc 1, [1, 64] = 1 scc 1;
    SLshrB32: [MIN, 31] = 1 scc 1, [1, 1] = 0 scc 0;
    SLshrB64: [WIDE, 60] = 0xf scc 1;
    SAshrI32: [MIN, 31] = 0xffff_ffff scc 1, [MAX, 31] = 0 scc 0;
    SAshrI64: [0x8000_0000_0000_0000, 63] = 0xffff_ffff_ffff_ffff scc 1;
    SBfeU32: [0x1234_5678, 0x0008_0004] = 0x67 scc 1, [ONES, 0x0020_0000] = 0xffff_ffff scc 1, [ONES, 4] = 0 scc 0;
    SBfeI32: [0x0000_0080, 0x0008_0000] = 0xffff_ff80 scc 1, [0x7f, 0x0008_0000] = 0x7f scc 1;
    SBfeU64: [0x1234_5678_9abc_def0, 0x0010_0020] = 0x5678 scc 1;
    SBfeI64: [0x8000_0000_0000, 0x0010_0020] = 0xffff_ffff_ffff_8000 scc 1;
    SBfmB32: [4, 8] = 0xf00, [0, 3] = 0;
    SBfmB64: [4, 40] = 0xf00_0000_0000;
    SBrevB32: [1] = 0x8000_0000, [0x1234_5678] = 0x1e6a_2c48;
    SBrevB64: [1] = 0x8000_0000_0000_0000;
    SBitset0B32: [4, ONES] = 0xffff_ffef, [36, ONES] = 0xffff_ffef;
    SBitset0B64: [40, WIDE] = 0xffff_feff_ffff_ffff;
    SBitset1B32: [31, 0] = 0x8000_0000;
    SBitset1B64: [40, 0] = 0x100_0000_0000;
    SBitreplicateB64B32: [0x8000_0005] = 0xc000_0000_0000_0033;
    SWqmB32: [0x120] = 0xff0 scc 1, [0] = 0 scc 0;
    SWqmB64: [0x8000_0000_0000_0001] = 0xf000_0000_0000_000f scc 1;
    SQuadmaskB32: [0x120] = 6 scc 1, [0] = 0 scc 0;
    SQuadmaskB64: [0x8000_0000_0000_0001] = 0x8001 scc 1;
    SBcnt0I32B32: [0xff] = 24 scc 1, [ONES] = 0 scc 0;
    SBcnt0I32B64: [0xff] = 56 scc 1;
    SBcnt1I32B32: [0xff] = 8 scc 1, [0] = 0 scc 0;
    SBcnt1I32B64: [0xff00_0000_0000_00ff] = 16 scc 1;
    SCtzI32B32: [8] = 3, [0] = 0xffff_ffff;
    SCtzI32B64: [0x1_0000_0000] = 32, [0] = 0xffff_ffff;
    SClzI32U32: [1] = 31, [0] = 0xffff_ffff, [ONES] = 0;
    SClzI32U64: [1] = 63, [0] = 0xffff_ffff;
    SClsI32: [0x0000_ffff] = 16, [0xffff_0000] = 16, [ONES] = 0xffff_ffff, [0] = 0xffff_ffff;
    SClsI32I64: [0xffff_ffff_0000_0000] = 32, [WIDE] = 0xffff_ffff;
    SSextI32I8: [0x80] = 0xffff_ff80, [0x17f] = 0x7f;
    SSextI32I16: [0x8000] = 0xffff_8000;
    SPackLlB32B16: [0xaaaa_1111, 0xbbbb_2222] = 0x2222_1111;
    SPackLhB32B16: [0xaaaa_1111, 0xbbbb_2222] = 0xbbbb_1111;
    SPackHhB32B16: [0xaaaa_1111, 0xbbbb_2222] = 0xbbbb_aaaa;
    SPackHlB32B16: [0xaaaa_1111, 0xbbbb_2222] = 0x2222_aaaa;
    SAndSaveexecB32: [5] = 0xffff_ffff scc 1, [0] = 0xffff_ffff scc 0;
    SAndSaveexecB64: [5] = 0xffff_ffff_ffff_ffff scc 1, [0] = 0xffff_ffff_ffff_ffff scc 0;
    SOrSaveexecB32: [0] = 0xffff_ffff scc 1;
    SOrSaveexecB64: [0] = 0xffff_ffff_ffff_ffff scc 1;
    SXorSaveexecB32: [ONES] = 0xffff_ffff scc 0;
    SXorSaveexecB64: [WIDE] = 0xffff_ffff_ffff_ffff scc 0;
    SNandSaveexecB32: [ONES] = 0xffff_ffff scc 0;
    SNandSaveexecB64: [WIDE] = 0xffff_ffff_ffff_ffff scc 0;
    SNorSaveexecB32: [0] = 0xffff_ffff scc 0;
    SNorSaveexecB64: [0] = 0xffff_ffff_ffff_ffff scc 0;
    SXnorSaveexecB32: [0] = 0xffff_ffff scc 0;
    SXnorSaveexecB64: [1] = 0xffff_ffff_ffff_ffff scc 1;
    SAndNot1SaveexecB32: [ONES] = 0xffff_ffff scc 0;
    SAndNot1SaveexecB64: [WIDE] = 0xffff_ffff_ffff_ffff scc 0;
    SOrNot1SaveexecB32: [0] = 0xffff_ffff scc 0;
    SOrNot1SaveexecB64: [4] = 0xffff_ffff_ffff_ffff scc 1;
    SAndNot0SaveexecB32: [ONES] = 0xffff_ffff scc 0;
    SAndNot0SaveexecB64: [1] = 0xffff_ffff_ffff_ffff scc 1;
    SOrNot0SaveexecB32: [ONES] = 0xffff_ffff scc 1;
    SOrNot0SaveexecB64: [WIDE] = 0xffff_ffff_ffff_ffff scc 1;
    SAndNot0WrexecB32: [1] = 0xffff_fffe scc 1;
    SAndNot0WrexecB64: [1] = 0xffff_ffff_ffff_fffe scc 1;
    SAndNot1WrexecB32: [1] = 0 scc 0;
    SAndNot1WrexecB64: [1] = 0 scc 0;
    SCmpEqI32: [5, 5] = 0 scc 1, [5, 6] = 0 scc 0;
    SCmpLgI32: [5, 5] = 0 scc 0, [5, 6] = 0 scc 1;
    SCmpGtI32: [1, ONES] = 0 scc 1, [ONES, 1] = 0 scc 0;
    SCmpGeI32: [1, 1] = 0 scc 1, [ONES, 0] = 0 scc 0;
    SCmpLtI32: [ONES, 1] = 0 scc 1, [1, 1] = 0 scc 0;
    SCmpLeI32: [MIN, MAX] = 0 scc 1, [1, 0] = 0 scc 0;
    SCmpEqU32: [5, 5] = 0 scc 1;
    SCmpLgU32: [5, 6] = 0 scc 1;
    SCmpGtU32: [ONES, 1] = 0 scc 1, [1, 1] = 0 scc 0;
    SCmpGeU32: [1, 1] = 0 scc 1, [1, ONES] = 0 scc 0;
    SCmpLtU32: [1, ONES] = 0 scc 1, [1, 1] = 0 scc 0;
    SCmpLeU32: [1, 1] = 0 scc 1, [ONES, 1] = 0 scc 0;
    SCmpEqU64: [0x1_0000_0000, 0] = 0 scc 0, [WIDE, WIDE] = 0 scc 1;
    SCmpLgU64: [0x1_0000_0000, 0] = 0 scc 1;
    SBitcmp0B32: [8, 3] = 0 scc 0, [8, 2] = 0 scc 1, [8, 35] = 0 scc 0;
    SBitcmp0B64: [0x100_0000_0000, 40] = 0 scc 0, [0, 63] = 0 scc 1;
    SBitcmp1B32: [8, 3] = 0 scc 1, [8, 2] = 0 scc 0, [0x8000_0000, 31] = 0 scc 1;
    SBitcmp1B64: [0x100_0000_0000, 40] = 0 scc 1;
    SCmpkEqI32: [ONES, 0xffff] = 0 scc 1;
    SCmpkLgI32: [ONES, 0xffff] = 0 scc 0;
    SCmpkGtI32: [0, 0xffff] = 0 scc 1;
    SCmpkGeI32: [ONES, 0xffff] = 0 scc 1;
    SCmpkLtI32: [ONES, 0] = 0 scc 1;
    SCmpkLeI32: [0, 0xffff] = 0 scc 0;
    SCmpkEqU32: [ONES, 0xffff] = 0 scc 0, [0xffff, 0xffff] = 0 scc 1;
    SCmpkLgU32: [ONES, 0xffff] = 0 scc 1;
    SCmpkGtU32: [0x1_0000, 0xffff] = 0 scc 1;
    SCmpkGeU32: [0xffff, 0xffff] = 0 scc 1;
    SCmpkLtU32: [0xfffe, 0xffff] = 0 scc 1;
    SCmpkLeU32: [0x1_0000, 0xffff] = 0 scc 0;
};

#[test]
fn operations_that_read_scc_follow_it() {
    let with_scc = |op: Salu, sources: &[u64]| {
        let lab = Lab { scc: true, ..Lab::new(Op::Salu(op)) };
        lab.run(sources).value
    };
    assert_eq!(with_scc(Salu::SCselectB32, &[5, 7]), 5);
    assert_eq!(with_scc(Salu::SCmovB32, &[5, 7]), 5);
    assert_eq!(with_scc(Salu::SCmovkI32, &[0xffff, 7]), 0xffff_ffff);
    assert_eq!(with_scc(Salu::SAddcU32, &[1, 2]), 4);
    assert_eq!(with_scc(Salu::SSubbU32, &[3, 2]), 0);
}

#[test]
fn bit_tests_see_every_bit() {
    for bit in 0..32 {
        assert!(Lab::new(Op::Salu(Salu::SBitcmp1B32)).run(&[1 << bit, bit]).scc);
        assert!(!Lab::new(Op::Salu(Salu::SBitcmp1B32)).run(&[!(1 << bit), bit]).scc);
        assert_eq!(Lab::new(Op::Salu(Salu::SBitset1B32)).run(&[bit, 0]).value, 1 << bit);
    }
}

#[test]
fn masking_an_undefined_register_defines_it() {
    let mut lab = Lab::new(Op::Salu(Salu::SAndB32));
    lab.undefined = [0xffff_0000, 0, 0, 0];
    let result = lab.run(&[0xdead_0001, 0xff]);
    assert_eq!(
        (result.value, result.undefined, result.scc, result.is_scc_undefined),
        (1, 0, true, false)
    );
}
