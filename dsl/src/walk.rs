//! Walking a kernel without knowing each operation: operands, nested blocks, definitions in their order.

use crate::ir::{Address, Base, Block, Kernel, Op, Stmt, Value};

impl Address {
    /// The values that make up the address.
    pub fn operands(&self) -> impl Iterator<Item = Value> + use<> {
        let base = match self.base {
            Base::Global(pointer) => Some(pointer),
            Base::Lds(_) => None,
        };
        base.into_iter().chain(self.offset)
    }
}

impl Op {
    /// The values that the operation itself uses, in the order of its text; nested blocks are not searched.
    pub fn operands(&self) -> Vec<Value> {
        match self {
            Op::Const { .. } | Op::Special(_) | Op::Barrier => Vec::new(),
            Op::Unary(_, a)
            | Op::Convert(_, a)
            | Op::Bitcast(a)
            | Op::Extract(a, _)
            | Op::ReadFirstLane(a) => vec![*a],
            Op::LaneXor { value, .. } => vec![*value],
            Op::Binary(_, a, b) | Op::Cmp(_, a, b) | Op::PtrAdd(a, b) => vec![*a, *b],
            Op::Fma(a, b, c) | Op::Select(a, b, c) | Op::Matrix { a, b, c, .. } => vec![*a, *b, *c],
            Op::Pack(values) | Op::Intrinsic { args: values, .. } => values.clone(),
            Op::Load(address) => address.operands().collect(),
            Op::Store(address, value) | Op::AtomicOr(address, value) => {
                address.operands().chain([*value]).collect()
            }
            Op::For { lower, upper, inits, .. } => {
                [*lower, *upper].into_iter().chain(inits.iter().copied()).collect()
            }
            Op::If { cond, .. } => vec![*cond],
        }
    }

    /// The blocks nested in the operation.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Op::For { body, .. } => vec![body],
            Op::If { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }

    /// The values that the operation defines for its nested blocks.
    pub fn block_values(&self) -> Vec<Value> {
        match self {
            Op::For { index, carried, .. } => {
                [*index].into_iter().chain(carried.iter().copied()).collect()
            }
            _ => Vec::new(),
        }
    }

    fn for_each_value(&mut self, visit: &mut impl FnMut(&mut Value)) {
        match self {
            Op::Const { .. } | Op::Special(_) | Op::Barrier => {}
            Op::Unary(_, a)
            | Op::Convert(_, a)
            | Op::Bitcast(a)
            | Op::Extract(a, _)
            | Op::ReadFirstLane(a) => visit(a),
            Op::LaneXor { value, .. } => visit(value),
            Op::Binary(_, a, b) | Op::Cmp(_, a, b) | Op::PtrAdd(a, b) => {
                [a, b].into_iter().for_each(visit)
            }
            Op::Fma(a, b, c) | Op::Select(a, b, c) | Op::Matrix { a, b, c, .. } => {
                [a, b, c].into_iter().for_each(visit)
            }
            Op::Pack(values) | Op::Intrinsic { args: values, .. } => {
                values.iter_mut().for_each(visit)
            }
            Op::Load(address) => address.for_each_value(visit),
            Op::Store(address, value) | Op::AtomicOr(address, value) => {
                address.for_each_value(visit);
                visit(value);
            }
            Op::For { index, lower, upper, carried, inits, .. } => {
                [index, lower, upper].into_iter().for_each(&mut *visit);
                carried.iter_mut().chain(inits).for_each(visit);
            }
            Op::If { cond, .. } => visit(cond),
        }
    }

    fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Op::For { body, .. } => vec![body],
            Op::If { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }
}

impl Address {
    fn for_each_value(&mut self, visit: &mut impl FnMut(&mut Value)) {
        if let Base::Global(pointer) = &mut self.base {
            visit(pointer);
        }
        self.offset.iter_mut().for_each(visit);
    }
}

impl Kernel {
    /// Every value in the order of its definition: parameters, then for each statement its results, what it defines
    /// for its blocks, and those blocks.
    pub fn definitions(&self) -> Vec<Value> {
        let mut order = self.params.iter().map(|param| param.value).collect();
        definitions(&self.body, &mut order);
        order
    }

    /// Numbers the values in the order of their definitions, as the text form does, and forgets values that nothing
    /// defines. A use of such a value becomes a use of a number beyond [`Kernel::values`], which the verifier refuses.
    pub fn renumber(&mut self) {
        let mut order = self.definitions();
        order.retain(|value| (value.0 as usize) < self.values.len());
        let mut numbers = vec![u32::MAX; self.values.len()];
        for (number, value) in order.iter().enumerate() {
            numbers[value.0 as usize] = number as u32;
        }
        let rename = &mut |value: &mut Value| {
            value.0 = numbers.get(value.0 as usize).copied().unwrap_or(u32::MAX)
        };
        self.values = order.iter().map(|value| self.info(*value)).collect();
        self.params.iter_mut().for_each(|param| rename(&mut param.value));
        rename_block(&mut self.body, rename);
    }
}

fn definitions(block: &Block, order: &mut Vec<Value>) {
    for Stmt { results, op, .. } in &block.stmts {
        order.extend(results);
        order.extend(op.block_values());
        op.blocks().into_iter().for_each(|block| definitions(block, order));
    }
}

fn rename_block(block: &mut Block, rename: &mut impl FnMut(&mut Value)) {
    for Stmt { results, op, .. } in &mut block.stmts {
        results.iter_mut().for_each(&mut *rename);
        op.for_each_value(rename);
        for block in op.blocks_mut() {
            rename_block(block, rename);
        }
    }
    block.yields.iter_mut().for_each(rename);
}
