//! The gated delta rule, token by token, in float64.
//!
//! ```text
//! S ← Diag(exp(g)) · S        u = β · (v − Sᵀ k)        S ← S + k uᵀ        o = scale · Sᵀ q
//! ```
//!
//! This is the plain form: o is read out of the updated state, whatever shortened form a kernel
//! uses. Inputs are taken as stored and widened exactly.

use crate::error::expect_len;
use crate::{DeltaShape, GateInput, OracleError, Stored};

/// Tensors of one problem, in the layouts of [`DeltaShape`].
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// Queries.
    pub q: Stored,
    /// Keys.
    pub k: Stored,
    /// Values.
    pub v: Stored,
    /// Step sizes, used as given.
    pub beta: Stored,
    /// Log decays or what they are made from.
    pub gate: GateInput,
    /// The states that the sequences start from.
    pub state: State,
    /// Factor of the readout.
    pub scale: f32,
}

/// Where the states of a batch lie, f32.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// One state a sequence, [B, HV, K, V] or [B, HV, V, K]; the next states go to another buffer.
    Separate(Vec<f32>),
    /// States chosen by slot indices out of a pool and updated in place.
    Pool {
        /// [slots, HV, K, V] or [slots, HV, V, K].
        pool: Vec<f32>,
        /// One index a sequence, `[B]`.
        slots: Vec<i32>,
        /// The index that means *no sequence*: its row of o is zeros and no state changes.
        sentinel: i32,
    },
}

/// What a problem's outputs should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// [B, T, HV, V].
    pub o: Vec<f64>,
    /// Next states or the whole pool, laid out as the initial states.
    pub state: Vec<f64>,
}

impl State {
    /// The states' elements.
    pub fn values(&self) -> &[f32] {
        match self {
            State::Separate(values) | State::Pool { pool: values, .. } => values,
        }
    }

    /// State row of sequence `b`; `None` when it has none.
    pub fn row(&self, b: usize) -> Option<usize> {
        match self {
            State::Separate(_) => Some(b),
            State::Pool { slots, sentinel, .. } if slots[b] == *sentinel => None,
            State::Pool { slots, .. } => usize::try_from(slots[b]).ok(),
        }
    }

    fn check(&self, shape: &DeltaShape) -> Result<(), OracleError> {
        let row_len = shape.state_row_len();
        match self {
            State::Separate(values) => expect_len("state", values.len(), shape.batch * row_len),
            State::Pool { pool, slots, sentinel } => {
                let rows = pool.len() / row_len;
                expect_len("pool", pool.len(), rows * row_len)?;
                expect_len("slots", slots.len(), shape.batch)?;
                check_slots(slots, rows, *sentinel)
            }
        }
    }
}

impl Inputs {
    /// Refuses tensors that do not describe one problem of this shape.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor or dimension that is wrong.
    pub fn check(&self, shape: &DeltaShape) -> Result<(), OracleError> {
        shape.check()?;
        expect_len("q", self.q.len(), shape.qk_len())?;
        expect_len("k", self.k.len(), shape.qk_len())?;
        expect_len("v", self.v.len(), shape.v_len())?;
        expect_len("beta", self.beta.len(), shape.beta_len())?;
        self.gate.check(shape)?;
        self.state.check(shape)
    }
}

/// The float64 outputs of a problem of any number of tokens.
///
/// # Errors
/// [`OracleError`] when shape and tensors do not describe one problem.
pub fn token_serial(shape: &DeltaShape, inputs: &Inputs) -> Result<Outputs, OracleError> {
    inputs.check(shape)?;
    let state = inputs.state.values().iter().map(|&s| f64::from(s)).collect();
    let mut outputs = Outputs { o: vec![0.0; shape.v_len()], state };
    for b in 0..shape.batch {
        let Some(row) = inputs.state.row(b) else { continue };
        for h in 0..shape.value_heads {
            run_head(shape, inputs, (b, h, row), &mut outputs);
        }
    }
    Ok(outputs)
}

/// All tokens of value head `h` of sequence `b`, whose state is row `row`.
fn run_head(
    shape: &DeltaShape,
    inputs: &Inputs,
    (b, h, row): (usize, usize, usize),
    out: &mut Outputs,
) {
    let mut s = vec![vec![0.0; shape.head_v]; shape.head_k];
    for (k, channel) in s.iter_mut().enumerate() {
        for (v, element) in channel.iter_mut().enumerate() {
            *element = out.state[shape.state_index(row, h, k, v)];
        }
    }
    for t in 0..shape.tokens {
        let first = shape.head_row(b, t, h) * shape.head_v;
        let o = step(&mut s, &Token::gather(shape, inputs, (b, t, h)));
        out.o[first..first + shape.head_v].copy_from_slice(&o);
    }
    for (k, channel) in s.iter().enumerate() {
        for (v, element) in channel.iter().enumerate() {
            out.state[shape.state_index(row, h, k, v)] = *element;
        }
    }
}

/// One token of one value head.
pub(crate) struct Token {
    pub(crate) q: Vec<f64>,
    pub(crate) k: Vec<f64>,
    pub(crate) v: Vec<f64>,
    pub(crate) decay: Vec<f64>,
    pub(crate) beta: f64,
    pub(crate) scale: f64,
}

impl Token {
    fn gather(shape: &DeltaShape, inputs: &Inputs, (b, t, h): (usize, usize, usize)) -> Token {
        let (row, qk) = (shape.head_row(b, t, h), shape.qk_row(b, t, h));
        let slice = |tensor: &Stored, first: usize, len: usize| -> Vec<f64> {
            (first..first + len).map(|index| tensor.f64_at(index)).collect()
        };
        let gates = shape.gate_channels();
        let decay = |k| libm::exp(inputs.gate.log_decay(shape, row * gates, h, k % gates));
        Token {
            q: slice(&inputs.q, qk, shape.head_k),
            k: slice(&inputs.k, qk, shape.head_k),
            v: slice(&inputs.v, row * shape.head_v, shape.head_v),
            decay: (0..shape.head_k).map(decay).collect(),
            beta: inputs.beta.f64_at(row),
            scale: f64::from(inputs.scale),
        }
    }
}

/// Updates the state `s[k][v]` by one token and reads it out.
pub(crate) fn step(s: &mut [Vec<f64>], token: &Token) -> Vec<f64> {
    for (channel, decay) in s.iter_mut().zip(&token.decay) {
        channel.iter_mut().for_each(|element| *element *= decay);
    }
    let predicted = transposed_product(s, &token.k);
    let u: Vec<f64> = token.v.iter().zip(&predicted).map(|(v, p)| token.beta * (v - p)).collect();
    for (channel, k) in s.iter_mut().zip(&token.k) {
        channel.iter_mut().zip(&u).for_each(|(element, u)| *element += k * u);
    }
    transposed_product(s, &token.q).iter().map(|o| token.scale * o).collect()
}

/// `Sᵀ x`.
fn transposed_product(s: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; s.first().map_or(0, Vec::len)];
    for (channel, x) in s.iter().zip(x) {
        product.iter_mut().zip(channel).for_each(|(sum, element)| *sum += element * x);
    }
    product
}

fn check_slots(slots: &[i32], rows: usize, sentinel: i32) -> Result<(), OracleError> {
    let mut named_by = vec![None; rows];
    for (row, &got) in slots.iter().enumerate().filter(|(_, got)| **got != sentinel) {
        let slot = usize::try_from(got).ok().and_then(|slot| named_by.get_mut(slot));
        let slot = slot.ok_or(OracleError::Slot { row, got, slots: rows, sentinel })?;
        if let Some(first) = slot.replace(row) {
            return Err(OracleError::DuplicateSlot { row, first, got });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use specs::{HeadMap, StateLayout};

    use super::*;

    /// One head, K = 2, V = 1, worked out by hand.
    fn tiny(tokens: usize) -> (DeltaShape, Inputs) {
        let shape = DeltaShape {
            batch: 1,
            tokens,
            key_heads: 1,
            value_heads: 1,
            head_k: 2,
            head_v: 1,
            head_map: HeadMap::Grouped,
            state_layout: StateLayout::KFirst,
            per_channel_gate: true,
        };
        let inputs = Inputs {
            q: Stored::F32([1.0, 10.0].repeat(tokens)),
            k: Stored::F32([0.5, 2.0].repeat(tokens)),
            v: Stored::F32(vec![7.0; tokens]),
            beta: Stored::F32(vec![0.5; tokens]),
            gate: GateInput::LogDecay([0.0, f32::NEG_INFINITY].repeat(tokens)),
            state: State::Separate(vec![4.0, 100.0]),
            scale: 0.5,
        };
        (shape, inputs)
    }

    #[test]
    fn by_hand() {
        // S = [4, 0]; p = 2; u = 2.5; S = [5.25, 5]; o = (5.25 + 50) / 2.
        let (shape, inputs) = tiny(1);
        let want = Outputs { o: vec![27.625], state: vec![5.25, 5.0] };
        assert_eq!(token_serial(&shape, &inputs), Ok(want));
        // Once more from there: S = [5.25, 0]; p = 2.625; u = 2.1875; S = [6.34375, 4.375].
        let (shape, inputs) = tiny(2);
        let want = Outputs { o: vec![27.625, 25.046875], state: vec![6.34375, 4.375] };
        assert_eq!(token_serial(&shape, &inputs), Ok(want));
    }

    #[test]
    fn no_tokens_pass_the_state_through() {
        let (shape, inputs) = tiny(0);
        let want = Outputs { o: vec![], state: vec![4.0, 100.0] };
        assert_eq!(token_serial(&shape, &inputs), Ok(want));
    }

    #[test]
    fn slots_are_checked() {
        let (shape, inputs) = tiny(1);
        let shape = DeltaShape { batch: 2, ..shape };
        let twice = |x: &Stored| Stored::round(x.dtype(), [x.to_f64(), x.to_f64()].concat());
        let with = |slots: [i32; 2]| Inputs {
            q: twice(&inputs.q),
            k: twice(&inputs.k),
            v: twice(&inputs.v),
            beta: twice(&inputs.beta),
            gate: GateInput::LogDecay(vec![0.0; 4]),
            state: State::Pool { pool: vec![1.0; 6], slots: slots.to_vec(), sentinel: -7 },
            scale: 1.0,
        };
        let outside = OracleError::Slot { row: 1, got: 3, slots: 3, sentinel: -7 };
        assert_eq!(with([0, 3]).check(&shape), Err(outside));
        let negative = OracleError::Slot { row: 0, got: -1, slots: 3, sentinel: -7 };
        assert_eq!(with([-1, 3]).check(&shape), Err(negative));
        let twice = OracleError::DuplicateSlot { row: 1, first: 0, got: 2 };
        assert_eq!(with([2, 2]).check(&shape), Err(twice));
        assert_eq!(with([-7, -7]).check(&shape), Ok(()));
        let got = token_serial(&shape, &with([-7, 1])).unwrap();
        assert_eq!((got.o[0], got.o[1] != 0.0), (0.0, true));
        assert_eq!((&got.state[..2], &got.state[4..]), (&[1.0; 2][..], &[1.0; 2][..]));
    }
}
