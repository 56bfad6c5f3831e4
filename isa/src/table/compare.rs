//! Vector compares: every test on every type, writing a lane mask or EXEC.
//!
//! The rows are systematic: the opcode of a compare is the base of its type plus the number of its test.
//! Only the class test has opcodes of its own.

use crate::format::Encoding;
use crate::table::{Effect, Field, Form, Op, OperandSpec, Row, Ty};

/// A vector compare: `v_cmp_{test}_{type}`, or `v_cmpx_{test}_{type}` when it writes EXEC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Compare {
    /// What is tested.
    pub test: Test,
    /// The type of the sources.
    pub ty: CompareType,
    /// `v_cmpx`: also writes EXEC (gfx950), or writes only EXEC (gfx1100).
    pub writes_exec: bool,
}

/// What a compare tests. "Unordered" means that a source is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Test {
    /// Never.
    False,
    /// Less.
    Lt,
    /// Equal.
    Eq,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Less or greater; for integers not equal (`ne`).
    Lg,
    /// Greater or equal.
    Ge,
    /// Ordered.
    O,
    /// Unordered.
    U,
    /// Not greater or equal.
    Nge,
    /// Not less or greater.
    Nlg,
    /// Not greater.
    Ngt,
    /// Not less or equal.
    Nle,
    /// Not equal.
    Neq,
    /// Not less.
    Nlt,
    /// Always.
    True,
    /// Source 0 belongs to a class of floats whose bit is set in source 1: 0 signalling NaN, 1 quiet
    /// NaN, 2 −∞, 3 negative normal, 4 negative subnormal, 5 −0, 6 +0, 7 positive subnormal, 8 positive
    /// normal, 9 +∞.
    Class,
}

/// The type of a compare's sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CompareType {
    /// binary16.
    F16,
    /// binary32.
    F32,
    /// binary64.
    F64,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
}

/// Opcode bases of a type: `(v_cmp, v_cmpx)` on each target.
struct Bases {
    ty: CompareType,
    gfx950: (u16, u16),
    gfx1100: (u16, u16),
}

const TESTS: usize = Test::Class as usize + 1;
const TYPES: usize = CompareType::U64 as usize + 1;

#[rustfmt::skip]
const BASES: [Bases; TYPES] = [
    Bases { ty: CompareType::F16, gfx950: (0x20, 0x30), gfx1100: (0x00, 0x80) },
    Bases { ty: CompareType::F32, gfx950: (0x40, 0x50), gfx1100: (0x10, 0x90) },
    Bases { ty: CompareType::F64, gfx950: (0x60, 0x70), gfx1100: (0x20, 0xa0) },
    Bases { ty: CompareType::I16, gfx950: (0xa0, 0xb0), gfx1100: (0x30, 0xb0) },
    Bases { ty: CompareType::U16, gfx950: (0xa8, 0xb8), gfx1100: (0x38, 0xb8) },
    Bases { ty: CompareType::I32, gfx950: (0xc0, 0xd0), gfx1100: (0x40, 0xc0) },
    Bases { ty: CompareType::U32, gfx950: (0xc8, 0xd8), gfx1100: (0x48, 0xc8) },
    Bases { ty: CompareType::I64, gfx950: (0xe0, 0xf0), gfx1100: (0x50, 0xd0) },
    Bases { ty: CompareType::U64, gfx950: (0xe8, 0xf8), gfx1100: (0x58, 0xd8) },
];

/// Opcodes of `v_cmp_class` and `v_cmpx_class` on f16, f32, f64.
const CLASS_GFX950: [(u16, u16); 3] = [(0x14, 0x15), (0x10, 0x11), (0x12, 0x13)];
const CLASS_GFX1100: [(u16, u16); 3] = [(0x7d, 0xfd), (0x7e, 0xfe), (0x7f, 0xff)];

macro_rules! mnemonics {
    ($prefix:literal, $ty:literal, $lg:literal, $always:literal) => {
        [
            concat!($prefix, "_f_", $ty),
            concat!($prefix, "_lt_", $ty),
            concat!($prefix, "_eq_", $ty),
            concat!($prefix, "_le_", $ty),
            concat!($prefix, "_gt_", $ty),
            concat!($prefix, $lg, $ty),
            concat!($prefix, "_ge_", $ty),
            concat!($prefix, "_o_", $ty),
            concat!($prefix, "_u_", $ty),
            concat!($prefix, "_nge_", $ty),
            concat!($prefix, "_nlg_", $ty),
            concat!($prefix, "_ngt_", $ty),
            concat!($prefix, "_nle_", $ty),
            concat!($prefix, "_neq_", $ty),
            concat!($prefix, "_nlt_", $ty),
            concat!($prefix, $always, $ty),
            concat!($prefix, "_class_", $ty),
        ]
    };
    (float $ty:literal $always:literal) => {
        [mnemonics!("v_cmp", $ty, "_lg_", $always), mnemonics!("v_cmpx", $ty, "_lg_", $always)]
    };
    (int $ty:literal) => {
        [mnemonics!("v_cmp", $ty, "_ne_", "_t_"), mnemonics!("v_cmpx", $ty, "_ne_", "_t_")]
    };
}

/// By type, `writes_exec` and test.
type Mnemonics = [[[&'static str; TESTS]; 2]; TYPES];

const fn mnemonics(float: [[[&'static str; TESTS]; 2]; 3]) -> Mnemonics {
    let [f16, f32, f64] = float;
    [
        f16,
        f32,
        f64,
        mnemonics!(int "i16"),
        mnemonics!(int "u16"),
        mnemonics!(int "i32"),
        mnemonics!(int "u32"),
        mnemonics!(int "i64"),
        mnemonics!(int "u64"),
    ]
}

const NAMES_GFX950: Mnemonics = mnemonics([
    mnemonics!(float "f16" "_tru_"),
    mnemonics!(float "f32" "_tru_"),
    mnemonics!(float "f64" "_tru_"),
]);
const NAMES_GFX1100: Mnemonics = mnemonics([
    mnemonics!(float "f16" "_t_"),
    mnemonics!(float "f32" "_t_"),
    mnemonics!(float "f64" "_t_"),
]);

const fn sources(src0: Ty, src1: Ty) -> [OperandSpec; 3] {
    [
        OperandSpec { field: Field::Sdst, is_dst: true, ty: Ty::Mask },
        OperandSpec { field: Field::Src0, is_dst: false, ty: src0 },
        OperandSpec { field: Field::Src1, is_dst: false, ty: src1 },
    ]
}

/// Operands by type; the class mask of `v_cmp_class` is an integer.
static OPERANDS: [[OperandSpec; 3]; TYPES] = [
    sources(Ty::F16, Ty::F16),
    sources(Ty::F32, Ty::F32),
    sources(Ty::F64, Ty::F64),
    sources(Ty::I16, Ty::I16),
    sources(Ty::U16, Ty::U16),
    sources(Ty::I32, Ty::I32),
    sources(Ty::U32, Ty::U32),
    sources(Ty::I64, Ty::I64),
    sources(Ty::U64, Ty::U64),
];
static CLASS_OPERANDS: [[OperandSpec; 3]; 3] =
    [sources(Ty::F16, Ty::B16), sources(Ty::F32, Ty::B32), sources(Ty::F64, Ty::B32)];

impl CompareType {
    /// Every type.
    pub const ALL: [CompareType; TYPES] = [
        CompareType::F16,
        CompareType::F32,
        CompareType::F64,
        CompareType::I16,
        CompareType::U16,
        CompareType::I32,
        CompareType::U32,
        CompareType::I64,
        CompareType::U64,
    ];

    /// Whether sources are floats.
    pub const fn is_float(self) -> bool {
        matches!(self, CompareType::F16 | CompareType::F32 | CompareType::F64)
    }
}

impl Test {
    /// Every test, in the order of opcodes.
    pub const ALL: [Test; TESTS] = [
        Test::False,
        Test::Lt,
        Test::Eq,
        Test::Le,
        Test::Gt,
        Test::Lg,
        Test::Ge,
        Test::O,
        Test::U,
        Test::Nge,
        Test::Nlg,
        Test::Ngt,
        Test::Nle,
        Test::Neq,
        Test::Nlt,
        Test::True,
        Test::Class,
    ];
}

/// By type, `writes_exec` and test. Integers have only the first seven tests and [`Test::True`].
static ROWS: [[[Row; TESTS]; 2]; TYPES] = build();

const fn build() -> [[[Row; TESTS]; 2]; TYPES] {
    const NO_ROW: Row = Row {
        op: Op::Compare(Compare { test: Test::False, ty: CompareType::F16, writes_exec: false }),
        gfx950: None,
        gfx1100: None,
        operands: &[],
        effects: &[],
    };
    let mut rows = [[[NO_ROW; TESTS]; 2]; TYPES];
    let mut ty = 0;
    while ty < TYPES {
        let mut test = 0;
        while test < TESTS {
            rows[ty][0][test] =
                row(Compare { test: Test::ALL[test], ty: BASES[ty].ty, writes_exec: false });
            rows[ty][1][test] =
                row(Compare { test: Test::ALL[test], ty: BASES[ty].ty, writes_exec: true });
            test += 1;
        }
        ty += 1;
    }
    rows
}

const fn row(compare: Compare) -> Row {
    let (ty, exec) = (compare.ty as usize, compare.writes_exec as usize);
    let test = compare.test as usize;
    let is_class = matches!(compare.test, Test::Class);
    let operands: &'static [OperandSpec] =
        if is_class && ty < CLASS_OPERANDS.len() { &CLASS_OPERANDS[ty] } else { &OPERANDS[ty] };
    Row {
        op: Op::Compare(compare),
        gfx950: form(compare.opcode_gfx950(), NAMES_GFX950[ty][exec][test]),
        gfx1100: form(compare.opcode_gfx1100(), NAMES_GFX1100[ty][exec][test]),
        operands,
        effects: match (compare.writes_exec, is_class) {
            (true, true) => &[Effect::WritesExec, Effect::NoClamp],
            (true, false) => &[Effect::WritesExec],
            (false, true) => &[Effect::NoClamp],
            (false, false) => &[],
        },
    }
}

const fn form(opcode: Option<u16>, mnemonic: &'static str) -> Option<Form> {
    match opcode {
        Some(opcode) => Some(Form { encoding: Encoding::Vopc, opcode, mnemonic }),
        None => None,
    }
}

const fn pick(bases: (u16, u16), writes_exec: bool) -> u16 {
    if writes_exec { bases.1 } else { bases.0 }
}

impl Compare {
    /// The row of this compare.
    pub fn row(self) -> &'static Row {
        &ROWS[self.ty as usize][usize::from(self.writes_exec)][self.test as usize]
    }

    /// Every row that some target has.
    pub fn rows() -> impl Iterator<Item = &'static Row> {
        ROWS.iter().flatten().flatten().filter(|row| row.gfx950.is_some() || row.gfx1100.is_some())
    }

    /// The number of the test among those of its type, if its type has it.
    const fn test_number(self) -> Option<u16> {
        match self.test {
            Test::Class => None,
            _ if self.ty.is_float() => Some(self.test as u16),
            Test::True => Some(7),
            Test::False | Test::Lt | Test::Eq | Test::Le | Test::Gt | Test::Lg | Test::Ge => {
                Some(self.test as u16)
            }
            _ => None,
        }
    }

    const fn opcode_gfx950(self) -> Option<u16> {
        if matches!(self.test, Test::Class) && self.ty.is_float() {
            return Some(pick(CLASS_GFX950[self.ty as usize], self.writes_exec));
        }
        match self.test_number() {
            Some(number) => Some(pick(BASES[self.ty as usize].gfx950, self.writes_exec) + number),
            None => None,
        }
    }

    /// gfx1100 has neither "never" nor "always" on 16-bit integers.
    const fn opcode_gfx1100(self) -> Option<u16> {
        if matches!(self.test, Test::Class) && self.ty.is_float() {
            return Some(pick(CLASS_GFX1100[self.ty as usize], self.writes_exec));
        }
        let is_16_bit_int = matches!(self.ty, CompareType::I16 | CompareType::U16);
        match self.test_number() {
            Some(0 | 7) if is_16_bit_int => None,
            Some(number) => Some(pick(BASES[self.ty as usize].gfx1100, self.writes_exec) + number),
            None => None,
        }
    }
}
