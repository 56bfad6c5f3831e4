//! Loops and conditionals: what goes in, round and out agrees in number and type.

use crate::ir::{Block, Op, Stmt, Type, Uniformity, Value};

use super::{Rule, Verifier};

impl Verifier<'_> {
    pub(super) fn flow(&mut self, stmt: &Stmt) {
        match &stmt.op {
            Op::For { index, lower, upper, step, carried, inits, body } => {
                for (what, bound) in
                    [("index", index), ("lower bound", lower), ("upper bound", upper)]
                {
                    self.check_bound(what, *bound);
                }
                self.demand(*step > 0, Rule::Loop, "step 0", "a step above 0");
                self.check_agreement("carried values", carried, &stmt.results);
                self.check_agreement("initial values", inits, &stmt.results);
                self.check_agreement("yielded values", &body.yields, &stmt.results);
            }
            Op::If { cond, then, otherwise } => {
                let got = self.ty(*cond);
                self.demand(got == Type::I1, Rule::Type, format_args!("condition {got}"), Type::I1);
                self.arm("then", then, &stmt.results);
                self.arm("else", otherwise, &stmt.results);
            }
            _ => {}
        }
    }

    fn arm(&mut self, name: &str, arm: &Block, results: &[Value]) {
        self.check_agreement(&format!("values yielded by {name}"), &arm.yields, results);
    }

    fn check_bound(&mut self, what: &str, value: Value) {
        let got = self.info(value);
        let holds = got.ty == Type::I32 && got.uniformity == Uniformity::Uniform;
        self.demand(
            holds,
            Rule::Loop,
            format_args!("{what} {} {:?}", got.ty, got.uniformity),
            "i32 Uniform",
        );
    }

    fn check_agreement(&mut self, what: &str, got: &[Value], results: &[Value]) {
        if got.len() != results.len() {
            return self.refuse(
                Rule::Arity,
                format!("{} {what}", got.len()),
                format!("{}, one a result", results.len()),
            );
        }
        for (position, (value, result)) in got.iter().zip(results).enumerate() {
            let (value, result) = (self.ty(*value), self.ty(*result));
            self.demand(
                value == result,
                Rule::Type,
                format_args!("{what}: {value} at position {position}"),
                result,
            );
        }
    }
}
