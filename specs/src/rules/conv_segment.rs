//! A segment of a conv chunk has at least width - 1 tokens, and one. A workgroup finds the samples before its segment
//! in the history, when it is the sequence's first, and else in x: a shorter segment would need both.

use crate::conv_chunk::ConvChunkSpec;
use crate::rule::{Rule, Violation};
use crate::rules::conv_width::MAX_WIDTH;

pub(crate) const RULE: Rule<ConvChunkSpec> =
    Rule { id: "conv_segment", file: include_str!("conv_segment.rs"), check };

fn check(spec: &ConvChunkSpec) -> Vec<Violation> {
    // A width beyond its own limit has a violation of its own.
    let least = spec.step.history_len().clamp(1, MAX_WIDTH - 1);
    let legal = spec.segment >= least && spec.segment <= i32::MAX.unsigned_abs();
    if legal { Vec::new() } else { vec![violation(spec.segment, least)] }
}

fn violation(segment: u32, least: u32) -> Violation {
    let most = i32::MAX.unsigned_abs();
    Violation {
        rule: RULE.id,
        field: "segment",
        got: segment.to_string(),
        limit: format!("{least} to {most}"),
        unit: "tokens",
        source: "the conv chunk's contract",
        hint: format!("nearest legal: segment = {}", segment.clamp(least, most)),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{conv, conv_chunk, refused};
    use crate::{ConvChunkSpec, ConvStepSpec};

    fn of(width: u32, segment: u32) -> ConvChunkSpec {
        ConvChunkSpec { step: ConvStepSpec { width, ..conv() }, segment }
    }

    #[test]
    fn accepts_both_ends() {
        for (width, segment) in [(1, 1), (2, 1), (16, 15), (4, i32::MAX as u32)] {
            assert_eq!(of(width, segment).check(), []);
        }
        assert_eq!(conv_chunk().check(), []);
    }

    #[test]
    fn refuses_what_lies_outside() {
        for (width, segment, hint) in
            [(1, 0, "segment = 1"), (16, 14, "segment = 15"), (4, u32::MAX, "segment = 2147483647")]
        {
            let words = [&format!("got {segment}"), "tokens", hint];
            refused(&of(width, segment).check(), "conv_segment", "segment", &words);
        }
    }
}
