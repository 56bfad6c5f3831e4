//! The kernel descriptor: 64 bytes that tell the hardware how to start a wave.
//!
//! Source of layout, field meanings and legal values: AMDGPUUsage (LLVM 22), section *Kernel Descriptor*,
//! tables *compute_pgm_rsrc1*, *compute_pgm_rsrc2*, *compute_pgm_rsrc3* for GFX90A/GFX942 (gfx950 alike)
//! and for GFX11.

use isa::Target;
use serde::Serialize;

use crate::error::Problem;

/// Bytes of a descriptor.
pub(crate) const DESCRIPTOR_BYTES: u64 = 64;
/// Alignment of a descriptor in memory, in bytes.
pub(crate) const DESCRIPTOR_ALIGN: u64 = 64;
/// Alignment of a kernel's first instruction, in bytes.
pub(crate) const ENTRY_ALIGN: u64 = 256;
/// A decoded kernel descriptor. Sizes are in bytes, register counts in registers of one lane or wave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelDescriptor {
    /// LDS that a workgroup always gets (byte 0).
    pub group_segment_bytes: u32,
    /// Scratch that a work-item always gets (byte 4).
    pub private_segment_bytes: u32,
    /// Kernel arguments; 0 means unspecified (byte 8).
    pub kernarg_bytes: u32,
    /// Entry point, relative to the descriptor's own address (byte 16).
    pub entry_byte_offset: i64,

    /// Vector registers allocated to a lane, accumulation registers included (rsrc1 5:0, decoded).
    pub vgprs: u32,
    /// Architectural vector registers of a lane: where accumulation registers start (rsrc3 5:0 on
    /// gfx950, decoded), all of them on targets without accumulation registers.
    pub arch_vgprs: u32,
    /// Scalar registers allocated, special ones included (rsrc1 9:6, decoded); `None` where the
    /// hardware always allocates all of them.
    pub sgprs: Option<u32>,
    /// Rounding of f32 arithmetic when the wave starts (rsrc1 13:12).
    pub round_mode_f32: RoundMode,
    /// Rounding of f16 and f64 arithmetic (rsrc1 15:14).
    pub round_mode_f16_f64: RoundMode,
    /// Subnormal f32 numbers (rsrc1 17:16).
    pub denorm_mode_f32: DenormMode,
    /// Subnormal f16 and f64 numbers (rsrc1 19:18).
    pub denorm_mode_f16_f64: DenormMode,
    /// Clamping turns NaN into zero (rsrc1 21).
    pub dx10_clamp: bool,
    /// Quiet signalling NaNs as IEEE 754 says (rsrc1 23).
    pub ieee_mode: bool,
    /// f16 overflow gives the largest finite number (rsrc1 26).
    pub fp16_overflow: bool,
    /// A workgroup spans both CUs of a WGP (rsrc1 29; gfx1100).
    pub wgp_mode: bool,
    /// Memory operations of one kind return in order (rsrc1 30; gfx1100).
    pub mem_ordered: bool,
    /// The oldest waves make progress first (rsrc1 31; gfx1100).
    pub forward_progress: bool,

    /// The kernel uses scratch (rsrc2 0).
    pub private_segment: bool,
    /// User SGPRs that are initialised, padding included (rsrc2 5:1).
    pub user_sgpr_count: u32,
    /// Workgroup ids that follow the user SGPRs (rsrc2 9:7).
    pub workgroup_ids: WorkgroupIds,
    /// Workgroup information follows the workgroup ids (rsrc2 10).
    pub workgroup_info: bool,
    /// Dimensions of the work-item id that are initialised, 1 to 3 (rsrc2 12:11, plus one).
    pub work_item_id_dimensions: u32,
    /// Float exceptions that trap (rsrc2 30:24).
    pub exceptions: FloatExceptions,

    /// Waves of a workgroup may run on different CUs, without LDS or barriers (rsrc3 16; gfx950).
    pub tg_split: bool,
    /// Vector registers shared by the halves of a wave64, in blocks of 8 (rsrc3 3:0; gfx1100).
    pub shared_vgpr_blocks: u32,
    /// Code fetched ahead when the wave starts, in bytes (rsrc3 9:4 times 128; gfx1100).
    pub instruction_prefetch_bytes: u32,
    /// The kernel uses image instructions (rsrc3 31; gfx1100).
    pub image_op: bool,

    /// Which values the user SGPRs hold (byte 56, bits 6:0).
    pub user_sgprs: UserSgprs,
    /// Lanes of a wave: 32 or 64 (byte 56, bit 10).
    pub wave_width: u32,
    /// Scratch may grow past its fixed size (byte 56, bit 11).
    pub dynamic_stack: bool,
    /// Kernel arguments that arrive in user SGPRs (byte 58; gfx950).
    pub kernarg_preload: KernargPreload,
}

/// Rounding modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RoundMode {
    /// To nearest, ties to even (0).
    NearestEven,
    /// Towards plus infinity (1).
    PlusInfinity,
    /// Towards minus infinity (2).
    MinusInfinity,
    /// Towards zero (3).
    Zero,
}

impl RoundMode {
    fn from_bits(bits: u32) -> RoundMode {
        match bits & 3 {
            0 => RoundMode::NearestEven,
            1 => RoundMode::PlusInfinity,
            2 => RoundMode::MinusInfinity,
            _ => RoundMode::Zero,
        }
    }
}

/// What happens to subnormal numbers; a flushed number keeps its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum DenormMode {
    /// Sources and results are flushed (0).
    FlushSourceAndResult,
    /// Results are flushed (1).
    FlushResult,
    /// Sources are flushed (2).
    FlushSource,
    /// Nothing is flushed (3).
    Keep,
}

impl DenormMode {
    fn from_bits(bits: u32) -> DenormMode {
        match bits & 3 {
            0 => DenormMode::FlushSourceAndResult,
            1 => DenormMode::FlushResult,
            2 => DenormMode::FlushSource,
            _ => DenormMode::Keep,
        }
    }
}

/// Workgroup ids that arrive in scalar registers, in the order x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WorkgroupIds {
    /// The id in x (rsrc2 7).
    pub x: bool,
    /// The id in y (rsrc2 8).
    pub y: bool,
    /// The id in z (rsrc2 9).
    pub z: bool,
}

/// Exceptions that trap; no compiler of kernels asks for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FloatExceptions {
    /// Invalid operation (rsrc2 24).
    pub invalid: bool,
    /// Subnormal source (rsrc2 25).
    pub denormal_source: bool,
    /// Division by zero (rsrc2 26).
    pub division_by_zero: bool,
    /// Overflow (rsrc2 27).
    pub overflow: bool,
    /// Underflow (rsrc2 28).
    pub underflow: bool,
    /// Inexact (rsrc2 29).
    pub inexact: bool,
    /// Integer division by zero (rsrc2 30).
    pub integer_division_by_zero: bool,
}

/// Values in the user SGPRs, in the order of their registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UserSgprs {
    /// Resource of the scratch buffer, 4 registers (bit 0); never with architected scratch.
    pub private_segment_buffer: bool,
    /// Address of the dispatch packet, 2 registers (bit 1).
    pub dispatch_ptr: bool,
    /// Address of the queue, 2 registers (bit 2).
    pub queue_ptr: bool,
    /// Address of the kernel arguments, 2 registers (bit 3).
    pub kernarg_segment_ptr: bool,
    /// Id of the dispatch, 2 registers (bit 4).
    pub dispatch_id: bool,
    /// Start of flat scratch, 2 registers (bit 5); never with architected scratch.
    pub flat_scratch_init: bool,
    /// Scratch of a work-item in bytes, 1 register (bit 6).
    pub private_segment_size: bool,
}

impl UserSgprs {
    /// Registers that the values take, preloaded arguments apart.
    pub fn register_count(self) -> u32 {
        let registers = [
            (self.private_segment_buffer, 4),
            (self.dispatch_ptr, 2),
            (self.queue_ptr, 2),
            (self.kernarg_segment_ptr, 2),
            (self.dispatch_id, 2),
            (self.flat_scratch_init, 2),
            (self.private_segment_size, 1),
        ];
        registers.into_iter().filter(|(enabled, _)| *enabled).map(|(_, count)| count).sum()
    }
}

/// Kernel arguments that the hardware loads into user SGPRs before the wave starts.
///
/// With a length other than 0, waves enter 256 bytes past the entry point; the code before that loads
/// the arguments itself, for firmware that cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KernargPreload {
    /// Registers loaded, 4 bytes each (bits 6:0).
    pub length_dwords: u32,
    /// First of them in the kernarg segment, in units of 4 bytes (bits 15:7).
    pub offset_dwords: u32,
}

/// The descriptor's words, and where they are.
struct Words<'d> {
    bytes: &'d [u8; DESCRIPTOR_BYTES as usize],
}

impl Words<'_> {
    fn u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.array(offset))
    }

    fn u16(&self, offset: usize) -> u32 {
        u16::from_le_bytes(self.array(offset)).into()
    }

    fn i64(&self, offset: usize) -> i64 {
        i64::from_le_bytes(self.array(offset))
    }

    fn array<const N: usize>(&self, offset: usize) -> [u8; N] {
        std::array::from_fn(|index| self.bytes[offset + index])
    }
}

/// Offsets of the words that hold bit fields.
pub(crate) mod at {
    pub const RSRC3: usize = 44;
    pub const RSRC1: usize = 48;
    pub const RSRC2: usize = 52;
    pub const PROPERTIES: usize = 56;
    pub const PRELOAD: usize = 58;
}

/// Bits `high:low` of a word.
fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word >> low) & (u32::MAX >> (31 - (high - low)))
}

fn bit(word: u32, position: u32) -> bool {
    (word >> position) & 1 == 1
}

impl KernelDescriptor {
    /// Decodes a descriptor for a target; reserved bits that are set are reported.
    pub(crate) fn decode(
        kernel: &str,
        target: Target,
        bytes: &[u8; DESCRIPTOR_BYTES as usize],
        problems: &mut Vec<Problem>,
    ) -> KernelDescriptor {
        let words = Words { bytes };
        problems.extend(reserved_bits(kernel, target, &words));
        let [rsrc1, rsrc2, rsrc3] =
            [at::RSRC1, at::RSRC2, at::RSRC3].map(|offset| words.u32(offset));
        let (properties, preload) = (words.u16(at::PROPERTIES), words.u16(at::PRELOAD));
        let limits = target.limits();
        let gfx1100 = target == Target::Gfx1100;
        let wave_width = if bit(properties, 10) { 32 } else { 64 };
        let vgprs = (bits(rsrc1, 5, 0) + 1) * vgpr_encoding_granule(target, wave_width);
        KernelDescriptor {
            group_segment_bytes: words.u32(0),
            private_segment_bytes: words.u32(4),
            kernarg_bytes: words.u32(8),
            entry_byte_offset: words.i64(16),
            vgprs,
            arch_vgprs: if gfx1100 {
                vgprs
            } else {
                limits.accum_offset_granule * (bits(rsrc3, 5, 0) + 1)
            },
            sgprs: (!gfx1100).then(|| limits.sgpr_encoding_granule * (bits(rsrc1, 9, 6) / 2 + 1)),
            round_mode_f32: RoundMode::from_bits(bits(rsrc1, 13, 12)),
            round_mode_f16_f64: RoundMode::from_bits(bits(rsrc1, 15, 14)),
            denorm_mode_f32: DenormMode::from_bits(bits(rsrc1, 17, 16)),
            denorm_mode_f16_f64: DenormMode::from_bits(bits(rsrc1, 19, 18)),
            dx10_clamp: bit(rsrc1, 21),
            ieee_mode: bit(rsrc1, 23),
            fp16_overflow: bit(rsrc1, 26),
            wgp_mode: bit(rsrc1, 29),
            mem_ordered: bit(rsrc1, 30),
            forward_progress: bit(rsrc1, 31),
            private_segment: bit(rsrc2, 0),
            user_sgpr_count: bits(rsrc2, 5, 1),
            workgroup_ids: WorkgroupIds { x: bit(rsrc2, 7), y: bit(rsrc2, 8), z: bit(rsrc2, 9) },
            workgroup_info: bit(rsrc2, 10),
            work_item_id_dimensions: bits(rsrc2, 12, 11) + 1,
            exceptions: FloatExceptions::from_rsrc2(rsrc2),
            tg_split: !gfx1100 && bit(rsrc3, 16),
            shared_vgpr_blocks: if gfx1100 { bits(rsrc3, 3, 0) } else { 0 },
            instruction_prefetch_bytes: if gfx1100 { 128 * bits(rsrc3, 9, 4) } else { 0 },
            image_op: gfx1100 && bit(rsrc3, 31),
            user_sgprs: UserSgprs::from_properties(properties),
            wave_width,
            dynamic_stack: bit(properties, 11),
            kernarg_preload: KernargPreload {
                length_dwords: bits(preload, 6, 0),
                offset_dwords: bits(preload, 15, 7),
            },
        }
    }

    /// Accumulation registers of a lane.
    pub fn acc_vgprs(&self) -> u32 {
        self.vgprs.saturating_sub(self.arch_vgprs)
    }

    /// Reports fields that contradict each other or the target.
    pub(crate) fn check(&self, kernel: &str, target: Target, problems: &mut Vec<Problem>) {
        let mut refuse = |wrong: bool, what: &'static str, got: u32, rule: String| {
            if wrong {
                problems.push(Problem::Kernel {
                    kernel: kernel.to_owned(),
                    what,
                    got: got.into(),
                    rule,
                });
            }
        };
        let limits = target.limits();
        let limit = limits.vector_registers_per_wave;
        refuse(
            self.vgprs > limit,
            "number of VGPRs",
            self.vgprs,
            format!("the limit on {target} is {limit} a lane"),
        );
        let rule = format!("more than the {} VGPRs allocated", self.vgprs);
        refuse(
            self.arch_vgprs > self.vgprs,
            "first accumulation register (accum_offset)",
            self.arch_vgprs,
            rule,
        );
        refuse(
            self.work_item_id_dimensions > 3,
            "work-item id dimensions",
            self.work_item_id_dimensions,
            "the limit is 3".to_owned(),
        );
        refuse(
            self.user_sgpr_count > limits.user_sgprs,
            "user SGPR count",
            self.user_sgpr_count,
            format!("the limit is {}", limits.user_sgprs),
        );
        let needed = self.user_sgprs.register_count() + self.kernarg_preload.length_dwords;
        let rule = format!("fewer than the {needed} that its enabled values take");
        refuse(self.user_sgpr_count < needed, "user SGPR count", self.user_sgpr_count, rule);
        let preload_end =
            4 * (self.kernarg_preload.offset_dwords + self.kernarg_preload.length_dwords);
        let preloads = self.kernarg_preload.length_dwords != 0 && self.kernarg_bytes != 0;
        let rule = format!("past the {} bytes of kernel arguments", self.kernarg_bytes);
        refuse(
            preloads && preload_end > self.kernarg_bytes.next_multiple_of(4),
            "end of preloaded arguments in bytes",
            preload_end,
            rule,
        );
    }
}

impl FloatExceptions {
    fn from_rsrc2(rsrc2: u32) -> FloatExceptions {
        FloatExceptions {
            invalid: bit(rsrc2, 24),
            denormal_source: bit(rsrc2, 25),
            division_by_zero: bit(rsrc2, 26),
            overflow: bit(rsrc2, 27),
            underflow: bit(rsrc2, 28),
            inexact: bit(rsrc2, 29),
            integer_division_by_zero: bit(rsrc2, 30),
        }
    }
}

impl UserSgprs {
    fn from_properties(properties: u32) -> UserSgprs {
        UserSgprs {
            private_segment_buffer: bit(properties, 0),
            dispatch_ptr: bit(properties, 1),
            queue_ptr: bit(properties, 2),
            kernarg_segment_ptr: bit(properties, 3),
            dispatch_id: bit(properties, 4),
            flat_scratch_init: bit(properties, 5),
            private_segment_size: bit(properties, 6),
        }
    }
}

/// Registers that one step of the VGPR count field stands for. gfx1100 counts the registers of a wave64
/// in steps half as large as those of a wave32, in which its limits are given.
fn vgpr_encoding_granule(target: Target, wave_width: u32) -> u32 {
    let limits = target.limits();
    if wave_width == limits.wave_width {
        limits.vgpr_encoding_granule
    } else {
        limits.vgpr_encoding_granule / 2
    }
}

/// Bits that must be 0, by field: byte offset, bytes of the field, mask.
fn reserved_masks(target: Target) -> [(&'static str, usize, usize, u64); 9] {
    let (rsrc1, rsrc2, rsrc3, properties, preload) = match target {
        // priority, priv, debug mode, bulky, cdbg_user, 28:27, and what only GFX10 and later have
        Target::Gfx950 => (0xfb50_0c00, 0x80ff_e040, 0xfffe_ffc0, 0xf7a1, 0),
        // the same without 31:29; the SGPR count is always 0; trap on start and end
        Target::Gfx1100 => (0x1b50_0fc0, 0x80ff_e040, 0x7fff_fc00, 0xf3a1, 0xffff),
    };
    [
        ("reserved", 12, 4, u64::from(u32::MAX)),
        ("reserved", 24, 8, u64::MAX),
        ("reserved", 32, 8, u64::MAX),
        ("reserved", 40, 4, u64::from(u32::MAX)),
        ("compute_pgm_rsrc3", at::RSRC3, 4, rsrc3),
        ("compute_pgm_rsrc1", at::RSRC1, 4, rsrc1),
        ("compute_pgm_rsrc2", at::RSRC2, 4, rsrc2),
        ("kernel_code_properties", at::PROPERTIES, 2, properties),
        ("kernarg_preload", at::PRELOAD, 2, preload),
    ]
}

fn reserved_bits(kernel: &str, target: Target, words: &Words<'_>) -> Vec<Problem> {
    let mut fields = reserved_masks(target).to_vec();
    fields.push(("reserved", 60, 4, u64::from(u32::MAX)));
    let set = fields.into_iter().filter_map(|(field, offset, size, mask)| {
        let value = words.bytes[offset..offset + size]
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte));
        (value & mask != 0).then_some((field, offset, value & mask))
    });
    set.map(|(field, offset, bits)| Problem::ReservedBits {
        kernel: kernel.to_owned(),
        field,
        offset,
        bits,
        target,
    })
    .collect()
}
