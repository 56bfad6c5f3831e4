//! Products of float matrices at the speed of the host's vectors.
//!
//! The factors are widened once, into rows of elements k after k. Sums stay where D has them: 16 lanes of a
//! register hold 16 columns of one row of D, in every layout of 16 or 32 rows. Four such strips are computed
//! together, so that their sums stay in the host's registers.
//!
//! Only what is ordinary runs here: factors of at most 32 bits without signs to apply, binary32 sums, nothing
//! undefined. Everything else takes the general way, and so do single elements that come out as NaN, whose
//! payloads it works out. Both ways give the same bits.

use isa::fragment::{Fragment, Index, Part, Place, Shape};
use isa::table::{Element, Matrix};

use super::arithmetic::{are_products_exact, widen};
use crate::float::fma32;
use crate::lanes::simd::{Fused, Loops, Width, cut, run};
use crate::numerics::{FusedGroup, GROUP};
use crate::wave::{AlignedRow, ROW_LANES};

/// Lanes, and columns of D, in a strip.
const COLUMNS: usize = 16;
/// Strips of D that are computed together.
const TOGETHER: usize = 4;
/// The largest k of a factor.
const MAX_DEPTH: usize = 32;
/// The most elements of A, or of B, with the same k: those of all blocks.
const WIDTH: usize = 64;

/// An exponent below those of all numbers.
const NO_EXPONENT: i32 = -1000;

/// Half a row of lanes of an operand.
#[derive(Clone, Copy, Debug)]
struct Strip {
    /// Its row among those of the operand's registers.
    row: usize,
    /// Which half of the row.
    half: usize,
    /// Where its elements start in their register.
    bit: u32,
    /// Of a factor: the k of its elements.
    k: usize,
    /// Of D: its row, counted over all blocks.
    at: usize,
    /// The first of its elements, or of its columns, counted over all blocks.
    column: usize,
}

/// The strips of an operation that has them in every operand.
#[derive(Debug)]
pub(super) struct Tiles {
    factors: [Vec<Strip>; 2],
    elements: [Element; 2],
    /// By column.
    d: Vec<Strip>,
    depth: usize,
    /// Columns of a strip, as a number that the compiler does not know.
    columns: usize,
}

/// A and B in binary32, k after k, and what the mode `cdna3-fdpa` needs beside them.
#[derive(Debug)]
pub(crate) struct Factors {
    values: [[[f32; WIDTH]; MAX_DEPTH]; 2],
    exponents: [[[i32; WIDTH]; MAX_DEPTH]; 2],
}

impl Factors {
    pub(crate) fn new() -> Box<Factors> {
        Box::new(Factors {
            values: [[[0.0; WIDTH]; MAX_DEPTH]; 2],
            exponents: [[[0; WIDTH]; MAX_DEPTH]; 2],
        })
    }
}

/// How sums are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// One fused multiply-add a product.
    Sequential,
    /// Groups of eight as CDNA3 adds them.
    Fused,
}

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
        factors.iter_mut().for_each(drop_first_copies);
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
        run(width, Multiply { tiles: self, file, factors, rows, sums })
    }

    #[inline(always)]
    fn multiply_lanes(
        &self,
        fused: Fused,
        file: &mut [AlignedRow],
        factors: &mut Factors,
        rows: Rows,
        sums: Sums,
    ) -> Option<()> {
        for k in 0..2 {
            self.load(k, &file[rows.factors[k]..], &mut factors.values[k]);
        }
        let is_exact = match sums {
            Sums::Sequential => fused == Fused::Software && self.has_exact_products(factors),
            Sums::Fused => {
                for k in 0..2 {
                    let Factors { values, exponents } = factors;
                    self.note_exponents(k, &values[k], &mut exponents[k])?;
                }
                true
            }
        };
        let (strips, _) = self.d.as_chunks::<TOGETHER>();
        for strips in strips {
            let mut d = load_addends(file, rows.c, strips);
            match (sums, is_exact) {
                (Sums::Fused, _) => self.add_groups(factors, strips, &mut d),
                (Sums::Sequential, true) => {
                    self.add_products(factors, strips, &mut d, |a, b, sum| a * b + sum);
                }
                (Sums::Sequential, false) => {
                    let step = |a, b, sum| fused.multiply_add(a, b, sum);
                    self.add_products(factors, strips, &mut d, step);
                }
            }
            let mut nans = 0;
            for sum in d.as_flattened() {
                nans |= u32::from(sum.is_nan());
            }
            if nans != 0 && sums == Sums::Sequential {
                // D is still as it was, and so is C.
                let c = load_addends(file, rows.c, strips);
                d = self.with_payloads(factors, strips, &c, d);
            }
            for (strip, sums) in strips.iter().zip(&d) {
                let mut bits = [0; COLUMNS];
                for lane in 0..COLUMNS {
                    bits[lane] = sums[lane].to_bits();
                }
                file[rows.d + strip.row].0.as_chunks_mut::<COLUMNS>().0[strip.half % 2] = bits;
            }
        }
        Some(())
    }

    /// Widens a factor.
    #[inline(always)]
    fn load(&self, k: usize, file: &[AlignedRow], values: &mut [[f32; WIDTH]; MAX_DEPTH]) {
        match self.elements[k] {
            Element::F16 => self.load_with(k, file, values, |bits| f16_to_f32(bits & 0xffff)),
            Element::Bf16 => self.load_with(k, file, values, |bits| bits << 16),
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
            let values = values[strip.k % MAX_DEPTH].as_chunks_mut::<COLUMNS>().0;
            let values = &mut values[strip.column / COLUMNS % (WIDTH / COLUMNS)];
            for lane in 0..COLUMNS {
                values[lane] = f32::from_bits(widen(words[lane] >> strip.bit));
            }
        }
    }

    fn has_exact_products(&self, factors: &Factors) -> bool {
        (0..2).all(|k| {
            let values = factors.values[k][..self.depth].as_flattened();
            are_products_exact(self.elements[k], values.iter().map(|value| value.to_bits()))
        })
    }

    /// The exponents of a factor as CDNA3 counts them. `None` where a value is not finite, or so large or small
    /// that a product, or its share in a sum, may leave the normal binary32 numbers.
    #[inline(always)]
    fn note_exponents(
        &self,
        k: usize,
        values: &[[f32; WIDTH]; MAX_DEPTH],
        exponents: &mut [[i32; WIDTH]; MAX_DEPTH],
    ) -> Option<()> {
        let smallest = match self.elements[k] {
            Element::F16 => -14,
            Element::Bf16 => -126,
            _ => return None,
        };
        let mut extreme = 0;
        for (values, exponents) in values[..self.depth].iter().zip(&mut exponents[..self.depth]) {
            for (value, exponent) in values.iter().zip(exponents) {
                let bits = value.to_bits() & 0x7fff_ffff;
                let field = (bits >> 23).cast_signed() - 127;
                extreme |= u32::from(field > 50) | u32::from(field < -50) & u32::from(bits != 0);
                *exponent = if bits == 0 { -126 } else { field.max(smallest) };
            }
        }
        (extreme == 0).then_some(())
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
        let [a, b] = &factors.values;
        let [a_exponents, b_exponents] = &factors.exponents;
        // A strip's group waits for its last one: the host finds work in the other strips.
        for first in (0..self.depth).step_by(GROUP) {
            let first = first % MAX_DEPTH;
            for (strip, sums) in strips.iter().zip(sums.iter_mut()) {
                let at = strip.at % WIDTH;
                // Groups of fewer products are filled up with zeros whose exponents never count.
                let mut group = FusedGroup {
                    a: [0.0; GROUP],
                    a_exponents: [NO_EXPONENT; GROUP],
                    b: [columns(&b[first], *strip); GROUP],
                    b_exponents: [columns(&b_exponents[first], *strip); GROUP],
                };
                for k in 0..GROUP.min(self.depth) {
                    let from = (first + k) % MAX_DEPTH;
                    group.a[k] = a[from][at];
                    group.a_exponents[k] = a_exponents[from][at];
                    group.b[k] = columns(&b[from], *strip);
                    group.b_exponents[k] = columns(&b_exponents[from], *strip);
                }
                group.add_to(sums, self.columns, cut);
            }
        }
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
struct Multiply<'m> {
    tiles: &'m Tiles,
    file: &'m mut [AlignedRow],
    factors: &'m mut Factors,
    rows: Rows,
    sums: Sums,
}

impl Loops for Multiply<'_> {
    type Output = Option<()>;

    #[inline(always)]
    fn run(self, fused: Fused) -> Option<()> {
        let Multiply { tiles, file, factors, rows, sums } = self;
        tiles.multiply_lanes(fused, file, factors, rows, sums)
    }
}

/// The elements in the columns of a strip.
#[inline(always)]
fn columns<T>(all: &[T; WIDTH], strip: Strip) -> &[T; COLUMNS] {
    &all.as_chunks::<COLUMNS>().0[strip.column / COLUMNS % (WIDTH / COLUMNS)]
}

/// The strips of an operand by slots and lanes; `None` where 16 lanes do not hold 16 neighbours.
fn strips(
    fragment: &Fragment,
    n_rows: u32,
    position: impl Fn(Index) -> u32,
    number: impl Fn(Index) -> u32,
) -> Option<Vec<Strip>> {
    let halves =
        (0..fragment.slots()).flat_map(|slot| (0..2 * n_rows).map(move |half| (slot, half)));
    let strip = |(slot, half): (u32, u32)| {
        let index = |lane: u32| fragment.index(Place { lane: half * COLUMNS as u32 + lane, slot });
        let first = position(index(0));
        let is_strip = (0..COLUMNS as u32).all(|lane| position(index(lane)) == first + lane);
        let (register, bit) = fragment.register(slot);
        is_strip.then(|| Strip {
            row: (register * n_rows + half * COLUMNS as u32 / ROW_LANES as u32) as usize,
            half: half as usize % 2,
            bit,
            k: number(index(0)) as usize,
            at: 0,
            column: first as usize,
        })
    };
    halves.map(strip).collect()
}

/// Of elements that lie twice in the wave, the later ones count, as in the general way.
fn drop_first_copies(strips: &mut Vec<Strip>) {
    let all = strips.clone();
    let mut number = 0;
    strips.retain(|strip| {
        number += 1;
        !all[number..].iter().any(|later| (later.k, later.column) == (strip.k, strip.column))
    });
}

#[inline(always)]
fn load_addends(
    file: &[AlignedRow],
    c: Result<usize, u32>,
    strips: &[Strip; TOGETHER],
) -> [[f32; COLUMNS]; TOGETHER] {
    let mut sums = [[0.0; COLUMNS]; TOGETHER];
    for (strip, sums) in strips.iter().zip(&mut sums) {
        let words = match c {
            Ok(first) => *half_row(&file[first + strip.row], strip.half),
            Err(constant) => [constant; COLUMNS],
        };
        for lane in 0..COLUMNS {
            sums[lane] = f32::from_bits(words[lane]);
        }
    }
    sums
}

#[inline(always)]
fn half_row(row: &AlignedRow, half: usize) -> &[u32; COLUMNS] {
    &row.0.as_chunks::<COLUMNS>().0[half % 2]
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
