//! Problems of chunked prefill: how long the sequences are.

use serde::Serialize;

use super::{ChunkSpec, TokenLayout};
use crate::packed::{length_faults, read_lengths};
use crate::problem::{Parameters, ProblemFault, not_finite};
use crate::suggest::shown;

/// Sequences and tokens of each unless said otherwise: more than one chunk, and a tail.
pub(crate) const DEFAULT_SIZES: (u32, u32) = (1, 100);

/// Elements of which the gap behind a row is a multiple, so that rows start where 16-byte accesses are aligned, and the
/// gap unless said otherwise.
const ROW_GAP_STEP: u32 = 8;

/// Most elements of a gap: more than a row of any tensor that a model interleaves with others.
const MAX_ROW_GAP: u32 = 65_536;

/// What one launch of a prefill kernel chooses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrefillProblem {
    /// Tokens of every sequence, 0 and more; at least one sequence. Equal without `varlen`.
    pub lengths: Vec<u32>,
    /// The factor on q; finite.
    pub scale: f32,
    /// Elements that lie free behind every row, where rows are strided; a multiple of 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_gap: Option<u32>,
}

impl PrefillProblem {
    /// Sequences of these lengths, rows without gaps.
    pub fn of(lengths: Vec<u32>, scale: f32) -> PrefillProblem {
        PrefillProblem { lengths, scale, row_gap: None }
    }

    /// Sequences.
    pub fn sequences(&self) -> u32 {
        u32::try_from(self.lengths.len()).unwrap_or(u32::MAX)
    }

    /// Tokens of all sequences.
    pub fn tokens(&self) -> u64 {
        self.lengths.iter().copied().map(u64::from).sum()
    }

    /// Tokens of a batch row: of all sequences where they are packed, else of one.
    pub fn row_tokens(&self, varlen: bool) -> u64 {
        match varlen {
            true => self.tokens(),
            false => self.lengths.first().copied().unwrap_or(0).into(),
        }
    }
}

/// Names of the parameters of a problem.
pub(crate) fn parameters(varlen: bool, layout: TokenLayout) -> &'static [&'static str] {
    match (varlen, layout == TokenLayout::Strided) {
        (true, true) => &["batch", "lengths", "row_gap", "scale", "tokens"],
        (true, false) => &["batch", "lengths", "scale", "tokens"],
        (false, true) => &["batch", "row_gap", "scale", "tokens"],
        (false, false) => &["batch", "scale", "tokens"],
    }
}

/// The problem that texts describe; faults stay with them. Without `lengths`: `batch` sequences of `tokens` tokens
/// each, by default so many.
pub(crate) fn read(
    texts: &mut Parameters<'_>,
    default_scale: f32,
    default_sizes: (u32, u32),
    layout: TokenLayout,
) -> PrefillProblem {
    let lengths = read_lengths(texts, default_sizes);
    let gap = texts.count_from("row_gap", 0, MAX_ROW_GAP, ROW_GAP_STEP);
    let is_strided = layout == TokenLayout::Strided;
    PrefillProblem {
        lengths,
        scale: texts.number("scale").unwrap_or(default_scale),
        row_gap: is_strided.then(|| gap.unwrap_or(ROW_GAP_STEP)),
    }
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
    faults.extend(gap_fault(common.layout, problem.row_gap));
    faults
}

/// A fault unless rows have a gap where they are strided and only there, and a legal one.
fn gap_fault(layout: TokenLayout, row_gap: Option<u32>) -> Option<ProblemFault> {
    let is_legal = match (layout, row_gap) {
        (TokenLayout::Strided, Some(gap)) => gap.is_multiple_of(ROW_GAP_STEP) && gap <= MAX_ROW_GAP,
        (TokenLayout::Strided, None) => false,
        (TokenLayout::TokenMajor | TokenLayout::HeadMajor, gap) => gap.is_none(),
    };
    let expected = match layout {
        TokenLayout::Strided => format!("a multiple of {ROW_GAP_STEP}, at most {MAX_ROW_GAP}"),
        TokenLayout::TokenMajor | TokenLayout::HeadMajor => format!("none with layout {layout}"),
    };
    let nearest = row_gap.unwrap_or(0).min(MAX_ROW_GAP) / ROW_GAP_STEP * ROW_GAP_STEP;
    let fault = || ProblemFault {
        parameter: "row_gap".to_owned(),
        got: row_gap.map_or_else(|| "none".to_owned(), |gap| gap.to_string()),
        expected,
        remedy: format!("row_gap={nearest} with layout = \"strided\""),
        unreadable: false,
    };
    (!is_legal).then(fault)
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
