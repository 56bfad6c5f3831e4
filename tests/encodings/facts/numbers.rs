//! Numbers of registers, constants, DPP controls and wait counts, and the alignment of tuples, against
//! LLVM, over the whole range of their codes.

use isa::inst::{DppCtrl, Inst};
use isa::reg::{InlineFloat, SpecialReg};
use isa::waits::WaitCounts;
use isa::{Operand, Target, decode, disassemble};

use super::{Checked, must_report};
use crate::witness::Witness;

fn decoded(target: Target, words: &[u32]) -> Inst {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    decode(target, &bytes).expect("an instruction of both targets")
}

/// LLVM's text of each code in an instruction, where its own assembler takes the text back.
fn texts(witness: &Witness, pieces: &[Vec<u8>]) -> Vec<Option<String>> {
    let texts: Vec<_> =
        witness.disassemble(pieces).into_iter().map(|line| line.text.unwrap_or_default()).collect();
    let again = witness.assemble(&texts);
    let kept = texts.into_iter().zip(again).zip(pieces);
    kept.map(|((text, again), piece)| Some(text).filter(|_| again.as_ref() == Ok(piece))).collect()
}

/// Codes of scalar operands that are no VGPR and announce no literal.
const SCALAR_CODES: std::ops::Range<u32> = 0..254;

/// A mapping of scalar codes to operands: registers, special registers, inline constants.
fn check_scalar_codes(witness: &Witness, operand: impl Fn(u32) -> Option<Operand>) -> Checked {
    // s_mov_b32 s0, CODE: SOP1, opcode 0 on both targets.
    const S_MOV_B32_S0: u32 = 0xbe80_0000;
    let s_mov_b32 = match witness.target {
        Target::Gfx950 => S_MOV_B32_S0,
        Target::Gfx1100 => S_MOV_B32_S0,
    };
    let pieces: Vec<Vec<u8>> =
        SCALAR_CODES.map(|code| (s_mov_b32 | code).to_le_bytes().to_vec()).collect();
    let template = decoded(witness.target, &[s_mov_b32]);
    for (code, llvm) in SCALAR_CODES.zip(texts(witness, &pieces)) {
        let ours = operand(code).map(|operand| {
            let mut inst = template;
            inst.operands[1] = operand;
            disassemble(witness.target, &inst)
        });
        if ours != llvm {
            return Err(format!("code {code} is {ours:?}, LLVM's {llvm:?}"));
        }
    }
    Ok(())
}

/// The bits of inline floats against the number that LLVM prints.
fn check_inline_bits(witness: &Witness, bits: impl Fn(InlineFloat) -> u32) -> Checked {
    let template = decoded(witness.target, &[0xbe80_0000]);
    for value in InlineFloat::ALL {
        let mut inst = template;
        inst.operands[1] = Operand::Float(value);
        let code = isa::encode(witness.target, &inst).map_err(|error| error.to_string())?.to_vec();
        let text = witness.disassemble(&[code]).remove(0).text.unwrap_or_default();
        let number = text.rsplit(' ').next().unwrap_or_default();
        let printed: f32 = number.parse().map_err(|_| format!("'{number}' is no number"))?;
        if printed.to_bits() != bits(value) {
            return Err(format!("{value:?} is {:#x}, LLVM's {number}", bits(value)));
        }
    }
    Ok(())
}

/// A mapping of DPP_CTRL values to patterns.
fn check_dpp_codes(witness: &Witness, ctrl: impl Fn(u32) -> Option<DppCtrl>) -> Checked {
    // v_mov_b32_dpp v0, v1 with all rows and banks: VOP1, SRC0 0xfa, then the control dword.
    const V_MOV_B32_DPP: u32 = 0x7e00_02fa;
    let dword = |code: u32| 0xff00_0001 | code << 8;
    let codes = 0..0x200;
    let words = |code| [V_MOV_B32_DPP, dword(code)].map(u32::to_le_bytes).concat();
    let pieces: Vec<Vec<u8>> = codes.clone().map(words).collect();
    let template = decoded(witness.target, &[V_MOV_B32_DPP, dword(0)]);
    for (code, llvm) in codes.zip(texts(witness, &pieces)) {
        let ours = ctrl(code).map(|ctrl| {
            let mut inst = template;
            if let Some(dpp) = &mut inst.mods.dpp {
                dpp.ctrl = ctrl;
            }
            disassemble(witness.target, &inst)
        });
        if ours != llvm {
            return Err(format!("DPP_CTRL {code:#x} is {ours:?}, LLVM's {llvm:?}"));
        }
    }
    Ok(())
}

/// The count that LLVM prints for a counter; a counter at its maximum is not printed.
fn printed(text: &str, counter: &str, max: u32) -> u32 {
    let count = text.split(' ').find_map(|word| word.strip_prefix(counter)?.strip_suffix(')'));
    count.and_then(|count| count.parse().ok()).unwrap_or(max)
}

/// The fields of S_WAITCNT.
fn check_wait_counts(witness: &Witness, counts: impl Fn(u16) -> WaitCounts) -> Checked {
    let s_waitcnt: u32 = match witness.target {
        Target::Gfx950 => 0xbf8c_0000,
        Target::Gfx1100 => 0xbf89_0000,
    };
    let imms = || (0..=u16::MAX).step_by(7);
    let pieces: Vec<Vec<u8>> =
        imms().map(|imm| (s_waitcnt | u32::from(imm)).to_le_bytes().to_vec()).collect();
    let max = WaitCounts::none(witness.target);
    for (imm, line) in imms().zip(witness.disassemble(&pieces)) {
        let text = line.text.unwrap_or_default();
        let llvm = WaitCounts {
            vm: printed(&text, "vmcnt(", max.vm),
            exp: printed(&text, "expcnt(", max.exp),
            lgkm: printed(&text, "lgkmcnt(", max.lgkm),
        };
        // LLVM writes out everything where everything is at its maximum.
        if counts(imm) != llvm {
            return Err(format!("{imm:#x} is {:?}, LLVM's {text}", counts(imm)));
        }
    }
    Ok(())
}

/// Where tuples may start.
fn check_alignment(witness: &Witness, fits: impl Fn(Operand, u32) -> bool) -> Checked {
    let loads: [(&str, u32); 4] = match witness.target {
        Target::Gfx950 => [("dword", 1), ("dwordx2", 2), ("dwordx3", 3), ("dwordx4", 4)],
        Target::Gfx1100 => [("b32", 1), ("b64", 2), ("b96", 3), ("b128", 4)],
    };
    let mut cases = Vec::new();
    for (suffix, registers) in loads {
        for first in (0..8).chain(250..256) {
            let last = first + registers - 1;
            let line = format!("global_load_{suffix} v[{first}:{last}], v0, s[0:1]");
            cases.push((line, Operand::Vgpr(first as u8), registers));
            if registers != 3 && first < 8 {
                let line = format!("s_load_{suffix} s[{first}:{last}], s[0:1], 0x0");
                cases.push((line, Operand::Sgpr(first as u8), registers));
            }
        }
    }
    let lines: Vec<String> = cases.iter().map(|(line, ..)| line.clone()).collect();
    for ((line, operand, registers), llvm) in cases.into_iter().zip(witness.assemble(&lines)) {
        if fits(operand, registers) != llvm.is_ok() {
            return Err(format!("alignment: LLVM says {llvm:?} to {line}"));
        }
    }
    Ok(())
}

#[test]
fn numbers_agree_with_llvm() {
    for target in Target::ALL {
        let witness = Witness::new(target);
        let checks = [
            check_scalar_codes(&witness, |code| Operand::from_scalar_code(target, code)),
            check_inline_bits(&witness, InlineFloat::bits32),
            check_dpp_codes(&witness, |code| DppCtrl::from_code(target, code)),
            check_wait_counts(&witness, |imm| WaitCounts::from_imm(target, imm)),
            check_alignment(&witness, |operand, registers| operand.fits_tuple(registers, target)),
        ];
        for check in checks {
            check.unwrap_or_else(|words| panic!("{target}: {words}"));
        }
    }
}

#[test]
fn a_planted_error_in_a_number_is_reported() {
    for target in Target::ALL {
        let witness = Witness::new(target);
        let right = |code| Operand::from_scalar_code(target, code);
        let special = |code| match right(code) {
            Some(Operand::Special(SpecialReg::VccLo)) => Some(SpecialReg::VccHi.into()),
            other => other,
        };
        must_report("special register", check_scalar_codes(&witness, special), "code 106");
        let constant = |code| match right(code) {
            Some(Operand::Int(-16)) => Some(Operand::Int(-15)),
            other => other,
        };
        must_report("inline integer", check_scalar_codes(&witness, constant), "code 208");
        let bits = |value| match value {
            InlineFloat::Two => 0x4000_0001,
            other => other.bits32(),
        };
        must_report("inline float", check_inline_bits(&witness, bits), "Two");
        let dpp = |code| match DppCtrl::from_code(target, code) {
            Some(DppCtrl::RowShl(n)) => Some(DppCtrl::RowShr(n)),
            other => other,
        };
        must_report("DPP control", check_dpp_codes(&witness, dpp), "DPP_CTRL 0x101");
        let waits = |imm| {
            let right = WaitCounts::from_imm(target, imm);
            WaitCounts { vm: right.vm & 0xf, ..right }
        };
        must_report("wait counter field", check_wait_counts(&witness, waits), "vmcnt");
        let alignment = |operand: Operand, registers: u32| match operand {
            Operand::Sgpr(_) => operand.fits_tuple(registers.min(2), target),
            _ => operand.fits_tuple(registers, target),
        };
        must_report("alignment rule", check_alignment(&witness, alignment), "alignment");
    }
}
