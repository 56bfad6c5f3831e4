//! Classes and widths of operands.

use crate::target::Target;

/// Class and width of an operand.
///
/// `B` untyped bits, `U` unsigned, `I` signed, `F` floating point, `Bf` bfloat; `x2` pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// 8 bits in the low byte of a register.
    B8,
    /// Unsigned 8 bits, zero-extended into its register when loaded.
    U8,
    /// Signed 8 bits, sign-extended into its register when loaded.
    I8,
    /// 16 bits.
    B16,
    /// Unsigned 16 bits; zero-extended into its register when loaded from memory.
    U16,
    /// Signed 16 bits; sign-extended into its register when loaded from memory.
    I16,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// 32 bits.
    B32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// binary32.
    F32,
    /// Two 16-bit integers in a register.
    I16x2,
    /// Two binary16 in a register.
    F16x2,
    /// Two bfloat16 in a register.
    Bf16x2,
    /// Four bytes in a register, signed if NEG says so.
    Iu8x4,
    /// binary32, or a binary16 half that OP_SEL_HI and OP_SEL choose; takes NEG and ABS.
    Mix,
    /// 32 bits in an accumulation register.
    Acc,
    /// 64 bits.
    B64,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// binary64.
    F64,
    /// Two 32-bit words in two registers.
    B32x2,
    /// Two binary32 in two registers.
    F32x2,
    /// 96 bits.
    B96,
    /// 128 bits.
    B128,
    /// Two 64-bit words in four registers.
    B64x2,
    /// 256 bits.
    B256,
    /// 512 bits.
    B512,
    /// A matrix fragment: its elements, and the registers that it takes. A 16-bit result of WMMA has one
    /// element a register, every other fragment is packed.
    Tile(Element, u8),
    /// A of the f8f6f4 rows: 8, 6 or 4 registers by the format in CBSZ.
    MxA,
    /// B of the f8f6f4 rows: 8, 6 or 4 registers by the format in BLGP.
    MxB,
    /// One bit a lane: 64 bits on gfx950, 32 on gfx1100.
    Mask,
    /// Vector address of FLAT, GLOBAL, SCRATCH: 64 bits in FLAT and in GLOBAL without scalar address,
    /// otherwise a 32-bit offset.
    VAddr,
    /// Scalar address: 64 bits in GLOBAL, a 32-bit offset in SCRATCH.
    SAddr,
    /// Vector address of buffer instructions: index, offset, or both in a pair (index first).
    BAddr,
    /// SIMM16: a branch target in signed dwords relative to the next instruction.
    Label,
    /// SIMM16: wait counts, see [`crate::waits`].
    WaitCounts,
    /// SIMM16: counts of S_WAITCNT_DEPCTR, see [`crate::waits`].
    DepCounts,
    /// SIMM16: the hint of S_DELAY_ALU.
    Delay,
    /// SIMM16, or the code of a scalar source: a message, see [`crate::sysreg`].
    Message,
    /// SIMM16: a hardware register and a run of its bits, see [`crate::sysreg`].
    HwReg,
    /// SIMM16, or the code of a scalar source: which operands S_SET_GPR_IDX moves, one bit each.
    GprIdx,
}

impl Ty {
    /// Width in bits of the value in registers. For the address types the widest that they can be:
    /// [`Inst::registers`](crate::inst::Inst::registers) knows the actual width.
    pub const fn bits(self, target: Target) -> u32 {
        match self {
            Ty::B8 | Ty::U8 | Ty::I8 => 8,
            Ty::B16 | Ty::U16 | Ty::I16 | Ty::F16 | Ty::Bf16 => 16,
            Ty::Label | Ty::WaitCounts | Ty::DepCounts | Ty::Delay | Ty::Message => 16,
            Ty::HwReg | Ty::GprIdx => 16,
            Ty::B32 | Ty::U32 | Ty::I32 | Ty::F32 | Ty::I16x2 | Ty::F16x2 | Ty::Bf16x2 => 32,
            Ty::Iu8x4 | Ty::Mix | Ty::Acc => 32,
            Ty::B64 | Ty::U64 | Ty::I64 | Ty::F64 | Ty::B32x2 | Ty::F32x2 => 64,
            Ty::VAddr | Ty::SAddr | Ty::BAddr => 64,
            Ty::B96 => 96,
            Ty::B128 | Ty::B64x2 => 128,
            Ty::B256 => 256,
            Ty::B512 => 512,
            Ty::Tile(_, registers) => 32 * registers as u32,
            Ty::MxA | Ty::MxB => 256,
            Ty::Mask => target.wave_width(),
        }
    }

    /// Whether the type is a float, or packed floats.
    pub const fn is_float(self) -> bool {
        if let Ty::Tile(element, _) = self {
            return element.is_float();
        }
        matches!(
            self,
            Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 | Ty::F16x2 | Ty::Bf16x2 | Ty::F32x2 | Ty::Mix
        )
    }

    /// Whether the type is a pair whose halves OP_SEL and OP_SEL_HI choose.
    pub const fn is_packed(self) -> bool {
        matches!(self, Ty::I16x2 | Ty::F16x2 | Ty::Bf16x2 | Ty::F32x2 | Ty::B32x2 | Ty::Mix)
    }

    /// Whether the type is 16 bits wide, so that OP_SEL chooses its half of a register.
    pub const fn is_16_bit(self) -> bool {
        matches!(self, Ty::B16 | Ty::U16 | Ty::I16 | Ty::F16 | Ty::Bf16)
    }
}

/// An element of a matrix fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// binary64.
    F64,
    /// binary32.
    F32,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// 8-bit float, 4 exponent bits (OCP E4M3 on gfx950).
    Fp8,
    /// 8-bit float, 5 exponent bits (OCP E5M2 on gfx950).
    Bf8,
    /// Signed, 32 bits.
    I32,
    /// Signed, 8 bits.
    I8,
    /// 8 bits, signed if NEG says so.
    Iu8,
    /// 4 bits, signed if NEG says so.
    Iu4,
}

impl Element {
    /// Width in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Element::F64 => 64,
            Element::F32 | Element::I32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::Fp8 | Element::Bf8 | Element::I8 | Element::Iu8 => 8,
            Element::Iu4 => 4,
        }
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        !matches!(self, Element::I32 | Element::I8 | Element::Iu8 | Element::Iu4)
    }

    /// Whether NEG says if it is signed.
    pub const fn is_signed_by_neg(self) -> bool {
        matches!(self, Element::Iu8 | Element::Iu4)
    }
}
