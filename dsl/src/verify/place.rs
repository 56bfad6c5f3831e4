//! Where in a kernel an error stands.

use std::fmt;

use crate::ir::{Kernel, Loc, Stmt};
use crate::text::Head;

/// A place in a kernel, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks and positions from the outside in, such as `body.3.then.0`; or `param x`; empty for the kernel itself.
    pub path: String,
    /// The statement's first line in the text form; empty outside statements.
    pub statement: String,
    /// The author's line.
    pub loc: Loc,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}", self.kernel)?;
        if !self.path.is_empty() {
            write!(f, ", {}", self.path)?;
        }
        if self.loc.0.is_some() {
            write!(f, " ({})", self.loc)?;
        }
        if !self.statement.is_empty() {
            write!(f, " `{}`", self.statement)?;
        }
        Ok(())
    }
}

/// Where the verifier's walk is.
#[derive(Default)]
pub struct Trail<'k> {
    /// The parameter under the eye, while the header is checked.
    pub param: Option<&'k str>,
    steps: Vec<(&'static str, usize, &'k Stmt)>,
}

impl<'k> Trail<'k> {
    /// Goes to a statement of a block nested in the statement where the walk is.
    pub fn enter(&mut self, block: &'static str, index: usize, stmt: &'k Stmt) {
        self.steps.push((block, index, stmt));
    }

    /// Back to the enclosing statement.
    pub fn leave(&mut self) {
        self.steps.pop();
    }

    /// Number of statements around this place.
    pub fn depth(&self) -> usize {
        self.steps.len()
    }

    /// The place in an error's form.
    pub fn place(&self, kernel: &Kernel) -> Place {
        let path = match self.param {
            Some(param) => format!("param {param}"),
            None => self
                .steps
                .iter()
                .map(|(block, index, _)| format!("{block}.{index}"))
                .collect::<Vec<_>>()
                .join("."),
        };
        let stmt = self.steps.last().map(|(_, _, stmt)| *stmt);
        Place {
            kernel: kernel.name.clone(),
            path,
            statement: stmt.map(|stmt| Head(kernel, stmt).to_string()).unwrap_or_default(),
            loc: stmt.map_or(Loc(None), |stmt| stmt.loc),
        }
    }
}
