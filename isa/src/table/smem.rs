//! Scalar memory: loads from a 64-bit address or a buffer resource.
//!
//! The address is `sbase + soffset + offset`; without an SGPR offset `soffset` is `Operand::None`.

rows! {
    /// Scalar memory.
    enum Smem;
    SLoadB32        {Smem 0x00 s_load_dword}           {Smem 0x00 s_load_b32}         [sdata:b32 <- sbase:b64, soffset:u32]   lgkm;
    SLoadB64        {Smem 0x01 s_load_dwordx2}         {Smem 0x01 s_load_b64}         [sdata:b64 <- sbase:b64, soffset:u32]   lgkm;
    SLoadB128       {Smem 0x02 s_load_dwordx4}         {Smem 0x02 s_load_b128}        [sdata:b128 <- sbase:b64, soffset:u32]  lgkm;
    SLoadB256       {Smem 0x03 s_load_dwordx8}         {Smem 0x03 s_load_b256}        [sdata:b256 <- sbase:b64, soffset:u32]  lgkm;
    SLoadB512       {Smem 0x04 s_load_dwordx16}        {Smem 0x04 s_load_b512}        [sdata:b512 <- sbase:b64, soffset:u32]  lgkm;
    SBufferLoadB32  {Smem 0x08 s_buffer_load_dword}    {Smem 0x08 s_buffer_load_b32}  [sdata:b32 <- sbase:b128, soffset:u32]  lgkm;
    SBufferLoadB64  {Smem 0x09 s_buffer_load_dwordx2}  {Smem 0x09 s_buffer_load_b64}  [sdata:b64 <- sbase:b128, soffset:u32]  lgkm;
    SBufferLoadB128 {Smem 0x0a s_buffer_load_dwordx4}  {Smem 0x0a s_buffer_load_b128} [sdata:b128 <- sbase:b128, soffset:u32] lgkm;
    SBufferLoadB256 {Smem 0x0b s_buffer_load_dwordx8}  {Smem 0x0b s_buffer_load_b256} [sdata:b256 <- sbase:b128, soffset:u32] lgkm;
    SBufferLoadB512 {Smem 0x0c s_buffer_load_dwordx16} {Smem 0x0c s_buffer_load_b512} [sdata:b512 <- sbase:b128, soffset:u32] lgkm;
    SDcacheInv      {Smem 0x20 s_dcache_inv}           {Smem 0x21 s_dcache_inv}       [<- ]                                   lgkm;
    SDcacheInvVol   {Smem 0x22 s_dcache_inv_vol}       {}                                [<- ]                                   lgkm;
    SDcacheWb       {Smem 0x21 s_dcache_wb}            {}                                [<- ]                                   lgkm;
    SDcacheWbVol    {Smem 0x23 s_dcache_wb_vol}        {}                                [<- ]                                   lgkm;
    SGl1Inv         {}                                 {Smem 0x20 s_gl1_inv}          [<- ]                                   lgkm;
    SMemtime        {Smem 0x24 s_memtime}              {}                             [sdata:b64 <- ]                         lgkm;
    SMemrealtime    {Smem 0x25 s_memrealtime}          {}                             [sdata:b64 <- ]                         lgkm;
}
