//! Operations that read or write one bit a lane: carries, compares.

use super::{Shadow, Wide, ZERO, low, simd};
use crate::exec::{Exec, Outcome};
use crate::prepare::Prepared;
use crate::taint::{self, Bits};
use crate::wave::ROW_LANES;

impl Exec<'_> {
    /// The lanes of a mask source that are set.
    pub(crate) fn mask_source(&self, inst: &Prepared, k: usize) -> Bits {
        let wave_mask = self.lane_bits();
        let source = inst.src[k];
        let is_tracked = self.wave.tracks_undefined;
        let undefined = if is_tracked { self.uniform_undefined(source) } else { 0 };
        Bits { value: self.uniform(source) & wave_mask, undefined: undefined & wave_mask }
    }

    /// `mask ? source 1 : source 0`, lane by lane; NEG and ABS as on binary32.
    pub(crate) fn select_lanes(
        &mut self,
        inst: &Prepared,
        mask: u64,
        shadows: Option<[Shadow; 2]>,
    ) -> Outcome {
        let run = |width, file: &mut _, inst: &_, active| {
            simd::select(width, file, inst, active, mask, |a, b, choice| if choice { b } else { a })
        };
        match shadows {
            None => self.run_defined(inst, run),
            Some(shadows) => self.run_shadowed(inst, &shadows, run),
        }
    }

    /// [`Exec::select_lanes`] of defined sources in all lanes.
    #[inline(always)]
    pub(crate) fn select_all(&mut self, wide: Wide, inst: &Prepared, mask: u64) -> Outcome {
        let choose = |a, b, choice| if choice { b } else { a };
        simd::select_all(wide, &mut self.wave.vectors, inst, mask, choose)
    }

    /// One bit a lane from three 32-bit sources; NEG and ABS as on binary32.
    #[inline(always)]
    pub(crate) fn test_lanes(&mut self, inst: &Prepared, f: impl Fn(u32, u32, u32) -> bool) -> u64 {
        self.run_defined(inst, |width, file, inst, _| simd::test(width, file, inst, f))
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

    /// The active lanes of a comparison's result, with its undefined bits.
    pub(crate) fn compared(&self, inst: &Prepared, value: u64) -> Bits {
        let undefined = if self.is_any_undefined(inst) { self.undefined_lanes(inst) } else { 0 };
        Bits { value: value & self.wave.active, undefined: undefined & self.wave.active }
    }

    /// Lanes in which source 0 or source 1 has an undefined bit.
    #[cold]
    fn undefined_lanes(&self, inst: &Prepared) -> u64 {
        let undefined = |lane: usize| {
            let bits = |k: usize| self.source_bits(inst, k, lane).undefined;
            (bits(0) | bits(1)) != 0
        };
        (0..self.wave.width as usize).map(|lane| u64::from(undefined(lane)) << lane).sum()
    }
}
