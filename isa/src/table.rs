//! The instruction tables: one line an instruction.
//!
//! # The row
//!
//! ```text
//! //  operation   gfx950                      gfx1100                        destinations <- sources            effects
//!     VFmacF32   {Vop2 0x3b v_fmac_f32}      {Vop2 0x2b v_fmac_f32}         [vdst:f32 <- src0:f32, src1:f32]   reads_dst;
//! //  |           |    |    |                                                |    |
//! //  |           |    |    mnemonic as the target's manual spells it        |    type: class and width in bits
//! //  |           |    opcode in that encoding                               the manual's name of the field
//! //  variant     shortest encoding; VOP1, VOP2, VOPC also have their VOP3 form
//! ```
//!
//! `{}` means that the target does not have the instruction. Operands stand in the order of the
//! assembler's text. Operands that the short form implies (VCC of a carry or a select) are written out
//! with the field that names them in VOP3. `mask` is a lane mask: 64 bits on gfx950, 32 on gfx1100.
//!
//! `ReadsDst` and its like are [effects](Effect): what an instruction does, or which forms it lacks,
//! beyond its operands.
//!
//! # Names
//!
//! A variant is the mnemonic in camel case without underscores. Where targets spell one operation
//! differently, the variant follows gfx1100 (`SLoadB32`, not `SLoadDword`), because its names state the
//! width. Two families are systematic: [`Compare`] is a test, a type and a destination instead of 200
//! variants, and [`Flat`] leaves out the segment, which is the encoding's.
//!
//! Each file of rows is a family; [`Op`] is the sum of the families. Whoever gives rows a meaning
//! matches a family without a wildcard, so that a row without a meaning does not compile.
//!
//! Sources: opcodes, operand order and modifiers agree with LLVM 22's MC tables (vectors in
//! `tests/vectors`); names and effects with the CDNA3 and RDNA3 ISA manuals.

use crate::format::Encoding;
pub use crate::format::Field;
use crate::target::Target;

mod ty;

pub use ty::Element;
pub use ty::Ty;

/// One operand of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperandSpec {
    /// The field that holds it.
    pub field: Field,
    /// Whether it is written. See [`Effect::ReadsDst`] for destinations that are also read.
    pub is_dst: bool,
    /// Class and width.
    pub ty: Ty,
}

/// How a target encodes an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// The shortest encoding.
    pub encoding: Encoding,
    /// The opcode in that encoding.
    pub opcode: u16,
    /// The mnemonic, without form suffix.
    pub mnemonic: &'static str,
}

/// What an instruction does beyond its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Every destination's old value is an input too: accumulator, kept half or lane, swap.
    ReadsDst,
    /// Reads SCC.
    ReadsScc,
    /// Writes SCC.
    WritesScc,
    /// Reads VCC without naming it as an operand.
    ReadsVcc,
    /// Reads EXEC as data (every vector instruction reads it as a mask).
    ReadsExec,
    /// Writes EXEC without naming it as an operand.
    WritesExec,
    /// Reads M0.
    ReadsM0,
    /// Runs on the transcendental unit.
    Trans,
    /// May continue elsewhere.
    Branch,
    /// Control never reaches the next instruction.
    Terminator,
    /// Waits for the other waves of the workgroup.
    Barrier,
    /// Counts in VMCNT until the loaded value is there.
    CountsLoad,
    /// Counts as a store: VMCNT on gfx950, VSCNT on gfx1100.
    CountsStore,
    /// Counts in LGKMCNT.
    CountsLgkm,
    /// An integer operation whose VOP3 form takes CLAMP.
    Clamps,
    /// Its VOP3 form takes no CLAMP although operands are floats.
    NoClamp,
    /// No VOP3, DPP or SDWA form of this VOP1 or VOP2 row.
    ShortOnly,
    /// No VOP3 form on gfx1100.
    NoLongGfx1100,
    /// No DPP form.
    NoDpp,
    /// Its SDWA form selects a part of the source only: the whole result is written.
    NoDstSel,
    /// Bits 0 and 1 of OP_SEL are FI and BOUND_CTRL of a lane permutation.
    LaneFlags,
    /// The fields of OMOD, ABS and NEG hold a truth table.
    TruthTable,
    /// A VOP3-only row of gfx950 without OP_SEL, whose result zeroes the high half.
    ZeroesHigh,
    /// Two 8-bit offsets instead of one of 16 bits.
    TwoOffsets,
    /// The offset is the pattern of a lane swizzle.
    Swizzles,
    /// Only GLOBAL has it, not FLAT and SCRATCH.
    GlobalOnly,
    /// Reads, changes and writes memory at once. Outside LDS, an atomic with SC0 or GLC returns the old value
    /// (in VDST, through a buffer resource in VDATA) and counts as a load; without, it counts as a store.
    Atomic,
    /// Its VOP3 form reads one scalar value at most, on every target: shifts of 64 bits (LLVM 22,
    /// `getConstantBusLimit`).
    OneScalar,
    /// M0 adds to the register number of the source.
    RelativeSource,
    /// M0 adds to the register number of the result.
    RelativeResult,
    /// gfx950: the LDS bit sends the loaded data to LDS, at M0, instead of VDATA.
    ToLds,
}

/// A counter that S_WAITCNT waits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Vector memory (on gfx1100: loads and returning atomics).
    Vm,
    /// Vector memory stores (gfx1100).
    Vs,
    /// LDS, scalar memory, messages.
    Lgkm,
    /// Exports.
    Exp,
}

/// One line of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// How gfx950 encodes it, if it has it.
    pub gfx950: Option<Form>,
    /// How gfx1100 encodes it, if it has it.
    pub gfx1100: Option<Form>,
    /// Operands in the order of the assembler's text.
    pub operands: &'static [OperandSpec],
    /// What it does beyond its operands.
    pub effects: &'static [Effect],
}

impl Row {
    /// How `target` encodes it, if the target has it.
    pub const fn form(&self, target: Target) -> Option<&Form> {
        match target {
            Target::Gfx950 => self.gfx950.as_ref(),
            Target::Gfx1100 => self.gfx1100.as_ref(),
        }
    }

    /// Whether the row lists an effect.
    pub fn has(&self, effect: Effect) -> bool {
        self.effects.contains(&effect)
    }

    /// Whether a 16-bit result zeroes the high half of its register; otherwise it keeps the half that it
    /// does not write.
    ///
    /// gfx950 zeroes it in instructions with a VOP1 or VOP2 form and in the "legacy" ones (LLVM 22,
    /// `zeroesHigh16BitsOfDest`); its other 16-bit instructions, which have OP_SEL, and all of gfx1100's
    /// keep it.
    pub fn zeroes_high_half(&self, target: Target) -> bool {
        let result = self.operands.first().filter(|spec| spec.is_dst && spec.ty.is_16_bit());
        let has_short_form = self
            .gfx950
            .is_some_and(|form| matches!(form.encoding, Encoding::Vop1 | Encoding::Vop2));
        target == Target::Gfx950
            && result.is_some()
            && (has_short_form || self.has(Effect::ZeroesHigh))
    }

    /// The position of the operand in a field.
    pub fn position(&self, field: Field) -> Option<usize> {
        self.operands.iter().position(|spec| spec.field == field)
    }
}

/// One family of rows. See the module documentation for the grammar.
macro_rules! rows {
    (
        $(#[$meta:meta])* enum $Family:ident;
        $( $Op:ident
           { $($encoding9:ident $opcode9:literal $mnemonic9:ident)? }
           { $($encoding11:ident $opcode11:literal $mnemonic11:ident)? }
           [ $($dst:ident : $dst_ty:ident),* <- $($src:ident : $src_ty:ident),* ]
           $($effect:ident)* ; )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $Family {
            $( #[doc = concat!($("gfx950 `", stringify!($mnemonic9), "` ",)? $("gfx1100 `", stringify!($mnemonic11), "`",)?)]
               $Op, )*
        }

        impl $Family {
            /// The rows of this family, in the order of its variants.
            pub const ROWS: &'static [crate::table::Row] = &[
                $( crate::table::Row {
                    op: crate::table::Op::$Family($Family::$Op),
                    gfx950: form!($($encoding9 $opcode9 $mnemonic9)?),
                    gfx1100: form!($($encoding11 $opcode11 $mnemonic11)?),
                    operands: &[
                        $( crate::table::OperandSpec {
                            field: field!($dst), is_dst: true, ty: ty!($dst_ty),
                        }, )*
                        $( crate::table::OperandSpec {
                            field: field!($src), is_dst: false, ty: ty!($src_ty),
                        }, )*
                    ],
                    effects: &[ $( effect!($effect), )* ],
                }, )*
            ];

            /// The row of this operation.
            pub const fn row(self) -> &'static crate::table::Row {
                &Self::ROWS[self as usize]
            }
        }
    };
}

macro_rules! form {
    () => {
        None
    };
    ($encoding:ident $opcode:literal $mnemonic:ident) => {
        Some(crate::table::Form {
            encoding: crate::format::Encoding::$encoding,
            opcode: $opcode,
            mnemonic: stringify!($mnemonic),
        })
    };
}

/// Lower-case words of rows to variants of an enum.
macro_rules! words {
    ($name:ident, $Enum:ident: $($word:ident $Variant:ident $(($Element:ident, $registers:literal))?),* $(,)?) => {
        macro_rules! $name {
            $( ($word) => {
                crate::table::$Enum::$Variant $((crate::table::Element::$Element, $registers))?
            }; )*
        }
    };
}

words!(field, Field:
    vdst Vdst, sdst Sdst, src0 Src0, src1 Src1, src2 Src2, vsrc0 Vsrc0, k K, ssrc0 Ssrc0, ssrc1 Ssrc1, ssrc2 Ssrc2,
    simm16 Simm16, simm32 Simm32, sdata Sdata, sbase Sbase, soffset Soffset, addr Addr, saddr Saddr,
    data Data, data0 Data0, data1 Data1, vdata Vdata, vaddr Vaddr, srsrc Srsrc, scale_a ScaleA, scale_b ScaleB);
words!(ty, Ty:
    b8 B8, u8 U8, i8 I8, b16 B16, u16 U16, i16 I16, f16 F16, bf16 Bf16, b32 B32, u32 U32, i32 I32, f32 F32,
    i16x2 I16x2, f16x2 F16x2, bf16x2 Bf16x2, iu8x4 Iu8x4, mix Mix, acc Acc, b64 B64, u64 U64, i64 I64, f64 F64,
    b32x2 B32x2, f32x2 F32x2, b96 B96, b128 B128, b64x2 B64x2, b256 B256, b512 B512, mask Mask,
    v_addr VAddr, s_addr SAddr, b_addr BAddr, label Label, wait_counts WaitCounts, dep_counts DepCounts,
    delay Delay, message Message, hw_reg HwReg, gpr_idx GprIdx, mx_a MxA, mx_b MxB,
    f64_r2 Tile(F64, 2), f64_r8 Tile(F64, 8), f32_r1 Tile(F32, 1), f32_r4 Tile(F32, 4), f32_r8 Tile(F32, 8),
    f32_r16 Tile(F32, 16), f32_r32 Tile(F32, 32), f16_r2 Tile(F16, 2), f16_r4 Tile(F16, 4), f16_r8 Tile(F16, 8),
    bf16_r2 Tile(Bf16, 2), bf16_r4 Tile(Bf16, 4), bf16_r8 Tile(Bf16, 8), fp8_r2 Tile(Fp8, 2), fp8_r4 Tile(Fp8, 4),
    fp8_r8 Tile(Fp8, 8), bf8_r2 Tile(Bf8, 2), bf8_r4 Tile(Bf8, 4), bf8_r8 Tile(Bf8, 8), i32_r4 Tile(I32, 4),
    i32_r8 Tile(I32, 8), i32_r16 Tile(I32, 16), i32_r32 Tile(I32, 32), i8_r1 Tile(I8, 1), i8_r2 Tile(I8, 2),
    i8_r4 Tile(I8, 4), i8_r8 Tile(I8, 8), iu8_r4 Tile(Iu8, 4), iu4_r2 Tile(Iu4, 2));
words!(effect, Effect:
    reads_dst ReadsDst, reads_scc ReadsScc, writes_scc WritesScc, reads_vcc ReadsVcc,
    reads_exec ReadsExec, writes_exec WritesExec, reads_m0 ReadsM0, trans Trans,
    branch Branch, terminator Terminator, barrier Barrier, load CountsLoad, store CountsStore,
    lgkm CountsLgkm, clamps Clamps, no_clamp NoClamp, short_only ShortOnly, no_long_gfx1100 NoLongGfx1100, no_dpp NoDpp, no_dst_sel NoDstSel, lane_flags LaneFlags,
    truth_table TruthTable, zeroes_high ZeroesHigh, two_offsets TwoOffsets, swizzles Swizzles, global_only GlobalOnly, atomic Atomic, one_scalar OneScalar, to_lds ToLds,
    relative_source RelativeSource, relative_result RelativeResult);

pub mod buffer;
pub mod buffer_atomic;
pub mod compare;
pub mod control;
pub mod convert;
pub mod dual;
pub mod flat;
pub mod flat_atomic;
pub mod float;
pub mod half;
pub mod int;
pub mod lane;
pub mod lds;
pub mod lds_atomic;
pub mod matrix;
pub mod packed;
pub mod salu;
pub mod smem;

pub use buffer::Buffer;
pub use buffer_atomic::BufferAtomic;
pub use compare::{Compare, CompareType, Test};
pub use control::Control;
pub use convert::Convert;
pub use flat::Flat;
pub use flat_atomic::FlatAtomic;
pub use float::Float;
pub use half::Half;
pub use int::Int;
pub use lane::Lane;
pub use lds::Lds;
pub use lds_atomic::LdsAtomic;
pub use matrix::Matrix;
pub use packed::Packed;
pub use salu::Salu;
pub use smem::Smem;

/// Every operation: the sum of the families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Program control: branches, waits, barriers, messages, hints.
    Control(Control),
    /// Scalar arithmetic.
    Salu(Salu),
    /// Scalar memory.
    Smem(Smem),
    /// Vector arithmetic in binary32 and binary64.
    Float(Float),
    /// Vector integer arithmetic, moves and bit operations.
    Int(Int),
    /// Vector arithmetic in 16 bits.
    Half(Half),
    /// Vector conversions.
    Convert(Convert),
    /// Vector compares.
    Compare(Compare),
    /// Moves between lanes, to scalar registers, and to accumulation registers.
    Lane(Lane),
    /// Packed arithmetic, mixed-precision multiply-add, dot products.
    Packed(Packed),
    /// Matrix operations: MFMA, WMMA.
    Matrix(Matrix),
    /// LDS.
    Lds(Lds),
    /// Atomics on LDS.
    LdsAtomic(LdsAtomic),
    /// Memory by address: FLAT, GLOBAL, SCRATCH.
    Flat(Flat),
    /// Atomics on memory by address: FLAT, GLOBAL.
    FlatAtomic(FlatAtomic),
    /// Memory through a buffer resource, and cache control.
    Buffer(Buffer),
    /// Atomics on memory through a buffer resource.
    BufferAtomic(BufferAtomic),
}

impl Op {
    /// The row of this operation.
    pub fn row(self) -> &'static Row {
        match self {
            Op::Control(op) => op.row(),
            Op::Salu(op) => op.row(),
            Op::Smem(op) => op.row(),
            Op::Float(op) => op.row(),
            Op::Int(op) => op.row(),
            Op::Half(op) => op.row(),
            Op::Convert(op) => op.row(),
            Op::Compare(op) => op.row(),
            Op::Lane(op) => op.row(),
            Op::Packed(op) => op.row(),
            Op::Matrix(op) => op.row(),
            Op::Lds(op) => op.row(),
            Op::LdsAtomic(op) => op.row(),
            Op::Flat(op) => op.row(),
            Op::FlatAtomic(op) => op.row(),
            Op::Buffer(op) => op.row(),
            Op::BufferAtomic(op) => op.row(),
        }
    }

    /// Every row, family by family.
    pub fn rows() -> impl Iterator<Item = &'static Row> {
        let families = [
            Control::ROWS,
            Salu::ROWS,
            Smem::ROWS,
            Float::ROWS,
            Int::ROWS,
            Half::ROWS,
            Convert::ROWS,
            Lane::ROWS,
            Packed::ROWS,
            Matrix::ROWS,
            Lds::ROWS,
            LdsAtomic::ROWS,
            Flat::ROWS,
            FlatAtomic::ROWS,
            Buffer::ROWS,
            BufferAtomic::ROWS,
        ];
        families.into_iter().flatten().chain(Compare::rows())
    }
}
