//! Caches of attention hold bf16 or f16. A lane reads eight elements of 16 bits at once; caches of other types are not
//! laid out. Sums, weights and scores are f32 whatever the type is.

use crate::attention::AttentionSpec;
use crate::choice::Choice;
use crate::element::Dtype;
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<AttentionSpec> =
    Rule { id: "cache_dtype", file: include_str!("cache_dtype.rs"), check };

fn check(spec: &AttentionSpec) -> Vec<Violation> {
    match spec.dtype {
        Dtype::Bf16 | Dtype::F16 => Vec::new(),
        dtype @ Dtype::F32 => vec![Violation {
            rule: RULE.id,
            field: "dtype",
            got: dtype.name().to_owned(),
            limit: "bf16 or f16".to_owned(),
            unit: "type",
            source: "the attention kernels' contract",
            hint: "nearest legal: dtype = \"bf16\"".to_owned(),
        }],
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{attention, refused};
    use crate::{AttentionSpec, Dtype};

    #[test]
    fn accepts_sixteen_bits() {
        for dtype in [Dtype::Bf16, Dtype::F16] {
            assert_eq!(AttentionSpec { dtype, ..attention() }.check(), []);
        }
    }

    #[test]
    fn refuses_f32() {
        let spec = AttentionSpec { dtype: Dtype::F32, ..attention() };
        refused(&spec.check(), "cache_dtype", "dtype", &["got f32", "bf16 or f16"]);
    }
}
