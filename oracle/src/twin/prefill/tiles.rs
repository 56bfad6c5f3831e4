//! The tiles of a chunk, and the state's step through them.

use specs::chunk::{Accuracy, DecayForm};

use super::{Form, Operand, Rounding, Rows, accumulate, exp2};

/// Rows of a sub-chunk.
const SUB_CHUNK: usize = 16;

/// The stage tensors of one chunk, rounded for the matrix products.
pub(super) struct Tiles {
    rows: usize,
    head_k: usize,
    head_v: usize,
    /// [rows, rows], f32.
    pub(super) a: Vec<f32>,
    /// [rows, rows], f32.
    pub(super) aqk: Vec<f32>,
    /// [rows, K].
    gk: Operand,
    gq: Operand,
    /// [K, rows].
    kt: Operand,
    /// `[K]`.
    dec: Vec<f32>,
    /// [rows, V].
    v: Vec<f32>,
    scale: f32,
}

/// Rounding of the factors X, Y and XQ.
fn factors(accuracy: Accuracy) -> Rounding {
    if accuracy.splits_factors() { Rounding::Bf16Pair } else { Rounding::Bf16 }
}

/// Rounding of GK, GQ, Kt and Aqk.
fn tiles(accuracy: Accuracy) -> Rounding {
    match accuracy {
        Accuracy::Bf16 => Rounding::Bf16,
        Accuracy::Bf16Split => Rounding::Bf16Pair,
        Accuracy::F16 { .. } => Rounding::F16,
    }
}

/// Rounding of A and S.
fn steps(accuracy: Accuracy) -> Rounding {
    match accuracy {
        Accuracy::Bf16 => Rounding::Bf16,
        Accuracy::Bf16Split | Accuracy::F16 { .. } => residuals(accuracy),
    }
}

/// Rounding of R and Ṽ.
fn residuals(accuracy: Accuracy) -> Rounding {
    match accuracy {
        Accuracy::Bf16 | Accuracy::Bf16Split => Rounding::Bf16Pair,
        Accuracy::F16 { .. } => Rounding::F16Pair,
    }
}

impl Rows {
    /// The tiles of these rows.
    pub(super) fn tiles(self, form: &Form) -> Tiles {
        let (n, width) = (self.len(), self.head_k);
        let (system, aqk) = match form.decay {
            DecayForm::OutsideProduct => self.outside_product(),
            DecayForm::FixedOffset => self.with_steps(self.fixed_offset(form)),
            DecayForm::SubChunks => self.with_steps(self.sub_chunks(form)),
        };
        let rounding = tiles(form.accuracy);
        let every = || (0..n * width).map(|i| (i / width, i % width));
        let decay = |row, d| exp2(self.sum(row, d));
        let gk = every().map(|(i, d)| self.key(i, d) * decay(i, d));
        let gq = every().map(|(i, d)| self.query(i, d) * decay(i, d));
        let to_end = |i, d| exp2(self.sum(n - 1, d) - self.sum(i, d));
        let kt = (0..width * n).map(|i| self.key(i % n, i / n) * to_end(i % n, i / n));
        Tiles {
            a: self.inverse(&system, form),
            aqk,
            gk: Operand::new(rounding, gk),
            gq: Operand::new(rounding, gq),
            kt: Operand::new(rounding, kt),
            dec: (0..width).map(|d| decay(n - 1, d)).collect(),
            rows: n,
            head_k: width,
            head_v: self.head_v,
            scale: self.scale,
            v: self.v,
        }
    }

    /// T' and Aqk with each pair's decay outside the dot product; the inputs are exact operands.
    fn outside_product(&self) -> (Vec<f32>, Vec<f32>) {
        let n = self.len();
        let dot = |x: &[f32]| {
            let mut c = vec![0.0; n * n];
            let (x, k) = (x.iter().copied(), self.k.iter().copied());
            let (x, k) = (Operand::new(Rounding::Bf16, x), Operand::new(Rounding::Bf16, k));
            accumulate(&mut c, &x, &k, self.head_k);
            c
        };
        let (mut akk, mut aqk) = (dot(&self.k), dot(&self.q));
        for (i, j) in (0..n * n).map(|index| (index / n, index % n)) {
            let decay = if j <= i { exp2(self.sum(i, 0) - self.sum(j, 0)) } else { 0.0 };
            let (k, q) = (self.k_factor[i] * self.k_factor[j], self.q_factor[i] * self.k_factor[j]);
            akk[i * n + j] = (akk[i * n + j] * k) * self.beta[i] * decay;
            aqk[i * n + j] = (aqk[i * n + j] * q) * decay;
        }
        (akk, aqk)
    }

    /// T' from Akk: each row times its β.
    fn with_steps(&self, (mut akk, aqk): (Vec<f32>, Vec<f32>)) -> (Vec<f32>, Vec<f32>) {
        let n = self.len();
        akk.iter_mut().enumerate().for_each(|(i, x)| *x *= self.beta[i / n]);
        (akk, aqk)
    }

    /// Akk and Aqk by two factors around one anchor.
    fn fixed_offset(&self, form: &Form) -> (Vec<f32>, Vec<f32>) {
        let n = self.len();
        let shift = form.shift_log2 as f32;
        let since_first = |i, d| self.sum(i, d) - self.sum(0, d);
        let up = |i, d| since_first(i, d) + (form.offset + shift);
        let down = |j, d| (shift - form.offset) - since_first(j, d);
        self.factored(form, form.shift_log2, (0..n, 0..n), up, down)
    }

    /// Products of `rows` with `columns` by factors of these exponents, which hold a power of two that the products lose
    /// again: Akk, Aqk.
    fn factored(
        &self,
        form: &Form,
        shift_log2: u32,
        (rows, columns): (std::ops::Range<usize>, std::ops::Range<usize>),
        up: impl Fn(usize, usize) -> f32,
        down: impl Fn(usize, usize) -> f32,
    ) -> (Vec<f32>, Vec<f32>) {
        let rounding = factors(form.accuracy);
        let every = |range: &std::ops::Range<usize>| {
            let channels = 0..self.head_k;
            range.clone().flat_map(move |row| channels.clone().map(move |d| (row, d)))
        };
        let x = every(&rows).map(|(i, d)| self.key(i, d) * exp2(up(i, d)));
        let xq = every(&rows).map(|(i, d)| self.query(i, d) * exp2(up(i, d)));
        let y = every(&columns).map(|(j, d)| self.key(j, d) * exp2(down(j, d)));
        let y = Operand::new(rounding, y);
        let product = |x: Operand| {
            let mut c = vec![0.0; rows.len() * columns.len()];
            accumulate(&mut c, &x, &y, self.head_k);
            c.iter_mut().for_each(|sum| *sum *= 2f32.powi(-2 * shift_log2 as i32));
            c
        };
        (product(Operand::new(rounding, x)), product(Operand::new(rounding, xq)))
    }

    /// Akk and Aqk by blocks: factors around a later block's first row, pairwise decays inside one.
    fn sub_chunks(&self, form: &Form) -> (Vec<f32>, Vec<f32>) {
        let n = self.len();
        let (mut akk, mut aqk) = (vec![0.0; n * n], vec![0.0; n * n]);
        for first in (0..n).step_by(SUB_CHUNK) {
            let rows = first..n.min(first + SUB_CHUNK);
            let up = |i, d| self.sum(i, d) - self.sum(first, d);
            let down = |j, d| self.sum(first, d) - self.sum(j, d);
            let (kk, qk) = self.factored(form, 0, (rows.clone(), 0..first), up, down);
            for i in rows {
                let block = (i - first) * first..(i - first + 1) * first;
                akk[i * n..i * n + first].copy_from_slice(&kk[block.clone()]);
                aqk[i * n..i * n + first].copy_from_slice(&qk[block]);
                for j in first..=i {
                    let decay = |d| exp2(self.sum(i, d) - self.sum(j, d));
                    let sum = |x: &dyn Fn(usize) -> f32| {
                        (0..self.head_k)
                            .fold(0.0, |sum, d| (x(d) * decay(d)).mul_add(self.key(j, d), sum))
                    };
                    akk[i * n + j] = sum(&|d| self.key(i, d));
                    aqk[i * n + j] = sum(&|d| self.query(i, d));
                }
            }
        }
        (akk, aqk)
    }

    /// A by blocks: inverses of the diagonal's by substitution, what lies below them by matrix operations in f32.
    fn inverse(&self, system: &[f32], form: &Form) -> Vec<f32> {
        let (n, block) = (self.len(), form.solve_block);
        let system = |i: usize, j: usize| system[i * n + j];
        let mut inverses = vec![0.0; n * n];
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            let first = i - i % block;
            for j in first..=i {
                let start = if i == j { 1.0 } else { 0.0 };
                inverses[i * n + j] = (first.max(j)..i)
                    .fold(start, |sum, m| (-system(i, m)).mul_add(inverses[m * n + j], sum));
                a[i * n + j] = inverses[i * n + j] * self.beta[j];
            }
        }
        for first in (block..n).step_by(block) {
            let rows = first..n.min(first + block);
            for column in 0..first {
                let diagonal = column - column % block;
                let known: Vec<f32> = rows
                    .clone()
                    .map(|i| {
                        (diagonal..first)
                            .fold(0.0, |sum, m| system(i, m).mul_add(a[m * n + column], sum))
                    })
                    .collect();
                for i in rows.clone() {
                    let sum = rows.clone().zip(&known).take(i - first + 1);
                    let sum =
                        sum.fold(0.0, |sum, (m, known)| inverses[i * n + m].mul_add(*known, sum));
                    a[i * n + column] = -sum;
                }
            }
        }
        a
    }
}

impl Tiles {
    /// O of the rows, [rows, V]; the state `s`, [K, V], goes one chunk on.
    pub(super) fn scan(&self, form: &Form, s: &mut [f32]) -> Vec<f32> {
        let (n, k, v) = (self.rows, self.head_k, self.head_v);
        let lower = |x: &[f32]| -> Vec<f32> {
            (0..n * n).map(|index| if index % n <= index / n { x[index] } else { 0.0 }).collect()
        };
        // The transpose of rows of V, as an operand.
        let turned = |x: &[f32], rows: usize, rounding| {
            Operand::new(rounding, (0..v * rows).map(|i| x[i % rows * v + i / rows]))
        };
        let (of_steps, of_residuals) = (steps(form.accuracy), residuals(form.accuracy));
        let mirror = turned(s, k, of_steps);
        let mut seen = vec![0.0; n * v];
        accumulate(&mut seen, &self.gk, &mirror, k);
        let residual: Vec<f32> = self.v.iter().zip(&seen).map(|(v, seen)| v - seen).collect();
        let mut corrected = vec![0.0; n * v];
        let a = Operand::new(of_steps, lower(&self.a));
        accumulate(&mut corrected, &a, &turned(&residual, n, of_residuals), n);
        let corrected = turned(&corrected, n, of_residuals);
        let mut o = vec![0.0; n * v];
        accumulate(&mut o, &self.gq, &mirror, k);
        let aqk = Operand::new(tiles(form.accuracy), lower(&self.aqk));
        accumulate(&mut o, &aqk, &corrected, n);
        o.iter_mut().for_each(|o| *o *= self.scale);
        s.iter_mut().enumerate().for_each(|(i, s)| *s *= self.dec[i / v]);
        accumulate(s, &self.kt, &corrected, n);
        o
    }

    /// A lower triangular tile with zeros above the diagonal and in rows without a token, [C, C].
    pub(super) fn padded(&self, x: &[f32], chunk: usize) -> Vec<f64> {
        let n = self.rows;
        let at = |i: usize, j: usize| if j <= i && i < n { f64::from(x[i * n + j]) } else { 0.0 };
        (0..chunk * chunk).map(|index| at(index / chunk, index % chunk)).collect()
    }
}
