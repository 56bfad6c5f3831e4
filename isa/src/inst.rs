//! The decoded instruction: what the emulator executes and the encoder writes.

use crate::format::Encoding;
use crate::reg::Operand;
use crate::table::{Counter, Effect, Field, Op, Row, Ty};
use crate::target::Target;

/// The most operands a row has.
pub const MAX_OPERANDS: usize = 6;

/// One decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// What it does; the X half of a dual-issue pair.
    pub op: Op,
    /// The encoding actually used: a VOP1, VOP2 or VOPC row may also come as [`Encoding::Vop3`]
    /// or [`Encoding::Vop3Sd`].
    pub encoding: Encoding,
    /// Length in bytes: 4, 8, 12 or 16.
    pub size_bytes: u8,
    /// Operands in the order of the row (destinations first); the rest is [`Operand::None`].
    /// Operands that an encoding implies (VCC in VOP2 and VOPC) are filled in.
    pub operands: [Operand; MAX_OPERANDS],
    /// Everything that modifies the operation.
    pub mods: Modifiers,
    /// The Y half of a dual-issue pair (VOPD). Both halves read before either writes.
    pub dual: Option<Dual>,
}

/// The second operation of a dual-issue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dual {
    /// What it does.
    pub op: Op,
    /// Its operands in the order of its row.
    pub operands: [Operand; MAX_OPERANDS],
}

/// Modifiers of an instruction. All zero and `None` when absent.
///
/// Bit `i` of `neg`, `abs`, `neg_hi`, `op_sel`, `op_sel_hi` belongs to source `i` (the field
/// SRC`i`); bit 3 of `op_sel` belongs to the destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// Negate source `i`, after `abs`; in packed instructions the low half only.
    pub neg: u8,
    /// Absolute value of source `i`. In `v_fma_mix*` decoded from the NEG_HI field.
    pub abs: u8,
    /// Packed instructions: negate the high half of source `i`.
    pub neg_hi: u8,
    /// 16-bit operands: 1 takes the high half of the register, in every encoding (VOP1, VOP2 and
    /// VOPC of gfx1100 hold it in bit 7 of the VGPR number). Packed: the half used for the low result.
    pub op_sel: u8,
    /// Packed: the half used for the high result. In `v_fma_mix*`: 1 reads source `i` as 16-bit.
    pub op_sel_hi: u8,
    /// Clamp the result: to 0…1 for floats, to the type's range for integers.
    pub clamp: bool,
    /// Multiplier of a float result.
    pub omod: OutputScale,
    /// Byte offset of SMEM, FLAT, GLOBAL, SCRATCH, MUBUF (signed where the format is) and LDS
    /// instructions. In two-address LDS instructions the unscaled first offset.
    pub offset: i32,
    /// The unscaled second offset of two-address LDS instructions.
    pub offset1: u8,
    /// Cache policy.
    pub cache: Cache,
    /// MUBUF: the VGPR address holds a byte offset.
    pub offen: bool,
    /// MUBUF: the VGPR address holds an index.
    pub idxen: bool,
    /// MUBUF (gfx950): the loaded data goes to LDS, and VDATA is absent.
    pub lds: bool,
    /// Matrix: broadcast size of A, or format of A.
    pub cbsz: u8,
    /// Matrix: block of A that is broadcast.
    pub abid: u8,
    /// Matrix: lane pattern of B, or format of B, or negation (f64).
    pub blgp: u8,
    /// `v_bitop3_*`: truth table; bit `4a + 2b + c` is the result for source bits a, b, c.
    pub truth_table: u8,
    /// Data-parallel primitive on source 0.
    pub dpp: Option<Dpp>,
    /// Sub-dword addressing (gfx950).
    pub sdwa: Option<Sdwa>,
}

/// Multiplier of a float result (OMOD).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OutputScale {
    /// Unchanged.
    #[default]
    One,
    /// Times 2.
    Mul2,
    /// Times 4.
    Mul4,
    /// Divided by 2.
    Div2,
}

/// Cache policy bits; gfx950 has `sc0 sc1 nt`, gfx1100 has `glc slc dlc`. `sc0` and `glc` also say
/// that an atomic returns the value before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cache {
    /// Scope bit 0 (gfx950; named `glc` on its scalar loads).
    pub sc0: bool,
    /// Scope bit 1 (gfx950).
    pub sc1: bool,
    /// Non-temporal (gfx950).
    pub nt: bool,
    /// Globally coherent (gfx1100).
    pub glc: bool,
    /// System-level coherent (gfx1100).
    pub slc: bool,
    /// Device-level coherent (gfx1100).
    pub dlc: bool,
}

/// Lane movement on source 0 of a vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dpp {
    /// Where each lane's source 0 comes from.
    pub ctrl: DppCtrl,
    /// Rows of 16 lanes that are written, one bit each. 0xf in DPP8.
    pub row_mask: u8,
    /// Banks of 4 lanes of each row that are written, one bit each. 0xf in DPP8.
    pub bank_mask: u8,
    /// An invalid source lane reads zero instead of disabling the write. False in DPP8.
    pub bound_ctrl: bool,
    /// Read inactive lanes (gfx1100).
    pub fetch_inactive: bool,
}

/// The pattern of a data-parallel primitive. "Row" is 16 consecutive lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DppCtrl {
    /// Lane `4q + i` reads lane `4q + sel[i]`.
    QuadPerm([u8; 4]),
    /// Shift towards lower lanes by 1–15 inside the row: lane `i` reads lane `i + n`.
    RowShl(u8),
    /// Shift towards higher lanes by 1–15 inside the row: lane `i` reads lane `i − n`.
    RowShr(u8),
    /// Rotate towards higher lanes by 1–15 inside the row.
    RowRor(u8),
    /// Shift the wave towards lower lanes by 1 (gfx950).
    WaveShl,
    /// Rotate the wave towards lower lanes by 1 (gfx950).
    WaveRol,
    /// Shift the wave towards higher lanes by 1 (gfx950).
    WaveShr,
    /// Rotate the wave towards higher lanes by 1 (gfx950).
    WaveRor,
    /// Reverse the row.
    RowMirror,
    /// Reverse each half row.
    RowHalfMirror,
    /// The last lane of each row to the next row (gfx950).
    RowBcast15,
    /// Lane 31 to lanes 32–63 (gfx950).
    RowBcast31,
    /// One lane 0–15 of each row to the whole row (gfx950).
    RowNewbcast(u8),
    /// One lane 0–15 of each row to the whole row (gfx1100).
    RowShare(u8),
    /// Lane `i` reads lane `i ^ n` of the row (gfx1100).
    RowXmask(u8),
    /// Lane `8g + i` reads lane `8g + sel[i]` (gfx1100).
    Dpp8([u8; 8]),
}

/// Sub-dword addressing of a VOP1, VOP2 or VOPC instruction (gfx950).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sdwa {
    /// Part of the destination that is written; [`SdwaSel::Dword`] for compares.
    pub dst_sel: SdwaSel,
    /// What happens to the rest of the destination.
    pub dst_unused: SdwaUnused,
    /// Part of source 0.
    pub src0_sel: SdwaSel,
    /// Part of source 1.
    pub src1_sel: SdwaSel,
    /// Sign-extend source `i` (bit `i`).
    pub sext: u8,
}

/// A part of a 32-bit register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SdwaSel {
    /// Bits 7:0.
    Byte0,
    /// Bits 15:8.
    Byte1,
    /// Bits 23:16.
    Byte2,
    /// Bits 31:24.
    Byte3,
    /// Bits 15:0.
    Word0,
    /// Bits 31:16.
    Word1,
    /// The whole register.
    Dword,
}

/// What sub-dword addressing does to the unselected bits of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SdwaUnused {
    /// Zero.
    Pad,
    /// Sign of the selected part, and zero below it.
    Sext,
    /// Keep the old bits.
    Preserve,
}

impl Inst {
    /// The row of its operation.
    pub fn row(&self) -> &'static Row {
        self.op.row()
    }

    /// The register count of operand `index`. Unlike the width of its type it knows how wide an
    /// address is in this encoding.
    pub fn registers(&self, index: usize, target: Target) -> u32 {
        let Some(spec) = self.row().operands.get(index) else { return 0 };
        let has_saddr =
            self.row().position(Field::Saddr).is_some_and(|at| self.operands[at] != Operand::None);
        let is_pair = match spec.ty {
            Ty::VAddr => {
                self.encoding == Encoding::Flat || self.encoding == Encoding::Global && !has_saddr
            }
            Ty::SAddr => self.encoding == Encoding::Global,
            Ty::BAddr => self.mods.idxen && self.mods.offen,
            Ty::MxA => return mx_registers(self.mods.cbsz),
            Ty::MxB => return mx_registers(self.mods.blgp),
            ty => return ty.bits(target).div_ceil(32),
        };
        1 + u32::from(is_pair)
    }

    /// Whether it is an atomic of FLAT, GLOBAL or MUBUF, whose cache bits say if it returns the old value.
    pub fn is_atomic_on_memory(&self) -> bool {
        matches!(self.op, Op::FlatAtomic(_) | Op::BufferAtomic(_))
    }

    /// Whether it is such an atomic and returns the value before it.
    pub fn returns_old(&self) -> bool {
        self.is_atomic_on_memory() && (self.mods.cache.sc0 || self.mods.cache.glc)
    }

    /// The counters it increments on `target`; FLAT counts in LGKMCNT too.
    ///
    /// Source: AMDGPUUsage, memory model tables (VSCNT exists from gfx10 on).
    pub fn counters(&self, target: Target) -> impl Iterator<Item = Counter> {
        let flat = (self.encoding == Encoding::Flat).then_some(Counter::Lgkm);
        let of_row = self.row().effects.iter().filter_map(move |effect| match effect {
            Effect::CountsLoad => Some(Counter::Vm),
            Effect::Atomic if !self.is_atomic_on_memory() => None,
            Effect::Atomic if target == Target::Gfx1100 && !self.returns_old() => Some(Counter::Vs),
            Effect::Atomic => Some(Counter::Vm),
            Effect::CountsStore if target == Target::Gfx1100 => Some(Counter::Vs),
            Effect::CountsStore => Some(Counter::Vm),
            Effect::CountsLgkm => Some(Counter::Lgkm),
            _ => None,
        });
        of_row.chain(flat)
    }
}

/// Registers of an f8f6f4 fragment by its format: 0 fp8, 1 bf8, 2 fp6, 3 bf6, 4 fp4.
///
/// Source: LLVM 22, `V_MFMA_F32_*_F8F6F4` and the register classes of its forms.
const fn mx_registers(format: u8) -> u32 {
    match format {
        2 | 3 => 6,
        4 => 4,
        _ => 8,
    }
}
