//! Which values depend on which: through operands, addresses, conditions, loop bounds, and from round to round of a
//! loop. Total: values that a kernel does not have, and blocks that yield too little, are passed over.

use crate::ir::{Block, Kernel, Op, Stmt, Value};

/// What an operation does to the property that [`dependents`] follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its results have the property, whatever its operands are.
    Source,
    /// Its results have it when an operand has.
    Through,
    /// Its results never have it.
    Stop,
}

/// For each value whether it is a source's result or depends on one.
pub fn dependents(kernel: &Kernel, role: impl Fn(&Op) -> Role) -> Vec<bool> {
    let count = kernel.values.len();
    let mut graph =
        Graph { uses: vec![Vec::new(); count], reached: vec![false; count], fresh: Vec::new() };
    graph.block(&kernel.body, &role);
    while let Some(value) = graph.fresh.pop() {
        for user in std::mem::take(&mut graph.uses[value.0 as usize]) {
            graph.reach(user);
        }
    }
    graph.reached
}

struct Graph {
    /// Values that depend on each value.
    uses: Vec<Vec<Value>>,
    reached: Vec<bool>,
    /// Values reached whose users are not yet.
    fresh: Vec<Value>,
}

impl Graph {
    fn reach(&mut self, value: Value) {
        let Some(reached) = self.reached.get_mut(value.0 as usize) else { return };
        if !std::mem::replace(reached, true) {
            self.fresh.push(value);
        }
    }

    fn depend(&mut self, to: &[Value], from: &[Value]) {
        for source in from {
            if let Some(uses) = self.uses.get_mut(source.0 as usize) {
                uses.extend(to);
            }
        }
    }

    fn block(&mut self, block: &Block, role: &impl Fn(&Op) -> Role) {
        for stmt in &block.stmts {
            match role(&stmt.op) {
                Role::Source => stmt.results.iter().for_each(|result| self.reach(*result)),
                Role::Through => self.through(stmt),
                Role::Stop => {}
            }
            stmt.op.blocks().into_iter().for_each(|block| self.block(block, role));
        }
    }

    fn through(&mut self, Stmt { results, op, .. }: &Stmt) {
        match op {
            Op::For { index, lower, upper, carried, inits, body, .. } => {
                self.depend(&[*index], &[*lower, *upper]);
                self.depend(results, &[*lower, *upper]);
                self.pairwise(carried, inits);
                self.pairwise(carried, &body.yields);
                self.pairwise(results, carried);
            }
            Op::If { cond, then, otherwise } => {
                self.depend(results, &[*cond]);
                self.pairwise(results, &then.yields);
                self.pairwise(results, &otherwise.yields);
            }
            op => self.depend(results, &op.operands()),
        }
    }

    fn pairwise(&mut self, to: &[Value], from: &[Value]) {
        to.iter().zip(from).for_each(|(to, from)| self.depend(&[*to], &[*from]));
    }
}
