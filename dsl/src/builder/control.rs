//! Loops and conditionals.

use crate::ir::{Block, Op, Type, Value};

use super::{Expr, KernelBuilder, Operand};

/// Values that a loop carries or a conditional yields: one, several, or none.
pub trait Carried<'k>: Sized {
    /// The values, in order.
    fn values(&self) -> Vec<Expr<'k>>;

    /// The same shape with other values, of which there are as many.
    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> Self;
}

impl<'k> Carried<'k> for () {
    fn values(&self) -> Vec<Expr<'k>> {
        Vec::new()
    }

    fn with_values(&self, _: &mut dyn Iterator<Item = Expr<'k>>) {}
}

impl<'k> Carried<'k> for Expr<'k> {
    fn values(&self) -> Vec<Expr<'k>> {
        vec![*self]
    }

    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> Expr<'k> {
        values.next().unwrap_or(*self)
    }
}

impl<'k, C: Carried<'k>, const N: usize> Carried<'k> for [C; N] {
    fn values(&self) -> Vec<Expr<'k>> {
        self.iter().flat_map(Carried::values).collect()
    }

    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> [C; N] {
        self.each_ref().map(|member| member.with_values(values))
    }
}

impl<'k, C: Carried<'k>> Carried<'k> for Vec<C> {
    fn values(&self) -> Vec<Expr<'k>> {
        self.iter().flat_map(Carried::values).collect()
    }

    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> Vec<C> {
        self.iter().map(|member| member.with_values(values)).collect()
    }
}

impl<'k, A: Carried<'k>, B: Carried<'k>> Carried<'k> for (A, B) {
    fn values(&self) -> Vec<Expr<'k>> {
        [self.0.values(), self.1.values()].concat()
    }

    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> (A, B) {
        (self.0.with_values(values), self.1.with_values(values))
    }
}

impl KernelBuilder {
    /// A loop whose index runs from `lower` while it is below `upper`, in steps of `step`. `body` gets the index and
    /// the carried values and gives the next ones; the result is what they are after the last iteration.
    #[track_caller]
    pub fn for_range<'k, C: Carried<'k>>(
        &'k self,
        lower: impl Operand<'k>,
        upper: impl Operand<'k>,
        step: u32,
        inits: C,
        body: impl FnOnce(Expr<'k>, C) -> C,
    ) -> C {
        let like = self.i32(0);
        let (lower, upper) = (lower.beside(like), upper.beside(like));
        let log2_multiple = self.facts(lower.value()).log2_multiple.min(step.trailing_zeros());
        let index = self.new_value(Type::I32, None, log2_multiple);
        let carried = self.like(&inits.values());
        self.open(true);
        let next = body(Expr::new(self, index), self.restore(&inits, &carried));
        let body = self.close(true, &next);
        let results = self.like(&inits.values());
        let inits_values = self.own_all(&inits.values());
        let (lower, upper) = (self.own(lower), self.own(upper));
        let op = Op::For { index, lower, upper, step, carried, inits: inits_values, body };
        self.push(results.clone(), op);
        self.restore(&inits, &results)
    }

    /// Statements that run where `cond` holds.
    #[track_caller]
    pub fn if_<'k>(&'k self, cond: Expr<'k>, then: impl FnOnce()) {
        self.if_else(cond, then, || ());
    }

    /// `then` where `cond` holds, else `otherwise`; both give values of the same types.
    #[track_caller]
    pub fn if_else<'k, C: Carried<'k>>(
        &'k self,
        cond: Expr<'k>,
        then: impl FnOnce() -> C,
        otherwise: impl FnOnce() -> C,
    ) -> C {
        self.open(false);
        let yielded = then();
        let then = self.close(false, &yielded);
        self.open(false);
        let other = otherwise();
        let otherwise = self.close(false, &other);
        let results = self.like(&yielded.values());
        self.push(results.clone(), Op::If { cond: self.own(cond), then, otherwise });
        self.restore(&yielded, &results)
    }

    pub(super) fn open(&self, is_loop: bool) {
        let mut state = self.state.borrow_mut();
        state.loops += usize::from(is_loop);
        state.blocks.push(Block::default());
    }

    #[track_caller]
    pub(super) fn close<'k>(&'k self, is_loop: bool, yielded: &impl Carried<'k>) -> Block {
        let yields = self.own_all(&yielded.values());
        let mut state = self.state.borrow_mut();
        state.loops -= usize::from(is_loop);
        // Every close follows its open.
        let block = state.blocks.pop().unwrap_or_default();
        Block { yields, ..block }
    }

    #[track_caller]
    fn own_all(&self, exprs: &[Expr<'_>]) -> Vec<Value> {
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            values.push(self.own(*expr));
        }
        values
    }

    /// New values of the types of `exprs`.
    pub(super) fn like(&self, exprs: &[Expr<'_>]) -> Vec<Value> {
        exprs.iter().map(|expr| self.new_value(expr.ty(), None, 0)).collect()
    }

    pub(super) fn restore<'k, C: Carried<'k>>(&'k self, shape: &C, values: &[Value]) -> C {
        shape.with_values(&mut values.iter().map(|value| Expr::new(self, *value)))
    }
}
