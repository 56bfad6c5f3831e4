//! Attention kernels have neither ALiBi nor windows nor soft caps. Each changes the scores, so a kernel without it gives
//! a model with it other outputs, finite and wrong; a spec that asks for one is refused instead of served without it.

use crate::attention::AttentionSpec;
use crate::rule::{Rule, Violation};

pub(crate) const RULE: Rule<AttentionSpec> =
    Rule { id: "attention_features", file: include_str!("attention_features.rs"), check };

fn check(spec: &AttentionSpec) -> Vec<Violation> {
    let alibi = spec.alibi.then(|| violation("alibi", "true".to_owned()));
    let window = spec.window.map(|window| violation("window", window.to_string()));
    let soft_cap = spec.soft_cap.map(|cap| violation("soft_cap", cap.to_string()));
    [alibi, window, soft_cap].into_iter().flatten().collect()
}

fn violation(field: &'static str, got: String) -> Violation {
    Violation {
        rule: RULE.id,
        field,
        got,
        limit: "absent".to_owned(),
        unit: "feature of the scores",
        source: "the attention kernels' contract",
        hint: format!(
            "leave {field} out: what works is the plain softmax of scale * q * k over the whole context"
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::AttentionSpec;
    use crate::rules::fixtures::{attention, refused};

    #[test]
    fn accepts_plain_scores() {
        assert_eq!(attention().check(), []);
    }

    #[test]
    fn refuses_each_by_name_whatever_its_value() {
        for (field, got, spec) in [
            ("alibi", "true", AttentionSpec { alibi: true, ..attention() }),
            ("window", "4096", AttentionSpec { window: Some(4096), ..attention() }),
            ("window", "0", AttentionSpec { window: Some(0), ..attention() }),
            ("soft_cap", "50", AttentionSpec { soft_cap: Some(50.0), ..attention() }),
        ] {
            let words = [&format!("got {got}"), "what works", &format!("leave {field} out")];
            refused(&spec.check(), "attention_features", field, &words.map(|word| word as &str));
        }
    }

    #[test]
    fn reports_all_of_them() {
        let spec =
            AttentionSpec { alibi: true, window: Some(1), soft_cap: Some(f32::NAN), ..attention() };
        assert_eq!(spec.check().len(), 3);
    }
}
