//! A workgroup has at most 1024 work-items, and at most 512 on gfx1100. 1024 is the hardware's limit;
//! LLVM's gfx1100 code reloads LDS wrongly after a barrier in workgroups above 512 (LLVM issue 207883).

use isa::Target;

use crate::rule::{Rule, Violation, WaveGeometry};

const ID: &str = "workgroup_size";

pub(crate) const fn rule<S: WaveGeometry>() -> Rule<S> {
    Rule { id: ID, file: include_str!("workgroup_size.rs"), check: check::<S> }
}

/// Work-items above which LLVM's gfx1100 code is wrong.
const GFX1100_MOST: u32 = 512;

/// Most work-items of a workgroup, and where that comes from.
fn limit(target: Target) -> (u32, &'static str) {
    match target {
        Target::Gfx950 => (target.limits().workgroup_work_items, "HSA, maximum work-group size"),
        Target::Gfx1100 => (GFX1100_MOST, "LLVM issue 207883"),
    }
}

fn check<S: WaveGeometry>(spec: &S) -> Vec<Violation> {
    let size = u64::from(spec.waves()) * u64::from(spec.wave_width());
    let (most, source) = limit(spec.target());
    if size <= u64::from(most) {
        return Vec::new();
    }
    vec![Violation {
        rule: ID,
        field: "waves",
        got: size.to_string(),
        limit: format!("at most {most} on {}", spec.target()),
        unit: "work-items, waves × wave_width",
        source,
        hint: format!("nearest legal: waves = {}", most / spec.target().wave_width()),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::fixtures::{conv, decode, refused};
    use crate::{ConvStepSpec, DecodeStepSpec};

    #[test]
    fn accepts_the_limit() {
        let spec = DecodeStepSpec { waves: 16, ..decode() };
        assert_eq!(rule().check(&spec), []);
        let spec = ConvStepSpec { waves: 16, ..conv() };
        assert_eq!(rule().check(&spec), []);
    }

    #[test]
    fn refuses_more_than_512_on_gfx1100() {
        let spec = DecodeStepSpec { waves: 17, ..decode() };
        let words = ["got 544", "at most 512 on gfx1100", "work-items", "LLVM issue 207883"];
        refused(&rule().check(&spec), "workgroup_size", "waves", &words);
    }

    #[test]
    fn refuses_more_than_1024_on_gfx950() {
        let spec = ConvStepSpec { waves: 17, ..conv() };
        refused(
            &rule().check(&spec),
            "workgroup_size",
            "waves",
            &["got 1088", "at most 1024 on gfx950"],
        );
    }

    #[test]
    fn huge_numbers_do_not_wrap() {
        let spec = DecodeStepSpec { waves: u32::MAX, wave_width: u32::MAX, ..decode() };
        refused(&rule().check(&spec), "workgroup_size", "waves", &["got 18446744065119617025"]);
    }
}
