//! Matrix operations: that the target has them, and that operands are a lane's part of their fragments.

use isa::fragment::{Fragment, Part, Shape};
use isa::table::{Element, Matrix};

use crate::ir::{Scalar, Type, Value};

use super::{Rule, Verifier};

impl Verifier<'_> {
    /// Operands `[a, b, c]`.
    pub(super) fn matrix(&mut self, op: Matrix, operands: [Value; 3], result: Type) {
        let target = self.kernel.target;
        let Some(form) = op.row().form(target) else {
            return self.refuse(
                Rule::Type,
                format!("{op:?} on {target}"),
                "an operation of the target",
            );
        };
        let Some([a, b, d]) = operand_types(op) else {
            let expected = "a dense operation of one block on f16, bf16 or f32";
            return self.refuse(Rule::Type, form.mnemonic.to_owned(), expected);
        };
        for (what, value, expected) in
            [("left factor", 0, a), ("right factor", 1, b), ("addend", 2, d)]
        {
            self.check_type(what, self.ty(operands[value]), expected);
        }
        self.check_type("result", result, d);
    }
}

/// Types of a lane's part of A, B and D, of the operations that kernels may use.
pub(crate) fn operand_types(op: Matrix) -> Option<[Type; 3]> {
    let is_one_block = Shape::of(op).is_some_and(|shape| shape.blocks == 1);
    let [a, b, d] = [Part::A, Part::B, Part::D].map(|part| lane_type(op, part));
    let d = d.filter(|ty| ty.scalar() == Some(Scalar::F32) && is_one_block)?;
    Some([a?, b?, d])
}

fn lane_type(op: Matrix, part: Part) -> Option<Type> {
    let fragment = Fragment::of(op, part)?;
    let scalar = match fragment.element() {
        Element::F16 => Scalar::F16,
        Element::Bf16 => Scalar::Bf16,
        Element::F32 => Scalar::F32,
        _ => return None,
    };
    match u8::try_from(fragment.slots()).ok()? {
        1 => Some(Type::Scalar(scalar)),
        slots => Some(Type::Vector(scalar, slots)),
    }
}
