//! Launch values and the exchange of values among the lanes of a wave.

use dsl::ir::{Special, Value};
use isa::inst::DppCtrl;
use isa::table::{Int, Lane, Lds};
use isa::{Op, Target};

use super::legal::Extra;
use super::values::{Loc, Src, Word};
use super::{Selector, malformed};
use crate::gcn::error::Cause;
use crate::gcn::mir::{Class, Inst, Kind, Part, Slot};

/// Lanes of a row of data-parallel primitives.
const ROW_LANES: u32 = 16;

/// The single movement within a row that is lane XOR mask, where a target has it.
fn one_step(target: Target, mask: u32) -> Option<DppCtrl> {
    Some(match (target, mask) {
        (_, 1..=3) => DppCtrl::QuadPerm([0, 1, 2, 3].map(|lane| lane ^ mask as u8)),
        (Target::Gfx1100, 4..16) => DppCtrl::RowXmask(mask as u8),
        (Target::Gfx950, 7) => DppCtrl::RowHalfMirror,
        (Target::Gfx950, 8) => DppCtrl::RowRor(8),
        (Target::Gfx950, 15) => DppCtrl::RowMirror,
        _ => return None,
    })
}

impl<'k> Selector<'k> {
    pub(super) fn special(&mut self, special: Special) -> Result<Loc, Cause> {
        let width = self.target.wave_width();
        let has_one_wave = self.kernel.workgroup_size == width;
        let thread = Word::Reg(self.inputs.thread_id, 0);
        let word = match special {
            Special::ThreadId => thread,
            Special::LaneId if has_one_wave => thread,
            Special::LaneId => self.valu(Op::Int(Int::VAndB32), &[Word::Const(width - 1), thread]),
            Special::WaveId if has_one_wave => Word::Const(0),
            Special::WaveId => {
                let shift = Word::Const(width.ilog2());
                let wave = self.valu(Op::Int(Int::VLshrrevB32), &[shift, thread]);
                self.scalar_word(wave)
            }
            id => {
                let reg = self.inputs.workgroup_id(id);
                Word::Reg(reg.ok_or_else(|| malformed(format!("{id:?} is not an input")))?, 0)
            }
        };
        Ok(Loc::of([word]))
    }

    pub(super) fn read_first_lane(&mut self, value: Value) -> Result<Loc, Cause> {
        let word = self.word(value)?;
        Ok(Loc::of([self.scalar_word(word)]))
    }

    /// Left to its only user where that can read the other lane itself.
    pub(super) fn lane_xor(
        &mut self,
        value: Value,
        mask: u32,
        result: Value,
    ) -> Result<Loc, Cause> {
        if mask == 0 || mask >= self.target.wave_width() {
            return Err(malformed(format!("a lane exchange with mask {mask}")));
        }
        if self.plan.is_deferred(result) {
            return self.deferred_xor(value, mask);
        }
        let word = self.word(value)?;
        let word = self.exchange(word, mask);
        Ok(Loc::of([word]))
    }

    /// A source that its user takes from the other lane.
    fn deferred_xor(&mut self, value: Value, mask: u32) -> Result<Loc, Cause> {
        let src = self.src(value)?;
        let word = match src {
            plain if plain.lane_xor == 0 && !plain.abs && !plain.neg => plain.word,
            other => self.plain(other),
        };
        match word {
            Word::Const(_) => Ok(Loc::of([word])),
            _ if self.is_scalar(word) => Ok(Loc::of([word])),
            _ => Ok(Loc::Words(vec![Src { lane_xor: mask as u8, ..word.into() }])),
        }
    }

    /// The word of the lane whose index is XORed with the mask.
    pub(super) fn exchange(&mut self, word: Word, mask: u32) -> Word {
        if self.is_scalar(word) {
            return word;
        }
        match self.towards(word, mask) {
            (word, Some(ctrl)) => self.move_lanes(word, ctrl),
            (word, None) => word,
        }
    }

    /// All but the last movement, if the last one is a data-parallel primitive that an operation can do itself.
    pub(super) fn towards(&mut self, word: Word, mask: u32) -> (Word, Option<DppCtrl>) {
        let (mut word, mut rest) = (word, mask);
        if self.target == Target::Gfx950 && rest & 32 != 0 {
            word = self.swap_halves(word);
            rest &= 31;
        }
        match (self.target, rest) {
            (_, 0) => (word, None),
            (Target::Gfx950, ROW_LANES..) => (self.swizzle(word, rest), None),
            (Target::Gfx1100, ROW_LANES..) => (self.other_row(word, rest - ROW_LANES), None),
            (target, rest) => match one_step(target, rest) {
                Some(ctrl) => (word, Some(ctrl)),
                None => {
                    let first = match rest / 4 {
                        1 => 7,
                        2 => 8,
                        _ => 15,
                    };
                    let moved = one_step(target, first).map(|ctrl| self.move_lanes(word, ctrl));
                    (moved.unwrap_or(word), one_step(target, rest ^ first))
                }
            },
        }
    }

    fn move_lanes(&mut self, word: Word, ctrl: DppCtrl) -> Word {
        let word = self.vector_word(word);
        let args = vec![self.arg(word.into())];
        let reg = self.new_reg(Class::Vector, 1);
        let extra = Extra { op_sel: 0, dpp: Some(ctrl) };
        self.vop(Op::Int(Int::VMovB32), &[Slot::Part(Part::new(reg, 0, 1))], args, extra);
        Word::Reg(reg, 0)
    }

    /// `ds_swizzle_b32` in its bit-mask mode: within 32 lanes, lane XOR mask.
    fn swizzle(&mut self, word: Word, mask: u32) -> Word {
        const KEEP_ALL: u32 = 0x1f;
        let reg = self.new_reg(Class::Vector, 1);
        let slots = [Slot::Part(Part::new(reg, 0, 1)), self.slot(word)];
        let mut inst = Inst::new(Kind::Machine(Op::Lds(Lds::DsSwizzleB32)), &slots, self.stmt());
        inst.mods.offset = (mask << 10 | KEEP_ALL) as i32;
        self.emit(inst);
        Word::Reg(reg, 0)
    }

    /// `v_permlanex16_b32`: lane XOR (16 + mask) of 32 lanes. Each nibble names the lane of the other row.
    fn other_row(&mut self, word: Word, within: u32) -> Word {
        let selector = |lanes: std::ops::Range<u32>| {
            lanes.enumerate().map(|(nibble, lane)| (lane ^ within) << (4 * nibble)).sum()
        };
        let (low, high) = (selector(0..8), selector(8..16));
        let (low, high) = (self.scalar_const(low), self.scalar_const(high));
        let reg = self.new_reg(Class::Vector, 1);
        let to = Slot::Part(Part::new(reg, 0, 1));
        self.emit(Inst::new(Kind::Undef, &[to], self.stmt()));
        let selectors = [low, high].map(|reg| Slot::Part(Part::new(reg, 0, 1)));
        let slots = [to, self.slot(word), selectors[0], selectors[1]];
        self.machine(Op::Lane(Lane::VPermlanex16B32), &slots);
        Word::Reg(reg, 0)
    }

    /// Lane XOR 32. With the value in both operands, the swap leaves the low half's values in both halves of the
    /// first and the high half's in both halves of the second.
    fn swap_halves(&mut self, word: Word) -> Word {
        let [first, second] = [0, 1].map(|_| {
            let reg = self.new_reg(Class::Vector, 1);
            let from = self.slot(word);
            self.copy(Part::new(reg, 0, 1), from);
            reg
        });
        let operands = [first, second].map(|reg| Slot::Part(Part::new(reg, 0, 1)));
        self.machine(Op::Lane(Lane::VPermlane32SwapB32), &operands);
        let words = [Word::Reg(first, 0), Word::Reg(second, 0)];
        let in_low = self.low_half_of_lanes();
        self.select_word(in_low, words[1].into(), words[0].into())
    }
}
