//! The verifier: what every kernel must satisfy before a back end sees it.
//!
//! Errors accumulate; each names the statement by its path, its text and the author's line, what was found and what
//! would be right. The checklist:
//!
//! * **header**: the name, parameter and LDS names are symbols and distinct; scalar parameters are `i32`, `i64` or
//!   `f32`; the workgroup is a multiple of the wave width, at most 1024; a budget of
//!   registers is one to as many as instructions can name; alignments are powers of two; the LDS buffers fit the target.
//! * **values** (`scope`): numbered in the order of definition, each defined once, used only after its definition
//!   and inside the block that defines it; blocks nest at most [`crate::text::MAX_NESTING`] deep.
//! * **types** (`types`): operand and result types of every operation; vectors of 2, 3, 4, 8 or 16 elements, never of
//!   `i1`; constants within their type; unsigned division by constants other than zero; no transcendental of a
//!   constant.
//! * **matrix** (`matrix`): the operation exists on the target, is dense, of one block and of floats, and its operands
//!   are a lane's part of its fragments.
//! * **uniformity** (`uniformity`): a uniform value comes from uniform operands, or from `read_first_lane`; lane
//!   and thread ids, lane exchanges and intrinsics vary; loop bounds and indices are uniform; a conditional with a
//!   varying condition yields varying values.
//! * **flow** (`flow`): steps are not zero; carried values, initial values, yields and results agree in number and
//!   type, and so do both arms of a conditional.
//! * **convergence** (`convergence`): lane exchanges and matrix operations stand under no varying condition; a barrier stands only
//!   where all waves of the workgroup come together: under no condition and in no loop that depends on the wave or
//!   lane.
//! * **memory** (`memory`): a pointer comes from one buffer parameter, through offsets, choices and loops; no store
//!   to a read-only and no load from a write-only buffer; an access promises an alignment that is a power of two, at
//!   least its element's size, at most what the buffer guarantees, and true of the constant part of its address;
//!   constant LDS addresses stay inside their buffer.
//!
//! It cannot see: addresses computed at run time, races, values that no one wrote. The emulator checks those.

mod convergence;
mod flow;
mod header;
mod matrix;
mod memory;
mod place;
mod scope;
mod types;
mod uniformity;

pub(crate) use matrix::operand_types;
pub use place::Place;

use std::collections::BTreeMap;

use crate::ir::{Block, Kernel, Op, Stmt, Type, Value, ValueInfo};
use crate::text::MAX_NESTING;

use place::Trail;

/// One thing that is wrong with a kernel.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{place}: rule {rule:?}: got {got}, expected {expected}")]
pub struct VerifyError {
    /// Where.
    pub place: Place,
    /// Which rule it breaks.
    pub rule: Rule,
    /// What was found.
    pub got: String,
    /// What would be right.
    pub expected: String,
}

/// The verifier's rules; the module's documentation tells what each demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A name that cannot stand in text or in a symbol table, or that is taken.
    Name,
    /// A parameter's kind.
    Param,
    /// The workgroup's size.
    WorkgroupSize,
    /// The budget of registers.
    Registers,
    /// The LDS buffers.
    Lds,
    /// How often and in which order values are defined.
    Definition,
    /// Where values may be used.
    Scope,
    /// Depth of blocks.
    Nesting,
    /// Number of results or operands.
    Arity,
    /// Types of operands and results.
    Type,
    /// The bits of a constant, or a constant where none or only one is allowed.
    Constant,
    /// Uniform values and their operands.
    Uniformity,
    /// Loop bounds and steps.
    Loop,
    /// Barriers and lane exchanges.
    Convergence,
    /// Which buffer a pointer belongs to.
    Provenance,
    /// Loads and stores that a buffer does not allow.
    Access,
    /// Promised alignment.
    Alignment,
    /// Constant addresses outside their LDS buffer.
    Bounds,
}

/// Checks a kernel against the whole list; all errors in program order, the header's first.
pub fn verify(kernel: &Kernel) -> Result<(), Vec<VerifyError>> {
    let mut verifier = Verifier::new(kernel);
    verifier.header();
    verifier.params();
    verifier.block("body", &kernel.body);
    verifier.check_no_yields(&kernel.body);
    verifier.check_all_defined();
    if verifier.errors.is_empty() {
        verifier.convergence();
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

/// The walk's state.
struct Verifier<'k> {
    kernel: &'k Kernel,
    errors: Vec<VerifyError>,
    trail: Trail<'k>,
    /// Whether each value is visible here.
    visible: Vec<bool>,
    /// The values that are visible here, in the order in which they became so.
    shown: Vec<Value>,
    /// Number of values defined so far.
    defined: usize,
    /// Constants met so far.
    constants: BTreeMap<Value, u64>,
    /// The parameter, by its index, that each pointer belongs to.
    origins: BTreeMap<Value, usize>,
}

impl<'k> Verifier<'k> {
    fn new(kernel: &'k Kernel) -> Verifier<'k> {
        Verifier {
            kernel,
            errors: Vec::new(),
            trail: Trail::default(),
            visible: vec![false; kernel.values.len()],
            shown: Vec::new(),
            defined: 0,
            constants: BTreeMap::new(),
            origins: BTreeMap::new(),
        }
    }

    fn refuse(&mut self, rule: Rule, got: impl ToString, expected: impl ToString) {
        let place = self.trail.place(self.kernel);
        let (got, expected) = (got.to_string(), expected.to_string());
        self.errors.push(VerifyError { place, rule, got, expected });
    }

    /// Refuses unless `holds`.
    fn demand(&mut self, holds: bool, rule: Rule, got: impl ToString, expected: impl ToString) {
        if !holds {
            self.refuse(rule, got, expected);
        }
    }

    fn params(&mut self) {
        for (index, param) in self.kernel.params.iter().enumerate() {
            self.trail.param = Some(&param.name);
            if self.define(param.value) {
                self.param(index, param);
            }
        }
        self.trail.param = None;
    }

    fn block(&mut self, name: &'static str, block: &'k Block) {
        if self.trail.depth() > MAX_NESTING {
            return self.refuse(
                Rule::Nesting,
                "one block more",
                format!("at most {MAX_NESTING} nested blocks"),
            );
        }
        let shown_before = self.shown.len();
        for (index, stmt) in block.stmts.iter().enumerate() {
            self.trail.enter(name, index, stmt);
            self.stmt(stmt);
            self.trail.leave();
        }
        self.check_visible(&block.yields);
        self.hide_since(shown_before);
    }

    fn stmt(&mut self, stmt: &'k Stmt) {
        let block_values = stmt.op.block_values();
        let operands_visible = self.check_visible(&stmt.op.operands());
        let results_known = self.announce_all(&stmt.results);
        let shown_before = self.shown.len();
        let block_values_known = self.announce_all(&block_values);
        block_values.iter().for_each(|value| self.show(*value));
        let known = operands_visible && results_known && block_values_known;
        if known {
            self.carry_origins(stmt);
        }
        for (name, block) in named_blocks(&stmt.op) {
            self.block(name, block);
        }
        self.hide_since(shown_before);
        stmt.results.iter().for_each(|result| self.show(*result));
        if known && self.yields_known(&stmt.op) {
            self.meaning(stmt);
        }
    }

    /// What needs the facts of operands, results and yields.
    fn meaning(&mut self, stmt: &'k Stmt) {
        let errors_before = self.errors.len();
        self.flow(stmt);
        self.types(stmt);
        if self.errors.len() == errors_before {
            self.uniformity(stmt);
            self.memory(stmt);
        }
    }

    fn info(&self, value: Value) -> ValueInfo {
        self.kernel.info(value)
    }

    fn ty(&self, value: Value) -> Type {
        self.info(value).ty
    }
}

/// Nested blocks with the words that paths use.
fn named_blocks(op: &Op) -> Vec<(&'static str, &Block)> {
    match op {
        Op::For { body, .. } => vec![("for", body)],
        Op::If { then, otherwise, .. } => vec![("then", then), ("else", otherwise)],
        _ => Vec::new(),
    }
}
