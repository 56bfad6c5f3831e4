//! Matrix products of a wave, in fragments that know which element of the matrix a lane holds.
//!
//! Everything has the form `D = A · Bᵀ + C`: both factors are stored with the axis of summation last, so that a
//! lane's part of a factor is a run of neighbours in memory and wide accesses fetch it.

use std::fmt;

use isa::fragment::{Fragment, Part, Shape};
use isa::table::{Element, Matrix};

use crate::ir::{Op, Scalar, Type};
use crate::verify::operand_types;

use super::order::{ResultOrder, RunOrder};
use super::{Carried, Expr, KernelBuilder, View};

/// A matrix operation of the target: `D[m, n] = A[m, k] · B[n, k]ᵀ + C[m, n]` with C and D in f32 and m = n.
///
/// The lanes of a wave hold the operands together, so all of them must be active wherever it is used.
#[derive(Clone, Copy)]
pub struct Atom<'k> {
    k: &'k KernelBuilder,
    op: Matrix,
    /// The lane's row of A, row of B and column of D.
    pub(super) across: Expr<'k>,
    /// The lane's group, which takes the next run of k, or of rows of D.
    pub(super) group: Expr<'k>,
}

/// What a lane holds of A.
#[derive(Clone, Copy, Debug)]
pub struct Left<'k>(Expr<'k>);

/// What a lane holds of B.
#[derive(Clone, Copy, Debug)]
pub struct Right<'k>(Expr<'k>);

/// What a lane holds of C or D: f32.
#[derive(Clone, Copy)]
pub struct Accumulator<'k> {
    pub(super) atom: Atom<'k>,
    pub(super) value: Expr<'k>,
}

impl KernelBuilder {
    /// The target's operation on factors of `elem` (f16, bf16 or f32) with results of `m` × `m` and sums over `depth`.
    #[track_caller]
    pub fn matrix_atom(&self, elem: Scalar, m: u32, depth: u32) -> Atom<'_> {
        let op = element(elem)
            .and_then(|element| Matrix::dense(self.target(), element, m, depth))
            .filter(|op| operand_types(*op).is_some());
        let op = op.unwrap_or_else(|| {
            let got = format!("{m}x{m}x{depth} of {} on {}", elem.name(), self.target());
            self.mistake("a matrix operation", got, self.known_atoms());
            self.any_atom()
        });
        let across = Shape::of(op).map_or(1, |shape| shape.m);
        let lane = self.lane_id();
        let (across, group) = (lane & (across - 1), lane.shr_u(across.trailing_zeros()));
        Atom { k: self, op, across, group }
    }

    /// The operations that a mistaken author could have asked for.
    fn known_atoms(&self) -> String {
        let usable = |op: &Matrix| operand_types(*op).is_some();
        let names = Matrix::of_target(self.target()).filter(|(op, _)| usable(op));
        names.map(|(_, name)| name).collect::<Vec<_>>().join(" or ")
    }

    /// What stands in for a mistaken operation until all mistakes are reported.
    fn any_atom(&self) -> Matrix {
        match self.target() {
            isa::Target::Gfx950 => Matrix::VMfmaF3216x16x32Bf16,
            isa::Target::Gfx1100 => Matrix::VWmmaF3216x16x16Bf16,
        }
    }
}

fn element(scalar: Scalar) -> Option<Element> {
    match scalar {
        Scalar::F16 => Some(Element::F16),
        Scalar::Bf16 => Some(Element::Bf16),
        Scalar::F32 => Some(Element::F32),
        _ => None,
    }
}

impl<'k> Atom<'k> {
    pub(super) fn builder(self) -> &'k KernelBuilder {
        self.k
    }

    /// Rows and columns of the result.
    pub fn m(self) -> u32 {
        self.fragment(Part::D).rows()
    }

    /// Terms of each sum.
    pub fn depth(self) -> u32 {
        self.fragment(Part::A).columns()
    }

    /// A from the top left of a view `[m, depth]` of elements of the atom's type.
    #[track_caller]
    pub fn left(self, view: &View<'k>) -> Left<'k> {
        Left(self.factor(Part::A, view))
    }

    /// B from the top left of a view `[m, depth]`: stored transposed, with the axis of summation last.
    #[track_caller]
    pub fn right(self, view: &View<'k>) -> Right<'k> {
        Right(self.factor(Part::B, view))
    }

    /// C of zeros.
    #[track_caller]
    pub fn zeros(self) -> Accumulator<'k> {
        let value = self.k.constant(self.result_type(), 0);
        Accumulator { atom: self, value }
    }

    /// C from the top left of a view `[m, m]`.
    #[track_caller]
    pub fn load(self, view: &View<'k>) -> Accumulator<'k> {
        let elements = self.each(self.places(), |place| view.load(place.index()));
        Accumulator { atom: self, value: self.k.pack(&elements) }
    }

    /// C from what `f` gives for the row and the column of each element.
    #[track_caller]
    pub fn fill(self, f: impl Fn(Expr<'k>, Expr<'k>) -> Expr<'k>) -> Accumulator<'k> {
        let elements = self.each(self.places(), |place| f(place.row(), place.column));
        Accumulator { atom: self, value: self.k.pack(&elements) }
    }

    /// C from the top left of a view of its transpose.
    #[track_caller]
    pub fn load_transposed(self, view: &View<'k>) -> Accumulator<'k> {
        if let Some(distance) = self.copy() {
            return Accumulator { atom: self, value: self.load_half(distance, view) };
        }
        let mut elements = Vec::new();
        for run in self.runs() {
            elements.extend(view.load_run(run.transposed(), self.run()));
        }
        Accumulator { atom: self, value: self.k.pack(&elements) }
    }

    /// `A · Bᵀ + C`.
    #[track_caller]
    pub fn multiply_add(self, a: Left<'k>, b: Right<'k>, c: Accumulator<'k>) -> Accumulator<'k> {
        let (a, b, c) = (self.k.own(a.0), self.k.own(b.0), self.k.own(c.value));
        let value = self.k.emit(self.result_type(), Op::Matrix { op: self.op, a, b, c });
        Accumulator { atom: self, value }
    }

    /// The same for parts of factors that are not told apart: both lie alike in lanes.
    #[track_caller]
    pub(super) fn multiply_add_parts(
        self,
        a: Expr<'k>,
        b: Expr<'k>,
        c: Accumulator<'k>,
    ) -> Accumulator<'k> {
        self.multiply_add(Left(a), Right(b), c)
    }

    /// `part` of each of `count` windows that follow each other along the rows of a view, at a column.
    #[track_caller]
    pub(super) fn windows<F>(
        self,
        count: u32,
        column: u32,
        view: &View<'k>,
        part: impl Fn(Atom<'k>, &View<'k>) -> F,
    ) -> Vec<F> {
        let m = self.m();
        self.each(0..count, |row| part(self, &view.window([row * m, column])))
    }

    /// The same memory, its last axis in the order in which lanes hold rows of this operation's results: for factors beside
    /// a [`super::Held`] one. What is stored to it takes its place by itself.
    pub fn ordered(self, view: &View<'k>) -> View<'k> {
        view.clone().ordered(self.result_order())
    }

    /// `None` where lanes hold results in the order in which they take factors.
    pub(super) fn result_order(self) -> Option<ResultOrder> {
        if self.copy().is_some() {
            return Some(ResultOrder::Halves);
        }
        let runs = self.lane_elements() as u32 / self.run().max(1);
        let groups = self.fragment(Part::A).groups();
        (runs > 1).then_some(ResultOrder::Runs(RunOrder { groups, runs }))
    }

    /// Elements of a factor that a lane gives to one operation.
    pub(super) fn lane_elements(self) -> usize {
        self.fragment(Part::A).run() as usize
    }

    /// The lane's parts of a block of rows for `steps` operations along the sum. Beside a held factor of single
    /// elements, a lane takes runs of neighbours, one after the other.
    #[track_caller]
    pub(super) fn stored_parts(
        self,
        view: &View<'k>,
        block: u32,
        steps: u32,
        beside_held: bool,
    ) -> Vec<Expr<'k>> {
        let (m, depth, run) = (self.m(), self.depth(), self.run());
        if beside_held && self.lane_elements() == 1 {
            let rows = view.window([block * m, 0]);
            let starts = (0..steps / run).map(|turn| turn * run * depth);
            let runs = self.each(starts, |start| {
                let part = rows.window([0, start]);
                part.load_vector([self.across, self.group * run as i32], run as u8).elements()
            });
            return runs.concat();
        }
        let starts = (0..steps).map(|step| step * depth);
        self.each(starts, |start| self.factor(Part::A, &view.window([block * m, start])))
    }

    #[track_caller]
    pub(super) fn refuse_order(self) {
        let expected = format!("memory in the order of the results of {self:?}, or its own");
        self.k.mistake("a factor", "memory in another order than the other factor", expected);
    }

    /// What is the same for all columns of a result: a vector of one value a row, from a view of one axis.
    #[track_caller]
    pub fn load_rows(self, view: &View<'k>) -> Accumulator<'k> {
        let mut elements = Vec::new();
        for place in self.runs() {
            let row = [super::Index::from((place.first, place.offset))];
            elements.extend(view.load_run(row, self.run()));
        }
        Accumulator { atom: self, value: self.k.pack(&elements) }
    }

    /// What is the same for all rows of a result: the value of the lane's column, from a view of one axis.
    #[track_caller]
    pub fn load_column(self, view: &View<'k>) -> Expr<'k> {
        view.load(self.across)
    }

    #[track_caller]
    pub(super) fn refuse_tile(self, rows: u32, columns: u32) {
        let m = self.m();
        let expected = format!("multiples of {m}, the rows and columns of {self:?}");
        self.k.mistake("a wave's tile", format!("{rows}x{columns}"), expected);
    }

    #[track_caller]
    pub(super) fn refuse_depth(self, depth: u32) {
        let expected = format!("a multiple of {}, the depth of {self:?}", self.depth());
        self.k.mistake("a product", format!("{depth} terms a sum"), expected);
    }

    #[track_caller]
    fn factor(self, part: Part, view: &View<'k>) -> Expr<'k> {
        let fragment = self.fragment(part);
        if element(view.elem()) != Some(fragment.element()) {
            let got = format!("a view of {}", view.elem().name());
            self.k.mistake("a factor", got, format!("elements of {self:?}"));
        }
        let run = fragment.run();
        let start = if fragment.groups() == 1 { self.k.i32(0) } else { self.group * run };
        view.load_stored([self.across, start], run as u8)
    }

    /// Every operation that kernels may use has these fragments.
    pub(super) fn fragment(self, part: Part) -> Fragment {
        Fragment::of(self.op, part).expect("a dense operation, by construction")
    }

    fn result_type(self) -> Type {
        Type::Vector(Scalar::F32, self.fragment(Part::D).slots() as u8)
    }

    /// Consecutive rows of D that a lane holds.
    fn run(self) -> u32 {
        self.fragment(Part::D).run()
    }

    /// The first places of the runs of rows that the lane holds of D.
    #[track_caller]
    fn runs(self) -> Vec<Place<'k>> {
        let fragment = self.fragment(Part::D);
        let first = if self.run() == 1 { self.group } else { self.group * self.run() };
        let stride = fragment.run() * fragment.groups();
        let offsets = (0..fragment.slots() / fragment.run()).map(|run| run * stride);
        offsets.map(|offset| Place { first, offset, column: self.across }).collect()
    }

    /// The places of all elements that the lane holds of D.
    #[track_caller]
    fn places(self) -> Vec<Place<'k>> {
        let mut places = Vec::new();
        for run in self.runs() {
            places.extend((0..self.run()).map(|row| Place { offset: run.offset + row, ..run }));
        }
        places
    }

    #[track_caller]
    fn each<T, R>(self, items: impl IntoIterator<Item = T>, f: impl Fn(T) -> R) -> Vec<R> {
        let author = self.k.here();
        items.into_iter().map(|item| self.k.on_behalf(author, || f(item))).collect()
    }
}

impl fmt::Debug for Atom<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = self.op.row().form(self.k.target());
        f.write_str(form.map_or("an unknown operation", |form| form.mnemonic))
    }
}

/// An element of D that a lane holds.
#[derive(Clone, Copy)]
pub(super) struct Place<'k> {
    /// The row is this plus `offset`.
    pub(super) first: Expr<'k>,
    pub(super) offset: u32,
    pub(super) column: Expr<'k>,
}

impl<'k> Place<'k> {
    fn index(self) -> ((Expr<'k>, u32), Expr<'k>) {
        ((self.first, self.offset), self.column)
    }

    pub(super) fn transposed(self) -> (Expr<'k>, (Expr<'k>, u32)) {
        (self.column, (self.first, self.offset))
    }

    #[track_caller]
    fn row(self) -> Expr<'k> {
        if self.offset == 0 { self.first } else { self.first + self.offset }
    }
}

impl<'k> Accumulator<'k> {
    /// Each element from itself, its row and its column in the atom.
    #[track_caller]
    pub fn map(self, f: impl Fn(Expr<'k>, Expr<'k>, Expr<'k>) -> Expr<'k>) -> Accumulator<'k> {
        let elements = self.value.elements();
        let items = elements.into_iter().zip(self.atom.places());
        let mapped =
            self.atom.each(items, |(element, place)| f(element, place.row(), place.column));
        Accumulator { value: self.atom.k.pack(&mapped), ..self }
    }

    /// The same accumulator for another operation with results of the same shape.
    pub(super) fn by(self, atom: Atom<'k>) -> Accumulator<'k> {
        Accumulator { atom, ..self }
    }

    /// Calls `f` with each element, its row and its column in the atom.
    #[track_caller]
    pub fn for_each(self, f: impl Fn(Expr<'k>, Expr<'k>, Expr<'k>)) {
        let items = self.value.elements().into_iter().zip(self.atom.places());
        self.atom.each(items, |(element, place)| f(element, place.row(), place.column));
    }

    /// Each element from itself and that of `other` at the same place. `f` gets vectors, so that arithmetic on neighbours
    /// becomes packed instructions.
    #[track_caller]
    pub fn zip(
        self,
        other: Accumulator<'k>,
        f: impl Fn(Expr<'k>, Expr<'k>) -> Expr<'k>,
    ) -> Accumulator<'k> {
        let zipped = self.atom.each([(self.value, other.value)], |(mine, theirs)| f(mine, theirs));
        Accumulator { value: zipped[0], ..self }
    }

    /// The lane's elements as one vector.
    pub fn vector(self) -> Expr<'k> {
        self.value
    }

    /// The lane's elements in runs of neighbouring rows, each with the row of its first element (what the lane adds to a
    /// constant) and its column. Where rows go to the halves of a wave by turns (WMMA), the halves exchange theirs
    /// first, and each has one run of half the rows.
    #[track_caller]
    pub fn for_each_run(self, f: impl Fn(Expr<'k>, (Expr<'k>, u32), Expr<'k>)) {
        if let Some(distance) = self.atom.copy() {
            let items = [(self.neighbours(distance), self.atom.half())];
            self.atom.each(items, |(run, place)| {
                f(run, (place.first, place.offset), place.column);
            });
            return;
        }
        let run = self.atom.run() as u8;
        let items = (0..).step_by(usize::from(run)).zip(self.atom.runs());
        self.atom.each(items, |(first, place)| {
            f(self.value.part(first, run), (place.first, place.offset), place.column)
        });
    }

    /// Stores to the top left of a view `[m, m]`, rounded to its type.
    #[track_caller]
    pub fn store(self, view: &View<'k>) {
        let items = self.value.elements().into_iter().zip(self.atom.places());
        self.atom.each(items, |(element, place)| view.store(place.index(), element));
    }

    /// Stores its transpose to the top left of a view `[m, m]`, rounded to its type: neighbouring rows of the result
    /// lie in one lane and go out in one access.
    #[track_caller]
    pub fn store_transposed(self, view: &View<'k>) {
        if let Some(distance) = self.atom.copy() {
            let run = self.neighbours(distance).elements();
            return view.store_run(self.atom.half().transposed(), &run);
        }
        let elements = self.value.elements();
        let items = elements.chunks(self.atom.run() as usize).zip(self.atom.runs());
        self.atom.each(items, |(run, place)| view.store_run(place.transposed(), run));
    }
}

impl<'k> Carried<'k> for Accumulator<'k> {
    fn values(&self) -> Vec<Expr<'k>> {
        vec![self.value]
    }

    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> Accumulator<'k> {
        Accumulator { value: values.next().unwrap_or(self.value), ..*self }
    }
}
