//! Vector arithmetic in 16 bits, one value a lane.

use isa::table::Half;

use crate::exec::{Exec, Outcome};
use crate::fidelity::Bound::{OneUlp, Trigonometric};
use crate::float::*;
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Approximate, Exact};
use crate::sem::int::truth_table_undefined;
use crate::sem::integer::{sign_extend, signed, truth_table};
use crate::taint;
use crate::wave::{ROW_LANES, Row};

/// A 16-bit value as a signed number.
fn s16(value: u32) -> i32 {
    signed(sign_extend(value, 16))
}

/// Signed saturation to 16 bits.
fn saturate(value: i32) -> u32 {
    value.clamp(i16::MIN.into(), i16::MAX.into()).cast_unsigned()
}

/// Unsigned saturation to 16 bits.
fn saturate_unsigned(value: i32) -> u32 {
    value.clamp(0, u16::MAX.into()).cast_unsigned()
}

fn wide(value: u32) -> i32 {
    value.cast_signed()
}

#[rustfmt::skip]
pub(crate) fn meaning(op: Half) -> Meaning {
    match op {
        // binary16.
        Half::VFloorF16 => Exact(|x, i| x.half_float(i, |a, _, _| unary16(a, libm::floor))),
        Half::VCeilF16 => Exact(|x, i| x.half_float(i, |a, _, _| unary16(a, libm::ceil))),
        Half::VTruncF16 => Exact(|x, i| x.half_float(i, |a, _, _| unary16(a, libm::trunc))),
        Half::VRndneF16 => Exact(|x, i| x.half_float(i, |a, _, _| unary16(a, libm::roundeven))),
        Half::VFractF16 => Exact(|x, i| x.half_float(i, |a, _, _| fract16(a))),
        Half::VRcpF16 => Approximate(OneUlp, |x, i| x.half_float(i, |a, _, _| unary16(a, |v| 1.0 / v))),
        Half::VSqrtF16 => Approximate(OneUlp, |x, i| x.half_float(i, |a, _, _| unary16(a, libm::sqrt))),
        Half::VRsqF16 => Approximate(OneUlp, |x, i| x.half_float(i, |a, _, _| unary16(a, |v| 1.0 / libm::sqrt(v)))),
        Half::VLogF16 => Approximate(OneUlp, |x, i| x.half_float(i, |a, _, _| unary16(a, log2_wide))),
        Half::VExpF16 => Approximate(OneUlp, |x, i| x.half_float(i, |a, _, _| unary16(a, libm::exp2))),
        Half::VSinF16 => Approximate(Trigonometric, |x, i| x.half_float(i, |a, _, _| unary16(a, sin_turns))),
        Half::VCosF16 => Approximate(Trigonometric, |x, i| x.half_float(i, |a, _, _| unary16(a, cos_turns))),
        Half::VFrexpMantF16 => Exact(|x, i| x.half_float(i, |a, _, _| unary16(a, |v| libm::frexp(v).0))),
        Half::VFrexpExpI16F16 => Exact(|x, i| x.half_from_float(i, frexp_exponent16)),
        Half::VAddF16 => Exact(|x, i| x.half_float(i, |a, b, _| add16(a, b))),
        Half::VSubF16 => Exact(|x, i| x.half_float(i, |a, b, _| sub16(a, b))),
        Half::VSubrevF16 => Exact(|x, i| x.half_float(i, |a, b, _| sub16(b, a))),
        Half::VMulF16 => Exact(|x, i| x.half_float(i, |a, b, _| mul16(a, b))),
        Half::VMinF16 => Exact(|x, i| { let m = x.wave.mode; x.half_float(i, |a, b, _| min16(m, a, b)) }),
        Half::VMaxF16 => Exact(|x, i| { let m = x.wave.mode; x.half_float(i, |a, b, _| max16(m, a, b)) }),
        Half::VLdexpF16 => Exact(|x, i| x.half_ldexp(i)),
        Half::VFmacF16 | Half::VFmaakF16 | Half::VFmaF16 => Exact(|x, i| x.half_float(i, fma16)),
        Half::VFmamkF16 => Exact(|x, i| x.half_float(i, fma16)),
        Half::VDivFixupF16 => Exact(|x, i| x.half_float(i, div_fixup16)),
        Half::VMin3F16 => Exact(|x, i| { let m = x.wave.mode; x.half_float(i, |a, b, c| min16(m, min16(m, a, b), c)) }),
        Half::VMax3F16 => Exact(|x, i| { let m = x.wave.mode; x.half_float(i, |a, b, c| max16(m, max16(m, a, b), c)) }),
        Half::VMed3F16 => Exact(|x, i| { let m = x.wave.mode; x.half_float(i, |a, b, c| med3_16(m, a, b, c)) }),
        Half::VMaxminF16 => Exact(|x, i| { let m = x.wave.mode; x.half_float(i, |a, b, c| min16(m, max16(m, a, b), c)) }),
        Half::VMinmaxF16 => Exact(|x, i| { let m = x.wave.mode; x.half_float(i, |a, b, c| max16(m, min16(m, a, b), c)) }),
        Half::VPackB32F16 => Exact(|x, i| x.pack_halves(i)),

        // Integers and bits.
        Half::VMovB16 => Exact(|x, i| x.half(i, |a, _, _| a, taint::each)),
        Half::VNotB16 => Exact(|x, i| x.half(i, |a, _, _| !a, taint::each)),
        Half::VSwapB16 => Exact(|x, i| x.swap_halves(i)),
        Half::VCndmaskB16 => Exact(|x, i| x.select16(i)),
        Half::VAndB16 => Exact(|x, i| x.half(i, |a, b, _| a & b, taint::and)),
        Half::VOrB16 => Exact(|x, i| x.half(i, |a, b, _| a | b, taint::or)),
        Half::VXorB16 => Exact(|x, i| x.half(i, |a, b, _| a ^ b, taint::each)),
        Half::VBitop3B16 => Exact(|x, i| x.truth_table16(i)),
        Half::VLshlrevB16 => Exact(|x, i| x.half(i, |a, b, _| b << (a & 15), taint::any)),
        Half::VLshrrevB16 => Exact(|x, i| x.half(i, |a, b, _| b >> (a & 15), taint::any)),
        Half::VAshrrevI16 => Exact(|x, i| x.half(i, |a, b, _| (s16(b) >> (a & 15)).cast_unsigned(), taint::any)),
        Half::VAddNcU16 => Exact(|x, i| x.half_clamped(i, |a, b, _| wide(a) + wide(b), saturate_unsigned)),
        Half::VSubNcU16 => Exact(|x, i| x.half_clamped(i, |a, b, _| wide(a) - wide(b), saturate_unsigned)),
        Half::VSubrevU16 => Exact(|x, i| x.half_clamped(i, |a, b, _| wide(b) - wide(a), saturate_unsigned)),
        Half::VAddNcI16 => Exact(|x, i| x.half_clamped(i, |a, b, _| s16(a) + s16(b), saturate)),
        Half::VSubNcI16 => Exact(|x, i| x.half_clamped(i, |a, b, _| s16(a) - s16(b), saturate)),
        Half::VMulLoU16 => Exact(|x, i| x.half(i, |a, b, _| a.wrapping_mul(b), taint::upwards)),
        Half::VMadU16 | Half::VMadLegacyU16 => Exact(|x, i| x.half_clamped(i, |a, b, c| {
            // The largest product and sum just fits 32 bits without a sign.
            let sum = a * b + c;
            i32::try_from(sum).unwrap_or_else(|_| i32::MAX - 0xffff + (sum & 0xffff).cast_signed())
        }, saturate_unsigned)),
        Half::VMadI16 | Half::VMadLegacyI16 => Exact(|x, i| x.half_clamped(i, |a, b, c| s16(a) * s16(b) + s16(c), saturate)),
        Half::VMinI16 => Exact(|x, i| x.half(i, |a, b, _| s16(a).min(s16(b)).cast_unsigned(), taint::any)),
        Half::VMinU16 => Exact(|x, i| x.half(i, |a, b, _| a.min(b), taint::any)),
        Half::VMaxI16 => Exact(|x, i| x.half(i, |a, b, _| s16(a).max(s16(b)).cast_unsigned(), taint::any)),
        Half::VMaxU16 => Exact(|x, i| x.half(i, |a, b, _| a.max(b), taint::any)),
        Half::VMin3I16 => Exact(|x, i| x.half(i, |a, b, c| s16(a).min(s16(b)).min(s16(c)).cast_unsigned(), taint::any)),
        Half::VMin3U16 => Exact(|x, i| x.half(i, |a, b, c| a.min(b).min(c), taint::any)),
        Half::VMax3I16 => Exact(|x, i| x.half(i, |a, b, c| s16(a).max(s16(b)).max(s16(c)).cast_unsigned(), taint::any)),
        Half::VMax3U16 => Exact(|x, i| x.half(i, |a, b, c| a.max(b).max(c), taint::any)),
        Half::VMed3I16 => Exact(|x, i| x.half(i, |a, b, c| {
            let (a, b, c) = (s16(a), s16(b), s16(c));
            a.min(b).max(a.max(b).min(c)).cast_unsigned()
        }, taint::any)),
        Half::VMed3U16 => Exact(|x, i| x.half(i, |a, b, c| a.min(b).max(a.max(b).min(c)), taint::any)),
    }
}

impl Exec<'_> {
    /// A binary16 source, a 16-bit result that is no float.
    pub(crate) fn half_from_float(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let out = self.half_float_row(inst, 0, row).map(&f);
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put_half(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// A binary16 and a 16-bit integer.
    fn half_ldexp(&mut self, inst: &Prepared) -> Outcome {
        let rows = |exec: &Self, row: usize| -> Row {
            let (a, b) = (exec.half_float_row(inst, 0, row), exec.half_row(inst, 1, row));
            std::array::from_fn(|lane| {
                unary16(a[lane], |value| libm::scalbn(value, s16(b[lane]).clamp(-100, 100)))
            })
        };
        self.half_float_from_rows(inst, rows)
    }

    /// Source 0 low, source 1 high; subnormals flushed as MODE says.
    fn pack_halves(&mut self, inst: &Prepared) -> Outcome {
        let flush = self.wave.mode.flush_results16;
        let rows = |exec: &Self, row: usize| -> Row {
            let (a, b) = (exec.half_float_row(inst, 0, row), exec.half_float_row(inst, 1, row));
            let keep = |bits: u32| if flush { flush16(bits) } else { bits };
            std::array::from_fn(|lane| keep(a[lane]) | keep(b[lane]) << 16)
        };
        self.raw_from_rows(inst, rows, taint::pack_halves)
    }

    /// `mask ? source 1 : source 0` on 16 bits; NEG and ABS as on binary16.
    fn select16(&mut self, inst: &Prepared) -> Outcome {
        let choice = self.mask_source(inst, 2);
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let (a, b) = (self.signed_half_row(inst, 0, row), self.signed_half_row(inst, 1, row));
            let bits = (choice.value >> (row * ROW_LANES)) as u32;
            let out =
                std::array::from_fn(|lane| if bits >> lane & 1 == 1 { b[lane] } else { a[lane] });
            let shadow = if is_undefined { self.select_shadow(inst, row, choice) } else { None };
            self.put_half(inst, row, &out, shadow);
        }
        Ok(())
    }

    fn truth_table16(&mut self, inst: &Prepared) -> Outcome {
        let table = inst.inst.mods.truth_table;
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let source = |k: usize| self.half_row(inst, k, row);
            let (a, b, c) = (source(0), source(1), source(2));
            let out =
                std::array::from_fn(|lane| truth_table(table, a[lane], b[lane], c[lane]) & 0xffff);
            let shadow = is_undefined.then(|| {
                let mut shadow = Box::new([[0; ROW_LANES]; 2]);
                for lane in 0..ROW_LANES {
                    let bits = |k: usize| self.source_bits(inst, k, row * ROW_LANES + lane);
                    shadow[0][lane] = truth_table_undefined(table, [bits(0), bits(1), bits(2)]);
                }
                shadow
            });
            self.put_half(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// A 16-bit integer operation; CLAMP saturates the wide result.
    fn half_clamped(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> i32,
        saturate: impl Fn(i32) -> u32,
    ) -> Outcome {
        if inst.inst.mods.clamp {
            return self.half(inst, |a, b, c| saturate(f(a, b, c)), taint::any);
        }
        self.half(inst, |a, b, c| f(a, b, c).cast_unsigned(), taint::upwards)
    }
}
