//! Moves between lanes, to scalar registers, and to accumulation registers.
//!
//! In the permlane instructions of gfx1100 bit 0 of `op_sel` is FI (fetch inactive lanes) and bit 1 is
//! BOUND_CTRL; in the swaps of gfx950 likewise.

rows! {
    /// Moves between lanes, to scalar registers, and to accumulation registers.
    enum Lane;
    VNop               {Vop1 0x00 v_nop}                 {Vop1 0x00 v_nop}               [<- ];
    VMovreldB32        {}                                {Vop1 0x42 v_movreld_b32}       [vdst:b32 <- src0:b32]                        reads_m0 relative_result;
    VMovrelsB32        {}                                {Vop1 0x43 v_movrels_b32}       [vdst:b32 <- src0:b32]                        reads_m0 relative_source;
    VMovrelsdB32       {}                                {Vop1 0x44 v_movrelsd_b32}      [vdst:b32 <- src0:b32]                        reads_m0 relative_source relative_result;
    VMovrelsd2B32      {}                                {Vop1 0x48 v_movrelsd_2_b32}    [vdst:b32 <- src0:b32]                        reads_m0 relative_source relative_result;
    VReadfirstlaneB32  {Vop1 0x02 v_readfirstlane_b32}   {Vop1 0x02 v_readfirstlane_b32} [sdst:b32 <- vsrc0:b32]                       short_only;
    VReadlaneB32       {Vop3 0x289 v_readlane_b32}       {Vop3 0x360 v_readlane_b32}     [sdst:b32 <- vsrc0:b32, ssrc1:u32];
    VWritelaneB32      {Vop3 0x28a v_writelane_b32}      {Vop3 0x361 v_writelane_b32}    [vdst:b32 <- ssrc0:b32, ssrc1:u32]            reads_dst;
    VMbcntLoU32B32     {Vop3 0x28c v_mbcnt_lo_u32_b32}   {Vop3 0x31f v_mbcnt_lo_u32_b32} [vdst:u32 <- src0:b32, src1:u32];
    VMbcntHiU32B32     {Vop3 0x28d v_mbcnt_hi_u32_b32}   {Vop3 0x320 v_mbcnt_hi_u32_b32} [vdst:u32 <- src0:b32, src1:u32];
    VSwapB32           {Vop1 0x51 v_swap_b32}            {Vop1 0x65 v_swap_b32}          [vdst:b32, vsrc0:b32 <- ]                     reads_dst short_only;
    VPermlane16SwapB32 {Vop1 0x59 v_permlane16_swap_b32} {}                              [vdst:b32, vsrc0:b32 <- ]                     reads_dst lane_flags;
    VPermlane32SwapB32 {Vop1 0x5a v_permlane32_swap_b32} {}                              [vdst:b32, vsrc0:b32 <- ]                     reads_dst lane_flags;
    VPermlane16B32     {}                                {Vop3 0x25b v_permlane16_b32}   [vdst:b32 <- vsrc0:b32, ssrc1:b32, ssrc2:b32] reads_dst lane_flags;
    VPermlanex16B32    {}                                {Vop3 0x25c v_permlanex16_b32}  [vdst:b32 <- vsrc0:b32, ssrc1:b32, ssrc2:b32] reads_dst lane_flags;
    VPermlane64B32     {}                                {Vop1 0x67 v_permlane64_b32}    [vdst:b32 <- vsrc0:b32]                       short_only;
    VAccvgprReadB32    {Vop3p 0x58 v_accvgpr_read_b32}   {}                              [vdst:b32 <- vsrc0:acc];
    VAccvgprWriteB32   {Vop3p 0x59 v_accvgpr_write_b32}  {}                              [vdst:acc <- src0:b32];
    VAccvgprMovB32     {Vop1 0x52 v_accvgpr_mov_b32}     {}                              [vdst:acc <- vsrc0:acc]                       short_only;
}
