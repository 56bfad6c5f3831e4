//! Running a loop over the rows of a wave: operands found, undefined bits followed.

use super::simd::{self, Fused, Operands, Place, Width};
use super::source::signs;
use super::{Shadow, low};
use crate::exec::{Exec, Outcome};
use crate::float::SIGN32;
use crate::operand::Dest;
use crate::prepare::Prepared;
use crate::taint::Rule;
use crate::wave::{AlignedRow, PACKED_STAGE, ROW_LANES};

impl Exec<'_> {
    /// Where the first three sources lie as 32-bit values, and where a result goes.
    #[inline]
    pub(super) fn operands(&self, inst: &Prepared, result: u16) -> Operands {
        let rows = self.wave.n_rows();
        let place = |k: usize| Place {
            first: usize::from(inst.lanes_in[k]) * rows,
            step: inst.lane_steps[k].into(),
            value: 0,
            keep: u32::MAX,
            flip: 0,
        };
        let mut operands = Operands {
            result: usize::from(result) * rows,
            sources: [place(0), place(1), place(2)],
            spread: inst.spread,
            n_rows: rows,
            active: self.wave.active,
            has_signs: inst.has_signs,
        };
        if inst.spread != 0 {
            for (k, source) in operands.sources.iter_mut().enumerate() {
                source.value = low(self.uniform(inst.src[k]));
            }
        }
        if inst.has_signs {
            for (k, source) in operands.sources.iter_mut().enumerate() {
                let (clear, flip) = signs(inst, k, SIGN32);
                (source.keep, source.flip) = (!clear, flip);
            }
        }
        operands
    }

    /// Runs a loop that writes 32-bit results, and follows undefined bits by a rule.
    #[inline]
    pub(super) fn run_lanes(
        &mut self,
        inst: &Prepared,
        rule: Rule,
        run: impl FnOnce(Width, &mut [AlignedRow], &Operands),
    ) -> Outcome {
        let shadows =
            if self.is_any_undefined(inst) { self.shadows(inst, rule) } else { [None, None] };
        self.run_shadowed(inst, shadows, run)
    }

    /// Runs a loop that writes 32-bit results with these undefined bits a row.
    #[inline]
    pub(super) fn run_shadowed(
        &mut self,
        inst: &Prepared,
        shadows: [Shadow; 2],
        run: impl FnOnce(Width, &mut [AlignedRow], &Operands),
    ) -> Outcome {
        let Dest::Vector(register) = inst.dst[0] else { return Ok(()) };
        let operands = self.operands(inst, register);
        let (width, file) = self.wave.vectors.rows_mut();
        run(width, file, &operands);
        self.wave.vectors.define(register, self.wave.active);
        if shadows.iter().any(Option::is_some) {
            self.taint_rows(register, &shadows);
        }
        Ok(())
    }

    /// A binary32 operation of the host for each word of a packed result, on defined sources: which
    /// sources take their high word, and which are negated, one bit a source.
    pub(crate) fn two_words(
        &mut self,
        inst: &Prepared,
        choices: [(u8, u8); 2],
        f: impl Fn(Fused, f32, f32, f32) -> f32,
    ) -> Outcome {
        let Dest::Vector(register) = inst.dst[0] else { return Ok(()) };
        // The low word waits in a stage: the high one may still have to read what it overwrites.
        for ((high, neg), result) in choices.into_iter().zip([PACKED_STAGE, register + 1]) {
            let mut operands = self.operands(inst, result);
            operands.has_signs = neg != 0;
            for (k, source) in operands.sources.iter_mut().enumerate() {
                if high >> k & 1 == 1 {
                    source.first += source.step * operands.n_rows;
                    source.value = low(self.uniform(inst.src[k]) >> 32);
                }
                (source.keep, source.flip) = (u32::MAX, u32::from(neg >> k & 1) << 31);
            }
            let (width, file) = self.wave.vectors.rows_mut();
            simd::arithmetic(width, file, &operands, &f);
        }
        for row in self.rows() {
            let values = *self.wave.vectors.row(PACKED_STAGE, row);
            let lanes = self.wave.active_row(row);
            self.wave.vectors.write_row(register, row, lanes, u32::MAX, &values);
        }
        self.wave.vectors.define(register + 1, self.wave.active);
        Ok(())
    }

    /// The undefined bits of all rows of results, by a rule.
    #[cold]
    fn shadows(&self, inst: &Prepared, rule: Rule) -> [Shadow; 2] {
        let mut shadows = [None, None];
        for row in self.rows() {
            shadows[row] = self.shadow(inst, row, rule);
        }
        shadows
    }

    #[cold]
    fn taint_rows(&mut self, register: u16, shadows: &[Shadow; 2]) {
        for (row, shadow) in shadows.iter().enumerate() {
            if let Some(shadow) = shadow {
                let lanes = (self.wave.active >> (row * ROW_LANES)) as u32;
                self.wave.vectors.taint_row(register, row, lanes, u32::MAX, &shadow[0]);
            }
        }
    }
}
