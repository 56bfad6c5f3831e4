//! With `reduction = "lane_tree"`, a lane's part of the state fits in 128 vector registers. A lane holds
//! K / `k_lanes` channels of four columns in f32 from their read to their write; beyond 128 of the 256
//! registers that an instruction can name, keys, queries and decays no longer fit beside them and the
//! state spills to memory, the traffic that this kernel exists to avoid.

use super::key_lanes::LEGAL;
use super::key_tiling::tiles;
use crate::decode_step::{DecodeStepSpec, Reduction};
use crate::rule::{Rule, Violation};

/// Most registers a lane in which state is held.
const MAX_STATE_REGISTERS: u32 = 128;

pub(crate) const RULE: Rule<DecodeStepSpec> =
    Rule { id: "state_registers", file: include_str!("state_registers.rs"), check };

fn check(spec: &DecodeStepSpec) -> Vec<Violation> {
    match (spec.reduction, spec.state_registers_per_lane()) {
        (Reduction::LaneTree { k_lanes }, Some(registers))
            if LEGAL.contains(&k_lanes) && registers > MAX_STATE_REGISTERS =>
        {
            vec![violation(spec, registers)]
        }
        _ => Vec::new(),
    }
}

fn violation(spec: &DecodeStepSpec, registers: u32) -> Violation {
    let held = |k_lanes| DecodeStepSpec { reduction: Reduction::LaneTree { k_lanes }, ..*spec };
    let fits = |k_lanes: &u32| {
        let registers = held(*k_lanes).state_registers_per_lane();
        tiles(spec.head_k, *k_lanes)
            && registers.is_some_and(|registers| registers <= MAX_STATE_REGISTERS)
    };
    let hint = match LEGAL.into_iter().find(fits) {
        Some(k_lanes) => format!("nearest legal: k_lanes = {k_lanes}"),
        None => "no k_lanes holds this head: use reduction = \"serial\"".to_owned(),
    };
    Violation {
        rule: RULE.id,
        field: "k_lanes",
        got: registers.to_string(),
        limit: format!("at most {MAX_STATE_REGISTERS}"),
        unit: "vector registers a lane, 4·K / k_lanes",
        source: "256 addressable vector registers a wave (CDNA and RDNA ISA manuals)",
        hint,
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
    fn accepts_the_limit() {
        assert_eq!(shared(256, 8).check(), []);
        assert_eq!(shared(64, 2).check(), []);
        assert_eq!(
            DecodeStepSpec { head_k: 1024, reduction: Reduction::Serial, ..decode() }.check(),
            []
        );
    }

    #[test]
    fn refuses_more_and_names_the_lanes_that_hold_it() {
        let words = ["got 256", "at most 128", "vector registers", "k_lanes = 4"];
        refused(&shared(128, 2).check(), "state_registers", "k_lanes", &words);
    }

    #[test]
    fn offers_serial_where_nothing_holds_it() {
        refused(&shared(1024, 16).check(), "state_registers", "k_lanes", &["got 256", "serial"]);
    }
}
