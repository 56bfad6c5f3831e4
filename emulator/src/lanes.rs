//! Lane-by-lane execution of vector arithmetic.
//!
//! A meaning hands a function of one lane to one of the methods here, which run it over rows of 32 lanes:
//! read sources (constants and scalars spread out, NEG and ABS applied, subnormals flushed as MODE says),
//! compute all lanes, finish (OMOD, CLAMP, flush), write the active ones. Undefined bits follow by the
//! rule that comes with the function, and cost nothing while there are none.

use isa::inst::OutputScale;

use crate::exec::{Exec, Outcome};
use crate::float::{self, SIGN32};
use crate::prepare::{Dest, Prepared, Source};
use crate::taint::{self, Bits, Rule};
use crate::wave::{ROW_LANES, Row, scalar};

const ZERO: Row = [0; ROW_LANES];

/// Undefined bits of a row's results: low words, high words.
pub(crate) type Shadow = Option<Box<[Row; 2]>>;

#[inline]
fn map1(a: &Row, f: impl Fn(u32) -> u32) -> Row {
    let mut out = ZERO;
    for (out, a) in out.iter_mut().zip(a) {
        *out = f(*a);
    }
    out
}

#[inline]
fn map2(a: &Row, b: &Row, f: impl Fn(u32, u32) -> u32) -> Row {
    let mut out = ZERO;
    for lane in 0..ROW_LANES {
        out[lane] = f(a[lane], b[lane]);
    }
    out
}

#[inline]
fn map3(a: &Row, b: &Row, c: &Row, f: impl Fn(u32, u32, u32) -> u32) -> Row {
    let mut out = ZERO;
    for lane in 0..ROW_LANES {
        out[lane] = f(a[lane], b[lane], c[lane]);
    }
    out
}

#[inline]
fn join(low: &Row, high: &Row) -> [u64; ROW_LANES] {
    std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
}

fn split(wide: &[u64; ROW_LANES]) -> (Row, Row) {
    (std::array::from_fn(|lane| low(wide[lane])), std::array::from_fn(|lane| low(wide[lane] >> 32)))
}

fn low(bits: u64) -> u32 {
    (bits & 0xffff_ffff) as u32
}

/// Which bits of a register a 16-bit result covers, and where it lies in them.
#[derive(Clone, Copy)]
struct Placement {
    mask: u32,
    shift: u32,
}

impl Placement {
    fn half(shift: u32) -> Placement {
        Placement { mask: 0xffff << shift, shift }
    }
}

impl Exec<'_> {
    /// The value of a scalar source or constant, 64 bits.
    #[inline]
    pub(crate) fn uniform(&self, source: Source) -> u64 {
        match source {
            Source::Const(value) => value,
            Source::Scalar(register) => self.wave.scalars.pair(register),
            Source::Scc => self.wave.scc.into(),
            Source::Vccz => u64::from(self.wave.mask(scalar::VCC) == 0),
            Source::Execz => u64::from(self.wave.exec() == 0),
            Source::None | Source::Vector(_) => 0,
        }
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
    fn high_row<'a>(
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
    #[inline]
    pub(crate) fn is_any_undefined(&self, inst: &Prepared) -> bool {
        inst.src.iter().zip(&inst.bits).any(|(source, bits)| match *source {
            Source::Vector(register) => (0..u16::from(bits.div_ceil(32))).any(|word| {
                (0..self.wave.n_rows())
                    .any(|row| self.wave.vectors.is_tainted(register + word, row))
            }),
            Source::None | Source::Const(_) | Source::Execz => false,
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

    /// The undefined bits of a row of results, by a rule.
    #[cold]
    fn shadow(&self, inst: &Prepared, row: usize, rule: Rule) -> Shadow {
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
        let Dest::Vector(register) = inst.dst[0] else { return };
        let lanes = self.wave.active_row(row);
        let (low, high) = split(out);
        for (word, values) in [low, high].iter().enumerate() {
            let register = register + word as u16;
            self.wave.vectors.write_row(register, row, lanes, u32::MAX, values);
            if let Some(shadow) = &shadow {
                self.wave.vectors.taint_row(register, row, lanes, u32::MAX, &shadow[word]);
            }
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

    /// Rows that have an active lane.
    #[inline]
    pub(crate) fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        let active = self.wave.active;
        (0..self.wave.n_rows()).filter(move |row| active >> (row * ROW_LANES) & 0xffff_ffff != 0)
    }

    // Integers.

    /// One 32-bit source.
    pub(crate) fn int1(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32, rule: Rule) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let mut x = ZERO;
            let out = map1(self.source_row(inst, 0, row, &mut x), &f);
            let shadow = self.shadow_if(is_undefined, inst, row, rule);
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Two 32-bit sources.
    pub(crate) fn int2(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let (mut x, mut y) = (ZERO, ZERO);
            let (a, b) =
                (self.source_row(inst, 0, row, &mut x), self.source_row(inst, 1, row, &mut y));
            let out = map2(a, b, &f);
            let shadow = self.shadow_if(is_undefined, inst, row, rule);
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Three 32-bit sources.
    pub(crate) fn int3(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let (mut x, mut y, mut z) = (ZERO, ZERO, ZERO);
            let (a, b) =
                (self.source_row(inst, 0, row, &mut x), self.source_row(inst, 1, row, &mut y));
            let out = map3(a, b, self.source_row(inst, 2, row, &mut z), &f);
            let shadow = self.shadow_if(is_undefined, inst, row, rule);
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Up to three sources of any width, handed over as 64 bits; the result has 64 bits.
    pub(crate) fn wide(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u64, u64, u64) -> u64,
        rule: Rule,
    ) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let source = |k: usize| self.any_row(inst, k, row);
            let (a, b, c) = (source(0), source(1), source(2));
            let out = std::array::from_fn(|lane| f(a[lane], b[lane], c[lane]));
            let shadow = self.shadow_if(is_undefined, inst, row, rule);
            self.put_wide(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// A row of a source of 32 or 64 bits, zero-extended.
    pub(crate) fn any_row(&self, inst: &Prepared, k: usize, row: usize) -> [u64; ROW_LANES] {
        if inst.bits[k] == 64 {
            return self.wide_row(inst, k, row);
        }
        let mut x = ZERO;
        self.source_row(inst, k, row, &mut x).map(u64::from)
    }

    /// Sources and result of 16 bits, absent sources zero.
    pub(crate) fn half(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let source = |k: usize| self.half_row(inst, k, row);
            let out = map3(&source(0), &source(1), &source(2), &f);
            let shadow = self.shadow_if(is_undefined, inst, row, rule);
            self.put_half(inst, row, &out, shadow);
        }
        Ok(())
    }

    // binary32.

    /// One binary32 source and result.
    pub(crate) fn float1(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let mut x = ZERO;
            let mut out = map1(self.float_row(inst, 0, row, &mut x), &f);
            self.finish(inst, &mut out);
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Two binary32 sources, binary32 result.
    pub(crate) fn float2(&mut self, inst: &Prepared, f: impl Fn(u32, u32) -> u32) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let (mut x, mut y) = (ZERO, ZERO);
            let (a, b) =
                (self.float_row(inst, 0, row, &mut x), self.float_row(inst, 1, row, &mut y));
            let mut out = map2(a, b, &f);
            self.finish(inst, &mut out);
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Three binary32 sources, binary32 result.
    pub(crate) fn float3(&mut self, inst: &Prepared, f: impl Fn(u32, u32, u32) -> u32) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let (mut x, mut y, mut z) = (ZERO, ZERO, ZERO);
            let (a, b) =
                (self.float_row(inst, 0, row, &mut x), self.float_row(inst, 1, row, &mut y));
            let mut out = map3(a, b, self.float_row(inst, 2, row, &mut z), &f);
            self.finish(inst, &mut out);
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Rows of binary32 sources, binary32 result by row: for sources of mixed kinds.
    pub(crate) fn float_from_rows(
        &mut self,
        inst: &Prepared,
        rows: impl Fn(&Self, usize) -> Row,
    ) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let mut out = rows(self, row);
            self.finish(inst, &mut out);
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Rows of 32-bit results without any finishing: conversions to integers and packed halves.
    pub(crate) fn raw_from_rows(
        &mut self,
        inst: &Prepared,
        rows: impl Fn(&Self, usize) -> Row,
        rule: Rule,
    ) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let out = rows(self, row);
            let shadow = self.shadow_if(is_undefined, inst, row, rule);
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// OMOD, flush and CLAMP of binary32 results.
    ///
    /// OMOD has an effect only with IEEE mode off and subnormal results flushed (RDNA3 ISA manual,
    /// output modifiers).
    #[inline]
    pub(crate) fn finish(&self, inst: &Prepared, out: &mut Row) {
        if inst.has_output || self.wave.mode.flush_results32 {
            self.finish_slowly(inst, out);
        }
    }

    #[cold]
    fn finish_slowly(&self, inst: &Prepared, out: &mut Row) {
        let mode = self.wave.mode;
        let factor = match inst.inst.mods.omod {
            OutputScale::One => 1.0,
            OutputScale::Mul2 => 2.0,
            OutputScale::Mul4 => 4.0,
            OutputScale::Div2 => 0.5,
        };
        if factor != 1.0 && !mode.ieee && mode.flush_results32 {
            *out = map1(out, |bits| float::scale32(bits, factor));
        }
        if mode.flush_results32 {
            *out = map1(out, float::flush32);
        }
        if inst.inst.mods.clamp {
            *out = map1(out, |bits| float::clamp32(mode, bits));
        }
    }

    // binary16 and binary64.

    /// Binary16 sources and result, absent sources zero.
    pub(crate) fn half_float(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> u32,
    ) -> Outcome {
        let sources = |exec: &Self, row: usize| {
            let source = |k: usize| exec.half_float_row(inst, k, row);
            map3(&source(0), &source(1), &source(2), &f)
        };
        self.half_float_from_rows(inst, sources)
    }

    /// Rows of binary16 results in the low halves.
    pub(crate) fn half_float_from_rows(
        &mut self,
        inst: &Prepared,
        rows: impl Fn(&Self, usize) -> Row,
    ) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let out = rows(self, row);
            let out = map1(&out, |bits| self.finish_half(inst, bits));
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put_half(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// OMOD, flush and CLAMP of a binary16 result.
    pub(crate) fn finish_half(&self, inst: &Prepared, bits: u32) -> u32 {
        let mode = self.wave.mode;
        // 2.0, 4.0 and 0.5 as binary16.
        let factor = match inst.inst.mods.omod {
            OutputScale::One => None,
            OutputScale::Mul2 => Some(0x4000),
            OutputScale::Mul4 => Some(0x4400),
            OutputScale::Div2 => Some(0x3800),
        };
        let bits = match factor {
            Some(factor) if !mode.ieee && mode.flush_results16 => float::mul16(bits, factor),
            _ => bits,
        };
        let bits = if mode.flush_results16 { float::flush16(bits) } else { bits };
        if inst.inst.mods.clamp { float::clamp16(mode, bits) } else { bits }
    }

    /// Binary64 sources (integers where the row says so) and result, absent sources zero.
    pub(crate) fn double(&mut self, inst: &Prepared, f: impl Fn(u64, u64, u64) -> u64) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        let mode = self.wave.mode;
        for row in self.rows() {
            let source = |k: usize| match inst.bits[k] {
                64 => self.double_row(inst, k, row),
                _ => self.any_row(inst, k, row),
            };
            let (a, b, c) = (source(0), source(1), source(2));
            let out = std::array::from_fn(|lane| {
                let bits = f(a[lane], b[lane], c[lane]);
                let bits = if mode.flush_results16 { float::flush64(bits) } else { bits };
                if inst.inst.mods.clamp { float::clamp64(mode, bits) } else { bits }
            });
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put_wide(inst, row, &out, shadow);
        }
        Ok(())
    }

    // Lane masks.

    /// The lanes of a mask source that are set.
    pub(crate) fn mask_source(&self, inst: &Prepared, k: usize) -> Bits {
        let wave_mask = if self.wave.width == 32 { 0xffff_ffff } else { u64::MAX };
        let source = inst.src[k];
        Bits {
            value: self.uniform(source) & wave_mask,
            undefined: self.uniform_undefined(source) & wave_mask,
        }
    }

    /// Two 32-bit sources, a carry in (source 2, where the row has it) and a carry out to the second
    /// destination.
    pub(crate) fn carry(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, bool) -> (u32, bool),
    ) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        let carries_in = self.mask_source(inst, 2);
        let mut carries_out = Bits::default();
        for row in self.rows() {
            let (mut x, mut y) = (ZERO, ZERO);
            let (a, b) =
                (self.source_row(inst, 0, row, &mut x), self.source_row(inst, 1, row, &mut y));
            let mut out = ZERO;
            for lane in 0..ROW_LANES {
                let at = row * ROW_LANES + lane;
                let (sum, carry) = f(a[lane], b[lane], carries_in.value >> at & 1 == 1);
                out[lane] = sum;
                carries_out.value |= u64::from(carry) << at;
            }
            let shadow = if is_undefined {
                self.carry_shadow(inst, row, carries_in, &mut carries_out)
            } else {
                None
            };
            self.put(inst, row, &out, shadow);
        }
        carries_out.value &= self.wave.active;
        carries_out.undefined &= self.wave.active;
        self.set_lane_mask(inst, inst.dst[1], carries_out);
        Ok(())
    }

    #[cold]
    fn carry_shadow(
        &self,
        inst: &Prepared,
        row: usize,
        carries_in: Bits,
        carries_out: &mut Bits,
    ) -> Shadow {
        let mut shadow = Box::new([ZERO; 2]);
        for lane in 0..ROW_LANES {
            let at = row * ROW_LANES + lane;
            let carry = Bits { value: 0, undefined: carries_in.undefined >> at & 1 };
            let undefined = taint::upwards([
                self.source_bits(inst, 0, at),
                self.source_bits(inst, 1, at),
                carry,
            ]);
            shadow[0][lane] = low(undefined);
            carries_out.undefined |= u64::from(undefined != 0) << at;
        }
        Some(shadow)
    }

    /// A comparison: the rows' bits to the first destination, or to EXEC.
    pub(crate) fn compare(&mut self, inst: &Prepared, rows: impl Fn(&Self, usize) -> u32) -> Bits {
        let is_undefined = self.is_any_undefined(inst);
        let mut result = Bits::default();
        for row in self.rows() {
            result.value |= u64::from(rows(self, row)) << (row * ROW_LANES);
        }
        if is_undefined {
            let undefined = |lane: usize| {
                (self.source_bits(inst, 0, lane).undefined
                    | self.source_bits(inst, 1, lane).undefined)
                    != 0
            };
            result.undefined =
                (0..self.wave.width as usize).map(|lane| u64::from(undefined(lane)) << lane).sum();
        }
        Bits {
            value: result.value & self.wave.active,
            undefined: result.undefined & self.wave.active,
        }
    }
}

/// Bits of the sign to clear and to flip for ABS and NEG.
fn signs(inst: &Prepared, k: usize, sign: u32) -> (u32, u32) {
    (if inst.abs[k] { sign } else { 0 }, if inst.neg[k] { sign } else { 0 })
}
