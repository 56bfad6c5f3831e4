//! The spec of the recurrent kernel: any number of tokens of gated linear attention for packed sequences, token by
//! token, with the decode step's arithmetic.

use crate::choice::Choice;
use crate::decode_step::{self, DecodeStepSpec, StateContractKind};
use crate::element::Element;
use crate::field::{Field, FieldKind, InName, Presence, Settings, Value, without};
use crate::signature::{
    Access, Axis, Role, SEQUENCES, Signature, TOKENS, buffer, output, scale, sequence_ends,
};

/// Which recurrent kernel, with every choice that changes its code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecurrentSpec {
    /// The decode step that every token takes; its states are separate buffers.
    pub step: DecodeStepSpec,
    /// Whether there is an initial state; without one it is zeros.
    pub initial_state: bool,
    /// Whether the final state is stored.
    pub final_state: bool,
}

/// Keys of the decode step that have no meaning here: the state is in buffers of its own.
const NOT_OF_RECURRENT: &[&str] = &["state_contract", "pool_sentinel"];

/// The keys of a recurrent kernel's spec file, beside [`crate::field::HEADER_FIELDS`].
pub const FIELDS: &[Field] = &{
    const N: usize = decode_step::FIELDS.len() - NOT_OF_RECURRENT.len() + STATES.len();
    without::<N>(decode_step::FIELDS, NOT_OF_RECURRENT, STATES)
};

const STATES: &[Field] = &[
    Field {
        key: "initial_state",
        meaning: "whether there is an initial state; without one it is zeros",
        kind: FieldKind::Flag,
        presence: Presence::Default(Value::Flag(true)),
        in_name: InName::Word("noinit"),
    },
    Field {
        key: "final_state",
        meaning: "whether the final state is stored",
        kind: FieldKind::Flag,
        presence: Presence::Default(Value::Flag(true)),
        in_name: InName::Word("nofinal"),
    },
];

impl RecurrentSpec {
    /// The spec that settings describe, when every field in play is there.
    pub fn from_settings(settings: &Settings) -> Option<RecurrentSpec> {
        let mut of_step = settings.clone();
        of_step.insert("state_contract", Value::Name(StateContractKind::Separate.name()));
        Some(RecurrentSpec {
            step: DecodeStepSpec::from_settings(&of_step)?,
            initial_state: settings.flag("initial_state")?,
            final_state: settings.flag("final_state")?,
        })
    }

    /// Every field that is in play.
    pub fn settings(&self) -> Settings {
        // Destructured, so that a new field cannot be left out of name and hash.
        let RecurrentSpec { step, initial_state, final_state } = *self;
        let of_step = step.settings();
        let of_step = of_step.iter().filter(|(key, _)| !NOT_OF_RECURRENT.contains(key));
        let states = [
            ("initial_state", Value::Flag(initial_state)),
            ("final_state", Value::Flag(final_state)),
        ];
        of_step.chain(states).collect()
    }

    /// The kernel's arguments.
    pub fn signature(&self) -> Signature {
        let step = &self.step;
        let state = self.state_shape();
        let initial = buffer("state", Element::F32, Access::ReadOnly, Role::State, &state);
        let last = buffer("next_state", Element::F32, Access::WriteOnly, Role::NextState, &state);
        let mut arguments = step.row_arguments(TOKENS);
        arguments.push(sequence_ends());
        arguments.extend(self.initial_state.then_some(initial));
        arguments.extend(self.final_state.then_some(last));
        arguments.push(output("o", step.dtype.into(), &step.value_rows(TOKENS)));
        arguments.push(scale());
        Signature { arguments }
    }

    fn state_shape(&self) -> [Axis; 4] {
        self.step.state_shape(SEQUENCES)
    }

    /// f32 registers in which a lane holds its part of the state.
    pub fn state_registers_per_lane(&self) -> u32 {
        self.step.state_registers_per_lane().unwrap_or(self.step.head_k)
    }
}
