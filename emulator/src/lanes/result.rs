//! Rows of results: placement, undefined bits.

use super::{Placement, Shadow, ZERO, low, map1, split};
use crate::exec::Exec;
use crate::operand::{Dest, Source};
use crate::prepare::Prepared;
use crate::taint::{Bits, Rule};
use crate::wave::{ROW_LANES, Row};

impl Exec<'_> {
    /// The undefined bits of a row of results, by a rule.
    #[cold]
    pub(super) fn shadow(&self, inst: &Prepared, row: usize, rule: Rule) -> Shadow {
        let lanes = (0..ROW_LANES).map(|lane| {
            let at = row * ROW_LANES + lane;
            let has = |k: usize| inst.src[k] != Source::None;
            let source =
                |k: usize| if has(k) { self.source_bits(inst, k, at) } else { Bits::default() };
            rule([source(0), source(1), source(2)])
        });
        let mut shadow = Box::new([ZERO; 2]);
        for (lane, undefined) in lanes.enumerate() {
            shadow[0][lane] = low(undefined);
            shadow[1][lane] = low(undefined >> 32);
        }
        Some(shadow)
    }

    pub(crate) fn shadow_if(
        &self,
        is_undefined: bool,
        inst: &Prepared,
        row: usize,
        rule: Rule,
    ) -> Shadow {
        if is_undefined { self.shadow(inst, row, rule) } else { None }
    }

    /// Writes a row of 32-bit results.
    #[inline]
    pub(crate) fn put(&mut self, inst: &Prepared, row: usize, out: &Row, shadow: Shadow) {
        self.put_at(inst, row, out, shadow, Placement { mask: u32::MAX, shift: 0 });
    }

    #[inline]
    fn put_at(
        &mut self,
        inst: &Prepared,
        row: usize,
        out: &Row,
        shadow: Shadow,
        placement: Placement,
    ) {
        let Dest::Vector(register) = inst.dst[0] else { return };
        let lanes = self.wave.active_row(row);
        self.wave.vectors.write_row(register, row, lanes, placement.mask, out);
        if let Some(shadow) = shadow {
            let moved = map1(&shadow[0], |bits| bits << placement.shift);
            self.wave.vectors.taint_row(register, row, lanes, placement.mask, &moved);
            self.note_undefined(inst);
        }
    }

    /// Writes a row of 64-bit results.
    pub(crate) fn put_wide(
        &mut self,
        inst: &Prepared,
        row: usize,
        out: &[u64; ROW_LANES],
        shadow: Shadow,
    ) {
        let (low, high) = split(out);
        self.put_words(inst, row, &[low, high], shadow);
    }

    /// Writes a row of 64-bit results, given as their words.
    pub(super) fn put_words(
        &mut self,
        inst: &Prepared,
        row: usize,
        words: &[Row; 2],
        shadow: Shadow,
    ) {
        let Dest::Vector(register) = inst.dst[0] else { return };
        let lanes = self.wave.active_row(row);
        for (word, values) in words.iter().enumerate() {
            let register = register + word as u16;
            self.wave.vectors.write_row(register, row, lanes, u32::MAX, values);
            if let Some(shadow) = &shadow {
                self.wave.vectors.taint_row(register, row, lanes, u32::MAX, &shadow[word]);
            }
        }
        if shadow.is_some() {
            self.note_undefined(inst);
        }
    }

    /// Writes a row of 16-bit results, given in the low halves.
    ///
    /// The other half of the register stays, unless the row zeroes it (on gfx950, without OP_SEL).
    pub(crate) fn put_half(&mut self, inst: &Prepared, row: usize, out: &Row, shadow: Shadow) {
        let placement = match (inst.is_dst_high, inst.zeroes_high) {
            (true, _) => Placement::half(16),
            (false, false) => Placement::half(0),
            (false, true) => Placement { mask: u32::MAX, shift: 0 },
        };
        self.place_half(inst, row, out, shadow, placement);
    }

    /// Writes a row of 16-bit results into the halves at this bit; the other halves stay.
    pub(crate) fn put_half_at(
        &mut self,
        inst: &Prepared,
        row: usize,
        out: &Row,
        shadow: Shadow,
        shift: u32,
    ) {
        self.place_half(inst, row, out, shadow, Placement::half(shift));
    }

    fn place_half(
        &mut self,
        inst: &Prepared,
        row: usize,
        out: &Row,
        shadow: Shadow,
        placement: Placement,
    ) {
        let shadow = shadow.map(|mut rows| {
            rows[0] = map1(&rows[0], |bits| bits & 0xffff);
            rows
        });
        let moved = map1(out, |bits| (bits & 0xffff) << placement.shift);
        self.put_at(inst, row, &moved, shadow, placement);
    }
}
