//! `solve_block` is a multiple of 16 that divides the chunk. The triangular system is solved in blocks of so many
//! rows: inside one by substitution, between them by matrix operations of 16 rows.

use crate::chunk::ChunkParts;
use crate::rule::{Rule, Violation};

const ID: &str = "solve_blocks";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("solve_blocks.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let (chunk, Some(tile)) = (spec.common().chunk, spec.tile()) else { return Vec::new() };
    let block = tile.solve_block;
    let is_legal =
        |block: u32| block > 0 && block.is_multiple_of(16) && chunk.is_multiple_of(block);
    if is_legal(block) {
        return Vec::new();
    }
    let legal = [16, 32, 64].into_iter().filter(|block| is_legal(*block));
    let nearest = legal.min_by_key(|legal| legal.abs_diff(block));
    vec![Violation {
        rule: ID,
        field: "solve_block",
        got: block.to_string(),
        limit: format!("a multiple of 16 that divides chunk = {chunk}"),
        unit: "rows",
        source: "tiling of the block solve, docs/kernels/kda.md",
        hint: format!("nearest legal: solve_block = {}", nearest.unwrap_or(16)),
    }]
}

#[cfg(test)]
mod tests {
    use crate::chunk::{KdaTileSpec, TilePart};
    use crate::rules::chunk::fixtures::tile;
    use crate::rules::fixtures::refused;

    fn blocks(solve_block: u32) -> KdaTileSpec {
        KdaTileSpec { tile: TilePart { solve_block, ..tile().tile }, ..tile() }
    }

    #[test]
    fn accepts_divisors() {
        for block in [16, 32] {
            assert_eq!(blocks(block).check(), []);
        }
    }

    #[test]
    fn refuses_the_rest() {
        for (block, hint) in
            [(0, "= 16"), (8, "= 16"), (24, "= 16"), (64, "= 32"), (u32::MAX, "= 32")]
        {
            let words = [&format!("got {block}"), "a multiple of 16 that divides chunk = 32", hint];
            refused(&blocks(block).check(), "solve_blocks", "solve_block", &words);
        }
    }
}
