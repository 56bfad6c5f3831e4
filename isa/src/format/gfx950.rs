//! Formats of gfx950.

use crate::format::Layout;

/// Most specific identifying bits first.
#[rustfmt::skip]
pub(super) const LAYOUTS: [Layout; 19] = layouts! {
    Sop1     4 {[31:23] = 0x17d} op[15:8]  Sdst[22:16] Ssrc0[7:0];
    Sopc     4 {[31:23] = 0x17e} op[22:16] Ssrc1[15:8] Ssrc0[7:0];
    Sopp     4 {[31:23] = 0x17f} op[22:16] Simm16[15:0];
    Sopk     4 {[31:28] = 0xb}   op[27:23] Sdst[22:16] Simm16[15:0];
    Sop2     4 {[31:30] = 0x2}   op[29:23] Sdst[22:16] Ssrc1[15:8] Ssrc0[7:0];
    Smem     8 {[31:26] = 0x30}  op[25:18] ImmEn[17:17] Glc[16:16] SoffsetEn[14:14] Sdata[12:6] Sbase[5:0]
                                           Offset[52:32] Soffset[63:57];
    Vop1     4 {[31:25] = 0x3f}  op[16:9]  Vdst[24:17] Src0[8:0];
    Vopc     4 {[31:25] = 0x3e}  op[24:17] Src1[16:9] Src0[8:0];
    Vop2     4 {[31:31] = 0x0}   op[30:25] Vdst[24:17] Src1[16:9] Src0[8:0];
    Vop3pMx 16 {[31:16] = 0xd3ac, [78:75] = 1, [95:87] = 0x1a7} op[86:80] OpSel[12:11]
                                           ScaleA[40:32] ScaleB[49:41] OpSelHi[60:59]
                                           Vdst[71:64] Cbsz[74:72] AccCd[79:79] Src0[104:96] Src1[113:105]
                                           Src2[122:114] AccAb[124:123] Blgp[127:125];
    Vop3p    8 {[31:23] = 0x1a7} op[22:16] Vdst[7:0] NegHi[10:8] OpSel[13:11] OpSelHi2[14:14] Clamp[15:15]
                                           Src0[40:32] Src1[49:41] Src2[58:50] OpSelHi[60:59] Neg[63:61];
    Vop3pMai 8 {[31:23] = 0x1a7} op[22:16] Vdst[7:0] Cbsz[10:8] Abid[14:11] AccCd[15:15]
                                           Src0[40:32] Src1[49:41] Src2[58:50] AccAb[60:59] Blgp[63:61];
    Vop3     8 {[31:26] = 0x34}  op[25:16] Vdst[7:0] Abs[10:8] OpSel[14:11] Clamp[15:15]
                                           Src0[40:32] Src1[49:41] Src2[58:50] Omod[60:59] Neg[63:61];
    Vop3Sd   8 {[31:26] = 0x34}  op[25:16] Vdst[7:0] Sdst[14:8] Clamp[15:15]
                                           Src0[40:32] Src1[49:41] Src2[58:50] Omod[60:59] Neg[63:61];
    Ds       8 {[31:26] = 0x36}  op[24:17] Offset[15:0] Gds[16:16] Acc[25:25]
                                           Addr[39:32] Data0[47:40] Data1[55:48] Vdst[63:56];
    Flat     8 {[31:26] = 0x37, [15:14] = 0} op[24:18] Offset[12:0] Sve[13:13] Sc0[16:16] Nt[17:17] Sc1[25:25]
                                           Addr[39:32] Data[47:40] Saddr[54:48] Acc[55:55] Vdst[63:56];
    Scratch  8 {[31:26] = 0x37, [15:14] = 1} op[24:18] Offset[12:0] Sve[13:13] Sc0[16:16] Nt[17:17] Sc1[25:25]
                                           Addr[39:32] Data[47:40] Saddr[54:48] Acc[55:55] Vdst[63:56];
    Global   8 {[31:26] = 0x37, [15:14] = 2} op[24:18] Offset[12:0] Sve[13:13] Sc0[16:16] Nt[17:17] Sc1[25:25]
                                           Addr[39:32] Data[47:40] Saddr[54:48] Acc[55:55] Vdst[63:56];
    Mubuf    8 {[31:26] = 0x38}  op[24:18] Offset[11:0] Offen[12:12] Idxen[13:13] Sc0[14:14] Sc1[15:15]
                                           LdsBit[16:16] Nt[17:17]
                                           Vaddr[39:32] Vdata[47:40] Srsrc[52:48] Acc[55:55] Soffset[63:56];
};
