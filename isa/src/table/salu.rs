//! Scalar arithmetic: SOP1, SOP2, SOPC, SOPK.
//!
//! Counts of leading and trailing bits are named as on gfx1100: `clz` and `cls` are `flbit` on gfx950, `ctz`
//! is `ff1` there. They return −1 when no bit is found.

rows! {
    /// Scalar arithmetic.
    enum Salu;

    // Moves and selects.
    SMovB32             {Sop1 0x00 s_mov_b32}              {Sop1 0x00 s_mov_b32}               [sdst:b32 <- ssrc0:b32];
    SMovB64             {Sop1 0x01 s_mov_b64}              {Sop1 0x01 s_mov_b64}               [sdst:b64 <- ssrc0:b64];
    SCmovB32            {Sop1 0x02 s_cmov_b32}             {Sop1 0x02 s_cmov_b32}              [sdst:b32 <- ssrc0:b32]            reads_dst reads_scc;
    SCmovB64            {Sop1 0x03 s_cmov_b64}             {Sop1 0x03 s_cmov_b64}              [sdst:b64 <- ssrc0:b64]            reads_dst reads_scc;
    SMovkI32            {Sopk 0x00 s_movk_i32}             {Sopk 0x00 s_movk_i32}              [sdst:b32 <- simm16:i16];
    SCmovkI32           {Sopk 0x01 s_cmovk_i32}            {Sopk 0x02 s_cmovk_i32}             [sdst:b32 <- simm16:i16]           reads_dst reads_scc;
    SMovrelsB32         {Sop1 0x2a s_movrels_b32}          {Sop1 0x40 s_movrels_b32}           [sdst:b32 <- ssrc0:b32]            reads_m0 relative_source;
    SMovrelsB64         {Sop1 0x2b s_movrels_b64}          {Sop1 0x41 s_movrels_b64}           [sdst:b64 <- ssrc0:b64]            reads_m0 relative_source;
    SMovreldB32         {Sop1 0x2c s_movreld_b32}          {Sop1 0x42 s_movreld_b32}           [sdst:b32 <- ssrc0:b32]            reads_m0 relative_result;
    SMovreldB64         {Sop1 0x2d s_movreld_b64}          {Sop1 0x43 s_movreld_b64}           [sdst:b64 <- ssrc0:b64]            reads_m0 relative_result;
    SMovrelsd2B32       {}                                 {Sop1 0x44 s_movrelsd_2_b32}        [sdst:b32 <- ssrc0:b32]            reads_m0 relative_source relative_result;
    SCselectB32         {Sop2 0x0a s_cselect_b32}          {Sop2 0x30 s_cselect_b32}           [sdst:b32 <- ssrc0:b32, ssrc1:b32] reads_scc;
    SCselectB64         {Sop2 0x0b s_cselect_b64}          {Sop2 0x31 s_cselect_b64}           [sdst:b64 <- ssrc0:b64, ssrc1:b64] reads_scc;

    // Add, subtract, multiply.
    SAddU32             {Sop2 0x00 s_add_u32}              {Sop2 0x00 s_add_u32}               [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;
    SSubU32             {Sop2 0x01 s_sub_u32}              {Sop2 0x01 s_sub_u32}               [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;
    SAddI32             {Sop2 0x02 s_add_i32}              {Sop2 0x02 s_add_i32}               [sdst:i32 <- ssrc0:i32, ssrc1:i32] writes_scc;
    SSubI32             {Sop2 0x03 s_sub_i32}              {Sop2 0x03 s_sub_i32}               [sdst:i32 <- ssrc0:i32, ssrc1:i32] writes_scc;
    SAddcU32            {Sop2 0x04 s_addc_u32}             {Sop2 0x04 s_addc_u32}              [sdst:u32 <- ssrc0:u32, ssrc1:u32] reads_scc writes_scc;
    SSubbU32            {Sop2 0x05 s_subb_u32}             {Sop2 0x05 s_subb_u32}              [sdst:u32 <- ssrc0:u32, ssrc1:u32] reads_scc writes_scc;
    SAddkI32            {Sopk 0x0e s_addk_i32}             {Sopk 0x0f s_addk_i32}              [sdst:i32 <- simm16:i16]           reads_dst writes_scc;
    SMulkI32            {Sopk 0x0f s_mulk_i32}             {Sopk 0x10 s_mulk_i32}              [sdst:i32 <- simm16:i16]           reads_dst;
    SMulI32             {Sop2 0x24 s_mul_i32}              {Sop2 0x2c s_mul_i32}               [sdst:i32 <- ssrc0:i32, ssrc1:i32];
    SMulHiU32           {Sop2 0x2c s_mul_hi_u32}           {Sop2 0x2d s_mul_hi_u32}            [sdst:u32 <- ssrc0:u32, ssrc1:u32];
    SMulHiI32           {Sop2 0x2d s_mul_hi_i32}           {Sop2 0x2e s_mul_hi_i32}            [sdst:i32 <- ssrc0:i32, ssrc1:i32];
    SAbsdiffI32         {Sop2 0x2a s_absdiff_i32}          {Sop2 0x06 s_absdiff_i32}           [sdst:i32 <- ssrc0:i32, ssrc1:i32] writes_scc;
    SAbsI32             {Sop1 0x30 s_abs_i32}              {Sop1 0x15 s_abs_i32}               [sdst:i32 <- ssrc0:i32]            writes_scc;
    SLshl1AddU32        {Sop2 0x2e s_lshl1_add_u32}        {Sop2 0x0e s_lshl1_add_u32}         [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;
    SLshl2AddU32        {Sop2 0x2f s_lshl2_add_u32}        {Sop2 0x0f s_lshl2_add_u32}         [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;
    SLshl3AddU32        {Sop2 0x30 s_lshl3_add_u32}        {Sop2 0x10 s_lshl3_add_u32}         [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;
    SLshl4AddU32        {Sop2 0x31 s_lshl4_add_u32}        {Sop2 0x11 s_lshl4_add_u32}         [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;
    SMinI32             {Sop2 0x06 s_min_i32}              {Sop2 0x12 s_min_i32}               [sdst:i32 <- ssrc0:i32, ssrc1:i32] writes_scc;
    SMinU32             {Sop2 0x07 s_min_u32}              {Sop2 0x13 s_min_u32}               [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;
    SMaxI32             {Sop2 0x08 s_max_i32}              {Sop2 0x14 s_max_i32}               [sdst:i32 <- ssrc0:i32, ssrc1:i32] writes_scc;
    SMaxU32             {Sop2 0x09 s_max_u32}              {Sop2 0x15 s_max_u32}               [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;

    // Bits.
    SAndB32             {Sop2 0x0c s_and_b32}              {Sop2 0x16 s_and_b32}               [sdst:b32 <- ssrc0:b32, ssrc1:b32] writes_scc;
    SAndB64             {Sop2 0x0d s_and_b64}              {Sop2 0x17 s_and_b64}               [sdst:b64 <- ssrc0:b64, ssrc1:b64] writes_scc;
    SOrB32              {Sop2 0x0e s_or_b32}               {Sop2 0x18 s_or_b32}                [sdst:b32 <- ssrc0:b32, ssrc1:b32] writes_scc;
    SOrB64              {Sop2 0x0f s_or_b64}               {Sop2 0x19 s_or_b64}                [sdst:b64 <- ssrc0:b64, ssrc1:b64] writes_scc;
    SXorB32             {Sop2 0x10 s_xor_b32}              {Sop2 0x1a s_xor_b32}               [sdst:b32 <- ssrc0:b32, ssrc1:b32] writes_scc;
    SXorB64             {Sop2 0x11 s_xor_b64}              {Sop2 0x1b s_xor_b64}               [sdst:b64 <- ssrc0:b64, ssrc1:b64] writes_scc;
    SNandB32            {Sop2 0x16 s_nand_b32}             {Sop2 0x1c s_nand_b32}              [sdst:b32 <- ssrc0:b32, ssrc1:b32] writes_scc;
    SNandB64            {Sop2 0x17 s_nand_b64}             {Sop2 0x1d s_nand_b64}              [sdst:b64 <- ssrc0:b64, ssrc1:b64] writes_scc;
    SNorB32             {Sop2 0x18 s_nor_b32}              {Sop2 0x1e s_nor_b32}               [sdst:b32 <- ssrc0:b32, ssrc1:b32] writes_scc;
    SNorB64             {Sop2 0x19 s_nor_b64}              {Sop2 0x1f s_nor_b64}               [sdst:b64 <- ssrc0:b64, ssrc1:b64] writes_scc;
    SXnorB32            {Sop2 0x1a s_xnor_b32}             {Sop2 0x20 s_xnor_b32}              [sdst:b32 <- ssrc0:b32, ssrc1:b32] writes_scc;
    SXnorB64            {Sop2 0x1b s_xnor_b64}             {Sop2 0x21 s_xnor_b64}              [sdst:b64 <- ssrc0:b64, ssrc1:b64] writes_scc;
    SAndNot1B32         {Sop2 0x12 s_andn2_b32}            {Sop2 0x22 s_and_not1_b32}          [sdst:b32 <- ssrc0:b32, ssrc1:b32] writes_scc;
    SAndNot1B64         {Sop2 0x13 s_andn2_b64}            {Sop2 0x23 s_and_not1_b64}          [sdst:b64 <- ssrc0:b64, ssrc1:b64] writes_scc;
    SOrNot1B32          {Sop2 0x14 s_orn2_b32}             {Sop2 0x24 s_or_not1_b32}           [sdst:b32 <- ssrc0:b32, ssrc1:b32] writes_scc;
    SOrNot1B64          {Sop2 0x15 s_orn2_b64}             {Sop2 0x25 s_or_not1_b64}           [sdst:b64 <- ssrc0:b64, ssrc1:b64] writes_scc;
    SNotB32             {Sop1 0x04 s_not_b32}              {Sop1 0x1e s_not_b32}               [sdst:b32 <- ssrc0:b32]            writes_scc;
    SNotB64             {Sop1 0x05 s_not_b64}              {Sop1 0x1f s_not_b64}               [sdst:b64 <- ssrc0:b64]            writes_scc;
    SLshlB32            {Sop2 0x1c s_lshl_b32}             {Sop2 0x08 s_lshl_b32}              [sdst:b32 <- ssrc0:b32, ssrc1:u32] writes_scc;
    SLshlB64            {Sop2 0x1d s_lshl_b64}             {Sop2 0x09 s_lshl_b64}              [sdst:b64 <- ssrc0:b64, ssrc1:u32] writes_scc;
    SLshrB32            {Sop2 0x1e s_lshr_b32}             {Sop2 0x0a s_lshr_b32}              [sdst:b32 <- ssrc0:b32, ssrc1:u32] writes_scc;
    SLshrB64            {Sop2 0x1f s_lshr_b64}             {Sop2 0x0b s_lshr_b64}              [sdst:b64 <- ssrc0:b64, ssrc1:u32] writes_scc;
    SAshrI32            {Sop2 0x20 s_ashr_i32}             {Sop2 0x0c s_ashr_i32}              [sdst:i32 <- ssrc0:i32, ssrc1:u32] writes_scc;
    SAshrI64            {Sop2 0x21 s_ashr_i64}             {Sop2 0x0d s_ashr_i64}              [sdst:i64 <- ssrc0:i64, ssrc1:u32] writes_scc;
    SBfeU32             {Sop2 0x25 s_bfe_u32}              {Sop2 0x26 s_bfe_u32}               [sdst:u32 <- ssrc0:u32, ssrc1:u32] writes_scc;
    SBfeI32             {Sop2 0x26 s_bfe_i32}              {Sop2 0x27 s_bfe_i32}               [sdst:i32 <- ssrc0:i32, ssrc1:u32] writes_scc;
    SBfeU64             {Sop2 0x27 s_bfe_u64}              {Sop2 0x28 s_bfe_u64}               [sdst:u64 <- ssrc0:u64, ssrc1:u32] writes_scc;
    SBfeI64             {Sop2 0x28 s_bfe_i64}              {Sop2 0x29 s_bfe_i64}               [sdst:i64 <- ssrc0:i64, ssrc1:u32] writes_scc;
    SBfmB32             {Sop2 0x22 s_bfm_b32}              {Sop2 0x2a s_bfm_b32}               [sdst:b32 <- ssrc0:u32, ssrc1:u32];
    SBfmB64             {Sop2 0x23 s_bfm_b64}              {Sop2 0x2b s_bfm_b64}               [sdst:b64 <- ssrc0:u32, ssrc1:u32];
    SBrevB32            {Sop1 0x08 s_brev_b32}             {Sop1 0x04 s_brev_b32}              [sdst:b32 <- ssrc0:b32];
    SBrevB64            {Sop1 0x09 s_brev_b64}             {Sop1 0x05 s_brev_b64}              [sdst:b64 <- ssrc0:b64];
    SBitset0B32         {Sop1 0x18 s_bitset0_b32}          {Sop1 0x10 s_bitset0_b32}           [sdst:b32 <- ssrc0:u32]            reads_dst;
    SBitset0B64         {Sop1 0x19 s_bitset0_b64}          {Sop1 0x11 s_bitset0_b64}           [sdst:b64 <- ssrc0:u32]            reads_dst;
    SBitset1B32         {Sop1 0x1a s_bitset1_b32}          {Sop1 0x12 s_bitset1_b32}           [sdst:b32 <- ssrc0:u32]            reads_dst;
    SBitset1B64         {Sop1 0x1b s_bitset1_b64}          {Sop1 0x13 s_bitset1_b64}           [sdst:b64 <- ssrc0:u32]            reads_dst;
    SBitreplicateB64B32 {Sop1 0x37 s_bitreplicate_b64_b32} {Sop1 0x14 s_bitreplicate_b64_b32}  [sdst:b64 <- ssrc0:b32];
    SWqmB32             {Sop1 0x06 s_wqm_b32}              {Sop1 0x1c s_wqm_b32}               [sdst:b32 <- ssrc0:b32]            writes_scc;
    SWqmB64             {Sop1 0x07 s_wqm_b64}              {Sop1 0x1d s_wqm_b64}               [sdst:b64 <- ssrc0:b64]            writes_scc;
    SQuadmaskB32        {Sop1 0x28 s_quadmask_b32}         {Sop1 0x1a s_quadmask_b32}          [sdst:b32 <- ssrc0:b32]            writes_scc;
    SQuadmaskB64        {Sop1 0x29 s_quadmask_b64}         {Sop1 0x1b s_quadmask_b64}          [sdst:b64 <- ssrc0:b64]            writes_scc;
    SBcnt0I32B32        {Sop1 0x0a s_bcnt0_i32_b32}        {Sop1 0x16 s_bcnt0_i32_b32}         [sdst:i32 <- ssrc0:b32]            writes_scc;
    SBcnt0I32B64        {Sop1 0x0b s_bcnt0_i32_b64}        {Sop1 0x17 s_bcnt0_i32_b64}         [sdst:i32 <- ssrc0:b64]            writes_scc;
    SBcnt1I32B32        {Sop1 0x0c s_bcnt1_i32_b32}        {Sop1 0x18 s_bcnt1_i32_b32}         [sdst:i32 <- ssrc0:b32]            writes_scc;
    SBcnt1I32B64        {Sop1 0x0d s_bcnt1_i32_b64}        {Sop1 0x19 s_bcnt1_i32_b64}         [sdst:i32 <- ssrc0:b64]            writes_scc;
    SCtzI32B32          {Sop1 0x10 s_ff1_i32_b32}          {Sop1 0x08 s_ctz_i32_b32}           [sdst:i32 <- ssrc0:b32];
    SCtzI32B64          {Sop1 0x11 s_ff1_i32_b64}          {Sop1 0x09 s_ctz_i32_b64}           [sdst:i32 <- ssrc0:b64];
    SClzI32U32          {Sop1 0x12 s_flbit_i32_b32}        {Sop1 0x0a s_clz_i32_u32}           [sdst:i32 <- ssrc0:u32];
    SClzI32U64          {Sop1 0x13 s_flbit_i32_b64}        {Sop1 0x0b s_clz_i32_u64}           [sdst:i32 <- ssrc0:u64];
    SClsI32             {Sop1 0x14 s_flbit_i32}            {Sop1 0x0c s_cls_i32}               [sdst:i32 <- ssrc0:i32];
    SClsI32I64          {Sop1 0x15 s_flbit_i32_i64}        {Sop1 0x0d s_cls_i32_i64}           [sdst:i32 <- ssrc0:i64];
    SSextI32I8          {Sop1 0x16 s_sext_i32_i8}          {Sop1 0x0e s_sext_i32_i8}           [sdst:i32 <- ssrc0:i8];
    SSextI32I16         {Sop1 0x17 s_sext_i32_i16}         {Sop1 0x0f s_sext_i32_i16}          [sdst:i32 <- ssrc0:i16];
    SPackLlB32B16       {Sop2 0x32 s_pack_ll_b32_b16}      {Sop2 0x32 s_pack_ll_b32_b16}       [sdst:b32 <- ssrc0:b16, ssrc1:b16];
    SPackLhB32B16       {Sop2 0x33 s_pack_lh_b32_b16}      {Sop2 0x33 s_pack_lh_b32_b16}       [sdst:b32 <- ssrc0:b16, ssrc1:b32];
    SPackHhB32B16       {Sop2 0x34 s_pack_hh_b32_b16}      {Sop2 0x34 s_pack_hh_b32_b16}       [sdst:b32 <- ssrc0:b32, ssrc1:b32];
    SPackHlB32B16       {}                                 {Sop2 0x35 s_pack_hl_b32_b16}       [sdst:b32 <- ssrc0:b32, ssrc1:b16];

    // EXEC: `sdst = EXEC; EXEC = ssrc0 op EXEC`, and `EXEC = sdst = …` for wrexec.
    SAndSaveexecB32     {}                                 {Sop1 0x20 s_and_saveexec_b32}      [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SAndSaveexecB64     {Sop1 0x20 s_and_saveexec_b64}     {Sop1 0x21 s_and_saveexec_b64}      [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SOrSaveexecB32      {}                                 {Sop1 0x22 s_or_saveexec_b32}       [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SOrSaveexecB64      {Sop1 0x21 s_or_saveexec_b64}      {Sop1 0x23 s_or_saveexec_b64}       [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SXorSaveexecB32     {}                                 {Sop1 0x24 s_xor_saveexec_b32}      [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SXorSaveexecB64     {Sop1 0x22 s_xor_saveexec_b64}     {Sop1 0x25 s_xor_saveexec_b64}      [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SNandSaveexecB32    {}                                 {Sop1 0x26 s_nand_saveexec_b32}     [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SNandSaveexecB64    {Sop1 0x25 s_nand_saveexec_b64}    {Sop1 0x27 s_nand_saveexec_b64}     [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SNorSaveexecB32     {}                                 {Sop1 0x28 s_nor_saveexec_b32}      [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SNorSaveexecB64     {Sop1 0x26 s_nor_saveexec_b64}     {Sop1 0x29 s_nor_saveexec_b64}      [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SXnorSaveexecB32    {}                                 {Sop1 0x2a s_xnor_saveexec_b32}     [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SXnorSaveexecB64    {Sop1 0x27 s_xnor_saveexec_b64}    {Sop1 0x2b s_xnor_saveexec_b64}     [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SAndNot1SaveexecB32 {}                                 {Sop1 0x30 s_and_not1_saveexec_b32} [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SAndNot1SaveexecB64 {Sop1 0x23 s_andn2_saveexec_b64}   {Sop1 0x31 s_and_not1_saveexec_b64} [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SOrNot1SaveexecB32  {}                                 {Sop1 0x32 s_or_not1_saveexec_b32}  [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SOrNot1SaveexecB64  {Sop1 0x24 s_orn2_saveexec_b64}    {Sop1 0x33 s_or_not1_saveexec_b64}  [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SAndNot0SaveexecB32 {}                                 {Sop1 0x2c s_and_not0_saveexec_b32} [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SAndNot0SaveexecB64 {Sop1 0x33 s_andn1_saveexec_b64}   {Sop1 0x2d s_and_not0_saveexec_b64} [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SOrNot0SaveexecB32  {}                                 {Sop1 0x2e s_or_not0_saveexec_b32}  [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SOrNot0SaveexecB64  {Sop1 0x34 s_orn1_saveexec_b64}    {Sop1 0x2f s_or_not0_saveexec_b64}  [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SAndNot0WrexecB32   {}                                 {Sop1 0x34 s_and_not0_wrexec_b32}   [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SAndNot0WrexecB64   {Sop1 0x35 s_andn1_wrexec_b64}     {Sop1 0x35 s_and_not0_wrexec_b64}   [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;
    SAndNot1WrexecB32   {}                                 {Sop1 0x36 s_and_not1_wrexec_b32}   [sdst:b32 <- ssrc0:b32]            reads_exec writes_exec writes_scc;
    SAndNot1WrexecB64   {Sop1 0x36 s_andn2_wrexec_b64}     {Sop1 0x37 s_and_not1_wrexec_b64}   [sdst:b64 <- ssrc0:b64]            reads_exec writes_exec writes_scc;

    // Compares to SCC.
    SCmpEqI32           {Sopc 0x00 s_cmp_eq_i32}           {Sopc 0x00 s_cmp_eq_i32}            [<- ssrc0:i32, ssrc1:i32]          writes_scc;
    SCmpLgI32           {Sopc 0x01 s_cmp_lg_i32}           {Sopc 0x01 s_cmp_lg_i32}            [<- ssrc0:i32, ssrc1:i32]          writes_scc;
    SCmpGtI32           {Sopc 0x02 s_cmp_gt_i32}           {Sopc 0x02 s_cmp_gt_i32}            [<- ssrc0:i32, ssrc1:i32]          writes_scc;
    SCmpGeI32           {Sopc 0x03 s_cmp_ge_i32}           {Sopc 0x03 s_cmp_ge_i32}            [<- ssrc0:i32, ssrc1:i32]          writes_scc;
    SCmpLtI32           {Sopc 0x04 s_cmp_lt_i32}           {Sopc 0x04 s_cmp_lt_i32}            [<- ssrc0:i32, ssrc1:i32]          writes_scc;
    SCmpLeI32           {Sopc 0x05 s_cmp_le_i32}           {Sopc 0x05 s_cmp_le_i32}            [<- ssrc0:i32, ssrc1:i32]          writes_scc;
    SCmpEqU32           {Sopc 0x06 s_cmp_eq_u32}           {Sopc 0x06 s_cmp_eq_u32}            [<- ssrc0:u32, ssrc1:u32]          writes_scc;
    SCmpLgU32           {Sopc 0x07 s_cmp_lg_u32}           {Sopc 0x07 s_cmp_lg_u32}            [<- ssrc0:u32, ssrc1:u32]          writes_scc;
    SCmpGtU32           {Sopc 0x08 s_cmp_gt_u32}           {Sopc 0x08 s_cmp_gt_u32}            [<- ssrc0:u32, ssrc1:u32]          writes_scc;
    SCmpGeU32           {Sopc 0x09 s_cmp_ge_u32}           {Sopc 0x09 s_cmp_ge_u32}            [<- ssrc0:u32, ssrc1:u32]          writes_scc;
    SCmpLtU32           {Sopc 0x0a s_cmp_lt_u32}           {Sopc 0x0a s_cmp_lt_u32}            [<- ssrc0:u32, ssrc1:u32]          writes_scc;
    SCmpLeU32           {Sopc 0x0b s_cmp_le_u32}           {Sopc 0x0b s_cmp_le_u32}            [<- ssrc0:u32, ssrc1:u32]          writes_scc;
    SCmpEqU64           {Sopc 0x12 s_cmp_eq_u64}           {Sopc 0x10 s_cmp_eq_u64}            [<- ssrc0:u64, ssrc1:u64]          writes_scc;
    SCmpLgU64           {Sopc 0x13 s_cmp_lg_u64}           {Sopc 0x11 s_cmp_lg_u64}            [<- ssrc0:u64, ssrc1:u64]          writes_scc;
    SBitcmp0B32         {Sopc 0x0c s_bitcmp0_b32}          {Sopc 0x0c s_bitcmp0_b32}           [<- ssrc0:b32, ssrc1:u32]          writes_scc;
    SBitcmp0B64         {Sopc 0x0e s_bitcmp0_b64}          {Sopc 0x0e s_bitcmp0_b64}           [<- ssrc0:b64, ssrc1:u32]          writes_scc;
    SBitcmp1B32         {Sopc 0x0d s_bitcmp1_b32}          {Sopc 0x0d s_bitcmp1_b32}           [<- ssrc0:b32, ssrc1:u32]          writes_scc;
    SBitcmp1B64         {Sopc 0x0f s_bitcmp1_b64}          {Sopc 0x0f s_bitcmp1_b64}           [<- ssrc0:b64, ssrc1:u32]          writes_scc;
    SCmpkEqI32          {Sopk 0x02 s_cmpk_eq_i32}          {Sopk 0x03 s_cmpk_eq_i32}           [<- sdst:i32, simm16:i16]          writes_scc;
    SCmpkLgI32          {Sopk 0x03 s_cmpk_lg_i32}          {Sopk 0x04 s_cmpk_lg_i32}           [<- sdst:i32, simm16:i16]          writes_scc;
    SCmpkGtI32          {Sopk 0x04 s_cmpk_gt_i32}          {Sopk 0x05 s_cmpk_gt_i32}           [<- sdst:i32, simm16:i16]          writes_scc;
    SCmpkGeI32          {Sopk 0x05 s_cmpk_ge_i32}          {Sopk 0x06 s_cmpk_ge_i32}           [<- sdst:i32, simm16:i16]          writes_scc;
    SCmpkLtI32          {Sopk 0x06 s_cmpk_lt_i32}          {Sopk 0x07 s_cmpk_lt_i32}           [<- sdst:i32, simm16:i16]          writes_scc;
    SCmpkLeI32          {Sopk 0x07 s_cmpk_le_i32}          {Sopk 0x08 s_cmpk_le_i32}           [<- sdst:i32, simm16:i16]          writes_scc;
    SCmpkEqU32          {Sopk 0x08 s_cmpk_eq_u32}          {Sopk 0x09 s_cmpk_eq_u32}           [<- sdst:u32, simm16:u16]          writes_scc;
    SCmpkLgU32          {Sopk 0x09 s_cmpk_lg_u32}          {Sopk 0x0a s_cmpk_lg_u32}           [<- sdst:u32, simm16:u16]          writes_scc;
    SCmpkGtU32          {Sopk 0x0a s_cmpk_gt_u32}          {Sopk 0x0b s_cmpk_gt_u32}           [<- sdst:u32, simm16:u16]          writes_scc;
    SCmpkGeU32          {Sopk 0x0b s_cmpk_ge_u32}          {Sopk 0x0c s_cmpk_ge_u32}           [<- sdst:u32, simm16:u16]          writes_scc;
    SCmpkLtU32          {Sopk 0x0c s_cmpk_lt_u32}          {Sopk 0x0d s_cmpk_lt_u32}           [<- sdst:u32, simm16:u16]          writes_scc;
    SCmpkLeU32          {Sopk 0x0d s_cmpk_le_u32}          {Sopk 0x0e s_cmpk_le_u32}           [<- sdst:u32, simm16:u16]          writes_scc;
}
