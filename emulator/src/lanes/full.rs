//! Loops over the rows of instructions that work on all lanes, the usual case: nothing is merged, and whoever calls
//! them looks after undefined bits. `simd` compiles them for wide vectors only.

use super::ZERO;
use super::loops::pairs_lanes;
use super::places::{
    ALL_SIGNED, Choice, FullLanes, LAST_SIGNED, Signs, arithmetic_row, put_canonical,
    put_everything,
};
use super::simd::{Fused, RowFunction, gather};
use crate::exec::Outcome;
use crate::prepare::Prepared;
use crate::wave::{ROW_LANES, ROWS, VectorFile};

/// Every row: the sources through `compute`, which says whether its results are to be written.
macro_rules! each_row {
    ($vectors:ident, $inst:ident, |$row:ident, $a:ident, $b:ident, $c:ident, $out:ident| $compute:block) => {
        let rows = $vectors.cells();
        let lanes = FullLanes::of(&rows, &$inst.places);
        each_row!(one: lanes, 0, |$row, $a, $b, $c, $out| $compute);
        if lanes.n_rows == ROWS {
            each_row!(one: lanes, 1, |$row, $a, $b, $c, $out| $compute);
        }
    };
    // Written out for each row, it has no addresses to work out.
    (one: $lanes:ident, $number:literal, |$row:ident, $a:ident, $b:ident, $c:ident, $out:ident| $compute:block) => {
        let $row = $number;
        let [$a, $b, $c] = $lanes.sources($row);
        let mut $out = ZERO;
        if $compute {
            $lanes.put($row, $out);
        }
    };
}

#[inline(always)]
pub(super) fn map_rows<F: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) -> Outcome {
    each_row!(vectors, inst, |row, a, b, c, out| {
        for (at, out) in out.iter_mut().enumerate() {
            *out = f(a[at], b[at], c[at]);
        }
        true
    });
    Ok(())
}

#[inline(always)]
pub(super) fn map_numbered_rows<F: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) -> Outcome {
    each_row!(vectors, inst, |row, a, b, _c, out| {
        let first = (row * ROW_LANES) as u32;
        for (at, out) in out.iter_mut().enumerate() {
            *out = f(first + at as u32, a[at], b[at]);
        }
        true
    });
    Ok(())
}

#[inline(always)]
pub(super) fn map_signed_rows<F: Fn(u32, u32, u32) -> u32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) -> Outcome {
    if !inst.has_signs {
        return map_rows(fused, vectors, inst, f);
    }
    let signs = Signs::of(inst);
    each_row!(vectors, inst, |row, a, b, c, out| {
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
            *out = f(a, b, c);
        }
        true
    });
    Ok(())
}

#[inline(always)]
pub(super) fn map_row_rows<F: RowFunction>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) -> Outcome {
    let signs = Signs::of(inst);
    each_row!(vectors, inst, |row, a, _b, _c, out| {
        out.copy_from_slice(&f.of_row(fused, &signs.apply_to_row(a)));
        true
    });
    Ok(())
}

#[inline(always)]
fn signed_arithmetic_rows<const SIGNED: u8, F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) {
    let (signs, mut left) = (Signs::of(inst), 0);
    each_row!(vectors, inst, |row, a, b, c, out| {
        let has_nans = arithmetic_row::<SIGNED>(fused, &signs, [&a, &b, &c], &mut out, &f);
        if has_nans {
            left |= 1 << row;
        }
        !has_nans
    });
    if left != 0 {
        put_canonical(vectors, inst, u64::MAX, left, &f);
    }
}

#[inline(always)]
pub(super) fn arithmetic_rows<F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) -> Outcome {
    match inst.places.signed {
        0 => signed_arithmetic_rows::<0, F>(fused, vectors, inst, f),
        // As compilers write fused multiply-subtracts.
        LAST_SIGNED => signed_arithmetic_rows::<LAST_SIGNED, F>(fused, vectors, inst, f),
        _ => signed_arithmetic_rows::<ALL_SIGNED, F>(fused, vectors, inst, f),
    }
    Ok(())
}

#[inline(always)]
pub(super) fn pairs_rows<F: Fn(Fused, f32, f32, f32) -> f32>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    words: [Choice; 2],
    f: F,
) -> Outcome {
    let all = vectors.all_lanes();
    pairs_lanes(fused, vectors, inst, all, words, f)
}

#[inline(always)]
fn signed_numbers_rows<
    const SIGNED: u8,
    F: Fn(u32, u32, u32) -> u32,
    G: Fn(u32, u32, u32) -> u32,
>(
    vectors: &mut VectorFile,
    inst: &Prepared,
    of_numbers: F,
    of_everything: G,
) {
    let (signs, mut left) = (Signs::of(inst), 0);
    each_row!(vectors, inst, |row, a, b, c, out| {
        let mut has_nans = false;
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply_to::<SIGNED>([a[at], b[at], c[at]]);
            *out = of_numbers(a, b, c);
            let is_nan = [a, b, c].map(|bits| f32::from_bits(bits).is_nan());
            has_nans |= is_nan[0] | is_nan[1] | is_nan[2];
        }
        if has_nans {
            left |= 1 << row;
        }
        !has_nans
    });
    if left != 0 {
        put_everything(vectors, inst, u64::MAX, left, &of_everything);
    }
}

#[inline(always)]
pub(super) fn numbers_rows<F: Fn(u32, u32, u32) -> u32, G: Fn(u32, u32, u32) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    of_numbers: F,
    of_everything: G,
) -> Outcome {
    if inst.has_signs {
        signed_numbers_rows::<ALL_SIGNED, F, G>(vectors, inst, of_numbers, of_everything);
    } else {
        signed_numbers_rows::<0, F, G>(vectors, inst, of_numbers, of_everything);
    }
    Ok(())
}

#[inline(always)]
pub(super) fn select_rows<F: Fn(u32, u32, bool) -> u32>(
    _: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    mask: u64,
    f: F,
) -> Outcome {
    if !inst.has_signs {
        each_row!(vectors, inst, |row, a, b, _c, out| {
            let bits = (mask >> (row * ROW_LANES)) as u32;
            for (at, out) in out.iter_mut().enumerate() {
                *out = f(a[at], b[at], bits & 1 << at != 0);
            }
            true
        });
        return Ok(());
    }
    let signs = Signs::of(inst);
    each_row!(vectors, inst, |row, a, b, c, out| {
        let bits = (mask >> (row * ROW_LANES)) as u32;
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, _] = signs.apply([a[at], b[at], c[at]]);
            *out = f(a, b, bits & 1 << at != 0);
        }
        true
    });
    Ok(())
}

/// One bit a lane. Nothing is written.
#[inline(always)]
pub(super) fn test_rows<F: Fn(u32, u32, u32) -> bool>(
    fused: Fused,
    vectors: &mut VectorFile,
    inst: &Prepared,
    f: F,
) -> u64 {
    let mut result = 0;
    if !inst.has_signs {
        each_row!(vectors, inst, |row, a, b, c, out| {
            for (at, out) in out.iter_mut().enumerate() {
                *out = if f(a[at], b[at], c[at]) { u32::MAX } else { 0 };
            }
            result |= u64::from(gather(fused, &out)) << (row * ROW_LANES);
            false
        });
        return result;
    }
    let signs = Signs::of(inst);
    each_row!(vectors, inst, |row, a, b, c, out| {
        for (at, out) in out.iter_mut().enumerate() {
            let [a, b, c] = signs.apply([a[at], b[at], c[at]]);
            *out = if f(a, b, c) { u32::MAX } else { 0 };
        }
        result |= u64::from(gather(fused, &out)) << (row * ROW_LANES);
        false
    });
    result
}
