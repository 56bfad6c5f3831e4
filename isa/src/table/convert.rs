//! Vector conversions between number types.

rows! {
    /// Vector conversions.
    enum Convert;
    VCvtI32F64        {Vop1 0x03 v_cvt_i32_f64}         {Vop1 0x03 v_cvt_i32_f64}          [vdst:i32 <- src0:f64];
    VCvtF64I32        {Vop1 0x04 v_cvt_f64_i32}         {Vop1 0x04 v_cvt_f64_i32}          [vdst:f64 <- src0:i32];
    VCvtF32I32        {Vop1 0x05 v_cvt_f32_i32}         {Vop1 0x05 v_cvt_f32_i32}          [vdst:f32 <- src0:i32];
    VCvtF32U32        {Vop1 0x06 v_cvt_f32_u32}         {Vop1 0x06 v_cvt_f32_u32}          [vdst:f32 <- src0:u32];
    VCvtU32F32        {Vop1 0x07 v_cvt_u32_f32}         {Vop1 0x07 v_cvt_u32_f32}          [vdst:u32 <- src0:f32];
    VCvtI32F32        {Vop1 0x08 v_cvt_i32_f32}         {Vop1 0x08 v_cvt_i32_f32}          [vdst:i32 <- src0:f32];
    VCvtF16F32        {Vop1 0x0a v_cvt_f16_f32}         {Vop1 0x0a v_cvt_f16_f32}          [vdst:f16 <- src0:f32];
    VCvtF32F16        {Vop1 0x0b v_cvt_f32_f16}         {Vop1 0x0b v_cvt_f32_f16}          [vdst:f32 <- src0:f16];
    VCvtF32F64        {Vop1 0x0f v_cvt_f32_f64}         {Vop1 0x0f v_cvt_f32_f64}          [vdst:f32 <- src0:f64];
    VCvtF64F32        {Vop1 0x10 v_cvt_f64_f32}         {Vop1 0x10 v_cvt_f64_f32}          [vdst:f64 <- src0:f32];
    VCvtU32F64        {Vop1 0x15 v_cvt_u32_f64}         {Vop1 0x15 v_cvt_u32_f64}          [vdst:u32 <- src0:f64];
    VCvtF64U32        {Vop1 0x16 v_cvt_f64_u32}         {Vop1 0x16 v_cvt_f64_u32}          [vdst:f64 <- src0:u32];
    VCvtF16U16        {Vop1 0x39 v_cvt_f16_u16}         {Vop1 0x50 v_cvt_f16_u16}          [vdst:f16 <- src0:u16];
    VCvtF16I16        {Vop1 0x3a v_cvt_f16_i16}         {Vop1 0x51 v_cvt_f16_i16}          [vdst:f16 <- src0:i16];
    VCvtU16F16        {Vop1 0x3b v_cvt_u16_f16}         {Vop1 0x52 v_cvt_u16_f16}          [vdst:u16 <- src0:f16];
    VCvtI16F16        {Vop1 0x3c v_cvt_i16_f16}         {Vop1 0x53 v_cvt_i16_f16}          [vdst:i16 <- src0:f16];
    VCvtNearestI32F32 {Vop1 0x0c v_cvt_rpi_i32_f32}     {Vop1 0x0c v_cvt_nearest_i32_f32}  [vdst:i32 <- src0:f32];
    VCvtFloorI32F32   {Vop1 0x0d v_cvt_flr_i32_f32}     {Vop1 0x0d v_cvt_floor_i32_f32}    [vdst:i32 <- src0:f32];
    VCvtF32Ubyte0     {Vop1 0x11 v_cvt_f32_ubyte0}      {Vop1 0x11 v_cvt_f32_ubyte0}       [vdst:f32 <- src0:b32];
    VCvtF32Ubyte1     {Vop1 0x12 v_cvt_f32_ubyte1}      {Vop1 0x12 v_cvt_f32_ubyte1}       [vdst:f32 <- src0:b32];
    VCvtF32Ubyte2     {Vop1 0x13 v_cvt_f32_ubyte2}      {Vop1 0x13 v_cvt_f32_ubyte2}       [vdst:f32 <- src0:b32];
    VCvtF32Ubyte3     {Vop1 0x14 v_cvt_f32_ubyte3}      {Vop1 0x14 v_cvt_f32_ubyte3}       [vdst:f32 <- src0:b32];
    VCvtI32I16        {}                                {Vop1 0x6a v_cvt_i32_i16}          [vdst:i32 <- src0:i16];
    VCvtU32U16        {}                                {Vop1 0x6b v_cvt_u32_u16}          [vdst:u32 <- src0:u16];
    VCvtF32Bf16       {Vop1 0x5b v_cvt_f32_bf16}        {}                                 [vdst:f32 <- src0:bf16];
    VCvtF32Fp8        {Vop1 0x54 v_cvt_f32_fp8}         {}                                 [vdst:f32 <- src0:b32]                         no_dst_sel;
    VCvtF32Bf8        {Vop1 0x55 v_cvt_f32_bf8}         {}                                 [vdst:f32 <- src0:b32]                         no_dst_sel;
    VCvtPkF32Fp8      {Vop1 0x56 v_cvt_pk_f32_fp8}      {}                                 [vdst:b64 <- src0:b32]                         no_dst_sel;
    VCvtPkF32Bf8      {Vop1 0x57 v_cvt_pk_f32_bf8}      {}                                 [vdst:b64 <- src0:b32]                         no_dst_sel;
    VCvtOffF32I4      {Vop1 0x0e v_cvt_off_f32_i4}      {Vop1 0x0e v_cvt_off_f32_i4}       [vdst:f32 <- src0:b32];

    // Packed results.
    VCvtPkRtzF16F32   {Vop3 0x296 v_cvt_pkrtz_f16_f32}  {Vop2 0x2f v_cvt_pk_rtz_f16_f32}   [vdst:f16x2 <- src0:f32, src1:f32];
    VCvtPkF16F32      {Vop3 0x267 v_cvt_pk_f16_f32}     {}                                 [vdst:f16x2 <- src0:f32, src1:f32];
    VCvtPkBf16F32     {Vop3 0x268 v_cvt_pk_bf16_f32}    {}                                 [vdst:bf16x2 <- src0:f32, src1:f32];
    VCvtPkI16F32      {}                                {Vop3 0x306 v_cvt_pk_i16_f32}      [vdst:i16x2 <- src0:f32, src1:f32];
    VCvtPkU16F32      {}                                {Vop3 0x307 v_cvt_pk_u16_f32}      [vdst:i16x2 <- src0:f32, src1:f32];
    VCvtPkU16U32      {Vop3 0x297 v_cvt_pk_u16_u32}     {Vop3 0x323 v_cvt_pk_u16_u32}      [vdst:i16x2 <- src0:u32, src1:u32];
    VCvtPkI16I32      {Vop3 0x298 v_cvt_pk_i16_i32}     {Vop3 0x324 v_cvt_pk_i16_i32}      [vdst:i16x2 <- src0:i32, src1:i32];
    VCvtPkNormI16F32  {Vop3 0x294 v_cvt_pknorm_i16_f32} {Vop3 0x321 v_cvt_pk_norm_i16_f32} [vdst:i16x2 <- src0:f32, src1:f32];
    VCvtPkNormU16F32  {Vop3 0x295 v_cvt_pknorm_u16_f32} {Vop3 0x322 v_cvt_pk_norm_u16_f32} [vdst:i16x2 <- src0:f32, src1:f32];
    VCvtPkU8F32       {Vop3 0x1dd v_cvt_pk_u8_f32}      {Vop3 0x226 v_cvt_pk_u8_f32}       [vdst:b32 <- src0:f32, src1:u32, src2:b32];
    VCvtPkFp8F32      {Vop3 0x2a2 v_cvt_pk_fp8_f32}     {}                                 [vdst:b16 <- src0:f32, src1:f32]               no_clamp;
    VCvtPkBf8F32      {Vop3 0x2a3 v_cvt_pk_bf8_f32}     {}                                 [vdst:b16 <- src0:f32, src1:f32]               no_clamp;

    // With a scale in the last source.
    VCvtScalef32PkFp8F32  {Vop3 0x235 v_cvt_scalef32_pk_fp8_f32}  {} [vdst:b16 <- src0:f32, src1:f32, src2:f32] no_clamp;
    VCvtScalef32PkBf8F32  {Vop3 0x236 v_cvt_scalef32_pk_bf8_f32}  {} [vdst:b16 <- src0:f32, src1:f32, src2:f32] no_clamp;
    VCvtScalef32PkFp8F16  {Vop3 0x240 v_cvt_scalef32_pk_fp8_f16}  {} [vdst:b16 <- src0:b32, src1:f32]           no_clamp;
    VCvtScalef32PkBf8F16  {Vop3 0x241 v_cvt_scalef32_pk_bf8_f16}  {} [vdst:b16 <- src0:b32, src1:f32]           no_clamp;
    VCvtScalef32PkFp8Bf16 {Vop3 0x244 v_cvt_scalef32_pk_fp8_bf16} {} [vdst:b16 <- src0:b32, src1:f32]           no_clamp;
    VCvtScalef32PkBf8Bf16 {Vop3 0x245 v_cvt_scalef32_pk_bf8_bf16} {} [vdst:b16 <- src0:b32, src1:f32]           no_clamp;
    VCvtScalef32PkF32Fp8  {Vop3 0x239 v_cvt_scalef32_pk_f32_fp8}  {} [vdst:b64 <- src0:b16, src1:f32]           no_clamp;
    VCvtScalef32PkF32Bf8  {Vop3 0x23a v_cvt_scalef32_pk_f32_bf8}  {} [vdst:b64 <- src0:b16, src1:f32]           no_clamp;
    VCvtScalef32PkF16Fp8  {Vop3 0x248 v_cvt_scalef32_pk_f16_fp8}  {} [vdst:b32 <- src0:b16, src1:f32]           no_clamp;
    VCvtScalef32PkF16Bf8  {Vop3 0x249 v_cvt_scalef32_pk_f16_bf8}  {} [vdst:b32 <- src0:b16, src1:f32]           no_clamp;
    VCvtScalef32PkBf16Fp8 {Vop3 0x269 v_cvt_scalef32_pk_bf16_fp8} {} [vdst:b32 <- src0:b16, src1:f32]           no_clamp;
    VCvtScalef32PkBf16Bf8 {Vop3 0x26a v_cvt_scalef32_pk_bf16_bf8} {} [vdst:b32 <- src0:b16, src1:f32]           no_clamp;
}
