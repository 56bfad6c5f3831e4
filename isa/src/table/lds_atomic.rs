//! Atomics on LDS.
//!
//! `cmpst` (gfx950) compares with DATA0 and stores DATA1; `cmpstore` (gfx1100) compares with DATA1 and
//! stores DATA0 (CDNA3 and RDNA3 ISA manuals).

rows! {
    /// Atomics on LDS.
    enum LdsAtomic;

    // Without a result.
    DsAddU32          {Ds 0x00 ds_add_u32}         {Ds 0x00 ds_add_u32}           [<- addr:u32, data0:u32]                     lgkm atomic;
    DsAddU64          {Ds 0x40 ds_add_u64}         {Ds 0x40 ds_add_u64}           [<- addr:u32, data0:u64]                     lgkm atomic;
    DsSubU32          {Ds 0x01 ds_sub_u32}         {Ds 0x01 ds_sub_u32}           [<- addr:u32, data0:u32]                     lgkm atomic;
    DsSubU64          {Ds 0x41 ds_sub_u64}         {Ds 0x41 ds_sub_u64}           [<- addr:u32, data0:u64]                     lgkm atomic;
    DsRsubU32         {Ds 0x02 ds_rsub_u32}        {Ds 0x02 ds_rsub_u32}          [<- addr:u32, data0:u32]                     lgkm atomic;
    DsRsubU64         {Ds 0x42 ds_rsub_u64}        {Ds 0x42 ds_rsub_u64}          [<- addr:u32, data0:u64]                     lgkm atomic;
    DsIncU32          {Ds 0x03 ds_inc_u32}         {Ds 0x03 ds_inc_u32}           [<- addr:u32, data0:u32]                     lgkm atomic;
    DsIncU64          {Ds 0x43 ds_inc_u64}         {Ds 0x43 ds_inc_u64}           [<- addr:u32, data0:u64]                     lgkm atomic;
    DsDecU32          {Ds 0x04 ds_dec_u32}         {Ds 0x04 ds_dec_u32}           [<- addr:u32, data0:u32]                     lgkm atomic;
    DsDecU64          {Ds 0x44 ds_dec_u64}         {Ds 0x44 ds_dec_u64}           [<- addr:u32, data0:u64]                     lgkm atomic;
    DsMinI32          {Ds 0x05 ds_min_i32}         {Ds 0x05 ds_min_i32}           [<- addr:u32, data0:i32]                     lgkm atomic;
    DsMinI64          {Ds 0x45 ds_min_i64}         {Ds 0x45 ds_min_i64}           [<- addr:u32, data0:i64]                     lgkm atomic;
    DsMaxI32          {Ds 0x06 ds_max_i32}         {Ds 0x06 ds_max_i32}           [<- addr:u32, data0:i32]                     lgkm atomic;
    DsMaxI64          {Ds 0x46 ds_max_i64}         {Ds 0x46 ds_max_i64}           [<- addr:u32, data0:i64]                     lgkm atomic;
    DsMinU32          {Ds 0x07 ds_min_u32}         {Ds 0x07 ds_min_u32}           [<- addr:u32, data0:u32]                     lgkm atomic;
    DsMinU64          {Ds 0x47 ds_min_u64}         {Ds 0x47 ds_min_u64}           [<- addr:u32, data0:u64]                     lgkm atomic;
    DsMaxU32          {Ds 0x08 ds_max_u32}         {Ds 0x08 ds_max_u32}           [<- addr:u32, data0:u32]                     lgkm atomic;
    DsMaxU64          {Ds 0x48 ds_max_u64}         {Ds 0x48 ds_max_u64}           [<- addr:u32, data0:u64]                     lgkm atomic;
    DsAndB32          {Ds 0x09 ds_and_b32}         {Ds 0x09 ds_and_b32}           [<- addr:u32, data0:b32]                     lgkm atomic;
    DsAndB64          {Ds 0x49 ds_and_b64}         {Ds 0x49 ds_and_b64}           [<- addr:u32, data0:b64]                     lgkm atomic;
    DsOrB32           {Ds 0x0a ds_or_b32}          {Ds 0x0a ds_or_b32}            [<- addr:u32, data0:b32]                     lgkm atomic;
    DsOrB64           {Ds 0x4a ds_or_b64}          {Ds 0x4a ds_or_b64}            [<- addr:u32, data0:b64]                     lgkm atomic;
    DsXorB32          {Ds 0x0b ds_xor_b32}         {Ds 0x0b ds_xor_b32}           [<- addr:u32, data0:b32]                     lgkm atomic;
    DsXorB64          {Ds 0x4b ds_xor_b64}         {Ds 0x4b ds_xor_b64}           [<- addr:u32, data0:b64]                     lgkm atomic;
    DsMskorB32        {Ds 0x0c ds_mskor_b32}       {Ds 0x0c ds_mskor_b32}         [<- addr:u32, data0:b32, data1:b32]          lgkm atomic;
    DsMskorB64        {Ds 0x4c ds_mskor_b64}       {Ds 0x4c ds_mskor_b64}         [<- addr:u32, data0:b64, data1:b64]          lgkm atomic;
    DsCmpstoreB32     {Ds 0x10 ds_cmpst_b32}       {Ds 0x10 ds_cmpstore_b32}      [<- addr:u32, data0:b32, data1:b32]          lgkm atomic;
    DsCmpstoreB64     {Ds 0x50 ds_cmpst_b64}       {Ds 0x50 ds_cmpstore_b64}      [<- addr:u32, data0:b64, data1:b64]          lgkm atomic;
    DsMinF32          {Ds 0x12 ds_min_f32}         {Ds 0x12 ds_min_f32}           [<- addr:u32, data0:f32]                     lgkm atomic;
    DsMinF64          {Ds 0x52 ds_min_f64}         {Ds 0x52 ds_min_f64}           [<- addr:u32, data0:f64]                     lgkm atomic;
    DsMaxF32          {Ds 0x13 ds_max_f32}         {Ds 0x13 ds_max_f32}           [<- addr:u32, data0:f32]                     lgkm atomic;
    DsMaxF64          {Ds 0x53 ds_max_f64}         {Ds 0x53 ds_max_f64}           [<- addr:u32, data0:f64]                     lgkm atomic;
    DsAddF32          {Ds 0x15 ds_add_f32}         {Ds 0x15 ds_add_f32}           [<- addr:u32, data0:f32]                     lgkm atomic;
    DsAddF64          {Ds 0x5c ds_add_f64}         {}                             [<- addr:u32, data0:f64]                     lgkm atomic;
    DsPkAddF16        {Ds 0x17 ds_pk_add_f16}      {}                             [<- addr:u32, data0:f16x2]                   lgkm atomic;
    DsPkAddBf16       {Ds 0x18 ds_pk_add_bf16}     {}                             [<- addr:u32, data0:bf16x2]                  lgkm atomic;

    // With the value before it as result.
    DsAddRtnU32       {Ds 0x20 ds_add_rtn_u32}     {Ds 0x20 ds_add_rtn_u32}       [vdst:u32 <- addr:u32, data0:u32]            lgkm atomic;
    DsAddRtnU64       {Ds 0x60 ds_add_rtn_u64}     {Ds 0x60 ds_add_rtn_u64}       [vdst:u64 <- addr:u32, data0:u64]            lgkm atomic;
    DsSubRtnU32       {Ds 0x21 ds_sub_rtn_u32}     {Ds 0x21 ds_sub_rtn_u32}       [vdst:u32 <- addr:u32, data0:u32]            lgkm atomic;
    DsSubRtnU64       {Ds 0x61 ds_sub_rtn_u64}     {Ds 0x61 ds_sub_rtn_u64}       [vdst:u64 <- addr:u32, data0:u64]            lgkm atomic;
    DsRsubRtnU32      {Ds 0x22 ds_rsub_rtn_u32}    {Ds 0x22 ds_rsub_rtn_u32}      [vdst:u32 <- addr:u32, data0:u32]            lgkm atomic;
    DsRsubRtnU64      {Ds 0x62 ds_rsub_rtn_u64}    {Ds 0x62 ds_rsub_rtn_u64}      [vdst:u64 <- addr:u32, data0:u64]            lgkm atomic;
    DsIncRtnU32       {Ds 0x23 ds_inc_rtn_u32}     {Ds 0x23 ds_inc_rtn_u32}       [vdst:u32 <- addr:u32, data0:u32]            lgkm atomic;
    DsIncRtnU64       {Ds 0x63 ds_inc_rtn_u64}     {Ds 0x63 ds_inc_rtn_u64}       [vdst:u64 <- addr:u32, data0:u64]            lgkm atomic;
    DsDecRtnU32       {Ds 0x24 ds_dec_rtn_u32}     {Ds 0x24 ds_dec_rtn_u32}       [vdst:u32 <- addr:u32, data0:u32]            lgkm atomic;
    DsDecRtnU64       {Ds 0x64 ds_dec_rtn_u64}     {Ds 0x64 ds_dec_rtn_u64}       [vdst:u64 <- addr:u32, data0:u64]            lgkm atomic;
    DsMinRtnI32       {Ds 0x25 ds_min_rtn_i32}     {Ds 0x25 ds_min_rtn_i32}       [vdst:i32 <- addr:u32, data0:i32]            lgkm atomic;
    DsMinRtnI64       {Ds 0x65 ds_min_rtn_i64}     {Ds 0x65 ds_min_rtn_i64}       [vdst:i64 <- addr:u32, data0:i64]            lgkm atomic;
    DsMaxRtnI32       {Ds 0x26 ds_max_rtn_i32}     {Ds 0x26 ds_max_rtn_i32}       [vdst:i32 <- addr:u32, data0:i32]            lgkm atomic;
    DsMaxRtnI64       {Ds 0x66 ds_max_rtn_i64}     {Ds 0x66 ds_max_rtn_i64}       [vdst:i64 <- addr:u32, data0:i64]            lgkm atomic;
    DsMinRtnU32       {Ds 0x27 ds_min_rtn_u32}     {Ds 0x27 ds_min_rtn_u32}       [vdst:u32 <- addr:u32, data0:u32]            lgkm atomic;
    DsMinRtnU64       {Ds 0x67 ds_min_rtn_u64}     {Ds 0x67 ds_min_rtn_u64}       [vdst:u64 <- addr:u32, data0:u64]            lgkm atomic;
    DsMaxRtnU32       {Ds 0x28 ds_max_rtn_u32}     {Ds 0x28 ds_max_rtn_u32}       [vdst:u32 <- addr:u32, data0:u32]            lgkm atomic;
    DsMaxRtnU64       {Ds 0x68 ds_max_rtn_u64}     {Ds 0x68 ds_max_rtn_u64}       [vdst:u64 <- addr:u32, data0:u64]            lgkm atomic;
    DsAndRtnB32       {Ds 0x29 ds_and_rtn_b32}     {Ds 0x29 ds_and_rtn_b32}       [vdst:b32 <- addr:u32, data0:b32]            lgkm atomic;
    DsAndRtnB64       {Ds 0x69 ds_and_rtn_b64}     {Ds 0x69 ds_and_rtn_b64}       [vdst:b64 <- addr:u32, data0:b64]            lgkm atomic;
    DsOrRtnB32        {Ds 0x2a ds_or_rtn_b32}      {Ds 0x2a ds_or_rtn_b32}        [vdst:b32 <- addr:u32, data0:b32]            lgkm atomic;
    DsOrRtnB64        {Ds 0x6a ds_or_rtn_b64}      {Ds 0x6a ds_or_rtn_b64}        [vdst:b64 <- addr:u32, data0:b64]            lgkm atomic;
    DsXorRtnB32       {Ds 0x2b ds_xor_rtn_b32}     {Ds 0x2b ds_xor_rtn_b32}       [vdst:b32 <- addr:u32, data0:b32]            lgkm atomic;
    DsXorRtnB64       {Ds 0x6b ds_xor_rtn_b64}     {Ds 0x6b ds_xor_rtn_b64}       [vdst:b64 <- addr:u32, data0:b64]            lgkm atomic;
    DsMskorRtnB32     {Ds 0x2c ds_mskor_rtn_b32}   {Ds 0x2c ds_mskor_rtn_b32}     [vdst:b32 <- addr:u32, data0:b32, data1:b32] lgkm atomic;
    DsMskorRtnB64     {Ds 0x6c ds_mskor_rtn_b64}   {Ds 0x6c ds_mskor_rtn_b64}     [vdst:b64 <- addr:u32, data0:b64, data1:b64] lgkm atomic;
    DsCmpstoreRtnB32  {Ds 0x30 ds_cmpst_rtn_b32}   {Ds 0x30 ds_cmpstore_rtn_b32}  [vdst:b32 <- addr:u32, data0:b32, data1:b32] lgkm atomic;
    DsCmpstoreRtnB64  {Ds 0x70 ds_cmpst_rtn_b64}   {Ds 0x70 ds_cmpstore_rtn_b64}  [vdst:b64 <- addr:u32, data0:b64, data1:b64] lgkm atomic;
    DsStorexchgRtnB32 {Ds 0x2d ds_wrxchg_rtn_b32}  {Ds 0x2d ds_storexchg_rtn_b32} [vdst:b32 <- addr:u32, data0:b32]            lgkm atomic;
    DsStorexchgRtnB64 {Ds 0x6d ds_wrxchg_rtn_b64}  {Ds 0x6d ds_storexchg_rtn_b64} [vdst:b64 <- addr:u32, data0:b64]            lgkm atomic;
    DsMinRtnF32       {Ds 0x32 ds_min_rtn_f32}     {Ds 0x32 ds_min_rtn_f32}       [vdst:f32 <- addr:u32, data0:f32]            lgkm atomic;
    DsMinRtnF64       {Ds 0x72 ds_min_rtn_f64}     {Ds 0x72 ds_min_rtn_f64}       [vdst:f64 <- addr:u32, data0:f64]            lgkm atomic;
    DsMaxRtnF32       {Ds 0x33 ds_max_rtn_f32}     {Ds 0x33 ds_max_rtn_f32}       [vdst:f32 <- addr:u32, data0:f32]            lgkm atomic;
    DsMaxRtnF64       {Ds 0x73 ds_max_rtn_f64}     {Ds 0x73 ds_max_rtn_f64}       [vdst:f64 <- addr:u32, data0:f64]            lgkm atomic;
    DsAddRtnF32       {Ds 0x35 ds_add_rtn_f32}     {Ds 0x79 ds_add_rtn_f32}       [vdst:f32 <- addr:u32, data0:f32]            lgkm atomic;
    DsAddRtnF64       {Ds 0x7c ds_add_rtn_f64}     {}                             [vdst:f64 <- addr:u32, data0:f64]            lgkm atomic;
    DsPkAddRtnF16     {Ds 0xb7 ds_pk_add_rtn_f16}  {}                             [vdst:f16x2 <- addr:u32, data0:f16x2]        lgkm atomic;
    DsPkAddRtnBf16    {Ds 0xb8 ds_pk_add_rtn_bf16} {}                             [vdst:bf16x2 <- addr:u32, data0:bf16x2]      lgkm atomic;
}
