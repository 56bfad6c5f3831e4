//! Queries, sums and scores of a workgroup's heads fit in 160 vector registers a lane. For each head a lane holds its
//! channels of the query and of the sums, and the scores of its keys of one block, from the block's first key to its
//! last value; beyond 160 of the 256 registers that an instruction can name, the keys and values in flight no longer
//! fit beside them and spill to memory.

use super::{block_size, head_dim};
use crate::attention::AttentionSpec;
use crate::rule::{Rule, Violation};

/// Most registers a lane that are held over a block.
pub(crate) const MAX_HELD_REGISTERS: u32 = 160;

pub(crate) const RULE: Rule<AttentionSpec> =
    Rule { id: "attention_registers", file: include_str!("attention_registers.rs"), check };

fn check(spec: &AttentionSpec) -> Vec<Violation> {
    let known = head_dim::LEGAL.contains(&spec.head_dim)
        && block_size::LEGAL.contains(&spec.block_size)
        && spec.wave_width == spec.target.wave_width();
    let held = spec.held_registers_per_lane();
    if known && held > MAX_HELD_REGISTERS { vec![violation(spec, held)] } else { Vec::new() }
}

fn violation(spec: &AttentionSpec, held: u32) -> Violation {
    let fits = |heads: &u32| {
        let fewer = AttentionSpec { heads_per_workgroup: *heads, ..*spec };
        spec.group().is_multiple_of(*heads) && fewer.held_registers_per_lane() <= MAX_HELD_REGISTERS
    };
    let most = (1..spec.heads_per_workgroup.min(MAX_HELD_REGISTERS)).rev().find(fits).unwrap_or(1);
    Violation {
        rule: RULE.id,
        field: "heads_per_workgroup",
        got: held.to_string(),
        limit: format!("at most {MAX_HELD_REGISTERS}"),
        unit: "vector registers a lane held over a block",
        source: "256 addressable vector registers a wave (CDNA and RDNA ISA manuals)",
        hint: format!("nearest legal: heads_per_workgroup = {most}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{attention, refused};
    use crate::{AttentionSpec, Target};

    fn heads(heads_per_workgroup: u32) -> AttentionSpec {
        let (query_heads, key_heads) = (24, 2);
        AttentionSpec { heads_per_workgroup, query_heads, key_heads, ..attention() }
    }

    #[test]
    fn accepts_what_fits() {
        assert_eq!(heads(3).check(), []);
        let (target, wave_width) = (Target::Gfx950, 64);
        let wide = AttentionSpec { head_dim: 128, block_size: 64, target, wave_width, ..heads(4) };
        assert_eq!((wide.held_registers_per_lane(), wide.check()), (160, vec![]));
        for target in Target::ALL {
            for head_dim in super::head_dim::LEGAL {
                for block_size in super::block_size::LEGAL {
                    let wave_width = target.wave_width();
                    let spec =
                        AttentionSpec { target, wave_width, head_dim, block_size, ..heads(1) };
                    assert_eq!(spec.check(), []);
                }
            }
        }
    }

    #[test]
    fn refuses_more_heads_and_names_how_many_fit() {
        let words = ["got 200", "at most 160", "vector registers", "heads_per_workgroup = 3"];
        refused(&heads(4).check(), "attention_registers", "heads_per_workgroup", &words);
        let small = AttentionSpec { head_dim: 64, block_size: 64, ..heads(6) };
        let words = ["got 240", "heads_per_workgroup = 4"];
        refused(&small.check(), "attention_registers", "heads_per_workgroup", &words);
    }
}
