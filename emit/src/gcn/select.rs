//! Kernel IR to machine code with virtual registers: one file a concern.
//!
//! Whether an operation runs on the scalar or the vector unit follows from where its operands are: what is the same
//! in all lanes stays in SGPRs as long as the scalar unit has the operation. Floats of uniform values are computed by
//! vector instructions, since neither target has scalar floats.

mod address;
mod control;
mod convert;
mod entry;
mod float;
mod half;
mod integer;
mod lanes;
mod legal;
mod logic;
mod matrix;
mod memory;
mod values;
mod wide;

use std::collections::HashMap;

use dsl::ir::{Block, Kernel, Op as IrOp, Stmt, Type, Uniformity, Value};
use isa::table::Control;
use isa::{Op, Target};

use super::error::Cause;
use super::mir::{Class, Function, Inst, Kind, Part, Reg, Slot};
use super::plan::Plan;
use super::{Phase, Phases};
pub use entry::{Inputs, USER_SGPRS, argument_bytes, argument_layout};
use values::{Loc, Src, Word};

/// The machine code of a kernel, and what it expects of the hardware when it starts.
pub struct Selected {
    /// The code.
    pub function: Function,
    /// Registers that the hardware fills.
    pub inputs: Inputs,
    /// What each statement number of the code stands for.
    pub phases: Phases,
}

/// Constants and copies that code further inside may use again.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Known {
    /// Words side by side.
    Tuple(Class, Vec<Word>),
    /// A constant in a VGPR.
    VectorConst(u32),
    /// A scalar register's copy in a VGPR.
    VectorCopy(Reg, u8),
    /// A pointer in SGPRs plus a constant.
    Base(Reg, u8, i64),
}

/// The state of selecting one kernel.
pub(super) struct Selector<'k> {
    kernel: &'k Kernel,
    plan: Plan,
    target: Target,
    function: Function,
    inputs: Inputs,
    /// Byte offset of every LDS buffer.
    lds_offsets: Vec<u32>,
    /// Where each value is, indexed by its number.
    locs: Vec<Option<Loc>>,
    /// What defines each value.
    defs: Vec<Option<&'k IrOp>>,
    /// What has been made already, scope by scope.
    known: Vec<HashMap<Known, Reg>>,
    /// Constants in SGPRs, made before everything else.
    scalar_consts: HashMap<u32, Reg>,
    prologue: Vec<Inst>,
    phases: Phases,
    loops: u32,
    /// Nothing but the end of the program follows the block being selected.
    is_tail: bool,
}

/// Selects instructions for a kernel whose plan is made.
pub fn select(kernel: &Kernel, plan: Plan) -> Result<Selected, Cause> {
    let target = kernel.target;
    let (lds_offsets, _) = kernel.lds_layout();
    let mut function = Function { target, regs: Vec::new(), blocks: vec![Default::default()] };
    let inputs = Inputs::declare(&mut function, &plan);
    let mut selector = Selector {
        kernel,
        plan,
        target,
        function,
        inputs,
        lds_offsets,
        locs: vec![None; kernel.values.len()],
        defs: vec![None; kernel.values.len()],
        known: vec![HashMap::new()],
        scalar_consts: HashMap::new(),
        prologue: Vec::new(),
        phases: vec![Phase { value: None, text: "start of the kernel".to_owned() }],
        loops: 0,
        is_tail: true,
    };
    selector.load_arguments()?;
    selector.block(&kernel.body, true)?;
    selector.control(Control::SEndpgm, &[]);
    let Selector { mut function, inputs, phases, prologue, .. } = selector;
    function.blocks[0].insts.splice(0..0, prologue);
    Ok(Selected { function, inputs, phases })
}

impl<'k> Selector<'k> {
    fn block(&mut self, block: &'k Block, is_tail: bool) -> Result<(), Cause> {
        for (index, stmt) in block.stmts.iter().enumerate() {
            self.is_tail = is_tail && index + 1 == block.stmts.len();
            self.begin(stmt);
            self.statement(stmt)?;
        }
        Ok(())
    }

    /// Everything that follows is for this statement.
    fn begin(&mut self, stmt: &'k Stmt) {
        for result in &stmt.results {
            self.defs[result.0 as usize] = Some(&stmt.op);
        }
        let value = stmt.results.first().copied();
        self.phases.push(Phase { value, text: stmt.loc.to_string() });
    }

    fn statement(&mut self, stmt: &'k Stmt) -> Result<(), Cause> {
        match &stmt.op {
            IrOp::Store(address, value) => self.store(address, *value),
            IrOp::AtomicOr(address, value) => self.atomic_or(address, *value),
            IrOp::Barrier => {
                self.barrier();
                Ok(())
            }
            IrOp::For { .. } => self.counted_loop(stmt),
            IrOp::If { cond, then, otherwise } => {
                self.conditional(&stmt.results, *cond, then, otherwise)
            }
            op => {
                let [result] = stmt.results[..] else {
                    return Err(malformed(format!(
                        "{} results for an operation of one",
                        stmt.results.len()
                    )));
                };
                let loc = self.expression(op, result)?;
                self.define(result, loc);
                Ok(())
            }
        }
    }

    fn expression(&mut self, op: &'k IrOp, result: Value) -> Result<Loc, Cause> {
        let ty = self.ty(result);
        match op {
            IrOp::Const { ty, bits } => Ok(self.constant(*ty, *bits)),
            IrOp::Special(special) => self.special(*special),
            IrOp::Unary(op, value) => self.unary(*op, *value, ty),
            IrOp::Binary(op, left, right) => self.binary(*op, *left, *right, result),
            IrOp::Fma(a, b, c) => self.fma([*a, *b, *c], ty),
            IrOp::Cmp(op, left, right) => self.compare(*op, *left, *right),
            IrOp::Select(cond, yes, no) => self.choose(*cond, *yes, *no, ty),
            IrOp::Convert(conversion, value) => self.convert(*conversion, *value, ty),
            IrOp::Bitcast(value) => self.bitcast(*value, ty),
            IrOp::Pack(elements) => self.pack(elements, ty),
            IrOp::Extract(vector, index) => self.extract(*vector, *index),
            IrOp::LaneXor { value, mask } => self.lane_xor(*value, *mask, result),
            IrOp::ReadFirstLane(value) => self.read_first_lane(*value),
            IrOp::Matrix { op, a, b, c } => self.matrix(*op, [*a, *b, *c]),
            IrOp::PtrAdd(pointer, offset) => self.pointer_add(*pointer, *offset),
            IrOp::Load(address) => self.load(address, result),
            IrOp::Intrinsic { name, .. } => Err(self.unsupported(
                &format!("intrinsic {name}"),
                "use the LLVM back end for kernels with intrinsics",
            )),
            IrOp::Store(..)
            | IrOp::AtomicOr(..)
            | IrOp::Barrier
            | IrOp::For { .. }
            | IrOp::If { .. } => Err(malformed("an effect where a value is expected".to_owned())),
        }
    }

    fn ty(&self, value: Value) -> Type {
        self.kernel.info(value).ty
    }

    fn is_uniform(&self, value: Value) -> bool {
        self.kernel.info(value).uniformity == Uniformity::Uniform
    }

    fn stmt(&self) -> u32 {
        self.phases.len() as u32 - 1
    }

    fn unsupported(&self, operation: &str, remedy: &'static str) -> Cause {
        Cause::Unsupported {
            operation: operation.to_owned(),
            phase: self.phases.last().map(|phase| phase.text.clone()).unwrap_or_default(),
            target: self.target,
            remedy,
        }
    }

    fn define(&mut self, value: Value, loc: Loc) {
        if let Loc::Words(words) = &loc {
            for word in words {
                if let Word::Reg(reg, _) = word.word {
                    self.function.regs[reg.0 as usize].value.get_or_insert(value);
                }
            }
        }
        self.locs[value.0 as usize] = Some(loc);
    }

    fn emit(&mut self, inst: Inst) {
        if let Some(block) = self.function.blocks.last_mut() {
            block.insts.push(inst);
        }
    }

    /// An instruction of the tables with its operands.
    fn machine(&mut self, op: Op, slots: &[Slot]) {
        let inst = Inst::new(Kind::Machine(op), slots, self.stmt());
        self.emit(inst);
    }

    fn control(&mut self, op: Control, slots: &[Slot]) {
        self.machine(Op::Control(op), slots);
    }

    fn copy(&mut self, to: Part, from: Slot) {
        let inst = Inst::new(Kind::Copy, &[Slot::Part(to), from], self.stmt());
        self.emit(inst);
    }

    fn new_reg(&mut self, class: Class, count: u8) -> Reg {
        self.function.reg(class, count, None)
    }

    fn class(&self, reg: Reg) -> Class {
        self.function.info(reg).class
    }

    fn recall(&self, known: &Known) -> Option<Reg> {
        self.known.iter().rev().find_map(|scope| scope.get(known)).copied()
    }

    fn remember(&mut self, known: Known, reg: Reg) {
        if let Some(scope) = self.known.last_mut() {
            scope.insert(known, reg);
        }
    }

    fn value_loc(&self, value: Value) -> Result<&Loc, Cause> {
        let loc = self.locs.get(value.0 as usize).and_then(Option::as_ref);
        loc.ok_or_else(|| malformed(format!("%{} is used before its definition", value.0)))
    }

    /// Words of a value; makes what was left for its first use.
    fn words(&mut self, value: Value) -> Result<Vec<Src>, Cause> {
        let loc = self.value_loc(value)?.clone();
        self.words_of(loc, self.ty(value))
    }
}

pub(super) fn malformed(problem: String) -> Cause {
    Cause::Malformed { problem }
}
