//! The triangular system: `A = (I + T')⁻¹ diag(β)` in f32, by one wave.
//!
//! Blocks on the diagonal are inverted together, a lane a column, by substitution; matrix operations take care of what
//! lies below them: in f32, or on pairs of bf16 where the target has none in f32.

use dsl::ir::Scalar;
use dsl::{Atom, Expr, SplitFactor, View, WaveTile};
use specs::Target;

use super::add_products;
use super::operand::{HeldOperand, Operand};
use super::tile::Tile;

/// Rows of the matrix operation.
const ATOM_M: u32 = 16;

/// How the target multiplies f32 matrices.
#[derive(Clone, Copy)]
struct Multiplier<'k> {
    atom: Atom<'k>,
    /// Elements of the operation; of bf16 there are pairs.
    elem: Scalar,
}

/// A factor of its products.
enum Factor<'k> {
    Stored(Operand<'k>),
    Held(HeldOperand<'k>),
}

impl<'k> Multiplier<'k> {
    #[track_caller]
    fn of(k: &'k dsl::KernelBuilder) -> Multiplier<'k> {
        let (elem, terms) = match k.target() {
            Target::Gfx950 => (Scalar::F32, 4),
            Target::Gfx1100 => (Scalar::Bf16, 16),
        };
        Multiplier { atom: k.matrix_atom(elem, ATOM_M, terms), elem }
    }

    /// The top left of a view, `extent` by rows and terms.
    #[track_caller]
    fn stored(self, view: View<'k>, extent: [u32; 2]) -> Factor<'k> {
        match self.elem {
            Scalar::F32 => Factor::Stored(Operand { high: view, low: None }),
            elem => Factor::Held(HeldOperand::pair_of(&view, self.atom, extent, elem)),
        }
    }

    /// The transpose of a result.
    #[track_caller]
    fn held(self, tile: &WaveTile<'k>) -> Factor<'k> {
        Factor::Held(HeldOperand::of(tile, self.atom, self.elem, self.elem != Scalar::F32))
    }
}

impl<'f, 'k> From<&'f Factor<'k>> for SplitFactor<'f, 'k> {
    fn from(factor: &'f Factor<'k>) -> SplitFactor<'f, 'k> {
        match factor {
            Factor::Stored(operand) => operand.into(),
            Factor::Held(operand) => operand.into(),
        }
    }
}

impl<'k> Tile<'k, '_> {
    /// A to the stage, from T' and β in LDS.
    pub(crate) fn solve(&self) {
        self.diagonal_blocks();
        let (chunk, block) = (self.spec.common.chunk, self.spec.tile.solve_block);
        if block < chunk {
            let multiplier = Multiplier::of(self.k);
            (0..chunk / block - 1).for_each(|column| self.below_diagonal(multiplier, column));
        }
        self.store_solved();
    }

    /// Every block of the diagonal: its inverse, and that times β.
    fn diagonal_blocks(&self) {
        let (k, chunk, block) = (self.k, self.spec.common.chunk, self.spec.tile.solve_block);
        let (triangle, steps, solved) =
            (self.lds.view("m"), self.lds.view("beta"), self.lds.view("a"));
        let column = k.lane_id() & (chunk - 1) as i32;
        let (first, inside) = (column & -(block as i32), column & (block - 1) as i32);
        let mut rows: Vec<Expr<'k>> = Vec::with_capacity(block as usize);
        for row in 0..block {
            let mut sum = inside.eq(row as i32).select(k.f32(1.0), 0.0);
            let factors = triangle.load_run(((first, row), first), row);
            for (factor, earlier) in factors.into_iter().zip(&rows) {
                sum = (-factor).fma(*earlier, sum);
            }
            rows.push(sum);
        }
        let step = steps.load((0, column));
        let stepped: Vec<_> = rows.iter().map(|row| *row * step).collect();
        k.if_(k.lane_id().lt_u(chunk), || {
            for (row, value) in (0..).zip(&stepped) {
                solved.store(((first, row), column), *value);
            }
            let Some(inverses) = self.lds.find("p") else { return };
            for (row, value) in (0..).zip(&rows) {
                inverses.store(((first, row), inside), *value);
            }
            self.lds.view("d").store_run((column, 0), &stepped);
        });
    }

    /// The blocks of a column below the diagonal, from top to bottom: `−P Σ T' A` over those above.
    fn below_diagonal(&self, multiplier: Multiplier<'k>, column: u32) {
        let (chunk, block) = (self.spec.common.chunk, self.spec.tile.solve_block);
        let at = |name: &str, row: u32, column: u32| {
            self.lds.view(name).window([row * block, column * block])
        };
        let zeros = || multiplier.atom.zero_tile(block, block);
        let stored = |view| multiplier.stored(view, [block, block]);
        let mut known: Vec<Factor<'k>> = Vec::new();
        for row in column + 1..chunk / block {
            let (left, diagonal) = (at("m", row, column), at("d", column, 0));
            let (left, diagonal) = (stored(left), stored(diagonal));
            let mut sum = add_products(zeros(), &left, &diagonal, block);
            for (above, known) in (column + 1..).zip(&known) {
                let left = stored(at("m", row, above));
                sum = add_products(sum, &left, known, block);
            }
            let (inverse, sum) = (stored(at("p", row, 0)), multiplier.held(&sum));
            let solved = add_products(zeros(), &inverse, &sum, block);
            let solved = solved.map_vectors(|x| -x);
            known.push(multiplier.held(&solved));
            solved.store(&at("a", row, column));
        }
    }

    /// A in the stage's type, zeros above the blocks of the diagonal.
    fn store_solved(&self) {
        let (k, chunk, block) = (self.k, self.spec.common.chunk, self.spec.tile.solve_block);
        let solved = self.lds.view("a");
        k.wave_vectors(chunk, chunk, 8).for_each(|row, column| {
            let diagonal = row & -(block as i32);
            let beyond = (diagonal + (block - 1) as i32).lt_u(column);
            let value = solved.load_vector([row, beyond.select(diagonal, column)], 8);
            let zeros = k.constant(value.ty(), 0);
            let value = if block < chunk { beyond.select(zeros, value) } else { value };
            self.to.a.store(row, column, value);
        });
    }
}
