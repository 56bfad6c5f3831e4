//! Kernel metadata: what the compiler promises about each kernel and its arguments.
//!
//! Source of keys and values: AMDGPUUsage (LLVM 22), section *Code Object Metadata*, V3 to V6.

use serde::Serialize;

/// Metadata of one kernel. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelMetadata {
    /// `.name`: the kernel's name in the source.
    pub name: String,
    /// `.symbol`: the kernel descriptor's symbol, `<kernel>.kd`.
    pub symbol: String,
    /// `.kernarg_segment_size`: all arguments, hidden ones included.
    pub kernarg_segment_size: u32,
    /// `.kernarg_segment_align`: a power of two.
    pub kernarg_segment_align: u32,
    /// `.group_segment_fixed_size`: LDS of a workgroup.
    pub group_segment_fixed_size: u32,
    /// `.private_segment_fixed_size`: scratch of a work-item.
    pub private_segment_fixed_size: u32,
    /// `.wavefront_size`: 32 or 64 lanes.
    pub wavefront_size: u32,
    /// `.sgpr_count`: scalar registers, special ones included.
    pub sgpr_count: u32,
    /// `.vgpr_count`: vector registers; it may differ from what the descriptor allocates.
    pub vgpr_count: u32,
    /// `.agpr_count`: accumulation registers, on targets that have them.
    pub agpr_count: Option<u32>,
    /// `.sgpr_spill_count`: scalar registers that were spilled.
    pub sgpr_spill_count: u32,
    /// `.vgpr_spill_count`: vector registers that were spilled.
    pub vgpr_spill_count: u32,
    /// `.max_flat_workgroup_size`: most work-items of a workgroup.
    pub max_flat_workgroup_size: u32,
    /// `.reqd_workgroup_size`: the only workgroup size that may be launched, if given.
    pub reqd_workgroup_size: Option<[u32; 3]>,
    /// `.workgroup_size_hint`: the size the compiler was tuned for, if given.
    pub workgroup_size_hint: Option<[u32; 3]>,
    /// `.uniform_work_group_size`: the grid must be a whole number of workgroups.
    pub uniform_work_group_size: bool,
    /// `.uses_dynamic_stack`: scratch may grow past the fixed size.
    pub uses_dynamic_stack: bool,
    /// `.workgroup_processor_mode`: WGP mode (1) or CU mode (0), on targets that have both.
    pub workgroup_processor_mode: Option<bool>,
    /// `.kind`: `normal`, `init` or `fini`.
    pub kind: String,
    /// `.args`, in ascending order of offsets, hidden arguments included.
    pub args: Vec<KernelArg>,
    /// Keys that this reader does not know, by path: nothing was checked about them.
    pub unknown_keys: Vec<String>,
}

impl KernelMetadata {
    /// The arguments that a launch supplies, in order.
    pub fn explicit_args(&self) -> impl Iterator<Item = &KernelArg> {
        self.args.iter().filter(|arg| !matches!(arg.value_kind, ValueKind::Hidden(_)))
    }
}

/// One argument in the kernarg segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelArg {
    /// `.name`, if the compiler kept it.
    pub name: Option<String>,
    /// `.type_name`: the type's spelling in the source, if kept.
    pub type_name: Option<String>,
    /// `.offset` in the kernarg segment, in bytes.
    pub offset: u32,
    /// `.size` in bytes.
    pub size: u32,
    /// `.value_kind`: what it is.
    pub value_kind: ValueKind,
    /// `.address_space` of a pointer.
    pub address_space: Option<AddressSpace>,
    /// `.access`: how the source qualifies the argument.
    pub access: Option<Access>,
    /// `.actual_access`: what the compiler saw the kernel do.
    pub actual_access: Option<Access>,
    /// `.pointee_align` in bytes, of pointers to LDS.
    pub pointee_align: Option<u32>,
    /// `.is_const`.
    pub is_const: bool,
    /// `.is_restrict`.
    pub is_restrict: bool,
    /// `.is_volatile`.
    pub is_volatile: bool,
    /// `.is_pipe`.
    pub is_pipe: bool,
}

impl KernelArg {
    /// What the kernel is known to do with the memory behind a pointer: the compiler's finding, else
    /// the source's qualifier.
    pub fn known_access(&self) -> Option<Access> {
        self.actual_access.or(self.access)
    }
}

/// Defines an enum of metadata words with both directions of the spelling.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// Every spelling, in the order of the documentation.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The value that the metadata spells `word`.
            pub fn from_word(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// The metadata's spelling.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }
    };
}

words! {
    /// What a kernel may do with the memory behind an argument.
    Access {
        /// Loads.
        ReadOnly = "read_only",
        /// Stores.
        WriteOnly = "write_only",
        /// Both.
        ReadWrite = "read_write",
    }
}

words! {
    /// Where a pointer argument points.
    AddressSpace {
        /// Scratch.
        Private = "private",
        /// Global memory.
        Global = "global",
        /// Global memory that does not change during the dispatch.
        Constant = "constant",
        /// LDS.
        Local = "local",
        /// Any of the others.
        Generic = "generic",
        /// Global memory that an OpenCL region names.
        Region = "region",
    }
}

words! {
    /// Arguments that the runtime supplies, if the kernel asks for them.
    HiddenArg {
        /// Workgroups of the grid in x.
        BlockCountX = "hidden_block_count_x",
        /// Workgroups of the grid in y.
        BlockCountY = "hidden_block_count_y",
        /// Workgroups of the grid in z.
        BlockCountZ = "hidden_block_count_z",
        /// Work-items of a workgroup in x.
        GroupSizeX = "hidden_group_size_x",
        /// Work-items of a workgroup in y.
        GroupSizeY = "hidden_group_size_y",
        /// Work-items of a workgroup in z.
        GroupSizeZ = "hidden_group_size_z",
        /// Work-items of the last, partial workgroup in x.
        RemainderX = "hidden_remainder_x",
        /// Work-items of the last, partial workgroup in y.
        RemainderY = "hidden_remainder_y",
        /// Work-items of the last, partial workgroup in z.
        RemainderZ = "hidden_remainder_z",
        /// First work-item in x.
        GlobalOffsetX = "hidden_global_offset_x",
        /// First work-item in y.
        GlobalOffsetY = "hidden_global_offset_y",
        /// First work-item in z.
        GlobalOffsetZ = "hidden_global_offset_z",
        /// Dimensions of the grid.
        GridDims = "hidden_grid_dims",
        /// Nothing: bytes that are not used.
        None = "hidden_none",
        /// Buffer of `printf`.
        PrintfBuffer = "hidden_printf_buffer",
        /// Buffer for calls of host services.
        HostcallBuffer = "hidden_hostcall_buffer",
        /// Queue for device-side enqueue.
        DefaultQueue = "hidden_default_queue",
        /// Completion of device-side enqueue.
        CompletionAction = "hidden_completion_action",
        /// Synchronisation of several grids.
        MultigridSyncArg = "hidden_multigrid_sync_arg",
        /// Heap of device-side `malloc`.
        HeapV1 = "hidden_heap_v1",
        /// LDS allocated at launch.
        DynamicLdsSize = "hidden_dynamic_lds_size",
        /// Aperture of scratch.
        PrivateBase = "hidden_private_base",
        /// Aperture of LDS.
        SharedBase = "hidden_shared_base",
        /// The queue of the dispatch.
        QueuePtr = "hidden_queue_ptr",
    }
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ValueKind {
    /// `by_value`: the bytes of the argument themselves.
    ByValue,
    /// `global_buffer`: a pointer to global memory.
    GlobalBuffer,
    /// `dynamic_shared_pointer`: LDS allocated at launch.
    DynamicSharedPointer,
    /// `sampler`.
    Sampler,
    /// `image`.
    Image,
    /// `pipe`.
    Pipe,
    /// `queue`.
    Queue,
    /// `hidden_*`: supplied by the runtime, not by the launch.
    Hidden(HiddenArg),
}

impl ValueKind {
    const EXPLICIT: [(&'static str, ValueKind); 7] = [
        ("by_value", ValueKind::ByValue),
        ("global_buffer", ValueKind::GlobalBuffer),
        ("dynamic_shared_pointer", ValueKind::DynamicSharedPointer),
        ("sampler", ValueKind::Sampler),
        ("image", ValueKind::Image),
        ("pipe", ValueKind::Pipe),
        ("queue", ValueKind::Queue),
    ];

    /// The value that the metadata spells `word`.
    pub fn from_word(word: &str) -> Option<ValueKind> {
        let explicit = ValueKind::EXPLICIT.into_iter().find(|(known, _)| *known == word);
        explicit.map(|(_, kind)| kind).or_else(|| HiddenArg::from_word(word).map(ValueKind::Hidden))
    }

    /// The metadata's spelling.
    pub fn word(self) -> &'static str {
        match self {
            ValueKind::Hidden(hidden) => hidden.word(),
            explicit => {
                let found = ValueKind::EXPLICIT.into_iter().find(|(_, kind)| *kind == explicit);
                found.map_or("", |(word, _)| word)
            }
        }
    }

    /// Every spelling.
    pub(crate) fn words() -> impl Iterator<Item = &'static str> {
        let explicit = ValueKind::EXPLICIT.into_iter().map(|(word, _)| word);
        explicit.chain(HiddenArg::WORDS.iter().copied())
    }
}
