//! What an instruction is to the rows: which registers it makes dangerous, and which it uses how.

use super::unit::Unit;
use super::{
    Consumer, MatrixKind, MatrixTiming, MatrixUse, Passed, Producer, Remedy, after_matrix, rows,
};
use crate::format::{Encoding, Field};
use crate::inst::{Inst, SdwaSel};
use crate::reg::Operand;
use crate::slots::{Half, Slots};
use crate::sysreg::HwRegField;
use crate::table::lane::Lane;
use crate::table::{Control, Effect, Float, Op, OperandSpec, Ty};
use crate::target::Target;

/// What an instruction did to registers that a later one may come too early for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Earlier {
    /// The producer of a row.
    Row(Producer),
    /// An MFMA writes them as D.
    Result(MatrixTiming),
    /// An MFMA reads them as C.
    Addend(MatrixTiming),
}

impl Earlier {
    /// Whom it endangers.
    fn kinds(self, target: Target) -> Kinds {
        let Earlier::Row(producer) = self else { return Kinds::MATRIX };
        let of_producer = rows(target).iter().filter(|row| row.producer == producer);
        of_producer.fold(Kinds::default(), |kinds, row| kinds.and(Kinds::of(row.consumer)))
    }

    /// What makes every later instruction safe; `None` if any is from the start.
    fn strictest(self, target: Target) -> Option<Remedy> {
        const USES: [MatrixUse; 3] =
            [MatrixUse::ReadResult, MatrixUse::WriteResult, MatrixUse::StoreResult];
        let remedy = match self {
            Earlier::Row(producer) => {
                let of_producer = rows(target).iter().filter(|row| row.producer == producer);
                of_producer.map(|row| row.remedy).max()?
            }
            Earlier::Result(timing) => {
                let states = USES.map(|later| after_matrix(timing, later));
                Remedy::States(states.into_iter().max().unwrap_or(0))
            }
            Earlier::Addend(timing) => {
                Remedy::States(after_matrix(timing, MatrixUse::OverwriteAddend))
            }
        };
        (remedy != Remedy::States(0)).then_some(remedy)
    }
}

/// Kinds of later instructions, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kinds(u64);

impl Kinds {
    /// Every use of an MFMA's registers.
    const MATRIX: Kinds = Kinds(1 << 63);

    fn of(consumer: Consumer) -> Kinds {
        Kinds(1 << consumer as u32)
    }

    fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Whether both have a kind in common.
    #[inline]
    pub(super) fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

/// What an instruction does with registers that an earlier one may have made dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Later {
    /// The consumer of a row.
    Row(Consumer),
    /// A use of the registers of an earlier MFMA; whether C is the whole D before is not yet decided.
    Matrix(MatrixUse),
}

/// Registers that become dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Produced {
    pub earlier: Earlier,
    pub slots: Slots,
    /// When it is over for everyone.
    pub strictest: Remedy,
    /// For whom.
    pub kinds: Kinds,
}

/// What an instruction is to the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    target: Target,
    pub(super) op: Op,
    pub(super) produced: Vec<Produced>,
    pub(super) used: Vec<(Later, Slots)>,
    /// What those uses are.
    pub(super) kinds: Kinds,
    /// What it adds between two others.
    pub(super) passed: Passed,
    /// Every vector result is there when it issues: memory and LDS instructions, VA_VDST of 0.
    pub(super) is_drain: bool,
    /// Control goes to other code through a register or a call: what came before is forgotten, as the
    /// recogniser does, which sees one function at a time.
    pub(super) is_call: bool,
}

impl Profile {
    /// The profile of an instruction.
    pub fn of(inst: &Inst, target: Target) -> Profile {
        let unit = Unit::of(inst);
        let is_valu = unit.is_vector_arithmetic();
        let passed = Passed {
            states: wait_states(inst),
            valu: is_valu.into(),
            valu_but_nop: (is_valu && inst.op != Op::Lane(Lane::VNop)).into(),
            trans: (unit == Unit::Trans).into(),
        };
        let mut profile = Profile {
            target,
            op: inst.op,
            produced: Vec::new(),
            used: Vec::new(),
            kinds: Kinds::default(),
            passed,
            is_drain: matches!(unit, Unit::Vmem | Unit::Lds) || waits_for_results(inst),
            is_call: matches!(
                inst.op,
                Op::Control(Control::SSetpcB64 | Control::SSwappcB64 | Control::SCallB64)
            ),
        };
        for (index, spec) in inst.row().operands.iter().enumerate() {
            let registers = inst.registers(index, target);
            profile.add_operand(inst, unit, inst.op, spec, inst.operands[index], registers);
        }
        if let Some(dual) = inst.dual {
            for (spec, operand) in dual.op.row().operands.iter().zip(dual.operands) {
                let registers = spec.ty.bits(target).div_ceil(32);
                profile.add_operand(inst, unit, dual.op, spec, operand, registers);
            }
        }
        profile.add_implied(inst, unit);
        profile
    }

    /// The same of registers that only running it tells: what it is between two others stays.
    #[must_use]
    pub fn without_registers(mut self) -> Profile {
        self.produced.clear();
        self.used.clear();
        self.kinds = Kinds::default();
        self
    }

    /// Whether the rows neither ask anything of it nor remember it.
    pub fn is_neutral(&self) -> bool {
        self.produced.is_empty() && self.used.is_empty()
    }

    fn add_operand(
        &mut self,
        inst: &Inst,
        unit: Unit,
        op: Op,
        spec: &OperandSpec,
        operand: Operand,
        registers: u32,
    ) {
        if let (Ty::HwReg, Operand::Imm(imm)) = (spec.ty, operand) {
            let slots = Slots::hardware(HwRegField::from_imm(imm));
            if inst.op == Op::Control(Control::SGetregB32) {
                self.uses(Consumer::Getreg, slots);
            } else {
                self.uses(Consumer::Setreg, slots);
                self.produces(Earlier::Row(Producer::Setreg), slots);
            }
        }
        // Which registers those are, M0 says.
        let moves = if spec.is_dst { Effect::RelativeResult } else { Effect::RelativeSource };
        if op.row().has(moves) {
            return;
        }
        let Some(slots) = Slots::of(operand, registers) else { return };
        let half = self.half(inst, unit, spec);
        let slots = Slots { half, ..slots };
        if spec.is_dst {
            self.add_destination(inst, unit, slots);
            if op.row().has(Effect::ReadsDst) || keeps_some_lanes(inst) {
                self.add_source(inst, unit, None, slots);
            }
        } else {
            self.add_source(inst, unit, Some(spec.field), slots);
        }
    }

    /// The half of a VGPR that a 16-bit operand of gfx1100 names with its bit of OP_SEL: LLVM counts only on
    /// the same half for a dependence.
    fn half(&self, inst: &Inst, unit: Unit, spec: &OperandSpec) -> Half {
        let is_vector = matches!(unit, Unit::Valu | Unit::Trans) && inst.dual.is_none();
        let is_packed = inst.encoding == Encoding::Vop3p;
        if self.target != Target::Gfx1100
            || !is_vector
            || is_packed
            || spec.ty.bits(self.target) != 16
        {
            return Half::Both;
        }
        let bit = match spec.field {
            _ if spec.is_dst => 3,
            Field::Src0 => 0,
            Field::Src1 => 1,
            Field::Src2 => 2,
            _ => return Half::Both,
        };
        if inst.mods.op_sel >> bit & 1 == 1 { Half::High } else { Half::Low }
    }

    fn add_destination(&mut self, inst: &Inst, unit: Unit, slots: Slots) {
        match unit {
            Unit::Scalar if slots == Slots::M0 => {
                self.produces(Earlier::Row(Producer::SaluM0), slots);
            }
            Unit::Scalar => {}
            Unit::Vmem | Unit::Lds => {
                self.uses(Consumer::MemoryOverwrite, slots);
                self.uses_matrix(MatrixUse::WriteResult, slots);
                self.uses_matrix(MatrixUse::OverwriteAddend, slots);
            }
            Unit::Matrix(timing) => {
                self.uses(Consumer::MatrixOverwrite, slots);
                self.produces(timing.map_or(Earlier::Row(Producer::Wmma), Earlier::Result), slots);
            }
            Unit::Valu | Unit::Trans | Unit::Dot if slots.is_vector() => {
                self.uses(Consumer::ValuOverwrite, slots);
                self.uses_matrix(MatrixUse::WriteResult, slots);
                self.uses_matrix(MatrixUse::OverwriteAddend, slots);
                self.add_vector_result(inst, unit, slots);
            }
            Unit::Valu | Unit::Trans | Unit::Dot => self.add_scalar_result(inst, slots),
        }
    }

    fn add_vector_result(&mut self, inst: &Inst, unit: Unit, slots: Slots) {
        let is_half = match inst.mods.sdwa {
            Some(sdwa) => sdwa.dst_sel != SdwaSel::Dword,
            None => inst.encoding == Encoding::Vop3 && inst.mods.op_sel & 8 != 0,
        };
        let first = match unit {
            Unit::Dot => Producer::Dot,
            _ if inst.op == Op::Lane(Lane::VAccvgprWriteB32) => Producer::AccvgprWrite,
            _ => Producer::ValuVgpr,
        };
        self.produces(Earlier::Row(first), slots);
        if first == Producer::AccvgprWrite {
            self.produces(Earlier::Row(Producer::ValuVgpr), slots);
        }
        if unit == Unit::Trans {
            self.produces(Earlier::Row(Producer::Trans), slots);
        }
        if is_half {
            self.produces(Earlier::Row(Producer::ValuPartialVgpr), slots);
        }
    }

    fn add_scalar_result(&mut self, inst: &Inst, slots: Slots) {
        if slots.overlaps(Slots::exec(self.target.wave_width())) {
            self.produces(Earlier::Row(Producer::ValuExec), slots);
            return;
        }
        self.produces(Earlier::Row(Producer::ValuSgpr), slots);
        if matches!(inst.op, Op::Float(Float::VDivScaleF32 | Float::VDivScaleF64)) {
            self.produces(Earlier::Row(Producer::DivScaleVcc), slots);
        }
    }

    /// A source; `field` is `None` for a destination that is read.
    fn add_source(&mut self, inst: &Inst, unit: Unit, field: Option<Field>, slots: Slots) {
        match unit {
            Unit::Scalar => {}
            Unit::Vmem | Unit::Lds if slots.is_vector() => {
                self.uses(Consumer::MemoryRead, slots);
                self.uses_matrix(MatrixUse::StoreResult, slots);
                if matches!(field, Some(Field::Data | Field::Vdata)) && unit == Unit::Vmem {
                    self.add_stored(inst, slots);
                }
            }
            Unit::Vmem => self.uses(Consumer::VmemAddress, slots),
            Unit::Lds => {}
            Unit::Matrix(timing) => self.add_matrix_source(inst, timing, field, slots),
            Unit::Valu | Unit::Trans | Unit::Dot if slots.is_vector() => {
                self.add_vector_source(inst, unit, field, slots);
            }
            Unit::Valu | Unit::Trans | Unit::Dot => self.add_scalar_source(inst, field, slots),
        }
    }

    /// Wide data of a store is read late, except by a buffer store whose offset is in an SGPR.
    fn add_stored(&mut self, inst: &Inst, slots: Slots) {
        let offset = inst.row().position(Field::Soffset).map(|at| inst.operands[at]);
        if slots.count <= 2 || offset.is_some_and(Operand::is_register) {
            self.produces(Earlier::Row(Producer::NarrowStore), slots);
        } else {
            self.produces(Earlier::Row(Producer::WideStore), slots);
        }
    }

    fn add_matrix_source(
        &mut self,
        inst: &Inst,
        timing: Option<MatrixTiming>,
        field: Option<Field>,
        slots: Slots,
    ) {
        // A sparse operation accumulates in D, and SRC2 is its index.
        let is_sparse = inst.row().has(Effect::ReadsDst) && timing.is_some();
        let is_addend = if is_sparse { field.is_none() } else { field == Some(Field::Src2) };
        // A WMMA with 16-bit results keeps the other halves of D, which no row asks about.
        if timing.is_none() && field.is_none() {
            return;
        }
        let Some(timing) = timing else {
            let role = if is_addend { Consumer::WmmaAddend } else { Consumer::WmmaFactor };
            self.uses(role, slots);
            self.uses(Consumer::ValuRead, slots);
            return;
        };
        if !is_addend {
            self.uses(Consumer::MatrixFactor, slots);
            self.uses_matrix(MatrixUse::ReadResult, slots);
            return;
        }
        self.uses(Consumer::MatrixAddend, slots);
        self.uses_matrix(MatrixUse::AccumulateOverlap(timing), slots);
        if timing.kind == MatrixKind::Xdl {
            self.produces(Earlier::Addend(timing), slots);
        }
    }

    fn add_vector_source(&mut self, inst: &Inst, unit: Unit, field: Option<Field>, slots: Slots) {
        let read = match (unit, field) {
            (Unit::Trans, _) => Consumer::TransRead,
            (Unit::Dot, None | Some(Field::Src2)) => Consumer::DotAddend,
            _ => Consumer::ValuRead,
        };
        self.uses(read, slots);
        self.uses_matrix(MatrixUse::ReadResult, slots);
        if inst.mods.dpp.is_some() {
            self.uses(Consumer::Dpp, slots);
        }
        match inst.op {
            Op::Lane(Lane::VReadlaneB32 | Lane::VReadfirstlaneB32) => {
                self.uses(Consumer::ReadLane, slots);
            }
            Op::Lane(Lane::VPermlane16SwapB32 | Lane::VPermlane32SwapB32) => {
                self.uses(Consumer::PermlaneSwap, slots);
            }
            _ => {}
        }
    }

    fn add_scalar_source(&mut self, inst: &Inst, field: Option<Field>, slots: Slots) {
        self.uses(Consumer::ValuConstant, slots);
        let selects_lane = matches!(inst.op, Op::Lane(Lane::VReadlaneB32 | Lane::VWritelaneB32));
        if selects_lane && field == Some(Field::Ssrc1) {
            self.uses(Consumer::LaneSelect, slots);
        }
    }

    /// Registers that no operand names.
    fn add_implied(&mut self, inst: &Inst, unit: Unit) {
        let width = self.target.wave_width();
        let (row, exec) = (inst.row(), Slots::exec(width));
        if row.has(Effect::ReadsVcc) && unit.is_vector_arithmetic() {
            self.uses(Consumer::ValuConstant, Slots::vcc(width));
            if matches!(inst.op, Op::Float(Float::VDivFmasF32 | Float::VDivFmasF64)) {
                self.uses(Consumer::DivFmas, Slots::vcc(width));
            }
        }
        if row.has(Effect::WritesExec) && unit.is_vector_arithmetic() {
            self.produces(Earlier::Row(Producer::ValuExec), exec);
        }
        if inst.mods.dpp.is_some() {
            self.uses(Consumer::Dpp, exec);
        }
        match (unit, inst.op) {
            (Unit::Matrix(_), _) => self.uses(Consumer::MatrixExec, exec),
            (Unit::Vmem, _) => self.uses(Consumer::VmemExec, exec),
            (_, Op::Lane(Lane::VReadlaneB32 | Lane::VReadfirstlaneB32 | Lane::VWritelaneB32)) => {
                self.uses(Consumer::LaneExec, exec)
            }
            (_, Op::Lane(Lane::VPermlane16SwapB32 | Lane::VPermlane32SwapB32)) => {
                self.uses(Consumer::SwapExec, exec);
            }
            (_, Op::Lane(Lane::VPermlane16B32 | Lane::VPermlanex16B32)) => {
                self.uses(Consumer::PermlaneExec, exec);
            }
            (_, Op::Control(Control::SSendmsg | Control::SSendmsghalt)) => {
                self.uses(Consumer::Sendmsg, Slots::M0);
            }
            (Unit::Scalar, _)
                if row.has(Effect::RelativeSource) || row.has(Effect::RelativeResult) =>
            {
                self.uses(Consumer::MoveRelative, Slots::M0);
            }
            _ => {}
        }
        if unit == Unit::Vmem && (row.has(Effect::ReadsM0) || inst.mods.lds) {
            self.uses(Consumer::LoadToLds, Slots::M0);
        }
    }

    /// Notes a use, if some row of the target asks something of it.
    fn uses(&mut self, consumer: Consumer, slots: Slots) {
        let asked = if consumer == Consumer::DotAddend { Consumer::ValuRead } else { consumer };
        let mut rows = rows(self.target).iter();
        let matters = rows.any(|row| row.consumer == asked && row.remedy != Remedy::States(0));
        if matters {
            self.used.push((Later::Row(consumer), slots));
            self.kinds = self.kinds.and(Kinds::of(consumer)).and(Kinds::of(asked));
        }
    }

    fn uses_matrix(&mut self, later: MatrixUse, slots: Slots) {
        if self.target == Target::Gfx950 && slots.is_vector() {
            self.used.push((Later::Matrix(later), slots));
            self.kinds = self.kinds.and(Kinds::MATRIX);
        }
    }

    fn produces(&mut self, earlier: Earlier, slots: Slots) {
        if let Some(strictest) = earlier.strictest(self.target) {
            let kinds = earlier.kinds(self.target);
            self.produced.push(Produced { earlier, slots, strictest, kinds });
        }
    }
}

/// DPP that leaves the destination of some lanes as it was, as far as the controls tell.
fn keeps_some_lanes(inst: &Inst) -> bool {
    inst.mods.dpp.is_some_and(|dpp| !dpp.bound_ctrl || dpp.row_mask != 0xf || dpp.bank_mask != 0xf)
}

/// How many wait states an instruction is worth.
fn wait_states(inst: &Inst) -> u32 {
    match (inst.op, inst.operands[0]) {
        // Only four bits count (CDNA3 ISA manual, S_NOP).
        (Op::Control(Control::SNop), Operand::Imm(imm)) => u32::from(imm & 0xf) + 1,
        _ => 1,
    }
}

/// S_WAITCNT_DEPCTR with VA_VDST of 0.
fn waits_for_results(inst: &Inst) -> bool {
    let (Op::Control(Control::SWaitcntDepctr), Operand::Imm(imm)) = (inst.op, inst.operands[0])
    else {
        return false;
    };
    let mut counts = crate::waits::DEP_COUNTS.iter();
    counts.any(|count| count.name == "va_vdst" && count.in_imm(imm) == Some(0))
}
