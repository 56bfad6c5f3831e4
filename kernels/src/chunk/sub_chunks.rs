//! Products of keys under gates of a channel of any range, by sub-chunks of 16 rows.
//!
//! Against the rows before it, a sub-chunk is a product of factors around its own first row, so that no exponent is
//! above zero; inside it, every pair of rows gets its own decays.

use dsl::Expr;

use super::operand::add_products;
use super::products::Run;
use super::tile::Tile;

/// Rows of a sub-chunk.
const ROWS: u32 = 16;
/// Channels that a step of a dot product takes.
const STEP: u32 = 8;

/// Whether all of T' that is made behind the last barrier of [`Tile::sub_chunk_products`] is made by the first wave: of two
/// sub-chunks, where there is one block of it, and the pairs of rows lie before that barrier.
pub(crate) fn first_wave_ends_keys(chunk: u32) -> bool {
    chunk == 2 * ROWS
}

impl<'k> Tile<'k, '_> {
    /// What [`Tile::products`] does, for gates that have no anchor.
    pub(crate) fn sub_chunk_products(&self) {
        let blocks = self.spec.common.chunk / ROWS;
        (0..blocks).for_each(|block| self.pairs(block));
        self.zeros_above(blocks);
        for block in 1..blocks {
            self.factors(block);
            self.k.barrier();
            self.before(block);
            if block + 1 < blocks {
                self.k.barrier();
            }
        }
    }

    /// Pairs of rows of one sub-chunk, one after the other for a work-item.
    fn pairs(&self, block: u32) {
        let k = self.k;
        let first = block * ROWS;
        k.tile_vectors(ROWS, ROWS, 1).for_each(|i, j| {
            let (row, column) = (i + first, j.min_u(i) + first);
            let (keys, queries) = self.dot_products(row, column);
            let steps = self.lds.view("beta").load((0, row));
            let zero = k.f32(0.0);
            let strict = j.lt_u(i).select(keys * steps, zero);
            self.lds.view("m").store([row, j + first], strict);
            self.to.aqk.store(row, j + first, j.le_u(i).select(queries, zero));
        });
    }

    /// `Σ_d k_i k_j 2^(G_i − G_j)` and the same with q_i.
    fn dot_products(&self, row: Expr<'k>, column: Expr<'k>) -> (Expr<'k>, Expr<'k>) {
        let k = self.k;
        let [keys, queries, sums] = ["k", "q", "g"].map(|name| self.lds.view(name));
        let zero = k.f32(0.0);
        let channels = self.spec.common.head_k;
        let [keys, queries] = k.for_range(0, channels, STEP, [zero, zero], |start, [a, b]| {
            let vector = |view: &dsl::View<'k>, row| view.load_vector([row, start], STEP as u8);
            let decay = (vector(&sums, row) - vector(&sums, column)).exp2();
            let later = self.divided("k", vector(&keys, row), row) * decay;
            let asking = self.divided("q", vector(&queries, row), row) * decay;
            let earlier = self.divided("k", vector(&keys, column), column).elements();
            let add = |sum: Expr<'k>, x: Expr<'k>| {
                let pairs = x.elements().into_iter().zip(&earlier);
                pairs.fold(sum, |sum, (x, y)| x.fma(*y, sum))
            };
            [add(a, later), add(b, asking)]
        });
        (keys, queries)
    }

    /// A part of a row of keys (`"k"`) or queries (`"q"`) by the row's length, where the spec asks for it.
    fn divided(&self, of: &str, given: Expr<'k>, row: Expr<'k>) -> Expr<'k> {
        match self.lds.find(&format!("{of}_norm")) {
            Some(lengths) => given * lengths.load((0, row)),
            None => given,
        }
    }

    /// Factors of a sub-chunk and of all rows before it, around the sub-chunk's first row.
    fn factors(&self, block: u32) {
        let (k, channels, first) = (self.k, self.spec.common.head_k, block * ROWS);
        let [keys, queries, sums] = ["k", "q", "g"].map(|name| self.lds.view(name));
        let [x, y, xq] = ["x", "y", "xq"].map(|name| self.lds.operand(name));
        let lanes = STEP as u8;
        k.tile_vectors(ROWS, channels, lanes).for_each(|inside, column| {
            let row = inside + first;
            let anchor = sums.load_vector((first, column), lanes);
            let decay = (sums.load_vector([row, column], lanes) - anchor).exp2();
            let key = self.divided("k", keys.load_vector([row, column], lanes), row);
            let query = self.divided("q", queries.load_vector([row, column], lanes), row);
            x.store(inside, column, key * decay);
            xq.store(inside, column, query * decay);
        });
        k.tile_vectors(first, channels, lanes).for_each(|row, column| {
            let anchor = sums.load_vector((first, column), lanes);
            let decay = (anchor - sums.load_vector([row, column], lanes)).exp2();
            let key = self.divided("k", keys.load_vector([row, column], lanes), row);
            y.store(row, column, key * decay);
        });
    }

    /// The rows of a sub-chunk against all rows before it: a block of columns and keys or queries a wave.
    fn before(&self, block: u32) {
        let (k, common) = (self.k, &self.spec.common);
        let [x, y, xq] = ["x", "y", "xq"].map(|name| self.lds.operand(name));
        let depth = specs::chunk::atom_k(common.target, ROWS);
        let atom = k.matrix_atom(y.high.elem(), ROWS, depth);
        let tasks: Vec<_> =
            (0..block).flat_map(|column| [(column, true), (column, false)]).collect();
        for wave in 0..common.waves {
            let mine = tasks.iter().skip(wave as usize).step_by(common.waves as usize);
            k.if_(k.wave_id().eq(wave as i32), || {
                for (column, of_keys) in mine.clone() {
                    let earlier = y.each(|view| view.window([column * ROWS, 0]));
                    let later = if *of_keys { &x } else { &xq };
                    let zeros = atom.zero_tile(ROWS, ROWS);
                    let product = add_products(zeros, &earlier, later, common.head_k);
                    product.for_each_run(|value, c, r| {
                        let run = Run {
                            row: (r.0, r.1 + block * ROWS),
                            column: (c.0, c.1 + column * ROWS),
                        };
                        if *of_keys {
                            self.put_keys(run, value, false);
                        } else {
                            self.put_queries(run, value, false);
                        }
                    });
                }
            });
        }
    }

    /// Zeros of Aqk above the diagonal's blocks.
    fn zeros_above(&self, blocks: u32) {
        let k = self.k;
        for block in 0..blocks.saturating_sub(1) {
            let (first, end) = (block * ROWS, (block + 1) * ROWS);
            k.tile_vectors(ROWS, blocks * ROWS - end, 8).for_each(|row, column| {
                self.to.aqk.store(row + first, column + end, k.f32(0.0).splat(8));
            });
        }
    }
}
