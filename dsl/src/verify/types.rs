//! Types of operands and results, and what constants may stand for.

use crate::ir::{BinOp, CmpOp, Conversion, Op, Scalar, Stmt, Type, UnOp, Value};
use crate::text::Named;

use super::{Rule, Verifier};

const FLOATS: &[Scalar] = &[Scalar::F32, Scalar::F16];
const F32: &[Scalar] = &[Scalar::F32];
const INTEGERS: &[Scalar] = &[Scalar::I32, Scalar::I64];
const I32: &[Scalar] = &[Scalar::I32];
const BITS: &[Scalar] = &[Scalar::I1, Scalar::I32, Scalar::I64];
const WORDS: &[Scalar] = &[Scalar::I32, Scalar::F32];

impl Verifier<'_> {
    pub(super) fn types(&mut self, stmt: &Stmt) {
        if !self.check_results(stmt) {
            return;
        }
        let results: Vec<Type> = stmt.results.iter().map(|result| self.ty(*result)).collect();
        match (&stmt.op, results.as_slice()) {
            (Op::Const { ty, bits }, [result]) => {
                self.constant(stmt.results[0], *ty, *bits, *result)
            }
            (Op::Special(special), [result]) => {
                self.check_type(special.spelling(), *result, Type::I32)
            }
            (Op::Unary(op, a), [result]) => self.unary(*op, *a, *result),
            (Op::Binary(op, a, b), [result]) => self.binary(*op, *a, *b, *result),
            (Op::Fma(a, b, c), [result]) => self.elementwise(&[*a, *b, *c], *result, FLOATS),
            (Op::Cmp(op, a, b), [result]) => self.comparison(*op, *a, *b, *result),
            (Op::Select(cond, a, b), [result]) => {
                self.check_type("condition", self.ty(*cond), Type::I1);
                self.check_type("first choice", self.ty(*a), *result);
                self.check_type("second choice", self.ty(*b), *result);
            }
            (Op::Convert(conversion, a), [result]) => {
                self.conversion(*conversion, self.ty(*a), *result)
            }
            (Op::Bitcast(a), [result]) => self.bitcast(self.ty(*a), *result),
            (Op::Pack(elements), [result]) => self.pack(elements, *result),
            (Op::Extract(vector, element), [result]) => {
                self.extract(self.ty(*vector), *element, *result)
            }
            (Op::LaneXor { value, mask }, [result]) => {
                let wave = self.kernel.target.wave_width();
                self.demand(
                    (1..wave).contains(mask),
                    Rule::Constant,
                    format_args!("mask {mask}"),
                    format_args!("1 to {}", wave - 1),
                );
                self.word(*value, *result);
            }
            (Op::ReadFirstLane(value), [result]) => self.word(*value, *result),
            (Op::PtrAdd(pointer, offset), [result]) => {
                self.check_type("pointer", self.ty(*pointer), Type::Pointer);
                self.check_type("offset", self.ty(*offset), Type::I64);
                self.check_type("result", *result, Type::Pointer);
            }
            (Op::Load(_), [result]) => self.check_memory_type(*result),
            (Op::Store(_, value), []) => self.check_memory_type(self.ty(*value)),
            (Op::AtomicOr(_, value), []) => {
                self.check_type("what is ORed", self.ty(*value), Type::I32)
            }
            (Op::Matrix { op, a, b, c }, [result]) => self.matrix(*op, [*a, *b, *c], *result),
            (Op::Intrinsic { name, .. }, _) => self.check_name(name),
            _ => {}
        }
        results.iter().for_each(|result| self.check_vector(*result));
    }

    /// Whether the statement defines as many values as its operation has results.
    fn check_results(&mut self, stmt: &Stmt) -> bool {
        let expected = match stmt.op {
            Op::Store(..) | Op::AtomicOr(..) | Op::Barrier => 0,
            Op::For { .. } | Op::If { .. } => return true,
            _ => 1,
        };
        let got = stmt.results.len();
        self.demand(got == expected, Rule::Arity, format_args!("{got} results"), expected);
        got == expected
    }

    pub(super) fn check_type(&mut self, what: &str, got: Type, expected: Type) {
        self.demand(got == expected, Rule::Type, format_args!("{what} {got}"), expected);
    }

    fn check_vector(&mut self, ty: Type) {
        if let Type::Vector(scalar, lanes) = ty {
            self.demand(
                matches!(lanes, 2 | 3 | 4 | 8 | 16),
                Rule::Type,
                ty,
                "a vector of 2, 3, 4, 8 or 16 elements",
            );
            self.demand(
                scalar != Scalar::I1,
                Rule::Type,
                ty,
                "a vector of elements that memory can hold",
            );
        }
    }

    fn check_memory_type(&mut self, ty: Type) {
        let holds = !matches!(ty.scalar(), None | Some(Scalar::I1));
        self.demand(
            holds,
            Rule::Type,
            format_args!("{ty} in memory"),
            "integers of 16 bits or more, or floats",
        );
    }

    /// All operands of the result's type, whose element is one of `allowed`.
    fn elementwise(&mut self, operands: &[Value], result: Type, allowed: &[Scalar]) {
        for (position, operand) in operands.iter().enumerate() {
            self.check_type(&format!("operand {}", position + 1), self.ty(*operand), result);
        }
        self.check_element(result, allowed);
    }

    fn check_element(&mut self, ty: Type, allowed: &[Scalar]) {
        let holds = ty.scalar().is_some_and(|scalar| allowed.contains(&scalar));
        self.demand(holds, Rule::Type, ty, alternatives(allowed));
    }

    fn constant(&mut self, result: Value, ty: Type, bits: u64, result_ty: Type) {
        self.check_type("result", result_ty, ty);
        let Some(scalar) = ty.scalar() else {
            return self.refuse(Rule::Type, "a constant ptr", "a number");
        };
        let width = bit_width(scalar);
        let fits = width == 64 || bits >> width == 0;
        self.demand(
            fits,
            Rule::Constant,
            format_args!("{bits:#x}"),
            format_args!("bits of {}", scalar.name()),
        );
        self.constants.insert(result, bits);
    }

    fn unary(&mut self, op: UnOp, a: Value, result: Type) {
        let (allowed, transcendental) = match op {
            UnOp::FNeg | UnOp::FAbs => (FLOATS, false),
            UnOp::Exp2 | UnOp::Log2 | UnOp::Rcp | UnOp::Rsq | UnOp::Sqrt => (F32, true),
            UnOp::RoundEven => (F32, false),
            UnOp::Not => (BITS, false),
        };
        self.elementwise(&[a], result, allowed);
        let of_constant = transcendental && self.constants.contains_key(&a);
        self.demand(
            !of_constant,
            Rule::Constant,
            format_args!("{} of a constant", op.spelling()),
            "a value of the launch; compute constants in the builder",
        );
    }

    fn binary(&mut self, op: BinOp, a: Value, b: Value, result: Type) {
        use BinOp::*;
        let allowed = match op {
            FAdd | FSub | FMul => FLOATS,
            FMin | FMax => F32,
            Add | Sub | Mul | Shl | ShrU | ShrS => INTEGERS,
            And | Or | Xor => BITS,
            MulHighU | DivU | RemU | MinS | MaxS | MinU | MaxU => I32,
        };
        self.elementwise(&[a, b], result, allowed);
        if matches!(op, DivU | RemU) {
            let divisor = self.constants.get(&b).copied();
            let got = divisor.map_or("a divisor that is no constant".to_owned(), |divisor| {
                format!("divisor {divisor}")
            });
            self.demand(
                divisor.unwrap_or(0) != 0,
                Rule::Constant,
                got,
                "a constant other than zero",
            );
        }
    }

    fn comparison(&mut self, op: CmpOp, a: Value, b: Value, result: Type) {
        let allowed = match op {
            CmpOp::FEq | CmpOp::FNe | CmpOp::FLt | CmpOp::FLe => F32,
            CmpOp::Eq | CmpOp::Ne | CmpOp::LtS | CmpOp::LeS | CmpOp::LtU | CmpOp::LeU => INTEGERS,
        };
        let operand = self.ty(a);
        self.check_type("second operand", self.ty(b), operand);
        self.check_scalar(operand, allowed);
        self.check_type("result", result, Type::I1);
    }

    fn check_scalar(&mut self, ty: Type, allowed: &[Scalar]) {
        let holds = matches!(ty, Type::Scalar(scalar) if allowed.contains(&scalar));
        self.demand(holds, Rule::Type, ty, format_args!("scalar {}", alternatives(allowed)));
    }

    /// A 32-bit scalar in and out, as lane exchanges take.
    fn word(&mut self, value: Value, result: Type) {
        self.check_type("operand", self.ty(value), result);
        self.check_scalar(result, WORDS);
    }

    fn conversion(&mut self, conversion: Conversion, from: Type, to: Type) {
        use Scalar::*;
        let pairs: &[(Scalar, Scalar)] = match conversion {
            Conversion::FExtend => &[(F16, F32), (Bf16, F32)],
            Conversion::FTruncate => &[(F32, F16), (F32, Bf16)],
            Conversion::I32ToF32 | Conversion::U32ToF32 => &[(I32, F32)],
            Conversion::F32ToI32 => &[(F32, I32)],
            Conversion::SignExtend => &[(I32, I64)],
            Conversion::ZeroExtend => &[(I16, I32), (I16, I64), (I32, I64), (I1, I32)],
            Conversion::Truncate => &[(I64, I32), (I32, I16)],
        };
        let holds = match (from.scalar(), to.scalar()) {
            (Some(a), Some(b)) => from.lanes() == to.lanes() && pairs.contains(&(a, b)),
            _ => false,
        };
        let expected = pairs
            .iter()
            .map(|(a, b)| format!("{} to {}", a.name(), b.name()))
            .collect::<Vec<_>>()
            .join(" or ");
        self.demand(holds, Rule::Type, format_args!("{from} to {to}"), expected);
    }

    fn bitcast(&mut self, from: Type, to: Type) {
        let castable = |ty: Type| !matches!(ty.scalar(), None | Some(Scalar::I1));
        let holds = castable(from) && castable(to) && from.size_bytes() == to.size_bytes();
        self.demand(
            holds,
            Rule::Type,
            format_args!("{from} as {to}"),
            "two types of one size, neither ptr nor i1",
        );
    }

    fn pack(&mut self, elements: &[Value], result: Type) {
        let Type::Vector(scalar, lanes) = result else {
            return self.refuse(Rule::Type, format!("result {result}"), "a vector");
        };
        self.demand(
            elements.len() == usize::from(lanes),
            Rule::Arity,
            format_args!("{} elements", elements.len()),
            lanes,
        );
        for element in elements {
            self.check_type("element", self.ty(*element), Type::Scalar(scalar));
        }
    }

    fn extract(&mut self, vector: Type, element: u8, result: Type) {
        let Type::Vector(scalar, lanes) = vector else {
            return self.refuse(Rule::Type, format!("operand {vector}"), "a vector");
        };
        self.demand(
            element < lanes,
            Rule::Constant,
            format_args!("element {element}"),
            format_args!("0 to {}", lanes.saturating_sub(1)),
        );
        self.check_type("result", result, Type::Scalar(scalar));
    }
}

fn bit_width(scalar: Scalar) -> u32 {
    (8 * scalar.size_bytes()).max(1)
}

fn alternatives(scalars: &[Scalar]) -> String {
    scalars.iter().map(|scalar| scalar.name()).collect::<Vec<_>>().join(" or ")
}
