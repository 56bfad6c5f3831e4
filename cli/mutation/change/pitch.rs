//! Pitches of LDS: the constants by which an address grows from row to row, padding included.
//!
//! They are found backwards from the address of every access of LDS, in the order of the text and not along its ways: a
//! constant factor or shift that is no pitch becomes a mutant too, which is one more to catch. Offsets in the accesses
//! themselves are places and no pitches. M0, which loads to LDS go by, is not followed.

use std::collections::BTreeSet;

use isa::slots::Slots;
use isa::table::{Field, Int, Lds, Salu};
use isa::{Inst, Op, Operand};

use super::{Change, Original};

/// Definitions that an address is followed through.
const DEPTH: u32 = 8;

/// A constant in the code: an instruction, and which of its operands it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Constant {
    pub place: usize,
    operand: usize,
    is_shift: bool,
}

/// What scales an address: the positions of factors, or of an amount to shift by.
enum Scale {
    Factors([usize; 2]),
    Shift(usize),
}

/// The operands of a multiplication or shift that make a pitch.
fn scale(op: Op) -> Option<Scale> {
    Some(match op {
        Op::Int(
            Int::VMulU32U24 | Int::VMulI32I24 | Int::VMulLoU32 | Int::VMadU32U24 | Int::VMadI32I24,
        )
        | Op::Salu(Salu::SMulI32) => Scale::Factors([1, 2]),
        Op::Int(Int::VLshlrevB32) => Scale::Shift(1),
        Op::Int(Int::VLshlAddU32 | Int::VLshlOrB32) | Op::Salu(Salu::SLshlB32) => Scale::Shift(2),
        Op::Int(Int::VAddLshlU32) => Scale::Shift(3),
        _ => return None,
    })
}

/// The value of a constant operand.
fn value(operand: Operand) -> Option<u32> {
    match operand {
        Operand::Int(value) => u32::try_from(value).ok(),
        Operand::Literal(value) => Some(value),
        Operand::Imm(value) => Some(u32::from(value)),
        _ => None,
    }
}

/// The constant with another value, in as many bytes.
fn with_value(operand: Operand, to: u32) -> Option<Operand> {
    /// The largest inline integer.
    const INLINE_MAX: u32 = 64;
    Some(match operand {
        Operand::Int(_) if to <= INLINE_MAX => Operand::Int(to.cast_signed()),
        Operand::Literal(_) => Operand::Literal(to),
        // s_movk_i32 extends the sign.
        Operand::Imm(_) => Operand::Imm(u16::try_from(to).ok().filter(|to| *to < 0x8000)?),
        _ => return None,
    })
}

/// Narrower, so that rows overlap or lose their padding, and wider. A padded pitch is no power of two: the padding is
/// taken to be its lowest bit.
fn others(from: u32, is_shift: bool) -> [u32; 2] {
    let padding = 1 << from.trailing_zeros();
    match is_shift {
        true => [from - 1, from + 1],
        false if padding == from => [from / 2, from * 2],
        false => [from - padding, from + padding],
    }
}

impl Original<'_> {
    /// Constants that scale an address of LDS.
    pub(super) fn pitches(&self) -> BTreeSet<Constant> {
        let mut found = BTreeSet::new();
        for (index, place) in self.places.iter().enumerate() {
            let row = place.inst.row();
            let is_access = match place.inst.op {
                Op::Lds(op) => !matches!(op, Lds::DsPermuteB32 | Lds::DsBpermuteB32),
                Op::LdsAtomic(_) => true,
                _ => false,
            };
            if !is_access {
                continue;
            }
            if let Some(address) = row.position(Field::Addr) {
                self.follow(place.inst.operands[address], index, DEPTH, &mut found);
            }
        }
        found
    }

    /// Collects what scales the value that a register has before the instruction at `index`.
    fn follow(&self, operand: Operand, index: usize, depth: u32, found: &mut BTreeSet<Constant>) {
        let Some((place, depth)) = self.definition(operand, index).zip(depth.checked_sub(1)) else {
            return;
        };
        let inst = &self.places[place].inst;
        match scale(inst.op) {
            Some(Scale::Factors(factors)) => {
                factors.into_iter().for_each(|at| self.add(place, at, false, found));
            }
            Some(Scale::Shift(amount)) => self.add(place, amount, true, found),
            None => {}
        }
        for source in sources(inst) {
            self.follow(source, place, depth, found);
        }
    }

    /// A factor or an amount, where it is a constant or a register that a move set to one.
    fn add(&self, place: usize, operand: usize, is_shift: bool, found: &mut BTreeSet<Constant>) {
        let inst = &self.places[place].inst;
        if value(inst.operands[operand]).is_some_and(|value| value > 1 || is_shift && value > 0) {
            found.insert(Constant { place, operand, is_shift });
        }
        let Some(moved) = self.definition(inst.operands[operand], place) else { return };
        let is_move = matches!(
            self.places[moved].inst.op,
            Op::Salu(Salu::SMovkI32 | Salu::SMovB32) | Op::Int(Int::VMovB32)
        );
        if is_move && value(self.places[moved].inst.operands[1]).is_some_and(|value| value > 1) {
            found.insert(Constant { place: moved, operand: 1, is_shift });
        }
    }

    /// The last instruction before `index` in the text that writes a register.
    fn definition(&self, operand: Operand, index: usize) -> Option<usize> {
        let register = Slots::of(operand, 1)?;
        (0..index).rev().find(|place| {
            let inst = &self.places[*place].inst;
            inst.row().operands.iter().enumerate().any(|(at, spec)| {
                let written = Slots::of(inst.operands[at], inst.registers(at, self.target));
                spec.is_dst && written.is_some_and(|written| written.overlaps(register))
            })
        })
    }

    /// The kernel with another pitch, narrower and wider, where it can be written in as many bytes.
    pub(super) fn other_pitches(&self, constant: Constant) -> Vec<(Change, Vec<u8>)> {
        let place = &self.places[constant.place];
        let old = place.inst.operands[constant.operand];
        let Some(from) = value(old) else { return Vec::new() };
        let changed = others(from, constant.is_shift).into_iter().filter_map(|to| {
            let mut inst = place.inst;
            inst.operands[constant.operand] = with_value(old, to)?;
            let bytes = isa::encode(self.target, &inst).ok()?.to_vec();
            let pitch = |value: u32| if constant.is_shift { 1 << value.min(31) } else { value };
            let change = Change::Pitch { from: pitch(from), to: pitch(to) };
            (bytes.len() == place.bytes.len()).then(|| (change, self.with_bytes(place, &bytes)))
        });
        changed.collect()
    }
}

fn sources(inst: &Inst) -> impl Iterator<Item = Operand> {
    let operands = inst.row().operands.iter().zip(inst.operands);
    operands.filter(|(spec, _)| !spec.is_dst).map(|(_, operand)| operand)
}
