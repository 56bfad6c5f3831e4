//! Hardware registers, messages and issue hints: what the immediates of S_GETREG, S_SETREG, S_SENDMSG
//! and S_DELAY_ALU mean.
//!
//! Sources: CDNA3 and RDNA3 ISA manuals; numbers and names as LLVM 22's assembler knows them.

use crate::format::Bits;
use crate::target::Target;

/// A run of bits in a hardware register: the SIMM16 of S_GETREG and S_SETREG.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HwRegField {
    /// The register's number.
    pub register: u32,
    /// Its lowest bit that is read or written.
    pub offset: u32,
    /// How many bits, 1 to 32.
    pub width: u32,
}

impl HwRegField {
    const REGISTER: Bits = Bits::new(5, 0);
    const OFFSET: Bits = Bits::new(10, 6);
    const WIDTH_MINUS_1: Bits = Bits::new(15, 11);

    /// The field that an immediate names.
    pub fn from_imm(imm: u16) -> HwRegField {
        let word = u128::from(imm);
        HwRegField {
            register: Self::REGISTER.get(word),
            offset: Self::OFFSET.get(word),
            width: Self::WIDTH_MINUS_1.get(word) + 1,
        }
    }

    /// The immediate that names this field; `None` when a part is out of range.
    pub fn to_imm(self) -> Option<u16> {
        let width_minus_1 = self.width.checked_sub(1)?;
        let parts = [
            (Self::REGISTER, self.register),
            (Self::OFFSET, self.offset),
            (Self::WIDTH_MINUS_1, width_minus_1),
        ];
        let fits = parts.iter().all(|(bits, value)| bits.fits(*value));
        let word = parts.iter().fold(0, |word, (bits, value)| word | bits.put(*value));
        fits.then_some(word as u16)
    }

    /// The register's name on `target`, if it has one.
    pub fn name(self, target: Target) -> Option<&'static str> {
        let names = match target {
            Target::Gfx950 => HWREGS_GFX950,
            Target::Gfx1100 => HWREGS_GFX1100,
        };
        find(names, self.register)
    }
}

const HWREGS_GFX950: &[(u32, &str)] = &[
    (1, "HW_REG_MODE"),
    (2, "HW_REG_STATUS"),
    (3, "HW_REG_TRAPSTS"),
    (4, "HW_REG_HW_ID"),
    (5, "HW_REG_GPR_ALLOC"),
    (6, "HW_REG_LDS_ALLOC"),
    (7, "HW_REG_IB_STS"),
    (15, "HW_REG_SH_MEM_BASES"),
    (16, "HW_REG_TBA_LO"),
    (17, "HW_REG_TBA_HI"),
    (18, "HW_REG_TMA_LO"),
    (19, "HW_REG_TMA_HI"),
    (20, "HW_REG_XCC_ID"),
    (21, "HW_REG_SQ_PERF_SNAPSHOT_DATA"),
    (22, "HW_REG_SQ_PERF_SNAPSHOT_DATA1"),
    (23, "HW_REG_SQ_PERF_SNAPSHOT_PC_LO"),
    (24, "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"),
];

const HWREGS_GFX1100: &[(u32, &str)] = &[
    (1, "HW_REG_MODE"),
    (2, "HW_REG_STATUS"),
    (3, "HW_REG_TRAPSTS"),
    (5, "HW_REG_GPR_ALLOC"),
    (6, "HW_REG_LDS_ALLOC"),
    (7, "HW_REG_IB_STS"),
    (15, "HW_REG_SH_MEM_BASES"),
    (18, "HW_REG_PERF_SNAPSHOT_PC_LO"),
    (19, "HW_REG_PERF_SNAPSHOT_PC_HI"),
    (20, "HW_REG_FLAT_SCR_LO"),
    (21, "HW_REG_FLAT_SCR_HI"),
    (23, "HW_REG_HW_ID1"),
    (24, "HW_REG_HW_ID2"),
    (27, "HW_REG_PERF_SNAPSHOT_DATA"),
    (29, "HW_REG_SHADER_CYCLES"),
];

/// Bits of the MODE register. Source: CDNA3 and RDNA3 ISA manuals, "mode register".
pub mod mode {
    use super::Bits;

    /// The number of MODE among the hardware registers.
    pub const REGISTER: u32 = 1;
    /// Rounding of binary32: 0 to nearest even, 1 up, 2 down, 3 to zero.
    pub const ROUND_F32: Bits = Bits::new(1, 0);
    /// Rounding of binary16 and binary64.
    pub const ROUND_F16_F64: Bits = Bits::new(3, 2);
    /// Denormals of binary32: bit 0 keeps them in sources, bit 1 in results.
    pub const DENORM_F32: Bits = Bits::new(5, 4);
    /// Denormals of binary16 and binary64.
    pub const DENORM_F16_F64: Bits = Bits::new(7, 6);
    /// CLAMP turns NaN into zero.
    pub const DX10_CLAMP: Bits = Bits::new(8, 8);
    /// IEEE handling of signalling NaNs.
    pub const IEEE: Bits = Bits::new(9, 9);
}

/// Messages of S_SENDMSG by number. Graphics messages of gfx950 with operation and stream have no name
/// here.
pub const fn messages(target: Target) -> &'static [(u32, &'static str)] {
    match target {
        Target::Gfx950 => &[
            (1, "MSG_INTERRUPT"),
            (4, "MSG_SAVEWAVE"),
            (5, "MSG_STALL_WAVE_GEN"),
            (6, "MSG_HALT_WAVES"),
            (7, "MSG_ORDERED_PS_DONE"),
            (8, "MSG_EARLY_PRIM_DEALLOC"),
            (9, "MSG_GS_ALLOC_REQ"),
            (10, "MSG_GET_DOORBELL"),
        ],
        Target::Gfx1100 => &[
            (1, "MSG_INTERRUPT"),
            (2, "MSG_HS_TESSFACTOR"),
            (MSG_DEALLOC_VGPRS as u32, "MSG_DEALLOC_VGPRS"),
            (5, "MSG_STALL_WAVE_GEN"),
            (6, "MSG_HALT_WAVES"),
            (9, "MSG_GS_ALLOC_REQ"),
            (128, "MSG_RTN_GET_DOORBELL"),
            (129, "MSG_RTN_GET_DDID"),
            (130, "MSG_RTN_GET_TMA"),
            (131, "MSG_RTN_GET_REALTIME"),
            (132, "MSG_RTN_SAVE_WAVE"),
            (133, "MSG_RTN_GET_TBA"),
            (134, "MSG_RTN_GET_TBA_TO_PC"),
        ],
    }
}

/// The message by which a wave of gfx1100 gives its VGPRs back before it ends.
pub const MSG_DEALLOC_VGPRS: u16 = 3;

/// The name of a message on `target`, if it has one.
pub fn message_name(target: Target, message: u16) -> Option<&'static str> {
    find(messages(target), message.into())
}

/// The parts of an S_DELAY_ALU hint: two dependencies, and how many instructions lie between the
/// instructions that have them. A hint has no effect on results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DelayHint {
    /// The dependency of the next instruction.
    pub first: u32,
    /// Distance to the instruction that the second dependency belongs to.
    pub skip: u32,
    /// The second dependency.
    pub second: u32,
}

impl DelayHint {
    /// Names of dependencies, by number; 0 is none.
    pub const DEPENDENCIES: [&'static str; 12] = [
        "NO_DEP",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
        "FMA_ACCUM_CYCLE_1",
        "SALU_CYCLE_1",
        "SALU_CYCLE_2",
        "SALU_CYCLE_3",
    ];
    /// Names of distances, by number.
    pub const SKIPS: [&'static str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];

    /// The parts of an immediate.
    pub fn from_imm(imm: u16) -> DelayHint {
        let word = u128::from(imm);
        DelayHint {
            first: Bits::new(3, 0).get(word),
            skip: Bits::new(6, 4).get(word),
            second: Bits::new(10, 7).get(word),
        }
    }
}

fn find(names: &'static [(u32, &'static str)], number: u32) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hardware_register_fields_round_trip() {
        for imm in 0..=u16::MAX {
            assert_eq!(HwRegField::from_imm(imm).to_imm(), Some(imm));
        }
        let mode_denorm_f32 = HwRegField { register: mode::REGISTER, offset: 4, width: 2 };
        assert_eq!(mode_denorm_f32.to_imm(), Some(0x0901));
        assert_eq!(HwRegField { width: 33, ..mode_denorm_f32 }.to_imm(), None);
        assert_eq!(HwRegField { width: 0, ..mode_denorm_f32 }.to_imm(), None);
    }
}
