//! Random instances of the rows of the instruction tables: legal operands and modifiers, by a seed.
//!
//! The generator knows what a field and a type may hold; whether a whole instruction is legal it asks the
//! encoder. So a new row needs nothing here, and a row that the encoder wrongly takes or refuses is found
//! by whoever compares the instances with an outside witness. Depends on `isa` only.

mod operands;
mod random;

pub use random::Random;

use isa::format::{Encoding, layout};
use isa::inst::{
    Cache, Dpp, DppCtrl, Dual, Inst, MAX_OPERANDS, Modifiers, OutputScale, Sdwa, SdwaSel,
    SdwaUnused,
};
use isa::table::{Effect, Field, Op, Row, Ty, dual};
use isa::{Operand, Target};
use isa::{disassemble, encode};

/// Operand choices for one shape before the shape is given up.
const TRIES: usize = 60;

/// What stands behind or instead of plain operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extension {
    /// Nothing.
    Plain,
    /// DPP with a control word.
    Dpp16,
    /// DPP with eight lane selects.
    Dpp8,
    /// Sub-dword addressing.
    Sdwa,
}

/// One way to encode a row.
pub type Shape = (Encoding, Extension);

/// Every way in which a row might be encoded on a target; which of them exist, the encoder knows.
pub fn shapes(row: &Row, target: Target) -> Vec<Shape> {
    let Some(form) = row.form(target) else { return Vec::new() };
    let encodings: &[Encoding] = match form.encoding {
        Encoding::Vop1 => &[Encoding::Vop1, Encoding::Vop3],
        Encoding::Vop2 => &[Encoding::Vop2, Encoding::Vop3, Encoding::Vop3Sd],
        Encoding::Vopc => &[Encoding::Vopc, Encoding::Vop3],
        Encoding::Global => &[Encoding::Flat, Encoding::Global, Encoding::Scratch],
        ref only => std::slice::from_ref(only),
    };
    let extensions = [Extension::Plain, Extension::Dpp16, Extension::Dpp8, Extension::Sdwa];
    let shapes = encodings.iter().flat_map(|encoding| extensions.map(|kind| (*encoding, kind)));
    shapes.collect()
}

/// A random instance of a row in one shape; none where the encoder takes no instance of that shape.
pub fn instance(target: Target, row: &Row, shape: Shape, random: &mut Random) -> Option<Inst> {
    let plain = (0..TRIES).find_map(|_| {
        let inst = candidate(target, row, shape, random)?;
        encode(target, &inst).ok().map(|_| inst)
    })?;
    Some(with_modifiers(target, plain, random))
}

/// A random dual-issue pair of two operations.
pub fn dual_instance(
    target: Target,
    x: &dual::DualRow,
    y: &dual::DualRow,
    random: &mut Random,
) -> Option<Inst> {
    (0..TRIES).find_map(|_| {
        let shape = (Encoding::Vopd, Extension::Plain);
        let mut inst =
            Inst { encoding: Encoding::Vopd, ..candidate(target, x.op.row(), shape, random)? };
        let half = candidate(target, y.op.row(), shape, random)?;
        inst.dual = Some(Dual { op: y.op, operands: half.operands });
        let literal = inst.operands.into_iter().chain(half.operands).find(is_literal);
        if let Some(literal) = literal {
            share_literal(&mut inst, literal);
        }
        inst.size_bytes = if literal.is_some() { 12 } else { 8 };
        encode(target, &inst).ok().map(|_| inst)
    })
}

fn is_literal(operand: &Operand) -> bool {
    matches!(operand, Operand::Literal(_))
}

/// All literals of an instruction are one; a 16-bit operand takes one of 16 bits.
fn share_literal(inst: &mut Inst, literal: Operand) {
    let is_narrow = |op: Op, operands: &[Operand]| {
        let specs = op.row().operands.iter().zip(operands);
        specs.into_iter().any(|(spec, operand)| {
            is_literal(operand) && (spec.ty.is_16_bit() || spec.ty == Ty::Mix)
        })
    };
    let any_narrow = is_narrow(inst.op, &inst.operands)
        || inst.dual.is_some_and(|y| is_narrow(y.op, &y.operands));
    let literal = match literal {
        Operand::Literal(value) if any_narrow => Operand::Literal(value & 0xffff),
        other => other,
    };
    let of_y = inst.dual.iter_mut().flat_map(|y| &mut y.operands);
    for operand in inst.operands.iter_mut().chain(of_y).filter(|operand| is_literal(operand)) {
        *operand = literal;
    }
}

/// An instance without the modifiers that can be added later; the encoder may refuse it.
fn candidate(target: Target, row: &Row, shape: Shape, random: &mut Random) -> Option<Inst> {
    let (encoding, kind) = shape;
    let mut inst = Inst {
        op: row.op,
        encoding,
        size_bytes: layout(target, encoding)?.size_bytes,
        operands: [Operand::None; MAX_OPERANDS],
        mods: Modifiers::default(),
        dual: None,
    };
    choose_shape(row, target, shape, &mut inst.mods, random);
    // The last first: whether there is a scalar address decides the width of the vector address.
    for (index, spec) in row.operands.iter().enumerate().rev() {
        inst.operands[index] = operands::operand(target, row, *spec, &inst, random);
    }
    if kind != Extension::Plain {
        move_source_to_vector(target, row, &mut inst, random);
        inst.size_bytes += 4;
    } else if let Some(literal) = inst.operands.iter().copied().find(is_literal) {
        share_literal(&mut inst, literal);
        inst.size_bytes += 4;
    }
    Some(inst)
}

/// DPP moves lanes of a vector register; SDWA takes scalars too.
fn move_source_to_vector(target: Target, row: &Row, inst: &mut Inst, random: &mut Random) {
    if let (Some(at), None) = (row.position(Field::Src0), inst.mods.sdwa) {
        inst.operands[at] = operands::vgpr(target, row.operands[at], inst, random);
    }
}

/// The modifiers on which the operands depend.
fn choose_shape(
    row: &Row,
    target: Target,
    (encoding, kind): Shape,
    mods: &mut Modifiers,
    random: &mut Random,
) {
    match kind {
        Extension::Plain => {}
        Extension::Dpp16 => mods.dpp = Some(dpp16(target, random)),
        Extension::Dpp8 => mods.dpp = Some(dpp8(random)),
        Extension::Sdwa => mods.sdwa = Some(sdwa(row, random)),
    }
    let has = |ty: Ty| row.operands.iter().any(|spec| spec.ty == ty);
    if has(Ty::MxA) {
        (mods.cbsz, mods.blgp) = (random.below(5) as u8, random.below(5) as u8);
    }
    if has(Ty::BAddr) {
        (mods.offen, mods.idxen) = (random.coin(), random.coin());
        mods.lds = row.has(Effect::ToLds) && target == Target::Gfx950 && random.one_in(4);
    }
    if row.has(Effect::Swizzles) {
        // A permutation of four lanes: the pattern whose text names every bit.
        mods.offset = 0x8000 | random.below(256) as i32;
    }
    match encoding {
        Encoding::Vop3p if !has(Ty::Mix) => mods.op_sel_hi = 7,
        Encoding::Vop3pMx => mods.op_sel_hi = 3,
        _ => {}
    }
    if row.has(Effect::Atomic) && random.coin() {
        mods.cache = match target {
            Target::Gfx950 => Cache { sc0: true, ..Cache::default() },
            Target::Gfx1100 => Cache { glc: true, ..Cache::default() },
        };
    }
}

fn dpp16(target: Target, random: &mut Random) -> Dpp {
    let ctrl = std::iter::repeat_with(|| DppCtrl::from_code(target, random.below(0x170)));
    let ctrl = ctrl.take(100).flatten().next().unwrap_or(DppCtrl::RowMirror);
    Dpp {
        ctrl,
        row_mask: random.below(16) as u8,
        bank_mask: random.below(16) as u8,
        bound_ctrl: random.coin(),
        fetch_inactive: target == Target::Gfx1100 && random.coin(),
    }
}

fn dpp8(random: &mut Random) -> Dpp {
    Dpp {
        ctrl: DppCtrl::Dpp8(std::array::from_fn(|_| random.below(8) as u8)),
        row_mask: 0xf,
        bank_mask: 0xf,
        bound_ctrl: false,
        fetch_inactive: random.coin(),
    }
}

fn sdwa(row: &Row, random: &mut Random) -> Sdwa {
    const SELECTS: [SdwaSel; 7] = [
        SdwaSel::Byte0,
        SdwaSel::Byte1,
        SdwaSel::Byte2,
        SdwaSel::Byte3,
        SdwaSel::Word0,
        SdwaSel::Word1,
        SdwaSel::Dword,
    ];
    let has_vdst = row.position(Field::Vdst).is_some();
    let has_src1 = row.position(Field::Src1).is_some();
    let unused = [SdwaUnused::Pad, SdwaUnused::Sext, SdwaUnused::Preserve];
    Sdwa {
        dst_sel: if has_vdst { *random.pick(&SELECTS) } else { SdwaSel::Dword },
        dst_unused: if has_vdst { *random.pick(&unused) } else { SdwaUnused::Pad },
        src0_sel: *random.pick(&SELECTS),
        src1_sel: if has_src1 { *random.pick(&SELECTS) } else { SdwaSel::Dword },
        sext: 0,
    }
}

/// Adds modifiers one by one, each with an even chance, where the encoder takes them and the text shows
/// them: what it does not show means nothing.
fn with_modifiers(target: Target, plain: Inst, random: &mut Random) -> Inst {
    let mut inst = plain;
    for change in MODIFIERS {
        let mut changed = inst;
        change(&mut changed.mods, random);
        let is_seen = || disassemble(target, &changed) != disassemble(target, &inst);
        if random.coin() && encode(target, &changed).is_ok() && is_seen() {
            inst = changed;
        }
    }
    if inst.row().has(Effect::Swizzles) && random.coin() {
        inst.mods.offset = plain.mods.offset;
    }
    inst
}

type Change = fn(&mut Modifiers, &mut Random);

/// Every modifier that does not decide which operands there are.
const MODIFIERS: &[Change] = &[
    |mods, random| mods.neg ^= 1 << random.below(3),
    |mods, random| mods.neg ^= 1 << random.below(3),
    |mods, random| mods.abs ^= 1 << random.below(3),
    |mods, random| mods.abs ^= 1 << random.below(3),
    |mods, random| mods.neg_hi ^= 1 << random.below(3),
    |mods, random| mods.neg_hi ^= 1 << random.below(3),
    |mods, random| mods.op_sel ^= 1 << random.below(4),
    |mods, random| mods.op_sel ^= 1 << random.below(4),
    |mods, random| mods.op_sel_hi ^= 1 << random.below(3),
    |mods, random| mods.op_sel_hi ^= 1 << random.below(3),
    |mods, _| mods.clamp = true,
    |mods, random| {
        mods.omod = *random.pick(&[OutputScale::Mul2, OutputScale::Mul4, OutputScale::Div2]);
    },
    |mods, random| mods.offset = random.below(1 << 8) as i32,
    |mods, random| mods.offset = random.below(1 << 12) as i32,
    |mods, random| mods.offset = random.below(1 << 16) as i32,
    |mods, random| mods.offset = random.below(1 << 13) as i32 - (1 << 12),
    |mods, random| mods.offset = random.below(1 << 21) as i32 - (1 << 20),
    |mods, random| mods.offset1 = random.below(256) as u8,
    |mods, _| mods.cache.sc0 = true,
    |mods, _| mods.cache.sc1 = true,
    |mods, _| mods.cache.nt = true,
    |mods, _| mods.cache.glc = true,
    |mods, _| mods.cache.slc = true,
    |mods, _| mods.cache.dlc = true,
    |mods, random| mods.cbsz = random.below(8) as u8,
    |mods, random| mods.abid = random.below(16) as u8,
    |mods, random| mods.blgp = random.below(8) as u8,
    |mods, random| mods.truth_table = random.below(256) as u8,
    |mods, random| {
        if let Some(sdwa) = &mut mods.sdwa {
            sdwa.sext ^= 1 << random.below(2);
        }
    },
];
