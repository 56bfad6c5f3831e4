//! A row's elements, dealt out to the work-items of a workgroup.

use super::{Carried, Expr, KernelBuilder, Mask, View};

/// Longest row: a round beyond it still fits the signed index of a loop.
const MAX_LENGTH: u32 = 1 << 30;

/// A row in vectors of neighbouring elements: round after round, every work-item takes one vector.
///
/// Vectors are as wide as 16 bytes and the row's length allow, so none straddles the row's end; in the last round
/// work-items beyond the end read zeros and write nothing.
#[derive(Clone, Copy)]
pub struct RowElements<'k> {
    k: &'k KernelBuilder,
    length: u32,
    lanes: u8,
}

/// One work-item's vector of a row in one round.
#[derive(Clone, Copy)]
pub struct RowVector<'k> {
    k: &'k KernelBuilder,
    index: Expr<'k>,
    inside: Mask<'k>,
    lanes: u8,
}

impl KernelBuilder {
    /// The elements of rows like `row`: of one axis, whose length is known.
    #[track_caller]
    pub fn row_elements<'k>(&'k self, row: &View<'k>) -> RowElements<'k> {
        let [Some(length)] = *row.dims() else {
            let got = format!("a view with axes {:?}", row.dims());
            self.mistake("a row", got, "one axis of known length");
            return RowElements { k: self, length: 1, lanes: 1 };
        };
        if length > MAX_LENGTH {
            let expected = format!("at most {MAX_LENGTH}, which the index of a loop can count");
            self.mistake("a row", format!("{length} elements"), expected);
        }
        let fits =
            |lanes: &u32| length.is_multiple_of(*lanes) && lanes * row.elem().size_bytes() <= 16;
        let lanes = [8, 4, 2].into_iter().find(fits).unwrap_or(1) as u8;
        RowElements { k: self, length: length.min(MAX_LENGTH), lanes }
    }
}

impl<'k> RowElements<'k> {
    /// Goes over the row: `visit` gets each vector and the values so far, and gives the next ones.
    #[track_caller]
    pub fn fold<C: Carried<'k>>(self, init: C, visit: impl FnOnce(RowVector<'k>, C) -> C) -> C {
        let author = self.k.here();
        let round = self.round();
        let mine = self.k.thread_id() * u32::from(self.lanes);
        if self.length <= round {
            return visit(self.vector(mine), init);
        }
        let rounds_end = self.length.next_multiple_of(round);
        self.k.for_range(0, rounds_end, round, init, |start, carried| {
            let vector = self.k.on_behalf(author, || self.vector(start + mine));
            visit(vector, carried)
        })
    }

    /// Goes over the row for its effects.
    #[track_caller]
    pub fn for_each(self, visit: impl FnOnce(RowVector<'k>)) {
        self.fold((), |vector, ()| visit(vector));
    }

    /// Elements that the workgroup takes in one round, kept in range for any workgroup that the verifier will refuse.
    fn round(self) -> u32 {
        self.k.workgroup_size().clamp(1, MAX_LENGTH / 8) * u32::from(self.lanes)
    }

    #[track_caller]
    fn vector(self, index: Expr<'k>) -> RowVector<'k> {
        let inside = Mask::below(index, self.length, self.round());
        RowVector { k: self.k, index, inside, lanes: self.lanes }
    }
}

impl<'k> RowVector<'k> {
    /// The row's elements as f32 (a vector, or a scalar where vectors have one element), zeros beyond its end.
    #[track_caller]
    pub fn load(self, row: &View<'k>) -> Expr<'k> {
        self.inside.keep(row.load_vector(self.inside.keep(self.index), self.lanes))
    }

    /// Stores elements into a row.
    #[track_caller]
    pub fn store(self, row: &View<'k>, value: Expr<'k>) {
        let author = self.k.here();
        self.inside.run(|| self.k.on_behalf(author, || row.store(self.index, value)));
    }
}
