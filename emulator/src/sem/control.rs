//! Program control: branches, waits, barriers, messages, hints.

use isa::Operand;
use isa::sysreg::HwRegField;
use isa::table::{Control, Ty};

use crate::checks::origins::SCC;
use crate::checks::undefined;
use crate::checks::waits::{Counter, Queue};
use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::fidelity::Bound::{Clock, WaveState};
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Approximate, Exact};
use crate::taint::Bits;
use crate::wave::{Status, scalar};

/// Whether the instruction only waits on counters.
pub(crate) fn is_wait(op: Control) -> bool {
    matches!(
        op,
        Control::SWaitcnt
            | Control::SWaitcntVscnt
            | Control::SWaitcntVmcnt
            | Control::SWaitcntExpcnt
            | Control::SWaitcntLgkmcnt
            | Control::SWaitcntDepctr
            | Control::SWaitIdle
    )
}

/// Whether it leaves control, EXEC and the wave's turn as they are: waits, no-ops and hints.
pub(crate) fn stays_in_line(op: Control) -> bool {
    is_wait(op) || is_idle(op)
}

/// Whether it does nothing here. Nothing exports, and dependencies of arithmetic are resolved by hardware or are no
/// counter's business.
pub(crate) fn is_idle(op: Control) -> bool {
    matches!(
        op,
        Control::SNop
            | Control::SDelayAlu
            | Control::SClause
            | Control::SSetprio
            | Control::SSetInstPrefetchDistance
            | Control::SWaitcntExpcnt
            | Control::SWaitcntDepctr
    )
}

#[rustfmt::skip]
pub(crate) fn meaning(op: Control) -> Meaning {
    match op {
        // Branches and ends.
        Control::SBranch => Exact(|x, i| x.branch(i, true)),
        Control::SCbranchScc0 => Exact(|x, i| x.branch_scc(i, false)),
        Control::SCbranchScc1 => Exact(|x, i| x.branch_scc(i, true)),
        Control::SCbranchVccz => Exact(|x, i| x.branch_vcc(i, true)),
        Control::SCbranchVccnz => Exact(|x, i| x.branch_vcc(i, false)),
        Control::SCbranchExecz => Exact(|x, i| x.branch(i, x.wave.exec() == 0)),
        Control::SCbranchExecnz => Exact(|x, i| x.branch(i, x.wave.exec() != 0)),
        Control::SGetpcB64 => Exact(|x, i| x.save_pc(i)),
        Control::SSetpcB64 => Exact(|x, i| x.jump(i)),
        Control::SSwappcB64 => Exact(|x, i| x.jump_and_save(i)),
        Control::SCallB64 => Exact(|x, i| x.save_pc(i).and_then(|()| x.branch(i, true))),
        Control::SEndpgm | Control::SEndpgmSaved => Exact(|x, _| x.stop(Status::Ended)),
        Control::SCodeEnd => Exact(|x, i| x.refuse(i, "it only pads the end of code; the kernel ran past its end")),
        Control::STrap => Exact(|_, i| Err(Box::new(Cause::Trap { id: i.constant() }))),

        // Waits, barriers, messages.
        Control::SBarrier => Exact(|x, _| x.stop(Status::AtBarrier)),
        Control::SWaitcnt | Control::SWaitIdle => Exact(|x, i| x.wait(i, 0)),
        Control::SWaitcntVscnt | Control::SWaitcntVmcnt | Control::SWaitcntLgkmcnt => Exact(|x, i| x.wait_plus_register(i)),
        Control::SWaitcntExpcnt | Control::SWaitcntDepctr => Exact(|_, _| Ok(())),
        Control::SSendmsg => Exact(|x, i| x.message(i)),
        Control::SSendmsghalt => Exact(|x, i| x.message(i).and_then(|()| x.stop(Status::Halted))),
        Control::SSendmsgRtnB32 | Control::SSendmsgRtnB64 => Approximate(Clock, |x, i| x.ask(i)),

        // Hints and states.
        Control::SNop | Control::SSleep | Control::SSetprio | Control::SWakeup | Control::SIcacheInv => Exact(|_, _| Ok(())),
        // Traces and performance counters are nothing that a kernel can read; nothing exports.
        Control::STtracedata | Control::STtracedataImm | Control::SIncperflevel | Control::SDecperflevel | Control::SWaitEvent => Exact(|_, _| Ok(())),
        Control::SDelayAlu | Control::SClause | Control::SSetInstPrefetchDistance => Exact(|_, _| Ok(())),
        Control::SSethalt => Exact(|x, i| x.halt(i)),
        Control::SSetGprIdxOn => Exact(|x, i| x.move_registers(i)),
        Control::SSetGprIdxOff => Exact(|x, _| { x.wave.moves_registers = false; Ok(()) }),
        Control::SSetGprIdxMode => Exact(|x, i| { x.choose_moved(i.constant()); Ok(()) }),
        Control::SSetGprIdxIdx => Exact(|x, i| { x.set_index(i); Ok(()) }),
        Control::SRoundMode => Exact(|x, i| x.set_mode_field(0, 4, i.constant().into())),
        Control::SDenormMode => Exact(|x, i| x.set_mode_field(4, 4, i.constant().into())),
        Control::SGetregB32 => Approximate(WaveState, |x, i| x.get_register(i)),
        Control::SSetregB32 => Exact(|x, i| x.set_register(i)),
        Control::SSetregImm32B32 => Exact(|x, i| x.set_register(i)),
    }
}

/// The hardware register MODE.
///
/// Source: LLVM 22, `AMDGPU::Hwreg` (the number is the same on both targets).
const HWREG_MODE: u16 = 1;

/// The message that is answered by the time (RDNA3 ISA manual, "S_SENDMSG_RTN"; LLVM 22, `SendMsg`).
const MSG_RTN_GET_REALTIME: u16 = 131;

/// A field of SIMM16 of S_GETREG and S_SETREG: register 5:0, first bit 10:6, bits minus one 15:11.
struct HardwareField {
    register: u16,
    first: u32,
    count: u32,
}

fn hardware_field(inst: &Prepared) -> HardwareField {
    let bits = inst.constant();
    HardwareField {
        register: bits & 0x3f,
        first: u32::from(bits >> 6 & 0x1f),
        count: u32::from(bits >> 11) + 1,
    }
}

fn field_mask(count: u32) -> u32 {
    (((1_u64 << count) - 1) & 0xffff_ffff) as u32
}

impl Exec<'_> {
    fn branch(&mut self, inst: &Prepared, taken: bool) -> Outcome {
        if taken {
            let distance = i64::from(inst.signed_constant()) * 4;
            self.wave.pc = inst.next_pc().wrapping_add_signed(distance);
        }
        Ok(())
    }

    fn branch_scc(&mut self, inst: &Prepared, when: bool) -> Outcome {
        if self.wave.is_scc_undefined {
            undefined::branch(self, inst, "SCC", &[SCC]);
        }
        self.branch(inst, self.wave.scc == when)
    }

    fn branch_vcc(&mut self, inst: &Prepared, when_zero: bool) -> Outcome {
        let (mask, unsure) = (self.wave.mask(scalar::VCC), self.wave.mask_undefined(scalar::VCC));
        // A bit that is surely set decides it.
        if unsure != 0 && mask & !unsure == 0 {
            undefined::branch(self, inst, "VCC", &[scalar::VCC.into(), u16::from(scalar::VCC) + 1]);
        }
        self.branch(inst, (mask == 0) == when_zero)
    }

    fn save_pc(&mut self, inst: &Prepared) -> Outcome {
        self.set_scalar64(inst, inst.dst[0], Bits::defined(inst.next_pc()));
        Ok(())
    }

    fn jump(&mut self, inst: &Prepared) -> Outcome {
        let target = self.scalar_source(inst, 0);
        if target.undefined != 0 {
            undefined::branch(self, inst, "the target address", &[]);
        }
        self.wave.pc = target.value;
        Ok(())
    }

    fn jump_and_save(&mut self, inst: &Prepared) -> Outcome {
        self.jump(inst)?;
        self.save_pc(inst)
    }

    fn stop(&mut self, status: Status) -> Outcome {
        self.wave.status = status;
        Ok(())
    }

    fn halt(&mut self, inst: &Prepared) -> Outcome {
        // Bit 0 halts; other bits concern the debugger.
        if inst.constant() & 1 == 1 { self.stop(Status::Halted) } else { Ok(()) }
    }

    fn wait(&mut self, inst: &Prepared, register: u32) -> Outcome {
        let before = self.wave.scoreboard.n_outstanding();
        if before == 0 && !self.options.checks {
            self.counts.add_wait(self.program.image_address(inst.pc), 0);
            return Ok(());
        }
        self.wave.scoreboard.wait_as(inst, self.target, Some(register));
        let n_proved = before - self.wave.scoreboard.n_outstanding();
        self.counts.add_wait(self.program.image_address(inst.pc), n_proved);
        Ok(())
    }

    /// A wait of its own counter: the constant plus a scalar register, which only NULL makes useful.
    fn wait_plus_register(&mut self, inst: &Prepared) -> Outcome {
        let register = self.uniform(inst.src[0]) as u32;
        self.wait(inst, register)
    }

    /// Messages have no receiver here; they only count.
    fn message(&mut self, inst: &Prepared) -> Outcome {
        self.count_outstanding(inst, Queue::Unordered, &[Counter::Lgkm], Default::default());
        Ok(())
    }

    /// A message that is answered: only for the time.
    fn ask(&mut self, inst: &Prepared) -> Outcome {
        let is_time = inst.inst.operands[1] == Operand::Imm(MSG_RTN_GET_REALTIME);
        if !is_time {
            return self.refuse(inst, "messages that ask for anything but the time");
        }
        let time = Bits::defined(self.wave.read_clock());
        match inst.inst.row().operands[0].ty {
            Ty::B64 => self.set_scalar64(inst, inst.dst[0], time),
            _ => self.set_scalar32(inst, inst.dst[0], time),
        }
        let span = inst.result_span();
        self.wave.scoreboard.issue(inst.pc, Queue::Unordered, &[Counter::Lgkm], span);
        Ok(())
    }

    /// What a hardware register holds; `None` where that is not emulated.
    fn hardware_register(&mut self, field: &HardwareField) -> Option<u32> {
        let name = HwRegField::from_imm(field.register).name(self.target)?;
        match name {
            "HW_REG_MODE" => Some(self.wave.mode_bits),
            "HW_REG_SHADER_CYCLES" => Some(self.wave.read_clock() as u32 & 0xf_ffff),
            // Every wave claims to run on the first unit of everything.
            "HW_REG_HW_ID" | "HW_REG_HW_ID1" | "HW_REG_HW_ID2" | "HW_REG_XCC_ID" => Some(0),
            _ => None,
        }
    }

    fn get_register(&mut self, inst: &Prepared) -> Outcome {
        let field = hardware_field(inst);
        let Some(register) = self.hardware_register(&field) else {
            let why =
                "of the hardware registers only MODE, SHADER_CYCLES, HW_ID and XCC_ID are emulated";
            return self.refuse(inst, why);
        };
        let value = register >> field.first & field_mask(field.count);
        self.set_scalar32(inst, inst.dst[0], Bits::defined(value.into()));
        Ok(())
    }

    fn set_register(&mut self, inst: &Prepared) -> Outcome {
        let field = hardware_field(inst);
        if field.register != HWREG_MODE {
            return self.refuse(inst, "only the MODE register is emulated");
        }
        let value = self.uniform(inst.src[1]) as u32;
        self.set_mode_field(field.first, field.count, value)
    }

    fn set_mode_field(&mut self, first: u32, count: u32, value: u32) -> Outcome {
        let mask = field_mask(count);
        let bits = self.wave.mode_bits & !(mask << first) | (value & mask) << first;
        self.wave.set_mode(bits);
        Ok(())
    }
}

/// MODE when a wave starts, by its descriptor.
pub(crate) fn initial_mode(descriptor: &codeobj::KernelDescriptor) -> u32 {
    // The descriptor's denormal fields have the encoding of MODE's.
    let denorm = |mode: codeobj::DenormMode| match mode {
        codeobj::DenormMode::FlushSourceAndResult => 0,
        codeobj::DenormMode::FlushResult => 1,
        codeobj::DenormMode::FlushSource => 2,
        codeobj::DenormMode::Keep => 3,
    };
    let round = |mode: codeobj::RoundMode| match mode {
        codeobj::RoundMode::NearestEven => 0,
        codeobj::RoundMode::PlusInfinity => 1,
        codeobj::RoundMode::MinusInfinity => 2,
        codeobj::RoundMode::Zero => 3,
    };
    let bit = |set: bool, place: u32| u32::from(set) << place;
    round(descriptor.round_mode_f32)
        | round(descriptor.round_mode_f16_f64) << 2
        | denorm(descriptor.denorm_mode_f32) << 4
        | denorm(descriptor.denorm_mode_f16_f64) << 6
        | bit(descriptor.dx10_clamp, 8)
        | bit(descriptor.ieee_mode, 9)
        | bit(descriptor.fp16_overflow, 23)
}
