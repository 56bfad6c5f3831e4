//! Running a loop over the rows of a wave: operands found, undefined bits followed.

use super::Shadow;
use super::places::Choice;
use super::simd::{self, Fused, Wide, Width};
use crate::exec::{Exec, Outcome};
use crate::prepare::Prepared;
use crate::taint::Rule;
use crate::wave::{ROW_LANES, VectorFile};

impl Exec<'_> {
    /// Runs a loop that writes 32-bit results, and follows undefined bits by a rule.
    #[inline(always)]
    pub(super) fn run_lanes(
        &mut self,
        inst: &Prepared,
        rule: Rule,
        run: impl FnOnce(Width, &mut VectorFile, &Prepared, u64) -> Outcome,
    ) -> Outcome {
        if self.is_any_undefined(inst) {
            return self.run_undefined(inst, rule, run);
        }
        self.run_defined(inst, run)
    }

    /// Wide vectors, where an instruction works on all lanes and nothing else has to be done for it.
    #[inline(always)]
    pub(crate) fn on_all_lanes(&self, inst: &Prepared) -> Option<Wide> {
        let wave = &*self.wave;
        let is_slow = inst.is_slow | wave.tracks_undefined | wave.mode.flushes32;
        if is_slow || wave.active != wave.vectors.all_lanes() {
            return None;
        }
        wave.vectors.width().wide()
    }

    #[cold]
    #[inline(never)]
    fn run_undefined(
        &mut self,
        inst: &Prepared,
        rule: Rule,
        run: impl FnOnce(Width, &mut VectorFile, &Prepared, u64) -> Outcome,
    ) -> Outcome {
        let shadows = self.shadows(inst, rule);
        self.run_shadowed(inst, &shadows, run)
    }

    /// Runs a loop that writes 32-bit results, all of them defined.
    #[inline(always)]
    pub(super) fn run_defined<T>(
        &mut self,
        inst: &Prepared,
        run: impl FnOnce(Width, &mut VectorFile, &Prepared, u64) -> T,
    ) -> T {
        if inst.places.n_spread != 0 {
            self.wave.spread(inst);
        }
        let active = self.wave.active;
        run(self.wave.vectors.width(), &mut self.wave.vectors, inst, active)
    }

    /// Runs a loop that writes 32-bit results with these undefined bits a row.
    #[cold]
    pub(super) fn run_shadowed(
        &mut self,
        inst: &Prepared,
        shadows: &[Shadow; 2],
        run: impl FnOnce(Width, &mut VectorFile, &Prepared, u64) -> Outcome,
    ) -> Outcome {
        self.run_defined(inst, run)?;
        self.taint_rows(inst.places.result, shadows);
        self.note_undefined(inst);
        Ok(())
    }

    /// A binary32 operation of the host for each word of a packed result, on defined sources.
    pub(crate) fn two_words(
        &mut self,
        inst: &Prepared,
        words: [Choice; 2],
        f: impl Fn(Fused, f32, f32, f32) -> f32,
    ) -> Outcome {
        self.run_defined(inst, |width, file, inst, active| {
            simd::pairs(width, file, inst, active, words, f)
        })
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
