//! The waves of a tile or fused kernel are a multiple of C / `tile_atom_m`, the panels of the products of
//! keys. Every panel is shared by equally many waves; with a remainder some wave would own no panel and
//! wait at every barrier, or a panel would have no wave.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "wave_panels";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("wave_panels.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (common, Some(tile)) = (spec.common(), spec.tile()) else { return Vec::new() };
    if !super::matrix_atoms::fits(spec) {
        return Vec::new();
    }
    let panels = (common.chunk / tile.tile_atom_m.max(1)).max(1);
    if common.waves.is_multiple_of(panels) {
        return Vec::new();
    }
    vec![Violation {
        rule: ID,
        field: "waves",
        got: common.waves.to_string(),
        limit: format!("a multiple of {panels}, chunk / tile_atom_m"),
        unit: "waves",
        source: "panels of the products, docs/kernels/kda.md",
        hint: format!("take waves = {panels}, or a larger tile_atom_m"),
    }]
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, ChunkGate, DecayForm, KdaTileSpec, TilePart};
    use crate::decode_step::Family;
    use crate::rules::chunk::fixtures::tile;
    use crate::rules::fixtures::refused;

    fn one_wave(tile_atom_m: u32) -> KdaTileSpec {
        let common = ChunkCommon { family: Family::Gdn, waves: 1, ..tile().common };
        let (gate, decay) = (ChunkGate::LogDecayPerHead, DecayForm::OutsideProduct);
        KdaTileSpec { common, tile: TilePart { gate, decay, tile_atom_m, ..tile().tile } }
    }

    #[test]
    fn accepts_whole_shares() {
        assert_eq!(tile().check(), []);
        assert_eq!(one_wave(32).check(), []);
    }

    #[test]
    fn refuses_panels_without_a_wave() {
        let words = ["got 1", "a multiple of 2, chunk / tile_atom_m", "waves = 2"];
        refused(&one_wave(16).check(), "wave_panels", "waves", &words);
    }
}
