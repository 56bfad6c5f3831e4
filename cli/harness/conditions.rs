//! Under what a kernel ran on the emulator: stated in every report.

use emulator::{Alignment, LdsOrder, Numerics, Options};
use serde::Serialize;

/// Modes and checks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Conditions {
    /// The mode of numerics of matrix and dot-product instructions.
    pub numerics: Numerics,
    /// Whether anything was watched for; without it an empty list of findings means nothing.
    pub checks: bool,
    /// Whether races were watched for.
    pub race_checks: bool,
    /// What race checks take for ordered among the LDS accesses of one wave.
    pub lds_order: &'static str,
    /// Which accesses count as misaligned.
    pub alignment: &'static str,
}

impl Conditions {
    /// Those of a machine with these options.
    pub fn of(options: &Options) -> Conditions {
        Conditions {
            numerics: options.numerics,
            checks: options.checks,
            race_checks: options.checks && options.race_checks,
            lds_order: match options.lds_order {
                LdsOrder::Architectural => "architectural",
                LdsOrder::Conservative => "conservative",
            },
            alignment: match options.alignment {
                Alignment::Hsa => "hsa",
                Alignment::Natural => "natural",
            },
        }
    }
}

impl std::fmt::Display for Conditions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Conditions { numerics, checks, race_checks, lds_order, alignment } = self;
        let races = match (checks, race_checks) {
            (true, true) => "race checks on",
            (true, false) => "race checks off",
            (false, _) => "checks off",
        };
        write!(f, "numerics {numerics}; {races}; LDS order {lds_order}; alignment {alignment}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_spelled_as_their_flags() {
        let options = Options {
            race_checks: false,
            lds_order: LdsOrder::Conservative,
            alignment: Alignment::Natural,
            ..Options::default()
        };
        let text = Conditions::of(&options).to_string();
        let expected = "race checks off; LDS order conservative; alignment natural";
        assert!(text.ends_with(expected), "{text}");
        let document = serde_json::to_value(Conditions::of(&Options::default())).unwrap();
        assert_eq!((&document["checks"], &document["race_checks"]), (&true.into(), &true.into()));
        let unchecked = Conditions::of(&Options { checks: false, ..Options::default() });
        assert!(unchecked.to_string().contains("; checks off; "), "{unchecked}");
        assert_eq!(document["lds_order"], "architectural");
        assert_eq!(document["alignment"], "hsa");
    }
}
