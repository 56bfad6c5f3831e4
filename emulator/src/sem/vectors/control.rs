//! Every instruction of program control on each target that has it, as code that a wave runs: what it changes of
//! the wave, or that it is refused by name. Nothing else may change.
//!
//! Sources: CDNA3 and RDNA3 ISA manuals, SOPP, SOP1 and SOPK; immediates of waits as LLVM 22 assembles them.
//! The first instruction lies so that the address behind it carries into the high word.

mod cases;

use isa::inst::{Inst, MAX_OPERANDS, Modifiers};
use isa::table::{Control, Effect};
use isa::{Op, Operand, Target};

use super::{COMPILER_MODE, with_exec};
use crate::checks::waits::{Counter, Queue};
use crate::fault::Cause;
use crate::finding::Rule;
use crate::operand::Span;
use crate::program::Program;
use crate::wave::{Status, Wave, scalar};
use cases::{cases, field};

/// Address of the instruction.
const HERE: u64 = 0x7f12_ffff_fffc;
/// Where results go, and where 64-bit sources lie.
const RESULT: u8 = 8;
const SOURCE: u8 = 30;
/// An address far away.
const THERE: u64 = 0x7f15_8765_4320;

/// What control may change of a wave.
#[derive(Clone, Debug, PartialEq)]
struct State {
    pc: u64,
    status: Status,
    mode: u32,
    scalars: Vec<u32>,
    n_outstanding: usize,
    moves_registers: bool,
}

impl State {
    fn of(wave: &Wave) -> State {
        State {
            pc: wave.pc,
            status: wave.status,
            mode: wave.mode_bits,
            scalars: (0..128).map(|register| wave.scalars.get(register)).collect(),
            n_outstanding: wave.scoreboard.n_outstanding(),
            moves_registers: wave.moves_registers,
        }
    }

    fn set_pair(&mut self, register: u8, value: u64) {
        self.scalars[usize::from(register)] = value as u32;
        self.scalars[usize::from(register) + 1] = (value >> 32) as u32;
    }
}

/// What a wave does with an instruction.
enum Want {
    /// It goes on behind it, with these changes.
    Changes(Box<dyn Fn(&mut State)>),
    /// It breaks a rule, and goes on.
    Finding(Rule),
    /// It stays there: refused, for a reason with these words.
    Refused(&'static str),
    /// It stays there: the kernel gave up.
    Trap(u16),
}

struct Case {
    operands: Vec<Operand>,
    setup: Box<dyn Fn(&mut Wave)>,
    /// Code behind the instruction.
    behind: &'static [u32],
    want: Want,
}

fn case(operands: &[Operand], change: impl Fn(&mut State) + 'static) -> Case {
    Case {
        operands: operands.to_vec(),
        setup: Box::new(|_| {}),
        behind: &[],
        want: Want::Changes(Box::new(change)),
    }
}

impl Case {
    fn on(self, setup: impl Fn(&mut Wave) + 'static) -> Case {
        Case { setup: Box::new(setup), ..self }
    }

    fn want(self, want: Want) -> Case {
        Case { want, ..self }
    }
}

/// A wave before the instruction: registers that differ, operations outstanding, everything defined.
fn wave(target: Target) -> Wave {
    let mut wave = Wave::new(target, [8, 0]);
    wave.n_vectors = [8, 0];
    wave.reset(0, HERE, COMPILER_MODE);
    wave.is_scc_undefined = false;
    for register in 0..scalar::EXEC {
        wave.scalars.set(register, 0x7000 + u32::from(register), 0);
    }
    wave.set_mask(scalar::EXEC, u64::MAX >> (64 - wave.width), 0);
    for (word, value) in [THERE as u32, (THERE >> 32) as u32].into_iter().enumerate() {
        wave.scalars.set(SOURCE + word as u8, value, 0);
    }
    wave.scalars.set(SOURCE + 2, 1, 0);
    outstanding(&mut wave, target);
    wave
}

/// Three loads from memory, two stores to it, two LDS operations and a scalar load.
fn outstanding(wave: &mut Wave, target: Target) {
    let stores = if target == Target::Gfx950 { Counter::Vector } else { Counter::VectorStore };
    let issues = [
        (3, Queue::Vector, Counter::Vector),
        (2, Queue::Vector, stores),
        (2, Queue::Lds, Counter::Lgkm),
        (1, Queue::Unordered, Counter::Lgkm),
    ];
    for (count, queue, counter) in issues {
        (0..count).for_each(|_| wave.scoreboard.issue(0, queue, &[counter], Span::default()));
    }
}

/// Instructions of control of a target: all of them. The completeness test asks this.
pub(super) fn controls(target: Target) -> impl Iterator<Item = Control> {
    Control::ROWS.iter().filter(move |row| row.form(target).is_some()).map(|row| match row.op {
        Op::Control(op) => op,
        other => panic!("{other:?}"),
    })
}

fn code(target: Target, op: Control, case: &Case) -> Vec<u8> {
    let encoding = Op::Control(op).row().form(target).expect("the target has it").encoding;
    let mut operands = [Operand::None; MAX_OPERANDS];
    operands[..case.operands.len()].copy_from_slice(&case.operands);
    let has_literal = case.operands.iter().any(|operand| matches!(operand, Operand::Literal(_)));
    let size_bytes = if has_literal { 8 } else { 4 };
    let mods = Modifiers::default();
    let inst = Inst { op: Op::Control(op), encoding, size_bytes, operands, mods, dual: None };
    let encoded = isa::encode(target, &inst).unwrap_or_else(|error| panic!("{inst:?}: {error}"));
    let behind = case.behind.iter().flat_map(|word| word.to_le_bytes());
    encoded.to_vec().into_iter().chain(behind).collect()
}

fn check(target: Target, op: Control, case: &Case) {
    let code = code(target, op, case);
    let next = HERE + (code.len() - 4 * case.behind.len()) as u64;
    let context = format!("{target} {op:?} {:?}", case.operands);
    let mut wave = wave(target);
    (case.setup)(&mut wave);
    let mut want = State::of(&wave);
    let program = Program::new(target, 0, [(HERE, code)].into_iter());
    let (outcome, rules) = with_exec(&mut wave, &program, |exec| exec.run(1, &mut None));
    let got = State::of(&wave);
    match &case.want {
        Want::Changes(change) => {
            want.pc = next;
            change(&mut want);
            assert_eq!((outcome, rules), (Ok(0), vec![]), "{context}");
            assert_eq!(got, want, "{context}");
        }
        Want::Finding(rule) => assert_eq!((outcome, rules), (Ok(0), vec![*rule]), "{context}"),
        Want::Refused(words) => {
            let Err(Cause::Unsupported { op: name, why }) = outcome.map_err(|cause| *cause) else {
                panic!("{context}: not refused")
            };
            assert!(why.contains(words), "{context}: {why}");
            let mnemonic = Op::Control(op).row().form(target).expect("the target has it").mnemonic;
            assert_eq!((name.as_str(), got), (mnemonic, want), "{context}");
        }
        Want::Trap(id) => {
            assert_eq!(outcome, Err(Box::new(Cause::Trap { id: *id })), "{context}");
            assert_eq!(got, want, "{context}");
        }
    }
}

#[test]
fn every_instruction_of_control_changes_what_its_definition_says() {
    for target in Target::ALL {
        for op in controls(target) {
            let cases = cases(target, op);
            assert!(!cases.is_empty(), "{target} {op:?}");
            cases.iter().for_each(|case| check(target, op, case));
        }
    }
}

/// The clock of a wave grows with each reading, whichever instruction reads it.
#[test]
fn clocks_of_messages_and_registers_are_one() {
    let target = Target::Gfx1100;
    let ask = cases(target, Control::SSendmsgRtnB64).pop().expect("the time");
    let read = case(&[Operand::Sgpr(RESULT), field(29, 0, 20)], |_| {});
    let mut wave = wave(target);
    let mut times = Vec::new();
    for (op, case) in [
        (Control::SSendmsgRtnB64, &ask),
        (Control::SGetregB32, &read),
        (Control::SSendmsgRtnB64, &ask),
    ] {
        let program = Program::new(target, 0, [(HERE, code(target, op, case))].into_iter());
        wave.pc = HERE;
        wave.scoreboard.clear();
        let (outcome, _) = with_exec(&mut wave, &program, |exec| exec.run(1, &mut None));
        assert_eq!(outcome, Ok(0));
        times.push(wave.scalars.get(RESULT));
    }
    assert_eq!(times, [256, 512, 768]);
}

/// What the tables call a branch or a terminator has a case in which the wave does not go on behind it.
#[test]
fn branches_and_terminators_leave_the_line() {
    for target in Target::ALL {
        for op in controls(target) {
            let row = Op::Control(op).row();
            if !row.has(Effect::Branch) && !row.has(Effect::Terminator) {
                continue;
            }
            let leaves = |case: &Case| match &case.want {
                Want::Changes(change) => {
                    let mut state = State::of(&wave(target));
                    state.pc = HERE + 4;
                    change(&mut state);
                    state.pc != HERE + 4 || state.status != Status::Running
                }
                Want::Refused(_) => true,
                Want::Finding(_) | Want::Trap(_) => false,
            };
            assert!(cases(target, op).iter().any(leaves), "{target} {op:?}");
        }
    }
}
