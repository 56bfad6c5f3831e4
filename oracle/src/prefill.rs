//! Chunked prefill: problems of any number of tokens, and two float64 references for them.
//!
//! * [`serial`] walks token by token, with the recurrence that the decode step's reference uses.
//! * [`tile`] works chunk by chunk as the prefill kernels do, in matrices, and gives their stage
//!   tensors: exponents of decays are sums over the tokens between two rows, the triangular system is
//!   solved row by row. It shares no arithmetic with the recurrence: no gate, no norm, no addressing.
//!
//! Two mistakes would have to agree to go unseen. Neither sees what float32 or a narrower type rounds.

pub mod case;
mod layout;
pub mod limits;
mod placement;
pub mod serial;
pub mod stages;
pub mod tile;

use crate::error::expect_len;
use crate::{DeltaShape, GateInput, OracleError, Stored};

pub use case::{Case, Kernels};
pub use layout::{Layouts, RowLayout};
pub use limits::Limits;
pub use placement::Placement;

/// What an l2 norm adds to the sum of squares.
pub const L2_NORM_EPSILON: f64 = 1e-6;

/// Tensors of one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Dimensions of the tensors; packed sequences have a batch of 1, and `tokens` of all of them.
    pub shape: DeltaShape,
    /// Ends of packed sequences, from 0 to all tokens: N + 1 numbers. Absent: every batch row is a
    /// sequence. Sequences may be empty.
    pub cu_seqlens: Option<Vec<i64>>,
    /// Where the rows of the tensors lie.
    pub layouts: Layouts,
    /// Queries, [B, T, HK, K].
    pub q: Stored,
    /// Keys, [B, T, HK, K].
    pub k: Stored,
    /// Values, [B, T, HV, V].
    pub v: Stored,
    /// Step sizes, [B, T, HV].
    pub beta: Beta,
    /// Log decays or what they are made from, [B, T, HV] or [B, T, HV, K].
    pub gate: GateInput,
    /// Whether each row of q and of k is divided by its length,
    /// `√(Σ x² + `[`L2_NORM_EPSILON`]`)`.
    pub l2_norm: bool,
    /// Initial states, [N, HV, K, V] or [N, HV, V, K]; absent means zeros.
    pub initial_state: Option<Vec<f32>>,
    /// Factor of the readout.
    pub scale: f32,
}

/// Where the step sizes come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Beta {
    /// Used as given.
    Given(Stored),
    /// `σ(b)`.
    Sigmoid(Stored),
    /// `2·σ(b)`, which lets a state's eigenvalue be negative.
    TwiceSigmoid(Stored),
}

/// What a problem's outputs should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// [B, T, HV, V], dense, whatever the layout of o.
    pub o: Vec<f64>,
    /// Final states, [N, HV, K, V] or [N, HV, V, K].
    pub state: Vec<f64>,
}

impl Beta {
    /// The stored numbers.
    pub fn stored(&self) -> &Stored {
        match self {
            Beta::Given(b) | Beta::Sigmoid(b) | Beta::TwiceSigmoid(b) => b,
        }
    }
}

impl Problem {
    /// N: sequences, each with a state.
    pub fn sequences(&self) -> usize {
        match &self.cu_seqlens {
            Some(ends) => ends.len().saturating_sub(1),
            None => self.shape.batch,
        }
    }

    /// Refuses tensors that do not describe one problem.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor or dimension that is wrong.
    pub fn check(&self) -> Result<(), OracleError> {
        self.shape.check()?;
        self.check_ends()?;
        let (shape, layouts) = (&self.shape, &self.layouts);
        let at_least = |tensor, got, layout: RowLayout, heads, channels| {
            let need = layout.extent(shape.batch, shape.tokens, heads, channels);
            if got < need { Err(OracleError::TooShort { tensor, got, need }) } else { Ok(()) }
        };
        let (keys, values) = (shape.key_heads, shape.value_heads);
        at_least("q", self.q.len(), layouts.q, keys, shape.head_k)?;
        at_least("k", self.k.len(), layouts.k, keys, shape.head_k)?;
        at_least("v", self.v.len(), layouts.v, values, shape.head_v)?;
        at_least("beta", self.beta.stored().len(), layouts.beta, values, 1)?;
        let (gate, channels) = (self.gate_len(), shape.gate_channels());
        at_least("gate", gate, layouts.gate, values, channels)?;
        self.check_gate()?;
        match &self.initial_state {
            Some(state) => {
                let want = self.sequences() * shape.state_row_len();
                expect_len("h0", state.len(), want)
            }
            None => Ok(()),
        }
    }

    fn gate_len(&self) -> usize {
        match &self.gate {
            GateInput::LogDecay(g) => g.len(),
            GateInput::Softplus(raw) | GateInput::BoundedSigmoid { raw, .. } => raw.g_raw.len(),
        }
    }

    /// A positive log decay lets a state grow without bound and has no chunk form.
    fn check_gate(&self) -> Result<(), OracleError> {
        if let Some(raw) = self.gate.raw() {
            let biases = self.shape.value_heads * self.shape.gate_channels();
            expect_len("a_log", raw.a_log.len(), self.shape.value_heads)?;
            return expect_len("dt_bias", raw.dt_bias.len(), biases);
        }
        let GateInput::LogDecay(g) = &self.gate else { return Ok(()) };
        let (shape, layout) = (&self.shape, self.layouts.gate);
        let rows = layout.rows(shape.batch, shape.tokens, shape.value_heads);
        let mut gates = rows.flat_map(|row| row..row + shape.gate_channels());
        // A NaN is no more at most 0 than a positive number is. Between rows anything may stand.
        match gates.find(|index| g[*index].is_nan() || g[*index] > 0.0) {
            Some(index) => Err(OracleError::PositiveGate { index, got: g[index] }),
            None => Ok(()),
        }
    }

    fn check_ends(&self) -> Result<(), OracleError> {
        let Some(ends) = &self.cu_seqlens else { return Ok(()) };
        let refused = |index, limit| {
            let got = ends.get(index).copied();
            Err(OracleError::Sequences { index, got, limit })
        };
        if self.shape.batch != 1 {
            let (field, got) = ("batch", self.shape.batch);
            return Err(OracleError::Dimension { field, got, limit: "1 with packed sequences" });
        }
        if ends.first() != Some(&0) {
            return refused(0, "0, the start of the first sequence");
        }
        if let Some(index) = (1..ends.len()).find(|&n| ends[n] < ends[n - 1]) {
            return refused(index, "at least the number before it");
        }
        if ends.last().copied() != i64::try_from(self.shape.tokens).ok() {
            return refused(ends.len() - 1, "the number of tokens");
        }
        Ok(())
    }
}
