//! Products of keys with keys and of queries with keys: T' for the solve, Aqk for the stage.
//!
//! They are taken transposed, so that a lane ends up with neighbours of a row.

use dsl::builder::Index;
use dsl::{Expr, WaveTile};
use specs::chunk::DecayForm;

use super::operand::add_products;
use super::tile::Tile;

/// What a wave makes of a block of rows and columns.
#[derive(Clone, Copy)]
enum Task {
    /// β·Akk below the diagonal.
    Keys,
    /// Aqk up to the diagonal.
    Queries,
    /// Aqk above the diagonal.
    Zeros,
}

/// A run of neighbours of a row: the row, the first column, and the difference of what the lane adds to both.
#[derive(Clone, Copy)]
pub(crate) struct Run<'k> {
    pub row: (Expr<'k>, u32),
    pub column: (Expr<'k>, u32),
}

impl<'k> Tile<'k, '_> {
    /// The strict lower triangle of β·Akk to LDS and the lower triangle of Aqk to the stage.
    pub(crate) fn products(&self) {
        let (k, m, waves) = (self.k, self.spec.tile.tile_atom_m, self.spec.common.waves);
        let across = self.spec.common.chunk / m;
        let blocks = (0..across).flat_map(|row| (0..across).map(move |column| (row, column)));
        let lower = blocks.clone().filter(|(row, column)| column <= row);
        let products = lower.flat_map(|block| [(Task::Keys, block), (Task::Queries, block)]);
        let zeros = blocks.filter(|(row, column)| column > row).map(|block| (Task::Zeros, block));
        let tasks: Vec<_> = products.chain(zeros).collect();
        for wave in 0..waves {
            let mine = tasks.iter().skip(wave as usize).step_by(waves as usize);
            k.if_(k.wave_id().eq(wave as i32), || {
                for (task, (row, column)) in mine.clone() {
                    self.block(*task, [row * m, column * m]);
                }
            });
        }
    }

    fn block(&self, task: Task, [row, column]: [u32; 2]) {
        match task {
            Task::Keys => self.product("k", [row, column]).for_each_run(|value, c, r| {
                let run = Run { row: (r.0, r.1 + row), column: (c.0, c.1 + column) };
                self.put_keys(run, self.weighted("k", value, run), row == column);
            }),
            Task::Queries => self.product("q", [row, column]).for_each_run(|value, c, r| {
                let run = Run { row: (r.0, r.1 + row), column: (c.0, c.1 + column) };
                self.put_queries(run, self.weighted("q", value, run), row == column);
            }),
            Task::Zeros => {
                let (k, m) = (self.k, self.spec.tile.tile_atom_m);
                k.wave_vectors(m, m, 8).for_each(|r, c| {
                    let zeros = k.f32(0.0).splat(8);
                    self.to.aqk.store((r, row), c + column, zeros);
                });
            }
        }
    }

    /// Later rows (of keys or queries) times earlier keys, transposed.
    fn product(&self, later: &str, [row, column]: [u32; 2]) -> WaveTile<'k> {
        let (spec, m) = (self.spec, self.spec.tile.tile_atom_m);
        let is_factored = spec.tile.decay == DecayForm::FixedOffset;
        let (later, earlier) = match (is_factored, later) {
            (true, "k") => ("x", "y"),
            (true, _) => ("xq", "y"),
            (false, later) => (later, "k"),
        };
        let rows = |name, first: u32| self.lds.operand(name).each(|view| view.window([first, 0]));
        let (later, earlier) = (rows(later, row), rows(earlier, column));
        let depth = specs::chunk::atom_k(spec.common.target, m);
        let atom = self.k.matrix_atom(earlier.high.elem(), m, depth);
        add_products(atom.zero_tile(m, m), &earlier, &later, spec.common.head_k)
    }

    /// A product's run with the inverse lengths and decays that stay outside it. Of a later column, the difference of sums
    /// is cut off before it can overflow.
    fn weighted(&self, later: &str, value: Expr<'k>, run: Run<'k>) -> Expr<'k> {
        if self.spec.tile.decay == DecayForm::FixedOffset {
            return value;
        }
        let lengths = [later, "k"].map(|name| self.lds.find(&format!("{name}_norm")));
        let lanes = value.ty().lanes();
        let value = match lengths {
            [Some(later), Some(earlier)] => {
                let pair = earlier.load_vector((0, run.column), lanes) * later.load((0, run.row));
                value * pair
            }
            _ => value,
        };
        let sums = self.lds.view("g");
        let difference =
            sums.load((0, run.row)).splat(lanes) - sums.load_vector((0, run.column), lanes);
        value * difference.min(0.0).exp2()
    }

    /// Akk's run, times β, to T'. What takes the shift of its factors back is a factor of β, one number for all of the run.
    pub(crate) fn put_keys(&self, run: Run<'k>, value: Expr<'k>, on_diagonal: bool) {
        let step = self.lds.view("beta").load((0, run.row));
        let value = value * self.shifted(step, -2);
        let value = if on_diagonal { self.lower(run, value, true) } else { value };
        self.lds.view("m").store((run.row, run.column), value);
    }

    /// Aqk's run to the stage, without the shift of its factors.
    pub(crate) fn put_queries(&self, run: Run<'k>, value: Expr<'k>, on_diagonal: bool) {
        let value = self.shifted(value, -2);
        let value = if on_diagonal { self.lower(run, value, false) } else { value };
        self.to.aqk.store(Index::from(run.row), Index::from(run.column), value);
    }

    /// A run's elements up to the diagonal, or below it, zeros elsewhere.
    fn lower(&self, run: Run<'k>, value: Expr<'k>, strict: bool) -> Expr<'k> {
        let ahead = (run.row.0 - run.column.0) + (run.row.1 as i32 - run.column.1 as i32);
        let elements = (0..).zip(value.elements()).map(|(index, value)| {
            let index = self.k.i32(index);
            let inside = if strict { index.lt(ahead) } else { index.le(ahead) };
            inside.select(value, 0.0)
        });
        self.k.pack(&elements.collect::<Vec<_>>())
    }
}
