//! Inputs and outputs of the prefill kernels are bf16, β bf16 or f32. Keys and queries enter matrix products
//! as they are stored where no decay touches them, and the accuracy limits are stated for bf16.

use crate::chunk::ChunkParts;
use crate::element::Dtype;
use crate::rule::{Rule, Violation};

const ID: &str = "chunk_dtype";

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("chunk_dtype.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let dtype = spec.common().dtype;
    let beta = spec.tile().map(|tile| tile.beta_dtype);
    let inputs = (dtype != Dtype::Bf16).then(|| violation("dtype", dtype, "bf16"));
    let beta = beta.filter(|beta| *beta == Dtype::F16);
    inputs
        .into_iter()
        .chain(beta.map(|beta| violation("beta_dtype", beta, "bf16 or f32")))
        .collect()
}

fn violation(field: &'static str, got: Dtype, limit: &str) -> Violation {
    Violation {
        rule: ID,
        field,
        got: got.to_string(),
        limit: limit.to_owned(),
        unit: "element type",
        source: "the prefill kernels' contract",
        hint: format!("take {field} = \"bf16\""),
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::{ChunkCommon, KdaChunkScanSpec, KdaTileSpec, TilePart};
    use crate::element::Dtype;
    use crate::rules::chunk::fixtures::{scan, tile};
    use crate::rules::fixtures::refused;

    fn beta(beta_dtype: Dtype) -> KdaTileSpec {
        KdaTileSpec { tile: TilePart { beta_dtype, ..tile().tile }, ..tile() }
    }

    #[test]
    fn accepts_bf16_and_a_beta_of_f32() {
        assert_eq!((beta(Dtype::Bf16).check(), beta(Dtype::F32).check()), (vec![], vec![]));
    }

    #[test]
    fn refuses_other_types() {
        for dtype in [Dtype::F32, Dtype::F16] {
            let common = ChunkCommon { dtype, ..scan().common };
            let spec = KdaChunkScanSpec { common, ..scan() };
            let words = [&format!("got {dtype}"), "limit bf16"];
            refused(&spec.check(), "chunk_dtype", "dtype", &words);
        }
        let words = ["got f16", "bf16 or f32"];
        refused(&beta(Dtype::F16).check(), "chunk_dtype", "beta_dtype", &words);
    }
}
