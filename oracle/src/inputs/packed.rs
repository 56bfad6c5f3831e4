//! Tensors for kernels that take the steps of many tokens.

use specs::{ConvChunkProblem, ConvChunkSpec, PrefillProblem, RecurrentSpec, packed};

use super::{Generator, Sample};
use crate::prefill::{Beta, Layouts, Problem};
use crate::{conv_chunk, conv_step, recurrent};

/// Tensors for a recurrent kernel, as those of a decode kernel.
pub fn recurrent(
    spec: &RecurrentSpec,
    problem: &PrefillProblem,
    sample: &Sample,
) -> recurrent::Case {
    let shape = recurrent::shape(spec, problem);
    let make = Generator { seed: sample.seed, dtype: spec.step.dtype };
    let ends = packed::sequence_ends(&problem.lengths);
    let mut random = make.random("state");
    let states = problem.lengths.len() * shape.state_row_len();
    let state = || (0..states).map(|_| random.normal() as f32).collect();
    let problem = Problem {
        layouts: Layouts::token_major(&shape),
        cu_seqlens: Some(ends.into_iter().map(i64::from).collect()),
        q: make.unit_rows("q", shape.qk_len(), shape.head_k),
        k: make.unit_rows("k", shape.qk_len(), shape.head_k),
        v: make.normal("v", shape.v_len(), 0.0),
        beta: Beta::Given(make.uniform("beta", shape.beta_len(), (0.01, 0.99))),
        gate: make.gate(&shape, spec.step.gate, sample.gates),
        l2_norm: false,
        initial_state: spec.initial_state.then(state),
        scale: problem.scale,
        shape,
    };
    recurrent::Case { problem, reduction: spec.step.reduction, final_state: spec.final_state }
}

/// Tensors for a conv chunk kernel, as those of a conv kernel.
pub fn conv_chunk(
    spec: &ConvChunkSpec,
    problem: &ConvChunkProblem,
    sample: &Sample,
) -> conv_chunk::Case {
    let shape = conv_step::Shape::of(&spec.step, problem.lengths.len());
    let make = Generator { seed: sample.seed, dtype: spec.step.dtype };
    let ends = packed::sequence_ends(&problem.lengths);
    let rows = ends.last().map_or(0, |end| *end as usize);
    conv_chunk::Case { shape, ends, inputs: make.conv(&spec.step, &shape, rows) }
}
