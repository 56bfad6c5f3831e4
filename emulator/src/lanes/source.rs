//! Rows of sources: registers, scalars and constants spread out, signs and flushing.

use super::{ZERO, join, low, map1};
use crate::exec::Exec;
use crate::float::{self, SIGN32};
use crate::operand::Source;
use crate::prepare::{Prepared, Spread};
use crate::taint::Bits;
use crate::wave::{ROW_LANES, Row, SPREAD_STAGE, Wave, scalar};

impl Wave {
    /// The value of a scalar source or constant, 64 bits.
    #[inline]
    fn uniform(&self, source: Source) -> u64 {
        match source {
            Source::Const(value) => value,
            Source::Scalar(register) => self.scalars.pair(register),
            Source::Scc => self.scc.into(),
            Source::Vccz => u64::from(self.mask(scalar::VCC) == 0),
            Source::Execz => u64::from(self.exec() == 0),
            Source::None | Source::Vector(_) => 0,
        }
    }

    /// Spreads sources that are the same in all lanes.
    #[inline(never)]
    pub(super) fn spread(&mut self, inst: &Prepared) {
        if !inst.places.is_spread_ready {
            return self.spread_slowly(inst);
        }
        for spread in inst.places.spread() {
            self.vectors.spread(spread.slot, spread.word(&self.scalars));
        }
    }

    /// Spreads what a block of instructions wants spread.
    #[inline]
    pub(crate) fn spread_ahead(&mut self, ahead: &[Spread]) {
        for spread in ahead {
            self.vectors.spread(spread.slot, spread.word(&self.scalars));
        }
    }

    #[inline(never)]
    fn spread_slowly(&mut self, inst: &Prepared) {
        let places = &inst.places;
        for spread in places.spread() {
            let source = usize::from(spread.source);
            let ready = spread.value(&self.scalars);
            let value = ready.unwrap_or_else(|| self.uniform(inst.src[source]));
            self.vectors.spread(spread.slot, value as u32);
            if places.is_wide {
                let slot = places.source(source, true) - SPREAD_STAGE;
                self.vectors.spread(slot as u8, (value >> 32) as u32);
            }
        }
    }
}

impl Exec<'_> {
    /// The value of a scalar source or constant, 64 bits.
    #[inline]
    pub(crate) fn uniform(&self, source: Source) -> u64 {
        self.wave.uniform(source)
    }

    /// The undefined bits of a scalar source, 64 bits.
    pub(crate) fn uniform_undefined(&self, source: Source) -> u64 {
        match source {
            Source::Scalar(register) => self.wave.scalars.pair_undefined(register),
            Source::Scc => u64::from(self.wave.is_scc_undefined),
            Source::Vccz if self.wave.mask_undefined(scalar::VCC) != 0 => u64::MAX,
            _ => 0,
        }
    }

    /// A row of a 32-bit source; `buffer` is only used when it is not a vector register.
    #[inline]
    pub(crate) fn source_row<'a>(
        &'a self,
        inst: &Prepared,
        k: usize,
        row: usize,
        buffer: &'a mut Row,
    ) -> &'a Row {
        match inst.src[k] {
            Source::Vector(register) => self.wave.vectors.row(register, row),
            uniform => {
                *buffer = [low(self.uniform(uniform)); ROW_LANES];
                buffer
            }
        }
    }

    /// A row of the high word of a 64-bit source.
    #[inline]
    pub(super) fn high_row<'a>(
        &'a self,
        inst: &Prepared,
        k: usize,
        row: usize,
        buffer: &'a mut Row,
    ) -> &'a Row {
        match inst.src[k] {
            Source::Vector(register) => self.wave.vectors.row(register + 1, row),
            uniform => {
                *buffer = [low(self.uniform(uniform) >> 32); ROW_LANES];
                buffer
            }
        }
    }

    /// A row of a 64-bit source.
    pub(crate) fn wide_row(&self, inst: &Prepared, k: usize, row: usize) -> [u64; ROW_LANES] {
        let (mut x, mut y) = (ZERO, ZERO);
        join(self.source_row(inst, k, row, &mut x), self.high_row(inst, k, row, &mut y))
    }

    /// A row of a binary32 source: signs and flushing applied.
    #[inline]
    pub(crate) fn float_row<'a>(
        &'a self,
        inst: &Prepared,
        k: usize,
        row: usize,
        buffer: &'a mut Row,
    ) -> &'a Row {
        if !inst.has_signs && !self.wave.mode.flush_sources32 {
            return self.source_row(inst, k, row, buffer);
        }
        self.signed_row(inst, k, row, buffer);
        if self.wave.mode.flush_sources32 {
            *buffer = map1(buffer, float::flush32);
        }
        buffer
    }

    /// A row of a 32-bit source with NEG and ABS as on binary32, not flushed.
    pub(crate) fn signed_row<'a>(
        &'a self,
        inst: &Prepared,
        k: usize,
        row: usize,
        buffer: &'a mut Row,
    ) -> &'a Row {
        let (clear, flip) = signs(inst, k, SIGN32);
        let mut plain = ZERO;
        *buffer = map1(self.source_row(inst, k, row, &mut plain), |bits| bits & !clear ^ flip);
        buffer
    }

    /// A row of a 16-bit source with NEG and ABS as on binary16, not flushed.
    pub(crate) fn signed_half_row(&self, inst: &Prepared, k: usize, row: usize) -> Row {
        let (clear, flip) = signs(inst, k, 0x8000);
        map1(&self.half_row(inst, k, row), |bits| bits & !clear ^ flip)
    }

    /// A row of a 64-bit source with NEG and ABS as on binary64, not flushed.
    pub(crate) fn signed_wide_row(
        &self,
        inst: &Prepared,
        k: usize,
        row: usize,
    ) -> [u64; ROW_LANES] {
        let (clear, flip) = signs(inst, k, SIGN32);
        self.wide_row(inst, k, row)
            .map(|bits| bits & !(u64::from(clear) << 32) ^ u64::from(flip) << 32)
    }

    /// A row of a 16-bit source in the low halves.
    pub(crate) fn half_row(&self, inst: &Prepared, k: usize, row: usize) -> Row {
        let mut plain = ZERO;
        let shift = if inst.high[k] { 16 } else { 0 };
        map1(self.source_row(inst, k, row, &mut plain), |bits| bits >> shift & 0xffff)
    }

    /// A row of a binary16 source in the low halves: signs and flushing applied.
    pub(crate) fn half_float_row(&self, inst: &Prepared, k: usize, row: usize) -> Row {
        let signed = self.signed_half_row(inst, k, row);
        if self.wave.mode.flush_sources16 { map1(&signed, float::flush16) } else { signed }
    }

    /// A row of a binary64 source: signs and flushing applied.
    pub(crate) fn double_row(&self, inst: &Prepared, k: usize, row: usize) -> [u64; ROW_LANES] {
        let signed = self.signed_wide_row(inst, k, row);
        if self.wave.mode.flush_sources16 { signed.map(float::flush64) } else { signed }
    }

    /// Whether some source has undefined bits.
    #[inline(always)]
    pub(crate) fn is_any_undefined(&self, inst: &Prepared) -> bool {
        self.wave.tracks_undefined && self.is_tracked_undefined(inst)
    }

    fn is_tracked_undefined(&self, inst: &Prepared) -> bool {
        let vectors = &self.wave.vectors;
        let is_any_tainted = if inst.places.are_all_sources {
            vectors.are_sources_tainted(&inst.places)
        } else {
            vectors.is_any_tainted(inst.vectors_read())
        };
        is_any_tainted || self.is_any_scalar_undefined(inst)
    }

    fn is_any_scalar_undefined(&self, inst: &Prepared) -> bool {
        if let Some(words) = inst.places.scalar_words() {
            return words.iter().any(|word| self.wave.scalars.undefined(*word) != 0);
        }
        inst.src.iter().zip(&inst.bits).any(|(source, bits)| match *source {
            Source::Vector(_) | Source::None | Source::Const(_) | Source::Execz => false,
            uniform => {
                let undefined = self.uniform_undefined(uniform);
                (if *bits <= 32 { undefined & 0xffff_ffff } else { undefined }) != 0
            }
        })
    }

    /// Value and undefined bits of a source in one lane of the wave, as wide as the source.
    pub(crate) fn source_bits(&self, inst: &Prepared, k: usize, lane: usize) -> Bits {
        let bits = match inst.src[k] {
            Source::Vector(register) => {
                let low = self.wave.vectors.lane_bits(register, lane);
                if inst.bits[k] <= 32 {
                    low
                } else {
                    let high = self.wave.vectors.lane_bits(register + 1, lane);
                    Bits {
                        value: low.value | high.value << 32,
                        undefined: low.undefined | high.undefined << 32,
                    }
                }
            }
            uniform => {
                Bits { value: self.uniform(uniform), undefined: self.uniform_undefined(uniform) }
            }
        };
        let shift = if inst.high[k] { 16 } else { 0 };
        let mask = match inst.bits[k] {
            width @ 0..64 => (1 << width) - 1,
            _ => u64::MAX,
        };
        Bits { value: bits.value >> shift & mask, undefined: bits.undefined >> shift & mask }
    }

    /// Rows that have an active lane.
    #[inline]
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        let active = self.wave.active;
        (0..self.wave.n_rows()).filter(move |row| active >> (row * ROW_LANES) & 0xffff_ffff != 0)
    }
}

/// Bits of the sign to clear and to flip for ABS and NEG.
pub(super) fn signs(inst: &Prepared, k: usize, sign: u32) -> (u32, u32) {
    (if inst.abs[k] { sign } else { 0 }, if inst.neg[k] { sign } else { 0 })
}
