//! The reference that works chunk by chunk, in the matrices of the prefill kernels.
//!
//! Of a chunk of C rows, with `g` in nats, `Γ_i = exp(Σ_{t≤i} g_t)` and `D_ij = Σ_{j<t≤i} g_t` per channel:
//!
//! ```text
//! Akk_ij = Σ_d k_i k_j exp(D_ij)          j < i       GK = K ∘ Γ       GQ = Q ∘ Γ
//! Aqk_ij = Σ_d q_i k_j exp(D_ij)          j ≤ i       Kt = (K ∘ γ/Γ)ᵀ  dec = γ, Γ of the last valid row
//! A = (I + diag(β) Akk)⁻¹ diag(β)
//! Ṽ = A (V − GK S)     O = scale · (GQ S + Aqk Ṽ)     S ← diag(dec) S + Kt Ṽ
//! ```
//!
//! `D_ij` and the exponent of `γ/Γ` are summed over the tokens between the rows, not subtracted from
//! one running sum: no sum is positive, none needs a clamp, and a gate of −∞ is a clean reset.

use super::{Beta, L2_NORM_EPSILON, Outputs, Problem, RowLayout};
use crate::{GateInput, OracleError, Stored};

/// The stage tensors of one chunk of one value head, row-major. Rows beyond the last token hold zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Which sequence.
    pub sequence: usize,
    /// Which value head.
    pub head: usize,
    /// Batch row and token of the first row.
    pub first: (usize, usize),
    /// Rows that are tokens, 1 to C.
    pub rows: usize,
    /// The least finite sum of a channel's gates over the rows, nats: at most 0.
    pub deepest: f64,
    /// [C, C], strictly lower.
    pub akk: Vec<f64>,
    /// [C, C], lower.
    pub a: Vec<f64>,
    /// [C, C], lower.
    pub aqk: Vec<f64>,
    /// [C, K].
    pub gk: Vec<f64>,
    /// [C, K].
    pub gq: Vec<f64>,
    /// [K, C].
    pub kt: Vec<f64>,
    /// `[K]`; all equal when a head has one gate.
    pub dec: Vec<f64>,
    /// State before the chunk, [K, V].
    pub state: Vec<f64>,
    /// [C, V].
    pub v_tilde: Vec<f64>,
    /// [C, V].
    pub o: Vec<f64>,
}

/// The float64 outputs of a problem in chunks of `chunk` tokens, and every chunk in the order of sequence,
/// head, time.
///
/// # Errors
/// [`OracleError`] when the tensors do not describe one problem or `chunk` is 0.
pub fn run(problem: &Problem, chunk: usize) -> Result<(Outputs, Vec<Chunk>), OracleError> {
    problem.check()?;
    if chunk == 0 {
        return Err(OracleError::Dimension { field: "chunk", got: 0, limit: "at least 1" });
    }
    let shape = &problem.shape;
    let mut o = vec![0.0; shape.v_len()];
    let (mut state, mut chunks) = (Vec::new(), Vec::new());
    for (sequence, (b, begin, end)) in spans(problem).into_iter().enumerate() {
        for head in 0..shape.value_heads {
            let mut s = initial_state(problem, sequence, head);
            for first in (begin..end).step_by(chunk) {
                let rows = Rows::gather(problem, b, head, first..end.min(first + chunk));
                let done = rows.chunk(chunk, &mut s, (sequence, head, b, first));
                for (row, values) in done.o.chunks(shape.head_v).take(done.rows).enumerate() {
                    let at = ((b * shape.tokens + first + row) * shape.value_heads + head)
                        * shape.head_v;
                    o[at..at + shape.head_v].copy_from_slice(values);
                }
                chunks.push(done);
            }
            state.extend(final_state(problem, &s));
        }
    }
    Ok((Outputs { o, state }, chunks))
}

/// Batch row, first token and end of every sequence.
fn spans(problem: &Problem) -> Vec<(usize, usize, usize)> {
    let tokens = problem.shape.tokens;
    let whole = |end: i64| usize::try_from(end).unwrap_or(tokens);
    match &problem.cu_seqlens {
        None => (0..problem.shape.batch).map(|b| (b, 0, tokens)).collect(),
        Some(ends) => ends.windows(2).map(|pair| (0, whole(pair[0]), whole(pair[1]))).collect(),
    }
}

/// The state of one head as [K, V].
fn initial_state(problem: &Problem, sequence: usize, head: usize) -> Vec<f64> {
    let shape = &problem.shape;
    let (k, v) = (shape.head_k, shape.head_v);
    let Some(states) = &problem.initial_state else { return vec![0.0; k * v] };
    let first = (sequence * shape.value_heads + head) * k * v;
    let stored: Vec<f64> = states[first..first + k * v].iter().map(|&s| f64::from(s)).collect();
    match shape.state_layout {
        specs::StateLayout::KFirst => stored,
        specs::StateLayout::VFirst => transposed(&stored, v, k),
    }
}

/// The [K, V] state of one head in the problem's order.
fn final_state(problem: &Problem, s: &[f64]) -> Vec<f64> {
    match problem.shape.state_layout {
        specs::StateLayout::KFirst => s.to_vec(),
        specs::StateLayout::VFirst => transposed(s, problem.shape.head_k, problem.shape.head_v),
    }
}

/// The tokens of one chunk of one value head, as matrices.
struct Rows {
    /// [rows, K] each.
    q: Vec<f64>,
    k: Vec<f64>,
    g: Vec<f64>,
    /// [rows, V].
    v: Vec<f64>,
    beta: Vec<f64>,
    scale: f64,
    head_k: usize,
    head_v: usize,
}

impl Rows {
    fn gather(problem: &Problem, b: usize, head: usize, tokens: std::ops::Range<usize>) -> Rows {
        let (shape, layouts) = (&problem.shape, &problem.layouts);
        let at = |layout: RowLayout, h: usize, t: usize| {
            layout.batch * b + layout.head * h + layout.token * t
        };
        let matrix = |x: &Stored, layout: RowLayout, h: usize, channels: usize| -> Vec<f64> {
            let rows = tokens.clone().map(|t| at(layout, h, t));
            rows.flat_map(|first| (first..first + channels).map(|i| x.f64_at(i))).collect()
        };
        let keys = |x: &Stored, layout: RowLayout| {
            let group = match shape.head_map {
                specs::HeadMap::Grouped => head * shape.key_heads / shape.value_heads,
                specs::HeadMap::Tiled => head - head / shape.key_heads * shape.key_heads,
            };
            let mut x = matrix(x, layout, group, shape.head_k);
            if problem.l2_norm {
                x.chunks_mut(shape.head_k).for_each(to_unit_length);
            }
            x
        };
        let channels = if shape.per_channel_gate { shape.head_k } else { 1 };
        let decays = tokens.clone().flat_map(|t| {
            let first = at(layouts.gate, head, t);
            (0..shape.head_k).map(move |d| (first + d % channels, d % channels))
        });
        let steps = tokens.clone().map(|t| at(layouts.beta, head, t));
        Rows {
            q: keys(&problem.q, layouts.q),
            k: keys(&problem.k, layouts.k),
            g: decays
                .map(|(i, d)| log_decay(&problem.gate, i, head, head * channels + d))
                .collect(),
            v: matrix(&problem.v, layouts.v, head, shape.head_v),
            beta: steps.map(|i| step_size(&problem.beta, i)).collect(),
            scale: f64::from(problem.scale),
            head_k: shape.head_k,
            head_v: shape.head_v,
        }
    }

    fn len(&self) -> usize {
        self.beta.len()
    }

    /// The gates summed over `tokens`, per channel.
    fn sums_over(&self, tokens: std::ops::Range<usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.head_k];
        for t in tokens {
            sums.iter_mut().zip(&self.g[t * self.head_k..]).for_each(|(sum, g)| *sum += g);
        }
        sums
    }

    /// exp of the gates summed over `tokens`, per channel.
    fn decay_over(&self, tokens: std::ops::Range<usize>) -> Vec<f64> {
        self.sums_over(tokens).into_iter().map(libm::exp).collect()
    }

    /// `x_i ∘ exp(gates over tokens(i))` of every row, [rows, K].
    fn decayed(&self, x: &[f64], tokens: impl Fn(usize) -> std::ops::Range<usize>) -> Vec<f64> {
        let row = |(i, x): (usize, &[f64])| -> Vec<f64> {
            let decays = self.decay_over(tokens(i));
            x.iter().zip(decays).map(|(x, decay)| x * decay).collect()
        };
        x.chunks(self.head_k).enumerate().flat_map(row).collect()
    }

    /// `Σ_d x_i k_j exp(D_ij)` for j ≤ i, [rows, rows].
    fn products(&self, x: &[f64]) -> Vec<f64> {
        let (n, width) = (self.len(), self.head_k);
        let mut products = vec![0.0; n * n];
        for j in 0..n {
            let mut between = vec![0.0; width];
            for i in j..n {
                if i > j {
                    let g = &self.g[i * width..(i + 1) * width];
                    between.iter_mut().zip(g).for_each(|(sum, g)| *sum += g);
                }
                let terms = (0..width)
                    .map(|d| x[i * width + d] * self.k[j * width + d] * libm::exp(between[d]));
                products[i * n + j] = terms.sum();
            }
        }
        products
    }

    /// `(I + diag(β) Akk)⁻¹ diag(β)` by forward substitution, [rows, rows].
    fn inverse(&self, akk: &[f64]) -> Vec<f64> {
        let n = self.len();
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for column in 0..i {
                let known: f64 = (column..i).map(|j| akk[i * n + j] * a[j * n + column]).sum();
                a[i * n + column] = -self.beta[i] * known;
            }
            a[i * n + i] = self.beta[i];
        }
        a
    }

    /// Everything of one chunk; the state goes one chunk on.
    fn chunk(
        &self,
        chunk: usize,
        s: &mut Vec<f64>,
        (sequence, head, b, first): (usize, usize, usize, usize),
    ) -> Chunk {
        let (n, k, v) = (self.len(), self.head_k, self.head_v);
        let mut akk = self.products(&self.k);
        (0..n).for_each(|i| akk[i * n + i] = 0.0);
        let aqk = self.products(&self.q);
        let a = self.inverse(&akk);
        let gk = self.decayed(&self.k, |i| 0..i + 1);
        let gq = self.decayed(&self.q, |i| 0..i + 1);
        let kt = transposed(&self.decayed(&self.k, |i| i + 1..n), n, k);
        let dec = self.decay_over(0..n);
        let residual = sum(&self.v, -1.0, &product(&gk, s, (n, k, v)));
        let v_tilde = product(&a, &residual, (n, n, v));
        let o = sum(&product(&gq, s, (n, k, v)), 1.0, &product(&aqk, &v_tilde, (n, n, v)));
        let o: Vec<f64> = o.iter().map(|x| self.scale * x).collect();
        let before = s.clone();
        s.chunks_mut(v).zip(&dec).for_each(|(row, dec)| row.iter_mut().for_each(|x| *x *= dec));
        *s = sum(s, 1.0, &product(&kt, &v_tilde, (k, n, v)));
        Chunk {
            sequence,
            head,
            first: (b, first),
            rows: n,
            deepest: self
                .sums_over(0..n)
                .into_iter()
                .filter(|sum| sum.is_finite())
                .fold(0.0, f64::min),
            akk: padded(&akk, (n, n), (chunk, chunk)),
            a: padded(&a, (n, n), (chunk, chunk)),
            aqk: padded(&aqk, (n, n), (chunk, chunk)),
            gk: padded(&gk, (n, k), (chunk, k)),
            gq: padded(&gq, (n, k), (chunk, k)),
            kt: padded(&kt, (k, n), (k, chunk)),
            dec,
            state: before,
            v_tilde: padded(&v_tilde, (n, v), (chunk, v)),
            o: padded(&o, (n, v), (chunk, v)),
        }
    }
}

/// Divides a row by its length, the norm's epsilon taken as one more channel.
fn to_unit_length(row: &mut [f64]) {
    let length = row.iter().fold(libm::sqrt(L2_NORM_EPSILON), |sum, x| libm::hypot(sum, *x));
    row.iter_mut().for_each(|x| *x /= length);
}

fn step_size(beta: &Beta, index: usize) -> f64 {
    match beta {
        Beta::Given(b) => b.f64_at(index),
        Beta::Sigmoid(b) => logistic(b.f64_at(index)),
        Beta::TwiceSigmoid(b) => 2.0 * logistic(b.f64_at(index)),
    }
}

/// Log decay in nats of gate `index`; `bias` is its place in dt_bias.
fn log_decay(gate: &GateInput, index: usize, head: usize, bias: usize) -> f64 {
    match gate {
        GateInput::LogDecay(g) => f64::from(g[index]),
        GateInput::Softplus(raw) => {
            let x = raw.g_raw.f64_at(index) + f64::from(raw.dt_bias[bias]);
            // Beyond 36 the term that log1p adds to x is below half an ulp.
            let softplus = if x > 36.0 { x } else { libm::log1p(libm::exp(x)) };
            -softplus * libm::exp(f64::from(raw.a_log[head])).min(f64::MAX)
        }
        GateInput::BoundedSigmoid { raw, lower_bound_nats } => {
            let x = raw.g_raw.f64_at(index) + f64::from(raw.dt_bias[bias]);
            let rate = libm::exp(f64::from(raw.a_log[head])).min(f64::MAX);
            logistic(rate * x) * f64::from(*lower_bound_nats)
        }
    }
}

/// The logistic function by the hyperbolic tangent, or its own tail where that would cancel.
fn logistic(x: f64) -> f64 {
    if x < -1.0 {
        libm::exp(x - libm::log1p(libm::exp(x)))
    } else {
        0.5 + 0.5 * libm::tanh(0.5 * x)
    }
}

/// `A · B` of m × k and k × n elements.
fn product(a: &[f64], b: &[f64], (m, k, n): (usize, usize, usize)) -> Vec<f64> {
    let mut c = vec![0.0; m * n];
    for row in 0..m {
        for inner in 0..k {
            let factor = a[row * k + inner];
            let b = &b[inner * n..(inner + 1) * n];
            c[row * n..].iter_mut().zip(b).for_each(|(c, b)| *c += factor * b);
        }
    }
    c
}

fn sum(a: &[f64], factor: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + factor * b).collect()
}

/// The transpose of `rows` × `columns` elements.
fn transposed(x: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..rows * columns).map(|i| x[i % rows * columns + i / rows]).collect()
}

/// A matrix with zeros added below and to the right.
fn padded(x: &[f64], (rows, columns): (usize, usize), (tall, wide): (usize, usize)) -> Vec<f64> {
    let mut padded = vec![0.0; tall * wide];
    for row in 0..rows {
        padded[row * wide..][..columns].copy_from_slice(&x[row * columns..][..columns]);
    }
    padded
}
