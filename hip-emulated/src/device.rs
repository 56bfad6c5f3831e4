//! What the device says about itself.

use hip_abi::{Attribute, Layout};
use isa::Target;

use crate::runtime::Runtime;

/// Largest pitch of a copy in bytes: what HIP's own devices say.
const MAX_PITCH: i32 = i32::MAX;

impl Runtime {
    pub(crate) fn name(&self) -> String {
        format!("emulated {} (wavesmith, no GPU)", self.settings.target)
    }

    /// The target id; features that a code object may ask for are at "any", which the emulator cannot tell apart.
    pub(crate) fn arch_name(&self) -> String {
        self.settings.target.name().to_owned()
    }

    /// Major and minor number of the processor, as HIP splits its name.
    pub(crate) fn capability(&self) -> (i32, i32) {
        match self.settings.target {
            Target::Gfx950 => (9, 5),
            Target::Gfx1100 => (11, 0),
        }
    }

    /// An attribute; zero where the emulator has nothing of the kind, such as clocks.
    pub(crate) fn attribute(&self, attribute: Attribute) -> i32 {
        let limits = self.settings.target.limits();
        let whole = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
        match attribute {
            Attribute::WarpSize => whole(limits.wave_width.into()),
            Attribute::MaxThreadsPerBlock
            | Attribute::MaxBlockDimX
            | Attribute::MaxBlockDimY
            | Attribute::MaxBlockDimZ => whole(limits.workgroup_work_items.into()),
            Attribute::MaxGridDimX => i32::MAX,
            Attribute::MaxGridDimY | Attribute::MaxGridDimZ => 65_535,
            Attribute::MaxSharedMemoryPerBlock => whole(limits.lds_bytes_per_workgroup.into()),
            Attribute::MaxSharedMemoryPerMultiprocessor => whole(limits.lds_bytes_per_unit.into()),
            Attribute::MaxRegistersPerBlock => {
                let lanes = u64::from(limits.vgprs_per_simd) * u64::from(limits.wave_width);
                whole(lanes * u64::from(limits.simds_per_unit))
            }
            Attribute::MaxThreadsPerMultiProcessor => {
                let waves = u64::from(limits.waves_per_simd) * u64::from(limits.simds_per_unit);
                whole(waves * u64::from(limits.wave_width))
            }
            Attribute::MultiprocessorCount | Attribute::CooperativeLaunch => 1,
            Attribute::ComputeCapabilityMajor => self.capability().0,
            Attribute::ComputeCapabilityMinor => self.capability().1,
            Attribute::TotalGlobalMem => whole(self.settings.memory_bytes),
            Attribute::MaxPitch => MAX_PITCH,
            Attribute::CanMapHostMemory
            | Attribute::ClockRate
            | Attribute::ConcurrentKernels
            | Attribute::Integrated
            | Attribute::L2CacheSize
            | Attribute::ManagedMemory
            | Attribute::MemoryBusWidth
            | Attribute::MemoryClockRate
            | Attribute::PciBusId
            | Attribute::PciDeviceId
            | Attribute::PciDomainID
            | Attribute::TotalConstantMemory
            | Attribute::UnifiedAddressing => 0,
        }
    }

    /// The properties struct of a layout; what the emulator has nothing of is zero.
    pub(crate) fn properties(&self, layout: &Layout) -> Vec<u8> {
        let mut bytes = vec![0; layout.size];
        let mut put = |offset: usize, value: &[u8]| {
            bytes[offset..offset + value.len()].copy_from_slice(value);
        };
        let number = |attribute| self.attribute(attribute).to_le_bytes();
        let wide = |attribute| i64::from(self.attribute(attribute)).to_le_bytes();
        put(layout.name, self.name().as_bytes());
        put(layout.gcn_arch_name, self.arch_name().as_bytes());
        put(layout.total_global_mem, &self.settings.memory_bytes.to_le_bytes());
        put(layout.shared_mem_per_block, &wide(Attribute::MaxSharedMemoryPerBlock));
        put(layout.regs_per_block, &number(Attribute::MaxRegistersPerBlock));
        put(layout.warp_size, &number(Attribute::WarpSize));
        put(layout.mem_pitch, &wide(Attribute::MaxPitch));
        put(layout.max_threads_per_block, &number(Attribute::MaxThreadsPerBlock));
        let block = [Attribute::MaxBlockDimX, Attribute::MaxBlockDimY, Attribute::MaxBlockDimZ];
        put(layout.max_threads_dim, block.map(number).as_flattened());
        let grid = [Attribute::MaxGridDimX, Attribute::MaxGridDimY, Attribute::MaxGridDimZ];
        put(layout.max_grid_size, grid.map(number).as_flattened());
        put(layout.major, &number(Attribute::ComputeCapabilityMajor));
        put(layout.minor, &number(Attribute::ComputeCapabilityMinor));
        put(layout.multi_processor_count, &number(Attribute::MultiprocessorCount));
        let threads = number(Attribute::MaxThreadsPerMultiProcessor);
        put(layout.max_threads_per_multi_processor, &threads);
        let lds = wide(Attribute::MaxSharedMemoryPerMultiprocessor);
        put(layout.max_shared_memory_per_multi_processor, &lds);
        bytes
    }
}
