//! The gate belongs to the family: one a value head in Gated DeltaNet (`log_decay_per_head` or `softplus`), one
//! a key channel in KDA (`log_decay_per_channel`, `bounded_sigmoid` or `softplus`). The kinds are different
//! functions or different tensors, so none can stand in for another.

use crate::chunk::{ChunkGateKind, ChunkParts};
use crate::decode_step::Family;
use crate::rule::{Rule, Violation};

const ID: &str = "chunk_gate";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("chunk_gate.rs"), check: check::<S> }
}

fn legal(family: Family) -> &'static [ChunkGateKind] {
    use ChunkGateKind::{BoundedSigmoid, LogDecayPerChannel, LogDecayPerHead, Softplus};
    match family {
        Family::Gdn => &[LogDecayPerHead, Softplus],
        Family::Kda => &[LogDecayPerChannel, BoundedSigmoid, Softplus],
    }
}

/// Whether the gate is one of the family's.
pub(super) fn fits<S: ChunkParts>(spec: &S) -> bool {
    let legal = legal(spec.common().family);
    spec.tile().is_none_or(|tile| legal.contains(&tile.gate.kind()))
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let wrong = spec.tile().filter(|_| !fits(spec));
    let family = spec.common().family;
    let names = legal(family).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let violation = wrong.map(|tile| Violation {
        rule: ID,
        field: "gate",
        got: tile.gate.kind().to_string(),
        limit: format!("{names} with family {family}"),
        unit: "gate kind",
        source: "the model's contract (Gated DeltaNet, Kimi Linear)",
        hint: "take the model's own gate, or the other family".to_owned(),
    });
    violation.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, ChunkGate, DecayForm, KdaTileSpec, TilePart};
    use crate::decode_step::Family;
    use crate::rules::chunk::fixtures::tile;
    use crate::rules::fixtures::refused;

    fn gated(family: Family, gate: ChunkGate, decay: DecayForm) -> KdaTileSpec {
        let common = ChunkCommon { family, ..tile().common };
        KdaTileSpec { common, tile: TilePart { gate, decay, ..tile().tile } }
    }

    const BOUNDED: ChunkGate = ChunkGate::BoundedSigmoid { lower_bound_nats: -5.0, dt_bias: true };
    const PER_CHANNEL: ChunkGate = ChunkGate::LogDecayPerChannel { lower_bound_nats: -5.0 };
    const SOFTPLUS: ChunkGate = ChunkGate::Softplus { dt_bias: false };

    #[test]
    fn accepts_each_family_s_gates() {
        for gate in [ChunkGate::LogDecayPerHead, SOFTPLUS] {
            assert_eq!(gated(Family::Gdn, gate, DecayForm::OutsideProduct).check(), []);
        }
        for gate in [PER_CHANNEL, BOUNDED] {
            assert_eq!(gated(Family::Kda, gate, DecayForm::FixedOffset).check(), []);
        }
        assert_eq!(gated(Family::Kda, SOFTPLUS, DecayForm::SubChunks).check(), []);
    }

    #[test]
    fn refuses_the_other_family_s() {
        let wrong = [
            (Family::Gdn, PER_CHANNEL, "got log_decay_per_channel"),
            (Family::Gdn, BOUNDED, "got bounded_sigmoid"),
            (Family::Kda, ChunkGate::LogDecayPerHead, "got log_decay_per_head"),
        ];
        for (family, gate, shown) in wrong {
            let spec = gated(family, gate, DecayForm::FixedOffset);
            let words = [shown, &format!("with family {family}")];
            refused(&spec.check(), "chunk_gate", "gate", &words);
        }
    }
}
