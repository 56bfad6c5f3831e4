//! Vector integer arithmetic, moves and bit operations in 32 and 64 bits.

use isa::table::Int;

use crate::exec::{Exec, Outcome};
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Exact};
use crate::sem::integer::*;
use crate::taint::{self, Bits};
use crate::wave::{ROW_LANES, Row};

/// Signed saturation of a wide result to 32 bits.
fn saturate(value: i64) -> u32 {
    (value.clamp(i32::MIN.into(), i32::MAX.into()) as i32).cast_unsigned()
}

/// Unsigned saturation of a wide result to 32 bits.
fn saturate_unsigned(value: u64) -> u32 {
    value.min(u32::MAX.into()) as u32
}

fn wrap(value: i64) -> u32 {
    (value & 0xffff_ffff) as u32
}

/// Sum of absolute difference and `c`.
fn sad(a: u32, b: u32, c: u32) -> u64 {
    u64::from(a.abs_diff(b)) + u64::from(c)
}

/// Sum of absolute differences of bytes; masked, bytes that are zero in `b` do not count (RDNA3 ISA
/// manual, V_MSAD_U8).
fn sad_bytes(a: u32, b: u32, is_masked: bool) -> i64 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.filter(|(_, b)| !is_masked || *b != 0).map(|(a, b)| i64::from(a.abs_diff(b))).sum()
}

/// The average of each pair of bytes, rounded up where the lowest bit of the byte of `c` is set.
fn average_bytes(a: u32, b: u32, c: u32) -> u32 {
    let [a, b, c] = [a, b, c].map(u32::to_le_bytes);
    let average = |k: usize| (u16::from(a[k]) + u16::from(b[k]) + u16::from(c[k] & 1)) / 2;
    u32::from_le_bytes(std::array::from_fn(|k| average(k) as u8))
}

/// Bits of a truth table's result that change with the undefined bits of its sources.
pub(crate) fn truth_table_undefined(table: u8, sources: [Bits; 3]) -> u32 {
    let choose = |k: usize, set: bool| {
        let (value, undefined) = (sources[k].value as u32, sources[k].undefined as u32);
        if set { value | undefined } else { value & !undefined }
    };
    let result = |n: usize| {
        truth_table(table, choose(0, n & 4 != 0), choose(1, n & 2 != 0), choose(2, n & 1 != 0))
    };
    (1..8).fold(0, |bits, n| bits | result(n) ^ result(0))
}

#[rustfmt::skip]
pub(crate) fn meaning(op: Int) -> Meaning {
    match op {
        // Moves, selects, bits.
        Int::VMovB32 => Exact(|x, i| x.int1(i, |a| a, taint::each)),
        Int::VMovB64 => Exact(|x, i| x.wide(i, |a, _, _| a, taint::each)),
        Int::VCndmaskB32 => Exact(|x, i| x.select32(i)),
        Int::VNotB32 => Exact(|x, i| x.int1(i, |a| !a, taint::each)),
        Int::VBfrevB32 => Exact(|x, i| x.int1(i, u32::reverse_bits, taint::reverse32)),
        Int::VClzI32U32 => Exact(|x, i| x.int1(i, leading_zeros, taint::any)),
        Int::VCtzI32B32 => Exact(|x, i| x.int1(i, trailing_zeros, taint::any)),
        Int::VClsI32 => Exact(|x, i| x.int1(i, leading_signs, taint::any)),
        Int::VAndB32 => Exact(|x, i| x.int2(i, |a, b| a & b, taint::and)),
        Int::VOrB32 => Exact(|x, i| x.int2(i, |a, b| a | b, taint::or)),
        Int::VXorB32 => Exact(|x, i| x.int2(i, |a, b| a ^ b, taint::each)),
        Int::VXnorB32 => Exact(|x, i| x.int2(i, |a, b| !(a ^ b), taint::each)),
        Int::VLshlrevB32 => Exact(|x, i| x.int2(i, |a, b| b << (a & 31), taint::shift_left_reversed32)),
        Int::VLshrrevB32 => Exact(|x, i| x.int2(i, |a, b| b >> (a & 31), taint::shift_right_reversed32)),
        Int::VAshrrevI32 => Exact(|x, i| x.int2(i, |a, b| (signed(b) >> (a & 31)).cast_unsigned(), taint::shift_right_signed_reversed32)),
        Int::VLshlrevB64 => Exact(|x, i| x.wide(i, |a, b, _| b << (a & 63), taint::shift_left_reversed64)),
        Int::VLshrrevB64 => Exact(|x, i| x.wide(i, |a, b, _| b >> (a & 63), taint::shift_right_reversed64)),
        Int::VAshrrevI64 => Exact(|x, i| x.wide(i, |a, b, _| (b.cast_signed() >> (a & 63)).cast_unsigned(), taint::shift_right_signed_reversed64)),
        Int::VBfeU32 => Exact(|x, i| x.int3(i, extract, taint::extract)),
        Int::VBfeI32 => Exact(|x, i| x.int3(i, extract_signed, taint::extract)),
        Int::VBfiB32 => Exact(|x, i| x.int3(i, |a, b, c| a & b | !a & c, taint::insert)),
        Int::VBfmB32 => Exact(|x, i| x.int2(i, |a, b| ((1 << (a & 31)) - 1) << (b & 31), taint::any)),
        Int::VBcntU32B32 => Exact(|x, i| x.int2(i, |a, b| a.count_ones().wrapping_add(b), taint::any)),
        Int::VAlignbitB32 => Exact(|x, i| x.int3(i, |a, b, c| wrap(((u64::from(a) << 32 | u64::from(b)) >> (c & 31)).cast_signed()), taint::align_bit)),
        Int::VAlignbyteB32 => Exact(|x, i| x.int3(i, |a, b, c| wrap(((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))).cast_signed()), taint::align_byte)),
        Int::VPermB32 => Exact(|x, i| x.int3(i, permute_bytes, taint::permute_bytes)),
        Int::VAndOrB32 => Exact(|x, i| x.int3(i, |a, b, c| a & b | c, taint::and_or)),
        Int::VOr3B32 => Exact(|x, i| x.int3(i, |a, b, c| a | b | c, taint::or3)),
        Int::VXor3B32 => Exact(|x, i| x.int3(i, |a, b, c| a ^ b ^ c, taint::each)),
        Int::VBitop3B32 => Exact(|x, i| x.truth_table(i)),

        // Add, subtract.
        Int::VAddNcU32 => Exact(|x, i| x.clamped(i, u32::wrapping_add, u32::saturating_add)),
        Int::VSubNcU32 => Exact(|x, i| x.clamped(i, u32::wrapping_sub, u32::saturating_sub)),
        Int::VSubrevNcU32 => Exact(|x, i| x.clamped(i, |a, b| b.wrapping_sub(a), |a, b| b.saturating_sub(a))),
        Int::VAddNcI32 => Exact(|x, i| x.clamped(i, u32::wrapping_add, |a, b| signed(a).saturating_add(signed(b)).cast_unsigned())),
        Int::VSubNcI32 => Exact(|x, i| x.clamped(i, u32::wrapping_sub, |a, b| signed(a).saturating_sub(signed(b)).cast_unsigned())),
        Int::VAddCoU32 => Exact(|x, i| x.clamped_carry(i, |a, b, _| add_carry(a, b, false), u32::MAX)),
        Int::VSubCoU32 => Exact(|x, i| x.clamped_carry(i, |a, b, _| sub_borrow(a, b, false), 0)),
        Int::VSubrevCoU32 => Exact(|x, i| x.clamped_carry(i, |a, b, _| sub_borrow(b, a, false), 0)),
        Int::VAddCoCiU32 => Exact(|x, i| x.clamped_carry(i, add_carry, u32::MAX)),
        Int::VSubCoCiU32 => Exact(|x, i| x.clamped_carry(i, sub_borrow, 0)),
        Int::VSubrevCoCiU32 => Exact(|x, i| x.clamped_carry(i, |a, b, c| sub_borrow(b, a, c), 0)),
        Int::VAdd3U32 => Exact(|x, i| x.int3(i, |a, b, c| a.wrapping_add(b).wrapping_add(c), taint::upwards)),
        Int::VLshlAddU32 => Exact(|x, i| x.int3(i, |a, b, c| (a << (b & 31)).wrapping_add(c), taint::shift_add)),
        Int::VAddLshlU32 => Exact(|x, i| x.int3(i, |a, b, c| a.wrapping_add(b) << (c & 31), taint::any)),
        Int::VLshlOrB32 => Exact(|x, i| x.int3(i, |a, b, c| a << (b & 31) | c, taint::shift_or)),
        Int::VXadU32 => Exact(|x, i| x.int3(i, |a, b, c| (a ^ b).wrapping_add(c), taint::xor_add)),
        Int::VLshlAddU64 => Exact(|x, i| x.wide(i, |a, b, c| (a << (b & 7)).wrapping_add(c), taint::shift_add64)),

        // Multiply.
        Int::VMulLoU32 => Exact(|x, i| x.int2(i, u32::wrapping_mul, taint::upwards)),
        Int::VMulHiU32 => Exact(|x, i| x.int2(i, mul_high, taint::any)),
        Int::VMulHiI32 => Exact(|x, i| x.int2(i, mul_high_signed, taint::any)),
        Int::VMulI32I24 => Exact(|x, i| x.clamped(i, |a, b| wrap(signed24(a) * signed24(b)), |a, b| saturate(signed24(a) * signed24(b)))),
        Int::VMulHiI32I24 => Exact(|x, i| x.int2(i, |a, b| wrap((signed24(a) * signed24(b)) >> 32), taint::any)),
        Int::VMulU32U24 => Exact(|x, i| x.clamped(i, |a, b| low24(a).wrapping_mul(low24(b)), |a, b| low24(a).saturating_mul(low24(b)))),
        Int::VMulHiU32U24 => Exact(|x, i| x.int2(i, |a, b| mul_high(low24(a), low24(b)), taint::any)),
        Int::VMadI32I24 => Exact(|x, i| x.clamped3(i, |a, b, c| signed24(a) * signed24(b) + i64::from(signed(c)), saturate)),
        Int::VMadU32U24 => Exact(|x, i| x.clamped3(i, |a, b, c| i64::from(low24(a)) * i64::from(low24(b)) + i64::from(c), |v| saturate_unsigned(v.cast_unsigned()))),
        Int::VMadU32U16 => Exact(|x, i| x.mad16(i, |a, b, c| i64::from(a) * i64::from(b) + i64::from(c), |v| saturate_unsigned(v.cast_unsigned()))),
        Int::VMadI32I16 => Exact(|x, i| x.mad16(i, |a, b, c| i64::from(signed(sign_extend(a, 16))) * i64::from(signed(sign_extend(b, 16))) + i64::from(signed(c)), saturate)),
        Int::VMadU64U32 => Exact(|x, i| x.mad64(i, |a, b, c| {
            let (sum, carry) = (u64::from(a) * u64::from(b)).overflowing_add(c);
            (if carry && i.inst.mods.clamp { u64::MAX } else { sum }, carry)
        })),
        Int::VMadI64I32 => Exact(|x, i| x.mad64(i, |a, b, c| {
            let product = i64::from(signed(a)) * i64::from(signed(b));
            let (sum, overflow) = product.overflowing_add(c.cast_signed());
            let saturated = product.saturating_add(c.cast_signed());
            (if i.inst.mods.clamp { saturated } else { sum }.cast_unsigned(), overflow)
        })),

        // Minimum, maximum, difference.
        Int::VMinI32 => Exact(|x, i| x.int2(i, min_signed, taint::any)),
        Int::VMinU32 => Exact(|x, i| x.int2(i, u32::min, taint::any)),
        Int::VMaxI32 => Exact(|x, i| x.int2(i, max_signed, taint::any)),
        Int::VMaxU32 => Exact(|x, i| x.int2(i, u32::max, taint::any)),
        Int::VMin3I32 => Exact(|x, i| x.int3(i, |a, b, c| min_signed(min_signed(a, b), c), taint::any)),
        Int::VMin3U32 => Exact(|x, i| x.int3(i, |a, b, c| a.min(b).min(c), taint::any)),
        Int::VMax3I32 => Exact(|x, i| x.int3(i, |a, b, c| max_signed(max_signed(a, b), c), taint::any)),
        Int::VMax3U32 => Exact(|x, i| x.int3(i, |a, b, c| a.max(b).max(c), taint::any)),
        Int::VMed3I32 => Exact(|x, i| x.int3(i, median_signed, taint::any)),
        Int::VMed3U32 => Exact(|x, i| x.int3(i, median, taint::any)),
        Int::VMaxminI32 => Exact(|x, i| x.int3(i, |a, b, c| min_signed(max_signed(a, b), c), taint::any)),
        Int::VMinmaxI32 => Exact(|x, i| x.int3(i, |a, b, c| max_signed(min_signed(a, b), c), taint::any)),
        Int::VMaxminU32 => Exact(|x, i| x.int3(i, |a, b, c| a.max(b).min(c), taint::any)),
        Int::VMinmaxU32 => Exact(|x, i| x.int3(i, |a, b, c| a.min(b).max(c), taint::any)),
        Int::VSadU8 => Exact(|x, i| x.clamped3(i, |a, b, c| sad_bytes(a, b, false) + i64::from(c), |v| saturate_unsigned(v.cast_unsigned()))),
        Int::VSadHiU8 => Exact(|x, i| x.clamped3(i, |a, b, c| (sad_bytes(a, b, false) << 16) + i64::from(c), |v| saturate_unsigned(v.cast_unsigned()))),
        Int::VSadU16 => Exact(|x, i| x.clamped3(i, |a, b, c| i64::from((a & 0xffff).abs_diff(b & 0xffff)) + i64::from((a >> 16).abs_diff(b >> 16)) + i64::from(c), |v| saturate_unsigned(v.cast_unsigned()))),
        Int::VMsadU8 => Exact(|x, i| x.clamped3(i, |a, b, c| sad_bytes(a, b, true) + i64::from(c), |v| saturate_unsigned(v.cast_unsigned()))),
        Int::VLerpU8 => Exact(|x, i| x.int3(i, average_bytes, taint::any)),
        Int::VAshrPkI8I32 => Exact(|x, i| x.shift_and_pack(i, i8::MIN.into(), i8::MAX.into())),
        Int::VAshrPkU8I32 => Exact(|x, i| x.shift_and_pack(i, 0, u8::MAX.into())),
        Int::VSadU32 => Exact(|x, i| x.clamped3(i, |a, b, c| sad(a, b, c).cast_signed(), |v| saturate_unsigned(v.cast_unsigned()))),
    }
}

impl Exec<'_> {
    /// Two sources shifted right by the third and saturated to a byte each, in a half of the destination.
    fn shift_and_pack(&mut self, inst: &Prepared, low: i32, high: i32) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let source = |k: usize| *self.source_row(inst, k, row, &mut [0; ROW_LANES]);
            let (a, b, by) = (source(0), source(1), source(2));
            let byte =
                |value: u32, by: u32| (signed(value) >> (by & 31)).clamp(low, high) as u32 & 0xff;
            let out =
                std::array::from_fn(|lane| byte(a[lane], by[lane]) | byte(b[lane], by[lane]) << 8);
            let shadow = self.shadow_if(is_undefined, inst, row, taint::any);
            self.put_half(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// `mask ? source 1 : source 0`, lane by lane; NEG and ABS as on binary32.
    pub(crate) fn select32(&mut self, inst: &Prepared) -> Outcome {
        if let Some(wide) = self.on_all_lanes(inst)
            && let Some(mask) = inst.places.mask
        {
            return self.select_all(wide, inst, self.wave.mask(mask));
        }
        self.select32_slowly(inst)
    }

    #[inline(never)]
    fn select32_slowly(&mut self, inst: &Prepared) -> Outcome {
        let choice = self.mask_source(inst, 2);
        let shadows = self.is_any_undefined(inst).then(|| {
            let mut shadows = [None, None];
            for row in self.rows() {
                shadows[row] = self.select_shadow(inst, row, choice);
            }
            shadows
        });
        self.select_lanes(inst, choice.value, shadows)
    }

    /// A choice between equal bits is defined whatever the mask bit is.
    #[cold]
    pub(crate) fn select_shadow(
        &self,
        inst: &Prepared,
        row: usize,
        choice: Bits,
    ) -> Option<Box<[Row; 2]>> {
        let mut shadow = Box::new([[0; ROW_LANES]; 2]);
        for lane in 0..ROW_LANES {
            let at = row * ROW_LANES + lane;
            let (a, b) = (self.source_bits(inst, 0, at), self.source_bits(inst, 1, at));
            let chosen = if choice.value >> at & 1 == 1 { b } else { a };
            let unsure = if choice.undefined >> at & 1 == 1 {
                a.value ^ b.value | a.undefined | b.undefined
            } else {
                0
            };
            shadow[0][lane] = ((chosen.undefined | unsure) & 0xffff_ffff) as u32;
        }
        Some(shadow)
    }

    /// Any function of three bits. A result bit is undefined when some choice of undefined bits changes it.
    fn truth_table(&mut self, inst: &Prepared) -> Outcome {
        let table = inst.inst.mods.truth_table;
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let mut buffers = [[0; ROW_LANES]; 3];
            let [x, y, z] = &mut buffers;
            let (a, b) = (self.source_row(inst, 0, row, x), self.source_row(inst, 1, row, y));
            let c = self.source_row(inst, 2, row, z);
            let out = std::array::from_fn(|lane| truth_table(table, a[lane], b[lane], c[lane]));
            let shadow = if is_undefined { self.truth_table_shadow(inst, row) } else { None };
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    #[cold]
    fn truth_table_shadow(&self, inst: &Prepared, row: usize) -> Option<Box<[Row; 2]>> {
        let mut shadow = Box::new([[0; ROW_LANES]; 2]);
        for lane in 0..ROW_LANES {
            let sources: [Bits; 3] =
                std::array::from_fn(|k| self.source_bits(inst, k, row * ROW_LANES + lane));
            shadow[0][lane] = truth_table_undefined(inst.inst.mods.truth_table, sources);
        }
        Some(shadow)
    }

    /// Two sources; CLAMP chooses the saturating function.
    fn clamped(
        &mut self,
        inst: &Prepared,
        wrapping: impl Fn(u32, u32) -> u32,
        saturating: impl Fn(u32, u32) -> u32,
    ) -> Outcome {
        if inst.inst.mods.clamp {
            return self.int2(inst, saturating, taint::any);
        }
        self.int2(inst, wrapping, taint::upwards)
    }

    /// Three sources with a wide intermediate result; CLAMP saturates it.
    fn clamped3(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> i64,
        saturate: impl Fn(i64) -> u32,
    ) -> Outcome {
        if inst.inst.mods.clamp {
            return self.int3(inst, |a, b, c| saturate(f(a, b, c)), taint::any);
        }
        self.int3(inst, |a, b, c| wrap(f(a, b, c)), taint::any)
    }

    /// A carry; CLAMP replaces a result that carried out by `limit`.
    fn clamped_carry(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, bool) -> (u32, bool),
        limit: u32,
    ) -> Outcome {
        let clamp = inst.inst.mods.clamp;
        self.carry(inst, |a, b, c| {
            let (sum, carry) = f(a, b, c);
            (if clamp && carry { limit } else { sum }, carry)
        })
    }

    /// Two 16-bit sources and a 32-bit one.
    fn mad16(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> i64,
        saturate: impl Fn(i64) -> u32,
    ) -> Outcome {
        let clamp = inst.inst.mods.clamp;
        let rows = |exec: &Self, row: usize| -> Row {
            let mut x = [0; ROW_LANES];
            let (a, b) = (exec.half_row(inst, 0, row), exec.half_row(inst, 1, row));
            let c = exec.source_row(inst, 2, row, &mut x);
            std::array::from_fn(|lane| {
                let wide = f(a[lane], b[lane], c[lane]);
                if clamp { saturate(wide) } else { wrap(wide) }
            })
        };
        self.raw_from_rows(inst, rows, taint::any)
    }

    /// Product of 32-bit sources plus a 64-bit one, and a carry.
    fn mad64(&mut self, inst: &Prepared, f: impl Fn(u32, u32, u64) -> (u64, bool)) -> Outcome {
        let mut carries = Bits::default();
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let source = |k: usize| self.any_row(inst, k, row);
            let (a, b, c) = (source(0), source(1), source(2));
            let results: [(u64, bool); ROW_LANES] =
                std::array::from_fn(|lane| f(low(a[lane]), low(b[lane]), c[lane]));
            for (lane, (_, carry)) in results.iter().enumerate() {
                let at = row * ROW_LANES + lane;
                carries.value |= u64::from(*carry) << at;
                let is_unsure =
                    is_undefined && (0..3).any(|k| self.source_bits(inst, k, at).undefined != 0);
                carries.undefined |= u64::from(is_unsure) << at;
            }
            let shadow = self.shadow_if(is_undefined, inst, row, taint::upwards);
            self.put_wide(inst, row, &results.map(|(sum, _)| sum), shadow);
        }
        carries.value &= self.wave.active;
        carries.undefined &= self.wave.active;
        self.set_lane_mask(inst, inst.dst[1], carries);
        Ok(())
    }
}

fn low(bits: u64) -> u32 {
    (bits & 0xffff_ffff) as u32
}
