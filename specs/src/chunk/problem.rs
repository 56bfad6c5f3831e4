//! Problems of chunked prefill: how long the sequences are.

use serde::Serialize;

use super::ChunkSpec;
use crate::packed::{length_faults, read_lengths};
use crate::problem::{Parameters, ProblemFault, not_finite};
use crate::suggest::shown;

/// Sequences and tokens of each unless said otherwise: more than one chunk, and a tail.
pub(crate) const DEFAULT_SIZES: (u32, u32) = (1, 100);

/// What one launch of a prefill kernel chooses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrefillProblem {
    /// Tokens of every sequence, 0 and more; at least one sequence. Equal without `varlen`.
    pub lengths: Vec<u32>,
    /// The factor on q; finite.
    pub scale: f32,
}

impl PrefillProblem {
    /// Sequences.
    pub fn sequences(&self) -> u32 {
        u32::try_from(self.lengths.len()).unwrap_or(u32::MAX)
    }

    /// Tokens of all sequences.
    pub fn tokens(&self) -> u64 {
        self.lengths.iter().copied().map(u64::from).sum()
    }
}

/// Names of the parameters of a problem, with and without `varlen`.
pub(crate) fn parameters(varlen: bool) -> &'static [&'static str] {
    if varlen { &["batch", "lengths", "scale", "tokens"] } else { &["batch", "scale", "tokens"] }
}

/// The problem that texts describe; faults stay with them. Without `lengths`: `batch` sequences of `tokens` tokens
/// each, by default so many.
pub(crate) fn read(
    texts: &mut Parameters<'_>,
    default_scale: f32,
    default_sizes: (u32, u32),
) -> PrefillProblem {
    let lengths = read_lengths(texts, default_sizes);
    PrefillProblem { lengths, scale: texts.number("scale").unwrap_or(default_scale) }
}

/// Everything that is out of its limits.
pub(crate) fn faults(spec: &ChunkSpec, problem: &PrefillProblem) -> Vec<ProblemFault> {
    let common = spec.common();
    let mut faults = length_faults(&problem.lengths);
    let tokens = problem.tokens();
    let fault = |parameter: &str, got: String, expected: String, remedy: &str| ProblemFault {
        parameter: parameter.to_owned(),
        got,
        expected,
        remedy: remedy.to_owned(),
        unreadable: false,
    };
    if tokens == 0 && spec.scan().is_none() {
        let remedy = "a tile kernel alone has nothing to do: run it with its scan kernel, which passes states on";
        faults.push(fault("tokens", "0".to_owned(), "at least 1".to_owned(), remedy));
    }
    let unequal = problem.lengths.windows(2).find(|pair| pair[0] != pair[1]);
    if let Some(pair) = unequal.filter(|_| !common.varlen) {
        let got = format!("sequences of {} and {} tokens", pair[0], pair[1]);
        let remedy = "take a spec with varlen = true, or sequences of one length";
        faults.push(fault("lengths", got, "one length".to_owned(), remedy));
    }
    faults.extend(not_finite("scale", problem.scale, default_scale(common.head_k)));
    faults
}

/// The scale of a model that does not say otherwise: K^(−1/2), computed in f64 and rounded once.
pub(crate) fn default_scale(head_k: u32) -> f32 {
    // Square root and quotient are correctly rounded on every host.
    (1.0 / f64::from(head_k.max(1)).sqrt()) as f32
}

/// Lengths as a text lists them: `33,0,100`.
pub(crate) fn listed(text: &str) -> Result<Vec<u32>, String> {
    let one = |item: &str| {
        let item = item.trim();
        item.parse().map_err(|_| format!("'{}'", shown(item)))
    };
    text.split(',').map(one).collect()
}
