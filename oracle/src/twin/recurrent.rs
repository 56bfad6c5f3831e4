//! Float32 twin of the recurrent kernel: the decode step's twin, token by token.

use specs::Reduction;

use super::delta::{Head, Operands, channels_of_lanes};
use super::narrow;
use crate::prefill::{Beta, Problem};
use crate::{OracleError, Stored};

/// A kernel's outputs, in its types.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// [T, HV, V].
    pub o: Stored,
    /// Final states, [N, HV, K, V] or [N, HV, V, K].
    pub state: Vec<f32>,
}

/// The outputs of the kernel that sums over K in the order of `reduction`, for packed sequences without norm of q and
/// k, step sizes as given.
///
/// # Errors
/// [`OracleError`] when the problem is none of this kernel, or K does not divide into the lanes' shares.
pub fn run(problem: &Problem, reduction: Reduction) -> Result<Outputs, OracleError> {
    problem.check()?;
    let shape = &problem.shape;
    let (Beta::Given(beta), Some(ends), false) =
        (&problem.beta, &problem.cu_seqlens, problem.l2_norm)
    else {
        return Err(OracleError::ForeignProblem);
    };
    let Problem { q, k, v, gate, scale, .. } = problem;
    let operands = Operands { q, k, v, beta, gate, scale: *scale };
    let lanes = channels_of_lanes(shape, reduction)?;
    let states = problem.sequences() * shape.state_row_len();
    let mut state = problem.initial_state.clone().unwrap_or_else(|| vec![0.0; states]);
    let mut o = vec![0.0; shape.v_len()];
    for (n, bounds) in ends.windows(2).enumerate() {
        for t in bounds[0] as usize..bounds[1] as usize {
            for h in 0..shape.value_heads {
                let head = Head::gather(shape, &operands, (0, t, h));
                head.take(shape, &lanes, (n, h), &mut state, &mut o);
            }
        }
    }
    Ok(Outputs { o: narrow(v.dtype(), o), state })
}
