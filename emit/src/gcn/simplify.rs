//! Kernel IR to kernel IR with less to do: constants are folded, what was computed before is used again, what a loop
//! does not change is moved before it, small arms become choices. Every operation keeps its exact meaning, so the
//! result computes the same bits.
//!
//! One walk makes the new kernel statement by statement. Each value remembers in how deep a block it was made; a pure
//! operation goes to the innermost block that its operands or an arm of a conditional allow.

pub(super) mod fold;
mod range;

use std::collections::HashMap;

use dsl::ir::{
    Access, Address, Base, Block, Kernel, Loc, Op, ParamKind, Stmt, Type, Uniformity, Value,
    ValueInfo,
};

use range::Range;

/// A kernel that computes the same with less.
pub fn simplify(kernel: &Kernel) -> Kernel {
    let mut walk = Walk::new(kernel);
    for param in &kernel.params {
        let value = walk.fresh(kernel.info(param.value));
        let read_only = matches!(param.kind, ParamKind::Buffer { access: Access::ReadOnly, .. });
        walk.facts[value.0 as usize].is_constant_memory = read_only;
        walk.map.insert(param.value, value);
    }
    walk.block(&kernel.body);
    let params = kernel.params.iter().cloned().map(|mut param| {
        param.value = walk.map[&param.value];
        param
    });
    let params = params.collect();
    let stmts = walk.scopes.pop().map(|scope| scope.stmts).unwrap_or_default();
    let mut simple = Kernel {
        params,
        body: Block { stmts, yields: Vec::new() },
        values: walk.values,
        name: kernel.name.clone(),
        lds: kernel.lds.clone(),
        ..*kernel
    };
    simple.renumber();
    simple
}

/// What is known of a value of the new kernel.
#[derive(Clone, Debug)]
struct Facts {
    /// How many blocks enclose its definition.
    depth: usize,
    /// What makes it; absent for parameters and what blocks define.
    op: Option<Op>,
    /// Bounds of an unsigned i32.
    range: Range,
    /// For pointers: nothing that it leads to is written by this kernel.
    is_constant_memory: bool,
}

/// An operation without effects, for looking up whether it was done before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    name: String,
    operands: Vec<Value>,
    ty: Type,
}

/// A block under construction.
#[derive(Default)]
struct Scope {
    stmts: Vec<Stmt>,
    done: HashMap<Key, Value>,
    /// Whether it is the body of a loop that runs at least once, or of one that may not run; else it is an arm.
    is_loop: bool,
    runs: bool,
}

struct Walk<'k> {
    old: &'k Kernel,
    values: Vec<ValueInfo>,
    facts: Vec<Facts>,
    map: HashMap<Value, Value>,
    scopes: Vec<Scope>,
    /// Counts what may change memory: a load gives the same again as long as it stands still.
    changes: u32,
}

impl<'k> Walk<'k> {
    fn new(old: &'k Kernel) -> Walk<'k> {
        Walk {
            old,
            values: Vec::new(),
            facts: Vec::new(),
            map: HashMap::new(),
            scopes: vec![Scope::default()],
            changes: 0,
        }
    }

    fn fresh(&mut self, info: ValueInfo) -> Value {
        self.values.push(info);
        let depth = self.scopes.len() - 1;
        let range = Range::ALL;
        self.facts.push(Facts { depth, op: None, range, is_constant_memory: false });
        Value(self.values.len() as u32 - 1)
    }

    fn ty(&self, value: Value) -> Type {
        self.values[value.0 as usize].ty
    }

    fn op(&self, value: Value) -> Option<&Op> {
        self.facts[value.0 as usize].op.as_ref()
    }

    fn range(&self, value: Value) -> Range {
        self.facts[value.0 as usize].range
    }

    /// The bits of a scalar constant.
    fn constant(&self, value: Value) -> Option<u64> {
        match self.op(value) {
            Some(Op::Const { bits, ty: Type::Scalar(_) }) => Some(*bits),
            _ => None,
        }
    }

    fn mapped(&self, value: Value) -> Value {
        self.map.get(&value).copied().unwrap_or(value)
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            self.statement(stmt);
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.op {
            Op::For { .. } => self.counted_loop(stmt),
            Op::If { cond, then, otherwise } => self.conditional(stmt, *cond, then, otherwise),
            op => {
                let mut op = op.clone();
                self.rename(&mut op);
                match stmt.results[..] {
                    [result] => {
                        let info = self.old.info(result);
                        let value = self.pure(op, info, stmt.loc);
                        self.map.insert(result, value);
                    }
                    _ => {
                        self.changes += 1;
                        self.push(Vec::new(), op, stmt.loc);
                    }
                }
            }
        }
    }

    fn rename(&self, op: &mut Op) {
        let name = |value: &mut Value| *value = self.mapped(*value);
        match op {
            Op::Const { .. } | Op::Special(_) | Op::Barrier | Op::For { .. } | Op::If { .. } => {}
            Op::Unary(_, a)
            | Op::Convert(_, a)
            | Op::Bitcast(a)
            | Op::Extract(a, _)
            | Op::ReadFirstLane(a) => name(a),
            Op::LaneXor { value, .. } => name(value),
            Op::Binary(_, a, b) | Op::Cmp(_, a, b) | Op::PtrAdd(a, b) => {
                [a, b].into_iter().for_each(name)
            }
            Op::Fma(a, b, c) | Op::Select(a, b, c) | Op::Matrix { a, b, c, .. } => {
                [a, b, c].into_iter().for_each(name)
            }
            Op::Pack(values) | Op::Intrinsic { args: values, .. } => {
                values.iter_mut().for_each(name)
            }
            Op::Load(address) => self.rename_address(address),
            Op::Store(address, value) | Op::AtomicOr(address, value) => {
                self.rename_address(address);
                name(value);
            }
        }
        if let Op::Load(address) | Op::Store(address, _) | Op::AtomicOr(address, _) = op {
            *address = self.simple_address(*address);
        }
    }

    fn rename_address(&self, address: &mut Address) {
        if let Base::Global(pointer) = &mut address.base {
            *pointer = self.mapped(*pointer);
        }
        address.offset = address.offset.map(|offset| self.mapped(offset));
    }

    fn push(&mut self, results: Vec<Value>, op: Op, loc: Loc) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.stmts.push(Stmt { results, op, loc });
        }
    }

    /// The value of an operation with one result: one that is there already, a simpler one, or a new one where its
    /// operands allow.
    fn pure(&mut self, op: Op, info: ValueInfo, loc: Loc) -> Value {
        let op = match self.fold(op, info, loc) {
            fold::Folded::Value(value) => return value,
            fold::Folded::Op(op) => op,
        };
        let key = self.key(&op, info.ty);
        if let Some(key) = &key
            && let Some(value) = self.scopes.iter().rev().find_map(|scope| scope.done.get(key))
        {
            return *value;
        }
        let changes = matches!(&op, Op::Load(address) if !self.is_constant(address));
        let depth = self.home(&op, key.is_some() && !changes);
        let value = self.fresh(info);
        let range = self.range_of(&op);
        let is_constant_memory = match &op {
            Op::PtrAdd(pointer, _) => self.facts[pointer.0 as usize].is_constant_memory,
            _ => false,
        };
        self.facts[value.0 as usize] =
            Facts { depth, op: Some(op.clone()), range, is_constant_memory };
        let scope = &mut self.scopes[depth];
        scope.stmts.push(Stmt { results: vec![value], op, loc });
        if let Some(key) = key {
            scope.done.insert(key, value);
        }
        value
    }

    /// A name for an operation that gives the same whenever its operands are the same; none for loads of what may
    /// change and for what depends on the active lanes.
    fn key(&self, op: &Op, ty: Type) -> Option<Key> {
        let name = match op {
            Op::Const { bits, .. } => format!("const {bits}"),
            Op::Special(special) => format!("{special:?}"),
            Op::Unary(op, _) => format!("{op:?}"),
            Op::Binary(op, ..) => format!("{op:?}"),
            Op::Fma(..) => "fma".to_owned(),
            Op::Cmp(op, ..) => format!("cmp {op:?}"),
            Op::Select(..) => "select".to_owned(),
            Op::Convert(op, _) => format!("{op:?}"),
            Op::Bitcast(_) => "bitcast".to_owned(),
            Op::Pack(_) => "pack".to_owned(),
            Op::Extract(_, index) => format!("extract {index}"),
            Op::LaneXor { mask, .. } => format!("xor {mask}"),
            Op::PtrAdd(..) => "ptr".to_owned(),
            Op::Matrix { op, .. } => format!("{op:?}"),
            Op::Load(address) if self.is_constant(address) => {
                format!("load {} {}", address.constant, address.offset.is_some())
            }
            Op::Load(address) => {
                let lds = match address.base {
                    Base::Lds(id) => id.0,
                    Base::Global(_) => u32::MAX,
                };
                format!(
                    "load {} {} {lds} {} after {}",
                    address.constant,
                    address.offset.is_some(),
                    address.align_bytes,
                    self.changes
                )
            }
            _ => return None,
        };
        Some(Key { name, operands: op.operands(), ty })
    }

    fn is_constant(&self, address: &Address) -> bool {
        match address.base {
            Base::Global(pointer) => self.facts[pointer.0 as usize].is_constant_memory,
            Base::Lds(_) => false,
        }
    }

    /// The depth of the block where an operation belongs.
    fn home(&self, op: &Op, is_pure: bool) -> usize {
        let here = self.scopes.len() - 1;
        if !is_pure {
            return here;
        }
        let operands = op.operands();
        let needed = operands.iter().map(|value| self.facts[value.0 as usize].depth).max();
        let needed = needed.unwrap_or(0);
        // Matrix operations, packed vectors and comparisons stay: moved out, they would only hold registers.
        let stays = matches!(op, Op::Matrix { .. } | Op::Pack(_) | Op::Extract(..) | Op::Cmp(..));
        let must_run = matches!(op, Op::Load(_));
        let mut depth = here;
        while depth > needed && !stays {
            let scope = &self.scopes[depth];
            let may_leave = matches!(op, Op::Const { .. } | Op::Special(_))
                || scope.is_loop && (!must_run || scope.runs);
            if !may_leave {
                break;
            }
            depth -= 1;
        }
        depth
    }

    fn counted_loop(&mut self, stmt: &Stmt) {
        let Op::For { index, lower, upper, step, carried, inits, body } = &stmt.op else { return };
        let [lower, upper] = [lower, upper].map(|value| self.mapped(*value));
        let inits: Vec<Value> = inits.iter().map(|value| self.mapped(*value)).collect();
        let bounds = (self.constant(lower), self.constant(upper));
        let runs = matches!(bounds, (Some(a), Some(b)) if (a as i32) < (b as i32));
        self.changes += 1;
        self.scopes.push(Scope { is_loop: true, runs, ..Scope::default() });
        let new_index = self.fresh(self.old.info(*index));
        self.facts[new_index.0 as usize].range =
            Range::of_index(self.range(lower), self.range(upper));
        self.map.insert(*index, new_index);
        let mut new_carried = Vec::new();
        for value in carried {
            let fresh = self.fresh(self.old.info(*value));
            self.map.insert(*value, fresh);
            new_carried.push(fresh);
        }
        self.block(body);
        let body = self.close(&body.yields);
        let results: Vec<Value> =
            stmt.results.iter().map(|result| self.fresh(self.old.info(*result))).collect();
        for (old, new) in stmt.results.iter().zip(&results) {
            self.map.insert(*old, *new);
        }
        let op = Op::For {
            index: new_index,
            lower,
            upper,
            step: *step,
            carried: new_carried,
            inits,
            body,
        };
        self.push(results, op, stmt.loc);
    }

    /// Ends the innermost block.
    fn close(&mut self, yields: &[Value]) -> Block {
        let yields = yields.iter().map(|value| self.mapped(*value)).collect();
        self.changes += 1;
        let scope = self.scopes.pop().unwrap_or_default();
        Block { stmts: scope.stmts, yields }
    }

    fn conditional(&mut self, stmt: &Stmt, cond: Value, then: &Block, otherwise: &Block) {
        let cond = self.mapped(cond);
        if let Some(truth) = self.constant(cond) {
            let arm = if truth & 1 == 1 { then } else { otherwise };
            self.block(arm);
            for (result, value) in stmt.results.iter().zip(&arm.yields) {
                let value = self.mapped(*value);
                self.map.insert(*result, value);
            }
            return;
        }
        if is_cheap(then) && is_cheap(otherwise) && !stmt.results.is_empty() {
            return self.choices(stmt, cond, then, otherwise);
        }
        let [then, otherwise] = [then, otherwise].map(|arm| {
            self.changes += 1;
            self.scopes.push(Scope::default());
            self.block(arm);
            self.close(&arm.yields)
        });
        let results: Vec<Value> =
            stmt.results.iter().map(|result| self.fresh(self.old.info(*result))).collect();
        for (old, new) in stmt.results.iter().zip(&results) {
            self.map.insert(*old, *new);
        }
        self.push(results, Op::If { cond, then, otherwise }, stmt.loc);
    }

    /// Both arms are computed, and their results chosen.
    fn choices(&mut self, stmt: &Stmt, cond: Value, then: &Block, otherwise: &Block) {
        self.block(then);
        self.block(otherwise);
        for ((result, yes), no) in stmt.results.iter().zip(&then.yields).zip(&otherwise.yields) {
            let (yes, no) = (self.mapped(*yes), self.mapped(*no));
            let value = self.pure(Op::Select(cond, yes, no), self.old.info(*result), stmt.loc);
            self.map.insert(*result, value);
        }
    }

    fn uniform(ty: Type) -> ValueInfo {
        ValueInfo { ty, uniformity: Uniformity::Uniform }
    }
}

/// Statements of an arm that may run although its lanes did not choose it, beside constants.
const CHEAP_STATEMENTS: usize = 3;

/// Whether running an arm for nothing costs less than to branch around it.
fn is_cheap(arm: &Block) -> bool {
    let cost = arm.stmts.iter().filter(|stmt| !matches!(stmt.op, Op::Const { .. })).count();
    let is_pure = |stmt: &Stmt| {
        matches!(
            stmt.op,
            Op::Const { .. }
                | Op::Special(_)
                | Op::Unary(..)
                | Op::Binary(..)
                | Op::Fma(..)
                | Op::Cmp(..)
                | Op::Select(..)
                | Op::Convert(..)
                | Op::Bitcast(_)
                | Op::Pack(_)
                | Op::Extract(..)
                | Op::PtrAdd(..)
        )
    };
    cost <= CHEAP_STATEMENTS && arm.stmts.iter().all(is_pure)
}
