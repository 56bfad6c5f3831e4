//! Packed arithmetic, mixed-precision multiply-add, dot products.

rows! {
    /// Packed arithmetic, mixed-precision multiply-add, dot products.
    enum Packed;

    // Two 16-bit values.
    VPkAddF16      {Vop3p 0x0f v_pk_add_f16}      {Vop3p 0x0f v_pk_add_f16}     [vdst:f16x2 <- src0:f16x2, src1:f16x2];
    VPkMulF16      {Vop3p 0x10 v_pk_mul_f16}      {Vop3p 0x10 v_pk_mul_f16}     [vdst:f16x2 <- src0:f16x2, src1:f16x2];
    VPkMinF16      {Vop3p 0x11 v_pk_min_f16}      {Vop3p 0x11 v_pk_min_f16}     [vdst:f16x2 <- src0:f16x2, src1:f16x2];
    VPkMaxF16      {Vop3p 0x12 v_pk_max_f16}      {Vop3p 0x12 v_pk_max_f16}     [vdst:f16x2 <- src0:f16x2, src1:f16x2];
    VPkFmaF16      {Vop3p 0x0e v_pk_fma_f16}      {Vop3p 0x0e v_pk_fma_f16}     [vdst:f16x2 <- src0:f16x2, src1:f16x2, src2:f16x2];
    VPkFmacF16     {Vop2 0x3c v_pk_fmac_f16}      {Vop2 0x3c v_pk_fmac_f16}     [vdst:f16x2 <- src0:f16x2, src1:f16x2]             reads_dst no_long_gfx1100 no_dpp;
    VPkMinimum3F16 {Vop3p 0x1b v_pk_minimum3_f16} {}                            [vdst:f16x2 <- src0:f16x2, src1:f16x2, src2:f16x2];
    VPkMaximum3F16 {Vop3p 0x1c v_pk_maximum3_f16} {}                            [vdst:f16x2 <- src0:f16x2, src1:f16x2, src2:f16x2];
    VPkMadI16      {Vop3p 0x00 v_pk_mad_i16}      {Vop3p 0x00 v_pk_mad_i16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2, src2:i16x2] clamps;
    VPkMadU16      {Vop3p 0x09 v_pk_mad_u16}      {Vop3p 0x09 v_pk_mad_u16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2, src2:i16x2] clamps;
    VPkAddI16      {Vop3p 0x02 v_pk_add_i16}      {Vop3p 0x02 v_pk_add_i16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2]             clamps;
    VPkSubI16      {Vop3p 0x03 v_pk_sub_i16}      {Vop3p 0x03 v_pk_sub_i16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2]             clamps;
    VPkAddU16      {Vop3p 0x0a v_pk_add_u16}      {Vop3p 0x0a v_pk_add_u16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2]             clamps;
    VPkSubU16      {Vop3p 0x0b v_pk_sub_u16}      {Vop3p 0x0b v_pk_sub_u16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2]             clamps;
    VPkMulLoU16    {Vop3p 0x01 v_pk_mul_lo_u16}   {Vop3p 0x01 v_pk_mul_lo_u16}  [vdst:i16x2 <- src0:i16x2, src1:i16x2];
    VPkLshlrevB16  {Vop3p 0x04 v_pk_lshlrev_b16}  {Vop3p 0x04 v_pk_lshlrev_b16} [vdst:i16x2 <- src0:i16x2, src1:i16x2];
    VPkLshrrevB16  {Vop3p 0x05 v_pk_lshrrev_b16}  {Vop3p 0x05 v_pk_lshrrev_b16} [vdst:i16x2 <- src0:i16x2, src1:i16x2];
    VPkAshrrevI16  {Vop3p 0x06 v_pk_ashrrev_i16}  {Vop3p 0x06 v_pk_ashrrev_i16} [vdst:i16x2 <- src0:i16x2, src1:i16x2];
    VPkMaxI16      {Vop3p 0x07 v_pk_max_i16}      {Vop3p 0x07 v_pk_max_i16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2];
    VPkMinI16      {Vop3p 0x08 v_pk_min_i16}      {Vop3p 0x08 v_pk_min_i16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2];
    VPkMaxU16      {Vop3p 0x0c v_pk_max_u16}      {Vop3p 0x0c v_pk_max_u16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2];
    VPkMinU16      {Vop3p 0x0d v_pk_min_u16}      {Vop3p 0x0d v_pk_min_u16}     [vdst:i16x2 <- src0:i16x2, src1:i16x2];

    // Two 32-bit values (gfx950).
    VPkFmaF32      {Vop3p 0x30 v_pk_fma_f32}      {}                            [vdst:f32x2 <- src0:f32x2, src1:f32x2, src2:f32x2];
    VPkMulF32      {Vop3p 0x31 v_pk_mul_f32}      {}                            [vdst:f32x2 <- src0:f32x2, src1:f32x2];
    VPkAddF32      {Vop3p 0x32 v_pk_add_f32}      {}                            [vdst:f32x2 <- src0:f32x2, src1:f32x2];
    VPkMovB32      {Vop3p 0x33 v_pk_mov_b32}      {}                            [vdst:b32x2 <- src0:b32x2, src1:b32x2];

    // Mixed precision: each source is binary32 or a binary16 half, by OP_SEL_HI.
    VFmaMixF32     {Vop3p 0x20 v_fma_mix_f32}     {Vop3p 0x20 v_fma_mix_f32}    [vdst:f32 <- src0:mix, src1:mix, src2:mix];
    VFmaMixloF16   {Vop3p 0x21 v_fma_mixlo_f16}   {Vop3p 0x21 v_fma_mixlo_f16}  [vdst:f16 <- src0:mix, src1:mix, src2:mix]         reads_dst;
    VFmaMixhiF16   {Vop3p 0x22 v_fma_mixhi_f16}   {Vop3p 0x22 v_fma_mixhi_f16}  [vdst:f16 <- src0:mix, src1:mix, src2:mix]         reads_dst;

    // Dot products.
    VDot2F32F16    {Vop3p 0x23 v_dot2_f32_f16}    {Vop3p 0x13 v_dot2_f32_f16}   [vdst:f32 <- src0:f16x2, src1:f16x2, src2:f32];
    VDot2F32Bf16   {Vop3p 0x1a v_dot2_f32_bf16}   {Vop3p 0x1a v_dot2_f32_bf16}  [vdst:f32 <- src0:bf16x2, src1:bf16x2, src2:f32];
    VDot2accF32F16 {Vop2 0x37 v_dot2c_f32_f16}    {Vop2 0x02 v_dot2acc_f32_f16} [vdst:f32 <- src0:f16x2, src1:f16x2]               reads_dst no_long_gfx1100;
    VDot2cF32Bf16  {Vop2 0x16 v_dot2c_f32_bf16}   {}                            [vdst:f32 <- src0:bf16x2, src1:bf16x2]             reads_dst;
    VDot4U32U8     {Vop3p 0x29 v_dot4_u32_u8}     {Vop3p 0x17 v_dot4_u32_u8}    [vdst:u32 <- src0:b32, src1:b32, src2:u32]         clamps no_dpp;
    VDot4I32I8     {Vop3p 0x28 v_dot4_i32_i8}     {}                            [vdst:i32 <- src0:b32, src1:b32, src2:i32]         clamps no_dpp;
    VDot4I32Iu8    {}                             {Vop3p 0x16 v_dot4_i32_iu8}   [vdst:i32 <- src0:iu8x4, src1:iu8x4, src2:i32]     clamps no_dpp;
    VDot4cI32I8    {Vop2 0x39 v_dot4c_i32_i8}     {}                            [vdst:i32 <- src0:b32, src1:b32]                   clamps reads_dst;
    VDot8U32U4     {Vop3p 0x2b v_dot8_u32_u4}     {Vop3p 0x19 v_dot8_u32_u4}    [vdst:u32 <- src0:b32, src1:b32, src2:u32]         clamps no_dpp;
    VDot8I32I4     {Vop3p 0x2a v_dot8_i32_i4}     {}                            [vdst:i32 <- src0:b32, src1:b32, src2:i32]         clamps no_dpp;
    VDot8cI32I4    {Vop2 0x3a v_dot8c_i32_i4}     {}                            [vdst:i32 <- src0:b32, src1:b32]                   clamps reads_dst;
    VDot8I32Iu4    {}                             {Vop3p 0x18 v_dot8_i32_iu4}   [vdst:i32 <- src0:iu8x4, src1:iu8x4, src2:i32]     clamps no_dpp;
    VDot2I32I16    {Vop3p 0x26 v_dot2_i32_i16}    {}                            [vdst:i32 <- src0:b32, src1:b32, src2:i32]         clamps no_dpp;
    VDot2U32U16    {Vop3p 0x27 v_dot2_u32_u16}    {}                            [vdst:u32 <- src0:b32, src1:b32, src2:u32]         clamps no_dpp;
    VDot2cI32I16   {Vop2 0x38 v_dot2c_i32_i16}    {}                            [vdst:i32 <- src0:b32, src1:b32]                   clamps reads_dst;
}
