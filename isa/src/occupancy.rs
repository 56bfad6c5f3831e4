//! Occupancy: how many waves and workgroups are resident, and what limits them.
//!
//! Waves count per SIMD. Workgroups count per [compute unit](crate::target::ComputeUnit): a CU on gfx950,
//! a WGP (two CUs, four SIMDs) on gfx1100. The waves of a workgroup spread evenly over its SIMDs.
//!
//! Sources: LLVM 22, `AMDGPUBaseInfo` and `AMDGPUSubtarget` (`getNumWavesPerEUWithNumVGPRs`,
//! `getOccupancyWithWorkGroupSizes`), measured on compiled kernels. SGPRs never limit on these targets.

use crate::target::Limits;
use crate::target::Target;

/// What a kernel occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Demand {
    /// VGPRs of one wave.
    pub vgprs: u32,
    /// AGPRs of one wave (gfx950).
    pub agprs: u32,
    /// LDS of one workgroup in bytes.
    pub lds_bytes: u32,
    /// Work-items of one workgroup.
    pub workgroup_work_items: u32,
}

/// What keeps more workgroups from being resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limiter {
    /// The wave slots of the SIMDs.
    WaveSlots,
    /// Vector registers.
    Registers,
    /// LDS.
    Lds,
    /// The workgroup slots (barriers) of the compute unit.
    WorkgroupSlots,
}

/// How many waves and workgroups are resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Occupancy {
    /// Workgroups on one compute unit.
    pub workgroups_per_unit: u32,
    /// Waves on the fullest SIMD.
    pub waves_per_simd: u32,
    /// What limits them.
    pub limiter: Limiter,
}

/// A demand that no compute unit can meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{target}: {what} is {got} {unit}, the limit is {limit} {unit}")]
pub struct DoesNotFit {
    /// The target.
    pub target: Target,
    /// What is too large.
    pub what: &'static str,
    /// How large it is.
    pub got: u32,
    /// How large it may be.
    pub limit: u32,
    /// In which unit.
    pub unit: &'static str,
}

/// What follows from limits alone, so that limits with an error can be checked too.
impl Limits {
    /// Vector registers that a wave with `vgprs` and `agprs` is given, granules included.
    ///
    /// On gfx950 the AGPRs start at a multiple of four after the VGPRs, and both share one file.
    pub fn allocated_registers(&self, vgprs: u32, agprs: u32) -> u32 {
        let used = if agprs == 0 {
            vgprs
        } else {
            vgprs.next_multiple_of(self.accum_offset_granule.max(1)) + agprs
        };
        used.max(1).next_multiple_of(self.vgpr_alloc_granule)
    }

    /// Waves per SIMD that the vector registers allow; 0 when one wave has more than it may address.
    pub fn waves_by_registers(&self, vgprs: u32, agprs: u32) -> u32 {
        let is_too_many =
            vgprs > self.addressable_vgprs.into() || agprs > self.addressable_agprs.into();
        let allocated = self.allocated_registers(vgprs, agprs);
        if is_too_many { 0 } else { (self.vgprs_per_simd / allocated).min(self.waves_per_simd) }
    }

    /// Waves of one workgroup.
    pub fn waves_per_workgroup(&self, workgroup_work_items: u32) -> u32 {
        workgroup_work_items.div_ceil(self.wave_width).max(1)
    }

    /// Workgroups per compute unit that LDS allows, as LLVM computes it: without the allocation granule.
    pub fn workgroups_by_lds(&self, lds_bytes: u32) -> u32 {
        match lds_bytes {
            0 => self.workgroups_per_unit,
            _ if lds_bytes > self.lds_bytes_per_workgroup => 0,
            _ => self.lds_bytes_per_unit / lds_bytes,
        }
    }

    /// Waves per SIMD that LDS allows for workgroups of a size.
    pub fn waves_by_lds(&self, lds_bytes: u32, workgroup_work_items: u32) -> u32 {
        let waves =
            self.workgroups_by_lds(lds_bytes) * self.waves_per_workgroup(workgroup_work_items);
        waves.div_ceil(self.simds_per_unit).min(self.waves_per_simd)
    }
}

/// [`Limits::allocated_registers`] of a target.
pub fn allocated_registers(target: Target, vgprs: u32, agprs: u32) -> u32 {
    target.limits().allocated_registers(vgprs, agprs)
}

/// LDS that a workgroup with `lds_bytes` is given, granule included.
pub fn allocated_lds_bytes(target: Target, lds_bytes: u32) -> u32 {
    lds_bytes.next_multiple_of(target.limits().lds_granule_bytes)
}

/// [`Limits::waves_by_registers`] of a target.
pub fn waves_by_registers(target: Target, vgprs: u32, agprs: u32) -> u32 {
    target.limits().waves_by_registers(vgprs, agprs)
}

/// [`Limits::waves_per_workgroup`] of a target.
pub fn waves_per_workgroup(target: Target, workgroup_work_items: u32) -> u32 {
    target.limits().waves_per_workgroup(workgroup_work_items)
}

/// [`Limits::workgroups_by_lds`] of a target. See [`workgroups_by_lds_granules`] for what an allocator in
/// granules can place.
pub fn workgroups_by_lds(target: Target, lds_bytes: u32) -> u32 {
    target.limits().workgroups_by_lds(lds_bytes)
}

/// Workgroups per compute unit that LDS allows when each takes whole granules; never more than
/// [`workgroups_by_lds`]. The two differ where a size is no multiple of the granule, as for 32 KiB on
/// gfx950 (granule 1280 bytes): four instead of five.
pub fn workgroups_by_lds_granules(target: Target, lds_bytes: u32) -> u32 {
    let limit = target.limits().lds_bytes_per_workgroup;
    let rounded = allocated_lds_bytes(target, lds_bytes);
    workgroups_by_lds(target, if lds_bytes <= limit { rounded.min(limit) } else { lds_bytes })
}

/// [`Limits::waves_by_lds`] of a target.
pub fn waves_by_lds(target: Target, lds_bytes: u32, workgroup_work_items: u32) -> u32 {
    target.limits().waves_by_lds(lds_bytes, workgroup_work_items)
}

/// Workgroups per compute unit that its workgroup slots allow; one-wave workgroups need no barrier and
/// take none.
fn workgroups_by_slots(limits: &Limits, waves_per_workgroup: u32) -> u32 {
    if waves_per_workgroup == 1 { u32::MAX } else { limits.workgroups_per_unit }
}

/// Waves and workgroups that are resident at once, and what limits them.
///
/// # Errors
/// When not even one workgroup fits.
pub fn occupancy(target: Target, demand: Demand) -> Result<Occupancy, DoesNotFit> {
    check(target, demand)?;
    let limits = target.limits();
    let waves = waves_per_workgroup(target, demand.workgroup_work_items);
    let by_waves = |waves_per_simd: u32| waves_per_simd * limits.simds_per_unit / waves;
    let candidates = [
        (Limiter::WaveSlots, by_waves(limits.waves_per_simd)),
        (Limiter::WorkgroupSlots, workgroups_by_slots(limits, waves)),
        (Limiter::Registers, by_waves(waves_by_registers(target, demand.vgprs, demand.agprs))),
        (
            Limiter::Lds,
            if demand.lds_bytes == 0 {
                u32::MAX
            } else {
                workgroups_by_lds(target, demand.lds_bytes)
            },
        ),
    ];
    let mut tightest = candidates[0];
    for candidate in candidates {
        if candidate.1 < tightest.1 {
            tightest = candidate;
        }
    }
    let (limiter, workgroups_per_unit) = tightest;
    if workgroups_per_unit == 0 {
        let slots = waves_by_registers(target, demand.vgprs, demand.agprs) * limits.simds_per_unit;
        return Err(does_not_fit(
            target,
            "waves of a workgroup beside its registers",
            waves,
            slots,
            "waves",
        ));
    }
    let waves_per_simd = (workgroups_per_unit * waves).div_ceil(limits.simds_per_unit);
    Ok(Occupancy { workgroups_per_unit, waves_per_simd, limiter })
}

fn check(target: Target, demand: Demand) -> Result<(), DoesNotFit> {
    let limits = target.limits();
    let checks = [
        ("VGPRs", demand.vgprs, limits.addressable_vgprs.into(), "registers"),
        ("AGPRs", demand.agprs, limits.addressable_agprs.into(), "registers"),
        ("LDS of a workgroup", demand.lds_bytes, limits.lds_bytes_per_workgroup, "bytes"),
        ("workgroup size", demand.workgroup_work_items, limits.workgroup_work_items, "work-items"),
    ];
    let broken = checks.into_iter().find(|(_, got, limit, _)| got > limit);
    match broken {
        Some((what, got, limit, unit)) => Err(does_not_fit(target, what, got, limit, unit)),
        None => Ok(()),
    }
}

fn does_not_fit(
    target: Target,
    what: &'static str,
    got: u32,
    limit: u32,
    unit: &'static str,
) -> DoesNotFit {
    DoesNotFit { target, what, got, limit, unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bands of registers with the waves per SIMD that LLVM 22 reports for them.
    fn check_bands(target: Target, bands: &[(u32, u32, u32)], waves: impl Fn(u32) -> u32) {
        for &(first, last, expected) in bands {
            for registers in first..=last {
                assert_eq!(waves(registers), expected, "{target}: {registers} registers");
            }
        }
    }

    #[test]
    fn gfx950_waves_by_registers() {
        let bands = [
            (0, 64, 8),
            (65, 72, 7),
            (73, 80, 6),
            (81, 96, 5),
            (97, 128, 4),
            (129, 168, 3),
            (169, 256, 2),
            (257, 512, 1),
        ];
        let target = Target::Gfx950;
        check_bands(target, &bands, |total| {
            waves_by_registers(target, total.min(256), total.saturating_sub(256))
        });
        let half_agprs = |total: u32| {
            let vgprs = (total / 2).next_multiple_of(4).min(total);
            waves_by_registers(target, vgprs, total - vgprs)
        };
        check_bands(target, &bands, half_agprs);
    }

    #[test]
    fn gfx950_agprs_start_at_a_multiple_of_four() {
        assert_eq!(allocated_registers(Target::Gfx950, 61, 4), 72);
        assert_eq!(allocated_registers(Target::Gfx950, 60, 4), 64);
        assert_eq!(waves_by_registers(Target::Gfx950, 61, 4), 7);
    }

    #[test]
    fn gfx1100_waves_by_registers() {
        let bands = [
            (0, 96, 16),
            (97, 120, 12),
            (121, 144, 10),
            (145, 168, 9),
            (169, 192, 8),
            (193, 216, 7),
            (217, 240, 6),
            (241, 256, 5),
            (257, 300, 0),
        ];
        check_bands(Target::Gfx1100, &bands, |vgprs| waves_by_registers(Target::Gfx1100, vgprs, 0));
    }

    #[test]
    fn waves_by_lds_of_256_work_items() {
        const KIB: u32 = 1024;
        let gfx950 = [
            (32 * KIB, 5),
            (40 * KIB, 4),
            (64 * KIB, 2),
            (80 * KIB, 2),
            (160 * KIB, 1),
            (160 * KIB + 4, 0),
        ];
        let gfx1100 = [(32 * KIB, 8), (64 * KIB, 4), (64 * KIB + 4, 0)];
        for (target, cases) in
            [(Target::Gfx950, gfx950.as_slice()), (Target::Gfx1100, gfx1100.as_slice())]
        {
            for &(lds_bytes, waves) in cases {
                assert_eq!(
                    waves_by_lds(target, lds_bytes, 256),
                    waves,
                    "{target}: {lds_bytes} bytes"
                );
            }
        }
    }

    #[test]
    fn granules_never_allow_more() {
        for target in Target::ALL {
            for lds_bytes in (0..=target.limits().lds_bytes_per_workgroup).step_by(4) {
                let (unrounded, rounded) = (
                    workgroups_by_lds(target, lds_bytes),
                    workgroups_by_lds_granules(target, lds_bytes),
                );
                assert!((1..=unrounded).contains(&rounded), "{target}: {lds_bytes} bytes");
            }
        }
        assert_eq!(allocated_lds_bytes(Target::Gfx950, 32_768), 33_280);
        assert_eq!(workgroups_by_lds_granules(Target::Gfx950, 32_768), 4);
    }

    #[test]
    fn the_tightest_limit_is_named() {
        let demand = Demand { vgprs: 64, agprs: 0, lds_bytes: 0, workgroup_work_items: 256 };
        let limiter = |target, demand| {
            occupancy(target, demand).map(|occupancy| (occupancy.waves_per_simd, occupancy.limiter))
        };
        assert_eq!(limiter(Target::Gfx950, demand), Ok((8, Limiter::WaveSlots)));
        assert_eq!(
            limiter(Target::Gfx950, Demand { agprs: 100, ..demand }),
            Ok((3, Limiter::Registers))
        );
        assert_eq!(
            limiter(Target::Gfx950, Demand { lds_bytes: 40_960, ..demand }),
            Ok((4, Limiter::Lds))
        );
        let small = Demand { workgroup_work_items: 64, ..demand };
        assert_eq!(limiter(Target::Gfx1100, small), Ok((16, Limiter::WaveSlots)));
        let many_groups = Demand { workgroup_work_items: 33, vgprs: 24, ..demand };
        assert_eq!(limiter(Target::Gfx1100, many_groups), Ok((16, Limiter::WaveSlots)));
        let too_big = Demand { vgprs: 256, workgroup_work_items: 1024, ..demand };
        let error =
            occupancy(Target::Gfx950, too_big).expect_err("16 waves of 256 registers do not fit");
        assert_eq!((error.got, error.limit), (16, 8));
    }

    #[test]
    fn one_wave_workgroups_take_no_workgroup_slot() {
        let demand = Demand { vgprs: 32, agprs: 0, lds_bytes: 0, workgroup_work_items: 64 };
        let groups = |work_items| {
            let demand = Demand { workgroup_work_items: work_items, ..demand };
            occupancy(Target::Gfx950, demand)
                .map(|occupancy| (occupancy.workgroups_per_unit, occupancy.limiter))
        };
        assert_eq!(groups(64), Ok((32, Limiter::WaveSlots)));
        assert_eq!(groups(128), Ok((16, Limiter::WaveSlots)));
    }

    #[test]
    fn every_limit_is_an_error_with_its_numbers() {
        let fits = Demand { vgprs: 8, agprs: 0, lds_bytes: 0, workgroup_work_items: 64 };
        let cases = [
            (Demand { vgprs: 257, ..fits }, "VGPRs", 257, 256),
            (Demand { agprs: 1, ..fits }, "AGPRs", 1, 0),
            (Demand { lds_bytes: 65_540, ..fits }, "LDS of a workgroup", 65_540, 65_536),
            (Demand { workgroup_work_items: 1025, ..fits }, "workgroup size", 1025, 1024),
        ];
        for (demand, what, got, limit) in cases {
            let error = occupancy(Target::Gfx1100, demand).expect_err(what);
            assert_eq!((error.what, error.got, error.limit), (what, got, limit));
        }
    }
}
