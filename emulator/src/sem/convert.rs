//! Vector conversions between number types.

use isa::table::Convert;

use crate::exec::{Exec, Outcome};
use crate::fidelity::Bound::NanPayload;
use crate::float::*;
use crate::lanes::Fused;
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Approximate, Exact};
use crate::sem::integer::{sign_extend, signed};
use crate::taint;
use crate::wave::{ROW_LANES, Row};

/// Nearest integer of a float, ties upwards, saturating.
fn nearest_up(bits: u32) -> u32 {
    (libm::floor(f64::from(f32::from_bits(bits)) + 0.5) as i32).cast_unsigned()
}

/// Largest integer not above, saturating.
fn floor_int(bits: u32) -> u32 {
    (floor(Fused::Software, f32::from_bits(bits)) as i32).cast_unsigned()
}

/// Saturation of an unsigned number to 16 bits.
fn narrow_unsigned(value: u32) -> u32 {
    value.min(0xffff)
}

/// Saturation of a signed number to 16 bits.
fn narrow_signed(value: u32) -> u32 {
    signed(value).clamp(i16::MIN.into(), i16::MAX.into()).cast_unsigned() & 0xffff
}

/// −1…1 to −32767…32767, to nearest even.
fn normalised_signed(bits: u32) -> u32 {
    let value = f64::from(f32::from_bits(bits)).clamp(-1.0, 1.0);
    (libm::roundeven(value * 32767.0) as i32).cast_unsigned() & 0xffff
}

/// 0…1 to 0…65535, to nearest even.
fn normalised_unsigned(bits: u32) -> u32 {
    libm::roundeven(f64::from(f32::from_bits(bits)).clamp(0.0, 1.0) * 65535.0) as u32
}

/// Two 8-bit floats as binary32, the lower byte first.
fn pair_of_floats(format: Fp8, bits: u32) -> u64 {
    u64::from(format.widen(bits & 0xff)) | u64::from(format.widen(bits >> 8 & 0xff)) << 32
}

/// Two binary32 as 8-bit floats, the first in the lower byte.
fn pair_of_fp8(format: Fp8, low: u32, high: u32) -> u32 {
    format.round(low) | format.round(high) << 8
}

/// Values of 8-bit floats, of which binary16 has all.
fn narrow_to_f16(bits: u32) -> u32 {
    narrow_f16(f32::from_bits(bits).into())
}

/// A signed 4-bit integer in sixteenths (RDNA3 ISA manual, V_CVT_OFF_F32_I4).
fn offset_fraction(bits: u32) -> u32 {
    (signed(sign_extend(bits & 0xf, 4)) as f32 / 16.0).to_bits()
}

#[rustfmt::skip]
pub(crate) fn meaning(op: Convert) -> Meaning {
    match op {
        Convert::VCvtI32F64 => Exact(|x, i| x.double_to_int(i, |a| (f64::from_bits(a) as i32).cast_unsigned())),
        Convert::VCvtF64I32 => Exact(|x, i| x.wide(i, |a, _, _| f64::from(signed(a as u32)).to_bits(), taint::any)),
        Convert::VCvtF32I32 => Exact(|x, i| x.int_to_float(i, i32_to_f32)),
        Convert::VCvtF32U32 => Exact(|x, i| x.int_to_float(i, u32_to_f32)),
        Convert::VCvtU32F32 => Exact(|x, i| x.float_to_int(i, f32_to_u32)),
        Convert::VCvtI32F32 => Exact(|x, i| x.float_to_int(i, f32_to_i32)),
        Convert::VCvtF16F32 => Exact(|x, i| x.float_to_half(i)),
        Convert::VCvtF32F16 => Exact(|x, i| x.float_from_rows(i, |exec, row| exec.half_float_row(i, 0, row).map(f16_to_f32))),
        Convert::VCvtF32F64 => Exact(|x, i| x.float_from_rows(i, |exec, row| exec.double_row(i, 0, row).map(f64_to_f32))),
        Convert::VCvtF64F32 => Exact(|x, i| x.float_to_double(i)),
        Convert::VCvtU32F64 => Exact(|x, i| x.double_to_int(i, |a| f64::from_bits(a) as u32)),
        Convert::VCvtF64U32 => Exact(|x, i| x.wide(i, |a, _, _| f64::from(a as u32).to_bits(), taint::any)),
        Convert::VCvtF16U16 => Exact(|x, i| x.half_from_int(i, f64::from)),
        Convert::VCvtF16I16 => Exact(|x, i| x.half_from_int(i, |a| f64::from(signed(sign_extend(a, 16))))),
        Convert::VCvtU16F16 => Exact(|x, i| x.half_from_float(i, |a| f16_to_f64(a) as u16 as u32)),
        Convert::VCvtI16F16 => Exact(|x, i| x.half_from_float(i, |a| (f16_to_f64(a) as i16).cast_unsigned().into())),
        Convert::VCvtNearestI32F32 => Exact(|x, i| x.float_to_int(i, nearest_up)),
        Convert::VCvtFloorI32F32 => Exact(|x, i| x.float_to_int(i, floor_int)),
        Convert::VCvtF32Ubyte0 => Exact(|x, i| x.int_to_float(i, |a| u32_to_f32(a & 0xff))),
        Convert::VCvtF32Ubyte1 => Exact(|x, i| x.int_to_float(i, |a| u32_to_f32(a >> 8 & 0xff))),
        Convert::VCvtF32Ubyte2 => Exact(|x, i| x.int_to_float(i, |a| u32_to_f32(a >> 16 & 0xff))),
        Convert::VCvtF32Ubyte3 => Exact(|x, i| x.int_to_float(i, |a| u32_to_f32(a >> 24))),
        Convert::VCvtI32I16 => Exact(|x, i| x.raw_from_rows(i, |exec, row| exec.half_row(i, 0, row).map(|a| sign_extend(a, 16)), taint::any)),
        Convert::VCvtU32U16 => Exact(|x, i| x.raw_from_rows(i, |exec, row| exec.half_row(i, 0, row), taint::each)),
        Convert::VCvtF32Bf16 => Exact(|x, i| x.float_from_rows(i, |exec, row| exec.half_row(i, 0, row).map(|a| quieted32(a << 16)))),

        // Packed results.
        Convert::VCvtPkRtzF16F32 => Exact(|x, i| x.pack_floats(i, f32_to_f16_towards_zero)),
        Convert::VCvtPkF16F32 => Exact(|x, i| { let m = x.wave.mode; x.pack_floats(i, |a| f32_to_f16(m, a)) }),
        Convert::VCvtPkBf16F32 => Exact(|x, i| x.pack_floats(i, f32_to_bf16)),
        Convert::VCvtPkI16F32 => Exact(|x, i| x.pack_floats(i, |a| narrow_signed(f32_to_i32(a)))),
        Convert::VCvtPkU16F32 => Exact(|x, i| x.pack_floats(i, |a| narrow_unsigned(f32_to_u32(a)))),
        Convert::VCvtPkU16U32 => Exact(|x, i| x.int2(i, |a, b| narrow_unsigned(a) | narrow_unsigned(b) << 16, taint::pack_halves)),
        Convert::VCvtPkI16I32 => Exact(|x, i| x.int2(i, |a, b| narrow_signed(a) | narrow_signed(b) << 16, taint::pack_halves)),
        Convert::VCvtPkNormI16F32 => Exact(|x, i| x.pack_floats(i, normalised_signed)),
        Convert::VCvtPkNormU16F32 => Exact(|x, i| x.pack_floats(i, normalised_unsigned)),
        Convert::VCvtF32Fp8 => Approximate(NanPayload, |x, i| x.float_from_fp8(i, E4M3)),
        Convert::VCvtF32Bf8 => Approximate(NanPayload, |x, i| x.float_from_fp8(i, E5M2)),
        Convert::VCvtPkF32Fp8 => Approximate(NanPayload, |x, i| x.wide(i, |a, _, _| pair_of_floats(E4M3, a as u32), taint::any)),
        Convert::VCvtPkF32Bf8 => Approximate(NanPayload, |x, i| x.wide(i, |a, _, _| pair_of_floats(E5M2, a as u32), taint::any)),
        Convert::VCvtOffF32I4 => Exact(|x, i| x.float_from_rows(i, |exec, row| exec.source_row(i, 0, row, &mut [0; ROW_LANES]).map(offset_fraction))),
        Convert::VCvtPkFp8F32 => Approximate(NanPayload, |x, i| x.pack_fp8(i, E4M3, None)),
        Convert::VCvtPkBf8F32 => Approximate(NanPayload, |x, i| x.pack_fp8(i, E5M2, None)),

        // With a scale.
        Convert::VCvtScalef32PkFp8F32 => Approximate(NanPayload, |x, i| x.pack_fp8(i, E4M3, Some(2))),
        Convert::VCvtScalef32PkBf8F32 => Approximate(NanPayload, |x, i| x.pack_fp8(i, E5M2, Some(2))),
        Convert::VCvtScalef32PkFp8F16 => Approximate(NanPayload, |x, i| x.pack_fp8_halves(i, E4M3, f16_to_f32)),
        Convert::VCvtScalef32PkBf8F16 => Approximate(NanPayload, |x, i| x.pack_fp8_halves(i, E5M2, f16_to_f32)),
        Convert::VCvtScalef32PkFp8Bf16 => Approximate(NanPayload, |x, i| x.pack_fp8_halves(i, E4M3, |half| half << 16)),
        Convert::VCvtScalef32PkBf8Bf16 => Approximate(NanPayload, |x, i| x.pack_fp8_halves(i, E5M2, |half| half << 16)),
        Convert::VCvtScalef32PkF32Fp8 => Approximate(NanPayload, |x, i| x.unpack_fp8(i, E4M3)),
        Convert::VCvtScalef32PkF32Bf8 => Approximate(NanPayload, |x, i| x.unpack_fp8(i, E5M2)),
        Convert::VCvtScalef32PkF16Fp8 => Approximate(NanPayload, |x, i| x.unpack_fp8_halves(i, E4M3, narrow_to_f16)),
        Convert::VCvtScalef32PkF16Bf8 => Approximate(NanPayload, |x, i| x.unpack_fp8_halves(i, E5M2, narrow_to_f16)),
        Convert::VCvtScalef32PkBf16Fp8 => Approximate(NanPayload, |x, i| x.unpack_fp8_halves(i, E4M3, |bits| bits >> 16)),
        Convert::VCvtScalef32PkBf16Bf8 => Approximate(NanPayload, |x, i| x.unpack_fp8_halves(i, E5M2, |bits| bits >> 16)),
        Convert::VCvtPkU8F32 => Exact(|x, i| x.pack_byte(i)),
    }
}

impl Exec<'_> {
    fn int_to_float(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32) -> Outcome {
        if self.is_plain(inst) {
            return self.int1(inst, f, taint::any);
        }
        let rows =
            |exec: &Self, row: usize| exec.source_row(inst, 0, row, &mut [0; ROW_LANES]).map(&f);
        self.float_from_rows(inst, rows)
    }

    fn float_to_half(&mut self, inst: &Prepared) -> Outcome {
        let mode = self.wave.mode;
        let rows = |exec: &Self, row: usize| {
            exec.float_row(inst, 0, row, &mut [0; ROW_LANES]).map(|bits| f32_to_f16(mode, bits))
        };
        self.half_float_from_rows(inst, rows)
    }

    fn float_to_double(&mut self, inst: &Prepared) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let out = self.float_row(inst, 0, row, &mut [0; ROW_LANES]).map(f32_to_f64);
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put_wide(inst, row, &out, shadow);
        }
        Ok(())
    }

    fn half_from_int(&mut self, inst: &Prepared, f: impl Fn(u32) -> f64) -> Outcome {
        self.half_float_from_rows(inst, |exec, row| {
            exec.half_row(inst, 0, row).map(|bits| narrow_f16(f(bits)))
        })
    }

    /// Two binary32 sources, each converted to 16 bits.
    fn pack_floats(&mut self, inst: &Prepared, f: impl Fn(u32) -> u32) -> Outcome {
        let pack = |a: u32, b: u32| f(a) & 0xffff | f(b) << 16;
        if self.wave.mode.flush_sources32 {
            let flushed = |a: u32, b: u32, _: u32| pack(flush32(a), flush32(b));
            return self.bits3(inst, flushed, taint::pack_halves);
        }
        self.bits3(inst, |a, b, _| pack(a, b), taint::pack_halves)
    }

    fn float_from_fp8(&mut self, inst: &Prepared, format: Fp8) -> Outcome {
        self.float_from_rows(inst, |exec, row| {
            exec.source_row(inst, 0, row, &mut [0; ROW_LANES]).map(|bits| format.widen(bits & 0xff))
        })
    }

    /// Scales are not applied: documents that can be checked say only what 1.0 does.
    fn check_scale(&self, inst: &Prepared, k: usize) -> Outcome {
        let active = self.wave.active;
        for row in self.rows() {
            let scale = *self.float_row(inst, k, row, &mut [0; ROW_LANES]);
            let is_one = |lane: usize| {
                active >> (row * ROW_LANES + lane) & 1 == 0 || scale[lane] == 1_f32.to_bits()
            };
            if !(0..ROW_LANES).all(is_one) {
                return self.refuse(inst, "a scale other than 1.0");
            }
        }
        Ok(())
    }

    /// MODE's FP16_OVFL replaces overflow by the largest value, in a way that no document details.
    fn check_overflow_mode(&self, inst: &Prepared) -> Outcome {
        const FP16_OVFL: u32 = 1 << 23;
        if self.wave.mode_bits & FP16_OVFL == 0 {
            return Ok(());
        }
        self.refuse(inst, "narrowing to 8 bits with FP16_OVFL set")
    }

    fn put_fp8(&mut self, inst: &Prepared, rows: impl Fn(&Self, usize) -> Row) -> Outcome {
        self.check_overflow_mode(inst)?;
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let out = rows(self, row);
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put_half(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Two binary32 to a half of the destination; `scale` is the position of a scale.
    fn pack_fp8(&mut self, inst: &Prepared, format: Fp8, scale: Option<usize>) -> Outcome {
        scale.map_or(Ok(()), |k| self.check_scale(inst, k))?;
        self.put_fp8(inst, |exec, row| {
            let (mut x, mut y) = ([0; ROW_LANES], [0; ROW_LANES]);
            let (a, b) =
                (exec.float_row(inst, 0, row, &mut x), exec.float_row(inst, 1, row, &mut y));
            std::array::from_fn(|lane| pair_of_fp8(format, a[lane], b[lane]))
        })
    }

    /// Two 16-bit floats, widened by `wide`, to a half of the destination.
    fn pack_fp8_halves(
        &mut self,
        inst: &Prepared,
        format: Fp8,
        wide: impl Fn(u32) -> u32,
    ) -> Outcome {
        self.check_scale(inst, 1)?;
        self.put_fp8(inst, |exec, row| {
            exec.source_row(inst, 0, row, &mut [0; ROW_LANES])
                .map(|pair| pair_of_fp8(format, wide(pair & 0xffff), wide(pair >> 16)))
        })
    }

    fn unpack_fp8(&mut self, inst: &Prepared, format: Fp8) -> Outcome {
        self.check_scale(inst, 1)?;
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let out = self.half_row(inst, 0, row).map(|bits| pair_of_floats(format, bits));
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put_wide(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// Two 8-bit floats to 16 bits each; `narrow` takes binary32.
    fn unpack_fp8_halves(
        &mut self,
        inst: &Prepared,
        format: Fp8,
        narrow: impl Fn(u32) -> u32,
    ) -> Outcome {
        self.check_scale(inst, 1)?;
        let rows = |exec: &Self, row: usize| -> Row {
            exec.half_row(inst, 0, row).map(|bits| {
                let [low, high] = [bits, bits >> 8].map(|bits| narrow(format.widen(bits & 0xff)));
                low & 0xffff | high << 16
            })
        };
        self.raw_from_rows(inst, rows, taint::any)
    }

    /// Source 0 to a byte, put into byte `source 1 % 4` of source 2.
    fn pack_byte(&mut self, inst: &Prepared) -> Outcome {
        let rows = |exec: &Self, row: usize| -> Row {
            let mut buffers = [[0; ROW_LANES]; 3];
            let [x, y, z] = &mut buffers;
            let (a, b) = (exec.float_row(inst, 0, row, x), exec.source_row(inst, 1, row, y));
            let c = exec.source_row(inst, 2, row, z);
            std::array::from_fn(|lane| {
                let byte = nearest_even(Fused::Software, f32::from_bits(a[lane])) as u8;
                let shift = 8 * (b[lane] & 3);
                c[lane] & !(0xff << shift) | u32::from(byte) << shift
            })
        };
        self.raw_from_rows(inst, rows, taint::any)
    }
}
