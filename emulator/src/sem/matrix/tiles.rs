//! Products of float matrices at the speed of the host's vectors.
//!
//! The factors are widened once, into rows of elements k after k. Sums stay where D has them: 16 lanes of a
//! register hold 16 columns of one row of D, in every layout of 16 or 32 rows. Four such strips are computed
//! together, so that their sums stay in the host's registers.
//!
//! Only what is ordinary runs here: factors of at most 32 bits without signs to apply, binary32 sums, nothing
//! undefined. Everything else takes the general way, and so do single elements that come out as NaN, whose
//! payloads it works out. Both ways give the same bits.

use isa::fragment::{Fragment, Index, Part, Shape};
use isa::table::{Element, Matrix};

use super::arithmetic::{are_products_exact, widen};
use super::factors::Factors;
use super::strips::{
    COLUMNS, MAX_DEPTH, Strip, TOGETHER, WIDTH, columns, columns_mut, drop_first_copies, half_row,
    load_addends, store_results, strips,
};
use crate::float::fma32;
use crate::lanes::simd::{Fused, Loops, Width, cut, run, widen_halves};
use crate::numerics::{FusedGroup, GROUP, ProductPair};
use crate::wave::AlignedRow;

/// The most strips of D that sums of pairs have: those of WMMA.
const MAX_PAIR_STRIPS: usize = 16;

/// An exponent below those of all numbers.
const NO_EXPONENT: i32 = -1000;
/// The exponent of a factor of zero in the mode `cdna3-fdpa`.
const ZERO_EXPONENT: i32 = -126;

/// The strips of an operation that has them in every operand.
#[derive(Debug)]
pub(super) struct Tiles {
    /// By register, row of lanes, bit.
    factors: [Vec<Strip>; 2],
    elements: [Element; 2],
    /// By column.
    d: Vec<Strip>,
    depth: usize,
    /// Columns of a strip, as a number that the compiler does not know.
    columns: usize,
}

/// How sums are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// One fused multiply-add a product.
    Sequential,
    /// Groups of eight or sixteen as CDNA3 adds them.
    Fused,
    /// Pairs of products as RDNA3 adds them.
    Pairs,
}

/// [`Sums::Sequential`] as a kind of multiplication.
const SEQUENTIAL: u8 = 0;
/// [`Sums::Fused`] of factors of 16 bits.
const FUSED_HALVES: u8 = 1;
/// [`Sums::Fused`] of factors of 8 bits.
const FUSED_BYTES: u8 = 2;
/// [`Sums::Pairs`].
const PAIRS: u8 = 3;

/// First rows, among all of the wave, of an instruction's operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub factors: [usize; 2],
    /// C, or a constant in its place.
    pub c: Result<usize, u32>,
    pub d: usize,
}

impl Tiles {
    /// The strips of a dense operation on floats with binary32 results and at least 16 columns.
    pub(super) fn build(op: Matrix) -> Option<Tiles> {
        let shape = Shape::of(op)?;
        let [a, b, d] = [Part::A, Part::B, Part::D].map(|part| Fragment::of(op, part));
        let (a, b, d) = (a?, b?, d?);
        let elements = [a.element(), b.element()];
        let is_float = elements.iter().all(|element| {
            use Element::{Bf8, Bf16, F16, F32, Fp8};
            matches!(element, F32 | F16 | Bf16 | Fp8 | Bf8)
        });
        if !is_float || d.element() != Element::F32 || shape.m < 16 {
            return None;
        }
        let n_rows = if op.row().gfx1100.is_some() { 1 } else { 2 };
        let row = |index: Index| index.block * shape.m + index.row;
        let column = |index: Index| index.block * shape.m + index.column;
        let mut factors = [
            strips(&a, n_rows, row, |index| index.column)?,
            strips(&b, n_rows, column, |index| index.row)?,
        ];
        for strips in &mut factors {
            drop_first_copies(strips);
            strips.sort_by_key(|strip| (strip.row, strip.half, strip.bit));
        }
        let mut d = strips(&d, n_rows, column, row)?;
        d.iter_mut().for_each(|strip| strip.at = strip.k);
        d.sort_by_key(|strip| (strip.column, strip.at));
        let depth = shape.k as usize;
        Some(Tiles { factors, elements, d, depth, columns: COLUMNS })
    }

    /// D = A · B + C, rows of lanes to rows of lanes. `None` when something in it is not ordinary; nothing has
    /// been written then.
    pub(super) fn multiply(
        &self,
        width: Width,
        file: &mut [AlignedRow],
        factors: &mut Factors,
        rows: Rows,
        sums: Sums,
    ) -> Option<()> {
        // Apart from each other, each becomes better vector code.
        let tiles = self;
        match sums {
            Sums::Sequential => run(width, Multiply::<SEQUENTIAL> { tiles, file, factors, rows }),
            Sums::Fused if self.elements[0].bits() == 8 => {
                run(width, Multiply::<FUSED_BYTES> { tiles, file, factors, rows })
            }
            Sums::Fused => run(width, Multiply::<FUSED_HALVES> { tiles, file, factors, rows }),
            Sums::Pairs => run(width, Multiply::<PAIRS> { tiles, file, factors, rows }),
        }
    }

    #[inline(always)]
    fn multiply_lanes<const KIND: u8>(
        &self,
        fused: Fused,
        file: &mut [AlignedRow],
        factors: &mut Factors,
        rows: Rows,
    ) -> Option<()> {
        for k in 0..2 {
            self.load(fused, k, &file[rows.factors[k]..], &mut factors.values[k]);
        }
        let is_exact = match KIND {
            SEQUENTIAL => fused == Fused::Software && self.has_exact_products(factors),
            PAIRS => {
                self.note_exponents(factors, NO_EXPONENT)?;
                return self.multiply_pairs(file, factors, rows);
            }
            _ => {
                self.note_exponents(factors, ZERO_EXPONENT)?;
                true
            }
        };
        let (strips, _) = self.d.as_chunks::<TOGETHER>();
        for strips in strips {
            let mut d = load_addends(file, rows.c, strips);
            match (KIND, is_exact) {
                (FUSED_BYTES, _) => self.add_group_pairs(factors, strips, &mut d),
                (FUSED_HALVES, _) => self.add_groups(factors, strips, &mut d),
                (_, true) => {
                    self.add_products(factors, strips, &mut d, |a, b, sum| a * b + sum);
                }
                (_, false) => {
                    let step = |a, b, sum| fused.multiply_add(a, b, sum);
                    self.add_products(factors, strips, &mut d, step);
                }
            }
            let mut nans = 0;
            for sum in d.as_flattened() {
                nans |= u32::from(sum.is_nan());
            }
            if nans != 0 && KIND == SEQUENTIAL {
                // D is still as it was, and so is C.
                let c = load_addends(file, rows.c, strips);
                d = self.with_payloads(factors, strips, &c, d);
            }
            store_results(file, rows.d, strips, &d);
        }
        Some(())
    }

    /// Sums of pairs; `None` where one is not ordinary, nothing written.
    #[inline(always)]
    fn multiply_pairs(&self, file: &mut [AlignedRow], factors: &Factors, rows: Rows) -> Option<()> {
        let mut d = [[[0.0; COLUMNS]; TOGETHER]; MAX_PAIR_STRIPS / TOGETHER];
        let (strips, _) = self.d.as_chunks::<TOGETHER>();
        let mut is_extreme = false;
        for (strips, d) in strips.iter().zip(&mut d) {
            *d = load_addends(file, rows.c, strips);
            for c in d.as_flattened() {
                is_extreme |= !c.is_finite();
            }
            is_extreme |= self.add_pairs(factors, strips, d);
        }
        if is_extreme {
            return None;
        }
        for (strips, d) in strips.iter().zip(&d) {
            store_results(file, rows.d, strips, d);
        }
        Some(())
    }

    /// Widens a factor.
    #[inline(always)]
    fn load(
        &self,
        fused: Fused,
        k: usize,
        file: &[AlignedRow],
        values: &mut [[f32; WIDTH]; MAX_DEPTH],
    ) {
        match self.elements[k] {
            Element::F16 => {
                if self.load_halves(fused, k, file, values).is_none() {
                    self.load_with(k, file, values, |bits| f16_to_f32(bits & 0xffff));
                }
            }
            Element::Bf16 => self.load_bfloats(k, file, values),
            Element::F32 => self.load_with(k, file, values, |bits| bits),
            element => self.load_with(k, file, values, |bits| widen(element, bits & 0xff)),
        }
    }

    #[inline(always)]
    fn load_with(
        &self,
        k: usize,
        file: &[AlignedRow],
        values: &mut [[f32; WIDTH]; MAX_DEPTH],
        widen: impl Fn(u32) -> u32,
    ) {
        for strip in &self.factors[k] {
            let words = half_row(&file[strip.row], strip.half);
            let values = columns_mut(values, *strip);
            for lane in 0..COLUMNS {
                values[lane] = f32::from_bits(widen(words[lane] >> strip.bit));
            }
        }
    }

    /// Of binary16, `None` but in wide vectors: the strips lie in pairs, low halves and high ones of the same words.
    #[inline(always)]
    fn load_halves(
        &self,
        fused: Fused,
        k: usize,
        file: &[AlignedRow],
        values: &mut [[f32; WIDTH]; MAX_DEPTH],
    ) -> Option<()> {
        for pair in self.factors[k].as_chunks::<2>().0 {
            let words = half_row(&file[pair[0].row], pair[0].half).as_chunks::<8>().0;
            for (part, words) in words.iter().enumerate() {
                let halves = widen_halves(fused, words)?;
                columns_mut(values, pair[0]).as_chunks_mut::<8>().0[part] = halves[0];
                columns_mut(values, pair[1]).as_chunks_mut::<8>().0[part] = halves[1];
            }
        }
        Some(())
    }

    /// Of bfloat16, which are the high halves of binary32: strips in pairs as for [`Tiles::load_halves`].
    #[inline(always)]
    fn load_bfloats(&self, k: usize, file: &[AlignedRow], values: &mut [[f32; WIDTH]; MAX_DEPTH]) {
        for pair in self.factors[k].as_chunks::<2>().0 {
            let words = *half_row(&file[pair[0].row], pair[0].half);
            let low = columns_mut(values, pair[0]);
            for lane in 0..COLUMNS {
                low[lane] = f32::from_bits(words[lane] << 16);
            }
            let high = columns_mut(values, pair[1]);
            for lane in 0..COLUMNS {
                high[lane] = f32::from_bits(words[lane] & 0xffff_0000);
            }
        }
    }

    fn has_exact_products(&self, factors: &Factors) -> bool {
        (0..2).all(|k| {
            let values = factors.values[k][..self.depth].as_flattened();
            are_products_exact(self.elements[k], values.iter().map(|value| value.to_bits()))
        })
    }

    /// The exponents of the factors as their formats have them. `None` where a value is not finite, or so large or
    /// small that a product, or its share in a sum, may leave the normal binary32 numbers.
    #[inline(always)]
    fn note_exponents(&self, factors: &mut Factors, of_zero: i32) -> Option<()> {
        let Factors { values, exponents } = factors;
        for ((element, values), exponents) in self.elements.iter().zip(values).zip(exponents) {
            let smallest = match element {
                Element::F16 | Element::Bf8 => -14,
                Element::Bf16 => -126,
                Element::Fp8 => -6,
                _ => return None,
            };
            let mut extreme = 0;
            for (values, exponents) in values[..self.depth].iter().zip(&mut exponents[..self.depth])
            {
                for (value, exponent) in values.iter().zip(exponents) {
                    let bits = value.to_bits() & 0x7fff_ffff;
                    let field = (bits >> 23).cast_signed() - 127;
                    extreme |=
                        u32::from(field > 50) | u32::from(field < -50) & u32::from(bits != 0);
                    *exponent = if bits == 0 { of_zero } else { field.max(smallest) };
                }
            }
            (extreme == 0).then_some(())?;
        }
        Some(())
    }

    #[inline(always)]
    fn add_products(
        &self,
        factors: &Factors,
        strips: &[Strip; TOGETHER],
        sums: &mut [[f32; COLUMNS]; TOGETHER],
        step: impl Fn(f32, f32, f32) -> f32,
    ) {
        let mut local = *sums;
        let [a, b] = &factors.values;
        for (a, b) in a[..self.depth].iter().zip(&b[..self.depth]) {
            let b = columns(b, strips[0]);
            for (strip, sums) in strips.iter().zip(&mut local) {
                let a = a[strip.at % WIDTH];
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = step(a, *b, *sum);
                }
            }
        }
        *sums = local;
    }

    #[inline(always)]
    fn add_groups(
        &self,
        factors: &Factors,
        strips: &[Strip; TOGETHER],
        sums: &mut [[f32; COLUMNS]; TOGETHER],
    ) {
        if self.depth < GROUP {
            for (strip, sums) in strips.iter().zip(sums) {
                let group = self.short_group(factors, *strip, 0, 1);
                group.add_group(sums, self.columns, cut);
            }
            return;
        }
        // A strip's group waits for its last one: the host finds work in the other strips.
        for rows in factors.groups::<GROUP>(self.depth) {
            for (strip, sums) in strips.iter().zip(sums.iter_mut()) {
                rows.group::<1>(*strip, 0).add_group(sums, self.columns, cut);
            }
        }
    }

    /// As [`Tiles::add_groups`], of 8-bit factors.
    #[inline(always)]
    fn add_group_pairs(
        &self,
        factors: &Factors,
        strips: &[Strip; TOGETHER],
        sums: &mut [[f32; COLUMNS]; TOGETHER],
    ) {
        if self.depth < 2 * GROUP {
            for (strip, sums) in strips.iter().zip(sums) {
                let [even, odd] = [0, 1].map(|first| self.short_group(factors, *strip, first, 2));
                FusedGroup::add_two_groups(&even, &odd, sums, self.columns, cut);
            }
            return;
        }
        for rows in factors.groups::<{ 2 * GROUP }>(self.depth) {
            for (strip, sums) in strips.iter().zip(sums.iter_mut()) {
                let (even, odd) = (rows.group::<2>(*strip, 0), rows.group::<2>(*strip, 1));
                FusedGroup::add_two_groups(&even, &odd, sums, self.columns, cut);
            }
        }
    }

    /// Every `step`-th product from one on, of fewer than make a group: filled up with zeros whose exponents never count.
    #[inline(always)]
    fn short_group<'f>(
        &self,
        factors: &'f Factors,
        strip: Strip,
        first: usize,
        step: usize,
    ) -> FusedGroup<'f, COLUMNS> {
        let [a, b] = &factors.values;
        let [a_exponents, b_exponents] = &factors.exponents;
        let at = strip.at % WIDTH;
        let mut group = FusedGroup {
            a: [&0.0; GROUP],
            a_exponents: [&NO_EXPONENT; GROUP],
            b: [columns(&b[first], strip); GROUP],
            b_exponents: [columns(&b_exponents[first], strip); GROUP],
        };
        for (k, from) in (first..self.depth).step_by(step).take(GROUP).enumerate() {
            let from = from % MAX_DEPTH;
            (group.a[k], group.a_exponents[k]) = (&a[from][at], &a_exponents[from][at]);
            group.b[k] = columns(&b[from], strip);
            group.b_exponents[k] = columns(&b_exponents[from], strip);
        }
        group
    }

    /// `true` where a sum is wrong because it is too small.
    #[inline(always)]
    fn add_pairs(
        &self,
        factors: &Factors,
        strips: &[Strip; TOGETHER],
        sums: &mut [[f32; COLUMNS]; TOGETHER],
    ) -> bool {
        let [a, b] = &factors.values;
        let [a_exponents, b_exponents] = &factors.exponents;
        let mut is_any_wrong = false;
        for first in (0..self.depth).step_by(2) {
            let k = [first % MAX_DEPTH, (first + 1) % MAX_DEPTH];
            for (strip, sums) in strips.iter().zip(sums.iter_mut()) {
                let at = strip.at % WIDTH;
                let pair = ProductPair {
                    a: k.map(|k| a[k][at]),
                    a_exponents: k.map(|k| a_exponents[k][at]),
                    b: k.map(|k| columns(&b[k], *strip)),
                    b_exponents: k.map(|k| columns(&b_exponents[k], *strip)),
                };
                is_any_wrong |= pair.add_to(sums, self.columns, cut);
            }
        }
        is_any_wrong
    }

    /// Works out elements that are NaN again, with the payloads of their operands.
    #[cold]
    fn with_payloads(
        &self,
        factors: &Factors,
        strips: &[Strip; TOGETHER],
        c: &[[f32; COLUMNS]; TOGETHER],
        mut d: [[f32; COLUMNS]; TOGETHER],
    ) -> [[f32; COLUMNS]; TOGETHER] {
        let [a, b] = &factors.values;
        for (s, strip) in strips.iter().enumerate() {
            for (j, sum) in d[s].iter_mut().enumerate().filter(|(_, sum)| sum.is_nan()) {
                let bits = (0..self.depth).fold(c[s][j].to_bits(), |sum, k| {
                    let factor = a[k][strip.at].to_bits();
                    fma32(factor, columns(&b[k], *strip)[j].to_bits(), sum)
                });
                *sum = f32::from_bits(bits);
            }
        }
        d
    }
}

/// One multiplication, for either width.
struct Multiply<'m, const KIND: u8> {
    tiles: &'m Tiles,
    file: &'m mut [AlignedRow],
    factors: &'m mut Factors,
    rows: Rows,
}

impl<const KIND: u8> Loops for Multiply<'_, KIND> {
    type Output = Option<()>;

    #[inline(always)]
    fn run(self, fused: Fused) -> Option<()> {
        let Multiply { tiles, file, factors, rows } = self;
        tiles.multiply_lanes::<KIND>(fused, file, factors, rows)
    }
}

/// As [`widen`], without branches; NaN keeps its payload and is not made quiet, which [`fma32`] does.
#[inline(always)]
fn f16_to_f32(bits: u32) -> u32 {
    const TWO_TO_112: f32 = f32::from_bits((127 + 112) << 23);
    let shifted = (bits & 0x7fff) << 13;
    let number = (f32::from_bits(shifted) * TWO_TO_112).to_bits();
    let magnitude = if bits & 0x7c00 == 0x7c00 { shifted | 0x7f80_0000 } else { number };
    magnitude | (bits & 0x8000) << 16
}
