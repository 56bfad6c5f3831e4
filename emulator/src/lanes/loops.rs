//! Loops over rows of lanes, which `simd` compiles for both widths.

use super::ZERO;
use super::places::{
    ALL_SIGNED, Choice, Lanes, Signs, arithmetic_row, put_canonical, put_canonical_pair,
    put_everything,
};
use super::simd::{Fused, RowFunction};
use crate::exec::Outcome;
use crate::prepare::Prepared;
use crate::wave::{ROW_LANES, VectorFile};

/// Every row: all lanes of the sources through `compute`, then the active ones written, as defined.
macro_rules! each_row {
    ($vectors:ident, $inst:ident, $active:ident, |$row:ident, $a:ident, $b:ident, $c:ident, $out:ident| $compute:block) => {
        let places = &$inst.places;
        let rows = $vectors.cells();
        let lanes = Lanes::of(&rows, places, $active);
        for $row in 0..lanes.n_rows {
            let [$a, $b, $c] = lanes.sources($row);
            let mut $out = ZERO;
            $compute
            lanes.put($row, &$out);
        }
        $vectors.define(places.result, $active);
    };
}

#[inline(always)]
pub(super) fn map_lanes<F: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) -> Outcome {
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        for (at, out) in out.iter_mut().enumerate() {
            *out = f(a[at], b[at], c[at]);
        }
    });
    Ok(())
}

#[inline(always)]
pub(super) fn map_numbered_lanes<F: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) -> Outcome {
    each_row!(vectors, inst, active, |row, a, b, _c, out| {
        let first = (row * ROW_LANES) as u32;
        for (at, out) in out.iter_mut().enumerate() {
            *out = f(first + at as u32, a[at], b[at]);
        }
    });
    Ok(())
}

#[inline(always)]
pub(super) fn map_signed_lanes<F: Fn(u32, u32, u32) -> u32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) -> Outcome {
    if !inst.has_signs {
        return map_lanes(fused, vectors, inst, active, f);
    }
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
            *out = f(a, b, c);
        }
    });
    Ok(())
}

#[inline(always)]
pub(super) fn map_row_lanes<F: RowFunction>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) -> Outcome {
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |row, a, _b, _c, out| {
        out.copy_from_slice(&f.of_row(fused, &signs.apply_to_row(a)));
    });
    Ok(())
}

#[inline(always)]
fn arithmetic_rows<const SIGNED: u8, F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) -> Outcome {
    let (signs, mut left) = (Signs::of(inst), 0);
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        if arithmetic_row::<SIGNED>(fused, &signs, [&a, &b, &c], &mut out, &f) {
            left |= 1 << row;
            continue;
        }
    });
    if left != 0 {
        put_canonical(vectors, inst, active, left, &f);
    }
    Ok(())
}

#[inline(always)]
pub(super) fn arithmetic_lanes<F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    f: F,
) -> Outcome {
    if inst.has_signs {
        arithmetic_rows::<ALL_SIGNED, F>(fused, vectors, inst, active, f)
    } else {
        arithmetic_rows::<0, F>(fused, vectors, inst, active, f)
    }
}

#[inline(always)]
fn pairs<const SIGNED: u8, F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    words: [Choice; 2],
    f: F,
) -> Outcome {
    let places = &inst.places;
    let [low_signs, high_signs] = words.map(Choice::signs);
    let mut left = 0;
    let rows = vectors.cells();
    let low = Lanes::of_words(&rows, places, active, 0, words[0].high);
    let high = Lanes::of_words(&rows, places, active, 1, words[1].high);
    for row in 0..low.n_rows {
        let (mut low_out, mut high_out) = (ZERO, ZERO);
        let [a, b, c] = low.sources(row);
        let mut has_nans =
            arithmetic_row::<SIGNED>(fused, &low_signs, [&a, &b, &c], &mut low_out, &f);
        let [a, b, c] = high.sources(row);
        has_nans |= arithmetic_row::<SIGNED>(fused, &high_signs, [&a, &b, &c], &mut high_out, &f);
        if has_nans {
            left |= 1 << row;
            continue;
        }
        low.put(row, &low_out);
        high.put(row, &high_out);
    }
    vectors.define(places.result, active);
    vectors.define(places.result + 1, active);
    if left != 0 {
        put_canonical_pair(vectors, inst, active, left, words, &f);
    }
    Ok(())
}

#[inline(always)]
pub(super) fn pairs_lanes<F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    words: [Choice; 2],
    f: F,
) -> Outcome {
    if words[0].neg | words[1].neg == 0 {
        pairs::<0, F>(fused, vectors, inst, active, words, f)
    } else {
        pairs::<ALL_SIGNED, F>(fused, vectors, inst, active, words, f)
    }
}

#[inline(always)]
pub(super) fn numbers_lanes<F: Fn(u32, u32, u32) -> u32, G: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    of_numbers: F,
    of_everything: G,
) -> Outcome {
    let (signs, mut left) = (Signs::of(inst), 0);
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        let mut has_nans = false;
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
            *out = of_numbers(a, b, c);
            let is_nan = [a, b, c].map(|bits| f32::from_bits(bits).is_nan());
            has_nans |= is_nan[0] | is_nan[1] | is_nan[2];
        }
        if has_nans {
            left |= 1 << row;
            continue;
        }
    });
    if left != 0 {
        put_everything(vectors, inst, active, left, &of_everything);
    }
    Ok(())
}

#[inline(always)]
pub(super) fn select_lanes<F: Fn(u32, u32, bool) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    active: u64,
    mask: u64,
    f: F,
) -> Outcome {
    if !inst.has_signs {
        each_row!(vectors, inst, active, |row, a, b, _c, out| {
            let bits = (mask >> (row * ROW_LANES)) as u32;
            for (at, out) in out.iter_mut().enumerate() {
                *out = f(a[at], b[at], bits & 1 << at != 0);
            }
        });
        return Ok(());
    }
    let signs = Signs::of(inst);
    each_row!(vectors, inst, active, |row, a, b, c, out| {
        let bits = (mask >> (row * ROW_LANES)) as u32;
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, _] = signs.apply([a[at], b[at], c[at]]);
            *out = f(a, b, bits & 1 << at != 0);
        }
    });
    Ok(())
}
