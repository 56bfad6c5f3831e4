//! Matrix operations: MFMA of gfx950 and WMMA of gfx1100.
//!
//! How sums are ordered and rounded is not documented for these targets; `Options::numerics` chooses a model
//! (`crate::numerics`). In `fma-sequential` each element of D is C, plus one fused multiply-add in the format
//! of D for each k in ascending order (binary32 where D is narrower, rounded to it at the end); in the
//! other modes this holds for binary32 and binary64 factors. Subnormals are kept unless the model says
//! otherwise, whatever MODE says. Integer sums are exact.
//!
//! Elements are gathered into row-major matrices, block after block, multiplied there, and dealt back;
//! where they lie is known to `isa::fragment` alone. EXEC does not switch lanes off (AMDGPUUsage and the ISA
//! manuals want it all ones); a partial EXEC is a finding.

mod arithmetic;
mod factors;
mod layout;
mod strips;
#[cfg(test)]
pub(super) mod tests;
mod tiles;

use isa::Op;
use isa::fragment::Shape;
use isa::table::{Element, Matrix};

use crate::exec::{Exec, Outcome};
use crate::fault::Cause;
use crate::fidelity::Bound::SequentialFma;
use crate::finding::Rule;
use crate::float::{f32_to_bf16, f32_to_f16, fma64};
use crate::numerics::{self, Dot2, Format, Numerics};
use crate::operand::{Dest, Source};
use crate::prepare::{Prepared, unsupported};
use crate::sem::Meaning::{self, Approximate, Exact, Unsupported};
use crate::wave::ROW_LANES;
pub(crate) use factors::Factors;
use layout::{Layout, Plan};
use tiles::{Rows, Sums};

/// Why sparse and f8f6f4 operations are refused.
const NO_WITNESS: &str = "its layout has no witness";

/// Dense operations, by the elements of A. Sparse and f8f6f4 ones have no shape: nothing independent
/// witnesses their layouts.
pub(crate) fn meaning(op: Matrix) -> Meaning {
    let Some(plan) = Plan::of(op) else { return Unsupported(NO_WITNESS) };
    match plan.a.fragment.element() {
        Element::F64 => Approximate(SequentialFma, |x, i| x.multiply_f64(i)),
        Element::F32 | Element::F16 | Element::Bf16 | Element::Fp8 | Element::Bf8 => {
            Approximate(SequentialFma, |x, i| x.multiply_f32(i))
        }
        Element::I8 | Element::Iu8 | Element::Iu4 | Element::I32 => {
            Exact(|x, i| x.multiply_integers(i))
        }
    }
}

/// Whether the factors are floats of at most 16 bits.
pub(crate) fn has_narrow_factors(op: Matrix) -> bool {
    Plan::of(op).is_some_and(|plan| Format::of(plan.a.fragment.element()).is_some())
}

/// Sources in the order of the row.
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

impl Exec<'_> {
    fn multiply_f64(&mut self, inst: &Prepared) -> Outcome {
        let plan = self.matrix_plan(inst)?;
        // BLGP holds the signs of A, B and C.
        let sign = |k: usize| u64::from(inst.inst.mods.blgp) >> k << 63;
        let operand = |k: usize| {
            let mut all = self.gather(inst, k, plan.layout(k));
            all.iter_mut().for_each(|bits| *bits ^= sign(k));
            all
        };
        let (a, b, mut d) = (operand(A), operand(B), operand(C));
        arithmetic::multiply(plan.shape, &a, &b, &mut d, fma64);
        self.deal(inst, plan, |at| d[at]);
        Ok(())
    }

    fn multiply_f32(&mut self, inst: &Prepared) -> Outcome {
        let plan = self.matrix_plan(inst)?;
        if self.multiply_tiles(inst, plan).is_some() {
            return Ok(());
        }
        let formats = [&plan.a, &plan.b].map(|layout| Format::of(layout.fragment.element()));
        match (self.options.numerics, formats) {
            (Numerics::Cdna3Fdpa, [Some(a), Some(b)]) => {
                self.multiply_modelled(inst, plan, |pairs, c| {
                    numerics::fused_sum([a, b], pairs, c)
                });
                return Ok(());
            }
            (Numerics::Rdna3Candidate, [Some(format), _]) => {
                let result = match plan.d.fragment.element() {
                    Element::F16 => Dot2::F16 { saturates: self.wave.mode.fp16_overflow },
                    Element::Bf16 => Dot2::Bf16,
                    _ => Dot2::F32,
                };
                self.multiply_modelled(inst, plan, |pairs, c| {
                    let (steps, _) = pairs.as_chunks::<2>();
                    steps.iter().fold(c, |c, pairs| numerics::dot2(format, result, *pairs, c))
                });
                return Ok(());
            }
            _ => {}
        }
        let (a, b) = (self.factor_f32(inst, A, &plan.a), self.factor_f32(inst, B, &plan.b));
        let c = self.addend_f32(inst, plan);
        let d = arithmetic::multiply_f32(plan.shape, plan.a.fragment.element(), &a, &b, &c);
        let mode = self.wave.mode;
        let narrow = |bits: u32| match plan.d.fragment.element() {
            Element::F16 => f32_to_f16(mode, bits),
            Element::Bf16 => f32_to_bf16(bits),
            _ => bits,
        };
        self.deal(inst, plan, |at| narrow(d[at]).into());
        Ok(())
    }

    /// The fast way, where everything is ordinary.
    fn multiply_tiles(&mut self, inst: &Prepared, plan: &Plan) -> Option<()> {
        let tiles = plan.tiles.as_ref()?;
        let is_narrow = Format::of(plan.a.fragment.element()).is_some();
        let sums = match self.options.numerics {
            Numerics::Cdna3Fdpa if is_narrow => Sums::Fused,
            Numerics::Rdna3Candidate if is_narrow => Sums::Pairs,
            _ => Sums::Sequential,
        };
        let mods = &inst.inst.mods;
        let Dest::Vector(first) = inst.dst[0] else { return None };
        let (Source::Vector(a), Source::Vector(b)) = (inst.src[A], inst.src[B]) else {
            return None;
        };
        let is_tainted = |k: usize| self.is_operand_tainted(inst, k, plan.layout(k));
        if mods.neg | mods.neg_hi != 0 || [A, B, C].into_iter().any(is_tainted) {
            return None;
        }
        let registers = plan.d.registers();
        let row = |register: u16| self.wave.vectors.index(register, 0);
        let c = match inst.src[C] {
            // Tiles of D are written while later ones of C are still to be read.
            Source::Vector(c) if c != first && c.abs_diff(first) < registers => return None,
            Source::Vector(c) => Ok(row(c)),
            source => Err(self.uniform(source) as u32),
        };
        let rows = Rows { factors: [row(a), row(b)], c, d: row(first) };
        let (width, file) = self.wave.vectors.rows_mut();
        let factors = self.wave.factors.get_or_insert_with(Factors::new);
        tiles.multiply(width, file, factors, rows, sums)?;
        for register in first..first + registers {
            self.wave.vectors.define(register, u64::MAX);
        }
        Some(())
    }

    /// Each element of D from its pairs of factors in ascending k and its C, all raw bits.
    fn multiply_modelled(
        &mut self,
        inst: &Prepared,
        plan: &Plan,
        element: impl Fn(&[[u32; 2]], u32) -> u32,
    ) {
        let (a, b) = (self.factor_bits(inst, A, &plan.a), self.factor_bits(inst, B, &plan.b));
        let c = self.addend_bits(inst, plan);
        let Shape { m, n, k, .. } = plan.shape;
        let (m, n, depth) = (m as usize, n as usize, k as usize);
        let mut pairs = vec![[0; 2]; depth];
        let d: Vec<u32> = (0..c.len())
            .map(|at| {
                let (block, i, j) = (at / (m * n), at / n % m, at % n);
                for (k, pair) in pairs.iter_mut().enumerate() {
                    *pair = [a[(block * m + i) * depth + k], b[(block * depth + k) * n + j]];
                }
                element(&pairs, c[at])
            })
            .collect();
        self.deal(inst, plan, |at| d[at].into());
    }

    fn multiply_integers(&mut self, inst: &Prepared) -> Outcome {
        let plan = self.matrix_plan(inst)?;
        let factor = |k: usize, layout: &Layout| {
            let element = layout.fragment.element();
            let is_signed = element == Element::I8 || inst.inst.mods.neg >> k & 1 == 1;
            let widen = |bits| arithmetic::integer(bits, element.bits(), is_signed);
            self.gather(inst, k, layout).into_iter().map(widen).collect::<Vec<i64>>()
        };
        let (a, b) = (factor(A, &plan.a), factor(B, &plan.b));
        let c = self.gather(inst, C, &plan.d);
        let mut d: Vec<i64> =
            c.into_iter().map(|bits| arithmetic::integer(bits, 32, true)).collect();
        arithmetic::multiply(plan.shape, &a, &b, &mut d, |a, b, sum| a * b + sum);
        let clamps = inst.inst.mods.clamp;
        let limit = |sum: i64| {
            if clamps { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum }
        };
        self.deal(inst, plan, |at| limit(d[at]).cast_unsigned() & 0xffff_ffff);
        Ok(())
    }

    /// Checks what an operation demands of its wave and modifiers, and looks up its layouts.
    fn matrix_plan(&mut self, inst: &Prepared) -> Result<&'static Plan, Box<Cause>> {
        let Some(plan) = plan(inst.inst.op) else {
            return Err(Box::new(unsupported(&inst.inst, self.target, NO_WITNESS)));
        };
        let mods = &inst.inst.mods;
        let blgp = if plan.a.fragment.element() == Element::F64 { 0 } else { mods.blgp };
        if mods.cbsz | mods.abid | blgp != 0 {
            let why = "CBSZ, ABID and BLGP broadcasts have no witness";
            return Err(Box::new(unsupported(&inst.inst, self.target, why)));
        }
        self.check_all_lanes(inst);
        self.check_copies(inst, A, &plan.a);
        self.check_copies(inst, B, &plan.b);
        Ok(plan)
    }

    fn check_all_lanes(&mut self, inst: &Prepared) {
        let off = (u64::MAX >> (64 - self.wave.width)) & !self.wave.exec();
        if off == 0 {
            return;
        }
        self.report(inst, Rule::PartialExec, None, Some(off.trailing_zeros()), || {
            (
                format!("a matrix operation runs with lanes {off:#x} switched off in EXEC"),
                "set EXEC to all ones around matrix operations; they ignore it".to_owned(),
            )
        });
    }

    /// A and B of WMMA must lie twice in the wave.
    fn check_copies(&mut self, inst: &Prepared, k: usize, layout: &Layout) {
        let (Some(distance), Source::Vector(first)) = (layout.fragment.copy(), inst.src[k]) else {
            return;
        };
        let distance = distance as usize;
        let differs = |register: u16| {
            let (one, other) = self.wave.vectors.row(register, 0).split_at(distance);
            let mut differing = one.iter().zip(other).map(|(one, other)| one ^ other);
            if differing.clone().fold(0, |all, bits| all | bits) == 0 {
                return None;
            }
            differing.position(|bits| bits != 0)
        };
        let mut registers = first..first + layout.registers();
        let Some((register, lane)) =
            registers.find_map(|register| Some((register, differs(register)?)))
        else {
            return;
        };
        self.report(inst, Rule::LaneDuplication, None, Some(lane as u32), || {
            (
                format!("v{register} of lane {lane} and lane {} differ", lane + distance),
                "load A and B of WMMA into lanes 16 to 31 as into lanes 0 to 15".to_owned(),
            )
        });
    }

    /// A or B in binary32 bits, signs applied.
    fn factor_f32(&self, inst: &Prepared, k: usize, layout: &Layout) -> Vec<u32> {
        let element = layout.fragment.element();
        let mut all = self.factor_bits(inst, k, layout);
        all.iter_mut().for_each(|bits| *bits = arithmetic::widen(element, *bits));
        all
    }

    /// The bits of A or B, signs applied: NEG to the even elements of a lane, NEG_HI to the odd ones.
    fn factor_bits(&self, inst: &Prepared, k: usize, layout: &Layout) -> Vec<u32> {
        let mods = &inst.inst.mods;
        let last = layout.fragment.element().bits() - 1;
        let signs = [mods.neg, mods.neg_hi].map(|bits| (u32::from(bits) >> k & 1) << last);
        let mut all = vec![0; layout.len()];
        self.visit(inst, k, layout, |at, slot, bits| all[at] = bits as u32 ^ signs[slot % 2]);
        all
    }

    /// The bits of C: NEG_HI takes the absolute value, NEG negates.
    fn addend_bits(&self, inst: &Prepared, plan: &Plan) -> Vec<u32> {
        let mods = &inst.inst.mods;
        let sign = 1 << (plan.d.fragment.element().bits() - 1);
        let is_set = |bits: u8| bits >> C & 1 == 1;
        let keep = if is_set(mods.neg_hi) { !sign } else { u32::MAX };
        let flip = if is_set(mods.neg) { sign } else { 0 };
        self.gather(inst, C, &plan.d).into_iter().map(|bits| bits as u32 & keep ^ flip).collect()
    }

    /// C in binary32 bits, signs applied.
    fn addend_f32(&self, inst: &Prepared, plan: &Plan) -> Vec<u32> {
        let element = plan.d.fragment.element();
        let c = self.addend_bits(inst, plan);
        c.into_iter().map(|bits| arithmetic::widen(element, bits)).collect()
    }

    /// The raw bits of source `k`, row-major.
    fn gather(&self, inst: &Prepared, k: usize, layout: &Layout) -> Vec<u64> {
        let mut all = vec![0; layout.len()];
        self.visit(inst, k, layout, |at, _, bits| all[at] = bits);
        all
    }

    /// Hands every element of source `k` to `put`: its row-major position, its slot, its bits.
    fn visit(
        &self,
        inst: &Prepared,
        k: usize,
        layout: &Layout,
        mut put: impl FnMut(usize, usize, u64),
    ) {
        // OP_SEL of C chooses the half that 16-bit results of WMMA read and write.
        let half = if k == C { layout.half(inst) } else { 0 };
        let Source::Vector(first) = inst.src[k] else {
            return self.visit_constant(inst, k, layout, put);
        };
        for slot in 0..layout.slots() {
            let (register, bit, mask) = layout.bits(slot);
            let (low, shift) = (first + register, bit + half);
            for row in 0..self.wave.n_rows() {
                let positions = layout.positions(slot, row);
                let words = self.wave.vectors.row(low, row).iter().zip(positions);
                if mask <= 0xffff_ffff {
                    words.for_each(|(word, at)| {
                        put((*at).into(), slot, u64::from(*word >> shift) & mask)
                    });
                    continue;
                }
                let high = self.wave.vectors.row(low + 1, row);
                words.zip(high).for_each(|((word, at), high)| {
                    put((*at).into(), slot, u64::from(*word) | u64::from(*high) << 32);
                });
            }
        }
    }

    /// An inline constant stands for every element.
    fn visit_constant(
        &self,
        inst: &Prepared,
        k: usize,
        layout: &Layout,
        mut put: impl FnMut(usize, usize, u64),
    ) {
        let (_, _, mask) = layout.bits(0);
        let bits = self.uniform(inst.src[k]) & mask;
        (0..layout.len()).for_each(|at| put(at, 0, bits));
    }

    /// Deals the elements of D to the lanes, with their undefined bits.
    fn deal(&mut self, inst: &Prepared, plan: &Plan, value: impl Fn(usize) -> u64) {
        let Dest::Vector(first) = inst.dst[0] else { return };
        let undefined = self.undefined_results(inst, plan);
        let layout = &plan.d;
        let half = layout.half(inst);
        for slot in 0..layout.slots() {
            let (register, _, mask) = layout.bits(slot);
            for row in 0..self.wave.n_rows() {
                let at: [usize; ROW_LANES] =
                    std::array::from_fn(|lane| layout.position(slot, row * ROW_LANES + lane));
                for word in 0..if mask > 0xffff_ffff { 2 } else { 1 } {
                    let register = first + register + word;
                    let written = ((mask & 0xffff_ffff) as u32) << half;
                    let values = at.map(|at| ((value(at) >> (32 * word)) as u32) << half);
                    self.wave.vectors.write_row(register, row, u32::MAX, written, &values);
                    if let Some(undefined) = &undefined {
                        let bits = at.map(|at| if undefined[at] { u32::MAX } else { 0 });
                        self.wave.vectors.taint_row(register, row, u32::MAX, written, &bits);
                    }
                }
            }
        }
        if undefined.is_some() {
            self.note_undefined(inst);
        }
    }

    /// Which elements of D are undefined: those with an undefined bit in their row of A, their column of B
    /// or their C. `None` when no source has an undefined bit.
    fn undefined_results(&self, inst: &Prepared, plan: &Plan) -> Option<Vec<bool>> {
        if ![A, B, C].iter().any(|k| self.is_operand_tainted(inst, *k, plan.layout(*k))) {
            return None;
        }
        let Shape { m, n, k: depth, blocks } = plan.shape;
        let [a, b, c] = [A, B, C].map(|k| self.undefined_elements(inst, k, plan.layout(k)));
        let mut d = c;
        let (m, n, depth) = (m as usize, n as usize, depth as usize);
        for (at, is_undefined) in d.iter_mut().enumerate().take(m * n * blocks as usize) {
            let (block, i, j) = (at / (m * n), at / n % m, at % n);
            *is_undefined |= (0..depth)
                .any(|k| a[(block * m + i) * depth + k] || b[(block * depth + k) * n + j]);
        }
        Some(d)
    }

    fn is_operand_tainted(&self, inst: &Prepared, k: usize, layout: &Layout) -> bool {
        let Source::Vector(first) = inst.src[k] else { return false };
        self.wave.vectors.is_tuple_tainted(first, layout.registers())
    }

    /// Whether each element of source `k` has an undefined bit, in either copy.
    fn undefined_elements(&self, inst: &Prepared, k: usize, layout: &Layout) -> Vec<bool> {
        let mut all = vec![false; layout.len()];
        let Source::Vector(first) = inst.src[k] else { return all };
        let half = if k == C { layout.half(inst) } else { 0 };
        for slot in 0..layout.slots() {
            let (register, bit, mask) = layout.bits(slot);
            for lane in 0..layout.lanes() {
                let bits = |register| self.wave.vectors.lane_bits(register, lane).undefined;
                let is_wide = mask > 0xffff_ffff;
                let upper = if is_wide { bits(first + register + 1) } else { 0 };
                let undefined = bits(first + register) >> (bit + half) & mask | upper;
                all[layout.position(slot, lane)] |= undefined != 0;
            }
        }
        all
    }
}

fn plan(op: Op) -> Option<&'static Plan> {
    let Op::Matrix(op) = op else { return None };
    Plan::of(op)
}
