//! Where LLVM and the tables may differ, each with its reason.
//!
//! In every case here the bytes mean one thing and LLVM's disassembler and ours agree on it, unless the
//! reason says otherwise: what differs is a text, or what LLVM's assembler takes back.

use isa::Target;

use crate::witness::{Divergence, Kind};

/// A difference that is no fault of the tables.
pub struct Exception {
    /// Why.
    pub reason: &'static str,
    /// Which differences it explains.
    pub applies: fn(&Divergence) -> bool,
}

/// Constants that LLVM prints as 16-bit numbers in integer operands; its assembler reads literals there.
fn has_float_as_number(text: &str) -> bool {
    const FLOATS: [&str; 9] =
        ["0x3800", "0xb800", "0x3c00", "0xbc00", "0x4000", "0xc000", "0x4400", "0xc400", "0x3118"];
    FLOATS.iter().any(|float| text.contains(float))
}

fn mnemonic(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

fn is_16_bit(text: &str) -> bool {
    ["16", "_iu8", "pk_", "mad_"].iter().any(|part| mnemonic(text).contains(part))
}

const LONG_NOP: Exception = Exception {
    reason: "LLVM writes the long form of v_nop as the short one",
    applies: |found| found.ours == "v_nop" && found.kind == Kind::Bytes,
};
const FLOAT_OF_16_BITS: Exception = Exception {
    reason: "LLVM prints float constants of 16-bit integer operands as numbers, and reads literals there",
    applies: |found| {
        found.kind == Kind::Bytes && is_16_bit(&found.ours) && has_float_as_number(&found.ours)
    },
};
const ALIGN_FLOAT: Exception = Exception {
    reason: "the shift of v_alignbit is a 16-bit operand whose constants LLVM prints as numbers",
    applies: |found| {
        found.kind == Kind::Bytes
            && found.ours.starts_with("v_align")
            && has_float_as_number(&found.ours)
    },
};
const SWIZZLE: Exception = Exception {
    reason: "the text of ds_swizzle names a pattern, not the bits that the pattern ignores",
    applies: |found| found.kind == Kind::Bytes && found.ours.starts_with("ds_swizzle_b32"),
};
const MARKED_LITERAL: Exception = Exception {
    reason: "LLVM's assembler takes no sign or absolute value of a 64-bit literal",
    applies: |found| {
        found.kind == Kind::Bytes
            && mnemonic(&found.ours).contains("_f64")
            && (found.ours.contains("neg(0x") || found.ours.contains("|0x"))
    },
};
const WAIT_BY_REGISTER: Exception = Exception {
    reason: "LLVM's assembler asks for null as the register of single-counter waits",
    applies: |found| found.kind == Kind::Bytes && found.llvm.ends_with("src0 must be null"),
};
const TIED_HALF: Exception = Exception {
    reason: "LLVM prints OP_SEL of v_fmac_f16 with a bit for the accumulator and does not read it",
    applies: |found| {
        found.kind == Kind::Bytes
            && found.ours.starts_with("v_fmac_f16")
            && found.llvm.contains("op_sel operand conflicts")
    },
};
const LITERAL_LANE: Exception = Exception {
    reason: "LLVM's assembler takes no literal as the number of a lane",
    applies: |found| found.kind == Kind::Bytes && found.ours.starts_with("v_readlane_b32"),
};
const MIXED_DPP: Exception = Exception {
    reason: "LLVM's disassembler loses a bit of the DPP control of v_fma_mixlo and v_fma_mixhi",
    applies: |found| {
        let is_mixed = ["v_fma_mixlo", "v_fma_mixhi"].iter().any(|op| found.ours.starts_with(op));
        found.kind == Kind::Text && is_mixed && found.ours.contains("_dpp")
    },
};
const WMMA_CONSTANT: Exception = Exception {
    reason: "LLVM prints 1/(2π) with more digits in WMMA and does not read them",
    applies: |found| found.ours.starts_with("v_wmma_") && found.ours.contains("0.15915494"),
};
const TWO_VCC: Exception = Exception {
    reason: "LLVM's assembler counts VCC twice where a dual-issue select names it as a source",
    applies: |found| {
        found.kind == Kind::Bytes
            && found.ours.contains("v_dual_cndmask")
            && found.ours.contains("vcc_lo")
            && found.llvm.contains("constant bus")
    },
};
const FLOAT_ATOMIC: Exception = Exception {
    reason: "LLVM's tables lack SC1 and AGPRs in returning float atomics of FLAT and GLOBAL",
    applies: |found| {
        let is_float =
            ["_f64 ", "_f32 ", "_f16 ", "_bf16 "].iter().any(|ty| found.ours.contains(ty));
        let has_agpr = found.ours.split(' ').nth(1).is_some_and(|first| first.starts_with('a'));
        let is_atomic = found.ours.contains("_atomic_") && found.ours.contains(" sc0");
        is_float && is_atomic && (has_agpr || found.ours.contains(" sc1"))
    },
};
const DELAY_WITHOUT_NAME: Exception = Exception {
    reason: "hints of s_delay_alu without a name are printed by number",
    applies: |found| found.ours.starts_with("s_delay_alu"),
};
const MESSAGE_WITHOUT_NAME: Exception = Exception {
    reason: "messages without a name, and graphics messages of gfx950, are printed by number",
    applies: |found| found.ours.starts_with("s_sendmsg") && found.kind == Kind::Text,
};
const SMALL_K: Exception = Exception {
    reason: "LLVM's disassembler takes the constant of fmaak and fmamk for the code of an inline constant",
    applies: |found| {
        let is_fma = ["fmaak", "fmamk"].iter().any(|op| found.ours.contains(op));
        found.kind == Kind::Text && is_fma
    },
};
const END_NUMBER: Exception = Exception {
    reason: "the number after s_endpgm means nothing",
    applies: |found| only_llvm(found, "no meaning") && found.llvm.starts_with("s_endpgm"),
};
const GDS: Exception = Exception {
    reason: "no row has the global data share",
    applies: |found| only_llvm(found, "no meaning") && found.llvm.ends_with(" gds"),
};
const TFE: Exception = Exception {
    reason: "no row has TFE, which returns a status dword",
    applies: |found| only_llvm(found, "no meaning") && found.llvm.ends_with(" tfe"),
};
const LDS_DIRECT: Exception = Exception {
    reason: "LDS_DIRECT is a graphics operand that the tables do not have",
    applies: |found| only_llvm(found, "names nothing") && found.llvm.contains("src_lds_direct"),
};
const PACKED_FMAC: Exception = Exception {
    reason: "LLVM gives v_pk_fmac_f16 DPP and SDWA forms, which the manuals do not list",
    applies: |found| refused(found) && found.llvm.starts_with("v_pk_fmac_f16_"),
};
const MX_FORMAT: Exception = Exception {
    reason: "formats of f8f6f4 fragments above 4 are not defined",
    applies: |found| refused(found) && found.llvm.contains("_f8f6f4 "),
};
const EXEC_ADDRESS: Exception = Exception {
    reason: "LLVM takes EXEC as the address of loads to LDS, and of nothing else",
    applies: |found| {
        only_llvm(found, "field Saddr holds code 126") && found.llvm.contains("_load_lds_")
    },
};
const MX_AT_THE_END: Exception = Exception {
    reason: "LLVM's disassembler reads a narrow f8f6f4 fragment as eight registers, beyond the last",
    applies: |found| {
        matches!(found.kind, Kind::Text | Kind::OnlyWeAccept) && found.ours.contains("_f8f6f4 ")
    },
};
const ZERO_OFFSET: Exception = Exception {
    reason: "a zero offset beside an SGPR offset has no text of its own",
    applies: |found| found.kind == Kind::Text && found.llvm.contains(" offset:0x0"),
};
const SCALED_CONVERSION: Exception = Exception {
    reason: "scaled conversions: LLVM prints constants of the packed source as floats, and takes its sign",
    applies: |found| {
        let is_constant = found.kind == Kind::Text && has_float_as_number(&found.ours);
        found.llvm.starts_with("v_cvt_scalef32_") && (is_constant || refused(found))
    },
};
const DOT_HALVES: Exception = Exception {
    reason: "OP_SEL_HI of the integer v_dot2, which gfx950 takes in one value only, is not printed",
    applies: |found| {
        found.kind == Kind::Text
            && ["v_dot2_u32_u16", "v_dot2_i32_i16"].iter().any(|op| found.ours.starts_with(op))
    },
};
const READ_ONLY_RESULT: Exception = Exception {
    reason: "LLVM takes registers that are only sources as lane masks",
    applies: |found| only_llvm(found, "must be a scalar register") && !found.ours.contains("Saddr"),
};
const INTEGER_SIGN: Exception = Exception {
    reason: "NEG and ABS have no meaning for integers",
    applies: |found| {
        let is_integer = [
            "_i16",
            "_u16",
            "_b16",
            "_iu8",
            "_iu4",
            "_class_",
            "_i8",
            "_u8",
            "_u4",
            "_i4",
            "_pk_mov_b32",
        ];
        let marks = [" neg_lo:", " neg_hi:", " neg(", "-", "|"];
        refused(found)
            && is_integer.iter().any(|part| mnemonic(&found.llvm).contains(part))
            && marks.iter().any(|mark| found.llvm.contains(mark))
    },
};
const RELATIVE_CONSTANT: Exception = Exception {
    reason: "LLVM takes a constant as the source that M0 selects in s_movrelsd_2_b32, and a register alone in s_movrels",
    applies: |found| {
        only_llvm(found, "what M0 cannot move") && found.llvm.starts_with("s_movrelsd_2_b32")
    },
};
const MATRIX_HALVES: Exception = Exception {
    reason: "OP_SEL of A and B has no meaning in WMMA",
    applies: |found| refused(found) && found.llvm.starts_with("v_wmma_"),
};
const INTEGER_SCALE: Exception = Exception {
    reason: "OMOD has no meaning for integer results",
    applies: |found| {
        let is_integer = ["v_cvt_", "v_frexp_exp_"];
        refused(found)
            && is_integer.iter().any(|start| found.llvm.starts_with(start))
            && [" mul:", " div:"].iter().any(|scale| found.llvm.contains(scale))
    },
};
const INTEGER_CLAMP: Exception = Exception {
    reason: "CLAMP of an integer operation that the manuals do not list as saturating",
    applies: |found| refused(found) && found.llvm.contains(" clamp"),
};
const WIDE_HALF: Exception = Exception {
    reason: "OP_SEL of an operand that is not 16 bits wide has no meaning",
    applies: |found| refused(found) && found.llvm.contains(" op_sel:["),
};

fn only_llvm(found: &Divergence, ours: &str) -> bool {
    found.kind == Kind::OnlyLlvmAccepts && found.ours.contains(ours)
}

/// Refused by us for a modifier.
fn refused(found: &Divergence) -> bool {
    only_llvm(found, "no meaning in this instruction")
        || only_llvm(found, "which this instruction does not take")
}

/// For instances of rows.
pub fn of_rows(target: Target) -> &'static [Exception] {
    match target {
        Target::Gfx950 => {
            &[LONG_NOP, FLOAT_OF_16_BITS, SWIZZLE, FLOAT_ATOMIC, SCALED_CONVERSION, MX_AT_THE_END]
        }
        Target::Gfx1100 => &[
            LONG_NOP,
            FLOAT_OF_16_BITS,
            ALIGN_FLOAT,
            SWIZZLE,
            MARKED_LITERAL,
            WAIT_BY_REGISTER,
            TIED_HALF,
            LITERAL_LANE,
            MIXED_DPP,
            WMMA_CONSTANT,
            TWO_VCC,
        ],
    }
}

/// For random bytes.
pub fn of_bytes(target: Target) -> &'static [Exception] {
    match target {
        Target::Gfx950 => &[
            FLOAT_ATOMIC,
            MESSAGE_WITHOUT_NAME,
            END_NUMBER,
            PACKED_FMAC,
            MX_FORMAT,
            MX_AT_THE_END,
            ZERO_OFFSET,
            SCALED_CONVERSION,
            DOT_HALVES,
            EXEC_ADDRESS,
            READ_ONLY_RESULT,
            INTEGER_SIGN,
            INTEGER_SCALE,
            INTEGER_CLAMP,
            WIDE_HALF,
        ],
        Target::Gfx1100 => &[
            MIXED_DPP,
            WMMA_CONSTANT,
            DELAY_WITHOUT_NAME,
            MESSAGE_WITHOUT_NAME,
            SMALL_K,
            END_NUMBER,
            GDS,
            TFE,
            LDS_DIRECT,
            READ_ONLY_RESULT,
            INTEGER_SIGN,
            RELATIVE_CONSTANT,
            MATRIX_HALVES,
            INTEGER_SCALE,
            INTEGER_CLAMP,
            WIDE_HALF,
        ],
    }
}
