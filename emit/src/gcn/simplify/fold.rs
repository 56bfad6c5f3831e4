//! Operations that are something simpler.

use dsl::ir::{Address, Base, BinOp, Conversion, Loc, Op, Scalar, Type, UnOp, Value, ValueInfo};

use super::Walk;

/// What an operation has become.
pub enum Folded {
    /// A value that there is already.
    Value(Value),
    /// An operation still to be done.
    Op(Op),
}

impl Walk<'_> {
    /// Makes an operation simpler, if it can be.
    pub(super) fn fold(&mut self, op: Op, info: ValueInfo, loc: Loc) -> Folded {
        let folded = match &op {
            Op::Extract(vector, index) => self.element(*vector, *index),
            Op::Pack(elements) => self.repacked(elements, info.ty),
            Op::Binary(kind, a, b) if info.ty == Type::I32 => {
                self.integer(*kind, *a, *b, info, loc)
            }
            Op::Binary(kind, a, b) if info.ty == Type::I64 => self.wide(*kind, *a, *b),
            Op::ReadFirstLane(value) if self.is_uniform(*value) => Some(Folded::Value(*value)),
            Op::Bitcast(value) if self.ty(*value) == info.ty => Some(Folded::Value(*value)),
            Op::PtrAdd(pointer, offset) if self.constant(*offset) == Some(0) => {
                Some(Folded::Value(*pointer))
            }
            Op::Convert(Conversion::ZeroExtend, value) => self.constant(*value).map(|bits| {
                Folded::Op(Op::Const { ty: info.ty, bits: bits & mask_of(self.ty(*value)) })
            }),
            Op::Unary(UnOp::FNeg, value) => match self.op(*value) {
                Some(Op::Unary(UnOp::FNeg, inner)) => Some(Folded::Value(*inner)),
                _ => None,
            },
            _ => None,
        };
        folded.unwrap_or(Folded::Op(op))
    }

    fn is_uniform(&self, value: Value) -> bool {
        self.values[value.0 as usize].uniformity == dsl::ir::Uniformity::Uniform
    }

    fn element(&self, vector: Value, index: u8) -> Option<Folded> {
        match self.op(vector)? {
            Op::Pack(elements) => Some(Folded::Value(*elements.get(usize::from(index))?)),
            _ => None,
        }
    }

    /// A vector packed from all elements of another one in their order is that one.
    fn repacked(&self, elements: &[Value], ty: Type) -> Option<Folded> {
        let Some(Op::Extract(vector, 0)) = self.op(*elements.first()?) else { return None };
        let in_order = elements.iter().enumerate().all(|(index, element)| {
            matches!(self.op(*element), Some(Op::Extract(of, at)) if of == vector && usize::from(*at) == index)
        });
        (in_order && self.ty(*vector) == ty).then_some(Folded::Value(*vector))
    }

    fn integer(
        &mut self,
        op: BinOp,
        a: Value,
        b: Value,
        info: ValueInfo,
        loc: Loc,
    ) -> Option<Folded> {
        // Constants stand second.
        let commutes = matches!(
            op,
            BinOp::Add | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::MulHighU
        );
        let (a, b) = match self.constant(a) {
            Some(_) if commutes && self.constant(b).is_none() => (b, a),
            _ => (a, b),
        };
        let right = self.constant(b).map(|bits| bits as u32);
        if let (Some(left), Some(right)) = (self.constant(a), right)
            && let Some(bits) = evaluate(op, left as u32, right)
        {
            return Some(Folded::Op(Op::Const { ty: Type::I32, bits: bits.into() }));
        }
        let Some(right) = right else {
            return commutes.then(|| {
                let (a, b) = if a <= b { (a, b) } else { (b, a) };
                Folded::Op(Op::Binary(op, a, b))
            });
        };
        match (op, right) {
            (BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor, 0) => Some(Folded::Value(a)),
            (BinOp::Shl | BinOp::ShrU | BinOp::ShrS, 0) => Some(Folded::Value(a)),
            (BinOp::Mul | BinOp::DivU, 1) => Some(Folded::Value(a)),
            (BinOp::Mul | BinOp::And, 0) => Some(Folded::Op(Op::Const { ty: Type::I32, bits: 0 })),
            (BinOp::And, mask) if self.range(a).high <= mask && (mask + 1).is_power_of_two() => {
                Some(Folded::Value(a))
            }
            (BinOp::Mul, factor) if factor.is_power_of_two() => {
                let shift = self.number(factor.ilog2(), loc);
                Some(Folded::Value(self.pure(Op::Binary(BinOp::Shl, a, shift), info, loc)))
            }
            (BinOp::DivU, divisor) if divisor.is_power_of_two() => {
                let shift = self.number(divisor.ilog2(), loc);
                Some(Folded::Value(self.pure(Op::Binary(BinOp::ShrU, a, shift), info, loc)))
            }
            (BinOp::RemU, divisor) if divisor.is_power_of_two() => {
                let mask = self.number(divisor - 1, loc);
                Some(Folded::Value(self.pure(Op::Binary(BinOp::And, a, mask), info, loc)))
            }
            (BinOp::Add, right) => self.sum(a, right, info, loc),
            (BinOp::Shl, shift) => self.shifted(a, shift % 32, info, loc),
            _ => Some(Folded::Op(Op::Binary(op, a, b))),
        }
    }

    fn number(&mut self, number: u32, loc: Loc) -> Value {
        self.pure(Op::Const { ty: Type::I32, bits: number.into() }, Self::uniform(Type::I32), loc)
    }

    /// `(x + c) + d` is `x + (c + d)`.
    fn sum(&mut self, a: Value, right: u32, info: ValueInfo, loc: Loc) -> Option<Folded> {
        let Some(Op::Binary(BinOp::Add, x, c)) = self.op(a) else { return None };
        let (x, c) = (*x, self.constant(*c)? as u32);
        let total = self.number(c.wrapping_add(right), loc);
        Some(Folded::Value(self.pure(Op::Binary(BinOp::Add, x, total), info, loc)))
    }

    /// Shifts add up; a constant summand is shifted by itself, so that it ends as an immediate offset.
    fn shifted(&mut self, a: Value, shift: u32, info: ValueInfo, loc: Loc) -> Option<Folded> {
        match self.op(a)?.clone() {
            Op::Binary(BinOp::Shl, x, first) => {
                let total = self.constant(first)? as u32 % 32 + shift;
                if total >= 32 {
                    return None;
                }
                let total = self.number(total, loc);
                Some(Folded::Value(self.pure(Op::Binary(BinOp::Shl, x, total), info, loc)))
            }
            Op::Binary(BinOp::Add, x, c) => {
                let c = self.constant(c)? as u32;
                let amount = self.number(shift, loc);
                let inner = ValueInfo { ty: Type::I32, ..self.values[x.0 as usize] };
                let high = self.pure(Op::Binary(BinOp::Shl, x, amount), inner, loc);
                let low = self.number(c.wrapping_shl(shift), loc);
                Some(Folded::Value(self.pure(Op::Binary(BinOp::Add, high, low), info, loc)))
            }
            Op::Binary(BinOp::Mul, x, c) => {
                let c = self.constant(c)? as u32;
                let factor = self.number(c.wrapping_shl(shift), loc);
                Some(Folded::Value(self.pure(Op::Binary(BinOp::Mul, x, factor), info, loc)))
            }
            _ => None,
        }
    }

    fn wide(&self, op: BinOp, a: Value, b: Value) -> Option<Folded> {
        let neutral = matches!(
            op,
            BinOp::Add
                | BinOp::Sub
                | BinOp::Or
                | BinOp::Xor
                | BinOp::Shl
                | BinOp::ShrU
                | BinOp::ShrS
        );
        match (self.constant(a), self.constant(b)) {
            (_, Some(0)) if neutral => Some(Folded::Value(a)),
            (Some(0), _) if matches!(op, BinOp::Add | BinOp::Or | BinOp::Xor) => {
                Some(Folded::Value(b))
            }
            _ => None,
        }
    }

    /// Constant summands of an offset, or of a pointer, go to the constant of the address where nothing wraps.
    pub(super) fn simple_address(&self, mut address: Address) -> Address {
        while let Some(offset) = address.offset {
            if let Some(bits) = self.constant(offset) {
                let Some(sum) = address.constant.checked_add(bits as u32) else { break };
                (address.offset, address.constant) = (None, sum);
                break;
            }
            let Some(Op::Binary(BinOp::Add, x, c)) = self.op(offset) else { break };
            let Some(c) = self.constant(*c).map(|bits| bits as u32) else { break };
            let wraps = self.range(*x).high.checked_add(c).is_none();
            let Some(sum) = address.constant.checked_add(c).filter(|_| !wraps) else { break };
            (address.offset, address.constant) = (Some(*x), sum);
        }
        if let Base::Global(pointer) = address.base
            && let Some(Op::PtrAdd(inner, c)) = self.op(pointer)
            && let Some(c) = self.constant(*c).and_then(|bits| u32::try_from(bits).ok())
            && let Some(sum) = address.constant.checked_add(c)
        {
            (address.base, address.constant) = (Base::Global(*inner), sum);
        }
        address
    }
}

fn mask_of(ty: Type) -> u64 {
    match ty.scalar() {
        Some(Scalar::I1) => 1,
        Some(Scalar::I16) => 0xffff,
        _ => 0xffff_ffff,
    }
}

/// What an operation on 32-bit constants gives, if it is one that folds.
pub(in crate::gcn) fn evaluate(op: BinOp, a: u32, b: u32) -> Option<u32> {
    Some(match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::MulHighU => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        BinOp::DivU => a.checked_div(b)?,
        BinOp::RemU => a.checked_rem(b)?,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => a.wrapping_shl(b),
        BinOp::ShrU => a.wrapping_shr(b),
        BinOp::ShrS => (a as i32).wrapping_shr(b) as u32,
        BinOp::MinS => (a as i32).min(b as i32) as u32,
        BinOp::MaxS => (a as i32).max(b as i32) as u32,
        BinOp::MinU => a.min(b),
        BinOp::MaxU => a.max(b),
        _ => return None,
    })
}
