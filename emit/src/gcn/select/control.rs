//! Structured loops and conditionals to blocks, branches and exec masks.
//!
//! A condition that differs between lanes runs one arm after the other, each with the lanes that chose it: the blocks
//! of both follow each other, with branches around an arm that no lane chose. What an arm writes for the other side is
//! written under its mask and keeps what the other arm wrote.

use std::collections::HashMap;

use dsl::ir::{Block, Op as IrOp, Scalar, Stmt, Type, Uniformity, Value};
use isa::Op;
use isa::table::{Control, Salu};

use super::logic::EXEC;
use super::values::{Cond, Loc, Src, Word, is_16_bit};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Inst, Kind, Part, Reg, Slot};

/// Registers of a value that several places write.
#[derive(Clone, Copy, Debug)]
enum Cell {
    Words(Reg),
    Mask(Reg),
}

/// Registers of a value that has any.
fn words_of(ty: Type) -> u8 {
    ty.size_bytes().div_ceil(4).max(1) as u8
}

impl<'k> Selector<'k> {
    fn open_block(&mut self) -> u32 {
        let depth = self.loops;
        self.function.blocks.push(crate::gcn::mir::Block { insts: Vec::new(), depth });
        self.function.blocks.len() as u32 - 1
    }

    /// A branch whose target is set later; a new block follows.
    pub(super) fn branch(&mut self, op: Control) -> (usize, usize) {
        self.control(op, &[Slot::Block(u32::MAX)]);
        let block = self.function.blocks.len() - 1;
        let at = (block, self.function.blocks[block].insts.len() - 1);
        self.open_block();
        at
    }

    fn land(&mut self, branch: (usize, usize), block: u32) {
        self.function.blocks[branch.0].insts[branch.1].slots[0] = Slot::Block(block);
    }

    fn nested(&mut self, block: &'k Block, is_tail: bool) -> Result<(), Cause> {
        self.known.push(HashMap::new());
        let result = self.block(block, is_tail);
        self.known.pop();
        result
    }

    /// Registers for a value. Uniform integers and pointers live in SGPRs, unless lanes may disagree on who writes.
    fn cell(&mut self, value: Value, may_be_scalar: bool) -> Cell {
        let ty = self.ty(value);
        if ty.scalar() == Some(Scalar::I1) {
            return match may_be_scalar {
                true => Cell::Mask(self.new_mask()),
                false => Cell::Words(self.new_reg(Class::Vector, 1)),
            };
        }
        let integer = matches!(ty.scalar(), None | Some(Scalar::I32 | Scalar::I64));
        let uniform = self.kernel.info(value).uniformity == Uniformity::Uniform;
        let scalar = may_be_scalar && integer && uniform && ty.lanes() == 1;
        let class = if scalar { Class::Scalar } else { Class::Vector };
        let reg = self.new_reg(class, words_of(ty));
        self.function.regs[reg.0 as usize].value = Some(value);
        Cell::Words(reg)
    }

    fn loc_of(&self, cell: Cell, ty: Type) -> Loc {
        match cell {
            Cell::Mask(reg) => Loc::Cond(Cond::Mask(reg)),
            Cell::Words(reg) if is_16_bit(ty.scalar()) && ty.lanes() == 1 => {
                Loc::Half { word: Word::Reg(reg, 0), high: false }
            }
            // A packed operation may have made the tuple wider than the value.
            Cell::Words(reg) => Loc::of_reg(reg, words_of(ty)),
        }
    }

    /// What is to be written to a cell.
    fn contents(&mut self, value: Value) -> Result<Vec<Word>, Cause> {
        match self.value_loc(value)?.clone() {
            Loc::Cond(cond) => Ok(vec![self.truth_as_word(cond)]),
            loc => {
                let words = self.words_of(loc, self.ty(value))?;
                Ok(words.into_iter().map(|src: Src| self.plain(src)).collect())
            }
        }
    }

    /// Writes values to cells at once: what a cell held is read before it is overwritten.
    fn assign(
        &mut self,
        cells: &[Cell],
        values: &[Value],
        keeps: Option<u32>,
    ) -> Result<(), Cause> {
        let written: Vec<Reg> = cells.iter().map(|cell| cell.reg()).collect();
        let mut moves = Vec::new();
        for (cell, value) in cells.iter().zip(values) {
            match cell {
                Cell::Mask(reg) => {
                    let cond = self.cond(*value)?;
                    let from = self.mask(cond);
                    let count = self.mask_words();
                    moves.push((Part::new(*reg, 0, count), vec![from]));
                }
                Cell::Words(reg) => {
                    let words = self.contents(*value)?;
                    let class = self.class(*reg);
                    let slots = words.into_iter().map(|word| {
                        let word =
                            if class == Class::Scalar { self.scalar_word(word) } else { word };
                        self.slot(word)
                    });
                    let slots: Vec<Slot> = slots.collect();
                    moves.push((Part::new(*reg, 0, slots.len() as u8), slots));
                }
            }
        }
        for (to, from) in &mut moves {
            self.save_overwritten(*to, from, &written);
        }
        for (to, from) in moves {
            self.write_cell(to, &from, keeps);
        }
        Ok(())
    }

    /// Copies sources that another cell of the same assignment overwrites.
    fn save_overwritten(&mut self, to: Part, from: &mut [Slot], written: &[Reg]) {
        for (index, slot) in from.iter_mut().enumerate() {
            let Slot::Part(part) = *slot else { continue };
            let stays = part.reg == to.reg && part.first == index as u8;
            if written.contains(&part.reg) && !stays {
                let class = self.class(part.reg);
                let reg = self.new_reg(class, part.count);
                let copy = Part::new(reg, 0, part.count);
                self.copy(copy, *slot);
                *slot = Slot::Part(copy);
            }
        }
    }

    fn write_cell(&mut self, to: Part, from: &[Slot], keeps: Option<u32>) {
        let mut index = 0;
        while index < from.len() {
            let run = match from[index] {
                Slot::Part(part) if part.count == 1 => {
                    let next = |k: usize| {
                        from.get(index + k)
                            == Some(&Slot::Part(Part::new(part.reg, part.first + k as u8, 1)))
                    };
                    (1..).take_while(|k| next(*k)).count() + 1
                }
                Slot::Part(part) => usize::from(part.count),
                _ => usize::from(to.count) / from.len(),
            };
            let target = Part::new(to.reg, to.first + index as u8, run as u8);
            let source = match from[index] {
                Slot::Part(part) => Slot::Part(Part::new(part.reg, part.first, run as u8)),
                other => other,
            };
            if source != Slot::Part(target) {
                let mut inst = Inst::new(Kind::Copy, &[Slot::Part(target), source], self.stmt());
                inst.keeps = keeps;
                self.emit(inst);
            }
            let is_mask = from.len() == 1 && to.count > 1;
            index += if is_mask { 1 } else { run };
        }
    }

    pub(super) fn counted_loop(&mut self, stmt: &'k Stmt) -> Result<(), Cause> {
        let IrOp::For { index, lower, upper, step, carried, inits, body } = &stmt.op else {
            return Err(malformed("a loop that is none".to_owned()));
        };
        let cells: Vec<Cell> = carried.iter().map(|value| self.cell(*value, true)).collect();
        let (first, end) = (self.word(*lower)?, self.word(*upper)?);
        let [first, end] = [first, end].map(|word| self.scalar_word(word));
        let counter = self.new_reg(Class::Scalar, 1);
        self.function.regs[counter.0 as usize].value = Some(*index);
        self.assign(&cells, inits, None)?;
        let first_slot = self.slot(first);
        self.copy(Part::new(counter, 0, 1), first_slot);
        let skip = match (first, end) {
            (Word::Const(first), Word::Const(end)) if (first as i32) < (end as i32) => None,
            _ => {
                let end = self.one_literal(first, end);
                let cond = Cond::Scalar(Salu::SCmpLtI32, [self.slot(first), self.slot(end)]);
                Some(self.branch_if(cond, false))
            }
        };
        self.loops += 1;
        let top = self.open_block();
        for (value, cell) in carried.iter().zip(&cells) {
            let loc = self.loc_of(*cell, self.ty(*value));
            self.define(*value, loc);
        }
        self.define(*index, Loc::of([Word::Reg(counter, 0)]));
        self.nested(body, false)?;
        self.assign(&cells, &body.yields, None)?;
        self.step_and_repeat(counter, *step, end, top);
        self.loops -= 1;
        let after = self.open_block();
        if let Some(skip) = skip {
            self.land(skip, after);
        }
        for (result, (value, cell)) in stmt.results.iter().zip(carried.iter().zip(&cells)) {
            let loc = self.loc_of(*cell, self.ty(*value));
            self.define(*result, loc);
        }
        Ok(())
    }

    fn step_and_repeat(&mut self, counter: Reg, step: u32, end: Word, top: u32) {
        let slot = Slot::Part(Part::new(counter, 0, 1));
        let step = self.slot(Word::Const(step));
        self.machine(Op::Salu(Salu::SAddI32), &[slot, slot, step]);
        let end = self.slot(end);
        self.machine(Op::Salu(Salu::SCmpLtI32), &[slot, end]);
        self.control(Control::SCbranchScc1, &[Slot::Block(top)]);
    }

    pub(super) fn conditional(
        &mut self,
        results: &[Value],
        cond: Value,
        then: &'k Block,
        otherwise: &'k Block,
    ) -> Result<(), Cause> {
        let is_uniform = self.is_uniform(cond);
        match self.cond(cond)? {
            Cond::Const(truth) => {
                let arm = if truth { then } else { otherwise };
                let is_tail = self.is_tail;
                self.block(arm, is_tail)?;
                for (result, value) in results.iter().zip(&arm.yields) {
                    let loc = self.value_loc(*value)?.clone();
                    self.define(*result, loc);
                }
                Ok(())
            }
            cond if is_uniform => self.uniform_if(results, cond, then, otherwise),
            cond => self.divergent_if(results, cond, then, otherwise),
        }
    }

    fn uniform_if(
        &mut self,
        results: &[Value],
        cond: Cond,
        then: &'k Block,
        otherwise: &'k Block,
    ) -> Result<(), Cause> {
        let is_tail = self.is_tail;
        let cells: Vec<Cell> = results.iter().map(|value| self.cell(*value, true)).collect();
        let has_else = !otherwise.stmts.is_empty() || !cells.is_empty();
        let skip = self.branch_if(cond, false);
        self.nested(then, is_tail)?;
        self.assign(&cells, &then.yields, None)?;
        if !has_else {
            let end = self.open_block();
            self.land(skip, end);
            return Ok(());
        }
        let leave = if is_tail {
            self.control(Control::SEndpgm, &[]);
            self.open_block();
            None
        } else {
            Some(self.branch(Control::SBranch))
        };
        let start = self.function.blocks.len() as u32 - 1;
        self.land(skip, start);
        self.nested(otherwise, is_tail)?;
        self.assign(&cells, &otherwise.yields, None)?;
        if let Some(leave) = leave {
            let end = self.open_block();
            self.land(leave, end);
        }
        self.define_cells(results, &cells);
        Ok(())
    }

    fn define_cells(&mut self, results: &[Value], cells: &[Cell]) {
        for (result, cell) in results.iter().zip(cells) {
            let ty = self.ty(*result);
            let loc = match (ty.scalar(), cell) {
                (Some(Scalar::I1), Cell::Words(reg)) => {
                    Loc::Cond(self.word_as_truth(Word::Reg(*reg, 0)))
                }
                _ => self.loc_of(*cell, ty),
            };
            self.define(*result, loc);
        }
    }

    fn divergent_if(
        &mut self,
        results: &[Value],
        cond: Cond,
        then: &'k Block,
        otherwise: &'k Block,
    ) -> Result<(), Cause> {
        let is_tail = self.is_tail;
        let cells: Vec<Cell> = results.iter().map(|value| self.cell(*value, false)).collect();
        for cell in &cells {
            let whole = self.function.whole(cell.reg());
            self.emit(Inst::new(Kind::Undef, &[Slot::Part(whole)], self.stmt()));
        }
        let has_else = !otherwise.stmts.is_empty() || !cells.is_empty();
        let chosen = self.mask(cond);
        let before = self.new_mask();
        let saved = self.mask_slot(before);
        let save = self.mask_op(Salu::SAndSaveexecB32, Salu::SAndSaveexecB64);
        self.machine(save, &[saved, chosen]);
        let around = self.branch(Control::SCbranchExecz);
        self.nested(then, is_tail && !has_else)?;
        self.assign(&cells, &then.yields, None)?;
        let middle = self.open_block();
        self.land(around, middle);
        if has_else {
            let others = self.mask_op(Salu::SAndNot1B32, Salu::SAndNot1B64);
            self.machine(others, &[EXEC, saved, chosen]);
            let around = self.branch(Control::SCbranchExecz);
            let start = self.function.blocks.len() as u32 - 1;
            self.nested(otherwise, is_tail)?;
            self.assign(&cells, &otherwise.yields, Some(start))?;
            let end = self.open_block();
            self.land(around, end);
        }
        if !is_tail {
            let mov = self.mask_op(Salu::SMovB32, Salu::SMovB64);
            self.machine(mov, &[EXEC, saved]);
        }
        self.define_cells(results, &cells);
        Ok(())
    }
}

impl Cell {
    fn reg(self) -> Reg {
        match self {
            Cell::Words(reg) | Cell::Mask(reg) => reg,
        }
    }
}
