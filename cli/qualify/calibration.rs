//! What is asked of a device, and what it can answer.

use serde::Serialize;

/// One question.
#[derive(Debug, Serialize)]
pub struct Calibration {
    /// Its name.
    pub name: &'static str,
    /// What is asked, and of what instruction.
    pub question: String,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
}

/// What a device answered.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum Answer {
    /// As this project has it.
    Agrees {
        /// The measurement.
        measured: String,
    },
    /// Otherwise: a fact of this project is wrong for this device.
    Differs {
        /// The measurement.
        measured: String,
        /// What this project has.
        expected: String,
    },
    /// This device cannot be asked.
    NotMeasured {
        /// Why not.
        why: String,
    },
}

impl Answer {
    /// Agreement, or the difference.
    pub fn of(agrees: bool, measured: String, expected: String) -> Answer {
        match agrees {
            true => Answer::Agrees { measured },
            false => Answer::Differs { measured, expected },
        }
    }

    /// Whether a fact of this project is wrong for the device.
    pub fn differs(&self) -> bool {
        matches!(self, Answer::Differs { .. })
    }
}
