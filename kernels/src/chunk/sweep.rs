//! The elementwise pass over a chunk: decayed keys and queries to the stage, factors of products to LDS.

use dsl::Expr;
use dsl::builder::Index;
use dsl::math::LOG2_E;

use super::block::Block;
use super::tile::{Keys, Tile};
use super::{Operand, Rows};

impl<'k> Tile<'k, '_> {
    /// A gate a channel, two factors around one anchor: two exponentials an element, which carry the shift. Everything else
    /// is a factor times a number of its channel, which takes the shift back.
    pub(crate) fn sweep_factors(&self, rows: Rows<'k>, block: &Block<'k>, keys: &Keys<'k>) {
        let offset = self.spec.anchor_offset_log2().unwrap_or_default() as f32;
        let shift = self.factor_shift_log2() as f32;
        let [start, rest] = ["start", "rest"].map(|name| self.lds.view(name).at(0));
        let gates = self.log_decays(rows, block);
        let sums = self.channel_sums(&gates, true, |channel, first, others| {
            // Alone with the shift, the decay up to the anchor could be subnormal, which `exp2` flushes.
            start.store(channel, self.shifted(first.fma(LOG2_E, -offset).exp2(), -1));
            rest.store(channel, others.fma(LOG2_E, offset - shift).exp2());
            self.to.dec.store((0, channel), ((first + others) * LOG2_E).exp2());
        });
        let column = self.blocks.column();
        let (start, rest) = (start.load_vector(column, 4), rest.load_vector(column, 4));
        let [x, y, xq] = ["x", "y", "xq"].map(|name| self.lds.operand(name));
        let mut turned = Vec::with_capacity(sums.len());
        for (row, sum) in (0..).zip(sums) {
            let exponent = sum.fma(LOG2_E, offset + shift);
            // Without a shift the same number, one instruction less.
            let falling = if shift == 0.0 { -exponent } else { sum.fma(-LOG2_E, shift - offset) };
            let (up, down) = (exponent.exp2(), falling.exp2());
            let (key, query) = (keys.key[row as usize], keys.query[row as usize]);
            let (later, earlier, queries) = (key * up, key * down, query * up);
            let place = (self.blocks.first_row(), row);
            x.store(place, column, later);
            y.store(place, column, earlier);
            xq.store(place, column, queries);
            self.to.gk.store(place, column, later * start);
            self.to.gq.store(place, column, queries * start);
            turned.push(earlier * rest);
        }
        self.store_turned(&turned);
    }

    /// `value` times the shift of the factors to this power; a power of two.
    pub(crate) fn shifted(&self, value: Expr<'k>, power: i32) -> Expr<'k> {
        match self.factor_shift_log2() {
            0 => value,
            shift => value * 2f32.powi(shift as i32 * power),
        }
    }

    fn factor_shift_log2(&self) -> u32 {
        self.spec.tile.factor_shift_log2(self.spec.common.chunk)
    }

    /// A gate a channel of any range: keys, queries and sums of gates to LDS for products by sub-chunks.
    pub(crate) fn sweep_by_channels(&self, rows: Rows<'k>, block: &Block<'k>, keys: &Keys<'k>) {
        let rest = self.lds.view("rest").at(0);
        let gates = self.log_decays(rows, block);
        let sums = self.channel_sums(&gates, false, |channel, _, all| {
            let last = all * LOG2_E;
            rest.store(channel, last);
            self.to.dec.store((0, channel), last.exp2());
        });
        let (column, to) = (self.blocks.column(), self.lds.view("g"));
        let last = rest.load_vector(column, 4);
        let mut turned = Vec::with_capacity(sums.len());
        for (row, sum) in (0..).zip(sums) {
            let sum = sum * LOG2_E;
            to.store(((self.blocks.first_row(), row), column), sum);
            let decay = sum.exp2();
            self.store_decayed(row, keys, decay);
            turned.push(keys.key[row as usize] * (last - sum).exp2());
        }
        self.store_given(block);
        self.store_turned(&turned);
    }

    /// A gate a head: rows times one number, keys and queries to LDS as given.
    pub(crate) fn sweep_by_rows(&self, block: &Block<'k>, keys: &Keys<'k>) {
        let (first, count) = (self.blocks.first_row(), self.blocks.rows());
        let [decays, rests] = ["decay", "rest"].map(|name| self.lds.view(name));
        let of_rows = |view: &dsl::View<'k>| view.load_run((0, first), count);
        let mut turned = Vec::with_capacity(count as usize);
        for (row, (decay, rest)) in (0..).zip(of_rows(&decays).into_iter().zip(of_rows(&rests))) {
            self.store_decayed(row, keys, decay.splat(4));
            turned.push(keys.key[row as usize] * rest);
        }
        self.store_given(block);
        self.store_turned(&turned);
    }

    /// Log decays of the block; a raw gate of a row that does not exist is none.
    fn log_decays(&self, rows: Rows<'k>, block: &Block<'k>) -> Vec<Expr<'k>> {
        let gates = &self.inputs.gates;
        let decays = gates.log_decays(&block.gates, self.blocks.column(), self.status);
        if !gates.is_raw() {
            return decays;
        }
        let first = self.blocks.first_row();
        (0..).zip(decays).map(|(row, decay)| rows.keep(first + row, decay)).collect()
    }

    fn store_decayed(&self, row: u32, keys: &Keys<'k>, decay: Expr<'k>) {
        let (place, column) = ((self.blocks.first_row(), row), self.blocks.column());
        self.to.gk.store(place, column, keys.key[row as usize] * decay);
        self.to.gq.store(place, column, keys.query[row as usize] * decay);
    }

    fn store_given(&self, block: &Block<'k>) {
        for (name, rows) in [("k", &block.key), ("q", &block.q)] {
            let to = self.lds.view(name);
            for (row, given) in (0..).zip(rows) {
                to.store(((self.blocks.first_row(), row), self.blocks.column()), *given);
            }
        }
    }

    /// Kt: the block's rows are neighbours in it.
    fn store_turned(&self, rows: &[Expr<'k>]) {
        let (first, column) = (self.blocks.first_row(), self.blocks.column());
        for channel in 0..4_u8 {
            for (start, part) in (0..).step_by(8).zip(rows.chunks(8)) {
                let values: Vec<_> = part.iter().map(|row| row.element(channel)).collect();
                let place = Index::from((first, start));
                self.kt().store((column, u32::from(channel)), place, self.k.pack(&values));
            }
        }
    }

    fn kt(&self) -> &Operand<'k> {
        &self.to.kt
    }
}
