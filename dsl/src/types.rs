//! Names, sizes and shapes of types.

use std::fmt;

use crate::ir::{Scalar, Type};

impl Scalar {
    /// Size of one element in memory in bytes (`i1` has none and is never stored).
    pub fn size_bytes(self) -> u32 {
        match self {
            Scalar::I1 => 0,
            Scalar::I16 | Scalar::F16 | Scalar::Bf16 => 2,
            Scalar::I32 | Scalar::F32 => 4,
            Scalar::I64 => 8,
        }
    }

    /// The spelling of the text form.
    pub fn name(self) -> &'static str {
        match self {
            Scalar::I1 => "i1",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::F16 => "f16",
            Scalar::Bf16 => "bf16",
            Scalar::F32 => "f32",
        }
    }
}

impl Type {
    /// One `i1`.
    pub const I1: Type = Type::Scalar(Scalar::I1);
    /// One `i32`.
    pub const I32: Type = Type::Scalar(Scalar::I32);
    /// One `i64`.
    pub const I64: Type = Type::Scalar(Scalar::I64);
    /// One `f32`.
    pub const F32: Type = Type::Scalar(Scalar::F32);

    /// The element type, unless this is a pointer.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Type::Scalar(scalar) | Type::Vector(scalar, _) => Some(scalar),
            Type::Pointer => None,
        }
    }

    /// Number of elements: 1 unless this is a vector.
    pub fn lanes(self) -> u8 {
        match self {
            Type::Vector(_, lanes) => lanes,
            Type::Scalar(_) | Type::Pointer => 1,
        }
    }

    /// Size in bytes.
    pub fn size_bytes(self) -> u32 {
        match self {
            Type::Scalar(scalar) => scalar.size_bytes(),
            Type::Vector(scalar, lanes) => scalar.size_bytes() * u32::from(lanes),
            Type::Pointer => 8,
        }
    }

    /// The type with the same number of elements of another scalar.
    pub fn with_scalar(self, scalar: Scalar) -> Type {
        match self {
            Type::Vector(_, lanes) => Type::Vector(scalar, lanes),
            Type::Scalar(_) | Type::Pointer => Type::Scalar(scalar),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(scalar) => f.write_str(scalar.name()),
            Type::Vector(scalar, lanes) => write!(f, "{}x{lanes}", scalar.name()),
            Type::Pointer => f.write_str("ptr"),
        }
    }
}
