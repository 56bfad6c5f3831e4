//! Registers in one numbering, for whoever asks whether two instructions touch the same one.
//!
//! | slots | registers |
//! |---|---|
//! | 0–127 | scalars by their operand code; VCC 106–107, trap temporaries from 108, M0 124, EXEC 126–127 |
//! | 128–383 | architectural VGPRs |
//! | 384–639 | accumulation VGPRs |
//! | 1024– | hardware registers of S_GETREG and S_SETREG, by their number |
//!
//! FLAT_SCRATCH and XNACK_MASK of gfx950 have 102–105, which are ordinary SGPRs on gfx1100.

use crate::reg::{Operand, SpecialReg};
use crate::sysreg::HwRegField;

/// First slot of the architectural VGPRs.
pub const VGPRS: u16 = 128;
/// First slot of the accumulation VGPRs.
pub const ACC_VGPRS: u16 = 384;
/// First slot of the hardware registers.
const HARDWARE: u16 = 1024;

/// The part of a register that 16-bit operands of gfx1100 name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Half {
    /// All of it.
    #[default]
    Both,
    /// Bits 15:0.
    Low,
    /// Bits 31:16.
    High,
}

/// A run of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slots {
    /// The first one.
    pub first: u16,
    /// How many.
    pub count: u16,
    /// The part of each.
    pub half: Half,
}

impl Slots {
    /// VCC: one register in wave32, two in wave64; likewise the other lane masks.
    pub const fn vcc(wave_width: u32) -> Slots {
        Slots { first: 106, count: (wave_width / 32) as u16, half: Half::Both }
    }

    /// EXEC.
    pub const fn exec(wave_width: u32) -> Slots {
        Slots { first: 126, count: (wave_width / 32) as u16, half: Half::Both }
    }

    /// M0.
    pub const M0: Slots = Slots { first: 124, count: 1, half: Half::Both };

    /// The registers of an operand, `None` for constants and for registers without a value of their own.
    pub fn of(operand: Operand, registers: u32) -> Option<Slots> {
        let count = u16::try_from(registers).unwrap_or(u16::MAX);
        let first = match operand {
            Operand::Sgpr(number) => u16::from(number),
            Operand::Vgpr(number) => VGPRS + u16::from(number),
            Operand::Acc(number) => ACC_VGPRS + u16::from(number),
            Operand::Special(register) => u16::from(special(register)?),
            _ => return None,
        };
        Some(Slots { first, count, half: Half::Both })
    }

    /// A hardware register; two fields of one register are the same slot.
    pub fn hardware(field: HwRegField) -> Slots {
        Slots { first: HARDWARE + (field.register & 0x3f) as u16, count: 1, half: Half::Both }
    }

    /// Whether they are vector registers.
    pub const fn is_vector(self) -> bool {
        self.first >= VGPRS && self.first < HARDWARE
    }

    const fn end(self) -> u16 {
        self.first.saturating_add(self.count)
    }

    /// Whether both have a register in common.
    pub const fn overlaps(self, other: Slots) -> bool {
        let apart =
            matches!((self.half, other.half), (Half::Low, Half::High) | (Half::High, Half::Low));
        !apart && self.first < other.end() && other.first < self.end()
    }

    /// These registers without those of `other`; all of them where `other` would cut them in two or has only
    /// one half of each.
    pub fn without(self, other: Slots) -> Slots {
        if other.half != Half::Both && other.half != self.half {
            return self;
        }
        let (first, end) = if other.first <= self.first {
            (self.first.max(other.end()), self.end())
        } else if other.end() >= self.end() {
            (self.first, self.end().min(other.first))
        } else {
            return self;
        };
        Slots { first, count: end.saturating_sub(first), ..self }
    }

    /// The first register of both, if they overlap.
    #[inline]
    pub fn common(self, other: Slots) -> Option<u16> {
        self.overlaps(other).then(|| self.first.max(other.first))
    }
}

/// The slot of a special register that holds a value of its own.
pub const fn special(register: SpecialReg) -> Option<u8> {
    Some(match register {
        SpecialReg::FlatScratchLo => 102,
        SpecialReg::FlatScratchHi => 103,
        SpecialReg::XnackMaskLo => 104,
        SpecialReg::XnackMaskHi => 105,
        SpecialReg::VccLo => 106,
        SpecialReg::VccHi => 107,
        SpecialReg::Ttmp(number @ 0..=15) => 108 + number,
        SpecialReg::M0 => 124,
        SpecialReg::ExecLo => 126,
        SpecialReg::ExecHi => 127,
        _ => return None,
    })
}

/// The name of a slot as assembly writes it.
pub fn name(slot: u16) -> String {
    match slot {
        106 => "vcc_lo".to_owned(),
        107 => "vcc_hi".to_owned(),
        124 => "m0".to_owned(),
        126 => "exec_lo".to_owned(),
        127 => "exec_hi".to_owned(),
        0..VGPRS => format!("s{slot}"),
        VGPRS..ACC_VGPRS => format!("v{}", slot - VGPRS),
        ACC_VGPRS..HARDWARE => format!("a{}", slot - ACC_VGPRS),
        _ => format!("hwreg({})", slot - HARDWARE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_register_are_apart() {
        let part = |half| Slots { first: VGPRS + 3, count: 1, half };
        let (low, high, both) = (part(Half::Low), part(Half::High), part(Half::Both));
        assert!(!low.overlaps(high) && !high.overlaps(low));
        assert!(low.overlaps(both) && both.overlaps(high) && low.overlaps(low));
        assert_eq!(low.without(both).count, 0);
        assert_eq!(both.without(low), both);
        assert_eq!(low.without(high), low);
    }

    #[test]
    fn runs_overlap_and_shrink_by_their_registers() {
        let run = |first, count| Slots { first, count, half: Half::Both };
        assert_eq!(run(4, 4).common(run(7, 2)), Some(7));
        assert_eq!(run(4, 4).common(run(8, 2)), None);
        assert_eq!(run(4, 4).without(run(2, 4)), run(6, 2));
        assert_eq!(run(4, 4).without(run(7, 4)), run(4, 3));
        assert_eq!(run(4, 4).without(run(5, 1)), run(4, 4));
        assert_eq!(run(4, 4).without(run(4, 4)).count, 0);
        assert_eq!(run(4, 4).without(run(9, 4)), run(4, 4));
        assert_eq!(run(4, 4).without(run(0, 2)), run(4, 4));
        assert_eq!(
            Slots::of(Operand::Vgpr(255), 1).map(|slots| name(slots.first)),
            Some("v255".into())
        );
        assert_eq!(Slots::of(Operand::Acc(0), 1).map(|slots| name(slots.first)), Some("a0".into()));
        assert_eq!(Slots::of(Operand::Int(1), 1), None);
    }
}
