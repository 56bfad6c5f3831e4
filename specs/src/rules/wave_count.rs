//! A workgroup has 1, 2, 4 or 8 waves. These are the numbers that the kernels' contracts promise and tests
//! cover. Waves of the step kernels share nothing, so more of them in one workgroup only make its end
//! coarser; those of the chunk kernels share panels, which rules of their own divide among them.

use crate::rule::{Rule, Violation, WaveGeometry};

const ID: &str = "wave_count";

/// Legal numbers of waves.
const LEGAL: [u32; 4] = [1, 2, 4, 8];

pub(crate) const fn rule<S: WaveGeometry>() -> Rule<S> {
    Rule { id: ID, file: include_str!("wave_count.rs"), check: check::<S> }
}

fn check<S: WaveGeometry>(spec: &S) -> Vec<Violation> {
    let waves = spec.waves();
    if LEGAL.contains(&waves) { Vec::new() } else { vec![violation(waves)] }
}

fn violation(waves: u32) -> Violation {
    let nearest = LEGAL.into_iter().min_by_key(|legal| legal.abs_diff(waves)).unwrap_or(1);
    Violation {
        rule: ID,
        field: "waves",
        got: waves.to_string(),
        limit: "1, 2, 4 or 8".to_owned(),
        unit: "waves",
        source: "the kernel's contract",
        hint: format!("nearest legal: waves = {nearest}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::fixtures::{conv, decode, refused};
    use crate::{ConvStepSpec, DecodeStepSpec};

    #[test]
    fn accepts_powers_of_two_up_to_eight() {
        for waves in [1, 2, 4, 8] {
            assert_eq!(DecodeStepSpec { waves, ..decode() }.check(), []);
            assert_eq!(ConvStepSpec { waves, ..conv() }.check(), []);
        }
    }

    #[test]
    fn refuses_everything_else() {
        for (waves, hint) in
            [(0, "waves = 1"), (3, "waves = 2"), (6, "waves = 4"), (7, "waves = 8")]
        {
            let words = [&format!("got {waves}"), "1, 2, 4 or 8", hint];
            refused(&DecodeStepSpec { waves, ..decode() }.check(), "wave_count", "waves", &words);
            refused(&ConvStepSpec { waves, ..conv() }.check(), "wave_count", "waves", &words);
        }
    }
}
