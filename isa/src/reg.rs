//! Operands of a decoded instruction: registers, special registers, constants.



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
    /// Primitive-ordered pixel shading: wave id.
    SrcPopsExitingWaveId,
    /// 1 when VCC is zero.
    SrcVccz,
    /// 1 when EXEC is zero.
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
