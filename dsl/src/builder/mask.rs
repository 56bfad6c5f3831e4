//! Which work-items take part.

use crate::ir::{Block, Op};

use super::{Carried, Expr, KernelBuilder};

/// All work-items, or those where a condition holds.
#[derive(Clone, Copy, Debug)]
pub enum Mask<'k> {
    /// All: known when the kernel is built, so nothing is emitted for it.
    All,
    /// Those where the condition holds.
    Where(Expr<'k>),
}

impl<'k> Mask<'k> {
    /// Work-items whose `index` is below `length`, when there are as many indices as whole groups of `group` need to
    /// cover the length.
    #[track_caller]
    pub fn below(index: Expr<'k>, length: u32, group: u32) -> Mask<'k> {
        let even = group > 0 && length.is_multiple_of(group);
        if even { Mask::All } else { Mask::Where(index.lt_u(length)) }
    }

    /// Runs `then` where the mask holds.
    #[track_caller]
    pub fn run(self, then: impl FnOnce()) {
        self.or_zeros(then);
    }

    /// What `then` gives where the mask holds, zeros elsewhere; `then` does not run there.
    #[track_caller]
    pub fn or_zeros<C: Carried<'k>>(self, then: impl FnOnce() -> C) -> C {
        match self {
            Mask::All => then(),
            Mask::Where(cond) => cond.builder().masked(cond, then),
        }
    }

    /// `value` where the mask holds, zeros elsewhere.
    #[track_caller]
    pub fn keep(self, value: Expr<'k>) -> Expr<'k> {
        match self {
            Mask::All => value,
            Mask::Where(cond) => cond.select(value, value.builder().constant(value.ty(), 0)),
        }
    }
}

impl KernelBuilder {
    #[track_caller]
    fn masked<'k, C: Carried<'k>>(&'k self, cond: Expr<'k>, then: impl FnOnce() -> C) -> C {
        self.open(false);
        let yielded = then();
        let then = self.close(false, &yielded);
        let mut zeros = Vec::with_capacity(then.yields.len());
        for expr in yielded.values() {
            zeros.push(self.constant(expr.ty(), 0).value());
        }
        let otherwise = Block { stmts: Vec::new(), yields: zeros };
        let results = self.like(&yielded.values());
        self.push(results.clone(), Op::If { cond: self.own(cond), then, otherwise });
        self.restore(&yielded, &results)
    }
}
