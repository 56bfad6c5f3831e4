//! What must be known about a kernel before its instructions are selected.

use std::collections::HashMap;

use dsl::ir::{Access, Base, BinOp, ParamKind};
use dsl::ir::{Block, Kernel, Op, Special, Value};

/// Facts about the whole kernel.
pub struct Plan {
    uses: Vec<u32>,
    deferred: Vec<bool>,
    /// Values of the launch that are read.
    specials: Vec<Special>,
    /// For pointers: whether nothing that they lead to is written by this kernel.
    constant_memory: Vec<bool>,
}

impl Plan {
    /// Reads a kernel.
    pub fn of(kernel: &Kernel) -> Plan {
        let count = kernel.values.len();
        let mut plan = Plan {
            uses: vec![0; count],
            deferred: vec![false; count],
            specials: Vec::new(),
            constant_memory: vec![false; count],
        };
        for param in &kernel.params {
            let read_only =
                matches!(param.kind, ParamKind::Buffer { access: Access::ReadOnly, .. });
            plan.constant_memory[param.value.0 as usize] = read_only;
        }
        plan.block(&kernel.body);
        let mut users = HashMap::new();
        plan.defer(&kernel.body, &mut users);
        plan
    }

    /// How many operands a value is.
    pub fn uses(&self, value: Value) -> u32 {
        self.uses[value.0 as usize]
    }

    /// Whether a value is made by its only user.
    pub fn is_deferred(&self, value: Value) -> bool {
        self.deferred[value.0 as usize]
    }

    /// Whether a value of the launch is read.
    pub fn reads(&self, special: Special) -> bool {
        self.specials.contains(&special)
    }

    /// Whether what an access starts from is memory that does not change while the kernel runs.
    pub fn is_constant_memory(&self, base: Base) -> bool {
        match base {
            Base::Global(pointer) => self.constant_memory[pointer.0 as usize],
            Base::Lds(_) => false,
        }
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            for operand in stmt.op.operands() {
                self.uses[operand.0 as usize] += 1;
            }
            match &stmt.op {
                Op::Special(special) => self.specials.push(*special),
                Op::PtrAdd(pointer, _) => {
                    let inherited = self.constant_memory[pointer.0 as usize];
                    for result in &stmt.results {
                        self.constant_memory[result.0 as usize] = inherited;
                    }
                }
                _ => {}
            }
            stmt.op.blocks().into_iter().for_each(|block| self.block(block));
        }
        for value in &block.yields {
            self.uses[value.0 as usize] += 1;
        }
    }

    /// Finds lane exchanges whose only user, in the same block, can do the exchange itself: in another block other
    /// lanes may be active. Through a pack, whose only user must be such an operation too.
    fn defer(&mut self, block: &Block, users: &mut HashMap<Value, bool>) {
        users.clear();
        for stmt in block.stmts.iter().rev() {
            let [result] = stmt.results[..] else { continue };
            let once = self.uses[result.0 as usize] == 1;
            let absorbed = once && users.get(&result).copied().unwrap_or(false);
            match &stmt.op {
                Op::LaneXor { .. } => self.deferred[result.0 as usize] = absorbed,
                Op::Pack(elements) => elements.iter().for_each(|element| {
                    users.insert(*element, absorbed);
                }),
                Op::Binary(BinOp::FAdd | BinOp::FMul, a, b) if a != b => {
                    users.insert(*a, true);
                    users.insert(*b, true);
                }
                op => op.operands().iter().for_each(|operand| {
                    users.insert(*operand, false);
                }),
            }
        }
        for stmt in &block.stmts {
            stmt.op.blocks().into_iter().for_each(|block| self.defer(block, users));
        }
    }
}
