//! LDS banks: which lanes access LDS in the same clock, and what an access costs by that.
//!
//! An access of a wave runs in *phases*, each a set of lanes. A phase takes as many clocks as the busiest bank
//! has distinct dwords to serve: lanes on the same dword share it. An access without conflicts takes one
//! clock a phase that has an active lane; what goes beyond is conflicts.
//!
//! Sources: reads of 4, 8 and 16 bytes were measured by AMD's IREE team on MI350X (gfx950) and W7900
//! (gfx1100) and published in amd-shark-ai, pull request 2919; Triton issue 11365 agrees on gfx950. What is
//! not published is marked as *assumed*: writes at 128 bytes a clock in consecutive lanes (published for
//! gfx942's 16-byte writes), narrower accesses like 4 bytes, 12 bytes like 16, atomics like writes whose lanes
//! do not share.

use crate::target::Target;

/// Bytes of a bank's word.
pub const BANK_BYTES: u32 = 4;

/// Banks of a CU's LDS.
pub fn bank_count(target: Target) -> u32 {
    match target {
        Target::Gfx950 => 64,
        Target::Gfx1100 => 32,
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Reads and writes that nothing comes between.
    Atomic,
}

/// The lanes of each clock of an access without conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// One mask of lanes a phase; every lane of a wave is in one of them.
    pub lanes: &'static [u64],
    /// Not published, see the [module](self).
    pub is_assumed: bool,
}

/// Lanes from a first to a last one, both included.
const fn range(first: u32, last: u32) -> u64 {
    (u64::MAX >> (63 - last)) & (u64::MAX << first)
}

/// Phases of equally many consecutive lanes.
const fn consecutive<const N: usize>(lanes_a_phase: u32) -> [u64; N] {
    let mut phases = [0; N];
    let mut phase = 0;
    while phase < N {
        let first = phase as u32 * lanes_a_phase;
        phases[phase] = range(first, first + lanes_a_phase - 1);
        phase += 1;
    }
    phases
}

const BY_64: [u64; 1] = consecutive(64);
const BY_32: [u64; 2] = consecutive(32);
const BY_16: [u64; 4] = consecutive(16);
const BY_8: [u64; 8] = consecutive(8);
const WAVE32_BY_32: [u64; 1] = consecutive(32);
const WAVE32_BY_16: [u64; 2] = consecutive(16);
const WAVE32_BY_8: [u64; 4] = consecutive(8);

/// Reads of 16 bytes on gfx950, as measured.
const GFX950_READ_16: [u64; 4] = [
    range(0, 3) | range(12, 15) | range(20, 27),
    range(32, 35) | range(44, 47) | range(52, 59),
    range(4, 11) | range(16, 19) | range(28, 31),
    range(36, 43) | range(48, 51) | range(60, 63),
];

/// Reads of 16 bytes on gfx1100, as measured.
const GFX1100_READ_16: [u64; 4] = [
    range(0, 3) | range(20, 23),
    range(4, 7) | range(16, 19),
    range(8, 11) | range(28, 31),
    range(12, 15) | range(24, 27),
];

/// The phases of an access of up to 16 bytes a lane.
pub fn phases(target: Target, direction: Direction, bytes_a_lane: u32) -> Phases {
    let is_read = direction == Direction::Read;
    let lanes: &'static [u64] = match (target, is_read, bytes_a_lane) {
        (Target::Gfx950, true, 0..=4) => &BY_64,
        (Target::Gfx950, true, 5..=8) => &BY_32,
        (Target::Gfx950, true, _) => &GFX950_READ_16,
        (Target::Gfx950, false, 0..=4) => &BY_32,
        (Target::Gfx950, false, 5..=8) => &BY_16,
        (Target::Gfx950, false, _) => &BY_8,
        (Target::Gfx1100, _, 0..=4) => &WAVE32_BY_32,
        (Target::Gfx1100, _, 5..=8) => &WAVE32_BY_16,
        (Target::Gfx1100, true, _) => &GFX1100_READ_16,
        (Target::Gfx1100, false, _) => &WAVE32_BY_8,
    };
    Phases { lanes, is_assumed: !is_read || ![4, 8, 16].contains(&bytes_a_lane) }
}

/// Modelled clocks of one access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Without conflicts: phases with an active lane.
    pub free: u32,
    /// By conflicts, on top.
    pub conflict: u32,
    /// By rules that are not published.
    pub is_assumed: bool,
}

/// The clocks of an access of `bytes_a_lane` at these addresses, by lane; `None` is an inactive lane.
pub fn clocks(
    target: Target,
    direction: Direction,
    bytes_a_lane: u32,
    addresses: &[Option<u32>],
) -> Clocks {
    let Phases { lanes, is_assumed } = phases(target, direction, bytes_a_lane);
    let costs = lanes.iter().map(|mask| {
        let in_phase = addresses.iter().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1);
        phase_clocks(target, direction, bytes_a_lane, in_phase.filter_map(|(_, at)| *at))
    });
    let (mut free, mut conflict) = (0, 0);
    for cost in costs.filter(|cost| *cost != 0) {
        free += 1;
        conflict += cost - 1;
    }
    Clocks { free, conflict, is_assumed }
}

/// Dwords of the busiest bank; zero without lanes.
fn phase_clocks(
    target: Target,
    direction: Direction,
    bytes_a_lane: u32,
    addresses: impl Iterator<Item = u32>,
) -> u32 {
    let words = addresses.flat_map(|address| {
        let last = address.saturating_add(bytes_a_lane.max(1) - 1);
        address / BANK_BYTES..=last / BANK_BYTES
    });
    let mut words: Vec<u32> = words.collect();
    if direction != Direction::Atomic {
        words.sort_unstable();
        words.dedup();
    }
    let mut busy = [0; 64];
    words.iter().for_each(|word| busy[(word % bank_count(target)) as usize] += 1);
    busy.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{Atomic, Read, Write};

    const WIDTHS: [u32; 6] = [1, 2, 4, 8, 12, 16];

    /// Free and conflict clocks of a whole wave.
    fn cost(
        target: Target,
        direction: Direction,
        bytes: u32,
        address: impl Fn(u32) -> u32,
    ) -> (u32, u32) {
        let addresses: Vec<_> = (0..target.wave_width()).map(|lane| Some(address(lane))).collect();
        let clocks = clocks(target, direction, bytes, &addresses);
        (clocks.free, clocks.conflict)
    }

    #[test]
    fn phases_have_every_lane_once_and_fit_the_banks() {
        for target in Target::ALL {
            let wave = u64::MAX >> (64 - target.wave_width());
            for (direction, bytes) in
                [Read, Write, Atomic].into_iter().flat_map(|way| WIDTHS.map(|bytes| (way, bytes)))
            {
                let lanes = phases(target, direction, bytes).lanes;
                let all = lanes.iter().fold(0, |all, phase| {
                    assert_eq!(all & phase, 0, "{target} {direction:?} {bytes}");
                    assert!(phase.count_ones() * bytes <= bank_count(target) * BANK_BYTES);
                    all | phase
                });
                assert_eq!(all, wave, "{target} {direction:?} {bytes}");
            }
        }
    }

    /// Lists of lanes as the measurements print them, written out a second time.
    #[test]
    fn wide_reads_have_the_measured_phases() {
        let mask = |lanes: &[u32]| lanes.iter().fold(0, |mask, lane| mask | 1_u64 << lane);
        let gfx950: [&[u32]; 4] = [
            &[0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27],
            &[32, 33, 34, 35, 44, 45, 46, 47, 52, 53, 54, 55, 56, 57, 58, 59],
            &[4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31],
            &[36, 37, 38, 39, 40, 41, 42, 43, 48, 49, 50, 51, 60, 61, 62, 63],
        ];
        let gfx1100: [&[u32]; 4] = [
            &[0, 1, 2, 3, 20, 21, 22, 23],
            &[4, 5, 6, 7, 16, 17, 18, 19],
            &[8, 9, 10, 11, 28, 29, 30, 31],
            &[12, 13, 14, 15, 24, 25, 26, 27],
        ];
        assert_eq!(phases(Target::Gfx950, Read, 16).lanes, gfx950.map(mask));
        assert_eq!(phases(Target::Gfx1100, Read, 16).lanes, gfx1100.map(mask));
    }

    #[test]
    fn rows_side_by_side_have_no_conflicts() {
        for (target, direction, bytes, phases) in [
            (Target::Gfx950, Read, 4, 1),
            (Target::Gfx950, Read, 8, 2),
            (Target::Gfx950, Read, 16, 4),
            (Target::Gfx950, Write, 4, 2),
            (Target::Gfx950, Write, 8, 4),
            (Target::Gfx950, Write, 16, 8),
            (Target::Gfx1100, Read, 4, 1),
            (Target::Gfx1100, Read, 16, 4),
            (Target::Gfx1100, Write, 8, 2),
            (Target::Gfx1100, Write, 16, 4),
        ] {
            let got = cost(target, direction, bytes, |lane| lane * bytes);
            assert_eq!(got, (phases, 0), "{target} {direction:?} {bytes}");
        }
    }

    /// Costs counted by hand.
    #[test]
    fn conflicts_are_the_dwords_of_the_busiest_bank() {
        // Every lane on bank 0, all on different dwords: each phase serves its lanes one by one.
        assert_eq!(cost(Target::Gfx950, Read, 4, |lane| lane * 256), (1, 63));
        assert_eq!(cost(Target::Gfx1100, Read, 4, |lane| lane * 128), (1, 31));
        assert_eq!(cost(Target::Gfx950, Read, 16, |lane| lane * 256), (4, 60));
        // 32 banks' worth of pitch is a conflict of two on 32 banks, of none on 64.
        assert_eq!(cost(Target::Gfx950, Read, 4, |lane| lane % 2 * 128 + lane / 2 * 4), (1, 0));
        assert_eq!(cost(Target::Gfx1100, Read, 4, |lane| lane % 2 * 128 + lane / 2 * 4), (1, 1));
        // One dword for all is a broadcast, also to two halves of it; atomics take turns.
        assert_eq!(cost(Target::Gfx950, Read, 4, |_| 64), (1, 0));
        assert_eq!(cost(Target::Gfx1100, Write, 2, |lane| lane % 2 * 2), (1, 0));
        assert_eq!(cost(Target::Gfx950, Atomic, 4, |_| 64), (2, 62));
        // 8 bytes that straddle three dwords: 16 lanes at a pitch of 8 share the dwords between them.
        assert_eq!(cost(Target::Gfx1100, Read, 8, |lane| lane * 8 + 2), (2, 2));
    }

    /// Which lanes may use the same banks depends on the published grouping, not on their neighbourhood.
    #[test]
    fn the_grouping_of_lanes_decides() {
        // Lanes 0 to 3 and 12 to 15 of gfx950 are in one phase, lanes 4 to 7 in another: the same banks
        // are a conflict for the first pair only.
        let twice = |other: std::ops::RangeInclusive<u32>| {
            let addresses: Vec<Option<u32>> = (0..64)
                .map(|lane| match lane {
                    0..=3 => Some(lane * 16),
                    lane if other.contains(&lane) => Some(1024 + (lane - other.start()) * 16),
                    _ => None,
                })
                .collect();
            let clocks = clocks(Target::Gfx950, Read, 16, &addresses);
            (clocks.free, clocks.conflict)
        };
        assert_eq!(twice(12..=15), (1, 1));
        assert_eq!(twice(20..=23), (1, 1));
        assert_eq!(twice(4..=7), (2, 0));
        assert_eq!(twice(32..=35), (2, 0));
    }

    #[test]
    fn inactive_lanes_and_phases_cost_nothing() {
        let mut addresses = [None; 64];
        assert_eq!(clocks(Target::Gfx950, Read, 16, &addresses), Clocks::default());
        addresses[40] = Some(0);
        let one = Clocks { free: 1, conflict: 0, is_assumed: true };
        assert_eq!(clocks(Target::Gfx950, Write, 16, &addresses), one);
    }

    #[test]
    fn only_measured_reads_are_not_assumed() {
        for target in Target::ALL {
            let published = WIDTHS.map(|bytes| !phases(target, Read, bytes).is_assumed);
            assert_eq!(published, [false, false, true, true, false, true]);
            assert!([Write, Atomic].iter().all(|way| phases(target, *way, 16).is_assumed));
        }
    }
}
