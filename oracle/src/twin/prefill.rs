//! Float32 model of chunked prefill, in the order of float operations of `docs/kernels/kda.md`.
//!
//! It rounds where the kernels do or are to: gates and their sums, decay factors, tiles, the solve, the
//! state's copy. Matrix operations accumulate one product after the other in f32, summed axis ascending,
//! each product added by one fused operation; the hardware's own order inside an operation is another.

mod operand;
mod tiles;

use specs::chunk::{Accuracy, ChunkCommon, DecayForm, TilePart};

use super::gate::log_decay;
use super::instruction::{LOG2E, exp2, rcp, rsq};
use super::narrow;
use crate::prefill::{Beta, L2_NORM_EPSILON, Problem, RowLayout};
use crate::{OracleError, Stored};
use operand::{Operand, Rounding, accumulate};

/// What decides where a prefill kernel rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Form {
    /// What operands of matrix products are rounded to.
    pub accuracy: Accuracy,
    /// How decays enter the products of keys.
    pub decay: DecayForm,
    /// Offset of the anchor in units of log2, with [`DecayForm::FixedOffset`].
    pub offset: f32,
    /// By what power of two the factors of that form are multiplied.
    pub shift_log2: u32,
    /// C: rows of a chunk.
    pub chunk: usize,
    /// Rows of a block of the triangular solve: inside one by substitution, below them by matrix operations in f32.
    pub solve_block: usize,
    /// Groups of rows that sum their gates apart.
    pub groups: usize,
}

impl Form {
    /// The form of a tile or fused kernel.
    pub fn of(common: &ChunkCommon, tile: &TilePart) -> Form {
        let groups = match common.per_channel_gate() {
            true => common.row_groups(),
            false => 1,
        };
        Form {
            accuracy: common.accuracy,
            decay: tile.decay,
            offset: tile.anchor_offset_log2(common.chunk).unwrap_or_default() as f32,
            shift_log2: tile.factor_shift_log2(common.chunk),
            chunk: common.chunk as usize,
            solve_block: tile.solve_block as usize,
            groups: groups.max(1) as usize,
        }
    }
}

/// What a kernel stores.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// [B, T, HV, V], dense, in the type of v.
    pub o: Stored,
    /// Final states, laid out as the initial ones.
    pub state: Vec<f32>,
    /// The triangular tiles of every chunk in f32 before they are rounded, [C, C] each, in the order of
    /// sequence, head, time: A.
    pub a: Vec<f64>,
    /// Likewise Aqk.
    pub aqk: Vec<f64>,
}

/// The outputs of kernels of this form.
///
/// # Errors
/// [`OracleError`] when the tensors do not describe one problem, or the form does not divide its rows.
pub fn run(problem: &Problem, form: &Form) -> Result<Outputs, OracleError> {
    problem.check()?;
    form.check()?;
    let shape = &problem.shape;
    let mut o = vec![0.0; shape.v_len()];
    let mut outputs = Outputs {
        o: Stored::poison(problem.v.dtype(), 0),
        state: vec![0.0; problem.sequences() * shape.state_row_len()],
        a: Vec::new(),
        aqk: Vec::new(),
    };
    for n in 0..problem.sequences() {
        let (b, tokens) = match &problem.cu_seqlens {
            None => (n, 0..shape.tokens),
            Some(ends) => (0, ends[n] as usize..ends[n + 1] as usize),
        };
        for h in 0..shape.value_heads {
            let at = |k, v| shape.state_index(n, h, k, v);
            let mut s = vec![0.0; shape.head_k * shape.head_v];
            if let Some(initial) = &problem.initial_state {
                each(shape.head_k, shape.head_v, |k, v| {
                    s[k * shape.head_v + v] = initial[at(k, v)]
                });
            }
            for first in tokens.clone().step_by(form.chunk) {
                let rows = first..tokens.end.min(first + form.chunk);
                let tiles = Rows::gather(problem, form, (b, h), rows).tiles(form);
                let first_o = shape.head_row(b, first, h) * shape.head_v;
                for (row, values) in tiles.scan(form, &mut s).chunks(shape.head_v).enumerate() {
                    let first = first_o + row * shape.value_heads * shape.head_v;
                    o[first..first + shape.head_v].copy_from_slice(values);
                }
                outputs.a.extend(tiles.padded(&tiles.a, form.chunk));
                outputs.aqk.extend(tiles.padded(&tiles.aqk, form.chunk));
            }
            each(shape.head_k, shape.head_v, |k, v| {
                outputs.state[at(k, v)] = s[k * shape.head_v + v]
            });
        }
    }
    outputs.o = narrow(problem.v.dtype(), o);
    Ok(outputs)
}

fn each(rows: usize, columns: usize, mut visit: impl FnMut(usize, usize)) {
    (0..rows).for_each(|row| (0..columns).for_each(|column| visit(row, column)));
}

impl Form {
    fn check(&self) -> Result<(), OracleError> {
        for (field, got) in [("solve_block", self.solve_block), ("groups", self.groups)] {
            if got == 0 || !self.chunk.is_multiple_of(got) || self.chunk == 0 {
                let limit = "a divisor of the chunk";
                return Err(OracleError::Dimension { field, got, limit });
            }
        }
        Ok(())
    }
}

/// The tokens of one chunk of one value head.
struct Rows {
    /// [rows, K].
    q: Vec<f32>,
    k: Vec<f32>,
    /// Cumulative gates in units of log2, [rows, K].
    sums: Vec<f32>,
    /// [rows, V].
    v: Vec<f32>,
    beta: Vec<f32>,
    /// What the dot products with a row of q and of k are multiplied by: 1, or 1 / length.
    q_factor: Vec<f32>,
    k_factor: Vec<f32>,
    scale: f32,
    head_k: usize,
    head_v: usize,
}

impl Rows {
    fn gather(
        problem: &Problem,
        form: &Form,
        (b, h): (usize, usize),
        tokens: std::ops::Range<usize>,
    ) -> Rows {
        let (shape, layouts) = (&problem.shape, &problem.layouts);
        let at = |layout: RowLayout, h: usize, t: usize| {
            b * layout.batch + t * layout.token + h * layout.head
        };
        let matrix = |x: &Stored, layout: RowLayout, h: usize, width: usize| -> Vec<f32> {
            let rows = tokens.clone().map(|t| at(layout, h, t));
            rows.flat_map(|first| (first..first + width).map(|i| x.f32_at(i))).collect()
        };
        let hk = shape.key_head(h);
        let q = matrix(&problem.q, layouts.q, hk, shape.head_k);
        let k = matrix(&problem.k, layouts.k, hk, shape.head_k);
        let (gates, bias) = (shape.gate_channels(), h * shape.gate_channels());
        let g = tokens.clone().flat_map(|t| {
            let first = at(layouts.gate, h, t);
            (0..shape.head_k).map(move |d| (first + d % gates, bias + d % gates))
        });
        let g: Vec<f32> = g.map(|(i, bias)| log_decay(&problem.gate, i, h, bias)).collect();
        let beta = tokens.clone().map(|t| step_size(&problem.beta, at(layouts.beta, h, t)));
        let factor = |x: &[f32]| -> Vec<f32> {
            x.chunks(shape.head_k).map(|row| norm_factor(problem.l2_norm, row)).collect()
        };
        Rows {
            q_factor: factor(&q),
            k_factor: factor(&k),
            q,
            k,
            sums: cumulated(&g, shape.head_k, form),
            v: matrix(&problem.v, layouts.v, h, shape.head_v),
            beta: beta.collect(),
            scale: problem.scale,
            head_k: shape.head_k,
            head_v: shape.head_v,
        }
    }

    fn len(&self) -> usize {
        self.beta.len()
    }

    fn sum(&self, row: usize, d: usize) -> f32 {
        self.sums[row * self.head_k + d]
    }

    /// Row i of k, divided by its length where that is asked for.
    fn key(&self, row: usize, d: usize) -> f32 {
        self.k[row * self.head_k + d] * self.k_factor[row]
    }

    /// Row i of q, likewise.
    fn query(&self, row: usize, d: usize) -> f32 {
        self.q[row * self.head_k + d] * self.q_factor[row]
    }
}

fn step_size(beta: &Beta, index: usize) -> f32 {
    let sigmoid = |b: &Stored| rcp(1.0 + exp2(-b.f32_at(index) * LOG2E));
    match beta {
        Beta::Given(b) => b.f32_at(index),
        Beta::Sigmoid(b) => sigmoid(b),
        Beta::TwiceSigmoid(b) => 2.0 * sigmoid(b),
    }
}

fn norm_factor(normed: bool, row: &[f32]) -> f32 {
    let squares = row.iter().fold(0.0, |sum: f32, x| x.mul_add(*x, sum));
    if normed { rsq(squares + L2_NORM_EPSILON as f32) } else { 1.0 }
}

/// Sums of log decays over the rows in units of log2: each group its own rows, then the groups before it.
fn cumulated(g: &[f32], width: usize, form: &Form) -> Vec<f32> {
    let share = form.chunk / form.groups;
    let mut sums = g.to_vec();
    for group in sums.chunks_mut(share * width) {
        for i in width..group.len() {
            group[i] += group[i - width];
        }
    }
    let before = |group: usize, d: usize| {
        let totals = sums.chunks(share * width).take(group);
        totals.fold(0.0, |sum, group| sum + group[group.len() - width + d])
    };
    let sum = |i: usize| (before(i / width / share, i % width) + sums[i]) * LOG2E;
    (0..sums.len()).map(sum).collect()
}
