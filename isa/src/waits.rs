//! Wait counters: what the immediates of the S_WAITCNT family mean.
//!
//! A counter says at most how many younger operations may still be outstanding, so a count beyond its
//! maximum is clamped when encoding and never wraps.
//!
//! Sources: AMDGPUUsage, memory model; LLVM 22, `AMDGPUBaseInfo` (bit positions), checked against its
//! assembler.

use crate::format::Bits;
use crate::target::Target;

/// The counts of S_WAITCNT: wait until at most this many operations are outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WaitCounts {
    /// Vector memory (on gfx1100 without stores).
    pub vm: u32,
    /// Exports.
    pub exp: u32,
    /// LDS, scalar memory, messages.
    pub lgkm: u32,
}

/// Where a target keeps the counts in SIMM16; VMCNT of gfx950 is in two parts.
struct Places {
    vm_low: Bits,
    vm_high: Option<Bits>,
    exp: Bits,
    lgkm: Bits,
}

const fn places(target: Target) -> Places {
    match target {
        Target::Gfx950 => Places {
            vm_low: Bits::new(3, 0),
            vm_high: Some(Bits::new(15, 14)),
            exp: Bits::new(6, 4),
            lgkm: Bits::new(11, 8),
        },
        Target::Gfx1100 => Places {
            vm_low: Bits::new(15, 10),
            vm_high: None,
            exp: Bits::new(2, 0),
            lgkm: Bits::new(9, 4),
        },
    }
}

impl WaitCounts {
    /// Waits for nothing.
    pub const fn none(target: Target) -> WaitCounts {
        let limits = target.limits();
        WaitCounts { vm: limits.vmcnt_max, exp: limits.expcnt_max, lgkm: limits.lgkmcnt_max }
    }

    /// The counts in an S_WAITCNT immediate.
    pub fn from_imm(target: Target, imm: u16) -> WaitCounts {
        let places = places(target);
        let word = u128::from(imm);
        let high = places.vm_high.map_or(0, |bits| bits.get(word) << places.vm_low.width);
        WaitCounts {
            vm: places.vm_low.get(word) | high,
            exp: places.exp.get(word),
            lgkm: places.lgkm.get(word),
        }
    }

    /// The S_WAITCNT immediate of these counts, each clamped to its maximum. Unused bits are zero.
    pub fn to_imm(self, target: Target) -> u16 {
        let (places, limits) = (places(target), target.limits());
        let vm = self.vm.min(limits.vmcnt_max);
        let high = places.vm_high.map_or(0, |bits| bits.put(vm >> places.vm_low.width));
        let word = places.vm_low.put(vm)
            | high
            | places.exp.put(self.exp.min(limits.expcnt_max))
            | places.lgkm.put(self.lgkm.min(limits.lgkmcnt_max));
        word as u16
    }
}

/// One count of S_WAITCNT_DEPCTR (gfx1100).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DepCount {
    /// Its name in assembly, without the prefix `depctr_`.
    pub name: &'static str,
    /// Where it lies in SIMM16.
    pub bits: Bits,
}

/// The counts of S_WAITCNT_DEPCTR; a count at its maximum waits for nothing.
///
/// Source: LLVM 22, `AMDGPUAsmUtils`, `DepCtrInfo`.
pub const DEP_COUNTS: [DepCount; 7] = [
    DepCount { name: "hold_cnt", bits: Bits::new(7, 7) },
    DepCount { name: "sa_sdst", bits: Bits::new(0, 0) },
    DepCount { name: "va_vdst", bits: Bits::new(15, 12) },
    DepCount { name: "va_sdst", bits: Bits::new(11, 9) },
    DepCount { name: "va_ssrc", bits: Bits::new(8, 8) },
    DepCount { name: "va_vcc", bits: Bits::new(1, 1) },
    DepCount { name: "vm_vsrc", bits: Bits::new(4, 2) },
];

impl DepCount {
    /// The count in an immediate, or `None` when it waits for nothing.
    pub fn in_imm(&self, imm: u16) -> Option<u32> {
        let count = self.bits.get(imm.into());
        let max = (1 << self.bits.width) - 1;
        (count < max).then_some(count)
    }
}

/// The bits of an S_WAITCNT_DEPCTR immediate that no count uses.
pub fn unused_dep_bits() -> u16 {
    let used = DEP_COUNTS.iter().fold(0, |used, count| used | count.bits.mask());
    !(used as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every figure of the two encodings as LLVM 22's assembler gives them.
    #[test]
    fn immediates_of_both_targets() {
        let none = u32::MAX;
        let cases = [
            (Target::Gfx950, 0, 0, 0, 0x0000),
            (Target::Gfx950, none, none, none, 0xcf7f),
            (Target::Gfx950, 0, none, none, 0x0f70),
            (Target::Gfx950, none, none, 0, 0xc07f),
            (Target::Gfx950, 0, none, 0, 0x0070),
            (Target::Gfx950, 17, none, none, 0x4f71),
            (Target::Gfx1100, 0, 0, 0, 0x0000),
            (Target::Gfx1100, none, none, none, 0xfff7),
            (Target::Gfx1100, 0, none, none, 0x03f7),
            (Target::Gfx1100, none, none, 0, 0xfc07),
            (Target::Gfx1100, 0, none, 0, 0x0007),
            (Target::Gfx1100, 17, 3, 33, 0x4613),
        ];
        for (target, vm, exp, lgkm, imm) in cases {
            assert_eq!(
                WaitCounts { vm, exp, lgkm }.to_imm(target),
                imm,
                "{target} vm {vm} exp {exp} lgkm {lgkm}"
            );
        }
    }

    #[test]
    fn maxima() {
        let maxima = Target::ALL.map(WaitCounts::none);
        assert_eq!(maxima[0], WaitCounts { vm: 63, exp: 7, lgkm: 15 });
        assert_eq!(maxima[1], WaitCounts { vm: 63, exp: 7, lgkm: 63 });
    }

    #[test]
    fn every_immediate_round_trips_in_the_bits_that_mean_something() {
        for target in Target::ALL {
            let used = WaitCounts::none(target).to_imm(target);
            for imm in 0..=u16::MAX {
                assert_eq!(
                    WaitCounts::from_imm(target, imm).to_imm(target),
                    imm & used,
                    "{target} {imm:#06x}"
                );
            }
        }
    }

    #[test]
    fn va_vdst_0_is_0x0f9f() {
        let waits: Vec<_> = DEP_COUNTS
            .iter()
            .filter_map(|count| Some((count.name, count.in_imm(0x0f9f)?)))
            .collect();
        assert_eq!(waits, [("va_vdst", 0)]);
        assert_eq!(unused_dep_bits(), 0x0060);
    }
}
