//! Executing one wave: fetch, checks, meaning.

#[cfg(test)]
pub(crate) mod alone;

use isa::Target;
use isa::wait_states::History;

use crate::block::Block;
use crate::checks::races::Races;
use crate::checks::{wait_states, waits};
use crate::fault::Cause;
use crate::finding::{Finding, Findings, Place, Rule};
use crate::lds::Lds;
use crate::machine::Options;
use crate::memory::{Cursor, Memory};
use crate::operand::Dest;
use crate::prepare::Prepared;
use crate::program::Program;
use crate::report::Counts;
use crate::scratch::Scratch;
use crate::sem::directed;
use crate::taint::Bits;
use crate::trace::{Step, Tracer};
use crate::wave::{Status, Wave, scalar};

/// What an instruction's meaning returns.
pub(crate) type Outcome = Result<(), Box<Cause>>;

/// Everything that an instruction of a wave can reach.
pub(crate) struct Exec<'e> {
    pub wave: &'e mut Wave,
    pub memory: &'e mut Memory,
    pub lds: &'e mut Lds,
    pub scratch: &'e mut Scratch,
    pub findings: &'e mut Findings,
    pub races: &'e mut Races,
    pub counts: &'e mut Counts,
    pub options: &'e Options,
    pub program: &'e Program,
    pub target: Target,
    /// Name of the kernel.
    pub kernel: &'e str,
    pub workgroup: [u32; 3],
    pub cursor: Cursor,
}

impl Exec<'_> {
    /// Runs the wave for at most `budget` instructions, until it waits or ends; returns what is left of
    /// the budget. On a fault the program counter stays at the instruction.
    pub(crate) fn run(
        &mut self,
        budget: u64,
        tracer: &mut Option<&mut dyn Tracer>,
    ) -> Result<u64, Box<Cause>> {
        let program = self.program;
        let mut left = budget;
        while left != 0 && self.wave.status == Status::Running {
            let block = program.block(self.wave.pc)?;
            let steps = block.steps(left);
            self.wave.active = self.wave.exec();
            self.wave.spread_ahead(block.ahead());
            let is_plain = tracer.is_none()
                && block.fits(self.wave.n_vectors)
                && !self.wave.mode.is_directed();
            if is_plain && !self.options.checks {
                self.run_unwatched(block, steps)?;
            } else if is_plain && let Some(left) = block.left_by(steps.len()) {
                self.run_checked(block, steps, left)?;
            } else {
                self.run_watched(steps, tracer)?;
            }
            left -= steps.len() as u64;
        }
        Ok(left)
    }

    fn run_unwatched(&mut self, block: &Block, steps: &[Prepared]) -> Outcome {
        if let Some(last) = steps.last() {
            // Meanings of branches overwrite it.
            self.wave.pc = last.next_pc();
        }
        for inst in block.busy(steps.len()) {
            if let Err(cause) = (inst.run)(self, inst) {
                self.wave.pc = inst.pc;
                block.count_until(inst, self.counts);
                return Err(cause);
            }
        }
        block.count(steps.len(), self.counts);
        Ok(())
    }

    /// Runs a whole block with checks; `left` is what it leaves to the wait states of later instructions.
    fn run_checked(&mut self, block: &Block, steps: &[Prepared], left: &History) -> Outcome {
        if let Some(last) = steps.last() {
            self.wave.pc = last.next_pc();
        }
        for inst in steps {
            waits::check(self, inst);
            if !self.wave.history.is_empty() {
                wait_states::check_passing(self, inst);
            }
            if let Err(cause) = (inst.run)(self, inst) {
                self.wave.pc = inst.pc;
                block.count_until(inst, self.counts);
                return Err(cause);
            }
        }
        self.wave.history.append(left);
        block.count(steps.len(), self.counts);
        Ok(())
    }

    fn run_watched(&mut self, steps: &[Prepared], tracer: &mut Option<&mut dyn Tracer>) -> Outcome {
        for inst in steps {
            self.wave.pc = inst.pc;
            self.check_allocation(inst)?;
            if self.options.checks {
                waits::check(self, inst);
                wait_states::check(self, inst);
            }
            self.counts.add_step(inst);
            if let Some(tracer) = tracer {
                tracer.step(Step {
                    place: self.place(None),
                    site: self.program.site(inst.pc),
                    exec: self.wave.active,
                });
            }
            let run = directed::handler(self, inst)?;
            // Meanings of branches overwrite it.
            self.wave.pc = inst.next_pc();
            if let Err(cause) = run(self, inst) {
                self.wave.pc = inst.pc;
                return Err(cause);
            }
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn check_allocation(&self, inst: &Prepared) -> Outcome {
        let [arch, acc] = inst.n_vectors;
        if arch <= self.wave.n_vectors[0] && acc <= self.wave.n_vectors[1] {
            return Ok(());
        }
        let is_acc = acc > self.wave.n_vectors[1];
        let (name, used) = if is_acc { ('a', acc) } else { ('v', arch) };
        let allocated = self.wave.n_vectors[usize::from(is_acc)];
        Err(Box::new(Cause::RegisterNotAllocated {
            register: format!("{name}{}", used - 1),
            allocated,
        }))
    }

    /// Where this wave is; `lane` where one can be named.
    pub(crate) fn place(&self, lane: Option<u32>) -> Place {
        Place { workgroup: self.workgroup, wave: self.wave.id, lane }
    }

    /// Reports a finding at an instruction; `describe` gives sentence and remedy.
    pub(crate) fn report(
        &mut self,
        inst: &Prepared,
        rule: Rule,
        producer: Option<u64>,
        lane: Option<u32>,
        describe: impl FnOnce() -> (String, String),
    ) {
        let place = self.place(lane);
        let (program, kernel) = (self.program, self.kernel);
        self.findings.add(rule, inst.pc, producer, || {
            finding(program, kernel, rule, inst.pc, producer, place, describe())
        });
    }

    /// The finding that [`Exec::report`] would add.
    pub(crate) fn finding(
        &self,
        inst: &Prepared,
        rule: Rule,
        producer: Option<u64>,
        lane: Option<u32>,
        words: (String, String),
    ) -> Finding {
        let place = self.place(lane);
        finding(self.program, self.kernel, rule, inst.pc, producer, place, words)
    }

    /// The fault of a form of an instruction that has no meaning here.
    pub(crate) fn refuse(&self, inst: &Prepared, why: &str) -> Outcome {
        Err(Box::new(crate::prepare::unsupported(&inst.inst, self.target, why)))
    }

    /// Writes 32 bits to a scalar destination.
    pub(crate) fn set_scalar32(&mut self, inst: &Prepared, dest: Dest, bits: Bits) {
        let Dest::Scalar(register) = dest else { return };
        self.set_word(inst, register, bits);
    }

    /// Writes 64 bits to a pair of scalar registers.
    pub(crate) fn set_scalar64(&mut self, inst: &Prepared, dest: Dest, bits: Bits) {
        let Dest::Scalar(register) = dest else { return };
        self.set_word(inst, register, bits);
        self.set_word(
            inst,
            register + 1,
            Bits { value: bits.value >> 32, undefined: bits.undefined >> 32 },
        );
    }

    /// Writes a lane mask: 32 or 64 bits by the width of the wave.
    pub(crate) fn set_lane_mask(&mut self, inst: &Prepared, dest: Dest, bits: Bits) {
        if bits.undefined == 0 {
            if let Dest::Scalar(register) = dest {
                self.wave.set_mask(register, bits.value, 0);
            }
        } else if self.wave.width == 32 {
            self.set_scalar32(inst, dest, bits);
        } else {
            self.set_scalar64(inst, dest, bits);
        }
    }

    /// Writes one scalar register. EXEC is never undefined: writing undefined bits to it is a finding.
    pub(crate) fn set_word(&mut self, inst: &Prepared, register: u8, bits: Bits) {
        let low = |bits: u64| (bits & 0xffff_ffff) as u32;
        let (value, mut undefined) = (low(bits.value), low(bits.undefined));
        let is_exec =
            register == scalar::EXEC || register == scalar::EXEC_HI && self.wave.width == 64;
        if is_exec && undefined != 0 {
            let shift = if register == scalar::EXEC { 0 } else { 32 };
            crate::checks::undefined::exec_mask(self, inst, u64::from(undefined) << shift);
            undefined = 0;
        }
        self.wave.scalars.set(register, value, undefined);
        if undefined != 0 {
            self.note_undefined_at(inst, register.into());
        }
    }
}

fn finding(
    program: &Program,
    kernel: &str,
    rule: Rule,
    pc: u64,
    producer: Option<u64>,
    place: Place,
    (what, remedy): (String, String),
) -> Finding {
    Finding {
        rule,
        kernel: kernel.to_owned(),
        site: program.site(pc),
        producer: producer.map(|pc| program.site(pc)),
        place,
        what,
        remedy,
        times: 1,
    }
}
