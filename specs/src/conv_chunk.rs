//! The spec of the conv chunk: any number of tokens of a depthwise causal convolution for packed sequences.

use crate::conv_step::{self, ConvStepSpec};
use crate::field::{Field, FieldKind, InName, Presence, Settings, Value, without};
use crate::signature::{Access, Role, SEQUENCES, Signature, TOKENS, buffer, output, sequence_ends};

/// Which conv chunk kernel, with every choice that changes its code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvChunkSpec {
    /// The conv step that every token takes.
    pub step: ConvStepSpec,
    /// Tokens that one workgroup walks through.
    pub segment: u32,
}

/// Tokens of a segment of a spec file that does not say.
const DEFAULT_SEGMENT: u32 = 64;

/// The keys of a conv chunk's spec file, beside [`crate::field::HEADER_FIELDS`].
pub const FIELDS: &[Field] = &{
    const N: usize = conv_step::FIELDS.len() + SEGMENT.len();
    without::<N>(conv_step::FIELDS, &[], SEGMENT)
};

const SEGMENT: &[Field] = &[Field {
    key: "segment",
    meaning: "tokens of a sequence that one workgroup walks through, at least width - 1",
    kind: FieldKind::Count,
    presence: Presence::Default(Value::Count(DEFAULT_SEGMENT)),
    in_name: InName::Prefixed("s"),
}];

impl ConvChunkSpec {
    /// The spec that settings describe, when every field is there.
    pub fn from_settings(settings: &Settings) -> Option<ConvChunkSpec> {
        let step = ConvStepSpec::from_settings(settings)?;
        Some(ConvChunkSpec { step, segment: settings.count("segment")? })
    }

    /// Every field.
    pub fn settings(&self) -> Settings {
        // Destructured, so that a new field cannot be left out of name and hash.
        let ConvChunkSpec { step, segment } = *self;
        let mut settings = step.settings();
        settings.insert("segment", Value::Count(segment));
        settings
    }

    /// The kernel's arguments.
    pub fn signature(&self) -> Signature {
        let step = &self.step;
        let history = |name, access, role| {
            buffer(name, step.dtype.into(), access, role, &step.history_shape(SEQUENCES))
        };
        let mut arguments = step.row_arguments(TOKENS);
        arguments.push(sequence_ends());
        if step.history_len() > 0 {
            arguments.push(history("history", Access::ReadOnly, Role::State));
            arguments.push(history("next_history", Access::WriteOnly, Role::NextState));
        }
        arguments.push(output("y", step.dtype.into(), &step.rows(TOKENS)));
        Signature { arguments }
    }

    /// Segments of the longest of sequences of these lengths, and one for sequences without tokens.
    pub fn segments(&self, lengths: &[u32]) -> u32 {
        let longest = lengths.iter().copied().max().unwrap_or(0);
        longest.div_ceil(self.segment.max(1)).max(1)
    }
}
