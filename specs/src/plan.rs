//! Launch plans: tensors and launches of one problem, as data.

use serde::{Deserialize, Serialize};

use crate::attention::AttentionSpec;
use crate::chunk::tables::chunk_count;
use crate::chunk::{ChunkSpec, TokenLayout};
use crate::conv_step::ConvStepSpec;
use crate::element::Element;
use crate::problem::{InvalidProblem, Problem};
use crate::recurrent::RecurrentSpec;
use crate::rule::{Violation, is_valid_spec};
use crate::signature::{
    Access, Argument, ArgumentKind, Axis, BUFFER_ALIGN_BYTES, BufferArgument, Extent,
};
use crate::signature::{Role, SEQUENCE_ENDS, ScalarType, Signature};
use crate::spec::Spec;

/// Most workgroups in the y and z of a grid. Source: ROCr agent information, maximum grid dimensions.
pub const MAX_GRID_YZ: u32 = 65_535;

/// Most bytes of one tensor: beyond the memory of every supported GPU.
pub const MAX_TENSOR_BYTES: u64 = 1 << 40;

/// Bytes that tensors stay below whose rows kernels find by a 32-bit offset.
pub const MAX_OFFSET_BYTES: u64 = 1 << 31;

/// Everything a runtime needs to run one problem of one spec. Written as JSON and read again it is the same plan, on
/// whichever device it is launched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchPlan {
    /// Tensors, in the order of the first launch's arguments.
    pub tensors: Vec<TensorDecl>,
    /// Launches, in order; each sees the memory effects of those before it.
    pub launches: Vec<Launch>,
}

/// A tensor of a plan: contiguous, slowest axis first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorDecl {
    /// Unique name, also in tensor files.
    pub name: String,
    /// Type of one element.
    pub element: Element,
    /// Axis lengths, slowest first; zero only of tokens and chunks, where there are none.
    pub dims: Vec<u64>,
    /// What the tensor is for.
    pub role: Role,
    /// What the launches do with it.
    pub access: Access,
    /// Alignment in bytes of its address, also of a tensor without elements.
    pub align_bytes: u32,
    /// What the elements must satisfy before a launch, when the tensor holds slot indices.
    pub slots: Option<SlotsContract>,
    /// What the elements must satisfy before a launch, when the tensor holds the ends of packed sequences: the first
    /// is 0, none is below the one before it, the last is this number of tokens.
    pub ends_at: Option<u64>,
    /// What the elements must satisfy before a launch, when the tensor says what of a paged cache is read.
    #[serde(default)]
    pub paged: Option<PagedContract>,
}

/// What a tensor that says what of a paged cache is read must satisfy. The kernel trusts it; whoever launches must
/// check it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PagedContract {
    /// Tokens of every sequence's context: none below 0, none above what a row of the table reaches.
    Contexts {
        /// Tokens that the entries of a row reach.
        most: u64,
        /// The tensor that holds the ends of the sequences' new tokens, which their contexts have in them; none where
        /// each has one query.
        #[serde(default)]
        ends: Option<String>,
    },
    /// Rows of block indices: the first entries of each, as many as its context fills, are blocks of the cache. What
    /// stands behind them is never read. Sequences may share blocks.
    Blocks {
        /// The tensor that holds the contexts.
        contexts: String,
        /// Tokens of a block.
        block_size: u32,
        /// Blocks of the cache.
        blocks: u32,
    },
}

/// What a tensor of slot indices must satisfy: every element is the sentinel or a slot of the pool,
/// and no two live elements are equal. The kernel trusts it; whoever launches must check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotsContract {
    /// The index that means *no sequence*.
    pub sentinel: i32,
    /// Slots in the pool: live elements are in `0..pool_slots`.
    pub pool_slots: u32,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Symbol of the kernel in its code object.
    pub kernel: String,
    /// Workgroups in x, y, z; none of them zero.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub workgroup: [u32; 3],
    /// Every argument, in ABI order.
    pub args: Vec<ArgBinding>,
}

/// What one kernel argument is bound to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArgBinding {
    /// The argument's name in the kernel's metadata.
    pub argument: String,
    /// What is passed.
    pub value: ArgValue,
}

/// What is passed for an argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgValue {
    /// The address of the tensor of this name in [`LaunchPlan::tensors`].
    Tensor(String),
    /// An f32 by value.
    F32(f32),
    /// A signed 32-bit number by value.
    I32(i32),
}

impl TensorDecl {
    /// Whether the caller must fill it before the first launch; the status word is zeroed by whoever launches.
    pub fn takes_input(&self) -> bool {
        let is_own = matches!(self.role, Role::Workspace | Role::Status);
        self.access != Access::WriteOnly && !is_own
    }

    /// Number of elements; a plan from a file may have as many as no memory holds.
    pub fn elements(&self) -> u64 {
        self.dims.iter().copied().fold(1, u64::saturating_mul)
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.elements().saturating_mul(self.element.size_bytes())
    }
}

impl LaunchPlan {
    /// Bytes of the tensors that only the plan itself writes and reads.
    pub fn workspace_bytes(&self) -> u64 {
        let workspace = self.tensors.iter().filter(|tensor| tensor.role == Role::Workspace);
        workspace.fold(0, |sum, tensor| sum.saturating_add(tensor.size_bytes()))
    }

    /// This plan's launches, then those of another one over the same tensors: what this one writes and the
    /// other one reads becomes their workspace.
    pub(crate) fn then(mut self, next: LaunchPlan) -> LaunchPlan {
        for tensor in next.tensors {
            let known = self.tensors.iter_mut().find(|known| known.name == tensor.name);
            match known {
                Some(known) if known.access == Access::WriteOnly => {
                    known.access = Access::ReadWrite;
                    known.role = Role::Workspace;
                }
                Some(_) => {}
                None => self.tensors.push(tensor),
            }
        }
        self.launches.extend(next.launches);
        self
    }

    /// The tensor of a name.
    pub fn tensor(&self, name: &str) -> Option<&TensorDecl> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}

/// Why there is no launch plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The spec breaks rules.
    #[error("the spec breaks {} rule(s), first: {}", .0.len(), .0[0])]
    BreaksRules(Vec<Violation>),
    /// The problem is out of its limits or of another kernel.
    #[error(transparent)]
    InvalidProblem(#[from] InvalidProblem),
    /// A tensor would be larger than any GPU's memory.
    #[error(
        "tensor `{tensor}`: dims {dims:?} of {element} exceed the limit of {limit_bytes} bytes; reduce {}",
        by.join(" or ")
    )]
    TensorTooLarge {
        /// Name of the tensor.
        tensor: &'static str,
        /// Axis lengths, slowest first.
        dims: Vec<u64>,
        /// Type of one element.
        element: Element,
        /// What it may have.
        limit_bytes: u64,
        /// The problem's parameters that set its size.
        by: &'static [&'static str],
    },
}

impl Spec {
    /// The tensors and launches of a problem.
    ///
    /// # Errors
    /// A spec that breaks rules, a problem out of its limits, a tensor beyond [`MAX_TENSOR_BYTES`].
    pub fn plan(&self, problem: &Problem) -> Result<LaunchPlan, PlanError> {
        is_valid_spec(self).map_err(PlanError::BreaksRules)?;
        self.check_problem(problem)?;
        self.plan_checked(problem)
    }

    /// As [`Spec::plan`], of a legal spec and a problem within its limits.
    pub(crate) fn plan_checked(&self, problem: &Problem) -> Result<LaunchPlan, PlanError> {
        self.plan_of(&self.signature(), self.name(), self.grid(problem), problem)
    }

    /// The plan of one launch of a kernel of that name, with these arguments and workgroups.
    pub(crate) fn plan_of(
        &self,
        signature: &Signature,
        kernel: String,
        grid: [u32; 3],
        problem: &Problem,
    ) -> Result<LaunchPlan, PlanError> {
        let tensors = signature.buffers().map(|(name, buffer)| self.tensor(name, buffer, problem));
        let tensors = tensors.collect::<Result<_, _>>()?;
        let args = signature.arguments.iter().map(|argument| self.bind(argument, problem));
        let args = args.collect();
        let launch = Launch { kernel, grid, workgroup: [self.workgroup_size(), 1, 1], args };
        // Chunks of no tokens need no workgroup, and a driver takes no launch without any.
        let launches = if launch.grid.contains(&0) { Vec::new() } else { vec![launch] };
        Ok(LaunchPlan { tensors, launches })
    }

    /// Workgroups in x, y, z of a problem.
    pub fn grid(&self, problem: &Problem) -> [u32; 3] {
        let batch = problem.batch();
        match self {
            Spec::Chunk(spec) => {
                let chunks = u32::try_from(chunks(spec, problem)).unwrap_or(u32::MAX);
                let heads = spec.common().value_heads;
                spec.scan().map_or([chunks, heads, 1], |scan| [scan.value_splits, heads, batch])
            }
            Spec::DecodeStep(spec) => {
                let blocks = spec.head_v.div_ceil(spec.columns_per_workgroup().max(1));
                [blocks, spec.value_heads, batch]
            }
            Spec::ConvStep(spec) => [channel_blocks(spec), batch, 1],
            Spec::Recurrent(RecurrentSpec { step, .. }) => {
                let blocks = step.head_v.div_ceil(step.columns_per_workgroup().max(1));
                [blocks, step.value_heads, batch]
            }
            Spec::ConvChunk(spec) => {
                let lengths = problem.lengths().unwrap_or_default();
                [channel_blocks(&spec.step), batch, spec.segments(lengths)]
            }
            Spec::Attention(spec) => [spec.query_heads / spec.heads_per_workgroup.max(1), 1, batch],
            Spec::AttentionChunk(spec) => {
                let lengths = problem.lengths().unwrap_or_default();
                let AttentionSpec { query_heads, heads_per_workgroup, .. } = spec.step;
                [query_heads / heads_per_workgroup.max(1), batch, spec.segments(lengths)]
            }
        }
    }

    fn tensor(
        &self,
        name: &'static str,
        buffer: &BufferArgument,
        problem: &Problem,
    ) -> Result<TensorDecl, PlanError> {
        let dims: Vec<u64> = buffer.shape.iter().map(|axis| self.length(*axis, problem)).collect();
        let bytes =
            dims.iter().try_fold(buffer.element.size_bytes(), |bytes, dim| bytes.checked_mul(*dim));
        let by_offset = matches!(self, Spec::Chunk(_)) && buffer.rows() == Some(Extent::Tokens);
        let limit_bytes = if by_offset { MAX_OFFSET_BYTES } else { MAX_TENSOR_BYTES };
        if bytes.is_none_or(|bytes| bytes > limit_bytes) {
            let element = buffer.element;
            let by = self.sizing_parameters();
            return Err(PlanError::TensorTooLarge { tensor: name, dims, element, limit_bytes, by });
        }
        Ok(TensorDecl {
            name: name.to_owned(),
            element: buffer.element,
            dims,
            role: buffer.role,
            access: buffer.access,
            align_bytes: BUFFER_ALIGN_BYTES,
            slots: self.slots_contract(buffer.role, problem),
            ends_at: match buffer.shape.first().map(|axis| axis.extent) {
                Some(Extent::SequenceEnds) => problem.tokens(),
                _ => None,
            },
            paged: self.paged_contract(buffer.role, problem),
        })
    }

    fn length(&self, axis: Axis, problem: &Problem) -> u64 {
        match (axis.extent, problem, self) {
            (Extent::Fixed(length), ..) => u64::from(length),
            (Extent::Batch, ..) => u64::from(problem.batch()),
            (Extent::PoolSlots, ..) => u64::from(problem.pool_slots().unwrap_or(0)),
            (Extent::Tokens, ..) => problem.tokens().unwrap_or(0),
            (Extent::SequenceTokens, ..) => {
                problem.lengths().and_then(<[u32]>::first).copied().unwrap_or(0).into()
            }
            (Extent::Gapped(length), Problem::Prefill(problem), _) => {
                u64::from(length) + u64::from(problem.row_gap.unwrap_or(0))
            }
            (Extent::Gapped(length), ..) => u64::from(length),
            (Extent::SequenceEnds, ..) => u64::from(problem.batch()) + 1,
            (Extent::Chunks, _, Spec::Chunk(spec)) => chunks(spec, problem),
            (Extent::Chunks, ..) => 0,
            (Extent::CacheBlocks, Problem::Attention(problem), _) => u64::from(problem.blocks),
            (Extent::TableEntries, Problem::Attention(problem), _) => u64::from(problem.max_blocks),
            (Extent::CacheBlocks | Extent::TableEntries, ..) => 0,
        }
    }

    fn sizing_parameters(&self) -> &'static [&'static str] {
        match self {
            Spec::Chunk(spec) if spec.common().layout == TokenLayout::Strided => {
                &["batch", "tokens", "row_gap"]
            }
            Spec::Chunk(_) | Spec::Recurrent(_) | Spec::ConvChunk(_) => &["batch", "tokens"],
            Spec::DecodeStep(_) | Spec::ConvStep(_) => &["batch", "pool_slots"],
            Spec::Attention(_) => &["batch", "blocks"],
            Spec::AttentionChunk(_) => &["batch", "blocks", "tokens"],
        }
    }

    fn slots_contract(&self, role: Role, problem: &Problem) -> Option<SlotsContract> {
        let Spec::DecodeStep(spec) = self else { return None };
        let (sentinel, pool_slots) = (spec.pool_sentinel()?, problem.pool_slots()?);
        (role == Role::Slots).then_some(SlotsContract { sentinel, pool_slots })
    }

    fn paged_contract(&self, role: Role, problem: &Problem) -> Option<PagedContract> {
        let Problem::Attention(problem) = problem else { return None };
        let block_size = match self {
            Spec::Attention(spec) => spec.block_size,
            Spec::AttentionChunk(spec) => spec.step.block_size,
            _ => return None,
        };
        match role {
            Role::Contexts => Some(PagedContract::Contexts {
                most: u64::from(problem.max_blocks) * u64::from(block_size),
                ends: problem.lengths.as_ref().map(|_| SEQUENCE_ENDS.to_owned()),
            }),
            Role::BlockTable => Some(PagedContract::Blocks {
                contexts: AttentionSpec::CONTEXTS.to_owned(),
                block_size,
                blocks: problem.blocks,
            }),
            _ => None,
        }
    }

    fn bind(&self, argument: &Argument, problem: &Problem) -> ArgBinding {
        let value = match (&argument.kind, problem, self) {
            (ArgumentKind::Scalar(ScalarType::F32), Problem::DecodeStep(problem), _) => {
                ArgValue::F32(problem.scale)
            }
            (ArgumentKind::Scalar(ScalarType::F32), Problem::Prefill(problem), _) => {
                ArgValue::F32(problem.scale)
            }
            (ArgumentKind::Scalar(ScalarType::F32), Problem::Attention(problem), _) => {
                ArgValue::F32(problem.scale)
            }
            // The number of all tokens is below 2³¹, or the problem is refused.
            (
                ArgumentKind::Scalar(ScalarType::I32),
                Problem::Prefill(problem),
                Spec::Chunk(spec),
            ) => ArgValue::I32(problem.row_tokens(spec.common().varlen) as i32),
            // So are the entries of a row of the block table.
            (ArgumentKind::Scalar(ScalarType::I32), Problem::Attention(problem), _) => {
                ArgValue::I32(problem.max_blocks.cast_signed())
            }
            _ => ArgValue::Tensor(argument.name.to_owned()),
        };
        ArgBinding { argument: argument.name.to_owned(), value }
    }
}

fn channel_blocks(spec: &ConvStepSpec) -> u32 {
    spec.channels.div_ceil(spec.workgroup_size().max(1))
}

fn chunks(spec: &ChunkSpec, problem: &Problem) -> u64 {
    let Problem::Prefill(problem) = problem else { return 0 };
    chunk_count(&problem.lengths, spec.common().chunk)
}
