//! The reference that walks token by token.

use super::{Beta, L2_NORM_EPSILON, Outputs, Problem, RowLayout};
use crate::delta_rule::{Token, step};
use crate::gate::sigmoid;
use crate::{OracleError, Stored};

/// The float64 outputs of a problem.
///
/// # Errors
/// [`OracleError`] when the tensors do not describe one problem.
pub fn run(problem: &Problem) -> Result<Outputs, OracleError> {
    problem.check()?;
    let shape = &problem.shape;
    let states = problem.sequences() * shape.state_row_len();
    let state = match &problem.initial_state {
        Some(initial) => initial.iter().map(|&s| f64::from(s)).collect(),
        None => vec![0.0; states],
    };
    let mut outputs = Outputs { o: vec![0.0; shape.v_len()], state };
    let mut s = vec![vec![0.0; shape.head_v]; shape.head_k];
    for h in 0..shape.value_heads {
        for (b, t) in (0..shape.batch).flat_map(|b| (0..shape.tokens).map(move |t| (b, t))) {
            let n = sequence_of(problem, b, t);
            copy_state(problem, &mut s, &outputs.state, (n, h));
            let row = step(&mut s, &token(problem, (b, t, h)));
            let first = shape.head_row(b, t, h) * shape.head_v;
            outputs.o[first..first + shape.head_v].copy_from_slice(&row);
            store_state(problem, &s, &mut outputs.state, (n, h));
        }
    }
    Ok(outputs)
}

/// The sequence that a token belongs to: the last one that starts at or before it, empty ones left out.
fn sequence_of(problem: &Problem, b: usize, t: usize) -> usize {
    let Some(ends) = &problem.cu_seqlens else { return b };
    let ends_after = |end: &i64| usize::try_from(*end).is_ok_and(|end| end > t);
    ends.iter().skip(1).position(ends_after).unwrap_or_default()
}

fn copy_state(problem: &Problem, s: &mut [Vec<f64>], state: &[f64], (n, h): (usize, usize)) {
    for (k, channel) in s.iter_mut().enumerate() {
        for (v, element) in channel.iter_mut().enumerate() {
            *element = state[problem.shape.state_index(n, h, k, v)];
        }
    }
}

fn store_state(problem: &Problem, s: &[Vec<f64>], state: &mut [f64], (n, h): (usize, usize)) {
    for (k, channel) in s.iter().enumerate() {
        for (v, element) in channel.iter().enumerate() {
            state[problem.shape.state_index(n, h, k, v)] = *element;
        }
    }
}

fn token(problem: &Problem, (b, t, h): (usize, usize, usize)) -> Token {
    let (shape, layouts) = (&problem.shape, &problem.layouts);
    let row = |layout: RowLayout, h: usize| b * layout.batch + t * layout.token + h * layout.head;
    let slice = |tensor: &Stored, first: usize, len: usize| -> Vec<f64> {
        (first..first + len).map(|index| tensor.f64_at(index)).collect()
    };
    let key_row = |tensor: &Stored, layout: RowLayout| {
        let x = slice(tensor, row(layout, shape.key_head(h)), shape.head_k);
        if problem.l2_norm { l2_normalised(x) } else { x }
    };
    let gates = shape.gate_channels();
    let gate_row = row(layouts.gate, h);
    let decay = |k| libm::exp(problem.gate.log_decay(shape, gate_row, h, k % gates));
    let b_row = row(layouts.beta, h);
    Token {
        q: key_row(&problem.q, layouts.q),
        k: key_row(&problem.k, layouts.k),
        v: slice(&problem.v, row(layouts.v, h), shape.head_v),
        decay: (0..shape.head_k).map(decay).collect(),
        beta: match &problem.beta {
            Beta::Given(b) => b.f64_at(b_row),
            Beta::Sigmoid(b) => sigmoid(b.f64_at(b_row)),
            Beta::TwiceSigmoid(b) => 2.0 * sigmoid(b.f64_at(b_row)),
        },
        scale: f64::from(problem.scale),
    }
}

fn l2_normalised(x: Vec<f64>) -> Vec<f64> {
    let length = libm::sqrt(x.iter().map(|x| x * x).sum::<f64>() + L2_NORM_EPSILON);
    x.into_iter().map(|x| x / length).collect()
}
