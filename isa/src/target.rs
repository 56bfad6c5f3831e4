//! The targets and every limit that the rest of the project takes from the hardware.

use std::fmt;
use std::str::FromStr;

/// A GPU that kernels are built for. Unknown names are an error, never a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// CDNA4: MFMA, wave64.
    Gfx950,
    /// RDNA3: WMMA, wave32.
    Gfx1100,
}

/// A target name that this project does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown target '{got}': supported targets are gfx950, gfx1100 (exact chips, not families)"
)]
pub struct UnknownTarget {
    /// What was asked for.
    pub got: String,
}

/// An `e_flags` processor byte that this project does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown processor {got:#04x} in e_flags: supported are gfx950 (0x4f) and gfx1100 (0x41)")]
pub struct UnknownMach {
    /// The byte that was read.
    pub got: u8,
}

/// The unit whose LDS and wave slots the waves of a workgroup share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ComputeUnit {
    /// A compute unit.
    Cu,
    /// A workgroup processor: two compute units, which a workgroup may span (WGP mode).
    Wgp,
}

impl fmt::Display for ComputeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ComputeUnit::Cu => "CU",
            ComputeUnit::Wgp => "WGP",
        })
    }
}

/// What the hardware and the ABI limit on one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lanes of a wave. gfx1100 also has wave64, which this project does not use.
    /// Source: AMDGPUUsage, processor table.
    pub wave_width: u32,
    /// Work-items of a workgroup. Source: HSA, maximum work-group size; AMDGPUUsage,
    /// `amdgpu-flat-work-group-size`.
    pub workgroup_work_items: u32,
    /// LDS of a workgroup in bytes. Source: LLVM 22 (`FeatureAddressableLocalMemorySize…`), measured by
    /// compiling one byte more.
    pub lds_bytes_per_workgroup: u32,
    /// LDS that the workgroups on one [`compute_unit`](Limits::compute_unit) share, in bytes.
    /// Source: CDNA4 white paper; RDNA3 ISA manual, "LDS".
    pub lds_bytes_per_unit: u32,
    /// LDS is allocated in multiples of this many bytes. Source: AMDGPUUsage, `GRANULATED_LDS_SIZE`.
    pub lds_granule_bytes: u32,
    /// LDS banks, each 4 bytes wide. Source: AMD IREE team's measurements on MI350X and W7900
    /// (amd-shark-ai pull request 2919).
    pub lds_banks: u32,
    /// Vector registers in the file of one SIMD, per lane; on gfx950 VGPRs and AGPRs together.
    /// Source: LLVM 22, `getTotalNumVGPRs`.
    pub vgprs_per_simd: u32,
    /// VGPRs that one wave can address. Source: ISA manuals, 8-bit VGPR fields.
    pub addressable_vgprs: u16,
    /// AGPRs that one wave can address. Source: CDNA3 ISA manual, "AccVGPRs"; RDNA3 has none.
    pub addressable_agprs: u16,
    /// Registers of a wave, VGPRs and AGPRs together. Source: LLVM 22, `getAddressableNumVGPRs`.
    pub vector_registers_per_wave: u32,
    /// Vector registers are allocated in multiples of this many. Source: LLVM 22, `getVGPRAllocGranule`
    /// (gfx1100 has the enlarged file of 1536 registers, hence 24).
    pub vgpr_alloc_granule: u32,
    /// The unit in which the kernel descriptor counts vector registers; differs from the allocation
    /// granule on gfx1100. Source: LLVM 22, `getVGPREncodingGranule`; AMDGPUUsage,
    /// `GRANULATED_WORKITEM_VGPR_COUNT`.
    pub vgpr_encoding_granule: u32,
    /// AGPRs start at a multiple of this many registers. Source: AMDGPUUsage, `ACCUM_OFFSET`.
    pub accum_offset_granule: u32,
    /// SGPRs `s0`… that operands can name. Source: ISA manuals, "scalar operands".
    pub addressable_sgprs: u16,
    /// SGPRs of one wave's allocation, VCC and others included. Source: LLVM 22, `getTotalNumSGPRs` and
    /// RDNA3 ISA manual ("128 SGPRs always allocated").
    pub sgprs_per_wave: u32,
    /// Unit in which the kernel descriptor counts SGPRs; 0 where the field is reserved.
    /// Source: AMDGPUUsage, `GRANULATED_WAVEFRONT_SGPR_COUNT`.
    pub sgpr_encoding_granule: u32,
    /// SGPRs that a dispatch initialises before the system ones. Source: AMDGPUUsage, "initial kernel
    /// execution state".
    pub user_sgprs: u32,
    /// Waves resident on one SIMD. Source: LLVM 22, `getMaxWavesPerEU`.
    pub waves_per_simd: u32,
    /// SIMDs of one [`compute_unit`](Limits::compute_unit). Source: LLVM 22, `getEUsPerCU`; CDNA3 and
    /// RDNA3 ISA manuals.
    pub simds_per_unit: u32,
    /// The unit that a workgroup runs on: CU, or WGP in WGP mode (the default of compilers on gfx1100).
    /// Source: AMDGPUUsage, "WGP mode".
    pub compute_unit: ComputeUnit,
    /// Compute units of the largest part, of which each holds workgroups of its own (of WGP mode: half of one).
    /// Source: CDNA4 white paper (256 on MI350X and MI355X); AMD's product page of the RX 7900 XTX (96).
    pub compute_units: u32,
    /// Workgroups resident on one [`compute_unit`](Limits::compute_unit).
    /// Source: LLVM 22, `getMaxWorkGroupsPerCU` (16 per CU with barriers, 32 per WGP).
    pub workgroups_per_unit: u32,
    /// Processor byte of `e_flags`. Source: AMDGPUUsage, `EF_AMDGPU_MACH`.
    pub elf_mach: u8,
    /// `e_flags` of code that runs on every setting of XNACK and SRAM-ECC. Source: AMDGPUUsage,
    /// `EF_AMDGPU_FEATURE_*_V4` (gfx950: XNACK any, SRAM-ECC any; gfx1100 has neither).
    pub elf_flags: u32,
    /// Kernel arguments can be preloaded into SGPRs. Source: AMDGPUUsage, "preloaded kernel arguments".
    pub kernarg_preload: bool,
    /// Source operand SGPR or constant slots of one vector instruction. Source: ISA manuals, "constant bus".
    pub constant_bus_reads: u32,
    /// VOP3 instructions may carry a literal. Source: RDNA3 ISA manual, "literals"; CDNA3 may not.
    pub vop3_literals: bool,
    /// Highest VMCNT. Source: AMDGPUUsage and LLVM 22, `getVmcntBitMask`.
    pub vmcnt_max: u32,
    /// Highest EXPCNT. Source: LLVM 22, `getExpcntBitMask`.
    pub expcnt_max: u32,
    /// Highest LGKMCNT. Source: LLVM 22, `getLgkmcntBitMask`.
    pub lgkmcnt_max: u32,
    /// Highest VSCNT; 0 where stores count in VMCNT. Source: LLVM 22, `getVscntBitMask`.
    pub vscnt_max: u32,
    /// Smallest and largest immediate offset of GLOBAL and SCRATCH in bytes.
    /// Source: ISA manuals (13-bit signed); LLVM 22, `getNumFlatOffsetBits`.
    pub global_offset_bytes: (i32, i32),
    /// Largest immediate offset of LDS instructions in bytes. Source: ISA manuals (16 bits).
    pub lds_offset_bytes: u32,
    /// Largest immediate offset of buffer instructions in bytes. Source: ISA manuals (12 bits).
    pub buffer_offset_bytes: u32,
    /// Word 3 of a raw buffer resource: the wrong one silently reads zero.
    /// Source: public kernels for CDNA3 and RDNA3 (composable_kernel, `CK_BUFFER_RESOURCE_3RD_DWORD`).
    pub buffer_resource_word3: u32,
}

const GFX950: Limits = Limits {
    wave_width: 64,
    workgroup_work_items: 1024,
    lds_bytes_per_workgroup: 163_840,
    lds_bytes_per_unit: 163_840,
    lds_granule_bytes: 1280,
    lds_banks: 64,
    vgprs_per_simd: 512,
    addressable_vgprs: 256,
    addressable_agprs: 256,
    vector_registers_per_wave: 512,
    vgpr_alloc_granule: 8,
    vgpr_encoding_granule: 8,
    accum_offset_granule: 4,
    addressable_sgprs: 102,
    sgprs_per_wave: 112,
    sgpr_encoding_granule: 16,
    user_sgprs: 16,
    waves_per_simd: 8,
    simds_per_unit: 4,
    compute_unit: ComputeUnit::Cu,
    compute_units: 256,
    workgroups_per_unit: 16,
    elf_mach: 0x4f,
    elf_flags: 0x54f,
    kernarg_preload: true,
    constant_bus_reads: 1,
    vop3_literals: false,
    vmcnt_max: 63,
    expcnt_max: 7,
    lgkmcnt_max: 15,
    vscnt_max: 0,
    global_offset_bytes: (-4096, 4095),
    lds_offset_bytes: 65_535,
    buffer_offset_bytes: 4095,
    buffer_resource_word3: 0x0002_7000,
};

const GFX1100: Limits = Limits {
    wave_width: 32,
    workgroup_work_items: 1024,
    lds_bytes_per_workgroup: 65_536,
    lds_bytes_per_unit: 131_072,
    lds_granule_bytes: 512,
    lds_banks: 32,
    vgprs_per_simd: 1536,
    addressable_vgprs: 256,
    addressable_agprs: 0,
    vector_registers_per_wave: 256,
    vgpr_alloc_granule: 24,
    vgpr_encoding_granule: 8,
    accum_offset_granule: 0,
    addressable_sgprs: 106,
    sgprs_per_wave: 128,
    sgpr_encoding_granule: 0,
    user_sgprs: 16,
    waves_per_simd: 16,
    simds_per_unit: 4,
    compute_unit: ComputeUnit::Wgp,
    compute_units: 96,
    workgroups_per_unit: 32,
    elf_mach: 0x41,
    elf_flags: 0x41,
    kernarg_preload: false,
    constant_bus_reads: 2,
    vop3_literals: true,
    vmcnt_max: 63,
    expcnt_max: 7,
    lgkmcnt_max: 63,
    vscnt_max: 63,
    global_offset_bytes: (-4096, 4095),
    lds_offset_bytes: 65_535,
    buffer_offset_bytes: 4095,
    buffer_resource_word3: 0x3101_4000,
};

impl Target {
    /// Every target, in the order of listings.
    pub const ALL: [Target; 2] = [Target::Gfx950, Target::Gfx1100];

    /// The name that LLVM and file names use.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Gfx950 => "gfx950",
            Target::Gfx1100 => "gfx1100",
        }
    }

    /// The limits of this target.
    pub const fn limits(self) -> &'static Limits {
        match self {
            Target::Gfx950 => &GFX950,
            Target::Gfx1100 => &GFX1100,
        }
    }

    /// Lanes of a wave.
    pub const fn wave_width(self) -> u32 {
        self.limits().wave_width
    }

    /// The target whose processor byte stands in the low byte of an ELF header's `e_flags`.
    ///
    /// # Errors
    /// When no supported target has that byte.
    pub fn from_elf_mach(mach: u8) -> Result<Target, UnknownMach> {
        let known = Target::ALL.into_iter().find(|target| target.limits().elf_mach == mach);
        known.ok_or(UnknownMach { got: mach })
    }
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(name: &str) -> Result<Target, UnknownTarget> {
        let known = Target::ALL.into_iter().find(|target| target.name() == name);
        known.ok_or_else(|| UnknownTarget { got: name.to_owned() })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_mach_bytes_find_their_target() {
        for target in Target::ALL {
            assert_eq!(target.name().parse(), Ok(target));
            assert_eq!(Target::from_elf_mach(target.limits().elf_mach), Ok(target));
            assert_eq!(target.limits().elf_flags & 0xff, u32::from(target.limits().elf_mach));
        }
    }

    #[test]
    fn neighbours_are_not_defaults() {
        for name in ["gfx1030", "gfx1101", "gfx942", "gfx9999", "GFX950", "gfx950 ", ""] {
            let error = name.parse::<Target>().expect_err("not a supported target");
            assert_eq!(error.got, name);
        }
        assert_eq!(Target::from_elf_mach(0x4c), Err(UnknownMach { got: 0x4c }));
    }

    #[test]
    fn limits_are_consistent() {
        for limits in Target::ALL.map(Target::limits) {
            let waves = limits.workgroup_work_items / limits.wave_width;
            assert!(
                waves <= limits.waves_per_simd * limits.simds_per_unit,
                "the largest workgroup is resident"
            );
            assert!(limits.lds_bytes_per_workgroup <= limits.lds_bytes_per_unit);
            assert_eq!(limits.lds_bytes_per_workgroup % limits.lds_granule_bytes, 0);
            assert_eq!(limits.vgprs_per_simd % limits.vgpr_alloc_granule, 0);
            let registers =
                u32::from(limits.addressable_vgprs) + u32::from(limits.addressable_agprs);
            assert_eq!(registers, limits.vector_registers_per_wave);
        }
    }
}
