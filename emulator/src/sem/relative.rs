//! Moves whose registers M0 selects: `v_movrel*`, `s_movrel*`, and the index mode of gfx950.
//!
//! The move that an instruction turns out to be is prepared like any other, so that waits, wait states, undefined
//! bits and the allocation are judged by the registers that it really touches.
//!
//! In the index mode only `v_mov_b32` in its short form is executed, and `s_set_gpr_idx_idx` and `_mode` without a
//! literal, in a run that starts right after `s_set_gpr_idx_on` and ends in `s_set_gpr_idx_off`. LLVM writes such
//! runs, of moves alone. Everything else between them is refused.
//!
//! Sources: RDNA3 ISA manual, `V_MOVRELS_B32` and its neighbours; CDNA3 ISA manual, `S_MOVRELS_B32`,
//! `S_SET_GPR_IDX_ON`, `_IDX`, `_MODE` and "VGPR indexing" (M0 bits 7:0 the index, 15:12 which operands it moves).

use isa::format::Encoding;
use isa::inst::Modifiers;
use isa::table::{Control, Effect, Int, Salu};
use isa::{Inst, Op, Operand, Target, disasm};

use crate::checks::{undefined, wait_states, waits};
use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::prepare::{Handler, Prepared, prepare};
use crate::wave::scalar;

/// Most instructions between `s_set_gpr_idx_on` and `_off`.
const MAX_MOVES: usize = 16;
/// Bits of M0 that hold the index.
const INDEX: u32 = 0xff;
/// Bits of M0 that say which operands it moves: source 0 the lowest one, the result the highest.
const MOVED: u32 = 0xf000;
/// Runs a move in such a run.
pub(crate) const RUN_MOVED: Handler = |exec, inst| exec.run_moved(inst);

/// Distances of the source and the result of the moves with two indices in M0: bits 9:0 and 25:16.
pub(crate) fn pair(m0: u32) -> (u32, u32) {
    (m0 & 0x3ff, m0 >> 16 & 0x3ff)
}

fn is_plain_move(inst: &Inst) -> bool {
    let is_short = inst.encoding == Encoding::Vop1 && inst.size_bytes == 4;
    inst.op == Op::Int(Int::VMovB32) && is_short && inst.mods == Modifiers::default()
}

/// Whether it may stand between `s_set_gpr_idx_on` and `_off`; such an instruction is one word long.
fn is_in_run(inst: &Inst) -> bool {
    let sets = matches!(inst.op, Op::Control(Control::SSetGprIdxMode | Control::SSetGprIdxIdx));
    is_plain_move(inst) || sets && inst.size_bytes == 4
}

/// Whether `s_set_gpr_idx_on` stands right before an instruction, or before the run before it.
pub(crate) fn is_in_region(before: &[u8], inst: &Inst) -> bool {
    let decoded =
        before.rchunks_exact(4).take(MAX_MOVES).map(|word| isa::decode(Target::Gfx950, word));
    let mut earlier = decoded.skip_while(|inst| matches!(inst, Ok(inst) if is_in_run(inst)));
    let starts = Op::Control(Control::SSetGprIdxOn);
    is_plain_move(inst) && matches!(earlier.next(), Some(Ok(inst)) if inst.op == starts)
}

/// The number of a register, moved; so many vector registers are allocated.
fn moved(operand: Operand, by: u32, n_vectors: u16) -> Result<Operand, Cause> {
    let (first, limit, name) = match operand {
        Operand::Vgpr(first) => (first, u32::from(n_vectors), 'v'),
        Operand::Sgpr(first) => (first, u32::from(scalar::VCC), 's'),
        constant => return Ok(constant),
    };
    let number = u32::from(first).saturating_add(by);
    if number >= limit {
        let (register, allocated) = (format!("{name}{number}"), limit as u16);
        return Err(Cause::RegisterNotAllocated { register, allocated });
    }
    let number = number as u8;
    Ok(if name == 'v' { Operand::Vgpr(number) } else { Operand::Sgpr(number) })
}

impl Exec<'_> {
    /// A move whose source and result the function of M0 moves.
    pub(crate) fn move_relative(&mut self, inst: &Prepared, by: fn(u32) -> (u32, u32)) -> Outcome {
        if inst.inst.mods.dpp.is_some() {
            return self.refuse(inst, "DPP of a move whose registers M0 selects");
        }
        if self.wave.scalars.undefined(scalar::M0) != 0 {
            undefined::index(self, inst, scalar::M0.into());
        }
        let (source, result) = by(self.wave.scalars.get(scalar::M0));
        let row = inst.inst.row();
        let has_special = row.operands.iter().zip(inst.inst.operands).any(|(spec, operand)| {
            let moves = if spec.is_dst { Effect::RelativeResult } else { Effect::RelativeSource };
            row.has(moves) && !matches!(operand, Operand::Vgpr(_) | Operand::Sgpr(_))
        });
        if has_special {
            return self.refuse(inst, "M0 moves a register that is not a numbered one");
        }
        let op = match inst.inst.op {
            Op::Salu(Salu::SMovrelsB64 | Salu::SMovreldB64) => Op::Salu(Salu::SMovB64),
            Op::Salu(_) => Op::Salu(Salu::SMovB32),
            _ => Op::Int(Int::VMovB32),
        };
        self.run_as(inst, op, source, result)
    }

    /// Runs a move by these distances of its source and result.
    fn run_as(&mut self, inst: &Prepared, op: Op, source: u32, result: u32) -> Outcome {
        let mut real = Inst { op, ..inst.inst };
        real.operands[0] = moved(real.operands[0], result, self.wave.n_vectors[0])?;
        real.operands[1] = moved(real.operands[1], source, self.wave.n_vectors[0])?;
        let real = prepare(inst.pc, real, self.target)?;
        self.check_allocation(&real)?;
        if self.options.checks {
            waits::check(self, &real);
            wait_states::check_issued(self, &real);
        }
        (real.run)(self, &real)
    }

    /// `s_set_gpr_idx_on`: the index and which operands it moves go to M0.
    pub(crate) fn move_registers(&mut self, inst: &Prepared) -> Outcome {
        if let Some(why) = self.not_a_run(inst)? {
            return self.refuse(inst, &why);
        }
        self.set_index(inst);
        self.choose_moved(inst.constant());
        self.wave.moves_registers = true;
        Ok(())
    }

    /// The index goes to M0, whose other bits stay.
    pub(crate) fn set_index(&mut self, inst: &Prepared) {
        let index = self.scalar_source(inst, 0);
        let (value, undefined) = (index.value as u32, index.undefined as u32 & INDEX);
        self.put_in_m0(INDEX, value, undefined);
        if undefined != 0 {
            self.note_undefined_at(inst, scalar::M0.into());
        }
    }

    /// Which operands are moved goes to M0, whose other bits stay.
    pub(crate) fn choose_moved(&mut self, operands: u16) {
        self.put_in_m0(MOVED, u32::from(operands) << MOVED.trailing_zeros(), 0);
    }

    fn put_in_m0(&mut self, mask: u32, value: u32, undefined: u32) {
        let kept = self.wave.scalars.get(scalar::M0) & !mask;
        let kept_undefined = self.wave.scalars.undefined(scalar::M0) & !mask;
        self.wave.scalars.set(scalar::M0, kept | value & mask, kept_undefined | undefined & mask);
    }

    /// What stands between this instruction and `s_set_gpr_idx_off` that is not executed there.
    fn not_a_run(&self, inst: &Prepared) -> Result<Option<String>, Box<Cause>> {
        let mut at = inst.next_pc();
        for _ in 0..=MAX_MOVES {
            let next = self.program.fetch(at)?;
            if next.inst.op == Op::Control(Control::SSetGprIdxOff) {
                return Ok(None);
            }
            if !is_in_run(&next.inst) {
                let text = disasm::disassemble(self.target, &next.inst);
                return Ok(Some(format!(
                    "'{text}' before s_set_gpr_idx_off; only v_mov_b32 is executed there, and \
                     s_set_gpr_idx_idx and _mode without a literal"
                )));
            }
            at = next.next_pc();
        }
        Ok(Some(format!("more than {MAX_MOVES} instructions before s_set_gpr_idx_off")))
    }

    fn run_moved(&mut self, inst: &Prepared) -> Outcome {
        let m0 = self.wave.scalars.get(scalar::M0);
        if self.wave.moves_registers && self.wave.scalars.undefined(scalar::M0) & INDEX != 0 {
            undefined::index(self, inst, scalar::M0.into());
        }
        let by = |bit: u32| match self.wave.moves_registers && m0 >> bit & 1 == 1 {
            true => m0 & INDEX,
            false => 0,
        };
        self.run_as(inst, inst.inst.op, by(12), by(15))
    }
}
