//! With `reduction = "lane_tree"`, K is a multiple of 4·`k_lanes`. Every lane of a group owns equally many
//! channels and reads them four at a time (16 bytes of f32 state); a remainder would need masked sums, in
//! another order than the one that the contract promises.

use super::key_lanes::LEGAL;
use super::nearest_multiple;
use crate::decode_step::{DecodeStepSpec, Reduction};
use crate::rule::{Rule, Violation};

/// Channels that a lane reads at once.
pub(super) const CHANNELS_PER_READ: u32 = 4;

pub(crate) const RULE: Rule<DecodeStepSpec> =
    Rule { id: "key_tiling", file: include_str!("key_tiling.rs"), check };

fn check(spec: &DecodeStepSpec) -> Vec<Violation> {
    match spec.reduction {
        Reduction::LaneTree { k_lanes }
            if LEGAL.contains(&k_lanes) && !tiles(spec.head_k, k_lanes) =>
        {
            vec![violation(spec.head_k, k_lanes)]
        }
        Reduction::LaneTree { .. } | Reduction::Serial => Vec::new(),
    }
}

/// Whether `k_lanes` lanes share `head_k` channels evenly.
pub(super) fn tiles(head_k: u32, k_lanes: u32) -> bool {
    head_k.is_multiple_of(CHANNELS_PER_READ * k_lanes)
}

fn violation(head_k: u32, k_lanes: u32) -> Violation {
    let step = CHANNELS_PER_READ * k_lanes;
    let fewer = LEGAL.into_iter().rev().find(|lanes| tiles(head_k, *lanes));
    let other = match fewer {
        Some(lanes) => format!("k_lanes = {lanes}"),
        None => "reduction = \"serial\"".to_owned(),
    };
    Violation {
        rule: RULE.id,
        field: "head_k",
        got: head_k.to_string(),
        limit: format!("a multiple of 4·k_lanes = {step}"),
        unit: "channels",
        source: "the decode step's contract",
        hint: format!("use {other} for this head, or head_k = {}", nearest_multiple(head_k, step)),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{decode, refused};
    use crate::{DecodeStepSpec, Reduction};

    fn shared(head_k: u32, k_lanes: u32) -> DecodeStepSpec {
        DecodeStepSpec { head_k, reduction: Reduction::LaneTree { k_lanes }, ..decode() }
    }

    #[test]
    fn accepts_multiples_and_any_serial_k() {
        assert_eq!(shared(32, 8).check(), []);
        assert_eq!(shared(24, 2).check(), []);
        assert_eq!(
            DecodeStepSpec { head_k: 7, reduction: Reduction::Serial, ..decode() }.check(),
            []
        );
    }

    #[test]
    fn refuses_a_remainder() {
        let words = ["got 48", "4·k_lanes = 32", "k_lanes = 4", "head_k = 32"];
        refused(&shared(48, 8).check(), "key_tiling", "head_k", &words);
    }

    #[test]
    fn offers_serial_where_no_lanes_fit() {
        refused(
            &shared(50, 8).check(),
            "key_tiling",
            "head_k",
            &["reduction = \"serial\"", "head_k = 64"],
        );
    }
}
