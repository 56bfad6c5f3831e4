//! Structured loops and conditionals to basic blocks and phis.

use dsl::ir::{Block, Op, Stmt, Value};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValue, BasicValueEnum, PhiValue};

use super::{Lowering, malformed};
use crate::error::CompileError;

impl<'ctx> Lowering<'ctx, '_> {
    /// `header` tests and holds the phis, `body` ends in a jump back, `end` goes on.
    pub(super) fn counted_loop(&mut self, stmt: &Stmt) -> Result<(), CompileError> {
        let Op::For { index, lower, upper, step, carried, inits, body } = &stmt.op else {
            return Err(malformed("a loop that is none".to_owned()));
        };
        let (lower, upper) = (self.value(*lower)?, self.int(*upper)?);
        let inits = self.values_of(inits)?;
        let before = self.current_block()?;
        let [header, inside, end] =
            ["for", "for.body", "for.end"].map(|name| self.append_block(name));

        self.builder.build_unconditional_branch(header)?;
        self.builder.position_at_end(header);
        let index_phi = self.phi(*index, &[(lower, before)])?;
        let phis = self.phis(carried, &inits, before)?;
        let counter = self.int(*index)?;
        let goes_on = self.builder.build_int_compare(IntPredicate::SLT, counter, upper, "")?;
        self.builder.build_conditional_branch(goes_on, inside, end)?;

        self.builder.position_at_end(inside);
        self.block(body)?;
        let step = self.context.i32_type().const_int(u64::from(*step), false);
        let next = self.builder.build_int_add(counter, step, "")?;
        let latch = self.current_block()?;
        self.builder.build_unconditional_branch(header)?;
        index_phi.add_incoming(&[(&next, latch)]);
        for (phi, value) in phis.iter().zip(self.values_of(&body.yields)?) {
            phi.add_incoming(&[(&value, latch)]);
        }

        self.builder.position_at_end(end);
        for (result, phi) in stmt.results.iter().zip(&phis) {
            self.define(*result, phi.as_basic_value())?;
        }
        Ok(())
    }

    /// Both arms join in `endif`, whose phis are the results.
    pub(super) fn conditional(
        &mut self,
        results: &[Value],
        cond: Value,
        then: &Block,
        otherwise: &Block,
    ) -> Result<(), CompileError> {
        let cond = self.int(cond)?;
        let [yes, no, end] = ["then", "else", "endif"].map(|name| self.append_block(name));
        self.builder.build_conditional_branch(cond, yes, no)?;
        let (then_values, then_end) = self.arm(yes, then, end)?;
        let (else_values, else_end) = self.arm(no, otherwise, end)?;
        self.builder.position_at_end(end);
        for ((result, yes), no) in results.iter().zip(then_values).zip(else_values) {
            self.phi(*result, &[(yes, then_end), (no, else_end)])?;
        }
        Ok(())
    }

    /// Lowers one arm; gives its values and the block that it ends in.
    fn arm(
        &mut self,
        start: BasicBlock<'ctx>,
        block: &Block,
        end: BasicBlock<'ctx>,
    ) -> Result<(Vec<BasicValueEnum<'ctx>>, BasicBlock<'ctx>), CompileError> {
        self.builder.position_at_end(start);
        self.block(block)?;
        let values = self.values_of(&block.yields)?;
        let last = self.current_block()?;
        self.builder.build_unconditional_branch(end)?;
        Ok((values, last))
    }

    /// A phi that becomes the value.
    fn phi(
        &mut self,
        value: Value,
        incoming: &[(BasicValueEnum<'ctx>, BasicBlock<'ctx>)],
    ) -> Result<PhiValue<'ctx>, CompileError> {
        let phi = self.builder.build_phi(self.basic_type(self.type_of(value)?), "")?;
        for (from, block) in incoming {
            phi.add_incoming(&[(from as &dyn BasicValue<'ctx>, *block)]);
        }
        self.define(value, phi.as_basic_value())?;
        Ok(phi)
    }

    fn phis(
        &mut self,
        values: &[Value],
        inits: &[BasicValueEnum<'ctx>],
        before: BasicBlock<'ctx>,
    ) -> Result<Vec<PhiValue<'ctx>>, CompileError> {
        values.iter().zip(inits).map(|(value, init)| self.phi(*value, &[(*init, before)])).collect()
    }

    fn values_of(&self, values: &[Value]) -> Result<Vec<BasicValueEnum<'ctx>>, CompileError> {
        values.iter().map(|value| self.value(*value)).collect()
    }

    fn append_block(&self, name: &str) -> BasicBlock<'ctx> {
        self.context.append_basic_block(self.function, name)
    }

    fn current_block(&self) -> Result<BasicBlock<'ctx>, CompileError> {
        self.builder
            .get_insert_block()
            .ok_or_else(|| malformed("code outside of a block".to_owned()))
    }
}
