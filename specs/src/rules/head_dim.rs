//! A head of attention has 64, 96, 128 or 256 channels. Lanes share a key in reads of 16 bytes, and how they do is
//! laid out and tested for these sizes only.

use crate::attention::AttentionSpec;
use crate::rule::{Rule, Violation};

/// Legal numbers of channels.
pub(super) const LEGAL: [u32; 4] = [64, 96, 128, 256];

pub(crate) const RULE: Rule<AttentionSpec> =
    Rule { id: "head_dim", file: include_str!("head_dim.rs"), check };

fn check(spec: &AttentionSpec) -> Vec<Violation> {
    let legal = LEGAL.contains(&spec.head_dim);
    if legal { Vec::new() } else { vec![violation(spec.head_dim)] }
}

fn violation(head_dim: u32) -> Violation {
    let nearest = LEGAL.into_iter().min_by_key(|legal| legal.abs_diff(head_dim)).unwrap_or(128);
    Violation {
        rule: RULE.id,
        field: "head_dim",
        got: head_dim.to_string(),
        limit: "64, 96, 128 or 256".to_owned(),
        unit: "channels",
        source: "the attention kernels' contract",
        hint: format!("nearest legal: head_dim = {nearest}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::AttentionSpec;
    use crate::rules::fixtures::{attention, refused};

    #[test]
    fn accepts_the_four_sizes() {
        for head_dim in [64, 96, 128, 256] {
            let spec = AttentionSpec { head_dim, heads_per_workgroup: 1, ..attention() };
            assert_eq!(spec.check(), []);
        }
    }

    #[test]
    fn refuses_every_other() {
        for (head_dim, hint) in
            [(0, 64), (80, 64), (112, 96), (192, 128), (512, 256), (u32::MAX, 256)]
        {
            let spec = AttentionSpec { head_dim, ..attention() };
            let refusals: Vec<_> =
                spec.check().into_iter().filter(|violation| violation.rule == "head_dim").collect();
            let hint = format!("head_dim = {hint}");
            refused(&refusals, "head_dim", "head_dim", &["64, 96, 128 or 256", &hint]);
        }
    }
}
