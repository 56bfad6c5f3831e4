//! Float32 twin of the decode step.

use specs::Reduction;

use super::delta::{Head, Operands, channels_of_lanes};
use super::narrow;
use crate::delta_rule::Inputs;
use crate::{DeltaShape, OracleError, Stored};

/// A kernel's outputs, in its types.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// [B, HV, V].
    pub o: Stored,
    /// Next states or the whole pool.
    pub state: Vec<f32>,
}

/// The outputs of the kernel that sums over K in the order of `reduction`.
///
/// # Errors
/// [`OracleError`] when shape and tensors do not describe one decode step, or K does not divide into
/// the lanes' shares.
pub fn run(
    shape: &DeltaShape,
    inputs: &Inputs,
    reduction: Reduction,
) -> Result<Outputs, OracleError> {
    if shape.tokens != 1 {
        return Err(OracleError::Dimension { field: "tokens", got: shape.tokens, limit: "1" });
    }
    inputs.check(shape)?;
    let lanes = channels_of_lanes(shape, reduction)?;
    let Inputs { q, k, v, beta, gate, scale, .. } = inputs;
    let operands = Operands { q, k, v, beta, gate, scale: *scale };
    let mut state = inputs.state.values().to_vec();
    let mut o = vec![0.0; shape.v_len()];
    for b in 0..shape.batch {
        let Some(row) = inputs.state.row(b) else { continue };
        for h in 0..shape.value_heads {
            let head = Head::gather(shape, &operands, (b, 0, h));
            head.take(shape, &lanes, (row, h), &mut state, &mut o);
        }
    }
    Ok(Outputs { o: narrow(inputs.v.dtype(), o), state })
}
