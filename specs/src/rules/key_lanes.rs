//! `k_lanes` is a power of two in [2, 16]. The lanes of a group add their sums pairwise by exchanging with
//! lane `j XOR mask`, mask = 1, 2, 4, …; that visits every lane of the group exactly for powers of two.
//! Sixteen lanes are the widest group whose exchanges stay inside a row of the hardware's data-parallel
//! primitives on both targets. A single lane is `reduction = "serial"`.

use crate::decode_step::{DecodeStepSpec, Reduction};
use crate::rule::{Rule, Violation};

/// Legal numbers of lanes.
pub(super) const LEGAL: [u32; 4] = [2, 4, 8, 16];

pub(crate) const RULE: Rule<DecodeStepSpec> =
    Rule { id: "key_lanes", file: include_str!("key_lanes.rs"), check };

fn check(spec: &DecodeStepSpec) -> Vec<Violation> {
    match spec.reduction {
        Reduction::LaneTree { k_lanes } if !LEGAL.contains(&k_lanes) => vec![violation(k_lanes)],
        Reduction::LaneTree { .. } | Reduction::Serial => Vec::new(),
    }
}

fn violation(k_lanes: u32) -> Violation {
    let hint = match LEGAL.into_iter().min_by_key(|legal| legal.abs_diff(k_lanes)) {
        Some(nearest) if k_lanes > 1 => format!("nearest legal: k_lanes = {nearest}"),
        _ => "use k_lanes = 2, or reduction = \"serial\" for one lane a column".to_owned(),
    };
    Violation {
        rule: RULE.id,
        field: "k_lanes",
        got: k_lanes.to_string(),
        limit: "2, 4, 8 or 16".to_owned(),
        unit: "lanes",
        source: "the decode step's contract; DPP rows of 16 lanes (CDNA and RDNA ISA manuals)",
        hint,
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{decode, refused};
    use crate::{DecodeStepSpec, Reduction};

    fn lanes(k_lanes: u32) -> DecodeStepSpec {
        DecodeStepSpec { reduction: Reduction::LaneTree { k_lanes }, ..decode() }
    }

    #[test]
    fn accepts_powers_of_two() {
        for k_lanes in [2, 4, 8, 16] {
            assert_eq!(lanes(k_lanes).check(), []);
        }
    }

    #[test]
    fn refuses_everything_else() {
        for (k_lanes, hint) in [
            (0, "serial"),
            (1, "serial"),
            (3, "k_lanes = 2"),
            (12, "k_lanes = 8"),
            (32, "k_lanes = 16"),
        ] {
            let words = [&format!("got {k_lanes}"), "2, 4, 8 or 16", hint];
            refused(&lanes(k_lanes).check(), "key_lanes", "k_lanes", &words);
        }
    }
}
