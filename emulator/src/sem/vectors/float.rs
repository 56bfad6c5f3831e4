//! Binary32 and binary64.
//!
//! NaN: the first NaN operand, made quiet; the positive quiet NaN when none was NaN.

use super::{Vector, vectors};

const ONE: u64 = 0x3f80_0000;
const TWO: u64 = 0x4000_0000;
const THREE: u64 = 0x4040_0000;
const HALF: u64 = 0x3f00_0000;
const INF: u64 = 0x7f80_0000;
const NEG: u64 = 0x8000_0000;
const MAX: u64 = 0x7f7f_ffff;
const SNAN: u64 = 0x7f80_0001;
const QNAN: u64 = 0x7fc0_1234;
/// Subnormal numbers.
const TINY: u64 = 1;
const D1: u64 = 0x3ff0_0000_0000_0000;
const D2: u64 = 0x4000_0000_0000_0000;
const D3: u64 = 0x4008_0000_0000_0000;
const D_HALF: u64 = 0x3fe0_0000_0000_0000;
const D_2_5: u64 = 0x4004_0000_0000_0000;
const D_NEG: u64 = 0x8000_0000_0000_0000;
const D_INF: u64 = 0x7ff0_0000_0000_0000;
const D_SNAN: u64 = 0x7ff0_0000_0000_0001;

#[rustfmt::skip]
pub(super) const VECTORS: &[Vector] = vectors! { Float;
    VFractF32: [0x4020_0000] = 0x3f00_0000, [0xbe80_0000] = 0x3f40_0000, [0x8000_0001] = 0x3f7f_ffff, [INF] = 0x7fc0_0000;
    VFractF64: [D_2_5] = 0x3fe0_0000_0000_0000, [0x8000_0000_0000_0001] = 0x3fef_ffff_ffff_ffff;
    VTruncF32: [0x4039_999a] = 0x4000_0000, [0xbf00_0000] = 0x8000_0000, [INF] = 0x7f80_0000, [SNAN] = 0x7fc0_0001;
    VTruncF64: [D_2_5] = 0x4000_0000_0000_0000;
    VCeilF32: [0x4000_0001] = 0x4040_0000, [0xbf00_0000] = 0x8000_0000, [TINY] = 0x3f80_0000;
    VCeilF64: [D_2_5] = 0x4008_0000_0000_0000;
    VRndneF32: [0x4020_0000] = 0x4000_0000, [0x3fc0_0000] = 0x4000_0000, [HALF] = 0, [0xbf00_0000] = 0x8000_0000;
    VRndneF64: [D_2_5] = 0x4000_0000_0000_0000, [0x3ff8_0000_0000_0000] = 0x4000_0000_0000_0000;
    VFloorF32: [0x4020_0000] = 0x4000_0000, [0x8000_0001] = 0xbf80_0000, [NEG] = 0x8000_0000;
    VFloorF64: [D_2_5] = 0x4000_0000_0000_0000;
    // The transcendental unit treats subnormals as zero and returns zero for subnormal results.
    VExpF32: [0] = 0x3f80_0000, [ONE] = 0x4000_0000, [0xbf80_0000] = 0x3f00_0000, [0xc2fe_0000] = 0, [0xff80_0000] = 0, [INF] = 0x7f80_0000, [QNAN] = 0x7fc0_1234;
    VLogF32: [ONE] = 0, [TWO] = 0x3f80_0000, [0] = 0xff80_0000, [TINY] = 0xff80_0000, [0xbf80_0000] = 0x7fc0_0000, [INF] = 0x7f80_0000;
    VRcpF32: [TWO] = 0x3f00_0000, [NEG] = 0xff80_0000, [TINY] = 0x7f80_0000, [0x7f00_0000] = 0, [0xff80_0000] = 0x8000_0000, [SNAN] = 0x7fc0_0001;
    VRcpIflagF32: [TWO] = 0x3f00_0000;
    VRsqF32: [0x4080_0000] = 0x3f00_0000, [NEG] = 0xff80_0000, [0xbf80_0000] = 0x7fc0_0000, [INF] = 0;
    VSqrtF32: [0x4080_0000] = 0x4000_0000, [NEG] = 0x8000_0000, [TINY] = 0, [0xbf80_0000] = 0x7fc0_0000;
    // Angles are in turns.
    VSinF32: [0] = 0, [NEG] = 0x8000_0000, [0x3e80_0000] = 0x3f80_0000, [INF] = 0x7fc0_0000;
    VCosF32: [0] = 0x3f80_0000, [HALF] = 0xbf80_0000, [0x4000_0000] = 0x3f80_0000;
    VRcpF64: [D2] = 0x3fe0_0000_0000_0000, [0] = 0x7ff0_0000_0000_0000;
    VRsqF64: [0x4010_0000_0000_0000] = 0x3fe0_0000_0000_0000;
    VSqrtF64: [0x4010_0000_0000_0000] = 0x4000_0000_0000_0000;
    VFrexpExpI32F32: [ONE] = 1, [HALF] = 0, [TINY] = 0xffff_ff6c, [0] = 0, [INF] = 0;
    VFrexpMantF32: [THREE] = 0x3f40_0000, [TINY] = 0x3f00_0000, [NEG] = 0x8000_0000, [INF] = 0x7f80_0000;
    VFrexpExpI32F64: [D1] = 1, [D_INF] = 0;
    VFrexpMantF64: [D3] = 0x3fe8_0000_0000_0000;
    VAddF32: [ONE, TWO] = 0x4040_0000, [MAX, MAX] = 0x7f80_0000, [INF, 0xff80_0000] = 0x7fc0_0000, [SNAN, ONE] = 0x7fc0_0001, [ONE, QNAN] = 0x7fc0_1234, [QNAN, SNAN] = 0x7fc0_1234, [TINY, TINY] = 2, [NEG, NEG] = 0x8000_0000, [ONE, 0xbf80_0000] = 0, [0x4b80_0000, ONE] = 0x4b80_0000, [0x4b80_0001, ONE] = 0x4b80_0002;
    VSubF32: [ONE, TWO] = 0xbf80_0000, [INF, INF] = 0x7fc0_0000;
    VSubrevF32: [ONE, TWO] = 0x3f80_0000;
    VMulF32: [THREE, HALF] = 0x3fc0_0000, [0, INF] = 0x7fc0_0000, [0x0080_0000, HALF] = 0x0040_0000, [0xbf80_0000, 0] = 0x8000_0000, [MAX, TWO] = 0x7f80_0000;
    VMinF32: [ONE, TWO] = 0x3f80_0000, [0, NEG] = 0x8000_0000, [QNAN, ONE] = 0x3f80_0000, [ONE, QNAN] = 0x3f80_0000, [SNAN, ONE] = 0x7fc0_0001, [ONE, SNAN] = 0x7fc0_0001;
    VMaxF32: [ONE, TWO] = 0x4000_0000, [NEG, 0] = 0, [QNAN, ONE] = 0x3f80_0000, [ONE, SNAN] = 0x7fc0_0001;
    VMulDx9ZeroF32: [0, INF] = 0, [NEG, QNAN] = 0, [THREE, HALF] = 0x3fc0_0000;
    VAddF64: [D1, D2] = 0x4008_0000_0000_0000, [D_INF, 0xfff0_0000_0000_0000] = 0x7ff8_0000_0000_0000, [D_SNAN, D1] = 0x7ff8_0000_0000_0001;
    VMulF64: [D3, D_HALF] = 0x3ff8_0000_0000_0000;
    VMinF64: [D1, D2] = 0x3ff0_0000_0000_0000, [0, D_NEG] = 0x8000_0000_0000_0000, [D_SNAN, D1] = 0x7ff8_0000_0000_0001;
    VMaxF64: [D1, D2] = 0x4000_0000_0000_0000, [D_NEG, 0] = 0;
    VLdexpF32: [ONE, 3] = 0x4100_0000, [ONE, 0xffff_ff6b] = 1, [ONE, 0xffff_ff6a] = 0, [0x3f80_0001, 0xffff_ff81] = 0x0040_0000, [ONE, 1000] = 0x7f80_0000, [NEG, 5] = 0x8000_0000;
    VLdexpF64: [D1, 3] = 0x4020_0000_0000_0000, [D1, 0xffff_fbce] = 1;
    // The old value of the destination is the addend.
    VFmacF32: [TWO, THREE, ONE] = 0x40e0_0000;
    VFmacF64: [D2, D3, D1] = 0x401c_0000_0000_0000;
    VFmacDx9ZeroF32: [0, INF, ONE] = 0x3f80_0000, [TWO, THREE, ONE] = 0x40e0_0000;
    // Rows of fmamk: source 0, constant, source 1.
    VFmamkF32: [TWO, THREE, ONE] = 0x40e0_0000;
    VFmaakF32: [TWO, THREE, ONE] = 0x40e0_0000;
    // (1 + 2⁻¹²)² − (1 + 2⁻¹¹) is 2⁻²⁴; a product rounded first would give zero.
    VFmaF32: [0x3f80_0800, 0x3f80_0800, 0xbf80_1000] = 0x3380_0000, [INF, 0, ONE] = 0x7fc0_0000, [ONE, TWO, SNAN] = 0x7fc0_0001, [TINY, HALF, 0] = 0, [TINY, 0x3f40_0000, 0] = 1, [MAX, TWO, 0xff80_0000] = 0xff80_0000, [0x8000_0000, ONE, 0] = 0;
    VFmaF64: [D2, D3, D1] = 0x401c_0000_0000_0000;
    VMin3F32: [THREE, ONE, TWO] = 0x3f80_0000, [QNAN, THREE, TWO] = 0x4000_0000;
    VMax3F32: [THREE, ONE, TWO] = 0x4040_0000;
    VMed3F32: [THREE, ONE, TWO] = 0x4000_0000, [ONE, ONE, TWO] = 0x3f80_0000, [QNAN, THREE, TWO] = 0x4000_0000;
    VMinimum3F32: [THREE, ONE, TWO] = 0x3f80_0000, [THREE, QNAN, TWO] = 0x7fc0_1234;
    VMaximum3F32: [THREE, ONE, TWO] = 0x4040_0000, [THREE, QNAN, TWO] = 0x7fc0_1234;
    VMaxminF32: [THREE, ONE, TWO] = 0x4000_0000;
    VMinmaxF32: [THREE, ONE, TWO] = 0x4000_0000;
    // value, denominator, numerator; bit 32 is the flag. Scaled by 2⁶⁴ where the exponents are 96 apart.
    VDivScaleF32: [THREE, THREE, ONE] = 0x4040_0000, [ONE, ONE, 0x7f00_0000] = 0x1_5f80_0000, [0x7f00_0000, ONE, 0x7f00_0000] = 0x1_7f00_0000, [0, 0, ONE] = 0x7fc0_0000;
    VDivFmasF32: [TWO, THREE, ONE] = 0x40e0_0000;
    // quotient, denominator, numerator.
    VDivFixupF32: [TWO, ONE, TWO] = 0x4000_0000, [TWO, 0xbf80_0000, TWO] = 0xc000_0000, [TWO, 0, ONE] = 0x7f80_0000, [TWO, 0, 0] = 0xffc0_0000, [TWO, INF, NEG] = 0x8000_0000, [TWO, ONE, SNAN] = 0x7fc0_0001;
    VDivScaleF64: [D3, D3, D1] = 0x4008_0000_0000_0000;
    VDivFmasF64: [D2, D3, D1] = 0x401c_0000_0000_0000;
    VDivFixupF64: [D2, D1, D2] = 0x4000_0000_0000_0000, [D2, 0, D1] = 0x7ff0_0000_0000_0000;
    // 2/π to 53 bits, towards zero.
    VTrigPreopF64: [0x3ff0_0000_0000_0000, 0] = 0x3fe4_5f30_6dc9_c882;
};
