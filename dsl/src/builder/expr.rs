//! Expressions: values with operators.

use std::fmt;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Shl, Sub};

use crate::ir::{BinOp, CmpOp, Conversion, Op, Scalar, Type, UnOp, Value};

use super::{KernelBuilder, Operand};

/// A value of a kernel under construction.
///
/// Operators choose the operation by the type: `+` is a float sum on floats and a wrapping sum on integers. A scalar
/// beside a vector stands for the vector of its copies; a Rust number becomes a constant of the other side's type.
#[derive(Clone, Copy)]
pub struct Expr<'k> {
    k: &'k KernelBuilder,
    value: Value,
}

impl<'k> Expr<'k> {
    pub(super) fn new(k: &'k KernelBuilder, value: Value) -> Expr<'k> {
        Expr { k, value }
    }

    /// The kernel that this is a value of.
    pub fn builder(self) -> &'k KernelBuilder {
        self.k
    }

    pub(super) fn value(self) -> Value {
        self.value
    }

    /// The type.
    pub fn ty(self) -> Type {
        self.k.facts(self.value).ty
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self.ty().scalar(), Some(Scalar::F32 | Scalar::F16 | Scalar::Bf16))
    }

    #[track_caller]
    pub(super) fn unary(self, op: UnOp) -> Expr<'k> {
        self.k.emit(self.ty(), Op::Unary(op, self.value))
    }

    #[track_caller]
    pub(super) fn binary(self, op: BinOp, rhs: impl Operand<'k>) -> Expr<'k> {
        let rhs = rhs.beside(self);
        let lhs = self.beside(rhs);
        self.k.emit(lhs.ty(), Op::Binary(op, lhs.value, self.k.own(rhs)))
    }

    #[track_caller]
    fn by_type(self, float: BinOp, integer: BinOp, rhs: impl Operand<'k>) -> Expr<'k> {
        self.binary(if self.is_float() { float } else { integer }, rhs)
    }

    #[track_caller]
    fn compare(self, op: CmpOp, rhs: Expr<'k>) -> Expr<'k> {
        self.k.emit(Type::I1, Op::Cmp(op, self.value, self.k.own(rhs)))
    }

    #[track_caller]
    fn convert(self, conversion: Conversion, scalar: Scalar) -> Expr<'k> {
        self.k.emit(self.ty().with_scalar(scalar), Op::Convert(conversion, self.value))
    }
}

/// Arithmetic.
impl<'k> Expr<'k> {
    /// `self × b + c`, rounded once.
    #[track_caller]
    pub fn fma(self, b: impl Operand<'k>, c: impl Operand<'k>) -> Expr<'k> {
        let (b, c) = (b.beside(self), c.beside(self));
        let a = self.beside(b).beside(c);
        let (b, c) = (b.beside(a), c.beside(a));
        self.k.emit(a.ty(), Op::Fma(a.value, self.k.own(b), self.k.own(c)))
    }

    /// Float magnitude.
    #[track_caller]
    pub fn abs(self) -> Expr<'k> {
        self.unary(UnOp::FAbs)
    }

    /// 2^self by the target's instruction.
    #[track_caller]
    pub fn exp2(self) -> Expr<'k> {
        self.unary(UnOp::Exp2)
    }

    /// log2 self by the target's instruction.
    #[track_caller]
    pub fn log2(self) -> Expr<'k> {
        self.unary(UnOp::Log2)
    }

    /// 1/self by the target's instruction.
    #[track_caller]
    pub fn rcp(self) -> Expr<'k> {
        self.unary(UnOp::Rcp)
    }

    /// 1/√self by the target's instruction.
    #[track_caller]
    pub fn rsq(self) -> Expr<'k> {
        self.unary(UnOp::Rsq)
    }

    /// √self by the target's instruction.
    #[track_caller]
    pub fn sqrt(self) -> Expr<'k> {
        self.unary(UnOp::Sqrt)
    }

    /// The nearest integer, ties to even.
    #[track_caller]
    pub fn round_even(self) -> Expr<'k> {
        self.unary(UnOp::RoundEven)
    }

    /// The smaller one: IEEE minNum on floats, signed on integers.
    #[track_caller]
    pub fn min(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.by_type(BinOp::FMin, BinOp::MinS, rhs)
    }

    /// The larger one: IEEE maxNum on floats, signed on integers.
    #[track_caller]
    pub fn max(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.by_type(BinOp::FMax, BinOp::MaxS, rhs)
    }

    /// The smaller of unsigned integers.
    #[track_caller]
    pub fn min_u(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.binary(BinOp::MinU, rhs)
    }

    /// The larger of unsigned integers.
    #[track_caller]
    pub fn max_u(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.binary(BinOp::MaxU, rhs)
    }

    /// High half of the unsigned 64-bit product.
    #[track_caller]
    pub fn mul_high_u(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.binary(BinOp::MulHighU, rhs)
    }

    /// Unsigned quotient by a constant other than zero; by one it is the value itself.
    #[track_caller]
    pub fn div_u(self, divisor: u32) -> Expr<'k> {
        if divisor == 1 { self } else { self.binary(BinOp::DivU, divisor) }
    }

    /// Unsigned remainder by a constant other than zero.
    #[track_caller]
    pub fn rem_u(self, divisor: u32) -> Expr<'k> {
        self.binary(BinOp::RemU, divisor)
    }

    /// Shift right, zeros come in.
    #[track_caller]
    pub fn shr_u(self, amount: impl Operand<'k>) -> Expr<'k> {
        self.binary(BinOp::ShrU, amount)
    }

    /// Shift right, copies of the sign come in.
    #[track_caller]
    pub fn shr_s(self, amount: impl Operand<'k>) -> Expr<'k> {
        self.binary(BinOp::ShrS, amount)
    }
}

/// Comparison and choice.
impl<'k> Expr<'k> {
    /// Equal; false for NaN.
    #[track_caller]
    pub fn eq(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.compare(if self.is_float() { CmpOp::FEq } else { CmpOp::Eq }, rhs.beside(self))
    }

    /// Unequal; true for NaN.
    #[track_caller]
    pub fn ne(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.compare(if self.is_float() { CmpOp::FNe } else { CmpOp::Ne }, rhs.beside(self))
    }

    /// Below; signed on integers.
    #[track_caller]
    pub fn lt(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.compare(if self.is_float() { CmpOp::FLt } else { CmpOp::LtS }, rhs.beside(self))
    }

    /// Below or equal; signed on integers.
    #[track_caller]
    pub fn le(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.compare(if self.is_float() { CmpOp::FLe } else { CmpOp::LeS }, rhs.beside(self))
    }

    /// Below, unsigned.
    #[track_caller]
    pub fn lt_u(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.compare(CmpOp::LtU, rhs.beside(self))
    }

    /// Below or equal, unsigned.
    #[track_caller]
    pub fn le_u(self, rhs: impl Operand<'k>) -> Expr<'k> {
        self.compare(CmpOp::LeU, rhs.beside(self))
    }

    /// `a` where this truth value holds, else `b`.
    #[track_caller]
    pub fn select(self, a: Expr<'k>, b: impl Operand<'k>) -> Expr<'k> {
        let b = b.beside(a);
        self.k.emit(a.ty(), Op::Select(self.value, self.k.own(a), self.k.own(b)))
    }
}

/// Types and vectors.
impl<'k> Expr<'k> {
    /// f16 or bf16 as f32, exactly; f32 as it is.
    #[track_caller]
    pub fn widen(self) -> Expr<'k> {
        if self.ty().scalar() == Some(Scalar::F32) {
            self
        } else {
            self.convert(Conversion::FExtend, Scalar::F32)
        }
    }

    /// f32 rounded to f16 or bf16; to f32 it is the value itself.
    #[track_caller]
    pub fn narrow(self, scalar: Scalar) -> Expr<'k> {
        if scalar == Scalar::F32 { self } else { self.convert(Conversion::FTruncate, scalar) }
    }

    /// A signed i32 as f32, to nearest even.
    #[track_caller]
    pub fn signed_to_f32(self) -> Expr<'k> {
        self.convert(Conversion::I32ToF32, Scalar::F32)
    }

    /// An unsigned i32 as f32, to nearest even.
    #[track_caller]
    pub fn unsigned_to_f32(self) -> Expr<'k> {
        self.convert(Conversion::U32ToF32, Scalar::F32)
    }

    /// f32 as i32, towards zero, saturating, NaN as 0.
    #[track_caller]
    pub fn to_i32(self) -> Expr<'k> {
        self.convert(Conversion::F32ToI32, Scalar::I32)
    }

    /// With zeros above: i16 to i32 or i64, i32 to i64, i1 to i32.
    #[track_caller]
    pub fn zero_extend(self, scalar: Scalar) -> Expr<'k> {
        self.convert(Conversion::ZeroExtend, scalar)
    }

    /// i32 to i64 with its sign.
    #[track_caller]
    pub fn sign_extend(self) -> Expr<'k> {
        self.convert(Conversion::SignExtend, Scalar::I64)
    }

    /// The low bits: i64 to i32, i32 to i16.
    #[track_caller]
    pub fn truncate(self, scalar: Scalar) -> Expr<'k> {
        self.convert(Conversion::Truncate, scalar)
    }

    /// The same bits as another type of equal size.
    #[track_caller]
    pub fn bitcast(self, ty: Type) -> Expr<'k> {
        self.k.emit(ty, Op::Bitcast(self.value))
    }

    /// One element of a vector; element 0 of a scalar is the scalar.
    #[track_caller]
    pub fn element(self, index: u8) -> Expr<'k> {
        match self.ty() {
            Type::Vector(scalar, _) => {
                self.k.emit(Type::Scalar(scalar), Op::Extract(self.value, index))
            }
            Type::Scalar(_) if index == 0 => self,
            ty => {
                self.k.mistake(
                    "an element of a value",
                    format!("element {index} of {ty}"),
                    "a vector",
                );
                self
            }
        }
    }

    /// `count` neighbours from element `first` on; the whole vector is itself.
    #[track_caller]
    pub fn part(self, first: u8, count: u8) -> Expr<'k> {
        if first == 0 && count == self.ty().lanes() {
            return self;
        }
        let mut elements = Vec::with_capacity(usize::from(count));
        for index in first..first + count {
            elements.push(self.element(index));
        }
        self.k.pack(&elements)
    }

    /// All elements of a vector; a scalar is its only element.
    #[track_caller]
    pub fn elements(self) -> Vec<Expr<'k>> {
        let mut elements = Vec::with_capacity(usize::from(self.ty().lanes()));
        for index in 0..self.ty().lanes() {
            elements.push(self.element(index));
        }
        elements
    }

    /// A vector of copies of this scalar; one copy is the scalar itself.
    #[track_caller]
    pub fn splat(self, lanes: u8) -> Expr<'k> {
        self.k.pack(&vec![self; usize::from(lanes)])
    }
}

/// Lanes.
impl<'k> Expr<'k> {
    /// The value that lane `lane XOR mask` holds; a vector is exchanged element by element. All lanes of the wave
    /// must be active.
    #[track_caller]
    pub fn lane_xor(self, mask: u32) -> Expr<'k> {
        let mut exchanged = Vec::with_capacity(usize::from(self.ty().lanes()));
        for element in self.elements() {
            let op = Op::LaneXor { value: element.value, mask };
            exchanged.push(self.k.emit(element.ty(), op));
        }
        self.k.pack(&exchanged)
    }

    /// The first active lane's value, uniform.
    #[track_caller]
    pub fn read_first_lane(self) -> Expr<'k> {
        self.k.emit(self.ty(), Op::ReadFirstLane(self.value))
    }
}

impl KernelBuilder {
    /// A vector from its elements; one element is that element.
    #[track_caller]
    pub fn pack<'k>(&'k self, elements: &[Expr<'k>]) -> Expr<'k> {
        match elements {
            [] => {
                self.mistake("a vector", "no elements", "2, 3, 4, 8 or 16");
                self.f32(0.0)
            }
            [only] => *only,
            [first, ..] => {
                let ty =
                    Type::Vector(first.ty().scalar().unwrap_or(Scalar::I64), elements.len() as u8);
                let mut values = Vec::with_capacity(elements.len());
                for element in elements {
                    values.push(self.own(*element));
                }
                self.emit(ty, Op::Pack(values))
            }
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $float:ident, $integer:ident) => {
        impl<'k, R: Operand<'k>> $trait<R> for Expr<'k> {
            type Output = Expr<'k>;

            #[track_caller]
            fn $method(self, rhs: R) -> Expr<'k> {
                self.by_type(BinOp::$float, BinOp::$integer, rhs)
            }
        }

        operator!(@number f32, $trait, $method);
        operator!(@number i32, $trait, $method);
    };
    (@number $number:ident, $trait:ident, $method:ident) => {
        impl<'k> $trait<Expr<'k>> for $number {
            type Output = Expr<'k>;

            #[track_caller]
            fn $method(self, rhs: Expr<'k>) -> Expr<'k> {
                self.beside(rhs).$method(rhs)
            }
        }
    };
}

operator!(Add, add, FAdd, Add);
operator!(Sub, sub, FSub, Sub);
operator!(Mul, mul, FMul, Mul);

macro_rules! bitwise_operator {
    ($trait:ident, $method:ident, $op:ident) => {
        impl<'k, R: Operand<'k>> $trait<R> for Expr<'k> {
            type Output = Expr<'k>;

            #[track_caller]
            fn $method(self, rhs: R) -> Expr<'k> {
                self.binary(BinOp::$op, rhs)
            }
        }
    };
}

bitwise_operator!(BitAnd, bitand, And);
bitwise_operator!(BitOr, bitor, Or);
bitwise_operator!(BitXor, bitxor, Xor);
bitwise_operator!(Shl, shl, Shl);

impl<'k> Neg for Expr<'k> {
    type Output = Expr<'k>;

    /// Flips the sign bit of floats; zero minus the value for integers.
    #[track_caller]
    fn neg(self) -> Expr<'k> {
        if self.is_float() { self.unary(UnOp::FNeg) } else { 0.beside(self) - self }
    }
}

impl<'k> Not for Expr<'k> {
    type Output = Expr<'k>;

    #[track_caller]
    fn not(self) -> Expr<'k> {
        self.unary(UnOp::Not)
    }
}

impl fmt::Debug for Expr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}: {}", self.value.0, self.ty())
    }
}
