//! The factors of a product in binary32, and the groups of them that the mode `cdna3-fdpa` adds.

use super::strips::{COLUMNS, MAX_DEPTH, Strip, WIDTH, columns};
use crate::numerics::FusedGroup;

/// A and B in binary32, k after k, and what the modes other than `fma-sequential` need beside them.
#[derive(Debug)]
pub(crate) struct Factors {
    pub values: [[[f32; WIDTH]; MAX_DEPTH]; 2],
    pub exponents: [[[i32; WIDTH]; MAX_DEPTH]; 2],
}

impl Factors {
    pub(crate) fn new() -> Box<Factors> {
        Box::new(Factors {
            values: [[[0.0; WIDTH]; MAX_DEPTH]; 2],
            exponents: [[[0; WIDTH]; MAX_DEPTH]; 2],
        })
    }

    /// All groups of `N` among the first `depth` k.
    #[inline(always)]
    pub(super) fn groups<const N: usize>(
        &self,
        depth: usize,
    ) -> impl Iterator<Item = GroupRows<'_, N>> {
        debug_assert_eq!(depth % N, 0, "groups of whole matrices");
        let values = [0, 1].map(|k| self.values[k][..depth].as_chunks::<N>().0);
        let exponents = [0, 1].map(|k| self.exponents[k][..depth].as_chunks::<N>().0);
        let of_a = values[0].iter().zip(exponents[0]);
        of_a.zip(values[1].iter().zip(exponents[1])).map(|((a, a_exponents), (b, b_exponents))| {
            GroupRows { a, a_exponents, b, b_exponents }
        })
    }
}

/// `N` consecutive k of the factors and their exponents: what groups are taken from lies at fixed distances.
pub(super) struct GroupRows<'f, const N: usize> {
    a: &'f [[f32; WIDTH]; N],
    a_exponents: &'f [[i32; WIDTH]; N],
    b: &'f [[f32; WIDTH]; N],
    b_exponents: &'f [[i32; WIDTH]; N],
}

impl<'f, const N: usize> GroupRows<'f, N> {
    /// Every `STEP`-th product from one on, of a strip.
    #[inline(always)]
    pub(super) fn group<const STEP: usize>(
        &self,
        strip: Strip,
        first: usize,
    ) -> FusedGroup<'f, COLUMNS> {
        let at = strip.at % WIDTH;
        FusedGroup {
            a: std::array::from_fn(|k| &self.a[first + STEP * k][at]),
            a_exponents: std::array::from_fn(|k| &self.a_exponents[first + STEP * k][at]),
            b: std::array::from_fn(|k| columns(&self.b[first + STEP * k], strip)),
            b_exponents: std::array::from_fn(|k| {
                columns(&self.b_exponents[first + STEP * k], strip)
            }),
        }
    }
}
