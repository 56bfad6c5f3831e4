//! Which modifier bits an instruction may carry: what decoding accepts and encoding writes.
//!
//! Stricter than LLVM 22 on purpose: NEG and ABS need a float source, OMOD a float result, CLAMP a float
//! or an integer operation that the manual lists as saturating. LLVM also accepts some of these bits
//! where the hardware gives them no meaning; here they are an error, not a guess.

use crate::format::Encoding;
use crate::format::Field;
use crate::inst::Modifiers;
use crate::inst::OutputScale;
use crate::table::Effect;
use crate::table::Row;
use crate::table::Ty;
use crate::target::Target;

/// The number of a source or destination in per-operand modifier bits: SRC0–2 are 0–2, VDST is 3.
pub(crate) fn modifier_index(field: Field) -> Option<u32> {
    match field {
        Field::Src0 | Field::Vsrc0 | Field::Ssrc0 => Some(0),
        Field::Src1 | Field::Ssrc1 => Some(1),
        Field::Src2 | Field::Ssrc2 => Some(2),
        Field::Vdst => Some(3),
        _ => None,
    }
}

/// Modifier bits of the sources whose type satisfies `accepts`.
fn source_bits(row: &Row, accepts: impl Fn(Ty) -> bool) -> u32 {
    let sources = row.operands.iter().filter(|spec| !spec.is_dst && accepts(spec.ty));
    sources.filter_map(|spec| modifier_index(spec.field)).fold(0, |bits, index| bits | 1 << index)
}

/// Bits of NEG in the long encodings.
fn neg_bits(row: &Row, encoding: Encoding) -> u32 {
    let is_packed_format = encoding == Encoding::Vop3p;
    source_bits(row, |ty| match ty {
        Ty::Tile(element, _) if element.is_signed_by_neg() => true,
        Ty::Iu8x4 => is_packed_format,
        _ => ty.is_float(),
    })
}

/// Bits of OP_SEL in VOP3: 16-bit operands, destination included. On gfx950 only instructions that have
/// no shorter encoding have it, the "legacy" ones excepted (CDNA3 ISA manual, "OPSEL").
fn op_sel_bits(row: &Row, encoding: Encoding, target: Target) -> u32 {
    if row.has(Effect::LaneFlags) {
        return 0b11;
    }
    if encoding == Encoding::Vop3pMx {
        return 0b11;
    }
    if encoding == Encoding::Vop3p {
        if has_halved_fragment(row) {
            return 0b100;
        }
        let is_packed = row.operands.iter().any(|spec| !spec.is_dst && spec.ty.is_packed());
        return if is_packed { source_bits(row, |_| true) } else { 0 };
    }
    let has_long_form_only = row.form(target).is_some_and(|form| form.encoding == Encoding::Vop3);
    if target == Target::Gfx950 && (!has_long_form_only || row.has(Effect::ZeroesHigh)) {
        return 0;
    }
    let halves = row.operands.iter().filter(|spec| spec.ty.is_16_bit());
    halves.filter_map(|spec| modifier_index(spec.field)).fold(0, |bits, index| bits | 1 << index)
}

/// Whether the result is a fragment of WMMA with one 16-bit element a register: OP_SEL of C chooses the
/// half (RDNA3 ISA manual, "WMMA").
pub(crate) fn has_halved_fragment(row: &Row) -> bool {
    let result = row.operands.first().filter(|spec| spec.is_dst);
    result.is_some_and(|spec| matches!(spec.ty, Ty::Tile(element, _) if element.bits() == 16))
}

/// Bits of CBSZ, ABID and BLGP. Sparse rows have no BLGP; f8f6f4 rows hold formats in CBSZ and BLGP and
/// have no ABID.
fn matrix_bits(row: &Row, field: Field) -> u32 {
    let is_mx = row.operands.iter().any(|spec| spec.ty == Ty::MxA);
    let is_sparse = row.has(Effect::ReadsDst);
    match field {
        Field::Abid if is_mx => 0,
        Field::Blgp if is_sparse => 0,
        _ => u32::MAX,
    }
}

fn takes_clamp(row: &Row) -> bool {
    let is_float = row.operands.iter().any(|spec| spec.ty.is_float());
    row.has(Effect::Clamps) || is_float && !row.has(Effect::NoClamp)
}

fn takes_omod(row: &Row, encoding: Encoding) -> bool {
    let result = row.operands.first().filter(|spec| spec.is_dst);
    encoding != Encoding::Vop3p && result.is_some_and(|spec| spec.ty.is_float())
}

/// The bits of a modifier field that may be set; the others must be zero.
pub(crate) fn allowed(row: &Row, encoding: Encoding, target: Target, field: Field) -> u32 {
    const ALL: u32 = u32::MAX;
    let when = |condition: bool| if condition { ALL } else { 0 };
    let has_truth_table = row.has(Effect::TruthTable);
    let has_address = row
        .operands
        .iter()
        .any(|spec| matches!(spec.field, Field::Sbase | Field::Addr | Field::Vaddr))
        || encoding == Encoding::Ds;
    match field {
        Field::Neg | Field::Abs | Field::Omod if has_truth_table => ALL,
        Field::Neg => neg_bits(row, encoding),
        Field::Abs => source_bits(row, Ty::is_float),
        Field::NegHi => source_bits(row, Ty::is_float),
        Field::OpSel => op_sel_bits(row, encoding, target),
        Field::OpSelHi | Field::OpSelHi2 => ALL,
        Field::Clamp => when(takes_clamp(row)),
        Field::Omod => when(takes_omod(row, encoding)),
        Field::Offset if encoding == Encoding::Flat => 0xfff,
        Field::Offset | Field::Glc | Field::Dlc | Field::Slc | Field::Nt => when(has_address),
        Field::Offen | Field::Idxen => when(has_address),
        Field::Sc0 | Field::Sc1 => ALL,
        Field::LdsBit => when(row.has(Effect::ToLds)),
        Field::Cbsz | Field::Abid | Field::Blgp => matrix_bits(row, field),
        _ => 0,
    }
}

/// Whether a row may move lanes of its source 0 in this encoding.
///
/// Sources: CDNA3 ISA manual, "DPP" (VOP1 and VOP2 only); RDNA3 ISA manual, "DPP" (no 64-bit operands, no
/// packed results).
pub(crate) fn takes_dpp(row: &Row, encoding: Encoding, target: Target) -> bool {
    let has_source = row.position(Field::Src0).is_some();
    let has_packed_result = row.operands.first().is_some_and(|spec| spec.ty.is_packed());
    let takes_format = match (target, encoding) {
        (Target::Gfx950, Encoding::Vop1 | Encoding::Vop2) => true,
        (Target::Gfx1100, Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc) => {
            is_narrow(row, target)
        }
        (Target::Gfx1100, Encoding::Vop3 | Encoding::Vop3Sd) => is_narrow(row, target),
        (Target::Gfx1100, Encoding::Vop3p) => is_narrow(row, target) && !has_packed_result,
        _ => false,
    };
    takes_format && has_source && !row.has(Effect::ShortOnly) && !row.has(Effect::NoDpp)
}

/// Whether no operand of a row is wider than a register, lane masks aside.
///
/// gfx950 moves lanes of wider operands only with ROW_NEWBCAST. Source: CDNA3 ISA manual, "DPP".
pub(crate) fn is_narrow(row: &Row, target: Target) -> bool {
    row.operands.iter().all(|spec| spec.ty == Ty::Mask || spec.ty.bits(target) <= 32)
}

/// Whether a row has a form with sub-dword addressing; accumulating rows have none.
pub(crate) fn takes_sdwa(row: &Row, encoding: Encoding, target: Target) -> bool {
    let is_short = matches!(encoding, Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc);
    let has_source = row.position(Field::Src0).is_some();
    let is_excluded = row.has(Effect::ShortOnly) || row.has(Effect::ReadsDst);
    let fits = is_narrow(row, target) || row.has(Effect::NoDstSel);
    target == Target::Gfx950 && is_short && has_source && fits && !is_excluded
}

/// Whether a 16-bit VGPR operand holds its half in bit 7 of the register number.
///
/// Source: RDNA3 ISA manual, "16-bit VGPR operands".
pub(crate) fn has_half_bit(ty: Ty, encoding: Encoding, target: Target) -> bool {
    let is_short = matches!(encoding, Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc);
    target == Target::Gfx1100 && is_short && ty.is_16_bit()
}

impl OutputScale {
    /// By the value of OMOD.
    pub(crate) const ALL: [OutputScale; 4] =
        [OutputScale::One, OutputScale::Mul2, OutputScale::Mul4, OutputScale::Div2];
}

impl Modifiers {
    /// The value of a modifier field. OFFSET is raw: the caller knows its width and sign.
    pub(crate) fn get(&self, field: Field, row: &Row) -> u32 {
        let has_truth_table = row.has(Effect::TruthTable);
        let table = u32::from(self.truth_table);
        match field {
            Field::Neg if has_truth_table => table & 7,
            Field::Abs if has_truth_table => table >> 3 & 7,
            Field::Omod if has_truth_table => table >> 6,
            Field::Neg => self.neg.into(),
            Field::Abs => self.abs.into(),
            Field::NegHi if is_mixed(row) => self.abs.into(),
            Field::NegHi => self.neg_hi.into(),
            Field::OpSel => self.op_sel.into(),
            Field::OpSelHi => u32::from(self.op_sel_hi) & 3,
            Field::OpSelHi2 => u32::from(self.op_sel_hi) >> 2,
            Field::Clamp => self.clamp.into(),
            Field::Omod => self.omod as u32,
            Field::Offset if row_has_two_offsets(row) => {
                (self.offset as u32 & 0xff) | u32::from(self.offset1) << 8
            }
            Field::Offset => self.offset as u32,
            Field::Sc0 => self.cache.sc0.into(),
            Field::Sc1 => self.cache.sc1.into(),
            Field::Nt => self.cache.nt.into(),
            Field::Glc => self.cache.glc.into(),
            Field::Slc => self.cache.slc.into(),
            Field::Dlc => self.cache.dlc.into(),
            Field::Offen => self.offen.into(),
            Field::Idxen => self.idxen.into(),
            Field::LdsBit => self.lds.into(),
            Field::Cbsz => self.cbsz.into(),
            Field::Abid => self.abid.into(),
            Field::Blgp => self.blgp.into(),
            _ => 0,
        }
    }

    /// Sets a modifier field. OFFSET must already be sign-extended.
    pub(crate) fn set(&mut self, field: Field, row: &Row, value: u32) {
        let has_truth_table = row.has(Effect::TruthTable);
        let (byte, flag) = (value as u8, value != 0);
        match field {
            Field::Neg if has_truth_table => self.truth_table |= byte,
            Field::Abs if has_truth_table => self.truth_table |= byte << 3,
            Field::Omod if has_truth_table => self.truth_table |= byte << 6,
            Field::Neg => self.neg = byte,
            Field::Abs => self.abs = byte,
            Field::NegHi if is_mixed(row) => self.abs = byte,
            Field::NegHi => self.neg_hi = byte,
            Field::OpSel => self.op_sel = byte,
            Field::OpSelHi => self.op_sel_hi |= byte,
            Field::OpSelHi2 => self.op_sel_hi |= byte << 2,
            Field::Clamp => self.clamp = flag,
            Field::Omod => self.omod = OutputScale::ALL[value as usize & 3],
            Field::Offset if row_has_two_offsets(row) => {
                self.offset = (value & 0xff) as i32;
                self.offset1 = (value >> 8) as u8;
            }
            Field::Offset => self.offset = value as i32,
            Field::Sc0 => self.cache.sc0 = flag,
            Field::Sc1 => self.cache.sc1 = flag,
            Field::Nt => self.cache.nt = flag,
            Field::Glc => self.cache.glc = flag,
            Field::Slc => self.cache.slc = flag,
            Field::Dlc => self.cache.dlc = flag,
            Field::Offen => self.offen = flag,
            Field::Idxen => self.idxen = flag,
            Field::LdsBit => self.lds = flag,
            Field::Cbsz => self.cbsz = byte,
            Field::Abid => self.abid = byte,
            Field::Blgp => self.blgp = byte,
            _ => {}
        }
    }
}

/// Mixed-precision rows take ABS in the NEG_HI field.
pub(crate) fn is_mixed(row: &Row) -> bool {
    row.operands.iter().any(|spec| spec.ty == Ty::Mix)
}

/// Two-address LDS instructions have two 8-bit offsets in the place of one of 16 bits.
pub(crate) fn row_has_two_offsets(row: &Row) -> bool {
    row.has(Effect::TwoOffsets)
}
