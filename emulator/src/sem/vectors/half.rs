//! One 16-bit value a lane.

use super::{Lab, Vector, vectors};
use isa::table::Half;
use isa::{Op, Target};

const ONE: u64 = 0x3c00;
const TWO: u64 = 0x4000;
const THREE: u64 = 0x4200;
const HALF: u64 = 0x3800;
const INF: u64 = 0x7c00;
const SNAN: u64 = 0x7c01;
const QNAN: u64 = 0x7e12;
const WIDE: u64 = u64::MAX;

#[rustfmt::skip]
pub(super) const VECTORS: &[Vector] = vectors! { Half;
    VFloorF16: [0x4100] = 0x4000, [0x8001] = 0xbc00;
    VCeilF16: [0x4100] = 0x4200, [0xb800] = 0x8000;
    VTruncF16: [0xc100] = 0xc000;
    VRndneF16: [0x4100] = 0x4000, [0x3e00] = 0x4000;
    VFractF16: [0x4100] = 0x3800, [0x8001] = 0x3bff;
    VRcpF16: [TWO] = 0x3800, [0] = 0x7c00;
    VSqrtF16: [0x4400] = 0x4000, [0xbc00] = 0x7e00;
    VRsqF16: [0x4400] = 0x3800;
    VLogF16: [TWO] = 0x3c00, [0] = 0xfc00;
    VExpF16: [ONE] = 0x4000, [0xfc00] = 0;
    VSinF16: [0x3400] = 0x3c00;
    VCosF16: [HALF] = 0xbc00;
    VFrexpMantF16: [THREE] = 0x3a00;
    VFrexpExpI16F16: [ONE] = 1, [0x0001] = 0xffe9, [INF] = 0;
    VAddF16: [ONE, TWO] = 0x4200, [0x7bff, 0x7bff] = 0x7c00, [1, 1] = 2, [INF, 0xfc00] = 0x7e00, [SNAN, ONE] = 0x7e01, [ONE, QNAN] = 0x7e12, [0x6800, HALF] = 0x6800, [0x6801, ONE] = 0x6802;
    VSubF16: [ONE, TWO] = 0xbc00;
    VSubrevF16: [ONE, TWO] = 0x3c00;
    VMulF16: [THREE, HALF] = 0x3e00, [1, HALF] = 0, [3, HALF] = 2, [0, INF] = 0x7e00;
    VMinF16: [ONE, TWO] = 0x3c00, [0, 0x8000] = 0x8000, [QNAN, ONE] = 0x3c00, [SNAN, ONE] = 0x7e01;
    VMaxF16: [ONE, TWO] = 0x4000, [0x8000, 0] = 0;
    VLdexpF16: [ONE, 3] = 0x4800, [ONE, 0xffe8] = 1, [ONE, 0x7fff] = 0x7c00;
    VFmacF16: [TWO, THREE, ONE] = 0x4700;
    VFmamkF16: [TWO, THREE, ONE] = 0x4700;
    VFmaakF16: [TWO, THREE, ONE] = 0x4700;
    // (1 + 2⁻⁶)² − (1 + 2⁻⁵) is 2⁻¹²; a product rounded first would give zero.
    VFmaF16: [TWO, THREE, ONE] = 0x4700, [0x3c10, 0x3c10, 0xbc20] = 0x0c00;
    VDivFixupF16: [TWO, ONE, TWO] = 0x4000, [TWO, 0, ONE] = 0x7c00, [TWO, 0, 0] = 0xfe00;
    VMin3F16: [THREE, ONE, TWO] = 0x3c00;
    VMax3F16: [THREE, ONE, TWO] = 0x4200;
    VMed3F16: [THREE, ONE, TWO] = 0x4000;
    VMaxminF16: [THREE, ONE, TWO] = 0x4000;
    VMinmaxF16: [THREE, ONE, TWO] = 0x4000;
    VPackB32F16: [0x1234, 0x5678] = 0x5678_1234;
    VMovB16: [0xabcd] = 0xabcd;
    VNotB16: [0xff] = 0xff00;
    VSwapB16: [1, 2] = 2;
    VCndmaskB16: [5, 7, 0] = 5, [5, 7, WIDE] = 7;
    VAndB16: [0xc, 0xa] = 8;
    VOrB16: [0xc, 0xa] = 0xe;
    VXorB16: [0xc, 0xa] = 6;
    VBitop3B16: [1, 2, 3] = 0;
    VLshlrevB16: [4, 0x1001] = 0x10, [17, 1] = 2;
    VLshrrevB16: [4, 0x8000] = 0x800;
    VAshrrevI16: [4, 0x8000] = 0xf800;
    VAddNcU16: [0xffff, 2] = 1;
    VSubNcU16: [1, 2] = 0xffff;
    VSubrevU16: [1, 3] = 2;
    VAddNcI16: [0x7fff, 1] = 0x8000;
    VSubNcI16: [0x8000, 1] = 0x7fff;
    VMulLoU16: [0x101, 0x101] = 0x201;
    VMadU16: [0xffff, 0xffff, 2] = 3;
    VMadI16: [0xffff, 5, 1] = 0xfffc;
    VMadLegacyU16: [0xffff, 0xffff, 2] = 3;
    VMadLegacyI16: [0xffff, 5, 1] = 0xfffc;
    VMinI16: [0xffff, 1] = 0xffff;
    VMinU16: [0xffff, 1] = 1;
    VMaxI16: [0xffff, 1] = 1;
    VMaxU16: [0xffff, 1] = 0xffff;
    VMin3I16: [5, 0xffff, 1] = 0xffff;
    VMin3U16: [5, 0xffff, 1] = 1;
    VMax3I16: [5, 0xffff, 1] = 5;
    VMax3U16: [5, 0xffff, 1] = 0xffff;
    VMed3I16: [5, 0xffff, 1] = 1;
    VMed3U16: [5, 0xffff, 1] = 5;
};

#[test]
fn clamping_saturates() {
    let run = |op: Half, sources: &[u64]| {
        let mut lab = Lab::new(Op::Half(op));
        lab.inst.mods.clamp = true;
        lab.run(sources).value
    };
    assert_eq!(run(Half::VAddNcU16, &[0xffff, 2]), 0xffff);
    assert_eq!(run(Half::VSubNcU16, &[1, 2]), 0);
    assert_eq!(run(Half::VAddNcI16, &[0x7fff, 1]), 0x7fff);
    assert_eq!(run(Half::VMadI16, &[0x8000, 2, 0]), 0x8000);
    assert_eq!(run(Half::VMadU16, &[0xffff, 0xffff, 0xffff]), 0xffff);
    assert_eq!(run(Half::VAddF16, &[0x3c00, 0x3c00]), 0x3c00);
}

#[test]
fn halves_of_registers() {
    // gfx1100 keeps the other half of the destination; the old destination holds no source here.
    let mut lab = Lab::on(Target::Gfx1100, Op::Half(Half::VFmacF16));
    lab.inst.mods.op_sel = 0b1001;
    // Source 0 from its high half, result and addend in the high half of the destination.
    let result = lab.run(&[0x4000_0000, 0x4200, 0x3c00_5555]);
    assert_eq!(result.value, 0x4700_5555);
    // gfx950 zeroes the high half of two-source operations.
    let mut lab = Lab::on(Target::Gfx950, Op::Half(Half::VAddF16));
    lab.inst.mods.op_sel = 0b01;
    assert_eq!(lab.run(&[0x4000_0000, 0x4200]).value, 0x4500);
}

#[test]
fn packing_keeps_each_half_defined() {
    let mut lab = Lab::new(Op::Half(Half::VPackB32F16));
    lab.undefined = [0xffff_0000, 0xffff, 0, 0];
    assert_eq!(lab.run(&[0x3c00, 0x3c00]).undefined, 0xffff_0000);
}
