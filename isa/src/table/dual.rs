//! The halves of dual-issue instructions: opcodes of VOPD and the rows that give them their meaning.
//!
//! Source: RDNA3 ISA manual, "VOPD"; LLVM 22's disassembler.

use crate::table::Float;
use crate::table::Int;
use crate::table::Op;
use crate::table::Packed;

/// One operation that may stand in a dual-issue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualRow {
    /// Its opcode in OPX and OPY.
    pub opcode: u32,
    /// The operation.
    pub op: Op,
    /// Its mnemonic.
    pub mnemonic: &'static str,
    /// Whether it may also be the X half; every one may be the Y half.
    pub in_x: bool,
}

const fn both(opcode: u32, op: Op, mnemonic: &'static str) -> DualRow {
    DualRow { opcode, op, mnemonic, in_x: true }
}

const fn only_y(opcode: u32, op: Op, mnemonic: &'static str) -> DualRow {
    DualRow { opcode, op, mnemonic, in_x: false }
}

/// Every operation of dual issue.
#[rustfmt::skip]
pub const ROWS: [DualRow; 17] = [
    both(0x00,   Op::Float(Float::VFmacF32),         "v_dual_fmac_f32"),
    both(0x01,   Op::Float(Float::VFmaakF32),        "v_dual_fmaak_f32"),
    both(0x02,   Op::Float(Float::VFmamkF32),        "v_dual_fmamk_f32"),
    both(0x03,   Op::Float(Float::VMulF32),          "v_dual_mul_f32"),
    both(0x04,   Op::Float(Float::VAddF32),          "v_dual_add_f32"),
    both(0x05,   Op::Float(Float::VSubF32),          "v_dual_sub_f32"),
    both(0x06,   Op::Float(Float::VSubrevF32),       "v_dual_subrev_f32"),
    both(0x07,   Op::Float(Float::VMulDx9ZeroF32),   "v_dual_mul_dx9_zero_f32"),
    both(0x08,   Op::Int(Int::VMovB32),              "v_dual_mov_b32"),
    both(0x09,   Op::Int(Int::VCndmaskB32),          "v_dual_cndmask_b32"),
    both(0x0a,   Op::Float(Float::VMaxF32),          "v_dual_max_f32"),
    both(0x0b,   Op::Float(Float::VMinF32),          "v_dual_min_f32"),
    both(0x0c,   Op::Packed(Packed::VDot2accF32F16), "v_dual_dot2acc_f32_f16"),
    both(0x0d,   Op::Packed(Packed::VDot2cF32Bf16),  "v_dual_dot2acc_f32_bf16"),
    only_y(0x10, Op::Int(Int::VAddNcU32),            "v_dual_add_nc_u32"),
    only_y(0x11, Op::Int(Int::VLshlrevB32),          "v_dual_lshlrev_b32"),
    only_y(0x12, Op::Int(Int::VAndB32),              "v_dual_and_b32"),
];

/// The half with an opcode.
pub fn by_opcode(opcode: u32, is_x: bool) -> Option<&'static DualRow> {
    ROWS.iter().find(|row| row.opcode == opcode && (row.in_x || !is_x))
}

/// The half with an operation.
pub fn by_op(op: Op) -> Option<&'static DualRow> {
    ROWS.iter().find(|row| row.op == op)
}
