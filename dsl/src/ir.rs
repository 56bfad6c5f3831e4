//! The kernel IR: SSA values with structured control flow, the one contract between kernels and back ends.
//!
//! A [`Kernel`] is a tree of [`Block`]s of [`Stmt`]s. Every value is defined once, before its uses, and
//! is visible in the block that defines it and in the blocks nested inside that one. Values carry a
//! [`Type`] and a [`Uniformity`]; loops and conditionals yield results instead of mutating anything.
//!
//! Float operations are exactly the hardware's: nothing is contracted or reassociated, fused
//! multiply-add is a statement of its own, subnormals are kept except where [`UnOp`] says otherwise.
//! Integer arithmetic wraps. Every operation has one meaning that all back ends implement; it is
//! written at the operation.

use std::fmt;
use std::panic::Location;

use isa::Target;
use isa::table::Matrix;

/// A whole kernel: what a back end turns into one code object.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Symbol of the kernel in the code object; also the variant's name.
    pub name: String,
    /// The one target this kernel was built for.
    pub target: Target,
    /// Work-items in a workgroup (one-dimensional), a multiple of the wave width.
    pub workgroup_size: u32,
    /// The author's budget of VGPRs, accumulation registers apart: a back end that allocates registers itself refuses the
    /// kernel if it needs more; others do not look at it.
    pub max_vgprs: Option<u32>,
    /// Explicit kernel arguments in ABI order, packed at natural alignment.
    pub params: Vec<Param>,
    /// Named LDS buffers; their layout in the LDS segment is their order, each at its alignment.
    pub lds: Vec<LdsBuffer>,
    /// The kernel's statements.
    pub body: Block,
    /// Facts of each value, indexed by [`Value`].
    pub values: Vec<ValueInfo>,
}

/// One explicit kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Name shown in metadata, errors and launch plans.
    pub name: String,
    /// What is passed.
    pub kind: ParamKind,
    /// The value that stands for the argument in the body (uniform).
    pub value: Value,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A 64-bit pointer to global memory that aliases no other argument.
    Buffer {
        /// Element type of the buffer, for readers and metadata; accesses may use other types.
        elem: Scalar,
        /// What the kernel does with it.
        access: Access,
        /// Alignment in bytes that the caller guarantees.
        align_bytes: u32,
    },
    /// A scalar by value: [`Scalar::I32`], [`Scalar::I64`] or [`Scalar::F32`].
    Scalar(Scalar),
}

/// What a kernel does with a buffer argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only loads.
    ReadOnly,
    /// Only stores.
    WriteOnly,
    /// Loads and stores.
    ReadWrite,
}

/// A named buffer in the workgroup's LDS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdsBuffer {
    /// Name shown in LDS maps and errors.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u32,
    /// Alignment in bytes, a power of two.
    pub align_bytes: u32,
}

/// Index of an [`LdsBuffer`] in [`Kernel::lds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LdsId(pub u32);

/// An SSA value: an index into [`Kernel::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// Facts of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// Its type.
    pub ty: Type,
    /// Whether all lanes of a wave hold the same value.
    pub uniformity: Uniformity,
}

/// Whether all active lanes of a wave hold the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uniformity {
    /// The same in every lane of a wave; may live in scalar registers.
    Uniform,
    /// May differ from lane to lane.
    Varying,
}

/// Element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// A truth value.
    I1,
    /// 16-bit integer; memory and bit patterns only, no arithmetic.
    I16,
    /// 32-bit integer, signedness by operation.
    I32,
    /// 64-bit integer, signedness by operation.
    I64,
    /// IEEE half.
    F16,
    /// bfloat16; memory and conversion only, no arithmetic.
    Bf16,
    /// IEEE single.
    F32,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// One element.
    Scalar(Scalar),
    /// A short vector of 2, 3, 4, 8 or 16 elements; arithmetic on it is elementwise.
    Vector(Scalar, u8),
    /// A 64-bit address in global memory.
    Pointer,
}

/// Where in the author's source a statement was asked for. Never part of hashes or equality.
#[derive(Clone, Copy, Debug)]
pub struct Loc(pub Option<&'static Location<'static>>);

impl PartialEq for Loc {
    /// Two kernels are the same kernel wherever their statements were written.
    fn eq(&self, _: &Loc) -> bool {
        true
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(location) => write!(f, "{}:{}", location.file(), location.line()),
            None => f.write_str("unknown location"),
        }
    }
}

/// A straight run of statements, ended by the values it hands to the statement that owns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Statements in program order.
    pub stmts: Vec<Stmt>,
    /// Values yielded to the enclosing [`Op::For`] or [`Op::If`]; empty for a kernel's body.
    pub yields: Vec<Value>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Values it defines: none for effects, one for most, several for loops and conditionals.
    pub results: Vec<Value>,
    /// What it does.
    pub op: Op,
    /// Who asked for it.
    pub loc: Loc,
}

/// What a statement does. Operands and results have equal types unless the row says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A constant, as the bits of its scalar type in the low bits (a vector gets it in every element).
    Const {
        /// Type of the result.
        ty: Type,
        /// Bits of one element.
        bits: u64,
    },
    /// A value of the launch.
    Special(Special),
    /// One operand, elementwise.
    Unary(UnOp, Value),
    /// Two operands, elementwise.
    Binary(BinOp, Value, Value),
    /// `a × b + c` rounded once (f32 or f16, elementwise).
    Fma(Value, Value, Value),
    /// Comparison of scalars, result `i1`.
    Cmp(CmpOp, Value, Value),
    /// `cond ? a : b` for any type; the value not chosen has no effect, whatever it holds.
    Select(Value, Value, Value),
    /// A conversion to the result type.
    Convert(Conversion, Value),
    /// The same bits as another type of equal size.
    Bitcast(Value),
    /// A vector from its elements, first element in the lowest bits.
    Pack(Vec<Value>),
    /// Element `1` of vector `0`.
    Extract(Value, u8),
    /// The value held by lane `lane XOR mask` of the same wave (1 ≤ mask < wave width, constant).
    /// Every lane of the wave must be active. 32-bit scalars only.
    LaneXor {
        /// The value to exchange.
        value: Value,
        /// The constant mask.
        mask: u32,
    },
    /// The first active lane's value, uniform. 32-bit scalars only.
    ReadFirstLane(Value),
    /// Pointer plus a signed 64-bit byte offset.
    PtrAdd(Value, Value),
    /// A load of the result type.
    Load(Address),
    /// A store of the value.
    Store(Address, Value),
    /// The `i32` at a global address becomes its OR with the value: one indivisible step of each active lane for all of
    /// the device. Nothing is read back, and no other access is ordered by it.
    AtomicOr(Address, Value),
    /// `A · B + C` by a dense matrix operation of the target, one block, factors f16, bf16 or f32, C and result f32.
    /// Each operand is a lane's part of a fragment as `isa::fragment` lays it out: a vector of its elements, a scalar
    /// where a lane holds one. The order of the sums is the instruction's own. Every lane of the wave must be active.
    Matrix {
        /// The operation.
        op: Matrix,
        /// The left factor.
        a: Value,
        /// The right factor.
        b: Value,
        /// The addend.
        c: Value,
    },
    /// All waves of the workgroup meet; LDS accesses before it happen before LDS accesses after it.
    /// It orders no global memory. Only at places that all waves reach together.
    Barrier,
    /// A named intrinsic of the target without side effects: the author's escape hatch. A back end
    /// that does not know the name refuses the kernel and names it.
    Intrinsic {
        /// The vendor's name, such as `llvm.amdgcn.sin.f32`.
        name: String,
        /// Operands in order.
        args: Vec<Value>,
    },
    /// A counted loop: `index` runs from `lower` while it is below `upper` (signed), in `step`s > 0.
    /// Bounds are uniform `i32`. Results are the carried values after the last iteration.
    For {
        /// The induction variable, uniform `i32`, defined inside `body`.
        index: Value,
        /// First value.
        lower: Value,
        /// Exclusive bound.
        upper: Value,
        /// Constant step.
        step: u32,
        /// Values handed from iteration to iteration, defined inside `body`.
        carried: Vec<Value>,
        /// What the carried values are before the first iteration.
        inits: Vec<Value>,
        /// The body; it yields the next carried values.
        body: Block,
    },
    /// A conditional; both arms yield values of the results' types. A varying condition runs each
    /// arm with the lanes that chose it.
    If {
        /// The condition (`i1`).
        cond: Value,
        /// When true.
        then: Block,
        /// When false.
        otherwise: Block,
    },
}

/// The address of a memory access, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Where.
    pub base: Base,
    /// Byte offset added to the base: `i32`, **unsigned**.
    pub offset: Option<Value>,
    /// Constant byte offset added last.
    pub constant: u32,
    /// Alignment of the whole address in bytes that the author guarantees; the emulator checks it.
    pub align_bytes: u32,
}

/// What an address starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Global memory.
    Global(Value),
    /// A named LDS buffer.
    Lds(LdsId),
}

/// Values of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// Workgroup index in x (uniform i32).
    WorkgroupIdX,
    /// Workgroup index in y (uniform i32).
    WorkgroupIdY,
    /// Workgroup index in z (uniform i32).
    WorkgroupIdZ,
    /// Work-item index in the workgroup (varying i32).
    ThreadId,
    /// Lane in the wave (varying i32).
    LaneId,
    /// Wave in the workgroup (uniform i32).
    WaveId,
}

/// One-operand operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// Float negation: flips the sign bit (f32, f16).
    FNeg,
    /// Float magnitude: clears the sign bit (f32, f16).
    FAbs,
    /// 2^x by the target's instruction (f32): approximate; subnormal inputs and results flush to zero.
    Exp2,
    /// log2 x by the target's instruction (f32): approximate; subnormal inputs flush to zero.
    Log2,
    /// 1/x by the target's instruction (f32): approximate; subnormals flush to zero.
    Rcp,
    /// 1/√x by the target's instruction (f32): approximate; subnormal inputs flush to zero.
    Rsq,
    /// √x by the target's instruction (f32): approximate; subnormal inputs flush to zero.
    Sqrt,
    /// Round to the nearest integer, ties to even (f32).
    RoundEven,
    /// Bitwise complement (i1, i32, i64).
    Not,
}

/// Two-operand operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// Float sum (f32, f16).
    FAdd,
    /// Float difference (f32, f16).
    FSub,
    /// Float product (f32, f16).
    FMul,
    /// IEEE 754-2008 minNum: the other operand when one is NaN; −0 below +0 (f32).
    FMin,
    /// IEEE 754-2008 maxNum: the other operand when one is NaN; +0 above −0 (f32).
    FMax,
    /// Wrapping sum (i32, i64).
    Add,
    /// Wrapping difference (i32, i64).
    Sub,
    /// Wrapping product (i32, i64).
    Mul,
    /// High 32 bits of the unsigned product (i32).
    MulHighU,
    /// Unsigned quotient (i32); the divisor must be a constant other than zero.
    DivU,
    /// Unsigned remainder (i32); the divisor must be a constant other than zero.
    RemU,
    /// Bitwise and (i1, i32, i64).
    And,
    /// Bitwise or (i1, i32, i64).
    Or,
    /// Bitwise exclusive or (i1, i32, i64).
    Xor,
    /// Shift left; the amount is taken modulo the width (i32, i64).
    Shl,
    /// Logical shift right; the amount is taken modulo the width (i32, i64).
    ShrU,
    /// Arithmetic shift right; the amount is taken modulo the width (i32, i64).
    ShrS,
    /// Smaller of two signed integers (i32).
    MinS,
    /// Larger of two signed integers (i32).
    MaxS,
    /// Smaller of two unsigned integers (i32).
    MinU,
    /// Larger of two unsigned integers (i32).
    MaxU,
}

/// Comparisons. Float comparisons are false when an operand is NaN, except [`CmpOp::FNe`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// Equal integers (i32, i64).
    Eq,
    /// Unequal integers (i32, i64).
    Ne,
    /// Signed below.
    LtS,
    /// Signed below or equal.
    LeS,
    /// Unsigned below.
    LtU,
    /// Unsigned below or equal.
    LeU,
    /// Equal floats (f32).
    FEq,
    /// Unequal or unordered floats (f32).
    FNe,
    /// Float below (f32).
    FLt,
    /// Float below or equal (f32).
    FLe,
}

/// Conversions; the result type is the statement's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// f16 or bf16 → f32, exact.
    FExtend,
    /// f32 → f16 or bf16, round to nearest even; NaN stays NaN (quiet).
    FTruncate,
    /// i32 → f32 as signed, nearest even.
    I32ToF32,
    /// i32 → f32 as unsigned, nearest even.
    U32ToF32,
    /// f32 → i32, towards zero; saturates; NaN gives 0.
    F32ToI32,
    /// i32 → i64 with sign.
    SignExtend,
    /// i16 or i32 → i32 or i64 with zeros; i1 → i32 as 0 or 1.
    ZeroExtend,
    /// i64 → i32 or i32 → i16: the low bits.
    Truncate,
}

impl Kernel {
    /// Facts of a value of this kernel.
    pub fn info(&self, value: Value) -> ValueInfo {
        self.values[value.0 as usize]
    }

    /// Byte offset of every LDS buffer in the segment, and the segment's total size in bytes.
    pub fn lds_layout(&self) -> (Vec<u32>, u32) {
        let mut end = 0u32;
        let offsets = self.lds.iter().map(|buffer| {
            let start = end.checked_next_multiple_of(buffer.align_bytes.max(1)).unwrap_or(u32::MAX);
            end = start.saturating_add(buffer.size_bytes);
            start
        });
        let offsets = offsets.collect();
        (offsets, end)
    }
}
