//! A kernel's arguments in ABI order: the one home of what kernels declare, oracles bind and runtimes pass.

use std::fmt;

use serde::Serialize;

use crate::choice::choice;
use crate::conv_step::ConvStepSpec;
use crate::decode_step::{DecodeStepSpec, Family, Gate, StateContract, StateLayout};
use crate::element::Element;
use crate::spec::Spec;

/// Alignment in bytes that every buffer argument needs.
pub const BUFFER_ALIGN_BYTES: u32 = 16;

/// B: sequences in the batch.
pub(crate) const BATCH: Axis = Axis { symbol: "B", extent: Extent::Batch };

/// Tokens of all sequences.
pub(crate) const TOKENS: Axis = Axis { symbol: "T", extent: Extent::Tokens };

/// Packed sequences.
pub(crate) const SEQUENCES: Axis = Axis { symbol: "N", ..BATCH };

/// Slots in the state pool.
const POOL_SLOTS: Axis = Axis { symbol: "slots", extent: Extent::PoolSlots };

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// Name in metadata, plans, errors and tensor files.
    pub name: &'static str,
    /// What is passed.
    pub kind: ArgumentKind,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentKind {
    /// A 64-bit pointer to a tensor in global memory, contiguous, slowest axis first, aligned to
    /// [`BUFFER_ALIGN_BYTES`]. It may not overlap another argument that is written.
    Buffer(BufferArgument),
    /// A value of 4 bytes.
    Scalar(ScalarType),
}

/// A tensor that a kernel reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BufferArgument {
    /// Type of one element.
    pub element: Element,
    /// What the kernel does with it.
    pub access: Access,
    /// What the tensor is for.
    pub role: Role,
    /// Axes, slowest first.
    pub shape: Vec<Axis>,
}

choice! {
    /// Types of arguments that are passed by value.
    pub enum ScalarType {
        /// IEEE single.
        F32 = "f32",
        /// Signed 32-bit number.
        I32 = "i32",
    }
}

choice! {
    /// What a kernel does with a buffer.
    pub enum Access {
        /// Only loads.
        ReadOnly = "read_only",
        /// Only stores.
        WriteOnly = "write_only",
        /// Loads and stores.
        ReadWrite = "read_write",
    }
}

choice! {
    /// What a tensor is for.
    pub enum Role {
        /// Activations and weights.
        Input = "input",
        /// State before the step; immutable.
        State = "state",
        /// State after the step.
        NextState = "next_state",
        /// A pool of states, updated in place.
        PoolState = "pool_state",
        /// One pool slot index a sequence.
        Slots = "slots",
        /// Result.
        Output = "output",
        /// Which tokens chunks and sequences are and where their rows lie, made from the problem's sizes.
        Table = "table",
        /// The status word: zero before the first launch, read and judged after the last (`docs/status_word.md`).
        Status = "status",
        /// Written by one launch of a plan and read by a later one.
        Workspace = "workspace",
        /// Keys or values of earlier tokens, in blocks that any sequence may own.
        Cache = "cache",
        /// Indices of the blocks that each sequence owns, in the order of its tokens.
        BlockTable = "block_table",
        /// Tokens that each sequence has in the cache.
        Contexts = "contexts",
    }
}

/// One axis of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// Symbol in docs and listings, such as `HV`.
    pub symbol: &'static str,
    /// Its length.
    pub extent: Extent,
}

/// The length of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Fixed by the spec.
    Fixed(u32),
    /// Sequences in the batch.
    Batch,
    /// Slots in the state pool.
    PoolSlots,
    /// Tokens of all sequences.
    Tokens,
    /// Tokens of each sequence, where all have as many.
    SequenceTokens,
    /// As many elements, fixed by the spec, and behind them those that the problem leaves free.
    Gapped(u32),
    /// Chunks of all sequences.
    Chunks,
    /// One more than sequences: where each of them starts and the last one ends.
    SequenceEnds,
    /// Blocks of the cache.
    CacheBlocks,
    /// Entries that each sequence has in the block table.
    TableEntries,
}

impl Access {
    /// Whether the kernel stores to it.
    pub const fn is_written(self) -> bool {
        !matches!(self, Access::ReadOnly)
    }

    /// How often each byte crosses the memory bus at least: once a direction.
    pub const fn passes(self) -> u64 {
        match self {
            Access::ReadOnly | Access::WriteOnly => 1,
            Access::ReadWrite => 2,
        }
    }
}

impl Extent {
    /// The length that the spec fixes, elements that stay free left out.
    pub const fn fixed(self) -> Option<u32> {
        match self {
            Extent::Fixed(length) | Extent::Gapped(length) => Some(length),
            Extent::Batch
            | Extent::PoolSlots
            | Extent::Tokens
            | Extent::SequenceTokens
            | Extent::Chunks
            | Extent::SequenceEnds
            | Extent::CacheBlocks
            | Extent::TableEntries => None,
        }
    }

    /// The problem's parameter that is the length by itself, where there is one.
    pub const fn parameter(self) -> Option<&'static str> {
        match self {
            Extent::PoolSlots => Some("pool_slots"),
            Extent::CacheBlocks => Some("blocks"),
            Extent::TableEntries => Some("max_blocks"),
            _ => None,
        }
    }

    /// Whether it grows with the tokens.
    pub const fn counts_tokens(self) -> bool {
        matches!(self, Extent::Tokens | Extent::SequenceTokens)
    }
}

impl BufferArgument {
    /// What the tensor's rows are counted by: tokens where it has any, else its first axis; `None` for tensors that all
    /// sequences share.
    pub fn rows(&self) -> Option<Extent> {
        let is_of_tokens = |axis: &Axis| axis.extent.counts_tokens();
        if self.shape.iter().any(is_of_tokens) {
            return Some(Extent::Tokens);
        }
        let first = self.shape.first()?.extent;
        first.fixed().is_none().then_some(first)
    }

    /// Bytes that one sequence, pool slot, token or chunk has of the tensor, see [`BufferArgument::rows`]; `None` for
    /// tensors that all sequences share.
    pub fn row_bytes(&self) -> Option<u64> {
        self.rows()?;
        let lengths = self.shape.iter().filter_map(|axis| axis.extent.fixed()).map(u64::from);
        Some(lengths.fold(self.element.size_bytes(), u64::saturating_mul))
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Extent::Fixed(length) => write!(f, "{}={length}", self.symbol),
            Extent::Gapped(length) => write!(f, "{}={length}+row_gap", self.symbol),
            _ => f.write_str(self.symbol),
        }
    }
}

impl fmt::Display for Argument {
    /// `name: type [shape]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ArgumentKind::Scalar(scalar) => write!(f, "{}: {scalar}", self.name),
            ArgumentKind::Buffer(buffer) => {
                let shape: Vec<String> = buffer.shape.iter().map(ToString::to_string).collect();
                write!(f, "{}: {} [{}]", self.name, buffer.element, shape.join(", "))
            }
        }
    }
}

impl Argument {
    /// Size of the argument in the kernarg segment, and its natural alignment, in bytes.
    pub const fn kernarg_bytes(&self) -> u32 {
        match self.kind {
            ArgumentKind::Buffer(_) => 8,
            ArgumentKind::Scalar(ScalarType::F32 | ScalarType::I32) => 4,
        }
    }

    /// The tensor, unless the argument is passed by value.
    pub fn buffer(&self) -> Option<&BufferArgument> {
        match &self.kind {
            ArgumentKind::Buffer(buffer) => Some(buffer),
            ArgumentKind::Scalar(_) => None,
        }
    }
}

/// A kernel's arguments in ABI order, packed at natural alignment without hidden arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// The arguments.
    pub arguments: Vec<Argument>,
}

impl Signature {
    /// The argument of a name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Every tensor with its name, in ABI order.
    pub fn buffers(&self) -> impl Iterator<Item = (&'static str, &BufferArgument)> {
        self.arguments.iter().filter_map(|argument| Some((argument.name, argument.buffer()?)))
    }

    /// Bytes of the kernarg segment that the arguments fill.
    pub fn kernarg_bytes(&self) -> u32 {
        self.arguments.iter().fold(0, |end, argument| {
            let size = argument.kernarg_bytes();
            end.next_multiple_of(size) + size
        })
    }
}

impl Spec {
    /// The kernel's arguments.
    pub fn signature(&self) -> Signature {
        match self {
            Spec::DecodeStep(spec) => spec.signature(),
            Spec::ConvStep(spec) => spec.signature(),
            Spec::Chunk(spec) => spec.signature(),
            Spec::Recurrent(spec) => spec.signature(),
            Spec::ConvChunk(spec) => spec.signature(),
            Spec::Attention(spec) => spec.signature(),
            Spec::AttentionChunk(spec) => spec.signature(),
        }
    }
}

impl DecodeStepSpec {
    /// The kernel's arguments.
    pub fn signature(&self) -> Signature {
        let mut arguments = self.row_arguments(BATCH);
        arguments.extend(self.state_arguments());
        arguments.push(output("o", self.dtype.into(), &self.value_rows(BATCH)));
        arguments.push(scale());
        Signature { arguments }
    }

    /// What a token is made of, a row of `rows` each.
    pub(crate) fn row_arguments(&self, rows: Axis) -> Vec<Argument> {
        let keys = [rows, self.hk(), self.k()];
        let mut arguments = vec![
            input("q", self.dtype.into(), &keys),
            input("k", self.dtype.into(), &keys),
            input("v", self.dtype.into(), &self.value_rows(rows)),
        ];
        arguments.extend(self.gate_arguments(rows));
        arguments.push(input("beta", self.dtype.into(), &[rows, self.hv()]));
        arguments
    }

    /// The shape of v and o.
    pub(crate) fn value_rows(&self, rows: Axis) -> [Axis; 3] {
        [rows, self.hv(), self.v()]
    }

    fn gate_arguments(&self, rows: Axis) -> Vec<Argument> {
        let per_head: &[Axis] = match self.family {
            Family::Gdn => &[self.hv()],
            Family::Kda => &[self.hv(), self.k()],
        };
        let per_row = [&[rows], per_head].concat();
        match self.gate {
            Gate::LogDecay => vec![input("g", Element::F32, &per_row)],
            Gate::Softplus | Gate::BoundedSigmoid { .. } => vec![
                input("g_raw", self.dtype.into(), &per_row),
                input("a_log", Element::F32, &[self.hv()]),
                input("dt_bias", Element::F32, per_head),
            ],
        }
    }

    fn state_arguments(&self) -> Vec<Argument> {
        let of = |first| self.state_shape(first);
        match self.state_contract {
            StateContract::Separate => vec![
                buffer("state", Element::F32, Access::ReadOnly, Role::State, &of(BATCH)),
                buffer("next_state", Element::F32, Access::WriteOnly, Role::NextState, &of(BATCH)),
            ],
            StateContract::PoolInPlace { .. } => vec![
                buffer("pool", Element::F32, Access::ReadWrite, Role::PoolState, &of(POOL_SLOTS)),
                buffer("slots", Element::I32, Access::ReadOnly, Role::Slots, &[BATCH]),
            ],
        }
    }

    /// The shape of states, one of `first` each.
    pub(crate) fn state_shape(&self, first: Axis) -> [Axis; 4] {
        match self.state_layout {
            StateLayout::KFirst => [first, self.hv(), self.k(), self.v()],
            StateLayout::VFirst => [first, self.hv(), self.v(), self.k()],
        }
    }

    fn hk(&self) -> Axis {
        fixed("HK", self.key_heads)
    }

    fn hv(&self) -> Axis {
        fixed("HV", self.value_heads)
    }

    fn k(&self) -> Axis {
        fixed("K", self.head_k)
    }

    fn v(&self) -> Axis {
        fixed("V", self.head_v)
    }
}

impl ConvStepSpec {
    /// The kernel's arguments.
    pub fn signature(&self) -> Signature {
        let element = self.dtype.into();
        let history = self.history_shape(BATCH);
        let mut arguments = self.row_arguments(BATCH);
        if self.history_len() > 0 {
            arguments.push(buffer("history", element, Access::ReadOnly, Role::State, &history));
            arguments.push(buffer(
                "next_history",
                element,
                Access::WriteOnly,
                Role::NextState,
                &history,
            ));
        }
        arguments.push(output("y", element, &self.rows(BATCH)));
        Signature { arguments }
    }

    /// What a token is made of, a row of `rows` each, and the weights.
    pub(crate) fn row_arguments(&self, rows: Axis) -> Vec<Argument> {
        let (element, d) = (self.dtype.into(), self.d());
        let mut arguments = vec![input("x", element, &self.rows(rows))];
        arguments.push(input("weight", element, &[d, fixed("W", self.width)]));
        if self.bias {
            arguments.push(input("bias", element, &[d]));
        }
        arguments
    }

    /// The shape of x and y.
    pub(crate) fn rows(&self, rows: Axis) -> [Axis; 2] {
        [rows, self.d()]
    }

    /// The shape of histories, one of `first` each.
    pub(crate) fn history_shape(&self, first: Axis) -> [Axis; 3] {
        [first, self.d(), fixed("W-1", self.history_len())]
    }

    fn d(&self) -> Axis {
        fixed("D", self.channels)
    }
}

/// The factor on q.
pub(crate) fn scale() -> Argument {
    Argument { name: "scale", kind: ArgumentKind::Scalar(ScalarType::F32) }
}

/// The argument that says where packed sequences start and end.
pub const SEQUENCE_ENDS: &str = "cu_seqlens";

/// Where packed sequences start and end.
pub(crate) fn sequence_ends() -> Argument {
    let shape = [Axis { symbol: "N+1", extent: Extent::SequenceEnds }];
    buffer(SEQUENCE_ENDS, Element::I32, Access::ReadOnly, Role::Table, &shape)
}

pub(crate) fn fixed(symbol: &'static str, extent: u32) -> Axis {
    Axis { symbol, extent: Extent::Fixed(extent) }
}

pub(crate) fn buffer(
    name: &'static str,
    element: Element,
    access: Access,
    role: Role,
    shape: &[Axis],
) -> Argument {
    Argument {
        name,
        kind: ArgumentKind::Buffer(BufferArgument { element, access, role, shape: shape.to_vec() }),
    }
}

pub(crate) fn input(name: &'static str, element: Element, shape: &[Axis]) -> Argument {
    buffer(name, element, Access::ReadOnly, Role::Input, shape)
}

pub(crate) fn output(name: &'static str, element: Element, shape: &[Axis]) -> Argument {
    buffer(name, element, Access::WriteOnly, Role::Output, shape)
}
