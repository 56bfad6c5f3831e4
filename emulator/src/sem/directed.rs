//! Arithmetic in a rounding mode other than to nearest: what is executed of it, and what is refused.
//!
//! MODE rounds binary32 results by one field, binary16 and binary64 results by another; a conversion counts by
//! its result, except that to binary16 and from binary64 it goes by the second field (LLVM 22,
//! `usesFPDPRounding`). Instructions that round nothing run as ever. Those that round and are not in the list below
//! are refused by name: approximations, divisions, matrix and dot products, packed and mixed operations, DPP,
//! SDWA, dual issue and OMOD.

use isa::Op;
use isa::inst::OutputScale;
use isa::table::{Convert, Float, Half};

use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::float::directed::{F16, F32, F64, Format, Number, Rounding};
use crate::float::{
    add16, add32, add64, f32_to_f16, f64_to_f32, fma16, fma32, fma64, mul16, mul32, mul64,
};
use crate::prepare::{Handler, Prepared, unsupported};
use crate::wave::ROW_LANES;

/// What a rounding mode is to an operation.
enum Effect {
    /// It rounds nothing.
    None,
    /// It rounds by the field of binary32, and runs so.
    Single(Handler),
    /// It rounds by the field of binary16 and binary64, and runs so.
    Double(Handler),
    /// It rounds, and how is not known or not executed.
    Refused,
}

/// What runs an instruction in the mode of its wave.
#[inline]
pub(crate) fn handler(exec: &Exec<'_>, inst: &Prepared) -> Result<Handler, Box<Cause>> {
    if exec.wave.mode.is_directed() { choose(exec, inst) } else { Ok(inst.run) }
}

#[cold]
fn choose(exec: &Exec<'_>, inst: &Prepared) -> Result<Handler, Box<Cause>> {
    let mode = exec.wave.mode;
    let second = inst.inst.dual.map_or(Effect::None, |dual| effect(dual.op));
    let (is_directed, run) = match (effect(inst.inst.op), second) {
        (Effect::None, Effect::None) => return Ok(inst.run),
        (Effect::Single(run), Effect::None) => (mode.round32 != Rounding::NearestEven, Some(run)),
        (Effect::Double(run), Effect::None) => (mode.round16 != Rounding::NearestEven, Some(run)),
        _ => (true, None),
    };
    let mods = &inst.inst.mods;
    let is_plain = mods.dpp.is_none()
        && mods.sdwa.is_none()
        && mods.omod == OutputScale::One
        && inst.dual.is_none();
    match run.filter(|_| is_plain) {
        _ if !is_directed => Ok(inst.run),
        Some(run) => Ok(run),
        None => {
            let why = "in a rounding mode other than to nearest even";
            Err(Box::new(unsupported(&inst.inst, exec.target, why)))
        }
    }
}

#[rustfmt::skip]
fn effect(op: Op) -> Effect {
    use Effect::{Double, None, Refused, Single};
    match op {
        Op::Float(op) => match op {
            Float::VAddF32 => Single(|x, i| x.directed32(i, |[a, b, _], r| a.plus(b, r), |[a, b, _]| add32(a, b))),
            Float::VSubF32 => Single(|x, i| x.directed32(i, |[a, b, _], r| a.plus(b.negated(), r), |[a, b, _]| crate::float::sub32(a, b))),
            Float::VSubrevF32 => Single(|x, i| x.directed32(i, |[a, b, _], r| b.plus(a.negated(), r), |[a, b, _]| crate::float::sub32(b, a))),
            Float::VMulF32 => Single(|x, i| x.directed32(i, |[a, b, _], _| a.times(b), |[a, b, _]| mul32(a, b))),
            Float::VFmacF32 | Float::VFmaakF32 | Float::VFmaF32 | Float::VFmamkF32 =>
                Single(|x, i| x.directed32(i, |[a, b, c], r| a.times(b).plus(c, r), |[a, b, c]| fma32(a, b, c))),
            Float::VLdexpF32 => Single(|x, i| x.directed_ldexp32(i)),
            Float::VAddF64 => Double(|x, i| x.directed64(i, |[a, b, _], r| a.plus(b, r), |[a, b, _]| add64(a, b))),
            Float::VMulF64 => Double(|x, i| x.directed64(i, |[a, b, _], _| a.times(b), |[a, b, _]| mul64(a, b))),
            Float::VFmacF64 | Float::VFmaF64 => Double(|x, i| x.directed64(i, |[a, b, c], r| a.times(b).plus(c, r), |[a, b, c]| fma64(a, b, c))),
            Float::VTruncF32 | Float::VTruncF64 | Float::VCeilF32 | Float::VCeilF64 | Float::VRndneF32 | Float::VRndneF64
            | Float::VFloorF32 | Float::VFloorF64 | Float::VFrexpExpI32F32 | Float::VFrexpMantF32 | Float::VFrexpExpI32F64
            | Float::VFrexpMantF64 | Float::VMinF32 | Float::VMaxF32 | Float::VMinF64 | Float::VMaxF64 | Float::VMin3F32
            | Float::VMax3F32 | Float::VMed3F32 | Float::VMinimum3F32 | Float::VMaximum3F32 | Float::VMaxminF32 | Float::VMinmaxF32 => None,
            _ => Refused,
        },
        Op::Half(op) => match op {
            Half::VAddF16 => Double(|x, i| x.directed16(i, |[a, b, _], r| a.plus(b, r), |[a, b, _]| add16(a, b))),
            Half::VSubF16 => Double(|x, i| x.directed16(i, |[a, b, _], r| a.plus(b.negated(), r), |[a, b, _]| crate::float::sub16(a, b))),
            Half::VSubrevF16 => Double(|x, i| x.directed16(i, |[a, b, _], r| b.plus(a.negated(), r), |[a, b, _]| crate::float::sub16(b, a))),
            Half::VMulF16 => Double(|x, i| x.directed16(i, |[a, b, _], _| a.times(b), |[a, b, _]| mul16(a, b))),
            Half::VFmacF16 | Half::VFmaakF16 | Half::VFmaF16 | Half::VFmamkF16 =>
                Double(|x, i| x.directed16(i, |[a, b, c], r| a.times(b).plus(c, r), |[a, b, c]| fma16(a, b, c))),
            Half::VFloorF16 | Half::VCeilF16 | Half::VTruncF16 | Half::VRndneF16 | Half::VFrexpMantF16 | Half::VFrexpExpI16F16
            | Half::VMinF16 | Half::VMaxF16 | Half::VMin3F16 | Half::VMax3F16 | Half::VMed3F16 | Half::VMaxminF16
            | Half::VMinmaxF16 | Half::VPackB32F16 => None,
            _ => of_types(Op::Half(op)),
        },
        Op::Convert(op) => match op {
            Convert::VCvtF16F32 => Double(|x, i| x.directed_to_half(i)),
            Convert::VCvtF32F64 => Double(|x, i| x.directed_to_single(i)),
            Convert::VCvtF32I32 => Single(|x, i| x.directed_from_int(i, |a| Number::whole(a.cast_signed() < 0, a.cast_signed().unsigned_abs().into()))),
            Convert::VCvtF32U32 => Single(|x, i| x.directed_from_int(i, |a| Number::whole(false, a.into()))),
            Convert::VCvtI32F64 | Convert::VCvtF64I32 | Convert::VCvtU32F32 | Convert::VCvtI32F32 | Convert::VCvtF32F16
            | Convert::VCvtF64F32 | Convert::VCvtU32F64 | Convert::VCvtF64U32 | Convert::VCvtU16F16 | Convert::VCvtI16F16
            | Convert::VCvtNearestI32F32 | Convert::VCvtFloorI32F32 | Convert::VCvtF32Ubyte0 | Convert::VCvtF32Ubyte1
            | Convert::VCvtF32Ubyte2 | Convert::VCvtF32Ubyte3 | Convert::VCvtF32Bf16 | Convert::VCvtPkRtzF16F32
            | Convert::VCvtPkBf16F32 | Convert::VCvtPkI16F32 | Convert::VCvtPkU16F32 => None,
            _ => of_types(Op::Convert(op)),
        },
        Op::Compare(_) => None,
        other => of_types(other),
    }
}

/// Without a float among its operands an operation rounds nothing.
fn of_types(op: Op) -> Effect {
    let has_float = op.row().operands.iter().any(|spec| spec.ty.is_float());
    if has_float { Effect::Refused } else { Effect::None }
}

/// The numbers of all operands, if they are finite.
fn finite(format: Format, bits: [u64; 3]) -> Option<[Number; 3]> {
    let [a, b, c] = bits.map(|bits| Number::of(format, bits));
    Some([a?, b?, c?])
}

impl Exec<'_> {
    /// binary32; `otherwise` where an operand is not finite, and nothing is rounded.
    fn directed32(
        &mut self,
        inst: &Prepared,
        exact: fn([Number; 3], Rounding) -> Number,
        otherwise: fn([u32; 3]) -> u32,
    ) -> Outcome {
        let rounding = self.wave.mode.round32;
        self.float3(inst, |a, b, c| match finite(F32, [a, b, c].map(u64::from)) {
            Some(numbers) => exact(numbers, rounding).round(F32, rounding) as u32,
            None => otherwise([a, b, c]),
        })
    }

    fn directed16(
        &mut self,
        inst: &Prepared,
        exact: fn([Number; 3], Rounding) -> Number,
        otherwise: fn([u32; 3]) -> u32,
    ) -> Outcome {
        let rounding = self.wave.mode.round16;
        self.half_float(inst, |a, b, c| {
            match finite(F16, [a, b, c].map(|bits| u64::from(bits & 0xffff))) {
                Some(numbers) => exact(numbers, rounding).round(F16, rounding) as u32,
                None => otherwise([a, b, c]),
            }
        })
    }

    fn directed64(
        &mut self,
        inst: &Prepared,
        exact: fn([Number; 3], Rounding) -> Number,
        otherwise: fn([u64; 3]) -> u64,
    ) -> Outcome {
        let rounding = self.wave.mode.round16;
        self.double(inst, |a, b, c| match finite(F64, [a, b, c]) {
            Some(numbers) => exact(numbers, rounding).round(F64, rounding),
            None => otherwise([a, b, c]),
        })
    }

    fn directed_ldexp32(&mut self, inst: &Prepared) -> Outcome {
        let rounding = self.wave.mode.round32;
        let rows = |exec: &Self, row: usize| {
            let (mut x, mut y) = ([0; ROW_LANES], [0; ROW_LANES]);
            let a = exec.float_row(inst, 0, row, &mut x);
            let by = exec.source_row(inst, 1, row, &mut y);
            std::array::from_fn(|lane| {
                let by = by[lane].cast_signed();
                match Number::of(F32, a[lane].into()) {
                    Some(number) => number.scaled(by).round(F32, rounding) as u32,
                    None => crate::float::ldexp32(a[lane], by),
                }
            })
        };
        self.float_from_rows(inst, rows)
    }

    fn directed_to_half(&mut self, inst: &Prepared) -> Outcome {
        let (mode, rounding) = (self.wave.mode, self.wave.mode.round16);
        let convert = |bits: u32| match Number::of(F32, bits.into()) {
            Some(number) => {
                let result = number.round(F16, rounding) as u32;
                let overflows = result & 0x7fff == 0x7c00 && mode.fp16_overflow;
                if overflows { result - 1 } else { result }
            }
            None => f32_to_f16(mode, bits),
        };
        self.half_float_from_rows(inst, |exec, row| {
            exec.float_row(inst, 0, row, &mut [0; ROW_LANES]).map(convert)
        })
    }

    fn directed_to_single(&mut self, inst: &Prepared) -> Outcome {
        let rounding = self.wave.mode.round16;
        let convert = |bits: u64| match Number::of(F64, bits) {
            Some(number) => number.round(F32, rounding) as u32,
            None => f64_to_f32(bits),
        };
        self.float_from_rows(inst, |exec, row| exec.double_row(inst, 0, row).map(convert))
    }

    fn directed_from_int(&mut self, inst: &Prepared, number: fn(u32) -> Number) -> Outcome {
        let rounding = self.wave.mode.round32;
        self.float_from_rows(inst, |exec, row| {
            let source = exec.source_row(inst, 0, row, &mut [0; ROW_LANES]).to_owned();
            source.map(|bits| number(bits).round(F32, rounding) as u32)
        })
    }
}
