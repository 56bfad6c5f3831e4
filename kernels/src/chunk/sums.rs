//! Lengths of rows, and gates summed over them.

use dsl::Expr;
use dsl::math::LOG2_E;

use super::block::Block;
use super::tile::{Keys, Tile};
use super::{L2_NORM_EPSILON, Rows};

impl<'k> Tile<'k, '_> {
    /// Each wave's share of the rows' squared lengths to LDS, where the spec asks for norms.
    pub(crate) fn share_squares(&self, keys: &Keys<'k>) {
        let Some(shares) = self.lds.find("squares") else { return };
        let (k, chunk, first) = (self.k, self.spec.common.chunk, self.blocks.first_row());
        for (tensor, rows) in [(0, &keys.key), (1, &keys.query)] {
            let mut sums = Vec::with_capacity(rows.len());
            for row in rows {
                let mut squares = k.f32(0.0);
                for x in row.elements() {
                    squares = x.fma(x, squares);
                }
                sums.push(self.blocks.group_sum(squares));
            }
            k.if_(self.blocks.leads_group(), || {
                for (row, sum) in (0..).zip(&sums) {
                    shares.store(((first, tensor * chunk + row), k.wave_id()), *sum);
                }
            });
        }
    }

    /// Keys and queries divided by their lengths, where the spec asks for it; the lengths to LDS for products of what is
    /// as given.
    pub(crate) fn normed(&self, keys: Keys<'k>) -> Keys<'k> {
        let Some(shares) = self.lds.find("squares") else { return keys };
        let (chunk, waves) = (self.spec.common.chunk, self.spec.common.waves);
        let lengths = |tensor: u32| {
            let inverse = |row: u32| {
                let row = (self.blocks.first_row(), tensor * chunk + row);
                let shares = shares.load_run((row, 0), waves);
                let sum = shares.into_iter().reduce(|sum, share| sum + share);
                let inverse = (sum.unwrap_or(self.k.f32(0.0)) + L2_NORM_EPSILON).rsq();
                self.status.result(inverse);
                inverse
            };
            (0..self.blocks.rows()).map(inverse).collect::<Vec<_>>()
        };
        let (of_key, of_query) = (lengths(0), lengths(1));
        for (name, lengths) in [("k_norm", &of_key), ("q_norm", &of_query)] {
            let to = self.lds.view(name);
            for (row, length) in (0..).zip(lengths) {
                to.store((0, (self.blocks.first_row(), row)), *length);
            }
        }
        let divided = |rows: &[Expr<'k>], by: Vec<Expr<'k>>| {
            rows.iter().zip(by).map(|(row, factor)| *row * factor).collect()
        };
        Keys { key: divided(&keys.key, of_key), query: divided(&keys.query, of_query) }
    }

    /// One gate a head: sums over the rows in log2, and decays from the chunk's start and to its end, by the first wave.
    pub(crate) fn head_sums(&self, rows: Rows<'k>, block: &Block<'k>) {
        let (k, chunk) = (self.k, self.spec.common.chunk);
        let row = k.thread_id();
        let decays = self.inputs.gates.log_decays(&block.gates, k.i32(0), self.status);
        let given = if self.inputs.gates.is_raw() { rows.keep(row, decays[0]) } else { decays[0] };
        let [gates, decay, rest] = ["g", "decay", "rest"].map(|name| self.lds.view(name).at(0));
        k.if_(row.lt_u(chunk), || {
            gates.store(row, given);
            let mut sum = k.f32(0.0);
            let mut total = k.f32(0.0);
            for (earlier, gate) in (0..chunk).zip(gates.load_run(0, chunk)) {
                sum = sum + row.lt_u(earlier).select(k.f32(0.0), gate);
                total = total + gate;
            }
            let (sum, total) = (sum * LOG2_E, total * LOG2_E);
            gates.store(row, sum);
            decay.store(row, sum.exp2());
            rest.store(row, (total - sum).exp2());
            k.if_(row.eq(0), || self.to.dec.store((0, 0), total.exp2()));
        });
    }

    /// One gate a channel: what lies before the lane's first row, and from there to each of its rows, in nats. With `anchored`,
    /// the chunk's first row counts in neither. Groups of lanes sum their rows, then the sums of the groups before
    /// them; `column` is called for each of the wave's channels with the first row's gate and the sum of all.
    pub(crate) fn channel_sums(
        &self,
        gates: &[Expr<'k>],
        anchored: bool,
        column: impl Fn(Expr<'k>, Expr<'k>, Expr<'k>),
    ) -> Vec<Expr<'k>> {
        let (k, groups) = (self.k, self.blocks.groups());
        let (group, here, sums) =
            (self.blocks.group(), self.blocks.column(), self.lds.view("sums"));
        let zeros = k.constant(gates[0].ty(), 0);
        let leads = group.eq(0);
        let first = if anchored { leads.select(gates[0], zeros) } else { zeros };
        let mut sum = if anchored { leads.select(zeros, gates[0]) } else { gates[0] };
        let mut mine = vec![sum];
        for gate in &gates[1..] {
            sum = sum + *gate;
            mine.push(sum);
        }
        // Zeros in front, so that every group adds as many rows; the very first is never added.
        sums.store([group, here], first);
        sums.store(((group, groups), here), sum);
        self.blocks.each_column(|channel| {
            let start = sums.load((0, channel));
            let mut total = sums.load((groups, channel));
            for later in 1..groups {
                total = total + sums.load((groups + later, channel));
            }
            column(channel, start, total);
        });
        let before = (1..groups).map(|row| sums.load_vector(((group, row), here), 4));
        let before = before.reduce(|before, row| before + row).unwrap_or(zeros);
        mine.into_iter().map(|mine| before + mine).collect()
    }
}
