//! Specs: which kernel is wanted, whether it can be right, what it is called and how it is launched.
//!
//! A [spec file](spec_file) becomes a [`Spec`]; [rules](rule) refuse what cannot be right before any code
//! exists; a spec gives its kernel's [`name`], [`signature`] and, with a [`problem`], its
//! [launch plan](plan).

pub mod attention;
pub mod attention_chunk;
pub mod choice;
pub mod chunk;
pub mod conv_chunk;
pub mod conv_step;
pub mod decode_step;
pub mod dispatch;
pub mod element;
pub mod facts;
pub mod field;
pub mod job;
pub mod lds_map;
pub mod name;
pub mod packed;
pub mod plan;
pub mod probe;
pub mod problem;
pub mod recurrent;
pub mod registry;
pub mod rule;
pub mod rules;
pub mod schema;
pub mod signature;
pub mod spec;
pub mod spec_file;
pub mod status;
pub mod suggest;

pub use attention::{AttentionProblem, AttentionSpec, CacheLayout};
pub use attention_chunk::AttentionChunkSpec;
pub use choice::Choice;
pub use chunk::Split;
pub use chunk::{ChunkSpec, KdaChunkFusedSpec, KdaChunkScanSpec, KdaTileSpec, PrefillProblem};
pub use conv_chunk::ConvChunkSpec;
pub use conv_step::{Activation, ConvStepSpec};
pub use decode_step::{DecodeStepSpec, Family, HeadMap, StateLayout};
pub use decode_step::{Gate, GateKind, Reduction, ReductionKind, StateContract, StateContractKind};
pub use element::{Dtype, Element};
pub use facts::DerivedFacts;
pub use isa::Target;
pub use job::Job;
pub use lds_map::{LdsBuffer, LdsMap, Lifetime, Phase, PlacedBuffer, Placement};
pub use packed::ConvChunkProblem;
pub use plan::{
    ArgBinding, ArgValue, Launch, LaunchPlan, PagedContract, PlanError, SlotsContract, TensorDecl,
};
pub use probe::{Probe, ProbeError, ProbeKind, Probed};
pub use problem::{ConvStepProblem, DecodeStepProblem, InvalidProblem, Problem, ProblemFault};
pub use recurrent::RecurrentSpec;
pub use registry::{FAMILIES, FamilyEntry, LIBRARY, LibrarySpec};
pub use rule::{
    Rule, Violation, is_valid_conv_step_spec, is_valid_decode_step_spec, is_valid_fused_spec,
    is_valid_scan_spec, is_valid_spec, is_valid_tile_spec,
};
pub use signature::{
    Access, Argument, ArgumentKind, Axis, BufferArgument, Extent, Role, ScalarType,
};
pub use spec::{KernelKind, Spec};
pub use spec_file::{
    FileProblem, Place, ProblemKind, UnreadableSpec, is_named_pipe, parse_spec, read_spec,
};
pub use status::{StatusBit, StatusWord, UnknownStatusBits};
