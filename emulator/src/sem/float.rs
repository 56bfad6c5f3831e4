//! Vector arithmetic in binary32 and binary64.

use isa::table::Float;

use crate::exec::{Exec, Outcome};
use crate::fidelity::Bound::{Estimate, OneUlp, Trigonometric};
use crate::float::*;
use crate::operand::Dest;
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Approximate, Exact};
use crate::taint::{self, Bits};
use crate::wave::{ROW_LANES, Row, scalar};

#[rustfmt::skip]
pub(crate) fn meaning(op: Float) -> Meaning {
    match op {
        // One source.
        Float::VFractF32 => Exact(|x, i| x.float1(i, fract32)),
        Float::VFractF64 => Exact(|x, i| x.double(i, |a, _, _| fract64(a))),
        Float::VTruncF32 => Exact(|x, i| x.arithmetic(i, |fused, a, _, _| trunc(fused, a))),
        Float::VTruncF64 => Exact(|x, i| x.double(i, |a, _, _| trunc64(a))),
        Float::VCeilF32 => Exact(|x, i| x.arithmetic(i, |fused, a, _, _| ceil(fused, a))),
        Float::VCeilF64 => Exact(|x, i| x.double(i, |a, _, _| ceil64(a))),
        Float::VRndneF32 => Exact(|x, i| x.arithmetic(i, |fused, a, _, _| nearest_even(fused, a))),
        Float::VRndneF64 => Exact(|x, i| x.double(i, |a, _, _| round_even64(a))),
        Float::VFloorF32 => Exact(|x, i| x.arithmetic(i, |fused, a, _, _| floor(fused, a))),
        Float::VFloorF64 => Exact(|x, i| x.double(i, |a, _, _| floor64(a))),
        Float::VExpF32 => Approximate(OneUlp, |x, i| x.float_row_by_row(i, Exp2)),
        Float::VLogF32 => Approximate(OneUlp, |x, i| x.float1(i, log2_32)),
        Float::VRcpF32 | Float::VRcpIflagF32 => Approximate(OneUlp, |x, i| x.float1(i, rcp32)),
        Float::VRsqF32 => Approximate(OneUlp, |x, i| x.float1(i, rsq32)),
        Float::VSqrtF32 => Approximate(OneUlp, |x, i| x.float1(i, sqrt32)),
        Float::VSinF32 => Approximate(Trigonometric, |x, i| x.float1(i, sin32)),
        Float::VCosF32 => Approximate(Trigonometric, |x, i| x.float1(i, cos32)),
        Float::VRcpF64 => Approximate(Estimate, |x, i| x.double(i, |a, _, _| rcp64(a))),
        Float::VRsqF64 => Approximate(Estimate, |x, i| x.double(i, |a, _, _| rsq64(a))),
        Float::VSqrtF64 => Approximate(Estimate, |x, i| x.double(i, |a, _, _| sqrt64(a))),
        Float::VFrexpExpI32F32 => Exact(|x, i| x.float_to_int(i, frexp_exponent32)),
        Float::VFrexpMantF32 => Exact(|x, i| x.float1(i, frexp_significand32)),
        Float::VFrexpExpI32F64 => Exact(|x, i| x.double_to_int(i, frexp_exponent64)),
        Float::VFrexpMantF64 => Exact(|x, i| x.double(i, |a, _, _| frexp_significand64(a))),

        // Two sources.
        Float::VAddF32 => Exact(|x, i| x.arithmetic(i, |_, a, b, _| a + b)),
        Float::VSubF32 => Exact(|x, i| x.arithmetic(i, |_, a, b, _| a - b)),
        Float::VSubrevF32 => Exact(|x, i| x.float2(i, |a, b| sub32(b, a))),
        Float::VMulF32 => Exact(|x, i| x.arithmetic(i, |_, a, b, _| a * b)),
        Float::VMinF32 => Exact(|x, i| x.minmax(i, |a, b, _| less32(a, b), |m, a, b, _| min32(m, a, b))),
        Float::VMaxF32 => Exact(|x, i| x.minmax(i, |a, b, _| more32(a, b), |m, a, b, _| max32(m, a, b))),
        Float::VMulDx9ZeroF32 => Exact(|x, i| x.float2(i, mul_legacy32)),
        Float::VAddF64 => Exact(|x, i| x.double(i, |a, b, _| add64(a, b))),
        Float::VMulF64 => Exact(|x, i| x.double(i, |a, b, _| mul64(a, b))),
        Float::VMinF64 => Exact(|x, i| { let m = x.wave.mode; x.double(i, |a, b, _| min64(m, a, b)) }),
        Float::VMaxF64 => Exact(|x, i| { let m = x.wave.mode; x.double(i, |a, b, _| max64(m, a, b)) }),
        Float::VLdexpF32 => Exact(|x, i| x.float_ldexp(i)),
        Float::VLdexpF64 => Exact(|x, i| x.double(i, |a, b, _| ldexp64(a, (b as u32).cast_signed()))),

        // Multiply-add.
        Float::VFmacF32 | Float::VFmaakF32 | Float::VFmaF32 => Exact(|x, i| x.arithmetic(i, |fused, a, b, c| fused.multiply_add(a, b, c))),
        Float::VFmamkF32 => Exact(|x, i| x.arithmetic(i, |fused, a, b, c| fused.multiply_add(a, b, c))),
        // A factor of zero leaves the sum alone, whatever the other one is (RDNA3 ISA manual).
        Float::VFmacDx9ZeroF32 => Exact(|x, i| x.float3(i, |a, b, c| if a << 1 == 0 || b << 1 == 0 { c } else { fma32(a, b, c) })),
        Float::VFmacF64 | Float::VFmaF64 => Exact(|x, i| x.double(i, fma64)),

        // Three sources.
        Float::VMin3F32 => Exact(|x, i| x.minmax(i, |a, b, c| less32(less32(a, b), c), |m, a, b, c| min32(m, min32(m, a, b), c))),
        Float::VMax3F32 => Exact(|x, i| x.minmax(i, |a, b, c| more32(more32(a, b), c), |m, a, b, c| max32(m, max32(m, a, b), c))),
        Float::VMed3F32 => Exact(|x, i| { let m = x.wave.mode; x.float3(i, |a, b, c| med3_32(m, a, b, c)) }),
        Float::VMinimum3F32 => Exact(|x, i| x.float3(i, |a, b, c| minimum32(minimum32(a, b), c))),
        Float::VMaximum3F32 => Exact(|x, i| x.float3(i, |a, b, c| maximum32(maximum32(a, b), c))),
        Float::VMaxminF32 => Exact(|x, i| x.minmax(i, |a, b, c| less32(more32(a, b), c), |m, a, b, c| min32(m, max32(m, a, b), c))),
        Float::VMinmaxF32 => Exact(|x, i| x.minmax(i, |a, b, c| more32(less32(a, b), c), |m, a, b, c| max32(m, min32(m, a, b), c))),
        Float::VDivScaleF32 => Exact(|x, i| x.div_scale32(i)),
        Float::VDivFmasF32 => Exact(|x, i| x.div_fmas32(i)),
        Float::VDivFixupF32 => Exact(|x, i| x.float3(i, div_fixup32)),
        Float::VDivScaleF64 => Exact(|x, i| x.div_scale64(i)),
        Float::VDivFmasF64 => Approximate(OneUlp, |x, i| x.div_fmas64(i)),
        Float::VDivFixupF64 => Exact(|x, i| x.double(i, div_fixup64)),
        Float::VTrigPreopF64 => Exact(|x, i| x.double(i, |a, b, _| trig_preop(a, b as u32))),
    }
}

impl Exec<'_> {
    /// A binary32 source to 32 bits that are no float.
    pub(crate) fn float_to_int(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32) -> Outcome {
        if self.wave.mode.flush_sources32 {
            return self.bits1(inst, |a| f(flush32(a)), taint::any);
        }
        self.bits1(inst, f, taint::any)
    }

    /// A binary64 source to 32 bits that are no float.
    pub(crate) fn double_to_int(&mut self, inst: &Prepared, f: impl Fn(u64) -> u32) -> Outcome {
        self.raw_from_rows(inst, |exec, row| exec.double_row(inst, 0, row).map(&f), taint::any)
    }

    /// A binary32 and an integer, not flushed.
    fn float_ldexp(&mut self, inst: &Prepared) -> Outcome {
        if self.is_plain(inst) {
            let scaled = |fused, a, b: f32, _| ldexp_lanes(fused, a, b.to_bits().cast_signed());
            return self.arithmetic(inst, scaled);
        }
        let rows = |exec: &Self, row: usize| -> Row {
            let (mut x, mut y) = ([0; ROW_LANES], [0; ROW_LANES]);
            let (a, b) =
                (exec.float_row(inst, 0, row, &mut x), exec.source_row(inst, 1, row, &mut y));
            std::array::from_fn(|lane| ldexp32(a[lane], b[lane].cast_signed()))
        };
        self.float_from_rows(inst, rows)
    }

    fn div_scale32(&mut self, inst: &Prepared) -> Outcome {
        let mut flags = Bits::default();
        let (active, is_undefined) = (self.wave.active, self.is_any_undefined(inst));
        if !is_undefined && self.is_plain(inst) {
            let unscaled = self.test_lanes(inst, |_, b, c| is_unscaled32(b, c));
            if active & !unscaled == 0 {
                self.bits1(inst, |a| a, taint::any)?;
                self.set_lane_mask(inst, inst.dst[1], flags);
                return Ok(());
            }
        }
        if is_undefined {
            for lane in (0..self.wave.width as usize).filter(|lane| active >> lane & 1 == 1) {
                flags.undefined |= u64::from(self.is_lane_undefined(inst, lane)) << lane;
            }
        }
        for row in self.rows() {
            let mut buffers = [[0; ROW_LANES]; 3];
            let [x, y, z] = &mut buffers;
            let (a, b) = (self.float_row(inst, 0, row, x), self.float_row(inst, 1, row, y));
            let c = self.float_row(inst, 2, row, z);
            for lane in 0..ROW_LANES {
                let (_, scaled) = div_scale32(a[lane], b[lane], c[lane]);
                flags.value |= u64::from(scaled) << (row * ROW_LANES + lane);
            }
        }
        flags.value &= active;
        self.float3(inst, |a, b, c| div_scale32(a, b, c).0)?;
        self.set_lane_mask(inst, inst.dst[1], flags);
        Ok(())
    }

    fn div_scale64(&mut self, inst: &Prepared) -> Outcome {
        let mut flags = Bits::default();
        let (active, is_undefined) = (self.wave.active, self.is_any_undefined(inst));
        for lane in (0..self.wave.width as usize).filter(|lane| active >> lane & 1 == 1) {
            let source = |k: usize| self.double_row(inst, k, lane / ROW_LANES)[lane % ROW_LANES];
            let (_, scaled) = div_scale64(source(0), source(1), source(2));
            flags.value |= u64::from(scaled) << lane;
            flags.undefined |=
                u64::from(is_undefined && self.is_lane_undefined(inst, lane)) << lane;
        }
        self.double(inst, |a, b, c| div_scale64(a, b, c).0)?;
        self.set_lane_mask(inst, inst.dst[1], flags);
        Ok(())
    }

    fn is_lane_undefined(&self, inst: &Prepared, lane: usize) -> bool {
        (0..3).any(|k| self.source_bits(inst, k, lane).undefined != 0)
    }

    fn div_fmas32(&mut self, inst: &Prepared) -> Outcome {
        let flags = self.wave.mask(scalar::VCC);
        let unsure = self.wave.mask_undefined(scalar::VCC);
        if (flags | unsure) & self.wave.active == 0 {
            return self.arithmetic(inst, |fused, a, b, c| fused.multiply_add(a, b, c));
        }
        let rows = |exec: &Self, row: usize| -> Row {
            let mut buffers = [[0; ROW_LANES]; 3];
            let [x, y, z] = &mut buffers;
            let (a, b) = (exec.float_row(inst, 0, row, x), exec.float_row(inst, 1, row, y));
            let c = exec.float_row(inst, 2, row, z);
            std::array::from_fn(|lane| {
                div_fmas32(a[lane], b[lane], c[lane], flags >> (row * ROW_LANES + lane) & 1 == 1)
            })
        };
        self.float_from_rows(inst, rows)?;
        self.taint_unsure_lanes(inst);
        Ok(())
    }

    fn div_fmas64(&mut self, inst: &Prepared) -> Outcome {
        // The flag is uniform in most code; where it is not, each group of lanes takes its own pass.
        let (flags, active) = (self.wave.mask(scalar::VCC), self.wave.active);
        for (lanes, scale) in [(active & flags, true), (active & !flags, false)] {
            self.wave.active = lanes;
            self.double(inst, |a, b, c| div_fmas64(a, b, c, scale))?;
        }
        self.wave.active = active;
        self.taint_unsure_lanes(inst);
        Ok(())
    }

    /// Results of lanes whose bit of VCC is undefined are undefined.
    fn taint_unsure_lanes(&mut self, inst: &Prepared) {
        let Dest::Vector(register) = inst.dst[0] else { return };
        let unsure = self.wave.mask_undefined(scalar::VCC) & self.wave.active;
        for word in 0..u16::from(inst.bits[0] / 32) {
            for row in 0..self.wave.n_rows() {
                let lanes = (unsure >> (row * ROW_LANES)) as u32;
                if lanes != 0 {
                    self.wave.vectors.taint_row(
                        register + word,
                        row,
                        lanes,
                        u32::MAX,
                        &[u32::MAX; ROW_LANES],
                    );
                    self.note_undefined(inst);
                }
            }
        }
    }
}
