//! Memory through a buffer resource, and cache control. Invalidations count in no counter (LLVM 22,
//! `SIInsertWaitcnts`); a write-back counts as a store.

rows! {
    /// Memory through a buffer resource, and cache control.
    enum Buffer;

    // Loads.
    BufferLoadU8        {Mubuf 0x10 buffer_load_ubyte}         {Mubuf 0x10 buffer_load_u8}          [vdata:u8 <- vaddr:b_addr, srsrc:b128, soffset:u32]    load to_lds;
    BufferLoadI8        {Mubuf 0x11 buffer_load_sbyte}         {Mubuf 0x11 buffer_load_i8}          [vdata:i8 <- vaddr:b_addr, srsrc:b128, soffset:u32]    load to_lds;
    BufferLoadU16       {Mubuf 0x12 buffer_load_ushort}        {Mubuf 0x12 buffer_load_u16}         [vdata:u16 <- vaddr:b_addr, srsrc:b128, soffset:u32]   load to_lds;
    BufferLoadI16       {Mubuf 0x13 buffer_load_sshort}        {Mubuf 0x13 buffer_load_i16}         [vdata:i16 <- vaddr:b_addr, srsrc:b128, soffset:u32]   load to_lds;
    BufferLoadD16U8     {Mubuf 0x20 buffer_load_ubyte_d16}     {Mubuf 0x1e buffer_load_d16_u8}      [vdata:u8 <- vaddr:b_addr, srsrc:b128, soffset:u32]    load reads_dst;
    BufferLoadD16HiU8   {Mubuf 0x21 buffer_load_ubyte_d16_hi}  {Mubuf 0x21 buffer_load_d16_hi_u8}   [vdata:u8 <- vaddr:b_addr, srsrc:b128, soffset:u32]    load reads_dst;
    BufferLoadD16I8     {Mubuf 0x22 buffer_load_sbyte_d16}     {Mubuf 0x1f buffer_load_d16_i8}      [vdata:i8 <- vaddr:b_addr, srsrc:b128, soffset:u32]    load reads_dst;
    BufferLoadD16HiI8   {Mubuf 0x23 buffer_load_sbyte_d16_hi}  {Mubuf 0x22 buffer_load_d16_hi_i8}   [vdata:i8 <- vaddr:b_addr, srsrc:b128, soffset:u32]    load reads_dst;
    BufferLoadD16B16    {Mubuf 0x24 buffer_load_short_d16}     {Mubuf 0x20 buffer_load_d16_b16}     [vdata:b16 <- vaddr:b_addr, srsrc:b128, soffset:u32]   load reads_dst;
    BufferLoadD16HiB16  {Mubuf 0x25 buffer_load_short_d16_hi}  {Mubuf 0x23 buffer_load_d16_hi_b16}  [vdata:b16 <- vaddr:b_addr, srsrc:b128, soffset:u32]   load reads_dst;
    BufferLoadB32       {Mubuf 0x14 buffer_load_dword}         {Mubuf 0x14 buffer_load_b32}         [vdata:b32 <- vaddr:b_addr, srsrc:b128, soffset:u32]   load to_lds;
    BufferLoadB64       {Mubuf 0x15 buffer_load_dwordx2}       {Mubuf 0x15 buffer_load_b64}         [vdata:b64 <- vaddr:b_addr, srsrc:b128, soffset:u32]   load;
    BufferLoadB96       {Mubuf 0x16 buffer_load_dwordx3}       {Mubuf 0x16 buffer_load_b96}         [vdata:b96 <- vaddr:b_addr, srsrc:b128, soffset:u32]   load to_lds;
    BufferLoadB128      {Mubuf 0x17 buffer_load_dwordx4}       {Mubuf 0x17 buffer_load_b128}        [vdata:b128 <- vaddr:b_addr, srsrc:b128, soffset:u32]  load to_lds;

    // Stores.
    BufferStoreB8       {Mubuf 0x18 buffer_store_byte}         {Mubuf 0x18 buffer_store_b8}         [<- vdata:b8, vaddr:b_addr, srsrc:b128, soffset:u32]   store;
    BufferStoreD16HiB8  {Mubuf 0x19 buffer_store_byte_d16_hi}  {Mubuf 0x24 buffer_store_d16_hi_b8}  [<- vdata:b8, vaddr:b_addr, srsrc:b128, soffset:u32]   store;
    BufferStoreB16      {Mubuf 0x1a buffer_store_short}        {Mubuf 0x19 buffer_store_b16}        [<- vdata:b16, vaddr:b_addr, srsrc:b128, soffset:u32]  store;
    BufferStoreD16HiB16 {Mubuf 0x1b buffer_store_short_d16_hi} {Mubuf 0x25 buffer_store_d16_hi_b16} [<- vdata:b16, vaddr:b_addr, srsrc:b128, soffset:u32]  store;
    BufferStoreB32      {Mubuf 0x1c buffer_store_dword}        {Mubuf 0x1a buffer_store_b32}        [<- vdata:b32, vaddr:b_addr, srsrc:b128, soffset:u32]  store;
    BufferStoreB64      {Mubuf 0x1d buffer_store_dwordx2}      {Mubuf 0x1b buffer_store_b64}        [<- vdata:b64, vaddr:b_addr, srsrc:b128, soffset:u32]  store;
    BufferStoreB96      {Mubuf 0x1e buffer_store_dwordx3}      {Mubuf 0x1c buffer_store_b96}        [<- vdata:b96, vaddr:b_addr, srsrc:b128, soffset:u32]  store;
    BufferStoreB128     {Mubuf 0x1f buffer_store_dwordx4}      {Mubuf 0x1d buffer_store_b128}       [<- vdata:b128, vaddr:b_addr, srsrc:b128, soffset:u32] store;

    // Caches.
    BufferWbl2          {Mubuf 0x28 buffer_wbl2}               {}                                   [<- ]                                                  store;
    BufferInv           {Mubuf 0x29 buffer_inv}                {}                                   [<- ];
    BufferGl0Inv        {}                                     {Mubuf 0x2b buffer_gl0_inv}          [<- ];
    BufferGl1Inv        {}                                     {Mubuf 0x2c buffer_gl1_inv}          [<- ];
}
