//! Integer operations: 32, 64 and 16 bits.

use super::{ZERO, map3, simd};
use crate::exec::{Exec, Outcome};
use crate::prepare::Prepared;
use crate::taint::Rule;
use crate::wave::ROW_LANES;

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
}
