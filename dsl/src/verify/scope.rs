//! Values: one definition each, numbered in order, visible from there to the end of its block.

use crate::ir::{Block, Op, Value};

use super::{Rule, Verifier};

impl Verifier<'_> {
    /// Counts a definition; the value stays invisible until [`Verifier::show`]. False when the kernel has no facts of it.
    pub(super) fn announce(&mut self, value: Value) -> bool {
        let known = self.known(value);
        let expected = self.defined;
        self.defined += 1;
        self.demand(
            value.0 as usize == expected,
            Rule::Definition,
            format_args!("a definition of %{}", value.0),
            format_args!("%{expected}, the next number in order of definition"),
        );
        known
    }

    pub(super) fn announce_all(&mut self, values: &[Value]) -> bool {
        let mut known = true;
        for value in values {
            known &= self.announce(*value);
        }
        known
    }

    /// A definition that is visible at once.
    pub(super) fn define(&mut self, value: Value) -> bool {
        self.show(value);
        self.announce(value)
    }

    pub(super) fn show(&mut self, value: Value) {
        if let Some(visible) = self.visible.get_mut(value.0 as usize) {
            *visible = true;
            self.shown.push(value);
        }
    }

    /// Ends the visibility of all but the first `count` visible values.
    pub(super) fn hide_since(&mut self, count: usize) {
        for value in self.shown.drain(count..) {
            self.visible[value.0 as usize] = false;
        }
    }

    /// Whether every value is visible here; refuses those that are not.
    pub(super) fn check_visible(&mut self, values: &[Value]) -> bool {
        let mut all = true;
        for value in values {
            if !self.visible.get(value.0 as usize).copied().unwrap_or(false) {
                let expected = "a value defined above, in this block or in one around it";
                self.refuse(Rule::Scope, format!("a use of %{}", value.0), expected);
                all = false;
            }
        }
        all
    }

    /// Whether the facts of all values that nested blocks yield exist.
    pub(super) fn yields_known(&self, op: &Op) -> bool {
        op.blocks().into_iter().flat_map(|block| &block.yields).all(|value| self.known(*value))
    }

    pub(super) fn check_no_yields(&mut self, body: &Block) {
        let count = body.yields.len();
        self.demand(
            count == 0,
            Rule::Arity,
            format_args!("{count} values yielded by the body"),
            "none",
        );
    }

    pub(super) fn check_all_defined(&mut self) {
        let (defined, facts) = (self.defined, self.kernel.values.len());
        self.demand(
            defined == facts,
            Rule::Definition,
            format_args!("facts of {facts} values"),
            format_args!("{defined}, as many as are defined"),
        );
    }

    fn known(&self, value: Value) -> bool {
        (value.0 as usize) < self.kernel.values.len()
    }
}
