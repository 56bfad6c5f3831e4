//! Float32 twin of one token of the gated delta rule: what the decode step and the recurrent kernel promise alike.

use specs::{Reduction, StateLayout};

use super::gate::log_decay;
use super::instruction::{LOG2E, exp2};
use crate::{DeltaShape, GateInput, OracleError, Stored};

/// Tensors of tokens, in the layouts of [`DeltaShape`].
pub(super) struct Operands<'a> {
    pub(super) q: &'a Stored,
    pub(super) k: &'a Stored,
    pub(super) v: &'a Stored,
    pub(super) beta: &'a Stored,
    pub(super) gate: &'a GateInput,
    pub(super) scale: f32,
}

/// Operands that all columns of one value head share.
pub(super) struct Head<'a> {
    v: &'a Stored,
    /// Where the head's row of v and o starts.
    first: usize,
    decay: Vec<f32>,
    k: Vec<f32>,
    q_hat: Vec<f32>,
    beta: f32,
}

impl<'a> Head<'a> {
    /// Value head `h` of token `t` of batch row `b`.
    pub(super) fn gather(
        shape: &DeltaShape,
        operands: &Operands<'a>,
        (b, t, h): (usize, usize, usize),
    ) -> Head<'a> {
        let (row, qk) = (shape.head_row(b, t, h), shape.qk_row(b, t, h));
        let gates = shape.gate_channels();
        let channels = 0..shape.head_k;
        Head {
            v: operands.v,
            first: row * shape.head_v,
            decay: channels
                .clone()
                .map(|k| decay(shape, operands.gate, (row, h), k % gates))
                .collect(),
            k: channels.clone().map(|k| operands.k.f32_at(qk + k)).collect(),
            q_hat: channels.map(|k| operands.q.f32_at(qk + k) * operands.scale).collect(),
            beta: operands.beta.f32_at(row),
        }
    }

    /// Takes the token into the head's state in state row `row`, and writes its output.
    pub(super) fn take(
        &self,
        shape: &DeltaShape,
        lanes: &[Vec<usize>],
        (row, h): (usize, usize),
        state: &mut [f32],
        o: &mut [f32],
    ) {
        for v in 0..shape.head_v {
            let index = |k| shape.state_index(row, h, k, v);
            let mut column: Vec<f32> = (0..shape.head_k).map(|k| state[index(k)]).collect();
            o[self.first + v] = self.step(lanes, self.v.f32_at(self.first + v), &mut column);
            column.iter().enumerate().for_each(|(k, s)| state[index(k)] = *s);
        }
    }

    /// Updates one column of the state and gives its output.
    fn step(&self, lanes: &[Vec<usize>], v: f32, column: &mut [f32]) -> f32 {
        column.iter_mut().zip(&self.decay).for_each(|(s, decay)| *s *= decay);
        let p = reduce(lanes, column, &self.k);
        let r = reduce(lanes, column, &self.q_hat);
        let c = reduce(lanes, &self.k, &self.q_hat);
        let u = (v - p) * self.beta;
        column.iter_mut().zip(&self.k).for_each(|(s, k)| *s = k.mul_add(u, *s));
        u.mul_add(c, r)
    }
}

/// The channels that each lane sums, in its order.
pub(super) fn channels_of_lanes(
    shape: &DeltaShape,
    reduction: Reduction,
) -> Result<Vec<Vec<usize>>, OracleError> {
    let lanes = match reduction {
        Reduction::Serial => return Ok(vec![(0..shape.head_k).collect()]),
        Reduction::LaneTree { k_lanes } => k_lanes as usize,
    };
    if !lanes.is_power_of_two() {
        return Err(OracleError::Dimension {
            field: "k_lanes",
            got: lanes,
            limit: "a power of two",
        });
    }
    if !shape.head_k.is_multiple_of(4 * lanes) {
        let (field, got) = ("head_k", shape.head_k);
        return Err(OracleError::Dimension { field, got, limit: "a multiple of 4 · k_lanes" });
    }
    let block = shape.head_k / lanes;
    let channels = |lane: usize| match shape.state_layout {
        StateLayout::KFirst => (lane * block..(lane + 1) * block).collect(),
        StateLayout::VFirst => (0..block).map(|n| 4 * (lane + lanes * (n / 4)) + n % 4).collect(),
    };
    Ok((0..lanes).map(channels).collect())
}

/// `Σ a·b`: each lane over its channels, then the lanes by a butterfly.
fn reduce(lanes: &[Vec<usize>], a: &[f32], b: &[f32]) -> f32 {
    let own = |channels: &Vec<usize>| channels.iter().fold(0.0, |sum, &k| a[k].mul_add(b[k], sum));
    let mut sums: Vec<f32> = lanes.iter().map(own).collect();
    let mut mask = 1;
    while mask < sums.len() {
        sums = (0..sums.len()).map(|lane| sums[lane] + sums[lane ^ mask]).collect();
        mask *= 2;
    }
    sums[0]
}

/// The decay factor of `channel` of value head `h`, whose gates start at row `row`.
fn decay(shape: &DeltaShape, gate: &GateInput, (row, h): (usize, usize), channel: usize) -> f32 {
    let gates = shape.gate_channels();
    exp2(log_decay(gate, row * gates + channel, h, h * gates + channel) * LOG2E)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_channel_belongs_to_one_lane() {
        for state_layout in [StateLayout::KFirst, StateLayout::VFirst] {
            let shape = DeltaShape { state_layout, ..shape(64) };
            let lanes = channels_of_lanes(&shape, Reduction::LaneTree { k_lanes: 4 }).unwrap();
            let mut all = lanes.concat();
            all.sort_unstable();
            assert_eq!((lanes.len(), all), (4, (0..64).collect()));
        }
    }

    #[test]
    fn lanes_own_what_their_loads_bring() {
        let k_first = channels_of_lanes(&shape(32), Reduction::LaneTree { k_lanes: 4 }).unwrap();
        assert_eq!(k_first[1], [8, 9, 10, 11, 12, 13, 14, 15]);
        let v_first = DeltaShape { state_layout: StateLayout::VFirst, ..shape(32) };
        let v_first = channels_of_lanes(&v_first, Reduction::LaneTree { k_lanes: 4 }).unwrap();
        assert_eq!(v_first[1], [4, 5, 6, 7, 20, 21, 22, 23]);
    }

    #[test]
    fn butterfly_adds_neighbours_first() {
        // ((1 + 2^24) + (-2^24 + 1)) in pairs: 2^24 + -2^24 + 1 rounds the first one away.
        let big = 16_777_216.0;
        let lanes = [vec![0], vec![1], vec![2], vec![3]];
        assert_eq!(reduce(&lanes, &[1.0, big, -big, 1.0], &[1.0; 4]), 1.0);
        assert_eq!(reduce(&[vec![0, 1, 2, 3]], &[big, -big, 1.0, 1.0], &[1.0; 4]), 2.0);
    }

    #[test]
    fn shares_must_be_whole() {
        let uneven = channels_of_lanes(&shape(20), Reduction::LaneTree { k_lanes: 2 });
        let limit = "a multiple of 4 · k_lanes";
        assert_eq!(uneven, Err(OracleError::Dimension { field: "head_k", got: 20, limit }));
        let three = channels_of_lanes(&shape(24), Reduction::LaneTree { k_lanes: 3 });
        let limit = "a power of two";
        assert_eq!(three, Err(OracleError::Dimension { field: "k_lanes", got: 3, limit }));
    }

    fn shape(head_k: usize) -> DeltaShape {
        DeltaShape {
            batch: 1,
            tokens: 1,
            key_heads: 1,
            value_heads: 1,
            head_k,
            head_v: 4,
            head_map: specs::HeadMap::Grouped,
            state_layout: StateLayout::KFirst,
            per_channel_gate: false,
        }
    }
}
