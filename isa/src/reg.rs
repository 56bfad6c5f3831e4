//! Operands of a decoded instruction: registers, special registers, constants.

use crate::target::Target;

/// One operand of a decoded instruction.
///
/// A register names the first of a tuple; how many registers it covers follows from the operand's
/// [`Ty`](crate::table::Ty) in the instruction's row (`s[4:7]` is `Sgpr(4)` with a 128-bit type).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The instruction was encoded without this operand (`off`, no SGPR offset).
    #[default]
    None,
    /// A scalar register, 0–101 on gfx950 and 0–105 on gfx1100.
    Sgpr(u8),
    /// A vector register. Which 16-bit half is meant is in [`Modifiers::op_sel`](crate::inst::Modifiers::op_sel).
    Vgpr(u8),
    /// An accumulation register (gfx950 only).
    Acc(u8),
    /// A register with a name of its own.
    Special(SpecialReg),
    /// An inline integer constant, −16 to 64.
    Int(i32),
    /// An inline floating-point constant; its bits depend on the operand's width.
    Float(InlineFloat),
    /// The 32-bit literal that follows the instruction. A 64-bit float operand takes it as its high
    /// half, a signed 64-bit integer sign-extends it, any other 64-bit operand zero-extends it.
    Literal(u32),
    /// The SIMM16 field of SOPK and SOPP, as its raw bits; the row's type says whether it is signed.
    Imm(u16),
}

/// A register with a name of its own. Its number depends on the target: resolve it with
/// [`SpecialReg::from_code`] and [`SpecialReg::code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialReg {
    /// Low half of the scratch base (gfx950).
    FlatScratchLo,
    /// High half of the scratch base (gfx950).
    FlatScratchHi,
    /// Low half of the XNACK mask (gfx950).
    XnackMaskLo,
    /// High half of the XNACK mask (gfx950).
    XnackMaskHi,
    /// Low half of the vector condition code; all of it in wave32.
    VccLo,
    /// High half of the vector condition code; plain storage in wave32.
    VccHi,
    /// Trap temporaries, 0–15.
    Ttmp(u8),
    /// The memory register (LDS base, message payload, relative indexing).
    M0,
    /// Reads zero, discards writes (gfx1100).
    Null,
    /// Low half of the execution mask; all of it in wave32.
    ExecLo,
    /// High half of the execution mask; plain storage in wave32.
    ExecHi,
    /// Base of the LDS aperture.
    SrcSharedBase,
    /// Limit of the LDS aperture.
    SrcSharedLimit,
    /// Base of the scratch aperture.
    SrcPrivateBase,
    /// Limit of the scratch aperture.
    SrcPrivateLimit,
    /// Primitive-ordered pixel shading: wave id (gfx950).
    SrcPopsExitingWaveId,
    /// 1 when VCC is zero (gfx950).
    SrcVccz,
    /// 1 when EXEC is zero (gfx950).
    SrcExecz,
    /// The scalar condition code as a source.
    SrcScc,
}

/// An inline floating-point constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InlineFloat {
    /// 0.5
    Half,
    /// −0.5
    NegHalf,
    /// 1.0
    One,
    /// −1.0
    NegOne,
    /// 2.0
    Two,
    /// −2.0
    NegTwo,
    /// 4.0
    Four,
    /// −4.0
    NegFour,
    /// 1/(2π)
    InvTwoPi,
}

impl InlineFloat {
    /// In the order of their codes, 240–248.
    pub const ALL: [InlineFloat; 9] = [
        InlineFloat::Half,
        InlineFloat::NegHalf,
        InlineFloat::One,
        InlineFloat::NegOne,
        InlineFloat::Two,
        InlineFloat::NegTwo,
        InlineFloat::Four,
        InlineFloat::NegFour,
        InlineFloat::InvTwoPi,
    ];

    /// The constant as binary16 bits.
    pub const fn bits16(self) -> u16 {
        match self {
            InlineFloat::Half => 0x3800,
            InlineFloat::NegHalf => 0xb800,
            InlineFloat::One => 0x3c00,
            InlineFloat::NegOne => 0xbc00,
            InlineFloat::Two => 0x4000,
            InlineFloat::NegTwo => 0xc000,
            InlineFloat::Four => 0x4400,
            InlineFloat::NegFour => 0xc400,
            InlineFloat::InvTwoPi => 0x3118,
        }
    }

    /// The constant as binary32 bits.
    pub const fn bits32(self) -> u32 {
        match self {
            InlineFloat::Half => 0x3f00_0000,
            InlineFloat::NegHalf => 0xbf00_0000,
            InlineFloat::One => 0x3f80_0000,
            InlineFloat::NegOne => 0xbf80_0000,
            InlineFloat::Two => 0x4000_0000,
            InlineFloat::NegTwo => 0xc000_0000,
            InlineFloat::Four => 0x4080_0000,
            InlineFloat::NegFour => 0xc080_0000,
            InlineFloat::InvTwoPi => 0x3e22_f983,
        }
    }

    /// The constant as binary64 bits.
    pub const fn bits64(self) -> u64 {
        match self {
            InlineFloat::Half => 0x3fe0_0000_0000_0000,
            InlineFloat::NegHalf => 0xbfe0_0000_0000_0000,
            InlineFloat::One => 0x3ff0_0000_0000_0000,
            InlineFloat::NegOne => 0xbff0_0000_0000_0000,
            InlineFloat::Two => 0x4000_0000_0000_0000,
            InlineFloat::NegTwo => 0xc000_0000_0000_0000,
            InlineFloat::Four => 0x4010_0000_0000_0000,
            InlineFloat::NegFour => 0xc010_0000_0000_0000,
            InlineFloat::InvTwoPi => 0x3fc4_5f30_6dc9_c882,
        }
    }
}

impl SpecialReg {
    /// The register that `code` names as a scalar operand on `target`.
    ///
    /// Source: CDNA3 and RDNA3 ISA manuals, "scalar operands". M0 and NULL trade places: 124 is M0 on
    /// gfx950 and NULL on gfx1100, 125 is M0 on gfx1100 and unassigned on gfx950. gfx1100 has no VCCZ,
    /// EXECZ and exiting wave id any more (LLVM 22's assembler).
    pub const fn from_code(target: Target, code: u32) -> Option<SpecialReg> {
        let is_gfx950 = matches!(target, Target::Gfx950);
        let reg = match code {
            102 if is_gfx950 => SpecialReg::FlatScratchLo,
            103 if is_gfx950 => SpecialReg::FlatScratchHi,
            104 if is_gfx950 => SpecialReg::XnackMaskLo,
            105 if is_gfx950 => SpecialReg::XnackMaskHi,
            106 => SpecialReg::VccLo,
            107 => SpecialReg::VccHi,
            108..=123 => SpecialReg::Ttmp((code - 108) as u8),
            124 if is_gfx950 => SpecialReg::M0,
            124 => SpecialReg::Null,
            125 if !is_gfx950 => SpecialReg::M0,
            126 => SpecialReg::ExecLo,
            127 => SpecialReg::ExecHi,
            235 => SpecialReg::SrcSharedBase,
            236 => SpecialReg::SrcSharedLimit,
            237 => SpecialReg::SrcPrivateBase,
            238 => SpecialReg::SrcPrivateLimit,
            239 if is_gfx950 => SpecialReg::SrcPopsExitingWaveId,
            251 if is_gfx950 => SpecialReg::SrcVccz,
            252 if is_gfx950 => SpecialReg::SrcExecz,
            253 => SpecialReg::SrcScc,
            _ => return None,
        };
        Some(reg)
    }

    /// The code of this register on `target`, if the target has it.
    pub const fn code(self, target: Target) -> Option<u32> {
        let is_gfx950 = matches!(target, Target::Gfx950);
        let code = match self {
            SpecialReg::FlatScratchLo if is_gfx950 => 102,
            SpecialReg::FlatScratchHi if is_gfx950 => 103,
            SpecialReg::XnackMaskLo if is_gfx950 => 104,
            SpecialReg::XnackMaskHi if is_gfx950 => 105,
            SpecialReg::VccLo => 106,
            SpecialReg::VccHi => 107,
            SpecialReg::Ttmp(index @ 0..=15) => 108 + index as u32,
            SpecialReg::M0 if is_gfx950 => 124,
            SpecialReg::M0 => 125,
            SpecialReg::Null if !is_gfx950 => 124,
            SpecialReg::ExecLo => 126,
            SpecialReg::ExecHi => 127,
            SpecialReg::SrcSharedBase => 235,
            SpecialReg::SrcSharedLimit => 236,
            SpecialReg::SrcPrivateBase => 237,
            SpecialReg::SrcPrivateLimit => 238,
            SpecialReg::SrcPopsExitingWaveId if is_gfx950 => 239,
            SpecialReg::SrcVccz if is_gfx950 => 251,
            SpecialReg::SrcExecz if is_gfx950 => 252,
            SpecialReg::SrcScc => 253,
            _ => return None,
        };
        Some(code)
    }

    /// How many registers an operand that starts here may cover.
    const fn max_registers(self) -> u32 {
        match self {
            SpecialReg::FlatScratchLo
            | SpecialReg::XnackMaskLo
            | SpecialReg::VccLo
            | SpecialReg::ExecLo => 2,
            SpecialReg::SrcSharedBase
            | SpecialReg::SrcSharedLimit
            | SpecialReg::SrcPrivateBase
            | SpecialReg::SrcPrivateLimit
            | SpecialReg::SrcPopsExitingWaveId
            | SpecialReg::SrcVccz
            | SpecialReg::SrcExecz
            | SpecialReg::SrcScc => 2,
            SpecialReg::Null => 16,
            SpecialReg::Ttmp(index) => 16u32.saturating_sub(index as u32),
            _ => 1,
        }
    }
}

/// The code in a 9-bit source field that says "a 32-bit literal follows".
pub const LITERAL_CODE: u32 = 255;
/// The first code of the VGPRs in a 9-bit source field.
pub const VGPR_CODE: u32 = 256;

impl Operand {
    /// The operand that a scalar source code (0–254) names. Literals and VGPRs are not scalar codes.
    pub fn from_scalar_code(target: Target, code: u32) -> Option<Operand> {
        match code {
            0..=105 if code < u32::from(target.limits().addressable_sgprs) => {
                Some(Operand::Sgpr(code as u8))
            }
            128..=192 => Some(Operand::Int(code as i32 - 128)),
            193..=208 => Some(Operand::Int(192 - code as i32)),
            240..=248 => Some(Operand::Float(InlineFloat::ALL[code as usize - 240])),
            _ => SpecialReg::from_code(target, code).map(Operand::Special),
        }
    }

    /// The scalar source code of this operand on `target`: 255 for a literal, `None` for vector
    /// registers and for what the target does not have.
    pub fn scalar_code(self, target: Target) -> Option<u32> {
        match self {
            Operand::Sgpr(index) => (u32::from(index)
                < u32::from(target.limits().addressable_sgprs))
            .then_some(u32::from(index)),
            Operand::Special(reg) => reg.code(target),
            Operand::Int(value @ 0..=64) => Some(128 + value as u32),
            Operand::Int(value @ -16..=-1) => Some(192 + value.unsigned_abs()),
            Operand::Float(value) => Some(240 + value as u32),
            Operand::Literal(_) => Some(LITERAL_CODE),
            _ => None,
        }
    }

    /// Whether the operand can be written: a register.
    pub const fn is_register(self) -> bool {
        matches!(self, Operand::Sgpr(_) | Operand::Vgpr(_) | Operand::Acc(_) | Operand::Special(_))
    }

    /// Whether this register may be the first of a tuple of `registers` on `target`.
    ///
    /// Scalar pairs are even, larger scalar tuples start at a multiple of four (ISA manuals, "SGPR
    /// alignment"). Vector tuples are even on gfx950 (LLVM 22, `FeatureRequiresAlignedVGPRs`) and free on
    /// gfx1100. Constants and absent operands fit every width.
    pub fn fits_tuple(self, registers: u32, target: Target) -> bool {
        let scalar_alignment = registers.min(4).next_power_of_two();
        match self {
            Operand::Sgpr(first) => {
                let (first, end) = (u32::from(first), u32::from(target.limits().addressable_sgprs));
                first % scalar_alignment == 0 && first + registers <= end
            }
            Operand::Special(reg @ SpecialReg::Ttmp(index)) => {
                u32::from(index) % scalar_alignment == 0 && registers <= reg.max_registers()
            }
            Operand::Special(reg) => registers <= reg.max_registers(),
            Operand::Vgpr(first) | Operand::Acc(first) => {
                let is_aligned = registers < 2 || first % 2 == 0 || target == Target::Gfx1100;
                is_aligned && u32::from(first) + registers <= 256
            }
            _ => true,
        }
    }
}

impl From<SpecialReg> for Operand {
    fn from(reg: SpecialReg) -> Operand {
        Operand::Special(reg)
    }
}
