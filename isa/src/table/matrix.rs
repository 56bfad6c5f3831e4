//! Matrix operations: MFMA of gfx950 and WMMA of gfx1100.
//!
//! `f16_r2` is a fragment of binary16 elements in two registers; which element of the matrix lies where
//! is in [`fragment`](crate::fragment). CBSZ, ABID and BLGP broadcast blocks of A and permute lanes of B;
//! in the binary64 rows BLGP negates A, B and C.
//!
//! Sources: LLVM 22's MC tables; gfx950 has no xf32 rows any more.

rows! {
    /// Matrix operations.
    enum Matrix;

    // Dense MFMA (gfx950): D = A·B + C, block by block.
    VMfmaF3216x16x14bF32         {Vop3pMai 0x41 v_mfma_f32_16x16x1_4b_f32}        {}                                     [vdst:f32_r16 <- src0:f32_r1, src1:f32_r1, src2:f32_r16];
    VMfmaF3216x16x4F32           {Vop3pMai 0x45 v_mfma_f32_16x16x4_f32}           {}                                     [vdst:f32_r4 <- src0:f32_r1, src1:f32_r1, src2:f32_r4];
    VMfmaF3232x32x12bF32         {Vop3pMai 0x40 v_mfma_f32_32x32x1_2b_f32}        {}                                     [vdst:f32_r32 <- src0:f32_r1, src1:f32_r1, src2:f32_r32];
    VMfmaF3232x32x2F32           {Vop3pMai 0x44 v_mfma_f32_32x32x2_f32}           {}                                     [vdst:f32_r16 <- src0:f32_r1, src1:f32_r1, src2:f32_r16];
    VMfmaF324x4x116bF32          {Vop3pMai 0x42 v_mfma_f32_4x4x1_16b_f32}         {}                                     [vdst:f32_r4 <- src0:f32_r1, src1:f32_r1, src2:f32_r4];
    VMfmaF3216x16x16F16          {Vop3pMai 0x4d v_mfma_f32_16x16x16_f16}          {}                                     [vdst:f32_r4 <- src0:f16_r2, src1:f16_r2, src2:f32_r4];
    VMfmaF3216x16x32F16          {Vop3pMai 0x54 v_mfma_f32_16x16x32_f16}          {}                                     [vdst:f32_r4 <- src0:f16_r4, src1:f16_r4, src2:f32_r4];
    VMfmaF3216x16x44bF16         {Vop3pMai 0x49 v_mfma_f32_16x16x4_4b_f16}        {}                                     [vdst:f32_r16 <- src0:f16_r2, src1:f16_r2, src2:f32_r16];
    VMfmaF3232x32x16F16          {Vop3pMai 0x55 v_mfma_f32_32x32x16_f16}          {}                                     [vdst:f32_r16 <- src0:f16_r4, src1:f16_r4, src2:f32_r16];
    VMfmaF3232x32x42bF16         {Vop3pMai 0x48 v_mfma_f32_32x32x4_2b_f16}        {}                                     [vdst:f32_r32 <- src0:f16_r2, src1:f16_r2, src2:f32_r32];
    VMfmaF3232x32x8F16           {Vop3pMai 0x4c v_mfma_f32_32x32x8_f16}           {}                                     [vdst:f32_r16 <- src0:f16_r2, src1:f16_r2, src2:f32_r16];
    VMfmaF324x4x416bF16          {Vop3pMai 0x4a v_mfma_f32_4x4x4_16b_f16}         {}                                     [vdst:f32_r4 <- src0:f16_r2, src1:f16_r2, src2:f32_r4];
    VMfmaF3216x16x16Bf16         {Vop3pMai 0x61 v_mfma_f32_16x16x16_bf16}         {}                                     [vdst:f32_r4 <- src0:bf16_r2, src1:bf16_r2, src2:f32_r4];
    VMfmaF3216x16x32Bf16         {Vop3pMai 0x35 v_mfma_f32_16x16x32_bf16}         {}                                     [vdst:f32_r4 <- src0:bf16_r4, src1:bf16_r4, src2:f32_r4];
    VMfmaF3216x16x44bBf16        {Vop3pMai 0x5e v_mfma_f32_16x16x4_4b_bf16}       {}                                     [vdst:f32_r16 <- src0:bf16_r2, src1:bf16_r2, src2:f32_r16];
    VMfmaF3232x32x16Bf16         {Vop3pMai 0x37 v_mfma_f32_32x32x16_bf16}         {}                                     [vdst:f32_r16 <- src0:bf16_r4, src1:bf16_r4, src2:f32_r16];
    VMfmaF3232x32x42bBf16        {Vop3pMai 0x5d v_mfma_f32_32x32x4_2b_bf16}       {}                                     [vdst:f32_r32 <- src0:bf16_r2, src1:bf16_r2, src2:f32_r32];
    VMfmaF3232x32x8Bf16          {Vop3pMai 0x60 v_mfma_f32_32x32x8_bf16}          {}                                     [vdst:f32_r16 <- src0:bf16_r2, src1:bf16_r2, src2:f32_r16];
    VMfmaF324x4x416bBf16         {Vop3pMai 0x5f v_mfma_f32_4x4x4_16b_bf16}        {}                                     [vdst:f32_r4 <- src0:bf16_r2, src1:bf16_r2, src2:f32_r4];
    VMfmaF3216x16x32Bf8Bf8       {Vop3pMai 0x70 v_mfma_f32_16x16x32_bf8_bf8}      {}                                     [vdst:f32_r4 <- src0:bf8_r2, src1:bf8_r2, src2:f32_r4];
    VMfmaF3216x16x32Fp8Bf8       {Vop3pMai 0x72 v_mfma_f32_16x16x32_fp8_bf8}      {}                                     [vdst:f32_r4 <- src0:fp8_r2, src1:bf8_r2, src2:f32_r4];
    VMfmaF3232x32x16Bf8Bf8       {Vop3pMai 0x74 v_mfma_f32_32x32x16_bf8_bf8}      {}                                     [vdst:f32_r16 <- src0:bf8_r2, src1:bf8_r2, src2:f32_r16];
    VMfmaF3232x32x16Fp8Bf8       {Vop3pMai 0x76 v_mfma_f32_32x32x16_fp8_bf8}      {}                                     [vdst:f32_r16 <- src0:fp8_r2, src1:bf8_r2, src2:f32_r16];
    VMfmaF3216x16x32Bf8Fp8       {Vop3pMai 0x71 v_mfma_f32_16x16x32_bf8_fp8}      {}                                     [vdst:f32_r4 <- src0:bf8_r2, src1:fp8_r2, src2:f32_r4];
    VMfmaF3216x16x32Fp8Fp8       {Vop3pMai 0x73 v_mfma_f32_16x16x32_fp8_fp8}      {}                                     [vdst:f32_r4 <- src0:fp8_r2, src1:fp8_r2, src2:f32_r4];
    VMfmaF3232x32x16Bf8Fp8       {Vop3pMai 0x75 v_mfma_f32_32x32x16_bf8_fp8}      {}                                     [vdst:f32_r16 <- src0:bf8_r2, src1:fp8_r2, src2:f32_r16];
    VMfmaF3232x32x16Fp8Fp8       {Vop3pMai 0x77 v_mfma_f32_32x32x16_fp8_fp8}      {}                                     [vdst:f32_r16 <- src0:fp8_r2, src1:fp8_r2, src2:f32_r16];
    VMfmaI3216x16x32I8           {Vop3pMai 0x57 v_mfma_i32_16x16x32_i8}           {}                                     [vdst:i32_r4 <- src0:i8_r2, src1:i8_r2, src2:i32_r4];
    VMfmaI3216x16x44bI8          {Vop3pMai 0x51 v_mfma_i32_16x16x4_4b_i8}         {}                                     [vdst:i32_r16 <- src0:i8_r1, src1:i8_r1, src2:i32_r16];
    VMfmaI3216x16x64I8           {Vop3pMai 0x36 v_mfma_i32_16x16x64_i8}           {}                                     [vdst:i32_r4 <- src0:i8_r4, src1:i8_r4, src2:i32_r4];
    VMfmaI3232x32x16I8           {Vop3pMai 0x56 v_mfma_i32_32x32x16_i8}           {}                                     [vdst:i32_r16 <- src0:i8_r2, src1:i8_r2, src2:i32_r16];
    VMfmaI3232x32x32I8           {Vop3pMai 0x38 v_mfma_i32_32x32x32_i8}           {}                                     [vdst:i32_r16 <- src0:i8_r4, src1:i8_r4, src2:i32_r16];
    VMfmaI3232x32x42bI8          {Vop3pMai 0x50 v_mfma_i32_32x32x4_2b_i8}         {}                                     [vdst:i32_r32 <- src0:i8_r1, src1:i8_r1, src2:i32_r32];
    VMfmaI324x4x416bI8           {Vop3pMai 0x52 v_mfma_i32_4x4x4_16b_i8}          {}                                     [vdst:i32_r4 <- src0:i8_r1, src1:i8_r1, src2:i32_r4];
    VMfmaF6416x16x4F64           {Vop3pMai 0x6e v_mfma_f64_16x16x4_f64}           {}                                     [vdst:f64_r8 <- src0:f64_r2, src1:f64_r2, src2:f64_r8];
    VMfmaF644x4x44bF64           {Vop3pMai 0x6f v_mfma_f64_4x4x4_4b_f64}          {}                                     [vdst:f64_r2 <- src0:f64_r2, src1:f64_r2, src2:f64_r2];

    // Formats by CBSZ (A) and BLGP (B): 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4.
    VMfmaF3216x16x128F8f6f4      {Vop3pMai 0x2d v_mfma_f32_16x16x128_f8f6f4}      {}                                     [vdst:f32_r4 <- src0:mx_a, src1:mx_b, src2:f32_r4];
    VMfmaF3232x32x64F8f6f4       {Vop3pMai 0x2e v_mfma_f32_32x32x64_f8f6f4}       {}                                     [vdst:f32_r16 <- src0:mx_a, src1:mx_b, src2:f32_r16];

    // As above, with a scale (a power of two in E8M0) for each 32 elements along k.
    VMfmaScaleF3216x16x128F8f6f4 {Vop3pMx 0x2d v_mfma_scale_f32_16x16x128_f8f6f4} {}                                     [vdst:f32_r4 <- src0:mx_a, src1:mx_b, src2:f32_r4, scale_a:b32, scale_b:b32];
    VMfmaScaleF3232x32x64F8f6f4  {Vop3pMx 0x2e v_mfma_scale_f32_32x32x64_f8f6f4}  {}                                     [vdst:f32_r16 <- src0:mx_a, src1:mx_b, src2:f32_r16, scale_a:b32, scale_b:b32];

    // Structured sparsity: A holds two of each four elements, SRC2 says which; D accumulates.
    VSmfmacF3216x16x32F16        {Vop3pMai 0x62 v_smfmac_f32_16x16x32_f16}        {}                                     [vdst:f32_r4 <- src0:f16_r2, src1:f16_r4, src2:b32]                            reads_dst;
    VSmfmacF3216x16x64F16        {Vop3pMai 0x5a v_smfmac_f32_16x16x64_f16}        {}                                     [vdst:f32_r4 <- src0:f16_r4, src1:f16_r8, src2:b32]                            reads_dst;
    VSmfmacF3232x32x16F16        {Vop3pMai 0x64 v_smfmac_f32_32x32x16_f16}        {}                                     [vdst:f32_r16 <- src0:f16_r2, src1:f16_r4, src2:b32]                           reads_dst;
    VSmfmacF3232x32x32F16        {Vop3pMai 0x5b v_smfmac_f32_32x32x32_f16}        {}                                     [vdst:f32_r16 <- src0:f16_r4, src1:f16_r8, src2:b32]                           reads_dst;
    VSmfmacF3216x16x32Bf16       {Vop3pMai 0x66 v_smfmac_f32_16x16x32_bf16}       {}                                     [vdst:f32_r4 <- src0:bf16_r2, src1:bf16_r4, src2:b32]                          reads_dst;
    VSmfmacF3216x16x64Bf16       {Vop3pMai 0x39 v_smfmac_f32_16x16x64_bf16}       {}                                     [vdst:f32_r4 <- src0:bf16_r4, src1:bf16_r8, src2:b32]                          reads_dst;
    VSmfmacF3232x32x16Bf16       {Vop3pMai 0x68 v_smfmac_f32_32x32x16_bf16}       {}                                     [vdst:f32_r16 <- src0:bf16_r2, src1:bf16_r4, src2:b32]                         reads_dst;
    VSmfmacF3232x32x32Bf16       {Vop3pMai 0x46 v_smfmac_f32_32x32x32_bf16}       {}                                     [vdst:f32_r16 <- src0:bf16_r4, src1:bf16_r8, src2:b32]                         reads_dst;
    VSmfmacF3216x16x128Bf8Bf8    {Vop3pMai 0x3b v_smfmac_f32_16x16x128_bf8_bf8}   {}                                     [vdst:f32_r4 <- src0:bf8_r4, src1:bf8_r8, src2:b32]                            reads_dst;
    VSmfmacF3216x16x128Fp8Bf8    {Vop3pMai 0x3d v_smfmac_f32_16x16x128_fp8_bf8}   {}                                     [vdst:f32_r4 <- src0:fp8_r4, src1:bf8_r8, src2:b32]                            reads_dst;
    VSmfmacF3216x16x64Bf8Bf8     {Vop3pMai 0x78 v_smfmac_f32_16x16x64_bf8_bf8}    {}                                     [vdst:f32_r4 <- src0:bf8_r2, src1:bf8_r4, src2:b32]                            reads_dst;
    VSmfmacF3216x16x64Fp8Bf8     {Vop3pMai 0x7a v_smfmac_f32_16x16x64_fp8_bf8}    {}                                     [vdst:f32_r4 <- src0:fp8_r2, src1:bf8_r4, src2:b32]                            reads_dst;
    VSmfmacF3232x32x32Bf8Bf8     {Vop3pMai 0x7c v_smfmac_f32_32x32x32_bf8_bf8}    {}                                     [vdst:f32_r16 <- src0:bf8_r2, src1:bf8_r4, src2:b32]                           reads_dst;
    VSmfmacF3232x32x32Fp8Bf8     {Vop3pMai 0x7e v_smfmac_f32_32x32x32_fp8_bf8}    {}                                     [vdst:f32_r16 <- src0:fp8_r2, src1:bf8_r4, src2:b32]                           reads_dst;
    VSmfmacF3232x32x64Bf8Bf8     {Vop3pMai 0x4b v_smfmac_f32_32x32x64_bf8_bf8}    {}                                     [vdst:f32_r16 <- src0:bf8_r4, src1:bf8_r8, src2:b32]                           reads_dst;
    VSmfmacF3232x32x64Fp8Bf8     {Vop3pMai 0x4f v_smfmac_f32_32x32x64_fp8_bf8}    {}                                     [vdst:f32_r16 <- src0:fp8_r4, src1:bf8_r8, src2:b32]                           reads_dst;
    VSmfmacF3216x16x128Bf8Fp8    {Vop3pMai 0x3c v_smfmac_f32_16x16x128_bf8_fp8}   {}                                     [vdst:f32_r4 <- src0:bf8_r4, src1:fp8_r8, src2:b32]                            reads_dst;
    VSmfmacF3216x16x128Fp8Fp8    {Vop3pMai 0x43 v_smfmac_f32_16x16x128_fp8_fp8}   {}                                     [vdst:f32_r4 <- src0:fp8_r4, src1:fp8_r8, src2:b32]                            reads_dst;
    VSmfmacF3216x16x64Bf8Fp8     {Vop3pMai 0x79 v_smfmac_f32_16x16x64_bf8_fp8}    {}                                     [vdst:f32_r4 <- src0:bf8_r2, src1:fp8_r4, src2:b32]                            reads_dst;
    VSmfmacF3216x16x64Fp8Fp8     {Vop3pMai 0x7b v_smfmac_f32_16x16x64_fp8_fp8}    {}                                     [vdst:f32_r4 <- src0:fp8_r2, src1:fp8_r4, src2:b32]                            reads_dst;
    VSmfmacF3232x32x32Bf8Fp8     {Vop3pMai 0x7d v_smfmac_f32_32x32x32_bf8_fp8}    {}                                     [vdst:f32_r16 <- src0:bf8_r2, src1:fp8_r4, src2:b32]                           reads_dst;
    VSmfmacF3232x32x32Fp8Fp8     {Vop3pMai 0x7f v_smfmac_f32_32x32x32_fp8_fp8}    {}                                     [vdst:f32_r16 <- src0:fp8_r2, src1:fp8_r4, src2:b32]                           reads_dst;
    VSmfmacF3232x32x64Bf8Fp8     {Vop3pMai 0x4e v_smfmac_f32_32x32x64_bf8_fp8}    {}                                     [vdst:f32_r16 <- src0:bf8_r4, src1:fp8_r8, src2:b32]                           reads_dst;
    VSmfmacF3232x32x64Fp8Fp8     {Vop3pMai 0x53 v_smfmac_f32_32x32x64_fp8_fp8}    {}                                     [vdst:f32_r16 <- src0:fp8_r4, src1:fp8_r8, src2:b32]                           reads_dst;
    VSmfmacI3216x16x128I8        {Vop3pMai 0x3a v_smfmac_i32_16x16x128_i8}        {}                                     [vdst:i32_r4 <- src0:i8_r4, src1:i8_r8, src2:b32]                              reads_dst;
    VSmfmacI3216x16x64I8         {Vop3pMai 0x6a v_smfmac_i32_16x16x64_i8}         {}                                     [vdst:i32_r4 <- src0:i8_r2, src1:i8_r4, src2:b32]                              reads_dst;
    VSmfmacI3232x32x32I8         {Vop3pMai 0x6c v_smfmac_i32_32x32x32_i8}         {}                                     [vdst:i32_r16 <- src0:i8_r2, src1:i8_r4, src2:b32]                             reads_dst;
    VSmfmacI3232x32x64I8         {Vop3pMai 0x47 v_smfmac_i32_32x32x64_i8}         {}                                     [vdst:i32_r16 <- src0:i8_r4, src1:i8_r8, src2:b32]                             reads_dst;

    // WMMA (gfx1100). Lanes 16–31 hold A and B again. 16-bit results keep the half that OP_SEL does not choose.
    VWmmaF3216x16x16F16          {}                                               {Vop3p 0x40 v_wmma_f32_16x16x16_f16}   [vdst:f32_r8 <- src0:f16_r8, src1:f16_r8, src2:f32_r8]                         no_clamp;
    VWmmaF3216x16x16Bf16         {}                                               {Vop3p 0x41 v_wmma_f32_16x16x16_bf16}  [vdst:f32_r8 <- src0:bf16_r8, src1:bf16_r8, src2:f32_r8]                       no_clamp;
    VWmmaF1616x16x16F16          {}                                               {Vop3p 0x42 v_wmma_f16_16x16x16_f16}   [vdst:f16_r8 <- src0:f16_r8, src1:f16_r8, src2:f16_r8]                         no_clamp reads_dst;
    VWmmaBf1616x16x16Bf16        {}                                               {Vop3p 0x43 v_wmma_bf16_16x16x16_bf16} [vdst:bf16_r8 <- src0:bf16_r8, src1:bf16_r8, src2:bf16_r8]                     no_clamp reads_dst;
    VWmmaI3216x16x16Iu8          {}                                               {Vop3p 0x44 v_wmma_i32_16x16x16_iu8}   [vdst:i32_r8 <- src0:iu8_r4, src1:iu8_r4, src2:i32_r8]                         clamps;
    VWmmaI3216x16x16Iu4          {}                                               {Vop3p 0x45 v_wmma_i32_16x16x16_iu4}   [vdst:i32_r8 <- src0:iu4_r2, src1:iu4_r2, src2:i32_r8]                         clamps;
}
