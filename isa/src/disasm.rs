//! Instructions to text in LLVM's spelling.
//!
//! Deviations from LLVM 22's disassembler: graphics messages of gfx950, and messages and S_DELAY_ALU hints
//! without a name, are printed by number.

mod modifiers;
mod operand;

use std::fmt;

use crate::decode::index::long_form;
use crate::format::Encoding;
use crate::inst::Inst;
use crate::reg::Operand;
use crate::table::Op;
use crate::table::dual;
use crate::target::Target;

/// The text of an instruction on `target`.
pub fn disassemble(target: Target, inst: &Inst) -> String {
    Text { target, inst }.to_string()
}

/// An instruction that displays itself as assembly.
struct Text<'a> {
    target: Target,
    inst: &'a Inst,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(y) = &self.inst.dual {
            let x = dual_mnemonic(self.inst.op);
            self.half(f, x, self.inst.op, &self.inst.operands)?;
            f.write_str(" :: ")?;
            return self.half(f, dual_mnemonic(y.op), y.op, &y.operands);
        }
        self.mnemonic(f)?;
        self.operands(f)?;
        self.modifiers(f)
    }
}

impl Text<'_> {
    fn mnemonic(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(form) = self.inst.row().form(self.target) else {
            return write!(f, "{:?}", self.inst.op);
        };
        let segment = match self.inst.encoding {
            Encoding::Flat => "flat_",
            Encoding::Global => "global_",
            Encoding::Scratch => "scratch_",
            _ => "",
        };
        write!(f, "{segment}{}{}", form.mnemonic, self.suffix(form.encoding))
    }

    /// The form suffix: present when the instruction has more than one form.
    fn suffix(&self, shortest: Encoding) -> &'static str {
        let mods = &self.inst.mods;
        let is_vector = matches!(
            shortest,
            Encoding::Vop1
                | Encoding::Vop2
                | Encoding::Vopc
                | Encoding::Vop3
                | Encoding::Vop3Sd
                | Encoding::Vop3p
        );
        let has_long_form = long_form(self.inst.row(), self.target).is_some();
        let is_long =
            matches!(self.inst.encoding, Encoding::Vop3 | Encoding::Vop3Sd | Encoding::Vop3p);
        match (mods.sdwa.is_some(), mods.dpp.is_some()) {
            _ if !is_vector || self.inst.row().operands.is_empty() => "",
            (true, _) => "_sdwa",
            (_, true) if is_long => "_e64_dpp",
            (_, true) if shortest == Encoding::Vopc => "",
            (_, true) => "_dpp",
            _ if is_long && has_long_form => "_e64",
            _ if has_long_form => "_e32",
            _ => "",
        }
    }

    fn operands(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = " ";
        for index in 0..self.inst.row().operands.len() {
            if self.is_hidden(index) {
                continue;
            }
            f.write_str(separator)?;
            self.operand(f, index)?;
            separator = ", ";
        }
        Ok(())
    }

    fn half(
        &self,
        f: &mut fmt::Formatter<'_>,
        mnemonic: &str,
        op: Op,
        operands: &[Operand],
    ) -> fmt::Result {
        f.write_str(mnemonic)?;
        let shown = op
            .row()
            .operands
            .iter()
            .zip(operands)
            .filter(|(spec, _)| spec.ty != crate::table::Ty::Mask);
        for (index, (spec, operand)) in shown.enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            operand::of_half(f, self.target, *operand, *spec)?;
        }
        Ok(())
    }
}

fn dual_mnemonic(op: Op) -> &'static str {
    dual::by_op(op).map_or("", |row| row.mnemonic)
}
