//! Atomics on memory by address: one row stands for FLAT and GLOBAL, as in [`flat`](super::flat).
//!
//! VDST is there, and gets the value before the operation, when the instruction says `sc0` (gfx950) or
//! `glc` (gfx1100). The pair of a compare-and-swap is the new value, then the one to compare with.

rows! {
    /// Atomics on memory by address.
    enum FlatAtomic;

    // Integers.
    AtomicSwapB32    {Global 0x40 atomic_swap}        {Global 0x33 atomic_swap_b32}    [vdst:b32 <- addr:v_addr, data:b32, saddr:s_addr]       atomic;
    AtomicSwapB64    {Global 0x60 atomic_swap_x2}     {Global 0x41 atomic_swap_b64}    [vdst:b64 <- addr:v_addr, data:b64, saddr:s_addr]       atomic;
    AtomicCmpswapB32 {Global 0x41 atomic_cmpswap}     {Global 0x34 atomic_cmpswap_b32} [vdst:b32 <- addr:v_addr, data:b32x2, saddr:s_addr]     atomic;
    AtomicCmpswapB64 {Global 0x61 atomic_cmpswap_x2}  {Global 0x42 atomic_cmpswap_b64} [vdst:b64 <- addr:v_addr, data:b64x2, saddr:s_addr]     atomic;
    AtomicAddU32     {Global 0x42 atomic_add}         {Global 0x35 atomic_add_u32}     [vdst:u32 <- addr:v_addr, data:u32, saddr:s_addr]       atomic;
    AtomicAddU64     {Global 0x62 atomic_add_x2}      {Global 0x43 atomic_add_u64}     [vdst:u64 <- addr:v_addr, data:u64, saddr:s_addr]       atomic;
    AtomicSubU32     {Global 0x43 atomic_sub}         {Global 0x36 atomic_sub_u32}     [vdst:u32 <- addr:v_addr, data:u32, saddr:s_addr]       atomic;
    AtomicSubU64     {Global 0x63 atomic_sub_x2}      {Global 0x44 atomic_sub_u64}     [vdst:u64 <- addr:v_addr, data:u64, saddr:s_addr]       atomic;
    AtomicCsubU32    {}                               {Global 0x37 atomic_csub_u32}    [vdst:u32 <- addr:v_addr, data:u32, saddr:s_addr]       atomic global_only;
    AtomicMinI32     {Global 0x44 atomic_smin}        {Global 0x38 atomic_min_i32}     [vdst:i32 <- addr:v_addr, data:i32, saddr:s_addr]       atomic;
    AtomicMinI64     {Global 0x64 atomic_smin_x2}     {Global 0x45 atomic_min_i64}     [vdst:i64 <- addr:v_addr, data:i64, saddr:s_addr]       atomic;
    AtomicMinU32     {Global 0x45 atomic_umin}        {Global 0x39 atomic_min_u32}     [vdst:u32 <- addr:v_addr, data:u32, saddr:s_addr]       atomic;
    AtomicMinU64     {Global 0x65 atomic_umin_x2}     {Global 0x46 atomic_min_u64}     [vdst:u64 <- addr:v_addr, data:u64, saddr:s_addr]       atomic;
    AtomicMaxI32     {Global 0x46 atomic_smax}        {Global 0x3a atomic_max_i32}     [vdst:i32 <- addr:v_addr, data:i32, saddr:s_addr]       atomic;
    AtomicMaxI64     {Global 0x66 atomic_smax_x2}     {Global 0x47 atomic_max_i64}     [vdst:i64 <- addr:v_addr, data:i64, saddr:s_addr]       atomic;
    AtomicMaxU32     {Global 0x47 atomic_umax}        {Global 0x3b atomic_max_u32}     [vdst:u32 <- addr:v_addr, data:u32, saddr:s_addr]       atomic;
    AtomicMaxU64     {Global 0x67 atomic_umax_x2}     {Global 0x48 atomic_max_u64}     [vdst:u64 <- addr:v_addr, data:u64, saddr:s_addr]       atomic;
    AtomicAndB32     {Global 0x48 atomic_and}         {Global 0x3c atomic_and_b32}     [vdst:b32 <- addr:v_addr, data:b32, saddr:s_addr]       atomic;
    AtomicAndB64     {Global 0x68 atomic_and_x2}      {Global 0x49 atomic_and_b64}     [vdst:b64 <- addr:v_addr, data:b64, saddr:s_addr]       atomic;
    AtomicOrB32      {Global 0x49 atomic_or}          {Global 0x3d atomic_or_b32}      [vdst:b32 <- addr:v_addr, data:b32, saddr:s_addr]       atomic;
    AtomicOrB64      {Global 0x69 atomic_or_x2}       {Global 0x4a atomic_or_b64}      [vdst:b64 <- addr:v_addr, data:b64, saddr:s_addr]       atomic;
    AtomicXorB32     {Global 0x4a atomic_xor}         {Global 0x3e atomic_xor_b32}     [vdst:b32 <- addr:v_addr, data:b32, saddr:s_addr]       atomic;
    AtomicXorB64     {Global 0x6a atomic_xor_x2}      {Global 0x4b atomic_xor_b64}     [vdst:b64 <- addr:v_addr, data:b64, saddr:s_addr]       atomic;
    AtomicIncU32     {Global 0x4b atomic_inc}         {Global 0x3f atomic_inc_u32}     [vdst:u32 <- addr:v_addr, data:u32, saddr:s_addr]       atomic;
    AtomicIncU64     {Global 0x6b atomic_inc_x2}      {Global 0x4c atomic_inc_u64}     [vdst:u64 <- addr:v_addr, data:u64, saddr:s_addr]       atomic;
    AtomicDecU32     {Global 0x4c atomic_dec}         {Global 0x40 atomic_dec_u32}     [vdst:u32 <- addr:v_addr, data:u32, saddr:s_addr]       atomic;
    AtomicDecU64     {Global 0x6c atomic_dec_x2}      {Global 0x4d atomic_dec_u64}     [vdst:u64 <- addr:v_addr, data:u64, saddr:s_addr]       atomic;

    // Floats.
    AtomicAddF32     {Global 0x4d atomic_add_f32}     {Global 0x56 atomic_add_f32}     [vdst:f32 <- addr:v_addr, data:f32, saddr:s_addr]       atomic;
    AtomicMinF32     {}                               {Global 0x51 atomic_min_f32}     [vdst:f32 <- addr:v_addr, data:f32, saddr:s_addr]       atomic;
    AtomicMaxF32     {}                               {Global 0x52 atomic_max_f32}     [vdst:f32 <- addr:v_addr, data:f32, saddr:s_addr]       atomic;
    AtomicAddF64     {Global 0x4f atomic_add_f64}     {}                               [vdst:f64 <- addr:v_addr, data:f64, saddr:s_addr]       atomic;
    AtomicMinF64     {Global 0x50 atomic_min_f64}     {}                               [vdst:f64 <- addr:v_addr, data:f64, saddr:s_addr]       atomic;
    AtomicMaxF64     {Global 0x51 atomic_max_f64}     {}                               [vdst:f64 <- addr:v_addr, data:f64, saddr:s_addr]       atomic;
    AtomicPkAddF16   {Global 0x4e atomic_pk_add_f16}  {}                               [vdst:f16x2 <- addr:v_addr, data:f16x2, saddr:s_addr]   atomic;
    AtomicPkAddBf16  {Global 0x52 atomic_pk_add_bf16} {}                               [vdst:bf16x2 <- addr:v_addr, data:bf16x2, saddr:s_addr] atomic;
}
