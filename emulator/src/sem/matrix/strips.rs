//! Strips: 16 lanes of a register that hold 16 neighbours of one row of a matrix.

use isa::fragment::{Fragment, Index, Place};

use crate::wave::{AlignedRow, ROW_LANES, ROWS};

/// Lanes, and columns of D, in a strip.
pub(super) const COLUMNS: usize = 16;
/// Strips of D that are computed together.
pub(super) const TOGETHER: usize = 4;
/// The largest k of a factor.
pub(super) const MAX_DEPTH: usize = 32;
/// The most elements of A, or of B, with the same k: those of all blocks.
pub(super) const WIDTH: usize = 64;

/// Half a row of lanes of an operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    /// Its row among those of the operand's registers.
    pub row: usize,
    /// Which half of the row.
    pub half: usize,
    /// Where its elements start in their register.
    pub bit: u32,
    /// Of a factor: the k of its elements.
    pub k: usize,
    /// Of D: its row, counted over all blocks.
    pub at: usize,
    /// The first of its elements, or of its columns, counted over all blocks.
    pub column: usize,
}

/// The elements in the columns of a strip.
#[inline(always)]
pub(super) fn columns<T>(all: &[T; WIDTH], strip: Strip) -> &[T; COLUMNS] {
    &all.as_chunks::<COLUMNS>().0[strip.column / COLUMNS % (WIDTH / COLUMNS)]
}

/// The elements of a factor in a strip.
#[inline(always)]
pub(super) fn columns_mut(
    values: &mut [[f32; WIDTH]; MAX_DEPTH],
    strip: Strip,
) -> &mut [f32; COLUMNS] {
    let values = values[strip.k % MAX_DEPTH].as_chunks_mut::<COLUMNS>().0;
    &mut values[strip.column / COLUMNS % (WIDTH / COLUMNS)]
}

/// The strips of an operand by slots and lanes; `None` where 16 lanes do not hold 16 neighbours.
pub(super) fn strips(
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
            row: register as usize * ROWS + half as usize * COLUMNS / ROW_LANES,
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
pub(super) fn drop_first_copies(strips: &mut Vec<Strip>) {
    let all = strips.clone();
    let mut number = 0;
    strips.retain(|strip| {
        number += 1;
        !all[number..].iter().any(|later| (later.k, later.column) == (strip.k, strip.column))
    });
}

#[inline(always)]
pub(super) fn load_addends(
    file: &[AlignedRow],
    c: Result<usize, u32>,
    strips: &[Strip; TOGETHER],
) -> [[f32; COLUMNS]; TOGETHER] {
    let constant = [c.err().unwrap_or_default(); COLUMNS];
    let mut sums = [[0.0; COLUMNS]; TOGETHER];
    for (strip, sums) in strips.iter().zip(&mut sums) {
        // Where the words lie is chosen, and not the words: those of both cases would meet lane by lane.
        let words = match c {
            Ok(first) => half_row(&file[first + strip.row], strip.half),
            Err(_) => &constant,
        };
        for lane in 0..COLUMNS {
            sums[lane] = f32::from_bits(words[lane]);
        }
    }
    sums
}

#[inline(always)]
pub(super) fn store_results(
    file: &mut [AlignedRow],
    first: usize,
    strips: &[Strip; TOGETHER],
    d: &[[f32; COLUMNS]; TOGETHER],
) {
    for (strip, sums) in strips.iter().zip(d) {
        let mut bits = [0; COLUMNS];
        for lane in 0..COLUMNS {
            bits[lane] = sums[lane].to_bits();
        }
        file[first + strip.row].0.as_chunks_mut::<COLUMNS>().0[strip.half % 2] = bits;
    }
}

#[inline(always)]
pub(super) fn half_row(row: &AlignedRow, half: usize) -> &[u32; COLUMNS] {
    &row.0.as_chunks::<COLUMNS>().0[half % 2]
}
