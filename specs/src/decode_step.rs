//! The spec of the decode step: one token of gated linear attention for every sequence of a batch.

use isa::Target;

use crate::choice::{Choice, choice};
use crate::element::Dtype;
use crate::field::{Field, FieldKind, InName, Presence, Settings, Value};
use crate::field::{target_field, wave_width_field, waves_field};

choice! {
    /// The two families of gated delta rule attention.
    pub enum Family {
        /// Gated DeltaNet: one gate a value head.
        Gdn = "gdn",
        /// Kimi Delta Attention: one gate a key channel.
        Kda = "kda",
    }
}

choice! {
    /// The kinds of [`Gate`].
    pub enum GateKind {
        /// [`Gate::LogDecay`].
        LogDecay = "log_decay",
        /// [`Gate::Softplus`].
        Softplus = "softplus",
        /// [`Gate::BoundedSigmoid`].
        BoundedSigmoid = "bounded_sigmoid",
    }
}

/// How the log decay g (nats, ≤ 0) is obtained. Part of the model, never a default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gate {
    /// g is an input.
    LogDecay,
    /// g = −exp(A_log) · softplus(g_raw + dt_bias).
    Softplus,
    /// g = lower bound · sigmoid(exp(A_log) · (g_raw + dt_bias)); KDA only.
    BoundedSigmoid {
        /// The decay's lower bound in nats, in [−5, 0).
        lower_bound_nats: f32,
    },
}

choice! {
    /// Which key head a value head reads.
    pub enum HeadMap {
        /// `hk = h / (HV / HK)`: 0, 0, …, 1, 1, …
        Grouped = "grouped",
        /// `hk = h mod HK`: 0, 1, …, 0, 1, …
        Tiled = "tiled",
    }
}

choice! {
    /// Orientation of one head's state in memory, slowest axis first.
    pub enum StateLayout {
        /// [K, V].
        KFirst = "k_first",
        /// [V, K].
        VFirst = "v_first",
    }
}

choice! {
    /// The kinds of [`StateContract`].
    pub enum StateContractKind {
        /// [`StateContract::Separate`].
        Separate = "separate",
        /// [`StateContract::PoolInPlace`].
        PoolInPlace = "pool_in_place",
    }
}

/// Who owns the state and what the step may do to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateContract {
    /// The input state is immutable, the next state is another buffer.
    Separate,
    /// Rows of a pool, chosen by slot indices, are read and written in place.
    PoolInPlace {
        /// The slot index that means *no sequence*. Slot 0 is a slot like any other.
        sentinel: i32,
    },
}

choice! {
    /// The kinds of [`Reduction`].
    pub enum ReductionKind {
        /// [`Reduction::LaneTree`].
        LaneTree = "lane_tree",
        /// [`Reduction::Serial`].
        Serial = "serial",
    }
}

/// The order of the sums over K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Lanes share the K of a column and combine their sums by a butterfly.
    LaneTree {
        /// Lanes that share a column: a power of two in [2, 16].
        k_lanes: u32,
    },
    /// One work-item sums a column in ascending order.
    Serial,
}

/// Which decode kernel, with every choice that changes its code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodeStepSpec {
    /// Gated DeltaNet or Kimi Delta Attention.
    pub family: Family,
    /// The GPU that the kernel is built for.
    pub target: Target,
    /// Where the log decay comes from.
    pub gate: Gate,
    /// HK: heads of q and k.
    pub key_heads: u32,
    /// HV: heads of v, o and the state, a multiple of HK.
    pub value_heads: u32,
    /// K: channels of a key head.
    pub head_k: u32,
    /// V: channels of a value head.
    pub head_v: u32,
    /// Type of q, k, v, β, o and of raw gates.
    pub dtype: Dtype,
    /// Which key head a value head reads.
    pub head_map: HeadMap,
    /// Orientation of one head's state.
    pub state_layout: StateLayout,
    /// Who owns the state.
    pub state_contract: StateContract,
    /// The order of the sums over K.
    pub reduction: Reduction,
    /// Waves in a workgroup.
    pub waves: u32,
    /// Lanes of a wave.
    pub wave_width: u32,
}

/// Columns of V that a lane group owns under [`Reduction::LaneTree`].
pub const COLUMNS_PER_LANE_GROUP: u32 = 4;

impl Gate {
    /// Which kind of gate this is.
    pub fn kind(self) -> GateKind {
        match self {
            Gate::LogDecay => GateKind::LogDecay,
            Gate::Softplus => GateKind::Softplus,
            Gate::BoundedSigmoid { .. } => GateKind::BoundedSigmoid,
        }
    }
}

impl StateContract {
    /// Which kind of contract this is.
    pub fn kind(self) -> StateContractKind {
        match self {
            StateContract::Separate => StateContractKind::Separate,
            StateContract::PoolInPlace { .. } => StateContractKind::PoolInPlace,
        }
    }
}

impl Reduction {
    /// Which kind of reduction this is.
    pub fn kind(self) -> ReductionKind {
        match self {
            Reduction::LaneTree { .. } => ReductionKind::LaneTree,
            Reduction::Serial => ReductionKind::Serial,
        }
    }
}

impl DecodeStepSpec {
    /// `k_lanes` of a spec file that does not name it.
    pub const DEFAULT_K_LANES: u32 = 8;

    /// Work-items in a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        self.waves.saturating_mul(self.wave_width)
    }

    /// Columns of V that one workgroup owns.
    pub fn columns_per_workgroup(&self) -> u32 {
        match self.reduction {
            Reduction::Serial => self.workgroup_size(),
            Reduction::LaneTree { k_lanes } => {
                let lane_groups = self.workgroup_size() / k_lanes.max(1);
                lane_groups.saturating_mul(COLUMNS_PER_LANE_GROUP)
            }
        }
    }

    /// f32 registers in which a lane holds its part of the state; `None` when nothing is held.
    pub fn state_registers_per_lane(&self) -> Option<u32> {
        match self.reduction {
            Reduction::Serial => None,
            Reduction::LaneTree { k_lanes } => {
                Some(self.head_k.saturating_mul(COLUMNS_PER_LANE_GROUP) / k_lanes.max(1))
            }
        }
    }

    /// Whether the gates come raw and the kernel evaluates them.
    pub fn has_raw_gates(&self) -> bool {
        !matches!(self.gate, Gate::LogDecay)
    }

    /// The pool's sentinel slot, when the state lives in a pool.
    pub fn pool_sentinel(&self) -> Option<i32> {
        match self.state_contract {
            StateContract::Separate => None,
            StateContract::PoolInPlace { sentinel } => Some(sentinel),
        }
    }

    /// The spec that settings describe, when every field in play is there.
    pub fn from_settings(settings: &Settings) -> Option<DecodeStepSpec> {
        let gate = match settings.choice("gate")? {
            GateKind::LogDecay => Gate::LogDecay,
            GateKind::Softplus => Gate::Softplus,
            GateKind::BoundedSigmoid => {
                Gate::BoundedSigmoid { lower_bound_nats: settings.number("gate_lower_bound_nats")? }
            }
        };
        let state_contract = match settings.choice("state_contract")? {
            StateContractKind::Separate => StateContract::Separate,
            StateContractKind::PoolInPlace => {
                StateContract::PoolInPlace { sentinel: settings.slot_index("pool_sentinel")? }
            }
        };
        let reduction = match settings.choice("reduction")? {
            ReductionKind::LaneTree => Reduction::LaneTree { k_lanes: settings.count("k_lanes")? },
            ReductionKind::Serial => Reduction::Serial,
        };
        Some(DecodeStepSpec {
            family: settings.choice("family")?,
            target: settings.target()?,
            gate,
            key_heads: settings.count("key_heads")?,
            value_heads: settings.count("value_heads")?,
            head_k: settings.count("head_k")?,
            head_v: settings.count("head_v")?,
            dtype: settings.choice("dtype")?,
            head_map: settings.choice("head_map")?,
            state_layout: settings.choice("state_layout")?,
            state_contract,
            reduction,
            waves: settings.count("waves")?,
            wave_width: settings.count("wave_width")?,
        })
    }

    /// Every field that is in play.
    pub fn settings(&self) -> Settings {
        // Destructured, so that a new field cannot be left out of name and hash.
        let DecodeStepSpec {
            family,
            target,
            gate,
            key_heads,
            value_heads,
            head_k,
            head_v,
            dtype,
            head_map,
            state_layout,
            state_contract,
            reduction,
            waves,
            wave_width,
        } = *self;
        let lower_bound = match gate {
            Gate::BoundedSigmoid { lower_bound_nats } => Some(Value::Number(lower_bound_nats)),
            Gate::LogDecay | Gate::Softplus => None,
        };
        let sentinel = match state_contract {
            StateContract::PoolInPlace { sentinel } => Some(Value::SlotIndex(sentinel)),
            StateContract::Separate => None,
        };
        let k_lanes = match reduction {
            Reduction::LaneTree { k_lanes } => Some(Value::Count(k_lanes)),
            Reduction::Serial => None,
        };
        let values = [
            ("family", Some(Value::Name(family.name()))),
            ("target", Some(Value::Name(target.name()))),
            ("gate", Some(Value::Name(gate.kind().name()))),
            ("gate_lower_bound_nats", lower_bound),
            ("key_heads", Some(Value::Count(key_heads))),
            ("value_heads", Some(Value::Count(value_heads))),
            ("head_k", Some(Value::Count(head_k))),
            ("head_v", Some(Value::Count(head_v))),
            ("dtype", Some(Value::Name(dtype.name()))),
            ("head_map", Some(Value::Name(head_map.name()))),
            ("state_layout", Some(Value::Name(state_layout.name()))),
            ("state_contract", Some(Value::Name(state_contract.kind().name()))),
            ("pool_sentinel", sentinel),
            ("reduction", Some(Value::Name(reduction.kind().name()))),
            ("k_lanes", k_lanes),
            ("waves", Some(Value::Count(waves))),
            ("wave_width", Some(Value::Count(wave_width))),
        ];
        values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// The keys of a decode step's spec file, beside [`crate::field::HEADER_FIELDS`].
pub const FIELDS: &[Field] = &[
    Field {
        key: "family",
        meaning: "Gated DeltaNet (one gate a value head) or Kimi Delta Attention (one gate a key channel)",
        kind: FieldKind::Choice(Family::NAMES),
        presence: Presence::Required,
        in_name: InName::Never,
    },
    target_field(),
    Field {
        key: "gate",
        meaning: "where the log decay comes from; part of the model, so it has no default",
        kind: FieldKind::Choice(GateKind::NAMES),
        presence: Presence::Required,
        in_name: InName::Value,
    },
    Field {
        key: "gate_lower_bound_nats",
        meaning: "lower bound of the bounded sigmoid gate in nats a token, in [-5, 0)",
        kind: FieldKind::Number,
        presence: Presence::With { key: "gate", values: &["bounded_sigmoid"], default: None },
        in_name: InName::Prefixed("lb"),
    },
    Field {
        key: "key_heads",
        meaning: "HK: heads of q and k",
        kind: FieldKind::Count,
        presence: Presence::Required,
        in_name: InName::Prefixed("hk"),
    },
    Field {
        key: "value_heads",
        meaning: "HV: heads of v, o and the state, a multiple of key_heads",
        kind: FieldKind::Count,
        presence: Presence::Required,
        in_name: InName::Prefixed("hv"),
    },
    Field {
        key: "head_k",
        meaning: "K: channels of a key head",
        kind: FieldKind::Count,
        presence: Presence::Required,
        in_name: InName::Prefixed("k"),
    },
    Field {
        key: "head_v",
        meaning: "V: channels of a value head, at most 1024",
        kind: FieldKind::Count,
        presence: Presence::Required,
        in_name: InName::Prefixed("v"),
    },
    Field {
        key: "dtype",
        meaning: "type of q, k, v, beta, o and of raw gates; the state is f32",
        kind: FieldKind::Choice(Dtype::NAMES),
        presence: Presence::Required,
        in_name: InName::Value,
    },
    Field {
        key: "head_map",
        meaning: "key head of value head h: grouped is h / (HV / HK), tiled is h mod HK",
        kind: FieldKind::Choice(HeadMap::NAMES),
        presence: Presence::Required,
        in_name: InName::Value,
    },
    Field {
        key: "state_layout",
        meaning: "one head's state, slowest axis first: k_first is [K, V], v_first is [V, K]",
        kind: FieldKind::Choice(StateLayout::NAMES),
        presence: Presence::Required,
        in_name: InName::Value,
    },
    Field {
        key: "state_contract",
        meaning: "separate: immutable state and another next state; pool_in_place: slots of a pool, updated",
        kind: FieldKind::Choice(StateContractKind::NAMES),
        presence: Presence::Default(Value::Name("separate")),
        in_name: InName::Value,
    },
    Field {
        key: "pool_sentinel",
        meaning: "slot index that means: no sequence in this row",
        kind: FieldKind::SlotIndex,
        presence: Presence::With {
            key: "state_contract",
            values: &["pool_in_place"],
            default: None,
        },
        in_name: InName::Prefixed("s"),
    },
    Field {
        key: "reduction",
        meaning: "order of the sums over K",
        kind: FieldKind::Choice(ReductionKind::NAMES),
        presence: Presence::Default(Value::Name("lane_tree")),
        in_name: InName::Value,
    },
    Field {
        key: "k_lanes",
        meaning: "lanes that share the K of a column: a power of two in [2, 16]",
        kind: FieldKind::Count,
        presence: Presence::With {
            key: "reduction",
            values: &["lane_tree"],
            default: Some(Value::Count(DecodeStepSpec::DEFAULT_K_LANES)),
        },
        in_name: InName::Prefixed("kl"),
    },
    waves_field(),
    wave_width_field(),
];
