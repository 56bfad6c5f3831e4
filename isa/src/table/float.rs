//! Vector arithmetic in binary32 and binary64.

rows! {
    /// Vector arithmetic in binary32 and binary64.
    enum Float;

    // One source.
    VFractF32       {Vop1 0x1b v_fract_f32}         {Vop1 0x20 v_fract_f32}         [vdst:f32 <- src0:f32];
    VFractF64       {Vop1 0x32 v_fract_f64}         {Vop1 0x3e v_fract_f64}         [vdst:f64 <- src0:f64];
    VTruncF32       {Vop1 0x1c v_trunc_f32}         {Vop1 0x21 v_trunc_f32}         [vdst:f32 <- src0:f32];
    VTruncF64       {Vop1 0x17 v_trunc_f64}         {Vop1 0x17 v_trunc_f64}         [vdst:f64 <- src0:f64];
    VCeilF32        {Vop1 0x1d v_ceil_f32}          {Vop1 0x22 v_ceil_f32}          [vdst:f32 <- src0:f32];
    VCeilF64        {Vop1 0x18 v_ceil_f64}          {Vop1 0x18 v_ceil_f64}          [vdst:f64 <- src0:f64];
    VRndneF32       {Vop1 0x1e v_rndne_f32}         {Vop1 0x23 v_rndne_f32}         [vdst:f32 <- src0:f32];
    VRndneF64       {Vop1 0x19 v_rndne_f64}         {Vop1 0x19 v_rndne_f64}         [vdst:f64 <- src0:f64];
    VFloorF32       {Vop1 0x1f v_floor_f32}         {Vop1 0x24 v_floor_f32}         [vdst:f32 <- src0:f32];
    VFloorF64       {Vop1 0x1a v_floor_f64}         {Vop1 0x1a v_floor_f64}         [vdst:f64 <- src0:f64];
    VExpF32         {Vop1 0x20 v_exp_f32}           {Vop1 0x25 v_exp_f32}           [vdst:f32 <- src0:f32]                                trans;
    VLogF32         {Vop1 0x21 v_log_f32}           {Vop1 0x27 v_log_f32}           [vdst:f32 <- src0:f32]                                trans;
    VRcpF32         {Vop1 0x22 v_rcp_f32}           {Vop1 0x2a v_rcp_f32}           [vdst:f32 <- src0:f32]                                trans;
    VRcpIflagF32    {Vop1 0x23 v_rcp_iflag_f32}     {Vop1 0x2b v_rcp_iflag_f32}     [vdst:f32 <- src0:f32]                                trans;
    VRsqF32         {Vop1 0x24 v_rsq_f32}           {Vop1 0x2e v_rsq_f32}           [vdst:f32 <- src0:f32]                                trans;
    VSqrtF32        {Vop1 0x27 v_sqrt_f32}          {Vop1 0x33 v_sqrt_f32}          [vdst:f32 <- src0:f32]                                trans;
    VSinF32         {Vop1 0x29 v_sin_f32}           {Vop1 0x35 v_sin_f32}           [vdst:f32 <- src0:f32]                                trans;
    VCosF32         {Vop1 0x2a v_cos_f32}           {Vop1 0x36 v_cos_f32}           [vdst:f32 <- src0:f32]                                trans;
    VRcpF64         {Vop1 0x25 v_rcp_f64}           {Vop1 0x2f v_rcp_f64}           [vdst:f64 <- src0:f64]                                trans;
    VRsqF64         {Vop1 0x26 v_rsq_f64}           {Vop1 0x31 v_rsq_f64}           [vdst:f64 <- src0:f64]                                trans;
    VSqrtF64        {Vop1 0x28 v_sqrt_f64}          {Vop1 0x34 v_sqrt_f64}          [vdst:f64 <- src0:f64]                                trans;
    VFrexpExpI32F32 {Vop1 0x33 v_frexp_exp_i32_f32} {Vop1 0x3f v_frexp_exp_i32_f32} [vdst:i32 <- src0:f32];
    VFrexpMantF32   {Vop1 0x34 v_frexp_mant_f32}    {Vop1 0x40 v_frexp_mant_f32}    [vdst:f32 <- src0:f32];
    VFrexpExpI32F64 {Vop1 0x30 v_frexp_exp_i32_f64} {Vop1 0x3c v_frexp_exp_i32_f64} [vdst:i32 <- src0:f64];
    VFrexpMantF64   {Vop1 0x31 v_frexp_mant_f64}    {Vop1 0x3d v_frexp_mant_f64}    [vdst:f64 <- src0:f64];

    // Two sources.
    VAddF32         {Vop2 0x01 v_add_f32}           {Vop2 0x03 v_add_f32}           [vdst:f32 <- src0:f32, src1:f32];
    VSubF32         {Vop2 0x02 v_sub_f32}           {Vop2 0x04 v_sub_f32}           [vdst:f32 <- src0:f32, src1:f32];
    VSubrevF32      {Vop2 0x03 v_subrev_f32}        {Vop2 0x05 v_subrev_f32}        [vdst:f32 <- src0:f32, src1:f32];
    VMulF32         {Vop2 0x05 v_mul_f32}           {Vop2 0x08 v_mul_f32}           [vdst:f32 <- src0:f32, src1:f32];
    VMinF32         {Vop2 0x0a v_min_f32}           {Vop2 0x0f v_min_f32}           [vdst:f32 <- src0:f32, src1:f32];
    VMaxF32         {Vop2 0x0b v_max_f32}           {Vop2 0x10 v_max_f32}           [vdst:f32 <- src0:f32, src1:f32];
    VMulDx9ZeroF32  {Vop3 0x2a1 v_mul_legacy_f32}   {Vop2 0x07 v_mul_dx9_zero_f32}  [vdst:f32 <- src0:f32, src1:f32];
    VAddF64         {Vop3 0x280 v_add_f64}          {Vop3 0x327 v_add_f64}          [vdst:f64 <- src0:f64, src1:f64];
    VMulF64         {Vop3 0x281 v_mul_f64}          {Vop3 0x328 v_mul_f64}          [vdst:f64 <- src0:f64, src1:f64];
    VMinF64         {Vop3 0x282 v_min_f64}          {Vop3 0x329 v_min_f64}          [vdst:f64 <- src0:f64, src1:f64];
    VMaxF64         {Vop3 0x283 v_max_f64}          {Vop3 0x32a v_max_f64}          [vdst:f64 <- src0:f64, src1:f64];
    VLdexpF32       {Vop3 0x288 v_ldexp_f32}        {Vop3 0x31c v_ldexp_f32}        [vdst:f32 <- src0:f32, src1:i32];
    VLdexpF64       {Vop3 0x284 v_ldexp_f64}        {Vop3 0x32b v_ldexp_f64}        [vdst:f64 <- src0:f64, src1:i32];

    // Multiply-add: `fmac` adds to its destination; `fmamk` is src0·k + src1, `fmaak` is src0·src1 + k.
    VFmacF32        {Vop2 0x3b v_fmac_f32}          {Vop2 0x2b v_fmac_f32}          [vdst:f32 <- src0:f32, src1:f32]                      reads_dst;
    VFmacF64        {Vop2 0x04 v_fmac_f64}          {}                              [vdst:f64 <- src0:f64, src1:f64]                      reads_dst;
    VFmacDx9ZeroF32 {}                              {Vop2 0x06 v_fmac_dx9_zero_f32}  [vdst:f32 <- src0:f32, src1:f32]                      reads_dst no_dpp;
    VFmamkF32       {Vop2 0x17 v_fmamk_f32}         {Vop2 0x2c v_fmamk_f32}         [vdst:f32 <- src0:f32, k:f32, src1:f32]               short_only;
    VFmaakF32       {Vop2 0x18 v_fmaak_f32}         {Vop2 0x2d v_fmaak_f32}         [vdst:f32 <- src0:f32, src1:f32, k:f32]               short_only;
    VFmaF32         {Vop3 0x1cb v_fma_f32}          {Vop3 0x213 v_fma_f32}          [vdst:f32 <- src0:f32, src1:f32, src2:f32];
    VFmaF64         {Vop3 0x1cc v_fma_f64}          {Vop3 0x214 v_fma_f64}          [vdst:f64 <- src0:f64, src1:f64, src2:f64];

    // Three sources.
    VMin3F32        {Vop3 0x1d0 v_min3_f32}         {Vop3 0x219 v_min3_f32}         [vdst:f32 <- src0:f32, src1:f32, src2:f32];
    VMax3F32        {Vop3 0x1d3 v_max3_f32}         {Vop3 0x21c v_max3_f32}         [vdst:f32 <- src0:f32, src1:f32, src2:f32];
    VMed3F32        {Vop3 0x1d6 v_med3_f32}         {Vop3 0x21f v_med3_f32}         [vdst:f32 <- src0:f32, src1:f32, src2:f32];
    VMinimum3F32    {Vop3 0x2a8 v_minimum3_f32}     {}                              [vdst:f32 <- src0:f32, src1:f32, src2:f32];
    VMaximum3F32    {Vop3 0x2a9 v_maximum3_f32}     {}                              [vdst:f32 <- src0:f32, src1:f32, src2:f32];
    VMaxminF32      {}                              {Vop3 0x25e v_maxmin_f32}       [vdst:f32 <- src0:f32, src1:f32, src2:f32];
    VMinmaxF32      {}                              {Vop3 0x25f v_minmax_f32}       [vdst:f32 <- src0:f32, src1:f32, src2:f32];
    VDivScaleF32    {Vop3Sd 0x1e0 v_div_scale_f32}  {Vop3Sd 0x2fc v_div_scale_f32}  [vdst:f32, sdst:mask <- src0:f32, src1:f32, src2:f32] no_dpp;
    VDivFmasF32     {Vop3 0x1e2 v_div_fmas_f32}     {Vop3 0x237 v_div_fmas_f32}     [vdst:f32 <- src0:f32, src1:f32, src2:f32]            reads_vcc no_dpp;
    VDivFixupF32    {Vop3 0x1de v_div_fixup_f32}    {Vop3 0x227 v_div_fixup_f32}    [vdst:f32 <- src0:f32, src1:f32, src2:f32]            no_dpp;
    VDivScaleF64    {Vop3Sd 0x1e1 v_div_scale_f64}  {Vop3Sd 0x2fd v_div_scale_f64}  [vdst:f64, sdst:mask <- src0:f64, src1:f64, src2:f64] no_dpp;
    VDivFmasF64     {Vop3 0x1e3 v_div_fmas_f64}     {Vop3 0x238 v_div_fmas_f64}     [vdst:f64 <- src0:f64, src1:f64, src2:f64]            reads_vcc no_dpp;
    VDivFixupF64    {Vop3 0x1df v_div_fixup_f64}    {Vop3 0x228 v_div_fixup_f64}    [vdst:f64 <- src0:f64, src1:f64, src2:f64]            no_dpp;
    VTrigPreopF64   {Vop3 0x292 v_trig_preop_f64}   {Vop3 0x32f v_trig_preop_f64}   [vdst:f64 <- src0:f64, src1:u32]                      no_dpp;
}
