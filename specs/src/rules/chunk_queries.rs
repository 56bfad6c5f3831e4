//! A workgroup of chunk attention takes 1 query of a sequence or more, as long as the queries, sums and scores of all
//! their heads fit in 160 vector registers a lane, as the rule attention_registers says of one query's.

use super::{attention_registers::MAX_HELD_REGISTERS, block_size, head_dim};
use crate::attention_chunk::AttentionChunkSpec;
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<AttentionChunkSpec> =
    Rule { id: "chunk_queries", file: include_str!("chunk_queries.rs"), check };

fn check(spec: &AttentionChunkSpec) -> Vec<Violation> {
    let AttentionChunkSpec { step, queries_per_workgroup } = spec;
    if *queries_per_workgroup == 0 {
        return vec![violation("0".to_owned(), "1 or more".to_owned(), "queries", 1)];
    }
    let known =
        head_dim::LEGAL.contains(&step.head_dim) && block_size::LEGAL.contains(&step.block_size);
    let (each, held) = (step.held_registers_per_lane(), spec.held_registers_per_lane());
    // What one query takes too many of is told by a rule of its own.
    if !known || each > MAX_HELD_REGISTERS || held <= MAX_HELD_REGISTERS {
        return Vec::new();
    }
    let limit = format!("at most {MAX_HELD_REGISTERS}");
    let unit = "vector registers a lane held over a block";
    vec![violation(held.to_string(), limit, unit, MAX_HELD_REGISTERS / each.max(1))]
}

fn violation(got: String, limit: String, unit: &'static str, nearest: u32) -> Violation {
    Violation {
        rule: RULE.id,
        field: "queries_per_workgroup",
        got,
        limit,
        unit,
        source: "256 addressable vector registers a wave (CDNA and RDNA ISA manuals)",
        hint: format!("nearest legal: queries_per_workgroup = {nearest}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::AttentionChunkSpec;
    use crate::rules::fixtures::{attention_chunk, refused};

    fn queries(queries_per_workgroup: u32, heads_per_workgroup: u32) -> AttentionChunkSpec {
        let spec = attention_chunk();
        let step = crate::AttentionSpec { heads_per_workgroup, ..spec.step };
        AttentionChunkSpec { step, queries_per_workgroup }
    }

    #[test]
    fn accepts_what_fits() {
        for (queries_per_workgroup, heads) in [(1, 1), (3, 1), (1, 2)] {
            assert_eq!(queries(queries_per_workgroup, heads).check(), []);
        }
    }

    #[test]
    fn refuses_none_and_too_many() {
        let field = "queries_per_workgroup";
        refused(&queries(0, 1).check(), "chunk_queries", field, &["got 0", "1 or more"]);
        let words = ["got 200", "at most 160", "queries_per_workgroup = 3"];
        refused(&queries(4, 1).check(), "chunk_queries", field, &words);
        let words = ["got 200", "queries_per_workgroup = 1"];
        refused(&queries(2, 2).check(), "chunk_queries", field, &words);
        assert!(!queries(u32::MAX, 2).check().is_empty());
    }
}
