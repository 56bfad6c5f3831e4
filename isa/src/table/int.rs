//! Vector integer arithmetic, moves and bit operations in 32 and 64 bits.
//!
//! NEG and ABS apply to the sources of `v_cndmask_b32` as if they were binary32.

rows! {
    /// Vector integer arithmetic, moves and bit operations.
    enum Int;

    // Moves, selects, bits.
    VMovB32        {Vop1 0x01 v_mov_b32}        {Vop1 0x01 v_mov_b32}          [vdst:b32 <- src0:b32];
    VMovB64        {Vop1 0x38 v_mov_b64}        {}                             [vdst:b64 <- src0:b64];
    VCndmaskB32    {Vop2 0x00 v_cndmask_b32}    {Vop2 0x01 v_cndmask_b32}      [vdst:b32 <- src0:f32, src1:f32, src2:mask]            no_clamp;
    VNotB32        {Vop1 0x2b v_not_b32}        {Vop1 0x37 v_not_b32}          [vdst:b32 <- src0:b32];
    VBfrevB32      {Vop1 0x2c v_bfrev_b32}      {Vop1 0x38 v_bfrev_b32}        [vdst:b32 <- src0:b32];
    VClzI32U32     {Vop1 0x2d v_ffbh_u32}       {Vop1 0x39 v_clz_i32_u32}      [vdst:i32 <- src0:u32];
    VCtzI32B32     {Vop1 0x2e v_ffbl_b32}       {Vop1 0x3a v_ctz_i32_b32}      [vdst:i32 <- src0:b32];
    VClsI32        {Vop1 0x2f v_ffbh_i32}       {Vop1 0x3b v_cls_i32}          [vdst:i32 <- src0:i32];
    VAndB32        {Vop2 0x13 v_and_b32}        {Vop2 0x1b v_and_b32}          [vdst:b32 <- src0:b32, src1:b32];
    VOrB32         {Vop2 0x14 v_or_b32}         {Vop2 0x1c v_or_b32}           [vdst:b32 <- src0:b32, src1:b32];
    VXorB32        {Vop2 0x15 v_xor_b32}        {Vop2 0x1d v_xor_b32}          [vdst:b32 <- src0:b32, src1:b32];
    VXnorB32       {Vop2 0x3d v_xnor_b32}       {Vop2 0x1e v_xnor_b32}         [vdst:b32 <- src0:b32, src1:b32];
    VLshlrevB32    {Vop2 0x12 v_lshlrev_b32}    {Vop2 0x18 v_lshlrev_b32}      [vdst:b32 <- src0:u32, src1:b32];
    VLshrrevB32    {Vop2 0x10 v_lshrrev_b32}    {Vop2 0x19 v_lshrrev_b32}      [vdst:b32 <- src0:u32, src1:b32];
    VAshrrevI32    {Vop2 0x11 v_ashrrev_i32}    {Vop2 0x1a v_ashrrev_i32}      [vdst:i32 <- src0:u32, src1:i32];
    VLshlrevB64    {Vop3 0x28f v_lshlrev_b64}   {Vop3 0x33c v_lshlrev_b64}     [vdst:b64 <- src0:u32, src1:b64] one_scalar;
    VLshrrevB64    {Vop3 0x290 v_lshrrev_b64}   {Vop3 0x33d v_lshrrev_b64}     [vdst:b64 <- src0:u32, src1:b64] one_scalar;
    VAshrrevI64    {Vop3 0x291 v_ashrrev_i64}   {Vop3 0x33e v_ashrrev_i64}     [vdst:i64 <- src0:u32, src1:i64] one_scalar;
    VBfeU32        {Vop3 0x1c8 v_bfe_u32}       {Vop3 0x210 v_bfe_u32}         [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VBfeI32        {Vop3 0x1c9 v_bfe_i32}       {Vop3 0x211 v_bfe_i32}         [vdst:i32 <- src0:i32, src1:u32, src2:u32];
    VBfiB32        {Vop3 0x1ca v_bfi_b32}       {Vop3 0x212 v_bfi_b32}         [vdst:b32 <- src0:b32, src1:b32, src2:b32];
    VBfmB32        {Vop3 0x293 v_bfm_b32}       {Vop3 0x31d v_bfm_b32}         [vdst:b32 <- src0:u32, src1:u32];
    VBcntU32B32    {Vop3 0x28b v_bcnt_u32_b32}  {Vop3 0x31e v_bcnt_u32_b32}    [vdst:u32 <- src0:b32, src1:u32];
    VAlignbitB32   {Vop3 0x1ce v_alignbit_b32}  {Vop3 0x216 v_alignbit_b32}    [vdst:b32 <- src0:b32, src1:b32, src2:u16];
    VAlignbyteB32  {Vop3 0x1cf v_alignbyte_b32} {Vop3 0x217 v_alignbyte_b32}   [vdst:b32 <- src0:b32, src1:b32, src2:u16];
    VPermB32       {Vop3 0x1ed v_perm_b32}      {Vop3 0x244 v_perm_b32}        [vdst:b32 <- src0:b32, src1:b32, src2:b32];
    VAndOrB32      {Vop3 0x201 v_and_or_b32}    {Vop3 0x257 v_and_or_b32}      [vdst:b32 <- src0:b32, src1:b32, src2:b32];
    VOr3B32        {Vop3 0x202 v_or3_b32}       {Vop3 0x258 v_or3_b32}         [vdst:b32 <- src0:b32, src1:b32, src2:b32];
    VXor3B32       {}                           {Vop3 0x240 v_xor3_b32}        [vdst:b32 <- src0:b32, src1:b32, src2:b32];
    VBitop3B32     {Vop3 0x234 v_bitop3_b32}    {}                             [vdst:b32 <- src0:b32, src1:b32, src2:b32]             truth_table;

    // Add, subtract.
    VAddNcU32      {Vop2 0x34 v_add_u32}        {Vop2 0x25 v_add_nc_u32}       [vdst:u32 <- src0:u32, src1:u32]                       clamps;
    VSubNcU32      {Vop2 0x35 v_sub_u32}        {Vop2 0x26 v_sub_nc_u32}       [vdst:u32 <- src0:u32, src1:u32]                       clamps;
    VSubrevNcU32   {Vop2 0x36 v_subrev_u32}     {Vop2 0x27 v_subrev_nc_u32}    [vdst:u32 <- src0:u32, src1:u32]                       clamps;
    VAddNcI32      {Vop3 0x29c v_add_i32}       {Vop3 0x326 v_add_nc_i32}      [vdst:i32 <- src0:i32, src1:i32]                       clamps;
    VSubNcI32      {Vop3 0x29d v_sub_i32}       {Vop3 0x325 v_sub_nc_i32}      [vdst:i32 <- src0:i32, src1:i32]                       clamps;
    VAddCoU32      {Vop2 0x19 v_add_co_u32}     {Vop3Sd 0x300 v_add_co_u32}    [vdst:u32, sdst:mask <- src0:u32, src1:u32]            clamps;
    VSubCoU32      {Vop2 0x1a v_sub_co_u32}     {Vop3Sd 0x301 v_sub_co_u32}    [vdst:u32, sdst:mask <- src0:u32, src1:u32]            clamps;
    VSubrevCoU32   {Vop2 0x1b v_subrev_co_u32}  {Vop3Sd 0x302 v_subrev_co_u32} [vdst:u32, sdst:mask <- src0:u32, src1:u32]            clamps;
    VAddCoCiU32    {Vop2 0x1c v_addc_co_u32}    {Vop2 0x20 v_add_co_ci_u32}    [vdst:u32, sdst:mask <- src0:u32, src1:u32, src2:mask] clamps;
    VSubCoCiU32    {Vop2 0x1d v_subb_co_u32}    {Vop2 0x21 v_sub_co_ci_u32}    [vdst:u32, sdst:mask <- src0:u32, src1:u32, src2:mask] clamps;
    VSubrevCoCiU32 {Vop2 0x1e v_subbrev_co_u32} {Vop2 0x22 v_subrev_co_ci_u32} [vdst:u32, sdst:mask <- src0:u32, src1:u32, src2:mask] clamps;
    VAdd3U32       {Vop3 0x1ff v_add3_u32}      {Vop3 0x255 v_add3_u32}        [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VLshlAddU32    {Vop3 0x1fd v_lshl_add_u32}  {Vop3 0x246 v_lshl_add_u32}    [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VAddLshlU32    {Vop3 0x1fe v_add_lshl_u32}  {Vop3 0x247 v_add_lshl_u32}    [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VLshlOrB32     {Vop3 0x200 v_lshl_or_b32}   {Vop3 0x256 v_lshl_or_b32}     [vdst:b32 <- src0:b32, src1:u32, src2:b32];
    VXadU32        {Vop3 0x1f3 v_xad_u32}       {Vop3 0x245 v_xad_u32}         [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VLshlAddU64    {Vop3 0x208 v_lshl_add_u64}  {}                             [vdst:u64 <- src0:u64, src1:u32, src2:u64];

    // Multiply.
    VMulLoU32      {Vop3 0x285 v_mul_lo_u32}    {Vop3 0x32c v_mul_lo_u32}      [vdst:u32 <- src0:u32, src1:u32]                       no_dpp;
    VMulHiU32      {Vop3 0x286 v_mul_hi_u32}    {Vop3 0x32d v_mul_hi_u32}      [vdst:u32 <- src0:u32, src1:u32]                       no_dpp;
    VMulHiI32      {Vop3 0x287 v_mul_hi_i32}    {Vop3 0x32e v_mul_hi_i32}      [vdst:i32 <- src0:i32, src1:i32]                       no_dpp;
    VMulI32I24     {Vop2 0x06 v_mul_i32_i24}    {Vop2 0x09 v_mul_i32_i24}      [vdst:i32 <- src0:i32, src1:i32]                       clamps;
    VMulHiI32I24   {Vop2 0x07 v_mul_hi_i32_i24} {Vop2 0x0a v_mul_hi_i32_i24}   [vdst:i32 <- src0:i32, src1:i32];
    VMulU32U24     {Vop2 0x08 v_mul_u32_u24}    {Vop2 0x0b v_mul_u32_u24}      [vdst:u32 <- src0:u32, src1:u32]                       clamps;
    VMulHiU32U24   {Vop2 0x09 v_mul_hi_u32_u24} {Vop2 0x0c v_mul_hi_u32_u24}   [vdst:u32 <- src0:u32, src1:u32];
    VMadI32I24     {Vop3 0x1c2 v_mad_i32_i24}   {Vop3 0x20a v_mad_i32_i24}     [vdst:i32 <- src0:i32, src1:i32, src2:i32]             clamps;
    VMadU32U24     {Vop3 0x1c3 v_mad_u32_u24}   {Vop3 0x20b v_mad_u32_u24}     [vdst:u32 <- src0:u32, src1:u32, src2:u32]             clamps;
    VMadU32U16     {Vop3 0x1f1 v_mad_u32_u16}   {Vop3 0x259 v_mad_u32_u16}     [vdst:u32 <- src0:u16, src1:u16, src2:u32]             clamps;
    VMadI32I16     {Vop3 0x1f2 v_mad_i32_i16}   {Vop3 0x25a v_mad_i32_i16}     [vdst:i32 <- src0:i16, src1:i16, src2:i32]             clamps;
    VMadU64U32     {Vop3Sd 0x1e8 v_mad_u64_u32} {Vop3Sd 0x2fe v_mad_u64_u32}   [vdst:u64, sdst:mask <- src0:u32, src1:u32, src2:u64]  clamps;
    VMadI64I32     {Vop3Sd 0x1e9 v_mad_i64_i32} {Vop3Sd 0x2ff v_mad_i64_i32}   [vdst:i64, sdst:mask <- src0:i32, src1:i32, src2:i64]  clamps;

    // Minimum, maximum, difference.
    VMinI32        {Vop2 0x0c v_min_i32}        {Vop2 0x11 v_min_i32}          [vdst:i32 <- src0:i32, src1:i32];
    VMinU32        {Vop2 0x0e v_min_u32}        {Vop2 0x13 v_min_u32}          [vdst:u32 <- src0:u32, src1:u32];
    VMaxI32        {Vop2 0x0d v_max_i32}        {Vop2 0x12 v_max_i32}          [vdst:i32 <- src0:i32, src1:i32];
    VMaxU32        {Vop2 0x0f v_max_u32}        {Vop2 0x14 v_max_u32}          [vdst:u32 <- src0:u32, src1:u32];
    VMin3I32       {Vop3 0x1d1 v_min3_i32}      {Vop3 0x21a v_min3_i32}        [vdst:i32 <- src0:i32, src1:i32, src2:i32];
    VMin3U32       {Vop3 0x1d2 v_min3_u32}      {Vop3 0x21b v_min3_u32}        [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VMax3I32       {Vop3 0x1d4 v_max3_i32}      {Vop3 0x21d v_max3_i32}        [vdst:i32 <- src0:i32, src1:i32, src2:i32];
    VMax3U32       {Vop3 0x1d5 v_max3_u32}      {Vop3 0x21e v_max3_u32}        [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VMed3I32       {Vop3 0x1d7 v_med3_i32}      {Vop3 0x220 v_med3_i32}        [vdst:i32 <- src0:i32, src1:i32, src2:i32];
    VMed3U32       {Vop3 0x1d8 v_med3_u32}      {Vop3 0x221 v_med3_u32}        [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VMaxminI32     {}                           {Vop3 0x264 v_maxmin_i32}      [vdst:i32 <- src0:i32, src1:i32, src2:i32];
    VMinmaxI32     {}                           {Vop3 0x265 v_minmax_i32}      [vdst:i32 <- src0:i32, src1:i32, src2:i32];
    VMaxminU32     {}                           {Vop3 0x262 v_maxmin_u32}      [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VMinmaxU32     {}                           {Vop3 0x263 v_minmax_u32}      [vdst:u32 <- src0:u32, src1:u32, src2:u32];
    VSadU32        {Vop3 0x1dc v_sad_u32}       {Vop3 0x225 v_sad_u32}         [vdst:u32 <- src0:u32, src1:u32, src2:u32]             clamps;
    VSadU8         {Vop3 0x1d9 v_sad_u8}            {Vop3 0x222 v_sad_u8}            [vdst:u32 <- src0:b32, src1:b32, src2:u32] clamps;
    VSadHiU8       {Vop3 0x1da v_sad_hi_u8}         {Vop3 0x223 v_sad_hi_u8}         [vdst:u32 <- src0:b32, src1:b32, src2:u32] clamps;
    VSadU16        {Vop3 0x1db v_sad_u16}           {Vop3 0x224 v_sad_u16}           [vdst:u32 <- src0:b32, src1:b32, src2:u32] clamps;
    VMsadU8        {Vop3 0x1e4 v_msad_u8}           {Vop3 0x239 v_msad_u8}           [vdst:u32 <- src0:b32, src1:b32, src2:u32] clamps;
    VLerpU8        {Vop3 0x1cd v_lerp_u8}           {Vop3 0x215 v_lerp_u8}           [vdst:u32 <- src0:b32, src1:b32, src2:b32];
    VAshrPkI8I32   {Vop3 0x265 v_ashr_pk_i8_i32}    {}                               [vdst:b16 <- src0:i32, src1:i32, src2:u32];
    VAshrPkU8I32   {Vop3 0x266 v_ashr_pk_u8_i32}    {}                               [vdst:b16 <- src0:i32, src1:i32, src2:u32];
}
