//! The spelling of every operation: one row a member, read by the printer and by the parser.

use crate::ir::{Access, BinOp, CmpOp, Conversion, Scalar, Special, UnOp, Uniformity};

/// A small set of things with one name each.
pub trait Named: Copy + 'static {
    /// Every member, in the order of the rows.
    const ALL: &'static [Self];

    /// The member's spelling.
    fn spelling(self) -> &'static str;

    /// The member of that spelling.
    fn from_spelling(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|member| member.spelling() == name)
    }
}

/// Rows `Member = "spelling"`; a member without a row does not compile.
macro_rules! named {
    ($set:ident { $($member:ident = $spelling:literal),+ $(,)? }) => {
        impl Named for $set {
            const ALL: &'static [$set] = &[$($set::$member),+];

            fn spelling(self) -> &'static str {
                match self {
                    $($set::$member => $spelling),+
                }
            }
        }
    };
}

impl Named for Scalar {
    const ALL: &'static [Scalar] = &[
        Scalar::I1,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::F16,
        Scalar::Bf16,
        Scalar::F32,
    ];

    fn spelling(self) -> &'static str {
        self.name()
    }
}

named!(Uniformity {
    Uniform = "uniform",
    Varying = "varying",
});

named!(Access {
    ReadOnly = "read_only",
    WriteOnly = "write_only",
    ReadWrite = "read_write",
});

named!(Special {
    WorkgroupIdX = "workgroup_id_x",
    WorkgroupIdY = "workgroup_id_y",
    WorkgroupIdZ = "workgroup_id_z",
    ThreadId = "thread_id",
    LaneId = "lane_id",
    WaveId = "wave_id",
});

named!(UnOp {
    FNeg = "fneg",
    FAbs = "fabs",
    Exp2 = "exp2",
    Log2 = "log2",
    Rcp = "rcp",
    Rsq = "rsq",
    Sqrt = "sqrt",
    RoundEven = "round_even",
    Not = "not",
});

named!(BinOp {
    FAdd = "fadd",
    FSub = "fsub",
    FMul = "fmul",
    FMin = "fmin",
    FMax = "fmax",
    Add = "add",
    Sub = "sub",
    Mul = "mul",
    MulHighU = "mul_high_u",
    DivU = "div_u",
    RemU = "rem_u",
    And = "and",
    Or = "or",
    Xor = "xor",
    Shl = "shl",
    ShrU = "shr_u",
    ShrS = "shr_s",
    MinS = "min_s",
    MaxS = "max_s",
    MinU = "min_u",
    MaxU = "max_u",
});

named!(CmpOp {
    Eq = "eq",
    Ne = "ne",
    LtS = "lt_s",
    LeS = "le_s",
    LtU = "lt_u",
    LeU = "le_u",
    FEq = "feq",
    FNe = "fne",
    FLt = "flt",
    FLe = "fle",
});

named!(Conversion {
    FExtend = "fextend",
    FTruncate = "ftruncate",
    I32ToF32 = "i32_to_f32",
    U32ToF32 = "u32_to_f32",
    F32ToI32 = "f32_to_i32",
    SignExtend = "sign_extend",
    ZeroExtend = "zero_extend",
    Truncate = "truncate",
});
