//! The wave width is the target's: 64 lanes on gfx950, 32 on gfx1100. gfx950 has no other width; on gfx1100
//! the kernels' lane exchanges, masks and geometry are built for wave32 only.

use crate::rule::{Rule, Violation, WaveGeometry};

const ID: &str = "wave_width";

pub(crate) const fn rule<S: WaveGeometry>() -> Rule<S> {
    Rule { id: ID, file: include_str!("wave_width.rs"), check: check::<S> }
}

fn check<S: WaveGeometry>(spec: &S) -> Vec<Violation> {
    let legal = spec.wave_width() == spec.target().wave_width();
    if legal { Vec::new() } else { vec![violation(spec)] }
}

fn violation<S: WaveGeometry>(spec: &S) -> Violation {
    let width = spec.target().wave_width();
    Violation {
        rule: ID,
        field: "wave_width",
        got: spec.wave_width().to_string(),
        limit: format!("{width} on {}", spec.target()),
        unit: "lanes",
        source: "CDNA4 and RDNA3 ISA manuals, wave sizes",
        hint: format!("remove the key, or wave_width = {width}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{conv, decode, refused};
    use crate::{ConvStepSpec, DecodeStepSpec, Target};

    #[test]
    fn accepts_the_target_s_own() {
        for target in Target::ALL {
            let wave_width = target.wave_width();
            assert_eq!(DecodeStepSpec { target, wave_width, ..decode() }.check(), []);
            assert_eq!(ConvStepSpec { target, wave_width, ..conv() }.check(), []);
        }
    }

    #[test]
    fn refuses_the_other_target_s() {
        let spec = DecodeStepSpec { wave_width: 64, ..decode() };
        refused(&spec.check(), "wave_width", "wave_width", &["got 64", "32 on gfx1100", "lanes"]);
        let spec = ConvStepSpec { wave_width: 32, ..conv() };
        refused(&spec.check(), "wave_width", "wave_width", &["got 32", "64 on gfx950"]);
    }

    #[test]
    fn refuses_zero() {
        let spec = DecodeStepSpec { wave_width: 0, ..decode() };
        refused(&spec.check(), "wave_width", "wave_width", &["got 0"]);
    }
}
