//! Modifiers after the operands.

use std::fmt;

use super::Text;
use super::operand::is_vector;
use crate::format::Encoding;
use crate::format::Field;
use crate::inst::Dpp;
use crate::inst::DppCtrl;
use crate::inst::OutputScale;
use crate::inst::Sdwa;
use crate::inst::SdwaSel;
use crate::inst::SdwaUnused;
use crate::rules;
use crate::swizzle::Swizzle;
use crate::table::Effect;
use crate::table::Element;
use crate::table::Ty;
use crate::target::Target;

impl Text<'_> {
    pub(super) fn modifiers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.inst.encoding {
            Encoding::Vop3p => self.packed(f),
            Encoding::Vop3pMai | Encoding::Vop3pMx => self.matrix(f),
            encoding if is_vector(encoding) => self.vector(f),
            Encoding::Smem => self.cache(f),
            Encoding::Ds => self.lds_offsets(f),
            Encoding::Flat | Encoding::Global | Encoding::Scratch => self.address(f),
            Encoding::Mubuf => self.buffer(f),
            _ => Ok(()),
        }
    }

    fn vector(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mods, row) = (&self.inst.mods, self.inst.row());
        if row.has(Effect::TruthTable) && mods.truth_table != 0 {
            let prefix = if mods.truth_table < 10 { "" } else { "0x" };
            write!(f, " bitop3:{prefix}{:x}", mods.truth_table)?;
        }
        self.op_sel(f)?;
        flag(f, mods.clamp, "clamp")?;
        match mods.omod {
            OutputScale::One => {}
            OutputScale::Mul2 => f.write_str(" mul:2")?,
            OutputScale::Mul4 => f.write_str(" mul:4")?,
            OutputScale::Div2 => f.write_str(" div:2")?,
        }
        self.extension(f)
    }

    /// OP_SEL of VOP3: one bit a source, then the destination's. Short encodings show halves only.
    fn op_sel(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_long = matches!(self.inst.encoding, Encoding::Vop3 | Encoding::Vop3Sd);
        let bits = self.inst.mods.op_sel;
        let selects_by_mask =
            self.inst.row().operands.iter().any(|spec| !spec.is_dst && spec.ty == Ty::Mask);
        if !is_long || bits == 0 || selects_by_mask {
            return Ok(());
        }
        let sources = self.source_count();
        let row = self.inst.row();
        if row.has(Effect::LaneFlags) && self.target == Target::Gfx950 {
            flag(f, bits & 2 != 0, "bound_ctrl:1")?;
            return flag(f, bits & 1 != 0, "fi:1");
        }
        let is_mask = row.operands.first().is_some_and(|spec| spec.ty == Ty::Mask);
        let has_no_text = is_mask && (self.inst.mods.dpp.is_some() || self.is_hidden(0));
        let has_destination = !(row.has(Effect::LaneFlags) || has_no_text);
        let tied_sources = usize::from(row.has(Effect::ReadsDst));
        let mut shown: Vec<u8> =
            (0..sources + tied_sources).map(|source| bits >> source & 1).collect();
        if row.has(Effect::LaneFlags) {
            shown = vec![bits & 1, bits >> 1 & 1];
        }
        if has_destination {
            shown.push(bits >> 3 & 1);
        }
        list(f, "op_sel", &shown)
    }

    fn source_count(&self) -> usize {
        let specs = self.inst.row().operands.iter();
        specs.filter(|spec| !spec.is_dst && rules::modifier_index(spec.field).is_some()).count()
    }

    fn packed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mods, row) = (&self.inst.mods, self.inst.row());
        let sources = self.source_count();
        let of = |bits: u8| (0..sources).map(|source| bits >> source & 1).collect::<Vec<u8>>();
        let has_pairs = row.operands.iter().any(|spec| !spec.is_dst && spec.ty.is_packed());
        let takes_halves = has_pairs || rules::has_halved_fragment(row);
        let is_mixed = rules::is_mixed(row);
        let all_high = (1u8 << sources) - 1;
        let default_high = if is_mixed { 0 } else { all_high };
        if takes_halves && mods.op_sel != 0 {
            list(f, "op_sel", &of(mods.op_sel))?;
        }
        if takes_halves && mods.op_sel_hi & all_high != default_high {
            list(f, "op_sel_hi", &of(mods.op_sel_hi))?;
        }
        if !is_mixed && mods.neg != 0 {
            list(f, "neg_lo", &of(mods.neg))?;
        }
        if mods.neg_hi != 0 {
            list(f, "neg_hi", &of(mods.neg_hi))?;
        }
        flag(f, mods.clamp, "clamp")?;
        self.extension(f)
    }

    fn matrix(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mods, row) = (&self.inst.mods, self.inst.row());
        let is_f64 = row.operands.iter().any(|spec| matches!(spec.ty, Ty::Tile(Element::F64, _)));
        if self.inst.encoding == Encoding::Vop3pMx {
            self.scale_bytes(f)?;
        }
        let words = [("cbsz", mods.cbsz), ("abid", mods.abid), ("blgp", mods.blgp)];
        for (word, value) in words.into_iter().filter(|(_, value)| *value != 0) {
            match word {
                "blgp" if is_f64 => list(f, "neg", &[value & 1, value >> 1 & 1, value >> 2])?,
                _ => write!(f, " {word}:{value}")?,
            }
        }
        Ok(())
    }

    /// Which byte of its register each scale is: OP_SEL has the low bits, OP_SEL_HI the high ones.
    fn scale_bytes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (self.inst.mods.op_sel, self.inst.mods.op_sel_hi);
        if low != 0 {
            list(f, "op_sel", &[low & 1, low >> 1, 0])?;
        }
        list(f, "op_sel_hi", &[high & 1, high >> 1, 0])
    }

    fn extension(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mods = &self.inst.mods;
        match (&mods.dpp, &mods.sdwa) {
            (Some(dpp), _) => data_parallel(f, dpp),
            (None, Some(sdwa)) => self.sub_dword(f, sdwa),
            (None, None) => Ok(()),
        }
    }

    fn sub_dword(&self, f: &mut fmt::Formatter<'_>, sdwa: &Sdwa) -> fmt::Result {
        let row = self.inst.row();
        if self.inst.encoding != Encoding::Vopc && !row.has(Effect::NoDstSel) {
            let unused = match sdwa.dst_unused {
                SdwaUnused::Pad => "UNUSED_PAD",
                SdwaUnused::Sext => "UNUSED_SEXT",
                SdwaUnused::Preserve => "UNUSED_PRESERVE",
            };
            write!(f, " dst_sel:{} dst_unused:{unused}", select_name(sdwa.dst_sel))?;
        }
        write!(f, " src0_sel:{}", select_name(sdwa.src0_sel))?;
        if row.position(Field::Src1).is_some() {
            write!(f, " src1_sel:{}", select_name(sdwa.src1_sel))?;
        }
        Ok(())
    }

    fn lds_offsets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mods, row) = (&self.inst.mods, self.inst.row());
        if !row.has(Effect::TwoOffsets) {
            return if row.has(Effect::Swizzles) {
                swizzle(f, mods.offset)
            } else {
                offset(f, mods.offset)
            };
        }
        if mods.offset != 0 {
            write!(f, " offset0:{}", mods.offset)?;
        }
        if mods.offset1 != 0 {
            write!(f, " offset1:{}", mods.offset1)?;
        }
        Ok(())
    }

    fn address(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        offset(f, self.inst.mods.offset)?;
        self.cache(f)
    }

    fn buffer(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mods = &self.inst.mods;
        flag(f, mods.idxen, "idxen")?;
        flag(f, mods.offen, "offen")?;
        offset(f, mods.offset)?;
        self.cache(f)?;
        flag(f, mods.lds, "lds")
    }

    fn cache(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cache = &self.inst.mods.cache;
        let words = match self.target {
            Target::Gfx950 => {
                [(cache.sc0, "sc0"), (cache.nt, "nt"), (cache.sc1, "sc1"), (cache.glc, "glc")]
            }
            Target::Gfx1100 => {
                [(cache.glc, "glc"), (cache.slc, "slc"), (cache.dlc, "dlc"), (false, "")]
            }
        };
        words.into_iter().try_for_each(|(is_set, word)| flag(f, is_set, word))
    }
}

fn flag(f: &mut fmt::Formatter<'_>, is_set: bool, word: &str) -> fmt::Result {
    if is_set { write!(f, " {word}") } else { Ok(()) }
}

fn offset(f: &mut fmt::Formatter<'_>, bytes: i32) -> fmt::Result {
    if bytes != 0 { write!(f, " offset:{bytes}") } else { Ok(()) }
}

fn list(f: &mut fmt::Formatter<'_>, name: &str, values: &[u8]) -> fmt::Result {
    let words: Vec<String> = values.iter().map(u8::to_string).collect();
    write!(f, " {name}:[{}]", words.join(","))
}

fn data_parallel(f: &mut fmt::Formatter<'_>, dpp: &Dpp) -> fmt::Result {
    match dpp.ctrl {
        DppCtrl::Dpp8(select) => {
            list(f, "dpp8", &select)?;
            return flag(f, dpp.fetch_inactive, "fi:1");
        }
        DppCtrl::QuadPerm(select) => list(f, "quad_perm", &select)?,
        DppCtrl::RowShl(n) => write!(f, " row_shl:{n}")?,
        DppCtrl::RowShr(n) => write!(f, " row_shr:{n}")?,
        DppCtrl::RowRor(n) => write!(f, " row_ror:{n}")?,
        DppCtrl::WaveShl => f.write_str(" wave_shl:1")?,
        DppCtrl::WaveRol => f.write_str(" wave_rol:1")?,
        DppCtrl::WaveShr => f.write_str(" wave_shr:1")?,
        DppCtrl::WaveRor => f.write_str(" wave_ror:1")?,
        DppCtrl::RowMirror => f.write_str(" row_mirror")?,
        DppCtrl::RowHalfMirror => f.write_str(" row_half_mirror")?,
        DppCtrl::RowBcast15 => f.write_str(" row_bcast:15")?,
        DppCtrl::RowBcast31 => f.write_str(" row_bcast:31")?,
        DppCtrl::RowNewbcast(n) => write!(f, " row_newbcast:{n}")?,
        DppCtrl::RowShare(n) => write!(f, " row_share:{n}")?,
        DppCtrl::RowXmask(n) => write!(f, " row_xmask:{n}")?,
    }
    write!(f, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask)?;
    flag(f, dpp.bound_ctrl, "bound_ctrl:1")?;
    flag(f, dpp.fetch_inactive, "fi:1")
}

fn select_name(select: SdwaSel) -> &'static str {
    match select {
        SdwaSel::Byte0 => "BYTE_0",
        SdwaSel::Byte1 => "BYTE_1",
        SdwaSel::Byte2 => "BYTE_2",
        SdwaSel::Byte3 => "BYTE_3",
        SdwaSel::Word0 => "WORD_0",
        SdwaSel::Word1 => "WORD_1",
        SdwaSel::Dword => "DWORD",
    }
}

fn swizzle(f: &mut fmt::Formatter<'_>, offset_field: i32) -> fmt::Result {
    let pattern = u16::try_from(offset_field).ok().and_then(Swizzle::from_offset);
    match pattern {
        Some(pattern) if offset_field != 0 => write!(f, " offset:{pattern}"),
        _ => offset(f, offset_field),
    }
}
