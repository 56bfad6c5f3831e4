//! What bytes that are no instruction resemble.

use std::fmt;

use super::index;
use crate::format::{self, Encoding, Layout};
use crate::target::Target;

/// The row of the tables that bytes resemble most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The format that the leading bits name, or come closest to.
    pub encoding: Encoding,
    /// What the opcode field of that format holds.
    pub opcode: u32,
    /// Mnemonic of the row with that opcode, or with the closest one.
    pub mnemonic: &'static str,
    /// The opcode of that row.
    pub row_opcode: u32,
    /// The other target, and its mnemonic, if the bytes are an instruction there.
    pub elsewhere: Option<(Target, &'static str)>,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = segment(self.encoding);
        write!(
            f,
            "{prefix}{}, opcode {:#x} of {:?}",
            self.mnemonic, self.row_opcode, self.encoding
        )?;
        if self.row_opcode != self.opcode {
            write!(f, " (here {:#x})", self.opcode)?;
        }
        match self.elsewhere {
            Some((target, mnemonic)) => write!(f, "; on {target} these bytes are {mnemonic}"),
            None => Ok(()),
        }
    }
}

/// What a mnemonic of the row starts with in this encoding.
fn segment(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Flat => "flat_",
        Encoding::Global => "global_",
        Encoding::Scratch => "scratch_",
        _ => "",
    }
}

/// The instruction that the bytes at the start of `code` resemble most: of the format whose identifying
/// bits differ least, the row whose opcode is closest (the lower one of two). `None` without four bytes.
pub fn nearest(target: Target, code: &[u8]) -> Option<Nearest> {
    let mut bytes = [0; 16];
    let n_bytes = code.len().min(16);
    bytes[..n_bytes].copy_from_slice(&code[..n_bytes]);
    let words = u128::from_le_bytes(bytes);
    if n_bytes < 4 {
        return None;
    }
    let distance = |layout: &&Layout| ((words ^ layout.prefix) & layout.prefix_mask).count_ones();
    let with_rows =
        format::layouts(target).iter().filter(|layout| layout.encoding != Encoding::Vopd);
    let layout = format::identify(target, words)
        .filter(|layout| layout.encoding != Encoding::Vopd)
        .or_else(|| with_rows.min_by_key(distance))?;
    let opcode = layout.opcode.get(words);
    let (row_opcode, row) = index::closest(target, layout.encoding, opcode)?;
    let other = Target::ALL.into_iter().filter(|other| *other != target);
    let elsewhere = other.filter_map(|other| {
        let inst = super::decode(other, code).ok()?;
        Some((other, inst.row().form(other)?.mnemonic))
    });
    Some(Nearest {
        encoding: layout.encoding,
        opcode,
        mnemonic: row.form(target)?.mnemonic,
        row_opcode,
        elsewhere: elsewhere.into_iter().next(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(target: Target, words: &[u32]) -> String {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(super::super::decode(target, &code).is_err(), "{words:x?} is an instruction");
        nearest(target, &code).expect("four bytes").to_string()
    }

    #[test]
    fn an_unknown_opcode_has_a_neighbour() {
        // VOP1 0x7f on both targets; the highest opcodes are v_cvt_f32_bf16 and v_cvt_u32_u16.
        let vop1 = 0x7e00_0000 | 0x7f << 9;
        assert_eq!(
            text(Target::Gfx950, &[vop1]),
            "v_cvt_f32_bf16, opcode 0x5b of Vop1 (here 0x7f)"
        );
        assert_eq!(
            text(Target::Gfx1100, &[vop1]),
            "v_cvt_u32_u16, opcode 0x6b of Vop1 (here 0x7f)"
        );
        // GLOBAL 0x7f: both targets name the segment.
        let global = [0xdc00_8000 | 0x7f << 18, 0];
        assert!(text(Target::Gfx950, &global).starts_with("global_load_lds_dwordx3, opcode 0x7e"));
    }

    #[test]
    fn bytes_of_the_other_target_are_recognised() {
        // VOP1 0x67, v0 to v0: gfx950 has no opcode as high.
        let text = text(Target::Gfx950, &[0x7e00_0100 | 0x67 << 9]);
        assert!(text.ends_with("; on gfx1100 these bytes are v_permlane64_b32"), "{text}");
    }

    #[test]
    fn a_known_opcode_with_wrong_fields_is_named() {
        // v_add_f32 of gfx1100 in VOP3 with a reserved bit of its opcode space set.
        let code = [0xd503_0000_u32 | 0x0000_1000, 0x0002_0501];
        assert!(text(Target::Gfx1100, &code).starts_with("v_add_f32, opcode 0x103 of Vop3"));
        assert_eq!(nearest(Target::Gfx950, &[0, 1, 2]), None);
    }
}
