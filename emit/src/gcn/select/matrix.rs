//! Matrix operations. The result takes the place of the addend, so that chains of them need no moves.

use dsl::ir::Value;
use isa::table::Matrix;
use isa::{Op, Operand};

use super::values::{Loc, Word};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Inst, Kind, Part, Slot};

impl<'k> Selector<'k> {
    pub(super) fn matrix(&mut self, op: Matrix, [a, b, c]: [Value; 3]) -> Result<Loc, Cause> {
        let row = op.row();
        if row.form(self.target).is_none() || row.operands.len() != 4 {
            return Err(self.unsupported(&format!("{op:?}"), "use an operation of the target"));
        }
        let factors = [a, b].map(|factor| self.plain_words(factor));
        let [a, b] = factors;
        let (a, b) = (self.tuple(&a?, Class::Vector), self.tuple(&b?, Class::Vector));
        let addend = self.plain_words(c)?;
        let count = u8::try_from(addend.len()).map_err(|_| malformed("a wide addend".into()))?;
        let reg = self.new_reg(Class::Vector, count);
        let result = Slot::Part(Part::new(reg, 0, count));
        let slots = match addend.iter().all(|word| *word == Word::Const(0)) {
            true => [result, Slot::Part(a), Slot::Part(b), Slot::Fixed(Operand::Int(0))],
            false => {
                let from = self.tuple(&addend, Class::Vector);
                self.copy(Part::new(reg, 0, count), Slot::Part(from));
                [result, Slot::Part(a), Slot::Part(b), result]
            }
        };
        let mut inst = Inst::new(Kind::Machine(Op::Matrix(op)), &slots, self.stmt());
        inst.early = true;
        self.emit(inst);
        Ok(Loc::of_reg(reg, count))
    }
}
