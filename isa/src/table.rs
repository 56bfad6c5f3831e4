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
//! # Names
//!
//! A variant is the mnemonic in camel case, without underscores: `v_cmp_lt_f32` is not a row but
//! [`Compare`], which is systematic. Where targets spell one operation differently, the variant follows
//! gfx1100 (`s_load_b32`, not `s_load_dword`), because its names state the width.
//!
//! Each file of rows is a family; [`Op`] is the sum of the families. Whoever gives rows a meaning
//! matches a family without a wildcard, so that a row without a meaning does not compile.
//!
//! Sources: opcodes, operand order and modifiers agree with LLVM 22's MC tables (vectors in
//! `tests/vectors`); names and effects with the CDNA3 and RDNA3 ISA manuals.

use crate::format::Encoding;
use crate::target::Target;

/// What a field of an operand is called in the manuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Vector destination.
    Vdst,
    /// Scalar destination.
    Sdst,
    /// Source 0 of vector instructions.
    Src0,
    /// Source 1 of vector instructions; a VGPR in VOP2 and VOPC.
    Src1,
    /// Source 2 of vector instructions; VCC in VOP2.
    Src2,
    /// The constant of `v_fmaak` and `v_fmamk`: always a literal.
    K,
    /// Source 0 of scalar instructions.
    Ssrc0,
    /// Source 1 of scalar instructions.
    Ssrc1,
    /// 16-bit constant.
    Simm16,
    /// 32-bit constant that follows the instruction: always a literal.
    Simm32,
    /// Destination of a scalar load.
    Sdata,
    /// Address pair, or buffer resource, of a scalar load.
    Sbase,
    /// Scalar offset: of scalar loads ([`Operand::None`](crate::reg::Operand::None) without) and buffers.
    Soffset,
    /// Vector address: LDS, FLAT, GLOBAL, SCRATCH.
    Addr,
    /// Scalar address of GLOBAL and SCRATCH.
    Saddr,
    /// Data of FLAT, GLOBAL and SCRATCH stores.
    Data,
    /// First data of LDS stores.
    Data0,
    /// Second data of LDS stores.
    Data1,
    /// Data of buffer instructions, read or written.
    Vdata,
    /// Vector address of buffer instructions.
    Vaddr,
    /// Buffer resource, four SGPRs.
    Srsrc,
}

/// Class and width of an operand.
///
/// `B` untyped bits, `U` unsigned, `I` signed, `F` floating point, `Bf` bfloat; `X2` packed pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// 8 bits in the low byte of a register.
    B8,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
    /// 96 bits.
    B96,
    /// 128 bits.
    B128,
    /// 160 bits.
    B160,
    /// 192 bits.
    B192,
    /// 256 bits.
    B256,
    /// 512 bits.
    B512,
    /// 1024 bits.
    B1024,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// binary32.
    F32,
    /// binary64.
    F64,
    /// Two 16-bit integers in a register.
    I16x2,
    /// Two binary16 in a register.
    F16x2,
    /// Two bfloat16 in a register.
    Bf16x2,
    /// Two 32-bit words in two registers.
    B32x2,
    /// Two binary32 in two registers.
    F32x2,
    /// One bit a lane: 64 bits on gfx950, 32 on gfx1100.
    Mask,
    /// A branch target: signed words, relative to the next instruction.
    Label,
}

impl Ty {
    /// Width in bits of the value in registers.
    pub const fn bits(self, target: Target) -> u32 {
        match self {
            Ty::B8 => 8,
            Ty::B16 | Ty::U16 | Ty::I16 | Ty::F16 | Ty::Bf16 | Ty::Label => 16,
            Ty::B32 | Ty::U32 | Ty::I32 | Ty::F32 | Ty::I16x2 | Ty::F16x2 | Ty::Bf16x2 => 32,
            Ty::B64 | Ty::U64 | Ty::I64 | Ty::F64 | Ty::B32x2 | Ty::F32x2 => 64,
            Ty::B96 => 96,
            Ty::B128 => 128,
            Ty::B160 => 160,
            Ty::B192 => 192,
            Ty::B256 => 256,
            Ty::B512 => 512,
            Ty::B1024 => 1024,
            Ty::Mask => target.wave_width(),
        }
    }

    /// Registers that the operand covers.
    pub const fn registers(self, target: Target) -> u32 {
        self.bits(target).div_ceil(32)
    }

    /// Whether NEG and ABS apply to a source of this type.
    pub const fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64)
    }
}

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
    /// Writes VCC without naming it as an operand.
    WritesVcc,
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
    /// VOP3 form without ABS, OMOD or CLAMP although operands are floats.
    NoFloatMods,
    /// No VOP3 form of this VOP1 or VOP2 row.
    ShortOnly,
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

    /// The counters it increments on `target`.
    ///
    /// Source: AMDGPUUsage, memory model tables (VSCNT exists from gfx10 on).
    pub fn counters(&self, target: Target) -> impl Iterator<Item = Counter> {
        self.effects.iter().filter_map(move |effect| match effect {
            Effect::CountsLoad => Some(Counter::Vm),
            Effect::CountsStore if target == Target::Gfx1100 => Some(Counter::Vs),
            Effect::CountsStore => Some(Counter::Vm),
            Effect::CountsLgkm => Some(Counter::Lgkm),
            _ => None,
        })
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
    () => { None };
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
    ($name:ident, $Enum:ident: $($word:ident $Variant:ident),* $(,)?) => {
        macro_rules! $name {
            $( ($word) => { crate::table::$Enum::$Variant }; )*
        }
    };
}

words!(field, Field:
    vdst Vdst, sdst Sdst, src0 Src0, src1 Src1, src2 Src2, k K, ssrc0 Ssrc0, ssrc1 Ssrc1,
    simm16 Simm16, simm32 Simm32, sdata Sdata, sbase Sbase, soffset Soffset, addr Addr, saddr Saddr,
    data Data, data0 Data0, data1 Data1, vdata Vdata, vaddr Vaddr, srsrc Srsrc);
words!(ty, Ty:
    b8 B8, b16 B16, b32 B32, b64 B64, b96 B96, b128 B128, b160 B160, b192 B192, b256 B256, b512 B512,
    b1024 B1024, u16 U16, u32 U32, u64 U64, i16 I16, i32 I32, i64 I64, f16 F16, bf16 Bf16, f32 F32,
    f64 F64, i16x2 I16x2, f16x2 F16x2, bf16x2 Bf16x2, b32x2 B32x2, f32x2 F32x2, mask Mask, label Label);
words!(effect, Effect:
    reads_dst ReadsDst, reads_scc ReadsScc, writes_scc WritesScc, reads_vcc ReadsVcc,
    writes_vcc WritesVcc, reads_exec ReadsExec, writes_exec WritesExec, reads_m0 ReadsM0, trans Trans,
    branch Branch, terminator Terminator, barrier Barrier, load CountsLoad, store CountsStore,
    lgkm CountsLgkm, clamps Clamps, no_float_mods NoFloatMods, short_only ShortOnly);

pub mod compare;
pub mod control;
pub mod float;
pub mod salu;

pub use compare::{Compare, CompareType, Test};
pub use control::Control;
pub use float::Float;
pub use salu::Salu;

/// Every operation: the sum of the families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Branches, waits, barriers, hints (SOPP, and SOPK's waits).
    Control(Control),
    /// Scalar arithmetic.
    Salu(Salu),
    /// Vector arithmetic in binary32 and binary64.
    Float(Float),
    /// Vector compares.
    Compare(Compare),
}

impl Op {
    /// The row of this operation.
    pub fn row(self) -> &'static Row {
        match self {
            Op::Control(op) => op.row(),
            Op::Salu(op) => op.row(),
            Op::Float(op) => op.row(),
            Op::Compare(op) => op.row(),
        }
    }

    /// Every row, family by family.
    pub fn rows() -> impl Iterator<Item = &'static Row> {
        let families = [Control::ROWS, Salu::ROWS, Float::ROWS];
        families.into_iter().flatten().chain(Compare::rows())
    }
}
