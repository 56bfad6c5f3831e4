//! Encoding formats as named bit fields.
//!
//! A [`Layout`] says where each field of a format lies on one target. Bits are numbered from the least
//! significant bit of the first little-endian dword, so bit 32 is bit 0 of the second dword.
//!
//! Sources: CDNA3 and RDNA3 ISA manuals, chapter "microcode formats"; every field checked against
//! LLVM 22's disassembler (`tests/vectors`).

use crate::target::Target;

/// `Name[high:low]` to field and bits.
macro_rules! fields {
    ($($field:ident [$high:literal : $low:literal])*) => {
        &[ $( (crate::format::Field::$field, crate::format::Bits::new($high, $low)), )* ]
    };
}

/// One line a format: `Name bytes {identifying bits} opcode[high:low] fields`.
macro_rules! layouts {
    ($( $encoding:ident $size:literal { $([$phigh:literal : $plow:literal] = $pvalue:literal),* }
        op[$ohigh:literal : $olow:literal] $($field:ident [$high:literal : $low:literal])* ; )*) => {
        [ $( crate::format::Layout {
            encoding: crate::format::Encoding::$encoding,
            size_bytes: $size,
            prefix_mask: 0 $( | crate::format::Bits::new($phigh, $plow).mask() )*,
            prefix: 0 $( | crate::format::Bits::new($phigh, $plow).put($pvalue) )*,
            opcode: crate::format::Bits::new($ohigh, $olow),
            fields: fields![$($field [$high : $low])*],
        }, )* ]
    };
}

mod gfx1100;
mod gfx950;

/// An encoding format of the ISA manuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// Scalar, one source.
    Sop1,
    /// Scalar, two sources.
    Sop2,
    /// Scalar compare.
    Sopc,
    /// Scalar with a 16-bit constant.
    Sopk,
    /// Program control.
    Sopp,
    /// Scalar memory.
    Smem,
    /// Vector, one source.
    Vop1,
    /// Vector, two sources.
    Vop2,
    /// Vector compare.
    Vopc,
    /// Vector, three sources, 64 bits; also the long form of VOP1, VOP2 and VOPC.
    Vop3,
    /// VOP3 with a scalar destination beside the vector one (the manuals' VOP3B or VOP3SD).
    Vop3Sd,
    /// Packed vector.
    Vop3p,
    /// Matrix (gfx950; the manuals' VOP3P-MAI).
    Vop3pMai,
    /// Matrix with scales (gfx950): two halves of 64 bits, the first of which loads the scales.
    Vop3pMx,
    /// Dual issue (gfx1100).
    Vopd,
    /// LDS.
    Ds,
    /// Flat addresses.
    Flat,
    /// Global addresses.
    Global,
    /// Scratch addresses.
    Scratch,
    /// Buffers.
    Mubuf,
}

/// What the manuals call a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Vector destination.
    Vdst,
    /// Scalar destination. VCC in VOP2 and VOPC; in VOP3 compares and in lane reads it takes VDST's place.
    Sdst,
    /// Source 0 of vector instructions.
    Src0,
    /// Source 1 of vector instructions; a VGPR in VOP2 and VOPC.
    Src1,
    /// Source 2 of vector instructions; VCC in VOP2.
    Src2,
    /// Source 0 that must be a VGPR.
    Vsrc0,
    /// The constant of `v_fmaak` and `v_fmamk`: always a literal.
    K,
    /// Source 0 of scalar instructions; in VOP3 a scalar source in SRC0's place.
    Ssrc0,
    /// Source 1 of scalar instructions; in VOP3 a scalar source in SRC1's place.
    Ssrc1,
    /// In VOP3 a scalar source in SRC2's place.
    Ssrc2,
    /// 16-bit constant.
    Simm16,
    /// 32-bit constant that follows the instruction: always a literal.
    Simm32,
    /// Destination of a scalar load.
    Sdata,
    /// Address pair, or buffer resource, of a scalar load.
    Sbase,
    /// Scalar offset of scalar loads ([`Operand::None`](crate::reg::Operand::None) without) and buffers.
    Soffset,
    /// Vector address: LDS, FLAT, GLOBAL, SCRATCH.
    Addr,
    /// Scalar address of GLOBAL and SCRATCH.
    Saddr,
    /// Data of FLAT, GLOBAL and SCRATCH stores.
    Data,
    /// First data of LDS stores.
    Data0,
    /// Second data of LDS stores.
    Data1,
    /// Data of buffer instructions, read or written.
    Vdata,
    /// Vector address of buffer instructions.
    Vaddr,
    /// Buffer resource, four SGPRs.
    Srsrc,
    /// Negate a source, one bit a source.
    Neg,
    /// Absolute value of a source, one bit a source.
    Abs,
    /// Negate the high half of a packed source; absolute value in mixed-precision instructions.
    NegHi,
    /// Which half of a 16-bit operand.
    OpSel,
    /// Which half for the high result, sources 0 and 1.
    OpSelHi,
    /// Which half for the high result, source 2.
    OpSelHi2,
    /// Clamp the result.
    Clamp,
    /// Multiplier of the result.
    Omod,
    /// Immediate offset in bytes; in LDS instructions both offset fields together.
    Offset,
    /// gfx950 scalar memory: the immediate offset is used.
    ImmEn,
    /// gfx950 scalar memory: the SGPR offset is used beside the immediate one.
    SoffsetEn,
    /// Cache scope bit 0 (gfx950).
    Sc0,
    /// Cache scope bit 1 (gfx950).
    Sc1,
    /// Non-temporal (gfx950).
    Nt,
    /// Globally coherent.
    Glc,
    /// System-level coherent (gfx1100).
    Slc,
    /// Device-level coherent (gfx1100).
    Dlc,
    /// Buffer address holds an offset.
    Offen,
    /// Buffer address holds an index.
    Idxen,
    /// Buffer data goes to LDS.
    LdsBit,
    /// Global data share.
    Gds,
    /// Vector data is in accumulation registers (gfx950).
    Acc,
    /// Scratch address VGPR is used.
    Sve,
    /// Matrix: C and D are accumulation registers.
    AccCd,
    /// Matrix: A and B are accumulation registers, one bit each.
    AccAb,
    /// Matrix: broadcast size or format of A.
    Cbsz,
    /// Matrix: broadcast block of A.
    Abid,
    /// Matrix: lane pattern or format of B.
    Blgp,
    /// Matrix: scales of A.
    ScaleA,
    /// Matrix: scales of B.
    ScaleB,
    /// Dual issue: opcode of the X half.
    OpX,
    /// Dual issue: opcode of the Y half.
    OpY,
    /// Dual issue: source 0 of X.
    SrcX0,
    /// Dual issue: VGPR source 1 of X.
    VsrcX1,
    /// Dual issue: destination of X.
    VdstX,
    /// Dual issue: source 0 of Y.
    SrcY0,
    /// Dual issue: VGPR source 1 of Y.
    VsrcY1,
    /// Dual issue: destination of Y without its lowest bit, which is the opposite of X's.
    VdstY,
    /// DPP and SDWA: the VGPR that takes SRC0's place.
    DppSrc0,
    /// DPP control.
    DppCtrl,
    /// DPP: fetch inactive lanes.
    Fi,
    /// DPP: bound control.
    BoundCtrl,
    /// DPP: bank mask.
    BankMask,
    /// DPP: row mask.
    RowMask,
    /// DPP8: lane selects.
    Dpp8Sel,
    /// DPP and SDWA: NEG and ABS of source 0 (negate is the lower bit).
    Mods0,
    /// DPP and SDWA: NEG and ABS of source 1 (negate is the lower bit).
    Mods1,
    /// SDWA: selected part of the destination.
    DstSel,
    /// SDWA: fate of the rest of the destination.
    DstUnused,
    /// SDWA: selected part of source 0.
    Src0Sel,
    /// SDWA: selected part of source 1.
    Src1Sel,
    /// SDWA: sign-extend source 0.
    Sext0,
    /// SDWA: sign-extend source 1.
    Sext1,
    /// SDWA: source 0 is scalar.
    S0,
    /// SDWA: source 1 is scalar.
    S1,
    /// SDWA of a compare: SDST is used instead of VCC.
    SdEn,
}

/// A run of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    /// The lowest bit.
    pub low: u8,
    /// How many bits.
    pub width: u8,
}

impl Bits {
    /// The bits from `low` to `high`, both included, as the manuals write them.
    pub const fn new(high: u8, low: u8) -> Bits {
        Bits { low, width: high - low + 1 }
    }

    /// Ones in the place of these bits.
    pub const fn mask(self) -> u128 {
        ((1u128 << self.width) - 1) << self.low
    }

    /// The value of these bits in `words`. No field is wider than 32 bits.
    pub const fn get(self, words: u128) -> u32 {
        ((words & self.mask()) >> self.low) as u32
    }

    /// `value` in the place of these bits; excess high bits of the value are lost.
    pub const fn put(self, value: u32) -> u128 {
        ((value as u128) << self.low) & self.mask()
    }

    /// Whether `value` fits.
    pub const fn fits(self, value: u32) -> bool {
        (value as u64) < 1u64 << self.width
    }
}

/// Where one format keeps its fields on one target.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The format.
    pub encoding: Encoding,
    /// Bytes without literal, DPP or SDWA dword.
    pub size_bytes: u8,
    /// The bits that identify the format.
    pub prefix_mask: u128,
    /// Their values.
    pub prefix: u128,
    /// The opcode; of no width in VOPD, which has two.
    pub opcode: Bits,
    /// Every other field.
    pub fields: &'static [(Field, Bits)],
}

impl Layout {
    /// Where a field lies, if the format has it.
    pub fn field(&self, field: Field) -> Option<Bits> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, bits)| *bits)
    }

    fn matches(&self, words: u128) -> bool {
        words & self.prefix_mask == self.prefix
    }
}

/// The layout of a format, if the target has it.
pub fn layout(target: Target, encoding: Encoding) -> Option<&'static Layout> {
    layouts(target).iter().find(|layout| layout.encoding == encoding)
}

/// The first layout whose identifying bits match. VOP3 stands for VOP3SD too, VOP3P for VOP3P-MAI: the
/// opcode tells them apart.
pub fn identify(target: Target, words: u128) -> Option<&'static Layout> {
    layouts(target).iter().find(|layout| layout.matches(words))
}

/// Every layout of a target.
pub fn layouts(target: Target) -> &'static [Layout] {
    match target {
        Target::Gfx950 => &gfx950::LAYOUTS,
        Target::Gfx1100 => &gfx1100::LAYOUTS,
    }
}

/// The dword of a data-parallel primitive or of sub-dword addressing: fields relative to its own bit 0.
pub mod extension {
    use super::Bits;
    use super::Field;

    /// DPP16 on both targets (RDNA3 ISA, "DPP16"; CDNA3 ISA, "VOP_DPP").
    #[rustfmt::skip]
    pub const DPP16: &[(Field, Bits)] = fields![
        DppSrc0[7:0] DppCtrl[16:8] Fi[18:18] BoundCtrl[19:19] Mods0[21:20] Mods1[23:22]
        BankMask[27:24] RowMask[31:28]
    ];
    /// DPP8 (RDNA3 ISA, "DPP8").
    pub const DPP8: &[(Field, Bits)] = fields![DppSrc0[7:0] Dpp8Sel[31:8]];
    /// SDWA of VOP1 and VOP2 (CDNA3 ISA, "VOP_SDWA").
    #[rustfmt::skip]
    pub const SDWA: &[(Field, Bits)] = fields![
        DppSrc0[7:0] DstSel[10:8] DstUnused[12:11] Clamp[13:13] Omod[15:14]
        Src0Sel[18:16] Sext0[19:19] Mods0[21:20] S0[23:23] Src1Sel[26:24] Sext1[27:27] Mods1[29:28] S1[31:31]
    ];
    /// SDWA of VOPC (CDNA3 ISA, "VOP_SDWAB").
    #[rustfmt::skip]
    pub const SDWA_COMPARE: &[(Field, Bits)] = fields![
        DppSrc0[7:0] Sdst[14:8] SdEn[15:15]
        Src0Sel[18:16] Sext0[19:19] Mods0[21:20] S0[23:23] Src1Sel[26:24] Sext1[27:27] Mods1[29:28] S1[31:31]
    ];
}
