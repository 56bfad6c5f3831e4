//! Integer operations: 32, 64 and 16 bits.

use super::simd::{Fused, Loops};
use super::{ZERO, map3, simd};
use crate::exec::{Exec, Outcome};
use crate::prepare::Prepared;
use crate::taint::Rule;
use crate::wave::{ROW_LANES, Row};

/// A row of 64-bit results; sources and results in words, the low ones first.
struct WideRow<'a, F> {
    sources: [[&'a Row; 2]; 3],
    f: &'a F,
}

impl<F: Fn(u64, u64, u64) -> u64> Loops for WideRow<'_, F> {
    type Output = [Row; 2];

    #[inline(always)]
    fn run(self, _: Fused) -> [Row; 2] {
        let mut out = [ZERO; 2];
        for lane in 0..ROW_LANES {
            let [a, b, c] =
                self.sources.map(|[low, high]| u64::from(low[lane]) | u64::from(high[lane]) << 32);
            let result = (self.f)(a, b, c);
            (out[0][lane], out[1][lane]) = (result as u32, (result >> 32) as u32);
        }
        out
    }
}

impl Exec<'_> {
    /// One 32-bit source.
    pub(crate) fn int1(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32, rule: Rule) -> Outcome {
        self.int3(inst, |a, _, _| f(a), rule)
    }

    /// Two 32-bit sources.
    pub(crate) fn int2(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        self.int3(inst, |a, b, _| f(a, b), rule)
    }

    /// Three 32-bit sources.
    #[inline(always)]
    pub(crate) fn int3(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        if let Some(wide) = self.on_all_lanes(inst) {
            return simd::map_all(wide, &mut self.wave.vectors, inst, f);
        }
        self.int3_slowly(inst, f, rule)
    }

    #[inline(never)]
    fn int3_slowly(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        self.run_lanes(inst, rule, |w, file, inst, active| simd::map(w, file, inst, active, f))
    }

    /// The number of the lane and two 32-bit sources.
    pub(crate) fn numbered(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        self.run_lanes(inst, rule, |w, file, inst, active| {
            simd::map_numbered(w, file, inst, active, f)
        })
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
            let mut buffers = [[ZERO; 2]; 3];
            let [x, y, z] = &mut buffers;
            let sources = [
                self.words_row(inst, 0, row, x),
                self.words_row(inst, 1, row, y),
                self.words_row(inst, 2, row, z),
            ];
            let out = simd::run(self.wave.vectors.width(), WideRow { sources, f: &f });
            let shadow = self.shadow_if(is_undefined, inst, row, rule);
            self.put_words(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// The words of a row of a source of 32 or 64 bits, zero-extended.
    fn words_row<'a>(
        &'a self,
        inst: &Prepared,
        k: usize,
        row: usize,
        [low, high]: &'a mut [Row; 2],
    ) -> [&'a Row; 2] {
        let low = self.source_row(inst, k, row, low);
        [low, if inst.bits[k] == 64 { self.high_row(inst, k, row, high) } else { high }]
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
}
