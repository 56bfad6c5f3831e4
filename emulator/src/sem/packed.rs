//! Packed arithmetic, mixed-precision multiply-add, dot products.

use isa::Operand;
use isa::table::Packed;

use crate::exec::{Exec, Outcome};
use crate::fidelity::Bound::PartialSums;
use crate::float::*;
use crate::lanes::{Choice, Fused};
use crate::numerics::{self, Dot2, Format, Numerics};
use crate::operand::Source;
use crate::prepare::Prepared;
use crate::sem::Meaning::{self, Approximate, Exact};
use crate::sem::integer::{sign_extend, signed};
use crate::taint::{self, Bits};
use crate::wave::{ROW_LANES, Row};

fn s16(value: u32) -> i32 {
    signed(sign_extend(value, 16))
}

fn saturate(value: i64) -> u32 {
    (value.clamp(i16::MIN.into(), i16::MAX.into()) & 0xffff) as u32
}

fn saturate_unsigned(value: i64) -> u32 {
    value.clamp(0, 0xffff) as u32
}

fn wide(value: u32) -> i64 {
    value.into()
}

fn wide_signed(value: u32) -> i64 {
    s16(value).into()
}

#[rustfmt::skip]
pub(crate) fn meaning(op: Packed) -> Meaning {
    match op {
        // Two 16-bit floats.
        Packed::VPkAddF16 => Exact(|x, i| x.packed_float(i, |_, a, b, _| add16(a, b))),
        Packed::VPkMulF16 => Exact(|x, i| x.packed_float(i, |_, a, b, _| mul16(a, b))),
        Packed::VPkMinF16 => Exact(|x, i| x.packed_float(i, |m, a, b, _| min16(m, a, b))),
        Packed::VPkMaxF16 => Exact(|x, i| x.packed_float(i, |m, a, b, _| max16(m, a, b))),
        Packed::VPkFmaF16 | Packed::VPkFmacF16 => Exact(|x, i| x.packed_float(i, |_, a, b, c| fma16(a, b, c))),
        Packed::VPkMinimum3F16 => Exact(|x, i| x.packed_float(i, |_, a, b, c| minimum16(minimum16(a, b), c))),
        Packed::VPkMaximum3F16 => Exact(|x, i| x.packed_float(i, |_, a, b, c| maximum16(maximum16(a, b), c))),

        // Two 16-bit integers.
        Packed::VPkMadI16 => Exact(|x, i| x.packed_int(i, |a, b, c| wide_signed(a) * wide_signed(b) + wide_signed(c), saturate)),
        Packed::VPkMadU16 => Exact(|x, i| x.packed_int(i, |a, b, c| wide(a) * wide(b) + wide(c), saturate_unsigned)),
        Packed::VPkAddI16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide_signed(a) + wide_signed(b), saturate)),
        Packed::VPkSubI16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide_signed(a) - wide_signed(b), saturate)),
        Packed::VPkAddU16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide(a) + wide(b), saturate_unsigned)),
        Packed::VPkSubU16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide(a) - wide(b), saturate_unsigned)),
        Packed::VPkMulLoU16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide(a) * wide(b), saturate_unsigned)),
        Packed::VPkLshlrevB16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide(b) << (a & 15), saturate_unsigned)),
        Packed::VPkLshrrevB16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide(b) >> (a & 15), saturate_unsigned)),
        Packed::VPkAshrrevI16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide_signed(b) >> (a & 15), saturate)),
        Packed::VPkMaxI16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide_signed(a).max(wide_signed(b)), saturate)),
        Packed::VPkMinI16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide_signed(a).min(wide_signed(b)), saturate)),
        Packed::VPkMaxU16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide(a.max(b)), saturate_unsigned)),
        Packed::VPkMinU16 => Exact(|x, i| x.packed_int(i, |a, b, _| wide(a.min(b)), saturate_unsigned)),

        // Two 32-bit values.
        Packed::VPkFmaF32 => Exact(|x, i| x.packed_wide(i, |fused, a, b, c| fused.multiply_add(a, b, c))),
        Packed::VPkMulF32 => Exact(|x, i| x.packed_wide(i, |_, a, b, _| a * b)),
        Packed::VPkAddF32 => Exact(|x, i| x.packed_wide(i, |_, a, b, _| a + b)),
        Packed::VPkMovB32 => Exact(|x, i| x.packed_move(i)),

        // Mixed precision.
        Packed::VFmaMixF32 => Exact(|x, i| x.mixed_whole(i)),
        Packed::VFmaMixloF16 => Exact(|x, i| x.mixed_half(i, 0)),
        Packed::VFmaMixhiF16 => Exact(|x, i| x.mixed_half(i, 16)),

        // Dot products.
        Packed::VDot2F32F16 | Packed::VDot2accF32F16 => Approximate(PartialSums, |x, i| x.dot2(i, Format::F16, f16_to_f64)),
        Packed::VDot2F32Bf16 | Packed::VDot2cF32Bf16 => Approximate(PartialSums, |x, i| x.dot2(i, Format::BF16, |bits| f64::from(f32::from_bits(bits << 16)))),
        Packed::VDot4U32U8 => Exact(|x, i| x.dot::<8>(i, [false; 2], false)),
        Packed::VDot4I32I8 | Packed::VDot4cI32I8 => Exact(|x, i| x.dot::<8>(i, [true; 2], true)),
        Packed::VDot8U32U4 => Exact(|x, i| x.dot::<4>(i, [false; 2], false)),
        Packed::VDot8I32I4 | Packed::VDot8cI32I4 => Exact(|x, i| x.dot::<4>(i, [true; 2], true)),
        Packed::VDot2U32U16 => Exact(|x, i| x.dot::<16>(i, [false; 2], false)),
        Packed::VDot2I32I16 | Packed::VDot2cI32I16 => Exact(|x, i| x.dot::<16>(i, [true; 2], true)),
        Packed::VDot8I32Iu4 => Exact(|x, i| {
            let is_signed = [i.inst.mods.neg & 1 != 0, i.inst.mods.neg & 2 != 0];
            x.dot::<4>(i, is_signed, true)
        }),
        Packed::VDot4I32Iu8 => Exact(|x, i| {
            // NEG says which source is signed (RDNA3 ISA manual, V_DOT4_I32_IU8).
            let is_signed = [i.inst.mods.neg & 1 != 0, i.inst.mods.neg & 2 != 0];
            x.dot::<8>(i, is_signed, true)
        }),
    }
}

/// The low and the high half's selections. VOP2 forms have none: low from low, high from high.
fn halves(inst: &Prepared) -> [Choice; 2] {
    let mods = &inst.inst.mods;
    if inst.inst.encoding != isa::format::Encoding::Vop3p {
        return [Choice { high: 0, neg: 0 }, Choice { high: 7, neg: 0 }];
    }
    [Choice { high: mods.op_sel, neg: mods.neg }, Choice { high: mods.op_sel_hi, neg: mods.neg_hi }]
}

impl Exec<'_> {
    /// A 16-bit half of a packed source.
    fn packed_half(&self, inst: &Prepared, k: usize, row: usize, lanes: Choice) -> Row {
        let shift = if lanes.high >> k & 1 == 1 { 16 } else { 0 };
        let mut x = [0; ROW_LANES];
        self.source_row(inst, k, row, &mut x).map(|bits| bits >> shift & 0xffff)
    }

    fn packed_float(
        &mut self,
        inst: &Prepared,
        f: impl Fn(FloatMode, u32, u32, u32) -> u32,
    ) -> Outcome {
        let mode = self.wave.mode;
        let half = |exec: &Self, row: usize, lanes: Choice| -> Row {
            let source = |k: usize| {
                let flip = if lanes.neg >> k & 1 == 1 { 0x8000 } else { 0 };
                let keep = |bits: u32| if mode.flush_sources16 { flush16(bits) } else { bits };
                exec.packed_half(inst, k, row, lanes).map(|bits| keep(bits ^ flip))
            };
            let (a, b, c) = (source(0), source(1), source(2));
            std::array::from_fn(|lane| {
                exec.finish_half(inst, f(mode, a[lane], b[lane], c[lane])) & 0xffff
            })
        };
        self.packed(inst, half)
    }

    fn packed_int(
        &mut self,
        inst: &Prepared,
        f: impl Fn(u32, u32, u32) -> i64,
        saturate: impl Fn(i64) -> u32,
    ) -> Outcome {
        let clamp = inst.inst.mods.clamp;
        let half = |exec: &Self, row: usize, lanes: Choice| -> Row {
            let source = |k: usize| exec.packed_half(inst, k, row, lanes);
            let (a, b, c) = (source(0), source(1), source(2));
            std::array::from_fn(|lane| {
                let wide = f(a[lane], b[lane], c[lane]);
                if clamp { saturate(wide) } else { (wide & 0xffff) as u32 }
            })
        };
        self.packed(inst, half)
    }

    /// Both halves of a packed 16-bit result.
    fn packed(&mut self, inst: &Prepared, half: impl Fn(&Self, usize, Choice) -> Row) -> Outcome {
        let is_fmac = inst.inst.encoding != isa::format::Encoding::Vop3p;
        if is_fmac && inst.src.iter().any(|source| matches!(source, Source::Const(_))) {
            return self.refuse(inst, "constants in its short form");
        }
        let [low, high] = halves(inst);
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let (a, b) = (half(self, row, low), half(self, row, high));
            let out = std::array::from_fn(|lane| a[lane] | b[lane] << 16);
            let shadow = is_undefined.then(|| self.packed_shadow(inst, row, [low, high]));
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// A half of the result is undefined when a half that it uses is.
    #[cold]
    fn packed_shadow(&self, inst: &Prepared, row: usize, halves: [Choice; 2]) -> Box<[Row; 2]> {
        let mut shadow = Box::new([[0; ROW_LANES]; 2]);
        for lane in 0..ROW_LANES {
            let sources: [Bits; 3] =
                std::array::from_fn(|k| self.source_bits(inst, k, row * ROW_LANES + lane));
            let uses = |lanes: Choice| {
                (0..3).any(|k| sources[k].undefined >> (16 * (lanes.high >> k & 1)) & 0xffff != 0)
            };
            let part = |lanes: Choice, mask: u32| if uses(lanes) { mask } else { 0 };
            shadow[0][lane] = part(halves[0], 0xffff) | part(halves[1], 0xffff_0000);
        }
        shadow
    }

    /// One 32-bit word of a packed source of two.
    fn packed_word(&self, inst: &Prepared, k: usize, row: usize, high: bool) -> Row {
        let wide = self.wide_row(inst, k, row);
        let shift = if high { 32 } else { 0 };
        wide.map(|bits| (bits >> shift & 0xffff_ffff) as u32)
    }

    /// What the high word of a constant is in a packed 32-bit operation, no document at hand says.
    fn has_high_constant(&self, inst: &Prepared) -> bool {
        let mods = &inst.inst.mods;
        (0..3).any(|k| {
            matches!(inst.src[k], Source::Const(_)) && (mods.op_sel | mods.op_sel_hi) >> k & 1 == 1
        })
    }

    /// Two binary32 operations of the host, one a word of the result.
    fn packed_wide(&mut self, inst: &Prepared, f: impl Fn(Fused, f32, f32, f32) -> f32) -> Outcome {
        if self.has_high_constant(inst) {
            return self.refuse(inst, "the high word of a constant");
        }
        let words = halves(inst);
        if self.is_plain(inst) && !self.is_any_undefined(inst) {
            return self.two_words(inst, words, f);
        }
        let is_undefined = self.is_any_undefined(inst);
        let flush = self.wave.mode.flush_sources32;
        for row in self.rows() {
            let word = |lanes: Choice| -> Row {
                let source = |k: usize| {
                    let flip = if lanes.neg >> k & 1 == 1 { SIGN32 } else { 0 };
                    let signed = self
                        .packed_word(inst, k, row, lanes.high >> k & 1 == 1)
                        .map(|bits| bits ^ flip);
                    if flush { signed.map(flush32) } else { signed }
                };
                let (a, b, c) = (source(0), source(1), source(2));
                let mut out = std::array::from_fn(|lane| {
                    let bits = [a[lane], b[lane], c[lane]];
                    let [x, y, z] = bits.map(f32::from_bits);
                    canonical(f(Fused::Software, x, y, z), bits)
                });
                self.finish(inst, &mut out);
                out
            };
            let (low, high) = (word(words[0]), word(words[1]));
            let out =
                std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32);
            let shadow = is_undefined.then(|| self.packed_wide_shadow(inst, row, words));
            self.put_wide(inst, row, &out, shadow);
        }
        Ok(())
    }

    #[cold]
    fn packed_wide_shadow(&self, inst: &Prepared, row: usize, words: [Choice; 2]) -> Box<[Row; 2]> {
        let mut shadow = Box::new([[0; ROW_LANES]; 2]);
        for lane in 0..ROW_LANES {
            let sources: [Bits; 3] =
                std::array::from_fn(|k| self.source_bits(inst, k, row * ROW_LANES + lane));
            let uses = |lanes: Choice| {
                (0..3).any(|k| {
                    sources[k].undefined >> (32 * (lanes.high >> k & 1)) & 0xffff_ffff != 0
                })
            };
            for (word, lanes) in words.into_iter().enumerate() {
                shadow[word][lane] = if uses(lanes) { u32::MAX } else { 0 };
            }
        }
        shadow
    }

    /// Low word from source 0 by OP_SEL bit 0, high word from source 1 by OP_SEL bit 1.
    ///
    /// Source: CDNA3 ISA manual, `V_PK_MOV_B32`.
    fn packed_move(&mut self, inst: &Prepared) -> Outcome {
        if self.has_high_constant(inst) {
            return self.refuse(inst, "the high word of a constant");
        }
        let op_sel = inst.inst.mods.op_sel;
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let low = self.packed_word(inst, 0, row, op_sel & 1 != 0);
            let high = self.packed_word(inst, 1, row, op_sel & 2 != 0);
            let out =
                std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32);
            let shadow = is_undefined.then(|| {
                let mut shadow = Box::new([[0; ROW_LANES]; 2]);
                for lane in 0..ROW_LANES {
                    for k in 0..2 {
                        let bits = self.source_bits(inst, k, row * ROW_LANES + lane).undefined;
                        shadow[k][lane] = (bits >> (32 * (op_sel >> k & 1)) & 0xffff_ffff) as u32;
                    }
                }
                shadow
            });
            self.put_wide(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// A row of a mixed source as binary32: whole, or a binary16 half where OP_SEL_HI says so. An inline float
    /// is then a binary16 constant, which is how LLVM uses it (`v_fma_mix_f32 … 1.0 … op_sel_hi:[1,1,0]`).
    fn mixed_row(&self, inst: &Prepared, k: usize, row: usize) -> Row {
        let mods = &inst.inst.mods;
        let is_set = |bits: u8| bits >> k & 1 == 1;
        let (flush_half, flush) = (self.wave.mode.flush_sources16, self.wave.mode.flush_sources32);
        let mut x = [0; ROW_LANES];
        let bits = match inst.inst.operands[k + 1] {
            Operand::Float(value) if is_set(mods.op_sel_hi) => [value.bits16().into(); ROW_LANES],
            _ => *self.source_row(inst, k, row, &mut x),
        };
        let widened = if is_set(mods.op_sel_hi) {
            let shift = if is_set(mods.op_sel) { 16 } else { 0 };
            bits.map(|bits| {
                let half = bits >> shift & 0xffff;
                f16_to_f32(if flush_half { flush16(half) } else { half })
            })
        } else {
            bits.map(|bits| if flush { flush32(bits) } else { bits })
        };
        let clear = if is_set(mods.abs) { SIGN32 } else { 0 };
        let flip = if is_set(mods.neg) { SIGN32 } else { 0 };
        widened.map(|bits| bits & !clear ^ flip)
    }

    fn mixed(&self, inst: &Prepared, row: usize, f: impl Fn(u32, u32, u32) -> u32) -> Row {
        let source = |k: usize| self.mixed_row(inst, k, row);
        let (a, b, c) = (source(0), source(1), source(2));
        std::array::from_fn(|lane| f(a[lane], b[lane], c[lane]))
    }

    /// A mixed multiply-add to binary32.
    fn mixed_whole(&mut self, inst: &Prepared) -> Outcome {
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let mut out = self.mixed(inst, row, fma32);
            self.finish(inst, &mut out);
            let shadow = is_undefined.then(|| self.mixed_shadow(inst, row, u32::MAX));
            self.put(inst, row, &out, shadow);
        }
        Ok(())
    }

    /// A mixed multiply-add rounded once to binary16, into one half of the register; the other half stays.
    fn mixed_half(&mut self, inst: &Prepared, shift: u32) -> Outcome {
        let mode = self.wave.mode;
        let is_undefined = self.is_any_undefined(inst);
        for row in self.rows() {
            let out =
                self.mixed(inst, row, |a, b, c| self.finish_half(inst, fma_mix16(mode, a, b, c)));
            let shadow = is_undefined.then(|| self.mixed_shadow(inst, row, 0xffff));
            self.put_half_at(inst, row, &out, shadow, shift);
        }
        Ok(())
    }

    /// `result` where a half or whole source that takes part is undefined.
    #[cold]
    fn mixed_shadow(&self, inst: &Prepared, row: usize, result: u32) -> Box<[Row; 2]> {
        let mods = &inst.inst.mods;
        let mut shadow = Box::new([[0; ROW_LANES]; 2]);
        for lane in 0..ROW_LANES {
            let is_used = |k: usize| {
                let undefined = self.source_bits(inst, k, row * ROW_LANES + lane).undefined;
                let half = undefined >> (16 * (mods.op_sel >> k & 1)) & 0xffff;
                (if mods.op_sel_hi >> k & 1 == 1 { half } else { undefined & 0xffff_ffff }) != 0
            };
            shadow[0][lane] = if (0..3).any(is_used) { result } else { 0 };
        }
        shadow
    }

    /// `a₀·b₀ + a₁·b₁ + c`, rounded as the mode of numerics says; binary16 subnormals are kept in every MODE.
    fn dot2(&mut self, inst: &Prepared, format: Format, widen: impl Fn(u32) -> f64) -> Outcome {
        let is_modelled = self.options.numerics == Numerics::Rdna3Candidate;
        let [low, high] = halves(inst);
        let rows = |exec: &Self, row: usize| -> Row {
            let half = |k: usize, lanes: Choice| {
                let flip = if lanes.neg >> k & 1 == 1 { 0x8000 } else { 0 };
                exec.packed_half(inst, k, row, lanes).map(|bits| bits ^ flip)
            };
            let mut x = [0; ROW_LANES];
            let c = exec.float_row(inst, 2, row, &mut x);
            let (a0, b0, a1, b1) = (half(0, low), half(1, low), half(0, high), half(1, high));
            std::array::from_fn(|lane| {
                if is_modelled {
                    let pairs = [[a0[lane], b0[lane]], [a1[lane], b1[lane]]];
                    return numerics::dot2(format, Dot2::F32, pairs, c[lane]);
                }
                let products =
                    widen(a0[lane]) * widen(b0[lane]) + widen(a1[lane]) * widen(b1[lane]);
                sum32(products, c[lane])
            })
        };
        self.float_from_rows(inst, rows)
    }

    /// The sum of four byte products and source 2.
    /// A dot product of `W`-bit integers, added to the last source.
    fn dot<const W: u32>(
        &mut self,
        inst: &Prepared,
        is_signed: [bool; 2],
        is_result_signed: bool,
    ) -> Outcome {
        let part = |word: u32, place: u32, is_signed: bool| -> i64 {
            let bits = word >> (W * place) & ((1 << W) - 1);
            if is_signed { signed(sign_extend(bits, W)).into() } else { bits.into() }
        };
        let clamp = inst.inst.mods.clamp;
        let f = |a: u32, b: u32, c: u32| {
            let products: i64 = (0..32 / W)
                .map(|place| part(a, place, is_signed[0]) * part(b, place, is_signed[1]))
                .sum();
            let c = if is_result_signed { i64::from(signed(c)) } else { c.into() };
            let sum = products + c;
            let limits: (i64, i64) = if is_result_signed {
                (i32::MIN.into(), i32::MAX.into())
            } else {
                (0, u32::MAX.into())
            };
            ((if clamp { sum.clamp(limits.0, limits.1) } else { sum }) & 0xffff_ffff) as u32
        };
        self.int3(inst, f, taint::any)
    }
}
