//! The conv chunk: many tokens of a causal convolution for packed sequences, each as a conv step.
//!
//! ```text
//! stream of sequence n = [history[n, c, 0], …, history[n, c, W−2], x of its tokens, in order]
//! y of token t = act(bias[c] + Σ_w weight[c, w] · stream[t + w])       next_history = the stream's last W−1 samples
//! ```

use specs::{ConvChunkProblem, ConvChunkSpec, Dtype, packed};

use crate::conv_step::{self, Inputs, Outputs, output_limit};
use crate::error::expect_len;
use crate::measure::{Verdict, judge};
use crate::tensors::{Take, Tensors, put};
use crate::{OracleError, Stored, twin};

/// One problem of one conv chunk kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Dimensions; the batch is the sequences, N.
    pub shape: conv_step::Shape,
    /// Ends of the sequences, from 0 to all tokens: N + 1 numbers.
    pub ends: Vec<i32>,
    /// x is [T, D], the history [N, D, W−1].
    pub inputs: Inputs,
}

impl Case {
    /// The problem whose input tensors are these, under the names of the kernel's arguments.
    ///
    /// # Errors
    /// [`OracleError`] names the first tensor that is missing or has the wrong length.
    pub fn from_tensors(
        spec: &ConvChunkSpec,
        problem: &ConvChunkProblem,
        tensors: &Tensors,
    ) -> Result<Case, OracleError> {
        let shape = conv_step::Shape::of(&spec.step, problem.lengths.len());
        let ends = packed::sequence_ends(&problem.lengths);
        let case = Case { shape, ends, inputs: Inputs::take(&spec.step, &Take::new(tensors))? };
        case.steps()?;
        Ok(case)
    }

    /// The input tensors, history and ends included, under the names of the kernel's arguments.
    pub fn tensors(&self) -> Tensors {
        let mut tensors = self.inputs.tensors();
        let ends = self.ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        put(&mut tensors, "cu_seqlens", ends);
        tensors
    }

    /// The float64 outputs.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem.
    pub fn reference(&self) -> Result<Outputs, OracleError> {
        let (shape, inputs) = self.steps()?;
        let y = conv_step::reference(&shape, &inputs)?.y;
        Ok(Outputs { y, next_history: self.next_history()?.map(|history| history.to_f64()) })
    }

    /// What the kernel must write, bit for bit, under the names of its arguments.
    ///
    /// # Errors
    /// [`OracleError`] when the tensors do not describe one problem.
    pub fn twin(&self) -> Result<Tensors, OracleError> {
        let (shape, inputs) = self.steps()?;
        let mut tensors = Tensors::new();
        put(&mut tensors, "y", twin::conv_step::run(&shape, &inputs)?.y.to_le_bytes());
        if let Some(history) = self.next_history()? {
            put(&mut tensors, "next_history", history.to_le_bytes());
        }
        Ok(tensors)
    }

    /// Judges what a kernel wrote: `next_history` above width 1, and `y`.
    ///
    /// # Errors
    /// [`OracleError`] when an output is missing or has no whole elements, or the case is no problem.
    pub fn judge(&self, outputs: &Tensors) -> Result<Vec<(&'static str, Verdict)>, OracleError> {
        let reference = self.reference()?;
        let mut verdicts = Vec::new();
        if let Some(want) = &reference.next_history {
            verdicts.push(("next_history", self.judge_against("next_history", outputs, want)?));
        }
        verdicts.push(("y", self.judge_against("y", outputs, &reference.y)?));
        Ok(verdicts)
    }

    /// Judges one output against a reference from elsewhere, by the conv step's limits.
    ///
    /// # Errors
    /// [`OracleError`] when the output is missing or has no whole elements.
    pub fn judge_against(
        &self,
        output: &str,
        outputs: &Tensors,
        reference: &[f64],
    ) -> Result<Verdict, OracleError> {
        let (take, dtype): (_, Dtype) = (Take::new(outputs), self.inputs.x.dtype());
        match output == "y" {
            true => {
                let limit = |floor| output_limit(&self.shape, dtype, floor);
                Ok(judge(&take.floats("y", dtype)?, reference, limit))
            }
            false => Ok(judge(&take.floats("next_history", dtype)?, reference, |_| 0.0)),
        }
    }

    fn tokens(&self) -> usize {
        self.ends.last().map_or(0, |end| *end as usize)
    }

    /// Every token as one row of a batch of conv steps, with the samples before it as its history.
    fn steps(&self) -> Result<(conv_step::Shape, Inputs), OracleError> {
        let shape = conv_step::Shape { batch: self.tokens(), ..self.shape };
        let per_sequence = &self.inputs.history;
        if let Some(history) = per_sequence {
            expect_len("history", history.len(), self.shape.history_len())?;
        }
        expect_len("x", self.inputs.x.len(), shape.batch * shape.channels)?;
        let tokens =
            self.sequences().flat_map(|(n, start, end)| (start..end).map(move |t| (n, start, t)));
        let before: Vec<_> = tokens.flat_map(|(n, start, t)| self.samples(n, start, t)).collect();
        let history = per_sequence.as_ref().map(|_| self.gather(&before)).transpose()?;
        let inputs = Inputs { history, ..self.inputs.clone() };
        inputs.check(&shape)?;
        Ok((shape, inputs))
    }

    /// The histories behind the last tokens.
    fn next_history(&self) -> Result<Option<Stored>, OracleError> {
        let last: Vec<_> =
            self.sequences().flat_map(|(n, start, end)| self.samples(n, start, end)).collect();
        self.inputs.history.as_ref().map(|_| self.gather(&last)).transpose()
    }

    /// Every sequence with its first token and the end of its tokens.
    fn sequences(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let bounds = self.ends.windows(2).enumerate();
        bounds.map(|(n, bounds)| (n, bounds[0] as usize, bounds[1] as usize))
    }

    /// Where the W−1 samples before token `t` of sequence `n` are, channel by channel, oldest first.
    fn samples(&self, n: usize, start: usize, t: usize) -> Vec<Sample> {
        let (kept, channels) = (self.shape.width - 1, self.shape.channels);
        let sample = |c: usize, w: usize| match (t - start + w).checked_sub(kept) {
            Some(token) => Sample::Given((start + token) * channels + c),
            None => Sample::HandedIn((n * channels + c) * kept + t - start + w),
        };
        (0..channels).flat_map(|c| (0..kept).map(move |w| sample(c, w))).collect()
    }

    /// Samples with their own bits.
    fn gather(&self, samples: &[Sample]) -> Result<Stored, OracleError> {
        let dtype = self.inputs.x.dtype();
        let unit = specs::Element::from(dtype).size_bytes() as usize;
        let given = self.inputs.x.to_le_bytes();
        let handed_in = self.inputs.history.as_ref().map(Stored::to_le_bytes).unwrap_or_default();
        let mut bytes = Vec::with_capacity(samples.len() * unit);
        for sample in samples {
            let (from, index) = match sample {
                Sample::Given(index) => (&given, *index),
                Sample::HandedIn(index) => (&handed_in, *index),
            };
            bytes.extend_from_slice(&from[index * unit..][..unit]);
        }
        Stored::from_le_bytes("history", dtype, &bytes)
    }
}

/// Where a sample is: an element of x, or of the history.
#[derive(Clone, Copy)]
enum Sample {
    Given(usize),
    HandedIn(usize),
}
