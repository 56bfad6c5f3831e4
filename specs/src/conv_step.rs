//! The spec of the conv step: one token of a depthwise causal convolution for every sequence of a batch.

use isa::Target;

use crate::choice::{Choice, choice};
use crate::element::Dtype;
use crate::field::{Field, FieldKind, InName, Presence, Settings, Value};
use crate::field::{target_field, wave_width_field, waves_field};

choice! {
    /// What is applied to the convolution's sum.
    pub enum Activation {
        /// Nothing.
        None = "none",
        /// x · sigmoid(x).
        Silu = "silu",
    }
}

/// Which conv kernel, with every choice that changes its code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConvStepSpec {
    /// The GPU that the kernel is built for.
    pub target: Target,
    /// D: channels.
    pub channels: u32,
    /// W: taps, the newest sample's included.
    pub width: u32,
    /// Type of x, weight, bias, history and y.
    pub dtype: Dtype,
    /// Whether a bias is added.
    pub bias: bool,
    /// What is applied to the sum.
    pub activation: Activation,
    /// Waves in a workgroup.
    pub waves: u32,
    /// Lanes of a wave.
    pub wave_width: u32,
}

impl ConvStepSpec {
    /// The family of this kernel in names, goldens and listings.
    pub const FAMILY: &'static str = "conv";

    /// Work-items in a workgroup; each owns one channel.
    pub fn workgroup_size(&self) -> u32 {
        self.waves.saturating_mul(self.wave_width)
    }

    /// Samples of history that a channel keeps: W − 1, zero at width 1, where no history exists.
    pub fn history_len(&self) -> u32 {
        self.width.saturating_sub(1)
    }

    /// The spec that settings describe, when every field is there.
    pub fn from_settings(settings: &Settings) -> Option<ConvStepSpec> {
        Some(ConvStepSpec {
            target: settings.target()?,
            channels: settings.count("channels")?,
            width: settings.count("width")?,
            dtype: settings.choice("dtype")?,
            bias: settings.flag("bias")?,
            activation: settings.choice("activation")?,
            waves: settings.count("waves")?,
            wave_width: settings.count("wave_width")?,
        })
    }

    /// Every field.
    pub fn settings(&self) -> Settings {
        // Destructured, so that a new field cannot be left out of name and hash.
        let ConvStepSpec { target, channels, width, dtype, bias, activation, waves, wave_width } =
            *self;
        let values = [
            ("target", Value::Name(target.name())),
            ("channels", Value::Count(channels)),
            ("width", Value::Count(width)),
            ("dtype", Value::Name(dtype.name())),
            ("bias", Value::Flag(bias)),
            ("activation", Value::Name(activation.name())),
            ("waves", Value::Count(waves)),
            ("wave_width", Value::Count(wave_width)),
        ];
        values.into_iter().collect()
    }
}

/// The keys of a conv step's spec file, beside [`crate::field::HEADER_FIELDS`].
pub const FIELDS: &[Field] = &[
    target_field(),
    Field {
        key: "channels",
        meaning: "D: channels, each convolved by itself",
        kind: FieldKind::Count,
        presence: Presence::Required,
        in_name: InName::Prefixed("d"),
    },
    Field {
        key: "width",
        meaning: "W: taps, the newest sample's included, 1 to 16; at width 1 there is no history",
        kind: FieldKind::Count,
        presence: Presence::Required,
        in_name: InName::Prefixed("w"),
    },
    Field {
        key: "dtype",
        meaning: "type of x, weight, bias, history and y",
        kind: FieldKind::Choice(Dtype::NAMES),
        presence: Presence::Required,
        in_name: InName::Value,
    },
    Field {
        key: "bias",
        meaning: "whether a bias is added to the sum",
        kind: FieldKind::Flag,
        presence: Presence::Default(Value::Flag(false)),
        in_name: InName::Word("bias"),
    },
    Field {
        key: "activation",
        meaning: "what is applied to the sum",
        kind: FieldKind::Choice(Activation::NAMES),
        presence: Presence::Default(Value::Name("none")),
        in_name: InName::Value,
    },
    waves_field(),
    wave_width_field(),
];
