//! Attributes and struct layouts.

/// Numbers that `hipDeviceGetAttribute` takes; they kept their meaning from HIP 5 to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[expect(missing_docs, reason = "each has the name of its constant, hipDeviceAttribute…")]
pub enum Attribute {
    CanMapHostMemory = 3,
    ClockRate = 5,
    ConcurrentKernels = 8,
    CooperativeLaunch = 10,
    Integrated = 16,
    L2CacheSize = 19,
    ComputeCapabilityMajor = 23,
    ManagedMemory = 24,
    MaxBlockDimX = 26,
    MaxBlockDimY = 27,
    MaxBlockDimZ = 28,
    MaxGridDimX = 29,
    MaxGridDimY = 30,
    MaxGridDimZ = 31,
    MaxThreadsPerBlock = 56,
    MaxThreadsPerMultiProcessor = 57,
    MaxPitch = 58,
    MemoryBusWidth = 59,
    MemoryClockRate = 60,
    ComputeCapabilityMinor = 61,
    MultiprocessorCount = 63,
    PciBusId = 67,
    PciDeviceId = 68,
    PciDomainID = 69,
    MaxRegistersPerBlock = 71,
    MaxSharedMemoryPerBlock = 74,
    TotalConstantMemory = 83,
    TotalGlobalMem = 84,
    UnifiedAddressing = 85,
    WarpSize = 87,
    MaxSharedMemoryPerMultiprocessor = 10002,
}

impl Attribute {
    /// All of them.
    pub const ALL: [Attribute; 31] = [
        Attribute::CanMapHostMemory,
        Attribute::ClockRate,
        Attribute::ConcurrentKernels,
        Attribute::CooperativeLaunch,
        Attribute::Integrated,
        Attribute::L2CacheSize,
        Attribute::ComputeCapabilityMajor,
        Attribute::ManagedMemory,
        Attribute::MaxBlockDimX,
        Attribute::MaxBlockDimY,
        Attribute::MaxBlockDimZ,
        Attribute::MaxGridDimX,
        Attribute::MaxGridDimY,
        Attribute::MaxGridDimZ,
        Attribute::MaxThreadsPerBlock,
        Attribute::MaxThreadsPerMultiProcessor,
        Attribute::MaxPitch,
        Attribute::MemoryBusWidth,
        Attribute::MemoryClockRate,
        Attribute::ComputeCapabilityMinor,
        Attribute::MultiprocessorCount,
        Attribute::PciBusId,
        Attribute::PciDeviceId,
        Attribute::PciDomainID,
        Attribute::MaxRegistersPerBlock,
        Attribute::MaxSharedMemoryPerBlock,
        Attribute::TotalConstantMemory,
        Attribute::TotalGlobalMem,
        Attribute::UnifiedAddressing,
        Attribute::WarpSize,
        Attribute::MaxSharedMemoryPerMultiprocessor,
    ];

    /// The attribute of a number.
    pub fn from_number(number: i32) -> Option<Attribute> {
        Attribute::ALL.into_iter().find(|attribute| attribute.number() == number)
    }

    /// Its number.
    pub const fn number(self) -> i32 {
        self as i32
    }
}

/// Numbers that `hipFuncGetAttribute` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[expect(missing_docs, reason = "each has the name of its constant, HIP_FUNC_ATTRIBUTE_…")]
pub enum FunctionAttribute {
    MaxThreadsPerBlock = 0,
    SharedSizeBytes = 1,
    ConstSizeBytes = 2,
    LocalSizeBytes = 3,
    NumRegs = 4,
    PtxVersion = 5,
    BinaryVersion = 6,
    CacheModeCa = 7,
    MaxDynamicSharedSizeBytes = 8,
    PreferredSharedMemoryCarveout = 9,
}

impl FunctionAttribute {
    /// The attribute of a number.
    pub fn from_number(number: i32) -> Option<FunctionAttribute> {
        use FunctionAttribute as F;
        let all = [
            F::MaxThreadsPerBlock,
            F::SharedSizeBytes,
            F::ConstSizeBytes,
            F::LocalSizeBytes,
            F::NumRegs,
            F::PtxVersion,
            F::BinaryVersion,
            F::CacheModeCa,
            F::MaxDynamicSharedSizeBytes,
            F::PreferredSharedMemoryCarveout,
        ];
        all.into_iter().find(|attribute| *attribute as i32 == number)
    }
}

/// Numbers that `hipPointerGetAttribute` takes and the emulated library answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[expect(missing_docs, reason = "each has the name of its constant, HIP_POINTER_ATTRIBUTE_…")]
pub enum PointerAttribute {
    MemoryType = 2,
    DevicePointer = 3,
    HostPointer = 4,
    IsManaged = 8,
    DeviceOrdinal = 9,
    RangeStartAddr = 11,
    RangeSize = 12,
}

/// Where `hipDeviceProp_t` keeps what is filled in or read; offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each has the name of the struct's field")]
pub struct Layout {
    /// Size of the whole struct.
    pub size: usize,
    pub name: usize,
    pub total_global_mem: usize,
    pub shared_mem_per_block: usize,
    pub regs_per_block: usize,
    pub warp_size: usize,
    pub mem_pitch: usize,
    pub max_threads_per_block: usize,
    pub max_threads_dim: usize,
    pub max_grid_size: usize,
    pub major: usize,
    pub minor: usize,
    pub multi_processor_count: usize,
    pub max_threads_per_multi_processor: usize,
    pub max_shared_memory_per_multi_processor: usize,
    pub gcn_arch_name: usize,
}

/// `hipDeviceProp_t` of HIP 5, which `hipGetDeviceProperties` still fills.
pub const PROPERTIES_R0000: Layout = Layout {
    size: 792,
    name: 0,
    total_global_mem: 256,
    shared_mem_per_block: 264,
    regs_per_block: 272,
    warp_size: 276,
    mem_pitch: 712,
    max_threads_per_block: 280,
    max_threads_dim: 284,
    max_grid_size: 296,
    major: 328,
    minor: 332,
    multi_processor_count: 336,
    max_threads_per_multi_processor: 344,
    max_shared_memory_per_multi_processor: 376,
    gcn_arch_name: 396,
};

/// `hipDeviceProp_tR0600`, which `hipGetDevicePropertiesR0600` fills.
pub const PROPERTIES_R0600: Layout = Layout {
    size: 1472,
    name: 0,
    total_global_mem: 288,
    shared_mem_per_block: 296,
    regs_per_block: 304,
    warp_size: 308,
    mem_pitch: 312,
    max_threads_per_block: 320,
    max_threads_dim: 324,
    max_grid_size: 336,
    major: 360,
    minor: 364,
    multi_processor_count: 388,
    max_threads_per_multi_processor: 624,
    max_shared_memory_per_multi_processor: 1416,
    gcn_arch_name: 1160,
};
