//! `accuracy = "f16"` has a `value_bound` above 0 and at most 65504, and writes the status word (`checked`).
//! The largest f16 is 65504: v, the state, R and Ṽ must stay below it, which no spec can see. The problem
//! promises the bound, and the kernel reports a breach instead of giving infinities silently.

use crate::chunk::{Accuracy, ChunkParts};
use crate::rule::{Rule, Violation};

const ID: &str = "value_bound";

/// The largest finite f16.
const LARGEST_F16: f32 = 65_504.0;

pub(crate) const fn rule<S: ChunkParts>() -> Rule<S> {
    Rule { id: ID, file: include_str!("value_bound.rs"), check: check::<S> }
}

fn check<S: ChunkParts>(spec: &S) -> Vec<Violation> {
    let Accuracy::F16 { value_bound } = spec.common().accuracy else { return Vec::new() };
    let range = out_of_range(value_bound);
    let unchecked = !spec.common().checked;
    let unchecked = unchecked.then(|| {
        violation(
            "checked",
            "false".to_owned(),
            "true with accuracy f16",
            "take checked = true, so that a breach of value_bound is reported",
        )
    });
    range.into_iter().chain(unchecked).collect()
}

/// What is wrong with a bound.
pub(super) fn out_of_range(value_bound: f32) -> Option<Violation> {
    let legal = value_bound > 0.0 && value_bound <= LARGEST_F16;
    (!legal).then(|| {
        violation(
            "value_bound",
            format!("{value_bound:?}"),
            "above 0.0, at most 65504.0",
            "take accuracy = \"bf16_split\" for values of any range",
        )
    })
}

fn violation(field: &'static str, got: String, limit: &str, hint: &str) -> Violation {
    Violation {
        rule: ID,
        field,
        got,
        limit: limit.to_owned(),
        unit: "largest value of a tile",
        source: "IEEE 754 binary16; docs/kernels/kda.md, accuracy forms",
        hint: hint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::{Accuracy, ChunkCommon, KdaChunkScanSpec};
    use crate::rules::chunk::fixtures::scan;
    use crate::rules::fixtures::refused;

    fn f16(value_bound: f32, checked: bool) -> KdaChunkScanSpec {
        let accuracy = Accuracy::F16 { value_bound };
        let common = ChunkCommon { accuracy, checked, ..scan().common };
        KdaChunkScanSpec { common, ..scan() }
    }

    #[test]
    fn accepts_what_f16_holds() {
        for bound in [1e-3, 100.0, 65_504.0] {
            assert_eq!(f16(bound, true).check(), []);
        }
    }

    #[test]
    fn refuses_other_bounds() {
        for bound in [0.0, -1.0, 65_505.0, f32::INFINITY, f32::NAN] {
            let words = [&format!("got {bound:?}"), "at most 65504.0", "bf16_split"];
            refused(&f16(bound, true).check(), "value_bound", "value_bound", &words);
        }
    }

    #[test]
    fn refuses_to_break_the_bound_silently() {
        let words = ["got false", "true with accuracy f16", "reported"];
        refused(&f16(100.0, false).check(), "value_bound", "checked", &words);
    }
}
