//! Conversions.

use super::{Vector, vectors};

const ONE: u64 = 0x3f80_0000;
const INF: u64 = 0x7f80_0000;
const QNAN: u64 = 0x7fc0_0000;
const SNAN: u64 = 0x7f80_2000;
const D_2_5: u64 = 0x4004_0000_0000_0000;

#[rustfmt::skip]
pub(super) const VECTORS: &[Vector] = vectors! { Convert;
    VCvtI32F64: [D_2_5] = 2, [0xc004_0000_0000_0000] = 0xffff_fffe, [0x7ff0_0000_0000_0000] = 0x7fff_ffff, [0x7ff8_0000_0000_0000] = 0;
    VCvtF64I32: [0xffff_ffff] = 0xbff0_0000_0000_0000;
    VCvtF32I32: [0xffff_ffff] = 0xbf80_0000, [0x0100_0001] = 0x4b80_0000, [0x0100_0003] = 0x4b80_0002;
    VCvtF32U32: [0xffff_ffff] = 0x4f80_0000, [1] = 0x3f80_0000;
    // Towards zero, saturating, NaN to zero.
    VCvtU32F32: [0x4020_0000] = 2, [0xbf80_0000] = 0, [0x4f80_0000] = 0xffff_ffff, [QNAN] = 0, [0x3f7f_ffff] = 0;
    VCvtI32F32: [0xc020_0000] = 0xffff_fffe, [0x4f00_0000] = 0x7fff_ffff, [0xff80_0000] = 0x8000_0000, [QNAN] = 0;
    // 1 + 2⁻¹¹ is a tie and goes to even; 65520 is the first number that overflows; 2⁻²⁵ ties to zero.
    VCvtF16F32: [ONE] = 0x3c00, [0x3f80_1000] = 0x3c00, [0x3f80_3000] = 0x3c02, [0x477f_f000] = 0x7c00, [0x477f_efff] = 0x7bff, [0x3300_0000] = 0, [0x3300_0001] = 1, [0x8000_0001] = 0x8000, [INF] = 0x7c00, [SNAN] = 0x7e01;
    VCvtF32F16: [0x3c00] = 0x3f80_0000, [0x8001] = 0xb380_0000, [0x7c00] = 0x7f80_0000, [0x7c01] = 0x7fc0_2000;
    VCvtF32F64: [D_2_5] = 0x4020_0000, [0x3ff0_0000_1000_0000] = 0x3f80_0000, [0x3ff0_0000_1000_0001] = 0x3f80_0001, [0x36a0_0000_0000_0000] = 1, [0x7ff0_0000_2000_0000] = 0x7fc0_0001;
    VCvtF64F32: [0x4020_0000] = 0x4004_0000_0000_0000, [1] = 0x36a0_0000_0000_0000, [SNAN] = 0x7ff8_0400_0000_0000;
    VCvtU32F64: [D_2_5] = 2, [0xbff0_0000_0000_0000] = 0;
    VCvtF64U32: [0xffff_ffff] = 0x41ef_ffff_ffe0_0000;
    VCvtF16U16: [0xffff] = 0x7c00, [3] = 0x4200;
    VCvtF16I16: [0xffff] = 0xbc00;
    VCvtU16F16: [0x4100] = 2, [0xbc00] = 0, [0x7c00] = 0xffff, [0x7e00] = 0;
    VCvtI16F16: [0xc100] = 0xfffe, [0x7c00] = 0x7fff;
    VCvtNearestI32F32: [0x4020_0000] = 3, [0xc020_0000] = 0xffff_fffe;
    VCvtFloorI32F32: [0xc020_0000] = 0xffff_fffd;
    VCvtF32Ubyte0: [0x0403_0201] = 0x3f80_0000;
    VCvtF32Ubyte1: [0x0403_0201] = 0x4000_0000;
    VCvtF32Ubyte2: [0x0403_0201] = 0x4040_0000;
    VCvtF32Ubyte3: [0x0403_0201] = 0x4080_0000;
    VCvtI32I16: [0x1234_8000] = 0xffff_8000;
    VCvtU32U16: [0x1234_8000] = 0x8000;
    VCvtF32Bf16: [0x3f80] = 0x3f80_0000, [0x7f81] = 0x7fc1_0000;
    // OFP8 1.0, tables 1 and 2: largest, smallest, one, NaN, infinity.
    VCvtF32Fp8: [0x38] = 0x3f80_0000, [0xfe] = 0xc3e0_0000, [0x01] = 0x3b00_0000, [0x7f] = 0x7fc0_0000;
    VCvtF32Bf8: [0x3c] = 0x3f80_0000, [0x7b] = 0x4760_0000, [0xfc] = 0xff80_0000, [0x01] = 0x3780_0000;
    VCvtPkF32Fp8: [0xb838] = 0xbf80_0000_3f80_0000;
    VCvtPkF32Bf8: [0xbc3c] = 0xbf80_0000_3f80_0000;
    VCvtOffF32I4: [0xf] = 0xbd80_0000, [7] = 0x3ee0_0000, [0x18] = 0xbf00_0000;
    // 464 ties to 448, 61440 to infinity.
    VCvtPkFp8F32: [ONE, 0xbf80_0000] = 0xb838, [0x43e8_0000, INF] = 0x7f7e;
    VCvtPkBf8F32: [ONE, 0xbf80_0000] = 0xbc3c, [0x4770_0000, QNAN] = 0x7f7c;
    VCvtScalef32PkFp8F32: [ONE, 0xbf80_0000, ONE] = 0xb838;
    VCvtScalef32PkBf8F32: [ONE, 0xbf80_0000, ONE] = 0xbc3c;
    VCvtScalef32PkFp8F16: [0xbc00_3c00, ONE] = 0xb838;
    VCvtScalef32PkBf8F16: [0xbc00_3c00, ONE] = 0xbc3c;
    VCvtScalef32PkFp8Bf16: [0xbf80_3f80, ONE] = 0xb838;
    VCvtScalef32PkBf8Bf16: [0xbf80_3f80, ONE] = 0xbc3c;
    VCvtScalef32PkF32Fp8: [0xb838, ONE] = 0xbf80_0000_3f80_0000;
    VCvtScalef32PkF32Bf8: [0xbc3c, ONE] = 0xbf80_0000_3f80_0000;
    VCvtScalef32PkF16Fp8: [0xb838, ONE] = 0xbc00_3c00, [0x017e, ONE] = 0x1800_5f00;
    VCvtScalef32PkF16Bf8: [0xbc3c, ONE] = 0xbc00_3c00;
    VCvtScalef32PkBf16Fp8: [0xb838, ONE] = 0xbf80_3f80;
    VCvtScalef32PkBf16Bf8: [0xbc3c, ONE] = 0xbf80_3f80;
    VCvtPkRtzF16F32: [0x3f80_1fff, 0xbf80_1fff] = 0xbc00_3c00, [0x477f_f000, INF] = 0x7c00_7bff;
    VCvtPkF16F32: [ONE, 0x3f80_3000] = 0x3c02_3c00;
    // 1 + 2⁻⁸ is a tie and goes to even.
    VCvtPkBf16F32: [ONE, 0x3f80_8000] = 0x3f80_3f80, [0x3f81_8000, 0x3f80_8001] = 0x3f81_3f82, [0x7f80_0001, 0xff7f_ffff] = 0xff80_7fc0;
    VCvtPkI16F32: [0x4020_0000, 0xc780_0000] = 0x8000_0002;
    VCvtPkU16F32: [0x4020_0000, 0x4780_0001] = 0xffff_0002;
    VCvtPkU16U32: [5, 0x1_0000] = 0xffff_0005;
    VCvtPkI16I32: [0xffff_ffff, 0x8000_0000] = 0x8000_ffff;
    VCvtPkNormI16F32: [ONE, 0xc000_0000] = 0x8001_7fff;
    VCvtPkNormU16F32: [ONE, 0xbf80_0000] = 0x0000_ffff;
    VCvtPkU8F32: [0x4020_0000, 2, 0x1111_1111] = 0x1102_1111, [0x43a0_0000, 0, 0] = 0xff;
};
