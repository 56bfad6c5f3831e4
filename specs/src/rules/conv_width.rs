//! A convolution has 1 to 16 taps. At width 1 there is no history, so width 0 has no meaning; every tap of
//! a channel sits in a register, and no model comes near 16.

use crate::conv_step::ConvStepSpec;
use crate::rule::{Rule, Violation};

/// Most taps.
pub(super) const MAX_WIDTH: u32 = 16;

pub(crate) const RULE: Rule<ConvStepSpec> =
    Rule { id: "conv_width", file: include_str!("conv_width.rs"), check };

fn check(spec: &ConvStepSpec) -> Vec<Violation> {
    let legal = (1..=MAX_WIDTH).contains(&spec.width);
    if legal { Vec::new() } else { vec![violation(spec.width)] }
}

fn violation(width: u32) -> Violation {
    Violation {
        rule: RULE.id,
        field: "width",
        got: width.to_string(),
        limit: format!("1 to {MAX_WIDTH}"),
        unit: "taps",
        source: "the conv step's contract",
        hint: format!("nearest legal: width = {}", width.clamp(1, MAX_WIDTH)),
    }
}

#[cfg(test)]
mod tests {
    use crate::ConvStepSpec;
    use crate::rules::fixtures::{conv, refused};

    #[test]
    fn accepts_both_ends() {
        for width in [1, 2, 16] {
            assert_eq!(ConvStepSpec { width, ..conv() }.check(), []);
        }
    }

    #[test]
    fn refuses_what_lies_outside() {
        for (width, hint) in [(0, "width = 1"), (17, "width = 16"), (1000, "width = 16")] {
            let words = [&format!("got {width}"), "1 to 16", "taps", hint];
            refused(&ConvStepSpec { width, ..conv() }.check(), "conv_width", "width", &words);
        }
    }
}
