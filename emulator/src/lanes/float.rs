//! Float operations: binary32, binary16, binary64, and what finishes their results.

use super::simd::RowFunction;
use super::{Fused, ZERO, map1, map3, simd};
use crate::exec::{Exec, Outcome};
use crate::float::{self, FloatMode};
use crate::prepare::Prepared;
use crate::taint::{self, Rule};
use crate::wave::{ROW_LANES, Row};
use isa::inst::OutputScale;

impl Exec<'_> {
    /// One binary32 source and result.
    pub(crate) fn float1(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32) -> Outcome {
        self.float3(inst, |a, _, _| f(a))
    }

    /// Two binary32 sources, binary32 result.
    pub(crate) fn float2(&mut self, inst: &Prepared, f: impl Fn(u32, u32) -> u32) -> Outcome {
        self.float3(inst, |a, b, _| f(a, b))
    }

    /// Three binary32 sources, binary32 result.
    #[inline(always)]
    pub(crate) fn float3(&mut self, inst: &Prepared, f: impl Fn(u32, u32, u32) -> u32) -> Outcome {
        if let Some(wide) = self.on_all_lanes(inst) {
            return simd::map_signed_all(wide, &mut self.wave.vectors, inst, f);
        }
        self.float3_slowly(inst, f)
    }

    #[inline(never)]
    fn float3_slowly(&mut self, inst: &Prepared, f: impl Fn(u32, u32, u32) -> u32) -> Outcome {
        if self.is_plain(inst) {
            return self.bits3(inst, f, taint::any);
        }
        self.float_slowly(inst, f)
    }

    /// One binary32 source and result, a whole row at once.
    #[inline(always)]
    pub(crate) fn float_row_by_row(&mut self, inst: &Prepared, f: impl RowFunction) -> Outcome {
        if let Some(wide) = self.on_all_lanes(inst) {
            return simd::map_row_all(wide, &mut self.wave.vectors, inst, f);
        }
        self.float_row_by_row_slowly(inst, f)
    }

    #[inline(never)]
    fn float_row_by_row_slowly(&mut self, inst: &Prepared, f: impl RowFunction) -> Outcome {
        if self.is_plain(inst) {
            return self.run_lanes(inst, taint::any, |w, file, inst, active| {
                simd::map_row(w, file, inst, active, f)
            });
        }
        let rows = |exec: &Self, row: usize| {
            f.of_row(Fused::Software, exec.float_row(inst, 0, row, &mut [0; ROW_LANES]))
        };
        self.float_from_rows(inst, rows)
    }

    /// A source with NEG and ABS as on binary32, not flushed, to 32 bits that nothing finishes.
    pub(crate) fn bits1(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32, rule: Rule) -> Outcome {
        self.bits3(inst, |a, _, _| f(a), rule)
    }

    /// As [`Exec::bits1`], of up to three sources.
    #[inline(always)]
    pub(crate) fn bits3(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        if let Some(wide) = self.on_all_lanes(inst) {
            return simd::map_signed_all(wide, &mut self.wave.vectors, inst, f);
        }
        self.bits3_slowly(inst, f, rule)
    }

    #[inline(never)]
    fn bits3_slowly(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> u32,
        rule: Rule,
    ) -> Outcome {
        self.run_lanes(inst, rule, |w, file, inst, active| {
            simd::map_signed(w, file, inst, active, f)
        })
    }

    /// Up to three binary32 sources and the host's operation on them; a NaN result is chosen among the
    /// sources in their order.
    #[inline(always)]
    pub(crate) fn arithmetic(
        &mut self,
        inst: &Prepared,
        f: impl Fn(Fused, f32, f32, f32) -> f32,
    ) -> Outcome {
        if let Some(wide) = self.on_all_lanes(inst) {
            return simd::arithmetic_all(wide, &mut self.wave.vectors, inst, f);
        }
        self.arithmetic_slowly(inst, f)
    }

    #[inline(never)]
    fn arithmetic_slowly(
        &mut self,
        inst: &Prepared,
        f: impl Fn(Fused, f32, f32, f32) -> f32,
    ) -> Outcome {
        if self.is_plain(inst) {
            return self.run_lanes(inst, taint::any, |w, file, inst, active| {
                simd::arithmetic(w, file, inst, active, f)
            });
        }
        self.float_slowly(inst, |a, b, c| {
            let [x, y, z] = [a, b, c].map(f32::from_bits);
            float::canonical(f(Fused::Software, x, y, z), [a, b, c])
        })
    }

    /// Up to three binary32 sources, and a function that has a shorter form where no source is NaN.
    #[inline(always)]
    pub(crate) fn minmax(
        &mut self,
        inst: &Prepared,
        of_numbers: impl Fn(u32, u32, u32) -> u32,
        of_everything: impl Fn(FloatMode, u32, u32, u32) -> u32,
    ) -> Outcome {
        let mode = self.wave.mode;
        let of_everything = |a: u32, b: u32, c: u32| of_everything(mode, a, b, c);
        if let Some(wide) = self.on_all_lanes(inst) {
            return simd::numbers_all(
                wide,
                &mut self.wave.vectors,
                inst,
                of_numbers,
                of_everything,
            );
        }
        self.minmax_slowly(inst, of_numbers, of_everything)
    }

    #[inline(never)]
    fn minmax_slowly(
        &mut self,
        inst: &Prepared,
        of_numbers: impl Fn(u32, u32, u32) -> u32,
        of_everything: impl Fn(u32, u32, u32) -> u32,
    ) -> Outcome {
        if self.is_plain(inst) {
            return self.run_lanes(inst, taint::any, |w, file, inst, active| {
                simd::numbers(w, file, inst, active, of_numbers, of_everything)
            });
        }
        self.float_slowly(inst, of_everything)
    }

    /// Neither flushing nor modifiers of the output.
    #[inline]
    pub(crate) fn is_plain(&self, inst: &Prepared) -> bool {
        !(inst.has_output | self.wave.mode.flushes32)
    }

    /// With flushing and the modifiers of the output.
    #[cold]
    #[inline(never)]
    fn float_slowly(&mut self, inst: &Prepared, f: impl Fn(u32, u32, u32) -> u32) -> Outcome {
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
}
