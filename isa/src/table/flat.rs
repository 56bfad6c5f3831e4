//! Memory by address: FLAT, GLOBAL and SCRATCH have the same opcodes, so one row stands for the three.
//! [`Inst::encoding`](crate::inst::Inst::encoding) says which it is, and completes the mnemonic:
//! `load_b32` is `flat_load_b32`, `global_load_b32` or `scratch_load_b32`.

rows! {
    /// Memory by address.
    enum Flat;

    // Loads.
    LoadU8         {Global 0x10 load_ubyte}         {Global 0x10 load_u8}          [vdst:u8 <- addr:v_addr, saddr:s_addr]    load;
    LoadI8         {Global 0x11 load_sbyte}         {Global 0x11 load_i8}          [vdst:i8 <- addr:v_addr, saddr:s_addr]    load;
    LoadU16        {Global 0x12 load_ushort}        {Global 0x12 load_u16}         [vdst:u16 <- addr:v_addr, saddr:s_addr]   load;
    LoadI16        {Global 0x13 load_sshort}        {Global 0x13 load_i16}         [vdst:i16 <- addr:v_addr, saddr:s_addr]   load;
    LoadD16U8      {Global 0x20 load_ubyte_d16}     {Global 0x1e load_d16_u8}      [vdst:u8 <- addr:v_addr, saddr:s_addr]    load reads_dst;
    LoadD16HiU8    {Global 0x21 load_ubyte_d16_hi}  {Global 0x21 load_d16_hi_u8}   [vdst:u8 <- addr:v_addr, saddr:s_addr]    load reads_dst;
    LoadD16I8      {Global 0x22 load_sbyte_d16}     {Global 0x1f load_d16_i8}      [vdst:i8 <- addr:v_addr, saddr:s_addr]    load reads_dst;
    LoadD16HiI8    {Global 0x23 load_sbyte_d16_hi}  {Global 0x22 load_d16_hi_i8}   [vdst:i8 <- addr:v_addr, saddr:s_addr]    load reads_dst;
    LoadD16B16     {Global 0x24 load_short_d16}     {Global 0x20 load_d16_b16}     [vdst:b16 <- addr:v_addr, saddr:s_addr]   load reads_dst;
    LoadD16HiB16   {Global 0x25 load_short_d16_hi}  {Global 0x23 load_d16_hi_b16}  [vdst:b16 <- addr:v_addr, saddr:s_addr]   load reads_dst;
    LoadB32        {Global 0x14 load_dword}         {Global 0x14 load_b32}         [vdst:b32 <- addr:v_addr, saddr:s_addr]   load;
    LoadB64        {Global 0x15 load_dwordx2}       {Global 0x15 load_b64}         [vdst:b64 <- addr:v_addr, saddr:s_addr]   load;
    LoadB96        {Global 0x16 load_dwordx3}       {Global 0x16 load_b96}         [vdst:b96 <- addr:v_addr, saddr:s_addr]   load;
    LoadB128       {Global 0x17 load_dwordx4}       {Global 0x17 load_b128}        [vdst:b128 <- addr:v_addr, saddr:s_addr]  load;

    // Stores.
    StoreB8        {Global 0x18 store_byte}         {Global 0x18 store_b8}         [<- addr:v_addr, data:b8, saddr:s_addr]   store;
    StoreD16HiB8   {Global 0x19 store_byte_d16_hi}  {Global 0x24 store_d16_hi_b8}  [<- addr:v_addr, data:b8, saddr:s_addr]   store;
    StoreB16       {Global 0x1a store_short}        {Global 0x19 store_b16}        [<- addr:v_addr, data:b16, saddr:s_addr]  store;
    StoreD16HiB16  {Global 0x1b store_short_d16_hi} {Global 0x25 store_d16_hi_b16} [<- addr:v_addr, data:b16, saddr:s_addr]  store;
    StoreB32       {Global 0x1c store_dword}        {Global 0x1a store_b32}        [<- addr:v_addr, data:b32, saddr:s_addr]  store;
    StoreB64       {Global 0x1d store_dwordx2}      {Global 0x1b store_b64}        [<- addr:v_addr, data:b64, saddr:s_addr]  store;
    StoreB96       {Global 0x1e store_dwordx3}      {Global 0x1c store_b96}        [<- addr:v_addr, data:b96, saddr:s_addr]  store;
    StoreB128      {Global 0x1f store_dwordx4}      {Global 0x1d store_b128}       [<- addr:v_addr, data:b128, saddr:s_addr] store;

    // Loads to LDS (gfx950, GLOBAL only here): lane i writes at M0 + offset + i · width.
    LoadLdsDword   {Global 0x2a load_lds_dword}     {}                             [<- addr:v_addr, saddr:s_addr]            load reads_m0 global_only;
    LoadLdsDwordx3 {Global 0x7e load_lds_dwordx3}   {}                             [<- addr:v_addr, saddr:s_addr]            load reads_m0 global_only;
    LoadLdsDwordx4 {Global 0x7d load_lds_dwordx4}   {}                             [<- addr:v_addr, saddr:s_addr]            load reads_m0 global_only;
}
