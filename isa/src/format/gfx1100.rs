//! Formats of gfx1100.

use crate::format::Layout;

/// Most specific identifying bits first.
#[rustfmt::skip]
pub(super) const LAYOUTS: [Layout; 18] = layouts! {
    Sop1     4 {[31:23] = 0x17d} op[15:8]  Sdst[22:16] Ssrc0[7:0];
    Sopc     4 {[31:23] = 0x17e} op[22:16] Ssrc1[15:8] Ssrc0[7:0];
    Sopp     4 {[31:23] = 0x17f} op[22:16] Simm16[15:0];
    Sopk     4 {[31:28] = 0xb}   op[27:23] Sdst[22:16] Simm16[15:0];
    Sop2     4 {[31:30] = 0x2}   op[29:23] Sdst[22:16] Ssrc1[15:8] Ssrc0[7:0];
    Smem     8 {[31:26] = 0x3d}  op[25:18] Glc[14:14] Dlc[13:13] Sdata[12:6] Sbase[5:0]
                                           Offset[52:32] Soffset[63:57];
    Vop1     4 {[31:25] = 0x3f}  op[16:9]  Vdst[24:17] Src0[8:0];
    Vopc     4 {[31:25] = 0x3e}  op[24:17] Src1[16:9] Src0[8:0];
    Vop2     4 {[31:31] = 0x0}   op[30:25] Vdst[24:17] Src1[16:9] Src0[8:0];
    Vop3p    8 {[31:24] = 0xcc}  op[22:16] Vdst[7:0] NegHi[10:8] OpSel[13:11] OpSelHi2[14:14] Clamp[15:15]
                                           Src0[40:32] Src1[49:41] Src2[58:50] OpSelHi[60:59] Neg[63:61];
    Vop3     8 {[31:26] = 0x35}  op[25:16] Vdst[7:0] Abs[10:8] OpSel[14:11] Clamp[15:15]
                                           Src0[40:32] Src1[49:41] Src2[58:50] Omod[60:59] Neg[63:61];
    Vop3Sd   8 {[31:26] = 0x35}  op[25:16] Vdst[7:0] Sdst[14:8] Clamp[15:15]
                                           Src0[40:32] Src1[49:41] Src2[58:50] Omod[60:59] Neg[63:61];
    Vopd     8 {[31:26] = 0x32}  op[25:22] OpX[25:22] OpY[21:17] SrcX0[8:0] VsrcX1[16:9]
                                           SrcY0[40:32] VsrcY1[48:41] VdstY[55:49] VdstX[63:56];
    Ds       8 {[31:26] = 0x36}  op[25:18] Offset[15:0] Gds[17:17]
                                           Addr[39:32] Data0[47:40] Data1[55:48] Vdst[63:56];
    Flat     8 {[31:26] = 0x37, [17:16] = 0} op[24:18] Offset[12:0] Dlc[13:13] Glc[14:14] Slc[15:15]
                                           Addr[39:32] Data[47:40] Saddr[54:48] Sve[55:55] Vdst[63:56];
    Scratch  8 {[31:26] = 0x37, [17:16] = 1} op[24:18] Offset[12:0] Dlc[13:13] Glc[14:14] Slc[15:15]
                                           Addr[39:32] Data[47:40] Saddr[54:48] Sve[55:55] Vdst[63:56];
    Global   8 {[31:26] = 0x37, [17:16] = 2} op[24:18] Offset[12:0] Dlc[13:13] Glc[14:14] Slc[15:15]
                                           Addr[39:32] Data[47:40] Saddr[54:48] Sve[55:55] Vdst[63:56];
    Mubuf    8 {[31:26] = 0x38}  op[25:18] Offset[11:0] Slc[12:12] Dlc[13:13] Glc[14:14]
                                           Vaddr[39:32] Vdata[47:40] Srsrc[52:48] Offen[54:54] Idxen[55:55]
                                           Soffset[63:56];
};
