//! Wait states that software must leave between an instruction and one that depends on it.
//!
//! A wait state is one issued instruction, or one count of `s_nop`: `s_nop n` gives n + 1. The
//! assembler inserts none, and the compiler none inside inline assembly.
//!
//! Matrix operations of gfx950 follow closed forms of their passes ([`after_matrix`]); everything else is
//! a row of [`rows`]. gfx1100 interlocks nearly everything; its rows are remedied otherwise than by
//! counting.
//!
//! [`Profile`] says what an instruction is to these rows, [`History`] applies them to a sequence of
//! instructions, executed or in the order of a text.
//!
//! Source: what LLVM 22's hazard recogniser inserts (`tests/vectors/wait_states_llvm22.txt` and
//! `matrix_passes_llvm22.txt`): requirements on the safe side, not measurements of silicon.

use crate::fragment::Shape;
use crate::inst::Inst;
use crate::table::Effect;
use crate::table::Element;
use crate::table::Matrix;
use crate::table::Op;
use crate::table::Ty;
use crate::target::Target;

mod history;
mod profile;
mod unit;

pub use history::History;
pub use history::Missing;
pub use history::Passed;
pub use profile::Earlier;
pub use profile::Later;
pub use profile::Profile;

/// The part of the matrix unit that runs an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatrixKind {
    /// Factors of 16 bits and fewer.
    Xdl,
    /// binary32.
    Sgemm,
    /// binary64.
    Dgemm,
}

/// How long a matrix operation of gfx950 runs, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatrixTiming {
    /// Part of the matrix unit.
    pub kind: MatrixKind,
    /// Passes of 4 cycles.
    pub passes: u32,
}

impl MatrixTiming {
    /// The timing of any matrix operation of gfx950; `None` for everything else.
    pub fn of_inst(inst: &Inst) -> Option<MatrixTiming> {
        let Op::Matrix(op) = inst.op else { return None };
        let row = op.row();
        row.gfx950?;
        let is_large = matches!(row.operands.first()?.ty, Ty::Tile(_, 16));
        let passes = if row.has(Effect::ReadsDst) {
            4
        } else if matches!(row.operands.get(1)?.ty, Ty::MxA) {
            /// Formats of CBSZ and BLGP up to this one have 8 bits; those take twice as long.
            const BF8: u8 = 1;
            if inst.mods.cbsz.min(inst.mods.blgp) <= BF8 { 8 } else { 4 }
        } else {
            return MatrixTiming::of(op);
        };
        Some(MatrixTiming {
            kind: MatrixKind::Xdl,
            passes: if is_large { 2 * passes } else { passes },
        })
    }

    /// The timing of a dense MFMA; `None` for WMMA, sparse and f8f6f4 rows.
    pub fn of(op: Matrix) -> Option<MatrixTiming> {
        let (row, shape) = (op.row(), Shape::of(op)?);
        row.gfx950?;
        let Ty::Tile(element, _) = row.operands.get(1)?.ty else { return None };
        let kind = match element {
            Element::F64 => MatrixKind::Dgemm,
            Element::F32 => MatrixKind::Sgemm,
            _ => MatrixKind::Xdl,
        };
        let passes = match (kind, shape.m, shape.blocks) {
            (MatrixKind::Dgemm, 16, _) => 16,
            (MatrixKind::Dgemm, ..) => 4,
            (_, 4, _) => 2,
            (MatrixKind::Sgemm, 32, _) => 16,
            (MatrixKind::Sgemm, ..) => 8,
            (MatrixKind::Xdl, 32, 1) => 8,
            (MatrixKind::Xdl, 16, 1) => 4,
            (MatrixKind::Xdl, 32, _) => 16,
            (MatrixKind::Xdl, ..) => 8,
        };
        Some(MatrixTiming { kind, passes })
    }
}

/// What a later instruction does with the registers of an earlier MFMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatrixUse {
    /// Reads D: vector arithmetic, `v_accvgpr_read_b32`, or an MFMA as its A or B.
    ReadResult,
    /// Writes D: vector arithmetic, or a load into it.
    WriteResult,
    /// Stores D to memory or LDS.
    StoreResult,
    /// An MFMA whose C is exactly D: same first register, same number of registers.
    AccumulateSame,
    /// An MFMA with this timing whose C overlaps D otherwise.
    AccumulateOverlap(MatrixTiming),
    /// Vector arithmetic writes C, which is not D.
    OverwriteAddend,
    /// Vector arithmetic writes A or B.
    OverwriteFactor,
}

/// Wait states between an MFMA of gfx950 and a later instruction.
pub fn after_matrix(producer: MatrixTiming, later: MatrixUse) -> u32 {
    match (producer.kind, later) {
        (_, MatrixUse::OverwriteFactor) => 0,
        (_, MatrixUse::AccumulateSame) => after_same(producer),
        (MatrixKind::Xdl, MatrixUse::AccumulateOverlap(next)) => after_xdl(producer.passes, next),
        (_, MatrixUse::AccumulateOverlap(next)) if next.kind == MatrixKind::Xdl => 0,
        (MatrixKind::Xdl, MatrixUse::OverwriteAddend) => producer.passes - 1,
        (_, MatrixUse::OverwriteAddend) => 0,
        (MatrixKind::Xdl, _) if producer.passes == 2 => 5,
        (MatrixKind::Xdl, _) => producer.passes + 4,
        (MatrixKind::Sgemm, MatrixUse::AccumulateOverlap(_)) => producer.passes,
        (MatrixKind::Sgemm, _) => producer.passes + 2,
        (MatrixKind::Dgemm, later) => after_dgemm(producer.passes, later),
    }
}

/// C is the whole D before: the accumulator is forwarded, except in the shortest operations.
fn after_same(producer: MatrixTiming) -> u32 {
    match (producer.kind, producer.passes) {
        (MatrixKind::Dgemm, 4) => 4,
        (_, 2) => 2,
        _ => 0,
    }
}

fn after_xdl(passes: u32, next: MatrixTiming) -> u32 {
    if passes == 2 && next.kind != MatrixKind::Xdl { 3 } else { passes + 2 }
}

fn after_dgemm(passes: u32, later: MatrixUse) -> u32 {
    let is_long = passes == 16;
    match later {
        MatrixUse::AccumulateOverlap(_) if is_long => 17,
        MatrixUse::AccumulateOverlap(_) => 4,
        MatrixUse::ReadResult if is_long => 19,
        MatrixUse::StoreResult if is_long => 18,
        MatrixUse::StoreResult => 9,
        _ if is_long => 11,
        _ => 6,
    }
}

/// The earlier instruction of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Producer {
    /// Vector arithmetic writes a VGPR.
    ValuVgpr,
    /// A transcendental writes a VGPR.
    Trans,
    /// Vector arithmetic writes a VGPR in part: SDWA, or OP_SEL of a 16-bit result.
    ValuPartialVgpr,
    /// `v_accvgpr_write_b32`.
    AccvgprWrite,
    /// A dot product (`v_dot*`) writes a VGPR.
    Dot,
    /// Vector arithmetic writes an SGPR or VCC.
    ValuSgpr,
    /// `v_div_scale_*` writes VCC.
    DivScaleVcc,
    /// Vector arithmetic (`v_cmpx_*`) writes EXEC.
    ValuExec,
    /// Scalar arithmetic writes EXEC.
    SaluExec,
    /// Scalar arithmetic writes M0.
    SaluM0,
    /// `s_setreg_*`.
    Setreg,
    /// A store of three or four registers reads its data.
    WideStore,
    /// A store of one or two registers reads its data.
    NarrowStore,
    /// WMMA writes D.
    Wmma,
}

/// The later instruction of a row, which depends on the earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consumer {
    /// Vector arithmetic, transcendentals and matrix operations apart, reads the VGPR.
    ValuRead,
    /// A transcendental reads the VGPR.
    TransRead,
    /// An MFMA reads the VGPR as A or B.
    MatrixFactor,
    /// An MFMA reads the register as C.
    MatrixAddend,
    /// WMMA reads D as C.
    WmmaAddend,
    /// WMMA reads D as A or B.
    WmmaFactor,
    /// `v_readlane_b32` or `v_readfirstlane_b32` reads the VGPR.
    ReadLane,
    /// A DPP instruction reads the VGPR, or runs under EXEC.
    Dpp,
    /// `v_permlane32_swap_b32` or `v_permlane16_swap_b32` exchanges the VGPR.
    PermlaneSwap,
    /// A memory instruction reads the SGPR as address.
    VmemAddress,
    /// `v_readlane_b32` or `v_writelane_b32` takes the SGPR as lane select.
    LaneSelect,
    /// `v_readlane_b32`, `v_readfirstlane_b32` or `v_writelane_b32` runs after a change of EXEC.
    LaneExec,
    /// A permlane swap runs after a change of EXEC.
    SwapExec,
    /// `v_permlane16_b32` or `v_permlanex16_b32` runs after a change of EXEC.
    PermlaneExec,
    /// An MFMA runs after a change of EXEC.
    MatrixExec,
    /// A memory instruction by address or buffer runs after a change of EXEC.
    VmemExec,
    /// Vector arithmetic reads the SGPR or VCC.
    ValuConstant,
    /// `v_div_fmas_*` reads VCC.
    DivFmas,
    /// Vector arithmetic overwrites the register.
    ValuOverwrite,
    /// An MFMA overwrites the register.
    MatrixOverwrite,
    /// A dot product adds to the VGPR; with another opcode this is [`Consumer::ValuRead`].
    DotAddend,
    /// A memory or LDS instruction reads the VGPR.
    MemoryRead,
    /// A load writes the VGPR.
    MemoryOverwrite,
    /// `s_getreg_b32` of the same register.
    Getreg,
    /// `s_setreg_*` of the same register.
    Setreg,
    /// A load to LDS reads M0.
    LoadToLds,
    /// `s_sendmsg` reads M0.
    Sendmsg,
    /// `s_movrel*` finds its registers by M0.
    MoveRelative,
}

/// What makes a pair safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// So many wait states between them; none for 0.
    States(u32),
    /// A `v_nop`, or any vector instruction that does not depend on them, between them.
    ValuBetween,
    /// A vector instruction other than `v_nop` between them.
    ValuButNopBetween,
    /// `s_waitcnt_depctr` with this SIMM16 (VA_VDST of 0) between them. A memory or LDS instruction does
    /// the same, as do [`DRAINING_VALU`] vector instructions or [`DRAINING_TRANS`] transcendentals.
    WaitDepctr(u16),
}

/// So many vector instructions between the two make [`Remedy::WaitDepctr`] unnecessary.
pub const DRAINING_VALU: u32 = 6;
/// So many transcendentals likewise.
pub const DRAINING_TRANS: u32 = 2;

/// A pair of dependent instructions, and what makes it safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The earlier instruction.
    pub producer: Producer,
    /// The later instruction.
    pub consumer: Consumer,
    /// What makes it safe.
    pub remedy: Remedy,
}

const fn states(producer: Producer, consumer: Consumer, states: u32) -> Row {
    Row { producer, consumer, remedy: Remedy::States(states) }
}

/// S_WAITCNT_DEPCTR with VA_VDST of 0 and no other wait.
const VA_VDST_0: u16 = 0x0f9f;

const GFX950: [Row; 36] = [
    states(Producer::ValuVgpr, Consumer::MatrixFactor, 2),
    states(Producer::ValuVgpr, Consumer::MatrixAddend, 2),
    states(Producer::AccvgprWrite, Consumer::MatrixAddend, 2),
    states(Producer::Trans, Consumer::ValuRead, 1),
    states(Producer::Trans, Consumer::TransRead, 0),
    states(Producer::ValuPartialVgpr, Consumer::ValuRead, 1),
    states(Producer::ValuPartialVgpr, Consumer::TransRead, 1),
    states(Producer::ValuPartialVgpr, Consumer::ValuOverwrite, 1),
    states(Producer::Dot, Consumer::ValuRead, 3),
    states(Producer::Dot, Consumer::TransRead, 3),
    states(Producer::Dot, Consumer::ValuOverwrite, 3),
    states(Producer::Dot, Consumer::DotAddend, 0),
    states(Producer::Dot, Consumer::MemoryRead, 3),
    states(Producer::Dot, Consumer::MemoryOverwrite, 3),
    states(Producer::ValuVgpr, Consumer::ReadLane, 1),
    states(Producer::ValuVgpr, Consumer::Dpp, 2),
    states(Producer::ValuVgpr, Consumer::PermlaneSwap, 2),
    states(Producer::ValuSgpr, Consumer::VmemAddress, 5),
    states(Producer::ValuSgpr, Consumer::LaneSelect, 4),
    states(Producer::ValuSgpr, Consumer::ValuConstant, 2),
    states(Producer::DivScaleVcc, Consumer::DivFmas, 4),
    states(Producer::ValuSgpr, Consumer::DivFmas, 4),
    states(Producer::ValuExec, Consumer::Dpp, 5),
    states(Producer::ValuExec, Consumer::LaneExec, 4),
    states(Producer::ValuExec, Consumer::SwapExec, 4),
    states(Producer::ValuExec, Consumer::MatrixExec, 4),
    states(Producer::ValuExec, Consumer::VmemExec, 5),
    states(Producer::SaluExec, Consumer::Dpp, 0),
    states(Producer::WideStore, Consumer::ValuOverwrite, 2),
    states(Producer::WideStore, Consumer::MatrixOverwrite, 2),
    states(Producer::NarrowStore, Consumer::ValuOverwrite, 0),
    states(Producer::Setreg, Consumer::Getreg, 2),
    states(Producer::Setreg, Consumer::Setreg, 2),
    states(Producer::SaluM0, Consumer::LoadToLds, 1),
    states(Producer::SaluM0, Consumer::Sendmsg, 1),
    states(Producer::SaluM0, Consumer::MoveRelative, 1),
];

const GFX1100: [Row; 5] = [
    Row { producer: Producer::Wmma, consumer: Consumer::WmmaFactor, remedy: Remedy::ValuBetween },
    states(Producer::Wmma, Consumer::WmmaAddend, 0),
    Row {
        producer: Producer::ValuExec,
        consumer: Consumer::PermlaneExec,
        remedy: Remedy::ValuButNopBetween,
    },
    Row {
        producer: Producer::Trans,
        consumer: Consumer::ValuRead,
        remedy: Remedy::WaitDepctr(VA_VDST_0),
    },
    Row {
        producer: Producer::Trans,
        consumer: Consumer::TransRead,
        remedy: Remedy::WaitDepctr(VA_VDST_0),
    },
];

/// The rows of a target, matrix results of gfx950 apart ([`after_matrix`]).
pub const fn rows(target: Target) -> &'static [Row] {
    match target {
        Target::Gfx950 => &GFX950,
        Target::Gfx1100 => &GFX1100,
    }
}

/// What makes a pair safe on a target; pairs without a row are interlocked.
pub fn remedy(target: Target, producer: Producer, consumer: Consumer) -> Option<Remedy> {
    let mut rows = rows(target).iter();
    let row = rows.find(|row| (row.producer, row.consumer) == (producer, consumer))?;
    Some(row.remedy)
}
