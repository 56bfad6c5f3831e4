//! Operands resolved: where sources come from, where results go, which register slots they cover.

use isa::reg::SpecialReg;
use isa::slots;
use isa::table::{Element, Ty};
use isa::{Operand, Target};

use crate::wave::FIRST_ACC;

/// High halves of the addresses of the LDS and scratch apertures, as FLAT instructions and
/// `src_shared_base`, `src_private_base` see them. The values are the emulator's choice.
pub(crate) const SHARED_APERTURE: u32 = 0x0001_0000;
/// See [`SHARED_APERTURE`].
pub(crate) const PRIVATE_APERTURE: u32 = 0x0002_0000;

/// Where a source comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The instruction does not have it.
    None,
    /// Vector registers from this number on.
    Vector(u16),
    /// Scalar registers from this number on.
    Scalar(u8),
    /// A constant in the format of the operand.
    Const(u64),
    /// 1 when VCC is zero.
    Vccz,
    /// 1 when EXEC is zero.
    Execz,
    /// The scalar condition code.
    Scc,
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dest {
    /// The instruction does not have it, or it is discarded.
    None,
    /// Vector registers from this number on.
    Vector(u16),
    /// Scalar registers from this number on.
    Scalar(u8),
}

/// A run of register slots (see `checks::waits`) that an instruction reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// First slot: a scalar register's number, or 128 plus a vector register's.
    pub first: u16,
    /// Number of slots.
    pub count: u8,
    /// Written, and not merely read.
    pub is_destination: bool,
}

impl Span {
    #[inline]
    pub(crate) fn slots(self) -> impl Iterator<Item = usize> {
        (self.first..self.first + u16::from(self.count)).map(usize::from)
    }

    fn end(self) -> u16 {
        self.first + u16::from(self.count)
    }

    pub(crate) fn overlaps(self, other: Span) -> bool {
        self.first < other.end() && other.first < self.end()
    }

    /// The name of the first register that two spans share.
    pub(crate) fn common(self, other: Span) -> String {
        slots::name(self.first.max(other.first))
    }
}

/// The slot of a special register that holds a value of its own.
pub(crate) fn special_slot(register: SpecialReg) -> Option<u8> {
    slots::special(register)
}

/// Where an operand's result goes.
pub(crate) fn dest(operand: Operand) -> Dest {
    match operand {
        Operand::Vgpr(number) => Dest::Vector(number.into()),
        Operand::Acc(number) => Dest::Vector(FIRST_ACC + u16::from(number)),
        Operand::Sgpr(number) => Dest::Scalar(number),
        Operand::Special(register) => special_slot(register).map_or(Dest::None, Dest::Scalar),
        _ => Dest::None,
    }
}

/// Where an operand of a type comes from.
pub(crate) fn source(operand: Operand, ty: Ty, target: Target) -> Source {
    match operand {
        Operand::None => Source::None,
        Operand::Vgpr(number) => Source::Vector(number.into()),
        Operand::Acc(number) => Source::Vector(FIRST_ACC + u16::from(number)),
        Operand::Sgpr(number) => Source::Scalar(number),
        Operand::Special(register) => special_source(register, ty),
        Operand::Int(value) => Source::Const(integer(value, ty, target)),
        Operand::Float(value) => Source::Const(match ty {
            Ty::F16 | Ty::B16 | Ty::U16 | Ty::I16 | Ty::F16x2 | Ty::I16x2 => value.bits16().into(),
            Ty::Bf16 | Ty::Bf16x2 => u64::from(value.bits32() >> 16),
            Ty::Tile(Element::F16, _) => value.bits16().into(),
            Ty::Tile(Element::Bf16, _) => u64::from(value.bits32() >> 16),
            Ty::Tile(Element::F64, _) => value.bits64(),
            Ty::Tile(..) => value.bits32().into(),
            Ty::B32x2 | Ty::F32x2 => value.bits32().into(),
            _ if ty.bits(target) == 64 => value.bits64(),
            _ => value.bits32().into(),
        }),
        Operand::Literal(value) => Source::Const(match ty {
            Ty::F64 => u64::from(value) << 32,
            Ty::I64 => i64::from(value.cast_signed()).cast_unsigned(),
            _ => value.into(),
        }),
        Operand::Imm(value) => Source::Const(value.into()),
    }
}

fn integer(value: i32, ty: Ty, target: Target) -> u64 {
    let is_wide = match ty {
        Ty::B32x2 | Ty::F32x2 => false,
        Ty::Tile(element, _) => element == Element::F64,
        _ => ty.bits(target) == 64,
    };
    if is_wide { i64::from(value).cast_unsigned() } else { value.cast_unsigned().into() }
}

fn special_source(register: SpecialReg, ty: Ty) -> Source {
    let aperture = |high: u32| {
        // A 64-bit read gives the address; a 32-bit read its high half (RDNA3 ISA manual, SRC_SHARED_BASE).
        let address = u64::from(high) << 32;
        Source::Const(if matches!(ty, Ty::B64 | Ty::U64 | Ty::I64) { address } else { high.into() })
    };
    match register {
        SpecialReg::SrcVccz => Source::Vccz,
        SpecialReg::SrcExecz => Source::Execz,
        SpecialReg::SrcScc => Source::Scc,
        SpecialReg::SrcSharedBase => aperture(SHARED_APERTURE),
        SpecialReg::SrcPrivateBase => aperture(PRIVATE_APERTURE),
        SpecialReg::SrcSharedLimit | SpecialReg::SrcPrivateLimit => Source::Const(u32::MAX.into()),
        other => special_slot(other).map_or(Source::Const(0), Source::Scalar),
    }
}
