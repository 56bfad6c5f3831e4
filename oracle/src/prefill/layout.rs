//! Where the rows of a tensor [B, T, H, D] lie; the channels of a row are neighbours.

use super::{Beta, Problem};
use crate::{DeltaShape, GateInput, RawGate, Stored};

/// Distances in elements from one row to the next along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// From one batch row to the next.
    pub batch: usize,
    /// From one token to the next.
    pub token: usize,
    /// From one head to the next.
    pub head: usize,
}

/// The layout of every tensor of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layouts {
    /// [B, T, HK, K].
    pub q: RowLayout,
    /// [B, T, HK, K].
    pub k: RowLayout,
    /// [B, T, HV, V].
    pub v: RowLayout,
    /// [B, T, HV, gate channels].
    pub gate: RowLayout,
    /// [B, T, HV, 1].
    pub beta: RowLayout,
    /// [B, T, HV, V].
    pub o: RowLayout,
}

impl RowLayout {
    /// [B, T, H, D] without gaps.
    pub fn token_major(tokens: usize, heads: usize, channels: usize) -> RowLayout {
        RowLayout { batch: tokens * heads * channels, token: heads * channels, head: channels }
    }

    /// [B, H, T, D] without gaps.
    pub fn head_major(tokens: usize, heads: usize, channels: usize) -> RowLayout {
        RowLayout { batch: tokens * heads * channels, token: channels, head: tokens * channels }
    }

    /// Where each row starts, in elements.
    pub fn rows(self, batch: usize, tokens: usize, heads: usize) -> impl Iterator<Item = usize> {
        (0..batch).flat_map(move |b| {
            (0..tokens).flat_map(move |t| {
                (0..heads).map(move |h| b * self.batch + t * self.token + h * self.head)
            })
        })
    }

    /// Elements that a tensor of these dimensions needs; none when it has no row.
    pub fn extent(&self, batch: usize, tokens: usize, heads: usize, channels: usize) -> usize {
        match (batch.checked_sub(1), tokens.checked_sub(1), heads.checked_sub(1)) {
            (Some(b), Some(t), Some(h)) => {
                b * self.batch + t * self.token + h * self.head + channels
            }
            _ => 0,
        }
    }
}

impl Layouts {
    /// Every tensor [B, T, H, D].
    pub fn token_major(shape: &DeltaShape) -> Layouts {
        Layouts::all(shape, RowLayout::token_major)
    }

    /// Every tensor [B, H, T, D].
    pub fn head_major(shape: &DeltaShape) -> Layouts {
        Layouts::all(shape, RowLayout::head_major)
    }

    /// Every tensor [B, T, H, D] with so many free elements behind each row.
    pub fn gapped(shape: &DeltaShape, gap: usize) -> Layouts {
        let row = |tokens, heads, channels| RowLayout::token_major(tokens, heads, channels + gap);
        Layouts::all(shape, row)
    }

    fn all(shape: &DeltaShape, layout: impl Fn(usize, usize, usize) -> RowLayout) -> Layouts {
        let keys = layout(shape.tokens, shape.key_heads, shape.head_k);
        let values = |channels| layout(shape.tokens, shape.value_heads, channels);
        Layouts {
            q: keys,
            k: keys,
            v: values(shape.head_v),
            gate: values(shape.gate_channels()),
            beta: values(1),
            o: values(shape.head_v),
        }
    }
}

impl Problem {
    /// The same problem with its tensors laid out otherwise; gaps between rows hold NaN.
    pub fn relaid(&self, layouts: Layouts) -> Problem {
        let shape = &self.shape;
        let (keys, values) = (shape.key_heads, shape.value_heads);
        let (from, to) = (&self.layouts, &layouts);
        let rows =
            |x: &Stored, from, to, heads, channels| moved(shape, x, from, to, heads, channels);
        let gate = |x: &Stored| rows(x, from.gate, to.gate, values, shape.gate_channels());
        let raw = |raw: &RawGate| RawGate { g_raw: gate(&raw.g_raw), ..raw.clone() };
        let beta = |b: &Stored| rows(b, from.beta, to.beta, values, 1);
        Problem {
            layouts,
            q: rows(&self.q, from.q, to.q, keys, shape.head_k),
            k: rows(&self.k, from.k, to.k, keys, shape.head_k),
            v: rows(&self.v, from.v, to.v, values, shape.head_v),
            beta: match &self.beta {
                Beta::Given(b) => Beta::Given(beta(b)),
                Beta::Sigmoid(b) => Beta::Sigmoid(beta(b)),
                Beta::TwiceSigmoid(b) => Beta::TwiceSigmoid(beta(b)),
            },
            gate: match &self.gate {
                GateInput::LogDecay(g) => {
                    let g = gate(&Stored::F32(g.clone()));
                    GateInput::LogDecay((0..g.len()).map(|index| g.f32_at(index)).collect())
                }
                GateInput::Softplus(gate) => GateInput::Softplus(raw(gate)),
                GateInput::BoundedSigmoid { raw: gate, lower_bound_nats } => {
                    let lower_bound_nats = *lower_bound_nats;
                    GateInput::BoundedSigmoid { raw: raw(gate), lower_bound_nats }
                }
            },
            ..self.clone()
        }
    }
}

/// A tensor of `heads` and `channels` with its rows moved from one layout to another, NaN between them: whole batch
/// rows, where a layout has gaps behind their last tokens.
pub(super) fn moved(
    shape: &DeltaShape,
    x: &Stored,
    from: RowLayout,
    to: RowLayout,
    heads: usize,
    channels: usize,
) -> Stored {
    let extent = to.extent(shape.batch, shape.tokens, heads, channels);
    let mut values = vec![f64::NAN; extent.max(shape.batch * to.batch)];
    for b in 0..shape.batch {
        for t in 0..shape.tokens {
            for h in 0..heads {
                let first =
                    |layout: RowLayout| b * layout.batch + t * layout.token + h * layout.head;
                for d in 0..channels {
                    values[first(to) + d] = x.f64_at(first(from) + d);
                }
            }
        }
    }
    Stored::round(x.dtype(), values)
}
