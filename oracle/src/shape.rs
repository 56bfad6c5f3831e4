//! Dimensions of a gated delta-rule problem and where its elements lie.

use specs::{DecodeStepSpec, Family, HeadMap, StateLayout};

use crate::OracleError;

/// Dimensions of one problem. Tensors are row-major: q, k [B, T, HK, K]; v, o [B, T, HV, V];
/// β [B, T, HV]; gates [B, T, HV] or, one a key channel, [B, T, HV, K].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaShape {
    /// Sequences, B.
    pub batch: usize,
    /// Tokens of each sequence, T; 1 for a decode step.
    pub tokens: usize,
    /// Key heads, HK.
    pub key_heads: usize,
    /// Value heads, HV, a multiple of HK.
    pub value_heads: usize,
    /// Key channels of a head, K.
    pub head_k: usize,
    /// Value channels of a head, V.
    pub head_v: usize,
    /// Which key head a value head reads.
    pub head_map: HeadMap,
    /// Order of the state's channel axes.
    pub state_layout: StateLayout,
    /// Whether every key channel has a gate of its own (KDA) or a value head has one (GDN).
    pub per_channel_gate: bool,
}

impl DeltaShape {
    /// The problem of a decode kernel over `batch` sequences.
    pub fn of_decode_step(spec: &DecodeStepSpec, batch: usize) -> DeltaShape {
        DeltaShape {
            batch,
            tokens: 1,
            key_heads: spec.key_heads as usize,
            value_heads: spec.value_heads as usize,
            head_k: spec.head_k as usize,
            head_v: spec.head_v as usize,
            head_map: spec.head_map,
            state_layout: spec.state_layout,
            per_channel_gate: spec.family == Family::Kda,
        }
    }

    /// Refuses dimensions that describe no problem.
    ///
    /// # Errors
    /// [`OracleError::Dimension`] names the first bad one.
    pub fn check(&self) -> Result<(), OracleError> {
        let positive = [
            ("key_heads", self.key_heads),
            ("value_heads", self.value_heads),
            ("head_k", self.head_k),
            ("head_v", self.head_v),
        ];
        if let Some(&(field, got)) = positive.iter().find(|(_, got)| *got == 0) {
            return Err(OracleError::Dimension { field, got, limit: "at least 1" });
        }
        if !self.value_heads.is_multiple_of(self.key_heads) {
            let (field, got) = ("value_heads", self.value_heads);
            return Err(OracleError::Dimension { field, got, limit: "a multiple of key_heads" });
        }
        Ok(())
    }

    /// Key head that value head `h` reads.
    pub fn key_head(&self, h: usize) -> usize {
        match self.head_map {
            HeadMap::Grouped => h / (self.value_heads / self.key_heads),
            HeadMap::Tiled => h % self.key_heads,
        }
    }

    /// Gates of one value head at one token: 1 or K.
    pub fn gate_channels(&self) -> usize {
        if self.per_channel_gate { self.head_k } else { 1 }
    }

    /// Elements of q and of k.
    pub fn qk_len(&self) -> usize {
        self.batch * self.tokens * self.key_heads * self.head_k
    }

    /// Elements of v and of o.
    pub fn v_len(&self) -> usize {
        self.beta_len() * self.head_v
    }

    /// Elements of β.
    pub fn beta_len(&self) -> usize {
        self.batch * self.tokens * self.value_heads
    }

    /// Elements of the gates.
    pub fn gate_len(&self) -> usize {
        self.beta_len() * self.gate_channels()
    }

    /// Elements of one sequence's state.
    pub fn state_row_len(&self) -> usize {
        self.value_heads * self.head_k * self.head_v
    }

    /// Flat index of (token row, value head): of β as it is; times V, of v and o; times the gate
    /// channels, of the gates.
    pub(crate) fn head_row(&self, b: usize, t: usize, h: usize) -> usize {
        (b * self.tokens + t) * self.value_heads + h
    }

    /// Flat index of channel 0 of q and k for value head `h`.
    pub(crate) fn qk_row(&self, b: usize, t: usize, h: usize) -> usize {
        ((b * self.tokens + t) * self.key_heads + self.key_head(h)) * self.head_k
    }

    /// Flat index of state element (k, v) of value head `h` in state row `row`.
    pub(crate) fn state_index(&self, row: usize, h: usize, k: usize, v: usize) -> usize {
        let head = (row * self.value_heads + h) * self.head_k * self.head_v;
        head + match self.state_layout {
            StateLayout::KFirst => k * self.head_v + v,
            StateLayout::VFirst => v * self.head_k + k,
        }
    }
}
