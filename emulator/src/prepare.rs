//! An instruction made ready to run: operands resolved, meaning looked up, registers listed.
//!
//! Everything that depends only on the instruction is decided here, once; executing it searches nothing.

mod kind;
mod moved;
mod places;

use std::ops::Deref;
use std::sync::Arc;

pub(crate) use places::{Ahead, Places, Spread};

use isa::inst::{Dual, Inst, MAX_OPERANDS, OutputScale, SdwaSel};
use isa::reg::SpecialReg;
use isa::table::{Effect, Field, OperandSpec, Ty};
use isa::wait_states::Profile;
use isa::{Op, Operand, Target};

use crate::checks::waits::{Counter, Order, Queue};
use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::operand::{Dest, Source, Span, dest, source, special_slot};
use crate::report::Class;
use crate::sem::forms;
use crate::sem::{self, Meaning};
use crate::wave::{FIRST_ACC, scalar};

pub(crate) use moved::prepare_moved;

/// What executes an instruction.
pub(crate) type Handler = for<'e> fn(&mut Exec<'e>, &Prepared) -> Outcome;

const MAX_SPANS: usize = MAX_OPERANDS + 4;
/// Vector registers that sources of at most 128 bits cover.
const MAX_VECTORS_READ: usize = 4 * MAX_OPERANDS;

/// An instruction made ready to run: in front what running it needs, a few bytes that lie next to those of its
/// neighbours, behind them everything else.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// What runs it.
    pub run: Handler,
    pub places: Places,
    /// Class for counts.
    pub class: Class,
    /// Some source has NEG or ABS.
    pub has_signs: bool,
    /// CLAMP or OMOD is set.
    pub has_output: bool,
    /// Loops over its lanes need something before or after them.
    pub is_slow: bool,
    details: Arc<Details>,
}

impl Deref for Prepared {
    type Target = Details;

    #[inline]
    fn deref(&self) -> &Details {
        &self.details
    }
}

impl Prepared {
    fn note_speed(&mut self) {
        self.is_slow = self.has_output || self.places.n_spread != 0;
    }
}

/// What an instruction is.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Details {
    /// Address of the instruction.
    pub pc: u64,
    /// Architectural and accumulation registers that must be allocated.
    pub n_vectors: [u16; 2],
    size_bytes: u8,
    /// Operation of an approximate result.
    pub is_approximate: bool,
    /// EXEC may be another one after it, or control elsewhere, or the wave at rest.
    pub ends_block: bool,
    /// Executing it does nothing.
    pub is_idle: bool,
    /// Which registers it touches, only running it tells.
    pub finds_registers: bool,
    n_vectors_read: u8,
    n_spans: u8,
    /// Results in the order of the row.
    pub dst: [Dest; 2],
    vectors_read: [u16; MAX_VECTORS_READ],
    /// Sources in the order of the row, then destinations that are read.
    pub src: [Source; MAX_OPERANDS],
    /// Width of each source in bits.
    pub bits: [u8; MAX_OPERANDS],
    /// The source is a lane mask, by position.
    pub is_mask: [bool; MAX_OPERANDS],
    /// NEG of each source, by position.
    pub neg: [bool; MAX_OPERANDS],
    /// ABS of each source, by position.
    pub abs: [bool; MAX_OPERANDS],
    /// The high half of each 16-bit source is meant, by position.
    pub high: [bool; MAX_OPERANDS],
    /// The source is an address or part of one, by position.
    pub is_address: [bool; MAX_OPERANDS],
    /// The high half of a 16-bit result is meant.
    pub is_dst_high: bool,
    /// A result in the low half of a register zeroes the high half.
    pub zeroes_high: bool,
    spans: [Span; MAX_SPANS],
    /// What the handler runs in turn, for DPP, SDWA and dual-issue forms.
    pub inner: Handler,
    /// The Y half of a dual-issue pair.
    pub dual: Option<Box<Prepared>>,
    /// Where the first result goes in the end, when `dst` stages it.
    pub final_dst: Dest,
    /// Sources 0 and 1 before they are staged.
    pub unstaged: [Source; 2],
    /// The ordered queue, or none, that a memory operation belongs to.
    pub queue: Option<Queue>,
    /// The counters that it increments, and how many they are.
    pub counters: ([Counter; 2], usize),
    /// What wait states it asks for.
    pub profile: Profile,
    /// As decoded.
    pub inst: Inst,
}

impl Details {
    /// Registers read and written.
    #[inline]
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> + use<> {
        self.spans.into_iter().take(self.n_spans.into())
    }

    /// Address of the next instruction in memory.
    #[inline]
    pub(crate) fn next_pc(&self) -> u64 {
        self.pc + u64::from(self.size_bytes)
    }

    /// The vector registers that the sources cover.
    pub(crate) fn vectors_read(&self) -> &[u16] {
        &self.vectors_read[..usize::from(self.n_vectors_read)]
    }

    /// Its operations, where a result is approximate.
    pub(crate) fn approximate(&self) -> impl Iterator<Item = Op> + use<> {
        let second = self.inst.dual.map(|dual| dual.op);
        [self.is_approximate.then_some(self.inst.op), second.filter(|_| self.is_approximate)]
            .into_iter()
            .flatten()
    }

    /// The 16-bit constant of SOPP and SOPK, sign-extended.
    pub(crate) fn signed_constant(&self) -> i32 {
        i32::from(self.constant().cast_signed())
    }

    /// The raw 16-bit constant of SOPP and SOPK.
    pub(crate) fn constant(&self) -> u16 {
        let imm = self.inst.operands.iter().find_map(|operand| match operand {
            Operand::Imm(bits) => Some(*bits),
            _ => None,
        });
        imm.unwrap_or(0)
    }

    /// What it completes in order with.
    pub(crate) fn order(&self) -> Order {
        let (counters, n_counters) = self.counters;
        Order::new(self.queue, &counters[..n_counters])
    }

    /// The span of the first result.
    pub(crate) fn result_span(&self) -> Span {
        self.spans().find(|span| span.is_destination).unwrap_or_default()
    }

    /// Positions of the sources that make up an address.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = usize> + use<> {
        self.is_address
            .into_iter()
            .enumerate()
            .filter(|(_, is_address)| *is_address)
            .map(|(k, _)| k)
    }

    fn add_span(&mut self, span: Span) {
        if usize::from(self.n_spans) < MAX_SPANS && span.count != 0 {
            self.spans[usize::from(self.n_spans)] = span;
            self.n_spans += 1;
        }
    }

    /// Lists what the sources depend on, once they are final.
    fn note_sources(&mut self) {
        for (source, bits) in self.src.iter().zip(self.bits) {
            let Source::Vector(first) = *source else { continue };
            for register in first..first + u16::from(bits.div_ceil(32)) {
                self.vectors_read[usize::from(self.n_vectors_read)] = register;
                self.n_vectors_read += 1;
            }
        }
    }

    /// Complete but for what runs it.
    fn ready(mut self, run: Handler, class: Class) -> Prepared {
        self.note_sources();
        let mut prepared = Prepared {
            run,
            places: Places::of(&self),
            class,
            has_signs: self.neg.iter().chain(&self.abs).any(|set| *set),
            has_output: self.inst.mods.clamp || self.inst.mods.omod != OutputScale::One,
            is_slow: false,
            details: Arc::new(self),
        };
        prepared.note_speed();
        prepared
    }

    /// Whether some source lies in the registers of the first result of `other`.
    fn reads_result_of(&self, other: &Details) -> bool {
        let result = other.result_span();
        self.spans().any(|span| !span.is_destination && span.overlaps(result))
    }
}

/// Makes an instruction ready to run.
pub(crate) fn prepare(pc: u64, inst: Inst, target: Target) -> Result<Prepared, Cause> {
    let class = kind::class(&inst, inst.op);
    let mut details = prepare_half(pc, inst, inst.op, &inst.operands, target)?;
    let mut run = details.inner;
    if let Some(Dual { op, operands }) = inst.dual {
        let second = prepare_half(pc, inst, op, &operands, target)?;
        if second.reads_result_of(&details) {
            stage_result(&mut details, forms::DUAL_STAGE);
        }
        for span in second.spans() {
            details.add_span(span);
        }
        for (count, other) in details.n_vectors.iter_mut().zip(second.n_vectors) {
            *count = (*count).max(other);
        }
        let run_second = second.inner;
        details.dual = Some(Box::new(second.ready(run_second, class)));
        run = forms::run_dual;
    } else if inst.mods.sdwa.is_some() {
        stage_sdwa(&mut details);
        run = forms::run_sdwa;
    } else if inst.mods.dpp.is_some() {
        details.unstaged[0] = details.src[0];
        details.src[0] = Source::Vector(forms::SOURCE_STAGE);
        run = forms::run_dpp;
    }
    Ok(details.ready(run, class))
}

fn stage_result(prepared: &mut Details, stage: u16) {
    prepared.final_dst = prepared.dst[0];
    if let Dest::Vector(_) = prepared.dst[0] {
        prepared.dst[0] = Dest::Vector(stage);
    }
}

fn stage_sdwa(prepared: &mut Details) {
    prepared.unstaged = [prepared.src[0], prepared.src[1]];
    prepared.src[0] = Source::Vector(forms::SOURCE_STAGE);
    if prepared.inst.row().operands.iter().any(|spec| spec.field == Field::Src1) {
        prepared.src[1] = Source::Vector(forms::SECOND_STAGE);
    }
    let is_whole = prepared.inst.mods.sdwa.is_some_and(|sdwa| sdwa.dst_sel == SdwaSel::Dword);
    prepared.final_dst = prepared.dst[0];
    if !is_whole {
        stage_result(prepared, forms::RESULT_STAGE);
    }
}

/// Runs instructions that the tables know and the emulator does not.
const REFUSE: Handler = |exec, inst| match sem::meaning(inst.inst.op) {
    Meaning::Unsupported(why) => exec.refuse(inst, why),
    // Of a dual-issue pair, the other half.
    _ => exec.refuse(inst, "half of the pair has no meaning here"),
};

/// One operation with its operands; a dual-issue pair has two.
fn prepare_half(
    pc: u64,
    inst: Inst,
    op: Op,
    operands: &[Operand],
    target: Target,
) -> Result<Details, Cause> {
    let row = op.row();
    let (run, is_approximate) = match sem::meaning(op) {
        Meaning::Exact(run) => (run, false),
        Meaning::Approximate(_, run) => (run, true),
        Meaning::Unsupported(_) => (REFUSE, false),
    };
    let mut prepared = Details {
        pc,
        n_vectors: [0; 2],
        size_bytes: inst.size_bytes,
        is_approximate,
        ends_block: false,
        is_idle: kind::is_idle(op),
        finds_registers: row.has(Effect::RelativeResult) || row.has(Effect::RelativeSource),
        n_vectors_read: 0,
        n_spans: 0,
        dst: [Dest::None; 2],
        vectors_read: [0; MAX_VECTORS_READ],
        src: [Source::None; MAX_OPERANDS],
        bits: [32; MAX_OPERANDS],
        is_mask: [false; MAX_OPERANDS],
        neg: [false; MAX_OPERANDS],
        abs: [false; MAX_OPERANDS],
        high: [false; MAX_OPERANDS],
        is_address: [false; MAX_OPERANDS],
        is_dst_high: inst.mods.op_sel & 8 != 0,
        zeroes_high: row.zeroes_high_half(target),
        spans: [Span::default(); MAX_SPANS],
        inner: run,
        dual: None,
        final_dst: Dest::None,
        unstaged: [Source::None; 2],
        queue: kind::queue(&inst, op),
        counters: kind::counters(&inst, target),
        profile: Profile::of(&inst, target),
        inst,
    };
    let is_dual = inst.dual.is_some();
    let (mut n_dst, mut n_src) = (0, 0);
    for (index, (spec, operand)) in row.operands.iter().zip(operands).enumerate() {
        let registers = if op == inst.op {
            inst.registers(index, target)
        } else {
            spec.ty.bits(target).div_ceil(32)
        };
        let registers = u16::try_from(registers).expect("at most 32 registers");
        check_tuple(&inst, *operand, registers, target)?;
        // Which registers M0 selects, only running it tells (`sem::relative`).
        let moves = if spec.is_dst { Effect::RelativeResult } else { Effect::RelativeSource };
        if !row.has(moves) {
            note_registers(&mut prepared, *operand, registers, spec.is_dst);
        }
        if spec.is_dst {
            prepared.dst[n_dst] = dest(*operand);
            n_dst += 1;
            continue;
        }
        prepared.src[n_src] = source(*operand, spec.ty, target);
        set_modifiers(&mut prepared, n_src, spec, is_dual, target);
        if matches!(spec.ty, Ty::VAddr | Ty::SAddr | Ty::BAddr) {
            prepared.bits[n_src] = if registers == 2 { 64 } else { 32 };
        }
        n_src += 1;
    }
    if row.has(Effect::ReadsDst) {
        let destinations = row.operands.iter().zip(operands).filter(|(spec, _)| spec.is_dst);
        for (spec, operand) in destinations {
            prepared.src[n_src] = source(*operand, spec.ty, target);
            prepared.bits[n_src] = narrow_bits(spec.ty, target);
            prepared.high[n_src] = inst.mods.op_sel & 8 != 0 && spec.ty.is_16_bit();
            n_src += 1;
        }
    }
    note_effects(&mut prepared, op, target);
    note_old_value(&mut prepared);
    prepared.ends_block = kind::ends_block(&prepared, op);
    Ok(prepared)
}

fn narrow_bits(ty: Ty, target: Target) -> u8 {
    u8::try_from(ty.bits(target).min(128)).expect("at most 128")
}

/// Modifier bits belong to fields; sources are looked up by position.
fn set_modifiers(
    prepared: &mut Details,
    position: usize,
    spec: &OperandSpec,
    is_dual: bool,
    target: Target,
) {
    prepared.bits[position] = narrow_bits(spec.ty, target);
    prepared.is_mask[position] = matches!(spec.ty, Ty::Mask);
    prepared.is_address[position] = matches!(spec.field, Field::Addr | Field::Saddr | Field::Vaddr);
    let number = match spec.field {
        Field::Src0 | Field::Vsrc0 => 0,
        Field::Src1 => 1,
        Field::Src2 => 2,
        _ => return,
    };
    let mods = &prepared.inst.mods;
    let is_set = |bits: u8| bits >> number & 1 == 1;
    if spec.ty.is_float() && !is_dual {
        prepared.neg[position] = is_set(mods.neg);
        prepared.abs[position] = is_set(mods.abs);
    }
    prepared.high[position] = is_set(mods.op_sel) && spec.ty.is_16_bit();
}

fn check_tuple(inst: &Inst, operand: Operand, registers: u16, target: Target) -> Result<(), Cause> {
    let last = |first: u8| u16::from(first) + registers.max(1) - 1;
    let fits = match operand {
        Operand::Vgpr(first) | Operand::Acc(first) => last(first) < 256,
        Operand::Sgpr(first) => last(first) <= u16::from(scalar::VCC) + 1,
        Operand::Special(SpecialReg::Ttmp(first)) => last(first) < 16,
        _ => true,
    };
    if fits {
        Ok(())
    } else {
        Err(unsupported(inst, target, "a register tuple runs past the last register"))
    }
}

fn note_registers(prepared: &mut Details, operand: Operand, registers: u16, is_destination: bool) {
    let count = u8::try_from(registers).unwrap_or(u8::MAX);
    let first = match operand {
        Operand::Vgpr(number) => 128 + u16::from(number),
        Operand::Acc(number) => 128 + FIRST_ACC + u16::from(number),
        Operand::Sgpr(number) => u16::from(number),
        Operand::Special(register) => match special_slot(register) {
            Some(slot) => u16::from(slot),
            None => return,
        },
        _ => return,
    };
    let kind = usize::from(matches!(operand, Operand::Acc(_)));
    if let Operand::Vgpr(number) | Operand::Acc(number) = operand {
        prepared.n_vectors[kind] = prepared.n_vectors[kind].max(u16::from(number) + registers);
    }
    prepared.add_span(Span { first, count, is_destination });
}

/// Registers that a row reads and writes without naming them.
fn note_effects(prepared: &mut Details, op: Op, target: Target) {
    let row = op.row();
    let words = u8::try_from(target.wave_width() / 32).expect("1 or 2");
    let is_lds = prepared.inst.mods.lds;
    let mut add = |first: u8, count: u8, is_destination: bool| {
        prepared.add_span(Span { first: first.into(), count, is_destination });
    };
    if row.has(Effect::ReadsVcc) {
        add(scalar::VCC, words, false);
    }
    if row.has(Effect::ReadsM0) || is_lds {
        add(scalar::M0, 1, false);
    }
}

/// A buffer atomic that returns the value before it writes the registers that hold its operand: all of
/// them, or the first half of a compare-and-swap's pair.
fn note_old_value(prepared: &mut Details) {
    let inst = &prepared.inst;
    if !matches!(inst.op, Op::BufferAtomic(_)) || !inst.returns_old() {
        return;
    }
    let (Operand::Vgpr(first), Some(spec)) = (inst.operands[0], inst.row().operands.first()) else {
        return;
    };
    let count = match spec.ty {
        Ty::B64x2 => 2,
        Ty::B32x2 => 1,
        ty => (ty.bits(Target::Gfx950) / 32) as u8,
    };
    prepared.dst[0] = Dest::Vector(first.into());
    prepared.add_span(Span { first: 128 + u16::from(first), count, is_destination: true });
}

/// The fault of an instruction, or a form of one, that has no meaning here.
pub(crate) fn unsupported(inst: &Inst, target: Target, why: &str) -> Cause {
    let op = inst.row().form(target).map_or("", |form| form.mnemonic).to_owned();
    Cause::Unsupported { op, why: why.to_owned() }
}
