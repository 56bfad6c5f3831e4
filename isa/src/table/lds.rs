//! LDS: loads, stores, and the lane moves that use its crossbar.
//!
//! Two-address forms scale both offsets by the width of an element (`stride64`: by 64 elements).

rows! {
    /// LDS.
    enum Lds;

    // Loads. `d16` loads write one half of the register and keep the other.
    DsLoadU8                {Ds 0x3a ds_read_u8}          {Ds 0x3a ds_load_u8}                  [vdst:u8 <- addr:u32]               lgkm;
    DsLoadI8                {Ds 0x39 ds_read_i8}          {Ds 0x39 ds_load_i8}                  [vdst:i8 <- addr:u32]               lgkm;
    DsLoadU16               {Ds 0x3c ds_read_u16}         {Ds 0x3c ds_load_u16}                 [vdst:u16 <- addr:u32]              lgkm;
    DsLoadI16               {Ds 0x3b ds_read_i16}         {Ds 0x3b ds_load_i16}                 [vdst:i16 <- addr:u32]              lgkm;
    DsLoadU8D16             {Ds 0x56 ds_read_u8_d16}      {Ds 0xa2 ds_load_u8_d16}              [vdst:u8 <- addr:u32]               lgkm reads_dst;
    DsLoadU8D16Hi           {Ds 0x57 ds_read_u8_d16_hi}   {Ds 0xa3 ds_load_u8_d16_hi}           [vdst:u8 <- addr:u32]               lgkm reads_dst;
    DsLoadI8D16             {Ds 0x58 ds_read_i8_d16}      {Ds 0xa4 ds_load_i8_d16}              [vdst:i8 <- addr:u32]               lgkm reads_dst;
    DsLoadI8D16Hi           {Ds 0x59 ds_read_i8_d16_hi}   {Ds 0xa5 ds_load_i8_d16_hi}           [vdst:i8 <- addr:u32]               lgkm reads_dst;
    DsLoadU16D16            {Ds 0x5a ds_read_u16_d16}     {Ds 0xa6 ds_load_u16_d16}             [vdst:b16 <- addr:u32]              lgkm reads_dst;
    DsLoadU16D16Hi          {Ds 0x5b ds_read_u16_d16_hi}  {Ds 0xa7 ds_load_u16_d16_hi}          [vdst:b16 <- addr:u32]              lgkm reads_dst;
    DsLoadB32               {Ds 0x36 ds_read_b32}         {Ds 0x36 ds_load_b32}                 [vdst:b32 <- addr:u32]              lgkm;
    DsLoadB64               {Ds 0x76 ds_read_b64}         {Ds 0x76 ds_load_b64}                 [vdst:b64 <- addr:u32]              lgkm;
    DsLoadB96               {Ds 0xfe ds_read_b96}         {Ds 0xfe ds_load_b96}                 [vdst:b96 <- addr:u32]              lgkm;
    DsLoadB128              {Ds 0xff ds_read_b128}        {Ds 0xff ds_load_b128}                [vdst:b128 <- addr:u32]             lgkm;
    DsLoad2addrB32          {Ds 0x37 ds_read2_b32}        {Ds 0x37 ds_load_2addr_b32}           [vdst:b32x2 <- addr:u32]            lgkm two_offsets;
    DsLoad2addrStride64B32  {Ds 0x38 ds_read2st64_b32}    {Ds 0x38 ds_load_2addr_stride64_b32}  [vdst:b32x2 <- addr:u32]            lgkm two_offsets;
    DsLoad2addrB64          {Ds 0x77 ds_read2_b64}        {Ds 0x77 ds_load_2addr_b64}           [vdst:b64x2 <- addr:u32]            lgkm two_offsets;
    DsLoad2addrStride64B64  {Ds 0x78 ds_read2st64_b64}    {Ds 0x78 ds_load_2addr_stride64_b64}  [vdst:b64x2 <- addr:u32]            lgkm two_offsets;
    DsReadB64TrB16          {Ds 0xe3 ds_read_b64_tr_b16}  {}                                    [vdst:b64 <- addr:u32]              lgkm;
    DsReadB64TrB8           {Ds 0xe2 ds_read_b64_tr_b8}   {}                                    [vdst:b64 <- addr:u32]              lgkm;

    // Stores.
    DsStoreB8               {Ds 0x1e ds_write_b8}         {Ds 0x1e ds_store_b8}                 [<- addr:u32, data0:b8]             lgkm;
    DsStoreB8D16Hi          {Ds 0x54 ds_write_b8_d16_hi}  {Ds 0xa0 ds_store_b8_d16_hi}          [<- addr:u32, data0:b8]             lgkm;
    DsStoreB16              {Ds 0x1f ds_write_b16}        {Ds 0x1f ds_store_b16}                [<- addr:u32, data0:b16]            lgkm;
    DsStoreB16D16Hi         {Ds 0x55 ds_write_b16_d16_hi} {Ds 0xa1 ds_store_b16_d16_hi}         [<- addr:u32, data0:b16]            lgkm;
    DsStoreB32              {Ds 0x0d ds_write_b32}        {Ds 0x0d ds_store_b32}                [<- addr:u32, data0:b32]            lgkm;
    DsStoreB64              {Ds 0x4d ds_write_b64}        {Ds 0x4d ds_store_b64}                [<- addr:u32, data0:b64]            lgkm;
    DsStoreB96              {Ds 0xde ds_write_b96}        {Ds 0xde ds_store_b96}                [<- addr:u32, data0:b96]            lgkm;
    DsStoreB128             {Ds 0xdf ds_write_b128}       {Ds 0xdf ds_store_b128}               [<- addr:u32, data0:b128]           lgkm;
    DsStore2addrB32         {Ds 0x0e ds_write2_b32}       {Ds 0x0e ds_store_2addr_b32}          [<- addr:u32, data0:b32, data1:b32] lgkm two_offsets;
    DsStore2addrStride64B32 {Ds 0x0f ds_write2st64_b32}   {Ds 0x0f ds_store_2addr_stride64_b32} [<- addr:u32, data0:b32, data1:b32] lgkm two_offsets;
    DsStore2addrB64         {Ds 0x4e ds_write2_b64}       {Ds 0x4e ds_store_2addr_b64}          [<- addr:u32, data0:b64, data1:b64] lgkm two_offsets;
    DsStore2addrStride64B64 {Ds 0x4f ds_write2st64_b64}   {Ds 0x4f ds_store_2addr_stride64_b64} [<- addr:u32, data0:b64, data1:b64] lgkm two_offsets;

    // Lane moves.
    DsPermuteB32            {Ds 0x3e ds_permute_b32}      {Ds 0xb2 ds_permute_b32}              [vdst:b32 <- addr:u32, data0:b32]   lgkm;
    DsBpermuteB32           {Ds 0x3f ds_bpermute_b32}     {Ds 0xb3 ds_bpermute_b32}             [vdst:b32 <- addr:u32, data0:b32]   lgkm;
    DsSwizzleB32            {Ds 0x3d ds_swizzle_b32}      {Ds 0x35 ds_swizzle_b32}              [vdst:b32 <- addr:b32]              lgkm swizzles;

    // Counters: the number of active lanes is added to or taken from the word at M0 + offset.
    DsAppend                {Ds 0xbe ds_append}           {Ds 0x3e ds_append}                   [vdst:u32 <- ]                      lgkm reads_m0;
    DsConsume               {Ds 0xbd ds_consume}          {Ds 0x3d ds_consume}                  [vdst:u32 <- ]                      lgkm reads_m0;
}
