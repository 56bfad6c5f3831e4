//! Tiles: two-dimensional parts of matrices, dealt out to the work-items of a workgroup or multiplied by a wave.

use super::{Accumulator, Atom, Carried, Expr, KernelBuilder, Mask, View};

/// The elements of a tile in vectors of neighbours along its rows: round after round, every work-item of the workgroup
/// takes one vector.
#[derive(Clone, Copy)]
pub struct TileVectors<'k> {
    k: &'k KernelBuilder,
    rows: u32,
    /// Vectors in a row.
    per_row: u32,
    lanes: u8,
    /// Dealt to the lanes of the wave that comes here, not to the workgroup.
    by_wave: bool,
}

impl KernelBuilder {
    /// The elements of a tile of `rows` × `columns` in vectors of `lanes`, which must divide the columns.
    #[track_caller]
    pub fn tile_vectors(&self, rows: u32, columns: u32, lanes: u8) -> TileVectors<'_> {
        let width = u32::from(lanes.max(1));
        if columns == 0 || !columns.is_multiple_of(width) {
            self.mistake("a tile", format!("{columns} columns"), format!("a multiple of {lanes}"));
        }
        TileVectors { k: self, rows, per_row: (columns / width).max(1), lanes, by_wave: false }
    }

    /// The same, dealt to the lanes of one wave: of each that comes here.
    #[track_caller]
    pub fn wave_vectors(&self, rows: u32, columns: u32, lanes: u8) -> TileVectors<'_> {
        TileVectors { by_wave: true, ..self.tile_vectors(rows, columns, lanes) }
    }

    /// Copies the top left of one view to another of the same element type, `rows` × `columns` elements, by all
    /// work-items in vectors of 16 bytes. Nothing waits for it: readers of other waves need a barrier.
    #[track_caller]
    pub fn copy_tile<'k>(&'k self, from: &View<'k>, to: &View<'k>, rows: u32, columns: u32) {
        let lanes = (16 / from.elem().size_bytes().max(1)) as u8;
        let (from, to) = (from.bits(), to.bits());
        self.tile_vectors(rows, columns, lanes).for_each(|row, column| {
            to.store([row, column], from.load_stored([row, column], lanes));
        });
    }
}

impl<'k> TileVectors<'k> {
    /// Calls `visit` with row and first column of each of the work-item's vectors, where it has one.
    #[track_caller]
    pub fn for_each(self, visit: impl Fn(Expr<'k>, Expr<'k>)) {
        self.rounds(|_, inside, row, column| inside.run(|| visit(row, column)));
    }

    /// The work-item's vectors of a view's top left, in the view's own type: one a round, zeros where it has none.
    #[track_caller]
    pub fn load(self, view: &View<'k>) -> Vec<Expr<'k>> {
        let mut vectors = Vec::new();
        self.rounds(|_, inside, row, column| {
            vectors.push(inside.or_zeros(|| view.load_stored([row, column], self.lanes)));
        });
        vectors
    }

    /// Stores what [`TileVectors::load`] gave to a view's top left.
    #[track_caller]
    pub fn store(self, view: &View<'k>, vectors: &[Expr<'k>]) {
        self.rounds(|round, inside, row, column| {
            inside.run(|| view.store([row, column], vectors[round]));
        });
    }

    /// Vectors of a work-item, those that it does not have included.
    pub fn count(self) -> usize {
        (self.rows * self.per_row).div_ceil(self.workers()) as usize
    }

    fn workers(self) -> u32 {
        let workers =
            if self.by_wave { self.k.target().wave_width() } else { self.k.workgroup_size() };
        workers.max(1)
    }

    /// Rounds in which every work-item takes a vector: the round, who takes part, row and column.
    #[track_caller]
    fn rounds(self, mut visit: impl FnMut(usize, Mask<'k>, Expr<'k>, Expr<'k>)) {
        let author = self.k.here();
        let (count, threads) = (self.rows * self.per_row, self.workers());
        for (round, start) in (0..count).step_by(threads as usize).enumerate() {
            self.k.on_behalf(author, || {
                let thread = if self.by_wave { self.k.lane_id() } else { self.k.thread_id() };
                let index = if start == 0 { thread } else { thread + start };
                let (row, vector) = (index.div_u(self.per_row), index.rem_u(self.per_row));
                let is_whole = count - start >= threads;
                let inside = if is_whole { Mask::All } else { Mask::Where(index.lt_u(count)) };
                visit(round, inside, row, vector * u32::from(self.lanes));
            });
        }
    }
}

/// A result of `rows` × `columns` atoms, held by one wave.
#[derive(Clone)]
pub struct WaveTile<'k> {
    atom: Atom<'k>,
    columns: u32,
    /// Row by row.
    parts: Vec<Accumulator<'k>>,
}

impl<'k> Atom<'k> {
    /// A tile of zeros, `rows` × `columns` elements, both multiples of the atom's.
    #[track_caller]
    pub fn zero_tile(self, rows: u32, columns: u32) -> WaveTile<'k> {
        let zeros = self.zeros();
        self.tile(rows, columns, |_, _| zeros)
    }

    /// A tile from what `part` gives for the row and column at which each atom starts.
    #[track_caller]
    pub fn tile(
        self,
        rows: u32,
        columns: u32,
        part: impl Fn(u32, u32) -> Accumulator<'k>,
    ) -> WaveTile<'k> {
        let m = self.m();
        if !rows.is_multiple_of(m) || !columns.is_multiple_of(m) {
            self.refuse_tile(rows, columns);
        }
        let starts =
            (0..rows / m).flat_map(|row| (0..columns / m).map(move |column| (row, column)));
        let parts = starts.map(|(row, column)| part(row * m, column * m)).collect();
        WaveTile { atom: self, columns: columns / m, parts }
    }
}

impl<'k> WaveTile<'k> {
    pub(super) fn atom(&self) -> Atom<'k> {
        self.atom
    }

    pub(super) fn builder(&self) -> &'k KernelBuilder {
        self.atom.builder()
    }

    /// Rows and columns of an operation.
    pub(super) fn m(&self) -> u32 {
        self.atom.m()
    }

    /// Operations along rows and columns.
    pub(super) fn blocks(&self) -> [u32; 2] {
        [self.parts.len() as u32 / self.columns.max(1), self.columns]
    }

    /// What a lane holds, block of columns by block of columns, in the order of rows.
    #[track_caller]
    pub(super) fn lane_elements(&self) -> Vec<Vec<Expr<'k>>> {
        let mut columns = Vec::with_capacity(self.columns as usize);
        for column in 0..self.columns as usize {
            let parts = self.parts.iter().skip(column).step_by(self.columns as usize);
            columns.push(parts.flat_map(|part| part.vector().elements()).collect());
        }
        columns
    }

    /// One operation for every block: parts of rows by parts of columns.
    #[track_caller]
    pub(super) fn multiply_add(&mut self, lefts: &[Expr<'k>], rights: &[Expr<'k>]) {
        for (index, part) in self.parts.iter_mut().enumerate() {
            let (row, column) = (index / self.columns as usize, index % self.columns as usize);
            *part = self.atom.multiply_add_parts(lefts[row], rights[column], *part);
        }
    }

    /// One operation for one block.
    #[track_caller]
    pub(super) fn multiply_add_block(
        &mut self,
        [row, column]: [u32; 2],
        left: Expr<'k>,
        right: Expr<'k>,
    ) {
        let atom = self.atom;
        if let Some(part) = self.parts.get_mut((row * self.columns + column) as usize) {
            *part = atom.multiply_add_parts(left, right, *part);
        }
    }

    /// Its rows.
    pub fn rows(&self) -> u32 {
        self.blocks()[0] * self.m()
    }

    /// The rows of one operation, from row `block` times those on.
    pub fn row_block(&self, block: u32) -> WaveTile<'k> {
        let columns = self.columns as usize;
        let parts = self.parts.iter().skip(block as usize * columns).take(columns);
        WaveTile { parts: parts.copied().collect(), ..self.clone() }
    }

    /// The tile whose rows are those of other tiles of as many columns, one below the other.
    pub fn stacked(blocks: Vec<WaveTile<'k>>) -> Option<WaveTile<'k>> {
        let first = blocks.first()?.clone();
        Some(WaveTile {
            parts: blocks.into_iter().flat_map(|block| block.parts).collect(),
            ..first
        })
    }

    /// Calls `f` with each run of neighbouring rows, the row of its first element and its column in the tile, both as what
    /// the lane adds to a constant.
    #[track_caller]
    pub fn for_each_run(&self, f: impl Fn(Expr<'k>, (Expr<'k>, u32), (Expr<'k>, u32))) {
        for (row, column, part) in self.parts() {
            part.for_each_run(|run, (lane, first), c| f(run, (lane, first + row), (c, column)));
        }
    }

    /// Each vector of a lane's elements from itself: `f` treats all elements alike.
    #[track_caller]
    pub fn map_vectors(&self, f: impl Fn(Expr<'k>) -> Expr<'k>) -> WaveTile<'k> {
        self.zip(self, |mine, _| f(mine))
    }

    /// Calls `f` with each vector of a lane's elements.
    #[track_caller]
    pub fn for_each_vector(&self, f: impl Fn(Expr<'k>)) {
        self.parts.iter().for_each(|part| f(part.vector()));
    }

    /// Adds `A · Bᵀ`, with `depth` terms a sum: `a` is `[rows, depth]`, `b` is `[columns, depth]`, both with their
    /// origin at the tile's. Sums run over the atoms along `depth` in ascending order.
    #[track_caller]
    pub fn add_product(self, a: &View<'k>, b: &View<'k>, depth: u32) -> WaveTile<'k> {
        let atom = self.atom;
        if !depth.is_multiple_of(atom.depth()) {
            atom.refuse_depth(depth);
        }
        let mut sum = self;
        for start in (0..depth).step_by(atom.depth() as usize) {
            let rows = sum.parts.len() as u32 / sum.columns.max(1);
            let lefts = atom.windows(rows, start, a, Atom::left);
            let rights = atom.windows(sum.columns, start, b, Atom::right);
            for (index, part) in sum.parts.iter_mut().enumerate() {
                let (row, column) = (index / sum.columns as usize, index % sum.columns as usize);
                *part = atom.multiply_add(lefts[row], rights[column], *part);
            }
        }
        sum
    }

    /// The same tile for products of another operation with results of the same shape: their fragments lie alike.
    #[track_caller]
    pub fn by(self, atom: Atom<'k>) -> WaveTile<'k> {
        if atom.m() != self.atom.m() {
            atom.refuse_tile(self.atom.m(), self.atom.m());
        }
        let parts = self.parts.iter().map(|part| part.by(atom)).collect();
        WaveTile { atom, parts, ..self }
    }

    /// Each element from itself and that of `other` at the same place.
    #[track_caller]
    pub fn zip(
        &self,
        other: &WaveTile<'k>,
        f: impl Fn(Expr<'k>, Expr<'k>) -> Expr<'k>,
    ) -> WaveTile<'k> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for (mine, theirs) in self.parts.iter().zip(&other.parts) {
            parts.push(mine.zip(*theirs, &f));
        }
        WaveTile { parts, ..self.clone() }
    }

    /// The atoms with the row and column of the tile at which each starts.
    pub fn parts(&self) -> impl Iterator<Item = (u32, u32, Accumulator<'k>)> {
        let (m, columns) = (self.atom.m(), self.columns);
        let start = move |index: u32| (index / columns * m, index % columns * m);
        self.parts.iter().zip(0..).map(move |(part, index)| {
            let (row, column) = start(index);
            (row, column, *part)
        })
    }

    /// Each element from itself, its row and its column in the tile.
    #[track_caller]
    pub fn map(&self, f: impl Fn(Expr<'k>, Expr<'k>, Expr<'k>) -> Expr<'k>) -> WaveTile<'k> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for (row, column, part) in self.parts() {
            parts.push(part.map(|value, r, c| f(value, moved(r, row), moved(c, column))));
        }
        WaveTile { parts, ..self.clone() }
    }

    /// Calls `f` with each element, its row and its column in the tile.
    #[track_caller]
    pub fn for_each(&self, f: impl Fn(Expr<'k>, Expr<'k>, Expr<'k>)) {
        for (row, column, part) in self.parts() {
            part.for_each(|value, r, c| f(value, moved(r, row), moved(c, column)));
        }
    }

    /// Stores the tile to the top left of a view, rounded to its type.
    #[track_caller]
    pub fn store(&self, view: &View<'k>) {
        for (row, column, part) in self.parts() {
            part.store(&view.window([row, column]));
        }
    }

    /// Stores the tile's transpose to the top left of a view, rounded to its type.
    #[track_caller]
    pub fn store_transposed(&self, view: &View<'k>) {
        for (row, column, part) in self.parts() {
            part.store_transposed(&view.window([column, row]));
        }
    }
}

impl<'k> Carried<'k> for WaveTile<'k> {
    fn values(&self) -> Vec<Expr<'k>> {
        self.parts.values()
    }

    fn with_values(&self, values: &mut dyn Iterator<Item = Expr<'k>>) -> WaveTile<'k> {
        WaveTile { parts: self.parts.with_values(values), ..self.clone() }
    }
}

#[track_caller]
fn moved(index: Expr<'_>, start: u32) -> Expr<'_> {
    if start == 0 { index } else { index + start }
}
