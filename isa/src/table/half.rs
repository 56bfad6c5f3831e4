//! Vector arithmetic in 16 bits, one value a lane.
//!
//! gfx1100 addresses both halves of a register in every encoding and keeps the half it does not write.
//! gfx950 has OP_SEL only in VOP3-only rows; what happens to the high half of its results is
//! [`Row::zeroes_high_half`](crate::table::Row::zeroes_high_half).

rows! {
    /// Vector arithmetic in 16 bits.
    enum Half;

    // binary16.
    VFloorF16       {Vop1 0x44 v_floor_f16}         {Vop1 0x5b v_floor_f16}         [vdst:f16 <- src0:f16];
    VCeilF16        {Vop1 0x45 v_ceil_f16}          {Vop1 0x5c v_ceil_f16}          [vdst:f16 <- src0:f16];
    VTruncF16       {Vop1 0x46 v_trunc_f16}         {Vop1 0x5d v_trunc_f16}         [vdst:f16 <- src0:f16];
    VRndneF16       {Vop1 0x47 v_rndne_f16}         {Vop1 0x5e v_rndne_f16}         [vdst:f16 <- src0:f16];
    VFractF16       {Vop1 0x48 v_fract_f16}         {Vop1 0x5f v_fract_f16}         [vdst:f16 <- src0:f16];
    VRcpF16         {Vop1 0x3d v_rcp_f16}           {Vop1 0x54 v_rcp_f16}           [vdst:f16 <- src0:f16]                      trans;
    VSqrtF16        {Vop1 0x3e v_sqrt_f16}          {Vop1 0x55 v_sqrt_f16}          [vdst:f16 <- src0:f16]                      trans;
    VRsqF16         {Vop1 0x3f v_rsq_f16}           {Vop1 0x56 v_rsq_f16}           [vdst:f16 <- src0:f16]                      trans;
    VLogF16         {Vop1 0x40 v_log_f16}           {Vop1 0x57 v_log_f16}           [vdst:f16 <- src0:f16]                      trans;
    VExpF16         {Vop1 0x41 v_exp_f16}           {Vop1 0x58 v_exp_f16}           [vdst:f16 <- src0:f16]                      trans;
    VSinF16         {Vop1 0x49 v_sin_f16}           {Vop1 0x60 v_sin_f16}           [vdst:f16 <- src0:f16]                      trans;
    VCosF16         {Vop1 0x4a v_cos_f16}           {Vop1 0x61 v_cos_f16}           [vdst:f16 <- src0:f16]                      trans;
    VFrexpMantF16   {Vop1 0x42 v_frexp_mant_f16}    {Vop1 0x59 v_frexp_mant_f16}    [vdst:f16 <- src0:f16];
    VFrexpExpI16F16 {Vop1 0x43 v_frexp_exp_i16_f16} {Vop1 0x5a v_frexp_exp_i16_f16} [vdst:i16 <- src0:f16];
    VAddF16         {Vop2 0x1f v_add_f16}           {Vop2 0x32 v_add_f16}           [vdst:f16 <- src0:f16, src1:f16];
    VSubF16         {Vop2 0x20 v_sub_f16}           {Vop2 0x33 v_sub_f16}           [vdst:f16 <- src0:f16, src1:f16];
    VSubrevF16      {Vop2 0x21 v_subrev_f16}        {Vop2 0x34 v_subrev_f16}        [vdst:f16 <- src0:f16, src1:f16];
    VMulF16         {Vop2 0x22 v_mul_f16}           {Vop2 0x35 v_mul_f16}           [vdst:f16 <- src0:f16, src1:f16];
    VMinF16         {Vop2 0x2e v_min_f16}           {Vop2 0x3a v_min_f16}           [vdst:f16 <- src0:f16, src1:f16];
    VMaxF16         {Vop2 0x2d v_max_f16}           {Vop2 0x39 v_max_f16}           [vdst:f16 <- src0:f16, src1:f16];
    VLdexpF16       {Vop2 0x33 v_ldexp_f16}         {Vop2 0x3b v_ldexp_f16}         [vdst:f16 <- src0:f16, src1:i16];
    VFmacF16        {}                              {Vop2 0x36 v_fmac_f16}          [vdst:f16 <- src0:f16, src1:f16]            reads_dst;
    VFmamkF16       {}                              {Vop2 0x37 v_fmamk_f16}         [vdst:f16 <- src0:f16, k:f16, src1:f16]     short_only;
    VFmaakF16       {}                              {Vop2 0x38 v_fmaak_f16}         [vdst:f16 <- src0:f16, src1:f16, k:f16]     short_only;
    VFmaF16         {Vop3 0x206 v_fma_f16}          {Vop3 0x248 v_fma_f16}          [vdst:f16 <- src0:f16, src1:f16, src2:f16];
    VDivFixupF16    {Vop3 0x207 v_div_fixup_f16}    {Vop3 0x254 v_div_fixup_f16}    [vdst:f16 <- src0:f16, src1:f16, src2:f16];
    VMin3F16        {Vop3 0x1f4 v_min3_f16}         {Vop3 0x249 v_min3_f16}         [vdst:f16 <- src0:f16, src1:f16, src2:f16];
    VMax3F16        {Vop3 0x1f7 v_max3_f16}         {Vop3 0x24c v_max3_f16}         [vdst:f16 <- src0:f16, src1:f16, src2:f16];
    VMed3F16        {Vop3 0x1fa v_med3_f16}         {Vop3 0x24f v_med3_f16}         [vdst:f16 <- src0:f16, src1:f16, src2:f16];
    VMaxminF16      {}                              {Vop3 0x260 v_maxmin_f16}       [vdst:f16 <- src0:f16, src1:f16, src2:f16];
    VMinmaxF16      {}                              {Vop3 0x261 v_minmax_f16}       [vdst:f16 <- src0:f16, src1:f16, src2:f16];
    VPackB32F16     {Vop3 0x2a0 v_pack_b32_f16}     {Vop3 0x311 v_pack_b32_f16}     [vdst:b32 <- src0:f16, src1:f16];

    // Integers and bits.
    VMovB16         {}                              {Vop1 0x1c v_mov_b16}           [vdst:b16 <- src0:b16];
    VNotB16         {}                              {Vop1 0x69 v_not_b16}           [vdst:b16 <- src0:b16];
    VSwapB16        {}                              {Vop1 0x66 v_swap_b16}          [vdst:b16, vsrc0:b16 <- ]                   reads_dst short_only;
    VCndmaskB16     {}                              {Vop3 0x25d v_cndmask_b16}      [vdst:b16 <- src0:f16, src1:f16, src2:mask] no_clamp;
    VAndB16         {}                              {Vop3 0x362 v_and_b16}          [vdst:b16 <- src0:b16, src1:b16];
    VOrB16          {}                              {Vop3 0x363 v_or_b16}           [vdst:b16 <- src0:b16, src1:b16];
    VXorB16         {}                              {Vop3 0x364 v_xor_b16}          [vdst:b16 <- src0:b16, src1:b16];
    VBitop3B16      {Vop3 0x233 v_bitop3_b16}       {}                              [vdst:b16 <- src0:b16, src1:b16, src2:b16]  truth_table;
    VLshlrevB16     {Vop2 0x2a v_lshlrev_b16}       {Vop3 0x338 v_lshlrev_b16}      [vdst:b16 <- src0:u16, src1:b16];
    VLshrrevB16     {Vop2 0x2b v_lshrrev_b16}       {Vop3 0x339 v_lshrrev_b16}      [vdst:b16 <- src0:u16, src1:b16];
    VAshrrevI16     {Vop2 0x2c v_ashrrev_i16}       {Vop3 0x33a v_ashrrev_i16}      [vdst:i16 <- src0:u16, src1:i16];
    VAddNcU16       {Vop2 0x26 v_add_u16}           {Vop3 0x303 v_add_nc_u16}       [vdst:u16 <- src0:u16, src1:u16]            clamps;
    VSubNcU16       {Vop2 0x27 v_sub_u16}           {Vop3 0x304 v_sub_nc_u16}       [vdst:u16 <- src0:u16, src1:u16]            clamps;
    VSubrevU16      {Vop2 0x28 v_subrev_u16}        {}                              [vdst:u16 <- src0:u16, src1:u16]            clamps;
    VAddNcI16       {Vop3 0x29e v_add_i16}          {Vop3 0x30d v_add_nc_i16}       [vdst:i16 <- src0:i16, src1:i16]            clamps;
    VSubNcI16       {Vop3 0x29f v_sub_i16}          {Vop3 0x30e v_sub_nc_i16}       [vdst:i16 <- src0:i16, src1:i16]            clamps;
    VMulLoU16       {Vop2 0x29 v_mul_lo_u16}        {Vop3 0x305 v_mul_lo_u16}       [vdst:u16 <- src0:u16, src1:u16];
    VMadU16         {Vop3 0x204 v_mad_u16}          {Vop3 0x241 v_mad_u16}          [vdst:u16 <- src0:u16, src1:u16, src2:u16]  clamps;
    VMadI16         {Vop3 0x205 v_mad_i16}          {Vop3 0x253 v_mad_i16}          [vdst:i16 <- src0:i16, src1:i16, src2:i16]  clamps;
    VMadLegacyU16   {Vop3 0x1eb v_mad_legacy_u16}   {}                              [vdst:u16 <- src0:u16, src1:u16, src2:u16]  clamps zeroes_high;
    VMadLegacyI16   {Vop3 0x1ec v_mad_legacy_i16}   {}                              [vdst:i16 <- src0:i16, src1:i16, src2:i16]  clamps zeroes_high;
    VMinI16         {Vop2 0x32 v_min_i16}           {Vop3 0x30c v_min_i16}          [vdst:i16 <- src0:i16, src1:i16];
    VMinU16         {Vop2 0x31 v_min_u16}           {Vop3 0x30b v_min_u16}          [vdst:u16 <- src0:u16, src1:u16];
    VMaxI16         {Vop2 0x30 v_max_i16}           {Vop3 0x30a v_max_i16}          [vdst:i16 <- src0:i16, src1:i16];
    VMaxU16         {Vop2 0x2f v_max_u16}           {Vop3 0x309 v_max_u16}          [vdst:u16 <- src0:u16, src1:u16];
    VMin3I16        {Vop3 0x1f5 v_min3_i16}         {Vop3 0x24a v_min3_i16}         [vdst:i16 <- src0:i16, src1:i16, src2:i16];
    VMin3U16        {Vop3 0x1f6 v_min3_u16}         {Vop3 0x24b v_min3_u16}         [vdst:u16 <- src0:u16, src1:u16, src2:u16];
    VMax3I16        {Vop3 0x1f8 v_max3_i16}         {Vop3 0x24d v_max3_i16}         [vdst:i16 <- src0:i16, src1:i16, src2:i16];
    VMax3U16        {Vop3 0x1f9 v_max3_u16}         {Vop3 0x24e v_max3_u16}         [vdst:u16 <- src0:u16, src1:u16, src2:u16];
    VMed3I16        {Vop3 0x1fb v_med3_i16}         {Vop3 0x250 v_med3_i16}         [vdst:i16 <- src0:i16, src1:i16, src2:i16];
    VMed3U16        {Vop3 0x1fc v_med3_u16}         {Vop3 0x251 v_med3_u16}         [vdst:u16 <- src0:u16, src1:u16, src2:u16];
}
