//! Float32 twin of attention to a paged cache.

use super::instruction::{LOG2E, exp2, max_num, rcp};
use super::narrow;
use crate::attention::{Inputs, Order, Shape};
use crate::{OracleError, Stored};

/// Channels that a lane reads at once.
const READ: usize = 8;

/// A softmax over the keys that some lanes have seen, of one query head.
#[derive(Clone, Debug)]
struct Softmax {
    max: f32,
    weight: f32,
    /// Of all channels.
    sums: Vec<f32>,
}

/// The output of the kernel, [rows, HQ, D].
///
/// # Errors
/// [`OracleError`] when shape and tensors do not describe one problem, or lanes do not share a head or a block evenly.
pub fn run(shape: &Shape, inputs: &Inputs, order: Order) -> Result<Stored, OracleError> {
    inputs.check(shape)?;
    let channels = channels_of_lanes(shape, order)?;
    let mut o = Vec::with_capacity(shape.query_len());
    for row in 0..shape.rows {
        let (sequence, context) = inputs.sees(row);
        for h in 0..shape.query_heads {
            let place = (row, h);
            let head = Head { shape, inputs, order, channels: &channels, place, sequence, context };
            o.extend(head.output());
        }
    }
    Ok(narrow(inputs.q.dtype(), o))
}

/// The channels that each lane of a key holds, in its order.
fn channels_of_lanes(shape: &Shape, order: Order) -> Result<Vec<Vec<usize>>, OracleError> {
    let distance = READ * order.key_lanes.max(1);
    if !shape.head_dim.is_multiple_of(distance) {
        let (field, got) = ("head_dim", shape.head_dim);
        return Err(OracleError::Dimension { field, got, limit: "a multiple of 8 · key lanes" });
    }
    if order.keys_at_once == 0 || !shape.block_size.is_multiple_of(order.keys_at_once) {
        let (field, got) = ("block_size", shape.block_size);
        return Err(OracleError::Dimension { field, got, limit: "a multiple of the keys at once" });
    }
    let reads = shape.head_dim / distance;
    let of_lane = |lane: usize| {
        let starts = (0..reads).map(move |read| read * distance + lane * READ);
        starts.flat_map(|start| start..start + READ).collect()
    };
    Ok((0..order.key_lanes).map(of_lane).collect())
}

/// One head of one query.
struct Head<'a> {
    shape: &'a Shape,
    inputs: &'a Inputs,
    order: Order,
    channels: &'a [Vec<usize>],
    /// Row of q and query head.
    place: (usize, usize),
    sequence: usize,
    /// Tokens that the query sees.
    context: usize,
}

impl Head<'_> {
    fn output(&self) -> Vec<f32> {
        if self.context == 0 {
            return vec![0.0; self.shape.head_dim];
        }
        let q = self.scaled_query();
        let waves: Vec<_> = (0..self.order.waves).map(|wave| self.wave(&q, wave)).collect();
        let whole = match waves.as_slice() {
            [only] => only.clone(),
            several => in_order(several),
        };
        let factor = rcp(whole.weight);
        whole.sums.iter().map(|sum| sum * factor).collect()
    }

    fn scaled_query(&self) -> Vec<f32> {
        let (d, (row, h)) = (self.shape.head_dim, self.place);
        let first = (row * self.shape.query_heads + h) * d;
        let factor = self.inputs.scale * LOG2E;
        (first..first + d).map(|at| self.inputs.q.f32_at(at) * factor).collect()
    }

    /// What a wave has after its blocks, in each of its lanes.
    fn wave(&self, q: &[f32], wave: usize) -> Softmax {
        let blocks = self.context.div_ceil(self.shape.block_size);
        let of_group = |group: usize| {
            let mut softmax = self.nothing();
            for block in (wave..blocks).step_by(self.order.waves) {
                self.take_block(q, block, group, &mut softmax);
            }
            softmax
        };
        let groups: Vec<_> = (0..self.order.keys_at_once).map(of_group).collect();
        across(&groups)
    }

    fn nothing(&self) -> Softmax {
        Softmax { max: f32::MIN, weight: 0.0, sums: vec![0.0; self.shape.head_dim] }
    }

    /// Takes in what a lane group holds of a block: one key a step.
    fn take_block(&self, q: &[f32], block: usize, group: usize, softmax: &mut Softmax) {
        let (size, context) = (self.shape.block_size, self.context);
        let tokens = (0..size / self.order.keys_at_once)
            .map(|step| block * size + step * self.order.keys_at_once + group);
        let tokens: Vec<_> = tokens.map(|token| (token < context).then_some(token)).collect();
        let score = |token: &Option<usize>| token.map_or(f32::NEG_INFINITY, |t| self.score(q, t));
        let scores: Vec<f32> = tokens.iter().map(score).collect();
        let max = scores.iter().fold(softmax.max, |max, score| max_num(max, *score));
        let factor = exp2(softmax.max - max);
        let weights: Vec<f32> = scores.iter().map(|score| exp2(score - max)).collect();
        let added = weights.iter().copied().reduce(|sum, weight| sum + weight).unwrap_or(0.0);
        softmax.weight = softmax.weight.mul_add(factor, added);
        for (channel, sum) in softmax.sums.iter_mut().enumerate() {
            *sum *= factor;
            for (token, weight) in tokens.iter().zip(&weights) {
                // What is not seen changes no sum, whichever zero that is.
                let v = token.map_or(-0.0, |token| self.value(token, channel));
                *sum = v.mul_add(*weight, *sum);
            }
        }
        softmax.max = max;
    }

    fn row(&self, token: usize) -> usize {
        self.inputs.row(self.shape, self.sequence, token, self.shape.key_head(self.place.1))
    }

    fn value(&self, token: usize, channel: usize) -> f32 {
        self.inputs.v_cache.f32_at(self.row(token) + channel)
    }

    /// Each lane over its channels at even and at odd places, then both; the lanes by a butterfly.
    fn score(&self, q: &[f32], token: usize) -> f32 {
        let row = self.row(token);
        let term = |sum: f32, d: &usize| self.inputs.k_cache.f32_at(row + d).mul_add(q[*d], sum);
        let lane = |channels: &Vec<usize>| {
            let half = |first: usize| channels.iter().skip(first).step_by(2).fold(0.0, term);
            half(0) + half(1)
        };
        butterfly(self.channels.iter().map(lane).collect(), |a, b| a + b)
    }
}

/// Lane groups by a butterfly: all get the same.
fn across(groups: &[Softmax]) -> Softmax {
    let max = butterfly(groups.iter().map(|group| group.max).collect(), max_num);
    let factors: Vec<f32> = groups.iter().map(|group| exp2(group.max - max)).collect();
    let sum = |part: &dyn Fn(&Softmax) -> f32| {
        let scaled = groups.iter().zip(&factors).map(|(group, factor)| part(group) * factor);
        butterfly(scaled.collect(), |a, b| a + b)
    };
    let channels = 0..groups[0].sums.len();
    Softmax {
        max,
        weight: sum(&|group| group.weight),
        sums: channels.map(|channel| sum(&|group| group.sums[channel])).collect(),
    }
}

/// Waves one after the other.
fn in_order(waves: &[Softmax]) -> Softmax {
    let max = waves.iter().map(|wave| wave.max).reduce(max_num).unwrap_or(f32::MIN);
    let mut whole = Softmax { max, weight: 0.0, sums: vec![0.0; waves[0].sums.len()] };
    for wave in waves {
        let factor = exp2(wave.max - max);
        whole.weight = wave.weight.mul_add(factor, whole.weight);
        for (sum, part) in whole.sums.iter_mut().zip(&wave.sums) {
            *sum = part.mul_add(factor, *sum);
        }
    }
    whole
}

/// For masks 1, 2, 4, … every place combines its value with that of place `place XOR mask`; the first one's result.
fn butterfly(mut values: Vec<f32>, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut mask = 1;
    while mask < values.len() {
        values = (0..values.len()).map(|at| combine(values[at], values[at ^ mask])).collect();
        mask *= 2;
    }
    values[0]
}
