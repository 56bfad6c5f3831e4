//! Opcode to row.

use std::sync::OnceLock;

use crate::format::Encoding;
use crate::table::Effect;
use crate::table::Op;
use crate::table::Row;
use crate::target::Target;

/// A row and the encoding that an opcode stands for.
type Entry = Option<(&'static Row, Encoding)>;

/// By opcode; no opcode field is wider than 10 bits.
type Opcodes = Vec<Entry>;

/// By the position of the format in [`CLASSES`].
type Index = Vec<Opcodes>;

/// Formats whose opcodes are separate spaces. VOP3SD shares VOP3's, VOP3P-MAI shares VOP3P's, FLAT and
/// SCRATCH share GLOBAL's.
const CLASSES: [Encoding; 14] = [
    Encoding::Sop1,
    Encoding::Sop2,
    Encoding::Sopc,
    Encoding::Sopk,
    Encoding::Sopp,
    Encoding::Smem,
    Encoding::Vop1,
    Encoding::Vop2,
    Encoding::Vopc,
    Encoding::Vop3,
    Encoding::Vop3p,
    Encoding::Vop3pMx,
    Encoding::Ds,
    Encoding::Mubuf,
];
const GLOBAL_CLASS: usize = CLASSES.len();

/// The row with `opcode` in format `class`, and its encoding.
pub(super) fn find(target: Target, class: Encoding, opcode: u32) -> Entry {
    static GFX950: OnceLock<Index> = OnceLock::new();
    static GFX1100: OnceLock<Index> = OnceLock::new();
    let index = match target {
        Target::Gfx950 => GFX950.get_or_init(|| build(Target::Gfx950)),
        Target::Gfx1100 => GFX1100.get_or_init(|| build(Target::Gfx1100)),
    };
    let (row, encoding) = (*index.get(class_number(class)?)?.get(opcode as usize)?)?;
    let is_segment = matches!(class, Encoding::Flat | Encoding::Scratch);
    let is_scratch_atomic = class == Encoding::Scratch && row.has(Effect::Atomic);
    if is_segment && row.has(Effect::GlobalOnly) || is_scratch_atomic {
        return None;
    }
    Some((row, if is_segment { class } else { encoding }))
}

/// The opcode of format `class` that has a row and is closest to `opcode`, and that row.
pub(super) fn closest(target: Target, class: Encoding, opcode: u32) -> Option<(u32, &'static Row)> {
    let rows = (0..1024).filter_map(|known| Some((known, find(target, class, known)?.0)));
    rows.min_by_key(|(known, _)| known.abs_diff(opcode))
}

fn class_number(encoding: Encoding) -> Option<usize> {
    let class = match encoding {
        Encoding::Vop3Sd => Encoding::Vop3,
        Encoding::Vop3pMai => Encoding::Vop3p,
        Encoding::Flat | Encoding::Scratch | Encoding::Global => return Some(GLOBAL_CLASS),
        other => other,
    };
    CLASSES.iter().position(|known| *known == class)
}

fn build(target: Target) -> Index {
    let mut index = vec![vec![None; 1024]; CLASSES.len() + 1];
    for row in Op::rows() {
        let Some(form) = row.form(target) else { continue };
        let long = long_form(row, target).map(|opcode| (long_encoding(row), opcode));
        for (encoding, opcode) in std::iter::once((form.encoding, form.opcode)).chain(long) {
            if let Some(class) = class_number(encoding) {
                index[class][usize::from(opcode)] = Some((row, encoding));
            }
        }
    }
    index
}

/// The opcode of the VOP3 form of a VOP1, VOP2 or VOPC row.
///
/// Source: ISA manuals, "VOP3": VOPC opcodes stay, VOP2 opcodes follow at 256, VOP1 opcodes at 320
/// (CDNA3) or 384 (RDNA3).
pub(crate) fn long_form(row: &Row, target: Target) -> Option<u16> {
    let has_none =
        row.has(Effect::ShortOnly) || target == Target::Gfx1100 && row.has(Effect::NoLongGfx1100);
    let form = row.form(target).filter(|_| !has_none)?;
    let vop1_base = match target {
        Target::Gfx950 => 0x140,
        Target::Gfx1100 => 0x180,
    };
    match form.encoding {
        Encoding::Vopc => Some(form.opcode),
        Encoding::Vop2 => Some(0x100 + form.opcode),
        Encoding::Vop1 => Some(vop1_base + form.opcode),
        _ => None,
    }
}

/// VOP3SD for VOP2 rows with a carry-out.
pub(crate) fn long_encoding(row: &Row) -> Encoding {
    let has_both = row.position(crate::format::Field::Vdst).is_some()
        && row.position(crate::format::Field::Sdst).is_some();
    if has_both { Encoding::Vop3Sd } else { Encoding::Vop3 }
}
