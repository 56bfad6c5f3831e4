//! Atomics on memory through a buffer resource.
//!
//! VDATA is the operand, and gets the value before the operation when the instruction says `sc0` (gfx950)
//! or `glc` (gfx1100). The pair of a compare-and-swap is the new value, then the one to compare with.

rows! {
    /// Atomics on memory through a buffer resource.
    enum BufferAtomic;

    // Integers.
    BufferAtomicSwapB32    {Mubuf 0x40 buffer_atomic_swap}        {Mubuf 0x33 buffer_atomic_swap_b32}    [<- vdata:b32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicSwapB64    {Mubuf 0x60 buffer_atomic_swap_x2}     {Mubuf 0x41 buffer_atomic_swap_b64}    [<- vdata:b64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicCmpswapB32 {Mubuf 0x41 buffer_atomic_cmpswap}     {Mubuf 0x34 buffer_atomic_cmpswap_b32} [<- vdata:b32x2, vaddr:b_addr, srsrc:b128, soffset:u32]  atomic;
    BufferAtomicCmpswapB64 {Mubuf 0x61 buffer_atomic_cmpswap_x2}  {Mubuf 0x42 buffer_atomic_cmpswap_b64} [<- vdata:b64x2, vaddr:b_addr, srsrc:b128, soffset:u32]  atomic;
    BufferAtomicAddU32     {Mubuf 0x42 buffer_atomic_add}         {Mubuf 0x35 buffer_atomic_add_u32}     [<- vdata:u32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicAddU64     {Mubuf 0x62 buffer_atomic_add_x2}      {Mubuf 0x43 buffer_atomic_add_u64}     [<- vdata:u64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicSubU32     {Mubuf 0x43 buffer_atomic_sub}         {Mubuf 0x36 buffer_atomic_sub_u32}     [<- vdata:u32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicSubU64     {Mubuf 0x63 buffer_atomic_sub_x2}      {Mubuf 0x44 buffer_atomic_sub_u64}     [<- vdata:u64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicCsubU32    {}                                     {Mubuf 0x37 buffer_atomic_csub_u32}    [<- vdata:u32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMinI32     {Mubuf 0x44 buffer_atomic_smin}        {Mubuf 0x38 buffer_atomic_min_i32}     [<- vdata:i32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMinI64     {Mubuf 0x64 buffer_atomic_smin_x2}     {Mubuf 0x45 buffer_atomic_min_i64}     [<- vdata:i64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMinU32     {Mubuf 0x45 buffer_atomic_umin}        {Mubuf 0x39 buffer_atomic_min_u32}     [<- vdata:u32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMinU64     {Mubuf 0x65 buffer_atomic_umin_x2}     {Mubuf 0x46 buffer_atomic_min_u64}     [<- vdata:u64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMaxI32     {Mubuf 0x46 buffer_atomic_smax}        {Mubuf 0x3a buffer_atomic_max_i32}     [<- vdata:i32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMaxI64     {Mubuf 0x66 buffer_atomic_smax_x2}     {Mubuf 0x47 buffer_atomic_max_i64}     [<- vdata:i64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMaxU32     {Mubuf 0x47 buffer_atomic_umax}        {Mubuf 0x3b buffer_atomic_max_u32}     [<- vdata:u32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMaxU64     {Mubuf 0x67 buffer_atomic_umax_x2}     {Mubuf 0x48 buffer_atomic_max_u64}     [<- vdata:u64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicAndB32     {Mubuf 0x48 buffer_atomic_and}         {Mubuf 0x3c buffer_atomic_and_b32}     [<- vdata:b32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicAndB64     {Mubuf 0x68 buffer_atomic_and_x2}      {Mubuf 0x49 buffer_atomic_and_b64}     [<- vdata:b64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicOrB32      {Mubuf 0x49 buffer_atomic_or}          {Mubuf 0x3d buffer_atomic_or_b32}      [<- vdata:b32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicOrB64      {Mubuf 0x69 buffer_atomic_or_x2}       {Mubuf 0x4a buffer_atomic_or_b64}      [<- vdata:b64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicXorB32     {Mubuf 0x4a buffer_atomic_xor}         {Mubuf 0x3e buffer_atomic_xor_b32}     [<- vdata:b32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicXorB64     {Mubuf 0x6a buffer_atomic_xor_x2}      {Mubuf 0x4b buffer_atomic_xor_b64}     [<- vdata:b64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicIncU32     {Mubuf 0x4b buffer_atomic_inc}         {Mubuf 0x3f buffer_atomic_inc_u32}     [<- vdata:u32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicIncU64     {Mubuf 0x6b buffer_atomic_inc_x2}      {Mubuf 0x4c buffer_atomic_inc_u64}     [<- vdata:u64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicDecU32     {Mubuf 0x4c buffer_atomic_dec}         {Mubuf 0x40 buffer_atomic_dec_u32}     [<- vdata:u32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicDecU64     {Mubuf 0x6c buffer_atomic_dec_x2}      {Mubuf 0x4d buffer_atomic_dec_u64}     [<- vdata:u64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;

    // Floats.
    BufferAtomicAddF32     {Mubuf 0x4d buffer_atomic_add_f32}     {Mubuf 0x56 buffer_atomic_add_f32}     [<- vdata:f32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMinF32     {}                                     {Mubuf 0x51 buffer_atomic_min_f32}     [<- vdata:f32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMaxF32     {}                                     {Mubuf 0x52 buffer_atomic_max_f32}     [<- vdata:f32, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicAddF64     {Mubuf 0x4f buffer_atomic_add_f64}     {}                                     [<- vdata:f64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMinF64     {Mubuf 0x50 buffer_atomic_min_f64}     {}                                     [<- vdata:f64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicMaxF64     {Mubuf 0x51 buffer_atomic_max_f64}     {}                                     [<- vdata:f64, vaddr:b_addr, srsrc:b128, soffset:u32]    atomic;
    BufferAtomicPkAddF16   {Mubuf 0x4e buffer_atomic_pk_add_f16}  {}                                     [<- vdata:f16x2, vaddr:b_addr, srsrc:b128, soffset:u32]  atomic;
    BufferAtomicPkAddBf16  {Mubuf 0x52 buffer_atomic_pk_add_bf16} {}                                     [<- vdata:bf16x2, vaddr:b_addr, srsrc:b128, soffset:u32] atomic;
}
